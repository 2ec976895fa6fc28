"""What is wrong with an estimator's options is said before a budget is spent."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

import numpy as np
import pytest

import scumble
from estimators import EACH, options, small, target
from scumble import learn
from scumble.errors import ScumbleError
from scumble.learn.base import PrivateEstimator

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
    given = {"bounds": None, **given} if {"length", "schema"} & set(given) else given
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


def refused() -> Iterator[tuple[str, dict[str, Any], str]]:
    """What can be seen only beside other options, or with the classes; and the words that say so."""
    for priors in ([0.2, 0.3], [0.2, 0.3, 0.5], [1.0, 0.0]):
        yield "PrivateKDEClassifier", {"priors": priors}, "`priors` must be 2 positive numbers"
    for kind in ("PrivateKDEClassifier", "PrivateLinearClassifier"):
        for classes in (["far", "near", date(2020, 1, 1)], [["far", "near"]], {"far", "near"}, np.array(["a", None])):
            yield kind, {"classes": classes}, "`classes` must be a list of labels"
        yield kind, {"classes": [0.0, float("nan")]}, "`classes` must be a list of labels"
    yield "PrivateLinearClassifier", {"method": "surrogate", "buckets": 2}, r"at least 2\*\*power buckets"
    yield "PrivateLinearClassifier", {"length": 1e-310}, "`length` must be a number between 1e-300"
    yield "PrivateLinearRegression", {"method": "closed", "buckets": 2}, "a bucket for each of its codes"
    for kernel in (scumble.HammingKernel(), scumble.JaccardKernel()):
        yield "PrivateModes", {"kernel": kernel, "rows": 4}, "Modes need numeric columns"
    yield "PrivateNeighbors", {"kernel": scumble.AngularKernel(), "rows": 4}, "a Euclidean or Manhattan kernel"
    yield "PrivateKDE", {"kernel": scumble.EuclideanKernel(1.0), "normalize": True}, "no finite integral"
    tiny: dict[str, Any] = {"kernel": scumble.EuclideanKernel(1e-320), "rows": 4, "buckets": 16, "bandwidths": None}
    for kind in ("PrivateKDE", "PrivateOutlierDetector", "DiversitySampler", "PrivateKDEClassifier"):
        yield kind, tiny, "not finite"
    yield "PrivateKDE", {"epsilon": 1e-320}, "`epsilon` must be a finite number"
    yield "PrivateKDE", {"mu": 1e200}, "`rho` must be a finite number"


@pytest.mark.parametrize(("name", "given", "words"), list(refused()))
def test_what_shows_only_later_is_looked_at_first(name: str, given: dict[str, Any], words: str) -> None:
    with pytest.raises(ScumbleError, match=words):
        fit(getattr(learn, name), **given)
