"""Moments of the records from sketches of signs: closed forms, no search.

For a unit vector z and a random unit direction u in d dimensions, E[sign(u·z) u] = κ z with κ = Γ(d/2) / (√π
Γ((d+1)/2)). So for independent u, v

    E[sign(u·z) sign(v·z) u vᵀ] = κ² z zᵀ.

A row of a folded sketch with m hyperplanes holds the sums D = Σ_z sign(uᵢ·z) sign(uⱼ·z) for all its m(m−1)/2 pairs:
each is its 2^(m−1) counters added up with signs, so that its noise has the variance 2^(m−1) σ². Averages of D u vᵀ/κ²
over rows and pairs estimate Σ z zᵀ (for p = 2 and one pair: DESIGN's closed form). Four hyperplanes make the most of
the noise: six pairs out of eight counters.

**Refinement.** D is nearly linear in what is sought: D ≈ κ²d² uᵀMv. The plain average pays for the chance in u vᵀ as if
D were pure noise; averaging the residual D − κ²d² uᵀM̂v instead, and adding it to M̂, takes that part away
(Richardson's iteration for least squares). It halves the error of hashing. It needs clearly more sums than unknowns,
d(d+1)/2, and is left out otherwise. What remains in the residuals shows the error of each entry.
"""

from __future__ import annotations

from itertools import combinations
from math import exp, lgamma, pi, sqrt

import numpy as np

from scumble.counting import Hasher
from scumble.errors import DataError
from scumble.kernels import AngularKernel, FoldedKernel
from scumble.layout import HashedRows
from scumble.release import Release

BLOCK = 4096
REFINEMENTS = 4
ENOUGH = 3
"""Sums for each of the d² products of directions from which on refining pays."""


def second_moments(release: Release) -> tuple[np.ndarray, float]:
    """Σ z zᵀ over all records (each at length 1), and the standard error of its entries off the diagonal."""
    kernel = release.kernel
    if not isinstance(kernel, FoldedKernel) or kernel.power != 1:
        raise DataError(
            f"Regression needs a release with a FoldedKernel of power 1; this one has {kernel!r}. "
            "Hint: build it with PrivateLinearRegression."
        )
    d, m, rows = release.dimensions, kernel.projections, release.rows
    directions = hasher_of(release).parameters[0].reshape(rows, m, -1)
    pairs = list(combinations(range(m), 2))
    signs = _signs(m - 1)
    sums = [(release.counts[:, : signs.shape[1]] @ (signs[i] * signs[j])).astype(float) for i, j in pairs]
    kappa = _kappa(d)
    slope = (kappa * d) ** 2
    moments = np.zeros((d, d))
    left = 0.0
    size = rows * len(pairs)
    for _ in range(1 + (REFINEMENTS if size >= ENOUGH * d * d else 0)):
        step, left = np.zeros((d, d)), 0.0
        for first in range(0, rows, BLOCK):
            place = slice(first, min(first + BLOCK, rows))
            units = directions[place] / np.linalg.norm(directions[place], axis=2, keepdims=True)
            for (i, j), total in zip(pairs, sums, strict=True):
                u, v = units[:, i], units[:, j]
                residual = total[place] - slope * np.einsum("ra,ra->r", u @ moments, v)
                left += float(residual @ residual)
                step += (u * residual[:, None]).T @ v
        step /= size * kappa**2
        moments += (step + step.T) / 2.0
    return moments, sqrt(left / size / (2.0 * size)) / (d * kappa**2)


def first_moment(release: Release) -> np.ndarray:
    """Σ z over all records (each at length 1), from a sketch with the angular kernel and no rehash."""
    kernel = release.kernel
    hasher = hasher_of(release)
    if not isinstance(kernel, AngularKernel) or not hasher.direct:
        raise DataError(
            f"Linear classification needs a release with an AngularKernel and at least 2**power buckets; this one has "
            f"{kernel!r} and {release.buckets} buckets. Hint: build it with PrivateLinearClassifier."
        )
    directions = hasher.parameters[0]
    units = directions / np.linalg.norm(directions, axis=2, keepdims=True)
    signs = _signs(kernel.power)[: kernel.power]
    sums = release.counts[:, : signs.shape[1]] @ -signs.T  # a set bit is the positive side
    return np.einsum("rh,rha->a", sums, units) / (sums.size * _kappa(release.dimensions))


def hasher_of(release: Release) -> Hasher:
    """The hash functions behind a release of hashed rows."""
    layout = release.spec.layout
    if not isinstance(layout, HashedRows):
        raise DataError("This release is a grid, and the task needs hashed rows. Hint: build it with rows=....")
    return layout.hasher


def _signs(bits: int) -> np.ndarray:
    """(bits + 1, 2^bits): −1 where the bit of the bucket's number is set; the last line, a bit that never is."""
    number = np.arange(2**bits)
    return np.array([1 - 2 * ((number >> bit) & 1) for bit in range(bits)] + [np.ones_like(number)])


def _kappa(d: int) -> float:
    return exp(lgamma(d / 2.0) - lgamma((d + 1) / 2.0)) / sqrt(pi)
