"""Labels are compared with the classes one by one: what one record is called changes nobody else's class."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import r2_score

import scumble
from estimators import KINDS as ALL
from estimators import options, parts, releases, small

pytestmark = pytest.mark.filterwarnings("ignore::scumble.errors.CuratorWarning")  # bounds that cut, on purpose

ODD = ["n/a", "HIV+", None, float("nan"), 9, 0.5, b"\xff", object(), dt.date(2020, 1, 1), ["a"], 1j]
KINDS = [kind for kind in ALL if "classes" in options(kind)]


@pytest.fixture
def table(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = rng.integers(0, 2, 2000)
    return np.clip(rng.normal(0.3 + 0.4 * y[:, None], 0.1, (2000, 2)), 0.0, 1.0), y


def totals(model: Any) -> list[float]:
    return [release.count for release in parts(releases(model)[0])]


@pytest.mark.parametrize("odd", ODD, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_one_odd_label_drops_one_record(kind: Any, odd: Any, table: tuple[np.ndarray, np.ndarray]) -> None:
    """At this budget there is no noise to speak of: the counts are those of the records."""
    X, y = table
    labels = [odd, *y[1:].tolist()]
    options = {"epsilon": 1e6, "bounds": (0, 1), "classes": [0, 1]}
    model = kind(**options, unknown="drop").fit(X, labels)
    assert abs(sum(totals(model)) - 1999) < 0.5
    assert model.score(X, y) > 0.9
    with pytest.raises(
        scumble.DataError, match=r"^1 record has a label that is missing or not in `classes` \(do not publish"
    ):
        kind(**options).fit(X, labels)


def kept(classes: list[Any], y: Any) -> list[Any]:
    model = scumble.PrivateKDEClassifier(classes=classes, unknown="drop")
    model._take_classes(None)
    X, places = model._labelled(np.arange(len(y))[:, None], y)
    assert len(X) == len(places)
    return model.classes_[places].tolist()


@pytest.mark.parametrize(
    "y",
    [
        *(np.array([0, 1, 1]), np.array([0.0, 1.0, 1.0], np.float32), np.array([False, True, True])),
        *(np.array(["0", "1", "1"]), np.array([0, "1", 1.0], object), pa.chunked_array([["0"], ["1", "1"]])),
        pa.array(["0", "1", "1"]).dictionary_encode(),
        pa.array([0, 1, 1], pa.int8()),
    ],
)
def test_a_class_is_the_same_in_every_make(y: Any) -> None:
    assert kept([0, 1], y) == [0, 1, 1]
    assert kept([1, 7], y) == [1, 1]
    if not isinstance(y, np.ndarray) or y.dtype.kind != "b":
        assert kept(["0", "1"], y) == ["0", "1", "1"]


@pytest.mark.parametrize("kind", [kind for kind in ALL if {"classes", "target_bounds"} & set(options(kind))])
def test_scores_read_targets_as_fits_do_and_quote_none(kind: Any, table: tuple[np.ndarray, np.ndarray]) -> None:
    """scikit-learn's own scores say which labels they cannot compare, or which text is no number."""
    X, y = table
    model = small(kind, epsilon=100.0, bounds=(0, 1), classes=[0, 1], target_bounds=(0, 1)).fit(X, y)
    known, odd = y.astype(object), "12 Mill Lane"
    known[7] = odd
    if "target_bounds" in options(kind):
        assert model.score(X, y) == pytest.approx(r2_score(y, model.predict(X)))
        with pytest.raises(scumble.DataError, match="1 cell is missing, unreadable") as told:
            model.score(X, known)
        assert odd not in str(told.value)
        return
    right = model.predict(X) == y
    for same in (y, y.astype(str), y.astype(bool), pa.array(y)):
        assert model.score(X, same) == right.mean()
    assert model.score(X, known) == (right.sum() - right[7]) / len(y)
    assert model.score(X, y, sample_weight=np.arange(len(y))) == pytest.approx(
        np.average(right, weights=np.arange(2000))
    )
