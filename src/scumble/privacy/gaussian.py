"""How private Gaussian noise is: the continuous law, and certificates for the discrete one.

For *continuous* noise the curve δ(ε) has a closed form (Balle & Wang 2018). The curve of *discrete* noise differs a
little, sometimes for the worse. So σ starts from the closed form and is enlarged until one of three upper bounds on the
discrete curve proves the request: `lattice_delta` sums the discrete law itself (tight, for one record per person and
moderate σ), `smoothing_delta` compares with a continuous law of slightly smaller variance (any σ above about 2), and
`zcdp_delta` uses zero-concentrated privacy (any σ, some percent loose). `certified_delta` is the least of them. Proofs:
``calibration.proof.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scumble.errors import parameter
from scumble.privacy.exact import as_fraction, float_down

PADDING = 1 + 1e-9
"""Covers the float64 error of the sums and special functions below, which stays under 1e-10."""

LATTICE_LIMIT = 200_000
"""Half the most terms that `lattice_delta` sums."""


@dataclass(frozen=True)
class Shift:
    """The worst neighbor's move of a Gaussian release, and the noise that hides it.

    `cells` counters move; their squared moves add up to at most `squared` (L2²). The count moves by `count` (0: not
    released); in a stream it is several coordinates, whose squared moves add up to `count`² times `stretch`.
    """

    cells: int
    squared: int
    sigma: float
    count: int
    count_sigma: float
    stretch: int = 1

    @property
    def unit(self) -> bool:
        """Whether every counter and the count move by 1 at most."""
        return self.squared == self.cells and self.count <= 1 and self.stretch == 1

    def rho(self) -> float:
        """zCDP of the release: Σ move²/(2σ²) (Canonne, Kamath & Steinke 2020, Theorem 4)."""
        return self.mu_squared() / 2

    def mu_squared(self, less: float = 0.0) -> float:
        """Squared distance of the two centers in units of noise whose variance lacks `less`."""
        total = self.squared / (self.sigma**2 - less)
        return total + (self.count**2 * self.stretch / (self.count_sigma**2 - less) if self.count else 0.0)


def gaussian_delta(epsilon: float, mu: float) -> float:
    """δ(ε) of continuous Gaussian noise whose centers lie `mu` standard deviations apart.

    Balle & Wang 2018, Theorem 8: δ = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ). With a = ε/μ − μ/2 and b = a + μ,
    e^ε φ(b) = φ(a), so δ = φ(a) (m(a) − m(b)) with Mills' ratio m = (1 − Φ)/φ: no overflow and little cancellation.
    """
    return math.exp(_log_gaussian_delta(epsilon, mu))


def _log_gaussian_delta(epsilon: float, mu: float) -> float:
    a = epsilon / mu - mu / 2
    if a < -30:
        return 0.0  # δ is 1 to all digits
    if a > 100:
        return -a * a / 2  # an upper bound, below every δ that a float can hold
    if mu > 0.5:
        difference = erfcx(a / _ROOT2) - erfcx((a + mu) / _ROOT2)
    else:  # close together: integrate −m′(x) = 1 − x m(x) instead of subtracting
        x = a + mu * _NODES
        difference = mu * float(_WEIGHTS @ (math.sqrt(2 / math.pi) - x * erfcx(x / _ROOT2)))
    return math.log(difference / 2) - a * a / 2


_ROOT2 = math.sqrt(2)
_NODES, _WEIGHTS = (np.array(values) / 2 for values in np.polynomial.legendre.leggauss(10))
_NODES = _NODES + 0.5  # Gauss-Legendre on [0, 1]


def analytic_gaussian_sigma(epsilon: object, delta: object, sensitivity: object = 1.0) -> float:
    """The least σ for which continuous Gaussian noise is (ε, δ)-private (Balle & Wang 2018, Algorithm 1).

    >>> round(analytic_gaussian_sigma(1.0, 1e-6), 6)
    4.224679
    """
    budget = float(as_fraction("epsilon", epsilon))
    failure = float_down(as_fraction("delta", delta))
    width = float(as_fraction("sensitivity", sensitivity))
    if not budget > 0:
        raise parameter("epsilon", "positive", epsilon)
    if not 0 < failure < 1:
        raise parameter("delta", "above 0 and below 1", delta)
    if not width > 0:
        raise parameter("sensitivity", "positive", sensitivity)
    return width / _separation(budget, failure)


def _separation(epsilon: float, delta: float) -> float:
    """The greatest μ with δ(ε) <= delta; δ grows with μ, so this is a root of one variable."""
    target = math.log(delta)

    def excess(log_mu: float) -> float:
        return _log_gaussian_delta(epsilon, math.exp(log_mu)) - target

    low = high = math.log(min(1.0, epsilon))
    while excess(low) > 0:
        low -= 1
    while excess(high) < 0:
        high += 1
    return math.exp(crossing(excess, low, high))


def zcdp_delta(epsilon: float, rho: float) -> float:
    """δ(ε) of any ρ-zCDP release: Canonne, Kamath & Steinke 2020, Section 2.3.

    δ = inf over α > 1 of exp((α − 1)(αρ − ε)) / (α − 1) · (1 − 1/α)^α; each α is a proof, so an inexact minimum is too.
    """
    return min(1.0, renyi_delta(epsilon, lambda order: order * rho, 20.0) * PADDING)


def renyi_delta(epsilon: float, divergence: Callable[[float], float], most: float) -> float:
    """δ(ε) of a release from its Rényi divergence of order α, as above; ln(α − 1) up to `most` is tried."""

    def log_delta(log_order: float) -> float:
        less_one = math.exp(log_order)
        order = 1 + less_one
        return less_one * (divergence(order) - epsilon) - log_order + order * (log_order - math.log(order))

    return math.exp(min(0.0, lowest(log_delta, -20.0, most)))


def smoothing_delta(epsilon: float, *shifts: Shift) -> float:
    """δ(ε) of one release, or of several together, by comparison with continuous noise of variance σ² − τ² (Lemma 2).

    Rounding a continuous Gaussian of variance σ² − τ² at random, by a discrete Gaussian of variance τ² around it, gives
    the discrete Gaussian of variance σ² up to a factor e^±c per coordinate, c = ln((1 + 2κ)/(1 − 2κ)),
    κ = Σⱼ exp(−2π²τ²j²) (Peikert 2010). Rounding cannot harm privacy; τ² near 1.3 makes n·c negligible.
    """
    # A person with records in several classes may touch as many counts, but no more than cells.
    coordinates = sum(2 * shift.cells if shift.count else shift.cells for shift in shifts)
    slack = 1e-7 * min(1.0, epsilon)  # n·c
    less = math.log(5 * coordinates / slack) / (2 * math.pi**2)
    least = min(min(shift.sigma, shift.count_sigma if shift.count else math.inf) for shift in shifts)
    if less >= 0.9 * least**2:
        return 1.0
    x = math.exp(-2 * math.pi**2 * less)
    kappa = x / (1 - x)
    loss = coordinates * (math.log1p(2 * kappa) - math.log1p(-2 * kappa))
    mu = math.sqrt(sum(shift.mu_squared(less) for shift in shifts))
    return min(1.0, math.exp(loss) * gaussian_delta(epsilon - 2 * loss, mu) * PADDING)


def lattice_delta(epsilon: float, shift: Shift, least: float) -> float:
    """δ(ε) by summing the discrete law (proof, Lemma 3); for moves of ±1 only.

    With A the sum of the touched counters' noise and Z the count's noise, the privacy loss is
    L = (n − 2A)/(2σ²) + (1 − 2Z)/(2σ_N²), and δ(ε) = E max(0, 1 − exp(ε − L)). A is discrete Gaussian of variance nσ²
    up to a factor e^c (c = 0 for n = 1; Kairouz, Liu & Steinke 2021). Tails that weigh far less than `least` are cut,
    and added to the answer.
    """
    n, sigma = shift.cells, shift.sigma
    wide = sigma * math.sqrt(n)
    reach = math.sqrt(2 * (25 - math.log(least)))
    large = n > 10 * LATTICE_LIMIT or (wide + (shift.count_sigma if shift.count else 0)) * reach > LATTICE_LIMIT
    if not shift.unit or large:
        return 1.0
    steps = np.arange(1, n) / np.arange(2, n + 1)
    kappa = 2 * np.exp(-2 * math.pi**2 * sigma**2 * steps)
    if n > 1 and kappa[0] > 0.25:
        return 1.0
    kappa /= 1 - kappa  # Σⱼ x^(j²) <= x/(1 − x)
    loss = float(np.sum(np.log1p(kappa) - np.log1p(-kappa)))

    sums, weights = _discrete_gaussian(wide, reach)
    below = np.concatenate([[0.0], np.cumsum(weights)])  # P(A < sums[i]); positive terms: no cancellation
    first = int(sums[0])

    def cumulative(last: np.ndarray) -> np.ndarray:  # P(A <= last)
        chance: np.ndarray = below[np.clip(last - first + 1, 0, len(weights)).astype(np.int64)]
        return chance

    if shift.count:
        counts, chances = _discrete_gaussian(shift.count_sigma, reach)
        count_loss = (1 - 2 * counts) / (2 * shift.count_sigma**2)
    else:
        chances, count_loss = np.ones(1), np.zeros(1)
    last = np.floor(n / 2 - sigma**2 * (epsilon - count_loss))  # L >= ε exactly for A <= last
    # For A <= last: P(A, Z) − e^ε P(A − n, Z − 1), and P(Z − 1)/P(Z) = exp(−count_loss). Instead of overflowing, a
    # smaller factor subtracts less.
    factor = np.exp(np.minimum(epsilon - count_loss, 700.0))
    total = float(chances @ np.maximum(cumulative(last) - factor * cumulative(last - n), 0.0))
    cut = 4 * math.exp(-reach * reach / 2)  # a discrete Gaussian is sub-Gaussian (proof, Lemma 3)
    return min(1.0, math.exp(loss) * (total + cut) * PADDING)


def _discrete_gaussian(sigma: float, reach: float) -> tuple[np.ndarray, np.ndarray]:
    edge = math.ceil(sigma * reach) + 1
    support = np.arange(-edge, edge + 1)
    weights = np.exp(-(support**2) / (2 * sigma * sigma))
    return support, weights / weights.sum()


def certified_delta(epsilon: float, *shifts: Shift, target: float = 1e-12) -> float:
    """The least provable δ of the discrete release at `epsilon`, near `target`; one shift per scale of rows."""
    smooth = smoothing_delta(epsilon, *shifts)
    concentrated = zcdp_delta(epsilon, math.fsum(shift.rho() for shift in shifts))
    lattice = lattice_delta(epsilon, shifts[0], target) if len(shifts) == 1 else 1.0
    return min(smooth, concentrated, lattice)


def least_epsilon(curve: Callable[[float], float], delta: float) -> float:
    """The least ε, to nine digits and never below it, with curve(ε) <= `delta`; the curve was evaluated there."""
    return change(lambda epsilon: not curve(epsilon) > delta, 1e-12)[1]


def change(holds: Callable[[float], bool], least: float) -> tuple[float, float]:
    """Where something begins to hold, to nine digits: the last place where it does not, and the first where it does.

    At 0 it counts as not holding; it is asked of no number below `least`.
    """
    low, high = 0.0, 1.0
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1e-9 * high and high > least:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


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
