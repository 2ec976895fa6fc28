"""What a file format is: its columns, and its rows as batches from any row on. And standard input."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import re
import select
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from scumble.columns.kinds import Roles
from scumble.errors import DataError
from scumble.files.lazy_modules import pa, pc, pt
from scumble.sources.paths import READS, File, cannot_open, format_of
from scumble.sources.source import Oddities

HEAD = 1 << 20
"""Bytes of a file that are searched for its columns."""

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2", b"\x04\x22\x4d\x18": "lz4"}
"""How compressed bytes begin."""


class Readable(Protocol):
    """Bytes, one after the other."""

    def read(self, size: int, /) -> bytes:
        """The next bytes; none at the end."""


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
    """One file format. `columns` is called first and refuses damaged files."""

    title: str
    declares_columns = True
    """Whether a file names its columns apart from its records."""
    names_stand_first = False
    """Whether the names are the first line, which may be a record."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.ragged = 0
        """Dropped lines with too few or too many cells."""
        self.oddities = Oddities()

    @abstractmethod
    def columns(self, file: File) -> tuple[str, ...]:
        """The names of the columns that the file declares."""

    def types(self, file: File) -> dict[str, pa.DataType]:
        """The declared types by column; text declares none."""
        return {}

    def keys(self, file: File) -> tuple[str, ...]:
        """All columns, even if read from the records: for public points only."""
        return self.columns(file)

    @abstractmethod
    def read(self, file: File, roles: Roles, *, skip: int, invalid: str) -> Iterator[Read]:
        """The file's rows after the first `skip`, with exactly the columns of `roles`."""

    def place(self, file: File, row: int) -> str:
        """Where row `row` of the file (counted from 0) is, in words."""
        return f"{file.name}, row {row + 1:,}"

    def damaged(self, file: File) -> DataError:
        """The file cannot be read. Arrow's own message may quote cells and is not shown."""
        return DataError(f"{file.name} is not {self.title}, or damaged or cut short. Hint: name its --format.")


class StandardInput:
    """Standard input, decompressed, with its head kept: it can be read only once."""

    def __init__(self, stream: object) -> None:
        # Not through Python's buffer: a thread waiting there holds its lock, and the interpreter would abort at exit.
        self._waiting = _Waiting(getattr(stream, "raw", stream))
        start = _Joined(b"", self._waiting).read(max(map(len, _MAGIC)))
        rest: Readable = _Joined(start, self._waiting)
        packed = next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)
        self._stream = pa.CompressedInputStream(pa.PythonFile(rest, mode="r"), packed) if packed else rest
        try:
            self.head = bytes(self._stream.read(HEAD))
        except OSError:
            raise DataError(f"Standard input cannot be unpacked as {packed}: it is damaged or cut short.") from None

    def open(self) -> _Joined:
        """The stream from its beginning, decompressed."""
        return _Joined(self.head, self._stream)

    def stop(self) -> None:
        """End a read that waits for bytes."""
        self._waiting.stopped = True

    def file(self, format: str) -> File:
        """Standard input as a file of the given format, or of the one its first bytes show."""
        if not self.head:
            raise DataError(f"Standard input is empty. {READS}")
        found = format or format_of(self.head)
        if found == "parquet" or self.head.startswith(b"ARROW1"):
            raise DataError("Parquet and Arrow files cannot be piped in. Hint: name the file, or pipe CSV.")
        return File("-", "standard input", found)


class _Waiting:
    """A stream whose waiting reads can be stopped, so that their thread ends."""

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
                if data is not None:  # None: a non-blocking pipe without data
                    return bytes(data)
        raise OSError("standard input is not read any further")


class _Bytes(io.RawIOBase):
    """Bytes to be read."""

    def readable(self) -> bool:
        return True


class _Joined(_Bytes):
    """Bytes read before, then the rest of a stream; a read is short only at the end."""

    def __init__(self, head: bytes, stream: Readable) -> None:
        self._head, self._stream = head, stream

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
    """The standard input of the process, opened once."""
    if not _STDIN:
        if sys.stdin is None:
            raise DataError(f"Standard input is closed. {READS}")
        _STDIN.append(StandardInput(sys.stdin.buffer))
    return _STDIN[0]


class Stream:
    """A file's bytes, decompressed, and how much of the file has been read."""

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
        """After stopping early, while a thread of Arrow's may still read: the file closes with its last reference.

        Closed now, its descriptor could be reused, and that thread would take bytes of another file.
        """
        if self._stops:
            self.close()

    def close(self) -> None:
        """Close the file, or stop standard input."""
        if self._stops:
            standard_input().stop()
        for one in (self.bytes, self._raw):
            with contextlib.suppress(Exception):
                one.close()


def require_bytes(file: File) -> None:
    """Refuse a file without a byte; standard input is checked when it is opened."""
    if file.path != "-" and os.path.getsize(file.path) == 0:
        raise empty(file)


def empty(file: File) -> DataError:
    """A file has nothing."""
    return DataError(f"{file.name} is empty, without even a header. Hint: was it written to the end?")


MARK = "\ufdd0"
BLOCK = 1 << 20

