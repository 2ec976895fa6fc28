"""Additive models from cross-tables of hat functions: a smooth function for each column, all solved for at once.

The functions of a column are written in polynomials on its knots, the k-th with a deviation of 1/k beforehand: smooth
ones are likelier than rough ones. In these coordinates the penalty of :mod:`scumble.learn.least_squares` takes out what
the noise hides, rough functions first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scumble.learn.least_squares import solved
from scumble.learn.linear_moments import mean_of_target
from scumble.moments.fixed import Floats
from scumble.moments.hats import HatMoments
from scumble.moments.release import MomentRelease

CAUTION = 1.0
"""λ over the noise's largest eigenvalue, or so."""
DRAWS = 20
"""Of noise like the release's own, to see what it does to the functions."""


class Additive(NamedTuple):
    """An additive model in units of the bounds: f(x) = mean + Σ over columns of its function at x."""

    shapes: Floats
    """(columns, knots): the functions at the knots, each with mean zero over the records."""
    mean: float


class _Tables(NamedTuple):
    """Noisy sums over all records, and the deviation of the noise on an entry of each."""

    products: Floats
    """(columns, knots, columns, knots): of hats with hats."""
    cross: Floats
    """(columns, knots): of hats with the target."""
    total: float
    mean: float
    of_pairs: float
    of_columns: float


def additive_model(release: MomentRelease) -> Additive:
    """The model that the release holds."""
    return _fitted(_tables(release, release.rows))


def additive_errors(release: MomentRelease) -> Floats:
    """(columns, knots): the standard error that noise makes in the functions, by fitting with more of it.

    Noise like the release's own is added to it, from a public generator: post-processing, like every answer.
    """
    rng = np.random.default_rng(int(release.identity.replace("-", "")[:15], 16))
    rows, errors = release.rows, release.errors
    drawn = []
    for _ in range(DRAWS):
        noisier = [row + error * rng.standard_normal(row.shape) for row, error in zip(rows, errors, strict=True)]
        drawn.append(_fitted(_tables(release, noisier)).shapes)
    found: Floats = np.std(drawn, axis=0, ddof=1)
    return found


def _tables(release: MomentRelease, rows: list[Floats]) -> _Tables:
    spec = release.spec
    assert isinstance(spec, HatMoments)
    d, k = spec.dimensions, spec.knots
    products, cross = np.zeros((d, k, d, k)), np.zeros((d, k))
    for j, row in enumerate(rows[1 : d + 1]):
        low, high = row.reshape(-1, 2).T
        products[j, :, j] = _own(low + high, k)
        cross[j] = _own(high - low, k).sum(axis=1)
    for (i, j), row in zip(spec.pairs, rows[d + 1 :], strict=True):
        products[i, :, j] = row.reshape(k, k)
        products[j, :, i] = row.reshape(k, k).T
    pairs = release.errors[d + 1] if d > 1 else release.errors[1]
    total = max(release.count, 1.0)
    return _Tables(products, cross, total, mean_of_target(release), pairs, release.errors[1])


def _own(row: Floats, k: int) -> Floats:
    """The products of a column's own hats, of which neighbours alone overlap."""
    beside = np.diag(row[k:] / 2.0, 1)
    return np.diag(row[:k]) + beside + beside.T


def _fitted(tables: _Tables) -> Additive:
    d, k = tables.cross.shape
    smooth = _smooth(k)
    sizes = np.linalg.norm(smooth, axis=0)
    basis = np.kron(np.eye(d), smooth)
    shares = _shares(tables)
    flat = shares.ravel()
    products = tables.products.reshape(d * k, d * k) - tables.total * np.outer(flat, flat)
    cross = tables.cross.ravel() - tables.total * tables.mean * flat
    penalty = CAUTION * tables.of_pairs * sizes.max() * np.sqrt(d * np.sum(sizes**2))
    # An entry of `cross` adds up two cells, and halves of two cells on each side.
    variances = np.tile(3.0 * tables.of_columns**2 * sizes**2, d)
    theta = solved(basis.T @ products @ basis, basis.T @ cross, penalty, variances)
    shapes = (basis @ theta).reshape(d, k)
    return Additive(shapes - np.sum(shapes * shares, axis=1, keepdims=True), tables.mean)


def _shares(tables: _Tables) -> Floats:
    """(columns, knots): the share of the records at each knot, from the column's own row and from all its pairs."""
    d, k = tables.cross.shape
    own = np.array([tables.products[j, :, j].sum(axis=1) for j in range(d)])
    found = own
    if d > 1:
        beside = (tables.products.sum(axis=(2, 3)) - own) / (d - 1)
        weight_own, weight_beside = 1.0 / (3.0 * tables.of_columns**2), (d - 1) / (k * tables.of_pairs**2)
        found = (weight_own * own + weight_beside * beside) / (weight_own + weight_beside)
    found = np.maximum(found, 0.0) + 1e-9
    shares: Floats = found / found.sum(axis=1, keepdims=True)
    return shares


def _smooth(k: int) -> Floats:
    """(knots, knots − 1): polynomials of degree 1, 2, … that are orthogonal on the knots, the k-th of size 1/k."""
    powers = np.polynomial.legendre.legvander(np.linspace(-1.0, 1.0, k), k - 1)
    found, _ = np.linalg.qr(powers)
    scaled: Floats = found[:, 1:] * np.sqrt(k) / np.arange(1, k)
    return scaled
