"""Shares of noise: exactly distributed each, exactly the full noise together, and good for nothing else.

On real entropy: each χ² test raises a false alarm with probability 1e-9 nominally (below 1e-8 with bins of 100 expected
draws), and there are about twenty.
"""

from __future__ import annotations

import copy
import math
import pickle
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import scumble
from rates import laplace
from scumble.errors import ParameterError
from scumble.privacy import noise, polya, splitting
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.gaussian import gaussian_delta
from scumble.privacy.laws.discrete_gaussian import distance_of_sum

FALSE_ALARM = 1e-9
pytestmark = pytest.mark.statistical(rate=1e-8)


def share_law(scale: float, custodians: int, reach: int) -> np.ndarray:
    """P(k) for k = −reach … reach of a difference of two Pólya variables, from SciPy's negative binomial."""
    chances = stats.nbinom.pmf(np.arange(2 * reach + 1), 1 / custodians, -math.expm1(-1 / scale))
    both = np.convolve(chances, chances[::-1])
    middle = 2 * reach
    return both[middle - reach : middle + reach + 1]


def laplace_law(scale: float, reach: int) -> np.ndarray:
    k = np.arange(-reach, reach + 1)
    return np.tanh(0.5 / scale) * np.exp(-np.abs(k) / scale)


def gaussian_law(sigma: float, reach: int) -> np.ndarray:
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma**2))
    return weights / weights.sum()


def p_value(draws: np.ndarray, law: np.ndarray) -> float:
    """χ² with bins of at least 100 expected draws; both tails go to the outermost bins."""
    reach = len(law) // 2
    observed = np.bincount(np.clip(draws, -reach, reach) + reach, minlength=len(law))
    expected = law * len(draws)
    found, wanted, seen, hoped = [], [], 0.0, 0.0
    for o, e in zip(observed, expected, strict=True):
        seen, hoped = seen + o, hoped + e
        if hoped >= 100:
            found.append(seen)
            wanted.append(hoped)
            seen = hoped = 0.0
    found[-1] += seen
    wanted[-1] += hoped
    assert len(found) >= 3
    return float(stats.chisquare(found, np.array(wanted) * len(draws) / sum(wanted)).pvalue)


@pytest.mark.parametrize(("scale", "custodians"), [(0.3, 1), (1, 2), (2.5, 3), (2.5, 50), (40, 1), (40, 7), (90, 4)])
def test_one_share_follows_the_exact_law(scale: float, custodians: int) -> None:
    draws = polya.laplace_share(scale, custodians, 100_000)
    assert p_value(draws, share_law(scale, custodians, math.ceil(30 * scale) + 5)) > FALSE_ALARM


@pytest.mark.parametrize(("scale", "custodians"), [(0.4, 2), (3, 5), (200, 3)])
def test_shares_add_up_to_the_discrete_laplace_law(scale: float, custodians: int) -> None:
    total = sum(polya.laplace_share(scale, custodians, 100_000) for _ in range(custodians))
    assert p_value(np.asarray(total), laplace_law(scale, math.ceil(30 * scale) + 5)) > FALSE_ALARM


def test_the_open_end_follows_the_exact_law() -> None:
    """Nearly all the work is done by the last, endless block if there is no other: 2^0 = 4s at s = 1/4."""
    assert polya._blocks(Fraction(1, 4)) == 0
    draws = polya.laplace_share(Fraction(1, 4), 1, 400_000)
    assert p_value(draws, laplace_law(0.25, 12)) > FALSE_ALARM


def test_too_few_shares_or_a_wrong_share_are_caught_by_this_test() -> None:
    short = sum(polya.laplace_share(3, 5, 100_000) for _ in range(4))
    assert p_value(np.asarray(short), laplace_law(3, 95)) < FALSE_ALARM


