"""The first records of a process: by NumPy, to the integers of the compiled loops, and only as long as that pays."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import scumble
from scumble.counting import Hasher, cpu, reference
from scumble.files.compiling import Patience, Ready
from scumble.kernels import Kernel, Records
from scumble.kernels.column import ColumnKernel
from scumble.kernels.design import DESIGNS, Design

KERNELS: list[Kernel] = [
    scumble.EuclideanKernel(0.5, 2),
    scumble.ManhattanKernel(2.0),
    scumble.AngularKernel(5),
    ColumnKernel(1.0),
    scumble.HammingKernel(2),
    scumble.EuclideanKernel(1.0, columns=[0]) * scumble.AngularKernel(2, columns=[1, 2]),
]
numbers = st.floats(-1e6, 1e6) | st.sampled_from([0.0, -0.0, 5e-324, 1e-308, 2.0**31, -(2.0**40), 0.5])


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    X=arrays(np.float64, st.tuples(st.integers(1, 40), st.just(3)), elements=numbers),
    design=st.sampled_from(DESIGNS),
    rows=st.integers(1, 9),
    tile=st.sampled_from([1, 20, 1 << 16]),
)
def test_numpy_counts_and_reads_what_compiled_loops_do(
    kernel: Kernel, X: np.ndarray, design: str, rows: int, tile: int
) -> None:
    hasher = Hasher(kernel, Design(design, 3, rows), buckets=32, width=3)
    records = [Records(np.ascontiguousarray(X[:, which])) for which in hasher.which]
    lines = np.arange(rows) // 2
    found, wanted = np.zeros((2, rows, 32), np.int64)
    assert cpu.has_codes(hasher)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference, "TILE", tile)
        reference.count(hasher, records, found)
        out = reference.sums(hasher, records, found, lines)
    cpu.count(hasher, records, wanted)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(out, cpu.sums(hasher, records, wanted, lines))


class Own(scumble.EuclideanKernel):
    """Its codes for NumPy are not those that the compiled loop computes."""

    name = "own codes"

    def codes(self, records: Records, parameters: np.ndarray) -> np.ndarray:
        return super().codes(records, parameters) + 1.0


class OwnCode(scumble.EuclideanKernel):
    """A hash of its own."""

    name = "own code"

    @staticmethod
    def code(x: np.ndarray, p: np.ndarray) -> float:
        return 0.0


@pytest.mark.parametrize(
    ("kernel", "served"), [(scumble.EuclideanKernel(1.0), True), (Own(1.0), False), (OwnCode(1.0), False)]
)
def test_what_a_record_does_never_depends_on_how_warm_a_process_is(kernel: Kernel, served: bool) -> None:
    hasher = Hasher(kernel, Design("iid", 3, 4), buckets=32, width=3)
    assert cpu.has_codes(hasher) == served


def test_patience_ends_where_the_quicker_way_is_ready_or_would_have_been_by_now() -> None:
    asked: list[int] = []

    def ready(answer: bool) -> Ready:
        return lambda: bool(asked.append(1)) or answer

    patience = Patience(100, 300)
    assert patience.lasts(60, ready(True)) and not asked  # not even looked for
    assert not patience.lasts(60, ready(True)) and asked
    assert patience.lasts(60, ready(False)) and patience.spent == 120
    assert not patience.lasts(180, ready(False)) and patience.lasts(179, ready(False))
    assert not patience.lasts(1, ready(False))


FIRST = """
import sys
import numpy as np, scumble
X = np.random.default_rng(0).normal(size=(1000, 3))
made = scumble.Sketch(scumble.EuclideanKernel(1.0), 3, seed=1, **{options}).update(X)
release = made.release(1.0)
release.kernel_sum(X[:3]), release.interval(X[:3])
print("numba" in sys.modules)
"""


@pytest.mark.parametrize(
    "options",
    [{"rows": 100, "buckets": 64}, {"bounds": ([-4.0] * 3, [4.0] * 3), "design": "grid"}],
    ids=["rows", "a planned grid"],
)
def test_a_first_result_compiles_nothing(options: dict[str, Any]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST.format(options=options)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
