"""Least squares from noisy moments: what to believe of them, and when nothing.

**Penalty.** The noise in a matrix of moments moves its eigenvalues by up to about 2s√q, s being the deviation of an
entry and q its size: directions in which the columns vary less than that are not known, and a penalty of that order
takes them out. It follows from public numbers alone.

**Guard.** Noise alone also seems to explain something of the target: Σ over directions of the noise's variance over
(eigenvalue + penalty). The model shrinks by the share which that is of what it seems to explain, and to nothing, the
mean, if it is all (James & Stein 1961); or by a power of that share.
"""

from __future__ import annotations

import numpy as np

from scumble.moments.fixed import Floats


def solved(covariance: Floats, cross: Floats, penalty: float, variances: Floats, trust: float = 1.0) -> Floats:
    """The slopes: (covariance + penalty)⁻¹ cross, shrunk by the guard; `variances` are those of `cross`'s noise.

    `cross` may have a line for each of several targets. The larger `trust` is, the less is taken off before noise
    explains it all.

    >>> solved(np.eye(2) * 99.0, np.array([50.0, 0.0]), 1.0, np.zeros(2))
    array([0.5, 0. ])
    >>> solved(np.eye(2) * 99.0, np.array([50.0, 0.0]), 1.0, np.full(2, 2500.0))
    array([0., 0.])
    """
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2.0)
    inverse = 1.0 / (np.maximum(values, 0.0) + penalty)
    along = cross @ vectors
    explained = np.maximum(along**2 @ inverse, 1e-300)
    by_noise = float(inverse @ (vectors**2).T @ variances)
    keep = np.maximum(0.0, 1.0 - (by_noise / explained) ** trust)
    found: Floats = (keep[..., None] * along * inverse) @ vectors.T
    return found


def ratio(part: float, total: float, error: float) -> float:
    """A mean within [−1, 1] from two sums that have the same error: its best guess, if 0.4 is its usual size."""
    if total < 3.0 * error:
        return 0.0
    return float(np.clip(part * total / (total**2 + (error / 0.4) ** 2), -1.0, 1.0))
