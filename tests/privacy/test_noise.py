"""The noise has exactly the law that it claims.

The entropy is real, so these tests can fail by bad luck: each χ² test raises a false alarm with
probability 1e-9 nominally, and surely below 1e-8 (bins hold 100 expected draws or more, where the χ²
approximation of so far a tail is good to a factor of ten). There are about fifty of them.
"""

from __future__ import annotations

import inspect
import math
import os
import warnings
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import scumble.privacy as privacy
from scumble.errors import ParameterError, ScumbleError
from scumble.privacy import noise
from scumble.privacy.noise import Room

FALSE_ALARM = 1e-9
pytestmark = pytest.mark.statistical(rate=1e-8)
SCALES = [0.3, 1, 2.5, 40, 1000, 1e6]
LAWS = ["laplace", "gaussian"]
PUBLIC = {"laplace": noise.discrete_laplace, "gaussian": noise.discrete_gaussian}


def cumulative(law: str, scale: float, k: np.ndarray) -> np.ndarray:
    """P(K <= k), from the definition of the law and not from the sampler."""
    if law == "laplace":
        q = math.exp(-1 / scale)
        tail = np.exp(-np.abs(np.where(k >= 0, k + 1, k)) / scale) / (1 + q)
        return np.where(k >= 0, 1 - tail, tail)
    if scale > 1e4:  # midpoint rule: off by at most 1/(24 σ²) < 1e-9
        return stats.norm.cdf((k + 0.5) / scale)
    support = np.arange(-math.ceil(40 * scale) - 1, math.ceil(40 * scale) + 2)
    weights = np.exp(-(support**2) / (2 * scale**2))
    total = np.cumsum(weights) / weights.sum()
    return total[np.clip(k - support[0], 0, len(support) - 1)]


def bins(law: str, scale: float, expected: int) -> tuple[np.ndarray, np.ndarray]:
    """Upper ends of at most about sixty bins with at least 100 expected draws each, and their chances."""
    reach = max(1, math.ceil(14 * scale))
    ends = np.unique(np.linspace(-reach, reach, 61).round().astype(np.int64))
    kept, chances, before = [], [], 0.0
    for end, total in zip(ends, cumulative(law, scale, ends), strict=True):
        if (total - before) * expected >= 100 and (1 - total) * expected >= 100:
            kept.append(end)
            chances.append(total - before)
            before = total
    return np.array(kept), np.array([*chances, 1 - before])


def p_value(draws: np.ndarray, law: str, scale: float) -> float:
    ends, chances = bins(law, scale, len(draws))
    observed = np.bincount(np.searchsorted(ends, draws), minlength=len(chances))
    assert len(chances) >= 3
    return float(stats.chisquare(observed, chances * len(draws)).pvalue)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scale", SCALES)
def test_draws_follow_the_exact_law(law: str, scale: float) -> None:
    assert p_value(PUBLIC[law](scale, 300_000), law, scale) > FALSE_ALARM


def test_sizes_fit_into_the_table() -> None:
    """−ln U is at most 15 ln 2 for words of 16 bits, 7 ln 2 for those of 8, and c at most ln 2."""
    short = [most for most, width in noise._BEGIN if width < 32]
    assert len(short) == 2 and max(short) * 16 * math.log(2) < -int(noise._OPEN)


@pytest.mark.parametrize("law", LAWS)
def test_low_bits_are_uniform_at_a_large_scale(law: str) -> None:
    """Binning cannot see the last digits; their law is uniform to 1e-9 here."""
    observed = np.bincount(PUBLIC[law](10**6, 200_000) % 64, minlength=64)
    assert stats.chisquare(observed).pvalue > FALSE_ALARM


@pytest.mark.parametrize("law", LAWS)
def test_the_chi_square_test_has_teeth(law: str) -> None:
    """Rounded continuous noise, the usual mistake, is caught."""
    rng = np.random.default_rng(5)
    rounded = np.rint(rng.laplace(0, 1, 300_000) if law == "laplace" else rng.normal(0, 0.6, 300_000))
    assert p_value(rounded.astype(np.int64), law, 1 if law == "laplace" else 0.6) < FALSE_ALARM


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scale", [0.7, 25])
def test_agrees_with_opendp(law: str, scale: float) -> None:
    """Two-sample χ² on the same bins."""
    ours, theirs = PUBLIC[law](scale, 100_000), PUBLIC[law](scale, 10_000, backend="opendp")
    ends, _ = bins(law, scale, len(theirs))
    table = [np.bincount(np.searchsorted(ends, draws), minlength=len(ends) + 1) for draws in (ours, theirs)]
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM


