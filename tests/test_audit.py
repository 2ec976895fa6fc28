"""The auditor: it finds nothing in the real release path, and every known mistake.

Audits of what is correct draw real noise. Each raises a false alarm with probability at most 1e-6 by construction
(Clopper–Pearson bounds and tests of the law, added up: bounds.py, law.py), and those that are several in one test share
that. Audits of what is wrong repeat their noise: how surely they convict is in docs/trust.md, measured a hundred times.
"""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discovered import KERNELS
from scumble.audit import Law, Samples, broken_bound, collect, law_findings, sensitivity_finding
from scumble.audit.epsilon import excess, least_epsilon, lower, p_value, upper
from scumble.audit.mechanisms import audit_canaries, audit_kernel, audit_mechanism, sensitivity_findings
from scumble.audit.mutants import CHANGES, audit_mutant
from scumble.audit.sensitivity import TableMaker
from scumble.cli import REFUSED, USAGE, main
from scumble.errors import DataError
from scumble.kernels import EuclideanKernel, HammingKernel, JaccardKernel, Kernel
from scumble.privacy import discrete_gaussian, discrete_laplace, gaussian_variance, laplace_variance
from scumble.privacy.claim import PrivacyClaim

MUTANTS = [name for name in CHANGES if name != "honest"]
RIGHT = pytest.mark.statistical(rate=1e-6)
ONLY_BY_LAW = {"cell-without-noise", "clipped-counters", "float-noise"}
"""Mutants whose mistake two tables that differ elsewhere cannot show, or that break the law and not yet the promise."""


# ---- the real release path ----


@RIGHT
def test_the_release_path_keeps_its_promise() -> None:
    """All three layers, through Sketch.update and Sketch.release."""
    report = audit_kernel(releases=600, pairs=30)
    assert report.passed, report
    assert {finding.layer for finding in report.findings} == {1, 2, 3}


@RIGHT
@pytest.mark.parametrize(
    "options",
    [
        {"delta": 1e-6, "releases": 600},
        {"delta": 0.01, "releases": 600, "neighbors": "replace"},
        {"neighbors": "replace", "releases": 300},
        {"records_per_person": 3, "releases": 300},
    ],
    ids=str,
)
def test_other_promises_are_kept(options: dict) -> None:
    report = audit_kernel(**options, pairs=10)
    assert report.passed, report


MIXED = EuclideanKernel(1.0, columns=["a"]) * HammingKernel(columns=["b", "c"]) * JaccardKernel(columns=["d"])


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.parametrize("kernel", [*(kind(power=2) for kind in KERNELS), MIXED], ids=repr)
def test_one_record_moves_one_counter_a_row(kernel: Kernel, neighbors: str) -> None:
    """Layer 3 for every kernel there is, on grids too, with hostile cells."""
    found = sensitivity_findings(TableMaker(kernel), 60, neighbors)
    assert all(finding.passed for finding in found), found
    assert len(found) == 5 + (TableMaker(kernel).grid_spec() is not None)


# ---- the mutants ----


@RIGHT
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_the_honest_mechanism_is_not_accused(neighbors: str, delta: float) -> None:
    report = audit_mutant("honest", delta=delta, neighbors=neighbors)
    assert report.passed, report


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("name", MUTANTS)
def test_every_mutant_is_caught(name: str, delta: float) -> None:
    """benchmarks/audit.py does this a hundred times: see docs/trust.md."""
    report = audit_mutant(name, delta=delta)
    assert not report.passed
    layers = {finding.layer for finding in report.violations}
    assert delta or (1 in layers) == (name not in ONLY_BY_LAW), report


def _halved(claim: PrivacyClaim) -> PrivacyClaim:
    halves = {
        name: str(Fraction(text) / 2)
        for name in ("exact_scale", "exact_count_scale")
        if (text := getattr(claim, name)) is not None
    }
    return replace(claim, **halves)


