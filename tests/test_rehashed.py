"""Grids of up to three axes published as rows: what is counted, what it costs, who decides, what files keep."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import prod
from pathlib import Path

import numpy as np
import pytest

import scumble
from scumble import files
from scumble.audit.replay import Session
from scumble.grid.finest import rounding
from scumble.planning.later import Choice, Menu
from scumble.planning.plans import DESIGN, SIZE
from scumble.planning.plausible import CLUMPED, CLUMPINGS, DENSITIES, Around, plausible
from scumble.planning.rehashing import Rehashed
from scumble.privacy import disjoint, overlapping, seam
from scumble.privacy.budget import Budget
from scumble.privacy.facts import Facts, divided, price
from scumble.releasing.planned import publish_planned
from scumble.spec import Spec

KERNEL = scumble.EuclideanKernel(1.0, power=2)
BUDGET = Budget(1.0, 1e-6)


def opened(axes: int = 3, **options: object) -> scumble.Sketch:
    """A small grid that its release may publish as rows."""
    made = scumble.Sketch(KERNEL, axes, bounds=(0.0, 2.5), **options)  # type: ignore[arg-type]
    shape = (4, 5, 6)[:axes]
    return scumble.Sketch.from_spec(replace(made.spec, shape=shape, buckets=prod(shape)), planned=made.planned)


def as_rows(grid: Spec) -> Spec:
    return replace(grid, shape=None, design="sobol", rows=8, buckets=32)


@pytest.fixture
def records(rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(-0.2, 2.7, (300, 3)) ** 2 / 2.5  # some cells hold many, and some records lie outside


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_rows_count_every_record_at_the_centre_of_its_cell(axes: int, records: np.ndarray) -> None:
    sketch = opened(axes).update(records[:, :axes])
    shape = np.array([4, 5, 6])[:axes]
    step = 2.5 / shape
    centres = (np.clip(np.floor(records[:, :axes] / step), 0, shape - 1) + 0.5) * step
    expected = scumble.Sketch.from_spec(as_rows(sketch.spec)).update(centres)
    found = Rehashed(sketch.spec, as_rows(sketch.spec))(sketch.secret.counts[0])
    np.testing.assert_array_equal(found, expected.secret.counts)
    assert not Rehashed(sketch.spec, as_rows(sketch.spec))(np.zeros(sketch.buckets, np.int64)).any()


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_three_facts_and_then_rows(axes: int, records: np.ndarray, tmp_path: Path) -> None:
    sketch = opened(axes).update(records[:, :axes])
    menu = Menu(sketch.spec, BUDGET, sketch.planned)
    rows = as_rows(sketch.spec)
    exact = Rehashed(sketch.spec, rows)(sketch.secret.counts[0])
    claim, session = sketch.price(BUDGET), Session()
    with seam.watching(session):
        (found,) = publish_planned(
            [sketch.secret],
            BUDGET,
            rows=menu.rows,
            choose=lambda facts: menu.choice_of(rows),
            fold=menu.fold(),
            clumping=menu.clumping,
        )
    assert [shape for _, shape in session.draws] == [(2, 1), (1,), (8, 32)]
    deviation = found.made.counter_variance**0.5
    assert 0 < np.abs(found.made.counts - exact).max() < 60 * deviation
    assert found.made.privacy == claim == menu.price
    assert claim.epsilon <= 1.0 and claim.delta <= 1e-6 and not sketch.secret.counts.size
    release = scumble.Release(rows, **found.made._asdict())
    release.save(tmp_path / "rows.scumble")
    again = scumble.load(tmp_path / "rows.scumble")
    assert again.spec == rows and again.bounds == ((0.0,) * axes, (2.5,) * axes) and again.rows == 8


def test_rows_that_lose_a_record_are_not_published(records: np.ndarray) -> None:
    sketch = opened().update(records)
    with pytest.raises(scumble.ParameterError, match="hold every record once"):
        publish_planned(
            [sketch.secret], BUDGET, rows=[1, 8], choose=lambda _: Choice(8, None, lambda cells: np.ones((8, 9), int))
        )
    assert not sketch.secret.counts.size and "failed after the budget was spent" in sketch.secret.closed


def test_the_release_decides_where_nobody_else_has() -> None:
    """A grid that was asked for stays one; so does one that will have no δ."""
    assert opened().planned == DESIGN and Menu(opened().spec, BUDGET, DESIGN).rows[:2] == [1, 8]
    assert opened(design="grid").planned == SIZE and Menu(opened().spec, BUDGET).rows == [1]
    assert Menu(opened().spec, Budget(1.0), DESIGN).rows == [1]
    for axes in (1, 2):
        flat = scumble.Sketch(KERNEL, axes, bounds=(0.0, 2.5))
        assert flat.planned == DESIGN and Menu(flat.spec, BUDGET, flat.planned).rows[:2] == [1, 8]
    four = scumble.Sketch(KERNEL, 4, bounds=(0.0, 2.5), design="grid")
    assert four.planned == SIZE and Menu(four.spec, BUDGET, four.planned).rows == [1]
    spec, choice = Menu(opened().spec, BUDGET, DESIGN).beforehand()  # noise that comes first goes to cells
    assert spec.shape is not None and choice.rehashed is None


def test_parts_and_files_keep_what_is_left_open(records: np.ndarray, tmp_path: Path) -> None:
    opened().update(records).save(tmp_path / "part.secret")
    part = scumble.load_secret(tmp_path / "part.secret")
    assert part.planned == DESIGN and part.empty().planned == DESIGN
    metadata, arrays = opened().update(records).secret.contents()
    del metadata["rehashed"]  # as an earlier version wrote it
    older = scumble.Sketch.from_container(files.from_bytes(files.to_bytes("secret", metadata, arrays), expect="secret"))
    assert older.planned == SIZE
    assert scumble.merge([part, older]).planned == SIZE  # a part that is to stay a grid has the last word


def test_clumped_records_with_a_delta_become_rows_and_smooth_ones_do_not() -> None:
    """From facts alone: 20,000 records, a kernel that covers some 100,000 cells, and a density of 0.1."""
    spec = scumble.Sketch(scumble.EuclideanKernel(2.0, power=2), 3, bounds=(-4.3, 4.3)).spec
    norm, variance = 6400, 5000.0

    def published(occupied: int, budget: Budget = BUDGET) -> Spec:
        return Menu(spec, budget, DESIGN).best([Facts(20_000, 1250.0, norm, variance, occupied)])[0]

    assert published(5000).rows >= 4096
    smooth, middle, clumped = (published(occupied, Budget(1.0)) for occupied in (19_800, 14_000, 5000))
    assert [one.rows for one in (smooth, middle, clumped)] == [1, 1, 1]
    assert smooth.buckets <= middle.buckets < clumped.buckets  # and cells are smaller where records share places
    assert published(19_800, Budget(10.0, 1e-6)).rows == 1


@pytest.mark.parametrize("axes", [1, 2])
def test_one_and_two_columns_become_rows_where_records_share_places(axes: int) -> None:
    """From facts alone: 20,000 records of a density of 0.1, and a norm of the cells of 142 at least."""
    spec = scumble.Sketch(KERNEL, axes, bounds=(-3.0, 3.0) if axes == 2 else (-8.0, 8.0)).spec

    def published(norm: int, epsilon: float = 0.5, delta: float = 1e-6) -> Spec:
        return Menu(spec, Budget(epsilon, delta), DESIGN).best([Facts(20_000, 1250.0, 6000, 2769.0, norm)])[0]

    assert published(8000).rows >= 4096
    assert published(143, epsilon=5.0).shape is not None
    assert published(8000, delta=0.0).shape is not None and published(8000, epsilon=20.0).shape is not None


def test_occupied_cells_tell_how_clumped_records_are() -> None:
    told = []
    for occupied in (None, 19_300, 10_000, 3000):
        facts = Facts(20_000, 1250.0, 6400, 5000.0, occupied)
        weights = plausible(facts, 20_000.0, 1 / 1024, Around(100_000.0, 0.07))
        assert weights.shape == (len(DENSITIES), len(CLUMPINGS)) and weights.sum() == pytest.approx(1.0)
        told.append(float(np.exp(weights.sum(axis=0) @ np.log(CLUMPINGS))))
    assert 0.8 < told[0] / CLUMPED[3][0] < 1.25 and told[1] < 0.6 * told[2] < 0.4 * told[3]


def test_where_noise_drowns_the_facts_bounds_and_kernel_tell_the_density() -> None:
    """And where it does not, the facts do: bounds that are far too wide do no harm."""

    def density(variance: float, spread: float) -> float:
        weights = plausible(Facts(20_000, 1250.0, 2000, variance), 20_000.0, 1 / 1024, Around(1000.0, spread))
        return float(np.exp(weights.sum(axis=1) @ np.log(DENSITIES)))

    assert 0.001 < density(1e9, 0.001) < 0.01 < density(1e9, 0.1) < 0.2
    assert density(100.0, 1e-4) == pytest.approx(density(100.0, 0.1), rel=0.1) == pytest.approx(0.009, rel=0.15)


def test_a_claim_says_how_many_facts_came_first(records: np.ndarray) -> None:
    """Gaussian rows have a count of their own beside the facts'; releases that only overlap are told apart."""
    assert "after three noisy facts" in str(opened().price(BUDGET))
    assert "after three noisy facts" in str(opened().price(Budget(1.0)))
    assert "after two noisy facts" in str(scumble.Sketch(KERNEL, 3, buckets=64).price(BUDGET))
    assert not overlapping([Budget(1.0).claim(1), BUDGET.claim(64)]).by_facts
    assert not overlapping([Budget(1.0).claim(1), disjoint([BUDGET.claim(64)] * 2)]).by_facts


