"""Databases as streams of Arrow batches: SQLite and PostgreSQL through ADBC, and DuckDB files.

SQLite has types for cells, not for columns, and ADBC takes a column's type from the first rows. So the query is wrapped
in another that begins with a row of fixed types, and asks twice for a column of numbers: for cells that are numbers and
for those that are text, which is read as in a file.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

from scumble.checks import Json
from scumble.columns.cells import number_or_none
from scumble.columns.kinds import Roles
from scumble.errors import DataError, ParameterError
from scumble.files.lazy_modules import pa, pc
from scumble.sources import paths
from scumble.sources.paths import cannot_open
from scumble.sources.source import BATCH_ROWS, Piece, Position, Source, changed, cut, did_you_mean

SCHEMES = ("sqlite", "postgresql", "postgres", "duckdb")
_SQLITE_TABLES = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
_TABLES = (
    "SELECT CAST(table_schema AS text) AS place, CAST(table_name AS text) AS name FROM information_schema.tables "
    "WHERE table_catalog = current_database() AND table_schema NOT IN ('pg_catalog', 'information_schema')"
)
MOST_RESULTS = 2000
"""Columns of a SQLite result. Where two per column of numbers would be more, text in these columns is missing."""


def is_database(source: str) -> bool:
    """Whether a source is a database's address."""
    return _scheme(source) in SCHEMES and "://" in source


def _scheme(source: str) -> str:
    return source.split(":", 1)[0].lower()


