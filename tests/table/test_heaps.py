"""Records beyond the bounds count at them; and what a card says of columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import scumble


def released(pay: np.ndarray, column: scumble.Number, epsilon: float = 2.0) -> scumble.TableRelease:
    table = pa.table({"pay": pay, "sex": np.arange(len(pay)) % 2 == 0})
    return scumble.TableSketch(scumble.Schema(pay=column, sex=scumble.Boolean())).update(table).release(epsilon)


@pytest.fixture(scope="module")
def paid() -> dict[str, scumble.TableRelease]:
    """873 records above the bounds, 1,200 below them, and 20,000 in between."""
    pay = np.concatenate([np.linspace(20, 90, 20_000), np.full(873, 130.0), np.full(1_200, 3.0)])
    return {outside: released(pay, scumble.Number(10, 100, outside=outside), 50.0) for outside in ("clip", "drop")}


@pytest.mark.parametrize(
    ("where", "truth"),
    [
        *(("pay >= 100", 873), ("pay == 100", 873), ("pay > 99.9", 873), ("pay <= 10", 1_200), ("pay == 10", 1_200)),
        *(("pay < 100 and pay > 10", 20_000), ("pay >= 100 and sex == True", 436)),
    ],
)
def test_what_heaps_at_a_bound_belongs_to_a_question_about_the_bound(
    paid: dict[str, scumble.TableRelease], where: str, truth: int
) -> None:
    """A bound is one value of its cell, and what lay beyond it counts there."""
    found, contrary = paid["clip"].count(where), paid["clip"].count(f"not ({where})")
    assert found.value == pytest.approx(truth, abs=30) and found.low <= truth <= found.high
    assert found.value + contrary.value == pytest.approx(22_073, abs=60)


def test_where_nothing_can_heap_a_bound_is_one_value_of_its_cell(paid: dict[str, scumble.TableRelease]) -> None:
    """Records beyond the bounds were left out; and at zero, coarse cells cannot tell."""
    assert paid["drop"].count("pay >= 100").value == pytest.approx(0, abs=10)
    crowded = np.random.default_rng(1).exponential(10.0, 6_000)
    found = released(crowded, scumble.Number(0, 1_000, zeros=False))
    for bound in ("pay <= 0", "pay >= 1000"):
        assert found.count(bound).value == pytest.approx(0, abs=1e-9)
    assert found.count("pay <= 0").high > 1_000


def test_only_a_bound_is_a_number_that_cells_can_tell() -> None:
    found = released(np.linspace(1951, 1989, 6_000), scumble.Number(1950, 1990))
    with pytest.raises(scumble.ParameterError, match="ask for a range"):
        found.count("pay == 1960")
    assert found.count("pay == 1990").value == pytest.approx(0, abs=1e-9)
