"""The noise has exactly the law that it claims.

The entropy is real, so these tests can fail by bad luck: each χ² test raises a false alarm with
probability 1e-9 nominally, and surely below 1e-8 (bins hold 100 expected draws or more, where the χ²
approximation of so far a tail is good to a factor of ten). There are about thirty of them.
"""

from __future__ import annotations

import inspect
import math
import os
import warnings
from decimal import Context, Decimal
from fractions import Fraction

import numba
import numpy as np
import pytest
from scipy import stats

import scumble.privacy as privacy
from scumble.errors import ParameterError, ScumbleError
from scumble.privacy import noise

FALSE_ALARM = 1e-9
SCALES = [0.3, 1, 2.5, 40, 1000, 1e6]
LAWS = ["laplace", "gaussian"]
DRAW = {"laplace": noise._laplace, "gaussian": noise._gaussian}
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


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scale", [0.5, 2.5, 1000, 1e6])
def test_slow_path_alone_follows_the_exact_law(law: str, scale: float) -> None:
    """An infinite margin leaves every draw to the decimal arithmetic."""
    assert p_value(DRAW[law](Fraction(scale), 4000, math.inf), law, scale) > FALSE_ALARM


@pytest.mark.parametrize("law", LAWS)
def test_fast_and_slow_path_mix_at_a_huge_scale(law: str) -> None:
    """At 10¹² several percent of the draws are undecided: both paths meet in one array."""
    assert p_value(PUBLIC[law](10**12, 3000), law, 1e12) > FALSE_ALARM


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


# -- the fast path against its slow, obvious twin, word by word ------------------------------------


def near_ties(scale: Fraction, count: int) -> list[int]:
    """Words whose −s ln U lies within a few 2⁻⁶³ of an integer: the hardest cases."""
    context = Context(prec=60)
    words = []
    for k in range(1, count):
        ratio = context.divide(Decimal(-k * scale.denominator), Decimal(scale.numerator))
        tie = int(context.multiply(context.exp(ratio), Decimal(2**63)))
        words += [2 * (tie + shift) for shift in (-300_000, -2, -1, 0, 1, 300_000) if 0 <= tie + shift < 2**63]
    return words


@pytest.mark.parametrize(
    "scale", [Fraction(1, 1000), Fraction(1, 3), Fraction(5, 2), Fraction(10**6), Fraction(10**9, 7)]
)
def test_laplace_kernel_equals_exact_arithmetic(scale: Fraction) -> None:
    rng = np.random.default_rng(7)
    plain = (rng.integers(0, 2**63, 800, dtype=np.uint64) << np.uint64(1)).tolist()
    words = np.array(plain + near_ties(scale, 60) + [0, 2, 2**64 - 2, 2**49, 2**49 - 2], dtype=np.uint64)
    out, waiting = np.zeros(len(words), np.int64), np.zeros((len(words), 2), np.uint64)
    filled, undecided = noise._laplace_kernel(words, float(scale), noise.MARGIN, out, waiting)
    assert filled == len(words)  # all positive: none rejected
    open_slots = set(waiting[:undecided, 0].tolist())
    assert len(open_slots) < len(words) / 2
    for slot in set(range(len(words))) - open_slots:
        assert out[slot] == noise._laplace_trial(scale, int(words[slot]))


def near_acceptance(sigma: Fraction) -> list[list[int]]:
    """Pairs of words whose second −ln U lies within a few 2⁻⁶³ of γ: accept or not is hard to say."""
    context, width, pairs = Context(prec=60), int(sigma) + 1, []
    for size in range(5 * width if width < 10 else 0, -1, -1):
        gamma = (size - sigma * sigma / width) ** 2 / (2 * sigma * sigma)
        power = context.divide(Decimal(-gamma.numerator), Decimal(gamma.denominator))
        tie = int(context.multiply(context.exp(power), Decimal(2**63)))
        proposal = int(2.0**63 * math.exp(-(size + 0.5) / width))
        pairs += [[2 * proposal, 2 * (tie + shift)] for shift in (-200, -2, -1, 1, 2, 200) if tie > 2**49]
    return pairs


