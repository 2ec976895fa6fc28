"""How fast a GPU counts, relative to the best it could do: ``python -m benchmarks.speed.gpu``.

Times are the device's own (events), the best of five after a warm-up, and every shape is first compared with the
processor's counters. Each comes with its limit: the slowest of three things that no program can avoid.

- **Arithmetic.** For every hash of a record: d fused multiply-adds, one rounding, and two multiply-adds for the 64-bit
  product of the rehash; for every increment: bucket, address and atomic. One instruction a lane and clock, on all lanes
  at the highest clock. (Tensor cores take the multiply-adds off the lanes: who uses them may beat this limit.)
- **Atomics.** The increments alone, into tables in shared memory, from buckets computed before; measured in this run,
  with the buckets of the shape's own records.
- **Memory.** Every record read once, at the rate of a large copy measured in this run.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import scumble
from scumble.counting import Hasher, cpu, gpu, reference
from scumble.kernels import Kernel, Records
from scumble.kernels.design import Design
from scumble.learn.linear import UNIT_ANCHOR
from scumble.learn.moment_release import MomentSketch
from scumble.learn.moments import ClassMoments, anchored

REPEATS, WARM_UP = 5, 0.1
CHECKED = 20_000
"""Records of each shape that are also counted by the processor."""

BARE = r"""
extern "C" __global__ void __launch_bounds__(512) bare(const unsigned* __restrict__ where, int rounds, unsigned* out) {
    extern __shared__ unsigned table[];              // 8 rows
    for (int i = threadIdx.x; i < 8 * BUCKETS; i += 512) table[i] = 0;
    __syncthreads();
    unsigned bucket[8];
    #pragma unroll
    for (int q = 0; q < 8; q++) bucket[q] = where[(blockIdx.x % 64) * 4096 + q * 512 + threadIdx.x];
    for (int k = 0; k < rounds; k++)
        #pragma unroll
        for (int r = 0; r < 8; r++)
            #pragma unroll
            for (int q = 0; q < 8; q++) atomicAdd(table + r * BUCKETS + bucket[q], 1u);
    __syncthreads();
    if (threadIdx.x < BUCKETS) atomicAdd(out, table[threadIdx.x]);
}
"""


@dataclass(frozen=True)
class Case:
    """A sketch to be made on the device."""

    name: str
    kernel: Kernel
    n: int
    columns: int
    rows: int
    goal: float | None = None
    """Milliseconds, where there is a goal."""
    buckets: int = 1024

    @property
    def hashes(self) -> int:
        return sum(factor.power for factor in self.kernel.factors)

    @property
    def instructions(self) -> int:
        """What one increment needs."""
        return self.hashes * (self.columns + 1 + 2) + 3

    def hasher(self, rows: int | None = None) -> Hasher:
        return Hasher(self.kernel, Design("sobol", 7, rows or self.rows), buckets=self.buckets, width=self.columns)


CASES = (
    Case("skin, power 1", scumble.EuclideanKernel(5.0), 245_057, 3, 1000, goal=0.25),
    Case("skin, power 3", scumble.EuclideanKernel(5.0, 3), 245_057, 3, 1000),
    Case("10 million × 3, power 1", scumble.EuclideanKernel(5.0), 10**7, 3, 1000, goal=10.0),
    Case("10 million × 8, power 2", scumble.EuclideanKernel(5.0, 2), 10**7, 8, 1000),
    Case("10 million × 26, power 4", scumble.EuclideanKernel(5.0, 4), 10**7, 26, 500),
    Case("1 million × 384, angular, power 16", scumble.AngularKernel(16), 10**6, 384, 1000),
)


def skin() -> tuple[np.ndarray, str]:
    """The paper's skin table from the folder in SCUMBLE_DATA, or random numbers of the same size and range."""
    path = Path(os.environ.get("SCUMBLE_DATA", ".")) / "skin.parquet"
    if path.exists():
        from pyarrow.parquet import read_table

        table = read_table(path, columns=["B", "G", "R"])
        return np.column_stack([column.to_numpy() for column in table.columns]).astype(np.float64), "the paper's table"
    return np.random.default_rng(0).integers(0, 256, (245_057, 3)).astype(np.float64), "random bytes"


