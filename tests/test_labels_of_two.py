"""A label that is yes or no needs no list of classes: it has two, and is declared."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import scumble
from scumble.sources import Build
from scumble.sources.tally import Labels

KERNEL = scumble.EuclideanKernel(1.0)
HOW = {"rows": 2, "buckets": 8, "columns": ["x"], "label": "smoker", "booleans": ["smoker"]}


@pytest.mark.parametrize(
    "cells",
    [["yes", "no", "no"], ["TRUE", "false", "False"], ["t", "f", "f"], [1, 0, 0], [True, False, False]],
    ids=str,
)
def test_cells_are_read_as_booleans(cells: list) -> None:
    table = pa.table({"x": [0.0, 1.0, 2.0], "smoker": pa.array(cells)})
    job = Build(table, KERNEL, **HOW)
    assert [sketch.count for sketch in job.count().sketches] == [2, 1]
    assert job.tally.classes == [False, True]
    bundle = scumble.build_by(table, KERNEL, **HOW, epsilon=1.0)
    assert bundle.classes == (False, True) and bundle.label == "smoker" and bundle.spec.kinds == {}
    named = scumble.build_by(table, KERNEL, classes=["yes", "no"], **HOW, epsilon=1.0)
    assert named.classes == ("yes", "no")


def test_bounds_are_of_the_columns_that_are_counted() -> None:
    """A boolean among those has bounds of its own; the label has none."""
    table = pa.table({"x": [0.0, 1.0, 2.0], "smoker": ["yes", "no", "no"]})
    how = {"columns": ["x"], "label": "smoker", "booleans": ["smoker"], "bounds": {"x": (0, 9)}, "epsilon": 1.0}
    assert scumble.build_by(table, KERNEL, **how).spec.bounds == ((0.0,), (9.0,))
    with pytest.raises(scumble.ParameterError, match="names 'smoker', which is none of the columns x"):
        scumble.build_by(table, KERNEL, **{**how, "bounds": {"x": (0, 9), "smoker": (0, 1)}})


def test_a_cell_that_is_neither_is_of_no_class() -> None:
    table = pa.table({"x": [0.0, 1.0, 2.0], "smoker": ["yes", "perhaps", None]})
    with pytest.raises(scumble.DataError, match=r"2 cells are none of the classes: 2 in column 'smoker'"):
        Build(table, KERNEL, **HOW, invalid="error").count()
    job = Build(table, KERNEL, **HOW, invalid="drop")
    assert [sketch.count for sketch in job.count().sketches] == [0, 1] and job.tally.unknown == 2


def test_classes_are_words_for_yes_and_no_and_others_are_listed() -> None:
    for classes in (["yes", True], ["bus"]):
        with pytest.raises(scumble.ParameterError):
            Labels("smoker", classes, boolean=True)
    with pytest.raises(scumble.PrivacyError):
        Labels("smoker", None)


def test_places_are_those_of_the_classes(rng: np.random.Generator) -> None:
    """In whatever order they were listed, many or few."""
    classes = [int(k) for k in rng.permutation(1000)]
    cells = rng.integers(-5, 1005, 3000)
    found = Labels("c", classes).places(pa.record_batch({"c": cells}))
    for cell, place in zip(cells.tolist(), found.tolist(), strict=True):
        assert (classes[place] == cell) if 0 <= cell < 1000 else place == -1
    assert Labels("c", ["a"]).places(pa.record_batch({"c": pa.array(["a", None, "b"])})).tolist() == [0, -1, -1]
