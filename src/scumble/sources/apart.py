"""An output is never an input: by what files *are*, not by what they are called.

Before anything is read, every file to be written is compared with every file to be read, charged or kept, and with
the other outputs. Two names are one file if they have the same device and number (links of both kinds, `..`, other
spellings on disks that ignore case), or, where there is no file yet, if they stand in the same folder under the same
name. What is read may also be a folder, a pattern, a database with its journals, or what standard input comes from.
"""

from __future__ import annotations

import contextlib
import fnmatch
import glob
import os
import stat
import sys
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from scumble.errors import ParameterError
from scumble.sources.paths import kind_of

JOURNALS = ("-journal", "-wal", "-shm", ".wal")
"""What SQLite keeps beside a database."""


def require_apart(outputs: Mapping[str, str], inputs: Mapping[str, Iterable[str]], *, every: bool = False) -> None:
    """Refuse an output that is one of the inputs, lies among them, or is another output.

    The keys are what messages call them. `every`: all files of a folder are read, not only those with a table's name.
    """
    written: dict[tuple[Any, ...], str] = {}
    for flag, path in outputs.items():
        here = _marks(path, output=True)
        for other, sources in inputs.items():
            for source in sources:
                if any(mark in here for name in _names(source) for mark in _marks(name)):
                    raise ParameterError(
                        f"{flag} {path!r} is what {other} reads: it would be overwritten. Hint: name another file."
                    )
                if path != "-" and _among(path, source, every):
                    raise ParameterError(
                        f"{flag} {path!r} lies among the files that {other} {source!r} reads. "
                        "Hint: write it to another folder."
                    )
        for mark in here:
            if mark in written:
                raise ParameterError(f"{written[mark]} and {flag} are the same file, {path!r}. Hint: name two files.")
        written |= dict.fromkeys(here, flag)


def require_file(flag: str, path: str) -> None:
    """Refuse devices, pipes and no name at all: a file takes its name by a rename, which would replace them."""
    if not path:
        raise ParameterError(f"{flag} names no file. Hint: '-' is standard output.")
    with contextlib.suppress(OSError):
        real = os.path.realpath(path)
        mode = os.stat(path).st_mode
        odd = not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
        if odd or real.startswith(("/proc/", "/dev/fd/")) or os.path.abspath(path).startswith(("/dev/std", "/dev/fd/")):
            raise ParameterError(f"{flag} {path!r} is not a regular file. Hint: '-' is standard output.")


def database_file(source: str) -> str | None:
    """The file of an address of SQLite or DuckDB."""
    scheme, mark, rest = source.partition("://")
    return rest[1:] if mark and scheme.lower() in ("sqlite", "duckdb") and rest.startswith("/") else None


def _names(source: str) -> list[str]:
    """All files that one word of the command line stands for."""
    file = database_file(source)
    if file is not None:
        return [file, *(file + end for end in JOURNALS)]
    if source == "-" or ("://" in source and not os.path.lexists(source)):
        return [source] if source == "-" else []
    if not os.path.lexists(source) and glob.has_magic(source):
        return glob.glob(source, recursive=True)
    return [source]


def _marks(path: str, *, output: bool = False) -> set[tuple[Any, ...]]:
    """What a path is: the file there, if there is one, and the place, whatever its spelling."""
    if path == "-":
        return _stream(sys.stdout if output else sys.stdin)
    marks: set[tuple[Any, ...]] = set()
    with contextlib.suppress(OSError, ValueError):
        about = os.stat(path)
        if not stat.S_ISDIR(about.st_mode):
            marks.add((about.st_dev, about.st_ino))
    for name in {os.path.abspath(path), os.path.realpath(path)}:
        with contextlib.suppress(OSError, ValueError):
            folder = os.stat(os.path.dirname(name))
            spelt = unicodedata.normalize("NFC", os.path.basename(name)).casefold()
            marks.add((folder.st_dev, folder.st_ino, spelt))
    return marks


def _stream(stream: Any) -> set[tuple[Any, ...]]:
    """The file that a standard stream comes from or goes to."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        about = os.fstat(stream.fileno())
        if stat.S_ISREG(about.st_mode):
            return {(about.st_dev, about.st_ino)}
    return set()


def _among(path: str, source: str, every: bool) -> bool:
    """Whether a file of this name would be read as part of a folder or a pattern, from now on or next time."""
    name = os.path.realpath(path)
    if os.path.isdir(source):
        inside = os.path.relpath(name, os.path.realpath(source)).split(os.sep)
        if inside[0] != os.pardir and not any(part.startswith((".", "_")) for part in inside):
            return every or bool(kind_of(name)[0])
        return _linked_into(path, source)
    if os.path.lexists(source) or not glob.has_magic(source) or "://" in source:
        return False
    folder, pattern = os.path.split(source)
    if "**" in folder:
        root = os.path.realpath(folder.split("**")[0] or ".")
        return name.startswith(os.path.join(root, "")) and fnmatch.fnmatch(os.path.basename(name), pattern)
    return fnmatch.fnmatch(name, os.path.join(os.path.realpath(folder or "."), pattern)) and os.path.dirname(
        name
    ).count(os.sep) == os.path.realpath(folder or ".").count(os.sep)


def _linked_into(path: str, folder: str) -> bool:
    """Whether a file has another name (a hard link) inside a folder."""
    try:
        about = os.stat(path)
    except OSError:
        return False
    if about.st_nlink < 2 or stat.S_ISDIR(about.st_mode):
        return False
    for root, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                if os.path.samestat(about, os.stat(os.path.join(root, name))):
                    return True
    return False
