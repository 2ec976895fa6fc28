"""Arrow's own formats: IPC files and streams, Feather, Parquet; and tables in memory.

Arrow's threads decode the columns of a Parquet row group in parallel and wait for each other at its end. With many
cores, several row groups are read at the same time, and handed over in order.
"""

from __future__ import annotations

import itertools
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from types import MappingProxyType
from typing import Any

import numpy as np

from scumble.checks import Json
from scumble.columns.cells import Column, describe, is_arrow, number_or_none, texts
from scumble.columns.containers import NOT_SHOWN, is_of, like_a_record, take_apart
from scumble.columns.hashing import UNTOLD, nothing_in
from scumble.columns.kinds import Roles
from scumble.columns.table import words
from scumble.columns.tokens import as_list
from scumble.errors import DataError, ParameterError, ScumbleError
from scumble.files.compiling import FEW_CORES, available_threads
from scumble.files.lazy_modules import ipc, pa, pq
from scumble.sources.database import by_cells
from scumble.sources.formats import Format, Read, Stream, require_bytes, standard_input
from scumble.sources.onepass import in_order
from scumble.sources.paths import File, cannot_open
from scumble.sources.source import BATCH_ROWS, Piece, Position, Source, changed, cut, row_bits


class Typed(Format):
    """A format that declares the types of its columns."""

    @abstractmethod
    def schema(self, file: File) -> pa.Schema:
        """The names and types of a file's columns."""

    def columns(self, file: File) -> tuple[str, ...]:
        return tuple(self.schema(file).names)

    def types(self, file: File) -> dict[str, pa.DataType]:
        found = self.schema(file)
        return dict(zip(found.names, found.types, strict=True))


class Arrow(Typed):
    """IPC files (Feather 2 is one), read batch by batch, and IPC streams.

    Files are not mapped into memory: one that is cut short meanwhile would kill the process (SIGBUS), and its core dump
    would hold exact counters.
    """

    title = "Arrow IPC"

    def schema(self, file: File) -> pa.Schema:
        require_bytes(file)
        if file.path == "-":
            try:
                return ipc.open_stream(pa.BufferReader(standard_input().head)).schema
            except (pa.ArrowException, OSError):
                raise self.damaged(file) from None
        reader, close = self._open(file)
        close()
        return reader.schema

    def _open(self, file: File, wanted: list[str] | None = None) -> tuple[pa.RecordBatchReader, Callable[[], None]]:
        """A reader of a file (of the columns `wanted`) or stream, and what closes it."""
        if file.path != "-" and not file.compression:
            try:
                with open(file.path, "rb") as probe:
                    head = probe.read(6)
            except OSError as error:
                raise cannot_open(file.path, error) from None
            if head == b"ARROW1":
                opened = pa.OSFile(file.path, "rb")
                try:
                    reader = ipc.open_file(opened)
                    if wanted is not None:
                        fields = [reader.schema.names.index(name) for name in wanted]
                        reader = ipc.open_file(opened, options=ipc.IpcReadOptions(included_fields=fields))
                    return reader, opened.close
                except (pa.ArrowException, OSError, ValueError):
                    opened.close()
                    raise self.damaged(file) from None
            if head[:4] == b"FEA1":
                raise DataError(f"{file.name} is of the old Feather format 1. Hint: write it again as Feather 2.")
        stream = Stream(file)
        try:
            return ipc.open_stream(stream.bytes), stream.close
        except (pa.ArrowException, OSError):
            stream.close()
            raise self.damaged(file) from None

    def read(self, file: File, roles: Roles, *, skip: int, invalid: str) -> Iterator[Read]:
        names = list(roles)
        reader, close = self._open(file, names)
        try:
            count = getattr(reader, "num_record_batches", None)  # a stream does not know
            for k, batch in enumerate(reader if count is None else map(reader.get_batch, range(count)), 1):
                for part in cut(iter([batch]), skip):
                    yield Read(part.select(names), None if count is None else k / count)
                skip = max(0, skip - batch.num_rows)
        except (pa.ArrowException, OSError):
            raise self.damaged(file) from None
        finally:
            close()


Named = dict[str, Column]
"""Columns by name. Repeated names are refused when they are asked for."""


