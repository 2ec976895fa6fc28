"""A line cut into cells, and how values lie within a cell.

Within a cell values are taken to lie evenly: on the line itself, or on its logarithm if the column's scale is
logarithmic. One rule serves three readers: what share of a cell a range covers (`shares`), the value at a given share
(`at`, for synthetic rows and quantiles), the mean (`means`). A record is counted in its whole cell (`find`); evenness
is only how answers are read.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from scumble.schema import line
from scumble.schema.line import Span, Spans
from scumble.schema.search import cells_of

_LEAST = 1e-300
"""A cell that begins below has no sensible logarithm: the one between zero and the first edge."""
_NOTHING = 1e-300
"""No share of a cell is smaller: it is a single value's."""
_SUMMED = 10_000
"""Cells of no more whole numbers get their mean by summing them."""


@dataclass(frozen=True)
class Cuts:
    """Cells on a line, each from its own edge to the next one.

    Parameters
    ----------
    edges : tuple of int
        Places on the line: the first of each cell, and the one after the last cell.
    real : bool
        Whether places stand for float64 values by their bits, or for themselves.
    log : bool
        Whether values lie evenly on the logarithm.
    """

    edges: tuple[int, ...]
    real: bool
    log: bool

    @property
    def size(self) -> int:
        """How many cells there are."""
        return len(self.edges) - 1

    @property
    def line(self) -> Span:
        """The whole of it."""
        return self.edges[0], self.edges[-1]

    @property
    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        edges = np.array(self.edges, np.int64)
        return edges[:-1], edges[1:]

    @property
    def _logarithmic(self) -> np.ndarray:
        return self.log & (self.values(self._ends[0]) > _LEAST)

    def values(self, places: np.ndarray) -> np.ndarray:
        """What stands there, as float64."""
        return line.value(places) if self.real else np.asarray(places, np.float64)

    def find(self, places: np.ndarray) -> np.ndarray:
        """The cell of each place; beyond the ends, the nearest one."""
        return cells_of(np.array(self.edges[1:-1], np.int64), places)

    def holds(self, places: np.ndarray) -> np.ndarray:
        """Which places are on the line at all."""
        first, end = self.line
        return (places >= first) & (places < end)

    def touched(self, spans: Spans) -> Spans:
        """All cells that have anything of the spans (all on the line), as wholes."""
        return line.joined(
            tuple(
                (self.edges[bisect_right(self.edges, first) - 1], self.edges[bisect_right(self.edges, end - 1)])
                for first, end in spans
            )
        )

    # ---- evenness ----

    def shares(self, spans: Spans) -> tuple[np.ndarray, np.ndarray]:
        """The share of each cell that lies in the spans (all on the line), and whether that is a part of it only."""
        share, partly = np.zeros(self.size), np.zeros(self.size, bool)
        for first, end in spans:
            one, other = bisect_right(self.edges, first) - 1, bisect_right(self.edges, end - 1) - 1
            share[one + 1 : other] = 1.0
            for cell in {one, other}:
                low, high = max(first, self.edges[cell]), min(end, self.edges[cell + 1])
                # Spans have gaps between them: a cell that one does not fill is not filled by several.
                partly[cell] = (low, high) != (self.edges[cell], self.edges[cell + 1])
                share[cell] += self._part(cell, low, high) if partly[cell] else 1.0
        return np.minimum(share, 1.0), partly

    def _part(self, cell: int, low: int, high: int) -> float:
        """The share of one cell between two places of it."""
        values = self.values(np.array([self.edges[cell], low, high, self.edges[cell + 1]]))
        if self._logarithmic[cell]:
            values = np.log(values)
        start, below, upto, end = values.tolist()
        share = (upto - below) / (end - start) if end > start else 0.0
        return share if share > _NOTHING else 0.0

    def _measure(self, places: np.ndarray) -> np.ndarray:
        """On which values of a cell lie evenly; `places` has one for each cell."""
        values = self.values(places)
        return np.where(self._logarithmic, np.log(np.maximum(values, _LEAST)), values)

    def at(self, codes: np.ndarray, share: np.ndarray) -> np.ndarray:
        """The value below which that share of its cell lies: float64, or int64 places of whole numbers."""
        starts, ends = (side[codes] for side in self._ends)
        low, high = (self._measure(side)[codes] for side in self._ends)
        found = low + share * (high - low)
        logarithmic = self._logarithmic[codes]
        found = np.where(logarithmic, np.exp(np.where(logarithmic, found, 0.0)), found)
        if self.real:
            return np.clip(found, self.values(starts), self.values(ends - 1))
        return np.clip(np.floor(found).astype(np.int64), starts, ends - 1)

    @property
    def lengths(self) -> np.ndarray:
        """How long each cell is, on what its values lie evenly on."""
        starts, ends = self._ends
        return np.asarray(self._measure(ends) - self._measure(starts))

    @property
    def extremes(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest value of each cell."""
        starts, ends = self._ends
        return self.values(starts), self.values(ends - 1)

    @property
    def means(self) -> np.ndarray:
        """The mean of each cell."""
        starts, ends = self._ends
        low, high = self.values(starts), self.values(ends)
        middle: np.ndarray
        if self.real:
            middle = low + (self.values(ends - 1) - low) / 2
        else:
            middle = low + (high - 1 - low) / 2
        for k in np.flatnonzero(self._logarithmic):
            middle[k] = _log_mean(low[k], high[k], real=self.real)
        return middle


def _log_mean(low: float, high: float, *, real: bool) -> float:
    """The mean of what lies evenly on the logarithm of [low, high), or of its whole parts."""
    if not real and high - low <= _SUMMED:
        wholes = np.arange(low, high)
        return float(np.average(wholes, weights=np.log1p(1 / wholes)))
    ratio = (high - low) / low
    mean = (high - low) / np.log1p(ratio)
    return float(np.clip(mean if real else mean - 0.5, low, high))