def near_ties(scale: Fraction, count: int, places: int) -> list[int]:
    """Bits whose s(c − ln U) lies within a few units of an integer: the hardest cases."""
    context = Context(prec=60)
    shift = noise._shift(scale, 60)[0]
    found = []
    for k in range(1, count):
        power = shift - k / scale
        tie = context.exp(context.divide(Decimal(power.numerator), Decimal(power.denominator)))
        near = int(context.multiply(tie, Decimal(2**places)))
        found += [near + away for away in (-300_000, -2, -1, 0, 1, 300_000) if 0 <= near + away < 2**places]
    return found


@pytest.mark.parametrize("width", [8, 16, 32, 64])
@pytest.mark.parametrize(
    "scale", [Fraction(1, 1000), Fraction(1, 3), Fraction(5, 2), Fraction(2000), Fraction(10**6), Fraction(10**9, 7)]
)
def test_laplace_kernel_equals_exact_arithmetic(scale: Fraction, width: int) -> None:
    """What a word decides is right at both ends of its interval."""
    rng = np.random.default_rng(7)
    places = width - 1
    bits = rng.integers(0, 2**places, 150).tolist() + near_ties(scale, 25, places)
    bits += [0, 1, 2, 3, 2**places - 2, 2**places - 1]
    words = np.array(bits, f"u{max(4, width // 8)}")
    out = np.zeros(len(words), np.int64)
    shift = float(noise._shift(scale, 40)[0])
    left = set(noise._laplace_kernel(words, width, float(scale), shift, noise.MARGIN, out, Room()).tolist())
    if scale <= {8: 3, 16: 2000}.get(width, 10**9):
        assert len(left) < 3 * len(words) / 4
    for slot in set(range(len(words))) - left:
        more = 64 - width
        ends = (bits[slot] << more, (bits[slot] + 1 << more) - 1)
        assert {noise._laplace_trial(scale, end) for end in ends} == {out[slot]}


@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_the_highest_bit_is_the_sign(width: int) -> None:
    bits = np.random.default_rng(3).integers(1, 2 ** (width - 1), 1000).astype(f"u{max(4, width // 8)}")
    sizes = np.zeros((2, 1000), np.int64)
    for negative, out in enumerate(sizes):
        words = bits | bits.dtype.type(negative << width - 1)
        assert len(noise._laplace_kernel(words, width, 2.5, 0.183, noise.MARGIN, out, Room())) < 300
    np.testing.assert_array_equal(sizes[0], -sizes[1])
    assert sizes[0].max() >= 5 and sizes[0].min() == 0
    assert noise._laplace_trial(Fraction(5, 2), 2**60) == -noise._laplace_trial(Fraction(5, 2), 2**63 + 2**60) == 5


@pytest.mark.parametrize("scale", [Fraction(1, 2**32), Fraction(1, 7), Fraction(1), Fraction(10**6), Fraction(2**48)])
def test_the_shift_is_enclosed_ever_more_narrowly(scale: Fraction) -> None:
    """c = ln(2/(1 + q)), so P(k = 0) = (1 − q)/(1 + q)."""
    low, high = noise._shift(scale, 40)
    closer, above = noise._shift(scale, 80)
    assert low < closer < above < high and high - low < Fraction(1, 10**37) and above - closer < Fraction(1, 10**77)
    q = math.exp(-1 / scale) if scale > Fraction(1, 700) else 0.0
    assert float(low) == pytest.approx(-math.log1p(-(1 - q) / 2), rel=1e-12 if scale < 1000 else 1e-2)


