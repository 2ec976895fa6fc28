"""A table's release is refused before it is charged, or made: no plan asks for what its claim does not pay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scumble
from scumble.privacy.budget import Budget
from scumble.table.planner import alone
from scumble.table.sketch import COUNT_SHARE, price

PROMISES: tuple[dict[str, Any], ...] = (
    {"epsilon": 1},
    {"epsilon": 1, "delta": 1e-6},
    {"epsilon": 1, "delta": 1e-9},
    {"epsilon": 300},
    {"epsilon": 1e-5, "delta": 1e-6},
    {"epsilon": 1, "count_share": 0},
    {"epsilon": 1, "delta": 1e-3, "count_share": 0},
    {"rho": 0.02},
    {"mu": 0.2, "delta": 1e-5},
    {"epsilon": 1e-8},
    {"rho": 1e-16},
)
TOO_LITTLE = PROMISES[-2:]
"""Of many columns: refused, for no sampler draws such noise."""


@pytest.mark.filterwarnings("ignore:With about")  # records that bear no pair
@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(2, 12), min_size=1, max_size=7),
    records=st.sampled_from([0, 1, 50, 200, 3000]),
    alike=st.booleans(),
    n=st.sampled_from([None, 1, 50, 3000, 100_000, 2**53]),
    promise=st.sampled_from(PROMISES),
    neighbors=st.sampled_from(["add-remove", "replace"]),
    people=st.sampled_from([1, 3]),
    target=st.booleans(),
)
def test_what_is_charged_is_released(
    sizes: list[int], records: int, alike: bool, promise: dict[str, Any], people: int, target: bool, **options: Any
) -> None:
    cells = np.random.default_rng(records).random((1 if alike else len(sizes), records))
    schema = scumble.Schema({f"c{k}": scumble.Number(0, size - 1, whole=True) for k, size in enumerate(sizes)})
    table = {
        name: np.floor(cells[-k % len(cells)] * size) for k, (name, size) in enumerate(zip(schema, sizes, strict=True))
    }
    sketch = scumble.TableSketch(schema, "c0" if target and len(sizes) > 1 else None).update(table)
    try:
        release = sketch.release(records_per_person=people, **promise, **options)
    except scumble.ParameterError:
        assert promise in TOO_LITTLE and not sketch.secret.closed
    else:
        assert len(release.views) >= len(sizes)


@pytest.mark.parametrize("n", [0, -1, 1.5, "many", float("nan"), 10**400])
def test_what_is_wrong_with_n_is_said_before_the_charge(n: Any) -> None:
    sketch = scumble.TableSketch(scumble.Schema(a=scumble.Boolean(), b=scumble.Boolean()))
    with pytest.raises(scumble.ParameterError, match="n"):
        sketch.release(epsilon=1, n=n)
    assert not sketch.secret.closed


@pytest.mark.parametrize(("epsilon", "delta", "rows"), [(1, 1e-9, 15), (1, 1e-8, 13), (2, 1e-8, 14), (2, 1e-7, 12)])
def test_the_law_is_that_of_the_release(epsilon: float, delta: float, rows: int) -> None:
    """At these sizes the count's share of the budget decides which of the two is the quieter."""
    budget = Budget.of(epsilon, delta, count_share=COUNT_SHARE)
    assert (alone(budget, rows).law == "laplace") == budget.claim(rows).law.pure


@pytest.mark.parametrize("columns", [1, 3])
def test_the_price_is_the_claim_of_the_release(columns: int) -> None:
    sketch = scumble.TableSketch(scumble.Schema({f"c{k}": scumble.Boolean() for k in range(columns)}))
    claim = price(sketch.spec, Budget.of(1, count_share=COUNT_SHARE))
    assert sketch.release(epsilon=1).privacy == claim
    assert claim.scales.count == 100, "a hundredth of ε"
