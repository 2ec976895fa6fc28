"""A mixture of products that agrees with noisy views: the fit behind every draw of a table.

The stack A of all columns' tables (all groups × K) gives every pair at once: with s = √w A, the tables of all pairs are
the blocks of M = s sᵀ. One more row, which all records are in, makes the single columns a block as well. A fit brings
M near a target Y: it minimizes Σ P (M − Y)², with P the inverse variances of the target, both for the cells and for
coarse cells, which are sums of neighbouring ones (`prior.COARSE`). The slope in s is Q s with

    Q = P ∘ (M − Y) + Bᵀ (P_B ∘ B (M − Y) Bᵀ) B,    B M Bᵀ = (B s) (B s)ᵀ,

where B adds up neighbours. From there to the logarithms of A and w, with D = s ∘ slope,

    ∂/∂log A_ak = D_ak − A_ak Σ_b D_bk,    ∂/∂log w_k = T_k − w_k Σ_l T_l,    T_k = ½ Σ_a D_ak,

where b goes over the groups of a's column. Adam (Kingma & Ba 2015) takes the steps, on NumPy alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from scumble.views import prior
from scumble.views.evidence import Evidence, simplex
from scumble.views.mixture import Mixture

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]

KEPT = np.float32(0.9)
"""How much of the slope and of its square Adam keeps: slopes are exact, so a short memory is best."""
RAREST, TINY, FARTHEST = 1e-4, np.float32(1e-12), 30.0
"""The least share to start from; what keeps a quotient finite; the limit of logarithms."""


class Problem:
    """What all fits to one set of views share: the layout of the groups, and how sure each cell is.

    Parameters
    ----------
    evidence : Evidence
        The noisy views.
    """

    def __init__(self, evidence: Evidence) -> None:
        self.evidence, records = evidence, evidence.count
        self.sizes = np.array([*evidence.sizes, 1])
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        self.column_of = np.repeat(np.arange(len(self.sizes)), self.sizes)
        size = len(self.column_of)
        self.order = np.arange(size)  # groups of words by size: neighbours in a coarse level are alike in that at least
        self.margin, spread = np.zeros((2, size - 1))
        for j, column in enumerate(evidence.columns):
            single, group, here = evidence.single(j), evidence.groups[j], self.groups(j)
            found = np.bincount(group, single.counts) / records
            order = np.arange(len(found)) if column.ordered else np.argsort(-found, kind="stable")
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
        self.total = self.likelihood + belief
        self.share_of_prior = np.divide(belief, self.total, out=np.zeros_like(belief), where=self.total > 0)
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
        """P for cells and for coarse cells, symmetric, both in units of the mean cell."""
        sizes = self.sizes
        cuts = [
            np.arange(size) if size < 2 * prior.COARSE else np.linspace(0, size, size // prior.COARSE + 1)[:-1]
            for size in sizes
        ]
        self.cuts = np.concatenate(
            [start + np.rint(cut).astype(int) for start, cut in zip(self.starts, cuts, strict=True)]
        )
        self.coarse_of = np.searchsorted(self.cuts, np.arange(len(self.column_of)), side="right") - 1
        variance = np.divide(1.0, self.total, out=np.zeros_like(self.total), where=self.total > 0)
        held = np.bincount(self.coarse_of)
        summed = self._coarse(variance)
        coarse = np.divide(
            prior.WEIGHT, summed, out=np.zeros_like(summed), where=(summed > 0) & (np.outer(held, held) > 1)
        )
        unit = np.count_nonzero(self.total)
        self.precision = ((self.total + self.total.T) / unit).astype(np.float32)
        self.coarse_precision = ((coarse + coarse.T) / unit).astype(np.float32)

    def _coarse(self, table: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
        return np.add.reduceat(np.add.reduceat(table, self.cuts, axis=0), self.cuts, axis=1)

    def target(self, noise: list[Floats] | None, generator: np.random.Generator | None) -> Numbers:
        """Y: the views, each with this much added, and tables drawn from the prior, weighed by how sure each is.

        Without a generator the prior is what it expects: independent columns.
        """
        found, records = np.zeros_like(self.total), self.evidence.count
        for number, view in enumerate(self.evidence.views):
            counts = view.counts if noise is None else view.counts + noise[number]
            if len(view.columns) == 1:
                here = self.groups(view.columns[0])
                summed = np.bincount(self.evidence.groups[view.columns[0]], counts)
                found[here, -1] = summed[self.order[here] - here.start] / records
            elif len(view.columns) == 2:
                one, two = self.block(view.columns)
                found[one, two] = counts[np.ix_(self.order[one] - one.start, self.order[two] - two.start)] / records
        drawn = self._shape if generator is None else generator.standard_gamma(self._shape)
        found *= 1.0 - self.share_of_prior
        found.flat[self._pairs] += self.share_of_prior.flat[self._pairs] * drawn * prior.DEPENDENCE**2
        return np.asarray(found + found.T, np.float32)

    @property
    def components(self) -> int:
        """How many products a mixture has: no more than there are groups, which can follow any pair."""
        return min(prior.COMPONENTS, len(self.column_of) - 1)

    def begun(self, generator: np.random.Generator) -> Numbers:
        """Logarithms of A and, last, of w to start from."""
        logs = np.zeros((len(self.column_of), self.components), np.float32)
        logs[:-1] = np.log(np.maximum(self.margin, RAREST))[:, None]
        logs[:-1] += prior.START * generator.standard_normal(logs[:-1].shape, np.float32)
        return logs

    def roots(self, logs: Numbers) -> tuple[Numbers, Numbers]:
        """w and s = √w A, of each fit."""
        s = np.exp(logs)
        weights = s[:, -1] / s[:, -1].sum(axis=1, keepdims=True)
        s *= (np.sqrt(weights)[:, None] / np.add.reduceat(s, self.starts, axis=1))[:, self.column_of]
        return np.asarray(weights, np.float32), np.asarray(s, np.float32)

    def slope(self, logs: Numbers, target: Numbers, coarse: Numbers) -> Numbers:
        """The gradient in the logarithms; `coarse` is the target summed over coarse cells."""
        weights, s = self.roots(logs)
        off = s @ s.transpose(0, 2, 1)
        off -= target
        off *= self.precision
        slope = off @ s
        few = np.add.reduceat(s, self.cuts, axis=1)
        off = few @ few.transpose(0, 2, 1)
        off -= coarse
        off *= self.coarse_precision
        slope += (off @ few)[:, self.coarse_of]
        slope *= s
        sums = np.add.reduceat(slope, self.starts, axis=1)
        by_weight = sums.sum(axis=1) / 2
        s *= (sums / s[:, -1:])[:, self.column_of]
        slope -= s
        slope[:, -1] = by_weight - weights * by_weight.sum(axis=1, keepdims=True)
        return np.asarray(slope, np.float32)

    def fit(self, targets: Sequence[Numbers], starts: Sequence[Numbers]) -> tuple[Numbers, list[Numbers]]:
        """Fits to some targets at once: the weights of their components, (fits, K), and for each column the shares of
        its groups, (fits, K, groups)."""
        target, logs = np.stack(targets), np.stack(starts)
        coarse = np.stack([self._coarse(one) for one in targets])
        first, second = np.zeros_like(logs), np.zeros_like(logs)
        for step in range(prior.STEPS):
            slope = self.slope(logs, target, coarse)
            first *= KEPT
            first += slope
            second *= KEPT
            slope *= slope
            second += slope
            falling = min(1.0, 2.0 * (1.0 - step / prior.STEPS))  # large steps circle the minimum, small ones reach it
            mean = float((1 - KEPT) / (1 - KEPT ** (step + 1))) ** 0.5
            np.sqrt(second, out=slope)
            slope += TINY
            np.divide(first, slope, out=slope)
            slope *= np.float32(prior.RATE * falling * mean)
            logs -= slope
            np.clip(logs, -FARTHEST, FARTHEST, out=logs)
        weights, s = self.roots(logs)
        shares = (s[:, :-1] / s[:, -1:])[:, self.place[:-1]].transpose(0, 2, 1)
        return weights, [shares[..., self.groups(j)] for j in range(len(self.evidence.columns))]


def fitted(evidence: Evidence, seed: int) -> Mixture:
    """The one mixture nearest to views and prior, over all levels: what a plan compares further views with."""
    problem = Problem(evidence)
    weights, tables = problem.fit([problem.target(None, None)], [problem.begun(np.random.default_rng(seed))])
    each = zip(tables, evidence.groups, evidence.shapes, strict=True)
    return Mixture(
        weights[0].astype(float), tuple(one[0].astype(float)[:, group] * shape for one, group, shape in each)
    )