@pytest.mark.parametrize("sigma", [Fraction(1, 1000), Fraction(3, 10), Fraction(5, 2), Fraction(10**5, 3)])
def test_gaussian_kernel_equals_exact_arithmetic(sigma: Fraction) -> None:
    """All words of 16 bits for a few proposals: what one decides is right at both ends of its interval."""
    center = sigma**2 / (int(sigma) + 1)
    words = np.arange(2**16, dtype=np.uint16)
    for proposal in {0, 1, -2, int(sigma), -int(3 * sigma)}:
        proposals = np.full(len(words), proposal)
        stays = np.zeros(len(words), np.bool_)
        numbers = float(center), float(sigma), noise.MARGIN
        left = noise._accept_kernel(words, 16, proposals, *numbers, stays, Room())
        assert len(left) <= 4
        gamma = (abs(proposal) - center) ** 2 / (2 * sigma**2)
        edge = round(2**16 * math.exp(-min(gamma, 100)))
        near = {1, 77, 2**15, 2**16 - 1} | {slot for slot in range(edge - 5, edge + 6) if 0 <= slot < 2**16}
        for slot in near - set(left.tolist()):
            for end in (slot << 64, (slot + 1 << 64) - 1):
                log = noise._MinusLog(end, places=80)
                assert not log.low <= gamma <= log.high  # type: ignore[operator]
                assert stays[slot] == (log.low > gamma)


@pytest.mark.parametrize("away", [-(2.0**-44), -(2.0**-60), 0.0, 2.0**-60, 2.0**-44])
def test_gaussian_kernel_leaves_near_ties_open(away: float) -> None:
    """σ such that the proposal 0 has γ within a hair of −ln U at one end of the interval of a word."""
    context = Context(prec=40)
    for word in range(23_500, 2**16 - 1, 997):  # γ = σ²/(2t²) < ½ + ½, for t = 1 and 7
        root = context.sqrt(-2 * context.ln(Decimal(word) / 2**16))
        for width in (1, 7):
            sigma = Fraction(root) * width + Fraction(away)
            if int(sigma) + 1 != width:
                continue
            words = np.array([word - 1, word], np.uint16)
            stays = np.zeros(2, np.bool_)
            numbers = float(sigma**2 / width), float(sigma), noise.MARGIN
            left = noise._accept_kernel(words, 16, np.zeros(2, np.int64), *numbers, stays, Room())
            gamma = sigma**2 / (2 * width**2)
            for slot in {0, 1} - set(left.tolist()):
                for end in (int(words[slot]) << 64, (int(words[slot]) + 1 << 64) - 1):
                    assert stays[slot] == (noise._MinusLog(end, places=80).low > gamma)


