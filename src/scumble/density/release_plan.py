"""What a release publishes of a planned sketch: one search over candidate layouts by their expected error.

The candidates are the first rows of hashed rows, or the coarser grids that a grid can be summed to and, with δ > 0,
rows that count its cells' records again. Their errors (:mod:`scumble.density.expected_error`) depend on the number n of
records, on their density ρ and on how clumped they are, which a few noisy facts say that are published first
(:mod:`scumble.density.planned_release`). The candidate with the least expected log error is published.

**What the facts say.** The typical norm T has T² ≈ n² (ρ + (1 − ρ)/W) + n. The norm of a grid's cells ‖C‖ tells how
clumped records are: ‖C‖²/n² is the probability that two records share a cell. Of smooth records it is 1/n plus that of
chance; in addition ρ times the share c of near pairs at one place, or c^d for d columns of few values each.
Candidate densities and shares are weighted by the likelihood of both facts and by log-normal priors; that of the
density is relative to records that fill half of the bounds, where there are bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import inf, log, prod, sqrt
from typing import NamedTuple

import numpy as np

from scumble.density.expected_error import (
    SHARED,
    USUALLY,
    GridErrors,
    box_of,
    combined,
    grid_errors,
    hashing_error,
    inverse_of,
    noise_of_sums,
    numbers_of,
    unequal,
)
from scumble.density.grid_cells import coarser, groups
from scumble.density.spec import CHEAP, Spec
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.facts import Facts, calibrated, divided, price, second_counts, together

SIZE, DESIGN = 1, 2
"""What a release may decide: the size alone, or also whether a grid is published as rows."""
DEFAULT_RECORDS = 100_000
"""The assumed number of records where none is given."""
LEAST_ROWS, MOST_ROWS, MOST_COUNTED = 8, 2**13, 2**23
"""The fewest and the most rows among which a release chooses, and the most counters."""
WORTH, SMALL = 1.03, 2**16
"""The smallest candidate within this factor of the least error is taken; up to so many counters, all are small."""
FOLDED_ROWS, FOLDED_BUCKETS = 32, 1024
"""The rows made of a grid's cells for the typical norm."""

DENSITIES = np.geomspace(1e-5, 0.95, 47)
USUAL, SPREAD, BOUNDED = 0.05, 1.7, 1.2
"""The prior of densities: its median without bounds, and the standard deviation of the logarithm without and with."""
RECORDS, UNKNOWN = np.geomspace(1.0, 1e9, 400), 2.3
"""Candidate numbers of records, and the prior's standard deviation of their logarithm around the default."""
CLEAR = 20.0
"""A count of this many standard deviations of its noise is taken as it is."""
ROUNDED = float(np.finfo(np.float64).eps) ** 0.5
"""Far above the rounding error of T, far below a step between candidate densities."""


class Choice(NamedTuple):
    """What to publish: the first rows, sums of `groups` of a grid's cells, or rows `rehashed` from the cells.

    `groups` has the group of each cell, 0, 1, …; `rehashed` maps the cells' counters to (rows, buckets). `count_share`
    is the share of the remaining budget for a second count; None means the default.
    """

    rows: int
    groups: np.ndarray | None = None
    rehashed: Callable[[np.ndarray], np.ndarray] | None = None
    count_share: Fraction | None = None


class Seen(NamedTuple):
    """What is known of a table: n records, and the weights of densities and clumpings, which sum to 1."""

    n: float
    densities: np.ndarray
    weights: np.ndarray


Among = Callable[[Spec], bool]
"""Which candidates may be chosen."""


