"""A table as it is measured: its columns' public bounds and vocabularies, and its rows as integer codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from scumble.table.grouping import Column

CELLS = 64
"""Fine cells of a number, unless whole numbers are fewer."""


@dataclass(frozen=True)
class Number:
    """A number between public bounds: equal cells, or equal ratios with a cell for zero and below."""

    low: float
    high: float
    whole: bool = False
    log: bool = False

    @property
    def edges(self) -> np.ndarray:
        if self.log:
            start = 1.0 if self.low <= 0 else self.low
            grown = np.geomspace(start, self.high * (1 + 1e-9), CELLS + 1)
            grown = np.unique(np.round(grown)) if self.whole else grown
            return np.concatenate([[min(self.low, 0.0)], grown]) if self.low <= 0 else grown
        if self.whole and self.high - self.low < 128:
            return np.arange(self.low, self.high + 2) - 0.5
        return np.linspace(self.low, self.high * (1 + 1e-9), CELLS + 1)

    @property
    def values(self) -> np.ndarray:
        """The middle of each cell."""
        edges = self.edges
        middles = (edges[1:] + edges[:-1]) / 2
        if self.log and self.low == 0:
            middles[0] = 0.0
        return middles

    def encode(self, cells: Any) -> np.ndarray:
        numbers = np.asarray(cells, float)
        codes = np.searchsorted(self.edges, numbers, side="right") - 1
        return np.clip(codes, 0, len(self.edges) - 2)


Known = dict[str, tuple[dict[str, Number | None], str]]
"""Of each table, its columns (None: words) and its target."""


@dataclass(frozen=True)
class Table:
    """A table of integer codes, and what its columns are."""

    name: str
    names: tuple[str, ...]
    columns: tuple[Column, ...]
    values: tuple[np.ndarray | None, ...]
    """For numbers the middle of each cell; None for categories."""
    codes: np.ndarray
    target: int

    def split(self, test: float = 0.2) -> tuple[Table, Table]:
        """Private and test rows, the same for everybody."""
        order = np.random.default_rng(0).permutation(len(self.codes))
        cut = round(len(order) * (1 - test))
        parts = (order[:cut], order[cut:])
        private, tested = (
            Table(self.name, self.names, self.columns, self.values, self.codes[p], self.target) for p in parts
        )
        return private, tested


def encoded(name: str, frame: Any, known: dict[str, Number | None], target: str) -> Table:
    """Codes of a frame. The vocabularies of these public tables are taken as known, with a level for missing cells."""
    columns: list[Column] = []
    values: list[np.ndarray | None] = []
    codes = []
    for column, number in known.items():
        cells = frame[column]
        missing = cells.isna().to_numpy()
        if number is None:
            words, code = np.unique(cells.astype(str).where(~missing, "missing").to_numpy(str), return_inverse=True)
            columns.append(Column(len(words)))
            values.append(None)
            codes.append(code)
            continue
        code = number.encode(np.where(missing, number.low, cells.to_numpy(float)))
        levels = len(number.values)
        if missing.any():
            code = np.where(missing, levels, code)
        columns.append(Column(levels + bool(missing.any()), levels))
        values.append(np.append(number.values, number.values.mean()) if missing.any() else number.values)
        codes.append(code)
    names = tuple(known)
    return Table(name, names, tuple(columns), tuple(values), np.stack(codes, 1).astype(np.int64), names.index(target))