@pytest.mark.parametrize("sigma", [Fraction(1, 1000), Fraction(3, 10), Fraction(5, 2), Fraction(10**5, 3)])
def test_eighty_bits_decide_as_exact_arithmetic_does(sigma: Fraction) -> None:
    """Words around the last one that accepts: those that decide are right, and a hair away from it they decide."""
    center, context = sigma**2 / (int(sigma) + 1), Context(prec=60)
    numbers = float(center), float(sigma), noise.MARGIN
    for proposal in {0, 1, -int(sigma), int(3 * sigma)}:
        gamma = (abs(proposal) - center) ** 2 / (2 * sigma**2)
        if gamma > 50:  # no word of so few bits lies there
            continue
        power = context.divide(Decimal(-gamma.numerator), Decimal(gamma.denominator))
        edge = int(context.multiply(context.exp(power), Decimal(2**80)))
        near = [edge + away for away in (-2, -1, 0, 1, 2, -(2**30), 2**30, -(2**36), 2**36)]
        far = [edge - edge // 2**30, edge + edge // 2**30]
        words = [word for word in (0, 1, 2, *near, *far, 2**80 - 1) if 0 <= word < 2**80]
        proposals, stays = np.full(len(words), proposal), np.zeros(len(words), np.bool_)
        floats = np.array(words, np.float64)
        left = set(noise._accept_kernel(floats, 80, proposals, *numbers, stays, Room()).tolist())
        assert words.index(0) in left and not left & {slot for slot, word in enumerate(words) if word in far}
        for slot in set(range(len(words))) - left:
            log = noise._MinusLog(words[slot], places=80)
            assert not log.low <= gamma <= log.high  # type: ignore[operator]
            assert stays[slot] == (log.low > gamma)


def test_logarithm_is_as_accurate_as_the_proof_assumes() -> None:
    """The lemmas allow eight units in the last place; usual libraries keep one."""
    rng = np.random.default_rng(9)
    context = Context(prec=40)
    numbers = np.r_[2.0 ** -rng.uniform(0, 80, 1500), 1 - 2.0 ** -rng.uniform(1, 52, 501)]
    for x, log in zip(numbers.tolist(), np.log(numbers).tolist(), strict=True):  # in vectors, and the last one alone
        exact = context.ln(Decimal(x))
        assert abs(Decimal(log) - exact) <= 8 * Decimal(math.ulp(float(exact)))


@pytest.mark.parametrize("word", [0, 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1])
def test_extreme_words_are_settled(word: int) -> None:
    assert abs(noise._laplace_trial(Fraction(5, 2), word)) < 1000
    assert isinstance(noise._accepts(Fraction(5, 2), 7, word >> 48, 16), bool)


def test_shapes() -> None:
    for law in PUBLIC.values():
        assert law(2, 0).shape == (0,)
        assert law(2, ()).shape == ()
        assert law(2, (3, np.int64(4))).shape == (3, 4)
        assert law(0.5, 100_000).dtype == np.int64
        assert not law(2**-20, 1000).any()


@pytest.mark.parametrize("scale", [0, -1, math.nan, math.inf, 2**48 + 1, 2.0**-33, True, None, "wide", 1j, [1]])
def test_bad_scales_are_refused(scale: object) -> None:
    for law in PUBLIC.values():
        with pytest.raises(ParameterError, match="must be"):
            law(scale, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [-1, (2, -1), 1.5, "3", None])
def test_bad_sizes_are_refused(size: object) -> None:
    with pytest.raises(ParameterError, match="`size` must be"):
        noise.discrete_laplace(1, size)  # type: ignore[arg-type]


def test_backends_that_are_not_there_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for backend in ("numpy", "opendp"):
        with pytest.raises(ScumbleError):
            noise.discrete_laplace(1, 1, backend=backend)


def test_nothing_takes_a_seed() -> None:
    functions = [getattr(privacy, name) for name in privacy.__all__ if callable(getattr(privacy, name))]
    functions += [privacy.PrivacyClaim.draw_counters, privacy.PrivacyClaim.draw_count]
    for function in functions:
        assert not set(inspect.signature(function).parameters) & {"seed", "rng", "random_state", "generator"}


def test_numpy_seed_changes_nothing() -> None:
    np.random.seed(0)
    first = noise.discrete_laplace(1e6, 50)
    np.random.seed(0)
    assert (first != noise.discrete_laplace(1e6, 50)).any()  # equal by chance: below 1e-300


@pytest.mark.parametrize("threads", [3, 16])
def test_threads_draw_different_noise(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setattr(noise, "available_threads", lambda: threads)
    monkeypatch.setattr(noise, "_CHUNK", 1000)
    draws = noise.discrete_laplace(1e6, 100_000)
    assert p_value(draws, "laplace", 1e6) > FALSE_ALARM
    assert len(np.unique(draws.reshape(100, 1000), axis=0)) == 100


def test_a_thread_without_entropy_fails_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "_CHUNK", 1000)
    calls = iter(range(1000))

    def fail(count: int, real: Callable[[int], np.ndarray] = noise._entropy) -> np.ndarray:
        if next(calls) == 7:
            raise OSError("no entropy")
        return real(count)

    monkeypatch.setattr(noise, "_entropy", fail)
    with pytest.raises(OSError, match="no entropy"):
        noise.discrete_laplace(3, 20_000)


def test_forked_processes_draw_different_noise() -> None:
    many = 2 * noise._CHUNK
    noise.discrete_laplace(1e6, many)  # were anything buffered, or a pool of threads kept, the fork would inherit it
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking is the point here
        child = os.fork()
    if child == 0:
        os.write(writer, noise.discrete_laplace(1e6, many)[:50].tobytes())
        os._exit(0)
    mine = noise.discrete_laplace(1e6, many)[:50]
    os.waitpid(child, 0)
    theirs = np.frombuffer(os.read(reader, 400), dtype=np.int64)
    os.close(reader), os.close(writer)
    assert len(theirs) == 50
    assert (mine != theirs).any()
