"""Rows that are chosen after counting: what the facts are, what a choice may see, what it costs, what is published."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import isqrt, prod
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scumble
from processes import before_each_line
from scumble import files
from scumble.audit.replay import Session, compare, used
from scumble.density import planned_release as planned
from scumble.density import sketch as scumble_sketch
from scumble.density.expected_error import SHARED, USUALLY_SHARED
from scumble.density.grid_cells import aligned, coarser, groups
from scumble.density.planned_release import publish_planned, typical_norm
from scumble.density.release_plan import DENSITIES, DESIGN, SIZE, Choice, Menu, Rehashed
from scumble.density.sketch import release_disjoint
from scumble.density.spec import Spec
from scumble.gate import gate, secret
from scumble.learn import PrivateKDE
from scumble.privacy import audit_hooks, disjoint, overlapping
from scumble.privacy.budget import Budget
from scumble.privacy.facts import (
    AGAIN,
    ALONE,
    ENOUGH,
    SHARES,
    Facts,
    calibrated,
    divided,
    price,
    second_counts,
    together,
)

KERNEL, SMOOTH = scumble.EuclideanKernel(1.0), scumble.EuclideanKernel(1.0, power=2)
GRID_BUDGET = Budget(1.0, 1e-6)
BUDGETS = [
    Budget(1.0),
    Budget("0.1", 1e-6),
    Budget.of(rho=0.02),
    Budget(1.0, neighbors="replace"),
    Budget(2.0, 1e-6, records_per_person=3, count_share=0),
]


def opened(rows: int = 32, buckets: int = 16, **options: object) -> scumble.Sketch:
    """A small sketch that leaves its rows open."""
    made = scumble.Sketch(KERNEL, 2, buckets=buckets, **options)  # type: ignore[arg-type]
    assert made.planned
    return scumble.Sketch.from_spec(replace(made.spec, rows=rows), planned=True)


# ---- the typical norm ----


@given(st.lists(st.lists(st.integers(0, 40), min_size=4, max_size=4), min_size=1, max_size=6), st.data())
@settings(max_examples=60, deadline=None)
def test_one_record_moves_the_typical_norm_by_at_most_one(counts: list[list[int]], data: st.DataObject) -> None:
    """Against every table and any cells that the record falls into; the oracle is arithmetic in whole numbers."""
    before = np.array(counts, np.int64)
    cells = data.draw(st.lists(st.integers(0, 3), min_size=len(counts), max_size=len(counts)))
    after = before.copy()
    after[np.arange(len(counts)), cells] += 1
    norms = [sum(isqrt(sum(c * c for c in row)) for row in one.tolist()) // len(counts) for one in (before, after)]
    found = [typical_norm(one) for one in (before, after)]
    assert found == norms
    assert found[1] - found[0] in (0, 1)


def test_a_folded_grid_moves_by_at_most_one_too(rng: np.random.Generator) -> None:
    spec = scumble.Sketch(KERNEL, 2, bounds=(0.0, 3.0), buckets=(5, 6), design="grid").spec
    fold = Menu(spec, Budget(1.0)).fold()
    assert fold is not None
    cells = rng.poisson(3.0, 30)
    for cell in range(30):
        more = cells.copy()
        more[cell] += 1
        assert ((fold(more) - fold(cells)).sum(axis=1) == 1).all() and (fold(more) >= fold(cells)).all()
        assert typical_norm(fold(more)) - typical_norm(fold(cells)) in (0, 1)
        assert typical_norm(more[None]) - typical_norm(cells[None]) in (0, 1)


def test_beyond_64_bits_norms_are_still_exact() -> None:
    huge = np.array([[3 * 2**40, 4 * 2**40], [0, 7 * 2**40]], np.int64)
    assert typical_norm(huge) == 6 * 2**40
    assert typical_norm(np.array([[3_200_000_000]])) == 3_200_000_000


# ---- what it costs ----


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_the_claim_covers_every_choice(budget: Budget) -> None:
    parts, whole = divided(budget), price(budget, [8, 16, 4096])
    facts, rows = parts.facts.claim(1), [parts.rows.claim(number) for number in (8, 16, 4096)]
    if budget.rho is None:
        assert Fraction(whole.epsilon) <= Fraction(budget.epsilon) and whole.delta <= float(budget.delta)
    else:
        assert whole.rho is not None and Fraction(whole.rho) <= Fraction(budget.rho)
    assert whole.rho is not None and facts.rho is not None
    for one in rows:
        assert one.rho is not None
        assert whole.rho >= facts.rho + one.rho - 1e-15
        if budget.rho is None:
            assert Fraction(whole.epsilon) >= Fraction(facts.epsilon) + Fraction(one.epsilon) - Fraction(1, 2**40)
            assert whole.delta >= one.delta
    again = type(whole).from_dict(whole.to_dict())
    assert again == whole


@pytest.mark.parametrize("numbers", [1, 2])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_facts_and_rows_divide_the_budget(budget: Budget, numbers: int) -> None:
    """Each currency adds up to the whole, floats rounded down. δ is the rows' alone, but where ρ is stated at it."""
    parts = divided(budget, numbers)
    for name in ("epsilon", "delta", "rho") if budget.rho is None else ("delta", "rho"):
        whole, first, rest = (Fraction(getattr(one, name) or 0) for one in (budget, *parts))
        assert 0 <= whole - first - rest <= whole / 2**50
        assert (first > 0) == (whole > 0 and (name != "delta" or budget.rho is not None))


