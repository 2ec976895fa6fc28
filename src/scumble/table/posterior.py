"""A release as a distribution over tables: draws from the posterior, by perturbing and fitting.

The noisy counts and the prior (`table.prior`) define a posterior over tables. A draw of it is made in five steps
(randomize-then-optimize, Bardsley et al. 2014; exact where model and noise are linear and Gaussian):

1. perturb the counts by fresh noise of the law that was added to them; draws come in pairs with noise e and −e;
2. draw a cross-table for every pair of columns from the prior, around independence;
3. fit a mixture of products to both, each weighed by how sure it is (`table.fitting`), from a start of its own;
4. draw each column's levels from their own posterior (`table.margins`), and bring the mixture to these;
5. cut each group of levels in parts, and draw from the prior how these depend on other columns (`halved`).

Any statistic of a table is answered by computing it on every draw: the mean over draws is the answer, their spread its
error. A draw is a mixture of K products, p(x) = Σ_k w_k Π_j A_j[k, g_j(x_j)] b_j(x_j), where g_j is the part of a group
that a level is in, and b_j its share of that: sums over all cells factor, and most statistics have a closed form.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from scumble.columns.schema import Derived
from scumble.errors import CorruptFileError
from scumble.files.compiling import available_threads
from scumble.files.format import MOST as MOST_RECORDS
from scumble.table import prior
from scumble.table.budgeting import Law
from scumble.table.evidence import Evidence
from scumble.table.fitting import Fits, Fitted, one_thread
from scumble.table.margins import Tree
from scumble.table.mixture import EVERYTHING, Condition, Mixture, Obeyed, Product, folded, labeled, together

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]

SWEEPS, SWEEPS_OF_RULES = (20, 1e3), (6, 2.0)
"""Of all columns, when draws are brought to margins (Deming & Stephan 1940), and how many times a share may grow in one
of them: what is left is far below the noise. Where there are rules, noise asks for levels that hardly any record can
have."""
MOST_ODDS = 40.0
"""Log-odds that are as good as certainty."""
AT_ONCE = 1 << 14
"""Shares of small tables that are fitted at once: large ones gain nothing from company."""


@dataclass(frozen=True)
class Draws:
    """Draws of one table, or of one class of it.

    `totals`, (draws,): how many records. `weights`, (draws, K). For each column, `tables` (draws, K, groups): the
    shares of its groups in each component; `within` (draws, levels): the share of each level in its group; `groups`:
    the group of each level. `rules`: cells that these exclude have no records; the totals are those of the others."""

    totals: Floats
    weights: Floats
    tables: tuple[Numbers, ...]
    within: tuple[Numbers, ...]
    groups: tuple[Integers, ...]
    rules: Obeyed = field(default_factory=Obeyed)

    @cached_property
    def scale(self) -> Floats:
        """(draws,): the records of a whole mixture, of which those that obey the rules are the total."""
        obeying = self._masses(self.rules.weighed({})).sum(axis=1) if self.rules else 1.0
        return np.asarray(self.totals / np.maximum(obeying, 1e-12))

    def masses(self, product: Product) -> Floats:
        """(draws, K): the records of each component that meet a product of conditions.

        Weights have one number for each level, or one for each draw and level.
        """
        return self._masses(self.rules.weighed(product)) * self.scale[:, None]

    def _masses(self, product: Product, without: int | None = None) -> Floats:
        """The shares of a whole mixture; `without` the tree that a column is in."""
        found = self.weights
        for j, weights in product.items():
            if j not in self.rules.beside:
                groups, each = self.summed(j, np.asarray(weights, float))
                found = found * np.einsum("mkg,mg->mk", self.tables[j][:, :, groups], each)
        for tree in self.rules.trees:
            if without not in tree:
                found = found * self._sent(tree[0], product).sum(axis=2)
        return np.asarray(found, float)

    def _sent(self, column: int, product: Product, to: int | None = None) -> Numbers:
        """(draws, K, levels): a column's shares, times what the columns next to it send, but for one of them."""
        share = np.asarray(self.within[column] * np.asarray(product.get(column, 1.0), float), np.float32)
        found = self.tables[column][:, :, self.groups[column]] * share[:, None]
        for other, allowed in self.rules.beside[column].items():
            if other != to:
                found = found * (self._sent(other, product, column) @ allowed.T)
        return np.asarray(found, np.float32)

    def cells(self, columns: Sequence[int], product: Product) -> Floats:
        """(draws, levels, …): the records that meet a product in each cell of some columns' cross-table."""
        found = self._cells(columns, self.rules.weighed(product))
        return found * self.scale.reshape(-1, *[1] * len(columns))

    def _cells(self, columns: Sequence[int], product: Product) -> Floats:
        joined = [j for j in columns if j in self.rules.beside]
        if joined and len(columns) == 1:
            outside, sent = self._masses(product, joined[0]), self._sent(joined[0], product)
            return np.asarray(np.einsum("mk,mkl->ml", outside, sent, dtype=float))
        if joined:  # one level after the other
            axis, levels = columns.index(joined[0]), np.eye(len(self.groups[joined[0]]))
            rest, own = [j for j in columns if j != joined[0]], np.asarray(product.get(joined[0], 1.0), float)
            return np.stack([self._cells(rest, {**product, joined[0]: one * own}) for one in levels], axis=1 + axis)
        outside = self._masses({j: weights for j, weights in product.items() if j not in columns})
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

    def summed(self, column: int, weights: Floats) -> tuple[Integers, Floats]:
        """The groups of a column of which some level has a weight, and (draws, those): the weight of each."""
        levels = np.flatnonzero(weights if weights.ndim == 1 else weights.any(axis=0))
        if not len(levels):
            return levels, np.zeros((len(self.totals), 0))
        levels = levels[np.argsort(self.groups[column][levels], kind="stable")]
        groups, starts = np.unique(self.groups[column][levels], return_index=True)
        return groups, np.add.reduceat(self.within[column][:, levels] * weights[..., levels], starts, axis=1)

    def mixture(self, draw: int) -> Mixture:
        """One draw, over all levels."""
        tables = zip(self.tables, self.groups, self.within, strict=True)
        return Mixture(
            self.weights[draw].astype(float),
            tuple(table[draw].astype(float)[:, group] * share[draw] for table, group, share in tables),
        )


