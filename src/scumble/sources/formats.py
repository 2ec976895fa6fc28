"""What every file format offers: its columns, and its rows as batches from any row on."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from scumble.errors import DataError
from scumble.sources.paths import READS, File, cannot_open, format_of
from scumble.sources.roles import Roles


class Read(NamedTuple):
    """A batch of one file, and the share of the file that has been read."""

    batch: pa.RecordBatch
    share: float | None


class Options(NamedTuple):
    """How to read text files."""

    delimiter: str | None = None
    encoding: str = "utf8"


class Format(ABC):
    """One file format. `columns` is asked first and finds what is wrong with the file as a whole."""

    title: str
    declares_columns = True
    """Whether a file says which columns it has, in a header or a schema, apart from its records."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.ragged = 0
        """Lines with too few or too many cells, dropped since the file was opened last."""

    @abstractmethod
    def columns(self, file: File) -> tuple[str, ...]:
        """The names of the columns that the file declares."""

    def keys(self, file: File) -> tuple[str, ...]:
        """The names of all its columns, be they read off its records: for public points, never for a private table."""
        return self.columns(file)

    @abstractmethod
    def read(self, file: File, roles: Roles, *, skip: int, invalid: str) -> Iterator[Read]:
        """The file's rows after the first `skip`, with exactly the columns of `roles`."""

    def place(self, file: File, row: int) -> str:
        """Where row `row` of the file (counted from 0) is, for a person."""
        return f"{file.name}, row {row + 1:,}"

    def damaged(self, file: File) -> DataError:
        """The file cannot be read as what it seems to be. Arrow's own words may quote cells: not shown."""
        return DataError(
            f"{file.name} cannot be read as {self.title}: it is damaged, cut short or of another format. "
            "Hint: copy it again, or name its format with --format."
        )


class StandardInput:
    """Standard input, with its first bytes looked at: it can be read only once, and not backwards."""

    def __init__(self, stream: Any) -> None:
        self.head = stream.read(65_536)
        self.stream = stream

    def open(self) -> Any:
        return io.BufferedReader(_Joined(self.head, self.stream), 1 << 20)

    def file(self, format: str) -> File:
        if not self.head:
            raise DataError(f"Standard input is empty. {READS}")
        found = format or format_of(self.head)
        if found == "parquet" or self.head.startswith(b"ARROW1"):
            raise DataError(
                "Standard input cannot be Parquet or an Arrow file: they are read from their end. "
                "Hint: save it to a file first, or pipe CSV, JSON lines or an Arrow stream."
            )
        compression = {b"\x1f\x8b": "gzip", b"\x28\xb5": "zstd"}.get(self.head[:2])
        return File("-", "standard input", "csv" if compression and not format else found, compression)


class _Joined(io.RawIOBase):
    """Bytes that were read already, then the rest of the stream."""

    def __init__(self, head: bytes, stream: Any) -> None:
        self._head, self._stream = head, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._head:
            count = min(len(buffer), len(self._head))
            buffer[:count], self._head = self._head[:count], self._head[count:]
            return count
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


_STDIN: list[StandardInput] = []


def standard_input() -> StandardInput:
    """The process's own, opened once."""
    if not _STDIN:
        _STDIN.append(StandardInput(sys.stdin.buffer))
    return _STDIN[0]


class Stream:
    """A file's bytes, unpacked, and how many of the packed ones have been read."""

    def __init__(self, file: File) -> None:
        self._size = file.size
        try:
            raw = standard_input().open() if file.path == "-" else pa.OSFile(file.path, "rb")
        except OSError as error:
            raise cannot_open(file.path, error) from None
        self._raw = raw
        native = pa.PythonFile(raw, mode="r") if file.path == "-" else raw
        self.bytes = pa.CompressedInputStream(native, file.compression) if file.compression else native

    def share(self) -> float | None:
        if not self._size:
            return None
        with contextlib.suppress(ValueError, OSError):
            return min(1.0, self._raw.tell() / self._size)
        return None

    def close(self) -> None:
        for one in (self.bytes, self._raw):
            with contextlib.suppress(Exception):
                one.close()


def is_empty(file: File) -> bool:
    """Whether there is not a single byte; standard input has been looked at before."""
    return file.path != "-" and os.path.getsize(file.path) == 0


def empty(file: File) -> DataError:
    return DataError(f"{file.name} is empty. Hint: was it written to the end? A table has at least a header.")
