"""Every example in the README, the docs and the help texts runs as it stands, and the site is whole.

What the pages' blocks mean:

``python``
    run in order, all blocks of a page in one script; a ``text`` block right after one is what it prints.
``console``
    commands after ``$ ``, run by bash (plain `scumble` lines in this process, which is quicker, but for the first of
    the curator's tutorial); lines below a command are what it prints. ``# exit code 3`` after a command says that it
    fails, and how.
a block with a title
    is a file of that name.
``py``, ``sh``
    ``pip install`` and ``make``, or what needs more than this test has (a cluster, a server) and is tested elsewhere.

Printed words must agree, numbers may differ (the noise is fresh each time) but for those of plans. Costs must be
right and sizes of files nearly so, and what is printed with commas between thousands is shown with them. ``...`` stands
for anything.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import scumble
from scumble.cli import VERBS, home, main
from scumble.show.claims import Desk

pytestmark = pytest.mark.filterwarnings("ignore::scumble.errors.CuratorWarning")  # about the synthetic tables
ROOT = Path(__file__).parent.parent
PAGES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))
"""And the README, which is typed in an empty folder: tests/test_readme.py."""
RUN, SHOWN, FILES = ("python", "console"), ("text",), ("toml", "csv", "python", "json")
ELSEWHERE = {
    "docs/spark.md": ("tests/sources/test_spark.py", "spark.md"),
    "docs/howto/flower.md": ("tests/test_flower.py", "flower.md"),
    "docs/explore.md": ("tests/show/test_server.py", "/api/density"),
}
"""Pages with blocks that need a cluster or a server: the test that has one, and what that test must hold."""
EXACT = ("docs/choosing.md",)
"""Pages whose blocks of Python print plans, which no noise is in: their numbers must agree too."""
CURATOR, ANALYST = "docs/tutorials/curator.md", "docs/tutorials/analyst.md"
BY_BASH = (CURATOR,)
CLINIC = ROOT / "docs" / "tutorials" / "clinic.scumble"
"""What the analyst's tutorial begins with, for download: a file as the curator's tutorial ends with."""
DOWNLOADS = {ANALYST: (CLINIC,), "docs/file-format.md": (*(ROOT / "docs" / "readers").glob("*.py"),)}
"""The files that a page tells its readers to download."""
BLOCK = re.compile(r"^```(\w*)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    kind: str
    title: str | None
    text: str


def blocks(page: str) -> list[Block]:
    text = (ROOT / page).read_text()
    found = [Block(kind, title or None, body) for kind, title, body in BLOCK.findall(text)]
    assert len(re.findall(r"^\s*```", text, re.MULTILINE)) == 2 * len(found), f"{page}: a block that is not understood"
    return found


# ---- what the examples find where they run ----


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    with contextlib.chdir(folder):
        rng = np.random.default_rng(6)
        frame = pl.DataFrame(
            {
                "age": rng.normal(45, 12, 4000),
                "income": rng.normal(50_000, 9_000, 4000),
                "mode": rng.choice(["bus", "car", "bike"], 4000),
                "town": rng.choice(["Ulm", "Köln"], 4000),
            }
        )
        frame.write_parquet("people.parquet")
        frame[:2000].write_csv("people.csv")
        frame[2000:].write_csv("more.csv")
        os.mkdir("parts")
        frame.write_parquet("parts/1.parquet")
        frame[:2000].write_parquet("parts/2.parquet")
        with sqlite3.connect("people.db") as database:
            database.execute("CREATE TABLE people (age REAL, income REAL)")
            database.executemany("INSERT INTO people VALUES (?, ?)", frame[:500].select("age", "income").rows())
        database.close()
        Path("points.csv").write_text("age,income\n45,50000\n20,10000\n")
        for block in blocks("docs/command-line.md"):
            if block.kind == "toml":
                Path("people.toml").write_text(block.text)
        kernel = scumble.EuclideanKernel(1.0, 2, scale={"age": 10.0, "income": 20_000.0})
        scumble.build("people.parquet", kernel, ["age", "income"], rows=16, buckets=64).save("people.scumble")
        schema = scumble.Schema(
            age=scumble.Number(0, 100, cells=20),
            income=scumble.Number(0, 200_000, cells=20),
            mode=scumble.Category(["bus", "car", "bike"]),
        )
        schema.save("town.toml")
        scumble.build("people.parquet", schema=schema, epsilon=1.0).save("town.scumble", draws=True)
        scumble.build("people.csv", schema=schema, epsilon=1.0).save("later.scumble", draws=True)
        answer = Desk({"town": scumble.load("town.scumble")}).answer("count", {"where": "age >= 65"})
        Path("answer.json").write_text(json.dumps(answer))
        for name in ("north", "south", "monday", "tuesday"):
            scumble.build("people.csv", kernel, ["age", "income"], rows=16, buckets=64).save(f"{name}.scumble")
        stream = scumble.Stream(
            scumble.EuclideanKernel(3.0), columns=["east", "north"], periods=3, epsilon=1.0, rows=8, folder="visits"
        )
        for _ in range(3):
            stream.update({"east": rng.normal(20, 3, 500), "north": rng.normal(15, 3, 500)})
            stream.close_period()
        for name in ("part1", "part2"):
            sketch = scumble.Sketch(kernel, columns=["age", "income"], rows=16, buckets=64)
            sketch.update(frame.select("age", "income")).save(f"{name}.secret")
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


# ---- running ----


def run(line: str, *, by_bash: bool = False) -> tuple[str, str]:
    """One command; what it said on standard output and on standard error."""
    code = re.search(r"# exit code (\d+)$", line)
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    if not by_bash and line.startswith("scumble ") and not set(line.split(" #")[0]) & set("|;&<>$\n"):
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            returned = main(shlex.split(line, comments=True)[1:])
    else:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        command = ["bash", "-e", "-o", "pipefail", "-c", line]
        done = subprocess.run(command, env={**os.environ, "PATH": path}, capture_output=True, text=True)
        returned = done.returncode
        out.write(done.stdout)
        err.write(done.stderr)
    said, complained = (stream.buffer.getvalue().decode() for stream in (out, err))  # type: ignore[attr-defined]
    assert returned == (int(code[1]) if code else 0), (line, returned, complained)
    return said, complained


def commands(text: str) -> list[tuple[str, str]]:
    """(command, what it prints) of a console block; a command goes on after a backslash."""
    assert text.startswith("$ "), f"a console block begins with a command: {text[:60]}"
    found = []
    for piece in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = piece.splitlines()
        end = next(k for k, line in enumerate(lines) if not line.endswith("\\"))
        command = " ".join(line.rstrip("\\").strip() for line in lines[: end + 1])
        found.append((command, "\n".join(lines[end + 1 :])))
    return found


def words(text: str) -> str:
    """What is left when names made by chance, numbers and spaces are put aside."""
    text = re.sub(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "IDENTITY", text)
    text = re.sub(r"[-−+]?\d([\d,.−+-]|e[-+]?\d)*", "#", text)
    return " ".join(re.sub(r"\s*([][])\s*", r" \1 ", text).split())


UNITS = {"bytes": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9}


def sizes(text: str) -> list[float]:
    """Those of files, in bytes, but for those that noisy facts decide."""
    text = re.sub(r"^.*noisy facts.*$", "", text, flags=re.MULTILINE)
    return [float(size) * UNITS[unit] for size, unit in re.findall(r"([\d.]+) (bytes|kB|MB|GB)\b", text)]


def costs(text: str) -> list[float]:
    return [float(rho) for rho in re.findall(r"ρ = (\d+\.?\d*)", text)]


def no_noise_between(expected: str, seen: str) -> bool:
    """Whether costs agree, and sizes but for a quarter, which noise may do to what is compressed; if all are shown."""
    return all(
        len(here) != len(there) or all(1 / most <= one / other <= most for one, other in zip(here, there, strict=True))
        for found, most in ((costs, 1.0), (sizes, 1.25))
        for here, there in [(found(expected), found(seen))]
    )


def grouped_alike(expected: str, seen: str) -> bool:
    """Whether no number of five digits or more is in both, here with commas and there without."""
    here, there = ({*re.findall(r"(?<![\w.,])\d+(?:,\d{3})*(?![,.]?\d|\w)", text)} for text in (expected, seen))
    both = {number.replace(",", "") for number in here} & {number.replace(",", "") for number in there}
    return all({number, f"{int(number):,}"} & here & there for number in both if len(number) >= 5)


def agree(expected: str, *seen: str) -> bool:
    check = doctest.OutputChecker().check_output
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return any(
        check(words(expected) + "\n", words(one) + "\n", flags)
        and no_noise_between(expected, one)
        and grouped_alike(expected, one)
        for one in seen
    )


@pytest.mark.filterwarnings("ignore:.*it is kept as:UserWarning")  # the folder has releases that other pages speak of
@pytest.mark.parametrize("page", PAGES)
def test_the_pages_examples_run(page: str, folder: Path) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    ran, printed, typed = 0, "", False
    for download in DOWNLOADS.get(page, ()):
        shutil.copy(download, ".")
    for block in blocks(page):
        if block.title is not None:
            assert block.kind in FILES, (page, block.title)
            Path(block.title).parent.mkdir(exist_ok=True)
            Path(block.title).write_text(block.text)
        elif block.kind == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(block.text, page, "exec"), names)
            printed, ran = out.getvalue(), ran + 1
        elif block.kind == "console":
            for line, expected in commands(block.text):
                out, err = run(line, by_bash=page in BY_BASH and not typed)
                typed = typed or line.startswith("scumble ")
                assert not expected or agree(expected, out, err, out + err, err + out), (page, line, out, err)
                ran += 1
        elif block.kind == "text":
            assert block.text == printed if page in EXACT else agree(block.text, printed), (page, block.text, printed)
        elif block.kind in ("py", "sh", ""):
            if not all(re.match(r"(pip install|make) ", line) for line in block.text.splitlines()):
                assert page in ELSEWHERE, f"{page}: nobody runs {block.text}"
                test, held = ELSEWHERE[page]
                assert held in (ROOT / test).read_text(), (page, held)
        else:
            assert block.kind == "toml", f"{page}: nobody runs a block of {block.kind}"
    assert ran >= 3 or page not in ("docs/command-line.md", CURATOR)
    if page == CURATOR:
        assert scumble.load("clinic.scumble").schema == scumble.load(CLINIC).schema


def test_the_harness_tells_right_from_wrong(folder: Path) -> None:
    assert agree("Wrote a.scumble (1.2 MB): ε = 1", "Wrote a.scumble (1.3 MB): ε = 3\n")
    assert not agree("Wrote a.scumble (1.2 MB)", "Wrote a.scumble (7.9 MB)\n")
    assert agree("0 to 20,000; 5", "0 to 20,000; 6\n") and agree("about 20134", "about 21,456\n")
    assert not agree("ε = 1, ρ = 0.09 (", "ε = 1, ρ = 0.4901 (\n")
    assert not agree("0 to 200000, missing", "0 to 200,000, missing\n")
    assert not agree("0 to 200,000.", "0 to 200000.\n")
    assert agree("a\n...\nz", "a\nb\nc\nz\n")
    assert not agree("Wrote a.scumble", "Wrote b.scumble")
    assert commands("$ one \\\n   two\nsaid\n$ three\n") == [("one two", "said"), ("three", "")]
    assert run("echo $((1 + 1)) | cat")[0] == "2\n"
    with pytest.raises(AssertionError):
        run("scumble info missing.scumble")
    assert "no such file" in run("scumble info missing.scumble   # exit code 4")[1]


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "demo"])
def test_the_helps_examples_run(verb: str, folder: Path) -> None:
    module = importlib.import_module(home(verb))
    for line in module.EXAMPLE.strip().splitlines():
        run(line)


def test_every_verb_and_every_extra_is_on_the_page_of_the_command_line() -> None:
    text = (ROOT / "docs/command-line.md").read_text()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert [name for name in (*VERBS, *(f"scumble[{extra}]" for extra in extras)) if f"`{name}`" not in text] == []


def test_every_link_of_the_readme_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)", (ROOT / "README.md").read_text()):
        assert target.startswith("http") or (ROOT / target).exists(), target