def brought_to(draws: Draws, margins: Sequence[Floats]) -> Draws:
    """The draws with given shares of each column's levels, (draws, levels), as far as the rules allow these."""
    sweeps, most = SWEEPS_OF_RULES if draws.rules else SWEEPS
    for _ in range(sweeps):
        for j, wanted in enumerate(margins):
            now = draws._cells([j], draws.rules.weighed({}))
            now = now / np.maximum(now.sum(axis=1, keepdims=True), 1e-12)
            # A level that no record can have gets nothing: what its counts say is noise.
            change = np.where(now > 0, np.minimum(wanted / np.maximum(now, 1e-12), most), 0.0)
            sums = np.zeros((len(draws.totals), draws.tables[j].shape[2]))
            some, each = draws.summed(j, change)
            sums[:, some] = each
            here = draws.groups[j]
            within = draws.within[j] * np.where(sums > 0, 1 / np.maximum(sums, 1e-30), 1.0)[:, here]
            within = np.where(sums[:, here] > 0, within * change, within)  # groups that have nobody keep their shares
            table = draws.tables[j] * sums[:, None]
            rows = table.sum(axis=2)
            weights = draws.weights * rows
            table = np.where(rows[..., None] > 0, table / np.maximum(rows, 1e-30)[..., None], draws.tables[j])
            draws = replace(
                draws,
                weights=weights / np.maximum(weights.sum(axis=1, keepdims=True, dtype=float), 1e-30),
                tables=(*draws.tables[:j], table.astype(np.float32), *draws.tables[j + 1 :]),
                within=(*draws.within[:j], within.astype(np.float32), *draws.within[j + 1 :]),
            )
    return draws


