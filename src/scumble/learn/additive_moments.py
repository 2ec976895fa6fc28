"""Additive models from cross-tables of hat functions: a smooth function for each column, all solved for at once.

The functions of a column are written in polynomials on its knots, the k-th with a deviation of 1/k beforehand: smooth
ones are likelier than rough ones. In these coordinates the penalty of :mod:`scumble.learn.least_squares` takes out what
the noise hides, rough functions first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag

from scumble.learn.least_squares import solved
from scumble.learn.linear_moments import mean_of_target
from scumble.moments.fixed import Floats
from scumble.moments.hats import HatMoments
from scumble.moments.release import MomentRelease

CAUTION = 1.0
"""λ over the noise's largest eigenvalue, or so."""
TRUST = 2.0
"""Of many curves most are small and shrink on their own: the guard takes off the square of the noise's share."""
DRAWS = 20
"""Of noise like the release's own, to see what it does to the functions."""


class Additive(NamedTuple):
    """An additive model in units of the bounds: f(x) = mean + Σ over columns of its function at x."""

    shapes: Floats
    """The functions at the knots, one column's after the other's, each with mean zero over the records."""
    mean: float


class _Tables(NamedTuple):
    """Noisy sums over all records, and the deviation of the noise on an entry of each."""

    parts: tuple[slice, ...]
    """Where each column's knots are among those of all."""
    products: Floats
    """(knots, knots): of hats with hats."""
    cross: Floats
    """(knots,): of hats with the target."""
    total: float
    mean: float
    of_pairs: float
    of_columns: float


def additive_model(release: MomentRelease) -> Additive:
    """The model that the release holds."""
    return _fitted(_tables(release, release.rows))


def additive_errors(release: MomentRelease) -> Floats:
    """The standard error that noise makes in the functions at the knots, by fitting with more of it.

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
    d, parts, knots = spec.dimensions, spec.parts, sum(spec.sizes)
    products, cross = np.zeros((knots, knots)), np.zeros(knots)
    for part, size, row in zip(parts, spec.sizes, rows[1 : d + 1], strict=True):
        low, high = row.reshape(-1, 2).T
        products[part, part] = _own(low + high, size)
        cross[part] = _own(high - low, size).sum(axis=1)
    for (i, j), row in zip(spec.pairs, rows[d + 1 :], strict=True):
        table = row.reshape(spec.sizes[i], spec.sizes[j])
        products[parts[i], parts[j]], products[parts[j], parts[i]] = table, table.T
    pairs = release.errors[d + 1] if d > 1 else release.errors[1]
    total = max(release.count, 1.0)
    return _Tables(parts, products, cross, total, mean_of_target(release), pairs, release.errors[1])


def _own(row: Floats, k: int) -> Floats:
    """The products of a column's own hats, of which neighbours alone overlap."""
    beside = np.diag(row[k:] / 2.0, 1)
    return np.diag(row[:k]) + beside + beside.T


def _fitted(tables: _Tables) -> Additive:
    parts, shares = tables.parts, _shares(tables)
    each = [_smooth(part.stop - part.start) for part in parts]
    basis, sizes = block_diag(*each), np.concatenate([np.linalg.norm(one, axis=0) for one in each])
    products = tables.products - tables.total * np.outer(shares, shares)
    cross = tables.cross - tables.total * tables.mean * shares
    penalty = CAUTION * tables.of_pairs * sizes.max() * np.linalg.norm(sizes)
    # An entry of `cross` adds up two cells, and halves of two cells on each side.
    variances = 3.0 * tables.of_columns**2 * sizes**2
    shapes = basis @ solved(basis.T @ products @ basis, basis.T @ cross, penalty, variances, TRUST)
    for part in parts:
        shapes[part] -= shapes[part] @ shares[part]
    return Additive(shapes, tables.mean)


def _shares(tables: _Tables) -> Floats:
    """The share of the records at each knot, from the column's own row and from all its pairs."""
    others = len(tables.parts) - 1
    shares = np.empty(len(tables.cross))
    weight_own = 1.0 / (3.0 * tables.of_columns**2)
    for part in tables.parts:
        found = tables.products[part, part].sum(axis=1)
        if others:
            beside = (tables.products[part].sum(axis=1) - found) / others
            knots = (len(shares) - len(found)) / others
            weight_beside = others / (knots * tables.of_pairs**2)
            found = (weight_own * found + weight_beside * beside) / (weight_own + weight_beside)
        found = np.maximum(found, 0.0) + 1e-9
        shares[part] = found / found.sum()
    return shares


def _smooth(k: int) -> Floats:
    """(knots, knots − 1): polynomials of degree 1, 2, … that are orthogonal on the knots, the k-th of size 1/k."""
    powers = np.polynomial.legendre.legvander(np.linspace(-1.0, 1.0, k), k - 1)
    found, _ = np.linalg.qr(powers)
    scaled: Floats = found[:, 1:] * np.sqrt(k) / np.arange(1, k)
    return scaled
