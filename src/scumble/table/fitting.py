"""A mixture of products that agrees with noisy views: the fit behind every draw of a table.

The stack A of all columns' tables (all groups × K) gives every pair at once: with s = √w A, the tables of all pairs are
the blocks of M = s sᵀ. One more row, which all records are in, makes the single columns a block as well. A fit brings
M near a target Y: it minimizes Σ P (M − Y)², with P the inverse variances of the target, for the cells and for two
kinds of sums of them: coarse cells, which are sums of neighbors and correlations of ordered columns, where
each group weighs as far as it stands from the mean. The slope in s is Q s with

    Q = P ∘ (M − Y) + Σ_B Bᵀ (P_B ∘ B (M − Y) Bᵀ) B,    B M Bᵀ = (B s) (B s)ᵀ,

where B takes such sums. A set of three columns or more is a block of its own, on coarse levels: with U_j = A_j C_jᵀ,
C_j the share of each group that lies in each coarse level, it adds Σ P (T − Y)² with T = Σ_k w_k U_ik ⊗ U_jk ⊗ U_lk
(`Block`). From there to the logarithms of A and w, with D = s ∘ slope,

    ∂/∂log A_ak = D_ak − A_ak Σ_b D_bk,    ∂/∂log w_k = T_k − w_k Σ_l T_l,    T_k = ½ Σ_a D_ak,

where b goes over the groups of a's column. Adam (Kingma & Ba 2015) takes the steps, on NumPy alone: first among coarse
levels, where steps are cheap and go far, then among all of them (`Fits`).
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scumble.table import prior
from scumble.table.evidence import Evidence, View, coarser, simplex, summed
from scumble.table.mixture import Mixture

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Fitted = tuple[Numbers, list[Numbers]]


class Target(NamedTuple):
    """What a fit is brought near: for all pairs of groups, and the single columns last, what counts and prior say."""

    counts: Floats
    drawn: Floats
    larger: list[Numbers]
    """The larger sets."""


COARSE = math.isqrt(prior.LEVELS)
"""Neighboring levels in a coarse one."""
KEPT = np.float32(0.9)
"""How much of the slope and of its square Adam keeps: slopes are exact, so a short memory is best."""
RAREST, TINY, FARTHEST = 1e-4, np.float32(1e-12), 30.0
"""The least share to start from; what keeps a quotient finite; the limit of logarithms."""


class Block:
    """A set of three columns or more in a fit: a tensor of coarse levels, Σ_k w_k U_ik ⊗ U_jk ⊗ …

    For each of its columns, `where` the groups stand, and the share of each group that is `within` each coarse level.
    `precision`: the inverse variance of a cell's share."""

    def __init__(self, where: Sequence[slice], within: Sequence[Floats], precision: float) -> None:
        self.where, self.precision = where, np.float32(precision)
        self.within = [np.asarray(one, np.float32) for one in within]

    def slope(self, shares: Numbers, weights: Numbers, target: Numbers, slope: Numbers) -> Numbers:
        """Add A ∘ ∂/∂A to the slope of each column's groups; returns w ∂/∂w. All have the fits first."""
        fits, components = weights.shape
        axes = [within @ shares[:, here] for here, within in zip(self.where, self.within, strict=True)]
        above = [np.ones((fits, 1, components), np.float32)]  # products of the axes before each, and after it
        below = [weights[:, None]]
        for axis in axes[:-1]:
            above.append(_product(above[-1], axis))
        for axis in axes[:0:-1]:
            below.append(_product(axis, below[-1]))
        first = below[-1].transpose(0, 2, 1)
        off = axes[0] @ first
        off -= target.reshape(off.shape)
        off *= self.precision
        by_weight = np.zeros_like(weights)
        for place, (here, within, axis) in enumerate(zip(self.where, self.within, axes, strict=True)):
            before, after = above[place], below[len(axes) - 1 - place]
            if place < len(axes) - 1:
                moved = off.reshape(fits, -1, after.shape[1]) @ after
                moved = (moved.reshape(fits, before.shape[1], -1, components) * before[:, :, None]).sum(axis=1)
            else:
                moved = off.reshape(fits, before.shape[1], -1).transpose(0, 2, 1) @ before
                moved *= after
            if not place:
                by_weight = (axis * moved).sum(axis=1)
            slope[:, here] += shares[:, here] * (within.T @ moved)
        return by_weight


