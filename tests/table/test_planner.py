"""Plans of a table's release, played without noise: what comes in which order, and whether it can be paid."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import scumble
from scumble.gate.rows import NONE, Contest, PublishedRow, PublishedRows
from scumble.privacy.budget import Budget
from scumble.table.budgeting import plan
from scumble.table.counting import reference
from scumble.table.planner import Planner, alone, evidence_of, grouped_by, records_of
from scumble.table.prior import CHOOSING, EXTRA
from scumble.table.sketch import COUNT_SHARE, price
from scumble.table.spec import TableSpec

SCHEMA = scumble.Schema(
    age=scumble.Number(0, 29, whole=True, cells=30),
    town=scumble.Category(list("abcde")),
    smoker=scumble.Boolean(),
    visits=scumble.Number(1, 9, whole=True, missing=True),
    owner=scumble.Boolean(),
)
RICH = Budget.of(10**6, count_share=COUNT_SHARE)
LAPLACE, GAUSSIAN = Budget.of(1, count_share=COUNT_SHARE), Budget.of(1, 1e-6, count_share=COUNT_SHARE)


class Played:
    """A plan carried out on exact counters."""

    def __init__(
        self, records: int, budget: Budget, target: str | None = None, n: int | None = None, **sets: Any
    ) -> None:
        counted = [name for name in SCHEMA if name != target]
        pairs = {} if sets else {"pairs": tuple(itertools.combinations(counted, 2))}  # and no triples
        self.spec = TableSpec.of(SCHEMA, target=target, **sets, **pairs)
        self.planner = Planner(self.spec, budget, n)
        rng = np.random.default_rng(0)
        codes = np.column_stack([rng.integers(0, size, records) for size in SCHEMA.sizes])
        rows = np.split(reference(self.spec, codes), np.cumsum(self.spec.lengths)[:-1])
        self.found = PublishedRows((), price(self.spec, budget), records, 1.0, "")
        self.winners: tuple[int, ...] = ()
        self.shares: dict[int, Fraction] = {}
        self.contests: list[Contest] = []
        while step := self.planner(self.found, self.winners):
            if isinstance(step, Contest):
                self.contests.append(step)
                self.winners = (*self.winners, self.names(step))
                continue
            for row, wanted in step.items():
                counts = rows[row] if wanted.groups is None else np.bincount(wanted.groups, rows[row]).astype(int)
                self.shares[row] = wanted.share
                made = PublishedRow(row, counts, 1.0, wanted.groups, Fraction(1))
                self.found = self.found._replace(rows=tuple(sorted((*self.found.rows, made), key=lambda one: one.row)))

    def names(self, contest: Contest) -> int:
        """Who wins."""
        return max(contest.groups)

    @property
    def paid(self) -> Fraction:
        return sum(self.shares.values()) + sum(contest.share for contest in self.contests)


CASES: dict[str, tuple[int, Budget, str | None, str]] = {
    "many records": (10**6, LAPLACE, None, "all pairs"),
    "some": (2500, LAPLACE, None, "adaptive"),
    "some in classes": (5000, LAPLACE, "owner", "adaptive"),
    "few": (40, LAPLACE, None, "singles"),
    "Gaussian noise": (30_000, GAUSSIAN, None, "all pairs"),
    "Gaussian noise and classes": (30_000, GAUSSIAN, "town", "all pairs"),
    "Gaussian noise and few": (40, GAUSSIAN, None, "singles"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_planned_is_paid_and_predicted(case: str) -> None:
    records, budget, target, choice = CASES[case]
    played = Played(records, budget, target)
    spec, planner, singles = played.spec, played.planner, played.spec.singles
    predicted = planner.predicted(records)
    assert predicted.plan.choice == choice
    largest = Fraction(1, planner.most)
    assert 0.98 < played.paid <= 1 and max(played.shares.values()) <= largest
    assert sorted(played.shares) == [row.row for row in played.found.rows]
    assert list(range(singles)) == sorted(played.shares)[:singles]
    deviations = [planner.noise.deviation_at(float(share)) for share in played.shares.values()]
    assert predicted.singles == pytest.approx(deviations[:singles])
    pairs = len(played.shares) - singles
    assert pairs == {"all pairs": len(spec.pairs), "adaptive": predicted.plan.rounds, "singles": 0}[choice]
    assert len(predicted.pairs) == pairs and len(played.contests) == (pairs if choice == "adaptive" else 0)
    assert predicted.pairs == pytest.approx(
        deviations[singles:], rel=1e-9 if choice == "adaptive" and not target else 0.2
    )
    cells = sum(len(row.counts) for row in played.found.rows[singles:])
    assert cells / 2 <= predicted.cells <= 6 * cells
    assert planner.grouped.pairs == tuple(spec.pairs[row - singles] for row in sorted(played.shares)[singles:])
    for row in played.found.rows[singles:]:
        assert row.groups is not None and np.array_equal(
            row.groups, planner.grouped.cells(spec.pairs[row.row - singles])
        )
    done = set(range(singles))
    for contest, winner in zip(played.contests, played.winners, strict=True):
        assert set(contest.groups) == set(contest.expected) == set(contest.handicaps) == set(range(spec.rows)) - done
        assert contest.share == played.shares[winner] * CHOOSING / (1 - CHOOSING)
        deviation = planner.noise.deviation_at(float(played.shares[winner]))
        for row, cells in contest.groups.items():
            assert len(contest.expected[row]) == cells.max() + 1
            assert contest.handicaps[row] == round(math.sqrt(2 / math.pi) * deviation * (cells.max() + 1))
        done.add(winner)


NAMED: dict[str, Any] = {"together": [SCHEMA.names[:3]]}


@pytest.mark.parametrize("budget", [LAPLACE, GAUSSIAN], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("target", [None, SCHEMA.names[-1]])
def test_triples_are_asked_about_after_pairs_and_published_if_they_win(budget: Budget, target: str | None) -> None:
    played = Played(10**6, budget, target, **NAMED)
    spec, planner = played.spec, played.planner
    triples = [row for row in range(spec.rows) if row >= spec.singles + len(spec.pairs) + len(spec.together)]
    assert planner._plan is not None and 0 < planner._plan.triple_rounds <= 4
    ours = [contest for contest in played.contests if set(contest.groups) <= set(triples)]
    assert len(ours) == min(planner._plan.triple_rounds, len(triples)) and all(one.or_none for one in ours)
    assert 0.98 < played.paid <= 1 and max(played.shares.values()) <= Fraction(1, planner.most)
    assert planner.grouped.rows == tuple(sorted(played.shares))
    (named,) = spec.together
    assert named in planner.grouped.larger and len(planner.grouped.larger) == 1 + len(ours)
    for row in played.found.rows[spec.singles :]:
        own = spec.sets[row.row - spec.singles]
        assert row.groups is not None and np.array_equal(row.groups, planner.grouped.cells(own))
    records = 10**6 / spec.classes
    for contest, winner in zip(ours, played.winners[-len(ours) :], strict=True):
        deviation = planner.noise.deviation_at(float(played.shares[winner]))
        for row, cells in contest.groups.items():
            assert contest.expected[row].shape == (cells.max() + 1,)
            each = (cells.max() + 1) / spec.classes
            assert each == 8 or deviation * each**2 <= records * 1.01
            assert contest.expected[row].sum() == pytest.approx(10**6, rel=0.02)


def test_where_no_triple_stands_out_none_is_published_and_the_contest_ends() -> None:
    class Nobody(Played):
        def names(self, contest: Contest) -> int:
            return NONE if contest.or_none else max(contest.groups)

    played = Nobody(10**6, GAUSSIAN, **NAMED)
    assert len(played.contests) == 1 and played.winners == (NONE,)
    assert len(played.planner.grouped.larger) == 1
    assert 1 - played.paid == pytest.approx(EXTRA, rel=0.3)


@pytest.mark.parametrize("budget", [LAPLACE, GAUSSIAN], ids=["Laplace", "Gaussian"])
def test_what_is_important_gets_more_of_the_budget_and_more_levels(budget: Budget) -> None:
    one, two = SCHEMA.names[:2]
    plain, moved = Played(3000, budget, important=[]), Played(3000, budget, important=[(one, two)])
    row = moved.spec.singles + moved.spec.pairs.index((0, 1))
    assert moved.shares[row] > 1.5 * plain.shares.get(row, Fraction(0))
    assert all(a >= b for a, b in zip(moved.planner.grouped.sizes[:2], plain.planner.grouped.sizes[:2], strict=True))
    assert 0.9 < moved.paid <= 1 and max(moved.shares.values()) <= Fraction(1, moved.planner.most)
    alone = Played(3000, budget, important=[one])
    assert alone.shares[0] / alone.shares[1] > 1.2 * plain.shares[0] / plain.shares[1]
    assert all(alone.spec.singles + k in alone.shares for k, own in enumerate(alone.spec.pairs) if 0 in own)


WIDE = {f"c{k}": scumble.Number(0, 99, whole=True) for k in range(40)}


def test_a_plan_knows_how_many_columns_would_have_all_their_pairs() -> None:
    """The columns that it names bear all their pairs, one more does not."""
    planner = Planner(TableSpec.of(WIDE), GAUSSIAN)
    columns = planner.columns_of_all_pairs(500)
    assert 2 < columns < 40 and len(planner.advice(500)) == 1 and planner.advice(10**8) == []
    for some, choice in ((columns, "all pairs"), (columns + 1, "singles")):
        schema = dict(itertools.islice(WIDE.items(), some))
        assert Planner(TableSpec.of(schema), GAUSSIAN).predicted(500).plan.choice == choice


def test_a_release_says_so_before_its_budget_is_spent() -> None:
    sketch = scumble.TableSketch(WIDE).update({name: [1, 2, 3] for name in WIDE})
    with pytest.warns(UserWarning, match="no pair"), pytest.raises(scumble.BudgetError):
        sketch.release(epsilon=0.1, n=500, keep=True)


@pytest.mark.parametrize(("n", "choice"), [(40, "singles"), (10**6, "all pairs")])
def test_a_number_that_is_public_decides_in_the_counts_place(n: int, choice: str) -> None:
    played = Played(2500, LAPLACE, n=n)
    assert played.planner.predicted(n).plan.choice == choice and (len(played.shares) > played.spec.singles) == (n > 40)


def test_no_view_has_more_than_any_plan_gives() -> None:
    """Of equal columns one has 1 in so many if nothing else is published; of pairs one has twice its part of 85 %."""
    for columns, most in ((2, 1), (4, 3), (8, 8)):
        spec = TableSpec.of({f"c{k}": scumble.Boolean() for k in range(columns)})
        assert Planner(spec, LAPLACE).most == most
        assert Planner(TableSpec.of(spec.schema, pairs=()), LAPLACE).most == columns


def test_shares_follow_weights_up_to_what_a_view_may_have() -> None:
    planner = Planner(TableSpec.of({f"c{k}": scumble.Boolean() for k in range(8)}), LAPLACE)
    sizes = itertools.combinations([16, *SCHEMA.sizes[1:]], 2)  # no column has more than 16 levels in a pair
    assert Planner(TableSpec.of(SCHEMA), LAPLACE)._cells == pytest.approx(np.mean([a * b for a, b in sizes]))
    shares = planner._shares(np.array([8.0, 4.0, 2.0, 1.0]), 0.3)
    assert shares == pytest.approx([1 / 8, 0.1, 0.05, 0.025]) and sum(shares) <= Fraction(0.3)
    assert planner._shares(np.array([1.3, 1.0]), 0.1) == pytest.approx([0.1 / (1 + 0.5**0.5), 0.1 / (1 + 2**0.5)])
    plan = planner.predicted(10**6).plan
    assert planner._round(replace(plan, pairs=0.5, rounds=1)) == Fraction(1, 8)
    assert planner._round(replace(plan, pairs=0.5, rounds=10)) == pytest.approx(0.05)
    uneven = {"a": scumble.Number(0, 63, whole=True, cells=64), "b": scumble.Boolean(), "c": scumble.Boolean()}
    assert Planner(TableSpec.of(uneven, pairs=()), LAPLACE).most == 1


@pytest.mark.parametrize("target", [None, "owner"])
def test_pairs_that_are_paid_for_and_bear_nothing_are_the_fewest(target: str | None) -> None:
    """A million records were announced, and there are forty. A contest is paid for in ε: Gaussian noise has none."""
    laplace, gaussian = (Played(40, budget, target, n=10**6) for budget in (LAPLACE, GAUSSIAN))
    for played in (laplace, gaussian):
        assert max(played.planner.grouped.sizes) == 2 and 0.9 < played.paid <= 1
    assert len(laplace.contests) == len(laplace.spec.counted) and not gaussian.contests
    assert len(gaussian.shares) == gaussian.spec.rows


@pytest.mark.parametrize(("budget", "rows"), [(LAPLACE, 7), (GAUSSIAN, 50)])
def test_the_noise_is_that_of_one_view_alone(budget: Budget, rows: int) -> None:
    """As if the count were free: 1/ε for one view by Laplace's law, and σ that does not hang on the number of views."""
    noise, one = alone(budget, rows), alone(budget, rows + 10)
    assert noise.law == ("laplace" if budget is LAPLACE else "gaussian")
    assert noise.scale == pytest.approx(one.scale, rel=1e-3)
    assert budget is GAUSSIAN or noise.scale == pytest.approx(1.0)
    assert budget is LAPLACE or 3.5 < noise.scale < 4.5  # Balle and Wang 2018: 4.22 at ε = 1 and δ = 10⁻⁶


