"""What to look for: events that would be likely with one table and unlikely with its neighbour.

The promise holds for *every* event, so events may be chosen freely, as long as they are chosen before the releases
in which they are counted: from the two exact tables, which the auditor generated, and from a pilot sample, which
is then thrown away. Each event is there for a kind of mistake:

==============================  ==========================================================================
all touched cells up, or down   too little noise: the best event for Laplace noise
sums of the touched cells       the same for Gaussian noise
each touched cell up            a row with too little noise
each touched cell equal         noise left out, or only where a cell is not empty
each touched cell in a tail     noise that is cut off
differences between rows        the same noise in two rows: it cancels
row sums, the count             noise that adds up to zero, an exact N
seen before                     a fixed seed
zero cells, the largest cell    noise that depends on the data, clipping to something secret
==============================  ==========================================================================
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from scumble.audit.samples import Samples

MOST = 4
"""Rows that get events of their own."""

Happened = Iterator[tuple[str, np.ndarray]]
Pair = tuple[np.ndarray, np.ndarray]


class Events:
    """The events for two neighbours, *here* and *there*.

    Called with releases it gives each event's name and the releases in which it happened.
    """

    def __init__(self, pilot: tuple[Samples, Samples], exact: Pair | None = None) -> None:
        self.tables = guess(pilot) if exact is None else exact
        here, there = self.tables
        self.rows, self.buckets = np.nonzero(here != there)
        move = (there - here)[self.rows, self.buckets]
        self.sign, self.step = np.sign(move), np.abs(move)
        self.numbers = _numbers(pilot, exact)
        self._choose(pilot)

    def _choose(self, pilot: tuple[Samples, Samples]) -> None:
        """Thresholds, from the pilot."""
        self.before = [{release.tobytes() for release in part.counts} for part in pilot]
        self.most_zeros, self.many_zeros = _zeros(pilot[1]).max(), np.median(_zeros(pilot[0]))
        self.largest = pilot[0].counts.max()
        leans = [self.lean(part) for part in pilot]
        self.range = leans[1].min(axis=0), leans[0].max(axis=0)
        shares = np.array([0.5, 0.9, 0.99])
        self.high_sums = np.quantile(leans[1].sum(axis=1), shares)
        self.low_sums = np.quantile(leans[0].sum(axis=1), 1.0 - shares)

    def lean(self, samples: Samples) -> np.ndarray:
        """(n, touched cells): how far each has moved from here in the direction of there."""
        return self.sign * (samples.counts[:, self.rows, self.buckets] - self.tables[0][self.rows, self.buckets])

    def __call__(self, samples: Samples) -> Happened:
        """Every event, and in which runs it happened."""
        yield from self._whole(samples)
        if samples.count is not None and self.numbers is not None:
            yield from self._count(samples.count, *self.numbers)
        if len(self.rows):
            lean = self.lean(samples)
            yield from self._together(lean, samples)
            yield from self._each(lean)
            yield from self._between(samples.counts)

    def _together(self, lean: np.ndarray, samples: Samples) -> Happened:
        up: np.ndarray = lean >= self.step
        down: np.ndarray = lean <= 0
        yield "all touched cells up", np.asarray(up.all(axis=1))
        yield "all touched cells down", np.asarray(down.all(axis=1))
        if lean.shape[1] > 1:
            yield "all touched cells but one up", up.sum(axis=1) >= lean.shape[1] - 1
            yield "all touched cells but one down", down.sum(axis=1) >= lean.shape[1] - 1
        if samples.count is not None and self.numbers is not None and self.numbers[0] != self.numbers[1]:
            here, there = self.numbers
            moved = np.sign(there - here) * (samples.count - here)
            yield "all touched cells and the count up", up.all(axis=1) & (moved >= abs(there - here))
            yield "all touched cells and the count down", down.all(axis=1) & (moved <= 0)
        total = lean.sum(axis=1)
        for high, low in zip(self.high_sums, self.low_sums, strict=True):
            yield f"the touched cells add up to {high:.0f} more", total >= high
            yield f"the touched cells add up to {low:.0f} more at most", total <= low

    def _each(self, lean: np.ndarray) -> Happened:
        for j in range(min(lean.shape[1], 2 * MOST)):
            cell, where = lean[:, j], f"touched cell ({self.rows[j]}, {self.buckets[j]})"
            yield f"{where} up", cell >= self.step[j]
            yield f"{where} exact here", cell == 0
            yield f"{where} exact there", cell == self.step[j]
            yield f"{where} above its range", cell > self.range[1][j]
            yield f"{where} below its range", cell < self.range[0][j]

    def _between(self, counts: np.ndarray) -> Happened:
        """Two rows in one column: equal noise cancels, and what is left is the difference of the exact counters."""
        some = range(min(counts.shape[1], MOST))
        for row, bucket in zip(self.rows, self.buckets, strict=True):
            for other in some:
                if row in some and other != row:
                    difference = counts[:, row, bucket] - counts[:, other, bucket]
                    for table, which in zip(self.tables, ("here", "there"), strict=True):
                        exact = table[row, bucket] - table[other, bucket]
                        yield f"rows {row} and {other} differ in bucket {bucket} as {which}", difference == exact

    def _whole(self, samples: Samples) -> Happened:
        sums = samples.counts.sum(axis=2)
        for row in range(min(sums.shape[1], MOST)):
            for table, which in zip(self.tables, ("here", "there"), strict=True):
                yield f"row {row} sums up as {which}", sums[:, row] == table[row].sum()
        if sums.shape[1] > 1:
            yield "all row sums agree", np.ptp(sums, axis=1) == 0
        zeros = _zeros(samples)
        yield "more zero cells than ever", zeros > self.most_zeros
        yield "many zero cells", zeros >= self.many_zeros
        yield "a cell larger than ever", samples.counts.max(axis=(1, 2)) > self.largest
        for known, which in zip(self.before, ("here", "there"), strict=True):
            yield f"a release seen before {which}", np.array([one.tobytes() in known for one in samples.counts], bool)

    @staticmethod
    def _count(count: np.ndarray, here: int, there: int) -> Happened:
        yield "the count exact here", count == here
        yield "the count exact there", count == there
        yield "the count up", count >= max(here, there)


def guess(pilot: tuple[Samples, Samples]) -> Pair:
    """The two tables as far as a pilot shows them: medians, in the cell of each row that differs most.

    For mechanisms whose exact tables nobody gave. A wrong guess costs power, never correctness.
    """
    here, there = (np.median(part.counts, axis=0) for part in pilot)
    gap = np.mean(pilot[1].counts, axis=0) - np.mean(pilot[0].counts, axis=0)
    cells = np.arange(len(gap)), np.argmax(np.abs(gap), axis=1)
    base = np.rint(here).astype(np.int64)
    move = np.rint(there - here)[cells].astype(np.int64)
    other = base.copy()
    other[cells] += np.where(move == 0, np.where(gap[cells] >= 0, 1, -1), move)
    return base, other


def _numbers(pilot: tuple[Samples, Samples], exact: Pair | None) -> tuple[int, int] | None:
    """N here and there. Every row of a sketch sums to N; where nobody knows, the pilot's medians must do."""
    if exact is not None:
        return int(exact[0][0].sum()), int(exact[1][0].sum())
    if pilot[0].count is None or pilot[1].count is None:
        return None
    return round(float(np.median(pilot[0].count))), round(float(np.median(pilot[1].count)))


def _zeros(samples: Samples) -> np.ndarray:
    return np.sum(samples.counts == 0, axis=(1, 2))
