"""Neighboring tables of the most hostile floats: does a record ever move a counter other than its own?

A case is a kernel (any that the library has, one of a user's own, or a product), a design or a grid, a table, and one
record more, full of denormal, huge and mixed numbers. The counters with it, less those without it, must be the
counters of the record alone, counted by itself: one in each row. They must be those of the reference, to the integer.
And all must be silent: no warning, and no floating-point flag that NumPy tells of.

    python -m benchmarks.neighbors --pairs 200000 --processes 16

prints the cases that break; `--only 17` does case 17 again. Tests run the first few hundred.
"""

from __future__ import annotations

import argparse
import inspect
import platform
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np

from scumble import Sketch
from scumble.counting.hasher import family
from scumble.density.grid_cells import MAX_DIMENSIONS
from scumble.density.grid_layout import GridRow
from scumble.errors import ParameterError
from scumble.kernels import Kernel, ProductKernel
from scumble.kernels.design import DESIGNS

LARGEST, LEAST = np.finfo(np.float64).max, np.finfo(np.float64).smallest_subnormal
NORMAL = np.finfo(np.float64).tiny
SIZES = (0.0, LEAST, 1e-310, NORMAL, 3e-308, 1e-200, 1e-45, 2e-38, 1e-5, 0.5, 1.0, 255.0, 1e5, 2.0**31, 2.0**53, 1e16)
CELLS = np.array([sign * size for size in (*SIZES, 3.4e38, 1e39, 1e200, 1e300, 1e308, LARGEST) for sign in (1, -1)])
"""What hostile values are, −0.0 included."""
RECORDS = (1, 30, 255, 256, 257, 300, 600, 2047, 2048, 2049, 4500)
"""Fewer and more than the quick loops serve, and than a tile holds."""
SCALES = (1e-300, 1e-30, 1e-3, 1e3, 1e30, 1e300, 1e305)
SLOW = ("python", "minimum")
"""Kernels whose reference goes record by record."""
CHUNK = 50
"""Cases that a process takes at a time."""


