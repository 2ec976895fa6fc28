"""The design's quantiles against many digits."""

from __future__ import annotations

import mpmath
import numpy as np

from scumble.design import random


def test_quantiles_are_accurate() -> None:
    u = np.r_[random.to_unit(random.words(1, 1, 400)), [2.0**-53, 1e-12, 0.25, 0.5, 0.75, 1 - 2.0**-53]]
    with mpmath.workdps(40):
        normal = [float(mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(float(x)) - 1)) for x in u]
        cauchy = [float(mpmath.tan(mpmath.pi * (mpmath.mpf(float(x)) - mpmath.mpf("0.5")))) for x in u]
    np.testing.assert_allclose(random.normal(u), normal, rtol=1e-14, atol=1e-16)
    np.testing.assert_allclose(random.cauchy(u), cauchy, rtol=1e-13, atol=1e-16)
