"""What a release publishes of a planned sketch: decided after counting, from a few noisy facts.

The facts are N, the typical norm, and for a grid of up to three axes what tells how clumped its records are
(:mod:`scumble.releasing.planned`). What they say of the table, how densely its records lie and how clumped, is weighed
(:mod:`scumble.planning.plausible`); by the expected logarithm of the error over these weights, options are compared.
A plan (:mod:`scumble.planning.foretelling`) compares the same options by the same errors, and tells that of its choice.

Of grids, and of rows, the smallest is looked at whose error is within 5 % of the least, with a δ 3 %: the last doubling
of a file should buy more than that (grids below 256 kB count as equal). Of these two, the one with less error is
published. So more budget or more records never mean more error. In a family, an option of size s has an error of
A(s) + t B(s), squared, where t falls as budget or records grow and B rises with s. So if a smaller option is not within
5 % of the least at t, it is not at any lower t: choices grow as t falls, and one that is left has more error than the
one that is taken.

A grid is published coarser; or, with up to three axes and a δ, as rows that count its cells' records once more
(:mod:`scumble.planning.rehashing`): rows are then free of noise, and clumped records blur in cells. With pure ε rows
were never much better (see docs/benchmarks.md), and four axes have cells too large for it.

All of this is post-processing of the facts, and of public parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import log, pi, prod, sqrt
from typing import Any, Literal, NamedTuple

import numpy as np

from scumble.grid.cells import checked_bounds
from scumble.grid.coarser import coarser, groups
from scumble.grid.profile import Profile
from scumble.grid.shape import CLUMPINGS, Errors, covered, shape_errors, typical_density, usual_clumping
from scumble.planning.gauge import against_usual, measurable
from scumble.planning.plans import DESIGN, SIZE, count_from, finest, hashing_error, open_rows
from scumble.planning.plausible import AXES, DENSITIES, Around, plausible, records
from scumble.planning.rehashing import Rehashed
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.facts import Facts, calibrated, divided, price, second_counts, together
from scumble.reading.spread import noise_error
from scumble.schema.kinds import ON_WHOLE_NUMBERS
from scumble.spec import Spec

LEAST_ROWS = 8
WORTH, WORTH_FREE = 1.05, 1.03
"""What a larger release must gain: the smallest is taken whose error is at most so many times the least.

The second where further rows are free of noise. With pure ε they are not, and what they gain is less certain than that.
"""
SMALL = 2**16
"""So many cells, 256 kB, are as good as fewer."""
FOLDED_ROWS, FOLDED_BUCKETS = 32, 1024
"""The rows that are made of a grid's cells for the typical norm."""
UNTOLD = 2.0
"""Rows that are made of cells do not know of their places: what those cost counts so many times."""


Clumping = Literal["norm", "occupied"]
"""How clumped the records of a grid are: the norm of its cells tells, or how many of them hold a record."""


class Choice(NamedTuple):
    """What to publish: so many of the first rows; of a grid's one row, the sums of groups of its cells, or rows."""

    rows: int
    groups: np.ndarray | None = None
    """For each cell the number of its group, 0, 1, …; None: every counter by itself."""
    rehashed: Callable[[np.ndarray], np.ndarray] | None = None
    """What counts the records of the cells in rows: from the cells' counters to (rows, buckets)."""
    count_share: Fraction | None = None
    """The part of what the facts leave for a second count; None: as usual."""


class Option(NamedTuple):
    """One thing that may be published: the public parameters that it will have, and its errors.

    Errors are (densities, clumpings); one column, where these do not matter.
    """

    spec: Spec
    errors: np.ndarray


