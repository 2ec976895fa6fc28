"""Arrays that a thread works in, step after step.

Large temporaries, made and dropped at every step, are fetched from the system and given back each time, page by page,
and partly while no other thread can enter the interpreter.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt


class Room(threading.local):
    """Arrays by type and number, each as large as was asked for at most; every thread has its own.

    >>> room = Room()
    >>> room.of(np.bool_, 3).base is room.of(np.bool_, 2).base
    True
    """

    def __init__(self) -> None:
        self._arrays: dict[tuple[type, int], npt.NDArray[Any]] = {}

    def of(self, kind: type, size: int, number: int = 0) -> npt.NDArray[Any]:
        """This thread's array of that type and number, with whatever it holds."""
        found = self._arrays.get((kind, number))
        if found is None or len(found) < size:
            found = self._arrays[kind, number] = np.empty(size, kind)
        return found[:size]

    def floats(self, size: int, many: int) -> list[npt.NDArray[np.float64]]:
        """So many arrays of numbers."""
        return [self.of(np.float64, size, number) for number in range(many)]

    def __repr__(self) -> str:
        return "Room(secret)"
