"""Layer 1: ε from below. Many releases of two neighboring tables; what happens too often in one of them?

**Idea** (Ding et al. 2018; Jagielski, Ullman & Oprea 2020). Release two neighboring tables n times each, and count how
often an event S happens: k times and k′ times. Privacy promises P(S) <= e^ε P′(S) + δ for every event. With the exact
bounds of Clopper & Pearson 1934,

    lower(k, n) > e^ε upper(k′, n) + δ

is a violation, except with the probability that one of the two bounds fails.

The promise holds for *every* event, so events may be chosen freely, as long as they are chosen before the releases
in which they are counted: from the two exact tables, which the auditor generated, and from a pilot sample, which
is then thrown away. Each of `Events` is there for a kind of mistake: touched cells that move together for too little
noise, their tails for noise that is cut off, differences between rows for noise that cancels, sums for an exact N,
releases seen before for a fixed seed, zeros and the largest cell for noise that depends on the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.special import betaincinv
from scipy.stats import binom

from scumble.audit.report import Finding
from scumble.errors import DataError, parameter
from scumble.privacy.claim import PrivacyClaim

PILOT = 0.1
"""Share of the releases that only serve to choose the events."""
MOST = 4
"""Rows that get events of their own."""

Promise = tuple[float, float]
"""(ε, δ)."""
Exact = tuple[np.ndarray, np.ndarray]
"""The exact tables of two neighbors."""
Happened = Iterator[tuple[str, np.ndarray]]


# ---- many releases of one table ----

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

    def __getitem__(self, some: slice) -> Samples:
        """Some of the releases."""
        return Samples(self.counts[some], None if self.count is None else self.count[some])


def collect(mechanism: Mechanism, data: Any, releases: int) -> Samples:
    """Run the mechanism many times on the same data.

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


# ---- from counted events to a statement about ε ----


def lower(successes: np.ndarray, trials: int, alpha: float) -> np.ndarray:
    """The exact lower bound of a probability: it is above the truth with probability at most `alpha`.

    >>> lower(np.array([0, 50, 100]), 100, 0.025).round(4)
    array([0.    , 0.3983, 0.9638])
    """
    k = np.asarray(successes, dtype=float)
    # The α quantile of Beta(k, n − k + 1).
    return np.where(k == 0, 0.0, betaincinv(np.maximum(k, 1.0), trials - k + 1.0, alpha))


def upper(successes: np.ndarray, trials: int, alpha: float) -> np.ndarray:
    """The exact upper bound: the lower one of the opposite event.

    >>> upper(np.array([0, 50, 100]), 100, 0.025).round(4)
    array([0.0362, 0.6017, 1.    ])
    """
    return 1.0 - lower(trials - np.asarray(successes), trials, alpha)


