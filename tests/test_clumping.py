"""The third fact of a grid, how clumped its records are: what it is, what it costs, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest

import scumble
from scumble.audit.replay import Session, compare, used
from scumble.grid.shape import LOST
from scumble.planning.later import Choice, Menu
from scumble.planning.plausible import CLUMPED, CLUMPINGS, DENSITIES, Around, plausible
from scumble.privacy import seam
from scumble.privacy.budget import Budget
from scumble.privacy.facts import ENOUGH, Facts, calibrated, divided
from scumble.releasing import planned
from scumble.releasing.planned import publish_planned
from scumble.spec import Spec

KERNEL = scumble.EuclideanKernel(1.0, power=2)


def opened(axes: int) -> scumble.Sketch:
    """A grid whose cells are left open."""
    return scumble.Sketch(KERNEL, axes, bounds=(0.0, 20.5), design="grid")


@pytest.mark.parametrize(("axes", "expected"), [(1, 500), (2, 500), (3, 1)])
def test_the_third_fact_is_the_norm_of_the_cells_or_how_many_are_occupied(axes: int, expected: int) -> None:
    """500 records at one place: their cells have the norm 500, and one of them is occupied."""
    sketch, session, seen = opened(axes).update(np.full((500, axes), 3.3)), Session(), list[Facts]()
    menu = Menu(sketch.spec, Budget(1.0), sketch.planned)

    def choose(facts: Sequence[Facts]) -> Choice:
        seen.extend(facts)
        return menu.choose(facts)

    with seam.watching(session):
        publish_planned(
            [sketch.secret],
            Budget(1.0),
            rows=menu.rows,
            choose=choose,
            fold=menu.fold(),
            clumping=menu.clumping,
        )
    assert [shape for _, shape in session.draws[:2]] == [(2, 1), (1,)]
    exact, _ = next(iter(session._exact.values()))
    assert exact.shape == (2, 1) and exact[1, 0] == expected
    assert seen[0].clumping is not None and seen[0].norm_variance == pytest.approx(2769, rel=0.001)


def test_a_grid_without_a_choice_and_rows_ask_nothing_of_clumping() -> None:
    four = scumble.Sketch(KERNEL, 4, bounds=(0.0, 2.5), design="grid").spec
    for spec in (scumble.Sketch(KERNEL, 2).spec, four):
        menu = Menu(spec, Budget(1.0))
        assert menu.clumping is None and menu.numbers == 1
    single = Spec(
        kernel=KERNEL,
        dimensions=1,
        columns=None,
        rows=1,
        buckets=1,
        seed=0,
        design="grid",
        bounds=((0.0,), (1.0,)),
        shape=(1,),
    )
    assert Menu(single, Budget(1.0)).clumping is None


def audited(axes: int, X: np.ndarray, there: np.ndarray) -> float:
    """What of its claim the release of a grid takes between two tables."""
    sessions, made = [Session()], []
    for table in (X, there):
        with seam.watching(sessions[-1]):
            made.append(opened(axes).update(table).release(1.0))
        sessions.append(Session(sessions[0]))
    found = compare(*sessions[:2])
    assert found.problems == () and made[0].counts.tobytes() == made[1].counts.tobytes()
    return used(made[0].privacy, found.epsilon, found.rho)


def test_a_column_is_released_within_its_claim(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.vstack([np.full((99, 1), 7.0), rng.uniform(0.0, 20.5, (200, 1))])
    assert 0.4 < audited(1, X, X[1:]) <= 1.0
    steep: Callable[[np.ndarray], int] = lambda counts: 40 * int(counts.sum())  # noqa: E731
    monkeypatch.setitem(planned.CLUMPINGS, "norm", steep)  # type: ignore[arg-type]
    with pytest.raises(AssertionError):
        assert audited(1, X, X[1:]) <= 1.0


@pytest.mark.parametrize("axes", [1, 2])
def test_the_norm_of_the_cells_tells_how_clumped_records_are(axes: int) -> None:
    n, density, told = 20_000, 0.05, []
    norm = round(n * np.sqrt(density + (1 - density) / 1024 + 1 / n))
    for clumping in (None, 142, 800, 4000):
        facts = Facts(n, 1250.0, norm, 2769.0, clumping)
        weights = plausible(facts, float(n), 1 / 1024, Around(100.0, density, axes))
        assert weights.shape == (len(DENSITIES), len(CLUMPINGS)) and weights.sum() == pytest.approx(1.0)
        told.append(float(np.exp(weights.sum(axis=0) @ np.log(CLUMPINGS))))
    nothing, smooth, some, many = told
    assert 0.7 < nothing / CLUMPED[axes][0] < 1.4 and smooth < 0.5 * some < 0.25 * many


@pytest.mark.parametrize("axes", [1, 2])
def test_clumped_records_get_smaller_cells(axes: int) -> None:
    spec = opened(axes).spec
    cells = [
        Menu(spec, Budget(1.0)).best([Facts(20_000, 1250.0, 4500, 2769.0, clumping)])[0].buckets
        for clumping in (142, 2000, 8000)
    ]
    assert cells[0] < cells[1] < cells[2]


def test_where_noise_drowns_everything_cells_are_large() -> None:
    """2,000 records at ε = 0.01: no cell tells anything, and small ones would be off by far more than all of it."""
    menu = Menu(opened(2).spec, Budget(0.01))
    chosen, error = menu.best([Facts(2000, 1e6, 20, 1e8, 30)])
    shapes, expected = menu._shapes
    finest = expected.clumped(2000.0, menu.noise_variance(1) ** 0.5, DENSITIES[20:21], CLUMPINGS[:1])[0, 0, 0]
    assert finest > 100 * LOST and error < 5 * LOST and chosen.buckets < np.prod(shapes[0]) / 100


def test_facts_get_no_more_than_enough() -> None:
    """Up to ε = 2 their share is what it was; then it is 1/8 beside the count, by a sixty-fourth at most."""
    for epsilon in (0.1, 1.0, 2.0):
        assert Fraction(divided(Budget(epsilon), 2).facts.epsilon) == Fraction(epsilon) * Fraction(3, 32)
    for epsilon, persons in ((10.0, 1), (100.0, 1), (30.0, 3), (10.0, 3)):
        budget = Budget(epsilon, records_per_person=persons)
        facts, rows = divided(budget, 2)
        most = Fraction(epsilon) / 25 + ENOUGH[2] * persons
        assert most - Fraction(1, 64) < Fraction(facts.epsilon) <= most
        assert Fraction(facts.epsilon) + Fraction(rows.epsilon) == Fraction(epsilon)
        assert facts.calibrate(2).counter_variance < (persons * 26) ** 2
    alone = divided(Budget(10.0, count_share=0), 1).facts
    assert Fraction(alone.epsilon) == ENOUGH[1]
    shared = divided(Budget.of(rho=50.0), 2).facts
    assert shared.rho is not None and Fraction(shared.rho) == 50 * Fraction(3, 32)
    # A counter's noise with what is left, beside what a tenth of the budget would have left: e^(−ε/2).
    assert (
        calibrated(divided(Budget(10.0), 2).rows, 1).counter_variance
        < 0.7 * Budget("9.06").calibrate(1).counter_variance
    )