@pytest.mark.parametrize("sigma", [Fraction(1, 1000), Fraction(3, 10), Fraction(5, 2), Fraction(10**5, 3)])
def test_gaussian_kernel_equals_exact_arithmetic(sigma: Fraction) -> None:
    rng = np.random.default_rng(8)
    pairs = rng.integers(0, 2**64, (400, 2), dtype=np.uint64).tolist() + near_acceptance(sigma)
    sizes = (float(int(sigma) + 1), float(sigma**2 / (int(sigma) + 1)), float(sigma))
    for pair in pairs:
        out, waiting = np.zeros(1, np.int64), np.zeros((1, 3), np.uint64)
        words = np.array(pair, dtype=np.uint64)
        filled, undecided = noise._gaussian_kernel(words, *sizes, noise.MARGIN, out, waiting)
        if undecided == 0:
            assert noise._gaussian_trial(sigma, *pair) == (out[0] if filled else None)


def test_logarithm_is_as_accurate_as_the_proof_assumes() -> None:
    """Lemma 1 allows eight units in the last place; usual libraries keep one."""
    log = numba.njit(lambda x: math.log(x))
    rng = np.random.default_rng(9)
    context = Context(prec=40)
    for x in [*(2.0 ** -rng.uniform(0, 15, 1500)), *(1 - 2.0 ** -rng.uniform(1, 52, 500))]:
        exact = context.ln(Decimal(float(x)))
        assert abs(Decimal(log(x)) - exact) <= 8 * Decimal(math.ulp(float(exact)))


@pytest.mark.parametrize("word", [0, 1, 2, 3, 2**64 - 1, 2**64 - 2])
def test_extreme_words_are_settled(word: int) -> None:
    value = noise._laplace_trial(Fraction(5, 2), word)
    assert value is None or abs(value) < 1000
    noise._gaussian_trial(Fraction(5, 2), word, word)


# -- variances, shapes, arguments ------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.001, 0.05, 0.3, 0.9, 1.9, 2.1, 30])
def test_variances_equal_their_sums(scale: float) -> None:
    k = np.arange(1, 3000, dtype=float)
    for variance, weights in (
        (noise.laplace_variance(scale), np.exp(-k / scale)),
        (noise.gaussian_variance(scale), np.exp(-k * k / (2 * scale * scale))),
    ):
        assert variance == pytest.approx(2 * k**2 @ weights / (1 + 2 * weights.sum()), rel=1e-12, abs=1e-300)


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


def test_unknown_backend_is_refused() -> None:
    with pytest.raises(ParameterError, match="`backend` must be 'exact' or 'opendp', got 'numpy'"):
        noise.discrete_gaussian(1, 1, backend="numpy")


def test_missing_opendp_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ScumbleError, match="pip install"):
        noise.discrete_laplace(1, 1, backend="opendp")


# -- entropy ---------------------------------------------------------------------------------------


def test_nothing_takes_a_seed() -> None:
    functions = [getattr(privacy, name) for name in privacy.__all__ if callable(getattr(privacy, name))]
    functions += [privacy.Calibration.draw_counters, privacy.Calibration.draw_count]
    for function in functions:
        assert not set(inspect.signature(function).parameters) & {"seed", "rng", "random_state", "generator"}


def test_numpy_seed_changes_nothing() -> None:
    np.random.seed(0)
    first = noise.discrete_laplace(1e6, 50)
    np.random.seed(0)
    assert (first != noise.discrete_laplace(1e6, 50)).any()  # equal by chance: below 1e-300


def test_forked_processes_draw_different_noise() -> None:
    noise.discrete_laplace(1e6, 50)  # were anything buffered, the fork would inherit it
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking is the point here
        child = os.fork()
    if child == 0:
        os.write(writer, noise.discrete_laplace(1e6, 50).tobytes())
        os._exit(0)
    mine = noise.discrete_laplace(1e6, 50)
    os.waitpid(child, 0)
    theirs = np.frombuffer(os.read(reader, 400), dtype=np.int64)
    os.close(reader), os.close(writer)
    assert len(theirs) == 50
    assert (mine != theirs).any()
