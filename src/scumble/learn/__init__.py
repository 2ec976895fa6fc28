"""Learning from a release: each task of the paper as a scikit-learn estimator, one per file.

An estimator's `fit` makes a release (its only contact with the data) and learns the rest from it. `from_release` starts
from a released file instead. `base.py` says how an estimator is written; a new one is a file of its own, and a line in
`HOMES`. `columns.py` makes records numbers, `supervised.py` has what classifiers and regressors share.

Moments are sums of products of columns, as whole numbers of which a record adds a bounded vector (`moments.proof.md`):
`moment_spec.py` says what a kind of them answers, `moment_products.py` and `descent.py` have the kinds, and
`moment_release.py` the secret sums and what is published.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

HOMES = {
    "DiversitySampler": "scumble.learn.diversity",
    "PrivateAdditiveRegressor": "scumble.learn.additive",
    "PrivateKDE": "scumble.learn.kde",
    "PrivateKDEClassifier": "scumble.learn.classifier",
    "PrivateLinearClassifier": "scumble.learn.linear",
    "PrivateLinearRegression": "scumble.learn.regression",
    "PrivateLogisticRegression": "scumble.learn.logistic",
    "PrivateModes": "scumble.learn.modes",
    "PrivateNeighbors": "scumble.learn.neighbors",
    "PrivateOutlierDetector": "scumble.learn.outliers",
}
"""Each estimator, and its module: `scumble`, files of models, ``scumble fit`` and the audit take them from here.

Nothing is imported before it is asked for, since scikit-learn is optional. `scumble/__init__.pyi` has the same list.
"""
TASKS = {
    "classify": "PrivateKDEClassifier",
    "separate": "PrivateLinearClassifier",
    "regress": "PrivateLinearRegression",
    "add": "PrivateAdditiveRegressor",
}
"""What ``scumble fit --task`` offers: estimators that learn a target."""

_HOMES = {
    "PrivateEstimator": "scumble.learn.base",
    "RepeatedReleaseWarning": "scumble.learn.base",
    "choose_kernel": "scumble.learn.ferns",
    "load": "scumble.learn.models",
    "minimize": "scumble.learn.sampling",
    "noisy_best": "scumble.gate.selection",
    "refine": "scumble.learn.sampling",
    "sample": "scumble.learn.sampling",
    **HOMES,
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
