"""Estimates from cells and model together, and errors learnt from rehearsals."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

from scumble.machine.patience import Patience
from scumble.tabular.estimate import deviations
from scumble.views import rehearsal as rehearsals
from scumble.views.budgeting import Law
from scumble.views.columnsums import ColumnSums
from scumble.views.estimates import Estimate, by_groups, cells_of, combined, inside, nearest
from scumble.views.evidence import Evidence, View, simplex
from scumble.views.fitting import several
from scumble.views.grouping import Column
from scumble.views.interaction import pair_sum
from scumble.views.intervals import Reading, apart, conditions, law_inputs
from scumble.views.mixture import Condition, Mixture
from scumble.views.rehearsal import rehearse
from scumble.views.smoothing import gamma_regression, mean_square
from scumble.views.unseen import LEAST, LEFT_OUT, MISSING, POWER, UNKNOWN, Unseen, left_out

COLUMNS = (Column(6, 6), Column(3), Column(4))
GROUPS = (np.array([0, 0, 1, 1, 2, 2]), np.arange(3), np.array([0, 1, 2, 2]))


def table(seed: int = 0, rows: int = 4000) -> np.ndarray:
    """Three columns that hang together, not as a mixture of few products does."""
    generator = np.random.default_rng(seed)
    one = generator.integers(6, size=rows)
    two = (one // 2 + (generator.random(rows) < 0.2)) % 3
    three = np.where(generator.random(rows) < 0.7, (one // 2 + two) % 4, generator.integers(4, size=rows))
    return np.stack([one, two, three], axis=1)


def evidence(rows: np.ndarray, deviation: float, seed: int, law: Law = "gaussian") -> Evidence:
    generator = np.random.default_rng(seed)
    views = []
    for columns in [(), (0,), (1,), (2,), *itertools.combinations(range(3), 2)]:
        maps = [GROUPS[j] if len(columns) > 1 else np.arange(COLUMNS[j].levels) for j in columns]
        counts = np.zeros([int(m.max()) + 1 for m in maps])
        for record in rows.tolist():
            counts[tuple(m[record[j]] for j, m in zip(columns, maps, strict=True))] += 1
        noise = (
            generator.normal(0, deviation, counts.shape)
            if law == "gaussian"
            else generator.laplace(0, deviation / math.sqrt(2), counts.shape)
        )
        views.append(View(columns, counts + noise, deviation**2))
    return Evidence(COLUMNS, GROUPS, tuple(views))


def alone(reading: Reading, condition: Condition) -> Estimate:
    """The answer to a question of one column."""
    exact = reading.exact(condition)
    assert exact is not None
    return nearest(reading.modelled(condition), exact)


@pytest.mark.parametrize("first", [0, 10**9])
def test_synthetic_records_are_counted_as_true_ones_are(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oracle, `evidence`, counts record by record; NumPy and the compiled loop count alike."""
    monkeypatch.setattr(rehearsals, "numpy_first", Patience(first, first))
    rows = table()
    seen = evidence(rows, 0.0, 0)
    model = Mixture(np.ones(1), tuple(np.full((1, column.levels), 1 / column.levels) for column in COLUMNS))
    found = rehearsals.Rehearsal(np.asfortranarray(rows.astype(np.uint8)), model, seen, model)
    for view in seen.views:
        assert (rehearsals.exact_table(found, view.columns) == view.counts).all()
    many = np.arange(300)
    wide = Evidence((Column(300),), (many,), (View((0,), np.ones(300), 1.0),))
    assert (rehearsals._codes(wide, many[:, None], 0) == many).all()  # too many for a byte


def test_cells_are_summed_where_a_view_holds_the_question() -> None:
    rows = table()
    seen = evidence(rows, 1e-9, 0)
    whole = inside(seen, [(1.0, {0: [1, 1, 1, 1, 0, 0], 1: [0, 1, 1]})])
    assert whole is not None
    assert whole.value == pytest.approx(((rows[:, 0] < 4) & (rows[:, 1] > 0)).sum(), abs=1e-6)
    assert whole.variance == pytest.approx(4 * 1e-18)  # 2 groups × 2 levels
    union = [(1.0, {0: [1, 1, 0, 0, 0, 0]}), (1.0, {1: [1, 0, 0]}), (-1.0, {0: [1, 1, 0, 0, 0, 0], 1: [1, 0, 0]})]
    either = inside(seen, union)
    assert either is not None
    assert either.value == pytest.approx(((rows[:, 0] < 2) | (rows[:, 1] == 0)).sum(), abs=1e-6)


