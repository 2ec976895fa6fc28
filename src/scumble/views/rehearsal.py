"""How far answers are off: the whole release rehearsed on synthetic tables, whose truth is known.

1. A *world* is fitted to the evidence, more closely than the model that answers (more components, and farther into the
   noise; levels within their groups just as the noisy columns have them): a world with less structure than the table
   would make the rehearsals too easy. A second one (`sparse`) has as few levels as may be.
2. Several times, n records are drawn from the world, counted in the same views, noise of the same law is added, and the
   model is fitted as it was to the evidence. In such a rehearsal an answer's error is known.

What a rehearsal adds is no protection but an imitation of it, so it comes from an ordinary seeded generator: errors are
a function of what is public, and the same each time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from scumble.machine.compiling import can_compile, njit
from scumble.machine.patience import Patience
from scumble.views.budgeting import Law
from scumble.views.coarsening import coarser
from scumble.views.evidence import Evidence, View, shape_within
from scumble.views.fitting import COMPONENTS, MANY, THREADS, WIDE, fitted
from scumble.views.mixture import Condition, Mixture
from scumble.views.records import Codes, Records

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

WORLDS = 2
REHEARSALS = 8
"""Half of them in either world."""
CHEAP = 16
"""Where single columns are all there is, and nothing needs to be fitted."""
WORLD_COMPONENTS = 200
WORLD_GOAL = 0.55
FEWER = 4
"""Of wide tables, and of those with much to fit."""
SURE = 2.5
"""Standard deviations of noise above which a cell is surely not empty."""
MOST_ROWS = 100_000
"""Beyond, the world itself is the table: its records are so many that their chance is small beside other errors."""
numpy_first = Patience(1 << 26, 1 << 27)
"""Records of pairs that NumPy counts before a compiled loop is loaded, and before it is compiled."""


@dataclass(frozen=True)
class Rehearsal:
    """A release of a synthetic table.

    Attributes
    ----------
    rows : ndarray of int
        (n, columns): the synthetic records; none if the world itself was the table.
    world : Mixture
        What they were drawn from.
    evidence : Evidence
        Their noisy views.
    model : Mixture
        What was fitted to those: one fit, to be done sooner. How much fits differ, the true ones show.
    records : float
        How many records the world has, where it was the table.
    """

    rows: Codes | Integers
    world: Mixture
    evidence: Evidence
    model: Mixture
    records: float = 0.0

    @cached_property
    def told(self) -> Mixture:
        """The world in the groups of levels that pairs tell apart."""
        return grouped(self.world, self.evidence)

    @cached_property
    def _drawn(self) -> Records:
        return Records(self.rows)

    def cell_errors(self, pair: tuple[int, ...]) -> Floats:
        """By how many records the model is off in each cell of a pair's groups."""
        return in_groups(self.model, self.evidence, pair) * self.evidence.count - exact_table(self, pair)

    def residuals(self, pair: tuple[int, int]) -> Floats:
        """The noisy cells of a measured pair less the model's."""
        view = self.evidence.pair(pair)
        assert view is not None
        return view.counts - in_groups(self.model, self.evidence, pair) * self.evidence.count

    @property
    def size(self) -> float:
        """How many records the synthetic table has."""
        return float(len(self.rows)) or self.records

    def error(self, condition: Condition) -> float:
        """By how many records the model's count is off."""
        return self.model.share(condition) * self.evidence.count - self.truth(condition) * self.size

    def truth(self, condition: Condition) -> float:
        """The true share of records that meet a condition."""
        if not len(self.rows):
            return self.world.share(condition)
        return sum(coefficient * self._drawn.mean(product) for coefficient, product in condition)


def rehearse(
    evidence: Evidence, law: Law, seed: int, *, components: int = COMPONENTS, times: int | None = None
) -> list[Rehearsal]:
    """Release synthetic tables as the true one was released, two at a time; the two worlds take turns.

    Parameters
    ----------
    evidence : Evidence
        The noisy views of the true table.
    law : {"laplace", "gaussian"}
        The law of their noise.
    seed : int
        The release's own number.
    components : int
        How many components fits have: as many as the true table's.
    times : int, optional
        How often; by default REHEARSALS, and less for wide tables.
    """
    seen = coarser(evidence)
    if times is None:
        times = REHEARSALS if sum(seen.sizes) <= WIDE and components < MANY else FEWER
        times = times if evidence.paired else CHEAP
    close = fitted(seen, seed, fits=1, components=WORLD_COMPONENTS, goal=WORLD_GOAL)
    worlds = rough(close, evidence), sparse(close, evidence)
    count = round(evidence.count)
    kind = np.uint8 if max(column.levels for column in evidence.columns) <= 256 else np.int32

    def once(number: int) -> Rehearsal:
        generator, world = np.random.default_rng([seed, number]), worlds[number % len(worlds)]
        rows = world.draw(count if count <= MOST_ROWS else 0, generator)
        groups = [_codes(evidence, rows, j) for j in range(len(evidence.columns))]
        told = grouped(world, evidence)

        def exact(view: View) -> Floats:
            return _counted(view, rows, groups) if len(rows) else _expected(view, world, told) * evidence.count

        noisy = (replace(view, counts=exact(view) + _noise(view, law, generator)) for view in evidence.views)
        repeated = replace(evidence, views=tuple(noisy))
        fit = fitted(repeated, seed + 1 + number, fits=1, components=components)
        return Rehearsal(np.asfortranarray(rows.astype(kind)), world, repeated, fit, evidence.count)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(once, range(times)))


