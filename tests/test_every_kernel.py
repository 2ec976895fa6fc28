"""Checks that every kernel passes by existing: they are discovered, not listed."""

from __future__ import annotations

import json

import numpy as np
import pytest

import scumble
from discovered import KERNELS
from rates import normal
from scumble.columns.table import Table
from scumble.counting import Hasher, cpu, reference
from scumble.kernels import Kernel
from scumble.kernels.design import DESIGNS, Design

DRAWS = 30_000


def ladder(kind: type[Kernel]) -> tuple[np.ndarray, np.ndarray]:
    """A record, and ten more at growing distances from it, as the kernel wants them."""
    steps = np.arange(10)
    if kind.reads == "category":
        start = np.arange(10.0)
        return start, np.where(np.arange(10) < steps[:, None], 100.0, start)
    if kind.reads == "tokens":
        start = np.r_[np.ones(10), np.zeros(10)]
        return start, np.array([np.roll(start, k) for k in steps])
    start = np.array([1.0, 0.0, 0.5])
    side = np.array([0.0, 0.6, -0.8])
    reach = 0.03 if kind.name in ("column", "folded") else 0.25  # beyond, these stay at zero or rise again
    return start, start + reach * steps[:, None] ** 1.5 * side


def make(kind: type[Kernel], power: int) -> Kernel:
    return kind(power=power)


def codes_of(kernel: Kernel, X: np.ndarray, design: Design) -> np.ndarray:
    table = Table.of(X)
    which = kernel.which(table.width, None)
    records, _ = kernel.read(table, which)
    return kernel.codes(records, kernel.draw(design.draws(), which))


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("power", [1, 4])
@pytest.mark.parametrize("kind", KERNELS, ids=lambda kind: kind.name)
def test_records_meet_as_often_as_the_kernel_says(kind: type[Kernel], power: int, design: str) -> None:
    """Within the bounds of chance over the draws: false alarms 1e-9 each. Sobol rows vary less, not more."""
    start, others = ladder(kind)
    kernel = make(kind, power)
    codes = codes_of(kernel, np.vstack([start, others]), Design(design, 11, DRAWS))
    met = (codes[1:] == codes[:1]).all(axis=2).mean(axis=1)
    truth = kernel([start], others)[0]
    error = np.sqrt(truth * (1.0 - truth) / DRAWS)
    assert np.all(np.abs(met - truth) <= normal() * error + 1e-12)


@pytest.mark.parametrize("power", [1, 2, 4])
@pytest.mark.parametrize("kind", KERNELS, ids=lambda kind: kind.name)
def test_the_kernel_is_symmetric_monotone_and_one_at_distance_zero(kind: type[Kernel], power: int) -> None:
    start, others = ladder(kind)
    kernel = make(kind, power)
    values = kernel([start], others)[0]
    assert values[0] == 1.0
    assert np.all(np.diff(values) < 0.0)
    assert np.all((values >= 0.0) & (values <= 1.0))
    np.testing.assert_allclose(kernel(others, others), kernel(others, others).T, rtol=0, atol=1e-15)
    np.testing.assert_allclose(kernel(others, [start])[:, 0], values, rtol=0, atol=1e-15)


@pytest.mark.parametrize("kind", KERNELS, ids=lambda kind: kind.name)
def test_power_is_concatenation(kind: type[Kernel]) -> None:
    start, others = ladder(kind)
    np.testing.assert_allclose(make(kind, 3)([start], others), make(kind, 1)([start], others) ** 3)


@pytest.mark.parametrize("power", [1, 3])
@pytest.mark.parametrize("buckets", [1, 2, 7, 64, 1000])
@pytest.mark.parametrize("kind", KERNELS, ids=lambda kind: kind.name)
def test_the_compiled_engine_equals_the_reference(kind: type[Kernel], power: int, buckets: int) -> None:
    """To the integer: both add in the same order."""
    rng = np.random.default_rng(5)
    _, others = ladder(kind)
    X = others[rng.integers(0, 10, 300)]
    if kind.reads == "number":
        X = X + rng.normal(size=X.shape) * 10.0 ** rng.integers(-3, 12, (300, 1))
    kernel = make(kind, power)
    hasher = Hasher(kernel, Design("sobol", 3, 37), buckets=buckets, width=X.shape[1])
    records = [kernel.read(Table.of(X), hasher.which[0])[0]]
    fast, slow = np.zeros((2, 37, buckets), np.int64)
    cpu.count(hasher, records, fast)
    reference.count(hasher, records, slow)
    np.testing.assert_array_equal(fast, slow)
    assert np.all(fast.sum(axis=1) == len(X))
    np.testing.assert_array_equal(cpu.sums(hasher, records, fast), reference.sums(hasher, records, slow))


@pytest.mark.parametrize("kind", KERNELS, ids=lambda kind: kind.name)
def test_the_estimate_is_unbiased(kind: type[Kernel]) -> None:
    """Mean over 150 seeds within the bounds of chance of brute force, at W = 16, power 1 and 3: 1e-8 each.

    The normal law's bound for 1e-9 is left by Student's with 149 degrees of freedom with probability 8.4e-9.
    """
    rng = np.random.default_rng(8)
    start, others = ladder(kind)
    X = others[rng.integers(0, 10, 200)]
    for power in (1, 3):
        kernel = make(kind, power)
        truth = kernel([start], X).sum()
        sums = [
            scumble.Sketch(kernel, X.shape[1], rows=16, buckets=16, seed=seed, design="iid")
            .update(X)
            .kernel_sum([start])[0]
            for seed in range(150)
        ]
        assert abs(np.mean(sums) - truth) <= normal() * np.std(sums, ddof=1) / np.sqrt(150)


@pytest.mark.parametrize("kind", KERNELS, ids=lambda kind: kind.name)
def test_a_kernel_survives_json(kind: type[Kernel]) -> None:
    kernel = kind(power=2, columns=["a", "b"])
    again = Kernel.from_dict(json.loads(json.dumps(kernel.to_dict())))
    assert again == kernel and hash(again) == hash(kernel) and repr(again) == repr(kernel)
    assert again != kind(power=3, columns=["a", "b"])


@pytest.mark.parametrize("kind", KERNELS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("power", [0, -1, 1.5, True, "2", None])
def test_a_bad_power_is_refused(kind: type[Kernel], power: object) -> None:
    with pytest.raises(scumble.ParameterError, match="`power` must be a whole number of at least 1"):
        kind(power=power)
