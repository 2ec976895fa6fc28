"""Synthetic records that questions are asked of, again and again: what share of them meets a condition.

All cells of a cross-table, and the steps of a quantile, ask about the same two columns. So those that are asked about
again are counted once, level by level, and answers come out of the table, however many records there are.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from scumble.views.mixture import Product

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint8 | np.int32]

MOST_CELLS, MOST_TABLES = 1 << 15, 16
"""Of cross-tables that are kept."""


class Records:
    """Records by the levels of their columns.

    Parameters
    ----------
    rows : ndarray of int
        (n, columns), each column in one piece.

    Examples
    --------
    >>> records = Records(np.array([[0, 1], [0, 0], [1, 1], [1, 1]], order="F"))
    >>> records.mean({1: [0, 1]}), records.mean({0: [0, 1], 1: [0.5, 1.0]})
    (0.75, 0.5)
    """

    def __init__(self, rows: Codes | Integers) -> None:
        self._rows = rows
        self._tables: dict[tuple[int, int], Floats | None] = {}

    def mean(self, product: Product) -> float:
        """The mean weight of all records; yes and no are counted as such, which is several times faster."""
        weights = {j: np.asarray(each, float) for j, each in sorted(product.items())}
        if len(weights) == 2:
            (one, first), (two, second) = weights.items()
            table = self._table((one, two), (len(first), len(second)))
            if table is not None:
                return float(first @ table @ second) / len(self._rows)
        if all(((each == 0) | (each == 1)).all() for each in weights.values()):
            holds = np.ones(len(self._rows), bool)
            for j, each in weights.items():
                holds &= _among(self._rows[:, j], each == 1)
            return float(np.count_nonzero(holds) / len(holds))
        weight = np.ones(len(self._rows))
        for j, each in weights.items():
            weight *= each.take(self._rows[:, j])
        return float(weight.mean())

    def _table(self, pair: tuple[int, int], shape: tuple[int, int]) -> Floats | None:
        """How many records each two levels have; nothing, where they are too many or asked about for the first time."""
        cells = shape[0] * shape[1]
        if cells > MOST_CELLS:
            return None
        if pair not in self._tables:
            while len(self._tables) >= MOST_TABLES:
                self._tables.pop(next(iter(self._tables)), None)
            self._tables[pair] = None
            return None
        table = self._tables.get(pair)
        if table is None:
            one, two = (self._rows[:, j] for j in pair)
            flat = np.bincount(one.astype(np.int64) * shape[1] + two, minlength=cells)
            table = self._tables[pair] = flat.reshape(shape).astype(float)
        return table


def _among(cells: Codes | Integers, those: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which cells are among those levels. A range, or a single level, is compared, which is six times faster."""
    levels = np.flatnonzero(those)
    if not len(levels):
        return np.zeros(len(cells), bool)
    first, last = int(levels[0]), int(levels[-1])
    if last - first >= len(levels):
        return those.take(cells)
    return np.asarray((cells >= first) & (cells <= last))
