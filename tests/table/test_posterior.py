"""Draws from the posterior, piece by piece against slower ways, and as a whole against the truth.

All chance comes from fixed seeds, so nothing here fails by chance; bounds are such that another seed would fail with a
probability below 1e-6.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.table.measuring import measured
from tests.table.people import SCHEMA, people

import scumble
from scumble.errors import CorruptFileError
from scumble.table import posterior as posterior_module
from scumble.table import prior
from scumble.table.answers import Answers
from scumble.table.counting import reference
from scumble.table.evidence import Evidence, Grouped, View, _column
from scumble.table.fitting import Problem, fitted
from scumble.table.grouping import Column
from scumble.table.margins import BANDS, Tree, level_variances, pair_margins
from scumble.table.mixture import Condition, Mixture, labeled
from scumble.table.posterior import (
    Draws,
    Posterior,
    _padded,
    _random_functions,
    brought_to,
    drawn_by_class,
    halved,
    halves,
    packed,
    perturbation,
    spread_evenly,
    unpacked,
)
from scumble.table.spec import TableSpec

COLUMNS = (Column(12, ordered=12), Column(5), Column(2))
GROUPS = (np.arange(12) // 2, np.array([0, 1, 2, 3, 3]), np.arange(2))


def table(n: int, seed: int) -> np.ndarray:
    """Three columns that depend on each other."""
    generator = np.random.default_rng(seed)
    word = generator.choice(5, n, p=[0.4, 0.3, 0.2, 0.08, 0.02])
    number = np.clip(generator.normal(4 + word, 2, n), 0, 11).astype(int)
    return np.stack([number, word, generator.random(n) < 0.1 + 0.06 * number], axis=1).astype(int)


def drawn(evidence: Evidence, law: Any, seed: int) -> Draws:
    """Of one class."""
    return drawn_by_class([evidence], law, seed)[0]


SMALL = measured(table(800, 1), COLUMNS, GROUPS, 25.0)


# ---- noise ----


@pytest.mark.parametrize(("law", "kurtosis"), [("laplace", 6.0), ("gaussian", 3.0)])
def test_the_perturbation_has_the_law_and_the_variance_of_each_view(law: Any, kurtosis: float) -> None:
    views = (View((0,), np.zeros(200), 4.0), View((1,), np.zeros(300), 9.0), View((0, 1), np.zeros((200, 300)), 25.0))
    evidence = Evidence((Column(200), Column(300)), (np.arange(200), np.arange(300)), views)
    noise = perturbation(evidence, law, np.random.default_rng(0))
    for one, view in zip(noise, views, strict=True):
        error = math.sqrt((kurtosis - 1) / one.size)  # of a variance
        assert one.shape == view.counts.shape and abs(one.var() / view.variance - 1) < 6 * error
    assert stats.kurtosis(noise[2].ravel(), fisher=False) == pytest.approx(kurtosis, rel=0.1)


def test_draws_are_antithetic(monkeypatch: pytest.MonkeyPatch) -> None:
    found, target = [], Problem.target
    monkeypatch.setattr(
        Problem, "target", lambda self, noise, chance: found.append(noise) or target(self, noise, chance)
    )
    draws = drawn(SMALL, "laplace", 3)
    sums = sorted(np.abs(one[0]).sum() for one in found)  # fits may come in any order: pairs have the same size
    np.testing.assert_array_equal(sums[::2], sums[1::2])
    np.testing.assert_allclose(sum(one[2] for one in found), 0.0, atol=1e-9)
    np.testing.assert_allclose(draws.totals.reshape(-1, 2).mean(axis=1), SMALL.total)


def test_even_numbers_are_in_pairs_and_in_each_part_once() -> None:
    found = spread_evenly(np.random.default_rng(0), 32, 7)
    np.testing.assert_allclose(found[::2] + found[1::2], 1.0)
    for column in found.T:
        assert sorted((32 * column).astype(int)) == [*range(32)]


# ---- single columns ----


@pytest.mark.parametrize(("counts", "total"), [([52.0, 8.0], 60.0), ([4.0, 3.0, 50.0], 60.0), ([40, 31, 26, 3], 90.0)])
def test_a_half_of_a_column_follows_its_posterior(counts: list[float], total: float) -> None:
    """Prior times likelihood on a fine grid: halves differ by orders of magnitude or not; noise is normal."""
    levels, variance, size = len(counts), 30.0, 40_000
    view = View((0,), np.array(counts), variance)
    evidence = Evidence((Column(levels, ordered=levels),), (np.arange(levels),), (view,))
    found = Tree(evidence, 0).draw(np.full(size, total), np.random.default_rng(0).random((size, levels)))
    np.testing.assert_allclose(found.sum(axis=1), total)
    assert (found >= 0).all()
    half = (levels + 1) // 2
    share = half / levels
    weights = np.where(np.arange(levels) < half, 1 - share, -share)
    bands = [np.linspace(low, high, 20_001) for low, high in itertools.pairwise([0.0, *BANDS[::-1]])]
    part = np.concatenate([(edges[1:] + edges[:-1]) / 2 for edges in bands])  # of what is expected of the smaller side
    own = np.concatenate([(1 - prior.UNEVEN) * np.diff(e) + prior.UNEVEN / len(BANDS) / 20_000 for e in bands])
    x = total * np.concatenate([share * part, 1 - (1 - share) * part])
    law = np.concatenate([(1 - share) * own, share * own])
    assert law.sum() == pytest.approx(1.0)
    assert law @ x == pytest.approx(share * total, rel=1e-3), "the prior expects equal records in equal parts"
    law *= stats.norm.pdf(x - share * total, weights @ counts, math.sqrt(variance * weights @ weights))
    law /= law.sum()
    left, mean = found[:, :half].sum(axis=1), law @ x
    deviation = math.sqrt(law @ (x - mean) ** 2)
    assert left.mean() == pytest.approx(mean, abs=6 * deviation / math.sqrt(size) + 0.01 * deviation)
    assert left.std() == pytest.approx(deviation, rel=0.05)
    for mark in (0.05 * total, 0.95 * total):
        assert (left < mark).mean() == pytest.approx(law[x < mark].sum(), abs=6 * 0.5 / math.sqrt(size))


@pytest.mark.parametrize("ordered", [0, 48])
def test_levels_alike_are_told_alike_though_their_noise_is_not(ordered: int) -> None:
    """Levels with low noise are covered as well as others: their half of the tree is not chosen by noise."""
    levels, count, deviation, tables, draws = 48, 100.0, 60.0, 60, 20
    column, group, generator = Column(levels, ordered=ordered), np.arange(levels), np.random.default_rng(0)
    held = np.empty((tables, levels), bool)
    for one in held:
        view = View((0,), count + deviation * generator.standard_normal(levels), deviation**2)
        each = Tree(Evidence((column,), (group,), (view,)), 0).draw(
            np.full(draws, levels * count), spread_evenly(generator, draws, levels)
        )
        far = stats.t.ppf(0.975, draws - 1) * each.std(axis=0, ddof=1) * math.sqrt(1 + 1 / draws)
        one[:] = np.abs(each.mean(axis=0) - count) <= far
    share = held.mean(axis=1)  # 5.3 standard errors: Student's law of 59 has 9e-7 beyond
    assert share.mean() >= 0.9 - 5.3 * share.std(ddof=1) / math.sqrt(tables)


def test_contrasts_and_their_variances_are_the_best_of_a_dense_model() -> None:
    """The value is linear in singles and margins of pairs; no other share of the margins has a smaller variance."""
    tree = Tree(SMALL, 0)
    margins, sure = pair_margins(SMALL, 0)
    pairs = [view.counts for view in SMALL.views if view.columns[:1] == (0,) and len(view.columns) == 2]
    slow, precisions = sum(one.sum(axis=1) / one.shape[1] for one in pairs), [1 / one.shape[1] for one in pairs]
    np.testing.assert_allclose(margins, slow / sum(precisions))
    assert sure == pytest.approx(sum(precisions) / 25.0)
    single = SMALL.single(0).counts
    for first, middle, end in ((0, 6, 12), (0, 1, 2), (3, 5, 8), (2, 6, 9)):
        share = (middle - first) / (end - first)
        weights = np.zeros(12)
        weights[tree.order[first:middle]], weights[tree.order[middle:end]] = 1 - share, -share
        between = np.bincount(GROUPS[0], weights) / 2
        values, variances = [], []
        for part in np.linspace(0, 1, 2001):
            own = weights - part * between[GROUPS[0]]
            values.append(own @ single + part * between @ margins)
            variances.append(25.0 * own @ own + part**2 * between @ between / sure)
        best = int(np.argmin(variances))
        ends = (np.array([place]) for place in (first, middle, end))
        value, variance = tree._contrast(*ends, np.array([share]))
        assert variance[0] == pytest.approx(variances[best], rel=1e-5)
        assert value[0] == pytest.approx(values[best], abs=1e-3 * np.ptp(values) + 1e-9)


def test_the_variance_of_a_level_is_the_best_of_its_views() -> None:
    sure = pair_margins(SMALL, 0)[1]
    part = np.linspace(0, 1, 2001)  # of the margin's half of the difference
    wanted = (25.0 * (1 - part / 2) ** 2 + 25.0 * (part / 2) ** 2 + part**2 / 4 / sure).min()
    np.testing.assert_allclose(level_variances(SMALL, 0), wanted, rtol=1e-5)


# ---- fits ----


SETS: dict[str, dict[tuple[int, ...], tuple[np.ndarray, ...]]] = {
    "pairs": {},
    "a triple": {(0, 1, 2): (np.arange(12) // 5, np.array([0, 1, 1, 2, 0]), np.arange(2))},
    "four": {(0, 1, 2, 3): (np.arange(12) // 6, np.arange(5), np.arange(2), np.array([0, 0, 1]))},
}


@pytest.mark.parametrize("sets", SETS)
def test_the_slope_of_a_fit_is_that_of_its_loss(sets: str) -> None:
    """Against finite differences in float64; ¼ Σ P (M − Y)², over cells and over their sums, and ½ Σ P (T − Y)²."""
    columns = (*COLUMNS, Column(3, ordered=3))
    fine = tuple(np.arange(column.levels) for column in columns)
    codes = np.column_stack([table(800, 1), np.random.default_rng(3).integers(0, 3, 800)])
    problem, generator = Problem(measured(codes, columns, fine, 25.0, larger=SETS[sets])), np.random.default_rng(2)
    target, logs = problem.target(None, generator), problem.begun(generator)
    _, (coarse, *_), (lines, *_) = problem.sums
    assert (coarse.sum(axis=1) > 1).any() and lines.any(), "some cells are coarse, and two columns are ordered"

    def loss(at: np.ndarray) -> float:
        shares = np.exp(at)
        weights = shares[-1] / shares[-1].sum()
        tables = shares / np.add.reduceat(shares, problem.starts, axis=0)[problem.column_of]
        s = np.sqrt(weights) * tables
        each = zip(problem.sums, wanted, strict=True)
        few = ((precision, s if sums is None else sums @ s, its[0]) for (sums, precision, _), its in each)
        found = sum(float((precision * (sums @ sums.T - its) ** 2).sum()) for precision, sums, its in few)
        for block, its in zip(problem.blocks, target.larger, strict=True):
            axes = [within.astype(float) @ tables[here] for here, within in zip(block.where, block.within, strict=True)]
            letters = "abcd"[: len(axes)]
            made = np.einsum(",".join(["k", *(one + "k" for one in letters)]) + "->" + letters, weights, *axes)
            found += 2 * float(block.precision) * float(((made - its) ** 2).sum())
        return found / 4

    wanted = problem.wanted([target])
    slope = problem.slope(logs[None], wanted, [one[None] for one in target.larger])[0]
    at = logs.astype(float)
    for row, column in [(0, 0), (3, 1), (7, 4), (10, 2), (len(logs) - 2, 5), (len(logs) - 1, 0), (len(logs) - 1, 3)]:
        step = np.zeros_like(at)
        step[row, column] = 1e-5
        wanted_slope = (loss(at + step) - loss(at - step)) / 2e-5
        assert slope[row, column] == pytest.approx(wanted_slope, rel=2e-3, abs=1e-5 * float(np.abs(slope).max()))


def test_a_measured_set_is_answered_within_its_noise_where_pairs_show_nothing() -> None:
    """Parity of three columns: what single columns and pairs have is the same as of independent ones."""
    generator = np.random.default_rng(1)
    codes = generator.integers(0, 2, (20_000, 4))
    codes[:, 2] = codes[:, 0] ^ codes[:, 1] ^ (generator.random(20_000) < 0.1)
    columns, own = (Column(2),) * 4, (np.arange(2),) * 4
    truth = np.zeros((2, 2, 2))
    np.add.at(truth, tuple(codes[:, :3].T), 1.0)
    found, blind = (
        drawn(measured(codes, columns, own, 400.0, larger=larger), "gaussian", 1).cells([0, 1, 2], {})
        for larger in ({(0, 1, 2, 3): own}, {})
    )
    assert np.abs(found.mean(axis=0) - truth).max() < 6 * 20 * math.sqrt(2)
    assert found.std(axis=0).max() < 3 * 20 * math.sqrt(2)
    assert np.abs(blind.mean(axis=0) - truth).max() > 1000


def test_draws_are_brought_to_margins() -> None:
    draws, generator = some_draws((8, 14), 0), np.random.default_rng(0)
    margins = [generator.dirichlet(5 * np.ones(size), 2) for size in (8, 14)]
    found = brought_to(draws, margins)
    for j, wanted in enumerate(margins):
        np.testing.assert_allclose(found.cells([j], {}) / found.totals[:, None], wanted, atol=2e-3)
        np.testing.assert_allclose(found.tables[j].sum(axis=2), 1.0, rtol=1e-5)


def test_halves_of_groups_depend_on_other_columns_and_margins_stay() -> None:
    draws = some_draws((8, 14, 3), 0)
    counts = tuple(View((j,), np.arange(1.0, size + 1), 1.0) for j, size in enumerate((8, 14, 3)))
    evidence = Evidence((Column(8, ordered=8), Column(14), Column(3)), draws.groups, counts)
    cut = halves([evidence])
    assert [one[-1].tolist() for one in cut[::2]] == [[*range(8)], [0, 1, 2]], "groups of two are cut between them"
    assert [len(one) for one in cut] == [1, 1, 1]
    found = halved(draws, cut, (4, 0, 0), np.random.default_rng(0))
    for j, ((*_, half), group) in enumerate(zip(cut, draws.groups, strict=True)):
        np.testing.assert_allclose(found.cells([j], {}), draws.cells([j], {}), rtol=1e-3)
        sums = np.einsum("mkh,hg->mkg", found.tables[j], np.eye(group.max() + 1)[group[np.unique(half, True)[1]]])
        np.testing.assert_allclose(sums, draws.tables[j], atol=1e-6)
    assert np.abs(found.cells([0, 1], {}) - draws.cells([0, 1], {})).max() > 0.1


def test_groups_of_words_are_cut_into_up_to_sixteen_parts() -> None:
    """Forty words in one group are up to four together; of ten groups of forty there are not more than twenty parts,
    or sixteen more."""
    for groups, wanted in ((1, [2, 4, 8, 16]), (10, [20]), (20, [40])):
        group = np.repeat(np.arange(groups), 40)
        (cuts,) = halves([Evidence((Column(len(group)),), (group,), (View((0,), np.ones(len(group)), 1.0),))])
        assert [int(cut.max()) + 1 for cut in cuts] == wanted
        for one, two in itertools.pairwise([group, *cuts]):
            assert np.array_equal(one, one[np.unique(two, return_index=True)[1]][two]), "parts lie in groups"
    (cuts,) = halves([Evidence((Column(40),), (np.zeros(40, int),), (View((0,), np.ones(40), 1.0),))])
    assert np.bincount(cuts[-1]).max() == 4


def test_along_a_line_a_random_function_is_a_walk_and_of_words_it_is_white_noise() -> None:
    """A walk W on (0, 1) less its mean: E W(u) W(v) = 1/3 − max(u, v) + (u² + v²)/2, here times π². Beyond 400 waves
    there is 2 Σ 1/f² < 0.005."""
    functions = _random_functions(np.full(403, 1 / 403), 400)
    covariance, place = functions @ functions.T, (np.arange(400) + 0.5) / 400
    squares = np.add.outer(place**2, place**2) / 2
    wanted = math.pi**2 * (1 / 3 - np.maximum.outer(place, place) + squares)
    np.testing.assert_allclose(covariance[:400, :400], wanted, atol=0.015)
    assert covariance[:, 400:] == pytest.approx(403 * np.eye(403)[:, 400:])


# ---- sums over draws ----


def some_draws(sizes: tuple[int, ...], seed: int) -> Draws:
    """Two draws of three components; each group has two levels, the last one perhaps one."""
    generator, groups = np.random.default_rng(seed), tuple(np.arange(size) // 2 for size in sizes)
    tables = tuple(generator.dirichlet(np.ones(int(group.max()) + 1), (2, 3)) for group in groups)
    within = generator.random((2, sum(sizes)))
    each = np.split(within, np.cumsum(sizes)[:-1], axis=1)
    shares = tuple(
        one / (one @ np.eye(group.max() + 1)[group])[:, group] for one, group in zip(each, groups, strict=True)
    )
    return Draws(generator.uniform(50, 99, 2), generator.dirichlet(np.ones(3), 2), tables, shares, groups)


@pytest.mark.parametrize("place", [None, 1])
def test_counts_and_cells_are_sums_over_all_cells(place: int | None) -> None:
    sizes = (3, 2, 5, 4)
    inner = tuple(size for j, size in enumerate(sizes) if j != place)
    posterior = Posterior([some_draws(inner, seed) for seed in range(1 if place is None else 2)], place)
    generator = np.random.default_rng(9)
    asked: Any = [
        (1.0, {0: generator.random(3), 1: np.array([1.0, 0.0])}),
        (-0.5, {2: generator.random(5), 3: np.eye(4)[2]}),
        (2.0, {1: np.array([0.25, 1.0])}),
    ]
    for draw in range(2):
        every = posterior.mixture(draw).table(range(4)) * posterior.totals[draw]
        weight = np.zeros(sizes)
        for coefficient, product in asked:
            axes = [np.asarray(product.get(j, np.ones(size))) for j, size in enumerate(sizes)]
            weight += coefficient * np.einsum("a,b,c,d->abcd", *axes)
        assert posterior.counts(asked)[draw] == pytest.approx((every * weight).sum())
        for columns in ([1], [2], [0, 1], [3, 0], [1, 2, 0]):
            kept = (every * weight).sum(axis=tuple(j for j in range(4) if j not in columns))
            kept = np.transpose(kept, [sorted(columns).index(j) for j in columns])
            np.testing.assert_allclose(posterior.cells(columns, asked)[draw], kept, atol=1e-9)
    assert posterior.counts([]).tolist() == [0.0, 0.0]
    assert posterior.cells([1, 2], []).shape == (2, 2, 5) and not posterior.cells([1, 2], []).any()
    np.testing.assert_allclose(
        posterior.mean().table([0]), np.mean([posterior.mixture(d).table([0]) for d in (0, 1)], axis=0)
    )


def test_an_answer_is_the_mean_of_its_draws_and_their_spread() -> None:
    each = np.array([3.0, 5.0, 4.0, 8.0, np.nan, 4.0])
    known = each[np.isfinite(each)]
    found = Answers.told(SimpleNamespace(identity="a"), each, 0.9, 0.0)  # type: ignore[arg-type]
    error = known.std(ddof=1) * math.sqrt(1 + 1 / 5)
    half = stats.t.ppf(0.95, 4) * error
    assert found.standard_error == pytest.approx(error)
    assert [*found] == pytest.approx([known.mean(), max(known.mean() - half, 0.0), known.mean() + half])
    even = Answers.told(SimpleNamespace(identity="a"), each, 0.9, 0.0, 9.5, np.full(6, 9.4))  # type: ignore[arg-type]
    assert [*even] == pytest.approx([9.4, max(known.mean() - half, 0.0), 9.4])


# ---- as a whole ----


def test_draws_are_tables() -> None:
    draws = drawn(SMALL, "gaussian", 5)
    again = drawn(SMALL, "gaussian", 5)
    assert len(draws.totals) == prior.DRAWS and (draws.totals > 0).all()
    np.testing.assert_allclose(draws.weights.sum(axis=1), 1.0)
    for one, same, share, group in zip(draws.tables, again.tables, draws.within, draws.groups, strict=True):
        np.testing.assert_array_equal(one, same)
        assert (one >= 0).all() and (share >= 0).all()
        np.testing.assert_allclose(one.sum(axis=2), 1.0, rtol=1e-5)
        np.testing.assert_allclose(share @ np.eye(group.max() + 1)[group], 1.0, rtol=1e-5)


def test_fine_pairs_of_many_records_are_followed() -> None:
    """Two dependent numbers, 200,000 records, 40 × 30 cells: corners of the cross-table err less than their own counts.

    The error over 32 corners and two releases is about half of that: it would have to double for this to fail.
    """
    generator, deviation = np.random.default_rng(1), 8.0
    one = generator.normal(size=200_000)
    two = 0.6 * one + 0.8 * generator.normal(size=200_000) + 0.2 * one**2
    codes = np.column_stack(
        [np.clip((x + 3) / 6 * size, 0, size - 1).astype(int) for x, size in ((one, 40), (two, 30))]
    )
    columns, fine = (Column(40, ordered=40), Column(30, ordered=30)), (np.arange(40), np.arange(30))
    errors, noise = [], []
    for seed in range(2):
        draws = drawn(measured(codes, columns, fine, deviation**2, seed), "gaussian", seed)
        for a, b in itertools.product(range(6, 38, 4), range(8, 28, 5)):
            sides = fine[0] < a, fine[1] >= b
            found = draws.masses({j: side.astype(float) for j, side in enumerate(sides)}).sum(axis=1).mean()
            errors.append(found - np.count_nonzero(sides[0][codes[:, 0]] & sides[1][codes[:, 1]]))
            noise.append(deviation * math.sqrt(sides[0].sum() * sides[1].sum()))
    assert np.sqrt(np.mean(np.square(errors))) < np.sqrt(np.mean(np.square(noise)))


def test_intervals_of_conjunctions_hold_and_are_no_wider_than_errors_ask_for() -> None:
    """Ten releases, twenty questions each of one to three columns. With a chance of 93 % each,
    fewer than 165 hold with a probability below 1e-6, by the binomial law."""
    codes, generator, held, errors, spreads = table(2_000, 6), np.random.default_rng(7), 0, [], []
    for release in range(10):
        evidence = measured(codes, COLUMNS, GROUPS, 200.0, seed=100 + release)
        posterior = Posterior([drawn(evidence, "gaussian", release)], None)
        for number in range(20):
            product, holds = {}, np.ones(len(codes), bool)
            for j in generator.choice(3, 1 + number % 3, replace=False):
                some = np.sort(codes[generator.integers(len(codes), size=2), j])
                levels = np.arange(COLUMNS[j].levels)
                meant = (levels >= some[0]) & (levels <= some[1]) if COLUMNS[j].ordered else levels == some[0]
                product[int(j)], holds = meant.astype(float), holds & meant[codes[:, j]]
            found = Answers.told(SimpleNamespace(identity=""), posterior.counts([(1.0, product)]), 0.95, 0.0)  # type: ignore[arg-type]
            held += found.low <= holds.sum() <= found.high
            errors.append(found.value - holds.sum())
            spreads.append(found.standard_error)
    assert stats.binom.cdf(164, 200, 0.93) < 1e-6
    assert held >= 165
    assert 0.7 < math.sqrt(np.mean(np.square(errors)) / np.mean(np.square(spreads))) < 1.3


@pytest.mark.parametrize("older", [False, True])
def test_stored_draws_are_read_whether_or_not_groups_are_cut_in_two(
    monkeypatch: pytest.MonkeyPatch, older: bool
) -> None:
    if older:
        monkeypatch.setattr(posterior_module, "halved", lambda draws, *_: draws)
    draws = drawn(SMALL, "gaussian", 5)
    (found,) = unpacked(packed([draws]), [SMALL])
    groups = SMALL.groups if older else [cuts[-1] for cuts in halves([SMALL])]
    for one, group, same in zip(found.groups, groups, draws.groups, strict=True):
        assert one.tolist() == group.tolist() == same.tolist()
    for columns in ([0], [0, 1], [1, 2]):
        np.testing.assert_allclose(found.cells(columns, {}), draws.cells(columns, {}), atol=0.2)


def test_classes_have_draws_of_one_shape() -> None:
    """However different they are: components without weight change no answer."""
    plain = Evidence(COLUMNS, GROUPS, tuple(View(v.columns, np.full(v.counts.shape, 50.0), 25.0) for v in SMALL.views))
    joined = [rich, poor] = drawn_by_class([SMALL, plain], "gaussian", 5)
    assert rich.weights.shape == poor.weights.shape and len({one.tables[0].shape for one in joined}) == 1
    more = _padded(rich, 3)
    for product in ({}, {0: np.arange(12) < 5}, {0: np.arange(12) < 5, 1: np.arange(COLUMNS[1].levels) < 1}):
        np.testing.assert_allclose(more.masses(product).sum(axis=1), rich.masses(product).sum(axis=1))


def test_noise_in_empty_cells_takes_little_from_a_correlation() -> None:
    """Products cannot be negative, so a fit cannot follow noise in empty cells; its correlation stays near that of the
    noisy cells, which is unbiased. The mean of 8 fits is off by .06; without lines, by .15."""
    places, fits, noise = np.arange(16.0), [], 60.0
    cells = np.exp(-((places[:, None] - places) ** 2) / 8 - (places[:, None] - 7.5) ** 2 / 32)
    cells *= 20_000 / cells.sum()

    def correlation(table: np.ndarray) -> float:
        one, two = (places - places @ table.sum(1 - axis) / table.sum() for axis in range(2))
        return float(one @ table @ two / math.sqrt((table.sum(1) @ one**2) * (table.sum(0) @ two**2)))

    for seed in range(8):
        noisy = cells + noise * np.random.default_rng(seed).standard_normal(cells.shape)
        singles = tuple(View((j,), cells.sum(1 - j), noise**2 / 4) for j in range(2))
        views = (*singles, View((0, 1), noisy, noise**2))
        found = fitted(Evidence((Column(16, ordered=16),) * 2, (np.arange(16),) * 2, views), seed)
        fits.append(correlation(np.einsum("k,ka,kb->ab", found.weights, *found.columns)))
    assert np.mean(fits) == pytest.approx(correlation(cells), abs=0.09)


# ---- closed forms of a mixture of products against sums over all cells of small tables ----


SIZES = (3, 2, 4)
CELLS = list(itertools.product(*(range(size) for size in SIZES)))


def mixture(seed: int = 0, components: int = 5, sizes: tuple[int, ...] = SIZES) -> Mixture:
    generator = np.random.default_rng(seed)
    columns = tuple(generator.dirichlet(np.ones(size), components) for size in sizes)
    return Mixture(generator.dirichlet(np.ones(components)), columns)


def chances(model: Mixture) -> dict[tuple[int, ...], float]:
    """p(x) of every cell, by the definition."""
    return {
        cell: sum(
            model.weights[k] * math.prod(model.columns[j][k, x] for j, x in enumerate(cell))
            for k in range(len(model.weights))
        )
        for cell in CELLS
    }


def weight(condition: Condition, cell: tuple[int, ...]) -> float:
    return sum(c * math.prod(np.asarray(v)[cell[j]] for j, v in product.items()) for c, product in condition)


UNION: Condition = [(1.0, {0: [1, 0, 1]}), (1.0, {2: [0, 1, 1, 0]}), (-1.0, {0: [1, 0, 1], 2: [0, 1, 1, 0]})]
DISJOINT: Condition = [(1.0, {0: [1, 0, 0], 1: [0, 1]}), (1.0, {0: [0, 0, 1]})]
SOFT: Condition = [(1.0, {0: [0.5, 0.25, 1.0], 2: [1, 0, 0.5, 0]})]
CONDITIONS = [UNION, DISJOINT, SOFT]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_shares_tables_and_means_are_sums_over_cells(condition: Condition) -> None:
    model = mixture()
    p = chances(model)
    assert sum(p.values()) == pytest.approx(1)
    share = sum(p[cell] * weight(condition, cell) for cell in CELLS)
    assert model.share(condition) == pytest.approx(share, abs=1e-12)
    for columns in [(0,), (2, 0), (0, 1, 2)]:
        slow = np.zeros([SIZES[j] for j in columns])
        for cell in CELLS:
            slow[tuple(cell[j] for j in columns)] += p[cell] * weight(condition, cell)
        np.testing.assert_allclose(model.table(columns, condition), slow, atol=1e-12)


def test_records_that_meet_a_product_are_a_mixture_again() -> None:
    model = mixture()
    product = {0: [0.5, 0.0, 1.0], 2: [0, 1, 1, 0]}
    p, given = chances(model), chances(model.given(product))
    total = sum(p[cell] * weight([(1.0, product)], cell) for cell in CELLS)
    for cell in CELLS:
        assert given[cell] == pytest.approx(p[cell] * weight([(1.0, product)], cell) / total, abs=1e-12)


def test_classes_come_in_as_a_column() -> None:
    parts = [mixture(1, sizes=(3, 4)), mixture(2, components=3, sizes=(3, 4))]
    model = labeled(parts, [30.0, 10.0], column=1)
    for c, share in ((0, 0.75), (1, 0.25)):
        np.testing.assert_allclose(model.table([0, 1, 2])[:, c], share * parts[c].table([0, 1]))
    assert labeled(parts, [-3.0, 10.0], column=1).share([(1.0, {1: [1, 0]})]) == 0
    assert labeled(parts, [-3.0, -1.0], column=1).share([(1.0, {1: [1, 0]})]) == pytest.approx(0.5)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_draws_have_the_law(condition: Condition) -> None:
    """Bernstein: P(|k/n − p| > t) ≤ 2 exp(−n t²/(2p(1 − p) + 2t/3)); t is where that is 10⁻⁸ for each of 24 cells.

    False alarms: 3 conditions · 24 cells · 10⁻⁸ < 10⁻⁶ for a random seed; this one is fixed.
    """
    model, size = mixture(), 40_000
    rows = model.draw(size, np.random.default_rng(3), condition)
    assert rows.shape == (size, 3)
    p = chances(model)
    total = sum(p[cell] * weight(condition, cell) for cell in CELLS)
    seen = dict.fromkeys(CELLS, 0)
    for cell in map(tuple, rows.tolist()):
        seen[cell] += 1
    log = math.log(2e8)
    for cell in CELLS:
        share = p[cell] * weight(condition, cell) / total
        variance = share * (1 - share)
        bound = log / (3 * size) + math.sqrt((log / (3 * size)) ** 2 + 2 * variance * log / size)
        assert abs(seen[cell] / size - share) <= bound
        assert share > 0 or not seen[cell]


def test_draws_are_those_of_one_component_after_the_other() -> None:
    """The same numbers from the same generator, searched for by NumPy, component by component."""
    model, size = mixture(components=7, sizes=(5, 1, 300)), 500
    generator = np.random.default_rng(5)
    counts = generator.multinomial(size, model.weights)
    slow = np.empty((size, 3), np.int64)
    for j, table in enumerate(model.columns):
        place = 0
        for k in np.flatnonzero(counts):
            above = np.cumsum(table[k])
            uniform = generator.random(counts[k]) * above[-1]
            slow[place : place + counts[k], j] = np.searchsorted(above, uniform, side="right")
            place += counts[k]
    assert (model.draw(size, np.random.default_rng(5)) == slow[generator.permutation(size)]).all()


def test_nothing_is_drawn_where_nothing_can_be() -> None:
    model = mixture()
    for condition in ([(1.0, {0: [0, 0, 0]})], [], [(-1.0, {})], [(1.0, {}), (-1.0, {})]):
        assert model.draw(5, np.random.default_rng(0), condition).shape == (0, 3)
    assert model.draw(0, np.random.default_rng(0)).shape == (0, 3)


# ---- how the counters of a release lie ----


def grouped(target: str | None) -> Grouped:
    """Every other pair, and pairs of levels."""
    spec = TableSpec.of(SCHEMA, target=target, levels=6)
    return Grouped(spec, tuple(np.arange(int(axis.max()) + 1) // 2 for axis in spec.axes), spec.pairs[::2])


@pytest.mark.parametrize("target", [None, "sex"])
def test_models_get_the_counts_of_each_class(target: str | None) -> None:
    found = grouped(target)
    spec = found.spec
    codes = np.asarray(SCHEMA.find(people(200), positions=spec.placed)[0].codes)
    rows = np.split(reference(spec, codes), np.cumsum(spec.lengths)[:-1])
    published = rows[: spec.singles]
    for pair in found.pairs:
        cells = found.cells(pair)
        folded = np.zeros(cells.max() + 1, np.int64)
        np.add.at(folded, cells, rows[spec.singles + spec.pairs.index(pair)])
        published.append(folded)
    counts = np.concatenate(published)
    assert len(counts) == found.length
    variances = [0.0, *range(1, len(published))]
    evidence = found.evidence(counts, variances, (200.0, 0.0))
    assert len(evidence) == spec.classes
    for c, one in enumerate(evidence):
        mine = codes if spec.place is None else codes[codes[:, spec.place] == c]
        levels = [mine[:, j] for j in spec.counted]
        coarse = [found.groups[j][spec.axes[j]][mine[:, j]] for j in spec.counted]
        views = list(one.views)
        if target is None:
            count = views.pop()
            assert count.columns == () and count.counts == 200.0 and count.variance == 1e-9
        else:
            assert views[0].columns == () and views[0].counts == len(mine)
        assert [view.variance for view in views] == [max(variances[row], 1e-9) for row in found.crosstabs]
        for (column, digit), view in one.positions.items():
            place = len(SCHEMA) + spec.placed.index((spec.counted[column], digit))
            np.testing.assert_array_equal(view.counts, np.bincount(mine[:, place], minlength=spec.sizes[place]))
            assert view.variance == max(variances[place - len(SCHEMA) + (target is not None)], 1e-9)
        assert len(one.positions) == 2
        pairs = [view.columns for view in views if len(view.columns) == 2]
        assert [tuple(spec.counted[k] for k in pair) for pair in pairs] == list(found.pairs)
        for view in views:
            wanted = np.zeros(view.counts.shape)
            of = levels if len(view.columns) == 1 else coarse
            np.add.at(wanted, tuple(of[k] for k in view.columns), 1 if view.columns else len(mine))
            np.testing.assert_array_equal(view.counts, wanted)
    assert all(view.columns for view in found.evidence(counts, variances, None)[0].views) == (target is None)


def test_columns_as_models_see_them() -> None:
    schema = scumble.Schema(
        rain=scumble.Number(0, 100, cells=4, zeros=True, missing=True),
        sex=scumble.Category(["a", "b"], missing=True),
        day=scumble.Date("2024-01-01", "2024-01-31"),
    )
    spec = TableSpec.of(schema)
    days = schema["day"].size
    assert [_column(spec, j) for j in range(3)] == [
        Column(6, ordered=5, missing=True, lone=0),
        Column(4, missing=True),
        Column(days, ordered=days),
    ]


def test_groups_that_are_none_are_refused() -> None:
    good = grouped("sex")
    good.check()
    one, *others = good.groups
    pairs = good.pairs
    changes: list[dict[str, Any]] = [
        {"pairs": pairs[::-1]},
        {"pairs": (*pairs, pairs[-1])},
        {"pairs": (*pairs, (0, 99))},
        {"groups": (one[1:], *others)},
        {"groups": (one + 1, *others)},
        {"groups": (one * 2, *others)},
    ]
    for change in changes:
        with pytest.raises(CorruptFileError):
            replace(good, **change).check()
