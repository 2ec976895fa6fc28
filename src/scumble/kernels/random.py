"""Uniform, normal and Cauchy numbers from a seed, the same on every platform and in every version.

NumPy promises that for none of its distributions, and logarithms of two C libraries differ in the last bit. So the
generator stands here, Philox4x32-10 (Salmon et al. 2011): number ``i`` of stream ``s`` under key ``k`` is a pure
function of ``(k, s, i)``. Its transforms are of ``+ - * /`` and ``sqrt``, which IEEE 754 fixes to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]

AT_ONCE = 1 << 12
"""Numbers at a time: some ten arrays of them stay in the nearer caches."""
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


def _philox(key: int, stream: Words, index: Words) -> tuple[Words, Words]:
    """The 128 bits at each `index` of each `stream` under `key`, as two words of 64."""
    c0, c1, c2, c3 = index & _LOW, index >> _HALF, stream & _LOW, stream >> _HALF
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p0, p1 = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c2 = (p1 >> _HALF) ^ c1 ^ np.uint64(k0), (p0 >> _HALF) ^ c3 ^ np.uint64(k1)
        c1, c3 = p1 & _LOW, p0 & _LOW
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0 | (c1 << _HALF), c2 | (c3 << _HALF)


def words(seed: int, stream: int, count: int, first: int = 0) -> Words:
    """`count` words of 64 random bits: numbers `first`, `first` + 1, … of a stream."""
    return side_by_side(seed, stream, 1, count, first)[0]


def side_by_side(seed: int, stream: int, streams: int, count: int, first: int = 0) -> Words:
    """(streams, count): the same of several streams, `stream` and those after it."""
    pairs = np.arange(first >> 1, (first + count + 1) >> 1, dtype=np.uint64)
    which = np.arange(stream, stream + streams, dtype=np.uint64)[:, None]
    out = np.empty((streams, len(pairs), 2), np.uint64)
    many = max(1, AT_ONCE // max(1, len(pairs)))
    for top in range(0, streams, many):
        for left in range(0, len(pairs), AT_ONCE):
            part = out[top : top + many, left : left + AT_ONCE]
            part[..., 0], part[..., 1] = _philox(int(seed), which[top : top + many], pairs[left : left + AT_ONCE])
    return out.reshape(streams, -1)[:, first & 1 :][:, :count]


def _in_parts(transform: Callable[[np.ndarray], Numbers]) -> Callable[[np.ndarray], Numbers]:
    """A function of single numbers, a few thousand at a time."""

    @wraps(transform)
    def of_all(values: np.ndarray) -> Numbers:
        flat = values.reshape(-1)
        out = np.empty(flat.size)
        for first in range(0, flat.size, AT_ONCE):
            out[first : first + AT_ONCE] = transform(flat[first : first + AT_ONCE])
        return out.reshape(values.shape)

    return of_all


@_in_parts
def to_unit(bits: Words) -> Numbers:
    """Words to uniform numbers strictly inside (0, 1): (k + ½) / 2⁵² with k the top 52 bits."""
    return ((bits >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def _log(x: Numbers) -> Numbers:
    """Natural logarithm of numbers in (0, 1), from basic arithmetic alone.

    With x = m·2^e and m in [√½, √2): ln m = 2 artanh(s), s = (m − 1)/(m + 1), |s| < 0.1716,
    so eleven terms of the series leave less than 10⁻¹⁷.
    """
    m, e = np.frexp(x)  # exact: m in [½, 1)
    small = m < 0.7071067811865476
    m, e = np.where(small, 2.0 * m, m), e - small
    s = (m - 1.0) / (m + 1.0)
    q = s * s
    total = np.full_like(q, 1.0 / 23.0)
    for k in range(10, -1, -1):
        total = total * q + 1.0 / (2.0 * k + 1.0)
    return 2.0 * s * total + e * 0.6931471805599453


# Wichura (1988), algorithm AS 241, PPND16: numerator and denominator, highest power first.
_CENTER_TOP = (
    2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
    13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608,
)  # fmt: skip
_CENTER_BOTTOM = (
    5226.495278852545925, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
    5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0,
)  # fmt: skip
_MIDDLE_TOP = (
    7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258,
    3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734,
)  # fmt: skip
_MIDDLE_BOTTOM = (
    1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459,
    0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1.0,
)  # fmt: skip
_TAIL_TOP = (
    2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386, 0.026532189526576123093,
    0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772,
)  # fmt: skip
_TAIL_BOTTOM = (
    2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4,
    0.0148753612908506148525, 0.13692988092273580531, 0.59983220655588793769, 1.0,
)  # fmt: skip


def _ratio(top: tuple[float, ...], bottom: tuple[float, ...], r: Numbers) -> Numbers:
    """The quotient of two polynomials of equal length, by Horner's rule."""
    a, b = np.full_like(r, top[0]), np.full_like(r, bottom[0])
    for up, down in zip(top[1:], bottom[1:], strict=True):
        a, b = a * r + up, b * r + down
    return a / b


@_in_parts
def normal(u: Numbers) -> Numbers:
    """Uniform numbers to standard normal ones, by Φ⁻¹, to a relative accuracy of about 10⁻¹⁵."""
    q = u - 0.5
    out = np.empty_like(q)
    central = np.abs(q) <= 0.425
    near = q[central]
    out[central] = near * _ratio(_CENTER_TOP, _CENTER_BOTTOM, 0.180625 - near * near)
    far, below = u[~central], q[~central] < 0.0
    r = np.sqrt(-_log(np.where(below, far, 1.0 - far)))
    x = np.where(
        r <= 5.0, _ratio(_MIDDLE_TOP, _MIDDLE_BOTTOM, r - 1.6), _ratio(_TAIL_TOP, _TAIL_BOTTOM, r - 5.0)
    )  # fmt: skip
    out[~central] = np.where(below, -x, x)
    return out


@_in_parts
def cauchy(u: Numbers) -> Numbers:
    """Uniform numbers to standard Cauchy ones: tan(π(u − ½)), by the continued fraction of the tangent on [0, π/4] and
    its reciprocal beyond."""
    edge = np.where(u < 0.5, u, 1.0 - u)
    outer = edge < 0.25
    x = 3.141592653589793 * np.where(outer, edge, 0.5 - edge)
    q = x * x
    fraction = np.full_like(q, 21.0)
    for odd in range(19, 0, -2):
        fraction = odd - q / fraction
    t = x / fraction
    t = np.where(outer, 1.0 / np.where(outer, t, 1.0), t)
    return np.where(u < 0.5, -t, t)
