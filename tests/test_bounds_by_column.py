"""Bounds by the names of their columns, wherever a scale may be given so."""

from __future__ import annotations

import argparse

import numpy as np
import pyarrow as pa
import pytest

import scumble
from scumble.cli.options import bounds
from scumble.columns.kinds import in_order
from scumble.errors import ParameterError
from scumble.learn import PrivateKDE

NAMED = {"b": (0, 100), "a": (-1, 1)}
PAIR = ([-1.0, 0.0], [1.0, 100.0])
KERNEL = scumble.EuclideanKernel(1.0, scale={"a": 1.0, "b": 30.0})
TABLE = pa.table({"a": [0.0, 0.5], "b": [3.0, 40.0]})


def test_a_sketch_a_plan_a_build_and_an_estimator_take_them_and_mean_the_pair() -> None:
    named = scumble.Sketch(KERNEL, columns=["a", "b"], bounds=NAMED)
    assert named.spec == scumble.Sketch(KERNEL, columns=["a", "b"], bounds=PAIR).spec
    about = {"n": 10**5, "dimensions": 2, "epsilon": 1.0, "kernel": KERNEL, "columns": ["a", "b"]}
    assert scumble.plan(**about, bounds=NAMED) == scumble.plan(**about, bounds=PAIR)
    made = scumble.build(TABLE, KERNEL, ["a", "b"], bounds=NAMED, design="grid", buckets=64, epsilon=1.0)
    assert made.spec.bounds == tuple(map(tuple, PAIR))
    model = PrivateKDE(bounds=NAMED, rows=1, buckets=64)
    model.feature_names_in_ = np.array(["a", "b"], dtype=object)
    low, high = model._public_bounds(np.zeros((1, 2)))
    assert (low.tolist(), high.tolist()) == PAIR


def test_columns_that_are_no_numbers_need_none() -> None:
    kernel = scumble.EuclideanKernel(1.0, columns=["a"]) * scumble.HammingKernel(columns=["town"])
    assert in_order({"a": (3, 4)}, kernel, ["a", "town"]) == ([3.0, 0.0], [4.0, 1.0])


@pytest.mark.parametrize(
    "given",
    [
        {"a": (0, 1), "b": (0, 1), "c": (0, 1)},
        {"a": (0, 1)},
        *({"a": (0, 1), "b": wrong} for wrong in (7, (1, 2, 3), ("x", 2), (9, 2.5), ("2016-01-01", "2017-01-01"))),
        {"a": (0, float("inf")), "b": (0, 1)},
        (5, 1),
        ([0, 3], [1, 2]),
    ],
)
def test_what_does_not_fit_the_columns_is_refused(given: object) -> None:
    with pytest.raises(ParameterError):
        scumble.Sketch(KERNEL, columns=["a", "b"], bounds=given, rows=4, buckets=8)


def test_without_names_there_is_nothing_to_go_by() -> None:
    with pytest.raises(ParameterError):
        scumble.Sketch(KERNEL, 2, bounds=NAMED)


def test_on_the_command_line_one_pair_stands_for_all_columns() -> None:
    assert bounds("0:100") == (0.0, 100.0)
    assert bounds("a=0:1,b=2:3") == {"a": (0.0, 1.0), "b": (2.0, 3.0)}
    for text in ("0", "0:1:2", "a=0", "0:x"):
        with pytest.raises(argparse.ArgumentTypeError):
            bounds(text)