class Menu:
    """All that may be published of a planned sketch, for a budget.

    Parameters
    ----------
    spec : Spec
        Of what is counted.
    budget : Budget
        Of the release.
    planned : int
        What is left open: the size if 1, and if 2 whether a grid is published as rows.
    refined : bool
        Whether answers will be refined (`scumble.learn.refine`).
    gauged : bool
        Whether to measure how even these very rows are, which loads SciPy and takes a while.
    """

    def __init__(
        self, spec: Spec, budget: Budget, planned: int = SIZE, *, refined: bool = False, gauged: bool = True
    ) -> None:
        self.spec, self.budget, self.refined, self.gauged = spec, budget, refined, gauged
        self.clumping = _clumping(spec)
        """What tells how clumped a grid's records are; None if that is no fact."""
        self._rest = divided(budget, self.numbers).rows
        self._hashed = _hashed(spec, budget) if planned == DESIGN and not budget.pure else None
        self.rows = _ladder(spec.rows) if spec.shape is None else [1]
        if self._hashed is not None:
            self.rows += _ladder(self._hashed.rows)

    @cached_property
    def _by_chance(self) -> float:
        """How often two codes that differ meet in a bucket."""
        if self.spec.shape is not None:
            return 1.0 / FOLDED_BUCKETS
        return 0.0 if self.spec.layout.hasher.direct else 1.0 / self.spec.buckets

    @property
    def either(self) -> bool:
        """Whether a grid may be published, and rows of its cells."""
        return self._hashed is not None

    @property
    def numbers(self) -> int:
        """How many facts there are beside the count."""
        return 1 if self.clumping is None else 2

    @property
    def price(self) -> PrivacyClaim:
        """What the release will claim, whatever is chosen."""
        return price(self.budget, self.rows, self.numbers)

    def fold(self) -> Rehashed | None:
        """How the cells of a grid become rows for the typical norm; None for rows, which are rows already."""
        if self.spec.shape is None:
            return None
        return Rehashed(self.spec, _as_rows(self.spec, rows=FOLDED_ROWS, buckets=FOLDED_BUCKETS, design="sobol"))

    def choose(self, facts: Sequence[Facts]) -> Choice:
        """What to publish, by the facts of one sketch or of one per class."""
        self.chosen, _ = self.best(facts)
        return self.choice_of(self.chosen)._replace(count_share=self._count_share(facts))

    def beforehand(self) -> tuple[Spec, Choice]:
        """What to publish without facts: for 100,000 records, and what is usual. A grid stays one."""
        spec, _ = self.best([Facts(None, 0.0, 0, 1e18)], rehashed=False)
        return spec, self.choice_of(spec)

    def expected(self, n: float, density: float) -> tuple[Spec, float]:
        """What will be published of so many records that lie so densely, and the relative error to expect of it."""
        return self._best([(n, np.array([density]), self._with_clumping(np.ones((1, 1))))])

    def denser(self, n: float, density: float) -> Spec:
        """What will be if they lie ten times as densely."""
        return self.expected(n, min(10.0 * density, float(DENSITIES[-1])))[0]

    def noise_variance(self, rows: int) -> float:
        """That of a counter, where so many rows are published."""
        return calibrated(self._rest, rows).counter_variance

    def _count_share(self, facts: Sequence[Facts]) -> Fraction | None:
        """The share of a second count with which densities err least by noise."""
        rows, buckets = self.chosen.rows, self.chosen.buckets
        shares = second_counts(self._rest, rows)
        if len(shares) == 1:
            return shares[0]
        seen = [(one, *self._typical(one)) for one in facts]

        def variance(share: Fraction | None) -> float:
            """Of typical densities, relative to these."""
            made = calibrated(self._rest, rows, share)
            by_rows = made.counter_variance * buckets / rows
            found = 0.0
            for one, n, density in seen:
                count = count_from(together(one, 0, made.count_variance)[1], by_rows) / n**2
                found += count + noise_of_sums(self.chosen, made.counter_variance, n, density) ** 2
            return found

        return min(shares, key=variance)

    def _typical(self, facts: Facts) -> tuple[float, float]:
        """How many records there are, about, and how densely they lie."""
        n = records(facts)
        weights = plausible(facts, n, self._by_chance, self._around)
        return n, float(np.exp(np.sum(weights, axis=1) @ np.log(DENSITIES)))

    def choice_of(self, chosen: Spec) -> Choice:
        """How what is chosen is made of what is counted."""
        fine, coarse = self.spec.shape, chosen.shape
        if fine is None:
            return Choice(chosen.rows)
        if coarse is None:
            return Choice(chosen.rows, rehashed=Rehashed(self.spec, chosen))
        return Choice(1, None if fine == coarse else groups(*_axes(self.spec), fine, coarse))

    def best(self, facts: Sequence[Facts], *, rehashed: bool = True) -> tuple[Spec, float]:
        """The public parameters to publish with, and the relative error to expect; maybe rows of a grid's cells."""
        seen = []
        for one in facts:
            n = records(one)
            seen.append((n, DENSITIES, self._with_clumping(plausible(one, n, self._by_chance, self._around))))
        return self._best(seen, rehashed=rehashed)

    def _with_clumping(self, weights: np.ndarray) -> np.ndarray:
        """(densities, clumpings): weights, where those of densities may be all there is; rows have one clumping."""
        if self.spec.shape is None or weights.shape[1] > 1:
            return weights
        return np.asarray(weights * usual_clumping(len(self.spec.shape)))

    def _best(
        self, seen: Sequence[tuple[float, np.ndarray, np.ndarray]], *, rehashed: bool = True
    ) -> tuple[Spec, float]:
        """The same, by how many records each class has, densities, and the weights of these and of clumpings."""
        scores: dict[Spec, float] = {}
        for n, densities, weights in seen:
            for option in self._options(n, densities, rehashed):
                score = float(np.sum(weights * np.log(option.errors)))
                scores[option.spec] = scores.get(option.spec, 0.0) + score / len(seen)
        families = [
            {spec: score for spec, score in scores.items() if (spec.shape is None) is rows} for rows in (False, True)
        ]
        worth = WORTH if self.budget.pure else WORTH_FREE
        chosen = min((worth_it(family, worth) for family in families if family), key=scores.__getitem__)
        return chosen, float(np.exp(scores[chosen]))

    def _options(self, n: float, densities: np.ndarray, rehashed: bool) -> list[Option]:
        if self.spec.shape is None:
            return self._rows(self.spec, self.rows, n, densities)
        return self._grids(n, densities, rehashed)

    def _rows(self, spec: Spec, ladder: Sequence[int], n: float, densities: np.ndarray) -> list[Option]:
        found = []
        refined = spec.dimensions if self.refined else None
        inverse = None if spec.bounds is None else self._shapes[1].inverse(densities)
        single = self.gauged and measurable(spec)
        for rows in ladder:
            noise = sqrt(self.noise_variance(rows) / rows)
            about = (spec.kernel, spec.design, rows, spec.buckets)
            hashing = np.array([hashing_error(*about, float(one), refined) for one in densities])
            if single:
                hashing *= against_usual(spec, rows, densities)
            if inverse is None:
                noisy = np.array([noise_error(noise, float(one), n) for one in densities])
            else:
                noisy = sqrt(2.0 / pi) * noise / n * inverse
            found.append(Option(replace(spec, rows=rows), np.hypot(hashing, noisy)[:, None]))
        return found

    @cached_property
    def _around(self) -> Around | None:
        if self.clumping is None or self.spec.shape is None:
            return None
        low, high = _axes(self.spec)
        spread = typical_density(self.spec.kernel, low, high, width=self.spec.dimensions, names=self.spec.columns)
        return Around(covered(self._profile(), low, high, self.spec.shape), spread, len(self.spec.shape))

    def _profile(self) -> Profile:
        return Profile(self.spec.kernel, self.spec.dimensions, self.spec.columns)

    @cached_property
    def _wished(self) -> tuple[int, ...]:
        """The cells that a grid would have, if its columns had any number of values."""
        assert self.spec.bounds is not None
        return finest(self.spec.kernel, self.spec.dimensions, self.spec.columns, self.spec.bounds)

    @property
    def _shapes(self) -> tuple[list[tuple[int, ...]], Errors]:
        return _shapes(self.spec, self._wished)

    def _grids(self, n: float, densities: np.ndarray, rehashed: bool) -> list[Option]:
        spec = self.spec
        shapes, expected = self._shapes
        errors = expected.clumped(n, sqrt(self.noise_variance(1)), densities, CLUMPINGS)
        specs = [replace(spec, shape=shape, buckets=prod(shape)) for shape in shapes]
        found = [Option(one, errors[:, :, k]) for k, one in enumerate(specs)]
        if rehashed and self._hashed is not None:
            places = UNTOLD * expected.clumped(n, 0.0, densities, CLUMPINGS)[:, :, 0]
            rows = self._rows(self._hashed, self.rows[1:], n, densities)
            found += [Option(one.spec, np.hypot(one.errors, places)) for one in rows]
        return found