def excess(
    k: np.ndarray, other: np.ndarray, trials: int, epsilon: float, delta: float, alpha: float
) -> tuple[np.ndarray, np.ndarray]:
    """By how much the events certainly exceed the promise (positive: violated), and the ε that they certainly show.

    `alpha` is the probability of error for each event.
    """
    low, high = lower(k, trials, alpha / 2), upper(other, trials, alpha / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        shown = np.where(low > delta, np.log(np.maximum(low - delta, 0.0)) - np.log(high), 0.0)
    # exp may overflow to infinity: then nothing can exceed it unless `high` is 0, which it never is.
    with np.errstate(over="ignore"):
        return low - np.exp(epsilon) * high - delta, np.maximum(shown, 0.0)


def promises_of(claim: PrivacyClaim) -> list[Promise]:
    """All that a claim promises and that releases in their thousands can show to be false.

    A δ of 1e-6 is beyond any audit of this kind. But a claim promises a whole curve, (ε′, δ′) with far larger δ′ and
    smaller ε′, and noise that is too small breaks it there as well.

    >>> from scumble.privacy import calibrate
    >>> [(round(e, 2), d) for e, d in promises_of(calibrate(400, epsilon=1, delta=1e-6))]
    [(1.0, 1e-06), (0.33, 0.01), (0.09, 0.06)]
    """
    found = [(claim.epsilon, claim.delta)]
    for delta in (0.01, 0.06, 0.2):
        if delta > claim.delta:
            epsilon = claim.equivalent(delta)
            if epsilon > 1e-6:
                found.append((epsilon, delta))
    return found


def epsilon_finding(
    here: Samples, there: Samples, promises: Sequence[Promise], *, alpha: float, exact: Exact | None = None
) -> Finding:
    """Whether the releases of two neighbors keep all the promises, for all events, in both directions.

    `alpha` is the probability that a mechanism which keeps them is accused.
    """
    first = max(1, int(PILOT * len(here)))
    events = Events((here[:first], there[:first]), exact)
    here, there = here[first:], there[first:]
    seen = [{name: int(happened.sum()) for name, happened in events(part)} for part in (here, there)]
    names, trials = list(seen[0]), len(here)
    k, other = (np.array(list(part.values())) for part in seen)
    each = alpha / (len(names) * len(promises) * 2)
    worst, shown = ("", 0.0, 0.0, 0.0), 0.0
    for number, (epsilon, delta) in enumerate(promises):
        for a, b in ((k, other), (other, k)):
            over, certain = excess(a, b, trials, epsilon, delta, each)
            i = int(np.argmax(over))
            if over[i] > 0.0 and over[i] > worst[1]:
                worst = names[i], float(over[i]), epsilon, delta
            if number == 0:
                shown = max(shown, float(certain.max()))
    claimed, delta = promises[0]
    values: dict[str, object] = {
        "claimed_epsilon": claimed,
        "claimed_delta": delta,
        "epsilon_at_least": shown,
        "events": len(names),
        "releases": trials,
    }
    detail = (
        f"{len(names)} events in 2 × {trials:,} releases show that ε is at least {shown:.3g}; claimed {claimed:.4g}"
    )
    if delta:
        detail += f" with δ = {delta:.3g}"
    if worst[0]:
        values["event"] = worst[0]
        detail += f". Broken: (ε, δ) = ({worst[2]:.3g}, {worst[3]:.3g}) by the event “{worst[0]}”"
    return Finding(1, "neighboring tables", not worst[0], detail, values)


# ---- events ----


class Events:
    """The events for two neighbors, *here* and *there*.

    Called with releases it gives each event's name and the releases in which it happened.
    """

    def __init__(self, pilot: tuple[Samples, Samples], exact: Exact | None = None) -> None:
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


def guess(pilot: tuple[Samples, Samples]) -> Exact:
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


def _numbers(pilot: tuple[Samples, Samples], exact: Exact | None) -> tuple[int, int] | None:
    """N here and there. Every row of a sketch sums to N; where nobody knows, the pilot's medians must do."""
    if exact is not None:
        return int(exact[0][0].sum()), int(exact[1][0].sum())
    if pilot[0].count is None or pilot[1].count is None:
        return None
    return round(float(np.median(pilot[0].count))), round(float(np.median(pilot[1].count)))


def _zeros(samples: Samples) -> np.ndarray:
    return np.sum(samples.counts == 0, axis=(1, 2))


# ---- canaries in one release ----


def p_value(canaries: int, guesses: int, right: int, epsilon: float, delta: float = 0.0) -> float:
    """The most that P(at least `right` of `guesses` are right) can be for an (ε, δ)-private mechanism.

    Of m canaries, records that look like nobody, each is in the table or out by a coin; the release decides at which of
    them to guess. Of r guesses let v be right. With q = 1/(1 + e^(−ε)) and W ~ Binomial(r, q) (Steinke, Nasr &
    Jagielski 2023, Theorem 5.2 and Appendix D),

        P(at least v right) <= P(W >= v) + 2 m δ · max over i = 1 … v of P(v > W >= v − i)/i,

    whatever the guesses depend on, so an honest mechanism is accused with at most this probability.

    >>> round(p_value(10, 10, 10, epsilon=0.0), 6) == round(0.5**10, 6)
    True
    """
    if not 0 <= right <= guesses <= canaries:
        raise parameter("right", "from 0 to the number of guesses, and these at most one per canary", right)
    q = 1.0 / (1.0 + math.exp(-epsilon))
    beta = float(binom.sf(right - 1, guesses, q))
    if delta == 0.0 or right == 0:
        return min(1.0, beta)
    below = np.cumsum(binom.pmf(np.arange(right - 1, -1, -1), guesses, q))  # P(v > W >= v − i), i = 1 … v
    alpha = float(np.max(below / np.arange(1, right + 1)))
    return min(1.0, beta + 2.0 * canaries * delta * alpha)


def least_epsilon(canaries: int, guesses: int, right: int, delta: float = 0.0, *, alpha: float) -> float:
    """A lower bound on ε, wrong with probability at most `alpha`; 0 if the guesses tell nothing.

    >>> least_epsilon(1000, 1000, 520, alpha=1e-6)
    0.0
    >>> 2.0 < least_epsilon(1000, 1000, 970, alpha=1e-6) < math.log(970 / 30)
    True
    """
    if p_value(canaries, guesses, right, 0.0, delta) >= alpha:
        return 0.0
    low, high = 0.0, 1.0
    while high < 64.0 and p_value(canaries, guesses, right, high, delta) < alpha:
        low, high = high, 2.0 * high
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (middle, high) if p_value(canaries, guesses, right, middle, delta) < alpha else (low, middle)
    return low