# Text encodings of Python that no file is written in.
_NOT_OF_FILES = {"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "unicode_escape"}


def encoding_named(name: str) -> str:
    """An encoding of text files in lower case, with one name for UTF-8; others are refused.

    >>> [encoding_named(name) for name in ("UTF-8-SIG", "utf_8", "U8", "Latin-1")]
    ['utf8', 'utf8', 'utf8', 'latin-1']
    """
    try:
        found = codecs.lookup(name)
        known = found._is_text_encoding and found.name not in _NOT_OF_FILES and found.incrementaldecoder is not None
        known = known and "a,1\n".encode(name).decode(name) == "a,1\n"
    except (LookupError, ValueError, TypeError):
        known = False
    if not known:
        raise DataError(f"There is no encoding {str(name)[:40]!r} of text. Hint: utf-8, utf-16 and latin-1 are usual.")
    return "utf8" if found.name in ("utf-8", "utf-8-sig") else name.lower()


def _mark(problem: UnicodeError) -> tuple[str, int]:
    assert isinstance(problem, (UnicodeDecodeError, UnicodeEncodeError))
    return MARK, problem.end


codecs.register_error("scumble.mark", _mark)


class Transcoded(_Bytes):
    """A stream of bytes in some encoding, read as UTF-8."""

    def __init__(self, stream: Readable, encoding: str) -> None:
        self._stream = stream
        self._decode = codecs.getincrementaldecoder(encoding)("scumble.mark").decode
        self._ready, self._ended = b"", False

    def read(self, size: int = -1) -> bytes:
        """The next bytes, as UTF-8."""
        parts = [self._ready]
        have = len(self._ready)
        while have < size and not self._ended:
            data = self._stream.read(BLOCK)
            self._ended = not data
            parts.append(self._decode(data, self._ended).encode("utf-8", "scumble.mark"))
            have += len(parts[-1])
        whole = b"".join(parts)
        self._ready = whole[size:]
        return whole[:size]


_LINE_END = re.compile(rb"[\r\n]")


class Bounded(_Bytes):
    """A stream of CSV without endless rows: of one longer than `most` bytes, the first line becomes the line `instead`.

    What follows that line is read as rows of their own, so a quote left open costs one line.
    """

    def __init__(self, stream: Readable, delimiter: str, instead: bytes, most: int) -> None:
        self._stream, self._instead, self._most = stream, instead + b"\n", most
        end = re.escape(delimiter.encode())
        cell = rb'(?:"(?:[^"]++|"")*+"[^\r\n%b]*+|(?!")[^\r\n%b]*+)' % (end, end)
        row = rb"(?:%b%b)*+%b[\r\n]" % (cell, end, cell)
        self._one, self._all = re.compile(row), re.compile(rb"(?:%b)*+" % row)
        self._ready, self._row, self._within, self._ended = b"", b"", False, False

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        while len(self._ready) < size and not self._ended:
            data: bytes = self._stream.read(BLOCK)
            self._ended = not data
            self._row += data
            self._ready += b"".join(self._bounded())
        data, self._ready = self._ready[:size], self._ready[size:]
        return data

    def _bounded(self) -> Iterator[bytes]:
        """The rows that end in what was read; the beginning of the next one is kept."""
        data, at = self._row, 0
        while self._within or len(data) - at > self._most:
            if self._within:
                line = _LINE_END.search(data, at)
                self._within, at = line is None, line.end() if line else len(data)
                if self._within:
                    break
                continue
            row = self._one.match(data, at)
            if row and row.end() - at <= self._most:
                yield row[0]
                at = row.end()
            else:
                self._within = True
                yield self._instead
        ends = len(data)
        if not self._ended:
            rows = self._all.match(data, at) if b'"' in data else None
            ends = rows.end() if rows else max(data.rfind(b"\n", at), data.rfind(b"\r", at), at - 1) + 1
        yield data[at:ends]
        self._row = data[ends:]


class Lined(_Bytes):
    """A stream of bytes that counts line ends."""

    def __init__(self, stream: Readable) -> None:
        self._stream, self.lines = stream, 0

    def read(self, size: int = -1) -> bytes:
        """The next bytes, as they are."""
        data: bytes = self._stream.read(size)
        self.lines += int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n")))
        return data


def without_marks(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, dict[str, list[int]]]:
    """The batch with its marked cells missing, and the rows that had one, by column."""
    columns, rows = list(batch.columns), {}
    for j, column in enumerate(columns):
        if not pt.is_string(column.type):
            continue
        marked = pc.match_substring(column, MARK)
        if pc.any(marked).as_py():
            rows[batch.schema.names[j]] = pc.indices_nonzero(marked).to_pylist()
            columns[j] = pc.if_else(marked, pa.scalar(None, column.type), column)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names), rows


def with_questions(column: pa.Array) -> pa.Array:
    """The cells with the Unicode replacement character for each mark."""
    return pc.replace_substring(column, MARK, "\ufffd") if pt.is_string(column.type) else column


def not_text(what: str, given: str, way_out: str) -> DataError:
    """Bytes are no text in the `given` encoding."""
    name = "UTF-8" if given == "utf8" else given.upper()
    hint = f"name its encoding, such as --encoding {other_than(given)}, {way_out}."
    return DataError(f"{what} is not {name} text. Hint: {hint}")


def other_than(given: str) -> str:
    """Encodings to try when this one is not it."""
    return " or ".join([one for one in ("utf8", "latin-1", "utf-16") if one != encoding_named(given)][:2])


def is_wide(encoding: str) -> bool:
    """Whether ASCII letters have several bytes in this encoding."""
    return len("a".encode(encoding)) > 1
