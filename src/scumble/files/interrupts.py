"""Signals that ask a program to stop, and when they may.

Ctrl-C (SIGINT), `kill` (SIGTERM) and a closed terminal (SIGHUP) ask for the same thing and are treated alike. Python
raises their exceptions between any two lines. Two kinds of work cannot have that:

`Unbroken`             a few lines on disk that must all be done or none: signals wait until the end.
`PatientInterrupts`    a long pass: the first signal is noted, to be looked at between two batches; the second acts.

Both only replace the handlers for a while, in the main thread; elsewhere Python raises nothing. A handler of theirs
that is called when their time is over passes the signal on: at no moment is one lost, or acts too early.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from functools import partial
from types import FrameType, TracebackType
from typing import Self

STOPS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Stopped(KeyboardInterrupt):
    """What SIGTERM and SIGHUP raise in a program of ours: they behave as Ctrl-C does."""

    number: int = signal.SIGTERM
    done = False
    """Whether everything the program was asked for exists."""

    @staticmethod
    def handler(number: int, _: object, *, done: str = "") -> None:
        """What the operating system calls: raises, in the main thread."""
        stop = Stopped(*[done] * bool(done))
        stop.number, stop.done = number, bool(done)
        raise stop


class Unbroken:
    """While open, signals to stop are kept back; on leaving they act.

    >>> try:
    ...     with Unbroken():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("all of it,")
    ... except KeyboardInterrupt:
    ...     print("and then the signal")
    all of it,
    and then the signal
    """

    _at_once = False

    def __init__(self) -> None:
        self.asked: int | None = None
        self._open = False
        self._before: dict[int, Callable[[int, FrameType | None], object] | int | None] = {}

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._open and not (self._at_once and self.asked is not None):
            self.asked = number
            return
        before = self._before[number]
        if callable(before):
            before(number, frame)
        else:  # SIG_DFL: the process ends here
            signal.signal(number, before)
            os.kill(os.getpid(), number)

    def finish(self, words: str) -> None:
        """The work is done, as these words say: from now on a signal, even one held back, is not a failure."""
        self.asked = None
        self._before = dict.fromkeys(self._before, partial(Stopped.handler, done=words))

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in STOPS:
                before = signal.getsignal(number)
                if before is not None and before is not signal.SIG_IGN:  # what is ignored (nohup) stays ignored
                    self._before[number] = before
                    signal.signal(number, self._note)
        self._open = True
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._open = False
        for number, before in self._before.items():
            signal.signal(number, before)
        if self.asked is not None:
            signal.raise_signal(self.asked)


def finish(words: str) -> None:
    """What was asked for is done: see `Unbroken.finish`."""
    with Unbroken() as steps:
        steps.finish(words)


class PatientInterrupts(Unbroken):
    """While open, the first signal only raises a flag, to be looked at between two batches; the second acts at once."""

    _at_once = True

    def __call__(self) -> bool:
        return self.asked is not None

    def __exit__(self, *problem: type[BaseException] | BaseException | TracebackType | None) -> None:
        if problem[0] is not None:  # it has its own reason to stop
            self.asked = None
        super().__exit__(*problem)