def milliseconds(work: Callable[[], object]) -> float:
    """By events on the device, the best of five after a warm-up that brings it to its clock."""
    import cupy

    def once() -> float:
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        work()
        end.record()
        end.synchronize()
        return float(cupy.cuda.get_elapsed_time(start, end))

    begin = time.perf_counter()
    while time.perf_counter() - begin < WARM_UP:
        once()
    return min(once() for _ in range(REPEATS))


def on_the_clock(work: Callable[[], object]) -> float:
    """Milliseconds of the host, the best of five after a warm-up."""
    best = float("inf")
    for repeat in range(REPEATS + 1):
        start = time.perf_counter()
        work()
        if repeat:
            best = min(best, 1000 * (time.perf_counter() - start))
    return best


def atomics(where: np.ndarray, buckets: int, processors: int) -> float:
    """Increments per second, from buckets (64, 4096) computed before."""
    import cupy

    text = f"#define BUCKETS {buckets}\n" + BARE
    kernel = cupy.RawKernel(text, "bare")
    rounds, blocks, out = 200, 2 * processors, cupy.zeros(1, np.uint32)
    arguments = (cupy.asarray(where.astype(np.uint32)), np.int32(rounds), out)
    taken = milliseconds(lambda: kernel((blocks,), (512,), arguments, shared_mem=32 * buckets))
    return blocks * 512 * 64 * rounds / taken * 1000


def copy_rate() -> float:
    """Bytes per second that a large copy reads."""
    import cupy

    a, b = cupy.ones(1 << 29, np.float64), cupy.empty(1 << 29, np.float64)
    return 2 * a.nbytes / milliseconds(lambda: cupy.copyto(b, a)) * 1000


def limits(case: Case, X: np.ndarray, device: Any, copied: float) -> dict[str, float]:
    """The least milliseconds that each of the three takes."""
    lanes = device.processors * 128 * 1000.0 * gpu_clock()
    where = reference.buckets(case.hasher(64), [Records(X)]).T
    increments = case.n * case.rows
    return {
        "arithmetic": 1000 * increments * case.instructions / lanes,
        "atomics": 1000 * increments / atomics(where, case.buckets, device.processors),
        "memory": 1000 * 8 * case.n * case.columns / copied,
    }


def gpu_clock() -> int:
    """The highest clock, in kHz."""
    import cupy

    return int(cupy.cuda.Device().attributes["ClockRate"])


