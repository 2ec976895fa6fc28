"""A column of a cell for each day of forty years: what is asked of it takes room in proportion to its cells."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import scumble

ROOM = 200 * 2**20
"""Bytes. A table of as many rows as columns, of 14,611 each, has 1.7 · 10⁹."""


@pytest.fixture(scope="module")
def days() -> scumble.TableRelease:
    when = np.datetime64("2000-01-01") + np.arange(600) * 6
    schema = scumble.Schema(day=scumble.Date("1990-01-01", "2029-12-31", cells="day", missing=True))
    return scumble.TableSketch(schema).update(pd.DataFrame({"day": when})).release(epsilon=50.0)


@pytest.mark.parametrize(
    "ask",
    [
        lambda found: found.quantile("day", 0.25),
        lambda found: found.histogram("day", bins=10),
        lambda found: found.count("day <= '1990-01-01'"),
        lambda found: found.count("day is missing"),
    ],
)
def test_no_answer_makes_a_table_of_cells_by_cells(
    days: scumble.TableRelease, ask: Callable[[scumble.TableRelease], Any]
) -> None:
    found = scumble.TableRelease.from_bytes(days.to_bytes())  # nothing was asked of it yet
    tracemalloc.start()
    try:
        ask(found)
        assert tracemalloc.get_traced_memory()[1] < ROOM
    finally:
        tracemalloc.stop()
