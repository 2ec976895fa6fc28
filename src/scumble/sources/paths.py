"""From what the user wrote to a list of files: names, folders, hive partitions, globs."""

from __future__ import annotations

import contextlib
import fnmatch
import glob
import os
import re
import stat
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TextIO, TypeAlias
from urllib.parse import unquote

from scumble.errors import DataError, ParameterError, parameter
from scumble.files.disk import near_file
from scumble.files.format import MAGIC

_ENDINGS = {
    "csv": (".csv", ".tsv", ".tab", ".txt"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".arrows", ".ipc", ".feather"),
    "json": (".jsonl", ".ndjson", ".json"),
    "excel": (".xlsx", ".xlsm"),
}
EXTENSIONS = {ending: format for format, endings in _ENDINGS.items() for ending in endings}
FORMATS = tuple(_ENDINGS)
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4"}
READS = "Hint: scumble reads CSV, Parquet, Arrow/Feather, JSON lines and Excel; name others with --format."

_PARTITION = re.compile(r"([^=/]+)=([^/]*)")
_NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class File:
    """One file of a source."""

    path: str
    """Where it is; "-" is standard input."""
    name: str
    """Its name in messages."""
    format: str
    compression: str | None = None
    size: int = 0
    partition: dict[str, str | None] = field(default_factory=dict)
    """Columns from folder names: ``year=2020/``."""


def find_files(source: str | Sequence[str], format: str | None = None) -> list[File]:
    """The files of a name, a folder, a glob or a list of these, in a fixed order."""
    if format is not None and format not in FORMATS:
        raise parameter("format", f"one of {', '.join(FORMATS)}", format)
    names = [source] if isinstance(source, str) else list(source)
    if not names:
        raise parameter("source", "at least one file", names)
    if "-" in names and len(names) > 1:
        raise ParameterError("Standard input ('-') cannot be read together with files. Hint: pass one of them.")
    found = [file for name in names for file in _one_name(name, format)]
    kinds = sorted({file.format for file in found})
    if len(kinds) > 1:
        quoted = ", ".join(map(repr, names[:3])) + " and more" * (len(names) > 3)
        raise DataError(f"{quoted} holds {', '.join(kinds)} files. Hint: choose one, as by 'folder/*.parquet'.")
    return found


def _one_name(name: str, format: str | None) -> list[File]:
    if name == "-":
        return [File("-", "standard input", format or "", None)]
    if os.path.isdir(name):
        return _folder(name, format)
    if os.path.lexists(name):
        return [_file(name, format)]
    if glob.has_magic(name):
        matches = sorted(path for path in glob.glob(name, recursive=True) if not os.path.isdir(path))
        if not matches:
            raise DataError(f"No file matches {name!r}. Hint: check the pattern; quote it in a shell.")
        return [_file(path, format) for path in matches]
    folder = os.path.dirname(name) or "."
    if not os.path.isdir(folder):
        raise DataError(f"There is no folder {folder!r}. Hint: check the path.")
    raise DataError(f"There is no file {name!r}.{near_file(name, lambda one: kind_of(one)[0])} Hint: check the path.")


def _folder(root: str, format: str | None) -> list[File]:
    found = []
    for folder, inner, names in os.walk(root):
        inner[:] = sorted(one for one in inner if not one.startswith((".", "_")))
        for name in sorted(names):
            path = os.path.join(folder, name)
            if name.startswith((".", "_")) or not (format or kind_of(name)[0]):
                continue
            found.append(_file(path, format, root))
    if not found:
        raise DataError(f"The folder {root!r} holds no table. {READS}")
    return found


def _file(path: str, format: str | None, root: str | None = None) -> File:
    known, compression = kind_of(path)
    if any("\udc80" <= letter <= "\udcff" for letter in path):  # pyarrow takes UTF-8 names only
        raise DataError(f"The name {path!r} is not UTF-8. Hint: rename the file, or pipe it into '-', standard input.")
    try:
        about = os.stat(path)
    except OSError as error:
        raise cannot_open(path, error) from None
    if not stat.S_ISREG(about.st_mode):  # a pipe cannot be read twice
        raise DataError(f"{path!r} is not a regular file. Hint: pipe it into '-', standard input.")
    inside = os.path.dirname(os.path.relpath(path, root)).replace(os.sep, "/") if root is not None else ""
    partition = {key: None if value == _NO_PARTITION else unquote(value) for key, value in _PARTITION.findall(inside)}
    if not (format or known):
        try:
            with open(path, "rb") as file:
                known = format_of(file.read(512))
        except OSError as error:
            raise cannot_open(path, error) from None
    return File(path, path, format or known, compression, about.st_size, partition)


def kind_of(name: str) -> tuple[str, str | None]:
    """Format and compression by the name's endings; the format is "" if unknown."""
    stem, end = os.path.splitext(name.lower())
    compression = COMPRESSIONS.get(end)
    if compression:
        end = os.path.splitext(stem)[1]
    return EXTENSIONS.get(end, ""), compression


