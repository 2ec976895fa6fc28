"""Quantiles are found by counts and their errors, and not by the model's shares."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from scumble.schema import Number
from scumble.tabular.answers import Weighed
from scumble.tabular.quantiles import quantile
from scumble.tabular.questions import Question
from scumble.views.estimates import Estimate

LINE = Number(0, 10, cells=10)
ASKED: Any = [(1.0, {})]
EVERYBODY = Question(ASKED, ASKED, ASKED)


class Told:
    """A model that has everybody in the last cell, and counts that say otherwise, with one error up to each cell."""

    def __init__(self, counts: np.ndarray, error: float, own: float = 0.0) -> None:
        self._counts, self._error, self._own = counts, error, own
        shares = np.eye(10)[9]
        self.total, self.shares = Estimate(100.0, 0.0), shares
        self.model = SimpleNamespace(table=lambda columns, asked: shares)

    def nobody(self, asked: Any, place: int, known: np.ndarray, confidence: float) -> bool:
        return bool(self._counts @ known < 0.5)

    def sum(self, asked: Any, place: int, weights: np.ndarray) -> Weighed:
        value = float(weights @ self._counts)
        return Weighed(value, self._error**2, Estimate(value, self._own**2))


def found(told: Told, q: float, confidence: float = 0.95, many: np.ndarray | None = None) -> tuple[float, float, float]:
    sides = told.shares, told.shares if many is None else many
    answer = quantile(told, LINE, 0, EVERYBODY, sides, q, confidence)  # type: ignore[arg-type]
    return answer.value, answer.low, answer.high


def test_counts_decide_and_not_the_models_shares() -> None:
    assert found(Told(np.full(10, 10.0), 0.0), 0.45) == pytest.approx((4.5, 4.0, 5.0))
    assert found(Told(np.array([0.0, 40.0, 0, 0, 0, 0, 0, 0, 0, 60.0]), 0.0), 0.3) == pytest.approx((1.75, 1.0, 2.0))


def test_an_interval_is_where_the_counts_may_reach_the_share() -> None:
    """12.5 records to either side, in cells of ten, of which 25 or less are to be missing: by either reading."""
    for told in (Told(np.full(10, 10.0), 12.5 / 1.96), Told(np.full(10, 10.0), 0.0, own=12.5 / 1.96)):
        assert found(told, 0.5) == pytest.approx((5.0, 3.0, 7.0))
    assert found(Told(np.full(10, 10.0), 12.5 / 1.96), 0.5, confidence=0.9999999) == pytest.approx((5.0, 1.0, 9.0))


def test_the_number_of_all_who_are_meant_is_part_of_the_error() -> None:
    """With noise above all that there is, any value may be the one."""
    assert found(Told(np.full(10, 10.0), 400.0), 0.5) == pytest.approx((5.0, 0.0, 10.0))


def test_whoever_may_be_meant_beside_those_who_surely_are_widens_it() -> None:
    """21 more in the first cell, perhaps: the median then is up to ten records, one cell, lower."""
    many = np.eye(10)[9] + 0.21 * np.eye(10)[0]
    assert found(Told(np.full(10, 10.0), 0.0), 0.5, many=many) == pytest.approx((5.0, 3.0, 5.0))


def test_where_nobody_seems_to_be_there_is_no_quantile() -> None:
    told = Told(np.zeros(10), 1.0)
    for shares in (np.zeros(10), np.eye(10)[9]):  # by the model, or by the counts alone
        told.model = SimpleNamespace(table=lambda columns, asked, shares=shares: shares)
        value, low, high = found(told, 0.5)
        assert math.isnan(value) and (low, high) == (0.0, 10.0)
