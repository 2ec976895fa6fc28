"""Files and tables as DataFrames, for the command line. From Python, any DataFrame will do."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from typing import Any

from scumble.cluster.spark.engine import json_lines, whole_lines
from scumble.errors import DataError, ParameterError, PrivacyError, ScumbleError
from scumble.tables.roles import Roles

_CHARSETS = {"utf8": "UTF-8", "latin-1": "ISO-8859-1", "latin1": "ISO-8859-1", "ascii": "US-ASCII"}
"""What Spark calls them."""
_ENDINGS = {
    "csv": (".csv", ".tsv", ".tab", ".txt"),
    "parquet": (".parquet", ".pq"),
    "json": (".json", ".jsonl", ".ndjson"),
    "orc": (".orc",),
}


def read(
    session: Any,
    paths: Sequence[str],
    *,
    table: str | None = None,
    query: str | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    encoding: str = "utf8",
    roles: Roles | None = None,
) -> tuple[Any, bool]:
    """Files (of any file system that the cluster knows), a table of its catalogue, or a query; and whether all is text.

    CSV cells stay text, as on one machine: what they are read as is the kernel's business, not a guess at the data. For
    the same reason Spark does not read JSON lines, whose columns and types it would take from the records: the columns
    are those of `roles`, and each line is parsed as on one machine.
    """
    if table is not None or query is not None:
        if paths:
            raise ParameterError(
                "Give files, or --table, or --query. Hint: --table names a table of Spark's catalogue."
            )
        return (session.table(table) if query is None else session.sql(query)), False
    kind = _format(paths[0]) if format is None else format
    if decimal != ".":
        raise ParameterError("Spark reads no decimals after a comma. Hint: leave out --engine spark.")
    if kind == "json" and roles is None:
        raise PrivacyError(
            "JSON lines declare no columns, and the keys of the records are as private as the records. "
            "Hint: name the columns, --columns age,income."
        )
    # Spark's own folder need not be ours: what lies here is named in full.
    paths = [os.path.abspath(path) if glob.glob(path) else path for path in paths]
    try:
        if kind == "csv":
            sep = "\t" if delimiter == "tab" or (delimiter is None and ".ts" in paths[0].lower()) else delimiter or ","
            charset = _CHARSETS.get(encoding.lower(), encoding)
            return whole_lines(session.read.options(header=True, sep=sep, encoding=charset), paths), True
        if kind == "json":
            return json_lines(session, paths, roles or {}), False
        return session.read.format(kind).load(paths), False
    except ScumbleError:
        raise
    except Exception as problem:  # PySpark's own classes; their words name paths and schemas, no cells
        raise DataError(f"Spark cannot read {paths[0]!r}: {str(problem).splitlines()[0]}") from None


def _format(path: str) -> str:
    if path == "-" or path.startswith(("sqlite:", "duckdb:", "postgresql:", "postgres:")):
        raise ParameterError(
            f"Spark does not read {path.split(':')[0]!r}. Hint: give files that all its workers see, --table for a "
            "table of its catalogue, or leave out --engine spark."
        )
    name = path.lower().rstrip("/*")
    for packed in (".gz", ".bz2", ".zst", ".snappy"):
        name = name.removesuffix(packed)
    for kind, endings in _ENDINGS.items():
        if name.endswith(endings):
            return kind
    if "." in name.rsplit("/", 1)[-1]:
        raise ParameterError(f"Spark cannot tell the format of {path!r}. Hint: --format csv, parquet or json.")
    return "parquet"  # a folder
