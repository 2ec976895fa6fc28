"""Learning from sketches of signs: moments in closed form, and any loss that is a collision probability by search.

For a unit vector z and a random unit direction u in d dimensions, E[sign(u·z) u] = κ z with κ = Γ(d/2) / (√π
Γ((d+1)/2)). So for independent u, v

    E[sign(u·z) sign(v·z) u vᵀ] = κ² z zᵀ.

A row of a folded sketch with m hyperplanes holds the sums D = Σ_z sign(uᵢ·z) sign(uⱼ·z) for all its m(m−1)/2 pairs:
each is its 2^(m−1) counters added up with signs, so its noise has the variance 2^(m−1) σ². Averages of D u vᵀ/κ²
over rows and pairs estimate Σ z zᵀ. Four hyperplanes make the most of the noise: six pairs out of eight counters.

**Refinement.** D ≈ κ²d² uᵀMv. Averaging the residual D − κ²d² uᵀM̂v, and adding it to M̂, halves the error of hashing
(Richardson's iteration for least squares). It needs clearly more sums than unknowns, d(d+1)/2, and is left out
otherwise. What remains in the residuals shows the error of each entry.

**A model.** Records whose directions are those of normal vectors with the covariance Λ (the angular Gaussian law; Tyler
1987) have E D = N (2/π) asin(uᵀΛv / √(uᵀΛu vᵀΛv)) and second moments that are known. With Λ such that these are M̂, the
residuals of D from this model are averaged in place of D, and the model's moments added: unbiased whatever Λ is, and
with far less variance.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations
from math import exp, lgamma, pi, sqrt

import numpy as np

from scumble.density.release import Release
from scumble.density.spec import Spec
from scumble.errors import DataError, parameter
from scumble.kernels import AngularKernel, FoldedKernel

BLOCK = 4096
REFINEMENTS = 4
LEAST, STEPS = 1e-5, 40
"""The least scale of the model's axes against the largest, and steps to find them."""
ENOUGH = 3
"""Sums for each of the d² products of directions above which refining pays."""


def require_folded(spec: Spec) -> None:
    """Refuse a sketch without the second moments: before it is paid for, and in a release."""
    kernel = spec.kernel
    if not isinstance(kernel, FoldedKernel) or kernel.power != 1 or not spec.layout.hasher.direct:
        raise DataError(
            "Regression needs a FoldedKernel of power 1 and a bucket for each of its codes, 2**(projections − 1); here "
            f"are {kernel!r} and {spec.buckets} buckets. Hint: leave out `buckets`."
        )


def require_signs(spec: Spec) -> None:
    """Refuse a sketch without the first moment: before it is paid for, and in a release."""
    if not isinstance(spec.kernel, AngularKernel) or not spec.layout.hasher.direct:
        raise DataError(
            "Linear classification needs an AngularKernel and at least 2**power buckets; here are "
            f"{spec.kernel!r} and {spec.buckets} buckets. Hint: leave out `buckets`."
        )


def second_moments(release: Release) -> tuple[np.ndarray, float]:
    """Σ z zᵀ over all records (each at length 1), and the standard error of its entries off the diagonal."""
    require_folded(release.spec)
    kernel = release.kernel
    assert isinstance(kernel, FoldedKernel)
    d, m, rows = release.dimensions, kernel.projections, release.rows
    directions = release.spec.layout.hasher.parameters[0].reshape(rows, m, -1)
    directions = directions / np.linalg.norm(directions, axis=2, keepdims=True)
    pairs = list(combinations(range(m), 2))
    signs = _signs(m - 1)
    sums = np.array([release.counts[:, : signs.shape[1]] @ (signs[i] * signs[j]) for i, j in pairs], float)
    moments, error = _solved(directions, pairs, sums)
    if sums.size < ENOUGH * d * d or release.count < 1.0:
        return moments, error
    scatter, known = angular_gaussian(moments / release.count)
    for k, (i, j) in enumerate(pairs):
        sums[k] -= release.count * _agreement(scatter, directions[:, i], directions[:, j])
    rest, error = _solved(directions, pairs, sums)
    return release.count * known + rest, error


