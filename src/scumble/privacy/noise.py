"""Integer noise, exactly distributed: the only place in scumble that draws it.

Floating-point noise leaks: which values it reaches depends on the secret it is added to (Mironov 2012). Here every draw
is an integer whose law is *exactly* the one claimed, by interval refining (Haney et al. 2022): the first random bits of
a uniform U enclose it in a short interval; if both ends give the same integer, that is the answer. Otherwise more bits
are fetched: up to 64 in float64, and then, once in millions of draws, more in decimal arithmetic of growing precision
(``noise.proof.md``).

- Discrete Laplace (Ghosh, Roughgarden & Sundararajan 2009): P(k) = (1 − q)/(1 + q) · q^|k| with q = exp(−1/scale). As
  P(|k| ≥ j) = 2q^j/(1 + q) for j ≥ 1, |k| = floor(scale · (c − ln U)) with c = ln(2/(1 + q)), and another bit is the
  sign. For small scales, the answers of words of 8 or 16 bits are kept in a table.
- Discrete Gaussian (Canonne, Kamath & Steinke 2020, Algorithm 3, by rejection): P(k) ∝ exp(−k²/(2σ²)).

Entropy is the operating system's, fetched by each call and never kept: a forked process cannot repeat another's noise.
There is no seed: noise that can be replayed can be subtracted. Threads and their arrays end with the call.
"""

from __future__ import annotations

import importlib.util
import math
import operator
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from scumble.errors import ScumbleError, parameter
from scumble.files.compiling import available_threads
from scumble.privacy import audit_hooks
from scumble.privacy.exact import as_fraction, float_up

Integers = npt.NDArray[np.int64]
Words = npt.NDArray[np.unsignedinteger]

MARGIN = 2.0**-43
"""Bound on the float64 error of −ln U in the fast path, with room to spare (proof, Lemma 1)."""

LARGEST_SCALE = 2**48
"""Above this, a noisy counter could exceed int64, or |k| the exact integers of float64."""

SMALLEST_SCALE = Fraction(1, 2**32)
"""Below this, the noise is practically zero."""

_CHUNK = 1 << 20  # the most draws at a time; each of its steps takes the interpreter's lock once
_FEWEST = 1 << 17  # draws that are worth a thread
_MOST_THREADS = 16  # more would wait for the interpreter's lock
_MANY = 1 << 14  # draws that are worth a table
_BEGIN = ((2, 8), (1 << 11, 16), (1 << 25, 32))
"""Up to each scale, the bits of the first words; they decide most draws."""
_OPEN = np.int16(-(1 << 15))  # in a table: the word does not decide


class Room(threading.local):
    """Arrays that a thread reuses, by type and number: large temporaries would be allocated anew at every step.

    >>> room = Room()
    >>> room.of(np.bool_, 3).base is room.of(np.bool_, 2).base
    True
    """

    def __init__(self) -> None:
        self._arrays: dict[tuple[type, int], npt.NDArray[Any]] = {}

    def of(self, kind: type, size: int, number: int = 0) -> npt.NDArray[Any]:
        """This thread's array of that type and number, uninitialized."""
        found = self._arrays.get((kind, number))
        if found is None or len(found) < size:
            found = self._arrays[kind, number] = np.empty(size, kind)
        return found[:size]

    def floats(self, size: int, many: int) -> list[npt.NDArray[np.float64]]:
        """Several arrays of floats."""
        return [self.of(np.float64, size, number) for number in range(many)]

    def __repr__(self) -> str:
        return "Room(secret)"


def discrete_laplace(scale: Fraction | int | float, size: int | tuple[int, ...], *, backend: str = "exact") -> Integers:
    """Draw independent integers with P(k) ∝ exp(−|k|/scale).

    `scale` is exact. ``backend="opendp"`` draws with OpenDP's independent sampler, hundreds of times slower.

    >>> draws = discrete_laplace(10, (2, 3))
    >>> draws.shape, draws.dtype.name
    ((2, 3), 'int64')
    """
    return _drawn("laplace", _laplace, _scale("scale", scale), size, backend)