def halves(classes: Sequence[Evidence]) -> list[list[Integers]]:
    """For each column the cuts of its groups, in turn: the half that each level is in. Groups of several levels are cut
    in two, the first levels apart from the others, so that about as many noisy counts are in both; groups of words,
    which need not be alike, then again, into up to `prior.LEVELS` parts, but all at most into twice as many as groups,
    or so many more.
    """
    found = []
    for j, (column, group) in enumerate(zip(classes[0].columns, classes[0].groups, strict=True)):
        mass, cuts = np.maximum(np.sum([one.single(j).counts for one in classes], axis=0), 1e-9), list[Integers]()
        most = classes[0].sizes[j] + max(classes[0].sizes[j], prior.LEVELS)
        for _ in range(1 if column.ordered else int(math.log2(prior.LEVELS))):
            second = np.zeros(len(group), bool)
            for number in np.flatnonzero(np.bincount(group) > 1):
                own = np.flatnonzero(group == number)
                upto = np.cumsum(mass[own])
                second[own[max(1, min(np.searchsorted(upto, upto[-1] / 2), len(own) - 1)) :]] = True
            group = np.unique(2 * group + second, return_inverse=True)[1]
            if cuts and not cuts[-1].max() < group.max() < most:
                break
            cuts.append(group)
        found.append(cuts)
    return found