def test_what_a_level_is_known_to_within() -> None:
    """By its own counter and by the sums of its group in pairs, each with the inverse of its variance as weight."""
    spec = TableSpec.of({"a": scumble.Number(1, 4, whole=True, cells=4), "b": scumble.Boolean()})
    planner = Planner(spec, GAUSSIAN)
    beside = planner._beside([2, 2], (3.0,))
    assert beside == {0: (2, pytest.approx(1 / 18)), 1: (2, pytest.approx(1 / 18))}
    of_a, of_b = planner._of_levels((1.0, 2.0), beside)
    group = 1 / (1 / 2 + 1 / 18)  # two levels in a group, of variance one each
    assert of_a == pytest.approx(math.sqrt(1 / 2 + group / 4))
    assert of_b == pytest.approx(math.sqrt(1 / (1 / 4 + 1 / 18)))
    assert planner._of_levels((1.0, 2.0), {}) == pytest.approx((1.0, 2.0))
    three = Planner(TableSpec.of({name: scumble.Boolean() for name in "abc"}), GAUSSIAN)
    assert three._beside([2, 2, 2], (1.0, 2.0, 4.0))[0] == (2, pytest.approx(1 / 2 + 1 / 8))
    chosen = Planner(TableSpec.of(SCHEMA), LAPLACE)._beside([2] * 5, (3.0, 4.0))
    assert chosen[0] == (2, pytest.approx(4 * 0.2 / (2 * 16)))


