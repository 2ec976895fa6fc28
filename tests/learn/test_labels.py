"""Labels and cells of fits: one record changes nobody else's class, and a fit reports what `build` reports of them."""

from __future__ import annotations

import datetime as dt
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.metrics import r2_score

import scumble
from estimators import KINDS as ALL
from estimators import options, parts, releases, small
from scumble import Category, Number, Schema, learn
from scumble.errors import CuratorWarning
from scumble.learn import columns

pytestmark = pytest.mark.filterwarnings("ignore::scumble.errors.CuratorWarning")  # bounds that cut, on purpose

ODD = ["n/a", "HIV+", None, float("nan"), 9, 0.5, b"\xff", object(), dt.date(2020, 1, 1), ["a"], 1j]
KINDS = [kind for kind in ALL if "classes" in options(kind)]


@pytest.fixture
def table(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = rng.integers(0, 2, 2000)
    return np.clip(rng.normal(0.3 + 0.4 * y[:, None], 0.1, (2000, 2)), 0.0, 1.0), y


def totals(model: Any) -> list[float]:
    return [release.count for release in parts(releases(model)[0])]


@pytest.mark.parametrize("kind", KINDS)
def test_odd_labels_drop_their_own_records(kind: Any, table: tuple[np.ndarray, np.ndarray]) -> None:
    """At this budget there is no noise to speak of: the counts are those of the records."""
    X, y = table
    labels = [*ODD, *y[len(ODD) :].tolist()]
    options = {"epsilon": 1e6, "bounds": (0, 1), "classes": [0, 1]}
    model = kind(**options, unknown="drop").fit(X, labels)
    assert abs(sum(totals(model)) - (2000 - len(ODD))) < 0.5 and model.score(X, y) > 0.9
    several = rf"^{len(ODD)} records have labels that are missing or not in `classes` \(do not publish"
    with pytest.raises(scumble.DataError, match=several):
        kind(**options).fit(X, labels)


def kept(classes: list[Any], y: Any) -> list[Any]:
    model = scumble.PrivateKDEClassifier(classes=classes, unknown="drop")
    model._take_classes(None)
    X, places = model._labeled(np.arange(len(y))[:, None], columns.target(y, len(y)))
    assert len(X) == len(places)
    return model.classes_[places].tolist()


@pytest.mark.parametrize("odd", ODD, ids=lambda one: type(one).__name__)
def test_one_odd_label_changes_no_other(odd: Any) -> None:
    assert kept([0, 1], [odd, 0, 1, 1]) == [0, 1, 1]


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
        with pytest.raises(scumble.DataError, match="1 value is missing, unreadable") as told:
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


ROWS = 200
SCHEMA = Schema(age=Number(0, 100, missing=True), town=Category(["Ulm", "Bonn"]))


def people(**columns: Any) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    age = rng.integers(20, 60, ROWS).astype(object)
    frame = {"age": age, "town": rng.choice(["Ulm", "Bonn"], ROWS), "pay": rng.uniform(1, 9, ROWS)}
    return pd.DataFrame({**frame, "mode": rng.choice(["bus", "car"], ROWS), **columns})


def told(fit: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        fit()
    return [line for one in found if one.category is CuratorWarning for line in str(one.message).splitlines()]


def test_a_fit_tells_what_a_build_tells() -> None:
    ages = people()["age"]
    ages[3], ages[4], ages[5] = 999, "unknown", None
    table = people(age=ages, town=np.where(np.arange(ROWS) < 9, "ulm", people()["town"]))[[*SCHEMA]]
    build = told(lambda: scumble.build(table, schema=SCHEMA, epsilon=1.0))
    fit = told(lambda: learn.PrivateKDE(schema=SCHEMA, epsilon=1.0).fit(table))
    assert [line.partition("; the first is in ")[0].partition(" (do not")[0] for line in build] == [
        line.partition(" (do not publish this)")[0] for line in fit
    ]
    assert [line.split(" of ")[0] for line in fit] == ["1 value", "1 value", "9 values", "9 values"]
    assert "999" not in "".join(fit)
    assert told(lambda: learn.PrivateKDE(schema=SCHEMA, epsilon=1.0).fit(people())) == []
