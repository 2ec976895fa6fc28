"""A pair of columns in addition to the curves: its choice, its table, and what both cost."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import scumble
from scumble.learn import PrivateAdditiveRegressor, additive, load
from scumble.learn.moment_products import TARGET_PARTS
from scumble.learn.moment_release import MomentSketch
from scumble.privacy.budget import Budget


@pytest.fixture(scope="module")
def product() -> tuple[np.ndarray, np.ndarray]:
    """Two of five columns matter together, and one by itself: curves alone explain a third."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.0, 1.0, (6000, 5))
    return X, np.clip(2.0 * X[:, 1] * X[:, 3] + 0.7 * X[:, 0] + rng.normal(0.0, 0.2, 6000), -3.0, 3.0)


def fitted(X: np.ndarray, y: np.ndarray, **options: Any) -> PrivateAdditiveRegressor:
    return PrivateAdditiveRegressor(**{"bounds": (-1, 1), "target_bounds": (-3, 3), **options}).fit(X, y)


def scores_of(monkeypatch: pytest.MonkeyPatch, codes: np.ndarray, left: np.ndarray, moves: int = 1) -> list[int]:
    """What the contest is about; its noise is of the scale that the proof asks for."""
    seen: list[Any] = []

    def best(scores: list[int], epsilon: Any, **told: Any) -> int:
        seen.append(scores)
        assert (epsilon, told) == (Fraction(1, 7), {"sensitivity": TARGET_PARTS * moves})
        return int(np.argmax(scores))

    monkeypatch.setattr(additive, "noisy_best", best)
    sizes = [3, 2, 4]
    i, j = additive.best_pair(codes, sizes, left, 0.5, epsilon=Fraction(1, 7), moves=moves)
    assert (i, j) == list(combinations(range(3), 2))[int(np.argmax(seen[0]))]
    found: list[int] = seen[0]
    return found


def table(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.column_stack([rng.integers(0, size, n) for size in (3, 2, 4)]), rng.normal(0.0, 0.5, n)


def test_scores_are_what_they_are_said_to_be(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    codes, left = table(rng, 60)
    whole = [2 * int(np.clip(np.rint((one + 0.5) * TARGET_PARTS), 0, TARGET_PARTS)) - TARGET_PARTS for one in left]
    expected = []
    for i, j in combinations(range(3), 2):
        sums: dict[tuple[int, int], int] = {}
        for code, t in zip(codes.tolist(), whole, strict=True):
            sums[code[i], code[j]] = sums.get((code[i], code[j]), 0) + t
        expected.append(sum(map(abs, sums.values())))
    assert scores_of(monkeypatch, codes, left, moves=3) == expected


def test_a_record_moves_a_score_by_its_parts_at_most(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    most = 0
    for _ in range(40):
        codes, left = table(rng, 12)
        left[-1] *= 10.0  # far out: it counts up to the bound
        with_it, without = (scores_of(monkeypatch, codes[:n], left[:n]) for n in (12, 11))
        most = max(most, *(abs(a - b) for a, b in zip(with_it, without, strict=True)))
    assert most == TARGET_PARTS


def test_cells_are_the_nearest_knots() -> None:
    knots = np.array([-1.0, 0.0, 4.0])
    values = np.array([-9.0, -0.51, -0.49, 1.99, 2.01, 50.0])
    np.testing.assert_array_equal(additive.nearest(values, knots), [0, 0, 1, 1, 2, 2])


def test_effects_are_means_where_there_is_no_noise_and_nothing_where_there_is_nothing_else(rng) -> None:
    cell = rng.integers(0, 9, 9000)
    means = np.linspace(-0.6, 0.6, 9)
    left = means[cell] + rng.normal(0.0, 0.1, 9000)
    spec = additive.pair_spec(9, True, (-4.0, 4.0))
    for told, epsilon in ((left + 1.0, 1e5), (rng.normal(0.0, 0.1, 9000), 0.01)):
        release = MomentSketch(spec).update(cell[:, None].astype(float), told).release(epsilon)
        found = additive.effects(release)
        wanted = [told[cell == k].mean() - told.mean() for k in range(9)] if epsilon > 1 else np.zeros(9)
        np.testing.assert_allclose(found, wanted, atol=0.02 if epsilon > 1 else 0.5)


@pytest.mark.parametrize(("delta", "neighbors"), [(0.0, "add-remove"), (1e-6, "replace")])
def test_what_curves_cannot_say_a_pair_says(product: Any, delta: float, neighbors: str) -> None:
    """Errors over the variance: about 0.65 and 0.2."""
    X, y = product
    told = {"epsilon": 2.0, "delta": delta, "neighbors": neighbors}
    alone, both = (fitted(X, y, pair=pair, **told) for pair in (False, None))
    error = [float(np.mean((model.predict(X) - y) ** 2) / y.var()) for model in (alone, both)]
    assert error[1] < 0.6 * error[0]
    assert both.pair_columns_ == (1, 3) and alone.pair_ is None
    assert 0.995 * 2.0 < both.privacy_.epsilon <= 2.0 and both.privacy_.delta <= delta
    assert len(both.privacy_.parts) == len(alone.privacy_.parts) + 2  # the choice, and the table
    np.testing.assert_allclose(np.clip(both.contributions(X).sum(axis=1) + both.intercept_, -3, 3), both.predict(X))


def test_it_is_saved_and_the_cross_tables_alone_have_none(product: Any, tmp_path: Any) -> None:
    X, y = product
    model = fitted(X, y)
    model.save(tmp_path / "model.scumble")
    np.testing.assert_array_equal(load(tmp_path / "model.scumble").predict(X), model.predict(X))
    curves = PrivateAdditiveRegressor.from_release(model.release_)
    assert curves.pair_columns_ is None and curves.privacy_.epsilon < 0.81  # a fifth went to the pair


def test_what_is_left_over_is_a_function_of_the_record_alone(product: Any) -> None:
    """To the last bit: it is counted."""
    X, y = product
    model = fitted(X, y)
    together = model._curves(X)
    alone = np.concatenate([model._curves(X[k : k + 1]) for k in range(100)])
    np.testing.assert_array_equal(together[:100], alone)
    np.testing.assert_array_equal(together[-7:], model._curves(X[-7:]))


def test_when_there_is_a_pair_hangs_on_public_facts(product: Any) -> None:
    X, y = product
    assert fitted(X, y, epsilon=0.1).pair_ is not None and fitted(X, y, epsilon=0.0999).pair_ is None
    assert fitted(X[:, :1], y, pair=True).pair_ is None
    with pytest.raises(scumble.ParameterError, match="`pair` must be True, False or None"):
        fitted(X, y, pair="yes")


def test_a_choice_costs_what_its_budget_holds() -> None:
    assert additive.choice_epsilon(Budget(Fraction(1, 3))) == Fraction(1, 3)
    rho = Fraction(1, 50)
    found = additive.choice_epsilon(Budget.of(rho=rho, delta=1e-9))
    assert found**2 / 2 <= rho < (found + Fraction(1, 2**39)) ** 2 / 2
