"""The estimators, by name: the one list of them. A new one is a file of its own and its lines here.

`scumble`, `scumble.learn`, files of models, ``scumble fit`` and the audit take them from here. Nothing is imported
before it is asked for, for scikit-learn is optional: type checkers and the documentation read the same names from
`__all__` and the imports, and a test holds the three together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scumble.learn.additive import PrivateAdditiveRegressor as PrivateAdditiveRegressor
    from scumble.learn.classifier import PrivateKDEClassifier as PrivateKDEClassifier
    from scumble.learn.diversity import DiversitySampler as DiversitySampler
    from scumble.learn.kde import PrivateKDE as PrivateKDE
    from scumble.learn.linear import PrivateLinearClassifier as PrivateLinearClassifier
    from scumble.learn.logistic import PrivateLogisticRegression as PrivateLogisticRegression
    from scumble.learn.modes import PrivateModes as PrivateModes
    from scumble.learn.neighbors import PrivateNeighbors as PrivateNeighbors
    from scumble.learn.outliers import PrivateOutlierDetector as PrivateOutlierDetector
    from scumble.learn.regression import PrivateLinearRegression as PrivateLinearRegression

__all__ = [
    "DiversitySampler",
    "PrivateAdditiveRegressor",
    "PrivateKDE",
    "PrivateKDEClassifier",
    "PrivateLinearClassifier",
    "PrivateLinearRegression",
    "PrivateLogisticRegression",
    "PrivateModes",
    "PrivateNeighbors",
    "PrivateOutlierDetector",
]

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
"""Each estimator, and the module that it comes from."""

TASKS = {
    "classify": "PrivateKDEClassifier",
    "separate": "PrivateLinearClassifier",
    "regress": "PrivateLinearRegression",
    "add": "PrivateAdditiveRegressor",
}
"""What ``scumble fit --task`` offers: estimators that learn a target."""
