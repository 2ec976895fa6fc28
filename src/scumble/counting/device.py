"""Tables that already lie on a GPU: CuPy, PyTorch, JAX, without a copy, through DLPack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scumble.errors import DataError, ScumbleError
from scumble.kernels import Records

_CUDA = 2  # DLPack's number for CUDA devices


def on_device(X: Any) -> bool:
    """Whether X lies in the memory of a CUDA device. Looks only; imports nothing."""
    where = None if isinstance(X, np.ndarray) else getattr(X, "__dlpack_device__", None)
    return where is not None and int(where()[0]) == _CUDA


def device_table(X: Any) -> DeviceTable:
    """A matrix on a device, as the kernels read tables."""
    try:
        import cupy
    except ImportError:
        raise ScumbleError(
            "The table lies on a GPU, and CuPy is not installed. "
            "Hint: pip install 'scumble[gpu]', or pass a copy in host memory."
        ) from None
    return DeviceTable(cupy.from_dlpack(X), cupy)


def to_host(values: Any) -> np.ndarray:
    """An array in host memory: itself, or a copy of one on a device."""
    return values if isinstance(values, np.ndarray) else values.get()


def on_host(records: Sequence[Records]) -> Sequence[Records]:
    """Records in host memory: themselves, or copies of those on a device."""
    if all(isinstance(part.values, np.ndarray) for part in records):
        return records
    return [Records(to_host(part.values), part.offsets) for part in records]


class DeviceTable:
    """The part of :class:`scumble.tables.Table` that numbers on a device can play."""

    names = None

    def __init__(self, values: Any, cupy: Any) -> None:
        if values.ndim != 2:
            raise DataError(
                f"A table on a GPU must have two axes, got {values.ndim}. Hint: reshape it to (records, columns)."
            )
        if values.dtype.kind not in "fiub":
            raise DataError(f"A table on a GPU must hold real numbers, got {values.dtype}.")
        self._values, self._cupy = values, cupy
        self.rows, self.width = values.shape

    def numeric(self, which: Sequence[int]) -> Any:
        """(rows, columns) in double precision, still on the device."""
        values = self._values if list(which) == list(range(self.width)) else self._values[:, list(which)]
        return values.astype(self._cupy.float64, copy=False)

    def categories(self, which: Sequence[int]) -> Any:
        """Refused: categories are hashed on the host."""
        raise DataError("Categories are hashed on the host. Hint: pass a copy of the table in host memory.")

    def tokens(self, which: Sequence[int]) -> Any:
        """Refused: token sets are hashed on the host."""
        raise DataError("Token sets are hashed on the host. Hint: pass a copy of the table in host memory.")
