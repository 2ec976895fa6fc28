"""How far the model is off in the cells of measured pairs: what rehearsals tell, and the law of each view."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from tests.views.test_intervals import evidence, table

from scumble.views.estimates import Estimate, by_groups, cells_of, combined, spread
from scumble.views.evidence import Evidence, View
from scumble.views.grouping import Column
from scumble.views.interaction import interaction
from scumble.views.intervals import Reading, law_inputs
from scumble.views.misfit import Misfit, _inputs, misfit_of, shared
from scumble.views.mixture import Condition, Mixture
from scumble.views.smoothing import mean_square, mean_squares

INSIDE: list[Condition] = [
    [(1.0, {0: [1, 1, 0, 0, 0, 0], 1: [1, 0, 0]})],
    [(1.0, {0: [1, 1, 0, 0, 1, 1], 2: [0, 1, 1, 1]})],
    [(1.0, {1: [1, 0, 0]}), (1.0, {2: [1, 0, 0, 0]}), (-1.0, {1: [1, 0, 0], 2: [1, 0, 0, 0]})],
]


@pytest.fixture(scope="module")
def reading() -> Reading:
    return Reading(evidence(table(), 25.0, 0), "gaussian", 3)


@pytest.mark.parametrize("asked", INSIDE)
def test_cells_tell_how_far_each_rehearsal_was_off(reading: Reading, asked: Condition) -> None:
    """`Rehearsal.error` asks the model and goes through the records: the slow, obvious twin. What rehearsals have lost
    makes all errors of a view larger by one factor."""
    told = by_groups(reading.evidence, reading.unseen.marginals, asked)
    assert told is not None
    pair = (min(told[-1][1]), max(told[-1][1]))
    found = reading.misfit(pair).off(cells_of(reading.evidence, told))
    factor = reading.misfit(pair).errors[0] / reading.rehearsals[0].cell_errors(pair)
    assert np.ptp(factor) < 1e-6 and factor.min() >= 1 - 1e-9
    assert found / factor[0, 0] == pytest.approx([one.error(asked) for one in reading.rehearsals], abs=1e-3)


def test_a_variance_is_the_mean_of_the_own_square_and_of_both_laws(reading: Reading) -> None:
    for law in ([-9.0, 0.0, 0.0, 0.0], [9.0, 0.0, 0.0, 0.0]):  # less and more than that of the whole table
        asked, cells = INSIDE[0], np.eye(3)[:1].T @ np.eye(3)[:1]
        known = reading.misfit((0, 1))
        reading._misfits[0, 1] = replace(known, law=np.array(law))
        square = mean_square(known.off(cells), reading._between(asked), len(reading.fits))
        own = 25.0**2 * np.exp(law[0])
        usual = np.exp(reading.usual_law @ law_inputs(reading.model.share(asked), 2))
        assert reading._of_cells(asked, reading.model.share(asked)) == pytest.approx(
            (square + own + max(own, usual)) / 3
        )
        reading._misfits[0, 1] = known


@pytest.mark.parametrize("shape", [(2, 2), (3, 4)])
def test_a_view_farther_from_the_model_than_in_rehearsals_tells_what_they_lost(shape: tuple[int, int]) -> None:
    """Both the errors of cells and the law are raised by it, in the mean of cells; never lowered, nor by margins."""
    told = np.random.default_rng(1).normal(size=(4, *shape))
    known = SimpleNamespace(sizes=shape, groups=[np.arange(size) for size in shape], count=50.0 * told[0].size)
    fit = Mixture(np.ones(1), tuple(np.full((1, size), 1 / size) for size in shape))
    tie, margin = np.zeros(shape), np.zeros(shape)
    tie[:2, :2], margin[0] = [[30.0, -30.0], [-30.0, 30.0]], 30.0
    rehearsals = [SimpleNamespace(cell_errors=lambda _, own=own: own, residuals=lambda _, own=own: own) for own in told]
    cells = [np.eye(told[0].size)[k].reshape(shape) for k in range(told[0].size)]

    def found(off: np.ndarray) -> tuple[float, float]:
        view = View((0, 1), 50.0 + off, 100.0)
        misfit = misfit_of(view, known, [fit], rehearsals, 5)  # type: ignore[arg-type]
        return float(np.mean([misfit.smoothed(cell, 50.0) for cell in cells])), float((misfit.errors**2).mean())

    (law, errors), usual = found(tie), found(np.zeros(shape))
    more = float((tie**2).mean() - np.mean([interaction(own) ** 2 for own in told]))
    assert law == pytest.approx(usual[0] + more, rel=1e-6)
    assert errors / usual[1] == pytest.approx(law / usual[0])
    assert found(margin) == pytest.approx(usual) and found(tie / 1e3) == pytest.approx(usual)


def test_a_law_knows_weights_by_their_ratios_alone() -> None:
    """Of a part of a group, the errors are that part of the group's."""
    found = Misfit(np.zeros((2, 3, 4)), 100.0, np.array([0.3, 0.7, 0.1, 0.2]), 0.5)
    cells = np.outer([1.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.5])
    assert found.smoothed(cells / 5, 8.0) == pytest.approx(found.smoothed(cells, 40.0) / 25)
    assert found.smoothed(-cells, 40.0) == found.smoothed(cells, 40.0)
    assert found.smoothed(0 * cells, 40.0) == 0.0
    inputs = _inputs(np.array([5.0]), np.array([100.0]), np.array([1.0]))[0]
    assert inputs.tolist() == [1.0, np.log(0.8), np.log(0.8) ** 2, 0.0]
    assert found.smoothed(np.eye(3, 4) * [[1], [0], [0]], 5.0) == pytest.approx(100 * np.exp(inputs @ found.law))


