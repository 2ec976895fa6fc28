"""Linear regression from moments of [x, 1, y]: the normal equations, with noise that is known."""

from __future__ import annotations

import numpy as np

from scumble.learn.least_squares import ratio, solved
from scumble.moments.fixed import Floats
from scumble.moments.products import ONCE, TWICE, LinearMoments
from scumble.moments.release import MomentRelease

ANCHORS = {True: 0.5, False: 0.15}
"""a² over the number of columns, for pure noise and for Gaussian noise."""
CAUTION = 1.5
"""λ/(s √q)."""
UNKNOWN = 8.0
"""Deviations of its noise below which a weighted number of records says nothing."""


def mean_of_target(release: MomentRelease) -> float:
    """The target's mean, in [−1, 1], from the row of the target alone."""
    low, high = release.rows[0]
    return ratio(float(high - low), release.count, np.sqrt(2.0) * release.errors[0])


def linear_model(release: MomentRelease) -> tuple[Floats, float]:
    """Slopes, then the intercept, in units of the bounds; and the penalty, in (weighted) records."""
    spec = release.spec
    assert isinstance(spec, LinearMoments)
    q, error = spec.dimensions, release.errors[1]
    unit = np.append(np.ones(q), np.full(2, 1.0 / spec.anchor))
    moments = spec.matrix(release.rows[1]) * np.outer(unit, unit)
    across = error * ONCE[spec.pure] / TWICE[spec.pure]
    penalty = CAUTION * across * np.sqrt(q)
    total, of_total = moments[q, q], error * unit[q] ** 2
    alone = mean_of_target(release)
    if total < UNKNOWN * of_total:
        return np.append(np.zeros(q), alone), penalty
    means = np.array([ratio(moments[j, q], total, of_total) for j in [*range(q), q + 1]])
    covariance = moments[:q, :q] - total * np.outer(means[:q], means[:q])
    cross = moments[:q, q + 1] - total * means[:q] * means[q]
    slopes = solved(covariance, cross, penalty, np.full(q, (across * unit[q]) ** 2))
    if not slopes.any():
        return np.append(slopes, alone), penalty
    return np.append(slopes, means[q] - means[:q] @ slopes), penalty
