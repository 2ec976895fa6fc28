"""What a release publishes of a planned sketch: decided after counting, from two noisy facts.

The facts are N and the typical norm T (:mod:`scumble.releasing.planned`). Among n records of density ρ at a record,
pairs meet with probability ρ + (1 − ρ)/W, and each record meets itself: T² is about n² (ρ + (1 − ρ)/W) + n. T is noisy,
and says little where the budget is small. So ρ is not solved for: the densities that are plausible, from 1 to 10⁻⁵, are
weighed by how well they explain T, and by what is usual (the median is 0.05, and most lie within a factor of 5).
By the expected logarithm of the error over these weights, options are compared. Published is the smallest whose
error is within 5 % of the least, with a δ 3 %: the last doubling of a file should buy more than that (grids below 256
kB count as equal). And where a file of 16 MB has an error of 0.5 % or less, larger ones are not considered; who wants
less error still gives `rows`.

All of this is post-processing of the facts, and of public parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log, prod, sqrt
from typing import NamedTuple

import numpy as np

from scumble.counting import engine
from scumble.grid.cells import checked_bounds
from scumble.grid.coarser import coarser, groups
from scumble.grid.profile import Profile
from scumble.grid.shape import shape_errors
from scumble.planning.plans import DEFAULT_RECORDS, rows_error
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.facts import Facts, calibrated, divided, price
from scumble.spec import Spec

DENSITIES = np.geomspace(1e-5, 0.95, 47)
USUAL, SPREAD = 0.05, 1.7
"""The prior of densities: its median, and the standard deviation of their logarithm."""
LEAST_ROWS = 8
WORTH, WORTH_FREE = 1.05, 1.03
"""What a larger release must gain: the smallest is taken whose error is at most so many times the least.

The second where further rows are free of noise. With pure ε they are not, and what they gain is less certain than that.
"""
SMALL = 2**16
"""So many cells, 256 kB, are as good as fewer."""
ENOUGH, HANDY = 0.005, 2**22
"""A relative error that is small enough, if so many counters, 16 MB, suffice for it."""
HOPELESS = 1e12
"""A relative error above which nothing is worse: cells far larger than the kernel have an infinite one."""
FOLDED_ROWS, FOLDED_BUCKETS, FOLDED_CELLS = 32, 1024, 2**17
"""The rows that are made of a grid's cells for the typical norm, and into how many cells it is added up first."""


class Fold(NamedTuple):
    """How the cells of a grid become rows of buckets: a public map, in two steps."""

    places: np.ndarray
    """For each cell, its place."""
    buckets: np.ndarray
    """(rows, places): the bucket of each place."""
    width: int
    """Buckets in a row."""


class Choice(NamedTuple):
    """What to publish: so many of the first rows; of a grid's one row, the sums of groups of its cells."""

    rows: int
    groups: np.ndarray | None = None
    """For each cell the number of its group, 0, 1, …; None: every counter by itself."""


