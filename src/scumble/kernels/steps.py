"""The chance that Gaussian projections fall into one step: the Euclidean kernel as a function of t = step/distance.

    k(t) = erf(t/√2) − √(2/π) (1 − exp(−t²/2)) / t

(Datar, Immorlica, Indyk & Mirrokni 2004, section 3.2), in NumPy alone: a first answer then waits for no other library.
With u = t²/2,

* far away, for u ≤ ½, the power series of both parts add up to t √(2/π) Σⱼ (−u)ʲ / (j! (2j + 1)(2j + 2)). Nothing
  cancels, and the first term that is left out is below 2e-17 of the sum; seven terms do for u ≤ 1/32, fourteen for ½;
* nearer, erf(t/√2) = 1 − exp(−u) erfcx(t/√2), where erfcx on 1 ≤ t ≤ 8.5 is a polynomial in 1/(t + 4): Chebyshev's
  interpolant, within 7e-18 once it is weighed by exp(−u). Beyond, exp(−u) makes it nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial, pi, sqrt

import numpy as np

TILE = 1 << 14
"""Values at a time: they stay in the processor's cache."""
FAR, MIDDLE = 1 / 32, 1 / 2
"""The u up to which seven terms and fourteen suffice."""
MOST = 1e30
"""Beyond this t, k is 1."""
SERIES = [sqrt(2 / pi) * (-1) ** j / (factorial(j) * (2 * j + 1) * (2 * j + 2)) for j in range(14)]
SCALED = [
    0.23355990455943176,
    0.19542595859149783,
    0.07050636950069,
    0.019410672535490787,
    0.003825085580490297,
    0.00044068915658348725,
    -2.365858286052337e-06,
    -9.268063141205777e-06,
    -6.827907613259514e-07,
    2.0229805272541236e-07,
    2.4638995854234135e-08,
    -5.94902088197843e-09,
    -6.983833163996284e-10,
    2.2267969367350707e-10,
    1.3853566100214162e-11,
    -7.926520361877459e-12,
]
"""erfcx(t/√2) by powers of (50/(t + 4) − 7)/3, which goes from 1 at t = 1 to −1 at t = 8.5; the lowest first."""


def meeting(t: np.ndarray) -> np.ndarray:
    """k(t), cell by cell.

    >>> meeting(np.array([0.0, 0.1, 1.0, 10.0, np.inf])).round(6)
    array([0.      , 0.039861, 0.368746, 0.920212, 1.      ])
    """
    flat = np.minimum(t, MOST).reshape(-1)
    for first in range(0, flat.size, TILE):
        here = flat[first : first + TILE]
        u = 0.5 * np.square(here)
        near = u > FAR
        if not near.any():
            here *= _polynomial(SERIES[:7], u)
            continue
        for among, found in ((u <= FAR, _far), (near & (u <= MIDDLE), _middle), (u > MIDDLE, _near)):
            which = np.flatnonzero(among)
            if which.size:
                here[which] = found(here[which], u[which])
    return flat.reshape(t.shape)


def _far(t: np.ndarray, u: np.ndarray) -> np.ndarray:
    return t * _polynomial(SERIES[:7], u)


def _middle(t: np.ndarray, u: np.ndarray) -> np.ndarray:
    return t * _polynomial(SERIES, u)


def _near(t: np.ndarray, u: np.ndarray) -> np.ndarray:
    fades = np.exp(-u)
    scaled = _polynomial(SCALED, (50.0 / (np.minimum(t, 8.5) + 4.0) - 7.0) / 3.0)
    return 1.0 - fades * scaled - sqrt(2 / pi) * (1.0 - fades) / t


def _polynomial(coefficients: Sequence[float], x: np.ndarray) -> np.ndarray:
    """Horner's rule; the lowest power first."""
    out = np.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        out *= x
        out += coefficient
    return out
