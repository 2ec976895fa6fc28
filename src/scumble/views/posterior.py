"""A release as a distribution over tables: draws from the posterior, by perturbing and fitting.

The noisy counts and the prior (`views.prior`) define a posterior over tables. A draw of it is made in four steps
(randomize-then-optimize, Bardsley et al. 2014; exact where model and noise are linear and Gaussian):

1. perturb the counts by fresh noise of the law that was added to them; draws come in pairs with noise e and −e;
2. draw a cross-table for every pair of columns from the prior, around independence;
3. fit a mixture of products to both, each weighed by how sure it is (`views.fitting`), from a start of its own;
4. draw each column's levels from their own posterior (`views.margins`), and bring the mixture to these.

Any statistic of a table is answered by computing it on every draw: the mean over draws is the answer, their spread its
error. A draw is a mixture of K products, p(x) = Σ_k w_k Π_j A_j[k, g_j(x_j)] b_j(x_j), where g_j is the group of a
level and b_j its share in the group: sums over all cells factor, and most statistics have a closed form.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from scumble.machine.cores import available_threads
from scumble.machine.onethread import one_thread
from scumble.views import prior
from scumble.views.budgeting import Law
from scumble.views.evidence import Evidence
from scumble.views.fitting import Problem
from scumble.views.margins import Tree
from scumble.views.mixture import EVERYTHING, Condition, Mixture, Product, labelled, together

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]

SWEEPS = 4
"""Of all columns, when a mixture is brought to margins (Deming & Stephan 1940): what is left is far below the noise."""
MOST = 1e3
"""Times that a share may grow in one of them."""
WIDE, FEWEST = 300, 12
"""Groups of all columns together from which on there are fewer draws, and the fewest."""
AT_ONCE = 1 << 14
"""Shares of small tables that are fitted at once: large ones gain nothing from company."""


@dataclass(frozen=True)
class Draws:
    """Draws of one table, or of one class of it.

    Parameters
    ----------
    totals : ndarray of float
        (draws,): how many records.
    weights : ndarray of float
        (draws, K).
    tables : tuple of ndarray of float
        For each column (draws, K, groups): the shares of its groups in each component.
    within : tuple of ndarray of float
        For each column (draws, levels): the share of each level in its group.
    groups : tuple of ndarray of int
        For each column the group of each level.
    """

    totals: Floats
    weights: Floats
    tables: tuple[Numbers, ...]
    within: tuple[Numbers, ...]
    groups: tuple[Integers, ...]

    def masses(self, product: Product) -> Floats:
        """(draws, K): the records of each component that meet a product of conditions.

        Weights have one number for each level, or one for each draw and level.
        """
        found = self.weights * self.totals[:, None]
        for j, weights in product.items():
            found = found * np.einsum("mkg,mg->mk", self.tables[j], self._summed(j, np.asarray(weights, float)))
        return np.asarray(found, float)

    def cells(self, columns: Sequence[int], product: Product) -> Floats:
        """(draws, levels, …): the records that meet a product in each cell of some columns' cross-table."""
        outside = self.masses({j: weights for j, weights in product.items() if j not in columns})
        letters = "abcdefgh"[: len(columns)]
        axes = [self.tables[j] for j in columns]
        found = np.einsum(
            ",".join(["mk", *("mk" + letter for letter in letters)]) + "->m" + letters, outside, *axes, optimize=True
        )
        for axis, j in enumerate(columns):
            share = self.within[j] * np.asarray(product[j], float) if j in product else self.within[j]
            shape = [1] * (axis + 1) + [share.shape[1]] + [1] * (len(columns) - axis - 1)
            found = np.take(found, self.groups[j], axis=axis + 1) * share.reshape(len(share), *shape[1:])
        return np.asarray(found, float)

    def _summed(self, column: int, weights: Floats) -> Floats:
        """(draws, groups): the weight of each group."""
        found = np.zeros((len(self.totals), self.tables[column].shape[2]))
        share = self.within[column] * weights
        order = np.argsort(self.groups[column], kind="stable")
        starts = np.searchsorted(self.groups[column][order], np.arange(found.shape[1]))
        found[:] = np.add.reduceat(share[:, order], starts, axis=1)
        return found

    def mixture(self, draw: int) -> Mixture:
        """One draw, over all levels."""
        tables = zip(self.tables, self.groups, self.within, strict=True)
        return Mixture(
            self.weights[draw].astype(float),
            tuple(table[draw].astype(float)[:, group] * share[draw] for table, group, share in tables),
        )


