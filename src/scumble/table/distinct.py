"""How many distinct values there are: an estimate from noisy numbers of occupied buckets (`columns.distinct`).

Of n values, t = np/B on average share a bucket on a level of probability p. So B(1 − q) buckets are occupied in the
mean, with q = e⁻ᵗ, and the derivative of that by n is g = pq. Were n itself Poisson, levels would be independent, each
with the variance Bq(1 − q) of hashing, to which D adds that of the noise. As n is fixed, the covariance is D − n·ggᵀ.

The estimate is where the score vanishes, the sum over levels of g/D · (occupied − B(1 − q)): the maximum of that
Gaussian likelihood, but for its slowly varying determinant. The interval has all n at which the score lies within its
own standard deviation, √(a − na²) with a = Σ g²/D, times a quantile that allows for the tails of Laplace noise by their
fourth cumulant (Cornish & Fisher 1938). So it holds for few values, too, where noise is all there is; and where all
buckets are full it has no end but the number of records.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from scumble.columns.distinct import BUCKETS, CHANCES
from scumble.table.estimate import Estimate

Floats = npt.NDArray[np.float64]

TRIED = np.append(0.0, np.geomspace(0.01, 1e10, 20_000))
"""Numbers of values: neighbors differ by a seventh of a percent or a hundredth of a value."""
SURE = 5.0
"""There are no more values than records, whose number is known up to so many standard errors."""


def estimated(
    occupied: Floats, variance: float, *, laplace: bool, records: tuple[float, float], confidence: float
) -> Estimate:
    """The number of distinct values, given the noisy number of occupied buckets of each level and the variance of its
    noise, which is `laplace` or Gaussian; and the number of records with its standard error.

    >>> mean = BUCKETS * (1 - np.exp(-1000 * CHANCES / BUCKETS))
    >>> print(estimated(mean, 2.0, laplace=True, records=(5000.0, 1.0), confidence=0.95))
    1,000 (988 to 1,013)
    """
    share = np.exp(-TRIED[:, None] * (CHANCES / BUCKETS))
    spread = BUCKETS * share * (1 - share) + max(variance, 1e-9)
    weight = CHANCES * share / spread
    told = np.einsum("nl,nl->n", weight**2, spread)
    of_score = told - TRIED * told**2
    score = np.einsum("nl,nl->n", weight, occupied - BUCKETS * (1 - share)) / np.sqrt(of_score)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    excess = 3 * laplace * variance**2 * np.sum(weight**4, axis=1) / of_score**2
    near = np.flatnonzero(np.abs(score) <= z + excess * (z**3 - 3 * z) / 24)
    most = max(0.0, records[0] + SURE * records[1])
    at = int(np.argmax(score <= 0)) if score[-1] <= 0 else len(TRIED) - 1
    low, high = (int(near[0]), int(near[-1])) if len(near) else (at, at)
    value, low_end, high_end = (min(float(TRIED[one]), most) for one in (at, min(low, at), max(high, at)))
    error = float(np.sqrt(of_score[at]) / told[at])
    return Estimate(value, low_end, high_end if high < len(TRIED) - 1 else most, error, confidence=confidence)
