"""Standard streams that are closed, full or broken: the right exit code and one line, and nothing written elsewhere."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any

from scumble.errors import ScumbleError


def mend() -> None:
    """Take the places of streams that were closed before we began (``>&-``).

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


def tell(text: str) -> None:
    """A line for the person at the terminal; if nobody can hear it, the work is none the worse for that."""
    try:
        print(text, file=sys.stderr)
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
