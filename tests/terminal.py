"""Standard error of somebody who waits at a screen."""

from __future__ import annotations

import io
import threading


class Terminal(io.StringIO):
    """A screen that says when something was written."""

    def __init__(self) -> None:
        super().__init__()
        self.told = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.told.set()
        return super().write(text)
