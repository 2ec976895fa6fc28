"""The plan of a table and its release have noise of one law."""

from __future__ import annotations

import numpy as np
import pytest

import scumble
from scumble.privacy.budget import Budget
from scumble.tabular.planner import alone
from scumble.tabular.publishing import COUNT_SHARE


@pytest.mark.parametrize(("epsilon", "delta", "rows"), [(1, 1e-9, 15), (1, 1e-8, 13), (2, 1e-8, 14), (2, 1e-7, 12)])
def test_the_law_is_that_of_the_release(epsilon: float, delta: float, rows: int) -> None:
    """At these sizes the count's share of the budget decides which of the two is the quieter."""
    budget = Budget.of(epsilon, delta, count_share=COUNT_SHARE)
    assert (alone(budget, rows).law == "laplace") == budget.calibrate(rows).law.pure


def test_a_release_at_the_border_of_the_laws_is_made() -> None:
    rng = np.random.default_rng(0)
    schema = scumble.Schema({f"c{k}": scumble.Number(0, 9, whole=True) for k in range(5)})
    table = {name: rng.integers(0, 10, 5000) for name in schema}
    assert scumble.TableSketch(schema).update(table).release(epsilon=1, delta=1e-9).privacy.epsilon <= 1
