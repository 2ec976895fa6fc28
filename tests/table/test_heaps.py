"""Records beyond the bounds count at them; and what a card says of columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import scumble


def release(year: np.ndarray, column: scumble.Number) -> scumble.TableRelease:
    table = pa.table({"year": year, "sex": np.arange(len(year)) % 2 == 0})
    schema = scumble.Schema(year=column, sex=scumble.Boolean())
    return scumble.TableSketch(schema).update(table).release(epsilon=2.0)


def at_bounds(where: str, outside: str = "clip") -> tuple[scumble.Estimate, scumble.Estimate]:
    """A count, and that of its contrary, of 873 records above the bounds, 1,200 below them, and 20,000 in between."""
    pay = np.concatenate([np.linspace(20, 90, 20_000), np.full(873, 130.0), np.full(1_200, 3.0)])
    schema = scumble.Schema(pay=scumble.Number(10, 100, outside=outside), sex=scumble.Boolean())
    sketch = scumble.TableSketch(schema).update(pa.table({"pay": pay, "sex": np.arange(len(pay)) % 2 == 0}))
    found = sketch.release(epsilon=50.0)
    return found.count(where), found.count(f"not ({where})")


@pytest.mark.parametrize(
    ("where", "truth"),
    [
        ("pay >= 100", 873),
        ("pay == 100", 873),
        ("pay > 99.9", 873),
        ("pay <= 10", 1_200),
        ("pay == 10", 1_200),
        ("pay < 100 and pay > 10", 20_000),
        ("pay >= 100 and sex == True", 436),
    ],
)
def test_what_heaps_at_a_bound_is_meant_by_whoever_asks_for_the_bound(where: str, truth: int) -> None:
    """A bound is one value of its cell, and what lay beyond it counts there."""
    found, contrary = at_bounds(where)
    assert found.value == pytest.approx(truth, abs=30) and found.low <= truth <= found.high
    assert found.value + contrary.value == pytest.approx(22_073, abs=60)


def test_where_nothing_can_heap_a_bound_is_one_value_of_its_cell() -> None:
    """Records beyond the bounds were left out; and at zero, coarse cells cannot tell."""
    assert at_bounds("pay >= 100", "drop")[0].value == pytest.approx(0, abs=10)
    crowded = np.random.default_rng(1).exponential(10.0, 6_000)
    found = release(crowded, scumble.Number(0, 1_000, zeros=False))
    for bound in ("year <= 0", "year >= 1000"):
        assert found.count(bound).value == pytest.approx(0, abs=1e-9)
    assert found.count("year <= 0").high > 1_000


def test_only_a_bound_is_a_number_that_cells_can_tell() -> None:
    found = release(np.linspace(1951, 1989, 6_000), scumble.Number(1950, 1990))
    with pytest.raises(scumble.ParameterError, match="cannot tell a single number"):
        found.count("year == 1960")
    assert found.count("year == 1990").value == pytest.approx(0, abs=1e-9)
