"""The guided tour is true: the picture is the code's, every path is there, and a new thing goes where the page says."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

from scumble.cli import VERBS
from scumble.density.layout import Layout
from scumble.density.spec import LAYOUTS
from scumble.privacy.laws import LAWS
from scumble.privacy.laws.law import Law
from scumble.sources.formats import Format
from scumble.sources.opening import READERS
from scumble.sources.paths import FORMATS

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "scumble"
PAGE = (ROOT / "docs" / "architecture.md").read_text()
PACKAGES = sorted(path.parent for path in SOURCE.rglob("__init__.py") if path.parent != SOURCE)
NAMED = re.compile(r"`((?:[\w*.-]+/)*[\w*-]*\.(?:py|pyi|md|toml|yml)|(?:[\w.-]+/)+)`")
REGISTRY = re.compile(r"`(\w+)` of `([\w/]+\.py)`")
ALIKE = {
    "an estimator": ("DiversitySampler", {"__init__.pyi"}),  # which type checkers read
    "a source of records": ("DatabaseSource", set()),
    "a file format": ("JsonLines", {"sources/paths.py"}),  # under its name there, "json"
    "a law of noise": ("DiscreteGaussian", set()),
    "an engine": ("scumble.counting.reference", {"counting/reference.py"}),  # it need not name itself
    "a layout of counters": ("GridRow", set()),
}
"""What stands in the file that a row of the table names, and files beyond those of the row that may have its name."""


@cache
def rooms() -> ModuleType:
    sys.path.insert(0, str(ROOT / "docs" / "making"))
    try:
        return importlib.import_module("rooms")
    finally:
        sys.path.pop(0)


def table() -> dict[str, tuple[str, str]]:
    """(file alike, where its line goes) for each thing to add."""
    rows = [line.split(" | ") for line in PAGE.splitlines() if re.match(r"\| an? ", line)]
    return {row[0].removeprefix("| "): (row[1].strip("`"), row[2]) for row in rows}


# ---- the picture ----


def test_the_picture_is_drawn_from_the_code_as_it_is() -> None:
    drawn = rooms().PICTURE.read_text()
    assert drawn == rooms().svg(PAGE), "the rooms have changed: run python docs/making/rooms.py"


def test_every_room_is_in_the_picture_once_and_in_the_order_of_the_contract() -> None:
    here = [path.stem for path in SOURCE.glob("*.py") if path.name != "__init__.py"]
    here += [path.name for path in PACKAGES if path.parent == SOURCE]
    root = ElementTree.parse(rooms().PICTURE).getroot()
    texts = [element for element in root.iter("{http://www.w3.org/2000/svg}text") if element.get("class") == "room"]
    assert sorted(str(element.text) for element in texts) == sorted(here)
    assert [element.text for element in texts] == [room for layer in rooms().layers() for room in layer]
    heights = [float(str(element.get("y"))) for element in texts]
    assert heights == sorted(heights)


def test_the_three_ways_have_their_steps() -> None:
    ways = rooms().ways(PAGE)
    assert set(ways) == set(rooms().WAYS) and all(len(steps) >= 5 for steps in ways.values())
    assert ways["R"][0] == "sources" and ways["R"][-1] == "gate"
    assert "gate" in ways["G"] and "privacy" in ways["G"]
    assert not {"sources", "gate"} & set(ways["Q"]), "a question never meets a secret"


# ---- the paths ----


def exists(named: str) -> bool:
    return any(any(place.glob(named.rstrip("/"))) for place in (SOURCE, ROOT))


@pytest.mark.parametrize("named", sorted(set(NAMED.findall(PAGE)) - {"*.proof.md"}))
def test_every_path_on_the_page_is_there(named: str) -> None:
    assert exists(named)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_room_names_all_its_files_and_no_others(package: Path) -> None:
    told = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
    named = set(re.findall(r"(?<![\w/])(\w+)\.py\b", told))
    here = {path.stem for path in package.glob("*.py")} - {"__init__"}
    verbs = set(VERBS) if package.name == "cli" else set()
    assert named - here == set(), "names files that are not there"
    assert here - named - verbs == set(), "does not name these"
    for inner in PACKAGES:
        assert inner.parent != package or re.search(rf"\b{inner.name}\b", told), f"does not name {inner.name}"


# ---- where a new thing goes ----


@pytest.mark.parametrize("thing", sorted(table().keys() - {"a room"}))
def test_a_new_thing_is_one_file_and_a_line(thing: str) -> None:
    alike, line = table()[thing]
    assert exists(alike)
    places = REGISTRY.findall(line)
    assert len(places) == (2 if thing == "a file format" else 1)
    for name, path in places:
        module = ".".join(["scumble", *Path(path).with_suffix("").parts]).removesuffix(".__init__")
        assert hasattr(importlib.import_module(module), name), f"{path} has no {name}"


@pytest.mark.parametrize("thing", ALIKE)
def test_nobody_else_has_to_know_its_name(thing: str) -> None:
    """What is there already is named in its own file and in the registry, and in no third one."""
    name, more = ALIKE[thing]
    alike, line = table()[thing]
    expected = {alike, *(path for _, path in REGISTRY.findall(line)), *more}
    files = [path for path in SOURCE.rglob("*.py*") if path.suffix in (".py", ".pyi")]
    found = {
        path.relative_to(SOURCE).as_posix() for path in files if re.search(rf"\b{re.escape(name)}\b", path.read_text())
    }
    # The auditor names paths through all that exists; a room's list of files names what is in them.
    found = {path for path in found if not path.startswith("audit/")}
    assert found - expected == set()
    assert expected - found <= more


def concrete(kind: type) -> set[type]:
    below = {one for each in kind.__subclasses__() for one in {each, *concrete(each)}}
    return {one for one in below if one.__module__.startswith("scumble.") and not one.__abstractmethods__}  # type: ignore[attr-defined]


def test_the_registries_hold_all_that_there_is() -> None:
    assert {type(law) for law in LAWS.values()} == concrete(Law)
    assert set(LAYOUTS.values()) == concrete(Layout)
    assert set(READERS.values()) == concrete(Format) and set(READERS) == set(FORMATS)
