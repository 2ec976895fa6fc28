"""Outliers: records with hardly any private record like them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scumble.errors import parameter
from scumble.kernels import Kernel
from scumble.learn import quantiles
from scumble.learn.base import OutlierMixin, PrivateEstimator
from scumble.learn.levels import Levels, log_likelihoods
from scumble.privacy.account import Account
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.composition import overlapping
from scumble.privacy.exact import as_fraction
from scumble.release import Release
from scumble.schema import Schema
from scumble.sketch import release_disjoint
from scumble.tabular.release import TableRelease

DRAWN = 20_000
"""Records drawn from a table's model, to find the threshold."""


class PrivateOutlierDetector(OutlierMixin, PrivateEstimator):
    """Records of low density are outliers (the paper's section 4; Luo & Shrivastava 2018).

    The signs are scikit-learn's: `score_samples` is high for usual records, `decision_function` = `score_samples` −
    `offset_` is negative for outliers, and `predict` says −1 for them and 1 for the others.

    **The threshold.** `offset_` should be the `contamination` quantile of the private records' own scores.

    *Grids* determine it themselves, at no cost. The cells are ranked by the scores that will be used to judge, and the
    counters summed down the ranks. At ε = 1 with 20,000 records in two and three columns, skewed, heavy-tailed and
    uniform ones included, about 98 of 100 rates from 0.01 to 0.3 were kept within 0.02, the worst within 0.032. (Of
    records with equal values, all or none are outliers, here as everywhere.)

    *Hashed rows* do not: their counters do not show how a crowd is spread within a bandwidth. `threshold_share` of ε
    pays for one more release, of the records' scores in one row of counters; see :mod:`scumble.learn.quantiles`. With
    20,000 records of fourteen shapes in 5 to 25 columns the same rates were kept within 0.017, on five real tables
    within 0.009. With 5,000 records the noise takes 0.01 at one standard deviation.

    *From a release* of hashed rows alone (`from_release`, or `threshold_share=0`), records are drawn from it
    (:func:`scumble.learn.sample`) and their scores taken: a rough threshold, at no cost. On the same shapes rates were
    off by up to 0.06 in 5 columns, 0.08 in 8 and 0.2 or more in 16 and 25; for records uniform over their bounds, whose
    scores differ by little but noise, by 0.4 to 0.9.

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

    Attributes
    ----------
    offset_ : float
        The threshold, on the scale of `score_samples`.
    release_ : Release
        The release that scores are read from.
    scores_ : Release or None
        The release of the private records' scores, or None if the threshold is from `release_` alone.
    privacy_ : PrivacyClaim
        The claim of both together.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(5.0, 0.5, (10_000, 2))
    >>> model = PrivateOutlierDetector(contamination=0.05, bounds=(0, 10)).fit(X)
    >>> model.predict([[5.0, 5.0], [9.0, 1.0]])      # 30 standard errors above and below the threshold
    array([ 1, -1])
    """

    _learnt = ("offset_", "scores_")
    _always_needs_bounds = True
    scores_: Release | None = None

    def __init__(
        self,
        *,
        contamination: float = 0.05,
        threshold_share: float = 0.1,
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

    def fit(
        self, X: Any, y: Any = None, *, ledger: Any = None, dataset: str | None = None, part: str | None = None
    ) -> PrivateOutlierDetector:
        """Release a sketch of X, and if it has hashed rows one of the scores; find the threshold.

        `y` is ignored; `ledger`, `dataset`, `part`: where to charge it.
        """
        self._check()
        account = Account.of(ledger, dataset, part)
        X = self._begin(X)
        share = as_fraction("threshold_share", self.threshold_share)
        sketch = self._sketch(self._kernel(), X, self.price())
        if sketch.spec.layout.has_places:
            share *= 0
        budget, counting = self.price().share(1 - share, 1), self.price().share(share, 0, count_share=0)
        claims = [budget.claim(sketch.rows), *([counting.claim(1)] if share else [])]
        paid = self._pay(claims, account, counters=sketch.rows * sketch.buckets + quantiles.MOST)
        (self.release_,) = release_disjoint([sketch.update(X)], budget, paid)
        self.scores_ = None
        if share:
            scores = quantiles.counted(self.release_, X, counting.epsilon)
            (self.scores_,) = release_disjoint([scores], counting, paid)
        self._learn()
        return self

    def _check(self) -> None:
        if not 0.0 < self.contamination <= 0.5:
            raise parameter("contamination", "in (0, 0.5]", self.contamination)
        if not 0.0 <= self.threshold_share <= 0.5:
            raise parameter("threshold_share", "between 0 and 0.5", self.threshold_share)

    def _learn(self) -> None:
        self._check()
        self.offset_ = float(_score(self._threshold()))

    def _threshold(self) -> float:
        """The kernel sum below which the requested share of the private records falls."""
        if self.scores_ is not None:
            return quantiles.of_counted(self.scores_, self.release_.count, self.contamination)
        if self.release_.spec.layout.has_places:
            return quantiles.on_grid(self.release_, self.contamination)
        return quantiles.sampled(self.release_, self.contamination, bounds=self.bounds_, seed=self._seed())

    def _claim(self) -> PrivacyClaim:
        both = (self.release_, self.scores_)
        return overlapping(release.privacy for release in both if release is not None)

    def _learn_table(self, release: TableRelease, target: str | None) -> None:
        if target is not None:
            raise parameter("target", "left out: outliers are of all columns", target)
        self._check()
        self.release_, self.scores_ = release, None  # type: ignore[assignment]
        drawn = release._answers.model.draw(DRAWN, np.random.default_rng(self._seed()))
        levels = Levels(release)
        self.offset_ = float(np.quantile(log_likelihoods(levels, levels.grouped(drawn)), self.contamination))

    def score_samples(self, X: object) -> np.ndarray:
        """How usual each record is: log(1 + kernel sum). Kernel sums that noise made negative keep their order.

        Of a table, the logarithm of the density as far as pairs of columns determine it.
        """
        X = self._read(X, clip=True)
        levels = self._levels()
        if levels is not None:
            return log_likelihoods(levels, X)
        return _score(self.release_.kernel_sum(X))

    def decision_function(self, X: object) -> np.ndarray:
        """`score_samples` less the threshold: negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: object) -> np.ndarray:
        """1 for usual records, −1 for outliers."""
        return np.where(self.decision_function(X) >= 0.0, 1, -1)


def _score(sums: Any) -> np.ndarray:
    """The signed logarithm log(1 + |f|): in the order of the kernel sums, also below zero, and finite."""
    return np.sign(sums) * np.log1p(np.abs(sums))
