"""A column that is called like an answer keeps its name and its labels, and the answer gets another name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scumble
from scumble import Boolean, Category, Number, Schema

ANSWERS = ("value", "low", "high", "standard_error")
WORDS = ["x", "y"]
NUMBERED = ["0", "1", "2"]
LEVELS: dict[str, list[Any]] = {
    **dict.fromkeys(("value", "standard_error", "q", "remarks", "self"), WORDS),
    "low": NUMBERED,
    "to": NUMBERED,
    "from": [*NUMBERED, "(missing)"],
    "high": [False, True],
}
NUMBERS = {"low", "from", "to"}


@pytest.fixture(scope="module")
def release() -> Any:
    rng, n = np.random.default_rng(0), 900
    columns: dict[str, Any] = {}
    table: dict[str, Any] = {}
    for name in LEVELS:
        if name in NUMBERS:
            columns[name], table[name] = Number(0, 2, whole=True, missing=name == "from"), rng.integers(0, 3, n)
        elif name == "high":
            columns[name], table[name] = Boolean(), rng.random(n) < 0.3
        else:
            columns[name], table[name] = Category(WORDS, other=False, missing=False), rng.choice(WORDS, n)
    return scumble.TableSketch(Schema(columns)).update(table).release(epsilon=50.0)


def _named(labels: list[str], answers: tuple[str, ...] = ANSWERS) -> list[str]:
    """What the columns must be called."""
    return [*labels, *(f"scumble_{name}" if name in labels else name for name in answers)]


def _condition(name: str, label: Any) -> dict[str, Any]:
    return {name: int(label) if name in NUMBERS else label}


OF_LEVELS: dict[str, Callable[..., Any]] = {
    "count": lambda release, where=None, **by: release.count(where, **by),
    "share": lambda release, where=None, **by: release.share(where, **by),
    "sum": lambda release, where=None, **by: release.sum("low", where, **by),
    "mean": lambda release, where=None, **by: release.mean("low", where, **by),
    "quantile": lambda release, where=None, **by: release.quantile("to", 0.5, where, **by),
}


@pytest.mark.parametrize("name", LEVELS)
def test_answers_by_a_column(release: Any, name: str) -> None:
    for ask in OF_LEVELS.values():
        found = ask(release, by=name)
        assert [*found.columns] == _named([name]) and found[name].tolist() == LEVELS[name]
        for row, level in zip(found.itertuples(index=False), LEVELS[name][:2], strict=False):
            alone = ask(release, _condition(name, level))
            assert [*row][1:] == pytest.approx([*alone.to_dict().values()], rel=1e-9, nan_ok=True)
    several, share = release.quantile("to", [0.1, 0.9], by=name), "scumble_q" if name == "q" else "q"
    assert [*several.columns] == [share, *_named([name])] and several[name].tolist() == LEVELS[name] * 2
    assert [*release.histogram(name).columns] == _named(
        [name], (*(("from", "to") if name in NUMBERS else ()), *ANSWERS)
    )


@pytest.mark.parametrize("names", [("low", "value"), ("standard_error", "high"), ("from", "to"), ("to", "low")])
def test_a_cross_table(release: Any, names: tuple[str, str]) -> None:
    found = release.crosstab(*names, long=True)
    assert [*found.columns] == _named([*names])
    combinations = [(one, two) for one in LEVELS[names[0]] for two in LEVELS[names[1]]]
    assert [*zip(found[names[0]], found[names[1]], strict=True)] == combinations
    alone = release.count(_condition(names[0], combinations[0][0]) | _condition(names[1], combinations[0][1]))
    assert found.iloc[0, 2:].tolist() == pytest.approx([*alone.to_dict().values()], rel=1e-9)
