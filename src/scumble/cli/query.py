"""``scumble query``: densities with error bars at points of your choice."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from functools import partial
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
    from scumble.cli.arguments import json_flag, reading, real, replace_flag, values

    parser.add_argument("release", help="a released file")
    parser.add_argument(
        "points", nargs="?", help="a table with the release's columns, one point per row; '-' for standard input"
    )
    parser.add_argument("--at", type=values, metavar="A=1,B=5", help="one point, instead of a table of them")
    parser.add_argument(
        "--out", default="-", metavar="FILE", help=".csv, .parquet, .arrow, .json or '-' (default; one point: in words)"
    )
    parser.add_argument("--confidence", type=real, default=0.95, help="of lower and upper (default: 0.95)")
    replace_flag(parser)
    reading(parser)
    json_flag(parser)


def run(args: argparse.Namespace) -> None:
    """Do what the verb says."""
    from scumble.reading.answers import BeyondBounds

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BeyondBounds)  # the verb says it in its own way
        _run(args)


def _run(args: argparse.Namespace) -> None:
    from scumble.bundle import Bundle
    from scumble.cli.output import TABLES, TableWriter, check_out, load_release, say
    from scumble.errors import DataError, ParameterError
    from scumble.reading.answers import beyond

    if (args.points is None) == (args.at is None):
        raise ParameterError("Give a table of points, or one point by --at, such as --at age=45,income=50000.")
    check_out(args.out, like=tuple(TABLES), replace=args.replace)
    found = load_release(args.release)
    releases = list(found.items()) if isinstance(found, Bundle) else [(None, found)]
    if args.at is not None:
        point = _one_point(args.at, releases[0][1])
        _check(_numbers(point, releases[0][1]), releases[0][1], list(point), lambda _: "--at", ".")
        (remarks,) = _remarks(_numbers(point, releases[0][1]), releases[0][1])
        for line in remarks:
            say(args, line)
        if args.out == "-" and not args.json:
            for name, release in releases:
                print(_sentence(point, name, release, args.confidence))
            if told := _perhaps_misspelt(point, [release for _, release in releases], args.confidence):
                say(args, told)
            return
    from scumble.cli.records import with_columns  # one point, above, needs nothing of this

    empty, outside = True, 0
    dated = _dated(releases[0][1])  # dates stay dates
    with TableWriter(args.out, args.json) as writer:
        for batch, points in _points(args, releases[0][1]):
            empty = empty and batch.num_rows == 0
            if writer.kind != "csv":  # CSV gets the points' own text back; elsewhere numbers are numbers
                batch = with_columns(
                    batch, points.drop_columns([name for name in points.schema.names if name in dated])
                )
            about_each = _remarks(points, releases[0][1])
            outside += sum(map(bool, about_each))
            for name, release in releases:
                extra = _answers(points, name, release, args.confidence, short=writer.kind == "csv")
                if writer.kind == "json":
                    extra["remarks"] = about_each
                writer.write(_beside(batch, extra))
        if empty:
            raise DataError(f"{args.points} has no points. Hint: one point per row, under the names of the columns.")
    if args.at is None and outside:
        say(args, f"{beyond(outside)} --json says it of each point.")
    if args.out != "-":
        say(args, f"Wrote {args.out}.")


def _points(args: argparse.Namespace, release: Any) -> Iterator[tuple[Any, Any]]:
    """The points' own columns as they are, and the release's columns among them as numbers or text."""
    from scumble.cli.records import whole_rows
    from scumble.errors import DataError, many
    from scumble.machine.later import pa
    from scumble.sources import open_source
    from scumble.tables.roles import converted, roles_of, without_words

    given = args.points if args.at is None else pa.table(_one_point(args.at, release))
    reading = {name: getattr(args, name) for name in ("table", "format", "delimiter", "decimal", "encoding")}
    source = open_source(given, **reading)
    # Points are public, and so are their keys.
    columns = list(release.columns or (source.names if source.declared else source.keys()))
    source.require(columns)
    if len(columns) != release.dimensions:
        raise DataError(f"{source} has {many(len(columns), 'column')} and the release has {release.dimensions}.")
    roles = roles_of(release.kernel, columns)
    for piece in whole_rows(args, source, columns, stops=True):
        points = _numbers(piece.batch.select(columns), release)
        if isinstance(points, dict):
            points = pa.RecordBatch.from_pydict({name: pa.array(column) for name, column in points.items()})
        points = without_words(converted(points, roles), roles)
        _check(points, release, columns, partial(source.place, piece.position, points.num_rows), source.decimal)
        yield piece.batch, points


def _numbers(table: Any, release: Any) -> Any:
    """Dates, times and booleans as numbers; all else stays."""
    kinds = _dated(release)
    if not kinds:
        return table
    from scumble.schema.kinds import points

    return points(table, kinds, release.columns)


def _one_point(at: dict[str, float | str], release: Any) -> dict[str, list[float | str | None]]:
    """The point of --at, as a table of one row; it needs NumPy alone."""
    from scumble.errors import DataError, ParameterError, did_you_mean
    from scumble.tables.roles import roles_of

    if release.kinds:
        from scumble.schema.kinds import fixed_by

        at = fixed_by(release.kinds, at)
    columns = release.columns
    if columns is None:
        raise ParameterError("--at needs names, and this release's columns have none. Hint: give a table of points.")
    for name in at:
        if name not in columns:
            guess = did_you_mean(name, columns)
            raise ParameterError(f"--at names {name!r}, which is none of the columns {', '.join(columns)}.{guess}")
    for name in columns:
        if name not in at:
            raise ParameterError(f"--at lacks the column {name!r}. Hint: {','.join(f'{one}=…' for one in columns)}.")
    roles = {**roles_of(release.kernel, columns), **dict.fromkeys(_dated(release), "any")}
    found = {name: _cell(at[name], roles[name]) for name in columns}
    for name, cell in found.items():
        if isinstance(at[name], str) and cell != cell:  # NaN: no number
            from scumble.schema.spelling import numbers

            raise DataError(
                f"--at asks for {name}={str(at[name])[:40]}, and {name!r} holds numbers. Hint: numbers are read as "
                f"{numbers('.', 'or')}."
            )
    return {name: [cell] for name, cell in found.items()}


def _cell(value: float | str, role: str) -> float | str | None:
    """A number for a column of numbers, if that is what the text says; nothing for a word that says so, as in files."""
    from scumble.tables.cells import number_in
    from scumble.tables.roles import says_nothing

    if says_nothing(value, role):
        return None
    return number_in(value.encode()) if isinstance(value, str) and role == "number" else value


def _dated(release: Any) -> dict[str, str]:
    """The columns that are asked for as dates, times or booleans."""
    return {name: kind for name, kind in release.kinds.items() if kind != "whole"}


def _check(points: Any, release: Any, columns: list[str], place: Callable[[int], str], decimal: str) -> None:
    """Bad cells with their place, as `build` tells them."""
    import numpy as np

    from scumble.errors import DataError
    from scumble.tables import Table

    table = Table.of(points)
    for factor in release.kernel.factors:
        which = factor.which(table.width, columns)
        _, bad = factor.read(table, which)
        if bad.any():
            from scumble.schema.kinds import read_as, unread

            row, column = np.argwhere(bad)[0]
            name = columns[which[column]]
            kind = release.kinds.get(name, None if factor.reads == "number" else factor.reads)
            where = place(int(row))
            rest = [] if where == "--at" else ["a point without a value has no answer: take such rows out"]
            hint = "; ".join([read_as(kind, decimal), *rest])
            raise DataError(f"{where}: column {name!r} is {unread([kind])}. Hint: {hint}.")


def _remarks(points: Any, release: Any) -> list[list[str]]:
    """For each point a sentence for each column in which it lies outside the release's bounds, which are public."""
    import numpy as np

    from scumble.tables import Table

    table = Table.of(points)
    found: list[list[str]] = [[] for _ in range(table.rows)]
    if release.bounds is None:
        return found
    names = release.columns or [f"column {number}" for number in range(table.width)]
    for number in release.kernel.which(table.width, release.columns):
        low, high = (side[number] for side in release.bounds)
        (values,), kind = table.numeric([number]).T, release.kinds.get(names[number])
        for row in np.flatnonzero((values < low) | (values > high)):
            from scumble.schema.kinds import shown

            found[row].append(
                f"The point lies outside the release's bounds: {names[number]!r} goes from {shown(low, kind, 12)} to "
                f"{shown(high, kind, 12)}. Records from there were counted at the edge: the interval allows for it."
            )
    return found


