"""Integer noise, exactly distributed: the only place in scumble that draws it.

**Idea.** Floating-point noise leaks: a float sampler cannot reach every value, and which values it
reaches depends on the secret it is added to (Mironov 2012). Here every draw is an integer whose law
is *exactly* the one claimed, and yet nearly all the work is done in float64, by interval refining
(Haney et al. 2022): a uniform number U is a stream of random bits; its first 63 bits enclose
U in a short interval; if both ends of the interval give the same integer, that integer is the
answer. Otherwise (one draw in thousands) more bits are fetched until it is, in decimal arithmetic
of growing precision. ``noise.proof.md`` holds the argument.

**Laws.** For integers k,

- discrete Laplace:  P(k) = (1 − q)/(1 + q) · q^|k| with q = exp(−1/scale),
- discrete Gaussian: P(k) = exp(−k²/(2σ²)) / Σⱼ exp(−j²/(2σ²)).

**Entropy** is the operating system's, fetched by each call for itself and never kept: a forked or
copied process cannot repeat another's noise. There is no seed: noise that can be replayed can be
subtracted.

References: Ghosh, Roughgarden & Sundararajan 2009 (discrete Laplace, "geometric mechanism");
Canonne, Kamath & Steinke 2020, Algorithm 3 (discrete Gaussian by rejection); Haney, Desfontaines,
Hartman, Shrestha & Hay 2022 (interval refining).
"""

from __future__ import annotations

import importlib.util
import math
import operator
import os
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

import numba
import numpy as np
import numpy.typing as npt

from scumble.errors import ScumbleError, parameter
from scumble.privacy.exact import as_fraction, float_up

Integers = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

MARGIN = 2.0**-45
"""Bound on the float64 error of −ln U in the fast path, with room to spare (proof, Lemma 1)."""

LARGEST_SCALE = 2**48
"""Above this a noisy counter could leave int64, or |k| could leave the exact integers of float64."""

SMALLEST_SCALE = Fraction(1, 2**32)
"""Below this the noise is zero for all practical purposes, and so is the privacy."""

_CHUNK = 1 << 15  # draws at a time: their random words stay in the second-level cache
_FAST = np.uint64(1 << 48)  # below this the 63 bits of U are too few for the fast path


def discrete_laplace(scale: Fraction | int | float, size: int | tuple[int, ...], *, backend: str = "exact") -> Integers:
    """Draw independent integers with P(k) ∝ exp(−|k|/scale).

    `scale` is taken as the exact number that it is. ``backend="opendp"`` draws with OpenDP's sampler
    instead (some 200 times slower), for those who want a second, independent implementation.

    >>> draws = discrete_laplace(10, (2, 3))
    >>> draws.shape, draws.dtype.name
    ((2, 3), 'int64')
    """
    exact, shape = _scale("scale", scale), _shape(size)
    if require_backend(backend) == "opendp":
        return _opendp("laplace", exact, shape)
    return _laplace(exact, math.prod(shape)).reshape(shape)


def discrete_gaussian(
    sigma: Fraction | int | float, size: int | tuple[int, ...], *, backend: str = "exact"
) -> Integers:
    """Draw independent integers with P(k) ∝ exp(−k²/(2 sigma²)); arguments as above.

    >>> int(abs(discrete_gaussian(3, 100)).max()) < 100
    True
    """
    exact, shape = _scale("sigma", sigma), _shape(size)
    if require_backend(backend) == "opendp":
        return _opendp("gaussian", exact, shape)
    return _gaussian(exact, math.prod(shape)).reshape(shape)


def laplace_variance(scale: Fraction | int | float) -> float:
    """Variance of the discrete Laplace law: 2q/(1 − q)² = 1/(2 sinh²(1/(2 scale))); near 2 scale²."""
    half = 1 / (2 * float(_scale("scale", scale)))
    return 0.5 / math.sinh(half) ** 2 if half < 350 else 0.0


def gaussian_variance(sigma: Fraction | int | float) -> float:
    """Variance of the discrete Gaussian law, always a little below sigma².

    The gap is about 4π²σ⁴ exp(−2π²σ²) (Poisson summation), below float64's resolution from σ = 2 on.
    """
    width = float(_scale("sigma", sigma))
    if width >= 2:
        return width * width
    squares = np.arange(1, 40, dtype=float) ** 2
    weights = 2 * np.exp(-squares / (2 * width * width))
    return float(squares @ weights / (1 + weights.sum()))