@pytest.mark.parametrize("numbers", [1, 2])
@pytest.mark.parametrize("budget", [*BUDGETS, Budget(8.0, records_per_person=3), Budget.of(rho=8)], ids=str)
def test_the_count_has_its_share_and_large_budgets_spend_what_is_enough(budget: Budget, numbers: int) -> None:
    facts, rows = divided(budget, numbers)
    count = Fraction(0) if budget.neighbors == "replace" else Fraction(str(budget.count_share))
    whole = Fraction(str(budget.epsilon if budget.rho is None else budget.rho))
    spent = Fraction(str(facts.epsilon if budget.rho is None else facts.rho))
    usual = (count + SHARES[numbers] if count else ALONE[numbers]) * whole
    enough = count * whole + ENOUGH[numbers] * budget.records_per_person
    most = usual if budget.rho is not None else min(usual, Fraction(int(64 * enough), 64))
    assert float(spent) == pytest.approx(float(most), rel=1e-12)
    assert float(spent * Fraction(facts.count_share)) == pytest.approx(float(count * whole), rel=1e-12)
    assert rows.count_share == count


def test_which_shares_a_count_may_have() -> None:
    assert divided(replace(GRID_BUDGET, count_share=Fraction(1, 2))).rows.count_share == Fraction(1, 2)
    with pytest.raises(scumble.ParameterError, match="1/2"):
        divided(replace(GRID_BUDGET, count_share=Fraction(3, 5)))
    assert second_counts(GRID_BUDGET, 64) == (None, AGAIN)
    for fixed in (
        replace(GRID_BUDGET, count_share=Fraction(1, 9)),
        replace(GRID_BUDGET, neighbors="replace"),
        Budget(1),
    ):
        assert second_counts(fixed, 64) == (None,)


def test_two_counts_are_weighed_by_their_variances_and_one_stands_alone() -> None:
    first = Facts(1000, 300.0, 0, 0.0)
    assert together(first, 1100, 100.0) == (1075, 75.0 + 1 / 12)
    for facts, again, variance in (
        (first, None, None),
        (first, None, 100.0),
        (first, 1100, None),
        (first, 1100, 0.0),
        (replace(first, count_variance=0.0), 1100, 100.0),
        (replace(first, count=None), 1100, 100.0),
    ):
        assert together(facts, again, variance) == (facts.count, facts.count_variance)


def test_whole_budgets_are_claimed_to_the_last_digit() -> None:
    assert [price(Budget(epsilon), [8, 4096]).epsilon for epsilon in (0.1, 1.0, 10.0)] == [0.1, 1.0, 10.0]
    assert not overlapping([Budget(1.0).claim(1), GRID_BUDGET.claim(64)]).by_facts
    assert not overlapping([Budget(1.0).claim(1), disjoint([GRID_BUDGET.claim(64)] * 2)]).by_facts
    plain = replace(Budget(0.5), count_share=0)
    choices = [plain.claim(8), plain.claim(16)]
    assert overlapping([Budget(1.0).claim(1), disjoint(choices)]).by_facts
    several = overlapping([plain.claim(32), plain.claim(64)])  # no choice is a release of several parts
    assert not overlapping([Budget(1.0).claim(1), disjoint([*choices, several])]).by_facts


def audited(run: Callable[[], scumble.Release], other: Callable[[], scumble.Release]) -> tuple[float, tuple[str, ...]]:
    """What of its claim a path takes between two tables, and what did not match."""
    sessions, made = [Session()], []
    with audit_hooks.watching(sessions[0]):
        made.append(run())
    sessions.append(Session(sessions[0]))
    with audit_hooks.watching(sessions[1]):
        made.append(other())
    found = compare(*sessions)
    problems = found.problems if made[0].counts.tobytes() == made[1].counts.tobytes() else (*found.problems, "bytes")
    return used(made[0].privacy, found.epsilon, found.rho), problems


