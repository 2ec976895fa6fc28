"""Rows of which what is public decides: a claim fixed beforehand covers every plan, and no plan sees the records."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.test_steps import BUDGETS, RECORDS, secret

import scumble
from scumble.audit.greybox import all_paths, audit_path
from scumble.audit.replay import Session, compare, used
from scumble.privacy import seam
from scumble.privacy.budget import Budget
from scumble.privacy.gaussian import certified_delta
from scumble.privacy.laws.discrete_gaussian import shifts
from scumble.privacy.purse import Purse, dearest, read_back, written
from scumble.privacy.sensitivity import Scales
from scumble.releasing import adaptive, gate
from scumble.releasing.adaptive import Contest, Wanted, planned_claim, publish_as_planned
from scumble.releasing.selection import noisy_best
from scumble.releasing.steps import PublishedRows

HALF, THIRD, LITTLE = Fraction(1, 2), Fraction(1, 3), Fraction(1, 50)
Step = Mapping[int, Wanted] | Contest


def plan(found: PublishedRows, winners: tuple[int, ...]) -> Step:
    """One row, of which the second depends on; then the third, grouped by what is published, with all that is left."""
    if not found.rows:
        return {0: Wanted(Fraction(1, 4 if (found.noisy_count or 0) % 2 else 8))}
    if len(found.rows) == 1:
        return {1: Wanted(Fraction(1, 8))}
    if len(found.rows) == 2:
        cut = 1 + int(np.argmax(found.rows[0].counts[:-1]))
        spent = Fraction(1, 8) + Fraction(1, 4 if (found.noisy_count or 0) % 2 else 8)
        return {2: Wanted(min(1 - spent, HALF), (np.arange(15) // 5 >= cut).astype(int))}
    return {}


def with_contest(found: PublishedRows, winners: tuple[int, ...]) -> Step:
    """Two rows; then the farther of them is asked about; then the third row, if the winner is the first."""
    if not found.rows:
        return {0: Wanted(THIRD), 1: Wanted(THIRD)}
    if not winners:
        zero = {0: np.zeros(3, int), 1: np.zeros(5, int)}
        return Contest(LITTLE, {0: np.arange(3), 1: np.arange(5)}, zero, {1: 3})
    return {2: Wanted(LITTLE)} if winners == (0,) and len(found.rows) == 2 else {}


# ---- the purse ----

parts = st.lists(st.integers(1, 100), min_size=1, max_size=6)


@settings(max_examples=8, deadline=None)
@given(parts, st.integers(1, 4), st.sampled_from(["add-remove", "replace"]), st.sampled_from([1, 3]), st.booleans())
def test_whatever_a_purse_pays_for_costs_no_more_than_its_claim(
    weights: list[int], most: int, neighbors: str, people: int, pure: bool
) -> None:
    money: dict[str, Any] = {"epsilon": 0.8} if pure else {"epsilon": 0.8, "delta": 1e-5}
    budget = Budget.of(neighbors=neighbors, records_per_person=people, **money)
    if not pure:
        budget = Budget.of(neighbors=neighbors, records_per_person=people, rho="0.02")
    rows = most + len(weights)
    calibration = budget.calibrate(rows, dearest(rows, most))
    purse = Purse(calibration, most)
    shares = [min(Fraction(weight, sum(weights)), Fraction(1, most)) for weight in weights]
    scales = [purse.pay(share) for share in shares]
    law, claim, moves = calibration.law, calibration.claim, calibration.claim.moves
    # All rows of the claim: those that are left have next to nothing.
    filled = Scales.of_rows([*scales, *[Fraction(2**45)] * (rows - len(scales))], calibration.count_scale)
    for delta in (1e-9, 1e-2):
        assert law.curve(moves, filled, delta) <= claim.equivalent(delta) * (1 + 1e-6)
    if pure:
        assert law.epsilon(moves, filled) <= Fraction(claim.epsilon) + Fraction(1, 2**30)
    else:
        assert certified_delta(claim.epsilon, *shifts(moves, filled), target=claim.delta) <= claim.delta * (1 + 1e-6)
    assert float(law.rho(moves, filled)) <= claim.rho * (1 + 1e-6)  # type: ignore[operator]


def test_a_purse_pays_all_of_the_budget_and_no_more() -> None:
    calibration = Budget(1.0, count_share=0).calibrate(9, dearest(9, 4))
    purse = Purse(calibration, 4)
    scales = [purse.pay(Fraction(1, 4)), *[purse.pay(Fraction(1, 8)) for _ in range(6)]]
    assert 0.9999 < sum(1 / float(scale) for scale in scales) <= 1
    for share in (Fraction(1, 1000), Fraction(1, 2)):
        with pytest.raises(scumble.PrivacyError):
            purse.pay(share)
    with pytest.raises(scumble.PrivacyError):
        Purse(calibration, 4).pay(Fraction(1, 3))  # more than one row in four gets
    for wrong in (0, -1):
        with pytest.raises(scumble.ParameterError):
            purse.pay(wrong)
    with pytest.raises(scumble.ParameterError):
        dearest(3, 3)


def test_scales_from_a_file_are_held_to_the_claim() -> None:
    claim = planned_claim(Budget(1.0, count_share=0), 3, 2)
    least = claim.scales.counters
    assert read_back(written([Fraction(3)] * 3), 3, Budget(1.0, count_share=0).claim(3)) == (3, 3, 3)
    good = written([2 * least, 2 * least, 4 * least])
    assert read_back(good, 3, claim) == (2 * least, 2 * least, 4 * least)
    for wrong in ([[3, str(least)]], [[1, str(least / 2)]], [[-1, "9"], [4, "9"]], [], [[2, "9"]], [[3, "1e9"]], [3]):
        rows = 1 if len(wrong) == 1 and wrong[0] == [1, str(least / 2)] else 3
        with pytest.raises(scumble.ParameterError):
            read_back(wrong, rows, claim)
    with pytest.raises(scumble.ParameterError):  # no more in all, but one of them
        read_back(written([least * 2 / 3, 99 * least, 99 * least]), 3, claim)


# ---- what leaves ----


def test_the_count_comes_first_and_each_step_sees_what_is_public() -> None:
    seen: list[tuple[int, ...]] = []
    mine = secret(RECORDS)

    def watched(found: PublishedRows, winners: tuple[int, ...]) -> Step:
        seen.append(tuple(row.row for row in found.rows))
        assert mine.counts.size == 0 and found.noisy_count is not None
        assert not any(row.counts.flags.writeable for row in found.rows)
        with pytest.raises(scumble.BudgetError):
            mine.require_open("read")
        return plan(found, winners)

    budget = Budget(2.0**30)  # of noise next to nothing is left
    found = publish_as_planned(mine, budget, most=2, plan=watched)
    assert seen == [(), (0,), (0, 1), (0, 1, 2)] and found.noisy_count == 7
    assert found.rows[0].counts.tolist() == [4, 1, 2] and found.rows[1].counts.sum() == 7
    assert found.rows[2].counts.tolist() == [4, 3]
    assert found.privacy == planned_claim(budget, 3, 2) and mine.closed == gate.RELEASED and mine.counts.size == 0


def test_a_contest_names_the_row_that_is_farthest_from_what_was_expected() -> None:
    near = {0: np.array([4, 1, 2]), 1: np.array([1, 1, 0, 0, 0])}

    def ask(found: PublishedRows, winners: tuple[int, ...]) -> Step:
        if not winners:
            return Contest(LITTLE, {0: np.arange(3), 1: np.arange(5)}, near, {})
        assert winners == (1,)
        return {} if found.rows else {1: Wanted(HALF)}

    found = publish_as_planned(secret(RECORDS), Budget(2.0**20), most=2, plan=ask)
    assert [row.row for row in found.rows] == [1]


def test_groups_that_are_named_again_are_those_that_were_looked_at() -> None:
    """Who changes an array that a contest was given changes nothing; another array is looked at anew.

    As it was first named, row 0 is as expected, and row 1 is off by 7, less 6; as it is changed, row 0 is off by 2.
    """
    given, told = np.array([0, 0, 1]), list[tuple[int, ...]]()
    expected = {0: np.array([5, 2]), 1: np.zeros(5, int)}

    def ask(found: PublishedRows, winners: tuple[int, ...]) -> Step:
        told.append(winners)
        if winners:
            given[:] = [0, 1, 1]
        named = given if len(winners) < 2 else given.copy() if len(winners) < 3 else np.array([0, 1, 3])
        return Contest(LITTLE, {0: named, 1: np.arange(5)}, expected, {1: 6})

    with pytest.raises(scumble.ParameterError, match="the groups of row 0"):
        publish_as_planned(secret(RECORDS), Budget(2.0**30), most=2, plan=ask)
    assert told == [(), (1,), (1, 1), (1, 1, 0)]


@pytest.mark.parametrize(
    "step",
    [
        {7: Wanted(LITTLE)},
        {0: Wanted(Fraction(2, 3))},
        {0: Wanted(HALF), 1: Wanted(HALF), 2: Wanted(LITTLE)},
        {2: Wanted(HALF, np.zeros(14, int))},
        {},
        Contest(LITTLE, {0: np.arange(3)}, {0: np.zeros(3)}, {}),
        Contest(LITTLE, {0: np.arange(3)}, {0: np.zeros(2, int)}, {}),
        Contest(HALF + LITTLE, {0: np.arange(3)}, {0: np.zeros(3, int)}, {}),
    ],
    ids=["no row", "too much", "too much in all", "wrong groups", "nothing", "no integers", "other groups", "dear"],
)
def test_a_plan_that_cannot_be_met_spends_the_budget_and_tells_nothing(step: Step) -> None:
    mine = secret(RECORDS)
    counts = mine.counts
    with pytest.raises(scumble.ScumbleError) as told:
        publish_as_planned(mine, Budget(1.0), most=2, plan=lambda *_: step)
    assert not counts.any() and mine.counts.size == 0
    assert not any(str(number) in str(told.value) for number in (RECORDS, 7919))
    with pytest.raises(scumble.BudgetError):
        publish_as_planned(mine, Budget(1.0), most=2, plan=plan)


@pytest.mark.parametrize("budget", [one for one in BUDGETS if one.rho is None], ids=str)
def test_a_contest_is_paid_for_as_a_row_is_and_hides_all_that_a_person_can_do(budget: Budget) -> None:
    """Each distance may rise or fall by what a person's records move, twice that under replace."""
    rows, sides = {0: np.arange(3), 1: np.arange(5)}, 2 if budget.neighbors == "replace" else 1
    zero = {0: np.zeros(3, int), 1: np.zeros(5, int)}
    session, purse = Session(), Purse(budget.calibrate(3, dearest(3, 2)), 2)
    most = Fraction(1, 2 * sides)

    def ask(share: Fraction, found: PublishedRows, winners: tuple[int, ...]) -> Step:
        if not winners:
            return Contest(share, rows, zero, {})
        rest = {0: HALF, 1: HALF - most, 2: LITTLE / 100}
        return {} if found.rows else {row: Wanted(rest[row]) for row in rest if rest[row]}

    with seam.watching(session), pytest.raises(scumble.PrivacyError):  # what the contest has, no row gets
        publish_as_planned(secret(RECORDS), budget, most=2, plan=partial(ask, most))
    (contest,) = [call for call in session.calls if call.apart]
    assert contest.scale == 2 * purse.pay(most)
    assert contest.apart == 2 * sides * budget.records_per_person
    with pytest.raises(scumble.PrivacyError):
        publish_as_planned(secret(RECORDS), budget, most=2, plan=partial(ask, most + Fraction(1, 2**20)))