# ---------------------------------------------------------------------------------------------
# The rejection loops: fast kernel, then the undecided draws one by one.


def _laplace(scale: Fraction, count: int, margin: float = MARGIN) -> Integers:
    """`count` discrete Laplace draws; `margin=inf` leaves every draw undecided (a test's lever)."""
    out = np.empty(count, dtype=np.int64)
    done = 0
    while done < count:
        part = out[done : done + _CHUNK]
        waiting = np.empty((len(part), 2), dtype=np.uint64)
        # A quarter more than one word a slot: minus zero is rejected, often so at small scales.
        words = _entropy(len(part) + len(part) // 4 + 8)
        filled, undecided = _laplace_kernel(words, float(scale), margin, part, waiting)
        for slot, word in waiting[:undecided].tolist():
            value = _laplace_trial(scale, word)
            while value is None:
                value = _laplace_trial(scale, _fresh_word())
            part[slot] = value
        done += filled
    return out


def _gaussian(sigma: Fraction, count: int, margin: float = MARGIN) -> Integers:
    """`count` discrete Gaussian draws by Canonne, Kamath & Steinke 2020, Algorithm 3."""
    width = int(sigma) + 1  # t = floor(σ) + 1, the proposal's scale
    centre = sigma * sigma / width
    out = np.empty(count, dtype=np.int64)
    done = 0
    while done < count:
        part = out[done : done + _CHUNK]
        waiting = np.empty((len(part), 3), dtype=np.uint64)
        words = _entropy(3 * len(part) + 16)
        filled, undecided = _gaussian_kernel(words, float(width), float(centre), float(sigma), margin, part, waiting)
        for slot, first, second in waiting[:undecided].tolist():
            value = _gaussian_trial(sigma, first, second)
            while value is None:
                value = _gaussian_trial(sigma, _fresh_word(), _fresh_word())
            part[slot] = value
        done += filled
    return out


@numba.njit(cache=True, nogil=True)
def _laplace_kernel(words: Words, scale: float, margin: float, out: Integers, waiting: Words) -> tuple[int, int]:
    """Fill slots of `out` from `words`; return how many are filled and how many of them wait.

    One word is one trial: its lowest bit is the sign, its other 63 bits are U. Minus zero is
    rejected, or zero would be twice as likely as it should be.
    """
    filled = undecided = 0
    for word in words:
        if filled == len(out):
            break
        bits = word >> np.uint64(1)
        decided = bits >= _FAST and margin < 1.0
        if decided:
            value = -scale * math.log(float(bits) * 2.0**-63)
            size = math.floor(value - scale * margin)
            decided = size == math.floor(value + scale * margin)
        if not decided:
            waiting[undecided, 0] = filled
            waiting[undecided, 1] = word
            undecided += 1
            filled += 1
        elif word & np.uint64(1) == 0:
            out[filled] = size
            filled += 1
        elif size > 0:
            out[filled] = -size
            filled += 1
    return filled, undecided


@numba.njit(cache=True, nogil=True)
def _gaussian_kernel(
    words: Words, width: float, centre: float, sigma: float, margin: float, out: Integers, waiting: Words
) -> tuple[int, int]:
    """As above with two words a trial: a discrete Laplace proposal Y, and the U that accepts it.

    Accept with probability exp(−γ), γ = (|Y| − σ²/t)²/(2σ²): that is, if −ln U > γ.
    """
    filled = undecided = 0
    for trial in range(len(words) // 2):
        if filled == len(out):
            break
        word = words[2 * trial]
        other = words[2 * trial + 1]
        bits = word >> np.uint64(1)
        coin = other >> np.uint64(1)
        decided = bits >= _FAST and coin >= _FAST and margin < 1.0
        if decided:
            value = -width * math.log(float(bits) * 2.0**-63)
            size = math.floor(value - width * margin)
            decided = size == math.floor(value + width * margin)
        if decided:
            if size == 0 and word & np.uint64(1) == 1:
                continue
            away = (float(size) - centre) / sigma
            gamma = 0.5 * away * away
            lead = -math.log(float(coin) * 2.0**-63) - gamma
            slack = margin * (1.0 + gamma)
            if lead < -slack:
                continue
            if lead > slack:
                out[filled] = -size if word & np.uint64(1) == 1 else size
                filled += 1
                continue
        waiting[undecided, 0] = filled
        waiting[undecided, 1] = word
        waiting[undecided, 2] = other
        undecided += 1
        filled += 1
    return filled, undecided


# ---------------------------------------------------------------------------------------------
# The slow path: the same trials in exact arithmetic, on as many bits as it takes.


class _MinusLog:
    """−ln(weight · U) for a uniform U whose first 63 bits are known; `refine` encloses it more narrowly.

    The weight, 1 or a fraction with a power of two below, multiplies both ends of U's interval.
    """

    def __init__(self, bits: int, weight: Fraction = Fraction(1)) -> None:
        self._numerator, self._places = bits, 63
        self._times, self._halvings = weight.numerator, weight.denominator.bit_length() - 1
        self.low = Fraction(0)
        self.high: Fraction | None = None
        self._enclose()

    def refine(self) -> None:
        """Extend U by 64 fresh bits."""
        self._numerator = self._numerator << 64 | _fresh_word()
        self._places += 64
        self._enclose()

    def _enclose(self) -> None:
        self.low, self.high = Fraction(0), None
        if self._numerator == 0:
            return  # U = 0 so far: no upper end yet
        # n/2^b = n 5^b/10^b is exact as a decimal, and `decimal` rounds ln correctly: the neighbours
        # of its answer enclose the true value. The interval's other end is within ln(1 + 1/n) < 1/n.
        context = Context(self._places // 3 + 10, ROUND_HALF_EVEN, MIN_EMIN, MAX_EMAX)
        places = self._places + self._halvings
        uniform = Decimal(self._times * self._numerator * 5**places).scaleb(-places, context=_WIDE)
        log = -context.ln(uniform)
        self.low = Fraction(context.next_minus(log)) - Fraction(1, self._numerator)
        self.high = Fraction(context.next_plus(log))


_WIDE = Context(prec=1_000_000, Emin=MIN_EMIN, Emax=MAX_EMAX)  # so that scaleb does not round


def _laplace_trial(scale: Fraction, word: int) -> int | None:
    """One trial of the discrete Laplace law, exactly; None if rejected."""
    log = _MinusLog(word >> 1)
    while log.high is None or math.floor(scale * log.low) != math.floor(scale * log.high):
        log.refine()
    size = math.floor(scale * log.low)
    if not word & 1:
        return size
    return -size if size else None


def _gaussian_trial(sigma: Fraction, word: int, other: int) -> int | None:
    """One trial of the discrete Gaussian law, exactly; None if rejected."""
    width = int(sigma) + 1
    proposal = _laplace_trial(Fraction(width), word)
    if proposal is None:
        return None
    gamma = (abs(proposal) - sigma * sigma / width) ** 2 / (2 * sigma * sigma)
    log = _MinusLog(other >> 1)
    while log.low <= gamma and (log.high is None or log.high >= gamma):
        log.refine()
    return proposal if log.low > gamma else None


# ---------------------------------------------------------------------------------------------
# Entropy, arguments, and the other backend.


def _entropy(count: int) -> Words:
    """`count` random words, straight from the operating system."""
    return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


def _fresh_word() -> int:
    return int.from_bytes(os.urandom(8), "little")


def _scale(name: str, value: Fraction | int | float) -> Fraction:
    exact = as_fraction(name, value)
    if not SMALLEST_SCALE <= exact <= LARGEST_SCALE:
        raise parameter(name, "between 2**-32 and 2**48", value, "larger noise could overflow a counter.")
    return exact


def _shape(size: int | tuple[int, ...]) -> tuple[int, ...]:
    try:
        shape = tuple(map(operator.index, size)) if isinstance(size, tuple) else (operator.index(size),)
    except TypeError:
        raise parameter("size", "a whole number or a tuple of them", size) from None
    if any(length < 0 for length in shape):
        raise parameter("size", "zero or more", size)
    return shape


def require_backend(name: str) -> str:
    """The backend's name, if there is such a one and it is installed: asked before a budget is spent on it."""
    if name not in ("exact", "opendp"):
        raise parameter("backend", "'exact' or 'opendp'", name)
    if name == "opendp" and importlib.util.find_spec("opendp") is None:
        raise ScumbleError("`backend='opendp'` needs the opendp package. Hint: pip install 'scumble[opendp]'.")
    return name


def _opendp(law: str, scale: Fraction, shape: tuple[int, ...]) -> Integers:
    """Draw with OpenDP; its scale is a float, so ours is rounded up: never less noise than claimed."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if law == "laplace":
        draw = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=float_up(scale))
    else:
        draw = dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=float_up(scale))
    return np.array(draw([0] * math.prod(shape)), dtype=np.int64).reshape(shape)
