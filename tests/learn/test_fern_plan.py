"""What ferns look at: cuts by noisy counts, and columns that are chosen privately."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from scumble.gate import selection
from scumble.learn import PrivateKDEClassifier, load
from scumble.learn.ferns import CELLS, KEPT, ONE, choose_columns, ferns_kernel


@pytest.fixture
def contests(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[int], Any, dict[str, Any]]]:
    """What noisy_best is asked; the best score wins."""
    seen: list[tuple[list[int], Any, dict[str, Any]]] = []

    def best(scores: list[int], epsilon: Any, **told: Any) -> int:
        seen.append((list(scores), epsilon, told))
        return int(np.argmax(scores))

    monkeypatch.setattr(selection, "noisy_best", best)
    return seen


def chosen(parts: list[np.ndarray], counts: list[float], people: int = 1) -> list[int]:
    width = parts[0].shape[1]
    bounds = (np.full(width, -1.0), np.full(width, 3.0))
    told = {"epsilon": Fraction(1, 7), "records_per_person": people}
    return choose_columns(parts, bounds, np.array(counts), **told)


def test_a_score_is_what_it_is_said_to_be(contests: Any, rng: np.random.Generator) -> None:
    parts = [rng.uniform(-1.0, 3.0, (n, 3)) for n in (40, 9)]
    parts[0][0] = [-1.0, 3.0, 1.0]  # the ends
    chosen(parts, [40.0, 10.0])
    weights, expected = [Fraction(1, 4) * ONE, ONE], []
    for j in range(3):
        cells = [[0] * CELLS for _ in parts]
        for c, part in enumerate(parts):
            for value in part[:, j]:
                cells[c][min(int((value + 1.0) / 4.0 * CELLS), CELLS - 1)] += 1
        expected.append(sum(max(w * cell[b] for w, cell in zip(weights, cells, strict=True)) for b in range(CELLS)))
    assert contests[0][0] == expected


def test_a_record_raises_every_score_by_one_at_most_and_lowers_none(contests: Any, rng: np.random.Generator) -> None:
    """The noise of `noisy_best` is scaled by just this."""
    moved = set()
    for people in (1, 3):
        for c in (0, 1, 2):
            parts = [rng.uniform(-1.0, 3.0, (n, 6)) for n in (20, 6, 4)]
            more = [
                np.vstack([part, rng.uniform(-1.0, 3.0, (people, 6))]) if k == c else part
                for k, part in enumerate(parts)
            ]
            counts = [20.0, 7.0, 1.0]  # noisy, and public by then: the same for both
            contests.clear()
            chosen(parts, counts, people), chosen(more, counts, people)
            (before, _, told), after = contests[0], contests[len(contests) // 2][0]
            assert told == {"sensitivity": ONE * people, "monotone": True}
            assert all(0 <= b - a <= ONE * people for a, b in zip(before, after, strict=True))
            moved |= {b - a for a, b in zip(before, after, strict=True)}
    assert max(moved) > 2 * ONE  # the bound is of use: three records of the rarest class come near to it


def test_the_choices_share_the_budget_and_take_no_column_twice(contests: Any, rng: np.random.Generator) -> None:
    parts = [rng.uniform(-1.0, 3.0, (30, 40)) for _ in range(2)]
    columns = chosen(parts, [30.0, 30.0])
    assert len(set(columns)) == len(columns) == KEPT
    assert sum(epsilon for _, epsilon, _ in contests) == Fraction(1, 7)
    assert [len(scores) for scores, _, _ in contests] == list(range(40, 40 - KEPT, -1))


def test_cuts_follow_the_records_of_a_class() -> None:
    for epsilon, counts, expected in [
        (1.0, [5000, 5000], 5),
        (1.0, [90_000, 10_000], 5),
        (0.1, [5000, 5000], 3),
        (10.0, [5000, 5000], 7),
        (1.0, [500, 500], 3),
        (1.0, [1, 1], 2),
        (1.0, [144] * 10, 2),
        (3.0, [2000] * 6, 5),
    ]:
        kernel = ferns_kernel((np.zeros(1), np.ones(1)), epsilon, np.array(counts, float))
        assert 1.0 / kernel.bandwidth == pytest.approx(expected)  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def wide() -> tuple[np.ndarray, np.ndarray]:
    """Two classes in two of 32 columns."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 2000)
    X = rng.uniform(0.0, 1.0, (2000, 32))
    X[:, [7, 20]] = (X[:, [7, 20]] + y[:, None]) / 2.0
    return X, y


def test_the_columns_of_a_wide_table_are_chosen_and_paid_for(wide: Any, tmp_path: Any) -> None:
    """With ε = 200 a choice has noise of scale ½, and the columns lead by hundreds of records."""
    X, y = wide
    model = PrivateKDEClassifier(epsilon=200.0, bounds=(0, 1), classes=[0, 1]).fit(X, y)
    columns = model.releases_[0].spec.kernel.columns
    assert {7, 20} <= set(columns) and len(columns) == KEPT
    assert model.selection_epsilon_ == "30"
    assert len(model.privacy_.parts) == 4  # counts, choice, sketches, calibration
    assert 199.9 < model.privacy_.epsilon <= 200.0
    model.save(tmp_path / "model.scumble")
    again = load(tmp_path / "model.scumble")
    np.testing.assert_array_equal(again.predict_proba(X[:50]), model.predict_proba(X[:50]))
    assert again.privacy_ == model.privacy_


def test_a_choice_spends_no_more_than_it_claims(wide: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The float 0.3 is below 3/10: a part of ε that is no float is rounded to one before it is spent."""
    spent: list[Fraction] = []
    monkeypatch.setattr(selection, "noisy_best", lambda scores, epsilon, **_: spent.append(epsilon) or 0)
    model = PrivateKDEClassifier(bounds=(0, 1), classes=[0, 1], selection_share=0.3).fit(*wide)
    assert sum(spent) == Fraction(model._selection_claims()[0].epsilon) < Fraction(3, 10)
