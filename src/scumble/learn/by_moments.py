"""What estimators that learn from moments share: the law of the noise, the release, the bounds of a target."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from scumble.errors import DataError
from scumble.learn.base import PrivateEstimator
from scumble.loading import load
from scumble.moments.release import MomentRelease
from scumble.moments.sketch import MomentSketch, publish
from scumble.moments.spec import MomentSpec, Spans
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget


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


def spans(bounds: Any) -> Spans:
    """Bounds as a spec holds them."""
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


class LearnsFromMoments:
    """What a `PrivateEstimator` whose `fit` releases moments, of the kind `_moments`, has beside it."""

    _moments: ClassVar[type[MomentSpec]]
    _take_columns: Callable[[int, Any, Any], None]
    bounds_: Any
    release_: Any
    identity_: str

    def _learn(self) -> None:
        """What follows from the release."""

    @classmethod
    def from_release(cls, release: Any, **parameters: Any) -> Self:
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
        claim = found.privacy
        model = cls(
            **{
                "epsilon": claim.epsilon,
                "delta": claim.delta,
                "neighbors": claim.neighbors,
                "records_per_person": claim.records_per_person,
                **parameters,
            }
        )
        model._take_moments(found)
        model._learn()
        return model

    def _take_moments(self, release: MomentRelease) -> None:
        """What `_begin` learns from the data, from a release."""
        self._take_columns(release.spec.dimensions, release.columns, release.bounds)
        self.release_ = release
        self.identity_ = release.identity