def halved(
    draws: Draws, each: Sequence[Sequence[Integers]], lines: Sequence[int], generator: np.random.Generator
) -> Draws:
    """The draws with groups cut in parts, which depend on other columns as the prior has it; margins stay.

    Views do not say how the levels of a group differ. In component k, a half weighs more by a normal logarithm of
    deviation φ, so the log-odds of two are l + t_k: l is such that they keep their shares, t has deviation √2 φ.
    Components that are alike in other columns have like t: it is the mean of a random function of each other column,
    of which `lines` says how many groups lie on its line (`_random_functions`).
    """
    off = []
    for table, line in zip(draws.tables, lines, strict=True):
        mean = np.einsum("mk,mkg->mg", draws.weights, table)
        off.append((table - mean[:, None]) @ _random_functions(mean.mean(axis=0), line))
    column_of = np.repeat(np.arange(len(off)), [one.shape[2] for one in off])
    others = np.concatenate(off, axis=2).astype(np.float32)
    tables, withins = [], []
    for j, (cuts, group, table, within) in enumerate(zip(each, draws.groups, draws.tables, draws.within, strict=True)):
        for half in cuts:
            count = np.bincount(half)
            of, sums = np.zeros(len(count), np.int64), np.zeros((len(within), len(count)))
            of[half] = group
            np.add.at(sums.T, half, within.T)
            first = np.flatnonzero(np.diff(of, append=-1) == 0)
            chance = generator.standard_normal((-(-len(within) // 2), len(column_of), len(first)), np.float32)
            chance[:, column_of == j] = 0.0
            chance = np.repeat(chance, 2, axis=0)[: len(within)]
            chance[1::2] *= -1
            lean, shares = others @ chance, draws.weights[..., None] * table[:, :, of[first]]
            shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-30)
            spread = np.sqrt(np.maximum((shares * lean**2).sum(axis=1, keepdims=True), 1e-30))
            lean = np.clip(lean * (math.sqrt(2) * prior.DEPENDENCE / spread), -MOST_ODDS, MOST_ODDS)
            part = _with_mean(lean.astype(np.float32), shares.astype(np.float32), sums[:, first])
            table = table[:, :, of]
            table[:, :, first] *= part
            table[:, :, first + 1] *= 1 - part
            known = (sums > 1e-30)[:, half]
            within = np.where(known, within / np.maximum(sums, 1e-30)[:, half], 1 / count[half])
            group = half
        tables.append(table)
        withins.append(within.astype(np.float32))
    groups = tuple(cuts[-1] for cuts in each)
    return replace(draws, tables=tuple(tables), within=tuple(withins), groups=groups)


def _random_functions(shares: Floats, line: int) -> Floats:
    """(groups, groups): what times normal numbers is a random function of a column's groups: white noise of words, and
    along a line a random walk over the share of records, whose waves have amplitudes 1/f (Karhunen & Loève)."""
    shares = np.maximum(shares, 1e-6)
    found, waves = np.diag(1 / np.sqrt(shares)), np.arange(1, line + 1)
    if line > 1:
        place = (np.cumsum(shares[:line]) - shares[:line] / 2) / shares[:line].sum()
        found[:line, :line] = math.sqrt(2) * np.cos(np.pi * np.outer(place, waves)) / waves
    return found


def _with_mean(lean: Numbers, weights: Numbers, mean: Floats) -> Numbers:
    """1/(1 + exp(−l − t)) for the l with which its weighted mean, along the second axis, is as wanted: by halving."""
    low, high = (np.full(mean.shape, side * MOST_ODDS, np.float32) for side in (-1, 1))
    for _ in range(24):  # to 5e-6
        middle = (low + high) / 2
        found = 1 / (1 + np.exp(-(lean + middle[:, None])))
        above = (weights * found).sum(axis=1) > mean
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.asarray(found, np.float32)


def drawn_by_class(classes: Sequence[Evidence], law: Law, seed: int, rules: Sequence[Obeyed] = ()) -> list[Draws]:
    """Draws for each class, as many for all and of as many components: what is missing has no weight."""
    with one_thread():
        fits = [Fits(evidence) for evidence in classes]
        each = enumerate(zip(fits, rules or [Obeyed()] * len(fits), strict=True))
        cut = halves(classes)
        found = [_drawn(one, law, seed + place, obeyed, cut) for place, (one, obeyed) in each]
    most = max(one.weights.shape[1] for one in found)
    return [_padded(one, most - one.weights.shape[1]) for one in found]


def _padded(draws: Draws, more: int) -> Draws:
    """The same with so many further components, which have no weight."""
    if not more:
        return draws
    weights = np.pad(draws.weights, [(0, 0), (0, more)])
    tables = tuple(np.pad(table, [(0, 0), (0, more), (0, 0)], mode="edge") for table in draws.tables)
    return replace(draws, weights=weights, tables=tables)


def _drawn(fits: Fits, law: Law, seed: int, rules: Obeyed, cut: Sequence[Sequence[Integers]]) -> Draws:
    from scipy.special import ndtri  # loaded by fits alone

    evidence, number = fits.fine.evidence, prior.DRAWS
    together = max(1, min(number, AT_ONCE // (len(fits.coarse.column_of) * fits.coarse.components)))

    def fit(first: int) -> Fitted:
        targets, generators = [], []
        for draw in range(first, min(first + together, number)):
            noise = perturbation(evidence, law, np.random.default_rng([seed, 0, draw // 2]))
            sign, own = 1 - 2 * (draw % 2), np.random.default_rng([seed, 1, draw])
            targets.append(fits.fine.target([sign * one for one in noise], own))
            generators.append(own)
        return fits.fit(targets, generators)

    with ThreadPoolExecutor(available_threads()) as pool:
        parts = [*pool.map(fit, range(0, number, together))]
    generator = np.random.default_rng([seed, 2])
    off = np.sqrt(evidence.count_variance) * ndtri(spread_evenly(generator, number, 1)[:, 0])
    totals = np.maximum(evidence.total + off, 0.0)
    weights = np.concatenate([part for part, _ in parts])
    tables = [np.concatenate([columns[j] for _, columns in parts]) for j in range(len(evidence.columns))]
    margins, within = [], []
    for j, column in enumerate(evidence.columns):
        levels = Tree(evidence, j).draw(totals, spread_evenly(generator, number, column.levels))
        group = evidence.groups[j]
        sums = np.zeros((number, evidence.sizes[j]))
        np.add.at(sums.T, group, levels.T)
        each = np.bincount(group)[group]
        within.append(np.where(sums[:, group] > 0, levels / np.maximum(sums[:, group], 1e-300), 1 / each))
        whole = levels.sum(axis=1, keepdims=True)
        margins.append(np.where(whole > 0, levels / np.maximum(whole, 1e-300), within[-1] / evidence.sizes[j]))
    inner = tuple(one.astype(np.float32) for one in within)
    weights = weights.astype(float)
    found = brought_to(Draws(totals * rules.possible, weights, tuple(tables), inner, evidence.groups), margins)
    found = halved(found, cut, evidence.runs, generator)
    return brought_to(replace(found, rules=rules), margins) if rules else found


def perturbation(evidence: Evidence, law: Law, generator: np.random.Generator) -> list[Floats]:
    """Noise of the law that was added to each view."""
    return [
        generator.laplace(0.0, np.sqrt(view.variance / 2), view.counts.shape)
        if law == "laplace"
        else np.sqrt(view.variance) * generator.standard_normal(view.counts.shape)
        for view in evidence.views
    ]


def spread_evenly(generator: np.random.Generator, draws: int, each: int) -> Floats:
    """(draws, each): in antithetic pairs, and in each column one number in each of so many equal parts of (0, 1)."""
    half = draws // 2
    parts = generator.permuted(np.tile(np.arange(half), (each, 1)), axis=1).T
    low = (parts + generator.random((half, each))) / draws
    one = np.where(generator.random((half, each)) < 0.5, low, 1 - low)
    return np.stack([one, 1 - one], axis=1).reshape(draws, each)


class Posterior:
    """Draws of a whole table: those of its classes put together, if classes have views of their own; then
    `place` is where their column stands. `derived` columns follow from others."""

    def __init__(
        self, classes: Sequence[Draws], place: int | None, derived: Mapping[int, Derived] = MappingProxyType({})
    ) -> None:
        self.classes, self.place, self.derived = tuple(classes), place, derived
        columns = range(len(self.classes[0].groups) + (place is not None) + len(derived))
        self._number = {j: k for k, j in enumerate(j for j in columns if j != place and j not in derived)}

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
        for coefficient, product in folded(asked, self.derived):
            for factor, own, mine in self._each(product):
                found += coefficient * factor * own.masses(mine).sum(axis=1)
        return found

    def cells(self, columns: Sequence[int], asked: Condition = EVERYTHING) -> Floats:
        """(draws, levels, …): the records that meet a condition in each cell of some columns' cross-table."""
        asked = folded(asked, self.derived)
        if any(j in self.derived for j in columns):
            return self._derived_cells(columns, asked)
        inner = [self._number[j] for j in columns if j != self.place]
        groups = self.classes[0].groups
        sizes = [len(self.classes) if j == self.place else len(groups[self._number[j]]) for j in columns]
        total = np.zeros((self.size, *sizes))
        for coefficient, product in asked:
            parts = [
                coefficient * factor * own.cells(inner, mine) for factor, own, mine in self._each(product, keep=True)
            ]
            at = [axis for axis, j in enumerate(columns) if j == self.place]
            total = total + (np.stack(parts, axis=1 + at[0]) if at else np.sum(parts, axis=0))
        return total

    def _derived_cells(self, columns: Sequence[int], asked: Condition) -> Floats:
        """The cells of columns that follow from others, out of the cells of those."""
        roots = [self.derived[j].root if j in self.derived else j for j in columns]
        letters = {root: "abcdefgh"[k] for k, root in enumerate(dict.fromkeys(roots))}
        table, onto = self.cells([*letters], asked), []
        for j, root, axis in zip(columns, roots, "stuvwxyz", strict=False):
            size = table.shape[1 + [*letters].index(root)]
            onto.append((letters[root] + axis, self.derived[j].onto if j in self.derived else np.eye(size)))
        into = ",".join(["m" + "".join(letters.values()), *(name for name, _ in onto)])
        target = "m" + "".join(name[1] for name, _ in onto)
        return np.asarray(np.einsum(f"{into}->{target}", table, *(one for _, one in onto), optimize=True))

    def mixture(self, draw: int) -> Mixture:
        """One draw as a distribution over all columns. Those that follow from others have their margins alone."""
        models = [one.mixture(draw) for one in self.classes]
        place = None if self.place is None else sum(j < self.place for j in self._number)
        found = models[0] if place is None else labeled(models, [one.scale[draw] for one in self.classes], place)
        columns = [*found.columns]
        for j in sorted(self.derived):
            columns.insert(j, np.zeros((0, 0)))
        for j, one in self.derived.items():
            columns[j] = columns[one.root] @ one.onto
        return Mixture(found.weights, tuple(columns))

    def mean(self, draws: int | None = None) -> Mixture:
        """The mean of all draws, or of the first few."""
        each = [
            sum(one.scale[draw] for one in self.classes) / max(self.totals[draw], 1e-12) for draw in range(self.size)
        ]
        shares = np.array(each[:draws])
        return together([self.mixture(draw) for draw in range(len(shares))], [*shares / shares.sum()])

    def _each(self, product: Product, *, keep: bool = False) -> list[tuple[float, Draws, Product]]:
        """Each class with its own part of a product; those with no part are left out unless `keep`."""
        found: list[tuple[float, Draws, Product]] = []
        for number, one in enumerate(self.classes):
            factor = 1.0
            if self.place is not None and self.place in product:
                factor = float(np.asarray(product[self.place])[number])
            if factor or keep:
                mine = {self._number[j]: weights for j, weights in product.items() if j != self.place}
                found.append((factor, one, mine))
        return found


FINEST = 2**16 - 1
TOTALS, WEIGHTS, TABLES, WITHIN = NAMES = ("draws.totals", "draws.weights", "draws.tables", "draws.within")
"""What the arrays are called."""


def packed(classes: Sequence[Draws]) -> dict[str, np.ndarray]:
    """The draws of all classes: the axes of each array begin with classes and draws.

    Totals have no others, weights one for components, tables one more for the groups of all columns in turn; `within`
    has one for the levels of all columns.
    """
    return {
        TOTALS: np.stack([one.totals for one in classes]).astype(np.float64),
        WEIGHTS: np.stack([_rounded(one.weights) for one in classes]),
        TABLES: np.stack([_rounded(np.concatenate(one.tables, axis=2)) for one in classes]),
        WITHIN: np.stack([_rounded(np.concatenate(one.within, axis=1)) for one in classes]),
    }


def unpacked(arrays: Mapping[str, np.ndarray], evidence: Sequence[Evidence]) -> list[Draws]:
    """The draws of all classes; arrays that do not fit their views are refused. In older files groups are cut once, or
    not at all."""
    totals, weights, tables, within = (arrays[name] for name in NAMES)
    cuts = halves(evidence)
    each = (evidence[0].groups, [one[0] for one in cuts], [one[-1] for one in cuts])
    fitting = (groups for groups in each if tables.shape[-1:] == (sum(int(one.max()) + 1 for one in groups),))
    groups: Sequence[Integers] = next(fitting, each[-1])
    classes, sizes = len(evidence), [int(group.max()) + 1 for group in groups]
    shape = weights.shape
    if len(shape) != 3 or shape[0] != classes or shape[1] < 2 or shape[2] < 1:
        raise CorruptFileError("The file's draws do not have the shape of the release.")
    wanted = (shape[:2], shape, (*shape, sum(sizes)), (*shape[:2], sum(map(len, groups))))
    for array, its, kind in zip((totals, weights, tables, within), wanted, ("f8", "u2", "u2", "u2"), strict=True):
        if array.shape != its or array.dtype != np.dtype(kind):
            raise CorruptFileError("The file's draws do not have the shape of the release.")
    if not (np.isfinite(totals).all() and (totals >= 0).all() and (totals < MOST_RECORDS).all()):
        raise CorruptFileError("The file has draws whose number of records is none.")
    inner = np.split(tables, np.cumsum(sizes)[:-1], axis=3)
    outer = np.split(within, np.cumsum([*map(len, groups)])[:-1], axis=2)
    return [
        Draws(
            totals[number],
            _shares(weights[number]).astype(np.float64),
            tuple(_shares(one[number]) for one in inner),
            tuple(_shares(one[number], group) for one, group in zip(outer, groups, strict=True)),
            tuple(groups),
        )
        for number in range(classes)
    ]


def _rounded(shares: npt.NDArray[np.floating]) -> npt.NDArray[np.uint16]:
    return np.asarray(np.rint(np.sqrt(np.clip(shares.astype(np.float64), 0.0, 1.0)) * FINEST), np.uint16)


def _shares(roots: np.ndarray, group: Integers | None = None) -> Numbers:
    """Shares that sum to one along the last axis, or in each group of it."""
    squares = np.square(roots, dtype=np.float32)
    if group is None:
        sums = squares.sum(axis=-1, keepdims=True)
    else:
        order = np.argsort(group, kind="stable")
        starts = np.searchsorted(group[order], np.arange(group.max() + 1))
        sums = np.add.reduceat(squares[..., order], starts, axis=-1)[..., group]
    if not (sums > 0).all():
        raise CorruptFileError("The file has draws without any share.")
    return np.asarray(squares / sums, np.float32)
