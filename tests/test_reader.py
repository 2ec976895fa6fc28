"""Who only reads releases of densities needs no numba."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

import scumble
from scumble.counting import cpu, early
from scumble.counting.hasher import Hasher
from scumble.design import orthogonal

READER = """
import json, sys
sys.modules["numba"] = None
import numpy as np, scumble
from scumble.counting import early
early.numpy_first.spent = early.COMPILING  # a process that has asked for a while
found = []
for path in sys.argv[1:]:
    release = scumble.load(path)
    points = np.linspace(-2.0, 2.0, 2 * release.dimensions).reshape(2, -1)
    found.append([release.density(points).tolist(), release.interval(points)[0].tolist()])
try:
    release.spec.layout.source(release, (np.array([-3.0] * 2), np.array([3.0] * 2)), np.random.default_rng(0))
except ImportError as problem:
    print(problem, file=sys.stderr)
print(json.dumps(found))
"""


def test_densities_are_read_without_numba(tmp_path: Path) -> None:
    kernel, X = scumble.EuclideanKernel(1.0), np.random.default_rng(0).normal(size=(500, 2))
    grid = scumble.Sketch(kernel, 2, bounds=(-4, 4), design="grid", buckets=(16, 16))
    hashed = scumble.Sketch(kernel, 2, rows=16, buckets=64)
    paths, expected = [], []
    for k, sketch in enumerate((grid, hashed)):
        release = sketch.update(X).release(epsilon=1.0)
        paths.append(str(tmp_path / f"{k}.scumble"))
        release.save(paths[-1])
        points = np.linspace(-2.0, 2.0, 4).reshape(2, 2)
        expected.append([release.density(points).tolist(), release.interval(points)[0].tolist()])
    done = subprocess.run([sys.executable, "-c", READER, *paths], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == expected
    assert done.stderr == "'compared' is a loop that numba compiles. Hint: pip install numba.\n"


def test_where_numba_is_the_first_records_alone_wait_for_nothing(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    hasher = scumble.Sketch(scumble.EuclideanKernel(1.0), 2, rows=4, buckets=8).spec.layout.hasher
    assert isinstance(hasher, Hasher)
    monkeypatch.setattr(early, "numpy_first", early.Patience(0, 0))
    for there in (True, False):
        monkeypatch.setattr(cpu, "can_compile", lambda there=there: there)
        assert cpu._early(hasher, 10) != there


def test_wide_blocks_are_the_same_without_numba(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    gauss = np.random.default_rng(0).normal(size=(6, 4))
    expected = orthogonal.orthogonalised(gauss)
    monkeypatch.setattr(orthogonal, "WIDE", 2)
    monkeypatch.setattr(orthogonal, "can_compile", lambda: False)
    assert np.array_equal(orthogonal.orthogonalised(gauss), expected)
