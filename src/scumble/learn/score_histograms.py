"""Histograms of the private records' own scores, for a small share of the budget: thresholds, and probabilities.

A score under a release is a public function of a record, to the last bit, made of whole numbers, looked-up numbers, and
sums in one order. So scores can be counted in one row of counters, of which each record touches one.

**Quantiles.** Below which score does a share of the records fall? Of a grid, the cells are ranked by their kernel sums,
and the counters summed down the ranks; of hashed rows, the counted scores answer.

**Probabilities.** A private Platt scaling of a classifier, and when to trust it. The scores of each class are counted
in about 24 counters; they are made of the released counters *less the record itself*. A score s is the log-odds l of
the classes' shares, plus evidence. The probability of class 1 has the log-odds

    z = l + b + a (s − l),

with a and b by maximum likelihood (Platt 1999) on the masses that the noisy histogram makes plausible, and a penalty of
the noise's own size that holds b at 0 and a at 0.7 or less. The larger class is the answer unless a threshold gains
more records than its own standard deviation, of noise and of sampling. Otherwise the line bends before it reaches zero:

    z′ = z  where z ≤ −1,  else −1 / (z + 2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scumble.density.bundle import Bundle
from scumble.density.draws import masses
from scumble.density.release import Release
from scumble.density.sketch import Sketch
from scumble.kernels import ColumnKernel, EuclideanKernel
from scumble.privacy.exact import Number

# ---- quantiles ----

QUANTILE_CELLS, FEWEST, MOST = 4.0, 16, 1024
"""Cells for each √(εN), and their bounds. With more noise adds up, with fewer the quantile is lost."""
DEVIATIONS = 4.0
"""Of the noise below zero, where the first cell begins."""
TILE = 1 << 16


def on_grid(release: Release, share: float) -> float:
    """From the counters of a grid, or of any layout that has places."""
    (sums, counts), total = release._reader().places(), release.divisor
    order = np.argsort(-sums, kind="stable")
    counts = counts[order]
    above = np.cumsum(counts - (counts.sum() - total) / len(counts))
    # Noise makes the sum cross its mark more than once: as many cells as lie below it, wherever they are.
    cells = int(np.sum(above < (1.0 - share) * total))
    return float(sums[order[min(cells, len(order) - 1)]])


def counted(scores: np.ndarray, low: float, high: float, epsilon: Number, total: float) -> Sketch:
    """A sketch of its own, to be released for `epsilon`: the private records, `total` or so, by their scores."""
    cells = int(np.clip(QUANTILE_CELLS * np.sqrt(float(epsilon) * max(total, 1.0)), FEWEST, MOST))
    sketch = Sketch(EuclideanKernel(high - low), 1, buckets=cells, bounds=(low, high), design="grid")
    return sketch.update(scores[:, None])


def roots(release: Release, X: np.ndarray) -> tuple[np.ndarray, float, float]:
    """The signed roots of the records' kernel sums under a release, and between what they are to be counted.

    Roots resolve sparse places and crowds alike.
    """
    reader, layout = release._reader(), release.spec.layout
    found = np.empty(len(X))
    for first in range(0, len(X), TILE):
        parts, _ = layout.read(X[first : first + TILE], invalid="error")
        found[first : first + TILE] = root(reader.lone_sums(parts))
    return found, float(root(-DEVIATIONS * reader.lone_deviation)), float(root(release.divisor))


def of_counted(scores: Release, total: float, share: float) -> float:
    """The score that `share` of the records are below, from what `counted` released; `total` is how many there are.

    The counters become masses as in :func:`scumble.learn.sample`; between edges records are taken to lie evenly.
    """
    edges = scores.spec.layout.edges()[0]
    mass = masses(scores.counts[0].astype(float), scores.counter_variance, max(total, 1.0))
    return float(np.interp(share * mass.sum(), np.append(0.0, np.cumsum(mass)), edges))


def root(sums: np.ndarray | float) -> np.ndarray:
    """The signed root: in the order of the kernel sums, also below zero.

    >>> root(np.array([-4.0, 9.0]))
    array([-2.,  3.])
    """
    return np.sign(sums) * np.sqrt(np.abs(sums))


# ---- probabilities ----

KERNEL = ColumnKernel(1.0 / 24.0, origin=0.0)
CELLS = KERNEL.radix or 0
SPREAD = 2.0
"""Scores are squashed by σ(s / SPREAD) to the histogram's [0, 1]."""
SLOPES = np.exp(np.linspace(-4.0, 1.0, 21))
SHIFTS = np.linspace(-6.0, 6.0, 49)
USUAL, DECREASE = 0.7, 3.0
"""The slope in the absence of noise, and how fast it falls with the noise's share."""
CAUTION = 0.3, 0.05
"""How strongly the noise holds the slope and the shift."""
SURE = 1.0
"""Standard deviations by which a threshold must do better than the larger class alone."""
LEAST = 2.0
"""Standard errors of a count: no class is taken to be smaller, or by chance its probability is next to nothing."""


