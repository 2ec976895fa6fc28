"""The supply chain: what is installed is what the lock files say, and they say what `pyproject.toml` asks for."""

from __future__ import annotations

import importlib.util
import itertools
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import scumble
from windows import MODES, NOT_ON_WINDOWS, reason

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
LOCKS = ("installer", "build", "demo", "test", "tools", "flower")
PLATFORMS = [
    {
        "python_version": python,
        "python_full_version": f"{python}.9",
        "sys_platform": system,
        "platform_machine": machine,
        "platform_system": {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}[system],
        "os_name": "nt" if system == "win32" else "posix",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    for python, (system, machine) in itertools.product(
        ("3.11", "3.12", "3.13", "3.14"),
        (("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64"), ("win32", "AMD64")),
    )
]
"""Where the public workflow runs the tests."""


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "requirements" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def locked(name: str) -> list[tuple[Requirement, list[str]]]:
    """(requirement, hashes) of each line of a lock file."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text("utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(Requirement(line.split(" --hash", 1)[0]), re.findall(r"--hash=(\S+)", line)) for line in lines]


def asked(group: str) -> Iterator[Requirement]:
    """What a group of `pyproject.toml` names, with the groups and extras of ours that it includes."""
    for each in PROJECT["dependency-groups"][group]:
        if isinstance(each, dict):
            yield from asked(each["include-group"])
            continue
        requirement = Requirement(each)
        if requirement.name != "scumble":
            yield requirement
            continue
        yield from map(Requirement, PROJECT["project"]["dependencies"])
        for extra in requirement.extras:
            yield from map(Requirement, PROJECT["project"]["optional-dependencies"][extra])


@pytest.mark.parametrize("group", LOCKS)
def test_the_lock_holds_what_pyproject_asks_for(group: str) -> None:
    """On every platform and Python: each thing asked for has one exact version there, and it is allowed."""
    lines = [requirement for requirement, _ in locked(group)]
    for place in PLATFORMS:
        pins: dict[str, Requirement] = {}
        for line in lines:
            if not line.marker or line.marker.evaluate(place):
                assert canonicalize_name(line.name) not in pins, f"{line.name} is locked twice for {place}"
                pins[canonicalize_name(line.name)] = line
        for requirement in asked(group):
            if requirement.marker and not requirement.marker.evaluate(place):
                continue
            assert canonicalize_name(requirement.name) in pins, f"`make lock`: {requirement} is missing for {place}"
            (pin,) = pins[canonicalize_name(requirement.name)].specifier
            assert requirement.specifier.contains(pin.version), f"`make lock`: {requirement} is locked at {pin}"


@pytest.mark.parametrize("name", LOCKS)
def test_every_line_is_exact_and_hashed_and_names_no_place(name: str) -> None:
    for requirement, hashes in locked(name):
        assert [each.operator for each in requirement.specifier] == ["=="] and requirement.url is None
        assert hashes and all(re.fullmatch(r"sha256:[0-9a-f]{64}", each) for each in hashes), requirement
    text = (ROOT / "requirements" / f"{name}.txt").read_text("utf-8")
    assert not re.search(r"https?:|file:|--index|--extra-index|--find-links|--trusted", text)


def test_the_locks_agree_with_each_other() -> None:
    versions: dict[tuple[str, str], set[str]] = {}
    for name in LOCKS[:-1]:  # Flower has an environment of its own, and holds packages back
        for requirement, _ in locked(name):
            place = str(requirement.marker or "")
            versions.setdefault((requirement.name, place), set()).add(str(requirement.specifier))
    assert not {key for key, found in versions.items() if len(found) > 1}


def test_what_builds_the_project_is_locked() -> None:
    """Build isolation would fetch it without hashes."""
    pins = {canonicalize_name(requirement.name): requirement for requirement, _ in locked("build")}
    for each in map(Requirement, PROJECT["build-system"]["requires"]):
        (pin,) = pins[canonicalize_name(each.name)].specifier
        assert each.specifier.contains(pin.version)


def test_the_lock_is_made_from_pyproject_as_it_is() -> None:
    static = tomllib.loads(script("lock").static((ROOT / "pyproject.toml").read_text("utf-8")))["project"]
    assert static["version"] == "0" and static["requires-python"] == script("lock").PYTHONS
    assert script("lock").GROUPS == LOCKS
    with pytest.raises(SystemExit, match="must hold"):
        script("lock").static("[project]\n")


def test_the_pythons_promised_are_the_pythons_tested() -> None:
    said = [line.rsplit(" ", 1)[1] for line in PROJECT["project"]["classifiers"] if ":: 3." in line]
    workflow = (ROOT / ".github/workflows/test.yml").read_text("utf-8")
    tested = re.findall(r'"(3\.\d+)"', re.search(r"python: \[(.*)\]", workflow)[1])  # type: ignore[index]
    assert said == tested == sorted({place["python_version"] for place in PLATFORMS})


def test_the_actions_of_workflows_are_pinned_by_commit_and_name_their_version() -> None:
    used = [
        line.strip()
        for path in sorted((ROOT / ".github").rglob("*.y*ml"))
        for line in path.read_text("utf-8").splitlines()
        if re.search(r"\buses\s*:", line)
    ]
    assert len(used) > 5
    odd = [line for line in used if not re.fullmatch(r"- uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+\b.*", line)]
    assert odd == []


BOM: dict[str, Any] = {
    "metadata": {"component": {"bom-ref": "root", "name": "scumble"}},
    "components": [
        {"bom-ref": f"{name}==1", "name": name, "version": "1"} for name in ("Base_lib", "deep", "Extra.lib", "other")
    ],
    "dependencies": [{"ref": "root", "dependsOn": ["Base_lib==1"]}],
}


def test_the_bill_of_materials_says_what_each_part_is_for() -> None:
    sbom = script("sbom")
    bom = {key: [dict(each) for each in value] if isinstance(value, list) else value for key, value in BOM.items()}
    project = {
        "version": "9.8",
        "dependencies": ["base-lib>=1"],
        "optional-dependencies": {"more": ["extra.lib[fast]>=1"], "gpu": ["cupy-cuda12x"]},
    }
    metadata = {"base-lib": ["deep", "other; extra == 'test'"], "extra-lib": ["other; extra == 'fast'"]}
    digests = ["a" * 64, "b" * 64]
    lock = "base-lib==1 ; python_full_version < '3.12' \\\n" + "".join(
        f"    --hash=sha256:{each}\n" for each in digests
    )
    page = {
        "packages": {
            "": {"name": "scumble-page"},
            "node_modules/d3": {"version": "3.0", "integrity": "sha512-AAEC", "license": "ISC"},
            "node_modules/tool": {"version": "1.0", "integrity": "sha512-AAEC", "license": "MIT", "dev": True},
        }
    }
    sbom.complete(bom, project, metadata, lock, page)
    scopes = {each["name"]: each["scope"] for each in bom["components"]}
    required = dict.fromkeys(["Base_lib", "deep", "d3"], "required")
    assert scopes == {**required, "Extra.lib": "optional", "other": "optional"}
    assert [each["value"] for each in bom["components"][0]["properties"]] == digests
    assert bom["components"][-1]["hashes"] == [{"alg": "SHA-512", "content": "000102"}]
    assert bom["dependencies"][0]["dependsOn"] == ["Base_lib==1", "page:d3@3.0"]
    assert bom["metadata"]["component"]["version"] == "9.8"
    project["dependencies"].append("missing-lib")
    with pytest.raises(SystemExit, match="lacks missing-lib"):
        sbom.complete(bom, project, metadata, lock, page)


def test_the_libraries_in_the_page_are_in_the_lock_of_its_sources() -> None:
    """The page travels built; its licenses say what went in."""
    page = json.loads((ROOT / "web" / "package-lock.json").read_text("utf-8"))
    named = {f"{each['name']} {each['version']}" for each in script("sbom").page_components(page)}
    licenses = (ROOT / "src/scumble/show/page/LICENSES.txt").read_text("utf-8")
    inside = set(re.findall(r"(?:libraries\.|----)\n\n(.+ [0-9.]+)\n", licenses))
    assert inside and inside <= named


def test_what_is_left_out_on_windows_is_there_to_be_left_out() -> None:
    """A test that was renamed would be run there again, and one that is gone would still be spoken of."""
    for entry, why in NOT_ON_WINDOWS.items():
        file, _, test = entry.partition("::")
        assert (
            f"def {test}(" in (ROOT / "tests" / file).read_text("utf-8") if test else (ROOT / "tests" / file).exists()
        )
        assert why
    assert reason("tests/test_files.py::test_modes") == reason("tests/test_files.py::test_modes[a-b]") == MODES
    assert reason("tests/test_faults.py::anything") and reason("tests/test_files.py::another") is None


@pytest.mark.skipif(shutil.which("git") is None, reason="`make dist` builds a commit, and there is no git")
def test_archives_hold_what_is_committed_and_come_out_the_same(tmp_path: Path) -> None:
    """Built twice, from two folders; a table that somebody left in one is not published."""
    one, another = tmp_path / "one", tmp_path / "another"
    for part in ("pyproject.toml", "README.md", "LICENSE", "requirements/dist.py", "src/scumble/_version.py"):
        (one / part).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / part, one / part)
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    for words in (["init", "--quiet"], ["add", "."], [*who, "commit", "--quiet", "--message", "All"]):
        subprocess.run(["git", *words], cwd=one, check=True, capture_output=True)
    shutil.copytree(one, another)
    (one / "salaries.csv").write_text("ada,100000\n")
    said = []
    for folder in (one, another):
        subprocess.run([sys.executable, "requirements/dist.py", "dist"], cwd=folder, check=True, capture_output=True)
        said.append((folder / "dist" / "SHA256SUMS").read_text())
    assert said[0] == said[1] and len(said[0].splitlines()) == 2
    with tarfile.open(next((one / "dist").glob("*.tar.gz"))) as archive:
        names = [Path(name).name for name in archive.getnames()]
    assert "_version.py" in names and "salaries.csv" not in names


def test_the_citation_names_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == scumble.__version__ and citation["license"] == PROJECT["project"]["license"]
    assert citation["cff-version"] == "1.2.0" and {"title", "message", "authors"} <= set(citation)
    assert [each["value"] for each in citation["references"][0]["identifiers"]] == ["arXiv:2006.09352"]