def _product(one: Numbers, two: Numbers) -> Numbers:
    """(fits, a, K) and (fits, b, K) to (fits, a · b, K)."""
    return np.asarray((one[:, :, None] * two[:, None]).reshape(len(one), -1, one.shape[2]))


class Problem:
    """What all fits to one set of noisy views share: the layout of the groups, and how sure each cell is."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence, records = evidence, evidence.count
        self.sizes = np.array([*evidence.sizes, 1])
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        self.column_of = np.repeat(np.arange(len(self.sizes)), self.sizes)
        size = len(self.column_of)
        self.order = np.arange(size)  # groups of words by size: neighbors in a coarse level are alike in that at least
        self.margin, spread = np.zeros((2, size - 1))
        self.families: list[Integers | None] = []  # where groups of words begin that lie within another word
        for j, column in enumerate(evidence.columns):
            single, group, here = evidence.single(j), evidence.groups[j], self.groups(j)
            found = np.bincount(group, single.counts) / records
            parent = np.zeros(len(found), np.int64)
            parent[group] = column.above or 0
            order = np.arange(len(found)) if column.ordered else np.lexsort((-found, parent))
            self.families.append(np.flatnonzero(np.diff(parent[order], prepend=-1)) if column.above else None)
            self.order[here] = here.start + order
            self.margin[here] = simplex(found)[order]
            spread[here] = np.sqrt(single.variance * np.bincount(group)[order]) / records
        self.place = np.argsort(self.order)
        possible = np.maximum(self.margin, np.maximum(spread, 1.0 / records))
        self.likelihood, belief = np.zeros((2, size, size))
        for view in evidence.views:
            if len(view.columns) == 1:
                here = self.groups(view.columns[0])
                levels = np.bincount(evidence.groups[view.columns[0]])[self.order[here] - here.start]
                self.likelihood[here, -1] = records**2 / (view.variance * levels)
            elif len(view.columns) == 2:
                self.likelihood[self.block(view.columns)] = records**2 / view.variance
        pairs = self.column_of[:-1, None] < self.column_of[None, :-1]
        belief[:-1, :-1][pairs] = 1.0 / (prior.DEPENDENCE**2 * np.outer(possible, possible)[pairs])
        self.belief = belief
        self.larger = [view for view in evidence.views if len(view.columns) > 2]
        self._pairs = np.flatnonzero(belief)
        self._shape = np.maximum(np.outer(self.margin, self.margin)[pairs], 1e-9) / prior.DEPENDENCE**2
        self._precisions()

    def groups(self, column: int) -> slice:
        """Where a column's groups stand."""
        return slice(int(self.starts[column]), int(self.starts[column] + self.sizes[column]))

    def block(self, columns: tuple[int, ...]) -> tuple[slice, slice]:
        """Where the cells of a pair stand."""
        one, two = columns
        return self.groups(one), self.groups(two)

    def _precisions(self) -> None:
        """For cells, for coarse cells and for lines: what sums them, P, and the part of the prior in it; P is in units
        of the mean cell.

        Counts and prior are weighed sum by sum: what noise hides in each cell, their sums may show. Cells cannot be
        negative, so noise in empty ones only adds, and pulls correlations to zero: a sum weighs as many times more than
        a cell as it has levels a side.
        """
        sizes = self.sizes
        cuts = [
            family
            if family is not None
            else np.arange(size)
            if size < 2 * COARSE
            else np.linspace(0, size, size // COARSE + 1)[:-1]
            for size, family in zip(sizes, [*self.families, None], strict=True)
        ]
        starts = [start + np.rint(cut).astype(int) for start, cut in zip(self.starts, cuts, strict=True)]
        coarse_of = np.searchsorted(np.concatenate(starts), np.arange(len(self.column_of)), side="right") - 1
        coarse = np.equal.outer(np.arange(coarse_of[-1] + 1), coarse_of)
        unit = np.count_nonzero(self.likelihood + self.belief)
        self.blocks = [
            self._block(view, (1 + COARSE) * self.evidence.count**2 / view.variance / unit) for view in self.larger
        ]
        self.sums = []
        lines = self._lines()
        each = int(np.count_nonzero(lines)) / max(int(np.count_nonzero(lines.any(axis=1))), 1)
        for sums, weight in ((None, 1.0), (coarse.astype(float), COARSE), (lines, each)):
            known, believed = (_of_sums(each, sums) for each in (self.likelihood, self.belief))
            total = known + believed
            share = np.divide(believed, total, out=np.zeros_like(total), where=total > 0)
            precision = weight * (total + total.T) / unit
            self.sums.append(
                (None if sums is None else sums.astype(np.float32), precision.astype(np.float32), share + share.T)
            )

    def _lines(self) -> Floats:
        """Two rows for each ordered column: where its groups stand along the line, and by rank, in standard deviations
        from the mean."""
        found = np.zeros((2 * len(self.evidence.columns), len(self.column_of)))
        for j, column in enumerate(self.evidence.columns):
            here, line = self.groups(j), self.evidence.groups[j][: column.ordered]
            levels = np.bincount(line, minlength=self.sizes[j])
            share = self.margin[here] * (levels > 0)
            along = np.bincount(line, np.arange(len(line)), self.sizes[j]) / np.maximum(levels, 1)
            for row, place in enumerate((along, np.cumsum(share) - share / 2)):
                place = (place - share @ place / max(share.sum(), RAREST)) * (levels > 0)
                found[2 * j + row, here] = place / max(math.sqrt(share @ place**2), RAREST)
        return found

    def _block(self, view: View, precision: float) -> Block:
        within = []
        for j, level in zip(view.columns, view.levels, strict=True):
            found = np.zeros((int(level.max()) + 1, self.evidence.sizes[j]))
            np.add.at(found, (level, self.evidence.groups[j]), self.evidence.shapes[j])
            here = self.groups(j)
            within.append(found[:, self.order[here] - here.start])
        return Block([self.groups(j) for j in view.columns], within, precision)

    def target(self, noise: list[Floats] | None, generator: np.random.Generator | None) -> Target:
        """Y: the views, each with this much added, and tables drawn from the prior, weighed by how sure each is.

        Without a generator the prior is what it expects: independent columns.
        """
        found, drawn = np.zeros_like([self.belief] * 2)
        records, larger = self.evidence.count, list[Numbers]()
        for number, view in enumerate(self.evidence.views):
            counts = view.counts if noise is None else view.counts + noise[number]
            if len(view.columns) == 1:
                here = self.groups(view.columns[0])
                summed = np.bincount(self.evidence.groups[view.columns[0]], counts)
                found[here, -1] = summed[self.order[here] - here.start] / records
            elif len(view.columns) == 2:
                one, two = self.block(view.columns)
                found[one, two] = counts[np.ix_(self.order[one] - one.start, self.order[two] - two.start)] / records
            elif view.columns:
                larger.append(np.asarray(counts / records, np.float32))
        shape = self._shape if generator is None else generator.standard_gamma(self._shape)
        drawn.flat[self._pairs] = shape * prior.DEPENDENCE**2
        return Target(found + found.T, drawn + drawn.T, larger)

    @cached_property
    def structure(self) -> Floats:
        """How far each direction in which columns depend on each other stands out of the noise, as a multiple of it.

        In units of its noise, what pairs tell beyond independent columns is a symmetric matrix. Noise alone has
        eigenvalues up to 2√d, with d measured cells in a row (Wigner's law): those above are structure."""
        off = np.zeros_like(self.belief)
        for view in self.evidence.views:
            if len(view.columns) == 2:
                one, two = self.block(view.columns)
                counts = view.counts[np.ix_(self.order[one] - one.start, self.order[two] - two.start)]
                alone = self.evidence.count * np.outer(self.margin[one], self.margin[two])
                off[one, two] = (counts - alone) / np.sqrt(max(view.variance, 1e-12))
        edge = 2 * math.sqrt(2 * max(1, int(np.count_nonzero(off))) / len(off))
        found: Floats = np.abs(np.linalg.eigvalsh(off + off.T)) / edge
        return found[found > 1.0]

    @cached_property
    def components(self) -> int:
        """How many products a mixture has: they cannot be negative, so each direction takes some for more, for less and
        for the rest. There is room for all directions of one pair."""
        return 3 * max(prior.LEVELS, len(self.structure))

    @cached_property
    def steps(self) -> int:
        """How many steps a fit from a random start takes: so many that a share can go from 1 to 1/N and back; and the
        clearer the structure, the nearer it must come."""
        clearest = max([self.structure.max(initial=0.0), *map(interaction, self.larger)])
        return min(int((2 * math.log(self.evidence.count) + clearest) / prior.RATE), prior.STEPS)

    def begun(self, generator: np.random.Generator) -> Numbers:
        """Logarithms of A and, last, of w to start from."""
        logs = np.zeros((len(self.column_of), self.components), np.float32)
        logs[:-1] = np.log(np.maximum(self.margin, RAREST))[:, None]
        logs[:-1] += prior.DEPENDENCE * generator.standard_normal(logs[:-1].shape, np.float32)
        return logs

    def roots(self, logs: Numbers) -> tuple[Numbers, Numbers]:
        """w and s = √w A, of each fit."""
        s = np.exp(logs)
        weights = s[:, -1] / s[:, -1].sum(axis=1, keepdims=True)
        s *= (np.sqrt(weights)[:, None] / np.add.reduceat(s, self.starts, axis=1))[:, self.column_of]
        return np.asarray(weights, np.float32), np.asarray(s, np.float32)

    def slope(self, logs: Numbers, wanted: Sequence[Numbers], larger: Sequence[Numbers] = ()) -> Numbers:
        """The gradient in the logarithms, given what the cells and each kind of sums of them should be."""
        weights, s = self.roots(logs)
        slope = np.zeros_like(s)
        for (sums, precision, _), its in zip(self.sums, wanted, strict=True):
            few = s if sums is None else sums @ s
            off = few @ few.transpose(0, 2, 1)
            off -= its
            off *= precision
            slope += off @ few if sums is None else sums.T @ (off @ few)
        slope *= s
        by_weight = slope.sum(axis=1) / 2
        if self.blocks:
            shares = s / s[:, -1:]
            for block, its in zip(self.blocks, larger, strict=True):
                by_weight += block.slope(shares, weights, its, slope)
        sums = np.add.reduceat(slope, self.starts, axis=1)
        s *= (sums / s[:, -1:])[:, self.column_of]
        slope -= s
        slope[:, -1] = by_weight - weights * by_weight.sum(axis=1, keepdims=True)
        return np.asarray(slope, np.float32)

    def wanted(self, targets: Sequence[Target]) -> list[Numbers]:
        """(fits, …): what the cells and each kind of sums of them should be, by counts and prior as each is sure."""
        found = list[Numbers]()
        for sums, _, share in self.sums:
            each = ((one.counts, one.drawn) for one in targets)
            if sums is not None:
                each = ((sums @ known @ sums.T, sums @ drawn @ sums.T) for known, drawn in each)
            found.append(np.stack([np.asarray(known + share * (drawn - known), np.float32) for known, drawn in each]))
        return found

    def descend(self, targets: Sequence[Target], logs: Numbers, steps: int, rate: float) -> Numbers:
        """Some fits at once: where the logarithms have come to after so many steps."""
        wanted = self.wanted(targets)
        larger = [np.stack(same) for same in zip(*(one.larger for one in targets), strict=True)]
        first, second = np.zeros_like(logs), np.zeros_like(logs)
        for step in range(steps):
            slope = self.slope(logs, wanted, larger)
            first *= KEPT
            first += slope
            second *= KEPT
            slope *= slope
            second += slope
            falling = min(1.0, 2.0 * (1.0 - step / steps))  # large steps circle the minimum, small ones reach it
            mean = float((1 - KEPT) / (1 - KEPT ** (step + 1))) ** 0.5
            np.sqrt(second, out=slope)
            slope += TINY
            np.divide(first, slope, out=slope)
            slope *= np.float32(rate * falling * mean)
            logs = np.clip(logs - slope, -FARTHEST, FARTHEST)
        return logs


def _of_sums(precision: Floats, sums: Floats | None) -> Floats:
    """The precision of sums of independent cells; of the cells themselves, if there are no sums."""
    if sums is None:
        return precision
    spread = sums**2 @ np.divide(1.0, precision, out=np.zeros_like(precision), where=precision > 0) @ (sums**2).T
    return np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)