def test_the_kernel_equals_exact_arithmetic() -> None:
    """Word by word: what the float64 path decides is what fractions and decimals say."""
    rng = np.random.default_rng(11)
    for scale in (Fraction(1, 3), Fraction(5, 2), Fraction(1000), Fraction(10**9, 7)):
        last = polya._blocks(scale)
        n = 1500
        blocks = rng.integers(0, last + 1, n)
        words = rng.integers(0, 2**64, (n, 4), dtype=np.uint64)
        words[: n // 3, 1] = np.uint64(2**64 - 1)  # −ln U near 0 …
        words[n // 3 : n // 2, 1] = rng.integers(2**20, 2**52, n // 2 - n // 3, dtype=np.uint64)  # … and large
        words[: n // 4, 3] <<= np.uint64(6)  # further out in the last block
        out, undecided = polya._thinned(blocks, words.T, last, float(scale), noise.MARGIN)
        rest = set(undecided.tolist())
        kept = 0
        for k in set(range(n)) - rest:
            exact = polya._thin(scale, last, int(blocks[k]), *words[k].tolist())
            assert exact == out[k]
            kept += exact != 0
        assert kept > 50 and len(rest) < n / 2


def test_ties_are_left_to_exact_arithmetic() -> None:
    """A candidate of 3 in [2, 4) stays if U < 2/3: words next to that are undecided in float64."""
    tie = (1 << 64) // 3
    words = np.array([[2 * (tie + d), 2**63, 1, 1] for d in (-2, -1, 0, 1, 2, -500, 500)], np.uint64)
    out, undecided = polya._thinned(np.ones(len(words), np.int64), words.T, 4, 4.0, noise.MARGIN)
    assert len(undecided) == len(words) and not out.any()


@pytest.mark.parametrize("rate", [Fraction(1, 50), Fraction(13, 5), Fraction(100)])
def test_the_poisson_table_is_right(rate: Fraction) -> None:
    table = polya._poisson_table(rate)
    k = np.arange(len(table))
    np.testing.assert_allclose(table.astype(float) / 2.0**63, stats.poisson.cdf(k, float(rate)), rtol=1e-9, atol=1e-15)
    assert table[-1] == 2**63 - 1 and (np.diff(table.astype(object)) >= 0).all()
    for bits in (0, int(table[0]) - 1, int(table[0]) + 1, int(table[1]) + 1, 2**62):
        if bits < 0 or bits in table:
            continue  # a tie: see below
        assert polya._poisson_exactly(rate, bits) == int(np.searchsorted(table, np.uint64(bits)))
    for tie in set(table.tolist()[:40]):  # more bits decide between those who share an entry, and the next
        tied = np.flatnonzero(table == tie)
        beyond = np.inf if tie == table[-1] else tied[-1] + 1  # all that the table has no room for share its last entry
        assert tied[0] <= polya._poisson_exactly(rate, tie) <= beyond


def test_entropy_is_fresh_in_every_call() -> None:
    draws = [polya.laplace_share(100, 3, 200).tobytes() for _ in range(20)]
    assert len(set(draws)) == 20


# ---- Gaussian shares ----


def test_gaussian_distance_bounds_the_true_one() -> None:
    """Lemma 3 against brute force: the sum of small discrete Gaussians and its ideal, point by point."""
    for sigma, count in ((0.8, 2), (0.9, 3), (1.1, 4)):
        reach = 60
        one = gaussian_law(sigma, reach)
        total = one
        for _ in range(count - 1):
            total = np.convolve(total, one)
        ideal = gaussian_law(sigma * math.sqrt(count), len(total) // 2)
        near = np.abs(np.arange(len(total)) - len(total) // 2) < 5 * sigma * math.sqrt(count)
        distance = np.abs(np.log(total[near] / ideal[near])).max()
        assert 0 < distance <= distance_of_sum(sigma, count)


def test_a_share_with_too_little_noise_is_refused() -> None:
    with pytest.raises(ParameterError):
        splitting.calibrate_shares(1, Budget(5.0, 1e-3), custodians=1000, mechanism="discrete-gaussian")


def test_the_gaussian_claim_covers_the_sum() -> None:
    claim = splitting.calibrate_shares(4, Budget(1.0, 1e-6), custodians=3, mechanism="discrete-gaussian")
    assert claim.scale is not None and claim.count_scale is not None
    mu = math.sqrt(4 / claim.scale**2 + 1 / claim.count_scale**2)
    assert gaussian_delta(1.0, mu) < 1e-6
    assert claim.equivalent(1e-6) <= 1.0 + 1e-6
    assert PrivacyClaim.from_dict(claim.to_dict()) == claim


# ---- the object ----


def custodians(n: int, *, arrive: int | None = None, **budget: object) -> list[scumble.Share]:
    rng = np.random.default_rng(1)
    made = []
    for _ in range(n if arrive is None else arrive):
        sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=20, buckets=32, seed=3, design="iid")
        settings: dict = {"epsilon": 1.0, "custodians": n, **budget}
        made.append(sketch.update(rng.normal(size=(2000, 1))).release_share(**settings))
    return made


@pytest.mark.parametrize(
    "budget", [{}, {"delta": 1e-6}, {"neighbors": "replace"}, {"records_per_person": 2}, {"count_share": 0}]
)
def test_shares_combine_to_a_release_that_says_so(budget: dict) -> None:
    parts = custodians(3, **budget)
    release = scumble.combine(parts)
    assert release.privacy.epsilon <= 1.0 and (release.privacy.custodians, release.privacy.dropouts) == (3, 0)
    assert "3 custodians" in str(release.privacy)
    assert release.privacy.records_per_person == budget.get("records_per_person", 1)
    assert abs(release.count - 6000) < laplace() * release.count_standard_error + 1e-9
    again = scumble.Release.from_bytes(release.to_bytes())
    assert again.privacy == release.privacy
    lower, upper = release.interval([[0.0]], confidence=0.999999)
    assert lower[0] < upper[0]


def test_dropouts_are_a_parameter() -> None:
    complete, missing = custodians(5, dropouts=2), custodians(5, dropouts=2, arrive=3)
    few = scumble.combine(missing)
    all_of = scumble.combine(complete)
    # Each share is made for three: five of them have 5/3 of the variance.
    assert all_of.counter_variance == pytest.approx(few.counter_variance * 5 / 3)
    claim = few.privacy
    assert few.counter_variance == pytest.approx(noise.laplace_variance(Fraction(claim.exact_scale or "")))
    with pytest.raises(scumble.PrivacyError):
        scumble.combine(missing[:2])
    with pytest.raises(ParameterError):
        custodians(3, dropouts=3)


def test_the_noise_of_a_sum_has_the_promised_variance() -> None:
    """5 custodians, one dropped out, empty sketches: the counters of the sum are the full noise."""
    draws = []
    for _ in range(4):
        sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=8, buckets=4096, design="iid")
        draws.append(sketch.release_share(epsilon=1.0, custodians=5, dropouts=1, count_share=0))
    release = scumble.combine(draws)
    assert release.privacy.exact_scale == "8"
    assert p_value(release.counts.ravel(), laplace_law(8.0, 240)) > FALSE_ALARM


def test_shares_that_do_not_fit_are_refused() -> None:
    one, two = custodians(2)
    (other,) = custodians(2, arrive=1, epsilon=0.5)
    for parts in ([one, one], [one, other], [one, two, *custodians(2, arrive=1)]):
        with pytest.raises(scumble.MergeError):
            scumble.combine(parts)
    for wrong in ([], [1], [1, 1], [one, 1]):
        with pytest.raises(ParameterError):
            scumble.combine(wrong)  # type: ignore[type-var]
    (alone,) = custodians(1)
    assert scumble.combine([alone]).privacy.custodians == 1


def test_secure_aggregation_adds_payloads_modulo_2_to_the_64() -> None:
    parts = custodians(3)
    rng = np.random.default_rng(0)
    masks = [rng.integers(0, 2**64, parts[0].payload.size, dtype=np.uint64) for _ in range(2)]
    masks.append(np.zeros_like(masks[0]) - masks[0] - masks[1])  # the masks cancel
    total = sum((part.payload + mask for part, mask in zip(parts, masks, strict=True)), np.zeros_like(masks[0]))
    release = parts[0].from_sum(total, arrived=3)
    np.testing.assert_array_equal(release.counts, scumble.combine(parts).counts)
    assert release.noisy_count == scumble.combine(parts).noisy_count
    with pytest.raises(scumble.PrivacyError):
        parts[0].from_sum(total, arrived=2)
    with pytest.raises(ParameterError):
        parts[0].from_sum(total.astype(float), arrived=3)


def test_a_share_is_kept_like_a_secret(tmp_path: Path) -> None:
    one, two = custodians(2)
    path = tmp_path / "one.share"
    one.save(path)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(scumble.SecretFileError):
        scumble.load(path)
    release = scumble.combine([scumble.load_share(path), two])
    np.testing.assert_array_equal(release.counts, scumble.combine([one, two]).counts)
    for attempt in (pickle.dumps, copy.copy):
        with pytest.raises(scumble.PrivacyError):
            attempt(one)
    assert not hasattr(one, "kernel_sum") and not hasattr(one, "density")
    assert "not private alone" in repr(one)


def test_a_share_spends_the_sketch_and_the_ledger(tmp_path: Path) -> None:
    book = scumble.Ledger.create(tmp_path / "hospital.ledger")
    book.open_dataset("patients", epsilon=1.5, delta=1e-6)
    sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=8, buckets=8).update([[1.0]])
    share = sketch.release_share(1.0, 1e-6, custodians=2, ledger=book, dataset="patients")
    assert book.account("patients").charges[0].identity == share.identity
    with pytest.raises(scumble.BudgetError):
        sketch.release(epsilon=0.1)
    other = scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=8, buckets=8).update([[1.0]])
    with pytest.raises(scumble.BudgetError):
        other.release_share(1.0, custodians=2, ledger=book, dataset="patients")
    assert other.count == 1