def test_contests_are_for_noise_that_has_an_epsilon() -> None:
    with pytest.raises(scumble.PrivacyError, match="Laplace"):
        publish_as_planned(secret(RECORDS), Budget.of(rho=0.1), most=2, plan=with_contest)


# ---- the grey box ----


def run(records: list, budget: Budget, ask: Any, before: Session | None = None) -> tuple[Session, Any]:
    session = Session(before)
    with seam.watching(session):
        found = publish_as_planned(secret(records), budget, most=2, plan=ask)
    told = [(row.counts.tolist(), str(row.scale)) for row in found.rows]
    return session, (told, found.noisy_count)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("ask", [plan, with_contest])
def test_the_grey_box_finds_every_plan_within_its_claim(budget: Budget, ask: Any) -> None:
    if ask is with_contest and budget.rho is not None:
        return
    claim = planned_claim(budget, 3, 2)
    people = budget.records_per_person
    more = [*RECORDS, *[(1, 4)] * people]
    pairs = [(RECORDS, more)] if budget.neighbors == "add-remove" else [([*RECORDS, *[(2, 0)] * people], more)]
    for here, there in pairs + [(b, a) for a, b in pairs]:
        recorded, first = run(here, budget, ask)
        played, second = run(there, budget, ask, recorded)
        found = compare(recorded, played)
        assert not found.problems and first == second
        assert 0.2 < used(claim, found.epsilon, found.rho) <= 1