def rough(world: Mixture, evidence: Evidence) -> Mixture:
    """The world with its groups divided as the noisy single columns are, and not drawn towards equal shares.

    Numbers come in ties and gaps: a few levels hold what their whole group has. Where noise hides that, the model takes
    a group's levels to be alike, and so would a world that has the model's own shapes: nothing would be lost in it.
    """
    columns = []
    for j, (table, group) in enumerate(zip(world.columns, evidence.groups, strict=True)):
        masses = table @ np.eye(evidence.sizes[j])[group]
        columns.append(masses[:, group] * shape_within(evidence.single(j).counts, 0.0, group))
    return Mixture(world.weights, tuple(columns))


def sparse(world: Mixture, evidence: Evidence) -> Mixture:
    """The world with only those levels that are surely not empty; of a group without such, the fullest one.

    Real columns keep most of their records in few of many cells. Noise of all the empty ones adds up: what they seem to
    hold is taken from the full ones, so that the model is too flat. A world like the model is as flat already, and has
    little to lose by it; this one has the most. Where no pairs tell groups, each column is one.
    """
    columns = []
    for j, (table, group) in enumerate(zip(world.columns, evidence.groups, strict=True)):
        group = group if evidence.paired else np.zeros_like(group)
        view, each = evidence.single(j), np.eye(int(group.max()) + 1)[group]
        fullest = np.where(each > 0, view.counts[:, None], -np.inf).argmax(0)
        sure = np.where(view.counts > SURE * np.sqrt(view.variance), view.counts, 0.0)
        sure[fullest] = np.maximum(sure[fullest], 1e-9)
        columns.append((table @ each)[:, group] * sure / (sure @ each)[group])
    return Mixture(world.weights, tuple(columns))


def grouped(world: Mixture, evidence: Evidence) -> Mixture:
    """The world in the groups of levels that pairs tell apart."""
    columns = zip(world.columns, evidence.groups, strict=True)
    return Mixture(world.weights, tuple(table @ np.eye(int(group.max()) + 1)[group] for table, group in columns))


def in_groups(model: Mixture, evidence: Evidence, pair: tuple[int, ...]) -> Floats:
    """The shares of a model in the cells of a pair's groups."""
    one, two = (model.columns[j] @ np.eye(evidence.sizes[j])[evidence.groups[j]] for j in pair)
    return np.asarray(one.T @ (model.weights[:, None] * two))


def exact_table(rehearsal: Rehearsal, columns: tuple[int, ...]) -> Floats:
    """The true cells of a rehearsal's table: all levels of a column alone, the groups of a pair."""
    evidence, rows = rehearsal.evidence, rehearsal.rows
    shape = tuple(evidence.sizes[j] if len(columns) > 1 else evidence.columns[j].levels for j in columns)
    view = View(columns, np.zeros(shape), 0.0)
    if not len(rows):
        return _expected(view, rehearsal.world, rehearsal.told) * rehearsal.size
    return _counted(view, rows, {j: _codes(evidence, rows, j) for j in columns})


def _expected(view: View, world: Mixture, told: Mixture) -> Floats:
    """The shares of a world in a view's cells, where the world itself is the table."""
    return (told if len(view.columns) > 1 else world).table(view.columns)


def _counted(view: View, rows: Codes | Integers, groups: Sequence[Codes] | Mapping[int, Codes]) -> Floats:
    """The view's cells of the synthetic table."""
    if not view.columns:
        return np.array(float(len(rows)))
    if len(view.columns) == 1:
        return np.bincount(rows[:, view.columns[0]], minlength=view.counts.size).astype(float)
    one, two = view.columns
    if not can_compile() or numpy_first.lasts(len(rows), lambda: bool(_tally.ready)):
        flat = groups[one].astype(np.int64) * view.counts.shape[1] + groups[two]
        return np.bincount(flat, minlength=view.counts.size).reshape(view.counts.shape).astype(float)
    counts = np.zeros(view.counts.shape, np.int64)
    _tally(groups[one], groups[two], counts)
    return counts.astype(float)


def _codes(evidence: Evidence, rows: Codes | Integers, j: int) -> Codes:
    """The group of each record in a column, in a byte where that holds all: it takes half the time."""
    codes: Codes = evidence.groups[j].astype(np.uint8 if max(evidence.sizes) <= 256 else np.int32)
    return codes[rows[:, j]]


@njit(nogil=True, cache=True)
def _tally(one: Codes, two: Codes, counts: Integers) -> None:
    """Count the pairs of a wide table: four times as fast as NumPy, and on two cores at a time."""
    for i in range(len(one)):
        counts[one[i], two[i]] += 1


def _noise(view: View, law: Law, generator: np.random.Generator) -> Floats:
    if law == "laplace":
        return generator.laplace(scale=np.sqrt(view.variance / 2), size=view.counts.shape)
    return generator.normal(scale=np.sqrt(view.variance), size=view.counts.shape)
