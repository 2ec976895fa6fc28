"""One record moves one counter per row, for every float64; neighbors as spiteful as `benchmarks.neighbors` can."""

from __future__ import annotations

import ctypes
import logging
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from benchmarks.neighbors import LARGEST, LEAST, NORMAL, Case, broken, case, kinds

import scumble
from scumble.kernels import ColumnKernel, FoldedKernel, Kernel

OF_A_KIND, OF_ANY = 6, 48
"""Cases; `python -m benchmarks.neighbors --pairs 200000` runs as many as one likes."""


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_no_record_moves_another(kind: type[Kernel], caplog: pytest.LogCaptureFixture) -> None:
    """Each kernel, in all designs and on grids."""
    caplog.set_level(logging.DEBUG, "scumble")
    assert [why for number in range(OF_A_KIND) if (why := broken(case(number, 1, kind)))] == []
    assert not caplog.records


def test_no_record_moves_another_whatever_the_kernel() -> None:
    """Products among them."""
    assert [(number, why) for number in range(OF_ANY) if (why := broken(case(number)))] == []


def neighbors(kernel: Kernel, table: np.ndarray, record: object, *, rows: int = 16) -> Case:
    sketch = {"kernel": kernel, "dimensions": table.shape[1], "rows": rows, "buckets": 1024, "seed": 7}
    record = np.full(table.shape[1], record)
    return Case({**sketch, "design": "iid", "invalid": "drop"}, table, record, len(table) // 2)


KERNELS: list[Kernel] = [
    scumble.EuclideanKernel(1.0),
    scumble.EuclideanKernel(1.0, power=8),
    scumble.ManhattanKernel(2.0, power=7),
    scumble.AngularKernel(power=3),
    FoldedKernel(3),
    ColumnKernel(0.5, power=2),
    scumble.EuclideanKernel(1.0, columns=[0]) * scumble.ManhattanKernel(1.0, columns=[1, 2]),
]


@pytest.mark.parametrize("record", [LEAST, -LEAST, NORMAL, 1e-300])
@pytest.mark.parametrize("shape", [(4000, 3), (256, 8)])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_denormal_number_among_zeros(kernel: Kernel, shape: tuple[int, int], record: float) -> None:
    """The inverse of a denormal reach is infinite: times zero it was NaN, and everybody moved."""
    assert broken(neighbors(kernel, np.zeros(shape), record)) == ""


@pytest.mark.parametrize("scale", [1e-300, 1e305])
@pytest.mark.parametrize(
    "kernel", [scumble.EuclideanKernel, scumble.ManhattanKernel, scumble.AngularKernel, FoldedKernel]
)
def test_columns_as_wide_as_floats(kernel: type[Kernel], scale: float) -> None:
    """Ranges that overflow, steps so long that their inverse is denormal, and both next to ordinary columns."""
    rng = np.random.default_rng(1)
    for size in (LARGEST, 1e308, 1e300, 1e-300, 1e-308):
        table = rng.uniform(-1.0, 1.0, (400, 3)) * size
        table[:, 2] = rng.normal(size=400)
        for record in (LARGEST, -LARGEST, LEAST):
            assert broken(neighbors(kernel(scale=scale), table, record)) == ""


def test_zeros_of_either_sign_repeat_and_still_count_as_one() -> None:
    """Above the number of hashes from which repeats are looked for."""
    table = np.where(np.random.default_rng(2).random((500, 2)) < 0.5, 0.0, -0.0)
    for kernel in (scumble.EuclideanKernel(1.0), scumble.AngularKernel(), ColumnKernel(1.0)):
        one = neighbors(kernel, table, -0.0, rows=300)
        assert broken(one) == ""
        np.testing.assert_array_equal(one.counts(table), one.counts(np.abs(table)))


def test_powers_whose_cells_no_float_counts() -> None:
    """400 hashes of a thousand codes each make 10¹²⁰⁰ cells: no warning tells so."""
    table = np.random.default_rng(3).normal(size=(300, 2)) * 1000.0
    assert broken(neighbors(scumble.EuclideanKernel(1.0, power=400), table, 1.0, rows=4)) == ""


@contextmanager
def flushed() -> Iterator[None]:
    """This thread, and those that it starts, take denormal numbers for zero, as after loading some libraries."""
    libm = ctypes.CDLL("libm.so.6")
    before, flushing = ((ctypes.c_uint32 * 16)() for _ in range(2))
    libm.fegetenv(before)
    libm.fegetenv(flushing)
    word, bits = (7, 0x8040) if platform.machine() == "x86_64" else (0, 1 << 24)
    flushing[word] |= bits  # FTZ and DAZ of MXCSR; FZ of FPCR
    libm.fesetenv(flushing)
    try:
        yield
    finally:
        libm.fesetenv(before)


@pytest.mark.skipif(sys.platform != "linux", reason="switches the processor's mode through glibc")
def test_no_record_moves_another_where_denormal_numbers_are_flushed() -> None:
    tiny = np.array([1e-310])
    with flushed():
        assert (tiny * 0.5)[0] == 0.0
    assert (tiny * 0.5)[0] != 0.0
    cases = [case(number, 2) for number in range(OF_ANY // 2)]
    cases += [neighbors(kernel, np.zeros((300, 3)), cell) for kernel in KERNELS for cell in (LEAST, 1e-310, NORMAL)]
    rng = np.random.default_rng(4)
    for scale in (1e-300, 1e305):
        table = rng.uniform(-1.0, 1.0, (400, 3)) * scale * 1e3
        cases += [neighbors(scumble.EuclideanKernel(1.0, scale=scale), table, cell) for cell in (LEAST, LARGEST, 0.0)]
    for one in cases:
        one.counts(one.record[None])  # hash functions are made, and loops compiled, in the usual mode
        with flushed():
            why = broken(one)
        assert why == ""


def test_what_breaks_is_found() -> None:
    """An engine whose every count depends on the size of the batch, and one that makes a noise."""

    class Restless(Case):
        def counts(self, table: np.ndarray) -> np.ndarray:
            return super().counts(table + (len(table) > 300))

    class Noisy(Case):
        def counts(self, table: np.ndarray) -> np.ndarray:
            assert not np.any(table * LEAST > 1.0)
            return super().counts(table)

    one = neighbors(scumble.EuclideanKernel(1.0), np.ones((300, 2)), 1e-5)
    assert broken(one) == ""
    assert broken(Restless(**vars(one))).startswith("one record moves")
    assert broken(Noisy(**vars(one))).startswith("is not silent")