def test_how_many_records_a_set_of_views_has() -> None:
    """With a target the class that a record is in, on average; else the count, or the median of the sums of rows."""

    def found(rows: list[list[int]], count: int | None) -> PublishedRows:
        made = tuple(PublishedRow(k, np.array(row), 1.0, None, Fraction(1)) for k, row in enumerate(rows))
        return PublishedRows(made, price(plain, LAPLACE), count, 1.0, "")

    plain, classes = TableSpec.of(SCHEMA), TableSpec.of(SCHEMA, target="town")
    assert records_of(classes, found([[600, 391, 9, 0, 0]], 5)) == pytest.approx(512.962)
    assert records_of(classes, found([[-1, 0, 0, 0, 0]], 5)) == records_of(classes, found([[0] * 5], 5)) == 0.0
    assert records_of(plain, found([[4, 5], [1, 2], [50]], 7)) == 7 and records_of(plain, found([[4]], -7)) == 0.0
    assert records_of(plain, found([[4, 5], [1, 2], [50]], None)) == 9 and records_of(plain, found([[-4]], None)) == 0.0


@pytest.mark.parametrize("target", [None, "smoker"])
def test_levels_are_grouped_by_what_single_columns_say(target: str | None) -> None:
    """Rare words share a group, and so do rare neighbors; missing cells stand alone, and a target is not grouped."""
    spec = TableSpec.of(SCHEMA, target=target)
    counts: dict[int, Any] = {j: np.full(size, 1) for j, size in enumerate(SCHEMA.sizes)}
    counts[0][:4], counts[1][1], counts[3][-1] = 1000, 1000, 500
    rows = [np.concatenate([counts[j]] * spec.classes) for j in spec.counted]
    if target:
        rows.insert(0, np.array([9, 9]))
    made = tuple(PublishedRow(k, row, 1.0, None, Fraction(1)) for k, row in enumerate(rows))
    public = PublishedRows(made, price(spec, LAPLACE), None, 7.0, "")
    found = grouped_by(spec, public, [3] * len(SCHEMA), {})
    found.check()
    assert max(grouped_by(spec, public, [0] * len(SCHEMA), {}).sizes) == 2
    counts = [
        [view.variance for view in evidence_of(found, one)[0].views if not view.columns]
        for one in (public, public._replace(noisy_count=5))
    ]
    assert counts == ([[1.0], [1.0]] if target else [[], [7.0]])
    of = dict(zip(SCHEMA, found.groups, strict=True))
    assert all(size <= 3 for size in found.sizes) and (np.diff(of["age"]) >= 0).all() and of["age"][0] != of["age"][3]
    assert list(of["town"]).count(of["town"][1]) == 1
    assert list(of["visits"]).count(of["visits"][-1]) == 1
    assert target is None or not of["smoker"].any()


