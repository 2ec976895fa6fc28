"""Outliers: records with hardly any private record like them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scumble.errors import parameter
from scumble.kernels import Kernel
from scumble.learn.base import OutlierMixin, PrivateEstimator
from scumble.learn.sampling import Sampler

DRAWS = 10_000


class PrivateOutlierDetector(OutlierMixin, PrivateEstimator):
    """Low density is an outlier (the paper's section 4; Luo & Shrivastava 2018).

    The signs are scikit-learn's: `score_samples` is high for usual records, `decision_function` = `score_samples` −
    `offset_` is negative for outliers, and `predict` says −1 for them and 1 for the others.

    **The threshold** costs nothing. `offset_` should be the `contamination` quantile of the private records' own
    scores, but they were read once, for the release, and are not read again. So records are drawn from the release
    (:func:`scumble.learn.sample`) and their scores are taken. Measured at ε = 1 with 20,000 records and
    `contamination` equal to the planted share of outliers, 0.05: single fits called 0.026 to 0.076 of held-out records
    outliers, and on average over fits 0.035 to 0.06; more records bring it nearer. With hashed rows a rate far from
    the true share is not kept: asked for 0.02, 0.04 to 0.06 were found (which outliers lie farthest out drowns in the
    noise), and in eight columns of tight clusters 0.06 to 0.08 for 0.1.

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
        sampler = Sampler(self.release_, np.random.default_rng(self._seed()), bounds=self.bounds_)
        self.offset_ = float(np.quantile(self._score(sampler.draw(DRAWS)), self.contamination))

    def _score(self, X: np.ndarray) -> np.ndarray:
        """The signed logarithm log(1 + |f|): in the order of the kernel sums, below zero too, and finite."""
        sums = self.release_.kernel_sum(X)
        return np.sign(sums) * np.log1p(np.abs(sums))

    def score_samples(self, X: Any) -> np.ndarray:
        """How usual each record is: log(1 + kernel sum). Kernel sums that noise made negative keep their order."""
        return self._score(self._read(X, clip=True))

    def decision_function(self, X: Any) -> np.ndarray:
        """`score_samples` less the threshold: negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """1 for usual records, −1 for outliers."""
        return np.where(self.decision_function(X) >= 0.0, 1, -1)
