"""Databases: SQLite and PostgreSQL, read through ADBC as streams of Arrow batches.

The query is wrapped into another that gives each column the type that the kernel needs: SQLite has types for cells, not
for columns, and ADBC's driver takes a column's type from the first rows it sees. So a first row of our own fixes them,
and a column of numbers is asked for twice: its cells that are numbers, and those that are text, which is read as in a
file.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

from scumble.errors import DataError, ParameterError
from scumble.machine.later import pa, pc
from scumble.sources.paths import cannot_open
from scumble.sources.source import BATCH_ROWS, Piece, Position, Source, changed, cut, did_you_mean
from scumble.tables.cells import number_or_none
from scumble.tables.roles import Roles, without_words

SCHEMES = ("sqlite", "postgresql", "postgres")
MOST_RESULTS = 2000
"""Columns that a result of SQLite may have. A column of numbers takes two of them, its numbers and its texts; in tables
so wide that this is too many, texts are missing cells."""


def is_database(source: str) -> bool:
    """Whether a source is a database's address."""
    return source.split(":", 1)[0].lower() in SCHEMES and "://" in source


class DatabaseSource(Source):
    """A table or a query of a database, opened for reading only."""

    def __init__(self, uri: str, *, table: str | None = None, query: str | None = None) -> None:
        self._sqlite = uri.lower().startswith("sqlite")
        self._file = database_file(uri) if self._sqlite else None
        self._name = os.path.basename(self._file) if self._file else (urlsplit(uri).path.strip("/") or "the database")
        self._before = self._seen() if self._file else None
        self._connection = self._connect(uri)
        try:
            tables = self._tables()
            self._inner, asked = table_or_query(self._name, tables, table, query)
            self._about = self._name + asked
            self._identity = {"table": table, "query": query}
            self._types = {field.name: field for field in self._schema(f"SELECT * FROM {self._inner} LIMIT 0")}
        except BaseException:
            self.close()
            raise
        self.names = tuple(self._types)
        self.skipped = {}

    def __str__(self) -> str:
        return self._about

    # ---- opening ----

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
        except Exception as problem:
            raise DataError(_no_connection(uri, str(problem))) from None

    def _tables(self) -> dict[str, str]:
        """The tables' names, and how each is written in a query."""
        if self._sqlite:
            query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
        else:
            query = (
                "SELECT table_schema::text, table_name::text FROM information_schema.tables "
                "WHERE table_schema NOT IN ('pg_catalog', 'information_schema')"
            )
        found: dict[str, str] = {}
        with self._cursor(query) as cursor:
            for *schema, name in cursor.fetchall():
                written = ".".join(quoted(part) for part in (*schema, name))
                found[".".join((*schema, name)) if schema and schema != ["public"] else name] = written
        return found

    def _schema(self, query: str) -> pa.Schema:
        with self._cursor(query) as cursor:
            return cursor.fetch_record_batch().schema

    @contextlib.contextmanager
    def _cursor(self, query: str) -> Iterator[Any]:
        cursor = self._connection.cursor()
        try:
            if self._sqlite:
                cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(BATCH_ROWS)})
            cursor.execute(query)
            yield cursor
        except DataError:
            raise
        except Exception as problem:
            raise self._problem(str(problem)) from None
        finally:
            with contextlib.suppress(Exception):
                cursor.close()

    def _problem(self, words: str) -> DataError:
        """The database's own words are of use only where they speak of the query; cells stay out."""
        name = getattr(self, "_about", self._name)
        if "not a database" in words or "malformed" in words:
            return DataError(f"{name} is not an SQLite database, or is damaged. Hint: check the path.")
        found = re.search(
            r'no such (?:table|column)[^\n]*|syntax error[^\n]*|(?:relation|column) "[^"\n]*" does not', words
        )
        if found:
            told = found[0] + (" exist" if found[0].endswith("does not") else "")
            return DataError(
                f"The query does not run on {self._name}: {told.strip()}. Hint: try it in the database's shell."
            )
        if "permission denied" in words:
            return DataError(f"You may not read {name}. Hint: ask for the right to SELECT.")
        return DataError(f"Reading from {name} failed. Hint: try the query in the database's own shell.")

    # ---- rows ----

    def pieces(self, roles: Roles, *, start: Position = (0, 0), invalid: str = "error") -> Iterator[Piece]:
        if not self._sqlite:
            self._check_types(roles)
        apart = len(roles) + sum(role == "number" for role in roles.values()) <= MOST_RESULTS
        selected = ", ".join(self._expression(name, role, apart) for name, role in roles.items())
        query = f"SELECT {selected} FROM {self._inner}"
        skip, row = start[1], start[1]
        if self._sqlite:
            number = "0.5, ''" if apart else "0.5"
            first = ", ".join(number if role == "number" else "''" for role in roles.values())
            query = f"SELECT {first} UNION ALL {query}"
            skip += 1
        with self._cursor(query) as cursor:
            reader = cursor.fetch_record_batch()
            for batch in cut(iter(reader), skip):
                row += batch.num_rows
                columns = _by_cell(batch.columns, roles) if self._sqlite and apart else batch.columns
                yield Piece(
                    without_words(pa.RecordBatch.from_arrays(columns, names=list(roles)), roles), (0, row), None
                )

    def _expression(self, name: str, role: str, apart: bool) -> str:
        column = quoted(name)
        if not self._sqlite:
            kind = _postgres_type(self._types[name])
            if role == "number" and kind == "numeric":
                return f"CAST({column} AS double precision)"
            return column if role in ("number", "tokens") or not kind else f"CAST({column} AS text)"
        if role == "number":  # CAST alone would turn words into 0
            number = f"typeof({column}) IN ('integer', 'real')"
            numbers = f"CASE WHEN {number} THEN CAST({column} AS REAL) END"
            return f"{numbers}, CASE WHEN NOT {number} THEN CAST({column} AS TEXT) END" if apart else numbers
        whole = f"typeof({column}) = 'real' AND {column} = CAST({column} AS INTEGER)"
        return f"CASE WHEN {whole} THEN CAST(CAST({column} AS INTEGER) AS TEXT) ELSE CAST({column} AS TEXT) END"

    def _check_types(self, roles: Roles) -> None:
        for name, role in roles.items():
            if role == "number" and pa.types.is_string(self._types[name].type):
                if _postgres_type(self._types[name]) == "numeric":
                    continue
                raise DataError(
                    f"Column {name!r} of {self} must hold numbers, got text. "
                    "Hint: name it in --categories, or turn it into numbers in --query."
                )

    # ---- what it is ----

    def place(self, position: Position, rows: int, row: int) -> str:
        return f"{self}, row {position[1] - rows + row + 1:,} of the result"

    def types(self, columns: Sequence[str]) -> dict[str, pa.DataType | None]:
        found = {name: self._types[name].type for name in columns}
        return {name: None if pa.types.is_null(kind) else kind for name, kind in found.items()}

    def fingerprint(self) -> dict[str, Any]:
        if self._file is None:
            raise ParameterError(
                "A PostgreSQL database may give its rows in another order each time, so it has no checkpoint. "
                "Hint: leave out --checkpoint, or export the rows to Parquet first."
            )
        files = []
        for path in (self._file, self._file + "-wal"):
            if os.path.exists(path) and os.path.getsize(path):
                about = os.stat(path)
                files.append([os.path.basename(path), about.st_size, about.st_mtime_ns])
        return {"kind": "sqlite", "files": files, **self._identity}

    def _seen(self) -> tuple[tuple[int, int], int]:
        """Which file it is, and its size."""
        about = os.stat(self._file or "")
        return (about.st_dev, about.st_ino), about.st_size

    def require_unchanged(self) -> None:
        """A query sees one state of the database, whoever writes to it in the meantime: SQLite sees to that.

        Whoever replaces the file or cuts it short goes past SQLite.
        """
        if self._before is None:
            return
        try:
            (which, size), (before, least) = self._seen(), self._before
        except OSError:
            raise changed(self._name) from None
        if which != before or size < least:
            raise changed(self._name)

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._connection.close()


