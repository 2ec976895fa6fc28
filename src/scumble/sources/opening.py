"""From what the user wrote to a source."""

from __future__ import annotations

import os

from scumble.errors import ParameterError, parameter
from scumble.sources.formats import Options
from scumble.sources.source import Source


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
        raise parameter("decimal", "'.' or ',', what stands before the decimals of numbers in a CSV file", decimal)
    paths = _paths(source)
    if paths is None:
        from scumble.sources.memory import MemorySource

        return MemorySource(source)
    from scumble.sources.database import DatabaseSource, is_database

    if len(paths) == 1 and is_database(paths[0]):
        return DatabaseSource(paths[0], table=table, query=query)
    if len(paths) == 1 and paths[0].lower().startswith("duckdb://"):
        from scumble.sources.duckfile import DuckSource

        return DuckSource(paths[0], table=table, query=query)
    if query is not None:
        raise ParameterError("`query` goes with a database, such as sqlite:///file.db.")
    for path in paths:
        if "://" in path and not os.path.exists(path):
            raise ParameterError(
                f"scumble does not read from {path.split('://')[0]}://. "
                "Hint: local files, sqlite:///file.db, duckdb:///file.duckdb and postgresql://host/name; in Python, "
                "object stores through pyarrow.fs; pipe anything else into '-'."
            )
    from scumble.sources.filesource import FileSource
    from scumble.sources.text import encoding_named

    options = Options(delimiter, encoding_named(encoding), table, decimal)
    return FileSource(paths, format=format, options=options)


def _paths(source: object) -> list[str] | None:
    if isinstance(source, (str, os.PathLike)):
        return [os.fsdecode(source)]
    if isinstance(source, (list, tuple)) and source and all(isinstance(one, (str, os.PathLike)) for one in source):
        return [os.fsdecode(one) for one in source]
    return None