@lru_cache(maxsize=4)
def _shapes(spec: Spec, wished: tuple[int, ...]) -> tuple[list[tuple[int, ...]], Errors]:
    """What a grid can be added up to, the finest first, and what to expect of each."""
    assert spec.shape is not None
    low, high = _axes(spec)
    shapes = list(coarser(low, high, spec.shape, wished))
    profile, names = Profile(spec.kernel, spec.dimensions, spec.columns), spec.columns
    which = spec.kernel.which(spec.dimensions, names)
    whole = [names is not None and spec.kinds.get(names[j]) in ON_WHOLE_NUMBERS for j in which]
    return shapes, shape_errors(profile, low, high, shapes, whole)


def worth_it(scores: dict[Spec, float], worth: float = WORTH) -> Spec:
    """The smallest whose error, of which the logarithm is given, is nearly the least."""
    size = {spec: max(spec.rows * spec.buckets, 0 if spec.shape is None else SMALL) for spec in scores}
    enough = min(scores.values()) + log(worth)
    return min((spec for spec in scores if scores[spec] <= enough), key=lambda spec: (size[spec], scores[spec]))


def noise_of_sums(spec: Spec, variance: float, n: float, density: float) -> float:
    """The relative standard error of a typical sum by noise of this variance on counters alone."""
    both, without = (spec.layout.relative_error(noise, n, density) for noise in (variance, 0.0))
    return sqrt(max(both**2 - without**2, 0.0) * pi / 2.0)


