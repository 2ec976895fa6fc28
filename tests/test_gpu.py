"""The GPU engine. Its logic runs everywhere, on a device that works in NumPy; the real thing runs where a GPU is."""

from __future__ import annotations

import logging
import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import scumble
from scumble.counting import Hasher, cpu, cuda, gpu, reference
from scumble.counting.cuda import fused, halves, long
from scumble.counting.cuda.shape import Factor
from scumble.kernels import Kernel, Records
from scumble.kernels.design import Design

KERNELS = {
    "euclidean": (scumble.EuclideanKernel(1.0), 3, 64),
    "power": (scumble.EuclideanKernel(1.0, power=3), 3, 100),
    "manhattan": (scumble.ManhattanKernel(2.0), 5, 64),
    "angular, direct": (scumble.AngularKernel(power=6), 7, 64),
    "angular, rehashed": (scumble.AngularKernel(power=16), 40, 256),
    "26 columns": (scumble.EuclideanKernel(5.0, power=4), 26, 1024),
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
    """A device that works in NumPy."""

    room = cuda.SHARED_BYTES

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
        edges = np.cumsum([0, *(len(which) for which in hasher.which)])
        reference.count(hasher, [Records(X[:, a:b]) for a, b in pairwise(edges)], counts)


def program_of(shape: cuda.Shape, room: int = cuda.SHARED_BYTES) -> Any:
    found = cuda.program(shape, room)
    assert found is not None
    return found


def example(name: str, n: int = 700, rows: int = 19) -> tuple[Hasher, list[Records]]:
    kernel, d, buckets = KERNELS[name]
    rng = np.random.default_rng(3)
    X = np.floor(3 * rng.normal(size=(n, d))) if "hamming" in str(kernel.to_dict()) else rng.normal(size=(n, d))
    X[:3] *= 1e200
    X[3:6] *= 1e12
    hasher = Hasher(kernel, Design("sobol", 5, rows), buckets=buckets, width=d)
    return hasher, [Records(np.ascontiguousarray(X[:, which])) for which in hasher.which]


def agree(hasher: Hasher, records: list[Records], **options: Any) -> None:
    """Every counter of the GPU engine is the CPU's, bit for bit."""
    counts, wanted = np.zeros((2, hasher.rows, hasher.buckets), np.int64)
    gpu.count(hasher, records, counts, **options)
    cpu.count(hasher, records, wanted)
    np.testing.assert_array_equal(counts, wanted)


@pytest.mark.parametrize("devices", [1, 3])
@pytest.mark.parametrize("name", KERNELS)
def test_chunks_and_devices_add_up(name: str, devices: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "CHUNK_BYTES", 8 * 50 * 100)
    machines = [HostDevice() for _ in range(devices)]
    agree(*example(name), devices=machines)
    assert sum(sum(machine.uploads) for machine in machines) == 700
    assert all(len(machine.uploads) >= 1 for machine in machines)


SHORT = [name for name, (_, d, _) in KERNELS.items() if d <= cuda.LARGEST_RECORD]


def shape_of(name: str, rows: int = 8) -> tuple[Hasher, cuda.Shape]:
    kernel, d, buckets = KERNELS[name]
    hasher = Hasher(kernel, Design("iid", 0, rows), buckets=buckets, width=d)
    return hasher, cuda.Shape.of(hasher)


@pytest.mark.parametrize("name", SHORT)
@pytest.mark.parametrize("rows", [1, 100, 10_000])
@pytest.mark.parametrize("room", [cuda.SHARED_BYTES, 96 << 10, 40 << 10])
def test_the_division_of_work_fits_the_device(name: str, rows: int, room: int) -> None:
    """Whatever shared memory the device has: other programs, fewer rows a block."""
    _, shape = shape_of(name)
    program = program_of(shape, room)
    division = program.divide(shape, rows, room)
    assert division.resident * division.shared <= room
    assert division.group % 8 == 0 if program is halves else 1 <= division.group <= rows
    for n in (1, 10_000, 10**7):
        assert 1 <= division.stripes(rows, n, 132) <= max(1, n // division.step)


@pytest.mark.parametrize(("columns", "n"), [(40, 1), (40, 10**7), (384, 1000), (10**6, 10**6)])
def test_tiles_of_long_records_stay_within_their_memory(columns: int, n: int) -> None:
    shape = cuda.Shape((Factor("sign", columns, 16, columns),), 1024, False)
    height, width = long.tile(shape, 1000, n)
    assert width % 8 == 0 and width >= 8 and 1 <= height <= 1000
    assert 4 * 16 * height * width <= long.TILE_BYTES and 6 * columns * width <= long.TILE_BYTES
    assert width >= min(n, 100)


@pytest.mark.parametrize("name", KERNELS)
def test_the_source_has_no_gaps(name: str) -> None:
    hasher, shape = shape_of(name)
    if shape.columns > cuda.LARGEST_RECORD:
        texts = [long.source(shape)]
    else:
        program = program_of(shape)
        texts = [program.source(shape, program.divide(shape, 8, cuda.SHARED_BYTES)), fused.lookup(shape)]
    for text in texts:
        code = re.sub(r"//.*", "", text)
        assert all(code.count(a) == code.count(b) for a, b in ("{}", "()", "[]"))
        assert f"#define BUCKETS {hasher.buckets}u" in text
        defined = set(re.findall(r"#define (\w+)", code))
        assert not set(re.findall(r"\b[A-Z][A-Z_]+\b", code)) - defined - {"X", "T"}


def test_the_start_makes_up_for_the_shifted_codes() -> None:
    hasher, _ = example("power")
    total = hasher.multipliers.sum(axis=1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for v in range(-5, 5):
            plain = hasher.start + np.uint64(v % 2**64) * total
            np.testing.assert_array_equal(plain, fused.start_of(hasher) + np.uint64(v + 2**31) * total)


@pytest.mark.parametrize("name", ["manhattan", "angular, direct", "26 columns"])
def test_what_the_lanes_read_is_the_hash_functions_in_halves(name: str) -> None:
    """The program in NumPy, from what the lanes read: every bucket that is not in doubt is the reference's."""
    hasher, records = example(name, n=400, rows=19)
    shape = cuda.Shape.of(hasher)
    scales, *_, packed = halves.pack(hasher, halves.divide(shape, hasher.rows, cuda.SHARED_BYTES))
    exact, doubtful = reference.buckets(hasher, records), 0
    for r in range(hasher.rows):
        bucket, doubt = count_in_halves(shape, records[0].values, packed[r // 8], scales, r % 8)
        np.testing.assert_array_equal(bucket[~doubt], exact[~doubt, r])
        doubtful += int(doubt.sum())
    assert 3 * hasher.rows <= doubtful < 0.03 * 400 * hasher.rows  # the huge records, and few others


@pytest.mark.parametrize("scale", [1e-250, 1e-30, 1.0, 1e30, 1e250])
def test_directions_are_near_one_whatever_the_columns_units(scale: float) -> None:
    kernel = scumble.ManhattanKernel(1.0, power=2, scale=[scale, 1.0, 1.0, 1.0, 1.0])
    hasher = Hasher(kernel, Design("sobol", 5, 100), buckets=64, width=5)
    directions, scales = halves.scaled(hasher)
    np.testing.assert_array_equal(directions * scales, hasher.parameters[0][:, :, 1:])
    large, small = (half.astype(np.float64) for half in halves.split(directions))
    assert np.all(np.abs(large + small - directions) <= np.maximum(2.0**-22 * np.abs(directions), 2.0**-25))
    assert np.all((np.median(np.abs(directions), axis=(0, 1)) > 0.1) & (np.abs(directions).max(axis=(0, 1)) <= 2**15))


def count_in_halves(
    shape: cuda.Shape, X: np.ndarray, packed: np.ndarray, scales: np.ndarray, row: int
) -> tuple[np.ndarray, np.ndarray]:
    """Buckets of one row of a set, and which of them are in doubt; single precision where the device has it."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        columns = -(-shape.columns // 8) * 8
        x = np.zeros((len(X), columns), np.float32)
        x[:, : shape.columns] = X * scales
        length = np.sqrt(np.sum(x * x, axis=1))
        if not shape.floor:
            x, length = x / length[:, None], np.ones_like(length)
        large, small = halves.split(x)
        lane, two = row // 2, row % 2
        body = packed[: shape.hashes * (8 * columns + 32)].reshape(shape.hashes, -1)
        last = packed[body.size + 8 * lane :][:8]
        near, limit, longest = last[[0, 1, 4]].view(np.float32)
        far = limit - length * near
        total, doubt = np.full(len(X), last[2 + two]), np.zeros(len(X), bool)
        both = large.astype(np.float32) + small.astype(np.float32)
        for words in body:
            pairs = words[: 8 * columns].reshape(-1, 8, 4, 2)[:, row].copy().view(np.float16).astype(np.float32)
            direction = (pairs[..., :2] + pairs[..., 2:]).reshape(-1)
            offset = words[8 * columns + 8 * lane + two :].view(np.float32)[0]
            m = words[8 * columns + 8 * lane + 4 + two]
            t = both @ direction + offset
            if shape.floor:
                whole = t + np.float32(1.5 * 2**23)
                doubt |= ~(np.abs(t - (whole - np.float32(1.5 * 2**23))) < far)
                total += m * whole.view(np.uint32)
            else:
                doubt |= ~(np.abs(t) > -far)
                total += np.where(t >= 0, m, np.uint32(0))
        if shape.direct:
            return np.minimum(total, np.uint32(shape.buckets - 1)).astype(np.intp), doubt
        most = length * longest + 2 if shape.floor else np.ones_like(length)
        reach = np.minimum(np.nan_to_num(shape.buckets * (shape.hashes * most + 2)), 2**31 - 1).astype(np.uint32)
        doubt |= total * np.uint32(shape.buckets) + reach < np.uint32(2) * reach
        return (total.astype(np.uint64) * np.uint64(shape.buckets) >> np.uint64(32)).astype(np.intp), doubt


def test_what_is_not_covered_falls_back_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    hasher = Hasher(scumble.JaccardKernel(), Design("iid", 0, 8), buckets=32, width=4)
    with caplog.at_level(logging.WARNING, logger="scumble"):
        agree(hasher, [Records(np.array([1.0, 2.0, 3.0]), np.array([0, 2, 3]))])
    assert len(caplog.records) == 1
    product: Kernel = scumble.EuclideanKernel(1.0) * scumble.AngularKernel()
    assert gpu.reason_against(Hasher(scumble.EuclideanKernel(1.0), Design("iid", 0, 1), buckets=10**6, width=1))
    assert gpu.reason_against(Hasher(product, Design("iid", 0, 1), buckets=64, width=20))


def test_without_a_device_the_error_says_what_to_do() -> None:
    if gpu.available():
        assert scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=4, buckets=4, engine="gpu").update([1.0]).count == 1
        return
    sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=4, buckets=4, engine="gpu")
    with pytest.raises(scumble.ScumbleError, match="engine='gpu'"):
        sketch.update([1.0])


needs_a_device = pytest.mark.skipif(
    not gpu.available(), reason="no CUDA device here: the device's arithmetic is checked where one is"
)


@needs_a_device
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("n", [1, 37, 20_000])
def test_the_device_agrees_with_the_processor(name: str, n: int) -> None:
    agree(*example(name, n=n, rows=37))


@needs_a_device
@pytest.mark.parametrize("name", KERNELS)
def test_chunks_that_reuse_memory_wait_for_each_other(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "CHUNK_BYTES", 1 << 18)
    monkeypatch.setattr(halves, "SLAB_BYTES", 1 << 17)
    monkeypatch.setattr(long, "TILE_BYTES", 1 << 20)
    agree(*example(name, n=50_000, rows=200))


@needs_a_device
@pytest.mark.parametrize("room", [96 << 10, 40 << 10])
@pytest.mark.parametrize("name", KERNELS)
def test_devices_with_less_shared_memory_give_the_same(name: str, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu._devices()[0], "room", room)
    agree(*example(name, n=5000, rows=37))


@needs_a_device
@pytest.mark.parametrize("buckets", [1, 2, 1000, 4096, 16384, 50_000])
@pytest.mark.parametrize("width", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("power", [1, 2])
def test_the_device_agrees_for_every_table_and_bandwidth(buckets: int, width: float, power: int) -> None:
    """Steps that fill a few counters of the ring, or far more than it has; tables that leave room for one row only."""
    X = np.random.default_rng(0).normal(size=(5000, 3))
    kernel = scumble.EuclideanKernel(width, power)
    agree(Hasher(kernel, Design("sobol", 1, 21), buckets=buckets, width=3), [Records(X)])


@needs_a_device
@pytest.mark.parametrize("columns", [1, 5, 8, 9, 32, 33, 400])
@pytest.mark.parametrize("data", ["normal", "positive", "one large", "sparse"])
def test_the_device_agrees_where_one_term_outweighs_the_rest(columns: int, data: str) -> None:
    """Cauchy directions have a few huge numbers, and large sums round the small terms that follow: still not one edge
    moves, in two hundred thousand projections that reach over thousands of steps."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(5000, columns))
    if data == "positive":
        X = np.abs(X)
    elif data == "one large":
        X[:, 0] *= 1000
    elif data == "sparse":
        X *= rng.random(X.shape) < 2 / columns
    kernel = scumble.ManhattanKernel(1.0, power=2)
    agree(Hasher(kernel, Design("iid", 1, 21), buckets=1024, width=columns), [Records(X)])


@needs_a_device
@pytest.mark.parametrize("name", ["manhattan", "angular, direct", "26 columns", "angular, rehashed", "long records"])
@pytest.mark.parametrize("size", [1e-200, 1e-30, 1e-6, 1e3, 1e6, 1e30, 1e200])
def test_the_device_agrees_whatever_the_units(name: str, size: float) -> None:
    """The columns' scale makes up for their units; without it every call is close, which is slow but right."""
    kernel, d, buckets = KERNELS[name]
    X = size * np.random.default_rng(1).normal(size=(3000, d))
    for scaled in (Kernel.from_dict({**kernel.to_dict(), "scale": size}), kernel):
        agree(Hasher(scaled, Design("sobol", 1, 21), buckets=buckets, width=d), [Records(X)])


@needs_a_device
@pytest.mark.parametrize("name", SHORT)
def test_queries_on_the_device_are_those_of_the_processor(name: str) -> None:
    """To rounding, however few."""
    kernel, d, buckets = KERNELS[name]
    X = np.random.default_rng(2).normal(size=(500, d))
    by_cpu, by_gpu = (
        scumble.Sketch(kernel, d, rows=40, buckets=buckets, engine=engine).update(X) for engine in ("cpu", "gpu")
    )
    np.testing.assert_allclose(by_gpu.kernel_sum(X[:9]), by_cpu.kernel_sum(X[:9]), rtol=1e-9, atol=1e-9)


@needs_a_device
@pytest.mark.parametrize("engine", ["auto", "cpu", "gpu", "reference"])
def test_every_engine_takes_tables_on_the_device(engine: str) -> None:
    import cupy

    X = np.random.default_rng(2).normal(size=(500, 3))
    here, there = (
        scumble.Sketch(scumble.EuclideanKernel(1.0), 3, rows=40, buckets=64, engine=engine).update(table)
        for table in (X, cupy.asarray(X))
    )
    np.testing.assert_array_equal(here.contents()[1]["counts"], there.contents()[1]["counts"])
    for n in (9, 100):
        np.testing.assert_allclose(there.kernel_sum(cupy.asarray(X[:n])), here.kernel_sum(X[:n]), rtol=1e-12)
    assert there.update(cupy.asarray(X[:0])).count == 500
