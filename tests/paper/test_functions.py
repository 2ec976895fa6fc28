"""The rivals of function release: each has the noise that its guarantee needs, and finds the truth without noise."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.paper.densities import density_set
from benchmarks.paper.functions import METHODS, bernstein, lsq_fourier, lsq_gauss
from benchmarks.paper.functions.memo import forget, remember
from benchmarks.paper.functions.tables import exact_table
from benchmarks.paper.sums import GaussianKernel, RootKernel, distinct, kernel_matrix, kernel_sums
from scipy.stats import norm

import scumble

BY_NAME = {method.name: method for method in METHODS}
DELTA = 1e-6
RACE, PUBLISHED = "Private RACE, Algorithms 1 and 2", "Private RACE, as published"
SETTINGS = {
    "Bernstein mechanism": (("degree", 6), ("order", 4)),
    "Fourier series": (("terms", 32),),
    "Trigonometric polynomials": (("terms", 5),),
    "PFDA": (("covariance", "exponential"), ("penalty", 1e-4)),
    "Kernel mean embedding": (("points", 64),),
    "MWEM": (("rounds", 4),),
    "LSQ, random Fourier features": (("features", 256),),
    "LSQ, fast Gauss transform": (("order", 3), ("side", 1.0)),
    RACE: (("rows", 16),),
    PUBLISHED: (("rows", 16),),
}
"""Small enough to try many neighbours."""
GAUSSIAN = ("PFDA", "Kernel mean embedding")
LAPLACE = tuple(name for name in SETTINGS if name not in (*GAUSSIAN, "MWEM", RACE, PUBLISHED))


class Recorder:
    """A generator that draws nothing and remembers the noise it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, float, int]] = []

    def _draw(self, law, scale, size):
        self.asked.append((law, float(scale), int(np.prod(size))))
        return np.zeros(size)

    def laplace(self, loc=0.0, scale=1.0, size=()):
        return self._draw("laplace", scale, size)

    def normal(self, loc=0.0, scale=1.0, size=()):
        return self._draw("normal", scale, size)

    def gumbel(self, loc=0.0, scale=1.0, size=()):
        return self._draw("gumbel", scale, size)

    def scale(self, law: str, alone: bool) -> float:
        """The one scale of the noise on the count (alone) or on the vector."""
        (scale,) = {scale for kind, scale, size in self.asked if kind == law and (size == 1) == alone}
        return scale


def noisy_vector(name: str, summary) -> tuple[np.ndarray, float]:
    """The vector that gets the noise, and its sensitivity as the method claims it."""
    if name == "Bernstein mechanism":
        return summary.values, summary.sensitivity
    if name == "Fourier series":
        return summary.coefficients, summary.sensitivity
    if name == "Trigonometric polynomials":
        return summary.sums, summary.sums.size
    if name == "PFDA":
        return summary.coefficients / np.sqrt(summary.eigenvalues), summary.sensitivity
    if name == "Kernel mean embedding":
        return summary.coefficients, 1.0
    if name == "MWEM":
        return summary.truth, 1.0
    if name == "LSQ, random Fourier features":
        return np.concatenate([summary.cosines, summary.sines]), np.sqrt(2.0) * len(summary.frequencies)
    if name == "LSQ, fast Gauss transform":
        d = summary.coefficients.ndim
        return summary.coefficients, lsq_gauss.sensitivity(summary.side, summary.order, d)
    return summary.table.counts, len(summary.table.counts)


def neighbours(d: int) -> np.ndarray:
    """Records at corners and edges, on lattices, inside and outside the bounds (0, 100)."""
    rng = np.random.default_rng(5)
    if d == 1:
        return np.linspace(-10.0, 110.0, 49)[:, None]
    return np.vstack(
        [np.zeros((1, d)), np.full((1, d), 50.0), rng.choice([0.0, 100.0], (4, d)), rng.uniform(0, 100, (8, d))]
    )


CASES = [(name, d) for name in SETTINGS for d in (1, 3) if not BY_NAME[name].why_not(50, d, 1.0)]


@pytest.mark.parametrize(("name", "d"), CASES)
def test_no_neighbour_changes_more_than_the_sensitivity(name, d):
    method, kernel, bounds = BY_NAME[name], scumble.EuclideanKernel(5.0), (0.0, 100.0)
    X = np.random.default_rng(4).uniform(0.0, 100.0, (50, d))
    before, claimed = noisy_vector(name, method.summarize(X, kernel, bounds, SETTINGS[name], 3))
    sizes = []
    for x in neighbours(d):
        after, _ = noisy_vector(name, method.summarize(np.vstack([X, x]), kernel, bounds, SETTINGS[name], 3))
        change = np.abs(after - before).ravel()
        sizes.append(change.max() if name == "MWEM" else np.linalg.norm(change, 2 if name in GAUSSIAN else 1))
    assert max(sizes) <= claimed * (1.0 + 1e-9)
    # The claim is not idle, either. MWEM's and the kernel mean's 1 needs a record at one of the public points.
    assert max(sizes) >= claimed * (0.02 if d == 3 and name in ("MWEM", "Kernel mean embedding") else 0.5)