def _by_cell(columns: list[pa.Array], roles: Roles) -> list[pa.Array]:
    """The columns, of SQLite's two for each one of numbers made one again."""
    rest = iter(columns)
    return [_numbers(next(rest), next(rest)) if role == "number" else next(rest) for role in roles.values()]


def _numbers(numbers: pa.Array, texts: pa.Array) -> pa.Array:
    """Each cell by its own type. Text that says no number becomes NaN; what is missing, or says so, is null."""
    coded = texts.cast(pa.binary()).dictionary_encode()  # SQLite does not see to it that text is UTF-8
    said = pa.array(map(number_or_none, coded.dictionary.to_pylist()), pa.float64())
    return pc.coalesce(numbers, said.take(coded.indices))


def database_file(uri: str) -> str:
    """The file of an address such as sqlite:///people.db, which must be there."""
    scheme, path = uri.split("://", 1)
    if not path.startswith("/"):
        raise DataError(f"Write {scheme}:///file.db for a file here, and {scheme}:////folder/file.db for a full path.")
    path = path[1:]
    if not os.path.exists(path):
        if not path.startswith("/") and os.path.exists("/" + path):
            raise DataError(f"There is no database {path!r} here. Did you mean {scheme}:////{path} (four slashes)?")
        raise DataError(
            f"There is no database {path!r}. Hint: check the path; {scheme}:////… has four for a full path."
        )
    if os.path.isdir(path):
        raise DataError(f"{path!r} is a folder, not a database. Hint: name the file in it.")
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise cannot_open(path, error) from None
    return path


def table_or_query(name: str, tables: dict[str, str], table: str | None, query: str | None) -> tuple[str, str]:
    """What is asked of a database: as the source of a query of ours, and in words."""
    if table is not None and query is not None:
        raise ParameterError("Give `table` or `query`, not both.")
    if table is None and query is None:
        raise ParameterError(
            f"Give --table or --query (table=, query=): a database holds many tables. "
            f"{name} has: {', '.join(sorted(tables)) or 'none'}."
        )
    if table is not None and table not in tables:
        raise DataError(f"There is no table {table!r} in {name}.{did_you_mean(table, sorted(tables))}")
    inner = query.strip().rstrip(";") if query is not None else f"SELECT * FROM {tables[table or '']}"
    # A new line: the query may end in a comment.
    return f"({inner}\n) AS scumble_source", f", table {table}" if table is not None else ", the query"


def _no_connection(uri: str, words: str) -> str:
    where = urlsplit(uri).hostname or "this machine"
    name = urlsplit(uri).path.strip("/")
    if "does not exist" in words and "database" in words:
        return f"There is no database {name!r} on {where}. Hint: check the name after the last slash."
    if "password" in words or "authentication" in words or 'role "' in words:
        return f"The database on {where} refuses this user or password. Hint: check both, or set PGPASSWORD."
    return f"The database on {where} cannot be reached. Hint: is it running, and are host and port right?"


def _postgres_type(field: pa.Field) -> str:
    """The type's name where the driver passes it on as text."""
    metadata: dict[bytes, bytes] = field.metadata or {}
    return metadata.get(b"ADBC:postgresql:typname", b"").decode("ascii", "replace")


def quoted(name: str) -> str:
    """A name, as SQL writes names."""
    return '"' + name.replace('"', '""') + '"'
