"""The loops as another processor would run them: plain Python, with that processor's conversions and fused products.

numba's loops are loaded once more with the compiler taken away, and `np.int32` and its kin replaced by the rules of
`CONVERSIONS`. The counters must be the reference's under every rule. One rule, "trap", raises where
processors disagree: the loops never meet one.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import scumble
from scumble.counting import Hasher, reference
from scumble.counting.hasher import whole
from scumble.density import grid_cells as cells
from scumble.density.grid_cells import Grid
from scumble.files import compiling
from scumble.kernels import ColumnKernel, FoldedKernel, Kernel, Records
from scumble.kernels.design import Design

LARGEST, LEAST = np.finfo(np.float64).max, np.finfo(np.float64).smallest_subnormal
LOADED = ["exact", "quick", "repeats", "cpu"]
"""In the order in which they import each other."""
WIDTHS = {"int32": 32, "int64": 64, "intp": 64, "uint32": 33, "uint64": 65}  # unsigned: as signed with one bit more

Conversion = Callable[[float, int], int]
"""From a float to a signed integer of so many bits, the fraction cut off."""


def _fits(value: float, bits: int) -> bool:
    return math.isfinite(value) and -(2 ** (bits - 1)) <= int(value) < 2 ** (bits - 1)


def _x86(value: float, bits: int) -> int:
    """CVTTSD2SI: what does not fit is "integer indefinite"."""
    return int(value) if _fits(value, bits) else -(2 ** (bits - 1))


def _arm(value: float, bits: int) -> int:
    """FCVTZS: what does not fit is the nearest end, NaN is 0."""
    if _fits(value, bits):
        return int(value)
    return 0 if math.isnan(value) else 2 ** (bits - 1) - 1 if value > 0.0 else -(2 ** (bits - 1))


def _trap(value: float, bits: int) -> int:
    """Of no processor: refuses what they disagree about."""
    if not _fits(value, bits):
        raise FloatingPointError(f"A float was converted to {bits} bits that do not hold it.")
    return int(value)


CONVERSIONS: dict[str, Conversion] = {"x86-64": _x86, "arm64": _arm, "trap": _trap}


class Whole:
    """A type of whole numbers that floats become by a rule; to NumPy's functions it is that type."""

    def __init__(self, name: str, rule: Conversion) -> None:
        self.dtype, self._bits, self._rule = np.dtype(name), WIDTHS[name], rule

    def __call__(self, value: Any) -> Any:
        if isinstance(value, float | np.floating):
            value = np.int64(self._rule(float(value), self._bits))
        return self.dtype.type(value)


class Processor:
    """NumPy, but for conversions from floats to integers, which follow a rule."""

    def __init__(self, rule: Conversion) -> None:
        self.__dict__ |= {name: Whole(name, rule) for name in WIDTHS}

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


