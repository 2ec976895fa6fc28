"""Layer 3: sensitivity by property testing. How far do neighboring tables really move the exact counters?

The noise is worth nothing if one record moves more than the calibration assumed: by being counted twice, by being
dropped together with others, or by changing how *other* records are read. So count synthetic neighboring tables with
hostile cells, and compare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from scumble.audit.report import Finding, Options
from scumble.density.grid_cells import supports
from scumble.density.spec import Spec
from scumble.errors import ParameterError
from scumble.kernels import Kernel
from scumble.privacy.sensitivity import sides_of


def broken_bound(here: np.ndarray, there: np.ndarray, neighbors: str = "add-remove", people: int = 1) -> str:
    """Why two exact tables (rows, buckets) cannot be those of neighbors; "" if they can.

    These are the preconditions of ``calibration.proof.md``: in every row at most m counters leave and arrive in all,
    and then L1 <= sides·m·R and L2² <= sides·m²·R hold by addition.

    >>> broken_bound(np.array([[1, 0]]), np.array([[1, 1]]))
    ''
    >>> broken_bound(np.array([[1, 0]]), np.array([[1, 2]]))
    'row 0 changes by 2 in all, and 1 is allowed'
    """
    move = there.astype(np.int64) - here
    sides = sides_of(neighbors)
    gone, come = -np.minimum(move, 0).sum(axis=1), np.maximum(move, 0).sum(axis=1)
    for r in np.flatnonzero((np.maximum(gone, come) > people) | (gone + come > sides * people))[:1]:
        return f"row {r} changes by {gone[r] + come[r]} in all, and {sides * people} is allowed"
    if sides == 1 and len(np.unique(move.sum(axis=1))) > 1:
        return "the rows count different numbers of records"
    if sides == 2 and np.any(move.sum(axis=1) != 0):
        return "the number of records changes, which replacing must not do"
    if np.any(here < 0) or np.any(there < 0):
        return "a counter is negative"
    return ""


def sensitivity_finding(
    count: Callable[[Any], np.ndarray],
    pairs: Iterable[tuple[Any, Any]],
    *,
    name: str,
    neighbors: str = "add-remove",
    people: int = 1,
) -> Finding:
    """Whether all pairs of neighboring data sets have counters that differ as little as they must."""
    tried, largest, broken = 0, 0, ""
    for here, there in pairs:
        tables = count(here), count(there)
        tried += 1
        largest = max(largest, int(np.abs(tables[1] - tables[0]).sum()))
        broken = broken_bound(*tables, neighbors, people)
        if broken:
            break
    values = {"pairs": tried, "largest_change": largest, "neighbors": neighbors}
    return Finding(3, name, not broken, broken or f"{tried:,} pairs of tables, largest change {largest}", values)


# ---- synthetic tables ----

MOST_RECORDS = 12

Columns = Options
_NUMBERS: Sequence[float] = (
    *(0.0, -0.0, 1.0, -1.0, 0.1, 5e-324, -1e-308, 2.0**31, -(2.0**31), 2.0**53, 1e15, 1e300, -1e300, 1e308, -1e308),
    *(np.inf, -np.inf, np.nan),
)
_CATEGORIES: Sequence[object] = ("a", "b", "", "1", 1, 1.0, True, 2**70, -0.0, 0, 0.1, "ä", None, float("nan"), "nan")
_TOKENS: Sequence[object] = ([], ["a"], ["b", "a"], ["a", "a"], "a b", "", None, ["a", None], [1, "1"], ["x"] * 50)


class TableMaker:
    """Synthetic tables that a kernel can read, from a seed: harmless or with hostile cells."""

    def __init__(self, kernel: Kernel, seed: int = 0) -> None:
        self.kernel = kernel
        self._rng = np.random.default_rng(seed)
        self.names = _names_of(kernel)
        self._values = {name: _values_of(kernel, self.names, name) for name in self.names}

    def spec(self, *, rows: int, buckets: int, seed: int, design: str) -> Spec:
        """The parameters of a sketch of these columns."""
        return Spec(self.kernel, len(self.names), tuple(self.names), rows, buckets, seed, design)

    def grid_spec(self) -> Spec | None:
        """A grid of four cells along each axis, if the kernel can have one."""
        width = len(self.names)
        if supports(self.kernel, width, self.names):
            return None
        shape, bounds = (4,) * len(self.kernel.which(width, self.names)), ((-10.0,) * width, (10.0,) * width)
        return Spec(self.kernel, width, tuple(self.names), 1, 4 ** len(shape), 0, "grid", bounds, shape)

    def record(self, *, hostile: bool = True) -> Options:
        """A random record; `hostile` ones hold odd cells."""
        return {name: self._cell(kind, hostile) for name, kind in self._values.items()}

    def _cell(self, kind: str, hostile: bool) -> object:
        if kind == "tokens":
            return self._one_of(_TOKENS) if hostile else [f"t{k}" for k in self._rng.integers(20, size=3)]
        if kind == "category":
            return self._one_of(_CATEGORIES) if hostile else f"c{self._rng.integers(20)}"
        if kind == "flag":
            return self._one_of((0.0, 1.0, np.nan) if hostile else (0.0, 1.0))
        return self._one_of(_NUMBERS) if hostile and self._rng.random() < 0.5 else self._rng.uniform(-10.0, 10.0)

    def _one_of(self, cells: Sequence[object]) -> object:
        return cells[int(self._rng.integers(len(cells)))]

    def distinct(self) -> tuple[Options, Options]:
        """Two records that have little in common."""
        far: Options = {
            "number": (-31.7, 47.3),
            "flag": (1.0, 0.0),
            "category": ("left", "right"),
            "tokens": (["l"], ["r"]),
        }
        one, two = ({name: far[kind][k] for name, kind in self._values.items()} for k in (0, 1))
        # Directions must differ too, for kernels that only see those.
        for k, name in enumerate(self.names):
            if self._values[name] == "number" and k % 2:
                two[name] = -two[name] / 3.0
        return one, two

    def table(self, records: Sequence[Options]) -> Columns:
        """Records as columns: numbers as float64, all else as objects."""
        columns: Columns = {}
        for name, kind in self._values.items():
            column = np.empty(len(records), np.float64 if kind in ("number", "flag") else object)
            for i, record in enumerate(records):
                column[i] = record[name]
            columns[name] = column
        return columns

    def pairs(self, count: int, neighbors: str) -> Iterator[tuple[Columns, Columns]]:
        """Neighboring tables: one record less, or another one in its place.

        Where replacing makes N public the records are readable ones: one that is dropped would change N.
        """
        hostile = neighbors == "add-remove"
        for _ in range(count):
            records = [self.record(hostile=hostile) for _ in range(1 + self._rng.integers(MOST_RECORDS))]
            i = self._rng.integers(len(records))
            instead = [] if hostile else [self.record(hostile=False)]
            yield self.table(records), self.table([*records[:i], *instead, *records[i + 1 :]])


def _names_of(kernel: Kernel) -> list[str]:
    """Names for the columns that the kernel reads: its own where it has some, else three."""
    named = [c for factor in kernel.factors for c in factor.columns or () if isinstance(c, str)]
    places = [c for factor in kernel.factors for c in factor.columns or () if not isinstance(c, str)]
    if named and places:
        raise ParameterError("The kernel names some columns and numbers others. Hint: use names throughout.")
    if named:
        return list(dict.fromkeys(named))
    return [f"column {k}" for k in range(max(places, default=2) + 1)]


def _values_of(kernel: Kernel, names: Sequence[str], name: str) -> str:
    """What a column must hold: the first kind of cell that all factors which read it accept."""
    j = names.index(name)
    mine = [factor for factor in kernel.factors if j in factor.which(len(names), names)]
    if any(factor.reads == "tokens" for factor in mine):
        alone = all(len(factor.which(len(names), names)) == 1 for factor in mine)
        return "tokens" if alone else "flag"
    if mine and all(factor.reads == "category" for factor in mine):
        return "category"
    return "number"
