"""Ctrl-C without half-counted batches."""

from __future__ import annotations

import signal
import threading
from types import TracebackType
from typing import Any


class PatientInterrupts:
    """While open, the first Ctrl-C only raises a flag, to be looked at between two batches; the second acts at once."""

    def __init__(self) -> None:
        self.asked = False
        self._before: Any = None
        # Only the main thread may say what signals do; elsewhere, and where Ctrl-C is ignored, all stays as it is.
        self._mine = threading.current_thread() is threading.main_thread()

    def __call__(self) -> bool:
        return self.asked

    def _note(self, *_: object) -> None:
        self.asked = True
        signal.signal(signal.SIGINT, self._before)

    def __enter__(self) -> PatientInterrupts:
        if self._mine:
            self._before = signal.getsignal(signal.SIGINT)
            self._mine = self._before not in (None, signal.SIG_IGN)
        if self._mine:
            signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._mine:
            signal.signal(signal.SIGINT, self._before)
