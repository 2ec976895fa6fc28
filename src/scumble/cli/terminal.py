"""Standard streams: only plain text leaves by them; closed, full or broken ones give the right exit code; progress."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from scumble.errors import ScumbleError, many, readable

if TYPE_CHECKING:
    from typing import BinaryIO, TextIO

    from typing_extensions import Buffer

    from scumble.sources import Progress
    from scumble.sources.spark.counting import Partitions


class PlainText:
    """A text stream on which only text leaves: names and words may come from a hostile file.

    Lines and tabs stay; what else does not print is written as JSON writes it. On no terminal, bytes are exact.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """Write what can be read of it."""
        self.stream.write("\n".join("\t".join(map(readable, line.split("\t"))) for line in text.split("\n")))
        return len(text)

    def redraw(self, line: str) -> None:
        """Replace the line that a terminal shows; a terminal that is gone is no reason to fail."""
        with contextlib.suppress(OSError, ValueError):
            self.stream.write(f"\r\x1b[K{readable(line)}")
            self.stream.flush()

    @property
    def buffer(self) -> BinaryIO | _Screen:
        """Where bytes go."""
        return _Screen(self) if self.stream.isatty() else self.stream.buffer


class _Screen(io.BufferedIOBase):
    """The bytes of a text, such as CSV, on a terminal."""

    def __init__(self, stream: PlainText) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer) -> int:
        self._stream.write(bytes(data).decode(errors="replace"))
        return len(bytes(data))

    def flush(self) -> None:
        self._stream.flush()


def mend() -> None:
    """Let only plain text leave, and take the places of streams that were closed before we began (``>&-``).

    Otherwise the next file to be opened, such as a ledger, would be standard output.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        try:
            os.fstat(number)
        except OSError:
            found = os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)
            if found != number:
                os.dup2(found, number)
                os.close(found)
        raw = io.FileIO(number, "r" if number == 0 else "w", closefd=False)
        if number == 0:
            sys.stdin = io.TextIOWrapper(io.BufferedReader(raw))
        else:
            setattr(sys, name, io.TextIOWrapper(io.BufferedWriter(raw), line_buffering=number == 2))
    # A terminal that does not know ε, or a file's name that is no text, must not stop what is done already.
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.stdout, sys.stderr = PlainText(sys.stdout), PlainText(sys.stderr)


def tell(text: str) -> None:
    """A line on standard error; if that is broken, the work goes on."""
    try:
        print(readable(text), file=sys.stderr)
    except (OSError, ValueError):
        silence(sys.stderr)


def is_broken(problem: BaseException) -> bool:
    """Whether standard output failed: all other errors of the system name a file, or are ours."""
    broken = (errno.EPIPE, errno.ENOSPC, errno.EBADF, errno.EIO, errno.EDQUOT, errno.EFBIG)
    ours = isinstance(problem, ScumbleError)
    return isinstance(problem, OSError) and not ours and problem.filename is None and problem.errno in broken


def silence(stream: TextIO) -> None:
    """Discard what a broken stream still holds: Python would fail on it once more at exit."""
    try:
        number = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)
    except (OSError, ValueError, AttributeError):
        return


# ---- progress, on a terminal only ----

PATIENCE = 2.0
"""Seconds before a line says what is being done."""
ANSWERING = "Computing the answer …"


@contextlib.contextmanager
def waiting(quiet: bool, what: str = ANSWERING) -> Iterator[None]:
    """After `PATIENCE`, say what is being done; the line is cleared in the end."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    announced = threading.Event()

    def announce() -> None:
        announced.set()
        _write(what)

    timer = threading.Timer(PATIENCE, announce)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if announced.is_set():
            _write()


def _write(line: str = "") -> None:
    PlainText(getattr(sys.stderr, "stream", sys.stderr)).redraw(line)


class ProgressLine:
    """Rows, speed, share and time left, a few times a second. The number of rows is for the curator's eyes."""

    def __init__(self, quiet: bool) -> None:
        self._on = not quiet and sys.stderr.isatty()
        self._last = 0.0

    def __call__(self, state: Progress | Partitions) -> None:
        now = time.monotonic()
        if not self._on or now - self._last < 0.2:
            return
        self._last = now
        _write(words(state))

    def close(self) -> None:
        """Clear the line."""
        if self._on and self._last:
            _write()


def words(state: Any) -> str:
    """How far a pass is, in a line; on a cluster, by partitions.

    >>> from scumble.sources import Progress
    >>> words(Progress(1200, 400.0, 0.25, 9.0))
    ' 25%  1,200 rows  400 rows/s  0:00:09 left'
    """
    if hasattr(state, "of"):
        return f"{state.done / state.of:4.0%}  {state.done:,} of {state.of:,} partitions"
    parts = [many(state.rows, "row"), f"{state.rows_per_second:,.0f} rows/s"]
    if state.done is not None:
        parts.insert(0, f"{state.done:4.0%}")
    if state.seconds_left is not None:
        parts.append(f"{timedelta(seconds=round(state.seconds_left))} left")
    return "  ".join(parts)
