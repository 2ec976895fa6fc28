"""Layer 2: the noise has the law that is claimed, and its draws are independent.

The auditor made the data, so the released counters less the exact ones are the noise. Most tests count how often
something happens whose probability is known exactly: a binomial number, without approximation. The others (absolute
mean, χ², sums) add up so many draws that the normal law is good far into its tails.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import bdtr, bdtrc, chdtrc, erfc

from scumble.audit.report import Finding
from scumble.privacy.laws import LAWS

ENOUGH, ROOM = 5000, 3.0
"""Means of fewer draws are not normal so far out in their tails, and not tested. The skewness γ of a term makes a tail
of z standard deviations about exp(γz³/(6√n)) times as probable as under the normal law: below 3 here, for the size of
Laplace noise (γ = 2) at z = 5.7. So p-values get that much room."""

MOST_COLUMNS = 512
"""Columns, rows and releases between which pairs are compared."""


@dataclass(frozen=True)
class Law:
    """A law of noise with its scale, from its definition and not from the sampler.

    >>> law = Law("discrete-laplace", 2.0)
    >>> round(float(law.chances.sum()), 12), round(law.positive, 4)
    (1.0, 0.3775)
    """

    mechanism: str
    scale: float

    @cached_property
    def support(self) -> np.ndarray:
        """The whole numbers that matter: what lies beyond has a negligible probability."""
        reach = math.ceil(LAWS[self.mechanism].reach * self.scale) + 2
        return np.arange(-reach, reach + 1)

    @cached_property
    def chances(self) -> np.ndarray:
        """The probability of each number of `support`."""
        weights = LAWS[self.mechanism].weights(np.abs(self.support), self.scale)
        return weights / weights.sum()

    @property
    def positive(self) -> float:
        """P(noise > 0)."""
        return float(self.chances[self.support > 0].sum())

    @property
    def zero(self) -> float:
        """P(noise = 0)."""
        return float(self.chances[self.support == 0].sum())

    def moment(self, order: int) -> float:
        """E |noise|^order."""
        return float(self.chances @ np.abs(self.support.astype(float)) ** order)

    def beyond(self, size: int) -> float:
        """P(|noise| > size)."""
        return float(self.chances[np.abs(self.support) > size].sum())

    def exceeded_by(self, share: float) -> int:
        """The size that about this share of all draws exceed."""
        tails = np.cumsum(2 * self.chances[self.support > 0][::-1])[::-1]  # P(|noise| > 0), P(|noise| > 1), …
        return int(np.argmin(np.abs(tails - share)))


def law_findings(noise: np.ndarray, law: Law, *, alpha: float, where: str, full_size: bool) -> list[Finding]:
    """Tests of noise with the axes (release, row, bucket).

    Few releases of full size are compared row by row; thousands of small ones cell by cell. `alpha` is the probability
    that noise of the right law is accused by any of the tests.
    """
    tests = [
        ("absolute mean", _absolute_mean(noise, law)),
        ("χ²", _chi_square(noise, law)),
        ("tails", _tails(noise, law)),
        ("each row" if full_size else "each cell", _each(noise, law, full_size)),
        ("correlation of rows and columns", _signs(noise, law, full_size)),
        ("row and column sums", _sums(noise, law)),
        ("repeats", _repeats(noise, law)),
    ]
    return [_finding(name, p, alpha / len(tests), where, noise.size) for name, p in tests]


def count_findings(noise: np.ndarray, law: Law, *, alpha: float, where: str) -> list[Finding]:
    """Tests of the count's noise, one number per release."""
    line = noise[:, None, None]
    tests = [
        ("the count: absolute mean", _absolute_mean(line, law)),
        ("the count: χ²", _chi_square(line, law)),
        ("the count: zeros", _each(line, law, False)),
    ]
    return [_finding(name, p, alpha / len(tests), where, noise.size) for name, p in tests]


def _finding(name: str, p: float, alpha: float, where: str, draws: int) -> Finding:
    passed = p > alpha
    detail = f"{where}, {draws:,} draws" + ("" if passed else f": p = {p:.1e}")
    return Finding(2, name, passed, detail, {"p": p, "least": alpha, "draws": draws})


def _absolute_mean(noise: np.ndarray, law: Law) -> float:
    if noise.size < ENOUGH:
        return 1.0
    spread = math.sqrt(max(law.moment(2) - law.moment(1) ** 2, 1e-300))
    z = (float(np.abs(noise).mean()) - law.moment(1)) / spread * math.sqrt(noise.size)
    return min(1.0, ROOM * float(erfc(abs(z) / math.sqrt(2.0))))


def _chi_square(noise: np.ndarray, law: Law) -> float:
    """Bins of at least 100 expected draws, at most about 64."""
    total = np.cumsum(law.chances)
    least = max(100.0 / noise.size, 1.0 / 64.0)
    ends, last = [], 0.0
    for i in np.flatnonzero(np.diff(np.floor(total / least), prepend=-1.0)):
        if total[i] - last >= least and 1.0 - total[i] >= least:
            ends.append(i)
            last = total[i]
    if not ends:
        return 1.0
    edges = law.support[ends]
    chances = np.diff(np.concatenate([[0.0], total[ends], [1.0]]))
    seen = np.bincount(np.searchsorted(edges, noise.ravel()), minlength=len(chances))
    expected = chances * noise.size
    return min(1.0, ROOM * float(chdtrc(len(chances) - 1, np.sum((seen - expected) ** 2 / expected))))