def test_no_view_holds_what_tells_grouped_levels_apart_or_spans_views() -> None:
    seen = evidence(table(), 1.0, 0)
    assert inside(seen, [(1.0, {0: [1, 0, 0, 0, 0, 0], 1: [1, 0, 0]})]) is None
    assert inside(seen, [(1.0, {0: [1, 1, 0, 0, 0, 0], 1: [1, 0, 0], 2: [1, 0, 0, 0]})]) is None
    assert inside(seen, [(1.0, {0: [1, 1, 0, 0, 0, 0]})]) is None  # of one column all views tell (`columnsums`)
    fewer = replace(seen, views=tuple(v for v in seen.views if v.columns != (0, 1)))
    assert inside(fewer, [(1.0, {0: [1, 1, 0, 0, 0, 0], 1: [1, 0, 0]})]) is None


def test_weights_are_in_the_ratio_of_inverse_variances() -> None:
    assert combined(Estimate(10.0, 1.0), Estimate(20.0, 3.0)) == (pytest.approx(12.5), pytest.approx(0.75))
    assert combined(Estimate(10.0, 0.0), Estimate(20.0, 0.0))[0] == 15.0


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("variance", [0.5, 3.0, 30.0])
def test_no_other_weight_is_better(variance: float, correlation: float) -> None:
    one, other = Estimate(0.0, 4.0), Estimate(0.0, variance)
    _, best = combined(one, other, correlation)

    def summed(w: float) -> float:
        return w**2 * 4 + (1 - w) ** 2 * variance + 2 * correlation * w * (1 - w) * math.sqrt(4 * variance)

    assert 0 <= best <= 1
    assert all(summed(best) <= summed(w) + 1e-12 for w in np.linspace(0, 1, 101))


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_a_rehearsal_repeats_the_release(law: Law, monkeypatch: pytest.MonkeyPatch) -> None:
    """Views of synthetic rows, with noise of the stated variance: 6 σ of the mean square of 37 · 8 normals (Laplace: of
    kurtosis 6) is 6 · √(5/296) = 0.78 of it; the seed is fixed."""
    seen = evidence(table(), 30.0, 1, law)
    parts = rehearse(seen, law, 7)
    assert len(parts) == rehearsals.REHEARSALS
    squares = []
    for part in parts:
        assert part.size == len(part.rows) == round(seen.count)
        exact = evidence(part.rows.astype(int), 1e-9, 0)
        for ours, true in zip(part.evidence.views, exact.views, strict=True):
            assert ours.columns == true.columns
            squares.extend(((ours.counts - true.counts) ** 2).ravel())
        asked = [(1.0, {0: [1, 1, 0, 0, 0, 0.5], 2: [0, 1, 1, 0]})]
        slow = np.mean([asked[0][1][0][x] * asked[0][1][2][z] for x, _, z in part.rows.tolist()])
        assert part.truth(asked) == pytest.approx(slow)
        yes = ((part.rows[:, 0] < 3) & (part.rows[:, 1] == 2)).mean()
        assert part.truth([(1.0, {0: [1, 1, 1, 0, 0, 0], 1: [0, 0, 1]})]) == pytest.approx(yes)
        assert part.truth([(1.0, {}), (-0.5, {})]) == 0.5
        assert part.error(asked) == pytest.approx((part.model.share(asked) * part.evidence.count) - slow * part.size)
    assert np.mean(squares) == pytest.approx(900.0, rel=0.78)
    monkeypatch.setattr(rehearsals, "MOST_ROWS", 10)
    (part,) = rehearse(seen, law, 7, times=1)  # a large table: the world itself
    assert not len(part.rows)
    assert part.size == seen.count
    assert part.truth([(1.0, {1: [1, 0, 0]})]) == pytest.approx(part.world.share([(1.0, {1: [1, 0, 0]})]))
    for view in part.evidence.views:
        assert view.counts.sum() == pytest.approx(seen.count, abs=6 * 30 * math.sqrt(view.counts.size))
        maps = [GROUPS[j] if len(view.columns) > 1 else np.arange(COLUMNS[j].levels) for j in view.columns]
        cells = np.zeros(view.counts.shape)
        for cell, share in np.ndenumerate(part.world.table(view.columns)):
            cells[tuple(group[level] for group, level in zip(maps, cell, strict=True))] += share * seen.count
        assert rehearsals.exact_table(part, view.columns) == pytest.approx(cells)


