"""How fast a triangle's memories should forget: θ and ω for which the running total is quietest.

The triangle that repeats c_0 = 1, c_k = Σ_i ω_i θ_i^(k−1) has a rational generating function, so the reader's noise has
one, too: 1/((1 − z) C(z)). Both cost a recursion of a few terms. What is made least is Σ c_k² times the mean over t of
Σ_{s≤t} b_s²: the squared length of a column times the mean variance of the running total. Any θ and ω are as private as
any others; they are rounded to six digits and written down with the stream.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

ONE_MEMORY = 52
"""Up to so many periods a second memory saves less than 2 %."""


@lru_cache(maxsize=64)
def fitted(periods: int) -> tuple[tuple[str, str], ...]:
    """θ and ω of one or two memories."""
    from scipy.optimize import minimize  # slow to load, and few people make streams

    memories = 1 if periods <= ONE_MEMORY else 2
    thetas = [1 - 1 / max(2.0, periods ** ((k + 1) / (memories + 1))) for k in range(memories)]
    start = [math.log(theta / (1 - theta)) for theta in thetas] + [math.log(0.3 / 3**k) for k in range(memories)]
    best = minimize(
        _cost, start, args=(periods,), method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-8, "maxiter": 2000}
    )
    thetas, omegas = _modes(best.x)
    return tuple((_digits(theta, 0.01), _digits(omega, 0.001)) for theta, omega in zip(thetas, omegas, strict=True))


def _digits(value: float, least: float) -> str:
    return f"{min(max(value, least), 0.999999):.6f}"


def _modes(x: np.ndarray) -> tuple[list[float], list[float]]:
    half = len(x) // 2
    return [1 / (1 + math.exp(-one)) for one in x[:half]], [math.exp(one) for one in x[half:]]


def _cost(x: np.ndarray, periods: int) -> float:
    from scipy.signal import lfilter

    thetas, omegas = _modes(np.clip(x, -15.0, 15.0))
    below = np.array([1.0])
    for theta in thetas:
        below = np.convolve(below, [1.0, -theta])
    above = below.copy()
    for k, omega in enumerate(omegas):
        term = np.array([omega])
        for other in thetas[:k] + thetas[k + 1 :]:
            term = np.convolve(term, [1.0, -other])
        above[1 : 1 + len(term)] += term
    impulse = np.zeros(periods)
    impulse[0] = 1.0
    with np.errstate(all="ignore"):
        column = lfilter(above, below, impulse)
        noise = lfilter(below, np.convolve(above, [1.0, -1.0]), impulse)
        cost = float(np.log((column @ column) * np.mean(np.cumsum(noise * noise))))
    return cost if math.isfinite(cost) else 1e9
