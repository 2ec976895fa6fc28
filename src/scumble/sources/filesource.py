"""Files of one format, one after the other, as one source."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from scumble.errors import DataError, ParameterError
from scumble.machine.later import pa
from scumble.sources.arrow import Arrow
from scumble.sources.delimited import Delimited
from scumble.sources.excel import Excel
from scumble.sources.formats import Format, Options, standard_input
from scumble.sources.jsonlines import JsonLines
from scumble.sources.parquet import Parquet
from scumble.sources.paths import File, cannot_open, find_files
from scumble.sources.source import Piece, Position, Source, changed, no_column
from scumble.tables.roles import Roles, converted, without_words

READERS: dict[str, type[Format]] = {
    "csv": Delimited,
    "parquet": Parquet,
    "arrow": Arrow,
    "json": JsonLines,
    "excel": Excel,
}

_ENDS = 65_536
"""Bytes of a file's head and tail that go into its fingerprint."""


class FileSource(Source):
    """Any number of files. Every file's header is looked at before the first row is counted."""

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
            self.names = self._headers[0]  # names that stand twice are refused when they are asked for
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
    def undecoded(self) -> Counter[str]:
        return sum((reader.undecoded for reader in self._readers), Counter())

    @property
    def money(self) -> Counter[tuple[str, str]]:
        return sum((reader.money for reader in self._readers), Counter())

    @property
    def repeated(self) -> int:
        return sum(reader.repeated for reader in self._readers)

    @property
    def more_lines(self) -> int:
        return sum(reader.more_lines for reader in self._readers)

    @property
    def late(self) -> list[str]:
        return [name for reader in self._readers for name in reader.late]

    @property
    def titled(self) -> bool:
        return self._readers[0].titled

    def require(self, wanted: Sequence[str]) -> None:
        super().require(wanted)
        if not self.declared:
            return
        for file, header, reader in zip(self._files, self._headers, self._readers, strict=True):
            known = [*header, *file.partition]
            for name in wanted:
                if name not in known:
                    shown = {"titled": reader.titled, "first_line": reader.names_stand_first}
                    raise no_column(name, file.name, known, wanted, **shown)

    def keys(self) -> tuple[str, ...]:
        times: dict[str, int] = {}
        for file, reader in zip(self._files, self._readers, strict=True):
            inside = Counter(reader.keys(file))
            for name in (*inside, *file.partition):
                times[name] = max(times.get(name, 1), inside[name])
        return tuple(name for name, many in times.items() for _ in range(many))

    def pieces(self, roles: Roles, *, start: Position = (0, 0), invalid: str = "error") -> Iterator[Piece]:
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
                yield Piece(without_words(self._with_others(batch, file, roles), roles), (index, row), done)
            self.skipped[index] = reader.ragged
            skip = 0

    def _is_inside(self, name: str, index: int) -> bool:
        """Whether the column is to be read from a file; `require` refuses those that only other files have."""
        if name in self._files[index].partition:
            return False
        lacking = self.declared and name not in self._headers[index]
        return not (lacking and any(name in header for header in self._headers))

    def _with_others(self, batch: pa.RecordBatch, file: File, roles: Roles) -> pa.RecordBatch:
        """The batch with the names of folders, and with missing cells in columns that only other files have."""
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

    def fingerprint(self) -> dict[str, Any]:
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


def _seen(file: File) -> tuple[list[Any], tuple[int, int]]:
    """Name, size, time of change, and a hash of head and tail: enough to see a change. And which file it is."""
    try:
        about = os.stat(file.path)
        with open(file.path, "rb") as opened:
            digest = hashlib.sha256(opened.read(_ENDS))
            opened.seek(max(0, about.st_size - _ENDS))
            digest.update(opened.read(_ENDS))
    except OSError as error:
        raise cannot_open(file.path, error) from None
    listed = [os.path.basename(file.path), about.st_size, about.st_mtime_ns, digest.hexdigest()]
    return listed, (about.st_dev, about.st_ino)
