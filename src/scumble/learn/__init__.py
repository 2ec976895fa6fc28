"""Learning from a release: each task of the paper as a scikit-learn estimator, one per file.

An estimator's `fit` makes a release (its only contact with the data) and learns the rest from it. `from_release` starts
from a released file instead, on a machine without the data. `save` and `load` keep fitted estimators in the container
of releases.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from scumble.learn.estimators import HOMES as _ESTIMATORS

# Public names, and the module that each comes from: imported when first asked for.
_HOMES = {
    "PrivateEstimator": "scumble.learn.base",
    "RepeatedReleaseWarning": "scumble.learn.base",
    "choose_kernel": "scumble.learn.kernel_choice",
    "load": "scumble.learn.models",
    "minimize": "scumble.learn.erm",
    "noisy_best": "scumble.releasing.selection",
    "refine": "scumble.learn.refining",
    "sample": "scumble.learn.sampling",
    **_ESTIMATORS,
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'scumble.learn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
