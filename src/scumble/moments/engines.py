"""Where sums are taken: by the processor, or by a CUDA device. The integers are the same.

There is one code for both. CuPy's arrays answer NumPy's functions, and ``like=`` makes new arrays where the records
are; so an engine only brings blocks of records to its memory, and the few sums back. Why they are equal is in
`moments.proof.md`.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import numpy as np

from scumble.counting import gpu
from scumble.errors import ParameterError, parameter

ENGINES = ("auto", "cpu", "gpu")
HASHES = 32
"""How many a processor makes in the time that a cell takes here; with them it is decided what is worth a device."""

EMULATION = "CUBLAS_EMULATE_DOUBLE_PRECISION"
"""Switches on products of float64 that are made of shorter numbers: the proof of exactness is not about those."""


class Engine(Protocol):
    """A memory, and what computes in it."""

    def working(self) -> AbstractContextManager[Any]:
        """Within it, arrays are made in this memory."""

    def upload(self, values: np.ndarray) -> Any:
        """An array in host memory, in this one."""

    def download(self, values: Any) -> np.ndarray:
        """An array in this memory, in the host's."""


class Processor:
    """Host memory."""

    def working(self) -> AbstractContextManager[Any]:
        """Nothing to prepare."""
        return nullcontext()

    def upload(self, values: np.ndarray) -> np.ndarray:
        """Itself."""
        return values

    def download(self, values: np.ndarray) -> np.ndarray:
        """Itself."""
        return values


class Device:
    """The first CUDA device, through CuPy; refused in words where there is none."""

    def __init__(self) -> None:
        self._device = gpu.first_device()

    def working(self) -> AbstractContextManager[Any]:
        """CuPy's current device is this one."""
        device: AbstractContextManager[Any] = self._device
        return device

    def upload(self, values: np.ndarray) -> Any:
        """A copy on the device."""
        import cupy

        return cupy.asarray(values)

    def download(self, values: Any) -> np.ndarray:
        """A copy in host memory."""
        found: np.ndarray = values.get()
        return found


CPU = Processor()


def engine(name: str, cells: int) -> Engine:
    """The engine of that name; ``auto`` takes a GPU where one is there and worth it for so many cells."""
    require_engine(name)
    if name == "gpu" and _emulated():
        raise ParameterError(f"{EMULATION} lets the device round products, which must be exact. Hint: unset it.")
    if name == "gpu" or (name == "auto" and not _emulated() and gpu.suits(HASHES * cells)):
        return Device()
    return CPU


def _emulated() -> bool:
    return os.environ.get(EMULATION, "0") not in ("", "0")


def require_engine(name: str) -> None:
    """Refuse a name that no engine has."""
    if name not in ENGINES:
        raise parameter("engine", f"one of {', '.join(ENGINES)}", name)
