"""What is wrong with an estimator's options is said before a budget is spent."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pytest

import scumble
from estimators import EACH, options, small, target
from scumble.errors import ScumbleError
from scumble.learn.base import PrivateEstimator

pytestmark = pytest.mark.filterwarnings("ignore::scumble.errors.CuratorWarning")  # bounds that cut, on purpose
X = np.random.default_rng(6).uniform(0, 10, (60, 3))
AS_TRUTH = ("normalize", "refine")
"""Options that are true or false, as anything is in Python."""
NONSENSE: list[Any] = [object(), "nonsense", float("nan"), [None], -1, {"a": None}]


class Paid(Exception):
    """The budget would have been spent."""


@pytest.fixture(autouse=True)
def no_money(monkeypatch: pytest.MonkeyPatch) -> None:
    def pay(*_: Any, **__: Any) -> None:
        raise Paid

    monkeypatch.setattr(PrivateEstimator, "_pay", pay)


def fit(kind: Any, **given: Any) -> None:
    if {"length", "schema"} & set(given):
        given = {"bounds": None, **given}
    small(kind, **given).fit(X, target(kind, X))


@EACH
def test_nonsense_is_refused_in_words_before_it_is_paid_for(kind: Any) -> None:
    with pytest.raises(Paid):
        fit(kind)
    for name in options(kind):
        for value in NONSENSE if name not in AS_TRUTH else []:
            with pytest.raises(ScumbleError) as told:
                fit(kind, **{name: value})
            assert len(str(told.value)) < 600, f"{name}={value!r}"


COMMON: list[dict[str, Any]] = [
    *({"bounds": None}, {"bounds": (1, 0)}, {"bounds": (0, np.inf)}, {"bounds": ([0, 0], [1, 1])}, {"delta": 2.0}),
    *({"public": ("bound",)}, {"random_state": np.random.RandomState(0)}, {"records_per_person": 0}),
]
LENGTH = [*({"length": bad} for bad in (0.0, np.inf, True)), {"length": 1.0, "bounds": (0, 1)}]
WEIGHTS = [{"class_weight": {"far": bad}} for bad in (0.0, -1.0, "many", np.inf)]
EUCLIDEAN, TINY = scumble.EuclideanKernel(1.0), scumble.EuclideanKernel(1e-320)
CLASSES: list[Any] = [
    *(None, ["far"], ["far", "never"], ["far", "near", date(2020, 1, 1)], [["far", "near"]], {"far", "near"}),
    *(np.array(["a", None]), [0.0, float("nan")]),
]
OWN: dict[str, list[dict[str, Any]]] = {
    "PrivateKDE": [
        {"kernel": EUCLIDEAN, "normalize": True},
        {"epsilon": 1e-320},
        {"mu": 1e200},
    ],
    "PrivateKDEClassifier": [
        *({"priors": bad} for bad in ([0.2, 0.3], [0.2, 0.3, 0.5], [1.0, 0.0])),
        *({"classes": bad} for bad in CLASSES),
        {"neighbors": "replace"},
        {"rule": "levels"},
        *({"kernel": bad} for bad in ([], [EUCLIDEAN, 3], [EUCLIDEAN, scumble.EuclideanKernel(1.0, columns=[7])])),
        {"kernel": [EUCLIDEAN, scumble.EuclideanKernel(1.0, columns=["nope"])]},
        *({"kernel": [EUCLIDEAN] * 2, **more} for more in ({"selection_share": 0}, {"rule": "map"})),
        *WEIGHTS,
        {"epsilon": 0},
        {"calibration_share": 0.5, "selection_share": 0.5},
    ],
    "PrivateLinearClassifier": [
        *({"classes": bad} for bad in CLASSES),
        {"length": 1e-310},
        *LENGTH,
        *WEIGHTS,
        {"unknown": "drop", "neighbors": "replace"},
    ],
    "PrivateLinearRegression": [
        {"target_bounds": None},
        {"target_bounds": (3, 3)},
        *LENGTH,
    ],
    "PrivateLogisticRegression": [{"delta": 0.0}, {"classes": ["far"]}, *LENGTH, *WEIGHTS],
    "PrivateOutlierDetector": [
        {"contamination": 0.0},
        {"contamination": 0.6},
        {"columns_share": 0.9},
        {"threshold_share": 0.5, "columns_share": 0.5},
        {"bounds": (0.0, 1e-310), "rows": 8, "buckets": 64},
    ],
    "PrivateModes": [{"starts": 0}, {"significance": 0}, {"kernel": scumble.HammingKernel(), "rows": 4}],
    "PrivateNeighbors": [
        *({"radius": bad} for bad in (0.0, -1.0, float("inf"))),
        {"kernel": scumble.AngularKernel(), "rows": 4},
    ],
    "DiversitySampler": [{"tau": 0.0}],
}
"""What is refused, by itself or because of other options."""
for _name in ("PrivateKDE", "PrivateOutlierDetector", "DiversitySampler", "PrivateKDEClassifier"):
    OWN[_name].append({"kernel": TINY, "rows": 4, "buckets": 16})


@EACH
def test_what_cannot_be_fitted_is_refused_before_it_is_paid_for(kind: Any) -> None:
    for given in [*COMMON, *OWN.get(kind.__name__, [])]:
        with pytest.raises(ScumbleError):
            fit(kind, **given)