def _clumping(spec: Spec) -> Clumping | None:
    """The norm of the cells, or with three axes how many hold a record. With four nothing: cells are large."""
    if spec.shape is None or len(spec.shape) > AXES or max(spec.shape) == 1:
        return None
    return "occupied" if len(spec.shape) == AXES else "norm"


def _ladder(most: int) -> list[int]:
    """Powers of two, as Sobol points are even in; and all rows."""
    found = [2**k for k in range(most.bit_length()) if LEAST_ROWS <= 2**k <= most]
    return found if most in found else [*found, most]


def _axes(spec: Spec) -> tuple[np.ndarray, np.ndarray]:
    """The bounds of the columns that the kernel reads."""
    which = spec.kernel.which(spec.dimensions, spec.columns)
    assert spec.bounds is not None
    low, high = (np.array([side[i] for i in which]) for side in spec.bounds)
    return checked_bounds(low, high, len(which))


def _hashed(grid: Spec, budget: Budget) -> Spec:
    """The most rows that may be made of a grid's cells."""
    made = open_rows(grid.kernel, grid.dimensions, None, "auto", pure=budget.pure)
    return _as_rows(grid, rows=made["rows"], buckets=made["buckets"], design=made["design"])


def _as_rows(grid: Spec, **size: Any) -> Spec:
    """The public parameters of rows over the same columns. The bounds stay: they tell where the records are."""
    return replace(grid, shape=None, **size)
