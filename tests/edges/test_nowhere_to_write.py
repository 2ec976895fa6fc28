"""Nowhere to write: scumble runs all the same, and verbs that count nothing load no compiler."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import scumble

SOURCES = pathlib.Path(scumble.__file__).parent

# Nothing under /dev/null can be made, not even by root.
BARE = {"HOME": "/dev/null", "PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": "/dev/null"}
NO_TEMPORARY = "import tempfile; tempfile._candidate_tempdir_list = lambda: []"

RUN = f"""
{NO_TEMPORARY}
import sys
from scumble.cli import main
for words in sys.argv[1:]:
    code = main(words.split())
    assert code == 0, (words, code)
"""

WATCH = """
import sys
from scumble.cli import main
for words in sys.argv[1:]:
    assert main(words.split()) == 0, words
    assert "numba" not in sys.modules, f"{words} has loaded the compiler"
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The package in a place that cannot be written to: a file stands where each cache folder would be."""
    root = tmp_path_factory.mktemp("read-only")
    shutil.copytree(SOURCES, root / "scumble", ignore=shutil.ignore_patterns("__pycache__"))
    for folder, _, _ in list(os.walk(root / "scumble")):
        (pathlib.Path(folder) / "__pycache__").touch()
    return root


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> str:
    sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), columns=["age"], rows=4, buckets=8, design="iid")
    path = str(tmp_path_factory.mktemp("release") / "a.scumble")
    sketch.update([[1.0]]).release(epsilon=1.0).save(path)
    return path


def python(
    code: str, *words: str, path: pathlib.Path | None = None, cwd: pathlib.Path | None = None
) -> subprocess.CompletedProcess:
    environment = BARE | {"PYTHONPATH": str(path or SOURCES.parent)}
    return subprocess.run(
        [sys.executable, "-c", code, *words], env=environment, cwd=cwd, capture_output=True, text=True, timeout=600
    )


def test_all_runs_and_one_line_says_that_compiling_is_done_anew(package: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.csv").write_text("age\n1\n2\n3\n")
    build = "build a.csv --kernel euclidean --bandwidth 1 --epsilon 1 --rows 4 --buckets 8 --design iid --out a.scumble"
    at_once = "from scumble.counting import cpu\ncpu.numpy_first.limits = (0, 0)\n"
    ran = python(at_once + RUN, build, "info a.scumble", "query a.scumble a.csv --out -", path=package, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count("no folder to keep compiled loops in") == 1
    assert "NUMBA_CACHE_DIR" in ran.stderr


COUNT_NOTHING = (
    "info {release}",
    "info {release} --json",
    "plan --n 1000000 --dimensions 8 --bandwidth 1 --epsilon 1",
    "plan --n 1000 --columns a,b --bandwidth 2 --bounds a=0:60,b=0:40 --epsilon 1 --delta 1e-6",
    "ledger a.ledger --open people --epsilon 3",
    "merge {release} --out b.scumble",
    "audit --help",
)


def test_verbs_that_count_nothing_load_no_compiler(release: str, tmp_path: pathlib.Path) -> None:
    ran = python(WATCH, *(words.format(release=release) for words in COUNT_NOTHING), cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr


def test_a_damaged_cache_costs_time_and_nothing_else(tmp_path: pathlib.Path) -> None:
    (tmp_path / "loops.py").write_text(
        "from scumble.files.compiling import njit\n\n@njit(cache=True)\ndef twice(x):\n    return 2 * x\n"
    )
    code = "import loops; print(loops.twice(21)); print(loops.twice.stats.cache_hits)"
    environment = {**os.environ, "PYTHONPATH": f"{SOURCES.parent}:{tmp_path}", "NUMBA_CACHE_DIR": str(tmp_path / "c")}

    def ran() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    assert ran()[0] == "42"
    kept = [next((tmp_path / "c").rglob(pattern)) for pattern in ("*.nbi", "*.nbc")]
    for found in kept:
        found.write_bytes(found.read_bytes()[:40])
    assert ran()[0] == "42"
    assert all(len(found.read_bytes()) > 40 for found in kept)  # mended for the next one


def test_every_loop_is_compiled_by_the_one_module() -> None:
    """A loop that asks numba itself would load the compiler at import, and need a cache folder."""
    for source in SOURCES.rglob("*.py"):
        lines = source.read_text().splitlines()
        assert not [line for line in lines if line.startswith(("import numba", "from numba"))], source
