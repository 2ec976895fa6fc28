"""What every engine offers, and how one is chosen. A new engine is one file, and one line in `MODULES`.

An engine is a module with the functions of :class:`Engine`. All engines agree: counters, and sums of counters, are
equal to the integer. ``reference`` is the oracle that tests compare the others with, discovered by `MODULES`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, cast

import numpy as np

from scumble.counting.hasher import Hasher
from scumble.errors import DataError, ScumbleError, parameter
from scumble.kernels import Records

MODULES = {"gpu": "scumble.counting.gpu", "cpu": "scumble.counting.cpu", "reference": "scumble.counting.reference"}
"""The engines by name, each imported when first asked for. ``auto`` takes the first that suits the work."""

ENGINES = ("auto", *sorted(MODULES))


class Engine(Protocol):
    """From records to counters, and back.

    Records may lie in host memory or on a CUDA device; an engine brings them to where it works. `threads` is how many
    to use, None for as many as there are cores; engines without threads ignore it.
    """

    def suits(self, work: int) -> bool:
        """Whether ``auto`` may take this engine here, for so many hashes in one batch."""

    def count(self, hasher: Hasher, records: Sequence[Records], counts: np.ndarray, threads: int | None = None) -> None:
        """Add each record to one counter of every row of `counts`, in place."""

    def sums(
        self,
        hasher: Hasher,
        records: Sequence[Records],
        counts: np.ndarray,
        lines: np.ndarray | None = None,
        threads: int | None = None,
    ) -> np.ndarray:
        """(lines, n): the counters that each record falls into, added up over the rows of each line.

        `lines` has the ascending number of each row's line; by default, each row is a line.
        """


if TYPE_CHECKING:
    from scumble.counting import cpu, gpu, reference

    _: tuple[Engine, ...] = (cpu, gpu, reference)


def engine(name: str, work: int = 0) -> Engine:
    """The engine of that name; ``auto`` takes a GPU where one is there and worth it for so many hashes."""
    if name == "auto":
        return next(found for found in map(_loaded, MODULES) if found.suits(work))
    if name not in MODULES:
        raise parameter("engine", f"one of {', '.join(ENGINES)}", name)
    return _loaded(name)


@cache
def _loaded(name: str) -> Engine:
    return cast(Engine, import_module(MODULES[name]))


OnDevice = Any
"""An array or another object of CuPy, which has no types."""
_CUDA = 2  # DLPack's number for CUDA devices


def on_device(X: OnDevice) -> bool:
    """Whether X lies in the memory of a CUDA device. Looks only; imports nothing."""
    where = None if isinstance(X, np.ndarray) else getattr(X, "__dlpack_device__", None)
    return where is not None and int(where()[0]) == _CUDA


def device_table(X: OnDevice) -> DeviceTable:
    """A matrix on a device, as the kernels read tables."""
    try:
        import cupy
    except ImportError:
        raise ScumbleError("A table on a GPU needs CuPy. Hint: pip install 'scumble[gpu]', or pass a copy.") from None
    return DeviceTable(cupy.from_dlpack(X), cupy)


def to_host(values: OnDevice) -> np.ndarray:
    """An array in host memory: itself, or a copy of one on a device."""
    return values if isinstance(values, np.ndarray) else values.get()


def on_host(records: Sequence[Records]) -> Sequence[Records]:
    """Records in host memory: themselves, or copies of those on a device."""
    if all(isinstance(part.values, np.ndarray) for part in records):
        return records
    return [Records(to_host(part.values), part.offsets) for part in records]


class DeviceTable:
    """The part of :class:`scumble.columns.table.Table` that numbers on a device can play."""

    names = None

    def __init__(self, values: OnDevice, cupy: OnDevice) -> None:
        if values.ndim != 2:
            raise DataError(f"A table on a GPU must have two axes, got {values.ndim}. Hint: (records, columns).")
        if values.dtype.kind not in "fiub":
            raise DataError(f"A table on a GPU must hold real numbers, got {values.dtype}.")
        self._values, self._cupy = values, cupy
        self.rows, self.width = values.shape

    def numeric(self, which: Sequence[int]) -> OnDevice:
        """(rows, columns) in double precision, still on the device."""
        values = self._values if list(which) == list(range(self.width)) else self._values[:, list(which)]
        return values.astype(self._cupy.float64, copy=False)

    def categories(self, which: Sequence[int]) -> NoReturn:
        """Refused."""
        raise DataError("Words are hashed on the host. Hint: pass a copy of the table in host memory.")

    tokens = categories
