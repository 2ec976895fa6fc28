"""Compiled loops that are kept on the disk are those of the source as it is, wherever a part of them stands."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import scumble
from scumble.counting import cpu
from scumble.files.compiling import Loop, Spelled

OUTER = """
from inner import twice
from numbers_ import STEP
from scumble.files.compiling import njit
from spelled import seven

@njit(cache=True)
def outer(x):
    return twice(x) + STEP + seven()
"""
INNER = """
from scumble.files.compiling import njit

@njit(cache=True)
def twice(x):
    return 2 * x
"""
SPELLED = """
from scumble.files.compiling import Spelled

class Seven(Spelled):
    @staticmethod
    def typed(context):
        from numba.core import types
        return types.int64(), lambda context, *_: context.get_constant(types.int64, 7)

seven = Seven()
"""
FILES = {"outer.py": OUTER, "inner.py": INNER, "numbers_.py": "STEP = 100", "spelled.py": SPELLED}
COMPILED = re.compile(r"^@(njit|loop|inlined)\b", re.MULTILINE)
RUN = "from outer import outer; print(outer(1), sum(outer.stats.cache_hits.values()))"


CHANGES = [("inner.py", "2 * x", "3 * x", 110), ("spelled.py", "64, 7", "64, 8", 111)]


def test_a_kept_loop_is_used_until_something_that_it_is_made_of_changes(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    paths = os.pathsep.join([str(Path(scumble.__file__).parent.parent), str(tmp_path)])
    environment = {**os.environ, "PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}

    def ran() -> tuple[int, int]:
        done = subprocess.run([sys.executable, "-c", RUN], env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        value, hits = map(int, done.stdout.split())
        return value, hits

    assert [ran(), ran()] == [(109, 0), (109, 1)]
    for file, old, new, wanted in CHANGES:
        (tmp_path / file).write_text(FILES[file].replace(old, new))
        assert ran() == (wanted, 0), file


def loops() -> list[Loop]:
    """All of the package's."""
    package = Path(scumble.__file__).parent
    files = [path for path in package.rglob("*.py") if COMPILED.search(path.read_text())]
    modules = [".".join(path.relative_to(package.parent).with_suffix("").parts) for path in files]
    return [one for name in modules for one in vars(importlib.import_module(name)).values() if isinstance(one, Loop)]


def test_all_that_a_loop_names_is_in_its_stamp() -> None:
    """Other loops, what is spelled out, and numbers: a list or an array could change unseen."""
    found = loops()
    assert len(found) > 50
    for loop in found:
        function = loop._function
        assert function.__closure__ is None and not any(type(c) is types.CodeType for c in function.__code__.co_consts)
        for name in set(function.__code__.co_names) & set(function.__globals__):
            value = function.__globals__[name]
            assert (
                value is np
                or getattr(value, "__name__", "") == "math"
                or isinstance(value, Loop | Spelled | int | float | np.generic)
            ), f"{loop.__name__} names {name}"


COUNTED = """
import hashlib, sys
if sys.argv[1] == "plain":
    sys.modules["numba"] = None
import numpy, scumble
points = numpy.random.default_rng(0).normal(50, 15, (12_000, 60))
def told(name, found):
    print(name, found.shape, hashlib.sha256(found.tobytes()).hexdigest())
for design in ("iid", "orthogonal"):
    kernel = scumble.EuclideanKernel(200.0, power=2)
    told(design, scumble.Sketch(kernel, 60, rows=70, buckets=64, seed=1, design=design).update(points).secret.counts)
table = {"x": points[:, 0], "town": ["Ulm", "Bonn", "Kiel"] * 4000}
schema = scumble.Schema(x=scumble.Number(0, 100), town=scumble.Category(["Ulm", "Bonn"]))
told("table", scumble.TableSketch(schema).update(table).secret.counts)
parts = [scumble.TableSketch(schema, pairs=[("x", "town")]).update(table) for _ in range(2)]
shares = [part.release_share(epsilon=1.0, custodians=2) for part in parts]
print("shares", scumble.combine(shares).counts.shape)
told("persons", scumble.PersonLimit(2).keep([k % 700 for k in range(3000)]))
"""


def test_without_numba_the_counters_are_the_same() -> None:
    """Warnings, such as those of numbers that wrap, are errors."""

    def ran(how: str) -> list[str]:
        command = [sys.executable, "-W", "error", "-c", COUNTED, how]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    assert ran("plain") == ran("compiled")


def test_a_kernel_of_ones_own_asks_for_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=4, buckets=8)
    monkeypatch.setattr(cpu, "has_codes", lambda hasher: False)
    monkeypatch.setattr(cpu, "can_compile", lambda: False)
    with pytest.raises(ImportError, match=r"scumble\[fast\]"):
        sketch.update([[1.0]])
    assert not sketch.secret.counts.any()