class DatabaseSource(Source):
    """A table or a query of SQLite or PostgreSQL, opened for reading only."""

    _usual_schema = "public"
    """Its tables are known by their names alone."""

    def __init__(self, uri: str, *, table: str | None = None, query: str | None = None) -> None:
        self._sqlite = _scheme(uri) == "sqlite"
        self._file = None if _scheme(uri).startswith("postgres") else database_file(uri)
        self._name = os.path.basename(self._file) if self._file else (urlsplit(uri).path.strip("/") or "the database")
        self._before = self._seen()
        self._connection = self._connect(uri)
        try:
            self._inner, asked = table_or_query(self._name, self._tables(), table, query)
            self._about = self._name + asked
            self._identity = {"table": table, "query": query}
            self._types = {field.name: field for field in self._schema(f"SELECT * FROM {self._inner} LIMIT 0")}
        except BaseException:
            self.close()
            raise
        self.names = tuple(self._types)
        self.skipped = {}
        self._order = ""

    def __str__(self) -> str:
        return self._about

    def _connect(self, uri: str) -> Any:
        try:
            if self._sqlite:
                import adbc_driver_sqlite.dbapi as sqlite

                return sqlite.connect(f"file:{quote(os.fsencode(os.path.abspath(self._file or '')))}?mode=ro")
            import adbc_driver_postgresql.dbapi as postgresql
        except ImportError:
            raise ParameterError("Reading databases needs ADBC. Hint: pip install 'scumble[sql]'.") from None
        try:
            return postgresql.connect(uri)
        except Exception:
            where = urlsplit(uri).hostname or "this machine"
            hint = "Hint: check host, port, user and database, or set PGPASSWORD."
            raise DataError(f"The database on {where} cannot be opened. {hint}") from None

    def _tables(self) -> dict[str, str]:
        """The tables' names, and how each is written in a query."""
        found: dict[str, str] = {}
        with self._opened(_SQLITE_TABLES if self._sqlite else _TABLES) as reader:
            for row in reader.read_all().to_pylist():
                *schema, name = row.values()
                known = name if schema in ([], [self._usual_schema]) else ".".join((*schema, name))
                found[known] = ".".join(quoted(part) for part in (*schema, name))
        return found

    def _schema(self, query: str) -> pa.Schema:
        with self._opened(query) as reader:
            return reader.schema

    @contextlib.contextmanager
    def _opened(self, query: str) -> Iterator[pa.RecordBatchReader]:
        cursor = self._connection.cursor()
        try:
            if self._sqlite:
                cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(BATCH_ROWS)})
            cursor.execute(query)
            yield cursor.fetch_record_batch()
        except DataError:
            raise
        except Exception as problem:
            raise self._problem(str(problem)) from None
        finally:
            with contextlib.suppress(Exception):
                cursor.close()

    def _problem(self, message: str) -> DataError:
        """The database's message is shown only where it is about the query: elsewhere it may quote cells."""
        name = getattr(self, "_about", self._name)
        if "not a database" in message or "malformed" in message:
            return DataError(f"{name} is not an SQLite database, or is damaged. Hint: check the path.")
        about_query = r'no such (?:table|column)[^\n]*|syntax error[^\n]*|(?:relation|column) "[^"\n]*" does not'
        if found := re.search(about_query, message):
            why = found[0].strip() + (" exist" if found[0].endswith("does not") else "")
            return DataError(f"The query does not run on {self._name}: {why}. Hint: try it in the database's shell.")
        if "permission denied" in message:
            return DataError(f"You may not read {name}. Hint: ask for the right to SELECT.")
        return DataError(f"Reading from {name} failed. Hint: try the query in the database's own shell.")

    def read(self, roles: Roles, start: Position, invalid: str) -> Iterator[Piece]:
        if not self._sqlite:
            self._check_types(roles)
        twice = len(roles) + sum(role == "number" for role in roles.values()) <= MOST_RESULTS
        selected = ", ".join(self._expression(name, role, twice) for name, role in roles.items())
        query = f"SELECT {selected} FROM {self._inner}{self._order}"
        skip, row = start[1], start[1]
        if self._sqlite:
            number = "0.5, ''" if twice else "0.5"
            first = ", ".join(number if role == "number" else "''" for role in roles.values())
            query = f"SELECT {first} UNION ALL {query}"
            skip += 1
        with self._opened(query) as reader:
            for batch in cut(iter(reader), skip):
                row += batch.num_rows
                rest, twice = iter(batch.columns), twice and self._sqlite
                columns = [
                    _numbers(next(rest), next(rest)) if twice and role == "number" else next(rest)
                    for role in roles.values()
                ]
                yield Piece(pa.RecordBatch.from_arrays(columns, names=list(roles)), (0, row), None)

    def _expression(self, name: str, role: str, twice: bool) -> str:
        column = quoted(name)
        if not self._sqlite:
            kind = _postgres_type(self._types[name])
            if role == "number" and kind == "numeric":
                return f"CAST({column} AS double precision)"
            return column if role in ("number", "tokens", "list") or not kind else f"CAST({column} AS text)"
        if role == "number":  # CAST alone would turn words into 0
            number = f"typeof({column}) IN ('integer', 'real')"
            numbers = f"CASE WHEN {number} THEN CAST({column} AS REAL) END"
            return f"{numbers}, CASE WHEN NOT {number} THEN CAST({column} AS TEXT) END" if twice else numbers
        whole = f"typeof({column}) = 'real' AND {column} = CAST({column} AS INTEGER)"
        return f"CASE WHEN {whole} THEN CAST(CAST({column} AS INTEGER) AS TEXT) ELSE CAST({column} AS TEXT) END"

    def _check_types(self, roles: Roles) -> None:
        for name, role in roles.items():
            field = self._types[name]
            if role == "number" and pa.types.is_string(field.type) and _postgres_type(field) != "numeric":
                hint = "Hint: name it in --categories, or turn it into numbers in --query."
                raise DataError(f"Column {name!r} of {self} must hold numbers, got text. {hint}")

    def settle(self, names: Iterable[str]) -> None:
        if not self._sqlite:  # which goes through its tables row by row
            self._order = f" ORDER BY {by_cells(names)}"

    def place(self, position: Position, rows: int, row: int) -> str:
        return f"{self}, row {position[1] - rows + row + 1:,} of the result"

    def types(self, columns: Sequence[str]) -> dict[str, pa.DataType | None]:
        found = {name: self._types[name].type for name in columns}
        return {name: None if pa.types.is_null(kind) else kind for name, kind in found.items()}

    def fingerprint(self) -> Json:
        if not self._sqlite:
            raise ParameterError("This database orders no rows, so it has no checkpoint. Hint: export to Parquet.")
        files = []
        for path in (self._file or "", f"{self._file}-wal"):
            if os.path.exists(path) and os.path.getsize(path):
                about = os.stat(path)
                files.append([os.path.basename(path), about.st_size, about.st_mtime_ns])
        return {"kind": "sqlite", "files": files, **self._identity}

    def _seen(self) -> tuple[tuple[int, int], int]:
        """Which file it is, and its size."""
        if self._file is None:
            return (0, 0), 0
        about = os.stat(self._file)
        return (about.st_dev, about.st_ino), about.st_size

    def require_unchanged(self) -> None:
        """A query sees one state of the database; only a file that was replaced or cut short is refused."""
        try:
            (which, size), (before, least) = self._seen(), self._before
        except OSError:
            raise changed(self._name) from None
        if which != before or size < least:
            raise changed(self._name)

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._connection.close()


