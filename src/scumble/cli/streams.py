"""Standard streams: nothing but plain text leaves by them; if closed, full or broken, they have the right exit code."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from typing import Any

from scumble.errors import ScumbleError, readable


class PlainText:
    """A text stream on which nothing but text leaves: names and words may come from a hostile file.

    Lines and tabs stay. All else that does not print is written as JSON writes it, so that JSON means the same. The
    bytes of a `buffer` are exact, as programs want them, unless a person sees them.
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """Write what can be read of it."""
        self.stream.write("\n".join("\t".join(map(readable, line.split("\t"))) for line in text.split("\n")))
        return len(text)

    def redraw(self, line: str) -> None:
        """In the place of the line that a terminal shows; a terminal that is gone is no reason to fail."""
        with contextlib.suppress(OSError, ValueError):
            self.stream.write(f"\r\x1b[K{readable(line)}")
            self.stream.flush()

    @property
    def buffer(self) -> Any:
        """Where bytes go."""
        return _Screen(self) if self.stream.isatty() else self.stream.buffer


class _Screen(io.BufferedIOBase):
    """The bytes of a text, such as CSV, that somebody looks at."""

    def __init__(self, stream: PlainText) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._stream.write(bytes(data).decode(errors="replace"))
        return len(data)

    def flush(self) -> None:
        self._stream.flush()


def mend() -> None:
    """Let nothing but plain text leave, and take the places of streams that were closed before we began (``>&-``).

    Else the next file to be opened, a ledger perhaps, would be standard output. What is written to a closed standard
    output fails; what is said on a closed standard error is gone; a closed standard input is empty.
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
    """A line for the person at the terminal; if nobody can hear it, the work is none the worse for that."""
    try:
        print(readable(text), file=sys.stderr)
    except (OSError, ValueError):
        silence(sys.stderr)


def is_broken(problem: BaseException) -> bool:
    """Whether it is standard output that failed: all other errors of the system name a file, or are told in words."""
    broken = (errno.EPIPE, errno.ENOSPC, errno.EBADF, errno.EIO, errno.EDQUOT, errno.EFBIG)
    return (
        isinstance(problem, OSError)
        and not isinstance(problem, ScumbleError)
        and problem.filename is None
        and problem.errno in broken
    )


def silence(stream: Any) -> None:
    """Let what a broken stream still holds go nowhere: Python would fail of it once more at the end."""
    try:
        number = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)
    except (OSError, ValueError, AttributeError):
        return
