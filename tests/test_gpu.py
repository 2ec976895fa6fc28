"""The GPU engine. Its logic runs everywhere, on a device that works in NumPy; the real thing runs where a GPU is."""

from __future__ import annotations

import logging
from itertools import pairwise

import numpy as np
import pytest

import scumble
from scumble.counting import Hasher, cpu, cuda, gpu, reference
from scumble.design import Design
from scumble.kernels import Kernel, Records

KERNELS = {
    "euclidean": (scumble.EuclideanKernel(1.0), 3, 64),
    "power": (scumble.EuclideanKernel(1.0, power=3), 3, 100),
    "manhattan": (scumble.ManhattanKernel(2.0), 5, 64),
    "angular, direct": (scumble.AngularKernel(power=6), 7, 64),
    "angular, rehashed": (scumble.AngularKernel(power=16), 40, 256),
    "long records": (scumble.EuclideanKernel(3.0, power=2), 50, 64),
    "categories": (scumble.HammingKernel(power=2), 4, 128),
    "product": (
        scumble.EuclideanKernel(1.0, columns=[0, 1])
        * scumble.HammingKernel(columns=[2])
        * scumble.AngularKernel(2, columns=[3, 4]),
        5,
        128,
    ),
}


class HostDevice:
    """A device that works in NumPy and divides the work exactly as the real one does."""

    processors = 3

    def __init__(self) -> None:
        self.uploads: list[int] = []

    def upload(self, X: np.ndarray) -> np.ndarray:
        self.uploads.append(len(X))
        return X.copy()

    def zeros(self, shape: tuple[int, int]) -> np.ndarray:
        return np.zeros(shape, np.uint64)

    def download(self, table: np.ndarray) -> np.ndarray:
        return table.astype(np.int64)

    def count(self, hasher: Hasher, X: np.ndarray, counts: np.ndarray) -> None:
        """Block by block and stripe by stripe, with private copies of the tables, like the kernel."""
        shape = cuda.Shape.of(hasher, projected=X.shape[1] > cuda.LARGEST_RECORD)
        division = gpu.Division.of(shape, hasher.rows, len(X), self.processors)
        tuning = cuda.Tuning.of(shape)
        width = division.threads * tuning.records
        if shape.by_matrix:  # a warp has eight records at a time, and every set of eight rows its own warps
            width = width // 32 * 8 // (division.group // 8)
        edges = np.cumsum([0, *(len(which) for which in hasher.which)])
        where = reference.buckets(hasher, [Records(X[:, a:b]) for a, b in pairwise(edges)])
        for top in range(0, hasher.rows, division.group):
            for stripe in range(division.stripes):
                mine = [
                    i
                    for first in range(stripe * width, len(X), division.stripes * width)
                    for i in range(first, min(first + width, len(X)))
                ]
                for r in range(top, min(top + division.group, hasher.rows)):
                    np.add.at(counts[r], where[mine, r], np.uint64(1))


def example(name: str, n: int = 700, rows: int = 19) -> tuple[Hasher, list[Records], np.ndarray]:
    kernel, d, buckets = KERNELS[name]
    rng = np.random.default_rng(3)
    X = np.floor(3 * rng.normal(size=(n, d))) if "hamming" in str(kernel.to_dict()) else rng.normal(size=(n, d))
    X[:3] *= 1e200
    X[3:6] *= 1e12
    hasher = Hasher(kernel, Design("sobol", 5, rows), buckets=buckets, width=d)
    records = [Records(np.ascontiguousarray(X[:, which])) for which in hasher.which]
    wanted = np.zeros((rows, buckets), np.int64)
    cpu.count(hasher, records, wanted)
    return hasher, records, wanted


@pytest.mark.parametrize("devices", [1, 3])
@pytest.mark.parametrize("name", KERNELS)
def test_chunks_stripes_and_devices_add_up(name: str, devices: int, monkeypatch: pytest.MonkeyPatch) -> None:
    hasher, records, wanted = example(name)
    monkeypatch.setattr(gpu, "CHUNK_BYTES", 8 * 50 * 100)
    counts = np.zeros_like(wanted)
    machines = [HostDevice() for _ in range(devices)]
    gpu.count(hasher, records, counts, devices=machines)
    np.testing.assert_array_equal(counts, wanted)
    assert sum(sum(machine.uploads) for machine in machines) == 700
    assert all(len(machine.uploads) >= 1 for machine in machines)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("n", [1, 10_000, 10**7])
