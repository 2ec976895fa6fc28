"""Learning from a file: the wrong kind is refused by name, and no parameter that the release settles is ignored."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scumble
from estimators import EACH
from scumble import learn

BOUNDED: dict[str, Any] = {"bounds": (0, 10)}
KERNEL = scumble.EuclideanKernel(1.0)


@pytest.fixture(scope="module")
def table() -> np.ndarray:
    return np.random.default_rng(1).uniform(0.0, 10.0, (600, 2))


@pytest.fixture(scope="module")
def fits(table: np.ndarray) -> dict[str, Any]:
    """One release of every kind that there is, with the estimator it is for."""
    numbers, classes = table[:, 0], (table[:, 0] > 5.0).astype(int)
    near, far = {**BOUNDED, "target_bounds": (0, 10)}, {**BOUNDED, "classes": [0, 1]}
    schema = scumble.Schema(a=scumble.Boolean(), b=scumble.Number(0, 10))
    rows = scumble.TableSketch(schema).update({"a": classes.astype(bool), "b": numbers})
    return {
        "density": learn.PrivateKDE(**BOUNDED).fit(table).release_,
        "bundle": learn.PrivateKDEClassifier(**far).fit(table, classes).releases_[0],
        "linear": learn.PrivateLinearRegression(**near).fit(table, numbers).release_,
        "vectors": learn.PrivateLinearClassifier(length=20, classes=[0, 1]).fit(table, classes).release_,
        "curves": learn.PrivateAdditiveRegressor(pair=False, **near).fit(table, numbers).release_,
        "parts": learn.PrivateAdditiveClassifier(pair=False, **far).fit(table, classes).release_,
        "steps": learn.PrivateLogisticRegression(**far).fit(table, classes).release_,
        "table": rows.release(epsilon=5.0),
    }


@EACH
def test_a_file_for_another_estimator_is_refused_by_name(kind: Any, fits: dict[str, Any], tmp_path: Path) -> None:
    refused = [name for name, release in fits.items() if not kind._learns(release)]
    assert len(refused) < len(fits)
    for name in refused:
        path = tmp_path / f"{name}.scumble"
        fits[name].save(path)
        with pytest.raises(scumble.ForeignFileError) as told:
            kind.from_release(path)
        with pytest.raises(scumble.ParameterError):
            kind.from_release(fits[name])
        said, hint = str(told.value).split(" Hint: ")
        assert path.name in said and len(str(told.value).replace(str(tmp_path), "")) < 240
        advised = re.findall(r"\b(?:Private|Diversity)\w+", hint)
        assert advised and all(getattr(learn, one)._learns(fits[name]) for one in advised)


@pytest.mark.parametrize(
    ("kind", "of", "same", "other"),
    [
        ("PrivateKDE", "density", {"bounds": (2, 5)}, {"kernel": KERNEL, "rows": 77}),
        ("PrivateNeighbors", "density", {}, {"kernel": KERNEL, "radius": 3.0}),
        ("PrivateModes", "density", {"bounds": (2, 5), "starts": 5, "random_state": 9}, {"kernel": KERNEL}),
        (
            *("PrivateKDEClassifier", "bundle", {"classes": [1, 0]}),
            {"kernel": KERNEL, "classes": ["a", "b"], "length": 1.0, "rows": 99},
        ),
        (
            *("PrivateLinearRegression", "linear", {"bounds": ([0, 0.0], 10), "target_bounds": (0.0, 10)}),
            {"bounds": (0, 11), "target_bounds": (0, 1), "length": 1.0},
        ),
        (
            *("PrivateLinearClassifier", "vectors", {"length": 20.0, "classes": [0, 1]}),
            {"length": 2, "bounds": (-20, 20), "classes": [0, 1, 2]},
        ),
        ("PrivateAdditiveRegressor", "curves", {**BOUNDED, "target_bounds": (0, 10)}, {"bounds": (0, [10, 9])}),
        ("PrivateClassifier", "steps", {**BOUNDED, "classes": [1, 0]}, {"bounds": (-1, 10)}),
        (
            *("PrivateKDEClassifier", "table", {"target": "a", "classes": [True, False]}),
            {"classes": ["x", "y"], "kernel": KERNEL, "bounds": (0, 1), "rows": 4},
        ),
        ("PrivateLinearRegression", "table", {"target": "b", "target_bounds": (0, 10)}, {"target_bounds": (0, 9)}),
    ],
)
def test_what_the_release_settles_may_be_said_again_and_nothing_else(
    kind: str, of: str, same: dict[str, Any], other: dict[str, Any], fits: dict[str, Any]
) -> None:
    make, release = getattr(learn, kind).from_release, fits[of]
    if of in ("density", "bundle"):
        same = {"kernel": next(iter(release.values())).kernel if of == "bundle" else release.kernel, **same}
    make(release, **same)
    needed = {name: value for name, value in same.items() if name in ("target", "classes")}
    for name, value in other.items():
        with pytest.raises(scumble.ParameterError, match=f"`{name}`"):
            make(release, **{**needed, name: value})


def test_a_schema_of_other_bounds_makes_other_numbers(fits: dict[str, Any]) -> None:
    grid = scumble.Sketch(KERNEL, 2, bounds=(0, 10), design="grid").release(1.0)
    for release, kind in ((grid, learn.PrivateKDE), (fits["linear"], learn.PrivateLinearRegression)):
        right, wrong = (scumble.Schema(a=scumble.Number(0, 10), b=scumble.Number(0, high)) for high in (10, 20))
        assert kind.from_release(release, schema=right).n_features_in_ == 2
        with pytest.raises(scumble.DataError, match="schema"):
            kind.from_release(release, schema=wrong)
