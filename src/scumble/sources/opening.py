"""From what the user wrote to a source; files of one format, one after the other, as one source."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence

from scumble.checks import Json
from scumble.columns.kinds import Roles, converted
from scumble.errors import DataError, ParameterError, parameter
from scumble.files.lazy_modules import pa
from scumble.sources.arrow import Arrow, MemorySource, Parquet
from scumble.sources.database import DatabaseSource, DuckSource, is_database
from scumble.sources.delimited import Delimited
from scumble.sources.formats import Format, Options, encoding_named, standard_input
from scumble.sources.jsonlines import Excel, JsonLines
from scumble.sources.paths import File, cannot_open, find_files
from scumble.sources.source import Oddities, Piece, Position, Source, changed, no_column

READERS: dict[str, type[Format]] = {
    "csv": Delimited,
    "parquet": Parquet,
    "arrow": Arrow,
    "json": JsonLines,
    "excel": Excel,
}

_ENDS = 65_536
"""Bytes of a file's head and tail that go into its fingerprint."""


def open_source(
    source: object,
    *,
    table: str | None = None,
    query: str | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    encoding: str = "utf8",
) -> Source:
    """Files, a database, or a table in memory, as a stream of Arrow batches; `table` may be a sheet of a workbook.

    >>> import pyarrow as pa
    >>> open_source(pa.table({"age": [41.0]})).names
    ('age',)
    """
    if isinstance(source, Source):
        return source
    if delimiter == "tab":
        delimiter = "\t"
    if delimiter is not None and len(delimiter) != 1:
        raise parameter("delimiter", "one character, or 'tab'", delimiter)
    if decimal not in (".", ","):
        raise parameter("decimal", "'.' or ',', the decimal separator of a CSV file", decimal)
    paths = _paths(source)
    if paths is None:
        return MemorySource(source)
    if len(paths) == 1 and is_database(paths[0]):
        kind = DuckSource if paths[0].lower().startswith("duckdb") else DatabaseSource
        return kind(paths[0], table=table, query=query)
    if query is not None:
        raise ParameterError("`query` goes with a database, such as sqlite:///file.db.")
    for path in paths:
        if "://" in path and not os.path.exists(path):
            hint = "Hint: files, sqlite:///file.db, duckdb:///file.duckdb, postgresql://host/name, or '-'."
            raise ParameterError(f"scumble does not read from {path.split('://')[0]}://. {hint}")
    options = Options(delimiter, encoding_named(encoding), table, decimal)
    return FileSource(paths, format=format, options=options)


def _paths(source: object) -> list[str] | None:
    if isinstance(source, (str, os.PathLike)):
        return [os.fsdecode(source)]
    if isinstance(source, (list, tuple)) and source and all(isinstance(one, (str, os.PathLike)) for one in source):
        return [os.fsdecode(one) for one in source]
    return None


