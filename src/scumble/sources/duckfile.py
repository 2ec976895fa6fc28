"""DuckDB files: a table or a query of one, as a stream of Arrow batches.

Relations and results of a connection of your own speak Arrow already; `MemorySource` reads those.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

from scumble.errors import DataError, ParameterError
from scumble.machine.later import pa
from scumble.sources.database import database_file, quoted, table_or_query
from scumble.sources.source import Piece, Position, Source, changed, cut
from scumble.tables.roles import Roles, without_words

OF_THE_QUERY = ("Catalog Error", "Parser Error", "Binder Error")  # DuckDB's words that speak of the query, not of cells


class DuckSource(Source):
    """A table or a query of a DuckDB file, opened for reading only."""

    def __init__(self, uri: str, *, table: str | None = None, query: str | None = None) -> None:
        self._file = database_file(uri)
        self._name = os.path.basename(self._file)
        self._before = self._seen()
        self._connection = self._connect()
        try:
            tables = self._tables()
            self._inner, asked = table_or_query(self._name, tables, table, query)
            self._about = self._name + asked
            schema = self._reader(f"SELECT * FROM {self._inner} LIMIT 0").schema
        except BaseException:
            self.close()
            raise
        self._types = {field.name: field.type for field in schema}
        self.names = tuple(self._types)
        self.skipped = {}

    def __str__(self) -> str:
        return self._about

    def _connect(self) -> Any:
        try:
            import duckdb
        except ImportError:
            raise ParameterError("Reading DuckDB files needs DuckDB. Hint: pip install 'scumble[duckdb]'.") from None
        try:
            return duckdb.connect(self._file, read_only=True)
        except duckdb.Error:
            raise DataError(
                f"{self._name} cannot be opened as a DuckDB database. Hint: check the path, and that no other program "
                "has it open for writing."
            ) from None

    def _tables(self) -> dict[str, str]:
        """The tables' and views' names, and how each is written in a query."""
        rows = self._connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = current_database()"
        ).fetchall()
        return {
            name if schema == "main" else f"{schema}.{name}": f"{quoted(schema)}.{quoted(name)}"
            for schema, name in rows
        }

    def _reader(self, query: str) -> pa.RecordBatchReader:
        import duckdb

        try:
            return pa.RecordBatchReader.from_stream(self._connection.sql(query))
        except duckdb.Error as problem:
            raise self._problem(str(problem)) from None

    def _problem(self, words: str) -> DataError:
        line = words.partition("\n")[0].strip()
        if line.startswith(OF_THE_QUERY):
            told = line.partition(": ")[2]
            return DataError(f"The query does not run on {self._name}: {told} Hint: try it in DuckDB's shell.")
        return DataError(f"Reading from {self._name} failed. Hint: try the query in DuckDB's shell.")

    def pieces(self, roles: Roles, *, start: Position = (0, 0), invalid: str = "error") -> Iterator[Piece]:
        import duckdb

        row = start[1]
        reader = self._reader(f"SELECT {', '.join(quoted(name) for name in roles)} FROM {self._inner}")
        try:
            for batch in cut(iter(reader), start[1]):
                row += batch.num_rows
                yield Piece(
                    without_words(pa.RecordBatch.from_arrays(batch.columns, names=list(roles)), roles), (0, row), None
                )
        except (duckdb.Error, pa.ArrowException) as problem:  # their words may quote cells
            raise self._problem(str(problem)) from None

    def place(self, position: Position, rows: int, row: int) -> str:
        return f"{self}, row {position[1] - rows + row + 1:,} of the result"

    def types(self, columns: Sequence[str]) -> dict[str, pa.DataType | None]:
        found = {name: self._types[name] for name in columns}
        return {name: None if pa.types.is_null(kind) else kind for name, kind in found.items()}

    def fingerprint(self) -> dict[str, Any]:
        raise ParameterError(
            "DuckDB may give the rows of a query in another order each time, so it has no checkpoint. "
            "Hint: leave out --checkpoint, or export the rows to Parquet first."
        )

    def _seen(self) -> tuple[int, int]:
        about = os.stat(self._file)
        return about.st_dev, about.st_ino

    def require_unchanged(self) -> None:
        """A query sees one state of the database, and nobody else may write to it meanwhile: DuckDB sees to both."""
        try:
            now = self._seen()
        except OSError:
            raise changed(self._name) from None
        if now != self._before:
            raise changed(self._name)

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._connection.close()
