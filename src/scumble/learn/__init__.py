"""Learning from a release: each task of the paper as a scikit-learn estimator, one per file.

An estimator's `fit` makes a release (its only contact with the data) and learns the rest from it. `from_release` starts
from a released file instead. `base.py` says how an estimator is written; a new one is a file of its own, and a line in
`HOMES`.

The estimators: ``kde.py``, ``modes.py``, ``outliers.py``, ``diversity.py`` and ``neighbors.py``, of densities;
``classifier.py``, one sketch per class; ``linear.py``, ``logistic.py``, ``regression.py`` and ``additive.py``, of
moments; ``choice.py``, which chooses among all that tell classes apart.

What they share::

    base.py             what an estimator is, and how to write one
    columns.py          records, labels and targets; mixed tables as numbers, by a public schema
    supervised.py       what classifiers share, and regressors, and estimators that release moments
    levels.py           learning from the release of a table
    models.py           fitted estimators in files
    sampling.py         from a release: synthetic records, sharper answers, the least of a loss
    ferns.py            rows as naive-Bayes experts, and their plan; `choose_kernel`: the best of a public list
    score_histograms.py thresholds below which a share of the records falls; from scores to probabilities

Moments are sums of products of columns, as whole numbers of which a record adds a bounded vector (`moments.proof.md`)::

    moments.py          records as whole numbers; products of all columns with each other, a target, or classes; hats
    descent.py          middle, radius, products and gradients, each row counted as those before it say
    moment_release.py   the secret sums, what is published, the list of kinds, and least squares
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

HOMES = {
    "DiversitySampler": "scumble.learn.diversity",
    "PrivateAdditiveClassifier": "scumble.learn.additive",
    "PrivateAdditiveRegressor": "scumble.learn.additive",
    "PrivateClassifier": "scumble.learn.choice",
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
    "choose": "PrivateClassifier",
    "classify": "PrivateKDEClassifier",
    "separate": "PrivateLinearClassifier",
    "logistic": "PrivateLogisticRegression",
    "curves": "PrivateAdditiveClassifier",
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
    "votes": "scumble.learn.sampling",
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
