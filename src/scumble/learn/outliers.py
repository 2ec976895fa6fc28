"""Outliers: records with hardly any private record like them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scumble.errors import parameter
from scumble.kernels import Kernel
from scumble.layout import GridReader
from scumble.learn.base import OutlierMixin, PrivateEstimator
from scumble.learn.sampling import Sampler
from scumble.release import Release

DRAWS = 10_000


class PrivateOutlierDetector(OutlierMixin, PrivateEstimator):
    """Low density is an outlier (the paper's section 4; Luo & Shrivastava 2018).

    The signs are scikit-learn's: `score_samples` is high for usual records, `decision_function` = `score_samples` −
    `offset_` is negative for outliers, and `predict` says −1 for them and 1 for the others.

    **The threshold** costs nothing. `offset_` should be the `contamination` quantile of the private records' own
    scores, but they were read once, for the release, and are not read again.

    *Grids.* The cells are ranked by the very scores that will judge, the counters summed down the ranks: where the sum
    reaches the share of records to keep, there is the threshold. (All counters sum to N: their common excess, noise, is
    taken off evenly first.) At ε = 1 with 20,000 records in two and three columns, skewed and heavy-tailed ones too,
    and rates of 0.02 to 0.2, held-out records were called outliers at the asked rate within 0.017 in twelve fits of
    three shapes; a close relative of the rule stayed within 0.021 in six shapes.

    *Hashed rows.* They have no cells; records are drawn from the release (:func:`scumble.learn.sample`) and their
    scores are taken. That keeps a rate near the share of records that really lie apart: 0.04 to 0.07 for 0.05. A rate
    that cuts through the crowd or through the few farthest out is not kept: asked for 0.02, 0.02 to 0.05 were found;
    for 0.1, 0.07 to 0.12; for 0.2, 0.13 to 0.24. The drawn records follow the release's counters, and these do not
    tell how a crowd is spread within a bandwidth.

    **What is private.** The release, the threshold and whatever `predict` says about records of the analyst's own. If
    the curator publishes `predict(X)` of the private X itself, that says of each record whether it is an outlier: not
    private.

    Parameters
    ----------
    contamination : the share of records to call outliers, in (0, 0.5].
    others : see :class:`~scumble.learn.base.PrivateEstimator`. Bounds are always needed, to draw records within.

    Attributes
    ----------
    offset_ : the threshold, on the scale of `score_samples`.
    release_ : the release that all of it was read from.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(5.0, 0.5, (10_000, 2))
    >>> model = PrivateOutlierDetector(contamination=0.05, bounds=(0, 10)).fit(X)
    >>> model.predict([[5.0, 5.0], [9.0, 1.0]])
    array([ 1, -1])
    """

    _learnt = ("offset_",)
    _always_needs_bounds = True

    def __init__(
        self,
        *,
        contamination: float = 0.05,
        epsilon: float = 1.0,
        delta: float = 0.0,
        neighbors: str = "add-remove",
        kernel: Kernel | None = None,
        rows: int | None = None,
        buckets: int | None = None,
        bounds: Any = None,
        public: Sequence[str] = (),
        records_per_person: int = 1,
        random_state: int | None = None,
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            delta=delta,
            neighbors=neighbors,
            kernel=kernel,
            rows=rows,
            buckets=buckets,
            bounds=bounds,
            public=public,
            records_per_person=records_per_person,
            random_state=random_state,
        )
        self.contamination = contamination

    def fit(self, X: Any, y: Any = None) -> PrivateOutlierDetector:
        """Release a sketch of X and find the threshold from it. `y` is ignored."""
        self._check()
        X = self._begin(X)
        self.release_ = self._release(X)
        self._learn()
        return self

    def _check(self) -> None:
        if not 0.0 < self.contamination <= 0.5:
            raise parameter("contamination", "in (0, 0.5]", self.contamination)

    def _learn(self) -> None:
        self._check()
        if self.release_.design == "grid":
            threshold = quantile_on_grid(self.release_, self.contamination)
        else:
            sampler = Sampler(self.release_, np.random.default_rng(self._seed()), bounds=self.bounds_)
            threshold = np.quantile(self.release_.kernel_sum(sampler.draw(DRAWS)), self.contamination)
        self.offset_ = float(_score(threshold))

    def score_samples(self, X: Any) -> np.ndarray:
        """How usual each record is: log(1 + kernel sum). Kernel sums that noise made negative keep their order."""
        X = self._read(X, clip=True)
        return _score(self.release_.kernel_sum(X))

    def decision_function(self, X: Any) -> np.ndarray:
        """`score_samples` less the threshold: negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """1 for usual records, −1 for outliers."""
        return np.where(self.decision_function(X) >= 0.0, 1, -1)


def _score(sums: Any) -> np.ndarray:
    """The signed logarithm log(1 + |f|): in the order of the kernel sums, below zero too, and finite."""
    return np.sign(sums) * np.log1p(np.abs(sums))


def quantile_on_grid(release: Release, share: float) -> float:
    """The kernel sum that a share of the private records falls below, from the counters of a grid."""
    reader = release._reader()
    assert isinstance(reader, GridReader)
    sums, total = reader.field.at_centres(), max(release.count, 1.0)
    order = np.argsort(-sums, kind="stable")
    counts = release.counts.ravel()[order]
    above = np.cumsum(counts - (counts.sum() - total) / len(counts))
    # Noise makes the sum cross its mark more than once: as many cells as lie below it, wherever they are.
    cells = int(np.sum(above < (1.0 - share) * total))
    return float(sums[order[min(cells, len(order) - 1)]])
