"""Special functions with NumPy alone: importing SciPy would be slower than writing a card."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

FROM = 16
"""From here on, five terms of Stirling's series are exact in float64."""
HALF_LOG_OF_CIRCLE = 0.5 * math.log(2 * math.pi)
CLOSE = 1e-9
"""How closely a minimum's place is found; its value differs by the square of that."""


def gammaln(x: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """The logarithm of the gamma function, for x above 0, within 1e-13 of it or of one.

    Stirling's series (Abramowitz & Stegun 6.1.41); below 16 by Γ(x) = Γ(x + 16) / (x (x + 1) … (x + 15)).

    >>> gammaln(np.array([0.5, 3.0, 100.0])).round(6)
    array([  0.572365,   0.693147, 359.134205])
    """
    x = np.asarray(x, float)
    low = x < FROM
    raised = np.where(low, x + FROM, x)
    less = np.ones(x.shape)
    if low.any():
        for step in range(FROM):
            less = less * np.where(low, x + step, 1.0)
    square = 1.0 / raised**2
    series = 1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))
    return (raised - 0.5) * np.log(raised) - raised + HALF_LOG_OF_CIRCLE + series / raised - np.log(less)


def erfcx(x: Any) -> Any:
    """exp(x²) (1 − erf x), for x above −26: from 10 on by its asymptotic series (Abramowitz & Stegun 7.1.23).

    >>> erfcx(0.5), erfcx(np.array([1e9]))
    (0.6156903..., array([5.6418...e-10]))
    """
    if np.ndim(x) == 0:
        return _erfcx(float(x))
    return np.array([_erfcx(cell) for cell in np.ravel(x).tolist()], float).reshape(np.shape(x))


def _erfcx(x: float) -> float:
    if x < 10.0:
        return math.exp(x * x) * math.erfc(x)
    term = total = 1.0
    for k in range(1, 20):
        term *= -(2 * k - 1) / (2.0 * x * x)
        total += term
    return total / (x * math.sqrt(math.pi))


def lowest(function: Callable[[float], float], low: float, high: float) -> float:
    """The least value of a function that falls and then rises, by the golden section.

    >>> round(lowest(lambda x: (x - 0.3) ** 2 + 1, -20, 20), 12)
    1.0
    """
    share = (math.sqrt(5) - 1) / 2
    inner = [high - share * (high - low), low + share * (high - low)]
    values = [function(place) for place in inner]
    while high - low > CLOSE:
        if values[0] < values[1]:
            high, inner, values = inner[1], [inner[1] - share * (inner[1] - low), inner[0]], [0.0, values[0]]
            values[0] = function(inner[0])
        else:
            low, inner, values = inner[0], [inner[1], inner[0] + share * (high - inner[0])], [values[1], 0.0]
            values[1] = function(inner[1])
    return min(values)


def crossing(function: Callable[[float], float], low: float, high: float) -> float:
    """The last float at which a growing function is not above zero, by bisection from `low` (not above) to `high`.

    >>> round(crossing(lambda x: x**3 - 8, 0.0, 5.0), 12)
    2.0
    """
    while low < (middle := (low + high) / 2) < high:
        if function(middle) > 0:
            high = middle
        else:
            low = middle
    return low
