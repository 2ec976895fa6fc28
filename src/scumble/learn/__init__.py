"""Learning from a release: each task of the paper as a scikit-learn estimator, one per file.

An estimator's `fit` makes a release (its only contact with the data) and learns the rest from it. `from_release` starts
from a released file instead, on a machine without the data. `save` and `load` keep fitted estimators in the container
of releases.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

# Public names, and the module that each comes from: imported when first asked for. Modules that are not there are left
# out.
_HOMES = {
    "scumble.learn.base": ("PrivateEstimator", "RepeatedReleaseWarning"),
    "scumble.learn.models": ("load",),
    "scumble.learn.sampling": ("sample",),
    "scumble.learn.refining": ("refine",),
    "scumble.learn.kde": ("PrivateKDE",),
    "scumble.learn.modes": ("PrivateModes",),
    "scumble.learn.outliers": ("PrivateOutlierDetector",),
    "scumble.learn.diversity": ("DiversitySampler",),
    "scumble.learn.neighbors": ("PrivateNeighbors",),
    "scumble.learn.classifier": ("PrivateKDEClassifier",),
    "scumble.learn.regression": ("PrivateLinearRegression",),
    "scumble.learn.linear": ("PrivateLinearClassifier",),
    "scumble.learn.erm": ("minimize",),
    "scumble.learn.kernel_choice": ("choose_kernel",),
    "scumble.releasing.selection": ("noisy_best",),
}
_HOME = {name: home for home, names in _HOMES.items() if find_spec(home) is not None for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'scumble.learn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