class Corner(Kernel):
    """A kernel of a user's own: compiled as it stands."""

    def _draw_one(self, draws: Any, dimensions: int) -> np.ndarray:
        return draws.uniform(2)

    @staticmethod
    def code(record: np.ndarray, parameters: np.ndarray) -> float:
        return np.floor(record[0] * parameters[0] + parameters[1])

    def collision(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        raise NotImplementedError


def kinds() -> list[type[Kernel]]:
    """Every kernel the library has, and `Corner`."""
    found = [kind for kind in Kernel.registry.values() if kind.__module__.startswith("scumble.")]
    return [*sorted((kind for kind in found if kind is not ProductKernel), key=lambda kind: kind.name), Corner]


@dataclass(frozen=True)
class Case:
    """A sketch's parameters, a table, one record more and where it stands."""

    sketch: dict[str, Any]
    table: np.ndarray
    record: np.ndarray
    place: int

    @property
    def neighbor(self) -> np.ndarray:
        return np.insert(self.table, self.place, self.record, axis=0)

    def counts(self, table: np.ndarray) -> np.ndarray:
        """The exact counters of a table."""
        return Sketch(**self.sketch).update(table).contents()[1]["counts"]


def case(number: int, seed: int = 0, kind: type[Kernel] | None = None, engine: str = "cpu") -> Case:
    """Case `number`, with a kernel of that kind or of any."""
    rng = np.random.default_rng([seed, number])
    columns = int(rng.integers(1, 10))
    kernel = _kernel(rng, kind or _pick(rng, kinds()))
    if kind is None and rng.random() < 0.25:
        kernel = _product(rng, columns)
    rows, n = _pick(rng, ((5, RECORDS), (37, RECORDS), (256, RECORDS[:7]), (70, RECORDS[-1:])))
    if any(family(factor) in SLOW for factor in kernel.factors):
        rows, n = 5, RECORDS[:6]
    sketch: dict[str, Any] = {"kernel": kernel, "rows": rows, "buckets": int(_pick(rng, (1, 2, 7, 64, 1000, 4096)))}
    sketch |= {"design": _pick(rng, DESIGNS)}
    if all(factor.stationary for factor in kernel.factors) and rng.random() < 0.25:
        columns = min(columns, MAX_DIMENSIONS) if len(kernel.factors) == 1 else columns
        if len(kernel.which(columns, None)) <= MAX_DIMENSIONS:
            sketch |= _grid(rng, columns, len(kernel.which(columns, None)))
    sketch |= {
        "dimensions": columns,
        "seed": int(rng.integers(2**32)),
        "invalid": "drop",
        "threads": 2,
        "engine": engine,
    }
    table, record = _table(rng, int(_pick(rng, n)), columns), _spiteful(rng, (columns,))
    if any(factor.reads == "tokens" for factor in kernel.factors):  # sets are columns of 0 and more
        table, record = np.abs(table), np.abs(record)
    return Case(sketch, table, record, int(rng.integers(len(table) + 1)))


def _pick(rng: np.random.Generator, things: Any) -> Any:
    return things[int(rng.integers(len(things)))]


def _kernel(rng: np.random.Generator, kind: type[Kernel], **options: Any) -> Kernel:
    """A kernel of that kind, with whatever settings it takes."""
    known = inspect.signature(kind).parameters
    options |= {"power": int(_pick(rng, (1, 2, 3, 4, 8)))}
    if "bandwidth" in known:
        options |= {"bandwidth": float(_pick(rng, (0.05, 0.5, 1.0, 1.0, 30.0)))}
    if "projections" in known:
        options |= {"projections": int(rng.integers(2, 6))}
    if "origin" in known and rng.random() < 0.5:
        options |= {"origin": float(_pick(rng, (0.0, -10.0, 1e300)))}
    if rng.random() < 0.5:
        try:
            return kind(**options, scale=float(_pick(rng, SCALES)))
        except ParameterError:
            pass  # categories have no scale
    return kind(**options)


def _product(rng: np.random.Generator, columns: int) -> Kernel:
    """Two or three kernels, each over columns of its own choice."""
    some = [rng.choice(columns, int(rng.integers(1, columns + 1)), replace=False) for _ in range(rng.integers(2, 4))]
    return ProductKernel(*(_kernel(rng, _pick(rng, kinds()), columns=[int(i) for i in which]) for which in some))


def _grid(rng: np.random.Generator, columns: int, axes: int) -> dict[str, Any]:
    """A grid over ordinary, tiny or huge bounds."""
    bounds = _pick(rng, ((0.0, 1.0), (0.0, 255.0), (-1.0, 1e-310), (0.0, 1e-300), (-8e307, 8e307), (1e300, 2e300)))
    shape = tuple(int(cells) for cells in rng.integers(1, 12, axes))
    return {"design": "grid", "rows": None, "buckets": shape, "bounds": ([bounds[0]] * columns, [bounds[1]] * columns)}


def _spiteful(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Cells of one kind or of many."""
    if rng.random() < 0.4:
        return np.full(shape, _pick(rng, CELLS))
    return rng.choice(CELLS if rng.random() < 0.5 else rng.choice(CELLS, 2), shape)


def _table(rng: np.random.Generator, n: int, columns: int) -> np.ndarray:
    """Columns that are constant, ordinary, whole numbers, of any magnitude, or spiteful: all alike, or each its own."""
    makers = (
        lambda m: np.zeros((n, m)),
        lambda m: np.full((n, m), _pick(rng, CELLS)),
        lambda m: rng.normal(size=(n, m)) * 3.0 + _pick(rng, (0.0, 100.0, 1.7e9)),
        lambda m: rng.integers(-3, 4, (n, m)).astype(float),
        lambda m: rng.normal(size=(n, m)) * 10.0 ** rng.integers(-323, 308),
        lambda m: _spiteful(rng, (n, m)),
    )
    if rng.random() < 0.5:
        return _pick(rng, makers)(columns)
    return np.hstack([_pick(rng, makers)(1) for _ in range(columns)])


def broken(case: Case) -> str:
    """What is wrong with the counters of a case; "" if nothing is."""
    noise: list[str] = []
    with (
        np.errstate(all="call", call=lambda kind, flag: noise.append(kind)),
        warnings.catch_warnings(record=True) as warned,
    ):
        warnings.simplefilter("always")
        here, there, alone = (case.counts(table) for table in (case.table, case.neighbor, case.record[None]))
        told = slowly(case)
    moved = np.abs(there - here).sum(axis=1)
    if moved.max() > 1:
        return f"one record moves {moved.max()} counts in a row"
    if len(np.unique(moved)) > 1:
        return "one record is counted in some rows only"
    if np.any(there - here != alone):
        return "a record is counted otherwise in company than alone"
    if not np.array_equal(there, told):
        return "the counters are not those of the reference"
    noise += [str(warning.message) for warning in warned]
    return f"is not silent: {noise[0]}" if noise else ""


def slowly(case: Case) -> np.ndarray:
    """The counters of the neighbor in the obvious way."""
    sketch = Sketch(**{**case.sketch, "engine": "reference"})
    layout = sketch.spec.layout
    if not isinstance(layout, GridRow):
        return sketch.update(case.neighbor).contents()[1]["counts"]
    grid, (parts, _) = layout.grid, layout.read(case.neighbor, invalid="drop")
    with np.errstate(all="ignore"):
        place = np.floor((layout.matrix(parts) - grid.start) / grid.step)
    axes = np.fmin(np.fmax(place, 0.0), np.array(grid.shape) - 1.0).astype(int)
    return np.bincount(np.ravel_multi_index(tuple(axes.T), grid.shape), minlength=grid.cells)[None]


def _some(seed: int, engine: str, first: int, last: int) -> list[tuple[int, str]]:
    return [(number, why) for number in range(first, last) if (why := broken(case(number, seed, engine=engine)))]


def findings(pairs: int, seed: int, processes: int, engine: str = "cpu") -> Iterator[tuple[int, str]]:
    """The cases that break, and why."""
    firsts = range(0, pairs, CHUNK)
    lasts = [min(first + CHUNK, pairs) for first in firsts]
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for some in pool.map(partial(_some, seed, engine), firsts, lasts):
            yield from some


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.neighbors", description=__doc__.split("\n\n")[0])
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--engine", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--only", type=int, help="one case")
    asked = parser.parse_args()
    if asked.only is not None:
        one = case(asked.only, asked.seed, engine=asked.engine)
        print(one.sketch, one.table.shape, one.record, broken(one) or "holds", sep="\n")
        return 0
    bad = 0
    for number, why in findings(asked.pairs, asked.seed, asked.processes, asked.engine):
        print(f"case {number}: {why}", flush=True)
        bad += 1
    print(f"{platform.machine()}, {asked.engine}: {asked.pairs} pairs of neighbors, {bad} broken (seed {asked.seed})")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
