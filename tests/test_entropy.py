"""Tests have noise that repeats, unless they say how often chance may fail them."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

import rates
from entropy import Stream, noise_named, rate_of
from scumble.privacy import discrete_gaussian, discrete_laplace, noise

MANY = 5 * noise._CHUNK // 2  # enough for several threads


def drawn(name: str) -> list[np.ndarray]:
    with noise_named(name):
        return [discrete_laplace(scale, 100) for scale in (1, 1e6)] + [discrete_gaussian(40, MANY)]


@pytest.fixture(scope="module")
def shared() -> np.ndarray:
    return discrete_laplace(1e6, 50)


@pytest.fixture
def own() -> np.ndarray:
    return discrete_laplace(1e6, 50)


def test_noise_is_a_function_of_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    first, other = drawn("one"), drawn("other")
    monkeypatch.setattr(noise, "available_threads", lambda: 7)
    for a, b, c in zip(first, drawn("one"), other, strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.any(a != c)


def test_and_the_same_on_every_machine() -> None:
    with noise_named("golden"):
        assert discrete_laplace(1000, 4).tolist() == [651, -524, -75, 815]
        assert discrete_gaussian(1000, 4).tolist() == [-1620, 555, -42, -573]
    assert Stream("golden")(3) == Stream("golden")(8)[:3]


def test_a_test_has_the_noise_of_its_name(request: pytest.FixtureRequest, own: np.ndarray, shared: np.ndarray) -> None:
    if request.config.getoption("--real-noise"):
        pytest.skip("real noise was asked for")
    module, name = request.node.nodeid.split("::")
    for found, wanted in ((own, f"{module}::{name}"), (shared, f"{module}::shared[0]")):
        with noise_named(wanted):
            np.testing.assert_array_equal(found, discrete_laplace(1e6, 50))


@pytest.mark.statistical(rate=1e-300)  # fifty draws, each of which equals the other with probability below 1e-6
def test_one_that_states_its_rate_has_real_noise(request: pytest.FixtureRequest, own: np.ndarray) -> None:
    with noise_named(request.node.nodeid):
        assert np.any(own != discrete_laplace(1e6, 50))


@pytest.mark.parametrize("mark", [{}, {"rate": 1e-5}, {"rate": 0.0}, {"rate": "1e-9"}, {"rate": 1e-9, "why": "luck"}])
def test_a_rate_is_needed_and_is_low(mark: dict) -> None:
    assert rate_of(pytest.mark.statistical(rate=1e-9).mark) == 1e-9
    with pytest.raises(pytest.UsageError, match="at most 1e-06"):
        rate_of(pytest.mark.statistical(**mark).mark)


def test_the_bounds_of_chance_are_right() -> None:
    assert doctest.testmod(rates).failed == 0
