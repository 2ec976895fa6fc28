"""Means over synthetic records, asked once and again, against sums over all of them."""

from __future__ import annotations

import numpy as np
import pytest

from scumble.views import records as module
from scumble.views.mixture import Product
from scumble.views.records import Records

LEVELS = (7, 4, 300)
ROWS = np.asfortranarray(np.random.default_rng(0).integers(LEVELS, size=(1000, 3)))


def slow(product: Product) -> float:
    weights = [np.asarray(weights, float)[ROWS[:, j]] for j, weights in product.items()]
    return float(np.prod(weights, axis=0).mean()) if weights else 1.0


def asked(kind: str, levels: int) -> list[float]:
    generator = np.random.default_rng(levels)
    made: dict[str, list[float]] = {
        "none": [0.0] * levels,
        "all": [1.0] * levels,
        "one": [float(level == levels - 1) for level in range(levels)],
        "range": [float(1 <= level < levels - 1) for level in range(levels)],
        "some": [float(level in (0, 2, levels - 1)) for level in range(levels)],
        "soft": list(generator.random(levels) - 0.5),
    }
    return made[kind]


@pytest.mark.parametrize("kind", ["none", "all", "one", "range", "some", "soft"])
@pytest.mark.parametrize("columns", [(), (0,), (2,), (0, 1), (2, 0), (0, 1, 2)])
@pytest.mark.parametrize("small", [False, True])
def test_means_are_sums_over_all_records_however_often_they_are_asked(
    kind: str, columns: tuple[int, ...], small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_TABLES", 1 if small else 16)
    records = Records(ROWS.astype(np.int32) if small else ROWS)
    product = {j: asked(kind, LEVELS[j]) for j in columns}
    for _ in range(3):
        assert records.mean(product) == pytest.approx(slow(product), abs=1e-12)
        if len(columns) == 2:  # another pair, in whose place the first one comes again
            other = {1: asked("some", 4), 2: asked("soft", 300)}
            assert records.mean(other) == pytest.approx(slow(other), abs=1e-12)


def test_a_byte_holds_the_level() -> None:
    rows = np.asfortranarray(np.arange(256, dtype=np.uint8)[:, None])
    top = [float(level >= 250) for level in range(256)]
    assert Records(rows).mean({0: top}) == 6 / 256


def test_tables_are_few_small_and_made_when_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_TABLES", 2)
    monkeypatch.setattr(module, "MOST_CELLS", 4 * 300)
    records = Records(ROWS)
    pairs = [(0, 1), (1, 2), (0, 2)]

    def ask(pair: tuple[int, int]) -> set[tuple[int, int]]:
        records.mean({j: asked("soft", LEVELS[j]) for j in pair})
        return {key for key, table in records._tables.items() if table is not None}

    assert [ask(pair) for pair in pairs] == [set(), set(), set()]
    assert ask((0, 2)) == set()  # too large
    assert ask((0, 1)) == {(0, 1)}
    assert ask((1, 2)) == {(0, 1), (1, 2)}
    assert records._tables[0, 1] is not None and records._tables[0, 1].sum() == 1000
