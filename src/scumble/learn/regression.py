"""Linear regression from moments."""

from __future__ import annotations

import numpy as np

from scumble.learn.base import estimator
from scumble.learn.levels import RIDGE, Levels, least_squares, target_of
from scumble.learn.moment_release import MomentRelease, mean_of_target, ratio, solved
from scumble.learn.moments import ONCE, TWICE, Floats, LinearMoments, anchored, pointing
from scumble.learn.supervised import LearnsFromMoments, Regressor, TakesVectors, laplace_is_quieter
from scumble.table.release import TableRelease

ANCHORS = {True: 0.5, False: 0.15}
"""a² over the number of columns, for pure noise and for Gaussian noise."""
UNIT_COLUMNS = 3
"""Columns that are even within their bounds have a mean square of a third: so many are as long as a unit vector."""
CAUTION = 1.5
"""λ/(s √q)."""
UNKNOWN = 8.0
"""Deviations of its noise below which a weighted number of records says nothing."""


@estimator
class PrivateLinearRegression(LearnsFromMoments, TakesVectors, Regressor):
    """Linear regression in closed form.

    Columns and target are scaled to [−1, 1] by their public bounds. The release holds the normal equations, as whole
    numbers with exact noise: Σ zzᵀ with z = [x, a, ay]/w, where w makes all records equally long
    (:mod:`scumble.learn.moments`). Ridge regression solves them, with a penalty that follows from the noise
    (`penalty_`, in records); where noise is all there is, the answer is the mean of the target. `coef_` and
    `intercept_` are in the columns' own units. `kernel`, `rows` and `buckets` are not used.

    ``from_release(release, target="hours")`` learns from the release of a table: least squares in the levels of all
    other columns (:mod:`scumble.learn.levels`), with one weight for each in `coef_`.

    For the parameters, see :class:`~scumble.learn.base.PrivateEstimator`, :class:`~scumble.learn.supervised.Regressor`
    and :class:`~scumble.learn.supervised.TakesVectors`.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (4000, 2))
    >>> y = 3 * X[:, 0] - X[:, 1] + rng.normal(0, 1, 4000)
    >>> model = PrivateLinearRegression(bounds=(0, 10), target_bounds=(-15, 35)).fit(X, y)
    >>> r2 = model.score(X, y)                      # 0.98 or so: the noise is fresh each time
    >>> answers = model.predict(X)                  # within the bounds of the target, always
    >>> bool(np.all((answers >= -15) & (answers <= 35)))
    True
    """

    _learnt = ("coef_", "intercept_", "penalty_", "target_bounds_", "target_")
    _always_needs_bounds = True
    _moments = LinearMoments
    _learns_from = (MomentRelease, TableRelease)

    def _spec(self) -> LinearMoments:
        d = self._width
        pure = laplace_is_quieter(self.price(), 0.75 * (d + 2))
        ball = self.length is not None
        anchor = anchored(UNIT_COLUMNS if ball else d, ANCHORS[pure])
        return LinearMoments(self._spans(), self._names(), pure, anchor, self.target_bounds_, ball=ball)

    # ---- from the release alone ----

    def _learn(self) -> None:
        theta, self.penalty_ = linear_model(self.release_)
        bottom, top = self.target_bounds_
        half = (top - bottom) / 2.0
        low, high = map(np.array, self._spans())
        slope = 2.0 * theta[:-1] / (high - low)
        self.coef_ = half * slope
        self.intercept_ = float(bottom + half * (1.0 + theta[-1] - np.sum(slope * low) - np.sum(theta[:-1])))

    def _learn_table(self, release: TableRelease, target: str | None) -> None:
        self.target_ = target_of(release, target, type(self).__name__, ("number",))
        self.coef_, self.intercept_, found = least_squares(Levels(release, self.target_))
        self._require_settled(lambda given: self._public_target_bounds(None), target_bounds=found)
        self.target_bounds_ = found
        self.penalty_ = RIDGE * max(release._answers.total.value, 1.0)
        self.release_ = release

    def predict(self, X: object) -> np.ndarray:
        """The model's values, within the public bounds of the target."""
        X = self._read(X, clip=True)
        if self._levels() is not None:  # of a table: X has the places of the levels
            return np.clip(self.coef_[X].sum(axis=1) + self.intercept_, *self.target_bounds_)
        if self.length is not None:
            X = pointing(X, float(self.length))
        return np.clip(X @ self.coef_ + self.intercept_, *self.target_bounds_)


def linear_model(release: MomentRelease) -> tuple[Floats, float]:
    """Slopes, then the intercept, in units of the bounds; and the penalty, in (weighted) records."""
    spec = release.spec
    assert isinstance(spec, LinearMoments)
    q, error = spec.dimensions, release.errors[1]
    unit = np.append(np.ones(q), np.full(2, 1.0 / spec.anchor))
    moments = spec.matrix(release.rows[1]) * np.outer(unit, unit)
    across = error * ONCE[spec.pure] / TWICE[spec.pure]
    penalty = CAUTION * across * np.sqrt(q)
    theta = plane(moments, penalty, (across * unit[q], error * unit[q] ** 2))
    if not theta[:-1].any():
        theta[-1] = mean_of_target(release)
    return theta, penalty


def plane(moments: np.ndarray, penalty: float, errors: tuple[float, float]) -> Floats:
    """θ and intercept from the (weighted) moments of [x, 1, y]; the intercept is not penalized.

    `errors` are those of an entry of x with y, and of 1 with y or 1. Columns are centered first, so where noise is all
    there is, the answer is the mean of the target.
    """
    q = len(moments) - 2
    total = moments[q, q]
    means = np.array([ratio(moments[j, q], total, errors[1]) for j in [*range(q), q + 1]])
    if total < UNKNOWN * errors[1]:
        return np.append(np.zeros(q), means[q])
    covariance = moments[:q, :q] - total * np.outer(means[:q], means[:q])
    cross = moments[:q, q + 1] - total * means[:q] * means[q]
    slopes = solved(covariance, cross, penalty, np.full(q, errors[0] ** 2))
    return np.append(slopes, means[q] - means[:q] @ slopes)