@pytest.mark.parametrize("target", [None, "owner"])
@pytest.mark.parametrize("budget", [LAPLACE, GAUSSIAN, RICH])
def test_fewer_columns_bear_all_their_pairs(budget: Budget, target: str | None) -> None:
    """The most columns for which a plan would publish every pair."""
    planner = Planner(TableSpec.of(SCHEMA, target=target), budget)
    counted, classes = len(planner.spec.counted), planner.spec.classes
    for n in (0, 1, 30, 300, 1000, 2500, 5000, 10**6):
        plans = {c: plan(n / classes, c, planner.noise, cells=planner._cells) for c in range(2, counted + 1)}
        whole = [c for c, one in plans.items() if one.choice == "all pairs" or one.rounds == math.comb(c, 2)]
        assert planner.columns_of_all_pairs(n) == max(whole, default=1)


def test_tables_without_pairs_need_no_plan() -> None:
    planner = Planner(TableSpec.of({"a": scumble.Number(0, 3, whole=True)}), LAPLACE)
    assert planner.predicted(1000)[1:] == ((pytest.approx(math.sqrt(2)),), (), (pytest.approx(math.sqrt(2)),), 0)
    planner.grouped.check()
    assert [of.tolist() for of in planner.grouped.groups] == [[0, 1, 2, 3]]
    classes = Planner(TableSpec.of({"a": scumble.Boolean(), "b": scumble.Boolean()}, target="b"), LAPLACE)
    assert classes.predicted(1000)[1:] == ((pytest.approx(math.sqrt(8)),) * 2, (), (pytest.approx(4.0),), 0)


@pytest.mark.parametrize("columns", [2, 3, 6])
def test_an_important_pair_has_less_noise_than_it_would_have_otherwise(columns: int) -> None:
    schema = {f"c{k}": scumble.Number(0, 99, whole=True) for k in range(columns)}
    plain, favored = (
        Planner(TableSpec.of(schema, important=given), GAUSSIAN).predicted(50_000) for given in ([], [("c0", "c1")])
    )
    assert len(plain.pairs) == len(favored.pairs) == math.comb(columns, 2)
    assert favored.pairs[0] < plain.pairs[0] and all(
        one > other for one, other in zip(favored.pairs[1:], plain.pairs[1:], strict=True)
    )