def recorded(name: str, epsilon: float):
    data, method, noise = density_set("hills-1d"), BY_NAME[name], Recorder()
    summary = method.summarize(data.X, data.kernel, data.bounds, SETTINGS[name], 3)
    method.publish(summary, epsilon, DELTA, noise)
    return summary, noise


@pytest.mark.parametrize("epsilon", [0.1, 10.0])
@pytest.mark.parametrize("name", LAPLACE)
def test_laplace_noise_spends_the_budget_and_no_more(name, epsilon):
    """Sensitivity/scale of the vector and 1/scale of the count add up to ε."""
    summary, noise = recorded(name, epsilon)
    vector, sensitivity = noisy_vector(name, summary)
    assert {law for law, _, _ in noise.asked} == {"laplace"}
    assert sum(size for _, _, size in noise.asked) == vector.size + 1
    spent = sensitivity / noise.scale("laplace", alone=False) + 1.0 / noise.scale("laplace", alone=True)
    assert spent == pytest.approx(epsilon)


@pytest.mark.parametrize("epsilon", [0.1, 10.0])
@pytest.mark.parametrize("name", GAUSSIAN)
def test_gaussian_noise_keeps_its_delta(name, epsilon):
    """Vector and count together shift by μ² = Δ²/σ² + 1/σ_N²: δ of that shift (Balle & Wang 2018) is the promised."""
    summary, noise = recorded(name, epsilon)
    vector, sensitivity = noisy_vector(name, summary)
    assert sum(size for _, _, size in noise.asked) == vector.size + 1
    mu = np.hypot(sensitivity / noise.scale("normal", alone=False), 1.0 / noise.scale("normal", alone=True))
    delta = norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    assert 0.99 * DELTA <= delta <= 1.001 * DELTA


def test_mwem_spends_the_budget_and_no_more():
    """Each round picks (scores change by 1, and get Gumbel noise after ε'/2) and measures (Laplace of scale 1/ε')."""
    summary, noise = recorded("MWEM", 1.0)
    laplaces = [scale for law, scale, _ in noise.asked if law == "laplace"]
    assert len(laplaces) == 1 + summary.rounds
    count, measured = laplaces[0], laplaces[1]
    assert [law for law, _, _ in noise.asked].count("gumbel") == summary.rounds
    assert {scale for law, scale, _ in noise.asked if law == "gumbel"} == {1.0}
    assert 1.0 / count + 2 * summary.rounds / measured == pytest.approx(1.0)


def test_race_has_the_noise_of_its_proof_and_the_published_code_has_not():
    n = len(density_set("hills-1d").X)
    for name, times in ((RACE, 1), (PUBLISHED, n)):
        summary, noise = recorded(name, 0.5)
        table, sensitivity = noisy_vector(name, summary)
        assert noise.asked == [("laplace", pytest.approx(sensitivity / (times * 0.5)), table.size)]
    assert BY_NAME[PUBLISHED].private == "not as claimed"


# ---- without noise they find the truth ----

LARGE = {
    "scumble, δ = 0": (None, 0.001),
    "scumble, δ = 1e-06": (None, 0.001),
    RACE: ((("rows", 1024),), 0.3),
    PUBLISHED: ((("rows", 1024),), 0.3),
    "RACE without noise": ((("rows", 1024),), 0.15),
    "Bernstein mechanism": ((("degree", 2048), ("order", 16)), 0.02),
    "Fourier series": ((("terms", 1024),), 0.002),
    "Trigonometric polynomials": ((("terms", 512),), 0.01),
    "PFDA": ((("covariance", "kernel"), ("penalty", 0.0)), 0.01),
    "Kernel mean embedding": ((("points", 1024),), 0.01),
    "MWEM": ((("rounds", 64),), 0.15),
    "LSQ, random Fourier features": ((("features", 4096),), 0.1),
    "LSQ, fast Gauss transform": ((("order", 8), ("side", 1.0)), 0.001),
    "Exact density": (None, 1e-9),
}
"""A fine setting of each, and the greatest mean relative error that its own approximation may leave on hills-1d. The
floor of Algorithm 1 takes half a count off each counter: 512 of 4,000 records."""


@pytest.mark.parametrize("name", BY_NAME)
def test_error_falls_to_that_of_the_approximation(name):
    data, method = density_set("hills-1d"), BY_NAME[name]
    setting, limit = LARGE[name]
    exact = kernel_sums(method.own_kernel(data.kernel), data.X, data.Q) / len(data.X)

    def error(epsilon: float) -> float:
        answer = method.release(data.X, data.kernel, epsilon, DELTA, 3, data.bounds, setting)
        return float(np.mean(np.abs(answer(data.Q) - exact) / exact))

    fine = error(1e6)
    assert fine <= limit
    if method.private in ("pure", "approximate"):
        assert error(0.01) >= 2.0 * fine


