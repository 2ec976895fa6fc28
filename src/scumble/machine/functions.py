"""Functions that reading a release needs: SciPy's, or where that is not installed the standard library's.

The latter go cell by cell, a tenth as fast. Both are exact to some units in the last place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from scumble.machine.later import loaded, special


def erfcx(x: Any) -> Any:
    """exp(x²) (1 − erf x), for x above −26."""
    return _either("erfcx", scaled, x)


def gammaln(x: Any) -> Any:
    """The logarithm of the gamma function, for x above 0."""
    return _either("gammaln", math.lgamma, x)


def lowest(function: Callable[[float], float], low: float, high: float) -> float:
    """The least value of a function that falls and then rises: found to 1e-9 of its place, so to all digits."""
    try:
        optimize = loaded("scipy.optimize")
    except ModuleNotFoundError:
        return golden(function, low, high)
    return float(optimize.minimize_scalar(function, bounds=(low, high), method="bounded", options={"xatol": 1e-9}).fun)


def _either(name: str, plain: Callable[[float], float], x: Any) -> Any:
    try:
        function = getattr(special, name)
    except ModuleNotFoundError:
        return one_by_one(plain, x)
    return function(x)


def one_by_one(function: Callable[[float], float], x: Any) -> Any:
    """A function of numbers, at each cell of an array.

    >>> one_by_one(math.lgamma, np.array([1.0, 3.0, 5.0])).round(4)
    array([0.    , 0.6931, 3.1781])
    """
    if np.ndim(x) == 0:
        return function(float(x))
    return np.array([function(cell) for cell in np.ravel(x).tolist()], float).reshape(np.shape(x))


def golden(function: Callable[[float], float], low: float, high: float) -> float:
    """`lowest` by the golden section.

    >>> round(golden(lambda x: (x - 0.3) ** 2 + 1, -20, 20), 12)
    1.0
    """
    share = (math.sqrt(5) - 1) / 2
    inner = [high - share * (high - low), low + share * (high - low)]
    values = [function(place) for place in inner]
    while high - low > 1e-9:
        if values[0] < values[1]:
            high, inner, values = inner[1], [inner[1] - share * (inner[1] - low), inner[0]], [0.0, values[0]]
            values[0] = function(inner[0])
        else:
            low, inner, values = inner[0], [inner[1], inner[0] + share * (high - inner[0])], [values[1], 0.0]
            values[1] = function(inner[1])
    return min(values)


def scaled(x: float) -> float:
    """`erfcx` of a number: from 10 on by its asymptotic series (Abramowitz & Stegun 7.1.23), which ends below 1e-16.

    >>> round(scaled(0.5), 6), round(scaled(1e9) * 1e9, 6)
    (0.61569, 0.56419)
    """
    if x < 10.0:
        return math.exp(x * x) * math.erfc(x)
    term = total = 1.0
    for k in range(1, 20):
        term *= -(2 * k - 1) / (2.0 * x * x)
        total += term
    return total / (x * math.sqrt(math.pi))