@pytest.fixture
def loops(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The engine with its loops in plain Python, for a rule of conversion and with or without fused products."""

    def plain(*function: Any, **options: Any) -> Any:
        return function[0] if function else lambda given: given

    def load(module: ModuleType) -> ModuleType:
        spec = importlib.util.spec_from_file_location(module.__name__, module.__file__)
        assert spec is not None and spec.loader is not None
        copy = importlib.util.module_from_spec(spec)
        with monkeypatch.context() as patch:
            patch.setattr(compiling, "njit", plain)
            spec.loader.exec_module(copy)
        return copy

    def engine(rule: str, *, fused: bool = False) -> tuple[ModuleType, ModuleType]:
        processor = Processor(CONVERSIONS[rule])
        for name in (f"scumble.counting.{name}" for name in LOADED):
            copy = load(sys.modules[name])
            if hasattr(copy, "np") and not name.endswith("cpu"):
                monkeypatch.setattr(copy, "np", processor)
            monkeypatch.setitem(sys.modules, name, copy)
            room, _, short = name.rpartition(".")
            monkeypatch.setattr(sys.modules[room], short, copy)
        if fused:
            monkeypatch.setattr(sys.modules["scumble.counting.quick"], "multiply", fused_products)
        compiled = sys.modules["scumble.counting.cpu"]
        compiled.numpy_first.limits = compiled.exact_first.limits = (0, 0)  # its loops from the first record on
        grids = load(cells)
        monkeypatch.setattr(grids, "np", processor)
        return compiled, grids

    yield engine


def fused_products(directions: np.ndarray, blocks: np.ndarray, out: np.ndarray) -> None:
    """Each product in full, each sum rounded once."""
    total = np.zeros((len(directions), len(blocks), blocks.shape[2]), np.float32)
    for j in range(blocks.shape[1]):
        total[:] = directions[:, j, None, None].astype(np.float64) * blocks[:, j].astype(np.float64) + total
    out[:, : total[0].size] = total.reshape(len(directions), -1)


def spiteful(columns: int) -> np.ndarray:
    """Denormal, huge and ordinary numbers, and some on edges."""
    rng = np.random.default_rng(columns)
    X = np.round(rng.normal(size=(260, columns)) * 3.0, 1)
    X[::7] = rng.choice([0.0, -0.0, LEAST, -1e-310, 1e-300, 2.0**31], X[::7].shape)
    return X


TABLES = {
    "zeros and a denormal number": lambda d: np.vstack([np.zeros((259, d)), np.full((1, d), LEAST)]),
    "mixed": spiteful,
    "as wide as can be": lambda d: np.vstack([spiteful(d), np.full((1, d), LARGEST), np.full((1, d), -LARGEST)]),
}
KERNELS: list[Kernel] = [
    scumble.EuclideanKernel(1.0),
    scumble.ManhattanKernel(2.0, power=2),
    scumble.EuclideanKernel(1.0, power=5),
    scumble.AngularKernel(power=2),
    FoldedKernel(3),
    ColumnKernel(0.5, power=2),
    ColumnKernel(0.5, scale=10.0, origin=-5.0),
    scumble.EuclideanKernel(1.0, columns=[0]) * scumble.HammingKernel(columns=[1]),
]


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("rule", CONVERSIONS)
def test_every_processor_counts_as_the_reference_does(loops: Any, rule: str, table: Any) -> None:
    engine, _ = loops(rule)
    for kernel in KERNELS:
        check(engine, kernel, table(2))


@pytest.mark.parametrize("fused", [False, True])
def test_fused_products_change_nothing(loops: Any, fused: bool) -> None:
    engine, _ = loops("trap", fused=fused)
    for columns in (1, 3, 4, 6):
        X = spiteful(columns)
        X[:, 0] = np.arange(len(X)) % 11 * 0.1
        check(engine, scumble.EuclideanKernel(0.1), X)


def check(engine: Any, kernel: Kernel, X: np.ndarray) -> None:
    hasher = Hasher(kernel, Design("iid", 5, 5), buckets=32, width=X.shape[1])
    parts = [Records(X[:, which]) for which in hasher.which]
    fast, slow = np.zeros((2, 5, 32), np.int64)
    with np.errstate(all="ignore"):  # NumPy's scalars tell of whole numbers that wrap, as they must
        engine.count(hasher, parts, fast, 1)
    reference.count(hasher, parts, slow)
    np.testing.assert_array_equal(fast, slow)


@pytest.mark.parametrize("rule", CONVERSIONS)
def test_grids_count_alike_on_every_processor(loops: Any, rule: str) -> None:
    _, grids = loops(rule)
    X = np.array([[0.0, LEAST], [LARGEST, -LARGEST], [np.inf, -np.inf], [np.nan, 0.5], [-0.0, 1e-310], [0.5, 1.0]])
    for low, high in (([0, 0], [1, 1]), ([0, -1.0], [1e-310, 1.0]), ([-8e307] * 2, [8e307] * 2)):
        given = {"low": low, "high": high, "shape": (3, 4), "width": 2}
        with np.errstate(all="ignore"):
            found = grids.Grid(scumble.EuclideanKernel(1.0), **given).cell(X)
        np.testing.assert_array_equal(found, Grid(scumble.EuclideanKernel(1.0), **given).cell(X))
        assert np.all((found >= 0) & (found < 12))


def test_arrays_are_converted_where_they_fit_and_nowhere_else() -> None:
    values = np.array([3.0, np.nan, np.inf, -1e300, -7.0])
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(whole(values, np.abs(values) < 10.0), [3, 0, 0, 0, -7])


def test_a_conversion_that_processors_disagree_about_is_trapped(loops: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the floor under the columns' reach: the defect that moved everybody on x86-64, and was silent on ARM."""
    from scumble.counting import guard

    def careless(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        center = low / 2.0 + high / 2.0
        return center, np.maximum(high - center, center - low)

    engine, _ = loops("trap")
    monkeypatch.setattr(guard, "_middles", careless)
    monkeypatch.setattr(
        sys.modules["scumble.counting.quick"],
        "_moved",
        lambda value, center, stretch: np.float32((value - center) * stretch),
    )
    with pytest.raises(FloatingPointError, match="32 bits"):
        check(engine, scumble.EuclideanKernel(1.0), TABLES["zeros and a denormal number"](3))
