"""Arrays that lie elsewhere, in NumPy: as strict as CuPy's, so that what runs on them runs on a device.

They answer NumPy's functions, and refuse to meet NumPy's own arrays or to become some unasked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

ANSWERED = {np.arange, np.asarray, np.bincount, np.clip, np.column_stack, np.concatenate, np.searchsorted, np.zeros}
"""What is not an elementwise function, and CuPy answers as NumPy does; not `full`, whose options differ."""


class Foreign(NDArrayOperatorsMixin):
    """An array that lies elsewhere."""

    def __init__(self, held: np.ndarray) -> None:
        self.held = held

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        assert method == "__call__"
        if "out" in options:
            options["out"] = tuple(_held(one) for one in options["out"])
        return _foreign(ufunc(*map(_held, inputs), **options))

    def __array_function__(self, function: Callable[..., Any], _: Any, inputs: Any, options: Any) -> Any:
        assert function in ANSWERED, function
        if function is np.asarray:  # which uploads
            return Foreign(np.array(*inputs, **options))
        return _foreign(function(*map(_held, inputs), **{name: _held(value) for name, value in options.items()}))

    def __len__(self) -> int:
        return len(self.held)

    def __iter__(self) -> Iterator[Foreign]:
        return map(Foreign, self.held)

    def __getitem__(self, place: Any) -> Any:
        return _foreign(self.held[_held(place)])

    def __setitem__(self, place: Any, value: Any) -> None:
        self.held[_held(place)] = _held(value)

    @property
    def T(self) -> Foreign:
        return Foreign(self.held.T)

    def astype(self, kind: type, copy: bool = True) -> Foreign:
        return Foreign(self.held.astype(kind, copy=copy))

    def sum(self, axis: int) -> Foreign:
        return _foreign(self.held.sum(axis=axis))

    def max(self, axis: int) -> Foreign:
        return _foreign(self.held.max(axis=axis))


class Elsewhere:
    """An engine of moments whose memory is not the host's."""

    def working(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def upload(self, values: np.ndarray) -> Foreign:
        return Foreign(values.copy())

    def download(self, values: Foreign) -> np.ndarray:
        assert isinstance(values, Foreign)
        return values.held


def _held(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        raise TypeError("A NumPy array meets one that lies elsewhere.")
    if isinstance(value, list | tuple):
        return type(value)(map(_held, value))
    return value.held if isinstance(value, Foreign) else value


def _foreign(value: Any) -> Any:
    return Foreign(np.asarray(value))