class MemorySource(Source):
    """An Arrow table, reader or batch, a pandas or polars frame, a DuckDB relation, or an iterator of these."""

    gaps_in_words = False

    def __init__(self, tables: object) -> None:
        self._given = tables
        self._begin(tables)
        self.skipped = {}

    def _begin(self, tables: object) -> None:
        self._tables = _tables(tables)
        first = next(self._tables, None)
        if first is None:
            raise DataError("The source gives no table at all. Hint: give at least one, even without rows.")
        self.names, columns = first
        self._first: Named | None = columns

    def __str__(self) -> str:
        return "the table"

    def settle(self, names: Iterable[str]) -> None:
        given: Any = self._given
        if is_of(given, "polars", "LazyFrame"):
            polars = sys.modules["polars"]
            frame = given.select(*names).cast({polars.Categorical: polars.String})
            self._begin(frame.sort(polars.struct(polars.all()).hash()))
        elif is_of(given, "duckdb", "DuckDBPyRelation") or is_of(given, "_duckdb", "DuckDBPyRelation"):
            self._begin(given.order(by_cells(names)))

    def require(self, wanted: Sequence[str]) -> None:
        for name in wanted:
            if name not in self.names and like_a_record(self.names):
                raise DataError(f"There is no column {name!r} in the table. {NOT_SHOWN}")
        super().require(wanted)

    def read(self, roles: Roles, start: Position, invalid: str) -> Iterator[Piece]:
        if self._first is None:
            raise ParameterError("The source has been read already. Hint: make a new one.")
        first, self._first = self._first, None
        row = 0
        for columns in itertools.chain([first], (columns for _, columns in self._tables)):
            for batch in _batches(columns, roles):
                row += batch.num_rows
                yield Piece(batch, (0, row), None)

    def place(self, position: Position, rows: int, row: int) -> str:
        return f"the table, row {position[1] - rows + row:,} (counted from 0)"

    def fingerprint(self) -> Json:
        raise ParameterError("A table in memory has no checkpoint. Hint: save it to a file, or leave out `checkpoint`.")


def _tables(tables: Any) -> Iterator[tuple[tuple[str, ...], Named]]:
    """The names and the columns of each table, one after the other."""
    if isinstance(tables, pa.RecordBatch | pa.Table):
        yield _named(tables.column_names, tables.columns)
    elif is_of(tables, "pandas", "DataFrame") or is_of(tables, "polars", "DataFrame"):
        yield _named(list(tables.columns), take_apart(tables).columns)
    elif is_of(tables, "polars", "LazyFrame"):
        yield from _collected(tables)
    elif hasattr(tables, "__arrow_c_stream__"):
        for batch in _streamed(tables):
            yield _named(batch.schema.names, batch.columns)
    elif isinstance(tables, Iterator):
        for table in tables:
            yield from _tables(table)
    else:
        raise DataError(
            f"The source must be a path, a database URI or a table with named columns, got {type(tables).__name__}. "
            "Hint: pandas.DataFrame(X, columns=['age', 'income']) names them."
        )


def _collected(frame: Any) -> Iterator[tuple[tuple[str, ...], Named]]:
    """A polars LazyFrame, batch by batch, after a table without rows."""
    try:
        names = frame.collect_schema().names()
        yield _named(names, [pa.nulls(0)] * len(names))
        for batch in frame.collect_batches(chunk_size=BATCH_ROWS):
            yield from _tables(batch)
    except AttributeError:
        raise DataError("This polars gives no batches. Hint: pass frame.collect(), or a newer polars.") from None
    except ScumbleError:
        raise
    except Exception:  # the message may quote cells
        raise DataError("The LazyFrame cannot be computed. Hint: try frame.collect() by itself.") from None


def _streamed(table: object) -> Iterator[pa.RecordBatch]:
    """The batches of an object with Arrow's C interface, after a table without rows."""
    try:
        reader = pa.RecordBatchReader.from_stream(table)
        yield pa.Table.from_batches([], schema=reader.schema)
        yield from reader
    except Exception:  # the message may quote cells
        what = type(table).__name__
        raise DataError(f"The {what} gives no named columns. Hint: to_frame() makes a table of a column.") from None


def _named(names: list[object], columns: list[Column]) -> tuple[tuple[str, ...], Named]:
    known = tuple(str(name) for name in names)
    return known, dict(zip(known, columns, strict=True))


def _batches(columns: Named, roles: Roles) -> Iterator[pa.RecordBatch]:
    for name in roles:
        if name not in columns:
            raise DataError(f"There is no column {name!r} in one of the tables. Hint: all must have the same columns.")
    rows = len(next(iter(columns.values()), ()))
    for first in range(0, rows, BATCH_ROWS):
        arrays = [as_arrow(columns[name][first : first + BATCH_ROWS], role, name) for name, role in roles.items()]
        yield from pa.table(arrays, names=list(roles)).to_batches()


def as_arrow(column: Column, role: str, name: str) -> pa.Array:
    """A column as an Arrow array; Python objects are read cell by cell, by role."""
    if is_arrow(column):
        return column
    if column.dtype != object:
        try:
            return pa.array(column, from_pandas=True)  # NaN is how NumPy and pandas say "missing"
        except pa.ArrowException:  # by its type: complex numbers, say
            raise DataError(f"Column {name!r} must hold numbers or categories, got {describe(column)}.") from None
    if role == "number":
        return pa.array([*map(number_or_none, column)], pa.float64())
    if role in ("tokens", "list"):
        sets = [words(cell) if role == "tokens" else as_list(cell) for cell in column]
        return pa.array(sets, pa.large_list(pa.large_binary()))
    found, places = texts(column)
    gone = np.array([text is None for text in found], bool)[places] if found else np.empty(0, bool)
    gone[gone] = [nothing_in(cell) for cell in column[gone]]
    known = pa.array([UNTOLD if text is None else text for text in found], pa.large_binary())
    return pa.DictionaryArray.from_arrays(pa.array(places, mask=gone), known)