def not_paid_for(patch: pytest.MonkeyPatch) -> None:
    choose = adaptive._Way.choose

    def free(way: Any, contest: Contest) -> int:
        left, way.purse._left = way.purse._left, Fraction(9)
        winner = choose(way, contest)
        way.purse._left = left
        return winner

    patch.setattr(adaptive._Way, "choose", free)


def half_the_noise(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(adaptive, "noisy_best", partial(noisy_best, monotone=True))


def one_side_of_two(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(adaptive, "sides_of", lambda _: 1)


@pytest.mark.parametrize(
    ("mistake", "path"),
    [
        *[(not_paid_for, f"rows as planned, more than all, {name}") for name in ("pure", "replace", "persons")],
        *[(half_the_noise, f"rows as planned, {name}") for name in ("pure", "replace", "persons")],
        (one_side_of_two, "rows as planned, replace"),
    ],
)
def test_a_contest_with_a_mistake_is_caught(mistake: Any, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    audited = all_paths()[path]
    assert audit_path(audited).findings == []
    mistake(monkeypatch)
    assert audit_path(audited).findings


def test_a_plan_that_sees_the_secret_is_caught() -> None:
    def peeks(records: list) -> Any:
        return lambda found, _: {} if found.rows else {0: Wanted(Fraction(1, 2 + len(records)))}

    recorded, _ = run(RECORDS, Budget(1.0), peeks(RECORDS))
    played, _ = run([*RECORDS, (1, 4)], Budget(1.0), peeks([*RECORDS, (1, 4)]), recorded)
    assert any("a call differs" in problem for problem in compare(recorded, played).problems)
