"""Linear classification from moments: least squares on the classes' indicators, in closed form.

The release holds Σ zzᵀ over all records' vectors z, which have one length, and Σ z over each class's (DP-FC: Mehta,
Krichene, Thakurta, Kurakin & Cutkosky 2022). What a class has beyond its share of all vectors, times (Σ zzᵀ + λ)⁻¹, is
its plane; λ is as large as the noise asks for, and where noise is all there is, the shares alone decide
(:mod:`scumble.learn.least_squares`).
"""

from __future__ import annotations

import numpy as np

from scumble.learn.least_squares import solved
from scumble.moments.fixed import Floats
from scumble.moments.products import LENGTH, ONCE, TWICE, ClassMoments
from scumble.moments.release import MomentRelease

ANCHOR = 0.15
"""a² over the number of columns."""
UNIT_ANCHOR = 0.05
"""a² over the square of the greatest length."""
CAUTION = 1.0
"""λ/(s √q)."""


def class_model(release: MomentRelease) -> tuple[Floats, Floats]:
    """(classes, columns + 1) planes, and the (classes,) shares: a record's scores are z·plane + share."""
    spec = release.spec
    assert isinstance(spec, ClassMoments)
    counts, products, sums = release.rows
    q = spec.width
    shares = np.maximum(counts, 0.0) + 1e-9
    shares /= shares.sum()
    of_classes = sums.reshape(spec.classes, q)
    beyond = of_classes - shares[:, None] * of_classes.sum(axis=0)
    penalty = CAUTION * release.errors[1] * ONCE[spec.pure] / TWICE[spec.pure] * np.sqrt(q)
    variances = np.full(q, release.errors[2] ** 2)
    return solved(spec.matrix(products), beyond, penalty, variances), shares


def class_scores(release: MomentRelease, planes: Floats, shares: Floats, X: Floats) -> Floats:
    """(n, classes): least squares' guess of each class's indicator."""
    spec = release.spec
    assert isinstance(spec, ClassMoments)
    # Plane by plane: a record's score must not depend on who else is asked about.
    z = spec.vectors(X) / LENGTH
    return np.stack([np.einsum("nq,q->n", z, plane) + share for plane, share in zip(planes, shares, strict=True)], 1)