class DuckSource(DatabaseSource):
    """DuckDB files. (Relations of an open connection are tables in memory.)"""

    _usual_schema = "main"

    def _connect(self, uri: str) -> Any:
        try:
            import duckdb
        except ImportError:
            raise ParameterError("Reading DuckDB files needs DuckDB. Hint: pip install 'scumble[duckdb]'.") from None
        try:
            return duckdb.connect(self._file or "", read_only=True)
        except duckdb.Error:
            raise DataError(f"{self._name} is no DuckDB database, or open elsewhere. Hint: check the path.") from None

    @contextlib.contextmanager
    def _opened(self, query: str) -> Iterator[pa.RecordBatchReader]:
        import duckdb

        try:
            yield pa.RecordBatchReader.from_stream(self._connection.sql(query))
        except (duckdb.Error, pa.ArrowException) as problem:  # their messages may quote cells
            raise self._problem(str(problem)) from None

    def _check_types(self, roles: Roles) -> None:
        """Text may hold numbers, as in a file."""

    def _problem(self, message: str) -> DataError:
        line = message.partition("\n")[0].strip()
        if line.startswith(("Catalog Error", "Parser Error", "Binder Error")):  # about the query, not about cells
            why = line.partition(": ")[2]
            return DataError(f"The query does not run on {self._name}: {why} Hint: try it in DuckDB's shell.")
        return DataError(f"Reading from {self._name} failed. Hint: try the query in DuckDB's shell.")


def _numbers(numbers: pa.Array, texts: pa.Array) -> pa.Array:
    """Each cell by its own type. Text that is no number becomes NaN; a missing cell stays null."""
    coded = texts.cast(pa.binary()).dictionary_encode()  # SQLite does not check that text is UTF-8
    said = pa.array(map(number_or_none, coded.dictionary.to_pylist()), pa.float64())
    return pc.coalesce(numbers, said.take(coded.indices))


def database_file(uri: str) -> str:
    """The file of an address such as sqlite:///people.db, which must exist."""
    scheme, path = uri.split("://", 1)[0], paths.database_file(uri)
    if path is None:
        raise DataError(f"Write {scheme}:///file.db for a file here, and {scheme}:////folder/file.db for a full path.")
    if not os.path.exists(path):
        if not path.startswith("/") and os.path.exists("/" + path):
            raise DataError(f"There is no database {path!r} here. Did you mean {scheme}:////{path} (four slashes)?")
        raise DataError(f"There is no database {path!r}. Hint: check the path; a full path takes four slashes.")
    if os.path.isdir(path):
        raise DataError(f"{path!r} is a folder, not a database. Hint: name the file in it.")
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise cannot_open(path, error) from None
    return path


def table_or_query(name: str, tables: dict[str, str], table: str | None, query: str | None) -> tuple[str, str]:
    """The table or query as the FROM part of our own query, and in words."""
    if table is not None and query is not None:
        raise ParameterError("Give `table` or `query`, not both.")
    if table is None and query is None:
        listed = ", ".join(sorted(tables)) or "none"
        raise ParameterError(f"Give --table or --query (table=, query=): {name} has the tables {listed}.")
    if table is not None and table not in tables:
        raise DataError(f"There is no table {table!r} in {name}.{did_you_mean(table, sorted(tables))}")
    inner = query.strip().rstrip(";") if query is not None else f"SELECT * FROM {tables[table or '']}"
    # A new line: the query may end in a comment.
    return f"({inner}\n) AS scumble_source", f", table {table}" if table is not None else ", the query"


def _postgres_type(field: pa.Field) -> str:
    """The type's name where the driver passes it on as text."""
    metadata: dict[bytes, bytes] = field.metadata or {}
    return metadata.get(b"ADBC:postgresql:typname", b"").decode("ascii", "replace")


def by_cells(names: Iterable[str]) -> str:
    """What PostgreSQL and DuckDB order rows by: a hash, so that no value comes first."""
    return f"md5(CAST(ROW({', '.join(map(quoted, names))}) AS text))"


def quoted(name: str) -> str:
    """A name, as SQL writes names."""
    return '"' + name.replace('"', '""') + '"'
