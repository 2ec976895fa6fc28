"""One distribution over a whole table: a mixture of products.

    p(x) = Σ_k w_k Π_j A_j[k, x_j]

K components, each of which draws every column by itself: within a component the columns are independent, and all
dependence lies in which component it is. Sums over all cells of the table (there may be 10²⁰) factor, so every
question is a few products of small matrices:

- the share of records in a product of conditions, with weight v_j(x_j) on column j: Σ_k w_k Π_j (A_j v_j)_k;
- the records that meet a condition are again a mixture of products: weights w_k Π_j (A_j v_j)_k, columns
  A_j[k, x] v_j(x), each made to sum to one. Means, tables and draws among them need nothing else.

A condition is a list of such products with coefficients, `[(1.0, {0: v, 3: u}), (-1.0, {...})]`: Σ_i c_i Π_j v_ij(x_j).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from scumble.columns.rules import Factors
from scumble.columns.schema import Derived

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Product = Mapping[int, npt.ArrayLike]
"""Weights over the levels of some columns; columns that are not named have weight one."""
Condition = Sequence[tuple[float, Product]]

EVERYTHING: Condition = ((1.0, {}),)


def at_level(level: int, levels: int) -> Floats:
    """The weights of a condition that one level of a column meets; of none but it, however many there are.

    >>> at_level(-1, 3)
    array([0., 0., 1.])
    """
    weights = np.zeros(levels)
    weights[level] = 1.0
    return weights


@dataclass(frozen=True)
class Mixture:
    """A mixture of products: weights w, (K,), which sum to one, and columns A_j, (K, levels), whose rows do."""

    weights: Floats
    columns: tuple[Floats, ...]

    def share(self, condition: Condition = EVERYTHING) -> float:
        """Σ_x p(x) Σ_i c_i Π_j v_ij(x_j): the share of records that meet a condition."""
        return float(sum(coefficient * self.masses(product).sum() for coefficient, product in condition))

    def table(self, columns: Sequence[int], condition: Condition = EVERYTHING) -> Floats:
        """The shares of records that meet the condition in each cell of the cross-table of some columns.

        It sums to `share(condition)`.
        """
        total = np.zeros([self.columns[j].shape[1] for j in columns])
        letters = "abcdefghij"[: len(columns)]
        signature = ",".join(["k", *("k" + letter for letter in letters)]) + "->" + letters
        for coefficient, product in condition:
            outside = {j: v for j, v in product.items() if j not in columns}
            axes = [
                self.columns[j] * np.asarray(product[j], float) if j in product else self.columns[j] for j in columns
            ]
            total += coefficient * np.einsum(signature, self.masses(outside), *axes, optimize=True)
        return total

    def given(self, product: Product) -> Mixture:
        """The distribution of the records that meet one product of conditions."""
        masses = self.masses(product)
        total = masses.sum()
        if not total > 0:
            return self
        columns = []
        for j, table in enumerate(self.columns):
            if j in product:
                kept = table * np.asarray(product[j], float)
                sums = kept.sum(axis=1, keepdims=True)
                kept = np.where(sums > 0, kept / np.where(sums > 0, sums, 1.0), table)
                columns.append(kept)
            else:
                columns.append(table)
        return Mixture(masses / total, tuple(columns))

    def draw(self, size: int, generator: np.random.Generator, where: Condition = EVERYTHING) -> Integers:
        """Synthetic records, shape (size, columns): independent draws from the law given the condition.

        Products with positive coefficients are drawn from directly. What others take away is met by rejection: a
        record x drawn from Σ_{c > 0} stays with probability Σ_i c_i v_i(x) over the sum of the positive ones.
        """
        positive = [(c, product) for c, product in where if c > 0]
        masses = np.array([c * self.masses(product).sum() for c, product in positive])
        if not len(positive) or not masses.sum() > 0 or not self.share(where) > 0:
            return np.empty((0, len(self.columns)), np.int64)
        parts = [self.given(product) for _, product in positive]
        signed = len(positive) < len(where)
        drawn = [np.empty((0, len(self.columns)), np.int64)]
        missing = size
        while missing > 0:
            rows = _drawn_from(parts, masses / masses.sum(), missing if not signed else 2 * missing + 16, generator)
            if signed:
                above = sum(c * weight(rows, product) for c, product in where)
                rows = rows[generator.random(len(rows)) * sum(c * weight(rows, p) for c, p in positive) < above]
            drawn.append(rows[:missing])
            missing -= len(drawn[-1])
        return drawn[-1] if len(drawn) == 2 else np.concatenate(drawn)

    def masses(self, product: Product) -> Floats:
        """w_k Π_j (A_j v_j)_k for each component."""
        masses = self.weights
        for j, weights in product.items():
            masses = masses * (self.columns[j] @ np.asarray(weights, float))
        return masses


def folded(asked: Condition, derived: Mapping[int, Derived]) -> Condition:
    """The same condition, which asks about no column that follows from another."""
    if not any(j in derived for _, product in asked for j in product):
        return asked
    found = []
    for coefficient, product in asked:
        own: dict[int, npt.ArrayLike] = {}
        for j, weights in product.items():
            mine, root = np.asarray(weights, float), j
            if j in derived:
                mine, root = mine[..., derived[j].levels], derived[j].root
            own[root] = mine * own[root] if root in own else mine
        found.append((coefficient, own))
    return found


def together(parts: Sequence[Mixture], shares: Sequence[float] | None = None) -> Mixture:
    """The mixture of mixtures: their mean, if no shares are given."""
    shares = [1.0 / len(parts)] * len(parts) if shares is None else shares
    weights = np.concatenate([share * part.weights for share, part in zip(shares, parts, strict=True)])
    columns = zip(*(part.columns for part in parts), strict=True)
    return Mixture(weights, tuple(np.concatenate(same) for same in columns))


def labeled(parts: Sequence[Mixture], counts: npt.ArrayLike, column: int) -> Mixture:
    """The table whose records of class c follow `parts[c]`; its classes are put in as a column at that place."""
    shares = np.maximum(np.asarray(counts, float), 0.0)
    shares = shares / shares.sum() if shares.sum() > 0 else np.full(len(parts), 1 / len(parts))
    whole = together(parts, list(shares))
    classes = np.repeat(np.eye(len(parts)), [len(part.weights) for part in parts], axis=0)
    return Mixture(whole.weights, (*whole.columns[:column], classes, *whole.columns[column:]))


def weight(rows: Integers, product: Product) -> Floats:
    """The weight of each record in a product of conditions."""
    weight = np.ones(len(rows))
    for j, weights in product.items():
        weight *= np.asarray(weights, float)[rows[:, j]]
    return weight


def _drawn_from(parts: Sequence[Mixture], shares: Floats, size: int, generator: np.random.Generator) -> Integers:
    """Records from Σ share · part in random order, sorted by component while they are drawn."""
    whole = together(parts, list(shares))
    counts = generator.multinomial(size, whole.weights / whole.weights.sum())
    some = np.flatnonzero(counts)
    component = np.repeat(np.arange(len(some)), counts[some])
    rows = np.empty((len(whole.columns), size), np.int64)  # a column at a time: each lies in one piece
    for levels, table in zip(rows, whole.columns, strict=True):
        above = np.cumsum(table[some], axis=1)
        levels[:] = first_above(above, component, generator.random(size) * above[component, -1])
    return rows.take(generator.permutation(size), axis=1).T


def first_above(above: Floats, row: Integers, mark: Floats) -> Integers:
    """Where in its row of a table, which grows along it, each mark is first exceeded: all are halved at once.

    >>> first_above(np.array([[1.0, 1.0, 3.0], [2.0, 4.0, 9.0]]), np.array([0, 0, 1]), np.array([0.5, 1.0, 2.5]))
    array([0, 2, 1])
    """
    width = 1 << (above.shape[1] - 1).bit_length()
    padded = np.full((len(above), width), np.inf)
    padded[:, : above.shape[1]] = above
    start = row * width
    place, step = start.copy(), width // 2
    while step:
        place += step * (padded.take(place + (step - 1)) <= mark)
        step //= 2
    return np.asarray(place - start)


Numbers = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Obeyed:
    """Rules as factors on the counted columns of one class, by their numbers: weights on the levels of single
    columns (`alone`); for each column that is joined with others, those and the factors (own levels, the other's)
    (`beside`); and whether the class may have records."""

    alone: Mapping[int, Floats] = field(default_factory=dict)
    beside: Mapping[int, Mapping[int, Numbers]] = field(default_factory=dict)
    possible: bool = True

    @staticmethod
    def of(factors: Factors, number: Mapping[int, int], place: int | None, one: int) -> Obeyed:
        """The rules of class `one` of the column at `place`."""
        alone = {number[j]: weights for j, weights in factors.alone.items() if j != place}
        beside: dict[int, dict[int, Numbers]] = {}
        for (i, j), allowed in factors.pairs.items():
            if place in (i, j):
                other, mine = (number[j], allowed[one]) if i == place else (number[i], allowed[:, one])
                alone[other] = alone.get(other, 1.0) * mine
            else:
                beside.setdefault(number[i], {})[number[j]] = allowed.astype(np.float32)
                beside.setdefault(number[j], {})[number[i]] = allowed.T.astype(np.float32)
        possible = place is None or place not in factors.alone or bool(factors.alone[place][one] > 0)
        return Obeyed(alone, beside, possible)

    def __bool__(self) -> bool:
        return bool(self.alone or self.beside)

    @cached_property
    def trees(self) -> tuple[tuple[int, ...], ...]:
        """The columns that rules join, the first of each tree first."""
        found: list[tuple[int, ...]] = []
        for first in self.beside:
            if not any(first in tree for tree in found):
                tree = [first]
                for column in tree:
                    tree += [other for other in self.beside[column] if other not in tree]
                found.append(tuple(tree))
        return tuple(found)

    def weighed(self, product: Mapping[int, npt.ArrayLike]) -> dict[int, Floats]:
        """A product of conditions with the rules on single columns."""
        found = {j: np.asarray(weights, float) for j, weights in product.items()}
        return found | {j: found.get(j, 1.0) * weights for j, weights in self.alone.items()}