def discrete_gaussian(
    sigma: Fraction | int | float, size: int | tuple[int, ...], *, backend: str = "exact"
) -> Integers:
    """Draw independent integers with P(k) ∝ exp(−k²/(2 sigma²)); arguments as above."""
    return _drawn("gaussian", _gaussian, _scale("sigma", sigma), size, backend)


def _drawn(
    law: str, draw: Callable[[Fraction, int], Integers], scale: Fraction, size: int | tuple[int, ...], backend: str
) -> Integers:
    shape = _shape(size)
    if require_backend(backend) == "opendp":
        return audit_hooks.drawn(f"discrete-{law}", scale, _opendp(law, scale, shape))
    return audit_hooks.drawn(f"discrete-{law}", scale, draw(scale, math.prod(shape)).reshape(shape))


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


# ---- filling arrays: the fast kernels first, and what they leave undecided one by one ----


def _laplace(scale: Fraction, count: int, margin: float = MARGIN) -> Integers:
    """`count` discrete Laplace draws; `margin=inf` leaves every draw undecided (a test's lever)."""
    return _filled(count, _Laplace(scale, count, margin, Room()).fill)


def _gaussian(sigma: Fraction, count: int, margin: float = MARGIN) -> Integers:
    """`count` discrete Gaussian draws by Canonne, Kamath & Steinke 2020, Algorithm 3."""
    room = Room()
    proposals = _Laplace(Fraction(_proposal_scale(sigma)), count, margin, room)

    def fill(out: Integers) -> None:
        done = 0
        while done < len(out):
            left = len(out) - done
            tried = room.of(np.int64, left + left // 3 + 16)  # three in four are accepted
            proposals.fill(tried)
            kept = np.flatnonzero(_accepted(sigma, tried, margin, room))[:left]
            tried.take(kept, out=out[done : done + len(kept)], mode="clip")
            done += len(kept)

    return _filled(count, fill)


def _filled(count: int, fill: Callable[[Integers], None]) -> Integers:
    """`count` draws, by several threads if there are many, each with entropy of its own."""
    out = np.empty(count, np.int64)
    many = max(1, min(_MOST_THREADS, count // _FEWEST))
    size = -(-count // (many * -(-count // (many * _CHUNK)))) if count else 1  # equal parts
    parts = [out[first : first + size] for first in range(0, count, size)]
    threads = min(available_threads(), _MOST_THREADS, len(parts))
    if threads < 2:
        for part in parts:
            fill(part)
    else:
        with ThreadPoolExecutor(threads) as pool:
            for _ in pool.map(fill, parts):
                pass
    return out


class _Laplace:
    """The discrete Laplace law of one scale, ready to fill arrays."""

    def __init__(self, scale: Fraction, count: int, margin: float, room: Room) -> None:
        self._scale, self._room = scale, room
        self._numbers = float(scale), float(_shift(scale, 40)[0]), margin
        few = count < _MANY
        self._width = next((width for most, width in _BEGIN if scale <= most and not (few and width < 32)), 64)
        self._table = self._answers() if self._width < 32 else None

    def fill(self, out: Integers) -> None:
        """Draw for every slot; a word that does not decide gets as many bits again."""
        width = self._width
        words = _words(len(out), width)
        slots = self._decide(words, width, out)
        words = words[slots].astype(np.uint64)
        while len(slots) and width < 64:
            words = words << np.uint64(width) | _words(len(slots), width)
            width *= 2
            values = np.empty(len(slots), np.int64)
            undecided = self._decide(words, width, values)
            out[slots] = values
            slots, words = slots[undecided], words[undecided]
        for slot, word in zip(slots.tolist(), words.tolist(), strict=True):
            out[slot] = _laplace_trial(self._scale, word)

    def _decide(self, words: Words, width: int, out: Integers) -> Integers:
        """Fill the slots of the words that decide; the places of the others."""
        if width == self._width and self._table is not None:
            places, found = self._room.of(np.int64, len(words), 1), self._room.of(np.int16, len(words))
            np.copyto(places, words)
            np.copyto(out, self._table.take(places, out=found, mode="clip"))  # no index is clipped
            return np.flatnonzero(np.equal(found, _OPEN, out=self._room.of(np.bool_, len(words))))
        return _laplace_kernel(words, width, *self._numbers, out, self._room)

    def _answers(self) -> npt.NDArray[np.int16]:
        """What each word of the first width decides; sizes are at most 16 ln 2 · 2¹¹."""
        words = np.arange(1 << self._width, dtype=np.uint32)
        out = np.empty(len(words), np.int64)
        out[_laplace_kernel(words, self._width, *self._numbers, out, self._room)] = _OPEN
        return out.astype(np.int16)


def _accepted(sigma: Fraction, proposals: Integers, margin: float, room: Room) -> npt.NDArray[np.bool_]:
    """Which proposals stay, each with probability exp(−γ): on 16 bits of U, on 80, or on as many as it takes."""
    words = _words(len(proposals), 16)
    numbers = float(sigma * sigma / _proposal_scale(sigma)), float(sigma), margin
    stays = room.of(np.bool_, len(proposals), 1)
    slots = _accept_kernel(words, 16, proposals, *numbers, stays, room)
    longer = [word << 64 | _fresh_word() for word in words[slots].tolist()]
    later = np.empty(len(slots), np.bool_)
    for k in _accept_kernel(np.array(longer, np.float64), 80, proposals[slots], *numbers, later, room).tolist():
        later[k] = _accepts(sigma, int(proposals[slots[k]]), longer[k], 80)
    stays[slots] = later
    return stays


def _proposal_scale(sigma: Fraction) -> int:
    return int(sigma) + 1


@np.errstate(divide="ignore", invalid="ignore", over="ignore")  # at U = 0, which decides nothing
def _laplace_kernel(
    words: Words, width: int, scale: float, shift: float, margin: float, out: Integers, room: Room
) -> Integers:
    """Fill slots of `out` from words of `width` bits; return the places of those that do not decide.

    A word's highest bit is the sign. Its others are the first ones of U and say that U lies in [n, n + 1]·unit: at the
    interval's upper end −ln U is smaller than at its lower end, by less than 1/n.
    """
    bits, value = room.floats(len(words), 2)
    np.bitwise_and(words, words.dtype.type((1 << (width - 1)) - 1), out=bits)
    np.log(np.multiply(bits, 2.0 ** (1 - width), out=value), out=value)
    np.subtract(shift, value, out=value)
    value *= scale
    low = np.divide(1.0, bits, out=bits)
    low += margin
    low *= scale
    np.floor(np.subtract(value, low, out=low), out=low)
    high = value
    high += scale * margin
    np.floor(high, out=high)
    undecided = np.flatnonzero(np.not_equal(low, high, out=room.of(np.bool_, len(words))))  # at U = 0, low is no number
    low[undecided] = 0.0
    positive = np.subtract(0.5, np.right_shift(words, words.dtype.type(width - 1), out=value), out=value)
    np.copyto(out, np.copysign(low, positive, out=low), casting="unsafe")
    return undecided


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def _accept_kernel(
    words: npt.NDArray[np.generic], places: int, proposals: Integers,
    center: float, sigma: float, margin: float, stays: npt.NDArray[np.bool_], room: Room,
) -> Integers:  # fmt: skip
    """Accept a proposal Y with probability exp(−γ), γ = (|Y| − σ²/t)²/(2σ²): that is, if −ln U > γ.

    The words are the first `places` bits of U. Returns the places of those that do not decide.
    """
    bits, gamma, lead = room.floats(len(words), 3)
    away = lead
    np.copyto(away, proposals)
    np.abs(away, out=away)
    away -= center
    away /= sigma
    np.multiply(0.5, away, out=gamma)
    gamma *= away
    np.copyto(bits, words)
    np.log(np.multiply(bits, 2.0**-places, out=lead), out=lead)
    np.negative(lead, out=lead)
    lead -= gamma
    slack = gamma
    slack += 1.0
    slack *= margin
    least = np.subtract(lead, np.divide(1.0, bits, out=bits), out=bits)
    least -= slack
    np.greater(least, 0.0, out=stays)  # at U = 0 it is no number
    lead += slack
    decided = np.less(lead, 0.0, out=room.of(np.bool_, len(words)))
    decided |= stays
    return np.flatnonzero(np.logical_not(decided, out=decided))


# ---- the slow path: the same decisions in exact arithmetic, on as many bits as it takes ----


class _MinusLog:
    """−ln(weight · U) for a uniform U whose first bits are known; `refine` encloses it more narrowly.

    The weight, 1 or a fraction with a power of two below, multiplies both ends of U's interval.
    """

    def __init__(self, bits: int, weight: Fraction = Fraction(1), places: int = 63) -> None:
        self._numerator, self._places = bits, places
        self._times, self._halvings = weight.numerator, weight.denominator.bit_length() - 1
        self.low = Fraction(0)
        self.high: Fraction | None = None
        self._enclose()

    @property
    def digits(self) -> int:
        """Enough decimal digits for the bits that are known."""
        return self._places // 3 + 10

    def refine(self) -> None:
        """Extend U by 64 fresh bits."""
        self._numerator = self._numerator << 64 | _fresh_word()
        self._places += 64
        self._enclose()

    def _enclose(self) -> None:
        self.low, self.high = Fraction(0), None
        if self._numerator == 0:
            return  # U = 0 so far: no upper end yet
        # n/2^b = n 5^b/10^b is exact as a decimal, and `decimal` rounds ln correctly: the neighbors
        # of its answer enclose the true value. The interval's other end is within ln(1 + 1/n) < 1/n.
        context = _context(self.digits)
        places = self._places + self._halvings
        uniform = Decimal(self._times * self._numerator * 5**places).scaleb(-places, context=_WIDE)
        log = context.ln(uniform).copy_negate()  # unary minus would round to the caller's context
        self.low = Fraction(context.next_minus(log)) - Fraction(1, self._numerator)
        self.high = Fraction(context.next_plus(log))


def _context(digits: int) -> Context:
    return Context(digits, ROUND_HALF_EVEN, MIN_EMIN, MAX_EMAX)


_WIDE = _context(1_000_000)  # wide enough that scaleb does not round


@lru_cache(maxsize=256)
def _shift(scale: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Bounds on c = ln(2/(1 + q)): every step is rounded to a nearest decimal and then moved to its neighbor."""
    context = _context(digits)
    power = context.divide(Decimal(-scale.denominator), Decimal(scale.numerator))
    bounds = []
    for outwards in (context.next_plus, context.next_minus):
        q = outwards(context.exp(outwards(power)))
        mean = outwards(context.divide(outwards(context.add(Decimal(1), q)), Decimal(2)))
        bounds.append(-Fraction(outwards(context.ln(mean))))
    return bounds[0], bounds[1]


def _laplace_trial(scale: Fraction, word: int) -> int:
    """The draw that begins with these 64 bits, exactly."""
    log = _MinusLog(word & (1 << 63) - 1)
    while True:
        low, high = _shift(scale, log.digits)
        if log.high is not None:
            size = math.floor(scale * (log.low + low))
            if size == math.floor(scale * (log.high + high)):
                return -size if word >> 63 else size
        log.refine()


def _accepts(sigma: Fraction, proposal: int, bits: int, places: int) -> bool:
    """Whether −ln U > γ for the U that begins with so many bits, exactly."""
    gamma = (abs(proposal) - sigma * sigma / _proposal_scale(sigma)) ** 2 / (2 * sigma * sigma)
    log = _MinusLog(bits, places=places)
    while log.low <= gamma and (log.high is None or log.high >= gamma):
        log.refine()
    return log.low > gamma


# ---- entropy, arguments, and the other backend ----


def _entropy(count: int) -> Words:
    """`count` random words, straight from the operating system."""
    return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


def _words(count: int, width: int) -> Words:
    """`count` random words of 8, 16, 32 or 64 bits."""
    return _entropy(-(-count * width // 64)).view(f"u{width // 8}")[:count]


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
    """The backend's name, if it exists and is installed; to be called before a budget is spent."""
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
    laplace = law == "laplace"
    distance = dp.l1_distance(T="i64") if laplace else dp.l2_distance(T="f64")
    draw = (dp.m.make_laplace if laplace else dp.m.make_gaussian)(domain, distance, scale=float_up(scale))
    return np.array(draw([0] * math.prod(shape)), dtype=np.int64).reshape(shape)