def test_a_method_that_cannot_run_says_why():
    for name in ("Fourier series", "PFDA"):
        assert "lattice" in BY_NAME[name].why_not(1000, 2, 1.0)
    assert "boxes" in BY_NAME["LSQ, fast Gauss transform"].why_not(1000, 8, 1.0)
    for name in ("Bernstein mechanism", "Trigonometric polynomials", "MWEM"):
        assert BY_NAME[name].why_not(1000, 8, 1.0) is None
        assert "2^128" in BY_NAME[name].why_not(1000, 128, 1.0) or "3^128" in BY_NAME[name].why_not(1000, 128, 1.0)


# ---- what they are made of ----


@pytest.mark.parametrize("power", [1, 2])
def test_quick_sums_are_those_of_the_kernel(power):
    rng = np.random.default_rng(1)
    kernel = scumble.EuclideanKernel(2.0, power)
    X, Q = rng.normal(0.0, 5.0, (300, 3)).round(1), rng.normal(0.0, 9.0, (40, 3))
    exact = kernel(Q, X)
    points, weights = distinct(X)
    np.testing.assert_allclose(kernel_sums(kernel, points, Q, weights), exact.sum(axis=1), rtol=1e-6)
    np.testing.assert_allclose(kernel_matrix(kernel, Q, X), exact, atol=1e-8)
    np.testing.assert_allclose(kernel_sums(RootKernel(kernel), X, Q), np.sqrt(exact).sum(axis=1), rtol=1e-6)
    gauss = np.exp(-np.square(Q[:, None] - X).sum(axis=-1) / 4.0)
    np.testing.assert_allclose(kernel_matrix(GaussianKernel(2.0), Q, X), gauss, atol=1e-7)


@pytest.mark.parametrize("power", [1, 2])
def test_fourier_frequencies_have_the_law_of_the_kernel(power):
    """E cos ω·c = k(c). 40,000 draws: standard error 0.0036 at most, and 0.022 are 6.2 of them: 1e-9."""
    kernel = scumble.EuclideanKernel(2.0, power)
    frequencies = lsq_fourier.draw_frequencies(kernel, 2, 40_000, np.random.default_rng(2))
    for c in ([0.3, 0.4], [1.0, -1.0], [6.0, 8.0]):
        assert np.cos(frequencies @ c).mean() == pytest.approx(kernel([c], [[0.0, 0.0]])[0, 0], abs=0.022)


@pytest.mark.parametrize(("d", "degree"), [(1, 10), (1, 200), (2, 16)])
def test_bernstein_sensitivity_encloses_the_supremum(d, degree):
    kernel = scumble.EuclideanKernel(5.0)
    bound = bernstein.sensitivity(kernel, (0.0, 100.0), d, degree)
    axis = np.linspace(0.0, 100.0, degree + 1)
    points = np.stack(np.meshgrid(*[axis] * d), axis=-1).reshape(-1, d)
    tried = np.linspace(40.0, 60.0, 101 if d == 1 else 21)
    supremum = kernel_sums(kernel, points, np.stack(np.meshgrid(*[tried] * d), axis=-1).reshape(-1, d)).max()
    assert supremum <= bound <= 1.25 * supremum
    assert bound < (degree + 1) ** d / 3


def test_hermite_terms_add_up_to_the_gaussian():
    x, q = np.array([0.3, -0.2, 0.5]), np.array([1.1, 0.0, -2.0])
    terms = lsq_gauss._f(x, 16) * lsq_gauss._g(q, 16)
    np.testing.assert_allclose(terms.sum(axis=1), np.exp(-np.square(x - q)), atol=1e-6)


def test_modulo_keeps_codes_and_universal_scatters_them():
    """Far fewer collisions under p = 1 and modulo: a record far from all others meets nobody."""
    X = np.append(np.full(2000, 10.0), 90.0)[:, None]
    kernel = scumble.EuclideanKernel(5.0)
    values = {r: exact_table(X, kernel, 256, 64, 1, rehash=r).read(X[-1:]).mean() for r in ("modulo", "universal")}
    k = kernel(X[:1], X[-1:])[0, 0]
    assert values["modulo"] < 1 + 2000 * k + 5 * 2000 * np.sqrt(k / 256)
    assert values["universal"] > 2000 / 64 / 2


def test_remember_knows_arrays_by_their_content():
    calls = []

    @remember(1)
    def double(x):
        calls.append(1)
        return 2 * x

    one, other = np.arange(3.0), np.arange(3.0)
    assert double(one) is double(other)
    other[0] = 7.0
    assert double(other)[0] == 14.0 and len(calls) == 2
    forget()
    double(other)
    assert len(calls) == 3