class FileSource(Source):
    """Files of one format as one source. All headers are read before the first row."""

    def __init__(self, source: str | Sequence[str], *, format: str | None = None, options: Options) -> None:
        files = find_files(source, format)
        if files[0].path == "-":
            files = [standard_input().file(format or "")]
        self._files = files
        if options.sheet is not None and files[0].format != "excel":
            raise ParameterError("`table` goes with a database, such as sqlite:///file.db, or with an Excel workbook.")
        self.live = files[0].path == "-"
        self.first_line = READERS[files[0].format].names_stand_first
        self._before_reading = [] if files[0].path == "-" else [_seen(file) for file in files]
        self._readers = [READERS[file.format](options) for file in files]
        self._options = options
        self.decimal = options.decimal
        self._headers = [reader.columns(file) for reader, file in zip(self._readers, files, strict=True)]
        self.names = tuple(dict.fromkeys([*self._headers[0], *files[0].partition]))
        if len(set(self._headers[0])) < len(self._headers[0]):
            self.names = self._headers[0]  # repeated names are refused when asked for
        self.skipped = {}
        self.declared = all(reader.declares_columns for reader in self._readers)
        self._total = sum(file.size for file in files)
        self._before = [sum(file.size for file in files[:k]) for k in range(len(files))]

    def __str__(self) -> str:
        first = self._files[0].name
        return first if len(self._files) == 1 else f"{first} and {len(self._files) - 1} more files"

    def types(self, columns: Sequence[str]) -> dict[str, pa.DataType | None]:
        declared = self._readers[0].types(self._files[0])
        return {name: declared.get(name) for name in columns}

    @property
    def oddities(self) -> Oddities:
        """Those of all files."""
        return sum((reader.oddities for reader in self._readers), Oddities())

    def require(self, wanted: Sequence[str]) -> None:
        super().require(wanted)
        if not self.declared:
            return
        for file, header, reader in zip(self._files, self._headers, self._readers, strict=True):
            known = [*header, *file.partition]
            for name in wanted:
                if name not in known:
                    raise no_column(name, file.name, known, wanted, first_line=reader.names_stand_first)

    def keys(self) -> tuple[str, ...]:
        times: dict[str, int] = {}
        for file, reader in zip(self._files, self._readers, strict=True):
            inside = Counter(reader.keys(file))
            for name in (*inside, *file.partition):
                times[name] = max(times.get(name, 1), inside[name])
        return tuple(name for name, many in times.items() for _ in range(many))

    def read(self, roles: Roles, start: Position, invalid: str) -> Iterator[Piece]:
        first, skip = start
        for index in range(first, len(self._files)):
            file, reader = self._files[index], self._readers[index]
            inside = {name: role for name, role in roles.items() if self._is_inside(name, index)}
            if not inside:
                raise DataError(f"All columns asked for are folder names of {file.name}. Hint: ask for one inside it.")
            row = skip
            for batch, share in reader.read(file, inside, skip=skip, invalid=invalid):
                row += batch.num_rows
                self.skipped[index] = reader.ragged
                done = (self._before[index] + file.size * share) / self._total if self._total and share else None
                yield Piece(self._with_others(batch, file, roles), (index, row), done)
            self.skipped[index] = reader.ragged
            skip = 0

    def _is_inside(self, name: str, index: int) -> bool:
        """Whether the column is read from a file itself."""
        if name in self._files[index].partition:
            return False
        lacking = self.declared and name not in self._headers[index]
        return not (lacking and any(name in header for header in self._headers))

    def _with_others(self, batch: pa.RecordBatch, file: File, roles: Roles) -> pa.RecordBatch:
        """The batch with columns from folder names, and missing cells in columns that only other files have."""
        there = batch.schema.names
        if all(name in there for name in roles):
            return batch
        columns = []
        for name in roles:
            if name in file.partition:
                columns.append(pa.repeat(pa.scalar(file.partition[name], pa.string()), batch.num_rows))
            elif name in there:
                columns.append(batch.column(name))
            else:
                has = next(k for k, header in enumerate(self._headers) if name in header)
                kind = self._readers[has].types(self._files[has]).get(name) or pa.string()
                columns.append(pa.nulls(batch.num_rows, kind))
        return converted(pa.RecordBatch.from_arrays(columns, names=list(roles)), roles)

    def place(self, position: Position, rows: int, row: int) -> str:
        index, end = position
        return self._readers[index].place(self._files[index], end - rows + row)

    def fingerprint(self) -> Json:
        if self._files[0].path == "-":
            raise ParameterError("Standard input cannot be read again, so it has no checkpoint. Hint: use a file.")
        return {
            "kind": self._files[0].format,
            "files": [seen[0] for seen in self._before_reading],
            "delimiter": self._options.delimiter,
            "encoding": self._options.encoding,
            **({} if self._options.sheet is None else {"sheet": self._options.sheet}),
            **({} if self._options.decimal == "." else {"decimal": self._options.decimal}),
        }

    def wake(self) -> None:
        if self._files[0].path == "-":
            standard_input().stop()

    def require_unchanged(self) -> None:
        for file, before in zip(self._files, self._before_reading, strict=False):
            try:
                same = _seen(file) == before
            except DataError:
                same = False
            if not same:
                raise changed(file.name)


def _seen(file: File) -> tuple[list[object], tuple[int, int]]:
    """Name, size, modification time, and a hash of head and tail; and which file it is."""
    try:
        about = os.stat(file.path)
        with open(file.path, "rb") as opened:
            digest = hashlib.sha256(opened.read(_ENDS))
            opened.seek(max(0, about.st_size - _ENDS))
            digest.update(opened.read(_ENDS))
    except OSError as error:
        raise cannot_open(file.path, error) from None
    listed: list[object] = [os.path.basename(file.path), about.st_size, about.st_mtime_ns, digest.hexdigest()]
    return listed, (about.st_dev, about.st_ino)
