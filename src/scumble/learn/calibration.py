"""From scores to probabilities, for a small share of the budget: a private Platt scaling.

Sums of opinions of dependent rows rank well but are badly calibrated. One more sketch corrects this: the scores of the
training records, of each class, in one row of about 24 counters. Each record adds one to one counter, so its
noise is tiny beside what the calibration needs to see. Then

    P(class 1 | score s) = σ(a (s − t)),

with a and t by maximum likelihood on the noisy histogram (Platt 1999). The likelihood is linear in the counts, so
noise of mean zero leaves it unbiased; a penalty of the noise's own size holds a and t at 1 and 0 where the histogram
cannot tell. Shifts with which fewer records would be right than if all were put into the larger class are left out. The
scores come from a release and are public functions of a record: the histogram costs its own budget,
no more.
"""

from __future__ import annotations

import numpy as np

from scumble.bundle import Bundle
from scumble.kernels import ColumnKernel

KERNEL = ColumnKernel(1.0 / 24.0, origin=0.0)
CELLS = KERNEL.radix or 0
SPREAD = 2.0
"""Scores are squashed by σ(s / SPREAD) to the histogram's [0, 1]."""
SLOPES = np.exp(np.linspace(-1.5, 1.5, 13))
SHIFTS = np.linspace(-8.0, 8.0, 81)
"""As far as scores can be told apart by the histogram: the outermost put all records into one class."""
CAUTION = 3.0, 0.5
"""How strongly the noise holds the slope at 1 and the shift at 0. A rare class needs a large shift."""


def squashed(scores: np.ndarray) -> np.ndarray:
    """Scores as one column between 0 and 1."""
    return 1.0 / (1.0 + np.exp(-np.clip(scores / SPREAD, -30.0, 30.0)))[:, None]


def fitted(histograms: Bundle) -> tuple[float, float]:
    """Slope a and shift t out of the two classes' noisy histograms, class 0 first."""
    zero, one = (release.counts[0].astype(float) for release in histograms.values())
    release = next(iter(histograms.values()))
    _, steps, offset, _, _ = release.spec.layout.hasher.parameters[0][0, 0]
    places = np.clip((np.arange(release.buckets) + 0.5 - offset) / steps, 0.5 / steps, 1.0 - 0.5 / steps)
    scores = SPREAD * np.log(places / (1.0 - places))
    z = SLOPES[:, None, None] * (scores[None, None, :] - SHIFTS[None, :, None])
    loss = np.logaddexp(0.0, -z) @ one + np.logaddexp(0.0, z) @ zero
    noise = np.sqrt(2.0 * release.buckets * release.counter_variance)
    of_slope, of_shift = CAUTION
    loss += 0.5 * noise * (of_slope * np.log(SLOPES)[:, None] ** 2 + of_shift * SHIFTS[None, :] ** 2)
    # Never below the majority class, as far as the histogram shows.
    right = (scores[None, :] > SHIFTS[:, None]) @ one + (scores[None, :] <= SHIFTS[:, None]) @ zero
    loss[:, right < max(zero.sum(), one.sum())] = np.inf
    best = np.unravel_index(np.argmin(loss), loss.shape)
    return float(SLOPES[best[0]]), float(SHIFTS[best[1]])
