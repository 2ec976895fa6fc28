"""What a file at a place is, by its first bytes alone: quick, and of damaged ones too."""

from __future__ import annotations

import json
import os

from scumble.files.rules import KINDS, MAGIC, MAX_HEADER


def is_foreign(path: str | os.PathLike[str]) -> bool:
    """Whether a file that is not scumble's would be lost under this name.

    A link is replaced itself, and what it leads to stays; an empty file is a name that somebody reserved.
    """
    there = os.path.isfile(path) and not os.path.islink(path) and os.path.getsize(path) > 0
    return there and not is_ours(path)


def is_ours(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as scumble's do, be it damaged, secret or of a later version."""
    try:
        with open(path, "rb") as file:
            return file.read(8 + len(MAGIC))[8:] == MAGIC
    except OSError:
        return False


def kind_at(path: str | os.PathLike[str]) -> str | None:
    """Of which kind a file of scumble's calls itself; None if it is none, or too damaged to say."""
    if not os.path.isfile(path):  # a pipe would make us wait
        return None
    try:
        with open(path, "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            kind = json.loads(file.read(min(size, MAX_HEADER)))["__metadata__"]["kind"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return kind if isinstance(kind, str) and kind in KINDS else None
