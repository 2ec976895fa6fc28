"""Estimators that release moments: the law of the noise, the release, and least squares from what is released.

**Penalty.** The noise in a matrix of moments moves its eigenvalues by up to about 2s√q, s being the deviation of an
entry and q its size: directions in which the columns vary less than that are not known, and a penalty of that order
takes them out. It follows from public numbers alone.

**Guard.** Noise alone also seems to explain something of a target: Σ over directions of the noise's variance over
(eigenvalue + penalty). The model shrinks by the share which that is of what it seems to explain, and to nothing, the
mean, if it is all (James & Stein 1961); or by a power of that share. What several targets seem to explain is added up,
and is divided among them in proportion to their variances: a single class shows too little to be judged by itself.
"""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np

from scumble.density.loading import load
from scumble.errors import DataError
from scumble.learn.base import PrivateEstimator
from scumble.learn.columns import Bounds
from scumble.learn.moment_release import MomentRelease
from scumble.learn.moment_sketch import MomentSketch, publish
from scumble.learn.moment_spec import Floats, MomentSpec, Spans
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget


class LearnsFromMoments:
    """What a `PrivateEstimator` whose `fit` releases moments, of the kind `_moments`, has in addition."""

    _moments: type[MomentSpec]

    @classmethod
    def from_release(cls, release: object, **parameters: Any) -> Self:
        """A fitted estimator from a release (or the path of its file) alone: no data is needed, no budget is spent.

        `parameters` are the constructor's. Budget, bounds and columns are the release's.
        """
        found = load(release) if isinstance(release, str | os.PathLike) else release
        if not isinstance(found, MomentRelease):
            return super().from_release(found, **parameters)  # type: ignore[misc]
        if not isinstance(found.spec, cls._moments):
            raise DataError(
                f"{cls.__name__} does not learn from {found.spec.kind} moments. Hint: fit one, and save its release."
            )
        model: Any = cls._promising(found.privacy, **parameters)  # type: ignore[attr-defined]
        model._check()
        model._take_columns(found.spec.dimensions, found.columns, found.bounds)
        model.release_, model.identity_ = found, found.identity
        model._take_moments(found.spec)
        model._learn()
        return model

    def _take_moments(self, spec: MomentSpec) -> None:
        """What else `_records` learns from the data, from the spec of a release."""


def release_moments(
    model: PrivateEstimator, spec: MomentSpec, X: np.ndarray, y: object, account: Account | None
) -> MomentRelease:
    """One release of the records' moments, for the whole budget."""
    budget = model.price()
    require_ready(model, spec)
    sketch = MomentSketch(spec).update(X, y)  # what it refuses costs nothing
    paid = model._pay([budget.claim(spec.rows, spec.shares, spec.reach)], account, counters=spec.counters[0])
    return publish(sketch, budget, paid)


def require_ready(model: PrivateEstimator, spec: MomentSpec) -> None:
    """Refuse nonsense before anything is charged, also of what moments do not use."""
    spec.check()
    if model.kernel is not None:
        model._kernel()


def spans(bounds: Bounds | None) -> Spans:
    """Bounds as a spec holds them."""
    assert bounds is not None
    low, high = bounds
    return tuple(map(float, low)), tuple(map(float, high))


def names(model: PrivateEstimator) -> tuple[str, ...] | None:
    """The columns' names as a spec holds them."""
    found = model._names()
    return None if found is None else tuple(found)


def laplace_is_quieter(budget: Budget, size: float) -> bool:
    """Whether pure noise is less where it must hide `size` times as much as Gaussian noise."""
    if budget.pure:
        return True
    if budget.rho is not None:
        return False
    one = budget.calibrate(10_000)  # so many rows get Gaussian noise, a hundred times that of one
    deviation = np.sqrt(one.counter_variance) / 100.0
    return bool(np.sqrt(2.0) * size / float(budget.epsilon) < deviation)


def solved(
    covariance: Floats,
    cross: Floats,
    penalty: float,
    variances: Floats,
    trust: float = 1.0,
    sizes: Floats | float = 1.0,
) -> tuple[Floats, Floats]:
    """The slopes, (covariance + penalty)⁻¹ cross, shrunk by the guard, and how much of each target they explain.

    `variances` are those of `cross`'s noise. `cross` may have a line for each of several targets, whose own variances
    are `sizes`. The larger `trust` is, the less is taken off before noise explains it all.

    >>> solved(np.eye(2) * 99.0, np.array([50.0, 0.0]), 1.0, np.zeros(2))[0]
    array([0.5, 0. ])
    >>> solved(np.eye(2) * 99.0, np.array([50.0, 0.0]), 1.0, np.full(2, 2500.0))[0]
    array([0., 0.])
    """
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2.0)
    inverse = 1.0 / (np.maximum(values, 0.0) + penalty)
    along = cross @ vectors
    by_noise = float(inverse @ (vectors**2).T @ variances)
    beyond = float(np.sum(along**2 @ inverse)) - along.size // len(values) * by_noise
    signal = max(beyond, 0.0) * np.asarray(sizes) / np.sum(sizes)
    keep = 1.0 - (by_noise / np.maximum(signal + by_noise, 1e-300)) ** trust
    found: Floats = (keep[..., None] * along * inverse) @ vectors.T
    return found, keep * signal


def ratio(part: float, total: float, error: float) -> float:
    """A mean within [−1, 1] from two sums that have the same error: its best guess, if 0.4 is its usual size."""
    if total < 3.0 * error:
        return 0.0
    return float(np.clip(part * total / (total**2 + (error / 0.4) ** 2), -1.0, 1.0))


def mean_of_target(release: MomentRelease) -> float:
    """The target's mean, in [−1, 1], from the row of the target alone."""
    low, high = release.rows[0]
    return ratio(float(high - low), release.count, np.sqrt(2.0) * release.errors[0])