def test_a_grid_and_rows_do_not_merge_and_say_what_to_do(records: np.ndarray) -> None:
    made = []
    for chosen in (as_rows(opened().spec), opened().spec):
        sketch = opened().update(records)
        menu = Menu(sketch.spec, BUDGET, DESIGN)
        how = {"choose": lambda _, spec=chosen, menu=menu: menu.choice_of(spec), "clumping": "occupied"}
        (found,) = publish_planned([sketch.secret], BUDGET, rows=menu.rows, fold=menu.fold(), **how)
        made.append(scumble.Release(chosen, **found.made._asdict()))
    with pytest.raises(scumble.MergeError, match=r"whether it is a grid.*buckets=\(4, 5, 6\)"):
        scumble.merge(made, disjoint=True)


@pytest.mark.parametrize("budget", [Budget(1.0), BUDGET, Budget.of(rho=0.1), Budget(0.5, neighbors="replace")], ids=str)
def test_two_facts_beside_a_count_cost_what_two_rows_cost(budget: Budget) -> None:
    """A record moves each norm by one at most: facts and rows stay within the budget."""
    parts, whole = divided(budget, 2), price(budget, [1, 8], 2)
    assert whole.parts[0] == parts.facts.claim(2) and Menu(opened().spec, budget, DESIGN).numbers == 2
    if budget.rho is None:
        assert Fraction(whole.epsilon) <= Fraction(budget.epsilon) and whole.delta <= float(budget.delta)
        assert parts.facts.epsilon + parts.rows.epsilon == Fraction(budget.epsilon)  # type: ignore[operator]
    else:
        assert whole.rho is not None and whole.rho <= float(budget.rho) * (1 + 1e-12)


def test_intervals_allow_for_records_to_one_side_of_their_cells(records: np.ndarray) -> None:
    """Rows of cells have bounds, and know by how much a coherent half of a cell could be off; other rows do not."""
    rows = as_rows(opened().spec)
    counts = scumble.Sketch.from_spec(rows).update(records).secret.counts
    parts, _ = rows.layout.read(records[:9], invalid="error")
    made, plain = (
        one.layout.reader(counts, 1.0, (300.0, 0.0)).estimate(parts) for one in (rows, replace(rows, bounds=None))
    )
    off = rows.layout.rounding  # type: ignore[attr-defined]
    assert 0.001 < off < 0.1
    np.testing.assert_array_equal(made.value, plain.value)
    np.testing.assert_allclose(made.hashing_variance - plain.hashing_variance, (off * plain.value.clip(0.0)) ** 2)


def test_cells_of_whole_numbers_round_nothing() -> None:
    kernel = scumble.EuclideanKernel(8.0, power=2)
    ends = np.zeros(3), np.full(3, 40.0)
    assert rounding(kernel, *ends, width=3, names=None) == 0.0
    assert rounding(kernel, ends[0] + 0.01, ends[1], width=3, names=None) > 0.0