class Menu:
    """All that may be published of what is counted, for a budget.

    `planned` is 0 if the layout is fixed before counting and no facts are paid for, SIZE if the release chooses the
    size, DESIGN if it may also publish a grid as rows. `refined` says that answers will be refined
    (`scumble.learn.refine`).
    """

    def __init__(self, spec: Spec, budget: Budget, planned: int = SIZE, *, refined: bool = False) -> None:
        self.spec, self.budget, self.refined = spec, budget, refined
        self.clumped = spec.shape is not None and max(spec.shape) > 1
        """Whether the norm of the cells is a fact."""
        self._rest = divided(budget, 1 + self.clumped).rows if planned else None
        self.hashed = most_rows(good_rows(spec)) if planned == DESIGN and not budget.pure else None
        """The rows as which a grid may be published, if it may."""
        self.rows = [1] if spec.shape is not None else ladder(spec.rows)
        if self.hashed is not None:
            self.rows += ladder(self.hashed.rows)

    @property
    def price(self) -> PrivacyClaim:
        """The claim of the release, whatever is chosen."""
        return price(self.budget, self.rows, 1 + self.clumped)

    def fold(self) -> Rehashed | None:
        """Maps a grid's cells to rows for the typical norm; None for hashed rows."""
        if self.spec.shape is None:
            return None
        rows = replace(self.spec, shape=None, rows=FOLDED_ROWS, buckets=FOLDED_BUCKETS, design="sobol")
        return Rehashed(self.spec, rows)

    def choose(self, facts: Sequence[Facts]) -> Choice:
        """What to publish, given the facts of one sketch or of one sketch per class."""
        seen = [self.seen(one) for one in facts]
        self.chosen, _ = self.best(seen)
        return self.choice_of(self.chosen)._replace(count_share=self._count_share(facts, seen))

    def beforehand(self) -> tuple[Spec, Choice]:
        """What to publish without facts: for 100,000 typical records. A grid stays a grid."""
        typical = [self.seen(Facts(None, 0.0, 0, 1e18))]
        spec, _ = self.best(typical, lambda spec: (spec.shape is None) == (self.spec.shape is None))
        return spec, self.choice_of(spec)

    def expected(self, n: float, density: float, among: Among = lambda spec: True) -> tuple[Spec, float]:
        """What would be published of `n` records of this density, and its error."""
        return self.best([Seen(n, np.array([density]), np.ones((1, 1)))], among)

    def noise_variance(self, rows: int) -> float:
        """The noise variance of a counter if this many rows are published."""
        found = self.budget.claim(rows) if self._rest is None else calibrated(self._rest, rows)
        return found.counter_variance

    def choice_of(self, chosen: Spec) -> Choice:
        """How the chosen layout is made of the counters."""
        fine, coarse = self.spec.shape, chosen.shape
        if fine is None:
            return Choice(chosen.rows)
        if coarse is None:
            return Choice(chosen.rows, rehashed=Rehashed(self.spec, chosen))
        box = box_of(self.spec)
        return Choice(1, None if fine == coarse else groups(box.low, box.high, fine, coarse))

    def best(self, seen: Sequence[Seen], among: Among = lambda spec: True) -> tuple[Spec, float]:
        """The smallest candidate nearly as good as any, by the mean log error over the classes, and its error."""
        scores: dict[Spec, float] = {}
        for n, densities, weights in seen:
            if weights.shape[1] == 1 and self.spec.shape is not None:
                weights = weights * USUALLY
            for spec, errors in self.candidates(n, densities):
                if among(spec):
                    score = float(np.sum(weights * np.log(errors)))
                    scores[spec] = scores.get(spec, 0.0) + score / len(seen)
        chosen = smallest_near_best(scores)
        return chosen, float(np.exp(scores[chosen]))

    def candidates(self, n: float, densities: np.ndarray) -> Iterator[tuple[Spec, np.ndarray]]:
        """Each candidate with its errors, by density and clumping; one column where clumping is irrelevant."""
        spec = self.spec
        if spec.shape is None:
            yield from self._rows(spec, self.rows, n, densities, 0.0)
            return
        shapes, errors = _shapes(spec, self._rest is not None)
        found = errors.clumped(n, sqrt(self.noise_variance(1)), densities, SHARED)
        for k, shape in enumerate(shapes):
            yield replace(spec, shape=shape, buckets=prod(shape)), found[:, :, k]
        if self.hashed is not None:
            places = errors.places(n, densities, SHARED)[:, :, 0]
            yield from self._rows(self.hashed, self.rows[1:], n, densities, places)

    def _rows(
        self, spec: Spec, rows: Sequence[int], n: float, densities: np.ndarray, places: np.ndarray | float
    ) -> Iterator[tuple[Spec, np.ndarray]]:
        inverse = inverse_of(spec, densities)[:, None]
        if spec.bounds is not None:  # rows of a grid's cells
            inverse = inverse * unequal(SHARED)
        for one in (replace(spec, rows=number) for number in rows):
            hashing = hashing_error(one, densities, refined=self.refined)[:, None]
            noise = sqrt(self.noise_variance(one.rows) / one.rows)
            yield one, combined(hashing, places, noise, inverse, n)

    def _count_share(self, facts: Sequence[Facts], seen: Sequence[Seen]) -> Fraction | None:
        """The share of a second count that minimizes the noise error of densities."""
        rows, buckets = self.chosen.rows, self.chosen.buckets
        assert self._rest is not None
        shares = second_counts(self._rest, rows)

        def variance(share: Fraction | None) -> float:
            """The relative variance of typical densities."""
            made = calibrated(self._rest, rows, share)
            by_rows = made.counter_variance * buckets / rows
            found = 0.0
            for one, (n, densities, weights) in zip(facts, seen, strict=True):
                typical = float(np.exp(np.sum(weights, axis=1) @ np.log(densities)))
                own = together(one, 0, made.count_variance)[1]  # N is estimated from its own count and the rows' sums
                found += own * by_rows / (own + by_rows) / n**2 if own and by_rows else 0.0
                found += noise_of_sums(self.chosen, made.counter_variance, n, typical) ** 2
            return found

        return min(shares, key=variance)

    def seen(self, facts: Facts) -> Seen:
        """The records, and the weights of `DENSITIES` × `SHARED`; one column for hashed rows."""
        n = records(facts)
        spec, of_norm = self.spec, sqrt(facts.norm_variance / 2.0)
        buckets = FOLDED_BUCKETS if spec.shape is not None else inf if spec.layout.hasher.direct else spec.buckets
        expected = n * np.sqrt(DENSITIES + (1.0 - DENSITIES) / buckets + 1.0 / n)
        # The densities are a ladder: a step of it is as much as T need not agree.
        scale = np.hypot(of_norm, np.gradient(expected) / sqrt(8.0))
        likely = likelihood(facts.norm, expected, np.maximum(scale, ROUNDED * expected))[:, None]
        if spec.shape is None:
            return Seen(n, DENSITIES, _normalized(likely + prior(DENSITIES, USUAL, SPREAD)[:, None]))
        box = box_of(spec)
        likely = likely + prior(DENSITIES, box.density, BOUNDED)[:, None] + np.log(USUALLY)
        if facts.clumping is not None:
            assert spec.shape is not None
            errors = grid_errors(spec, [spec.shape])
            smooth = 1.0 / n + errors.at(errors.sharing, DENSITIES)
            found = []
            for joint in (SHARED, SHARED**box.axes):  # equal records, or columns of few values
                norm = n * np.sqrt(np.minimum(smooth + joint * DENSITIES[:, None], 1.0))
                scale = np.hypot(of_norm, np.gradient(norm, axis=1) / sqrt(8.0))
                found.append(likelihood(facts.clumping, norm, np.maximum(scale, ROUNDED * norm)))
            likely = likely + np.logaddexp(*found)
        return Seen(n, DENSITIES, _normalized(likely))


