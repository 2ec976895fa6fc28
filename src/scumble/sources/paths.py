"""From what the user wrote to a list of files: names, folders, hive partitions, globs."""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from scumble.errors import DataError, ParameterError, parameter
from scumble.files.near import near_file
from scumble.files.rules import MAGIC

EXTENSIONS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".ipc": "arrow",
    ".feather": "arrow",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".xlsx": "excel",
    ".xlsm": "excel",
}
FORMATS = tuple(dict.fromkeys(EXTENSIONS.values()))
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
    """What messages call it."""
    format: str
    compression: str | None = None
    size: int = 0
    partition: dict[str, str | None] = field(default_factory=dict)
    """Columns that the folder names hold: ``year=2020/``."""


def find_files(source: str | Sequence[str], format: str | None = None) -> list[File]:
    """The files that a name, a folder, a glob or a list of these stands for, in a fixed order."""
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
        raise DataError(
            f"{_quoted(names)} holds files of several formats: {', '.join(kinds)}. "
            "Hint: choose one with a pattern, such as 'folder/*.parquet'."
        )
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
    if any("\udc80" <= letter <= "\udcff" for letter in path):  # bytes that are no UTF-8: pyarrow takes no such name
        raise DataError(f"The name {path!r} is not UTF-8. Hint: rename the file, or pipe it into '-', standard input.")
    try:
        about = os.stat(path)
    except OSError as error:
        raise cannot_open(path, error) from None
    if not stat.S_ISREG(about.st_mode):  # it would be waited for, and cannot be read twice
        raise DataError(f"{path!r} is not a regular file. Hint: pipe it into '-', standard input.")
    inside = os.path.dirname(os.path.relpath(path, root)).replace(os.sep, "/") if root is not None else ""
    partition = {key: None if value == _NO_PARTITION else unquote(value) for key, value in _PARTITION.findall(inside)}
    return File(path, path, format or known or _sniff(path), compression, about.st_size, partition)


def kind_of(name: str) -> tuple[str, str | None]:
    """Format and compression by the name's ends; the format is "" if the name does not tell."""
    stem, end = os.path.splitext(name.lower())
    compression = COMPRESSIONS.get(end)
    if compression:
        end = os.path.splitext(stem)[1]
    return EXTENSIONS.get(end, ""), compression


def _sniff(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return format_of(file.read(512))
    except OSError as error:
        raise cannot_open(path, error) from None


def format_of(head: bytes) -> str:
    """The format that a file's first bytes belong to."""
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):  # zip, and what Excel wrote before 2007
        raise DataError(
            "This is an archive, or an old Excel file, which scumble does not read. Hint: unpack it; save sheets as "
            ".xlsx or as CSV."
        )
    if head[8:].startswith(MAGIC):
        raise DataError(
            "This is a file of scumble's own, not a table. Hint: scumble info shows what it is; build reads the table "
            "that it was made of."
        )
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return "json"
    return "csv"


def cannot_open(path: str, error: OSError) -> DataError:
    """One line on why a file cannot be opened."""
    if isinstance(error, PermissionError):
        return DataError(f"You may not read {path!r}. Hint: ask its owner, or chmod u+r it.")
    if isinstance(error, FileNotFoundError):
        return DataError(f"There is no file {path!r}. Hint: check the path.")
    return DataError(f"Cannot read {path!r}: {(error.strerror or type(error).__name__).lower()}.")


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:3]) + (" and more" if len(names) > 3 else "")