@pytest.mark.parametrize("rows", [1, 100, 10_000])
def test_the_division_of_work_fits_the_device(name: str, n: int, rows: int) -> None:
    kernel, d, buckets = KERNELS[name]
    shape = cuda.Shape.of(Hasher(kernel, Design("iid", 0, 1), buckets=buckets, width=d), d > cuda.LARGEST_RECORD)
    division = gpu.Division.of(shape, rows, n, processors=132)
    assert division.shared <= (gpu.MOST_SHARED_BYTES if shape.by_matrix else gpu.SHARED_BYTES) or division.group == 1
    assert division.group % 8 == 0 if shape.by_matrix else 1 <= division.group <= rows
    assert division.stripes >= 1
    assert division.copies * shape.buckets <= max(shape.buckets, gpu.COPIES_FILL)


@pytest.mark.parametrize("name", KERNELS)
def test_the_source_has_no_gaps(name: str) -> None:
    kernel, d, buckets = KERNELS[name]
    hasher = Hasher(kernel, Design("iid", 0, 8), buckets=buckets, width=d)
    projected = d > cuda.LARGEST_RECORD
    division = gpu.Division.of(cuda.Shape.of(hasher, projected), 8, 1000, processors=132)
    text = cuda.source(cuda.Shape.of(hasher, projected), group=division.group, copies=division.copies)
    assert text.count("{") == text.count("}") and text.count("(") == text.count(")")
    for hole in ("LOAD\n", "HASH\n", "            STEP\n"):
        assert hole not in text
    assert f"#define BUCKETS {buckets}u" in text
    if not projected:
        assert cuda.numbers_of(hasher).shape == (8, cuda.Shape.of(hasher, False).numbers)


def test_the_start_makes_up_for_the_shifted_codes() -> None:
    hasher, _, _ = example("power")
    with np.errstate(over="ignore"):
        for v in range(-5, 5):
            plain = hasher.start + np.uint64(v % 2**64) * hasher.multipliers.sum(axis=1, dtype=np.uint64)
            shifted = cuda.start_of(hasher) + np.uint64(v + 2**31) * hasher.multipliers.sum(axis=1, dtype=np.uint64)
            np.testing.assert_array_equal(plain, shifted)


def test_what_is_not_covered_falls_back_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    kernel = scumble.JaccardKernel()
    hasher = Hasher(kernel, Design("iid", 0, 8), buckets=32, width=4)
    records = [Records(np.array([1.0, 2.0, 3.0]), np.array([0, 2, 3]))]
    counts, wanted = np.zeros((2, 8, 32), np.int64)
    with caplog.at_level(logging.WARNING, logger="scumble"):
        gpu.count(hasher, records, counts)
    cpu.count(hasher, records, wanted)
    np.testing.assert_array_equal(counts, wanted)
    assert len(caplog.records) == 1 and "minimum" in caplog.text


def test_a_wide_table_and_a_long_product_are_not_covered() -> None:
    wide = Hasher(scumble.EuclideanKernel(1.0), Design("iid", 0, 1), buckets=10**6, width=1)
    assert "buckets" in str(gpu.reason_against(wide))
    product: Kernel = scumble.EuclideanKernel(1.0) * scumble.AngularKernel()
    assert "products" in str(gpu.reason_against(Hasher(product, Design("iid", 0, 1), buckets=64, width=20)))


def test_without_a_device_the_error_says_what_to_do() -> None:
    if gpu.available():
        assert scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=4, buckets=4, engine="gpu").update([1.0]).count == 1
        return
    sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=4, buckets=4, engine="gpu")
    with pytest.raises(scumble.ScumbleError, match="engine='gpu'"):
        sketch.update([1.0])


@pytest.mark.skipif(not gpu.available(), reason="no CUDA device here: the device's arithmetic is checked where one is")
@pytest.mark.parametrize("name", KERNELS)
def test_the_device_agrees_with_the_processor(name: str) -> None:
    """At most one increment in 10⁵ on the other side of an edge, huge values of long records aside; rows sum to N."""
    hasher, records, wanted = example(name, n=20_000, rows=37)
    counts = np.zeros_like(wanted)
    gpu.count(hasher, records, counts)
    assert np.all(counts.sum(axis=1) == 20_000)
    huge = 6 * 37 if hasher.which[0] == list(range(50)) else 0
    assert np.abs(counts - wanted).sum() / 2 <= huge + 20_000 * 37 / 1e5