def test_a_release_path_with_a_flaw_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit of the real path is no mock: halve the noise, and it says so."""
    for draw in ("draw_counters", "draw_count"):
        honest = getattr(PrivacyClaim, draw)
        monkeypatch.setattr(
            PrivacyClaim, draw, lambda claim, *size, honest=honest, **more: honest(_halved(claim), *size, **more)
        )
    report = audit_kernel(releases=600, pairs=5)
    assert {1, 2} <= {finding.layer for finding in report.violations}


# ---- layer 1 ----


@pytest.mark.parametrize("alpha", [1e-6, 0.01])
def test_clopper_and_pearson_hold_exactly(alpha: float) -> None:
    """The bounds fail with probability at most α, whatever the truth: summed, not simulated."""
    trials = 60
    k = np.arange(trials + 1)
    low, high = lower(k, trials, alpha), upper(k, trials, alpha)
    for p in np.linspace(0.0, 1.0, 401):
        chances = stats.binom.pmf(k, trials, p)
        assert chances[low > p].sum() <= alpha * (1 + 1e-9)
        assert chances[high < p].sum() <= alpha * (1 + 1e-9)
    assert np.all(np.diff(low) >= 0) and np.all(low <= k / trials) and np.all(high >= k / trials)


def test_the_hockey_stick_needs_delta() -> None:
    """An event of 1 % here and never there: no ε allows it, δ = 0.02 does."""
    k, other = np.array([1000]), np.array([0])
    assert excess(k, other, 100_000, 3.0, 0.0, 1e-6)[0][0] > 0
    assert excess(k, other, 100_000, 3.0, 0.02, 1e-6)[0][0] < 0
    assert excess(k, other, 100_000, 800.0, 0.0, 1e-6)[0][0] < 0


def test_a_mechanism_of_ones_own_is_audited_without_its_tables() -> None:
    def release(scale: float) -> object:
        return lambda data: np.array([len(data), -len(data)]) + discrete_laplace(scale, 2)

    assert audit_mechanism(release(2.0), epsilon=1.0, releases=600).passed
    assert not audit_mechanism(release(0.4), epsilon=1.0, releases=600).passed

    def with_count(data: list[float]) -> tuple[np.ndarray, int]:
        return discrete_laplace(1.0, 1), len(data)

    report = audit_mechanism(with_count, epsilon=1.0, releases=300)
    assert not report.passed and "count" in report.violations[0].values["event"]


def test_fractions_are_refused() -> None:
    with pytest.raises(DataError):
        collect(lambda data: [0.25], None, 2)
    assert collect(lambda data: [2.0], None, 2).counts.tolist() == [[[2]], [[2]]]
    with pytest.raises(DataError):
        Samples(np.zeros((2, 2), np.int64))


# ---- layer 2 ----


@pytest.mark.parametrize("scale", [0.4, 2.5, 70.0])
def test_the_law_is_the_one_of_the_sampler(scale: float) -> None:
    assert Law("discrete-laplace", scale).moment(2) == pytest.approx(laplace_variance(scale), rel=1e-9)
    assert Law("discrete-gaussian", scale).moment(2) == pytest.approx(gaussian_variance(scale), rel=1e-9)
    for mechanism in ("discrete-laplace", "discrete-gaussian"):
        law = Law(mechanism, scale)
        assert law.beyond(0) == pytest.approx(1 - law.zero)
        assert law.positive == pytest.approx((1 - law.zero) / 2)


@pytest.mark.statistical(rate=6e-7)  # six times 1e-7
@pytest.mark.parametrize("draw", [discrete_laplace, discrete_gaussian], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("shape", [(40, 1, 1), (5000, 1, 2), (2, 300, 3), (1, 20, 900)], ids=str)
def test_right_noise_of_any_shape_passes(draw: object, shape: tuple[int, ...]) -> None:
    name = "discrete-laplace" if draw is discrete_laplace else "discrete-gaussian"
    for scale in (0.3, 3.0, 50.0):
        for full_size in (True, False):
            found = law_findings(draw(scale, shape), Law(name, scale), alpha=1e-7, where="here", full_size=full_size)
            assert all(finding.passed for finding in found), found


# ---- layer 3 ----


def one_hot(values: np.ndarray, width: int = 50) -> np.ndarray:
    return np.bincount(np.asarray(values, np.int64) % width, minlength=width)[None, :]


@pytest.mark.parametrize(
    "count",
    [
        lambda data: 2 * one_hot(data),
        lambda data: one_hot(np.round(10 * (data - data.mean()))),
        lambda data: one_hot(np.unique(data, return_inverse=True)[1]),
        lambda data: np.vstack([one_hot(data), one_hot(np.unique(data))]),
    ],
    ids=["counted twice", "centered by the data", "codes by order of appearance", "a row counts equal records once"],
)
def test_records_that_move_others_are_found(count: Any) -> None:
    rng = np.random.default_rng(1)
    tables = [rng.integers(0, 40, 12).astype(float) for _ in range(30)]
    assert not sensitivity_finding(count, [(table, table[1:]) for table in tables], name="a mistake").passed


def test_the_bound_is_that_of_the_neighbors() -> None:
    here, there = np.array([[2, 0, 0]]), np.array([[1, 1, 0]])
    assert broken_bound(here, there) and broken_bound(here, there, "replace") == ""
    assert broken_bound(here, np.array([[2, 1, 0]]), "replace")
    assert broken_bound(here, np.array([[2, 1, 2]]), people=3) == ""
    assert broken_bound(np.array([[-1, 1]]), np.array([[-1, 2]]))


# ---- the report and the command line ----


def test_the_command_line_says_what_it_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--mutant", "exact-count", "--releases", "2000"]) == REFUSED
    capsys.readouterr()
    assert main(["audit", "--releases", "100", "--pairs", "5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["passed"] is True


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("--mutant unknown", 2),
        ("--kernel nowhere:kernel", 4),
        ("--mechanism nonsense", 2),
        ("--kernel mine:good", 2),
        ("--mechanism mine:good", 0),
        ("--mechanism mine:bad", REFUSED),
        ("--mechanism mine:kernel --pairs 5", 0),
    ],
)
def test_the_command_line_audits_code_of_ones_own(
    line: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(
        "from scumble import HammingKernel\nfrom scumble.privacy import discrete_laplace\nkernel = HammingKernel()\n"
        "def good(data):\n    return [len(data) + discrete_laplace(1, 1)[0]]\n"
        "def bad(data):\n    return [len(data)]\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert main(["audit", *line.split(), "--epsilon", "1", "--releases", "300"]) == code


# ---- one release, a thousand canaries: a correct mechanism is accused in at most one of a million audits ----


def values(report):
    return report.findings[0].values


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (1.0, 1e-6), (3.0, 0.0)])
def test_an_honest_release_is_not_accused(epsilon, delta):
    """Laplace noise is the quieter throughout, so every canary is guessed at."""
    report = audit_canaries(epsilon=epsilon, delta=delta)
    assert report.passed and report.false_alarm == 1e-6 and values(report)["guesses"] == 1000
    assert 0.0 <= values(report)["epsilon"] <= values(report)["claimed"] <= epsilon


def test_flawed_noise_is_caught():
    """Guesses are right with probability 0.979 and above at an n-th of the scale, each by itself."""
    report = audit_canaries(epsilon=1.0, mutant="scale-over-n")
    assert not report.passed and values(report)["epsilon"] >= 1.6
    assert not audit_canaries(epsilon=1.0, mutant="scale-halved").passed
    assert audit_canaries(epsilon=1.0, mutant="honest").passed


def test_the_bound_holds_for_randomized_response():
    """Exactly, by counting all cases: n coins, each guessed rightly with probability q = e^ε/(1 + e^ε)."""
    n, epsilon = 6, 0.7
    q = 1 / (1 + math.exp(-epsilon))
    for right in range(n + 1):
        exact = sum(
            math.prod(q if told else 1 - q for told in tale)
            for tale in itertools.product([0, 1], repeat=n)
            if sum(tale) >= right
        )
        assert p_value(n, n, right, epsilon) == pytest.approx(exact, rel=1e-12)


def test_the_bound_with_failures():
    """With δ the bound is never smaller, and the formula of the paper's Appendix D, written out, agrees."""

    def obvious(m, r, v, epsilon, delta):
        q = 1 / (1 + math.exp(-epsilon))
        law = [math.comb(r, k) * q**k * (1 - q) ** (r - k) for k in range(r + 1)]
        alpha = max((sum(law[v - i : v]) / i for i in range(1, v + 1)), default=0.0)
        return min(1.0, sum(law[v:]) + 2 * m * delta * alpha)

    for v in range(0, 21, 4):
        assert p_value(30, 20, v, 0.5, 1e-3) == pytest.approx(obvious(30, 20, v, 0.5, 1e-3), rel=1e-9)
        assert p_value(30, 20, v, 0.5, 1e-3) >= p_value(30, 20, v, 0.5)


def test_the_least_epsilon_is_where_the_p_value_crosses():
    for right, delta in ((800, 0.0), (950, 0.0), (990, 1e-11)):
        least = least_epsilon(1000, 1000, right, delta, alpha=1e-6)
        assert p_value(1000, 1000, right, least, delta) < 1e-6 <= p_value(1000, 1000, right, least + 1e-6, delta)
    assert least_epsilon(1000, 1000, 500, alpha=1e-6) == 0.0
    assert least_epsilon(1000, 1000, 1000, 1e-3, alpha=1e-6) == 0.0  # a thousand failures could be just that


def test_scumble_audit_canaries(capsys):
    assert (
        main(["audit", "--canaries", "--epsilon", "1", "--count", "500", "--mutant", "scale-over-n", "--json"])
        == REFUSED
    )
    told = json.loads(capsys.readouterr().out)
    assert not told["passed"] and told["findings"][0]["values"]["canaries"] == 500
    for wrong in (["--neighbors", "replace"], ["--mutant", "nobody"], ["--count", "0"]):
        assert main(["audit", "--canaries", *wrong]) == USAGE
    assert np.isfinite(values(audit_canaries(epsilon=1.0, count=1))["epsilon"])
