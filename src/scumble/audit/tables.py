"""Synthetic tables for audits: whatever a kernel reads, harmless or as nasty as it comes, and their neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from scumble import grid
from scumble.design.random import to_unit, words
from scumble.errors import ParameterError
from scumble.kernels import Kernel
from scumble.spec import Spec

MOST_RECORDS = 12

Columns = dict[str, Any]
_NUMBERS: Sequence[float] = (
    *(0.0, -0.0, 1.0, -1.0, 0.1, 5e-324, -1e-308, 2.0**31, -(2.0**31), 2.0**53, 1e15, 1e300, -1e300, 1e308, -1e308),
    *(np.inf, -np.inf, np.nan),
)
_CATEGORIES: Sequence[Any] = ("a", "b", "", "1", 1, 1.0, True, 2**70, -0.0, 0, 0.1, "ä", None, float("nan"), "nan")
_TOKENS: Sequence[Any] = ([], ["a"], ["b", "a"], ["a", "a"], "a b", "", None, ["a", None], [1, "1"], ["x"] * 50)


class TableMaker:
    """Synthetic tables that a kernel can read, from a seed: harmless ones, and as nasty as they come."""

    def __init__(self, kernel: Kernel, seed: int = 0) -> None:
        self.kernel = kernel
        self._seed, self._drawn = seed, 0
        self._ahead: list[int] = []
        self.names = _names_of(kernel)
        self._values = {name: _values_of(kernel, self.names, name) for name in self.names}

    def spec(self, *, rows: int, buckets: int, seed: int, design: str) -> Spec:
        """The parameters of a sketch of these columns."""
        return Spec(self.kernel, len(self.names), tuple(self.names), rows, buckets, seed, design)

    def grid_spec(self) -> Spec | None:
        """A grid of four cells along each axis, if the kernel can have one."""
        width = len(self.names)
        if grid.supports(self.kernel, width, self.names):
            return None
        shape, bounds = (4,) * len(self.kernel.which(width, self.names)), ((-10.0,) * width, (10.0,) * width)
        return Spec(self.kernel, width, tuple(self.names), 1, 4 ** len(shape), 0, "grid", bounds, shape)

    def below(self, n: int) -> int:
        """A random whole number below n."""
        if not self._ahead:
            self._ahead = words(self._seed, 0xA0D17, 64, first=self._drawn + 1).tolist()[::-1]
            self._drawn += 64
        return self._ahead.pop() % n

    def record(self, *, hostile: bool = True) -> dict[str, Any]:
        """A random record; `hostile` ones hold odd cells."""
        return {name: self._cell(kind, hostile) for name, kind in self._values.items()}

    def _cell(self, kind: str, hostile: bool) -> Any:
        if kind == "tokens":
            return _TOKENS[self.below(len(_TOKENS))] if hostile else [f"t{self.below(20)}" for _ in range(3)]
        if kind == "category":
            return _CATEGORIES[self.below(len(_CATEGORIES))] if hostile else f"c{self.below(20)}"
        if kind == "flag":
            return (0.0, 1.0, np.nan)[self.below(3 if hostile else 2)]
        if hostile and self.below(2):
            return _NUMBERS[self.below(len(_NUMBERS))]
        return 20.0 * float(to_unit(np.array([self.below(2**63)], np.uint64) << np.uint64(1))[0]) - 10.0

    def distinct(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Two records that have little in common."""
        far: dict[str, Any] = {
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

    def table(self, records: Sequence[dict[str, Any]]) -> Columns:
        """Records as columns: numbers as float64, all else as objects."""
        columns: Columns = {}
        for name, kind in self._values.items():
            column = np.empty(len(records), np.float64 if kind in ("number", "flag") else object)
            for i, record in enumerate(records):
                column[i] = record[name]
            columns[name] = column
        return columns

    def pairs(self, count: int, neighbors: str) -> Iterator[tuple[Columns, Columns]]:
        """Neighbouring tables: one record less, or another one in its place.

        Where replacing makes N public the records are readable ones: one that is dropped would change N.
        """
        for _ in range(count):
            hostile = neighbors == "add-remove"
            records = [self.record(hostile=hostile) for _ in range(1 + self.below(MOST_RECORDS))]
            i = self.below(len(records))
            rest = records[:i] + records[i + 1 :]
            other = rest if neighbors == "add-remove" else [*records[:i], self.record(hostile=False), *records[i + 1 :]]
            yield self.table(records), self.table(other)


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