def test_the_law_is_found_again() -> None:
    """Squares of 8 normals a question: β to 6 standard errors, (XᵀX)⁻¹·2/8 being their covariance (Fisher)."""
    generator = np.random.default_rng(0)
    features = np.column_stack([np.ones(400), generator.normal(-3, 1, 400), generator.integers(1, 5, 400)])
    beta = np.array([2.0, 0.8, 0.3])
    values = np.exp(features @ beta) * generator.chisquare(8, 400) / 8
    spread = np.sqrt(np.diag(np.linalg.inv(features.T @ features)) * 2 / 8)
    assert (np.abs(gamma_regression(features, values) - beta) < 6 * spread + 0.01).all()
    assert np.isfinite(gamma_regression(features, np.zeros(400))).all()


def test_conditions_are_counted_by_the_longest_product() -> None:
    assert conditions([(1.0, {0: [1], 2: [1]}), (-1.0, {1: [1]})]) == 2
    assert conditions([(1.0, {})]) == 0


def test_errors_are_of_the_size_that_they_say() -> None:
    """True errors of all cells of three columns, in standard errors: their mean square is between ¼ and 4.

    Not a test of coverage (benchmarks/tables has that), but one that a variance in wrong units or of the wrong
    table fails: a factor of two in the deviation.
    """
    rows = table()
    ratios = []
    for seed in range(2):
        reading = Reading(evidence(rows, 25.0, seed), "gaussian", seed)
        for cell in itertools.product(range(6), range(3), range(4)):
            condition = [(1.0, {j: np.eye(COLUMNS[j].levels)[x] for j, x in enumerate(cell)})]
            estimate = reading.count(condition)
            ratios.append((estimate.value - (rows == cell).all(axis=1).sum()) ** 2 / estimate.variance)
        for j, column in enumerate(COLUMNS):
            for x in range(column.levels):
                estimate = alone(reading, [(1.0, {j: np.eye(column.levels)[x]})])
                ratios.append((estimate.value - (rows[:, j] == x).sum()) ** 2 / estimate.variance)
    assert 0.25 < np.mean(ratios) < 4


def test_the_same_reading_twice() -> None:
    seen = evidence(table(), 25.0, 0)
    condition = [(1.0, {0: [1, 1, 0, 0, 0, 0], 1: [1, 0, 0]})]
    assert Reading(seen, "gaussian", 3).count(condition) == Reading(seen, "gaussian", 3).count(condition)


def test_what_more_fits_take_off_is_known() -> None:
    errors = np.array([3.0, -4.0, 5.0])
    assert mean_square(errors, 8.0, 4) == pytest.approx(50 / 3 - 6.0)
    assert mean_square(errors, 8.0, 1) == pytest.approx(50 / 3)
    assert mean_square(errors, 80.0, 4) == pytest.approx(50 / 12)  # never less than a quarter
    seen = evidence(table(), 25.0, 0)
    reading = Reading(seen, "gaussian", 3)
    asked = [(0.5, {0: [1, 1, 0, 0, 0, 0], 2: [0, 1, 1, 0]}), (-1.0, {1: [1, 0, 0]})]
    counts = [fit.share(asked) * seen.count for fit in several(seen, 3)]
    assert reading._between(asked) == pytest.approx(np.var(counts, ddof=1))
    assert reading.model.share(asked) == pytest.approx(np.mean(counts) / seen.count)


def test_a_table_of_single_columns_has_errors_too() -> None:
    seen = evidence(table(), 25.0, 0)
    alone = replace(seen, views=tuple(v for v in seen.views if len(v.columns) < 2))
    found = Reading(alone, "gaussian", 1).count([(1.0, {0: [1, 1, 0, 0, 0, 0], 1: [1, 0, 0]})])
    assert np.isfinite(found.variance) and found.variance > 0


