"""What the explorer shows is made of the public file alone: a live object, which has met the records, adds nothing."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scumble
from scumble.cli import main
from scumble.density.bundle import Bundle
from scumble.learn import PrivateKDEClassifier, PrivateLinearRegression, models
from scumble.show.exhibit import Exhibit
from scumble.show.opening import exhibit_of
from scumble.show.server import description

RNG = np.random.default_rng(4)
X, LABELS = RNG.uniform(0.0, 9.0, (613, 2)), RNG.choice(["a", "b"], 613)
KERNEL = scumble.EuclideanKernel(2.0)
SMALL: dict[str, Any] = {"rows": 8, "buckets": 32}


def sketch(**options: Any) -> scumble.Sketch:
    return scumble.Sketch(KERNEL, 2, **{**SMALL, **options})


def by_class() -> Bundle:
    return Bundle({name: sketch().update(X[name == LABELS]).release(1.0) for name in ("a", "b")})


LIVE: dict[str, Callable[[], Any]] = {
    "a release": lambda: sketch().update(X).release(1.0),
    "a grid": lambda: sketch(rows=1, buckets=64, design="grid", bounds=(0, 9)).update(X).release(1.0),
    "a bundle": by_class,
    "a classifier": lambda: PrivateKDEClassifier(
        epsilon=1.0, kernel=KERNEL, bounds=(0, 9), classes=["a", "b"], **SMALL
    ).fit(X, LABELS),
}


def test_what_was_learnt_from_moments_has_no_density_to_show() -> None:
    model = PrivateLinearRegression(epsilon=1.0, bounds=(0, 9), target_bounds=(0, 9))
    with pytest.raises(scumble.ParameterError, match="no density to explore"):
        Exhibit(model.fit(X, X[:, 0]), "shown")


def from_its_file(live: Any) -> Any:
    if isinstance(live, scumble.Release | Bundle):
        return type(live).from_bytes(live.to_bytes())
    return models.from_bytes(models.to_bytes(live))


@pytest.mark.parametrize("what", LIVE)
def test_a_live_object_shows_what_its_file_would(what: str) -> None:
    live = LIVE[what]()
    exhibits = [Exhibit(found, "shown") for found in (live, from_its_file(live))]
    shown = [
        json.dumps([one.info, one.card(), description(one), *one.content()], default=str, sort_keys=True)
        for one in exhibits
    ]
    assert shown[0] == shown[1]
    arrays = base64.b64decode(json.loads(shown[0])[-1])
    for exact in np.unique(X[:50]):
        assert exact.tobytes() not in arrays and str(exact) not in shown[0]


def test_the_page_finds_the_modes_that_the_verb_finds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scumble.show.exhibit.STARTS", 100)  # as the verb's
    released = LIVE["a grid"]()
    released.save(tmp_path / "grid.scumble")
    assert main(["modes", str(tmp_path / "grid.scumble"), "--significance", "5", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    shown = Exhibit(released, "grid").modes()
    assert shown and [[*mode["point"], mode["density"]] for mode in shown] == [
        [row["x0"], row["x1"], row["density"]] for row in told
    ]


def test_units_of_a_column_that_is_not_there_are_told_so() -> None:
    table = scumble.TableSketch(scumble.Schema(age=scumble.Number(0, 9))).update({"age": [1.0]}).release(1.0)
    for found, columns in ((table, "age"), (LIVE["a grid"](), "x0, x1")):
        with pytest.raises(scumble.ParameterError, match=rf"^`units` names 'aeg'; the release has {columns}\."):
            exhibit_of(found, "a page", units={"aeg": "years"})