def test_a_view_whose_cells_err_twice_as_much_has_twice_the_deviation(reading: Reading) -> None:
    view = reading.evidence.pair((0, 2))
    assert view is not None
    fits, once = reading.model.parts(reading.fits)[:1], reading.misfit((0, 2)).errors
    laws = []
    for factor in (100.0, 200.0):  # so much that no cell is as good as empty
        errors = [
            SimpleNamespace(cell_errors=lambda _, own=factor * own: own, residuals=lambda _: 1e3 * once[0])
            for own in once
        ]
        laws.append(misfit_of(view, reading.evidence, fits, errors, 5))  # type: ignore[arg-type]
    cells = np.outer([1.0, 0.0, 1.0], [0.0, 1.0, 1.0])
    assert laws[1].smoothed(cells, 30.0) == pytest.approx(4 * laws[0].smoothed(cells, 30.0), rel=1e-6)
    assert 0.1 < laws[0].smoothed(cells, 30.0) / float((laws[0].off(cells) ** 2).mean()) < 10


def test_cells_that_are_surely_empty_do_not_bend_the_law() -> None:
    """Nineteen lines of twenty have no errors at all; of the other's cells the law is of the size of theirs."""
    size = 20
    line, empty = np.geomspace(1.0, 1000.0, size), np.zeros((size - 1, size))
    table, off = np.vstack([line, empty]), np.random.default_rng(1).normal(0, 20.0, (4, size))
    errors = [
        SimpleNamespace(cell_errors=lambda _, own=own: np.vstack([own, empty]), residuals=lambda _: table)
        for own in off
    ]
    views = View((0,), table.sum(1), 4.0), View((1,), table.sum(0), 4.0), View((0, 1), table, 625.0)
    seen = Evidence((Column(size), Column(size)), (np.arange(size), np.arange(size)), views)
    fit = Mixture(line / line.sum(), (np.tile(np.eye(size)[0], (size, 1)), np.eye(size)))
    found = misfit_of(views[2], seen, [fit], errors, 5)  # type: ignore[arg-type]
    for column in range(size):
        cell = np.outer(np.eye(size)[0], np.eye(size)[column])
        assert 2 < math.sqrt(found.smoothed(cell, line[column])) < 60


