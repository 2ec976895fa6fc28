"""Learning from a release: each task of the paper as a scikit-learn estimator, one per file.

An estimator's `fit` makes a release (its only contact with the data) and learns the rest from it. `from_release` starts
from a released file instead. `save` and `load` keep fitted estimators in the container of releases.

The estimators::

    kde.py              PrivateKDE: densities
    modes.py            PrivateModes: where records are densest
    outliers.py         PrivateOutlierDetector: records with hardly any like them
    diversity.py        DiversitySampler: keeps what is rare, thins what is common
    neighbors.py        PrivateNeighbors: how many records are within a radius
    classifier.py       PrivateKDEClassifier: one sketch per class
    linear.py           PrivateLinearClassifier: planes between classes, from moments
    logistic.py         PrivateLogisticRegression: noisy steps, for embeddings
    regression.py       PrivateLinearRegression: a plane, from moments or from one sketch of signs
    additive.py         PrivateAdditiveRegressor: a curve per column, from moments

What they share::

    estimators.py       the list of all of them
    base.py             what an estimator is, and how to write one
    reading.py          records, labels and targets; what is taken from scikit-learn, which is an extra
    columns.py          what an estimator knows of its columns; mixed tables as numbers, by a public schema
    supervised.py       what classifiers share, and regressors, and estimators that release moments
    levels.py           learning from the release of a table
    models.py           fitted estimators in files
    sampling.py         `sample`: synthetic records from a release; `refine`: sharper answers from hashed rows
    ferns.py            rows as naive-Bayes experts, and their plan; `choose_kernel`: the best of a public list
    score_histograms.py thresholds below which a share of the records falls; from scores to probabilities
    signs.py            moments from sketches of signs; `minimize`: any loss that is a collision probability

Moments: sums of products of columns, as whole numbers. A record adds bounded whole numbers to every row of counters;
how large they can be is exact (`moments.proof.md`)::

    moment_spec.py       what a kind of moments answers; records as whole numbers, on a processor or GPU
    moment_products.py   products of all columns with each other and with a target, or with classes; unit vectors too
    hats.py              the same of hat functions: cross-tables with interpolation
    descent.py           middle, radius, products and gradients, each row counted as those before it say
    moment_sketch.py     the secret sums
    moment_release.py    what is published, the list of kinds, and least squares
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from scumble.learn.estimators import HOMES as _ESTIMATORS

# Public names, and the module that each comes from: imported when first asked for.
_HOMES = {
    "PrivateEstimator": "scumble.learn.base",
    "RepeatedReleaseWarning": "scumble.learn.base",
    "choose_kernel": "scumble.learn.ferns",
    "load": "scumble.learn.models",
    "minimize": "scumble.learn.sampling",
    "noisy_best": "scumble.gate.selection",
    "refine": "scumble.learn.sampling",
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
