"""Private selection: the law of the choice, its privacy, and its scores' sensitivity."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import ceil, nextafter, sqrt
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import scumble
from scumble.gate import selection
from scumble.gate.selection import credible_records, noisy_best
from scumble.kernels import ColumnKernel
from scumble.learn import ferns
from scumble.learn.ferns import choose_kernel
from scumble.privacy import calibrate

EPSILONS = [Fraction(1, 10), 0.5, 1, 3]


def law(scores: list[int], scale: float) -> np.ndarray:
    """P(each is chosen), by summing over its noise: earlier ones must stay below it, later ones may draw level."""
    reach = ceil(40 * scale) + max(scores) - min(scores)
    k = np.arange(-reach, reach + 1)
    chance = np.tanh(0.5 / scale) * np.exp(-np.abs(k) / scale)
    at_most = np.cumsum(chance)
    out = []
    for i, own in enumerate(scores):
        total = chance.copy()
        for j, other in enumerate(scores):
            if j != i:
                last = k + own - other - (1 if j < i else 0)  # the largest noise of j with which i still wins
                total *= at_most[np.clip(last + reach, 0, 2 * reach)] * (last >= -reach)
        out.append(total.sum())
    return np.array(out)


def scale_of(monkeypatch: pytest.MonkeyPatch, **options: object) -> Fraction:
    """The scale of the noise that a choice draws."""
    asked = []

    def spy(scale: Fraction, size: int) -> np.ndarray:
        asked.append(scale)
        return np.zeros(size, np.int64)

    with monkeypatch.context() as patch:
        patch.setattr(selection, "discrete_laplace", spy)
        noisy_best([1, 2], **options)  # type: ignore[arg-type]
    (scale,) = asked
    return scale


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("sensitivity", [1, 2, 5])
def test_the_scale_is_twice_the_sensitivity_over_epsilon(monkeypatch, epsilon: Fraction, sensitivity: int) -> None:
    unit = sensitivity / Fraction(epsilon)
    assert scale_of(monkeypatch, epsilon=epsilon, sensitivity=sensitivity) == 2 * unit
    assert scale_of(monkeypatch, epsilon=epsilon, sensitivity=sensitivity, monotone=True) == unit


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("sensitivity", [1, 2])
def test_no_neighbor_changes_a_probability_by_more_than_epsilon(
    monkeypatch, epsilon: Fraction, monotone: bool, sensitivity: int
) -> None:
    """Exactly, from the law: every move of three scores that one person can cause. The worst one nearly costs ε."""
    scale = float(scale_of(monkeypatch, epsilon=epsilon, monotone=monotone, sensitivity=sensitivity))
    worst = 0.0
    for gap in (0, ceil(scale)):
        here = law([gap, 0, 0], scale)
        for move in product(range(0 if monotone else -sensitivity, sensitivity + 1), repeat=3):
            there = law([gap + move[0], move[1], move[2]], scale)
            worst = max(worst, *np.log(here / there), *np.log(there / here))
    assert 0.35 * epsilon < worst <= float(epsilon) * (1 + 1e-9)


@pytest.mark.statistical(rate=1e-8)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("monotone", "sensitivity"), [(False, 1), (True, 3)])
def test_the_runner_up_wins_as_often_as_the_law_says(epsilon: Fraction, monotone: bool, sensitivity: int) -> None:
    """Eight laws of three candidates, two binomial tails of 1e-10 each: a false alarm in less than 1e-8 of all runs."""
    draws = 2000
    scale = sensitivity * (1 if monotone else 2) / float(epsilon)
    scores = [0, ceil(scale), ceil(scale) // 2]
    chosen = [noisy_best(scores, epsilon, sensitivity=sensitivity, monotone=monotone) for _ in range(draws)]
    for seen, chance in zip(np.bincount(chosen, minlength=3), law(scores, scale), strict=True):
        assert min(stats.binom.cdf(seen, draws, chance), stats.binom.sf(seen - 1, draws, chance)) > 1e-10


def test_one_record_moves_the_score_by_at_most_one(rng) -> None:
    kernel = ColumnKernel(0.25, 2, origin=0.0)

    def score(parts: list[np.ndarray]) -> int:
        sketches = [scumble.Sketch(kernel, 2, rows=6, buckets=32, design="iid").update(part) for part in parts]
        return credible_records([sketch.secret for sketch in sketches], margin=3)

    for _ in range(30):
        parts = [rng.uniform(size=(int(rng.integers(1, 40)), 2)) for _ in range(3)]
        more = list(parts)
        which = int(rng.integers(0, 3))
        more[which] = np.vstack([parts[which], rng.uniform(size=(1, 2))])
        assert score(more) - score(parts) in (0, 1)


def test_the_score_is_the_best_row_read_through_the_margin(rng) -> None:
    """Bucket by bucket, for every row and every class that may be guessed elsewhere."""
    for margin in (0, 1, 4, 30):
        counts = rng.integers(0, 20, (3, 4, 5))
        best = 0
        for guess, row in product(range(3), range(4)):
            terms = [max(counts[guess, row, b], max(counts[:, row, b]) - margin) for b in range(5)]
            best = max(best, sum(terms))
        assert credible_records([SimpleNamespace(counts=one) for one in counts], margin) == best


@pytest.mark.parametrize(("people", "delta"), [(1, 0.0), (3, 0.0), (2, 1e-6)])
def test_the_choice_of_a_kernel_is_charged_for_all_records_of_a_person(monkeypatch, people: int, delta: float) -> None:
    asked: list[object] = []
    monkeypatch.setattr(selection, "credible_records", lambda sketches, margin: asked.append(margin) or len(asked))
    monkeypatch.setattr(selection, "noisy_best", lambda *given, **named: asked.append((given, named)) or 1)
    kernels = [ColumnKernel(0.5, origin=0.0), ColumnKernel(0.2, origin=0.0)]
    budget = {"epsilon": 0.3, "release_epsilon": 0.7, "delta": delta, "records_per_person": people, "rows": 5}
    parts = [np.full((4, 2), 0.1), np.full((3, 2), 0.7)]
    assert choose_kernel(kernels, parts, buckets=8, **budget) is kernels[1]
    noise = calibrate(5, epsilon=0.7, delta=delta, records_per_person=people).counter_variance
    margin = ceil(2 * sqrt(noise))
    assert asked == [margin, margin, (([1, 2], 0.3), {"sensitivity": people, "monotone": True})]


@pytest.mark.parametrize(
    "options",
    [
        *({"scores": [], "epsilon": 1.0}, {"scores": [0.5], "epsilon": 1.0}, {"scores": [1], "epsilon": 0.0}),
        *({"scores": [1], "epsilon": -1}, {"scores": [4171, 0.5], "epsilon": 1.0}),
        {"scores": [4171, float("nan")], "epsilon": 1.0},
        {"scores": [4171, "two"], "epsilon": 1.0},
        {"scores": [4171 * 2**60], "epsilon": 1.0},
        {"scores": [2**61], "epsilon": 1.0},
        {"scores": [-(2**61)], "epsilon": 1.0},
        {"scores": [4171, 1], "epsilon": 1.0, "handicaps": [0.5, 0]},
        {"scores": [4171, 1], "epsilon": 1.0, "handicaps": [0]},
        {"scores": [1], "epsilon": 1.0, "sensitivity": 0},
        {"scores": [1], "epsilon": 1.0, "sensitivity": 0.5},
        {"scores": [1], "epsilon": 1.0, "sensitivity": True},
    ],
)
def test_bad_input_is_refused(options: dict) -> None:
    with pytest.raises(scumble.ParameterError) as caught:
        noisy_best(**options)
    assert "4171" not in f"{caught.value} {caught.value.__cause__}", "scores are as secret as the records"


def test_a_choice_is_about_one_record_and_rows_are_twenty_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert scale_of(monkeypatch, epsilon=1) == 2
    made, chosen = [], []

    def spy(*given: object, **named: object) -> scumble.Sketch:
        made.append({name: named[name] for name in ("rows", "buckets", "seed")})
        return scumble.Sketch(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(ferns, "Sketch", spy)
    monkeypatch.setattr(selection, "noisy_best", lambda scores, epsilon, **named: chosen.append(named) or 0)
    choose_kernel([ColumnKernel(1.0)], [np.zeros((2, 1))], epsilon=1, release_epsilon=1)
    assert made == [{"rows": 20, "buckets": 256, "seed": 0}]
    assert chosen == [{"sensitivity": 1, "monotone": True}]
    with pytest.raises(scumble.ParameterError, match="`kernels` must be at least one kernel"):
        choose_kernel([], [np.zeros((1, 1))], epsilon=1.0, release_epsilon=1.0)


def test_the_best_wins_where_it_is_clear() -> None:
    """A thousand ahead, with noise of scale 4: another wins with probability below 1e-100."""
    assert all(noisy_best([0, 1000, 0], epsilon=0.5) == 1 for _ in range(100))
    assert all(noisy_best([0, 1000, 0], epsilon=0.5, handicaps=[0, 2000, 1000]) == 0 for _ in range(100))


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 3), Fraction(3)])
def test_a_choice_claims_the_rho_of_any_pure_release_and_no_count(epsilon: Fraction) -> None:
    claim = selection.claim_of_choice(epsilon, "add-remove", 1)
    assert claim.rho is not None and claim.count_scale is None and claim.rows == 1
    assert Fraction(nextafter(claim.rho, 0)) < epsilon**2 / 2 <= Fraction(claim.rho)


def test_no_cell_below_the_margin_adds_to_a_score() -> None:
    secrets = [SimpleNamespace(counts=np.array([[1, 9, 0]])), SimpleNamespace(counts=np.array([[3, 0, 2]]))]
    assert credible_records(secrets, 5) == max(1 + 9 + 0, 3 + 4 + 2)  # type: ignore[arg-type]
