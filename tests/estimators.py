"""Every estimator of the library, discovered, and what each needs to be fitted: a new one is tested by existing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from greybox_estimators import estimators, options
from scumble.learn.base import PrivateEstimator

KINDS = list(estimators().values())
EACH = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
CLASSES = ["far", "near"]


def small(kind: type[PrivateEstimator], **given: Any) -> Any:
    """An estimator with what it cannot do without, and a short search; `given` that it has no option for is left."""
    needed = {"bounds": (0, 10), "classes": CLASSES, "target_bounds": (0, 10), "starts": 10, **given}
    return kind(**{name: value for name, value in needed.items() if name in options(kind)})


def target(kind: type[PrivateEstimator], X: Any) -> Any:
    """What to learn from these records, or None: the first column, or whether it is large."""
    first = np.asarray(X)[:, 0]
    if "classes" in options(kind):
        return np.where(first > 5.0, *reversed(CLASSES))
    return first if "target_bounds" in options(kind) else None


def fitted(kind: type[PrivateEstimator], X: Any, **given: Any) -> Any:
    """The estimator, fitted to records and to a target made of them."""
    return small(kind, **given).fit(X, target(kind, X))


def releases(model: Any) -> list[Any]:
    """The releases that a fitted estimator holds."""
    held = vars(model)
    return [*([held["release_"]] if "release_" in held else []), *held.get("releases_", [])]


def parts(held: Any) -> list[Any]:
    """The releases of a bundle, or the one release."""
    return list(held.values()) if hasattr(held, "values") else [held]