def _solved(directions: np.ndarray, pairs: list[tuple[int, int]], sums: np.ndarray) -> tuple[np.ndarray, float]:
    """M with sums ≈ κ²d² uᵀMv, and the standard error of its entries off the diagonal."""
    rows, _, d = directions.shape
    scale = kappa(d)
    slope = (scale * d) ** 2
    moments, left = np.zeros((d, d)), 0.0
    for _ in range(1 + (REFINEMENTS if sums.size >= ENOUGH * d * d else 0)):
        step, left = np.zeros((d, d)), 0.0
        for first in range(0, rows, BLOCK):
            place = slice(first, first + BLOCK)
            for (i, j), total in zip(pairs, sums, strict=True):
                u, v = directions[place, i], directions[place, j]
                residual = total[place] - slope * np.einsum("ra,ra->r", u @ moments, v)
                left += float(residual @ residual)
                step += (u * residual[:, None]).T @ v
        step /= sums.size * scale**2
        moments += (step + step.T) / 2.0
    return moments, sqrt(left / sums.size / (2.0 * sums.size)) / (d * scale**2)


def _agreement(scatter: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """E[sign(u·z) sign(v·z)] for normal z with this covariance, for each pair of directions."""
    across = np.einsum("ra,ra->r", u @ scatter, v)
    along = np.einsum("ra,ra->r", u @ scatter, u) * np.einsum("ra,ra->r", v @ scatter, v)
    return 2.0 / pi * np.arcsin(np.clip(across / np.sqrt(along), -1.0, 1.0))


def angular_gaussian(moments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(Λ, E[zzᵀ/|z|²] for z ~ N(0, Λ)): the law whose second moments come near those given, which have trace 1 or so.

    Both have the same axes. Along them E[zᵢ²/|z|²] = ∫₀^∞ λᵢ/(1 + 2tλᵢ) Πⱼ (1 + 2tλⱼ)^−½ dt; λ follows by
    proportional steps.

    >>> scatter, known = angular_gaussian(np.diag([0.7, 0.2, 0.1]))
    >>> np.diag(known).round(3), round(float(np.trace(scatter)), 3)
    (array([0.7, 0.2, 0.1]), 1.0)
    """
    values, axes = np.linalg.eigh((moments + moments.T) / 2.0)
    wanted = np.maximum(values, LEAST * max(values.max(), LEAST))
    wanted /= wanted.sum()
    scales = wanted.copy()
    for _ in range(STEPS):
        scales *= wanted / _directional(scales)
        scales /= scales.sum()
    known = _directional(scales)
    return (axes * scales) @ axes.T, (axes * known) @ axes.T


def _directional(scales: np.ndarray) -> np.ndarray:
    """The integral of `angular_gaussian`."""
    t, weights = _half_line()
    spread = 2.0 * t[:, None] * scales
    found = (weights * np.exp(-0.5 * np.log1p(spread).sum(axis=1))) @ (scales / (1.0 + spread))
    return found / found.sum()


def first_moment(release: Release) -> np.ndarray:
    """Σ z over all records (each at length 1), from a sketch with the angular kernel and no rehash."""
    require_signs(release.spec)
    kernel = release.kernel
    assert isinstance(kernel, AngularKernel)
    directions = release.spec.layout.hasher.parameters[0]
    units = directions / np.linalg.norm(directions, axis=2, keepdims=True)
    signs = _signs(kernel.power)[: kernel.power]
    sums = release.counts[:, : signs.shape[1]] @ -signs.T  # a set bit is the positive side
    return np.einsum("rh,rha->a", sums, units) / (sums.size * kappa(release.dimensions))


def _signs(bits: int) -> np.ndarray:
    """(bits + 1, 2^bits): −1 where the bit of the bucket's number is set; the last line, a bit that never is."""
    number = np.arange(2**bits)
    return np.array([1 - 2 * ((number >> bit) & 1) for bit in range(bits)] + [np.ones_like(number)])


def kappa(d: int) -> float:
    """E[sign(u·z) u] over z, for unit vectors in d dimensions."""
    return exp(lgamma(d / 2.0) - lgamma((d + 1) / 2.0)) / sqrt(pi)


@cache
def _half_line() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for integrals from 0 to ∞: those of Gauss and Legendre with t = s/(1 − s)³."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    s = (nodes + 1.0) / 2.0
    return s / (1.0 - s) ** 3, weights / 2.0 * (1.0 + 2.0 * s) / (1.0 - s) ** 4


def minimize(
    release: Release,
    loss: Callable[[np.ndarray], np.ndarray],
    start: object,
    *,
    penalty: Callable[[np.ndarray], np.ndarray] | None = None,
    spread: float = 0.5,
    rounds: int = 60,
    random_state: int = 0,
) -> np.ndarray:
    """The parameters θ that minimize Σₓ k(φ(x), ψ(θ)) + penalty(θ), from the release alone (the paper's section 4).

    A sketch of φ(x) answers the empirical risk of every model θ whose loss is k(φ(x), ψ(θ)). The answers are noisy and
    flat between hyperplanes, so the search uses no gradient: it moves a cloud of models to the weighted mean of its
    better half (a (μ/μ, λ) evolution strategy with a diagonal cloud; Beyer & Schwefel 2002).

    Parameters
    ----------
    release : Release
        The release of φ(x) for all records x.
    loss : callable
        ψ, from an array of models, (n, parameters), to the queries that represent them, (n, columns).
    start : int or array-like
        The first model, or how many parameters there are.
    penalty : callable or None
        Takes models to (n,) numbers, in units of records.
    spread : float
        How far from `start` to look initially.
    rounds : int
        How long to search.
    random_state : int
        The seed of the search.

    *A linear classifier*: insert y·x with the angular kernel of power p and ask at −θ. A record on the correct side of
    θ is far from −θ and seldom meets it, so Σ k is the margin loss (1 − acos(−t)/π)^p:

    >>> import numpy as np, scumble
    >>> X = np.random.default_rng(0).normal([2.0, -1.0], 0.5, (5000, 2))
    >>> y = np.where(X[:, 0] > 2.0, 1.0, -1.0)
    >>> sketch = scumble.Sketch(scumble.AngularKernel(power=4), 2, rows=500, buckets=16, seed=1)
    >>> release = sketch.update(y[:, None] * (X - [2.0, -1.0])).release(epsilon=1.0)
    >>> theta = minimize(release, lambda theta: -theta, [0.0, 1.0])
    >>> theta.shape                                   # in the direction of (1, 0)
    (2,)
    """
    try:
        middle = np.zeros(start) if isinstance(start, int) else np.array(start, float)
    except (TypeError, ValueError):  # NumPy's words would quote it
        middle = np.empty(0)
    if middle.ndim != 1 or not middle.size or not np.isfinite(middle).all():
        raise parameter("start", "a list of finite numbers, or how many parameters there are", start)
    if not spread > 0.0 or rounds < 1:
        raise parameter("spread", "positive, with at least one round", f"{spread} with {rounds}")
    rng = np.random.default_rng(random_state)
    size = 8 + 4 * int(np.ceil(np.sqrt(middle.size)) + np.log2(1 + middle.size))
    widths = np.full(middle.size, float(spread))
    kept = size // 2
    weights = np.log(kept + 0.5) - np.log(np.arange(1, kept + 1))
    weights /= weights.sum()
    trail = []
    for turn in range(rounds):
        # Mirrored pairs: what is odd in the noise cancels.
        half = rng.normal(size=(size // 2, middle.size))
        cloud = middle + widths * np.vstack([half, -half])
        values = release.kernel_sum(loss(cloud))
        if penalty is not None:
            values = values + penalty(cloud)
        best = cloud[np.argsort(values)[:kept]]
        moved = weights @ best
        step = np.sqrt(weights @ (best - middle) ** 2)
        widths = 0.7 * widths + 0.3 * np.maximum(step, 1e-4 * spread)
        widths *= 0.97
        middle = moved
        if turn >= rounds // 2:
            trail.append(middle)
    return np.mean(trail, axis=0)
