"""Words that have most of their records in one place: how far they differ, and how far intervals reach for them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from tests.rates import most, normal

import scumble
from scumble.views.budgeting import Law
from scumble.views.estimates import Estimate
from scumble.views.evidence import Evidence, View
from scumble.views.grouping import Column
from scumble.views.intervals import Reading
from scumble.views.mixture import Condition
from scumble.views.ties import seen_above, tie, unseen_above

LAWS: tuple[Law, ...] = ("laplace", "gaussian")


def gini(shares: np.ndarray) -> float:
    return float(1 - (shares**2).sum())


def test_a_tie_is_the_part_of_a_column_s_variance_that_words_tell() -> None:
    """Of words with as many records each it is Goodman and Kruskal's τ: how much less two records differ, whose word is
    the same."""
    cells = np.random.default_rng(1).dirichlet(np.full(5, 0.4), size=30) * 1000
    alike = np.mean([gini(row / row.sum()) for row in cells])
    wanted = 1 - alike / gini(cells.sum(axis=0) / cells.sum())
    view = View((0, 1), cells, 0.0)
    assert tie(view, 0, np.arange(30)) == pytest.approx(wanted)
    assert tie(View((0, 1), cells.T, 0.0), 1, np.arange(30)) == pytest.approx(wanted)
    assert 0 < tie(view, 1, np.arange(5)) < 1


def test_pools_and_noise_make_no_tie() -> None:
    """What noise adds is taken off: of 200 draws the mean is off by less than chance lets it be."""
    generator, shares = np.random.default_rng(2), np.array([0.4, 0.3, 0.2, 0.1])
    pool = np.vstack([np.outer(np.full(12, 500.0), shares), 900 * np.eye(4)[:1]])
    assert tie(View((0, 1), pool, 0.0), 0, np.append(np.arange(12), [12, 12])) < 0.1
    half = 500 * (shares + np.eye(4)[np.arange(12) % 4]) / 2
    noise = generator.laplace(0.0, 30.0, (200, *half.shape))
    found = [tie(View((0, 1), half + one, 1800.0), 0, np.arange(12)) for one in noise]
    exact = tie(View((0, 1), half, 0.0), 0, np.arange(12))
    assert abs(np.mean(found) - exact) < normal() * np.std(found) / math.sqrt(len(found)) + 0.01
    assert 12 * 4 * 1800 / 500**2 / 12 > 0.02, "noise that is left in would be seen"


def test_nothing_is_said_of_words_that_nobody_sees() -> None:
    assert tie(View((0, 1), np.array([[9.0, 1.0], [0.0, 5.0]]), 1.0), 0, np.array([0, 0, 1, 1])) == 0.0
    assert tie(View((0, 1), np.array([[9.0], [3.0]]), 1.0), 0, np.arange(2)) == 0.0


@pytest.mark.parametrize("tied", [0.2, 0.5, 0.8])
def test_an_unseen_word_reaches_as_far_as_a_random_record_of_it_tells(tied: float) -> None:
    """Words drawn by Dirichlet's law around their pool; of a random record's place, their share is seldom beyond. There
    are 20,000 words; the rest is taken at its mean, so that more are beyond than one in forty, and fewer than three."""
    generator, shares = np.random.default_rng(3), np.full(20, 0.05)
    words = generator.dirichlet(shares * (1 / tied - 1), size=20_000)
    words = np.nan_to_num(words)
    place = (words.cumsum(axis=1) > generator.random((len(words), 1))).argmax(axis=1)
    held = words[np.arange(len(words)), place]
    for chance in (0.025, 0.1):
        above = unseen_above(0.05, tied, Estimate(1.0, 0.0), "laplace", chance)
        assert chance / 3 < np.mean(held > 0.05 + above + 1e-12) < 3 * chance or above == pytest.approx(0.95, abs=1e-3)


def test_how_many_records_a_word_has_is_unsure_too() -> None:
    assert unseen_above(0.2, 1.0, Estimate(30.0, 16.0), "gaussian", 0.025) == pytest.approx(24 + 1.96 * 4, rel=1e-3)
    assert unseen_above(0.2, 1.0, Estimate(-30.0, 16.0), "gaussian", 0.025) == pytest.approx(1.96 * 4, rel=1e-3)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("tied", [0.1, 0.4, 0.9])
def test_a_cell_reaches_what_it_holds_by_bayes_rule(law: Law, tied: float) -> None:
    """In a world where odds of t² say that the word has its place there, anything up to all its records: few have more
    than the interval reaches, in 100,000 draws. What the cell tells less than was answered, it is not asked for."""
    generator, records, deviation, value = np.random.default_rng(4), 80.0, 12.0, 3.0
    there = generator.random(100_000) < tied**2 / (1 + tied**2)
    truth = np.where(there, generator.uniform(0, records, len(there)), value)
    noise = generator.laplace(0, deviation / math.sqrt(2), len(there)) if law == "laplace" else None
    own = truth + (generator.normal(0, deviation, len(there)) if noise is None else noise)
    beyond = reached = 0
    for one, count in zip(own.tolist(), truth.tolist(), strict=True):
        above = seen_above(value, Estimate(one, deviation**2), tied, records, law, 0.025)
        reached += above > 0
        beyond += one > value and count > value + above
    assert reached > 0 and above <= records - value
    assert beyond <= most(len(there), 0.025)


@pytest.mark.parametrize("law", LAWS)
def test_a_cell_that_is_no_surprise_reaches_nowhere(law: Law) -> None:
    for own, tied in ((10.0, 0.03), (5.0, 0.3), (-9.0, 0.8), (40.0, 0.0)):
        assert seen_above(4.0, Estimate(own, 144.0), tied, 300.0, law, 0.025) == 0.0
    assert seen_above(4.0, Estimate(1e6, 144.0), 0.1, 300.0, law, 0.025) == 296.0


TOWNS, REGIONS = 120, 20


def towns(seed: int) -> tuple[pd.DataFrame, scumble.Schema]:
    """Towns of skewed sizes, each in one region."""
    generator, shares = np.random.default_rng(seed), 1 / np.arange(1, TOWNS + 1) ** 0.6
    town = generator.choice(TOWNS, 6000, p=shares / shares.sum())
    region = generator.integers(0, REGIONS, TOWNS)[town]
    words, parts = (
        scumble.Category([str(k) for k in range(size)], other=False, missing=False) for size in (TOWNS, REGIONS)
    )
    frame = pd.DataFrame({"town": town.astype(str), "region": region.astype(str), "ill": generator.random(6000) < 0.2})
    return frame, scumble.Schema(town=words, region=parts, ill=scumble.Boolean())


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_a_town_s_own_region_holds_all_of_it(epsilon: float) -> None:
    """Of towns with 20 records and more, most of which are counted together; in two columns and in three.

    A 95 % interval fails in one of twenty; a binomial number of as many towns leaves `most` once in a billion."""
    frame, schema = towns(5)
    release = scumble.TableSketch(schema).update(frame).release(epsilon=epsilon)
    assert np.bincount(release.groups["town"]).max() > 20 and ("town", "region") in release.views
    sizes = frame.groupby(["town", "region"])["ill"].agg(["size", "sum"])
    full = sizes[sizes["size"] >= 20]
    for truths, also in ((full["size"], ""), (full["sum"], " and ill")):
        missed = 0
        for (town, region), truth in truths.items():
            found = release.count(f"town == '{town}' and region == '{region}'{also}")
            missed += not found.low <= truth <= found.high
        assert missed <= most(len(full), 0.05, 1e-8), f"{missed} of {len(full)}"
    town, region = full.index[-1]
    grouped = release.count(f"town == '{town}'", by="region").set_index("region")
    assert grouped.loc[region, "high"] == release.count(f"town == '{town}' and region == '{region}'").high


def test_words_without_ties_reach_no_farther() -> None:
    """Regions by chance: no interval of a town is longer for what ties there might be, or hardly."""
    frame, schema = towns(6)
    frame["region"] = np.random.default_rng(7).permutation(frame["region"])
    answers = scumble.TableSketch(schema).update(frame).release(epsilon=1.0)._answers
    wider = []
    for town in range(TOWNS):
        asked: Condition = [(1.0, {0: np.eye(TOWNS)[town], 1: np.eye(REGIONS)[town % REGIONS]})]
        found = answers.count(asked)
        wider.append(max(answers.above(asked, 0.025, found.value) / math.sqrt(found.variance) - 1.96, 0.0))
    assert np.mean(wider) < 0.1


def test_what_a_fit_has_lost_is_reached_by_the_cell_itself() -> None:
    """Ten words with a place each, of which the fit, here told another cell, keeps nine."""
    size, group = 10, np.arange(10)
    cells = np.diag(np.full(size, 400.0))
    cells[0] = 4.0
    views = View((0,), cells.sum(1), 4.0), View((1,), cells.sum(0), 4.0), View((0, 1), cells, 100.0)
    reading = Reading(Evidence((Column(size), Column(size)), (group, group), views), "laplace", 1)
    asked: Condition = [(1.0, {0: np.eye(size)[0], 1: np.eye(size)[0]})]
    assert reading.above(asked, 0.025) < 20
    cells[0, 0] = 4.0 + 30.0
    above = reading.above(asked, 0.025, 4.0)
    assert 24 < above <= 37, "as many as the cell says, but no more than the word has"
    assert reading.above([(2.0, asked[0][1])], 0.025, 4.0) == pytest.approx(2 * above)
    assert reading.above([(1.0, {0: np.ones(size), 1: np.eye(size)[0]})], 0.025) < 1.0
