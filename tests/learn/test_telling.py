"""A fit refuses and tells what `build` refuses and tells of the same records, before anything is spent."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd

import scumble
from scumble import Category, Number, Schema, learn
from scumble.errors import CuratorWarning

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


def both(table: pd.DataFrame, schema: Schema) -> tuple[list[str], list[str]]:
    """What a build tells of these columns, and what a fit does."""
    build = told(lambda: scumble.build(table[[*schema]], schema=schema, epsilon=1.0))
    return build, told(lambda: learn.PrivateKDE(schema=schema, epsilon=1.0).fit(table[[*schema]]))


def test_a_fit_tells_what_a_build_tells() -> None:
    ages = people()["age"]
    ages[3], ages[4], ages[5] = 999, "unknown", None
    table = people(age=ages, town=np.where(np.arange(ROWS) < 9, "ulm", people()["town"]))
    build, fit = both(table, SCHEMA)
    assert fit == [
        line.split("; the first is in ")[0] + (" (do not publish this)." if "; the first" in line else "")
        for line in build
    ]
    assert [line.split(" of ")[0] for line in fit] == [
        "1 cell",
        "1 cell",
        "9 cells",
        "9 cells",
    ] and "999" not in "".join(fit)
    assert both(people(), SCHEMA) == ([], [])


def test_numbers_without_names_and_targets() -> None:
    X, y = np.linspace(0, 1, ROWS)[:, None], np.linspace(0, 9, ROWS)
    model = learn.PrivateLinearRegression(bounds=(0, 0.5), target_bounds=(0, 8), epsilon=1.0)
    lines = told(lambda: model.fit(X, y))
    assert [line.split(",")[0] for line in lines] == [
        "100 cells of 'column 0' lay outside its bounds",
        "23 cells of 'y' lay outside its bounds",
    ]
    assert not hasattr(pickle.loads(pickle.dumps(model)), "clipped_")  # noqa: S301  our own bytes


def test_a_misspelled_class_is_told() -> None:
    X, y = np.linspace(0, 1, ROWS)[:, None], np.where(np.arange(ROWS) < 150, "bus", "car")
    model = learn.PrivateKDEClassifier(bounds=(0, 1), classes=["bus", "Car"], unknown="drop", epsilon=1.0)
    lost, share, empty = told(lambda: model.fit(X, y))
    assert lost.startswith("50 rows") and "25 %" in share and "'Car'" in empty
