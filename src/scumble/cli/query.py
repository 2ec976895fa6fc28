"""``scumble query``: densities with error bars at points of your choice."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

EXAMPLE = """
scumble query people.scumble points.csv --out -
scumble query people.scumble points.csv --out answers.parquet --confidence 0.9
scumble query people.scumble points.csv --json
scumble query people.scumble --at age=45,income=50000
"""
NOTHING_PRIVATE = "reads a released file"
ANSWERS = ("kernel_sum", "density", "lower", "upper")


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    from scumble.cli.arguments import json_flag, reading, values

    parser.add_argument("release", help="a released file")
    parser.add_argument(
        "points", nargs="?", help="a table with the release's columns, one point per row; '-' for standard input"
    )
    parser.add_argument("--at", type=values, metavar="A=1,B=5", help="one point, instead of a table of them")
    parser.add_argument(
        "--out", default="-", metavar="FILE", help=".csv, .parquet, .arrow, .json or '-' (default; one point: in words)"
    )
    parser.add_argument("--confidence", type=float, default=0.95, help="of lower and upper (default: 0.95)")
    reading(parser)
    json_flag(parser)


def run(args: argparse.Namespace) -> None:
    """Do what the verb says."""
    from scumble.bundle import Bundle
    from scumble.cli.output import TABLES, TableWriter, check_out, load_release, say
    from scumble.errors import DataError, ParameterError

    if (args.points is None) == (args.at is None):
        raise ParameterError("Give a table of points, or one point by --at, such as --at age=45,income=50000.")
    in_words = args.at is not None and args.out == "-" and not args.json
    check_out(args.out, like=tuple(TABLES))
    found = load_release(args.release)
    releases = list(found.items()) if isinstance(found, Bundle) else [(None, found)]
    if in_words:
        for _, points in _points(args, releases[0][1]):
            for name, release in releases:
                print(_sentence(points, name, release, args.confidence))
        return
    empty = True
    dated = [name for name, kind in releases[0][1].kinds.items() if kind != "whole"]  # dates stay dates
    with TableWriter(args.out, args.json) as writer:
        for batch, points in _points(args, releases[0][1]):
            empty = empty and batch.num_rows == 0
            if writer.kind != "csv":  # CSV gets the points' own text back; elsewhere numbers are numbers
                batch = _replaced(batch, points.drop_columns([name for name in points.schema.names if name in dated]))
            for name, release in releases:
                writer.write(_answers(batch, points, name, release, args.confidence))
        if empty:
            raise DataError(f"{args.points} has no points. Hint: one point per row, under the names of the columns.")
    if args.out != "-":
        say(args, f"Wrote {args.out}.")


def _points(args: argparse.Namespace, release: Any) -> Iterator[tuple[Any, Any]]:
    """The points' own columns as they are, and the release's columns among them as numbers or text."""
    from scumble.errors import DataError
    from scumble.sources import open_source
    from scumble.tables.roles import converted, roles_of

    given = args.points if args.at is None else _one_point(args.at, release)
    source = open_source(given, format=args.format, delimiter=args.delimiter, encoding=args.encoding)
    names = list(source.names if source.declared else source.keys())  # points are public, and so are their keys
    columns = list(release.columns) if release.columns is not None else names
    source.require(columns)
    if len(columns) != release.dimensions:
        raise DataError(f"{source} has {len(columns)} columns and the release has {release.dimensions}.")
    roles = roles_of(release.kernel, columns)
    kinds = {name: kind for name, kind in release.kinds.items() if kind != "whole"}
    for piece in source.pieces(dict.fromkeys(names, "any")):
        points = converted(_read(piece.batch.select(columns), kinds), roles)
        _check(points, piece, source, release, columns)
        yield piece.batch, points


def _read(batch: Any, kinds: dict[str, str]) -> Any:
    """Dates, times and booleans as numbers; numbers stay."""
    if not kinds:
        return batch
    import pyarrow as pa

    from scumble.schema.kinds import points

    columns = points(batch, kinds, batch.schema.names)
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns.values()], names=batch.schema.names)


def _one_point(at: dict[str, str], release: Any) -> Any:
    """The point of --at, as a table of one row."""
    import pyarrow as pa

    from scumble.errors import ParameterError

    columns = release.columns
    if columns is None:
        raise ParameterError("--at needs names, and this release's columns have none. Hint: give a table of points.")
    for name in columns:
        if name not in at:
            raise ParameterError(f"--at lacks the column {name!r}. Hint: {','.join(f'{one}=…' for one in columns)}.")
    for name in at:
        if name not in columns:
            raise ParameterError(f"--at names {name!r}, which is none of the columns {', '.join(columns)}.")
    return pa.table({name: [at[name]] for name in columns})


def _replaced(batch: Any, points: Any) -> Any:
    for name, column in zip(points.schema.names, points.columns, strict=True):
        batch = batch.set_column(batch.schema.names.index(name), name, column)
    return batch


def _check(points: Any, piece: Any, source: Any, release: Any, columns: list[str]) -> None:
    """Bad cells with their place, as `build` tells them."""
    import numpy as np

    from scumble.errors import DataError
    from scumble.tables import Table

    table = Table.of(points)
    for factor in release.kernel.factors:
        which = factor.which(table.width, columns)
        _, bad = factor.read(table, which)
        if bad.any():
            row, column = np.argwhere(bad)[0]
            where = source.place(piece.position, points.num_rows, int(row))
            raise DataError(f"{where}: column {columns[which[column]]!r} is missing, not a number or not finite.")


def _sentence(points: Any, name: Any, release: Any, confidence: float) -> str:
    """The answer at one point, for people."""
    (low,), (high,) = release.interval(points, confidence)
    (total,), (density,) = release.kernel_sum(points), release.density(points)
    of = "" if name is None else f"{name}: "
    return f"{of}{total:,.0f} records near ({low:,.0f} to {high:,.0f}, {confidence:.0%}); density {density:.4g}"


def _answers(batch: Any, points: Any, name: Any, release: Any, confidence: float) -> Any:
    import pyarrow as pa

    total = release.kernel_sum(points)
    lower, upper = release.interval(points, confidence)
    extra = [pa.array(column) for column in (total, release.density(points), lower, upper)]
    names = list(ANSWERS)
    if name is not None:
        extra, names = [pa.array([str(name)] * len(total)), *extra], ["class", *names]
    taken = set(batch.schema.names)
    names = [one if one not in taken else f"scumble_{one}" for one in names]
    return pa.RecordBatch.from_arrays([*batch.columns, *extra], names=[*batch.schema.names, *names])