def interaction(view: View) -> float:
    """How far three columns of a larger set stand out of the noise beyond what pairs show, as a multiple of it.

    >>> parity = np.array([[[9.0, 1.0], [1.0, 9.0]], [[1.0, 9.0], [9.0, 1.0]]])
    >>> round(interaction(View((0, 1, 2), parity, 1.0)), 1)
    11.3
    """
    most, axes = 0.0, set(range(view.counts.ndim))
    for three in itertools.combinations(axes, 3):
        table = view.counts.sum(axis=tuple(axes - {*three}))
        variance = max(view.variance, 1e-12) * view.counts.size / table.size
        for axis in range(3):
            table = table - table.mean(axis=axis, keepdims=True)
        free = math.prod(max(size - 1, 1) for size in table.shape)
        most = max(most, math.sqrt(float((table**2).sum()) / (variance * free)))
    return most


class Fits:
    """Fits to one set of views, from coarse to fine: most steps see at most `prior.LEVELS` levels of a number."""

    def __init__(self, evidence: Evidence) -> None:
        merged = [coarser(evidence, j) for j in range(len(evidence.columns))]
        self.fine, self.coarse = Problem(evidence), Problem(summed(evidence, merged))
        starts = zip(self.coarse.starts, merged, strict=False)
        self.parent = np.append(np.concatenate([start + into for start, into in starts]), self.coarse.starts[-1])
        self._first = np.flatnonzero(np.diff(self.parent, prepend=-1))
        shares = np.maximum(self.fine.margin, RAREST) / np.maximum(self.coarse.margin, RAREST)[self.parent[:-1]]
        self._within = np.append(np.log(shares), 0.0).astype(np.float32)

    def _coarser(self, cells: Floats) -> Floats:
        return np.asarray(np.add.reduceat(np.add.reduceat(cells, self._first, axis=0), self._first, axis=1))

    def fit(self, targets: Sequence[Target], generators: Sequence[np.random.Generator]) -> Fitted:
        """Fits to some targets at once: the weights of their components, (fits, K), and for each column the shares of
        its groups, (fits, K, groups)."""
        few = [Target(self._coarser(one.counts), self._coarser(one.drawn), one.larger) for one in targets]
        logs = np.stack([self.coarse.begun(generator) for generator in generators])
        logs = self.coarse.descend(few, logs, self.coarse.steps, prior.RATE)
        logs = logs[:, self.parent] + self._within[:, None]
        weights, s = self.fine.roots(self.fine.descend(targets, logs, self.coarse.steps // 2, prior.RATE / 4))
        shares = (s[:, :-1] / s[:, -1:])[:, self.fine.place[:-1]].transpose(0, 2, 1)
        return weights, [shares[..., self.fine.groups(j)] for j in range(len(self.fine.evidence.columns))]


def fitted(evidence: Evidence, seed: int) -> Mixture:
    """The one mixture nearest to views and prior, over all levels: what a plan compares further views with."""
    fits = Fits(evidence)
    weights, tables = fits.fit([fits.fine.target(None, None)], [np.random.default_rng(seed)])
    each = zip(tables, evidence.groups, evidence.shapes, strict=True)
    return Mixture(
        weights[0].astype(float), tuple(one[0].astype(float)[:, group] * shape for one, group, shape in each)
    )


_limited = threading.Lock()


@contextmanager
def one_thread() -> Iterator[None]:
    """Within, BLAS uses one thread. Who comes while another is within leaves the limit to that one: it is the whole
    process's, and must be lifted by who set it."""
    if not _limited.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas") if _controller() is not None else nullcontext():
            yield
    finally:
        _limited.release()


@cache
def _controller() -> Any:
    """What knows the libraries. To find them takes as long as an answer, so it is done once."""
    try:
        from threadpoolctl import ThreadpoolController
    except ModuleNotFoundError:  # who has NumPy alone waits a little longer
        return None
    return ThreadpoolController()
