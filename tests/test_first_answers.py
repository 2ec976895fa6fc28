"""The first few questions to a large grid: a density waits for no error bar, and says what it says beside one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scumble
from scumble.grid import Grid, direct, field
from scumble.grid.field import AT_ONCE, SMALL, Field
from scumble.learn.refining import Refined, refine
from scumble.reading.answers import Answers
from scumble.reading.grid import CAUTION

pytestmark = pytest.mark.filterwarnings("ignore::scumble.reading.answers.BeyondBounds")  # some points are, on purpose

Q = np.array([[0.3, -0.2], [3.99, -3.99], [5.0, 0.0], [40.0, -70.0]])  # within, in a corner, beside, far away
X = np.random.default_rng(4).normal(size=(3000, 2))


def large() -> scumble.Sketch:
    shape = (256, SMALL // 256 + 1)
    made = scumble.Sketch(scumble.EuclideanKernel(0.7), 2, design="grid", bounds=(-4, 4), buckets=shape)
    return made.update(np.vstack([X, np.round(X[:500])]))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """How often the places inside the cells were looked into."""
    calls: list[Any] = []
    real = direct.places

    def spy(*args: Any) -> float:
        calls.append(args)
        return real(*args)

    monkeypatch.setattr(direct, "places", spy)
    return calls


def in_full(one: scumble.Sketch | scumble.Release) -> tuple[np.ndarray, ...]:
    """Value and both variances of each query, as the field finds them when asked for all at once."""
    exact = isinstance(one, scumble.Sketch)
    counts = one.secret.counts if isinstance(one, scumble.Sketch) else one.counts
    count = one.count if isinstance(one, scumble.Sketch) else one.noisy_count
    field = Field(
        one.spec.layout.grid,
        counts,
        0.0 if exact else one.counter_variance,
        count=count,
        count_variance=0.0 if exact else one.count_variance,
    )
    return field.estimate(Q)


@pytest.mark.parametrize("noisy", [False, True], ids=["sketch", "release"])
def test_a_density_is_that_of_the_full_answer_and_looks_into_no_cell(noisy: bool, asked: list[Any]) -> None:
    one: Any = large().release(1.0) if noisy else large()
    value, noise, places = in_full(one)
    near = len(asked)
    assert near > 0
    np.testing.assert_array_equal(one.kernel_sum(Q), value)
    np.testing.assert_array_equal(one.density(Q), np.clip(value / max(one.count, 1.0), 0.0, 1.0))
    assert len(asked) == near
    np.testing.assert_array_equal(one.standard_error(Q), np.sqrt(noise + places))
    assert len(asked) == 2 * near
    lower, upper = one._interval(Q, 0.95, "mean")
    half = (upper - lower) / 2.0
    np.testing.assert_allclose(half, 1.959964 * np.sqrt(noise + CAUTION**2 * places), rtol=1e-5)
    np.testing.assert_allclose((lower + upper) / 2.0, value, rtol=1e-12, atol=1e-9)


def test_a_release_looks_once_however_often_it_is_asked(asked: list[Any]) -> None:
    release = large().release(1.0)
    release.interval(Q[:1])
    release.interval(Q[:1])
    release.standard_error(Q[:1])
    assert len(asked) == 1


def test_several_questions_share_the_roughness_of_all_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """And are answered as each of them would be, asked alone."""
    made: list[tuple[int, ...]] = []
    for module in (direct, field):
        real = module.roughness
        monkeypatch.setattr(module, "roughness", lambda *given, real=real: made.append(given[0].shape) or real(*given))
    release = large().release(1.0)
    some = np.array([[0.3, -0.2], [-1.0, 1.0], [3.9, -3.9], [0.0, 2.0]])
    alone = []
    for q in some:
        one = scumble.Release.from_bytes(release.to_bytes())
        alone.append(one.standard_error(q[None])[0])
    assert len(made) == len(some)
    made.clear()
    np.testing.assert_allclose(release.standard_error(some), alone, rtol=1e-12)
    assert made == [release.spec.layout.grid.shape]


def test_first_answers_are_those_of_later_ones() -> None:
    release = large().release(1.0)
    first = release.density(Q), release.standard_error(Q)
    many = np.random.default_rng(0).uniform(-4, 4, size=(2 * AT_ONCE, 2))
    release.density(many)
    assert not release._reader().field.sums_few(Q)  # type: ignore[attr-defined]
    np.testing.assert_allclose(release.density(Q), first[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(release.standard_error(Q), first[1], rtol=1e-9)


def test_a_sketch_answers_for_the_records_that_it_had(asked: list[Any]) -> None:
    """Errors that are found later are those of the same counters."""
    sketch = large()
    _, noise, places = in_full(sketch)
    estimate = sketch._estimate(Q, "mean")
    sketch.update(X)
    np.testing.assert_array_equal(estimate.variance, noise + places)


def test_a_refined_release_adds_what_its_companions_know() -> None:
    sketch = scumble.Sketch(scumble.EuclideanKernel(0.7), 2, rows=64, buckets=64, seed=3)
    release = sketch.update(X).release(5.0)
    refined = refine(release, (-4, 4))
    assert isinstance(refined, Refined)
    left = Answers._estimate(refined, Q[:2], "mean")
    known = sum(s * half.sums(Q[:2]) for s, half in zip(refined._shares, refined._halves, strict=True))
    assert np.all(np.abs(known) > 1.0)
    np.testing.assert_array_equal(refined.kernel_sum(Q[:2]), left.value + known)
    np.testing.assert_array_equal(refined.standard_error(Q[:2]), np.sqrt(left.variance))
    lower, upper = refined.interval(Q[:2])
    np.testing.assert_allclose((lower + upper) / 2.0, left.value + known, rtol=1e-12)


@pytest.mark.parametrize("noise", [0.0, 400.0], ids=["by the ceiling", "far below it"])
def test_a_first_error_is_that_of_the_tables_with_and_without_the_ceiling(
    noise: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lone clump: without noise the ceiling holds beside it; with noise it is far above, and is not computed."""
    looked: list[Any] = []
    real = direct._at_corners
    monkeypatch.setattr(direct, "_at_corners", lambda *given: looked.append(given) or real(*given))
    grid = Grid(scumble.EuclideanKernel(0.7), low=[-4] * 3, high=[4] * 3, shape=(40, 41, 39), width=3)
    counts = np.zeros((1, grid.cells))
    counts[0, grid.cell(np.array([[0.3, -0.2, 1.0]]))] = 1000.0
    some = np.array([[0.5, 0.1, 1.1], [-1.0, 1.0, 0.0], [3.97, -3.97, 3.9], [0.31, -0.2, 3.0]])
    many = np.vstack([some, np.zeros((2 * AT_ONCE, 3))])
    first = [Field(grid, counts, noise).estimate(q[None])[2][0] for q in some]
    assert len(looked) == (0 if noise else len(some))
    np.testing.assert_allclose(Field(grid, counts, noise).estimate(some)[2], first, rtol=1e-9)
    np.testing.assert_allclose(Field(grid, counts, noise).estimate(many)[2][: len(some)], first, rtol=1e-9)
