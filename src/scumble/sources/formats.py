"""What every file format offers: its columns, and its rows as batches from any row on."""

from __future__ import annotations

import contextlib
import io
import os
import select
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from scumble.errors import DataError
from scumble.machine.later import pa
from scumble.sources.paths import READS, File, cannot_open, format_of
from scumble.tables.roles import Roles

HEAD = 1 << 20
"""Bytes of a file that are looked at for its columns."""

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2", b"\x04\x22\x4d\x18": "lz4"}
"""What packed bytes begin with."""


class Read(NamedTuple):
    """A batch of one file, and the share of the file that has been read."""

    batch: pa.RecordBatch
    share: float | None

    def __repr__(self) -> str:
        return "Read(secret)"


class Options(NamedTuple):
    """How to read text files, and which sheet of a workbook (None: the first)."""

    delimiter: str | None = None
    encoding: str = "utf8"
    sheet: str | None = None
    decimal: str = "."


class Format(ABC):
    """One file format. `columns` is asked first and finds what is wrong with the file as a whole."""

    title: str
    declares_columns = True
    """Whether a file says which columns it has, in a header or a schema, apart from its records."""
    names_stand_first = False
    """Whether the names are the first line or row, where a file without a header has a record."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.ragged = 0
        """Lines with too few or too many cells, dropped since the file was opened last."""
        self.undecoded: Counter[str] = Counter()
        """Cells, by column, whose bytes are no text in the encoding: read as missing since the file was opened last."""
        self.money: Counter[tuple[str, str]] = Counter()
        """Cells, by column and sign of money, that were read as numbers since the file was opened last."""
        self.repeated = 0
        """Rows that are the column names once more, as where files were joined: since the file was opened last."""
        self.more_lines = 0
        """Lines that its rows take beyond one for each, in quotes or left blank: known when the file was read."""
        self.late: dict[str, None] = {}
        """Keys of public rows that came too late to be columns: those of a stream that is read once."""
        self.titled = False
        """Whether the header has fewer cells than what is below it, as a title has: found with the columns."""

    @abstractmethod
    def columns(self, file: File) -> tuple[str, ...]:
        """The names of the columns that the file declares."""

    def types(self, file: File) -> dict[str, pa.DataType]:
        """The types that the file declares, by column; text declares none."""
        return {}

    def keys(self, file: File) -> tuple[str, ...]:
        """The names of all its columns, even if read from its records: for public points, never for a private table."""
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
    """Standard input, unpacked, with its first bytes looked at: it can be read only once, and not backwards."""

    def __init__(self, stream: Any) -> None:
        # Not through Python's buffer: a thread that waits in there holds its lock, and at a lock that is held the
        # interpreter aborts when it should end.
        self._waiting = _Waiting(getattr(stream, "raw", stream))
        start = _Joined(b"", self._waiting).read(max(map(len, _MAGIC)))
        rest: Any = _Joined(start, self._waiting)
        packed = next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)
        self._stream = pa.CompressedInputStream(pa.PythonFile(rest, mode="r"), packed) if packed else rest
        try:
            self.head = bytes(self._stream.read(HEAD))
        except OSError:
            raise DataError(f"Standard input cannot be unpacked as {packed}: it is damaged or cut short.") from None

    def open(self) -> Any:
        """The stream from its beginning, unpacked."""
        return _Joined(self.head, self._stream)

    def stop(self) -> None:
        """Nobody wants more: a read that waits for bytes ends."""
        self._waiting.stopped = True

    def file(self, format: str) -> File:
        """Standard input as a file of the given format, or of the one that its first bytes show."""
        if not self.head:
            raise DataError(f"Standard input is empty. {READS}")
        found = format or format_of(self.head)
        if found == "parquet" or self.head.startswith(b"ARROW1"):
            raise DataError(
                "Standard input cannot be Parquet or an Arrow file: they are read from their end. "
                "Hint: save it to a file first, or pipe CSV, JSON lines or an Arrow stream."
            )
        return File("-", "standard input", found)


class _Waiting:
    """A stream whose reads wait for bytes, and can be told to stop: they may be in a thread that would never end."""

    def __init__(self, raw: Any) -> None:
        self._raw, self.stopped = raw, False
        try:
            self._watched = os.name == "posix" and raw.fileno() >= 0
        except (AttributeError, OSError):
            self._watched = False

    def read(self, size: int) -> bytes:
        while not self.stopped:
            if not self._watched or select.select([self._raw], [], [], 0.1)[0]:
                data = self._raw.read(size)
                if data is not None:  # None: somebody has made the pipe a non-blocking one
                    return bytes(data)
        raise OSError("standard input is not read any further")


class _Joined(io.RawIOBase):
    """Bytes that were read already, then the rest of a stream; a read gives all it was asked for, but at the end."""

    def __init__(self, head: bytes, stream: Any) -> None:
        self._head, self._stream = head, stream

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        parts = [self._head[:size]]
        self._head = self._head[size:]
        left = size - len(parts[0])
        while left > 0:
            data = self._stream.read(left)
            if not data:
                break
            parts.append(bytes(data))
            left -= len(data)
        return b"".join(parts)


_STDIN: list[StandardInput] = []


def standard_input() -> StandardInput:
    """The process's own, opened once."""
    if not _STDIN:
        if sys.stdin is None:
            raise DataError(f"Standard input is closed. {READS}")
        _STDIN.append(StandardInput(sys.stdin.buffer))
    return _STDIN[0]


class Stream:
    """A file's bytes, unpacked, and how many of the packed ones have been read."""

    def __init__(self, file: File) -> None:
        self._size, self._stops = file.size, file.path == "-"
        try:
            raw = standard_input().open() if file.path == "-" else pa.OSFile(file.path, "rb")
        except OSError as error:
            raise cannot_open(file.path, error) from None
        self._raw = raw
        native = pa.PythonFile(raw, mode="r") if file.path == "-" else raw
        self.bytes = pa.CompressedInputStream(native, file.compression) if file.compression else native

    def share(self) -> float | None:
        """How much of the file has been read, from 0 to 1; None if its size is unknown."""
        if not self._size:
            return None
        with contextlib.suppress(ValueError, OSError):
            return min(1.0, float(self._raw.tell()) / self._size)
        return None

    def leave(self) -> None:
        """For whoever stops before the end, while a thread of Arrow's may still read ahead: the file is closed with the
        last who knows it. Closed now, its number could be given to the next file that is opened, of which that thread
        would then read some bytes, and nobody would ever see them."""
        if self._stops:
            self.close()

    def close(self) -> None:
        """Close the file, and let go of standard input."""
        if self._stops:
            standard_input().stop()
        for one in (self.bytes, self._raw):
            with contextlib.suppress(Exception):
                one.close()


def is_empty(file: File) -> bool:
    """Whether there is not a single byte; standard input has been looked at before."""
    return file.path != "-" and os.path.getsize(file.path) == 0


def empty(file: File) -> DataError:
    """The error of a file without a byte."""
    return DataError(f"{file.name} is empty. Hint: was it written to the end? A table has at least a header.")
