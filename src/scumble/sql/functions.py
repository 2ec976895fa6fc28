"""Released files as functions of DuckDB: ``select scumble_density('people.scumble', age, income) from points``."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from scumble import files
from scumble.density.release import Release
from scumble.errors import ParameterError, parameter
from scumble.table.release import TableRelease


def register(connection: Any) -> None:
    """Let a connection of DuckDB ask released files.

    ``scumble_density(file, column, …)`` is the density at a point, its columns in the release's order;
    ``scumble_count(file, condition)`` how many records of a table's release meet a condition, and
    ``scumble_interval(file, condition)`` the same with its interval, a struct of value, low and high. They read the
    file that they name; a row with a missing argument has a missing answer.

    Parameters
    ----------
    connection : DuckDBPyConnection
        Such as ``duckdb.connect()``.
    """
    if not hasattr(connection, "create_function"):
        raise parameter("connection", "DuckDB's", type(connection).__name__, "duckdb.connect() gives one.")
    connection.create_function("scumble_density", _density, None, "DOUBLE", type="arrow")
    texts = ["VARCHAR", "VARCHAR"]
    connection.create_function("scumble_count", _count, texts, "DOUBLE", type="arrow")
    three = "STRUCT(value DOUBLE, low DOUBLE, high DOUBLE)"
    connection.create_function("scumble_interval", _interval, texts, three, type="arrow")


def _density(path: pa.Array, *columns: pa.Array) -> pa.Array:
    found = np.empty(len(path))
    for name, rows in _by_value(path):
        release = _release(name)
        if not isinstance(release, Release):
            raise ParameterError(f"{name!r} is the release of a table. Hint: scumble_count(file, condition).")
        if len(columns) != release.dimensions:
            told = ", ".join(release.columns or [f"{release.dimensions} of them"])
            raise ParameterError(f"{name!r} has the columns {told}; {len(columns)} were given. Hint: one for each.")
        names = list(release.columns or [f"x{k}" for k in range(len(columns))])
        points = pa.table(list(columns), names=names).take(pa.array(rows))
        found[rows] = release.density(points, shrink=False)  # who knows which rows come together
    return pa.array(found)


def _count(path: pa.Array, condition: pa.Array) -> pa.Array:
    return pa.array(_counts(path, condition)[0])


def _interval(path: pa.Array, condition: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays(list(map(pa.array, _counts(path, condition))), ["value", "low", "high"])


def _counts(path: pa.Array, condition: pa.Array) -> np.ndarray:
    """Value, low and high of each."""
    found = np.empty((3, len(path)))
    for name, rows in _by_value(path):
        release = _release(name)
        if not isinstance(release, TableRelease):
            raise ParameterError(f"{name!r} is not the release of a table. Hint: scumble_density(file, column, …).")
        for where, mine in _by_value(condition.take(pa.array(rows))):
            found[:, rows[mine]] = np.array(list(release.count(where)))[:, None]
    return found


def _by_value(texts: pa.Array) -> list[tuple[str, np.ndarray]]:
    """Each text, and the rows that have it."""
    values, places = np.unique(np.array(texts.to_pylist(), str), return_inverse=True)
    return [(str(value), np.flatnonzero(places == k)) for k, value in enumerate(values)]


def _release(path: str) -> Release | TableRelease:
    about = os.stat(path) if os.path.exists(path) else None
    return _read(path, None if about is None else (about.st_ino, about.st_size, about.st_mtime_ns))


@lru_cache(maxsize=16)
def _read(path: str, version: object) -> Release | TableRelease:
    """The file, kept while it is the same one."""
    container = files.read(path, expect=("release", "table"))
    return (Release if container.kind == "release" else TableRelease).from_container(container)
