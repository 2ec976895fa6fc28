"""The design's quantiles against many digits, and to the bit against plain Python, one number at a time."""

from __future__ import annotations

import math

import mpmath
import numpy as np

from scumble.kernels import random


def test_quantiles_are_accurate() -> None:
    u = np.r_[random.to_unit(random.words(1, 1, 400)), [2.0**-53, 1e-12, 0.25, 0.5, 0.75, 1 - 2.0**-53]]
    with mpmath.workdps(40):
        normal = [float(mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(float(x)) - 1)) for x in u]
        cauchy = [float(mpmath.tan(mpmath.pi * (mpmath.mpf(float(x)) - mpmath.mpf("0.5")))) for x in u]
    np.testing.assert_allclose(random.normal(u), normal, rtol=1e-14, atol=1e-16)
    np.testing.assert_allclose(random.cauchy(u), cauchy, rtol=1e-13, atol=1e-16)


def polynomial(coefficients: tuple[float, ...], r: float) -> float:
    total = 0.0
    for coefficient in coefficients:
        total = total * r + coefficient
    return total


def logarithm(x: float) -> float:
    e = 0
    while x < 0.7071067811865476:
        x, e = x * 2.0, e - 1
    s = (x - 1.0) / (x + 1.0)
    return 2.0 * s * polynomial(tuple(1.0 / (2.0 * k + 1.0) for k in range(11, -1, -1)), s * s) + e * 0.6931471805599453


def normal(u: float) -> float:
    q = u - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        return q * (polynomial(random._CENTRE_TOP, r) / polynomial(random._CENTRE_BOTTOM, r))
    r = math.sqrt(-logarithm(u if q < 0.0 else 1.0 - u))
    if r <= 5.0:
        x = polynomial(random._MIDDLE_TOP, r - 1.6) / polynomial(random._MIDDLE_BOTTOM, r - 1.6)
    else:
        x = polynomial(random._TAIL_TOP, r - 5.0) / polynomial(random._TAIL_BOTTOM, r - 5.0)
    return -x if q < 0.0 else x


def cauchy(u: float) -> float:
    edge = u if u < 0.5 else 1.0 - u
    x = 3.141592653589793 * (edge if edge < 0.25 else 0.5 - edge)
    fraction = 21.0
    for odd in range(19, 0, -2):
        fraction = odd - x * x / fraction
    t = 1.0 / (x / fraction) if edge < 0.25 else x / fraction
    return -t if u < 0.5 else t