def test_a_model_is_the_mean_of_its_parts(reading: Reading) -> None:
    parts = reading.model.parts(reading.fits)
    assert len(parts) == len(reading.fits) > 1 and np.allclose([p.weights.sum() for p in parts], 1.0)
    assert np.mean([part.table((0, 1)) for part in parts], axis=0) == pytest.approx(reading.model.table((0, 1)))


def test_mean_squares_are_those_of_each_count() -> None:
    errors, between = np.array([[7.0, -3.0, 2.0], [13.0, 3.0, 2.0]]), np.array([0.0, 1.0, 100.0])
    each = [mean_square(errors[:, k], between[k], 4) for k in range(3)]
    assert mean_squares(errors, between, 4) == pytest.approx(each) and each == pytest.approx([200, 8.25, 2.0])


def test_no_count_is_surer_than_the_columns_it_is_made_of() -> None:
    """A word that the fit takes for empty may have some twenty records, so some ten of either sort."""
    word, sort = np.array([300.0, 300.0, 300.0, -60.0]), np.array([500.0, 400.0])
    groups = np.array([0, 1, 2, 2]), np.arange(2)
    both = np.array([[200.0, 100.0], [150.0, 150.0], [150.0, 150.0]])
    views = View((0,), word, 400.0), View((1,), sort, 4.0), View((0, 1), both, 4.0)
    reading = Reading(Evidence((Column(4), Column(2)), groups, views), "gaussian", 1)
    for sorts in ([1, 0], [0, 1], [1, 1]):
        asked: Condition = [(1.0, {0: [0, 0, 0, 1], 1: sorts})]
        assert reading.modelled(asked) < 1
        alone = reading._sums.sum(0, np.eye(4)[3])
        part = sum(sorts) / 2  # of the other words in its group
        assert reading.count(asked).variance >= 0.9 * part**2 * alone.variance > 20
    weighed = reading.count([(1.0, {0: [0, 0, 0, 1], 1: [1, -1]})], alike=1e-9)
    assert weighed.variance < 20, "of what may be negative, the columns' own readings stand beside it (`Weighed`)"


def test_the_more_noise_cells_and_model_share_the_less_their_mean_is_surer(reading: Reading) -> None:
    """The answer stays; its variance is that of errors which are correlated by what the view tells, or by a half."""
    asked, known = INSIDE[0], reading.misfit((0, 1))
    own = reading._cells(asked)
    model = Estimate(reading.modelled(asked), reading._of_cells(asked, reading.model.share(asked)))
    found = {}
    for told in (-1.0, 0.5, 0.8, 1.0):
        reading._misfits[0, 1] = replace(known, shared=told)
        found[told] = reading._both(model, asked, asked, signed=False)
    reading._misfits[0, 1] = known
    value, weight = combined(own, model, 0.5)
    assert 0.1 < weight < 0.9 and [one.value for one in found.values()] == pytest.approx([value] * len(found))
    for told, one in found.items():
        assert one.variance == pytest.approx(spread(own, model, weight, max(told, 0.5)))


def test_cells_and_model_share_what_their_distance_shows() -> None:
    """Errors of a model that keeps a part of the noise, and has errors of its own.

    The seed is fixed. Of 2,401 independent directions the mean square has a deviation of 0.029 of itself, so the
    estimate has one of about 0.03 (136 · 0.029/120): 0.2 is six of them.
    """
    generator = np.random.default_rng(4)
    noise, own = 10 * generator.normal(size=(50, 50)), 6 * generator.normal(size=(9, 50, 50))
    view, off = View((0, 1), noise, 100.0), np.array([0.8 * 10 * generator.normal(size=(50, 50)) for _ in range(8)])
    for part in (0.0, 0.8):
        errors = part / 0.8 * off + own[1:]
        told = part * 100 / (10 * math.hypot(10 * part, 6))
        assert shared(view, (part * noise + own[0])[None], errors) == pytest.approx(told, abs=0.2)
