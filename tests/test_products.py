"""Projections in the processor's registers: for every kind of processor that has a way of its own."""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np
import pytest

from scumble.counting import products
from scumble.counting.guard import UNIT
from scumble.counting.products import LINES, RECORDS, Product

Multiply = Callable[[np.ndarray, np.ndarray, np.ndarray], None]


@pytest.fixture(scope="module", params=[(8, 2), (4, 1), (8, 1), (2, 2)], ids=repr)
def multiply(request: pytest.FixtureRequest) -> Multiply:
    """As compiled for so many lines and vectors at a time."""
    block = Product()

    def loop(directions, records, out):  # type: ignore[no-untyped-def]
        block(directions, records, out)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "_tile", lambda features: request.param)
        compiled: Multiply = numba.njit("(f4[:, ::1], f4[:, :, ::1], f4[:, ::1])")(loop)
    return compiled


@pytest.mark.parametrize("k", [1, 2, 7, 40])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_whole_numbers_are_multiplied_without_error(multiply: Multiply, n: int, k: int) -> None:
    rng = np.random.default_rng(k)
    directions = rng.integers(-99, 99, (LINES, k)).astype(np.float32)
    blocks = rng.integers(-99, 99, (n, k, RECORDS)).astype(np.float32)
    out, plain = np.full((2, LINES, n * RECORDS + 5), -0.5, np.float32)
    multiply(directions, blocks, out)
    products.multiply(directions, blocks, plain)
    np.testing.assert_array_equal(out, plain)
    assert np.all(out[:, n * RECORDS :] == -0.5)  # nothing behind is touched


def test_sums_err_by_no_more_than_the_guard_allows(multiply: Multiply) -> None:
    rng = np.random.default_rng(1)
    for k in (5, 300):
        directions = rng.normal(size=(LINES, k)).astype(np.float32)
        blocks = (rng.normal(size=(2, k, RECORDS)) * 10.0 ** rng.integers(-9, 9, (2, k, 1))).astype(np.float32)
        out = np.empty((LINES, 2 * RECORDS), np.float32)
        multiply(directions, blocks, out)
        for b in range(2):
            a, x = directions.astype(np.float64), blocks[b].astype(np.float64)
            error = np.abs(out[:, b * RECORDS : (b + 1) * RECORDS] - a @ x)
            assert np.all(error <= (k + 1) * UNIT * (np.abs(a) @ np.abs(x)))


def test_every_processor_has_registers_for_its_sums() -> None:
    """512 bits: 32 registers of one vector; else 16 of half a vector, or 32 of a quarter; some are for other things."""
    for features, registers in (("+avx2,+avx512f", 32.0), ("+avx2", 8.0), ("+neon", 8.0)):
        lines, vectors = products._tile(features)
        assert lines * vectors + vectors < registers
        assert LINES % lines == 0 and RECORDS % (vectors * products.VECTOR) == 0