class Curve(NamedTuple):
    """Log-odds out of scores."""

    center: float = 0.0
    height: float = 0.0
    slope: float = 1.0
    side: int = 0
    """0: a line. 1: it bends below 0, class 0 is always the answer. −1: it bends above 0."""

    def __call__(self, scores: np.ndarray, *, bent: bool = True) -> np.ndarray:
        """(n,) scores → (n,) log-odds of class 1; not `bent`, the line for classes of other weights."""
        z = self.height + self.slope * (scores - self.center)
        return self.side * _bent(self.side * z) if self.side and bent else z


def squashed(scores: np.ndarray) -> np.ndarray:
    """Scores as one column between 0 and 1."""
    return 1.0 / (1.0 + np.exp(-np.clip(scores / SPREAD, -30.0, 30.0)))[:, None]


def fitted(histograms: Bundle, priors: np.ndarray, counts: np.ndarray, count_deviation: float) -> Curve:
    """The most likely curve that is sure, out of the two classes' noisy histograms of squashed scores, class 0 first.

    `priors` are the shares that are in the scores, `counts` how many records each class has, with this standard error.
    """
    release = next(iter(histograms.values()))
    variance, cells = release.counter_variance, min(CELLS, release.buckets)
    _, steps, offset, _, _ = release.spec.layout.hasher.parameters[0][0, 0]
    places = np.clip((np.arange(cells) + 0.5 - offset) / steps, 0.5 / steps, 1.0 - 0.5 / steps)
    totals = np.maximum(counts, LEAST * count_deviation)
    weights = priors * counts.sum() / counts  # not 1 where priors were given
    zero, one = (
        weight * masses(one.counts[0, :cells].astype(float), variance, total)
        for weight, one, total in zip(weights, histograms.values(), totals, strict=True)
    )
    center, height = (float(np.log(two[1] / two[0])) for two in (priors, weights * totals))
    line = SLOPES[:, None, None] * (SPREAD * np.log(places / (1.0 - places)) - center)
    z = height + SHIFTS[:, None] + line  # (slopes, shifts, cells)
    noise, total = np.sqrt(2.0 * cells * variance), float(totals.sum())
    of_slope, of_shift = CAUTION
    held = np.log(SLOPES * (total + DECREASE * noise) / (USUAL * total))
    penalty = 0.5 * noise * (of_slope * held[:, None] ** 2 + of_shift * SHIFTS**2)
    side = 1 if height <= 0.0 else -1
    straight, bent = (
        np.logaddexp(0.0, -one_z) @ one + np.logaddexp(0.0, one_z) @ zero + penalty
        for one_z in (z, side * _bent(side * z))
    )
    crossed = side * z > 0.0
    share = crossed.sum(axis=2) / cells
    noisy = np.sum(weights**2) * (variance * cells * share * (1.0 - share) + (share * count_deviation) ** 2)
    drawn = crossed @ (weights[0] * zero + weights[1] * one)  # the sampling variance of the records
    straight[(share == 0.0) | (crossed @ (side * (one - zero)) < SURE * np.sqrt(noisy + drawn))] = np.inf
    chosen, turn = (straight, 0) if straight.min() <= bent.min() else (bent, side)
    slope, shift = np.unravel_index(np.argmin(chosen), chosen.shape)
    return Curve(center, height + float(SHIFTS[shift]), float(SLOPES[slope]), turn)


def _bent(z: np.ndarray) -> np.ndarray:
    """z up to −1, then a hyperbola that stays below 0."""
    return np.where(z <= -1.0, z, -1.0 / (np.maximum(z, -1.0) + 2.0))
