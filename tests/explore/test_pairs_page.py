"""Intervals of two columns in a table's page: those of measured pairs are Python's own, whatever the pair's shape."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from tests.explore.tabletwin import twin

import scumble
from scumble.explore import TableExhibit, export
from scumble.explore.tablepayload import STEPS
from scumble.tabular.answers import Answers
from scumble.tabular.spec import TableSpec
from scumble.views.estimates import by_groups, cells_of

Question = dict[int, np.ndarray]

SCHEMA = scumble.Schema(
    kind=scumble.Category(("dog", "cat", "bird"), other=False, missing=False),
    office=scumble.Category(tuple(f"office {k}" for k in range(70)), other=False),
    age=scumble.Number(0, 99, whole=True),
    weight=scumble.Number(0, 50, cells=25, missing=True),
    seen=scumble.Date("2024-01-01", "2024-12-31", cells=12),
)
MEASURED = (0, 1), (0, 2), (1, 2), (2, 3)  # few words by many, words by numbers, many by many, two numbers
COUNTS = """(asked) => asked.map((one) => {
    const { value, variance } = scumble.table.answers.count(new Map(one.map(([j, w]) => [j, Float64Array.from(w)])));
    return [value, variance];
})"""


def records(n: int = 8_000) -> pd.DataFrame:
    """Offices have sorts of their own, and ages."""
    rng = np.random.default_rng(7)
    office = rng.choice(70, n, p=np.arange(70, 0, -1) / 2485)
    kind = np.where(rng.random(n) < 0.6, office % 3, rng.integers(0, 3, n))
    age = np.clip(rng.normal(20 + 10 * (office % 7), 8), 0, 99).astype(int)
    weight = np.where(rng.random(n) < 0.1, np.nan, np.clip(rng.normal(10 + age / 4, 5), 0, 50))
    return pd.DataFrame(
        {
            "kind": np.array(["dog", "cat", "bird"])[kind],
            "office": [f"office {k}" for k in office],
            "age": age,
            "weight": weight,
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 366, n), unit="D"),
        }
    )


class Shown(NamedTuple):
    """A release's own answers, those of its page's twin, and the page."""

    python: Answers
    twin: Answers
    path: Path


@cache
def exported(target: str | None, folder: Path) -> Shown:
    pairs = tuple(pair for pair in MEASURED if target is None or 0 not in pair)
    spec = TableSpec.of(SCHEMA, target=target, pairs=pairs)
    release = scumble.TableSketch.from_spec(spec).update(records()).release(epsilon=2.0)
    exhibit = TableExhibit(release, "offices.scumble", units={})
    content = exhibit.content()
    exhibit.content = lambda: content  # type: ignore[method-assign]
    export(exhibit, folder / f"{target}.html")
    return Shown(release._answers, twin(release, content[0]), folder / f"{target}.html")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pairs")


def questions(pair: tuple[int, int], rng: np.random.Generator) -> list[Question]:
    """Single cells, ranges and sets."""
    found: list[Question] = []
    for number in range(24):
        product = {}
        for j in pair:
            size = SCHEMA.sizes[j]
            low, high = np.sort(rng.integers(0, size, 2))
            ranged = ((np.arange(size) >= low) & (np.arange(size) <= high)).astype(float)
            product[j] = (np.eye(size)[low], ranged, (rng.random(size) < 0.4) * 1.0)[number % 3]
        found.append({j: weights if weights.any() else np.eye(len(weights))[0] for j, weights in product.items()})
    return found


def by_page(visit: Callable[..., Any], path: Path, asked: list[Question]) -> list[list[float]]:
    page = visit().open(path.as_uri())
    found: list[list[float]] = page.evaluate(COUNTS, [[[j, w.tolist()] for j, w in one.items()] for one in asked])
    return found


@pytest.mark.parametrize("target", [None, "kind"], ids=["whole", "by class"])
def test_every_pair_is_answered_as_by_the_twin(visit: Callable[..., Any], folder: Path, target: str | None) -> None:
    shown, rng = exported(target, folder), np.random.default_rng(1)
    asked = [one for pair in itertools.combinations(range(len(SCHEMA)), 2) for one in questions(pair, rng)]
    for product, found in zip(asked, by_page(visit, shown.path, asked), strict=True):
        truth = shown.twin.count([(1.0, product)])
        assert found == pytest.approx([truth.value, truth.variance], rel=1e-9, abs=1e-7)


def test_measured_pairs_are_answered_as_by_python(visit: Callable[..., Any], folder: Path) -> None:
    """But for rounding, by bounds that always hold.

    The page has errors of cells in steps of σ/32, σ being the noise's deviation: each is off by σ/64 at most, and a sum
    by that for each of its cells. The root of their mean square is off by √2 of that, as the bias counts twice; less
    what more fits take off, of which a quarter stays, by twice that; of a third of it, by 2 √(2/3). A deviation of
    cells and model together is off by no more. Their weights go by the ratio of the two deviations, with a slope of
    1.11 at most. The model has 16 bits: see `tablepayload`.
    """
    python, _, path = exported(None, folder)
    reading, rng = python.readings[0], np.random.default_rng(2)
    asked = [one for pair in MEASURED for one in questions(pair, rng)]
    for product, (value, variance) in zip(asked, by_page(visit, path, asked), strict=True):
        condition = [(1.0, product)]
        truth, told = python.count(condition), by_groups(reading.evidence, reading.unseen.marginals, condition)
        view = reading.evidence.pair((min(product), max(product)))
        assert told is not None and view is not None
        cells = cells_of(reading.evidence, told)
        noise = math.sqrt(view.variance * float((cells**2).sum())) or 1.0  # of no cells, none are off
        off = 2 * math.sqrt(2 / 3) * math.sqrt(view.variance) * float(cells.sum()) / (2 * STEPS)
        beside = abs(float((view.counts * cells).sum()) - reading.model.share(told) * reading.evidence.count)
        moved = 1.11 * off / noise * beside + 1e-5 * reading.evidence.count
        assert abs(value - truth.value) <= moved
        assert abs(math.sqrt(variance) - math.sqrt(truth.variance)) <= off + moved