def records(facts: Facts) -> float:
    """The number of records, with a prior where the noise of the count is large.

    >>> counted = [records(Facts(count, 35_000.0**2, 0, 0.0)) for count in (-20_000, 30_000, 1_000_000)]
    >>> [round(one, -3) for one in counted]
    [6000.0, 17000.0, 1000000.0]
    """
    if facts.count is None:
        return float(DEFAULT_RECORDS)
    if facts.count >= CLEAR * sqrt(facts.count_variance):
        return max(1.0, float(facts.count))
    scale = np.sqrt(facts.count_variance / 2.0 + np.gradient(RECORDS) ** 2 / 8.0)
    likely = prior(RECORDS, DEFAULT_RECORDS, UNKNOWN) + likelihood(facts.count, RECORDS, scale)
    return float(np.exp(_normalized(likely) @ np.log(RECORDS)))


def _normalized(likely: np.ndarray) -> np.ndarray:
    """Weights that sum to 1, from their logarithms."""
    weights = np.exp(likely - np.max(likely))
    return np.asarray(weights / weights.sum())


def prior(values: np.ndarray, middle: float, spread: float) -> np.ndarray:
    """The logarithm of a log-normal prior, up to a constant."""
    return np.asarray(-0.5 * (np.log(values / middle) / spread) ** 2)


