"""What every engine promises: discovered by `MODULES`, so a new one is tested by its line there."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import scumble
from scumble.counting import Hasher, cpu, engine, gpu, reference
from scumble.counting.engines import MODULES
from scumble.counting.hasher import family
from scumble.files.compiling import Patience, Ready
from scumble.kernels import Kernel, Records
from scumble.kernels.design import Design

HERE = [name for name in MODULES if name != "gpu" or gpu.available()]
X = np.random.default_rng(3).normal(size=(300, 3))


def sketch(name: str = "auto", kernel: Kernel | None = None, **options: Any) -> scumble.Sketch:
    made = scumble.Sketch(kernel or scumble.EuclideanKernel(1.0, 2), 3, rows=20, buckets=16, engine=name, **options)
    return made.update(X)


@pytest.mark.parametrize("name", HERE)
@pytest.mark.parametrize("kernel", [scumble.ManhattanKernel(0.5, 3), scumble.AngularKernel(5), scumble.HammingKernel()])
def test_every_engine_agrees_to_the_integer(name: str, kernel: Kernel) -> None:
    hasher = Hasher(kernel, Design("sobol", 3, 37), buckets=64, width=3)
    lines = np.arange(37) // 5
    found, wanted = np.zeros((2, 37, 64), np.int64)
    by = engine(name)
    by.count(hasher, [Records(X)], found)
    reference.count(hasher, [Records(X)], wanted)
    np.testing.assert_array_equal(found, wanted)
    some = [Records(X[:50])]
    read, expected = by.sums(hasher, some, wanted), reference.sums(hasher, some, wanted)
    np.testing.assert_array_equal(read, expected)
    np.testing.assert_array_equal(by.sums(hasher, some, wanted, lines), np.add.reduceat(expected, range(0, 37, 5)))
    part = by.sums(hasher.some(slice(8, 21)), some, wanted[8:21].copy())
    np.testing.assert_array_equal(part, expected[8:21])


def test_auto_takes_the_first_that_suits(monkeypatch: pytest.MonkeyPatch) -> None:
    assert engine("auto", 0) is cpu
    monkeypatch.setattr(gpu, "driver_present", lambda: True)
    monkeypatch.setattr(gpu, "available", lambda: 1)
    assert engine("auto", gpu.WORTH_A_DEVICE) is gpu
    assert engine("auto", gpu.WORTH_A_DEVICE - 1) is cpu
    monkeypatch.setattr(gpu, "available", lambda: 0)
    assert engine("auto", gpu.WORTH_A_DEVICE) is cpu
    with pytest.raises(scumble.ParameterError, match="`engine` must be one of auto, cpu, gpu, reference"):
        engine("abacus")


# ---- queries obey it ----


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The engines whose sums were asked for, in order."""
    names: list[str] = []
    for module in (cpu, reference):

        def noted(*arguments: Any, sums: Any = module.sums, name: str = module.__name__) -> np.ndarray:
            names.append(name.rpartition(".")[2])
            return sums(*arguments)

        monkeypatch.setattr(module, "sums", noted)
    return names


@pytest.mark.parametrize("name", ["cpu", "reference"])
def test_queries_of_a_sketch_and_its_release_obey_the_engine(name: str, asked: list[str]) -> None:
    one = sketch(name)
    exact = one.kernel_sum(X[:9])
    release = one.release(1.0)
    answers = release.kernel_sum(X[:9])
    assert asked == [name, name]
    again = scumble.Release.from_bytes(release.to_bytes())
    np.testing.assert_array_equal(again.kernel_sum(X[:9]), answers)
    assert asked == [name, name, "cpu"]  # what was read back has "auto"
    np.testing.assert_array_equal(sketch("auto").kernel_sum(X[:9]), exact)


def test_a_gpu_that_is_asked_for_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few the queries."""
    release = sketch("cpu").release(1.0)
    release._engine = "gpu"
    given: list[Any] = []

    def moments(hasher: Hasher, records: Any, counts: Any, shift: Any, gain: float, blocks: Any) -> Any:
        given.append((np.asarray(counts), shift, gain, blocks))
        return np.arange(4.0), np.ones(4)

    with monkeypatch.context() as patch:
        patch.setattr(gpu, "moments", moments)
        assert release.kernel_sum(X[:4]).tolist() == [0.0, 1.0, 2.0, 3.0]
    (counts, shift, gain, blocks), layout = given[0], release.spec.layout
    np.testing.assert_array_equal(counts, release.counts)
    np.testing.assert_allclose(shift, release.counts.mean(axis=1))
    assert gain == 16 / 15 and blocks is layout.blocks
    if not gpu.available():
        with pytest.raises(scumble.ScumbleError, match="engine='gpu'"):
            release.kernel_sum(X[:4])


class OnDevice:
    """An array in a device's memory, as far as engines see it."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, *arguments: Any, **options: Any) -> np.ndarray:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def get(self) -> np.ndarray:
        return self.values


@pytest.mark.parametrize("name", ["cpu", "reference"])
def test_records_on_a_device_are_brought_to_the_host(name: str) -> None:
    kernel = scumble.EuclideanKernel(1.0)
    hasher = Hasher(kernel, Design("iid", 3, 9), buckets=8, width=3)
    there, here = [Records(OnDevice(X))], [Records(X)]  # type: ignore[arg-type]
    found, wanted = np.zeros((2, 9, 8), np.int64)
    engine(name).count(hasher, there, found)
    engine(name).count(hasher, here, wanted)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(engine(name).sums(hasher, there, wanted), reference.sums(hasher, here, wanted))


# ---- which loops serve which kernel ----


class Halved(scumble.EuclideanKernel):
    """Inherits all but the hash."""

    @staticmethod
    def code(record: np.ndarray, parameters: np.ndarray) -> float:
        return np.floor(parameters[0] + record[0] * parameters[1] / 2.0)

    codes = Kernel.codes


class Renamed(scumble.EuclideanKernel):
    """Also inherits the hash."""


def test_a_class_with_a_hash_of_its_own_is_not_counted_by_its_parents_loop() -> None:
    assert family(Renamed()) == "floor" and family(Halved()) == "python"
    one, other = (sketch(name, Halved(1.0)).contents()[1]["counts"] for name in ("cpu", "reference"))
    np.testing.assert_array_equal(one, other)
    assert np.any(one != sketch("cpu", Renamed(1.0)).contents()[1]["counts"])


# ---- the first records of a process: by NumPy, to the integers of the compiled loops, as long as that pays ----


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
