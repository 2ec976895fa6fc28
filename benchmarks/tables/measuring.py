"""Noisy views of a table of codes: NumPy counts the cells, the project's exact sampler draws the noise.

A stand-in for the sketch, for experiments on public tables: the adaptive choice here draws its Gumbel noise from an
ordinary generator.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from scumble.privacy.noise import discrete_gaussian, discrete_laplace, gaussian_variance, laplace_variance
from scumble.views.budgeting import COUNT_SHARE, Noise, Plan, plan
from scumble.views.evidence import Evidence, View
from scumble.views.fitting import fitted
from scumble.views.grouping import Column, groups

CHOOSING = 0.1
"""The share of a round that pays for the choice (AIM: McKenna, Mullins, Sheldon & Miklau 2022)."""


def noisy(counts: np.ndarray, budget: Noise, share: float) -> tuple[np.ndarray, float]:
    """Counts with noise, and its variance."""
    scale = budget.scale_at(share)
    if budget.law == "laplace":
        return counts + discrete_laplace(scale, counts.shape), laplace_variance(scale)
    return counts + discrete_gaussian(scale, counts.shape), gaussian_variance(scale)


def measured(codes: np.ndarray, columns: tuple[Column, ...], budget: Noise) -> Evidence:
    """Count, then singles, then groups, then pairs."""
    total, variance = noisy(np.array(len(codes)), budget, COUNT_SHARE)
    views = [View((), np.asarray(total, float), variance)]
    chosen = plan(float(total), len(columns), budget)
    shares = budget.shares([c.levels for c in columns], chosen.singles)
    grouped = []
    for j, (column, share) in enumerate(zip(columns, shares, strict=True)):
        counts, variance = noisy(np.bincount(codes[:, j], minlength=column.levels), budget, share)
        views.append(View((j,), counts.astype(float), variance))
        grouped.append(groups(column, counts, max(1, chosen.levels)))
    evidence = Evidence(columns, tuple(grouped), tuple(views))
    if chosen.choice == "all pairs":
        return _all_pairs(codes, evidence, budget, chosen)
    return _chosen_pairs(codes, evidence, budget, chosen)


def _all_pairs(codes: np.ndarray, evidence: Evidence, budget: Noise, chosen: Plan) -> Evidence:
    pairs = list(itertools.combinations(range(len(evidence.columns)), 2))
    sizes = evidence.sizes
    views = list(evidence.views)
    for pair, share in zip(pairs, budget.shares([sizes[i] * sizes[j] for i, j in pairs], chosen.pairs), strict=True):
        counts, variance = noisy(_counted(codes, evidence, pair), budget, share)
        views.append(View(pair, counts.astype(float), variance))
    return Evidence(evidence.columns, evidence.groups, tuple(views))


def _chosen_pairs(codes: np.ndarray, evidence: Evidence, budget: Noise, chosen: Plan) -> Evidence:
    """Rounds of AIM: the exponential mechanism on the gain over the model so far, then that pair with noise."""
    left = {p: _counted(codes, evidence, p) for p in itertools.combinations(range(len(evidence.columns)), 2)}
    generator = np.random.default_rng()
    for number in range(chosen.rounds):
        share = chosen.pairs / chosen.rounds
        deviation = budget.deviation_at(share * (1 - CHOOSING))
        model = fitted(evidence, number, fits=1)
        gains = {}
        for pair, counts in left.items():
            expected = _folded(model.table(pair), evidence, pair) * evidence.count
            gains[pair] = np.abs(counts - expected).sum() - math.sqrt(2 / math.pi) * deviation * counts.size
        # Laplace: the choice costs `share · ε`. Gaussian: a choice of ε costs ε²/8 of ρ = 1/(2σ²) (Bun & Steinke 2016).
        paid = share * CHOOSING
        epsilon = paid / budget.scale if budget.law == "laplace" else 2 * math.sqrt(paid) / budget.scale
        best = max(gains, key=lambda pair: epsilon * gains[pair] / 2 + generator.gumbel())
        counts, variance = noisy(left.pop(best), budget, share * (1 - CHOOSING))
        evidence = Evidence(
            evidence.columns, evidence.groups, (*evidence.views, View(best, counts.astype(float), variance))
        )
    return evidence


def _counted(codes: np.ndarray, evidence: Evidence, pair: tuple[int, int]) -> np.ndarray:
    i, j = pair
    wide, high = evidence.sizes[i], evidence.sizes[j]
    flat = evidence.groups[i][codes[:, i]] * high + evidence.groups[j][codes[:, j]]
    return np.bincount(flat, minlength=wide * high).reshape(wide, high)


def _folded(table: np.ndarray, evidence: Evidence, pair: tuple[int, int]) -> np.ndarray:
    """Levels summed into groups."""
    i, j = (np.eye(evidence.sizes[c])[evidence.groups[c]] for c in pair)
    return i.T @ table @ j
