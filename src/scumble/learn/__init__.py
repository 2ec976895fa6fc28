"""Learning from a release: each task of the paper as a scikit-learn estimator, one per file.

An estimator's `fit` makes a release (its only contact with the data) and learns the rest from it. `from_release` starts
from a released file instead, on a machine without the data. `save` and `load` keep fitted estimators in the container
of releases.

The estimators::

    kde.py              PrivateKDE: densities
    modes.py            PrivateModes: where records are densest
    outliers.py         PrivateOutlierDetector: records with hardly any like them
    diversity.py        DiversitySampler: keeps what is rare, thins what is common
    neighbors.py        PrivateNeighbors: how many records are within a radius
    classifier.py       PrivateKDEClassifier: one sketch per class
    linear.py           PrivateLinearClassifier: planes between classes, from moments
    regression.py       PrivateLinearRegression: a plane, from moments or from one sketch of signs
    additive.py         PrivateAdditiveRegressor: a curve per column, from moments

What they share::

    scikit.py           what is taken from scikit-learn, which is an extra
    base.py             what an estimator is, and how to write one
    sketching.py        its sketch: kernel, seed and size
    looking.py          its picture, and its card in a notebook
    estimators.py       the list of all of them
    columns.py          what an estimator knows of its columns
    frames.py           mixed tables as numbers, by a public schema
    reading.py          records and targets, as scumble's tables read them
    levels.py           learning from the release of a table
    targets.py          labels and targets: what about them is public
    telling.py          what a fit tells whoever holds the table, before anything is spent
    saving.py           fitted estimators written to files
    models.py           and read from them
    sampling.py         `sample`: synthetic records from a release
    refining.py         `refine`: sharper answers from hashed rows
    erm.py              `minimize`: any loss that is a collision probability
    kernel_choice.py    `choose_kernel`: the best of a public list
    class_releases.py   a sketch per class, and how kernels for them are chosen
    ferns.py            rows as naive-Bayes experts
    fern_plan.py        how finely they cut, and which columns
    calibration.py      from scores to probabilities
    columnwise.py       how usual a record is, by the kernel and by its columns one at a time
    quantiles.py        thresholds below which a share of the records falls
    moments.py          moments from sketches of signs
    by_moments.py       estimators that release moments as such
    least_squares.py    what to believe of noisy moments
    linear_moments.py   a plane from moments
    class_moments.py    planes between classes from moments
    additive_moments.py curves from moments of hat functions
    knots.py            where the knots of curves are
    pairs.py            a pair of columns beside the curves
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
