"""Rows with noise of their own: fixed shares, or a plan that a claim made beforehand covers and that sees no record."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import partial
from itertools import product
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scumble
from scumble.audit.replay import Session, compare, used
from scumble.gate import gate, spending
from scumble.gate.rows import NONE, Contest, PublishedRows, Wanted, planned_claim, publish_as_planned, publish_rows
from scumble.gate.secret import Secret
from scumble.privacy import audit_hooks, noise
from scumble.privacy.budget import AdaptiveBudget, Budget, read_back, worst_case, written
from scumble.privacy.gaussian import certified_delta
from scumble.privacy.laws.discrete_gaussian import shifts
from scumble.privacy.sensitivity import ONE, Scales

LENGTHS = (3, 5, 15)
SHARES = (2, 1, 6)
BUDGETS = [
    Budget.of(neighbors=neighbors, records_per_person=people, count_share=share, **money)  # type: ignore[arg-type]
    for money, neighbors, people, share in product(
        [{"epsilon": 0.5}, {"rho": 0.05}], ["add-remove", "replace"], [1, 3], [0, Fraction(1, 25)]
    )
]


class Views:
    """Two columns, of 3 and 5 levels: each alone, and their cross-table. Rows of different length."""

    rows, lengths, counters = 3, LENGTHS, (sum(LENGTHS),)
    reach = ONE
    occupancies: Mapping[int, np.ndarray] = {}
    touches: Mapping[int, int] = {}

    def require_equal(self, other: Any) -> None:
        assert type(other) is Views

    def to_dict(self) -> dict[str, Any]:
        return {}


def secret(records: Iterable[tuple[int, int]]) -> Secret:
    made = Secret(Views(), drops=False)
    with made.changing("update") as counts:
        for a, b in records:
            for place in (a, 3 + b, 8 + 5 * a + b):
                counts[place] += 1
    return made


RECORDS = [(0, 1), (0, 1), (2, 4), (1, 0), (0, 4), (2, 2), (0, 3)]
WANTED = [np.bincount([a for a, _ in RECORDS], minlength=3), np.bincount([b for _, b in RECORDS], minlength=5)]
PAIRS = np.bincount([5 * a + b for a, b in RECORDS], minlength=15)


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


# ---- fixed shares ----


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_every_row_is_drawn_with_its_own_scale(drawn: list, budget: Budget) -> None:
    found = publish_rows(secret(RECORDS), budget, shares=SHARES)
    calibration = budget.claim(3, SHARES)
    scales, shapes = list(calibration.row_scales), [(3,), (5,), (15,)]
    if calibration.scales.count:  # it comes first, with a row of no counters
        scales, shapes = [scales[0], calibration.scales.count, *scales], [(0,), (1,), *shapes]
    law = "discrete_gaussian" if budget.rho else "discrete_laplace"
    assert drawn == [(law, scale, shape) for scale, shape in zip(scales, shapes, strict=True)]
    assert found.privacy == calibration
    variance = noise.gaussian_variance if budget.rho else noise.laplace_variance
    for k, (row, exact) in enumerate(zip(found.rows, [*WANTED, PAIRS], strict=True)):
        np.testing.assert_array_equal(row.counts, exact + 1000 * (k + 1 + len(scales) - 3))
        assert (row.row, row.variance, row.groups) == (k, variance(calibration.row_scales[k]), None)
    noisy = 7 if budget.neighbors == "replace" else 7 + 2000 if calibration.scales.count else None
    assert found.noisy_count == noisy
    assert found.count_variance == (variance(scales[1]) if len(scales) == 5 else 0.0)


def test_rows_without_a_share_are_not_published(drawn: list) -> None:
    found = publish_rows(secret(RECORDS), Budget(1.0), shares=[1, 0, 3])
    assert [row.row for row in found.rows] == [0, 2]
    assert found.privacy == Budget(1.0).claim(2, [1, 3]) and found.privacy.rows == 2
    assert [shape for _, _, shape in drawn] == [(0,), (1,), (3,), (15,)]


def test_counters_in_a_square_have_rows_too(sketch_of: Any) -> None:
    sketch = sketch_of(np.zeros((9, 1)), rows=4, buckets=8)
    assert [int(sketch.secret.row(r).sum()) for r in range(4)] == [9] * 4 and sketch.secret.total == 9
    exact = sketch._counts.copy()
    found = publish_rows(sketch.secret, Budget(2.0**30), shares=[1, 2, 3, 4])
    np.testing.assert_array_equal([row.counts for row in found.rows], exact)  # of noise next to nothing is left


def test_what_can_be_refused_costs_nothing(drawn: list) -> None:
    mine = secret(RECORDS)
    for wrong in ((1, 2), (1, -2, 3), (0, 0, 0)):
        with pytest.raises(scumble.ParameterError):
            publish_rows(mine, Budget(1.0), shares=wrong)
    for publish in (partial(publish_rows, shares=SHARES), partial(publish_as_planned, most=2, plan=plan)):
        with pytest.raises(scumble.BudgetError):
            publish(mine, Budget(1.0), keep=True)  # without a ledger
    assert drawn == [] and mine.closed == "" and mine.total == 7


def test_one_charge_before_anything_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    draw = noise.discrete_laplace
    monkeypatch.setattr(noise, "discrete_laplace", lambda *a, **k: events.append("draw") or draw(*a, **k))

    class Payer(spending.Prepaid):
        def charge(self, claim: Any, *_: Any) -> str:
            events.append("charge")
            return super().charge(claim)

    payer = Payer([Budget(1.0).claim(3, SHARES)], None)
    found = publish_rows(secret(RECORDS), Budget(1.0), payer, shares=SHARES)
    assert events == ["charge"] + ["draw"] * 5 and found.identity == payer.identity


# ---- the budget ----

parts = st.lists(st.integers(1, 100), min_size=1, max_size=6)


@settings(max_examples=8, deadline=None)
@given(parts, st.integers(1, 4), st.sampled_from(["add-remove", "replace"]), st.sampled_from([1, 3]), st.booleans())
def test_whatever_is_paid_for_costs_no_more_than_the_claim(
    weights: list[int], most: int, neighbors: str, people: int, pure: bool
) -> None:
    money: dict[str, Any] = {"epsilon": 0.8} if pure else {"epsilon": 0.8, "delta": 1e-5}
    budget = Budget.of(neighbors=neighbors, records_per_person=people, **money)
    if not pure:
        budget = Budget.of(neighbors=neighbors, records_per_person=people, rho=Fraction("0.02"))
    rows = most + len(weights)
    calibration = budget.claim(rows, worst_case(rows, most))
    budget_left = AdaptiveBudget(calibration, most)
    shares = [min(Fraction(weight, sum(weights)), Fraction(1, most)) for weight in weights]
    scales = [budget_left.pay(share) for share in shares]
    law, claim, moves = calibration.law, calibration, calibration.moves
    # All rows of the claim: those that are left have next to nothing.
    filled = Scales.of_rows([*scales, *[Fraction(2**45)] * (rows - len(scales))], calibration.scales.count)
    for delta in (1e-9, 1e-2):
        assert law.curve(moves, filled, delta) <= claim.equivalent(delta) * (1 + 1e-6)
    if pure:
        assert law.epsilon(moves, filled) <= Fraction(claim.epsilon) + Fraction(1, 2**30)
    else:
        assert certified_delta(claim.epsilon, *shifts(moves, filled), target=claim.delta) <= claim.delta * (1 + 1e-6)
    assert float(law.rho(moves, filled)) <= claim.rho * (1 + 1e-6)  # type: ignore[operator]


def test_all_of_the_budget_is_paid_out_and_no_more() -> None:
    calibration = Budget(1.0, count_share=0).claim(9, worst_case(9, 4))
    budget_left = AdaptiveBudget(calibration, 4)
    scales = [budget_left.pay(Fraction(1, 4)), *[budget_left.pay(Fraction(1, 8)) for _ in range(6)]]
    assert 0.9999 < sum(1 / float(scale) for scale in scales) <= 1
    for share in (Fraction(1, 1000), Fraction(1, 2)):
        with pytest.raises(scumble.PrivacyError):
            budget_left.pay(share)
    with pytest.raises(scumble.PrivacyError):
        AdaptiveBudget(calibration, 4).pay(Fraction(1, 3))  # more than one row in four gets
    for wrong in (0, -1):
        with pytest.raises(scumble.ParameterError):
            budget_left.pay(wrong)
    with pytest.raises(scumble.ParameterError):
        worst_case(3, 3)
    one_of_three = Budget(1.0, count_share=0).claim(3, worst_case(3, 1))
    assert AdaptiveBudget(one_of_three, 1).pay(1) == one_of_three.row_scales[0]


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


ZEROS = {0: np.zeros(3, int), 1: np.zeros(5, int)}


@pytest.mark.parametrize(
    ("expected", "handicap", "or_none", "winner"),
    [
        ({0: np.array([4, 1, 2]), 1: np.array([1, 1, 0, 0, 0])}, {}, False, 1),
        (ZEROS, {1: 0}, False, 0),  # of equals the first
        ({0: np.array([4, 1, 2]), 1: np.zeros(5, int)}, {0: 1, 1: 8}, True, NONE),
        ({0: np.array([4, 1, 2]), 1: np.array([30, 0, 0, 0, 0])}, {0: 1, 1: 8}, True, 1),
        *[({0: np.array([4, 1, 1]), 1: np.zeros(5, int)}, {1: 8}, True, 0)] * 20,  # 1 is more than nothing
    ],
)
def test_a_contest_names_the_row_that_is_farthest_from_what_was_expected(
    expected: dict, handicap: dict, or_none: bool, winner: int
) -> None:
    seen: list[tuple[int, ...]] = []

    def ask(found: PublishedRows, winners: tuple[int, ...]) -> Step:
        if not winners:
            return Contest(LITTLE, {0: np.arange(3), 1: np.arange(5)}, expected, handicap, or_none=or_none)
        seen.append(winners)
        return {} if found.rows else {max(winner, 0): Wanted(HALF)}

    found = publish_as_planned(secret(RECORDS), Budget(2.0**30), most=2, plan=ask)
    assert seen == [(winner,)] * 2 and [row.row for row in found.rows] == [max(winner, 0)]


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


def raises(problem: type[BaseException]) -> Any:
    def fails(*_: object) -> Step:
        raise problem

    return fails


@pytest.mark.parametrize(
    "step",
    [
        ValueError,
        KeyboardInterrupt,
        {7: Wanted(LITTLE)},
        {0: Wanted(Fraction(2, 3))},
        {0: Wanted(HALF), 1: Wanted(HALF), 2: Wanted(LITTLE)},
        *({2: Wanted(HALF, groups)} for groups in (np.zeros(14, int), np.zeros((15, 1), int), np.zeros(15))),
        *({2: Wanted(HALF, groups)} for groups in (np.arange(-1, 14), np.arange(1, 16), np.array([-1] * 15))),
        {},
        *(Contest(LITTLE, {0: np.arange(3)}, {0: expected}, {}) for expected in (np.zeros(3), np.zeros(2, int))),
        Contest(HALF + LITTLE, {0: np.arange(3)}, {0: np.zeros(3, int)}, {}),
    ],
)
def test_a_plan_that_cannot_be_met_spends_the_budget_and_tells_nothing(step: Any) -> None:
    mine = secret(RECORDS)
    counts, failed = mine.counts, isinstance(step, type)
    with pytest.raises(step if failed else scumble.ScumbleError) as told:
        publish_as_planned(mine, Budget(1.0), most=2, plan=raises(step) if failed else lambda *_: step)
    assert not counts.any() and mine.counts.size == 0
    assert not any(str(number) in str(told.value) for number in (RECORDS, 7919))
    for again in (partial(publish_as_planned, most=2, plan=plan), partial(publish_rows, shares=SHARES)):
        with pytest.raises(scumble.BudgetError):
            again(mine, Budget(1.0))


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_a_contest_is_paid_for_as_a_row_is_and_hides_all_that_a_person_can_do(budget: Budget) -> None:
    """Each distance may rise or fall by what a person's records move, twice that under replace.

    Noise of scale b on scores that move apart by `apart` makes the choice ε-private with ε = apart/b. With Laplace
    noise that is what a row of the same share costs. With Gaussian noise a row of the same share is a shift by
    μ = √sides · m/σ, and randomized response with ε, of which the choice is a post-processing, must be one of that
    shift: at the corner of its trade-off curve, e^ε/(1 + e^ε) <= Φ(μ/2).
    """
    rows, sides = {0: np.arange(3), 1: np.arange(5)}, 2 if budget.neighbors == "replace" else 1
    zero = {0: np.zeros(3, int), 1: np.zeros(5, int)}
    calibration = budget.claim(3, worst_case(3, 2))
    session, budget_left, pure = Session(), AdaptiveBudget(calibration, 2), calibration.law.pure
    most = Fraction(1, 2 * sides) if pure else HALF

    def ask(share: Fraction, found: PublishedRows, winners: tuple[int, ...]) -> Step:
        if not winners:
            return Contest(share, rows, zero, {})
        rest = {0: HALF, 1: HALF - most, 2: LITTLE / 100}
        return {} if found.rows else {row: Wanted(rest[row]) for row in rest if rest[row]}

    with audit_hooks.watching(session), pytest.raises(scumble.PrivacyError):  # what the contest has, no row gets
        publish_as_planned(secret(RECORDS), budget, most=2, plan=partial(ask, most))
    (contest,) = [call for call in session.calls if call.apart]
    scale, moved = budget_left.pay(most), sides * budget.records_per_person
    assert contest.apart == 2 * moved and contest.pure == pure
    epsilon = contest.apart / contest.scale
    if pure:
        assert epsilon == moved / scale
    else:
        mu = math.sqrt(sides) * budget.records_per_person / float(scale)
        corner = NormalDist().inv_cdf(1 / (1 + math.exp(-float(epsilon))))
        assert 0.99 * mu < 2 * corner <= mu
    with pytest.raises(scumble.PrivacyError):
        publish_as_planned(secret(RECORDS), budget, most=2, plan=partial(ask, most + Fraction(1, 2**20)))


@pytest.mark.parametrize("share", [Fraction(1, 10**6), LITTLE, HALF])
@pytest.mark.parametrize("rho", [1e-4, 0.1, 50.0, 5000.0])
def test_a_choice_never_costs_more_than_the_gaussian_row_that_it_is_paid_as(rho: float, share: Fraction) -> None:
    """Between both ends the least false negatives of the choice are above those of the shift."""
    budget = Budget.of(rho=rho, count_share=0)
    session, zero = Session(), np.zeros(3, int)
    plans: list[Step] = [Contest(share, {0: np.arange(3)}, {0: zero}, {}), {1: Wanted(share)}, {}]
    with audit_hooks.watching(session):
        publish_as_planned(secret(RECORDS), budget, most=2, plan=lambda *_: plans.pop(0))
    contest, row = session.calls
    epsilon, mu, law = float(contest.apart / contest.scale), float(1 / row.scale), NormalDist()
    for alpha in (1e-9, 1e-3, 0.1, 0.3, 0.5):
        of_choice = max(0.0, 1 - math.exp(min(epsilon, 700.0)) * alpha, math.exp(-epsilon) * (1 - alpha))
        of_shift = law.cdf(law.inv_cdf(1 - alpha) - mu)
        assert of_shift <= of_choice + 1e-12
    cost, least = float(contest.cost(contest)[1]), 1 / (2 * float(row.scale) ** 2)
    assert 0.99 * least < cost <= least


# ---- the grey box ----


def run(records: list, budget: Budget, ask: Any, before: Session | None = None) -> tuple[Session, Any]:
    """What the grey box saw, and what is published: by a plan, or without one with fixed shares."""
    session = Session(before)
    with audit_hooks.watching(session):
        if ask is None:
            found = publish_rows(secret(records), budget, shares=SHARES)
        else:
            found = publish_as_planned(secret(records), budget, most=2, plan=ask)
    told = [(row.counts.tolist(), str(row.scale)) for row in found.rows]
    return session, (told, found.noisy_count)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("ask", [None, plan, with_contest])
def test_the_grey_box_finds_every_plan_within_its_claim(budget: Budget, ask: Any) -> None:
    claim = budget.claim(3, SHARES) if ask is None else planned_claim(budget, 3, 2)
    people = budget.records_per_person
    more = [*RECORDS, *[(1, 4)] * people]
    pairs = [(RECORDS, more)] if budget.neighbors == "add-remove" else [([*RECORDS, *[(2, 0)] * people], more)]
    for here, there in pairs + [(b, a) for a, b in pairs]:
        recorded, first = run(here, budget, ask)
        played, second = run(there, budget, ask, recorded)
        found = compare(recorded, played)
        assert not found.problems and first == second
        # With fixed shares these neighbors take all of it.
        assert (0.99 if ask is None else 0.2) < used(claim, found.epsilon, found.rho) <= (1 + 1e-6 * (ask is None))


def test_a_plan_that_sees_the_secret_is_caught() -> None:
    def peeks(records: list) -> Any:
        return lambda found, _: {} if found.rows else {0: Wanted(Fraction(1, 2 + len(records)))}

    recorded, _ = run(RECORDS, Budget(1.0), peeks(RECORDS))
    played, _ = run([*RECORDS, (1, 4)], Budget(1.0), peeks([*RECORDS, (1, 4)]), recorded)
    assert any("a call differs" in problem for problem in compare(recorded, played).problems)


@pytest.mark.parametrize("flaw", ["one scale for all", "another row's scale", "no noise"])
def test_noise_that_the_claim_does_not_name_is_caught(monkeypatch: pytest.MonkeyPatch, flaw: str) -> None:
    budget = Budget(1.0)
    scales = budget.claim(3, SHARES).row_scales
    draw = noise.discrete_laplace

    def wrong(scale: Fraction, size: Any, **options: Any) -> np.ndarray:
        if flaw == "no noise":
            return np.zeros(size, np.int64)
        return draw(min(scales) if flaw == "one scale for all" else scales[scales.index(scale) - 1], size, **options)

    monkeypatch.setattr(
        noise, "discrete_laplace", lambda scale, *a, **k: (wrong if scale in scales else draw)(scale, *a, **k)
    )
    session, _ = run(RECORDS, budget, None)
    assert any("no such noise was drawn" in problem for problem in session.problems)
    claim, other = budget.claim(3, SHARES), Session()
    with audit_hooks.watching(other):
        for row in (None, 3, -1):
            audit_hooks.hold(f"row {row}", claim, claim.law.draw(claim.row_scales[0], 3), None, row=row)
    assert len(other.problems) == 3
