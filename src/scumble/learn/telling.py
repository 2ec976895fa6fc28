"""What a fit tells whoever holds the table, before anything is spent: what `scumble.build` tells of the same records.

Bounds that most of a column lies beyond, words in capitals, dates of another spelling and misspelt classes make a model
that says little, and its predictions would hardly show it. So the curator is told how many cells were counted where
they do not stand, and of rows of no class.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from scumble.errors import CuratorWarning
from scumble.schema.column import Strays as OfBatch
from scumble.schema.strays import Declared, Strays, as_written
from scumble.schema.told import NO_CLASS, left_out, misnamed, no_record_of, private


class Curator:
    """Whoever holds the table that an estimator learns from, and is warned by :class:`scumble.errors.CuratorWarning`.

    Attributes
    ----------
    target : str
        What the target is called.
    decimal : str
        What stands before the decimals of numbers in a file that the table was read from.
    """

    target = "y"
    decimal = "."

    def tell(self, lines: Sequence[str]) -> None:
        """Lines that are as private as the records."""
        warnings.warn("\n".join(lines), CuratorWarning, stacklevel=5)

    def look_at(self, found: Mapping[str, OfBatch], declared: Declared) -> None:
        """Cells of the columns that were declared so."""
        strays = Strays()
        strays.add(found)
        lines = [private(line) for line in strays.words(declared, decimal=self.decimal)]
        if lines:
            self.tell(lines)

    def look_at_target(self, y: np.ndarray, bounds: tuple[float, float]) -> None:
        """A target that is a number."""
        self.look_at(*beyond(y[:, None], bounds, [self.target]))

    def look_at_classes(self, rows: int, lost: int, empty: Sequence[str]) -> None:
        """So many rows, of which some were lost, as of no class; and the classes that have none."""
        lines = [left_out(lost, [f"{lost:,} {NO_CLASS} {self.target!r}"])] if lost else []
        lines += self.of_classes(rows, lost, empty)
        if lines:
            self.tell(lines)

    def of_classes(self, rows: int, lost: int, empty: Sequence[str]) -> list[str]:
        """Lines on classes that may be misspelt, or whose rows were left out before: a model says nothing of these."""
        return [*misnamed(self.target, rows, lost, empty), *([no_record_of(empty)] if empty and not lost else [])]


def beyond(values: np.ndarray, bounds: Sequence[object], names: Sequence[str]) -> tuple[dict[str, OfBatch], Declared]:
    """How many finite numbers of each column are outside its bounds, and these bounds as they are written."""
    low, high = (np.broadcast_to(np.asarray(side, float), values.shape[1]) for side in bounds)
    outside = np.count_nonzero((values < low) | (values > high), axis=0).tolist()
    found = {name: OfBatch(len(values), beyond=many) for name, many in zip(names, outside, strict=True)}
    return found, {name: as_written(ends) for name, *ends in zip(names, low.tolist(), high.tolist(), strict=True)}
