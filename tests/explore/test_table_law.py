"""The law of a table page's intervals: what it is fitted to, and how often it covers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from scumble.explore.tablelaw import COVERED, law_of, raised
from scumble.views.grouping import Column
from scumble.views.intervals import law_inputs
from scumble.views.mixture import Mixture

LAW = np.array([3.0, 0.8, 0.05, 0.4])


def reading(spread: float = 0.0) -> Any:
    """One whose variances follow a law, up to chance."""
    rng = np.random.default_rng(1)
    sizes = (6, 4, 9, 5, 3)
    model = Mixture(np.full(3, 1 / 3), tuple(rng.dirichlet(np.ones(size), 3) for size in sizes))
    evidence = SimpleNamespace(columns=tuple(Column(size, ordered=size) for size in sizes))

    def variance(condition: Any) -> float:
        inputs = law_inputs(model.share(condition), len(condition[0][1]))
        return float(np.exp(inputs @ LAW + spread * rng.normal()))

    return SimpleNamespace(model=model, evidence=evidence, rehearsed_variance=variance)


def test_a_law_that_holds_is_found_and_raised_a_little() -> None:
    found = law_of(reading(), 0.0, 5)
    assert found - [raised(np.zeros(1), np.ones(1), np.ones(1)), 0, 0, 0] == pytest.approx(LAW, abs=2e-3)  # the ridge's
    assert (law_of(reading(0.5), 0.0, 5) == law_of(reading(0.5), 0.0, 5)).all()  # the same each time


@pytest.mark.parametrize("spread", [0.0, 0.3, 1.0, 2.0])
def test_it_is_raised_until_it_covers(spread: float) -> None:
    rng = np.random.default_rng(2)
    law, known, truth = np.exp(rng.normal(0.7, spread, 500)), rng.uniform(0, 0.5, 500), np.ones(500)
    found = known + np.exp(raised(known, law, truth)) * law
    assert np.mean(2 * ndtr(1.959963984540054 * np.sqrt(found)) - 1) == pytest.approx(COVERED, abs=1e-9)