class Option(NamedTuple):
    """One thing that may be published: the public parameters that it will have, and its error at each density."""

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
    refined : bool
        Whether answers will be refined (`scumble.learn.refine`).
    """

    def __init__(self, spec: Spec, budget: Budget, *, refined: bool = False) -> None:
        self.spec, self.budget, self.refined = spec, budget, refined
        self._rest = divided(budget).rows
        self.rows = [1] if spec.shape is not None else _ladder(spec.rows)
        met = FOLDED_BUCKETS if spec.shape is not None else spec.buckets
        self._by_chance = 0.0 if spec.shape is None and spec.layout.hasher.direct else 1.0 / met

    @property
    def price(self) -> PrivacyClaim:
        """What the release will claim, whatever is chosen."""
        return price(self.budget, self.rows)

    def fold(self) -> Fold | None:
        """How the cells of a grid become rows for the typical norm; None for rows, which are rows already."""
        return None if self.spec.shape is None else _fold(self.spec)

    def choose(self, facts: Sequence[Facts]) -> Choice:
        """What to publish, by the facts of one sketch or of one per class."""
        self.chosen, _ = self.best(facts)
        return self.choice_of(self.chosen)

    def beforehand(self) -> tuple[Spec, Choice]:
        """What to publish without facts: for 100,000 records, and what is usual."""
        spec, _ = self.best([Facts(None, 0.0, 0, 1e18)])
        return spec, self.choice_of(spec)

    def expected(self, n: int, density: float) -> Spec:
        """What will be published of so many records that lie so densely."""
        norm = round(n * sqrt(density + (1.0 - density) * self._by_chance + 1.0 / n))
        spec, _ = self.best([Facts(n, 0.0, norm, 0.0)])
        return spec

    def denser(self, n: int, density: float) -> tuple[int, ...]:
        """The cells along each axis, or the rows, if they lie ten times as densely."""
        spec = self.expected(n, min(10.0 * density, float(DENSITIES[-1])))
        return spec.shape or (spec.rows,)

    def noise_variance(self, rows: int) -> float:
        """That of a counter, where so many rows are published."""
        return calibrated(self._rest, rows).counter_variance

    def choice_of(self, chosen: Spec) -> Choice:
        """How what is chosen is made of what is counted."""
        fine, coarse = self.spec.shape, chosen.shape
        if fine is None or coarse is None:
            return Choice(chosen.rows)
        return Choice(1, None if fine == coarse else groups(*_axes(self.spec), fine, coarse))

    def best(self, facts: Sequence[Facts]) -> tuple[Spec, float]:
        """The public parameters to publish with, and the relative error to expect."""
        scores: dict[Spec, float] = {}
        for one in facts:
            n = max(1.0, float(DEFAULT_RECORDS if one.count is None else one.count))
            weights = plausible(one, n, self._by_chance)
            for option in self._options(n):
                score = float(weights @ np.log(np.minimum(option.errors, HOPELESS)))
                scores[option.spec] = scores.get(option.spec, 0.0) + score / len(facts)
        chosen = worth_it(scores, WORTH if self.budget.pure else WORTH_FREE)
        return chosen, float(np.exp(scores[chosen]))

    def _options(self, n: float) -> list[Option]:
        return self._rows(n) if self.spec.shape is None else self._grids(n)

    def _rows(self, n: float) -> list[Option]:
        spec, found = self.spec, []
        refined = spec.dimensions if self.refined else None
        for rows in self.rows:
            noise = sqrt(self.noise_variance(rows) / rows)
            about = (spec.kernel, spec.design, rows, spec.buckets)
            errors = [rows_error(*about, float(density), n, noise, refined) for density in DENSITIES]
            found.append(Option(replace(spec, rows=rows), np.array(errors)))
        return found

    def _grids(self, n: float) -> list[Option]:
        spec = self.spec
        assert spec.shape is not None
        low, high = _axes(spec)
        profile = Profile(spec.kernel, spec.dimensions, spec.columns)
        shapes = list(coarser(low, high, spec.shape))
        deviation = sqrt(self.noise_variance(1))
        expected = shape_errors(profile, low, high, shapes)
        errors = np.stack([expected.relative(n, deviation, float(density)) for density in DENSITIES])
        specs = [replace(spec, shape=shape, buckets=prod(shape)) for shape in shapes]
        return [Option(one, line) for one, line in zip(specs, errors.T, strict=True)]


def worth_it(scores: dict[Spec, float], worth: float = WORTH) -> Spec:
    """The smallest whose error, of which the logarithm is given, is nearly the least."""
    size = {spec: max(spec.rows * spec.buckets, 0 if spec.shape is None else SMALL) for spec in scores}
    handy = {spec: score for spec, score in scores.items() if size[spec] <= HANDY}
    if handy and min(handy.values()) <= log(ENOUGH):
        scores = handy
    enough = min(scores.values()) + log(worth)
    return min((spec for spec in scores if scores[spec] <= enough), key=lambda spec: (size[spec], scores[spec]))


def plausible(facts: Facts, n: float, by_chance: float) -> np.ndarray:
    """How plausible each of `DENSITIES` is; the weights add up to 1.

    >>> weights = plausible(Facts(100_000, 1250.0, 10_500, 5000.0), 100_000.0, 1 / 1024)       # T²/n² − 1/W = 0.010
    >>> bool(0.009 < np.exp(weights @ np.log(DENSITIES)) < 0.011)
    True
    """
    expected = n * np.sqrt(DENSITIES + (1.0 - DENSITIES) * by_chance + 1.0 / n)
    # The densities are a ladder: a step of it is as much as T need not agree.
    steps = np.gradient(expected)
    scale = np.sqrt(facts.norm_variance / 2.0 + steps**2 / 8.0)
    likely = -np.abs(facts.norm - expected) / scale - np.log(scale / scale.min())
    usual = -0.5 * (np.log(DENSITIES / USUAL) / SPREAD) ** 2
    weights = np.exp(likely + usual - np.max(likely + usual))
    plausible: np.ndarray = weights / weights.sum()
    return plausible


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


def _fold(spec: Spec) -> Fold:
    """Cells to places, few enough to hash; places to buckets, as hash functions of the kernel send them."""
    assert spec.shape is not None
    low, high = _axes(spec)
    places = next(shape for shape in coarser(low, high, spec.shape) if prod(shape) <= FOLDED_CELLS)
    hashed = replace(spec, rows=FOLDED_ROWS, buckets=FOLDED_BUCKETS, design="sobol", bounds=None, shape=None).layout
    cells = replace(spec, shape=places, buckets=prod(places)).layout
    axes = [(edges[:-1] + edges[1:]) / 2.0 for edges in cells.edges()]
    centres = np.zeros((prod(places), spec.dimensions))
    for column, axis in zip(
        spec.kernel.which(spec.dimensions, spec.columns), np.meshgrid(*axes, indexing="ij"), strict=True
    ):
        centres[:, column] = axis.ravel()
    parts, _ = hashed.read(centres, invalid="error")
    positions = np.tile(np.arange(FOLDED_BUCKETS), (FOLDED_ROWS, 1))
    buckets = engine("auto").lookup(hashed.hasher, parts, positions)
    return Fold(groups(low, high, spec.shape, places), buckets.astype(np.int64), FOLDED_BUCKETS)
