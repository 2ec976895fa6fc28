"""The estimators, by name: the one list of them. A new one is a file of its own and its lines here.

`scumble`, `scumble.learn`, files of models, ``scumble fit`` and the audit take them from here. Nothing is imported
before it is asked for: scikit-learn is optional. The lists are private names, for `scumble`'s stub takes all others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the same list for type checkers; a test holds the two together
    from scumble.learn.classifier import PrivateKDEClassifier as PrivateKDEClassifier
    from scumble.learn.diversity import DiversitySampler as DiversitySampler
    from scumble.learn.kde import PrivateKDE as PrivateKDE
    from scumble.learn.linear import PrivateLinearClassifier as PrivateLinearClassifier
    from scumble.learn.modes import PrivateModes as PrivateModes
    from scumble.learn.neighbors import PrivateNeighbors as PrivateNeighbors
    from scumble.learn.outliers import PrivateOutlierDetector as PrivateOutlierDetector
    from scumble.learn.regression import PrivateLinearRegression as PrivateLinearRegression

_HOMES = {
    "DiversitySampler": "scumble.learn.diversity",
    "PrivateKDE": "scumble.learn.kde",
    "PrivateKDEClassifier": "scumble.learn.classifier",
    "PrivateLinearClassifier": "scumble.learn.linear",
    "PrivateLinearRegression": "scumble.learn.regression",
    "PrivateModes": "scumble.learn.modes",
    "PrivateNeighbors": "scumble.learn.neighbors",
    "PrivateOutlierDetector": "scumble.learn.outliers",
}
"""Each estimator, and the module that it comes from."""

_TASKS = {
    "classify": "PrivateKDEClassifier",
    "separate": "PrivateLinearClassifier",
    "regress": "PrivateLinearRegression",
}
"""What ``scumble fit --task`` offers: estimators that learn a target."""
