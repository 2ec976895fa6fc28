"""One release, a thousand canaries. A correct mechanism is accused in at most one of a million audits."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

import scumble
from scumble.audit.epsilon import least_epsilon, p_value
from scumble.audit.mechanisms import audit_canaries
from scumble.audit.mutants import CHANGES
from scumble.cli import REFUSED, USAGE, main


def values(report):
    return report.findings[0].values


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_an_honest_release_is_not_accused(epsilon):
    report = audit_canaries(epsilon=epsilon)
    assert report.passed and report.false_alarm == 1e-6
    assert 0.0 <= values(report)["epsilon"] <= epsilon


def test_where_laplace_noise_is_quieter_every_canary_is_guessed_at():
    report = audit_canaries(epsilon=1.0, delta=1e-6)
    assert report.passed and values(report)["guesses"] == 1000 and values(report)["claimed"] <= 1.0


def test_flawed_noise_is_caught(monkeypatch):
    """The bound is missed by less than 1e-6: guesses are right with probability 0.979 and above, each by itself."""

    def quartered(s, table, n):
        return s.samples(table + s.noise(n, 0.25), table, 0.25)

    monkeypatch.setitem(CHANGES, "scale-quartered", quartered)
    for mutant in ("scale-quartered", "scale-over-n"):
        report = audit_canaries(epsilon=1.0, mutant=mutant)
        assert not report.passed
        assert values(report)["epsilon"] >= 1.6
    assert not audit_canaries(epsilon=1.0, mutant="scale-halved").passed
    assert audit_canaries(epsilon=1.0, mutant="honest").passed


def test_a_release_without_noise_is_caught(monkeypatch):
    draw = scumble.PrivacyClaim.draw_counters
    zero = lambda self, size, backend="exact": 0 * draw(self, size, backend=backend)  # noqa: E731
    monkeypatch.setattr(scumble.PrivacyClaim, "draw_counters", zero)
    assert not audit_canaries(epsilon=1.0).passed


def test_the_bound_holds_for_randomized_response():
    """Exactly, by counting all cases: n coins, each told rightly with probability q = e^ε/(1 + e^ε)."""
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


def test_nonsense_is_refused():
    with pytest.raises(scumble.ParameterError):
        p_value(10, 5, 6, 1.0)
    with pytest.raises(scumble.ParameterError):
        audit_canaries(count=0)


def test_scumble_audit_canaries(capsys):
    assert main(["audit", "--canaries", "--epsilon", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["passed"] and told["findings"][0]["values"]["canaries"] == 1000
    assert main(["audit", "--canaries", "--epsilon", "1", "--count", "500", "--mutant", "scale-over-n"]) == REFUSED
    assert "VIOLATION" in capsys.readouterr().out
    assert main(["audit", "--canaries", "--neighbors", "replace"]) == USAGE
    assert main(["audit", "--canaries", "--mutant", "nobody"]) == USAGE
    assert np.isfinite(values(audit_canaries(epsilon=1.0, count=1))["epsilon"])