def differing(hasher: Hasher, X: Any) -> int:
    """Increments that the device puts elsewhere than the processor, of the first records."""
    import cupy

    part = X[: min(CHECKED, 2 * 10**9 // (hasher.parameters[0].size))]
    ours, theirs = np.zeros((2, hasher.rows, hasher.buckets), np.int64)
    gpu.count(hasher, [Records(part)], ours)
    cpu.count(hasher, [Records(cupy.asnumpy(part))], theirs)
    return int(np.abs(ours - theirs).sum() // 2)


def records(case: Case, table: np.ndarray) -> Any:
    """On the device: the skin table, or normal numbers of four times the standard deviation."""
    import cupy

    if case.name.startswith("skin"):
        return cupy.asarray(table)
    return 4.0 * cupy.random.default_rng(1).standard_normal((case.n, case.columns))


def line(case: Case, X: Any, device: Any, copied: float) -> str:
    import cupy

    hasher, counts = case.hasher(), device.zeros((case.rows, case.buckets))
    different = differing(hasher, X)
    taken = milliseconds(lambda: device.count(hasher, X, counts))
    least = limits(case, cupy.asnumpy(X[:4096]), device, copied)
    told = "".join(f"{each:11.3f}" for each in least.values())
    rate = case.n * case.rows / taken * 1000
    return f"{case.name:36}{taken:9.3f}{case.goal or '':>7}{rate:14.2e}{told}{max(least.values()) / taken:8.0%}" + (
        f"  DIFFERING: {different}" if different else ""
    )


def from_the_host(table: np.ndarray) -> None:
    hasher, counts = CASES[0].hasher(), np.zeros((1000, 1024), np.int64)
    taken = on_the_clock(lambda: gpu.count(hasher, [Records(table)], counts))
    print(f"skin from host memory, counted and added up: {taken:.2f} ms (goal 3)")
    sketch = scumble.Sketch(CASES[0].kernel, 3, rows=1000, buckets=1024, seed=7, design="sobol", engine="gpu")
    taken = on_the_clock(lambda: sketch.update(table))
    print(f"the same through Sketch.update, which also checks every cell: {taken:.2f} ms")


def queries(device: Any) -> None:
    import cupy

    hasher, values = CASES[0].hasher(), np.random.default_rng(2).normal(size=(1000, 1024))
    Q = 4.0 * cupy.random.default_rng(3).standard_normal((10**6, 3))
    taken = on_the_clock(lambda: device.moments(hasher, Q, values, np.arange(1000)))
    print(f"1,000,000 queries at 1,000 rows: {taken:.1f} ms (goal 50)")


def moments(n: int = 200_000, columns: int = 768, classes: int = 10) -> None:
    """Sums of moments of embeddings in host memory, by the processor's cores and by the device, seconds."""
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((n, columns)) / math.sqrt(columns), rng.integers(0, classes, n)
    spec = ClassMoments(
        ((-1.0,) * columns, (1.0,) * columns), None, False, anchored(1, UNIT_ANCHOR), classes, ball=True
    )
    taken, sums = {}, {}
    for engine, times in (("cpu", 2), ("gpu", 4)):
        taken[engine] = []
        for _ in range(times):
            sketch, start = MomentSketch(spec, engine=engine), time.perf_counter()
            sums[engine] = sketch.update(X, y).secret.counts
            taken[engine].append(time.perf_counter() - start)
    assert np.array_equal(sums["cpu"], sums["gpu"])
    print(
        f"moments of {n:,} x {columns}, {classes} classes: {min(taken['cpu']):.2f} s by {os.cpu_count()} cores, "
        f"{min(taken['gpu']):.2f} s by the device, {taken['gpu'][0]:.2f} s for the first time; the same to the integer"
    )


def main() -> None:
    if not gpu.available():
        raise SystemExit("There is no CUDA device here. Hint: this benchmark is for machines that have one.")
    import cupy

    device, (table, what) = gpu._devices()[0], skin()
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    copied = copy_rate()
    print(
        f"{name}, {device.processors} processors at up to {gpu_clock() / 1e6:.2f} GHz; copies {copied / 1e12:.2f} TB/s"
    )
    print(f"skin is {what}; the rest is normal, four times the standard deviation; W = 1,024; 'share' is limit / time")
    for name, where in (("spread over 1,024 buckets", np.random.default_rng(0).integers(0, 1024, (64, 4096))),
                        ("all in one bucket", np.full((64, 4096), 7))):  # fmt: skip
        print(f"bare increments in shared memory, {name}: {atomics(where, 1024, device.processors):.2e} a second")
    print(
        f"\n{'':36}{'ms':>9}{'goal':>7}{'increments/s':>14}{'arithmetic':>11}{'atomics':>11}{'memory':>11}{'share':>8}"
    )
    for case in CASES:
        print(line(case, records(case, table), device, copied), flush=True)
        cupy.get_default_memory_pool().free_all_blocks()
    print()
    from_the_host(table)
    queries(device)
    moments()


if __name__ == "__main__":
    main()