AT_ONCE, MOST_BYTES = 4, 1 << 24
"""The most batches read at a time, and their most bytes."""
GROUPS, MOST_AHEAD = 4, 1 << 29
"""The most row groups read at the same time on many cores, and their most bytes."""


class Parquet(Typed):
    """Parquet files. Whole row groups are skipped when a build resumes."""

    title = "Parquet"

    def schema(self, file: File) -> pa.Schema:
        with self._open(file) as opened:
            return opened.schema_arrow

    def _open(
        self, file: File, known: pq.FileMetaData | None = None, words: Roles = MappingProxyType({})
    ) -> pq.ParquetFile:
        """Columns of `words` are read as dictionaries, so that each word is looked up once."""
        coded = [name for name, role in words.items() if role == "word"]
        try:
            require_bytes(file)
            # Buffered, so that a row group need not fit into memory.
            return pq.ParquetFile(
                file.path, metadata=known, buffer_size=1 << 20, pre_buffer=False, read_dictionary=coded
            )
        except OSError as error:
            if error.errno is not None:
                raise cannot_open(file.path, error) from None
            raise self.damaged(file) from None
        except pa.ArrowException:
            raise self.damaged(file) from None

    def read(self, file: File, roles: Roles, *, skip: int, invalid: str) -> Iterator[Read]:
        with self._open(file, words=roles) as opened:
            sizes = self._sizes(opened)
            total, first = sum(sizes), 0
            done = skip
            while first < len(sizes) and skip >= sizes[first]:
                skip -= sizes[first]
                first += 1
            if first == len(sizes):
                return
            bits = _row_bits(opened, list(roles))
            try:
                batches = self._batches(file, opened, roles, bits, range(first, len(sizes)), max(sizes[first:]))
                for batch in cut(batches, skip, _at_once(bits)):
                    done += batch.num_rows
                    yield Read(batch.select(list(roles)), done / total)
                if done != total:
                    raise self.damaged(file)
            except (pa.ArrowException, OSError):
                raise self.damaged(file) from None

    def _batches(
        self, file: File, opened: pq.ParquetFile, roles: Roles, bits: int, groups: range, largest: int
    ) -> Iterator[pa.RecordBatch]:
        """The rows of these row groups. A row has `bits`; `largest` is the size of the largest group."""
        fit = 8 * MOST_AHEAD // max(1, bits * largest) if bits and available_threads() > FEW_CORES else 1
        under_way = min(GROUPS, len(groups), fit)
        rows = _at_once(bits) * BATCH_ROWS
        if under_way < 2:
            yield from opened.iter_batches(rows, row_groups=groups, columns=list(roles), use_threads=True)
            return
        with ExitStack() as until_done:
            free = [until_done.enter_context(self._open(file, opened.metadata, roles)) for _ in range(under_way)]

            def read(group: int) -> pa.Table:
                mine = free.pop()  # one per thread
                table = mine.read_row_group(group, columns=list(roles), use_threads=True)
                free.append(mine)
                return table

            for table in in_order(groups, read, under_way):
                yield from table.to_batches(rows)

    def place(self, file: File, row: int) -> str:
        first = 0
        with self._open(file) as opened:
            for group, size in enumerate(self._sizes(opened)):
                if row < first + size:
                    return f"{file.name}, row group {group} (counted from 0), row {row + 1:,} of the file"
                first += size
        raise changed(file.name)

    @staticmethod
    def _sizes(opened: pq.ParquetFile) -> list[int]:
        return [opened.metadata.row_group(k).num_rows for k in range(opened.num_row_groups)]


def _row_bits(opened: pq.ParquetFile, names: list[str]) -> int:
    """About how many bits a row takes in memory, or 0 if unknown. Of dictionaries, the file's own size is known."""
    types = [opened.schema_arrow.field(name).type for name in names]
    coded = [name for name, kind in zip(names, types, strict=True) if pa.types.is_dictionary(kind)]
    bits = row_bits([kind for kind in types if not pa.types.is_dictionary(kind)])
    if not coded or (not bits and len(coded) < len(names)):
        return bits
    group = opened.metadata.row_group(0)
    stored = [group.column(k) for k in range(group.num_columns)]
    words: int = sum(one.total_uncompressed_size for one in stored if one.path_in_schema in coded)
    each: int = 8 * words // max(1, group.num_rows)
    return bits + 32 * len(coded) + each


def _at_once(bits: int) -> int:
    """How many batches to read at a time: more than one if the size of a row is known."""
    return max(1, min(AT_ONCE, 8 * MOST_BYTES // (BATCH_ROWS * bits))) if bits else 1
