"""Uniform, normal and Cauchy numbers from a seed, the same for ever.

Two people who hold the same seed must get the same hash functions, today and in ten years, on ARM and
on x86. NumPy promises that for none of its distributions, and the logarithms of two C libraries differ in
the last bit. So this file owns its generator and its transforms:

* **Philox4x32-10** (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"), a counter-based
  generator: number ``i`` of stream ``s`` under key ``k`` is a pure function of ``(k, s, i)``. There is no
  state to carry, and any part can be computed alone.
* Transforms built from ``+ - * /`` and ``sqrt`` only. IEEE 754 fixes those to the last bit, and they are
  compiled without fast-math, so no platform may reorder or fuse them.

Golden tests hold the resulting bits.
"""

from __future__ import annotations

import numpy as np

from scumble.machine.compiling import njit


@njit(cache=True)
def _philox(key: np.uint64, stream: np.uint64, index: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The 128 bits at `index` of `stream` under `key`, as two words of 64."""
    low32 = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    c0 = np.uint64(index) & low32
    c1 = np.uint64(index) >> half
    c2 = np.uint64(stream) & low32
    c3 = np.uint64(stream) >> half
    k0 = np.uint64(key) & low32
    k1 = np.uint64(key) >> half
    for _ in range(10):
        p0 = np.uint64(0xD2511F53) * c0
        p1 = np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (p1 >> half) ^ c1 ^ k0, p1 & low32, (p0 >> half) ^ c3 ^ k1, p0 & low32
        k0 = (k0 + np.uint64(0x9E3779B9)) & low32
        k1 = (k1 + np.uint64(0xBB67AE85)) & low32
    return c0 | (c1 << half), c2 | (c3 << half)


@njit(cache=True)
def _fill_words(key: np.uint64, stream: np.uint64, first: int, out: np.ndarray) -> None:
    for i in range(out.size):
        position = first + i
        a, b = _philox(key, stream, np.uint64(position >> 1))
        out[i] = b if position & 1 else a


def words(seed: int, stream: int, count: int, first: int = 0) -> np.ndarray:
    """`count` words of 64 random bits: numbers `first`, `first` + 1, … of a stream."""
    out = np.empty(count, np.uint64)
    _fill_words(np.uint64(seed), np.uint64(stream), first, out)
    return out


@njit(cache=True)
def to_unit(bits: np.ndarray) -> np.ndarray:
    """Words to uniform numbers strictly inside (0, 1): (k + ½) / 2⁵² with k the top 52 bits."""
    flat = bits.ravel()
    out = np.empty(flat.size, np.float64)
    for i in range(flat.size):
        out[i] = (np.float64(flat[i] >> np.uint64(12)) + 0.5) * 2.220446049250313e-16
    return out.reshape(bits.shape)


@njit(cache=True)
def _log(x: float) -> float:
    """Natural logarithm of a positive normal number, from basic arithmetic alone.

    With x = m·2^e and m in [√½, √2): ln m = 2 artanh(s), s = (m − 1)/(m + 1), |s| < 0.1716,
    so eleven terms of the series leave less than 10⁻¹⁷.
    """
    e = 0
    m = x
    while m < 0.7071067811865476:
        m *= 2.0
        e -= 1
    while m > 1.4142135623730951:
        m *= 0.5
        e += 1
    s = (m - 1.0) / (m + 1.0)
    q = s * s
    total = 0.0
    for k in range(11, -1, -1):
        total = total * q + 1.0 / (2.0 * k + 1.0)
    return 2.0 * s * total + e * 0.6931471805599453


# Wichura (1988), algorithm AS 241, PPND16: numerator and denominator, highest power first.
_CENTRE_TOP = (
    2509.0809287301226727,
    33430.575583588128105,
    67265.770927008700853,
    45921.953931549871457,
    13731.693765509461125,
    1971.5909503065514427,
    133.14166789178437745,
    3.387132872796366608,
)
_CENTRE_BOTTOM = (
    5226.495278852545925,
    28729.085735721942674,
    39307.89580009271061,
    21213.794301586595867,
    5394.1960214247511077,
    687.1870074920579083,
    42.313330701600911252,
    1.0,
)
_MIDDLE_TOP = (
    7.7454501427834140764e-4,
    0.0227238449892691845833,
    0.24178072517745061177,
    1.27045825245236838258,
    3.64784832476320460504,
    5.7694972214606914055,
    4.6303378461565452959,
    1.42343711074968357734,
)
_MIDDLE_BOTTOM = (
    1.05075007164441684324e-9,
    5.475938084995344946e-4,
    0.0151986665636164571966,
    0.14810397642748007459,
    0.68976733498510000455,
    1.6763848301838038494,
    2.05319162663775882187,
    1.0,
)
_TAIL_TOP = (
    2.01033439929228813265e-7,
    2.71155556874348757815e-5,
    0.0012426609473880784386,
    0.026532189526576123093,
    0.29656057182850489123,
    1.7848265399172913358,
    5.4637849111641143699,
    6.6579046435011037772,
)
_TAIL_BOTTOM = (
    2.04426310338993978564e-15,
    1.4215117583164458887e-7,
    1.8463183175100546818e-5,
    7.868691311456132591e-4,
    0.0148753612908506148525,
    0.13692988092273580531,
    0.59983220655588793769,
    1.0,
)


@njit(cache=True)
def _ratio(top: tuple[float, ...], bottom: tuple[float, ...], r: float) -> float:
    """The quotient of two polynomials of equal length, by Horner's rule."""
    a = 0.0
    b = 0.0
    for i in range(len(top)):
        a = a * r + top[i]
        b = b * r + bottom[i]
    return a / b


@njit(cache=True)
def _normal_quantile(u: float) -> float:
    """Φ⁻¹(u), to a relative accuracy of about 10⁻¹⁵."""
    q = u - 0.5
    if abs(q) <= 0.425:
        return q * _ratio(_CENTRE_TOP, _CENTRE_BOTTOM, 0.180625 - q * q)
    r = np.sqrt(-_log(u if q < 0.0 else 1.0 - u))
    if r <= 5.0:
        x = _ratio(_MIDDLE_TOP, _MIDDLE_BOTTOM, r - 1.6)
    else:
        x = _ratio(_TAIL_TOP, _TAIL_BOTTOM, r - 5.0)
    return -x if q < 0.0 else x


@njit(cache=True)
def _cauchy_quantile(u: float) -> float:
    """tan(π(u − ½)), by the continued fraction of the tangent on [0, π/4] and its reciprocal beyond."""
    edge = u if u < 0.5 else 1.0 - u
    x = 3.141592653589793 * (edge if edge < 0.25 else 0.5 - edge)
    q = x * x
    fraction = 21.0
    for odd in range(19, 0, -2):
        fraction = odd - q / fraction
    t = x / fraction
    if edge < 0.25:
        t = 1.0 / t
    return -t if u < 0.5 else t


@njit(cache=True)
def normal(u: np.ndarray) -> np.ndarray:
    """Uniform numbers to standard normal ones, by the inverse distribution function."""
    flat = u.ravel()
    out = np.empty(flat.size, np.float64)
    for i in range(flat.size):
        out[i] = _normal_quantile(flat[i])
    return out.reshape(u.shape)


@njit(cache=True)
def cauchy(u: np.ndarray) -> np.ndarray:
    """Uniform numbers to standard Cauchy ones, by the inverse distribution function."""
    flat = u.ravel()
    out = np.empty(flat.size, np.float64)
    for i in range(flat.size):
        out[i] = _cauchy_quantile(flat[i])
    return out.reshape(u.shape)
