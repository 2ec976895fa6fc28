"""A fit refuses and tells what `build` refuses and tells of the same records, before anything is spent."""

from __future__ import annotations

import os
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import scumble
from scumble import Category, DataError, Number, Schema, learn
from scumble.cli import main
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


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        ({"age": np.full(ROWS, 1970)}, "'age', all that it holds, lay outside its bounds, 0 to 100"),
        ({"age": ["01/02/2009"] * ROWS}, "'age', all that it holds, could not be read"),
        ({"town": ["ULM"] * ROWS}, "'town', all that it holds, held none of its words"),
    ],
)
def test_a_fit_tells_what_a_build_tells_and_refuses_neither(columns: dict, match: str) -> None:
    table = people(**columns)[[*SCHEMA]]
    for learn_from in (
        lambda: scumble.build(table, schema=SCHEMA, epsilon=1.0),
        lambda: learn.PrivateKDE(schema=SCHEMA, epsilon=1.0).fit(table),
    ):
        assert any(match in line for line in told(learn_from))


def test_numbers_without_names_and_targets() -> None:
    X, y = np.linspace(0, 1, ROWS)[:, None], np.linspace(0, 9, ROWS)
    model = learn.PrivateLinearRegression(bounds=(0, 0.5), target_bounds=(0, 8), epsilon=1.0)
    lines = told(lambda: model.fit(X, y))
    assert [line.split(",")[0] for line in lines] == [
        "100 cells of 'column 0' lay outside its bounds",
        "23 cells of 'y' lay outside its bounds",
    ]
    assert not hasattr(pickle.loads(pickle.dumps(model)), "clipped_")  # noqa: S301  our own bytes


def test_a_misspelt_class_is_told() -> None:
    X, y = np.linspace(0, 1, ROWS)[:, None], np.where(np.arange(ROWS) < 150, "bus", "car")
    model = learn.PrivateKDEClassifier(bounds=(0, 1), classes=["bus", "Car"], unknown="drop", epsilon=1.0)
    assert told(lambda: model.fit(X, y)) == [
        "50 rows were left out: 50 of none of the classes in 'y' (do not publish this).",
        "WARNING: 25 % of the rows are of none of the classes in 'y' and were left out. "
        "Hint: is a class misspelt, or missing? (do not publish this).",
        "WARNING: no record was counted of 'Car' (do not publish this).",
    ]


@pytest.mark.parametrize("unknown", ["error", "drop"])
@pytest.mark.parametrize("name", ["PrivateKDEClassifier", "PrivateLinearClassifier"])
def test_a_class_without_a_record_is_told_though_no_row_is_lost(name: str, unknown: str) -> None:
    X, y = np.linspace(0, 1, ROWS)[:, None], np.where(np.arange(ROWS) < 150, "bus", "car")
    classes = ["bus", "car", "boat"] if name == "PrivateKDEClassifier" else ["bus", "boat"]
    y = y if len(classes) == 3 else np.full(ROWS, "bus")
    model = getattr(learn, name)(bounds=(0, 1), classes=classes, unknown=unknown, epsilon=1.0)
    assert told(lambda: model.fit(X, y)) == ["WARNING: no record was counted of 'boat' (do not publish this)."]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    people(age=np.arange(ROWS), mode=np.where(np.arange(ROWS) < 150, "bus", "car")).to_csv("p.csv", index=False)
    return tmp_path


def fit(*more: str, bounds: str = "age=0:100", task: str = "classify", target: str = "mode") -> int:
    line = ["fit", "p.csv", "--task", task, "--columns", "age", "--target", target, "--epsilon", "1"]
    return main([*line, "--bounds", bounds, "--out", "m.scumble", *more])


def test_the_command_line_tells_it_too(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fit("--classes", "bus,Car", "--unknown", "drop") == 0
    assert capsys.readouterr().err.splitlines()[:-1] == [
        "50 rows were left out: 50 of none of the classes in 'mode' (do not publish this).",
        "99 cells of 'age' lay outside its bounds, 0 to 100, and counted at the nearest (do not publish this).",
        "WARNING: 25 % of the rows are of none of the classes in 'mode' and were left out. "
        "Hint: is a class misspelt, or missing? (do not publish this).",
        "WARNING: no record was counted of 'Car' (do not publish this).",
    ]
    os.unlink("m.scumble")
    assert fit("--classes", "bus,Car", "--unknown", "drop", "--quiet") == 0 and not capsys.readouterr().err


def test_the_command_line_fits_what_lies_beyond_all_bounds(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No record decides whether there is a model."""
    assert fit("--target-bounds", "50:60", bounds="age=500:600", task="regress", target="pay") == 0
    err = capsys.readouterr().err
    assert "200 cells of 'age', all that it holds, lay outside its bounds, 500 to 600" in err
    assert "200 cells of 'pay', all that it holds, lay outside its bounds, 50 to 60" in err


def test_a_class_whose_rows_were_all_left_out_is_told(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("p.csv").write_text("age,mode\n" + "4,bus\n8,car\n" * 50 + ",boat\n")
    line = "WARNING: no record was counted of 'boat' (do not publish this)."
    assert fit("--classes", "boat,bus,car", "--invalid", "drop") == 0
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("1 row was left out: 1 with a missing cell in") and told.count(line) == 1
    os.unlink("m.scumble")
    assert fit("--classes", "bus,car", "--invalid", "drop", "--unknown", "drop") == 0
    assert "no record was counted" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("classes", "labels", "alike"),
    [
        (["True", "False"], ["TRUE", "FALSE"], True),
        (["bus", "Car"], ["bus", "car"], True),
        ([True, False], [b"True", b"FALSE"], True),
        (["bus", "car"], ["bus", "unspeakable"], False),
        ([0, 1], [0, None], False),
    ],
)
def test_labels_in_other_capitals_are_refused_with_that_hint(classes: list, labels: list, alike: bool) -> None:
    X, y = np.linspace(0, 1, ROWS)[:, None], np.array(labels * (ROWS // 2), object)
    model = learn.PrivateKDEClassifier(bounds=(0, 1), classes=classes, epsilon=1.0)
    with pytest.raises(DataError, match=r"in `classes` \(do not publish this\).*unknown='drop'") as refusal:
        model.fit(X, y)
    hint = "Hint: some labels differ from the classes by capital letters alone"
    assert (hint in str(refusal.value)) is alike
    assert not any(str(label) in str(refusal.value) for label in ("TRUE", "FALSE", "unspeakable"))
