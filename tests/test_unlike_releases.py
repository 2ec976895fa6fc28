"""Releases that cannot be merged: the cause that is named is the true one."""

from __future__ import annotations

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
    with pytest.raises(scumble.MergeError, match=r"^Cannot merge: bounds is .*10\.0.* here and .*40\.0"):
        first.merge(released(["x"], 40.0))
    with pytest.raises(scumble.MergeError, match=r"^Cannot merge: kernel is "):
        first.merge(released(["x"], 10.0, scumble.EuclideanKernel(0.5, 2)))
