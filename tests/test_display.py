"""Cards for notebooks and pictures of releases and estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import scumble
from estimators import EACH, small, target
from scumble import learn
from scumble.errors import plain_number
from scumble.learn.additive import Additive
from scumble.show import pictures, plots
from scumble.show.cards import card, expected_error, facts, lines

pytestmark = pytest.mark.filterwarnings("ignore::scumble.errors.CuratorWarning")  # bounds that cut, on purpose

HOSTILE = "<script>alert('x')</script>"


@pytest.fixture(autouse=True)
def _coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures of few points: what they say is the same."""
    for module in (plots, pictures):
        monkeypatch.setattr(module, "_POINTS_2D", 31)
    monkeypatch.setattr(plots, "_POINTS_PAIRS", 31)


@pytest.fixture(scope="module")
def town() -> np.ndarray:
    rng = np.random.default_rng(3)
    return np.vstack([rng.normal([2, 2], 0.5, (1500, 2)), rng.normal([7, 6], 0.7, (1500, 2))])


@pytest.fixture(scope="module")
def sides() -> np.ndarray:
    return np.repeat(["near", "far"], 1500)


def release(columns: list[str], X: np.ndarray, **options: Any) -> scumble.Release:
    sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), columns=columns, rows=16, buckets=64, **options)
    return sketch.update(X).release(epsilon=1.0)


def test_a_release_shows_its_card(town: np.ndarray) -> None:
    one = release(["east", "north"], town)
    html = one._repr_html_()
    for name, text in lines(one):
        assert name in html and text.replace("'", "&#x27;") in html
    assert "ε = 1, δ = 0" in html and "Release of about" in repr(one)


def test_names_of_columns_and_classes_are_no_markup(town: np.ndarray) -> None:
    one = release([HOSTILE, "north"], town)
    bundle = scumble.Bundle({HOSTILE: one, "b": release([HOSTILE, "north"], town)})
    assert facts(bundle)["counts"][1]["class"] == "b"
    for html in (one._repr_html_(), bundle._repr_html_()):
        assert "<script" not in html and "&lt;script&gt;" in html


def test_an_estimator_shows_its_promise_once_it_is_fitted(town: np.ndarray, sides: np.ndarray) -> None:
    model = learn.PrivateKDEClassifier(bounds=(0, 9), classes=["far", "near"])
    assert "scumble-card" not in model._repr_html_()
    model.fit(town, sides)
    for html in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert "scumble-card" in html and "far, near" in html and "ε = 1, δ = 0" in html
    assert repr(model).startswith("PrivateKDEClassifier(bounds=(0, 9)")


# ---- pictures ----


def texts(figure: Any) -> str:
    found = [figure._suptitle.get_text(), *([figure._supxlabel.get_text()] if figure._supxlabel else [])]
    for axes in figure.axes:
        found += [axes.get_xlabel(), axes.get_ylabel()]
        found += [text.get_text() for text in axes.get_legend().get_texts()] if axes.get_legend() else []
    return " | ".join(found)


def test_a_release_draws_itself(town: np.ndarray) -> None:
    one = release(["east", "north"], town)
    assert texts(one.plot(ranges={"east": (0, 9)}, at={"north": 2.0})).startswith("cut at north = 2")
    assert "east | north" in texts(one.plot(ranges={"east": (0, 9), "north": (0, 9)}))
    with pytest.raises(scumble.ParameterError, match=r"ranges={'north': \(low, high\)}"):
        one.plot(ranges={"east": (0, 9)})


def test_colors_by_logarithm_show_what_one_corner_hides() -> None:
    """A thousandth of the density: a thousandth of even colors, and most of the way down a logarithmic scale."""
    values, error = np.array([[1.0, 1e-3, 0.0]]), np.full((1, 3), 1e-5)
    for log, low, high in ((False, 0.0, 0.01), (True, 0.15, 0.4)):
        norm, levels = plots.scale(values, error, log)
        assert low <= float(norm(1e-3)) <= high and len(levels) == plots.LEVELS
    drowned, _ = plots.scale(values, np.full((1, 3), 0.01), log=True)
    assert float(drowned(1e-3)) == 0.0  # below twice its error there is nothing to be seen


DRAWN = {"PrivateModes": "mode", "PrivateOutlierDetector": "outliers", "PrivateAdditiveClassifier": "added to"}
"""Words on pictures that show something of their own."""


@EACH
def test_every_estimator_draws_and_shows_itself(kind: Any, town: np.ndarray) -> None:
    model = small(kind, bounds=(0, 9), target_bounds=(0, 9), starts=20, rows=50 if "coef_" in kind._learnt else None)
    learns = "classes" if hasattr(model, "classes") else "target" if hasattr(model, "target_bounds") else "nothing"
    words = DRAWN.get(kind.__name__, {"classes": "far | near", "target": "prediction"}.get(learns, "density"))
    frame = pd.DataFrame(np.vstack([town, [[-1.0, 3.0]]]), columns=["east", "north"])  # one is outside the bounds
    model.fit(frame, target(kind, frame))
    curves = issubclass(kind, Additive)  # one for each column
    whole = texts(model.plot())
    assert ("added to the prediction" if curves else words) in whole and (curves or "east | north" in whole)
    cut = texts(model.plot(at={"north": 3.0}, units={"east": "km"}))
    assert "north = 3" in cut and "east (km)" in cut
    # A notebook keeps the card, in which scikit-learn lists all attributes that it finds: but not the curator's own.
    assert model.clipped_ > 0 and "privacy_" in dir(model)
    assert "clipped_" not in dir(model) and "clipped_" not in model._repr_html_()


def test_more_columns_than_a_picture_has(town: np.ndarray, sides: np.ndarray) -> None:
    model = learn.PrivateKDEClassifier(bounds=(0, 9), classes=["far", "near"])
    with pytest.raises(scumble.ParameterError):
        model.fit(np.hstack([town, town[:, :1]]), sides).plot()
    assert "column 2 = 4.5" in texts(model.plot(at={"column 2": 4.5}))


def test_a_card_says_at_which_places_its_error_is_meant() -> None:
    """One cell has all records of a grid: its error is theirs, that of places at random the noise's."""
    kernel, place = scumble.EuclideanKernel(1.0, 2), 70.25
    sketch = scumble.Sketch(kernel, columns=["x", "y"], design="grid", buckets=(80, 80), bounds=(0.0, 80.0))
    one = sketch.update({"x": [place] * 20_000, "y": [5.25] * 20_000}).release(epsilon=1.0)
    found = expected_error(one)
    assert one.spec.layout.densest(one)[0].tolist() == [70.5, 5.5]
    assert found["crowded"] == one.standard_error([[70.5, 5.5]])[0] > 10 * (found["kernel_sum"] or 0.0)
    told = " ".join(card(one, "x").split())
    random, crowded = (plain_number(found[place] or 0.0, 3) for place in ("kernel_sum", "crowded"))
    fullest = f"up to {crowded} in and around the fullest cell"
    assert f"{random} records at a random place within the bounds, {fullest}" in told and "e+" not in crowded
    hashed = release(["east"], np.ones((50, 1)))
    assert expected_error(hashed)["crowded"] is None and "there, more at denser places" in " ".join(
        card(hashed, "x").split()
    )
