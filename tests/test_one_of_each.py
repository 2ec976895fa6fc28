"""Where there is one of something, no message speaks of several."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import scumble
from scumble.cli.query import _sentence
from scumble.cli.terminal import words
from scumble.columns.number import Number
from scumble.columns.schema import Schema
from scumble.density.bundle import Bundle
from scumble.errors import many
from scumble.sources import Progress
from scumble.sources.rehearsal import Place
from scumble.table.sketch import TableSketch

ONE = scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=1, buckets=1)


def test_a_plural_is_of_what_is_shown() -> None:
    assert [many(0, "row"), many(1, "row"), many(2, "row")] == ["0 rows", "1 row", "2 rows"]
    assert many(1.2, "record", ",.0f") == "1 record" and many(1.2, "record", ",.3g") == "1.2 records"


def test_one_record_is_near() -> None:
    class Near(SimpleNamespace):
        def interval(self, *_: object) -> tuple[np.ndarray, np.ndarray]:
            return np.array([-9.0]), np.array([11.0])

        def kernel_sum(self, *_: object) -> np.ndarray:
            return np.array([1.0])

        density = kernel_sum

    assert _sentence(None, None, Near(), 0.95).startswith("1 record near (0 to 11, 95%)")
    assert "1 record is near" in str(Place("here", 1.0, 0.5))
    assert "20 records are near" in str(Place("here", 20.0, 0.5))


@pytest.mark.parametrize(
    "told",
    [
        repr(TableSketch(Schema(age=Number(0, 10)))),
        repr(Bundle({"bus": ONE.release(1.0)})),
        words(Progress(1, 1.0, None, None)),
    ],
)
def test_one_of_each_thing_is_one(told: str) -> None:
    assert "1 columns" not in told and "1 views" not in told and "1 releases" not in told and "1 rows " not in told
    assert "pairs are" not in told


def test_errors_count_so_too() -> None:
    with pytest.raises(scumble.DataError, match=r"must have 1 column, got 2"):
        ONE.empty().update(np.zeros((2, 2)))
    with pytest.raises(scumble.DataError, match="1 cell is missing, infinite or too large"):
        scumble.EuclideanKernel(1.0)(np.array([[np.nan]]), np.array([[1.0]]))
