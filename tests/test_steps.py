"""Rows with noise of their own, published in two steps: what is drawn, what is told, and what nobody may see."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import scumble
from scumble.audit.replay import Session, compare, used
from scumble.gate import gate, spending
from scumble.gate.secret import Secret
from scumble.gate.steps import Groups, PublishedRows, publish_in_steps
from scumble.privacy import audit_hooks, noise
from scumble.privacy.budget import Budget
from scumble.privacy.sensitivity import ONE

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


def halves(found: PublishedRows) -> Groups:
    """The cross-table in coarse cells: each axis in two, cut where the noisy column is heaviest."""
    cut_a, cut_b = (1 + int(np.argmax(row.counts[:-1])) for row in found.rows)
    a, b = np.divmod(np.arange(15), 5)
    return {2: 2 * (a >= cut_a) + (b >= cut_b)}


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Fraction, tuple[int, ...]]]:
    """Every draw: law, scale, shape. The n-th one answers with 1000 n everywhere."""
    asked: list[tuple[str, Fraction, tuple[int, ...]]] = []

    def spy(law: str) -> Callable[..., np.ndarray]:
        def draw(scale: Fraction, size: int | tuple[int, ...], *, backend: str = "exact") -> np.ndarray:
            shape = size if isinstance(size, tuple) else (size,)
            asked.append((law, Fraction(scale), shape))
            return np.full(shape, 1000 * len(asked), np.int64)

        return draw

    for law in ("discrete_laplace", "discrete_gaussian"):
        monkeypatch.setattr(noise, law, spy(law))
    return asked


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_every_row_is_drawn_with_its_own_scale(drawn: list, budget: Budget) -> None:
    (found,) = publish_in_steps([secret(RECORDS)], budget, shares=SHARES)
    calibration = budget.calibrate(3, SHARES)
    scales = list(calibration.row_scales)
    shapes = [(3,), (5,), (15,)]
    if calibration.count_scale:
        scales, shapes = [*scales, calibration.count_scale], [*shapes, (1,)]
    law = "discrete_gaussian" if budget.rho else "discrete_laplace"
    assert drawn == [(law, scale, shape) for scale, shape in zip(scales, shapes, strict=True)]
    assert found.privacy == calibration.claim
    variance = noise.gaussian_variance if budget.rho else noise.laplace_variance
    for k, (row, exact) in enumerate(zip(found.rows, [*WANTED, PAIRS], strict=True)):
        np.testing.assert_array_equal(row.counts, exact + 1000 * (k + 1))
        assert (row.row, row.variance, row.groups) == (k, variance(scales[k]), None)
    noisy = 7 if budget.neighbors == "replace" else 7 + 4000 if calibration.count_scale else None
    assert found.noisy_count == noisy
    assert found.count_variance == (variance(scales[3]) if len(scales) == 4 else 0.0)


@pytest.mark.parametrize("budget", BUDGETS[:4], ids=str)
def test_the_second_step_adds_up_the_groups_that_the_first_one_chose(drawn: list, budget: Budget) -> None:
    seen = []

    def choose(found: PublishedRows) -> Groups:
        seen.append(found)
        return {2: np.arange(15) // 5}

    (found,) = publish_in_steps([secret(RECORDS)], budget, shares=SHARES, first=[1, 0], choose=choose)
    assert [row.row for row in seen[0].rows] == [0, 1] and [row.row for row in found.rows] == [0, 1, 2]
    assert drawn[-1][1:] == (budget.calibrate(3, SHARES).row_scales[2], (3,))
    np.testing.assert_array_equal(found.rows[2].counts, WANTED[0] + 1000 * len(drawn))
    np.testing.assert_array_equal(found.rows[2].groups, np.arange(15) // 5)
    assert found.privacy == budget.claim(3, SHARES) and found.noisy_count == seen[0].noisy_count


def test_rows_without_a_share_or_left_out_are_not_published(drawn: list) -> None:
    (found,) = publish_in_steps([secret(RECORDS)], Budget(1.0), shares=[1, 0, 3])
    assert [row.row for row in found.rows] == [0, 2]
    assert found.privacy == Budget(1.0).claim(2, [1, 3]) and found.privacy.rows == 2
    assert [shape for _, _, shape in drawn] == [(3,), (15,), (1,)]
    (found,) = publish_in_steps([secret(RECORDS)], Budget(1.0), shares=SHARES, first=[0], choose=lambda _: {2: None})
    assert [row.row for row in found.rows] == [0, 2] and found.privacy == Budget(1.0).claim(3, SHARES)


def test_counters_in_a_square_have_rows_too() -> None:
    sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=4, buckets=8, design="iid")
    sketch.update(np.zeros((9, 1)))
    assert [int(sketch.secret.row(r).sum()) for r in range(4)] == [9] * 4 and sketch.secret.total == 9
    exact = sketch._counts.copy()
    (found,) = publish_in_steps([sketch.secret], Budget(2.0**30), shares=[1, 2, 3, 4])
    np.testing.assert_array_equal([row.counts for row in found.rows], exact)  # of noise next to nothing is left


# ---- what nobody may see ----


def test_choose_finds_no_counters_in_the_secret() -> None:
    mine, seen = secret(RECORDS), []

    def choose(found: PublishedRows) -> Groups:
        seen.append(mine.counts.size)
        with pytest.raises(scumble.BudgetError):
            mine.require_open("read")
        assert not any(row.counts.flags.writeable for row in found.rows)
        return {2: None}

    publish_in_steps([mine], Budget(1.0), shares=SHARES, first=[0, 1], choose=choose)
    assert seen == [0] and mine.counts.size == 0 and mine.closed == gate.RELEASED


@pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt])
def test_where_choose_fails_the_secret_is_wiped_and_the_budget_gone(problem: type[BaseException]) -> None:
    mine = secret(RECORDS)
    counts = mine.counts

    def choose(found: PublishedRows) -> Groups:
        raise problem

    with pytest.raises(problem):
        publish_in_steps([mine], Budget(1.0), shares=SHARES, first=[0, 1], choose=choose)
    assert not counts.any() and mine.counts.size == 0
    with pytest.raises(scumble.BudgetError):
        publish_in_steps([mine], Budget(1.0), shares=SHARES)


@pytest.mark.parametrize(
    "groups",
    [
        {0: None},
        {7: None},
        {2: np.zeros(14, int)},
        {2: np.zeros((15, 1), int)},
        {2: np.zeros(15)},
        {2: np.arange(-1, 14)},
        {2: np.arange(1, 16)},
    ],
    ids=["published before", "unknown", "too few", "a square", "no integers", "negative", "more groups than cells"],
)
def test_groups_that_cannot_be_added_up_are_refused(groups: Groups) -> None:
    mine = secret(RECORDS)
    with pytest.raises(scumble.ParameterError):
        publish_in_steps([mine], Budget(1.0), shares=SHARES, first=[0, 1], choose=lambda _: groups)
    assert mine.counts.size == 0


def test_what_can_be_refused_costs_nothing(drawn: list) -> None:
    mine = secret(RECORDS)
    for wrong in (
        {"shares": (1, 2)},
        {"shares": (1, -2, 3)},
        {"shares": (0, 0, 0)},
        {"shares": SHARES, "first": []},
        {"shares": SHARES, "first": [3], "choose": halves},
        {"shares": (0, 1, 1), "first": [0], "choose": halves},
        {"shares": SHARES, "first": [0]},
        {"shares": SHARES, "choose": halves},
    ):
        with pytest.raises(scumble.ParameterError):
            publish_in_steps([mine], Budget(1.0), **wrong)  # type: ignore[arg-type]
    with pytest.raises(scumble.BudgetError, match="ledger"):
        publish_in_steps([mine], Budget(1.0), shares=SHARES, keep=True)
    with pytest.raises(scumble.MergeError, match="same records"):
        publish_in_steps([mine, mine], Budget(1.0), shares=SHARES)
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
    (found,) = publish_in_steps([secret(RECORDS)], Budget(1.0), payer, shares=SHARES, first=[0, 1], choose=halves)
    assert events == ["charge"] + ["draw"] * 4 and found.identity == payer.identity


def test_every_class_has_noise_of_its_own() -> None:
    found = publish_in_steps(
        [secret(RECORDS[:3]), secret([]), secret(RECORDS[3:])], Budget(1.0), shares=SHARES, first=[0, 1], choose=halves
    )
    assert len({one.identity for one in found}) == 3 and len({one.privacy for one in found}) == 1


# ---- the grey box ----


def run(records: list, budget: Budget, choose: Any = halves, before: Session | None = None) -> tuple[Session, Any]:
    session = Session(before)
    with audit_hooks.watching(session):
        first = None if choose is None else [0, 1]
        (found,) = publish_in_steps([secret(records)], budget, shares=SHARES, first=first, choose=choose)
    told = [(one.counts.tolist(), None if one.groups is None else one.groups.tolist()) for one in found.rows]
    return session, (told, found.noisy_count)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("choose", [None, halves])
def test_the_grey_box_finds_every_step_within_its_claim(budget: Budget, choose: Any) -> None:
    claim = budget.claim(3, SHARES)
    people = budget.records_per_person
    more = [*RECORDS, *[(1, 4)] * people]
    pairs = [(RECORDS, more)] if budget.neighbors == "add-remove" else [([*RECORDS, *[(2, 0)] * people], more)]
    for here, there in pairs + [(b, a) for a, b in pairs]:
        recorded, first = run(here, budget, choose)
        played, second = run(there, budget, choose, recorded)
        found = compare(recorded, played)
        assert not found.problems and first == second
        assert 0.99 < used(claim, found.epsilon, found.rho) <= 1 + 1e-6  # these neighbours take all of it


def test_a_choice_that_sees_the_secret_is_caught() -> None:
    def peeks(records: list) -> Callable[[PublishedRows], Groups]:
        return lambda _: {2: np.arange(15) * (len(records) > 7)}

    recorded, _ = run(RECORDS, Budget(1.0), peeks(RECORDS))
    played, _ = run([*RECORDS, (1, 4)], Budget(1.0), peeks([*RECORDS, (1, 4)]), recorded)
    assert any("a call differs" in problem for problem in compare(recorded, played).problems)


@pytest.mark.parametrize("flaw", ["one scale for all", "another row's scale", "no noise"])
def test_noise_that_the_claim_does_not_name_is_caught(monkeypatch: pytest.MonkeyPatch, flaw: str) -> None:
    budget = Budget(1.0)
    scales = budget.calibrate(3, SHARES).row_scales
    draw = noise.discrete_laplace

    def wrong(scale: Fraction, size: Any, **options: Any) -> np.ndarray:
        if flaw == "no noise":
            return np.zeros(size, np.int64)
        other = (
            min(scales) if flaw == "one scale for all" else scales[scales.index(scale) - 1 if scale in scales else 0]
        )
        return draw(other, size, **options)

    monkeypatch.setattr(noise, "discrete_laplace", wrong)
    session, _ = run(RECORDS, budget, None)
    assert any("no such noise was drawn" in problem for problem in session.problems)


def test_a_row_that_the_claim_does_not_have_is_caught() -> None:
    calibration = Budget(1.0).calibrate(3, SHARES)
    session = Session()
    with audit_hooks.watching(session):
        for row in (None, 3, -1):
            drawn = calibration.law.draw(calibration.row_scales[0], 3)
            audit_hooks.hold(f"row {row}", calibration.claim, drawn, None, row=row)
    assert len(session.problems) == 3
