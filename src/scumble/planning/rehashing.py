"""The records of a grid's cells, counted once more in hashed rows.

A fine grid knows each record's place to a small part of the kernel's width. So rows need not be counted beside it:
where they turn out to serve better, the hash functions count every cell's records at its centre. A record is in one
cell, and so adds one to one counter of each row, as it would have done by itself.

Cells hold many records, and counting is by one: the binary digits of the cells' counts are counted, the highest first,
and doubled on the way. It is what the records themselves would cost at most, and less where cells hold many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scumble.spec import Spec


@dataclass(frozen=True)
class Rehashed:
    """From the counters of a grid to those of rows over the same columns: a public map, cell by cell."""

    grid: Spec
    rows: Spec

    def __call__(self, cells: np.ndarray) -> np.ndarray:
        """(rows, buckets): what the rows count of the records in these cells."""
        counts = np.zeros(self.rows.counters, np.int64)
        held = np.flatnonzero(cells)
        each = cells[held]
        for digit in reversed(range(int(each.max(initial=0)).bit_length())):
            counts *= 2
            parts, _ = self.rows.layout.read(self._centres(held[each >> digit & 1 == 1]), invalid="error")
            self.rows.layout.count(parts, counts, engine_name="auto", threads=None)
        return counts

    def _centres(self, cells: np.ndarray) -> np.ndarray:
        """The middles of these cells; zeros in columns that the kernel does not read."""
        spec = self.grid
        assert spec.shape is not None
        centres = np.zeros((len(cells), spec.dimensions))
        places = np.unravel_index(cells, spec.shape)
        which = spec.kernel.which(spec.dimensions, spec.columns)
        for column, place, edges in zip(which, places, spec.layout.edges(), strict=True):
            centres[:, column] = ((edges[:-1] + edges[1:]) / 2.0)[place]
        return centres