def likelihood(seen: float, expected: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The logarithm of a Laplace density, up to a constant."""
    return np.asarray(-np.abs(seen - expected) / scale - np.log(scale / scale.min()))


def smallest_near_best(scores: dict[Spec, float]) -> Spec:
    """The smallest layout whose log error is close to the least of its kind, of the better kind: rows or a grid.

    Between kinds, a few percent for a smaller one would make errors rise with the budget where it changes over.
    """
    found = []
    for kind in ([spec for spec in scores if (spec.shape is None) == rows] for rows in (False, True)):
        enough = min((scores[spec] for spec in kind), default=0.0) + log(WORTH)
        near = [spec for spec in kind if scores[spec] <= enough]
        found += sorted(near, key=lambda spec: (max(spec.rows * spec.buckets, SMALL), scores[spec]))[:1]
    return min(found, key=lambda spec: scores[spec])


@lru_cache(maxsize=4)
def _shapes(spec: Spec, counted: bool) -> tuple[list[tuple[int, ...]], GridErrors]:
    """The shapes to which a grid that is `counted` can be coarsened, or any shapes; finest first, with their errors."""
    assert spec.shape is not None
    box, shapes = box_of(spec), [spec.shape]
    if counted:
        # An axis of few whole numbers has fewer cells than the kernel would want.
        wished = [max(pair) for pair in zip(box.finest, spec.shape, strict=True)]
        shapes += coarser(box.low, box.high, spec.shape, wished)
    else:
        shapes += (tuple(map(min, shape, spec.shape)) for shape in box.shapes)
    shapes = list(dict.fromkeys(shapes))
    return shapes, grid_errors(spec, shapes)


def ladder(most: int) -> list[int]:
    """Powers of two, and all rows."""
    found = [2**k for k in range(most.bit_length()) if LEAST_ROWS <= 2**k <= most]
    return found if most in found else [*found, most]


def good_rows(spec: Spec, design: str = "auto", buckets: int | None = None) -> Spec:
    """Hashed rows of the same kernel: Sobol rows are better in few dimensions, orthogonal Gaussian directions in many.

    The buckets are enough that collisions are rare; one per code if there are few codes.
    """
    if design == "auto":
        gaussian = all(factor.name in ("euclidean", "angular") for factor in spec.kernel.factors)
        design = "orthogonal" if gaussian and spec.dimensions > 12 else "sobol"
    if buckets is None:
        codes = prod(float(factor.radix or np.inf) ** factor.power for factor in spec.kernel.factors)
        buckets = int(codes) if codes <= 4096 else 1024
    return replace(spec, shape=None, design=design, buckets=buckets)


def most_rows(spec: Spec, *, pure: bool = False) -> Spec:
    """As many hashed rows as could be useful, a power of two within the limits on rows, counters and hash functions."""
    numbers = numbers_of(spec.kernel, spec.dimensions)
    most = min(MOST_ROWS, MOST_COUNTED // spec.buckets, CHEAP // numbers) // (2 if pure else 1)
    return replace(spec, rows=max(LEAST_ROWS, 1 << (most.bit_length() - 1)) if most > 0 else LEAST_ROWS)


@dataclass(frozen=True)
class Rehashed:
    """From the counters of a grid to hashed rows over the same columns: every record is counted at its cell's center.

    The binary digits of the cells' counts are counted, highest first, and doubled, so a full cell costs little.
    """

    grid: Spec
    rows: Spec

    def __call__(self, cells: np.ndarray) -> np.ndarray:
        """(rows, buckets): the counters of the rows."""
        counts = np.zeros(self.rows.counters, np.int64)
        held = np.flatnonzero(cells)
        each = cells[held]
        for digit in reversed(range(int(each.max(initial=0)).bit_length())):
            counts *= 2
            parts, _ = self.rows.layout.read(self._centers(held[each >> digit & 1 == 1]), invalid="error")
            self.rows.layout.count(parts, counts, engine_name="auto", threads=None)
        return counts

    def _centers(self, cells: np.ndarray) -> np.ndarray:
        """The centers of these cells; zeros in columns that the kernel does not read."""
        spec = self.grid
        assert spec.shape is not None
        centers = np.zeros((len(cells), spec.dimensions))
        places = np.unravel_index(cells, spec.shape)
        which = spec.kernel.which(spec.dimensions, spec.columns)
        for column, place, edges in zip(which, places, spec.layout.edges(), strict=True):
            centers[:, column] = ((edges[:-1] + edges[1:]) / 2.0)[place]
        return centers
