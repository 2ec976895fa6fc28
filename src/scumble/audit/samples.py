"""Many releases of one table, side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from scumble.errors import DataError

Mechanism: TypeAlias = Callable[[Any], Any]
"""From a data set to one release of it: whole numbers as an array of one or two axes (rows, buckets), or a pair of such
an array and a noisy count. An optional method ``many(data, n)`` gives a `Samples` of n releases at once."""


@dataclass(frozen=True)
class Samples:
    """n releases: `counts` has the axes (release, row, bucket), `count` one number per release, or is None."""

    counts: np.ndarray
    count: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.counts.ndim != 3 or not np.issubdtype(self.counts.dtype, np.integer):
            raise DataError("Samples must be whole numbers with the axes (release, row, bucket).")

    def __len__(self) -> int:
        return len(self.counts)

    def split(self, first: int) -> tuple[Samples, Samples]:
        """The first so many releases, and the others."""
        counts = (None, None) if self.count is None else (self.count[:first], self.count[first:])
        return Samples(self.counts[:first], counts[0]), Samples(self.counts[first:], counts[1])


def collect(mechanism: Mechanism, data: Any, releases: int) -> Samples:
    """Run the mechanism so often on the same data.

    Fractions are refused: a mechanism that releases floats tells more than it means to (Mironov 2012).

    >>> collect(lambda data: [len(data), 7], "abc", 2).counts.tolist()
    [[[3, 7]], [[3, 7]]]
    """
    many = getattr(mechanism, "many", None)
    if many is not None:
        return many(data, releases)
    found = [_parts(mechanism(data)) for _ in range(releases)]
    counts = np.stack([counts for counts, _ in found])
    if any(count is None for _, count in found):
        return Samples(counts)
    return Samples(counts, np.array([count for _, count in found], dtype=np.int64))


def _parts(released: Any) -> tuple[np.ndarray, int | None]:
    count = None
    if isinstance(released, tuple) and len(released) == 2 and np.ndim(released[1]) == 0:
        released, count = released
    counts = np.atleast_2d(np.asarray(released))
    whole = np.issubdtype(counts.dtype, np.integer)
    if not whole and not (np.issubdtype(counts.dtype, np.floating) and np.array_equal(counts, np.rint(counts))):
        raise DataError(
            "A mechanism must release whole numbers; this one released something else. "
            "Hint: the low bits of float noise betray the number that they were added to; use integer noise."
        )
    return counts.astype(np.int64), None if count is None else int(count)