def format_of(head: bytes) -> str:
    """The format by a file's first bytes."""
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):  # zip, and Excel before 2007
        raise DataError("This is an archive or an old Excel file. Hint: unpack it; save sheets as .xlsx or CSV.")
    if head[8:].startswith(MAGIC):
        raise DataError("This is a file of scumble's own, not a table. Hint: scumble info shows what it is.")
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return "json"
    return "csv"


def cannot_open(path: str, error: OSError) -> DataError:
    """Why a file cannot be opened."""
    if isinstance(error, PermissionError):
        return DataError(f"You may not read {path!r}. Hint: ask its owner, or chmod u+r it.")
    if isinstance(error, FileNotFoundError):
        return DataError(f"There is no file {path!r}. Hint: check the path.")
    return DataError(f"Cannot read {path!r}: {(error.strerror or type(error).__name__).lower()}.")


Mark: TypeAlias = tuple[int | str, ...]
"""What a file is known by: its device and inode, or those of its folder and its name."""
JOURNALS = ("-journal", "-wal", "-shm", ".wal")
"""Endings of the files that databases keep next to their own."""


def require_apart(outputs: Mapping[str, str], inputs: Mapping[str, Iterable[str]], *, every: bool = False) -> None:
    """Refuse an output that is one of the inputs, lies among them, or is another output.

    The keys are their names in messages. With `every`, all files of a folder are read, not only known formats.
    """
    written: dict[Mark, str] = {}
    for flag, path in outputs.items():
        here = _marks(path, output=True)
        for other, sources in inputs.items():
            for source in sources:
                if any(mark in here for name in _names(source) for mark in _marks(name)):
                    raise ParameterError(f"{flag} {path!r} would overwrite what {other} reads. Hint: another file.")
                if path != "-" and _among(path, source, every):
                    raise ParameterError(f"{flag} {path!r} lies among {other} {source!r}. Hint: another folder.")
        for mark in here:
            if mark in written:
                raise ParameterError(f"{written[mark]} and {flag} are the same file, {path!r}. Hint: name two files.")
        written |= dict.fromkeys(here, flag)


def require_file(flag: str, path: str) -> None:
    """Refuse devices, pipes and an empty name: a rename would replace them."""
    if not path:
        raise ParameterError(f"{flag} names no file. Hint: '-' is standard output.")
    with contextlib.suppress(OSError):
        real = os.path.realpath(path)
        mode = os.stat(path).st_mode
        odd = not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
        if odd or real.startswith(("/proc/", "/dev/fd/")) or os.path.abspath(path).startswith(("/dev/std", "/dev/fd/")):
            raise ParameterError(f"{flag} {path!r} is not a regular file. Hint: '-' is standard output.")


def database_file(source: str) -> str | None:
    """The file of a SQLite or DuckDB address."""
    scheme, mark, rest = source.partition("://")
    return rest[1:] if mark and scheme.lower() in ("sqlite", "duckdb") and rest.startswith("/") else None


def _names(source: str) -> list[str]:
    """All files that one argument means."""
    file = database_file(source)
    if file is not None:
        return [file, *(file + end for end in JOURNALS)]
    if source == "-" or ("://" in source and not os.path.lexists(source)):
        return [source] if source == "-" else []
    if not os.path.lexists(source) and glob.has_magic(source):
        return glob.glob(source, recursive=True)
    return [source]


def _marks(path: str, *, output: bool = False) -> set[Mark]:
    """The identity of a path: its file, if there is one, and its folder and name."""
    if path == "-":
        return _stream(sys.stdout if output else sys.stdin)
    marks: set[Mark] = set()
    with contextlib.suppress(OSError, ValueError):
        about = os.stat(path)
        if not stat.S_ISDIR(about.st_mode):
            marks.add((about.st_dev, about.st_ino))
    for name in {os.path.abspath(path), os.path.realpath(path)}:
        with contextlib.suppress(OSError, ValueError):
            folder = os.stat(os.path.dirname(name))
            plain = unicodedata.normalize("NFC", os.path.basename(name)).casefold()
            marks.add((folder.st_dev, folder.st_ino, plain))
    return marks


def _stream(stream: TextIO) -> set[Mark]:
    """The file behind a standard stream."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        about = os.fstat(stream.fileno())
        if stat.S_ISREG(about.st_mode):
            return {(about.st_dev, about.st_ino)}
    return set()


def _among(path: str, source: str, every: bool) -> bool:
    """Whether a file of this name would be read as part of a folder or a pattern, now or next time."""
    name = os.path.realpath(path)
    if os.path.isdir(source):
        inside = os.path.relpath(name, os.path.realpath(source)).split(os.sep)
        if inside[0] != os.pardir and not any(part.startswith((".", "_")) for part in inside):
            return every or bool(kind_of(name)[0])
    if os.path.lexists(source) or not glob.has_magic(source) or "://" in source:
        return False
    folder, pattern = os.path.split(source)
    if "**" in folder:
        root = os.path.realpath(folder.split("**")[0] or ".")
        return name.startswith(os.path.join(root, "")) and fnmatch.fnmatch(os.path.basename(name), pattern)
    return fnmatch.fnmatch(name, os.path.join(os.path.realpath(folder or "."), pattern)) and os.path.dirname(
        name
    ).count(os.sep) == os.path.realpath(folder or ".").count(os.sep)