def _perhaps_misspelt(point: Any, releases: list[Any], confidence: float) -> str:
    """What to know where perhaps nobody is near a point that has words: a release of densities does not list them."""
    columns, factors = releases[0].columns, releases[0].kernel.factors
    worded = [factor for factor in factors if factor.reads in ("category", "tokens")]
    names = [repr(columns[j]) for factor in worded for j in factor.which(len(columns), columns)]
    if not names or any(release.interval(point, confidence)[0][0] > 0 for release in releases):
        return ""
    return (
        f"A release of densities does not list the words of {', '.join(names)}: nobody is near a misspelt one, either."
    )


def _sentence(points: Any, name: Any, release: Any, confidence: float) -> str:
    """The answer at one point, for people."""
    from scumble.cli.digits import told
    from scumble.errors import number_with_error, readable

    (low,), (high,) = release.interval(points, confidence)
    (total,), (density,) = release.kernel_sum(points), release.density(points)
    of = "" if name is None else f"{readable(str(name))}: "
    number, lower, upper = told(*(max(float(one), 0.0) for one in (total, low, high)))  # nobody counts below none
    records = "record" if number == "1" else "records"
    among = "" if name is None else f" of about {number_with_error(release.count, release.count_standard_error)}"
    return f"{of}{number} {records} near ({lower} to {upper}, {confidence:.0%}){among}; density {density:.4g}"


def _answers(points: Any, name: Any, release: Any, confidence: float, *, short: bool) -> dict[str, Any]:
    """Columns of answers; `short` ones have no digits that are noise alone."""
    from scumble.cli.digits import rounded

    total, density = release.kernel_sum(points), release.density(points, shrink=False)
    lower, upper = release.interval(points, confidence)
    columns = [total, density, lower, upper]
    if short:
        width = upper - lower
        total, lower, upper = rounded([total, lower, upper], width)
        (density,) = rounded([density], width / release.divisor)
        columns = [total, density, lower, upper]
    label = {} if name is None else {"class": [str(name)] * len(total)}
    return label | dict(zip(ANSWERS, columns, strict=True))


def _beside(batch: Any, extra: dict[str, Any]) -> Any:
    from scumble.machine.later import pa
    from scumble.tables.beside import free

    taken = batch.schema.names
    names = [*taken, *free(list(extra), taken)]
    return pa.RecordBatch.from_arrays([*batch.columns, *map(pa.array, extra.values())], names=names)
