"""Outliers: records with hardly any private record like them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from scumble import checks
from scumble.errors import parameter
from scumble.kernels import Kernel
from scumble.learn import quantiles
from scumble.learn.base import OutlierMixin, PrivateEstimator
from scumble.learn.columnwise import Blend, column_sketch, columns_of, countable
from scumble.learn.levels import Levels, log_likelihoods
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.composition import overlapping
from scumble.privacy.exact import as_fraction
from scumble.privacy.parts import in_parts
from scumble.release import Release
from scumble.schema import Schema
from scumble.sketch import Sketch, release_disjoint
from scumble.tabular.publishing import price, publish
from scumble.tabular.release import TableRelease

SHARES = ("threshold_share", "columns_share")
ROWS, GAUSSIAN_ROWS = 128, 512
"""The most hashed rows. At δ = 0 noise grows with their number, and ranks hang on noise more than on hashing."""
DRAWN = 20_000
"""Records drawn from a table's model, to find the threshold."""


class PrivateOutlierDetector(OutlierMixin, PrivateEstimator):
    """Records of low density are outliers (the paper's section 4; Luo & Shrivastava 2018).

    The signs are scikit-learn's: `score_samples` is high for usual records, `decision_function` = `score_samples` −
    `offset_` is negative for outliers, and `predict` says −1 for them and 1 for the others.

    **Two kinds of outlier.** With hashed rows (many columns), `columns_share` of ε pays for a histogram of each column
    by itself. A value that is rare in its column is plain there; values that hardly ever come together only the kernel
    sees. The score has both, each weighted by how far it is above its noise: see :mod:`scumble.learn.columnwise`.

    **The threshold.** `offset_` should be the `contamination` quantile of the private records' own scores.

    *Grids* determine it themselves, at no cost. The cells are ranked by the scores that will be used to judge, and the
    counters summed down the ranks. At ε = 1 with 20,000 records in two and three columns, skewed, heavy-tailed and
    uniform ones included, about 98 of 100 rates from 0.01 to 0.3 were kept within 0.02, the worst within 0.032. (Of
    records with equal values, all or none are outliers, here as everywhere.)

    *Hashed rows* do not: their counters do not show how a crowd is spread within a bandwidth. `threshold_share` of ε
    pays for one more release, of the records' scores in one row of counters; see :mod:`scumble.learn.quantiles`. With
    20,000 records of fourteen shapes in 5 to 25 columns kernels alone kept the same rates within 0.017, on five real
    tables within 0.009. With 5,000 records the noise takes 0.01 at one standard deviation.

    *From a release* of hashed rows alone (`from_release`, or `threshold_share=0`), records are drawn from it
    (:func:`scumble.learn.sample`) and their scores taken: a rough threshold, at no cost. On the same shapes kernels
    alone were off by up to 0.06 in 5 columns, 0.08 in 8 and 0.2 or more in 16 and 25; for records uniform over their
    bounds, whose scores differ by little but noise, by 0.4 to 0.9. Beside histograms of the columns it is rougher
    still, since drawn records blur what single columns show: of clumped records, 0.06 were called outliers where 0.30
    were asked for.

    *From the release of a table* the score is the logarithm of the density, as far as pairs of columns determine it
    (:mod:`scumble.learn.levels`), and the threshold is found from records drawn from the model. On Adult at ε = 1,
    rates of 0.01, 0.05 and 0.2 became 0.02, 0.06 and 0.21 with δ = 10⁻⁶, and up to 0.03, 0.09 and 0.26 with ε alone.

    **What is private.** The release, the threshold and whatever `predict` says about records of the analyst's own. If
    the curator publishes `predict(X)` for the private X itself, that reveals whether each record is an outlier: not
    private.

    The parameters that are not listed are those of :class:`~scumble.learn.base.PrivateEstimator`. Bounds are always
    needed, to draw records within.

    Parameters
    ----------
    contamination : float
        The share of records to call outliers, in (0, 0.5].
    threshold_share : float
        The part of ε that finds the threshold of hashed rows, from 0 to 0.5. Grids need none.
    columns_share : float
        The part of ε for histograms of single columns beside hashed rows, from 0 to 0.8; 0 leaves scores to the kernel
        alone, as do more than 10,000 columns. With δ, what the threshold leaves is shared out by ρ.
    rows : int or None
        Hashed rows. None takes 128 at the most, 512 with δ: fewer than densities need.

    Attributes
    ----------
    offset_ : float
        The threshold, on the scale of `score_samples`.
    release_ : Release
        The release that scores are read from.
    columns_ : TableRelease or None
        The release of the columns' histograms, or None if the score is from `release_` alone.
    scores_ : Release or None
        The release of the private records' scores, or None if the threshold is from `release_` alone.
    privacy_ : PrivacyClaim
        The claim of all of them together.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(5.0, 0.5, (10_000, 2))
    >>> model = PrivateOutlierDetector(contamination=0.05, bounds=(0, 10)).fit(X)
    >>> model.predict([[5.0, 5.0], [9.0, 1.0]])      # 30 standard errors above and below the threshold
    array([ 1, -1])
    """

    _learnt = ("offset_", "columns_", "scores_")
    _made_again = ("_blend",)
    _always_needs_bounds = True
    columns_: TableRelease | None = None
    scores_: Release | None = None
    _blend: Blend | None = None

    def __init__(
        self,
        *,
        contamination: float = 0.05,
        threshold_share: float = 0.1,
        columns_share: float = 0.4,
        epsilon: float = 1.0,
        delta: float = 0.0,
        rho: float | None = None,
        mu: float | None = None,
        neighbors: str = "add-remove",
        kernel: Kernel | None = None,
        rows: int | None = None,
        buckets: int | None = None,
        bounds: Any = None,
        schema: Schema | str | os.PathLike[str] | None = None,
        categories: Mapping[str, Sequence[Any]] | None = None,
        public: Sequence[str] = (),
        records_per_person: int = 1,
        random_state: int | None = None,
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            mu=mu,
            neighbors=neighbors,
            kernel=kernel,
            rows=rows,
            buckets=buckets,
            bounds=bounds,
            schema=schema,
            categories=categories,
            public=public,
            records_per_person=records_per_person,
            random_state=random_state,
        )
        self.contamination = contamination
        self.threshold_share = threshold_share
        self.columns_share = columns_share

    def fit(
        self, X: Any, y: Any = None, *, ledger: Any = None, dataset: str | None = None, part: str | None = None
    ) -> PrivateOutlierDetector:
        """Release a sketch of X, and if it has hashed rows its columns' histograms and the scores; find the threshold.

        `y` is ignored; `ledger`, `dataset`, `part`: where to charge it.
        """
        self._check()
        account = Account.of(ledger, dataset, part)
        records = self._lasting(X)
        X = self._begin(records)
        sketch, whole = self._drafted(X), self.price()
        hashed = not sketch.spec.layout.has_places
        finding, apart = (hashed * as_fraction(name, getattr(self, name)) for name in SHARES)
        single = countable(self.schema_, self.bounds_) and apart
        singles = column_sketch(columns_of(self.schema_, self.bounds_)) if single else None
        left = 1 - finding - (apart if singles else 0)

        def claims(budgets: Sequence[Budget]) -> list[PrivacyClaim]:
            each = [budgets[0].claim(sketch.rows)]
            return each if singles is None else [*each, price(singles.spec, replace(budgets[1], count_share=0))]

        # A threshold needs no δ; the others share what it leaves.
        counting, rest = whole.share(finding, 0, count_share=0), whole.share(1 - finding, 1)
        shares = [left / (1 - finding)] + ([apart / (1 - finding)] if singles else [])
        budgets = in_parts(rest, shares, claims)
        counters = sketch.rows * sketch.buckets + quantiles.MOST + (singles.spec.counters[0] if singles else 0)
        sketch.update(X)
        paid = self._pay([*claims(budgets), *([counting.claim(1)] if finding else [])], account, counters=counters)
        (self.release_,) = release_disjoint([sketch], budgets[0], paid)
        self.columns_, self.scores_, self._blend = None, None, None
        if singles is not None:
            singles.update(X if self.schema_ is None else records)
            self.columns_ = publish(singles.secret, singles.spec, replace(budgets[1], count_share=0), paid)
        if finding:
            scores = quantiles.counted(*self._countable(X, records), counting.epsilon, self.release_.count)
            (self.scores_,) = release_disjoint([scores], counting, paid)
        self._learn()
        return self

    def _drafted(self, X: np.ndarray) -> Sketch:
        """An empty sketch, as planned but for the rows: those that were asked for, or fewer than densities need."""
        whole = self.price()
        return self._sketch(self._kernel(), X, whole, most_rows=ROWS if whole.pure else GAUSSIAN_ROWS)

    def _countable(self, X: np.ndarray, records: Any) -> tuple[np.ndarray, float, float]:
        """The private records' scores, each a function of its record alone, and between what they are counted."""
        blend = self._blended()
        if blend is None:
            return quantiles.roots(self.release_, X)
        return blend.squashed(self._scores(X, records)), -1.0, 1.0

    def _check(self) -> None:
        checks.number("contamination", self.contamination, "in (0, 0.5]", lambda share: 0.0 < share <= 0.5)
        found = checks.number("threshold_share", self.threshold_share, "between 0 and 0.5", lambda one: 0 <= one <= 0.5)
        found += checks.number("columns_share", self.columns_share, "between 0 and 0.8", lambda one: 0 <= one <= 0.8)
        if found > 0.9:
            raise parameter("columns_share", "at most 0.9 together with `threshold_share`", self.columns_share)

    def _blended(self) -> Blend | None:
        """What scores records by kernel and columns, made once from the releases; None where columns have none."""
        if self._blend is None and self.columns_ is not None:
            self._blend = Blend(self.release_, self.columns_)
        return self._blend

    def _learn(self) -> None:
        self._check()
        self.offset_ = float(self._threshold())

    def _threshold(self) -> float:
        """The score below which the requested share of the private records falls."""
        blend, release = self._blended(), self.release_
        if self.scores_ is not None:
            place = quantiles.of_counted(self.scores_, release.count, self.contamination)
            return blend.unsquashed(place) if blend is not None else float(_score(place * abs(place)))
        if release.spec.layout.has_places:
            return float(_score(quantiles.on_grid(release, self.contamination)))
        drawn = quantiles.drawn(release, bounds=self.bounds_, seed=self._seed())
        coded = self._coding()
        return float(
            np.quantile(self._scores(drawn, drawn if coded is None else coded.table(drawn)), self.contamination)
        )

    def _scores(self, numbers: np.ndarray, records: Any) -> np.ndarray:
        """`numbers` are what the kernel reads of `records`."""
        blend = self._blended()
        if blend is None:
            return _score(self.release_.kernel_sum(numbers))
        return blend.scores(numbers, numbers if self.schema_ is None else records)

    def _claim(self) -> PrivacyClaim:
        each = (self.release_, self.columns_, self.scores_)
        return overlapping(release.privacy for release in each if release is not None)

    def _learn_table(self, release: TableRelease, target: str | None) -> None:
        if target is not None:
            raise parameter("target", "left out: outliers are of all columns", target)
        self._check()
        self.release_, self.columns_, self.scores_ = release, None, None  # type: ignore[assignment]
        drawn = release._answers.model.draw(DRAWN, np.random.default_rng(self._seed()))
        levels = Levels(release)
        self.offset_ = float(np.quantile(log_likelihoods(levels, levels.grouped(drawn)), self.contamination))

    def score_samples(self, X: object) -> np.ndarray:
        """How usual each record is: a number without a unit, larger for the more usual.

        Of a grid, or of hashed rows without histograms of the columns, log(1 + kernel sum). Kernel sums that noise made
        negative keep their order. With histograms, see :mod:`scumble.learn.columnwise`.

        Of a table, the logarithm of the density as far as pairs of columns determine it.
        """
        X = self._lasting(X)
        numbers = self._read(X, clip=True)
        levels = self._levels()
        if levels is not None:
            return log_likelihoods(levels, numbers)
        return self._scores(numbers, X)

    def decision_function(self, X: object) -> np.ndarray:
        """`score_samples` less the threshold: negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: object) -> np.ndarray:
        """1 for usual records, −1 for outliers."""
        return np.where(self.decision_function(X) >= 0.0, 1, -1)


def _score(sums: Any) -> np.ndarray:
    """The signed logarithm log(1 + |f|): in the order of the kernel sums, also below zero, and finite."""
    return np.sign(sums) * np.log1p(np.abs(sums))
