"""`make mutants` finds what a test overlooks, on a module so small that one sees it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from mutants import LIST, ROOT, alter_nothing, main, mutants_of

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

MODULE = """
LIMIT = 3


def grade(points: int, bonus: int = 1) -> str:
    if points < 0:
        raise ValueError("points")
    return "pass" if points + bonus >= LIMIT else "fail"
"""
TESTS = """
import pytest
from tiny.grading import grade

def test_grade():
    assert grade(1) == "fail" and grade(2) == "pass"
"""
MISSING = """
def test_bad_input():
    assert grade(0, 3) == "pass"
    with pytest.raises(ValueError):
        grade(-1)
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "__init__.py").touch()
    (tmp_path / "tiny" / "grading.py").write_text(MODULE)
    (tmp_path / "test_grading.py").write_text(TESTS)
    (tmp_path / "mutants.toml").write_text('[tests]\n"grading.py" = ["test_grading.py"]\n')
    return tmp_path


def run(folder: Path) -> tuple[int, str]:
    """In a process of its own: forks of one that holds all tests take long."""
    command = [sys.executable, str(ROOT / "tests" / "mutants.py"), "--package", "tiny", "--list", "mutants.toml"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.returncode, done.stdout


def test_every_place_that_may_be_changed_is() -> None:
    changes = [(mutant.function, mutant.change) for mutant in mutants_of("grading.py", MODULE.encode())]
    assert changes == [
        ("", "3 to 4"),
        ("grade", "1 to 2"),
        ("grade", "< to >="),
        ("grade", "0 to 1"),
        ("grade", "raise left out"),
        ("grade", "+ to -"),
        ("grade", ">= to <"),
    ]
    for mutant in mutants_of("grading.py", MODULE.encode()):
        changed = mutant.applied(MODULE.encode()).decode()
        assert changed != MODULE and changed.count("\n") == MODULE.count("\n")
        compile(changed, "grading.py", "exec")


def test_a_call_is_traced_to_the_decorator() -> None:
    """Else no test would seem to come by a default of a decorated function."""
    (mutant,) = mutants_of("m.py", b"@staticmethod\n@other\ndef f(x=1):\n    return x\n")
    assert mutant.change == "1 to 2" and mutant.statement == range(1, 4)


def test_a_missing_test_is_named_and_a_new_one_kills(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed = (tiny / "mutants.toml").read_text()
    entry = '[equivalent."grading.py"]\n"Nothing below 0." = [["grade", "if points < 0:", "0 to 1"]]\n'
    (tiny / "mutants.toml").write_text(listed + entry)
    code, text = run(tiny)
    assert code == 1, text
    assert "7 mutants    5 killed    1 survived    1 alter nothing" in text
    assert 'grading.py:7 (grade)  raise ValueError("points")\n        raise left out' in text
    (tiny / "mutants.toml").write_text(listed)
    (tiny / "test_grading.py").write_text(TESTS + MISSING)
    code, text = run(tiny)
    assert code == 0 and "7 mutants    7 killed    0 survived" in text, text
    (tiny / "mutants.toml").write_text(listed + entry)
    (tiny / "tiny" / "grading.py").write_text(MODULE.replace("points < 0", "0 > points"))
    assert main(["--package", str(tiny / "tiny"), "--list", str(tiny / "mutants.toml")]) == 2
    told = capsys.readouterr().out
    assert "fit no line any more" in told and "if points < 0:" in told


@pytest.mark.parametrize(
    ("entry", "fitting"),
    [
        (["grade", "if points < 0:", "0 to 1", "< to >="], 2),
        (["grade", "if points < 0:"], 2),
        (["grade"], 6),
        (["grade", "if points < 0:", "0 to 1", "0 to 2"], None),
        (["grade", "if points < 1:"], None),
        (["mark"], None),
    ],
)
def test_an_entry_is_of_changes_of_a_line_or_of_a_function(entry: list[str], fitting: int | None) -> None:
    mutants = {"grading.py": mutants_of("grading.py", MODULE.encode())}
    found, stale = alter_nothing({"grading.py": {"reason": [entry]}, "another.py": {"reason": [["f"]]}}, mutants)
    assert bool(stale) == (fitting is None) and (stale or len(found) == fitting)


@pytest.mark.parametrize("tests", [TESTS + "    assert False\n", ""])
def test_tests_that_fail_anyway_or_are_none_kill_nothing(tiny: Path, tests: str) -> None:
    (tiny / "test_grading.py").write_text(tests)
    code, text = run(tiny)
    assert code and "could not be run" in text
    assert "killed" not in text and "survived" not in text


LOOP = """
from functools import lru_cache
from scumble.files.compiling import njit

FIRST = 7


@njit(cache=True)
def steps(n):
    return 3 * n


@lru_cache
def double(n):
    return 2 * n
"""
CALLER = """
from scumble.files.compiling import njit
from tiny.grading import FIRST, steps


@njit(cache=True)
def more(n):
    return FIRST + steps(n)
"""
LOOP_TESTS = """
from tiny import caller, grading

ASKED = grading.double(5)

def test_steps():
    assert caller.more(2) == 13 and grading.steps(2) == 6 and grading.double(5) == 10
"""


def test_what_is_compiled_or_remembered_is_changed_too(tiny: Path) -> None:
    """The loop's constant is no part of the key under which numba keeps it, and its lines cannot be traced."""
    (tiny / "tiny" / "grading.py").write_text(LOOP)
    (tiny / "tiny" / "caller.py").write_text(CALLER)
    (tiny / "test_grading.py").write_text(LOOP_TESTS)
    code, text = run(tiny)
    assert code == 0 and "5 mutants    5 killed    0 survived" in text, text


def test_the_list_of_the_library_fits_its_source() -> None:
    """Nothing is run: a sample of none."""
    assert LIST.is_file() and main(["--sample", "0"]) == 0
    accountable = {test for tests in tomllib.loads(LIST.read_text())["tests"].values() for test in tests}
    for file, _, name in (test.partition("::") for test in accountable):
        assert f"def {name}" in (LIST.parent / file).read_text(), f"{file} has no {name}"
