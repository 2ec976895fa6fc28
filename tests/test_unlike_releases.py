"""Releases that cannot be merged: the cause that is named is the true one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import scumble


def released(columns: list[str], high: float, kernel: Any = None) -> scumble.Release:
    """A grid that has chosen its cells by itself."""
    rng = np.random.default_rng(1)
    table = pa.table({name: rng.uniform(0, 10, 2000) for name in columns})
    return scumble.build(table, kernel or scumble.EuclideanKernel(1.0, 2), bounds=(0.0, high), epsilon=1.0, n=2000)


def test_other_columns_bounds_and_bandwidths_are_named_before_cells() -> None:
    first = released(["x"], 10.0)
    assert first.spec.shape is not None and first.privacy.by_facts
    with pytest.raises(scumble.MergeError) as found:
        first.merge(released(["x", "y"], 10.0))
    told = "Cannot merge: columns is ('x',) here and ('x', 'y') there. Hint: build both with the same parameters."
    assert str(found.value) == told
    with pytest.raises(scumble.MergeError):
        first.merge(released(["x"], 40.0))
    with pytest.raises(scumble.MergeError):
        first.merge(released(["x"], 10.0, scumble.EuclideanKernel(0.5, 2)))


def test_cells_that_each_has_chosen_are_named_and_merge_where_they_are_alike() -> None:
    first = released(["x"], 10.0)
    (cells,) = first.spec.shape or ()

    def with_cells(many: int) -> scumble.Release:
        return first._with(
            spec=replace(first.spec, shape=(many,), buckets=many), counts=np.zeros((1, many)), parts=("other",)
        )

    assert first.merge(with_cells(cells)).spec == scumble.merge([first]).spec == first.spec
    with pytest.raises(scumble.MergeError, match=rf"--buckets {cells} "):
        first.merge(with_cells(cells + 1))
    hashed = scumble.Sketch(first.kernel, columns=["x"], rows=4, buckets=8, seed=first.seed, design="iid").release(1.0)
    spec = replace(hashed.spec, bounds=first.spec.bounds)  # as rows that were made of a grid's cells have
    rows = first._with(spec=spec, counts=hashed.counts, parts=("other",))
    for one, other in ((first, rows), (rows, first)):
        with pytest.raises(scumble.MergeError, match=rf"--buckets {cells} "):
            one.merge(other)
    with pytest.raises(scumble.MergeError):
        first.merge(hashed._with(spec=spec))
