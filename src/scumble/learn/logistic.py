"""Logistic regression for wide records, by noisy steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from scumble.errors import DataError, ParameterError
from scumble.gate.rows import publish_in_turn
from scumble.gate.secret import Secret
from scumble.learn.base import estimator
from scumble.learn.descent import FINE, Counting, Descent, DescentSpec, exact_logits
from scumble.learn.moment_release import LIMIT, released
from scumble.learn.moments import LENGTH
from scumble.learn.supervised import Classifier, LearnsFromMoments, TakesVectors
from scumble.privacy.account import Account

STEPS = 8
"""How many gradients are published."""


@estimator
class PrivateLogisticRegression(LearnsFromMoments, TakesVectors, Classifier):
    """Multinomial logistic regression by a few noisy steps: for embeddings of texts and images, and other wide records.

    Records are moved to their noisy middle and shortened to a ball that half of them are in. Gradients of all records
    at once are published with Gaussian noise, eight of them, and each step is as long as the noise allows
    (:mod:`scumble.learn.descent`). Nothing is tuned on the data. Gaussian noise needs δ > 0; for pure ε, take
    :class:`~scumble.learn.PrivateLinearClassifier`.

    For the other parameters, see :class:`~scumble.learn.base.PrivateEstimator`,
    :class:`~scumble.learn.supervised.Classifier` and :class:`~scumble.learn.supervised.TakesVectors`.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, 4000)
    >>> X = 2 * np.eye(8)[y] + rng.normal(size=(4000, 8))
    >>> model = PrivateLogisticRegression(epsilon=1.0, length=4.0, classes=[0, 1, 2]).fit(X, y)
    >>> accuracy = model.score(X, y)                # 0.86 or so: the noise is fresh each time
    >>> model.predict_proba(X[:5]).shape
    (5, 3)
    """

    delta: float = 1e-6

    _learnt = ("classes_", "weights_", "middle_", "radius_", "shares_", "offsets_")
    _always_needs_bounds = True
    _moments = DescentSpec

    def _check(self) -> None:
        super()._check()
        if self.price().pure:
            raise ParameterError(
                "PrivateLogisticRegression adds Gaussian noise, which needs a δ above 0. "
                "Hint: --delta 1e-6 (delta=1e-6), or --task separate (PrivateLinearClassifier)."
            )

    def _publish(self, X: np.ndarray, y: np.ndarray, account: Account | None) -> None:
        budget, spec = self.price(), self._spec()
        self._require_ready(spec)
        if len(X) * spec.step * 4 >= LIMIT:
            raise DataError("There are too many records: a sum could pass 2**62. Hint: fit to a part of them.")
        secret, counting = Secret(spec, drops=False), Counting(spec, X, y)
        with secret.changing("update"):
            secret.row(0)[:] = np.bincount(y, minlength=spec.classes) * spec.step
        paid = self._pay([budget.claim(spec.rows, spec.shares, spec.reach)], account, counters=spec.counters[0])
        made = publish_in_turn(secret, budget, paid, shares=spec.shares, counted=counting)
        self.release_ = released(spec, made)

    def _spec(self) -> DescentSpec:
        ball = self.length is not None
        return DescentSpec(self._spans(), self._names(), False, len(self.classes_), STEPS, ball=ball)

    # ---- from the release alone ----

    def _learn(self) -> None:
        release: Any = self.release_
        descent = Descent(release.spec)
        for row, error in zip(release.rows, release.errors, strict=True):
            descent.take(row, error)
        self.weights_, self.offsets_ = descent.settled()
        self.shares_, self.middle_, self.radius_ = descent.shares, descent.middle, descent.radius

    def _log_probabilities(self, X: np.ndarray) -> np.ndarray:
        spec: Any = self.release_.spec
        vectors = spec.vectors(spec.cells(X), self.middle_, self.radius_)
        return exact_logits(vectors, self.weights_, self.offsets_) / (FINE * LENGTH)