def drawn(evidence: Evidence, law: Law, seed: int) -> Draws:
    """Draws from the posterior of one set of views."""
    with one_thread():
        return _drawn(evidence, law, seed)


def _drawn(evidence: Evidence, law: Law, seed: int) -> Draws:
    problem = Problem(evidence)
    number = draws_for(len(problem.column_of))
    together = max(1, min(number, AT_ONCE // (len(problem.column_of) * problem.components)))

    def fit(first: int) -> tuple[Numbers, list[Numbers]]:
        targets, starts = [], []
        for draw in range(first, min(first + together, number)):
            noise = perturbation(evidence, law, np.random.default_rng([seed, 0, draw // 2]))
            sign, own = 1 - 2 * (draw % 2), np.random.default_rng([seed, 1, draw])
            targets.append(problem.target([sign * one for one in noise], own))
            starts.append(problem.begun(own))
        return problem.fit(targets, starts)

    with ThreadPoolExecutor(available_threads()) as pool:
        fits = [*pool.map(fit, range(0, number, together))]
    generator = np.random.default_rng([seed, 2])
    off = np.sqrt(evidence.count_variance) * _normal(spread_evenly(generator, number, 1)[:, 0])
    totals = np.maximum(evidence.total + off, 0.0)
    weights = np.concatenate([found for found, _ in fits])
    tables = [np.concatenate([columns[j] for _, columns in fits]) for j in range(len(evidence.columns))]
    margins, within = [], []
    for j, column in enumerate(evidence.columns):
        levels = Tree(evidence, j).draw(totals, spread_evenly(generator, number, column.levels))
        group = evidence.groups[j]
        sums = np.zeros((number, evidence.sizes[j]))
        np.add.at(sums.T, group, levels.T)
        each = np.bincount(group)[group]
        within.append(np.where(sums[:, group] > 0, levels / np.maximum(sums[:, group], 1e-300), 1 / each))
        whole = sums.sum(axis=1, keepdims=True)
        margins.append(np.where(whole > 0, sums / np.maximum(whole, 1e-300), 1.0 / evidence.sizes[j]))
    weights, tables = raked(weights, tables, margins)
    weights = weights / weights.sum(axis=1, keepdims=True, dtype=float)
    return Draws(totals, weights, tuple(tables), tuple(one.astype(np.float32) for one in within), evidence.groups)


def draws_for(groups: int) -> int:
    """How many draws there are: a step of a fit takes a time that grows with the square of all groups together.

    >>> [draws_for(groups) for groups in (20, 300, 400, 2000)]
    [32, 32, 18, 12]
    """
    return max(FEWEST, min(prior.DRAWS, 2 * round(prior.DRAWS / 2 * (WIDE / groups) ** 2)))


def perturbation(evidence: Evidence, law: Law, generator: np.random.Generator) -> list[Floats]:
    """Noise of the law that was added to each view."""
    return [
        generator.laplace(0.0, np.sqrt(view.variance / 2), view.counts.shape)
        if law == "laplace"
        else np.sqrt(view.variance) * generator.standard_normal(view.counts.shape)
        for view in evidence.views
    ]


def raked(weights: Numbers, tables: list[Numbers], margins: list[Floats]) -> tuple[Numbers, list[Numbers]]:
    """Mixtures whose columns have given shares of their groups, (draws, groups) each; otherwise as they were."""
    tables = [table.copy() for table in tables]
    for _ in range(SWEEPS):
        for table, wanted in zip(tables, margins, strict=True):
            now = np.einsum("mk,mkg->mg", weights, table)
            table *= np.minimum(wanted / np.maximum(now, 1e-12), MOST).astype(np.float32)[:, None]
            sums = table.sum(axis=2)
            table /= np.maximum(sums, 1e-30)[..., None]
            weights = weights * sums
            weights /= weights.sum(axis=1, keepdims=True)
    return weights, tables


def spread_evenly(generator: np.random.Generator, draws: int, each: int) -> Floats:
    """(draws, each): in antithetic pairs, and in each column one number in each of so many equal parts of (0, 1)."""
    half = draws // 2
    parts = generator.permuted(np.tile(np.arange(half), (each, 1)), axis=1).T
    low = (parts + generator.random((half, each))) / draws
    one = np.where(generator.random((half, each)) < 0.5, low, 1 - low)
    return np.stack([one, 1 - one], axis=1).reshape(draws, each)


def leans(seed: int, draws: int) -> Floats:
    """(draws,) from −1 to 1: where in their cells the values of a draw lie, from all low to all high."""
    return 2 * spread_evenly(np.random.default_rng([seed, 3]), draws, 1)[:, 0] - 1


def _normal(uniforms: Floats) -> Floats:
    from statistics import NormalDist

    return np.array([NormalDist().inv_cdf(min(max(u, 1e-12), 1 - 1e-12)) for u in uniforms])


class Posterior:
    """Draws of a whole table: those of its classes put together, if classes have views of their own.

    Parameters
    ----------
    classes : sequence of Draws
        One, or one for each class.
    place : int or None
        Where the column of the classes stands.
    """

    def __init__(self, classes: Sequence[Draws], place: int | None) -> None:
        self.classes, self.place = tuple(classes), place

    @property
    def size(self) -> int:
        """How many draws there are."""
        return len(self.classes[0].totals)

    @cached_property
    def totals(self) -> Floats:
        """(draws,): how many records."""
        return np.asarray(np.sum([one.totals for one in self.classes], axis=0))

    def counts(self, asked: Condition) -> Floats:
        """(draws,): how many records meet a condition."""
        found = np.zeros(self.size)
        for coefficient, product in asked:
            for factor, own, mine in self._each(product):
                found += coefficient * factor * own.masses(mine).sum(axis=1)
        return found

    def cells(self, columns: Sequence[int], asked: Condition = EVERYTHING) -> Floats:
        """(draws, levels, …): the records that meet a condition in each cell of some columns' cross-table."""
        inner = [self._inner(j) for j in columns if j != self.place]
        groups = self.classes[0].groups
        sizes = [len(self.classes) if j == self.place else len(groups[self._inner(j)]) for j in columns]
        total = np.zeros((self.size, *sizes))
        for coefficient, product in asked:
            parts = [
                coefficient * factor * own.cells(inner, mine) for factor, own, mine in self._each(product, keep=True)
            ]
            at = [axis for axis, j in enumerate(columns) if j == self.place]
            total = total + (np.stack(parts, axis=1 + at[0]) if at else np.sum(parts, axis=0))
        return total

    def mixture(self, draw: int) -> Mixture:
        """One draw as a distribution over all columns."""
        models = [one.mixture(draw) for one in self.classes]
        return (
            models[0]
            if self.place is None
            else labelled(models, [one.totals[draw] for one in self.classes], self.place)
        )

    def mean(self, draws: int | None = None) -> Mixture:
        """The mean of all draws, or of the first few."""
        return together([self.mixture(draw) for draw in range(draws or self.size)])

    def _inner(self, column: int) -> int:
        return column - (self.place is not None and column > self.place)

    def _each(self, product: Product, *, keep: bool = False) -> list[tuple[float, Draws, Product]]:
        """Each class with its own part of a product; those with no part are left out unless `keep`."""
        found: list[tuple[float, Draws, Product]] = []
        for number, one in enumerate(self.classes):
            factor = 1.0
            if self.place is not None and self.place in product:
                factor = float(np.asarray(product[self.place])[number])
            if factor or keep:
                mine = {self._inner(j): weights for j, weights in product.items() if j != self.place}
                found.append((factor, one, mine))
        return found
