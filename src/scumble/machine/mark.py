"""Which file an open file is: the number that its file system gave it, and the moment it was made.

A number alone is not enough. It is free again when the file is gone, and many file systems give it to the very next
file: a copy that is put back where the original was would pass for it. Nobody can choose when a file was made.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

_HERE, _BIRTH = 0x1000, 0x800  # AT_EMPTY_PATH, STATX_BTIME
_MASK, _SECONDS = struct.Struct("=I"), struct.Struct("=qI")
_BIRTH_AT, _SIZE = 80, 256  # bytes: where `stx_btime` is in `struct statx`, and how large that is


def mark_of(descriptor: int) -> str:
    """What tells this file from all others of its file system, copies and successors included."""
    about = os.fstat(descriptor)
    born = _born(descriptor) if sys.platform == "linux" else getattr(about, "st_birthtime", None)
    return f"{about.st_ino}" if born is None else f"{about.st_ino} of {born}"


def _born(descriptor: int) -> str | None:
    """When the file was made, which Python's own `stat` does not tell on Linux; None where nobody knows."""
    ask = getattr(ctypes.CDLL(None), "statx", None)
    answer = ctypes.create_string_buffer(_SIZE)
    if ask is None or ask(descriptor, b"", _HERE, _BIRTH, answer) != 0 or not _MASK.unpack_from(answer)[0] & _BIRTH:
        return None
    seconds, nanoseconds = _SECONDS.unpack_from(answer, _BIRTH_AT)
    return f"{seconds}.{nanoseconds:09}"