def test_pairs_without_a_view_widen_the_interval() -> None:
    """Columns that repeat each other, released one by one: nobody can know, and the interval says so."""
    generator = np.random.default_rng(0)
    same = generator.integers(6, size=4000)
    seen = evidence(np.stack([same, same // 2, same % 4], axis=1), 5.0, 0)
    alone = replace(seen, views=tuple(v for v in seen.views if len(v.columns) < 2))
    both = [(1.0, {0: [1, 1, 0, 0, 0, 0], 1: [1, 0, 0]})]
    known, unknown = Reading(seen, "gaussian", 1).count(both), Reading(alone, "gaussian", 1).count(both)
    assert unknown.variance > 9 * known.variance
    # φ²·p(1 − p)·q(1 − q)·n² for thirds, and little rehearsed noise beside it
    assert math.sqrt(unknown.variance) == pytest.approx(UNKNOWN * 2 / 9 * 4000, rel=0.3)


def test_conditions_finer_than_groups_are_less_certain() -> None:
    reading = Reading(evidence(table(), 5.0, 0), "gaussian", 1)
    whole = reading.unseen.variance([(1.0, {0: [1, 1, 0, 0, 0, 0], 1: [1, 0, 0]})], signed=False)
    half = reading.unseen.variance([(1.0, {0: [1, 0, 0, 0, 0, 0], 1: [1, 0, 0]})], signed=False)
    assert whole == pytest.approx(0, abs=1e-6)
    assert half > 1


def test_where_records_clump_either_part_of_a_cell_may_hold_them_all() -> None:
    """Two columns of eight levels in groups of two. On a map of spots a cell that a condition cuts may be empty."""
    columns, groups = (Column(8, 8), Column(8, 8)), (np.repeat(np.arange(4), 2),) * 2
    alone = tuple(View((j,), np.full(8, 500.0), 1.0) for j in (0, 1))
    level, spread = np.eye(4).repeat(2, axis=1) / 2, np.full((4, 8), 1 / 8)
    deviations = []
    for cells, shares in ((np.diag(np.full(4, 1000.0)), level), (np.full((4, 4), 250.0), spread)):
        seen = Evidence(columns, groups, (*alone, View((0, 1), cells, 1.0)))
        found = Unseen(seen, Mixture(np.full(4, 0.25), (shares, shares)), 0.0, ColumnSums(seen))
        cut = [(1.0, {0: np.eye(8)[0], 1: [1, 1, 0, 0, 0, 0, 0, 0]})]
        deviations.append(math.sqrt(found.variance(cut, signed=False)))
    spots, flat = deviations
    assert spots == pytest.approx(500, rel=0.02), "of the 1,000 in the cell, half are in the level by chance alone"
    assert flat < 100


def test_a_rare_word_whose_cells_are_noise_is_as_unsure_as_if_they_had_not_been_measured() -> None:
    """50 of 10,000 records have the word, and half have the other condition: φ = 0.07 is 25 records."""
    columns, deviation = (Column(2), Column(2)), LEAST * 1e4 * math.sqrt(0.005 * 0.995 / 4)
    counts = np.outer([0.005, 0.995], [5e3, 5e3])
    asked = [(1.0, {0: [1, 0], 1: [1, 0]})]
    found = []
    for noise in (4e4, 1.0):  # a quarter of it is the interaction's
        alone = (View((0,), counts.sum(1), 1.0), View((1,), counts.sum(0), 1.0))
        seen = Evidence(columns, (np.arange(2),) * 2, (*alone, View((0, 1), counts, noise)))
        found.append(math.sqrt(Reading(seen, "gaussian", 1).count(asked).variance))
    drowned, told = found
    assert drowned > 0.93 * deviation > 20 and told < 0.2 * deviation


def test_large_tables_count_the_chance_of_their_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsals, "MOST_ROWS", 10)
    reading = Reading(evidence(table(), 5.0, 0), "gaussian", 1)
    condition = [(1.0, {0: [1, 1, 1, 0, 0, 0], 1: [1, 0, 0], 2: [1, 1, 0, 0]})]
    share = reading.model.share(condition)
    assert reading.count(condition).variance > reading.evidence.count * share * (1 - share)


def test_a_law_does_not_run_away_where_questions_are_all_alike() -> None:
    """One column of two levels: shares that hardly differ, and values that differ by chance."""
    rng = np.random.default_rng(0)
    features = np.array([law_inputs(0.4 + 1e-4 * share, 1) for share in rng.uniform(size=200)])
    values = rng.gamma(2.0, 50.0, 200)
    found = gamma_regression(features, values)
    for share in (0.5, 0.08, 0.003):
        assert values.mean() / 10 < np.exp(law_inputs(share, 1) @ found) < 10 * values.mean()


@pytest.fixture(scope="module")
def reading() -> Reading:
    return Reading(evidence(table(), 25.0, 0), "gaussian", 3)


def test_what_is_always_taken_off_counts_twice(reading: Reading) -> None:
    """Errors 10 ± 3: mean square 109, and 100 less 18/2 once more. Errors ± 3 have no bias."""
    assert mean_square(np.array([7.0, 13.0]), 0.0, 1) == pytest.approx(109 + 100 - 9)
    assert mean_square(np.array([-3.0, 3.0, -3.0, 3.0]), 0.0, 1) == pytest.approx(9)
    asked = [(1.0, {0: [1, 1, 0, 0, 0, 0], 1: [1, 0, 0]})]
    square = mean_square(reading._rehearsed(asked), reading._between(asked), len(reading.fits))
    law = np.exp(reading._coefficients @ law_inputs(reading.model.share(asked), 2))
    assert reading.rehearsed_variance(asked) == pytest.approx((square + law) / 2)


def test_pairs_that_were_left_out_hide_what_the_measured_ones_tell() -> None:
    """Two conditions of a table where nine of ten records agree in two columns are correlated by 0.8, whichever."""
    agree = np.array([[0.45, 0.05], [0.05, 0.45]])
    alone = tuple(View((j,), np.full(2, 5e3), 1.0) for j in range(3))
    columns = Column(2), Column(2), Column(2, 2)  # two words of half of all records may be one word; a line has none
    seen = Evidence(columns, (np.arange(2),) * 3, (*alone, View((0, 1), 1e4 * agree, 1.0)))
    halves = (np.array([[0.9, 0.1], [0.1, 0.9]]), np.eye(2), np.full((2, 2), 0.5))
    model = Mixture(np.full(2, 0.5), halves)
    phi = left_out(seen, model, np.random.default_rng(0))
    assert phi == pytest.approx(LEFT_OUT * (0.8 / (1 / 3)) ** POWER)
    nothing = replace(model, columns=(np.full((2, 2), 0.5),) * 3)
    assert left_out(seen, nothing, np.random.default_rng(0)) == LEAST, "what was measured told nothing"
    found = Unseen(seen, model, phi, ColumnSums(seen))
    asked = [(1.0, {0: [1, 0], 2: [1, 0]})]
    # The third column was measured with no other: of its half nothing is known.
    assert found.variance(asked, signed=False) == pytest.approx(phi * UNKNOWN * seen.count**2 / 16)
    assert found.variance([(1.0, {0: [1, 0], 1: [1, 0]})], signed=False) == pytest.approx(0, abs=1e-6)
    tied = replace(seen, views=(*seen.views, View((1, 2), np.full((2, 2), 2500.0), 1.0)))
    known = Unseen(tied, model, phi, ColumnSums(tied)).variance(asked, signed=False)
    assert known == pytest.approx((phi * tied.count) ** 2 / 16)
    assert left_out(replace(seen, views=alone), model, np.random.default_rng(0)) == UNKNOWN


def test_the_world_has_the_ties_that_the_model_smooths_away() -> None:
    """A group of four levels whose records are all in one: noise hides it from the model, and not from the world."""
    columns, groups = (Column(8, 8), Column(2)), (np.repeat([0, 1], 4), np.arange(2))
    noisy = np.array([140.0, -60, 20, 10, 160, 60, -40, 30])
    views = (View((0,), noisy, 80.0**2), View((1,), np.array([160.0, 160]), 80.0**2))
    seen = Evidence(columns, groups, (*views, View((0, 1), np.full((2, 2), 80.0), 80.0**2)))
    (part,) = rehearse(seen, "gaussian", 1, times=1)
    modelled, world = (mixture.table([0]) for mixture in (part.model, part.world))
    shares = world.reshape(2, 4) / world.reshape(2, 4).sum(1, keepdims=True)
    for group, counts in zip(shares, noisy.reshape(2, 4), strict=True):
        assert group.sum() == pytest.approx(1)
        assert (group[counts < 0] == 0).all()
    assert shares.max(1).min() > 0.5
    assert seen.shapes[0].max() < 0.35  # what answers are made of
    assert modelled.sum() == pytest.approx(1)


def test_a_sparse_world_shows_that_the_model_is_too_flat() -> None:
    """One full cell of sixty, from which noise takes records away."""
    noisy = 3000.0 * np.eye(60)[7] + np.random.default_rng(0).normal(0, 100, 60)
    seen = Evidence((Column(60, 60),), (np.arange(60) // 6,), (View((0,), noisy, 100.0**2),))
    reading = Reading(seen, "gaussian", 1)
    asked = [(1.0, {0: np.eye(60)[7]})]
    errors = np.array([rehearsal.error(asked) for rehearsal in reading.rehearsals])
    assert len(errors) == rehearsals.CHEAP
    assert reading.rehearsals[0].world is reading.rehearsals[2].world is not reading.rehearsals[1].world
    assert np.mean(errors[1::2]) < -100
    assert abs(reading.count(asked).value - 3000) < 1.96 * math.sqrt(reading.count(asked).variance)


def test_single_columns_have_at_least_the_variance_of_a_projection(reading: Reading) -> None:
    """By simulation of noise in two columns: 4,000 draws tell a variance to 6 · √(2/4000) = 13 %."""
    generator = np.random.default_rng(0)
    exact = (np.array([400.0, 600]), np.array([100.0, 200, 700]))

    def seen() -> Evidence:
        views = tuple(View((j,), x + generator.normal(0, 5, len(x)), 25.0) for j, x in enumerate(exact))
        return Evidence((Column(2), Column(3)), (np.arange(2), np.arange(3)), (*views, View((), np.array(1e3), 1e-9)))

    alone = Reading(seen(), "gaussian", 1)
    asked = [(1.0, {0: [1, 0], 1: [0, 1, 1]}), (-1.0, {1: [1, 0, 0]})]
    shares = [[simplex(seen().single(j).counts / 1e3) for j in (0, 1)] for _ in range(4000)]
    counts = [1e3 * (one[0] * two[1:].sum() - two[0]) for one, two in shares]
    assert alone._projected(asked) == pytest.approx(np.var(counts), rel=0.16)  # the model's own shares differ, too
    alone.prepare()
    alone._coefficients, alone._rehearsals = np.full(4, -50.0), alone._rehearsals[:2]
    assert alone.count([(1.0, {0: [1, 0]})]).variance >= 12.5 * (1 - 1e-9)
    assert reading._projected([(1.0, {1: [1, 0, 0]})]) == 0  # with pairs, the model knows more


def test_a_sparse_world_has_the_levels_that_are_surely_not_empty() -> None:
    """Of each group, those above two and a half deviations, or the fullest; without pairs a column is one group."""
    noisy = np.array([300.0, 251, 249, 900, 100, 200])
    pair = View((0, 1), np.full((2, 2), 500.0), 1.0)
    alone = (View((0,), noisy, 100.0**2), View((1,), np.array([1000.0, 1000]), 1.0))
    seen = Evidence((Column(6, 6), Column(2)), (np.array([0, 0, 0, 0, 1, 1]), np.arange(2)), (*alone, pair))
    flat = Mixture(np.ones(1), (np.full((1, 6), 1 / 6), np.full((1, 2), 0.5)))
    found = rehearsals.sparse(flat, seen).table([0])
    assert found == pytest.approx(np.array([300, 251, 0, 900, 0, 0]) / 1451 * 2 / 3 + np.eye(6)[5] / 3, abs=1e-9)
    found = rehearsals.sparse(flat, replace(seen, views=alone)).table([0])
    assert found == pytest.approx(np.array([300, 251, 0, 900, 0, 0]) / 1451, abs=1e-9)


def test_a_model_that_is_far_from_a_views_cells_has_a_wide_interval(reading: Reading) -> None:
    asked = [(1.0, {0: [1, 1, 0, 0, 0, 0], 1: [1, 0, 0]})]
    usual = reading.count(asked)
    seen = reading.evidence
    tie = np.array([[900.0, -900.0, 0.0], [-900.0, 900.0, 0.0], [0.0, 0.0, 0.0]])
    moved = tuple(replace(v, counts=v.counts + tie) if v.columns == (0, 1) else v for v in seen.views)
    reading.evidence = replace(seen, views=moved)
    found, own = reading.count(asked), _own(reading, asked)
    reading.evidence = seen
    assert math.sqrt(found.variance) > 0.9 * abs(found.value - own.value)
    assert found.variance > 4 * usual.variance
    assert apart(own, Estimate(own.value + 3, 1.0)) == 0


def test_a_sum_of_both_signs_is_the_cells_where_the_model_has_lost_the_tie(reading: Reading) -> None:
    """How far a condition moves a column. With a third condition, the model must be as far off in its part of that."""
    sign = np.array([1.0, 1.0, -1.0, -1.0, 0.0, 0.0])
    asked, part = [(1.0, {0: sign, 1: [1, 0, 0]})], [(1.0, {0: sign, 1: [1, 0, 0], 2: [0.5] * 4})]
    seen, usual = reading.evidence, math.sqrt(reading.count(part, 0.1).variance)
    tie = np.array([[900.0, -900.0, 0.0], [-900.0, 900.0, 0.0], [0.0, 0.0, 0.0]])
    moved = tuple(replace(v, counts=v.counts + tie) if v.columns == (0, 1) else v for v in seen.views)
    reading.evidence = replace(seen, views=moved)
    found, own, third = reading.count(asked, 0.2), _own(reading, asked), reading.count(part, 0.1)
    reading.evidence = seen
    assert found.value == pytest.approx(own.value, rel=1e-6) and abs(own.value - reading.modelled(asked)) > 1500
    assert own.variance <= found.variance < 1.5 * own.variance + reading.unseen.variance(asked, signed=True)
    assert math.sqrt(third.variance) > abs(own.value - reading.modelled(asked)) / 2 > 5 * usual


def test_of_missing_cells_the_cells_tell_how_they_move_a_column() -> None:
    """A fit may do without, and rehearsals then say that nothing is lost."""
    line, gone = Column(4, 4), Column(3, 2, missing=True)
    alone = View((0,), np.full(4, 5000.0), 100.0), View((1,), np.array([9900.0, 9700.0, 400.0]), 100.0)
    both = np.outer([0.25] * 4, [9900.0, 9700.0, 400.0]) + np.outer([15.0, 15.0, -15.0, -15.0], [-1.0, 0.0, 1.0])
    seen = Evidence((line, gone), (np.arange(4), np.arange(3)), (*alone, View((0, 1), both, 400.0)))
    reading = Reading(seen, "gaussian", 1)
    asked = [(1.0, {0: np.array([1.0, 1.0, -1.0, -1.0]), 1: [0, 0, 1]})]
    own = _own(reading, asked)
    assert own.value == pytest.approx(60, abs=1) and abs(reading.modelled(asked)) < 40
    assert abs(reading.count(asked, 0.01).value - own.value) < 6
    assert math.sqrt(reading.unseen.gaps(asked)) == pytest.approx(MISSING * 20_000 * math.sqrt(0.02 * 0.98), rel=0.05)


def test_a_tie_of_usual_size_is_not_ruled_out_where_rehearsals_have_none(reading: Reading) -> None:
    """Rehearsals that never err leave the model's word; but cells and a usual tie count in a sum of both signs."""
    asked: Condition = [(1.0, {0: np.array([1.0, 1.0, -1.0, -1.0, 0.0, 0.0]), 1: [1, 0, 0]})]
    own, told = _own(reading, asked), by_groups(reading.evidence, reading.unseen.marginals, asked)
    assert told is not None
    sure = Estimate(own.value, 1e-9)
    hidden = reading.unseen.hidden(asked, own.variance)
    assert hidden > own.variance / 2
    assert (
        reading._both(sure, asked, told, signed=True).variance > 0.7 * hidden
    )  # three quarters, of two as sure readings with half of their noise in common
    assert reading._both(sure, asked, told, signed=False).variance < 0.5 * hidden


def _own(reading: Reading, asked: Condition) -> Estimate:
    """What views alone tell of a condition on the first two columns."""
    told, view = by_groups(reading.evidence, reading.unseen.marginals, asked), reading.evidence.pair((0, 1))
    assert told is not None and view is not None
    return pair_sum(reading.evidence, reading._sums, view, cells_of(reading.evidence, told))


def test_cells_keep_their_exact_law(reading: Reading) -> None:
    """Rehearsals that never err do not make an interval narrower than what its cells' own noise says."""
    asked = [(1.0, {0: [1, 1, 0, 0, 0, 0], 1: [1, 0, 0]})]
    own, told = _own(reading, asked), by_groups(reading.evidence, reading.unseen.marginals, asked)
    assert told is not None
    found = reading._both(Estimate(reading.modelled(asked), 1e12), asked, told, signed=False)
    assert found.value == pytest.approx(own.value) and found.variance >= own.variance


def test_no_count_is_surer_than_the_presence_of_one_record() -> None:
    """Two levels that seem to be empty, of columns that were not measured together: eight records would not be seen."""
    alone = tuple(View((j,), np.array([600.0, 400.0, -30.0, 30.0]), 128.0) for j in (0, 1))
    seen = Evidence((Column(4), Column(4)), (np.arange(4),) * 2, alone)
    reading = Reading(seen, "gaussian", 1)
    assert seen.record_variance == pytest.approx(64.0)
    asked: Condition = [(1.0, {0: [0, 0, 1, 0], 1: [0, 0, 1, 0]})]
    assert reading.modelled(asked) < 1e-6 and reading.count(asked).variance >= 64.0
    assert reading.count([(1.0, {0: [0, 0, 1, 0], 1: [1, -1, 0, 0]})], alike=1e-9).variance < 64.0


def test_an_interval_of_one_column_holds_however_far_the_model_is_off() -> None:
    """By the normal law itself: of a model beside the exact reading at any distance, in its standard deviations."""
    law = NormalDist()
    for confidence, least in ((0.95, 0.95), (0.9, 0.899), (0.99, 0.99)):
        for off in (0.0, 0.1, 0.3, 0.5, 0.7, 5.0):
            found = nearest(10.0 + 2.0 * off, Estimate(10.0, 4.0))
            beside, reach = (found.value - 10.0) / 2.0, deviations(confidence) * math.sqrt(found.variance) / 2.0
            assert beside == pytest.approx(min(off, 0.5))
            assert law.cdf(reach - beside) - law.cdf(-reach - beside) >= least
    assert nearest(-7.0, Estimate(10.0, 4.0)).value == 9.0


def test_a_tail_that_the_model_takes_for_empty_is_counted(reading: Reading) -> None:
    """Forty of fifty cells hold six records each, under a noise of ten: together 240, ± 63 by the exact law."""
    counts = np.concatenate([np.full(10, 1000.0), np.full(40, 6.0)])
    tail = (np.arange(50) >= 10).astype(float)
    asked = [(1.0, {0: tail})]
    for seed in range(3):
        noisy = counts + np.random.default_rng(seed).normal(0, 10, 50)
        seen = Evidence((Column(50, 50),), (np.arange(50),), (View((0,), noisy, 100.0),))
        one = Reading(seen, "gaussian", 1)
        exact = one.exact(asked)
        assert exact is not None
        assert exact.value == pytest.approx(noisy[10:].sum())
        assert exact.variance == pytest.approx(4000.0)
        found = alone(one, asked)
        assert abs(found.value - exact.value) <= 0.5 * math.sqrt(4000.0) + 1e-9
        assert not one._rehearsals  # nothing was rehearsed for that
    everything = reading.exact([(0.5, {})])
    assert everything == Estimate(0.5 * reading.evidence.count, 0.25 * reading.evidence.count_variance)
    assert reading.exact([(1.0, {0: [1, 1, 0, 0, 0, 0], 1: [1, 0, 0]})]) is None
    neither = reading.exact([(1.0, {}), (-1.0, {1: [1, 0, 0]})])
    assert neither == reading.exact([(1.0, {1: [0, 1, 1]})])
