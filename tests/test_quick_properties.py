"""Any batch through the quick loops equals the reference: Hypothesis looks for one that does not."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import scumble
from scumble.counting import guard, quick
from scumble.kernels import Kernel
from test_quick import check


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_batch_equals_the_reference(data: st.DataObject) -> None:
    columns = data.draw(st.integers(1, 7))
    n = data.draw(st.sampled_from([guard.FEW, guard.FEW + 1, quick.TILE - 1, quick.TILE, quick.TILE + 1]))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    step = data.draw(st.sampled_from([0.1, 0.5, 1.0, 7.0]))
    X = np.round(
        rng.normal(size=(n, columns)) * data.draw(st.sampled_from([0.0, 1.0, 30.0])), data.draw(st.integers(0, 3))
    )
    X += data.draw(st.sampled_from([0.0, -1e3, 1e8]))
    kind = data.draw(st.sampled_from([scumble.EuclideanKernel, scumble.ManhattanKernel]))
    kernel: Kernel = kind(step, power=data.draw(st.integers(1, 3)))
    if data.draw(st.booleans()):
        kernel = kernel * scumble.AngularKernel(power=data.draw(st.integers(1, 3)))
    rows, buckets = data.draw(st.integers(1, 9)), data.draw(st.sampled_from([1, 2, 33, 1024]))
    batch = check(kernel, X, rows=rows, buckets=buckets)  # which asserts that quick and slow agree
    assert batch.spans.shape == (rows, sum(factor.power for factor in kernel.factors)), "and that it was the quick way"
