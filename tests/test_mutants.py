"""`make mutants` finds what a test overlooks, on a module so small that one sees it."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mutants import LIST, install, main, mutants_of
from scumble.machine.compiling import Loop

TOOL = Path(__file__).parent / "mutants.py"

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
    command = [sys.executable, str(TOOL), "--package", str(folder / "tiny"), "--list", str(folder / "mutants.toml")]
    paths = os.pathsep.join([str(folder), *sys.path])
    ended = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env={**os.environ, "PYTHONPATH": paths}, timeout=300
    )
    return ended.returncode, ended.stdout + ended.stderr


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


def test_a_missing_test_is_named_and_a_new_one_kills(tiny: Path) -> None:
    code, text = run(tiny)
    assert code == 1, text
    assert "7 mutants    5 killed    2 survived    0 alter nothing" in text
    assert "grading.py:6 (grade)  if points < 0:\n        0 to 1" in text and "raise left out" in text
    (tiny / "test_grading.py").write_text(TESTS + MISSING)
    code, text = run(tiny)
    assert code == 0 and "7 mutants    7 killed    0 survived" in text


KEPT = """
from dataclasses import dataclass
from typing import NamedTuple

@dataclass(frozen=True)
class Wage:
    hours: int = 7
    least = 3

class Place(NamedTuple):
    row: int = 5
"""


@pytest.mark.parametrize("tests", ["", "    assert (Wage(), Wage.least, Place()) == (Wage(7), 3, (5,))\n"])
def test_what_the_body_of_a_class_says_is_changed_where_the_class_is_used(tiny: Path, tests: str) -> None:
    (tiny / "tiny" / "grading.py").write_text(KEPT)
    (tiny / "test_grading.py").write_text(f"from tiny.grading import Place, Wage\n\ndef test_it():\n    pass\n{tests}")
    code, text = run(tiny)
    assert code == (0 if tests else 1) and f"3 mutants    {3 if tests else 0} killed" in text, text


def test_a_module_may_be_loaded_as_late_as_by_a_test(tiny: Path) -> None:
    late = TESTS.replace("from tiny.grading import grade\n", "").replace(
        "():", "():\n    from tiny.grading import grade"
    )
    (tiny / "test_grading.py").write_text(late)
    code, text = run(tiny)
    assert code == 1 and "7 mutants    5 killed    2 survived" in text


def test_what_alters_nothing_is_listed_and_the_list_is_kept_true(tiny: Path) -> None:
    entry = '[[equivalent]]\nmodule = "grading.py"\nfunction = "grade"\nline = "{}"\nchange = "{}"\nreason = "…"\n'
    known = entry.format("if points < 0:", "0 to 1") + entry.format('raise ValueError(\\"points\\")', "raise left out")
    with (tiny / "mutants.toml").open("a") as file:
        file.write(known)
    code, text = run(tiny)
    assert code == 0 and "5 killed    0 survived    2 alter nothing" in text
    (tiny / "tiny" / "grading.py").write_text(MODULE.replace("points < 0", "0 > points"))
    code, text = run(tiny)
    assert code == 2 and "fit no line any more" in text and "if points < 0:" in text


@pytest.mark.parametrize("tests", [TESTS + "    assert False\n", TESTS + "import no_such_module\n", ""])
def test_tests_that_fail_anyway_or_are_none_kill_nothing(tiny: Path, tests: str) -> None:
    (tiny / "test_grading.py").write_text(tests)
    code, text = run(tiny)
    assert code not in (0, 1, 2) or "could not be run" in text
    assert "killed" not in text and "survived" not in text


LOOP = """
from functools import lru_cache
from scumble.machine.compiling import njit

FIRST = 7


@njit(cache=True)
def steps(n):
    out = 0
    for _ in range(n):
        out += 3
    return out


@lru_cache
def double(n):
    return 2 * n
"""
CALLER = """
from scumble.machine.compiling import njit
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
    assert code == 0 and "6 mutants    6 killed    0 survived" in text, text


READ = """
from scumble.machine.compiling import njit

STEP = 3
TABLE = np.array([1.0, 2.0])


@njit(cache=True)
def one(n, more=1):
    return n * STEP + more


@njit(cache=True)
def two(n):
    return one(n) if n else two(n - 1)


@njit(cache=True)
def table(n):
    return TABLE[n]


@njit(cache=True)
def apart(n):
    return n + 5


def closed(start):
    @njit
    def three(n):
        return start + two(n)

    return three
"""
ELSEWHERE = """
from scumble.machine.compiling import njit
from tiny import reading
from tiny.reading import two

@njit(cache=True)
def by_name(n):
    return two(n)

@njit(cache=True)
def by_module(n):
    return reading.STEP + n

@njit(cache=True)
def aside(n):
    return n + reading.apart(n)

three = reading.closed(4)
"""
CALLERS = {"one", "two", "by_name", "three"}


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("", "", set()),
        ("# a comment", "# another", set()),
        ("STEP = 3", "STEP = 4", CALLERS | {"by_module"}),
        ("STEP = 3", "STEP = 3.0", CALLERS | {"by_module"}),
        ("n * STEP", "n / STEP", CALLERS),
        ("more=1", "more=2", CALLERS),
        ("n - 1", "n - 2", CALLERS - {"one"}),
        ("[1.0, 2.0]", "[1.0, 3.0]", {"table"}),
        ("n + 5", "n + 6", {"apart", "aside"}),
        ("start + two", "start - two", {"three"}),
    ],
)
def test_loops_are_compiled_anew_where_what_they_mean_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, changed: set[str]
) -> None:
    """However far away it was changed, and only there: what numba keeps of the others is true."""
    source = "# a comment\nimport numpy as np" + READ
    (tmp_path / "tiny").mkdir()
    for name, text in (("__init__", ""), ("reading", source), ("elsewhere", ELSEWHERE)):
        (tmp_path / "tiny" / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    modules = [importlib.import_module(f"tiny.{name}") for name in ("reading", "elsewhere")]
    loops = {name: loop for module in modules for name, loop in vars(module).items() if isinstance(loop, Loop)}
    for name, loop in loops.items():
        loop._made = f"{name}, compiled"
    try:
        install(modules[0], source.replace(old, new).encode())
        assert {name for name, loop in loops.items() if loop._made is None} == changed
        assert all(
            loop._options.get("cache", False) == (name not in changed | {"three"}) for name, loop in loops.items()
        )
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "tiny"]:
            del sys.modules[name]


def test_the_list_of_the_library_fits_its_source() -> None:
    """Nothing is run: a sample of none."""
    assert LIST.is_file() and main(["--sample", "0"]) == 0