def _tails(noise: np.ndarray, law: Law) -> float:
    """How many draws are so large that a thousand, or a hundred, should be: noise that is cut off has none there."""
    sizes = np.abs(noise)
    found = []
    for expected in (1000.0, 100.0):
        size = law.exceeded_by(expected / noise.size)
        found.append(_binomial(np.array([np.sum(sizes > size)]), noise.size, law.beyond(size)))
    return _least(*found)


def _each(noise: np.ndarray, law: Law, full_size: bool) -> float:
    """In each row of each release (or each cell over all releases): large draws, zeros, positive draws."""
    axis = 2 if full_size else 0
    trials = noise.shape[axis]
    size, middle = np.abs(noise), law.exceeded_by(0.5)
    p = _least(
        _binomial(np.sum(size > middle, axis=axis), trials, law.beyond(middle)),
        _binomial(np.sum(size == 0, axis=axis), trials, law.zero),
        _binomial(np.sum(noise > 0, axis=axis), trials, law.positive),
    )
    if not full_size:
        return p
    zeros = np.sum(size == 0, axis=0)  # how often can a cell have no noise in any release?
    return min(1.0, 2 * p, 2 * _least(_binomial(zeros, len(size), law.zero)))


def _signs(noise: np.ndarray, law: Law, full_size: bool) -> float:
    """How often two rows (columns, cells, releases) have noise of the same sign: correlation, for heavy tails."""
    up = noise > 0
    if full_size:
        by_axis = (np.moveaxis(up, axis, 0)[:MOST_COLUMNS] for axis in range(3))
        return min(1.0, 3 * min(_agreement(lines.reshape(len(lines), -1), law) for lines in by_axis))
    flat = up.reshape(len(up), -1)[:, :MOST_COLUMNS]
    # A cell with itself in the next release, for generators with a short memory; every second pair: independent.
    even = 2 * (len(flat) // 2)
    again = np.sum(flat[0:even:2] == flat[1:even:2], axis=0)
    p = law.positive
    memory = _least(_binomial(again, even // 2, p * p + (1 - p) ** 2))
    return min(1.0, 2 * min(_agreement(np.ascontiguousarray(flat.T), law), memory))


def _agreement(lines: np.ndarray, law: Law) -> float:
    """Over all pairs of lines: the number of places where both or neither is positive."""
    if len(lines) < 2:
        return 1.0
    ones = lines.astype(np.float32)  # whole numbers below 2^24: exact
    both = ones @ ones.T
    each = np.diag(both)
    trials = lines.shape[1]
    same = trials - each[:, None] - each[None, :] + 2 * both
    p = law.positive
    return _least(_binomial(same[np.triu_indices(len(lines), 1)], trials, p * p + (1 - p) ** 2))


def _sums(noise: np.ndarray, law: Law) -> float:
    """The squares of sums over rows and over columns: noise that adds up to zero, or has a common part."""
    variance, fourth = law.moment(2), law.moment(4)
    least = 1.0
    for axis in (1, 2):
        terms = noise.shape[axis]
        if noise.size < ENOUGH or noise.size // terms < (100 if terms >= 16 else ENOUGH):
            continue
        squares = noise.sum(axis=axis, dtype=float).ravel() ** 2 / (terms * variance)
        # Var(z²) = 2 + κ/terms for the sum z of independent terms with excess kurtosis κ.
        spread = math.sqrt((2.0 + (fourth / variance**2 - 3.0) / terms) / len(squares))
        # χ² with few degrees is skewed: Wilson & Hilferty's cube root makes it nearly normal.
        mean = float(squares.mean())
        width = spread / 3.0
        z = (mean ** (1 / 3) - (1 - width**2)) / width
        least = min(least, float(erfc(abs(z) / math.sqrt(2.0))))
    return min(1.0, ROOM * 2 * least)


def _repeats(noise: np.ndarray, law: Law) -> float:
    """Whether a release, or a row in any order and with any signs, has been there before.

    Each comparison is made only where chance would bring it about less than once in 10¹² audits.
    """
    meet = math.log(float(np.sum(law.chances**2)))  # two draws are equal
    releases, rows, buckets = noise.shape
    whole = noise.reshape(releases, -1)
    if _log_pairs(releases) + rows * buckets * meet < -28.0 and len({one.tobytes() for one in whole}) < releases:
        return 0.0
    lines = releases * rows
    orders = math.lgamma(buckets + 1) + buckets * math.log(2.0)
    if _log_pairs(lines) + buckets * meet + orders < -28.0:
        ordered = np.sort(np.abs(noise), axis=2).reshape(lines, buckets)
        if len({one.tobytes() for one in ordered}) < lines:
            return 0.0
    return 1.0


def _log_pairs(n: int) -> float:
    return math.log(max(n * (n - 1) / 2, 1.0))


def _binomial(k: np.ndarray, trials: int, p: float) -> np.ndarray:
    """Two-sided p-values of binomial numbers."""
    if p <= 0.0 or p >= 1.0:
        return np.ones(np.shape(k))
    k = np.asarray(k, dtype=float)
    return np.minimum(1.0, 2.0 * np.minimum(bdtr(k, trials, p), np.where(k > 0, bdtrc(k - 1, trials, p), 1.0)))


def _least(*groups: np.ndarray) -> float:
    """The least p-value, corrected for how many there were (Bonferroni)."""
    total = sum(group.size for group in groups)
    return min(1.0, total * min(float(group.min()) for group in groups))