@pytest.mark.parametrize("grid", [False, True])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_the_grey_box_finds_planned_rows_within_their_claim(
    budget: Budget, grid: bool, rng: np.random.Generator
) -> None:
    """Of rows, and of a grid with a third of its records in one place."""
    X = rng.normal(0.0, 2.0, (300, 2))
    X = np.vstack([np.full((99, 1), 7.0), rng.uniform(0.0, 20.5, (200, 1))]) if grid else X
    there = np.vstack([X[1:], X[:1] + 9.0]) if budget.neighbors == "replace" else X[budget.records_per_person :]

    def run(table: np.ndarray) -> Callable[[], scumble.Release]:
        sketch = scumble.Sketch(SMOOTH, 1, bounds=(0.0, 20.5), design="grid") if grid else opened()
        return lambda: release_disjoint([sketch.update(table)], budget)[0]

    share, problems = audited(run(X), run(there))
    assert problems == () and 0.4 < share <= 1.0


def test_planned_rows_with_too_little_noise_are_caught(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = rng.normal(0.0, 2.0, (300, 2))

    def cheaper(counts: np.ndarray) -> int:
        return 3 * int(counts[0].sum())  # moves by 3 with each record

    monkeypatch.setattr(planned, "typical_norm", cheaper)
    share, _ = audited(lambda: opened().update(X).release(1.0), lambda: opened().update(X[1:]).release(1.0))
    assert share > 1.0


# ---- what is published, and what a choice may see ----


@pytest.mark.parametrize("clumped", [False, True])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_what_leaves_less_its_noise_is_what_was_counted(
    budget: Budget, clumped: bool, rng: np.random.Generator
) -> None:
    sketch = opened().update(rng.normal(0.0, 1.0, (300, 2)))
    exact, session, seen = sketch.secret.counts.copy(), Session(), list[Any]()

    def choose(facts: Sequence[Facts]) -> Choice:
        seen.extend(facts)
        return Choice(8)

    with audit_hooks.watching(session):
        publish_planned([sketch.secret], budget, rows=[8, 32], choose=choose, clumped=clumped)
    facts = [typical_norm(exact), *([typical_norm(exact)] if clumped else [])]
    wanted = [np.array(facts)[:, None], exact[:8]]
    numbers = [call.exact for call in session.calls]
    assert session.problems == [] and [n.tolist() for n in numbers if n.ndim == 2] == [n.tolist() for n in wanted]
    assert all(n.tolist() == [300] for n in numbers if n.ndim == 1)
    assert (seen[0].clumping is None) == (not clumped)
    assert (seen[0].count is None) == (budget.neighbors == "add-remove" and not budget.count_share)
    assert budget.neighbors == "add-remove" or seen[0].count == 300


def test_groups_of_cells_are_added_up(rng: np.random.Generator) -> None:
    sketch, session, groups = opened(1).update(rng.normal(0.0, 1.0, (300, 2))), Session(), np.arange(16) // 4
    wanted = sketch.secret.counts.reshape(4, 4).sum(axis=1)
    with audit_hooks.watching(session):
        publish_planned([sketch.secret], Budget(1.0), rows=[1], choose=lambda _: Choice(1, groups=groups))
    assert session.problems == [] and session.calls[-1].exact.tolist() == [wanted.tolist()]


def test_beside_gaussian_rows_the_count_is_published_once_more(rng: np.random.Generator) -> None:
    """By inverse variance with the first one; with Laplace noise, and where N is public, there is no second one."""
    X = rng.normal(0.0, 1.0, (500, 2))

    def published(budget: Budget, rows: int) -> tuple[list[tuple[int, ...]], Any]:
        sketch, session = opened().update(X), Session()
        with audit_hooks.watching(session):
            (found,) = publish_planned([sketch.secret], budget, rows=[8, 32], choose=lambda facts: Choice(rows))
        return [shape for _, shape in session.draws], found.made

    budget = Budget(1.0, 1e-6)
    shapes, made = published(budget, 32)
    parts = divided(budget)
    first, second = (one.count_variance for one in (parts.facts.claim(1), calibrated(parts.rows, 32)))
    assert shapes == [(1, 1), (1,), (32, 16), (1,)]
    assert first is not None and second is not None and second < first / 2
    assert made.count_variance == pytest.approx(1 / (1 / first + 1 / second) + 1 / 12)
    assert isinstance(made.noisy_count, int) and abs(made.noisy_count - 500) < 40 * 25  # e⁻⁴⁰ and less
    for other, rows in ((budget, 8), (Budget(1.0), 32)):
        shapes, made = published(other, rows)
        assert shapes == [(1, 1), (1,), (rows, 16)] and made.count_variance == first
    shapes, made = published(Budget(1.0, 1e-6, neighbors="replace"), 32)
    assert shapes == [(1, 1), (32, 16)] and (made.noisy_count, made.count_variance) == (500, 0.0)


@pytest.mark.parametrize(
    ("density", "expected", "gain"),
    [(0.45, AGAIN, 3 / 10), (0.2, AGAIN, 1 / 8), (0.05, None, -0.07), (0.005, None, -0.1)],
)
def test_dense_records_get_a_quieter_count(density: float, expected: Fraction | None, gain: float) -> None:
    """By hand, from the noise of f = ρN and of N alone."""
    budget, n = Budget(1.0, 1e-6), 50_000
    menu = Menu(scumble.Sketch(KERNEL, 2).spec, budget)
    chosen = menu.choose([Facts(n, 1250.0, round(n * (density + 1 / 1024) ** 0.5), 5000.0)])
    assert chosen.count_share == expected
    rest, spec = divided(budget).rows, menu.chosen

    def error(share: Fraction | None) -> float:
        made = calibrated(rest, spec.rows, share)
        of_sum = made.counter_variance / spec.rows / density**2
        return of_sum + 1.0 / (1.0 / 1250.0 + 1.0 / made.count_variance)  # type: ignore[operator]

    assert (error(AGAIN) < error(None)) == (expected is not None)
    assert 1 - (error(AGAIN) / error(None)) ** 0.5 == pytest.approx(gain, abs=0.03)


def test_a_choice_finds_no_counters_and_no_other_numbers(rng: np.random.Generator) -> None:
    sketches = [opened().update(rng.normal(0.0, 1.0, (500, 2))) for _ in range(3)]
    seen: list[Sequence[Facts]] = []

    def choose(facts: Sequence[Facts]) -> Choice:
        seen.append(facts)
        for sketch in sketches:
            assert sketch.secret.counts.size == 0
            with pytest.raises(scumble.BudgetError):
                sketch.update([[0.0, 0.0]])
        return Choice(16)

    publish_planned([sketch.secret for sketch in sketches], Budget(1.0), rows=[8, 16], choose=choose)
    facts = seen[0][0]
    assert len(seen[0]) == 3
    assert facts.count is not None and abs(facts.count - 500) < 40 * 25  # e⁻⁴⁰
    assert facts.norm_variance > 0.0 and facts.count_variance > 0.0


WRONG_GROUPS = np.zeros(3, int), np.zeros(16), np.arange(16) - 1, np.arange(16) + 1
WRONG_ROWS: list[Callable[[np.ndarray], np.ndarray]] = [
    *(lambda cells: cells[None].astype(float), lambda cells: cells[:1], lambda cells: cells[None].repeat(2, 0)),
    lambda cells: np.append(cells + 1, -16)[None],
]


UNPAID = [
    *(Choice(9), Choice(64), Choice(8, count_share=AGAIN), Choice(8, np.zeros(16, int))),
    Choice(1, np.zeros(16, int), lambda cells: cells[None]),
    *(Choice(1, wrong) for wrong in WRONG_GROUPS),
    *(Choice(1, None, wrong) for wrong in WRONG_ROWS),
]


@pytest.mark.parametrize("wrong", UNPAID)
def test_a_choice_that_was_not_paid_for_or_is_none_leaves_nothing(wrong: Choice) -> None:
    sketch = opened().update([[0.0, 0.0]])
    with pytest.raises(scumble.ParameterError):
        publish_planned([sketch.secret], Budget(1.0), rows=[1, 8, 32], choose=lambda facts: wrong)
    assert not sketch.secret.counts.size and "failed after the budget was spent" in sketch.secret.closed


def test_the_first_rows_are_the_rows_of_a_smaller_sketch(rng: np.random.Generator) -> None:
    """So a release with fewer rows is read like any other."""
    X = rng.normal(0.0, 1.0, (200, 2))
    for design in ("iid", "sobol", "orthogonal"):
        many, few = (
            scumble.Sketch(KERNEL, 2, rows=rows, buckets=64, seed=5, design=design).update(X) for rows in (64, 8)
        )
        np.testing.assert_array_equal(many.secret.counts[:8], few.secret.counts)
    release = opened(seed=5).update(X).release(1.0)
    assert release.rows in (8, 16, 32) and release.counts.shape == (release.rows, 16)
    again = scumble.Release.from_bytes(release.to_bytes())
    assert again.spec == release.spec and again.privacy == release.privacy
    np.testing.assert_array_equal(again.kernel_sum(X[:5]), release.kernel_sum(X[:5]))


def test_cells_that_are_added_up_are_those_of_the_coarse_grid(rng: np.random.Generator) -> None:
    for low, high, shape in (
        ((0.0, 0.0), (255.0, 10.5), (256, 24)),
        ((-1.5,), (2.25,), (720,)),
        ((0.0,), (9.0,), (31,)),
    ):
        bounds = tuple(np.array(side) for side in (low, high))
        X = rng.uniform(low, high, (400, len(low)))
        X[:50] = np.round(X[:50])
        fine = scumble.Sketch(KERNEL, len(low), buckets=shape, bounds=(low, high), design="grid").update(X)
        shapes = list(coarser(*bounds, shape))
        assert len(shapes) > 3
        for coarse in shapes:
            direct = scumble.Sketch(KERNEL, len(low), buckets=coarse, bounds=(low, high), design="grid").update(X)
            added = np.zeros_like(direct.secret.counts)
            np.add.at(added[0], groups(*bounds, shape, coarse), fine.secret.counts[0])
            assert added.sum() == 400
            moved = np.abs(added - direct.secret.counts).sum() / 2
            exact = all(one == other or one % other == 0 for one, other in zip(shape, coarse, strict=True))
            assert moved <= (0 if exact else 400 / 8)


# ---- deciding ----


def test_facts_tell_the_density() -> None:
    menu = Menu(scumble.Sketch(KERNEL, 2).spec, Budget(1.0))

    def told(facts: Facts) -> float:
        return float(np.exp(menu.seen(facts).weights[:, 0] @ np.log(DENSITIES)))

    for density, n in ((0.2, 20_000), (0.01, 100_000), (0.001, 1_000_000)):
        norm = round(n * np.sqrt(density + (1 - density) / 1024 + 1 / n))
        assert abs(np.log(told(Facts(n, 1.0, norm, 5000.0)) / density)) < 0.2
    assert 0.02 < told(Facts(100, 1e9, 0, 1e18)) < 0.1  # what is usual


def test_grid_or_refined_rows_is_decided_by_what_each_will_have() -> None:
    """One column: with δ, refining leaves little of the hashing error; for a large or pure ε, grids are better."""
    column: dict[str, Any] = {"n": 20_000, "dimensions": 1, "kernel": scumble.EuclideanKernel(5.0), "refined": True}
    column["bounds"] = (0.0, 300.0)
    assert scumble.plan(epsilon=1.0, delta=1e-6, **column).design == "sobol"
    assert scumble.plan(epsilon=10.0, delta=1e-6, **column).design == "grid"
    assert scumble.plan(epsilon=1.0, **column).design == "grid"
    assert scumble.plan(epsilon=1.0, delta=1e-6, **column | {"refined": False}).design == "grid"
    model = PrivateKDE(kernel=column["kernel"], epsilon=0.3, delta=1e-6, bounds=column["bounds"])
    X, _ = model._records(np.zeros((1, 1)), None)
    counted = model._sketch(column["kernel"], X, model.price())
    assert counted.design == "grid" and counted.planned == DESIGN  # and the release decides


def test_parts_merge_and_survive_files(rng: np.random.Generator, tmp_path) -> None:
    X = rng.normal(0.0, 1.0, (300, 2))
    opened().update(X[:100]).save(tmp_path / "part.secret")
    part = scumble.load_secret(tmp_path / "part.secret")
    assert part.planned
    whole = scumble.merge([part, opened().update(X[100:])])
    assert whole.planned
    np.testing.assert_array_equal(whole.secret.counts, opened().update(X).secret.counts)
    fixed = scumble.Sketch.from_spec(part.spec)
    with pytest.raises(scumble.MergeError):
        whole.merge(fixed)
    with pytest.raises(scumble.MergeError):
        release_disjoint([opened(), fixed], Budget(1.0))


def test_noise_first_and_shares_fix_the_rows_beforehand(rng: np.random.Generator) -> None:
    X = rng.normal(0.0, 1.0, (300, 2))
    first = opened().start_with_noise(epsilon=1.0)
    assert not first.planned
    released = first.update(X).release()
    assert released.rows == first.rows and released.privacy.epsilon == 1.0
    shares = [opened().update(part).release_share(1.0, custodians=2) for part in (X[:150], X[150:])]
    assert scumble.combine(shares).rows == released.rows


def test_what_is_refused_leaves_the_sketch_as_it_was(rng: np.random.Generator, tmp_path) -> None:
    """Rows are fixed beforehand only if the noise is drawn: a refusal costs nothing, neither budget nor rows."""
    ledger = scumble.Ledger.create(tmp_path / "town.ledger")
    ledger.open_dataset("people", epsilon=0.5)
    account = {"ledger": ledger, "dataset": "people"}
    sketch = opened().update(rng.normal(0.0, 1.0, (300, 2)))
    spec, counts = sketch.spec, sketch.secret.counts.copy()
    for refused in (
        lambda: sketch.release_share(1.0, custodians=2, **account),
        lambda: sketch.release_share(1.0, custodians=2, dropouts=5),
        lambda: sketch.start_with_noise(1.0),  # it has records
    ):
        with pytest.raises(scumble.errors.ScumbleError):
            refused()
        assert sketch.planned and sketch.spec == spec and sketch.secret.spec == spec
        np.testing.assert_array_equal(sketch.secret.counts, counts)
    assert sketch.release(1.0).privacy.epsilon == 1.0


def test_an_interrupt_never_parts_a_sketch_from_its_noise() -> None:
    """Wherever Ctrl-C comes while noise is drawn first: none yet, or all of it in the counters, or an end."""

    def interrupted_at(stop: int) -> tuple[scumble.Sketch, int]:
        seen = 0

        def interrupt(_: FrameType) -> None:
            nonlocal seen
            seen += 1
            if seen == stop:
                raise KeyboardInterrupt

        sketch = opened()
        with contextlib.suppress(KeyboardInterrupt), before_each_line((gate, secret, scumble_sketch), interrupt):
            sketch.start_with_noise(1.0)
        return sketch, seen

    states = set()
    _, last = interrupted_at(-1)
    for stop in range(1, last + 1):
        sketch, _ = interrupted_at(stop)
        counts, noise = sketch.secret.counts, sketch.secret.noise
        if sketch.secret.closed:  # then nobody can have what it holds, which is noise at most
            with pytest.raises(scumble.PrivacyError):
                sketch.release() if sketch.noisy else sketch.release(1.0)
        else:
            assert counts.any() == (noise is not None) and sketch.planned == (noise is None), stop
            assert sketch.spec == sketch.secret.spec and counts.shape == sketch.spec.counters, stop
        states.add((bool(sketch.secret.closed), noise is not None))
    assert states == {(False, False), (True, False), (True, True), (False, True)}


def test_rows_that_are_not_published_are_wiped_whatever_happens(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> np.ndarray:
        raise OSError("no entropy")

    kept = []
    for fail in (False, True):
        sketch = opened().update(rng.normal(0.0, 1.0, (300, 2)))
        kept.append(sketch.secret.counts)
        if fail:
            monkeypatch.setattr(gate, "draw_counters_share", fails)
            with pytest.raises(OSError, match="entropy"):
                sketch.release_share(1.0, custodians=2)
            assert "failed after the budget was spent" in sketch.secret.closed
        else:
            sketch.release_share(1.0, custodians=2)
    assert not any(counts.any() for counts in kept)


def test_classes_get_one_choice(rng: np.random.Generator) -> None:
    parts = [opened().update(rng.normal(center, 1.0, (200, 2))) for center in (0.0, 3.0)]
    a, b = release_disjoint(parts, Budget(1.0))
    bundle = scumble.Bundle({"a": a, "b": b})
    assert a.spec == b.spec and bundle.privacy == a.privacy and a.identity != b.identity


def test_a_build_charges_and_checks_the_same_claim(rng: np.random.Generator, tmp_path) -> None:
    ledger = scumble.Ledger.create(tmp_path / "town.ledger")
    ledger.open_dataset("people", epsilon=1.0)
    frame = {"x": rng.normal(size=400).tolist(), "y": rng.normal(size=400).tolist()}
    import pandas as pd

    account = {"ledger": ledger, "dataset": "people"}
    release = scumble.build(pd.DataFrame(frame), KERNEL, ["x", "y"], epsilon=1.0, buckets=8, **account)
    assert ledger.account("people").left().epsilon == 0
    assert release.privacy.epsilon == 1.0 and release.rows < 4096
    with pytest.raises(scumble.BudgetError):
        scumble.build(pd.DataFrame(frame), KERNEL, ["x", "y"], epsilon=1.0, buckets=8, **account)


def test_releases_with_unequal_rows_merge_in_the_common_ones(rng: np.random.Generator) -> None:
    parts = [opened().update(rng.normal(0.0, 1.0, (n, 2))) for n in (200, 300)]
    a, b = (
        scumble.Release(replace(sketch.spec, rows=rows), **found.made._asdict())
        for sketch, rows in zip(parts, (8, 32), strict=True)
        for found in publish_planned(
            [sketch.secret], Budget(1.0), rows=[8, 32], choose=lambda _, rows=rows: Choice(rows)
        )  # type: ignore[misc]
    )
    both = scumble.merge([a, b], disjoint=True)
    assert both.rows == 8 and both.privacy.epsilon == 1.0
    np.testing.assert_array_equal(both.counts, a.counts + b.counts[:8])
    assert both.counter_variance == a.counter_variance + b.counter_variance
    fixed = scumble.Sketch(KERNEL, 2, rows=32, buckets=16).release(1.0)
    with pytest.raises(scumble.MergeError):
        scumble.merge([a, fixed])


@pytest.mark.parametrize(
    "facts", [Facts(-50, 1.0, -(10**9), 1.0), Facts(10**15, 1.0, 10**15, 1e-9), Facts(None, 0.0, 0, 1.0)]
)
def test_every_fact_leads_to_a_choice(facts: Facts) -> None:
    """Noise may say anything; and cells far larger than the kernel are hopeless, not a nuisance."""
    rows = Menu(opened().spec, Budget(0.001))
    assert rows.choose([facts]).rows in (8, 16, 32)
    spec = scumble.Sketch(scumble.EuclideanKernel(1e-9), 1, bounds=(0.0, 1e6), buckets=(720,), design="grid").spec
    grid = Menu(spec, Budget(1000.0))
    assert grid.choose([facts]).rows == 1 and grid.chosen.shape is not None


def test_cells_that_an_edge_cuts_go_to_either_side_in_turn() -> None:
    """Nowhere are coarse edges off to one side throughout; that would cost three standard errors next to a town."""
    low, high, fine, coarse = np.zeros(2), np.array([60.0, 40.0]), (2401, 1601), (219, 146)
    cells = np.divmod(groups(low, high, fine, coarse).reshape(fine), coarse[1])
    for axis, found in enumerate(cells):
        (start, step, _), (first, stride, _) = (aligned(0.0, float(high[axis]), n[axis]) for n in (fine, coarse))
        places = (start + (np.arange(fine[axis]) + 0.5) * step - first) / stride
        off = (places if axis else places[:, None]) - (found + 0.5)
        assert np.abs(off).max() < 0.5 + 0.5 * coarse[axis] / fine[axis] + 1e-6, "no farther than the cell reaches"
        windows = off[:2376, :1584].reshape(27, 88, 18, 88)  # 8 × 8 coarse cells, as many as a kernel sees
        assert np.abs(windows.mean(axis=(1, 3))).max() < 0.005  # 0.033 if all go where their centers lie


# ---- how clumped records are ----


@pytest.mark.parametrize("axes", [1, 2, 3, 4])
def test_the_third_fact_is_the_norm_of_the_cells(axes: int) -> None:
    """500 records at one place: their cells have the norm 500."""
    sketch = scumble.Sketch(SMOOTH, axes, bounds=(0.0, 20.5), design="grid").update(np.full((500, axes), 3.3))
    menu, session, seen = Menu(sketch.spec, Budget(1.0), sketch.planned), Session(), list[Facts]()

    def choose(facts: Sequence[Facts]) -> Choice:
        seen.extend(facts)
        return menu.choose(facts)

    how: dict[str, Any] = {"rows": menu.rows, "fold": menu.fold(), "clumped": menu.clumped}
    with audit_hooks.watching(session):
        publish_planned([sketch.secret], Budget(1.0), choose=choose, **how)
    assert [shape for _, shape in session.draws[:2]] == [(2, 1), (1,)]
    exact, _ = next(iter(session._exact.values()))
    assert exact.shape == (2, 1) and exact[1, 0] == 500
    assert seen[0].clumping is not None and seen[0].norm_variance == pytest.approx(2769, rel=0.001)
    assert not Menu(scumble.Sketch(SMOOTH, axes).spec, Budget(1.0)).clumped


@pytest.mark.parametrize("axes", [1, 2])
def test_clumped_records_get_smaller_cells(axes: int) -> None:
    menu = Menu(scumble.Sketch(SMOOTH, axes, bounds=(0.0, 20.5), design="grid").spec, Budget(1.0))
    told, cells = [], []
    for clumping in (142, 2000, 8000):
        seen = menu.seen(Facts(20_000, 1250.0, 4500, 2769.0, clumping))
        assert seen.weights.shape == (len(DENSITIES), len(SHARED)) and seen.weights.sum() == pytest.approx(1.0)
        told.append(float(np.exp(seen.weights.sum(axis=0) @ np.log(SHARED))))
        cells.append(menu.best([seen])[0].buckets)
    assert told[0] < 0.5 * told[1] < 0.25 * told[2] and cells[0] < cells[1] < cells[2]
    nothing = menu.seen(Facts(20_000, 1250.0, 4500, 2769.0)).weights.sum(axis=0)
    assert 0.7 < np.exp(nothing @ np.log(SHARED)) / USUALLY_SHARED[0] < 1.4


@pytest.mark.parametrize("length", [10.5, 40.5])
def test_bounds_that_are_wider_than_the_data_hardly_coarsen_its_grid(length: float) -> None:
    """The same facts of the same records, in their own bounds and in wide ones; no chance plays a part."""
    n, times, steps = 20_000, 2.6, []
    for wider in (1.0, times):
        spec, own = (scumble.Sketch(SMOOTH, 2, bounds=(0.0, length * t), design="grid").spec for t in (wider, 2.0))
        density = own.layout.typical_density / 2.0  # of records that fill all of their bounds
        norm = n * np.sqrt(density + (1.0 - density) / 1024 + 1.0 / n)
        menu = Menu(spec, Budget(1.0))
        shape = menu.best([menu.seen(Facts(n, 0.0, round(norm), 2769.0, round(3.0 * n**0.5)))])[0].shape
        assert shape is not None
        steps.append(wider * length / max(shape))
    assert 0.95 * steps[0] < steps[1] < 1.4 * steps[0]


# ---- grids that become rows ----


def small_grid(axes: int = 3, **options: Any) -> scumble.Sketch:
    """A small grid that its release may publish as rows."""
    made = scumble.Sketch(SMOOTH, axes, bounds=(0.0, 2.5), **options)
    shape = (4, 5, 6)[:axes]
    return scumble.Sketch.from_spec(replace(made.spec, shape=shape, buckets=prod(shape)), planned=made.planned)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_rows_of_cells_count_every_record_at_the_center_of_its_cell(
    axes: int, rng: np.random.Generator, tmp_path: Path
) -> None:
    records = rng.uniform(-0.2, 2.7, (300, axes)) ** 2 / 2.5  # some cells hold many, and some records lie outside
    sketch = small_grid(axes).update(records)
    rows = replace(sketch.spec, shape=None, design="sobol", rows=8, buckets=32)
    shape = np.array([4, 5, 6])[:axes]
    centers = (np.clip(np.floor(records / (2.5 / shape)), 0, shape - 1) + 0.5) * 2.5 / shape
    exact = Rehashed(sketch.spec, rows)(sketch.secret.counts[0])
    np.testing.assert_array_equal(exact, scumble.Sketch.from_spec(rows).update(centers).secret.counts)
    menu, claim, session = Menu(sketch.spec, GRID_BUDGET, sketch.planned), sketch.price(GRID_BUDGET), Session()
    how: dict[str, Any] = {"rows": menu.rows, "fold": menu.fold(), "clumped": menu.clumped}
    with audit_hooks.watching(session):
        (found,) = publish_planned([sketch.secret], GRID_BUDGET, choose=lambda _: menu.choice_of(rows), **how)
    assert [shape for _, shape in session.draws] == [(2, 1), (1,), (8, 32)]
    assert 0 < np.abs(found.made.counts - exact).max() < 60 * found.made.counter_variance**0.5
    assert found.made.privacy == claim == menu.price and claim.epsilon <= 1.0 and claim.delta <= 1e-6
    release = scumble.Release(rows, **found.made._asdict())
    release.save(tmp_path / "rows.scumble")
    again = scumble.load(tmp_path / "rows.scumble")
    assert again.spec == rows and again.bounds == ((0.0,) * axes, (2.5,) * axes) and again.rows == 8
    assert again.spec.layout.rounding > 0.0


def test_the_release_decides_where_nobody_else_has(tmp_path: Path) -> None:
    """A grid that was asked for stays one; so does one that will have no δ. Files keep what is left open."""
    assert small_grid().planned == DESIGN and Menu(small_grid().spec, GRID_BUDGET, DESIGN).rows[:2] == [1, 8]
    assert small_grid(design="grid").planned == SIZE and Menu(small_grid().spec, GRID_BUDGET).rows == [1]
    assert Menu(small_grid().spec, Budget(1.0), DESIGN).rows == [1]
    spec, choice = Menu(small_grid().spec, GRID_BUDGET, DESIGN).beforehand()  # noise that comes first goes to cells
    assert spec.shape is not None and choice.rehashed is None
    small_grid().save(tmp_path / "part.secret")
    part = scumble.load_secret(tmp_path / "part.secret")
    assert part.planned == DESIGN and part.empty().planned == DESIGN
    metadata, arrays = small_grid().secret.contents()
    del metadata["rehashed"]  # as an earlier version wrote it
    older = scumble.Sketch.from_container(files.from_bytes(files.to_bytes("secret", metadata, arrays), expect="secret"))
    assert scumble.merge([part, older]).planned == SIZE  # a part that is to stay a grid has the last word
    with mock.patch("scumble.density.sketch.Menu", side_effect=ZeroDivisionError) as menu:
        with pytest.raises(ZeroDivisionError):
            release_disjoint([part, older], GRID_BUDGET)
        assert menu.call_args.args[2] == SIZE
    fixed = scumble.Sketch.from_spec(part.spec)
    assert fixed.planned == 0
    with pytest.raises(scumble.MergeError, match="leaves its number of rows open"):
        scumble.merge([part, fixed])
    with pytest.raises(scumble.MergeError, match="leave their rows open"):
        release_disjoint([part, fixed], GRID_BUDGET)


@pytest.mark.parametrize("axes", [2, 3])
def test_with_a_delta_clumped_records_become_rows(axes: int) -> None:
    """From facts alone: 20,000 records of a density of 0.1, and a norm of the cells of 142 at least."""
    spec = scumble.Sketch(SMOOTH, axes, bounds=(-3.0, 3.0), design="grid").spec

    def published(norm: int, epsilon: float = 0.5, delta: float = 1e-6) -> Spec:
        menu = Menu(spec, Budget(epsilon, delta), DESIGN)
        return menu.best([menu.seen(Facts(20_000, 1250.0, 6000, 2769.0, norm))])[0]

    assert published(8000).rows >= 4096
    assert published(8000, delta=0.0).shape is not None and published(143, epsilon=20.0).shape is not None
