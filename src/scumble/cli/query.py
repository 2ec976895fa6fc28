"""``scumble query``: densities with error bars at points of your choice."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from scumble.cli.inputs import load_release, opened, whole_rows, with_columns
from scumble.cli.options import TABLE_OUT, Settings, take
from scumble.cli.output import TableWriter, check_table, remarked, rounded
from scumble.errors import DataError, ParameterError, did_you_mean, many, number_with_error, readable, with_interval
from scumble.files.lazy_modules import pa

if TYPE_CHECKING:
    import numpy as np

    from scumble.density.release import Release

EXAMPLE = """
scumble query people.scumble points.csv --out -
scumble query people.scumble points.csv --out answers.parquet --confidence 0.9
scumble query people.scumble points.csv --json
scumble query people.scumble --at age=45,income=50000
"""
Points: TypeAlias = "Settings | pa.RecordBatch"
NOTHING_PRIVATE = "reads a released file"
ANSWERS = ("kernel_sum", "density", "lower", "upper")


def arguments(parser: argparse.ArgumentParser) -> None:
    take(parser, release="a released file")
    parser.add_argument(
        "points", nargs="?", help="a table with the release's columns, one point per row; '-' for standard input"
    )
    take(parser, "at confidence replace READING json", out=TABLE_OUT)


def run(args: argparse.Namespace) -> None:
    from scumble.density.bundle import Bundle

    if (args.points is None) == (args.at is None):
        raise ParameterError("Give a table of points, or one point by --at, such as --at age=45,income=50000.")
    check_table(args)
    found = load_release(args.release)
    releases = list(found.items()) if isinstance(found, Bundle) else [(None, found)]
    first = releases[0][1]
    if args.at is not None:
        point = _one_point(args.at, first)
        _check(_numbers(point, first), first, list(point), lambda _: "--at", ".")
        if args.out == "-" and not args.json:
            with remarked():
                print("\n".join(_sentence(point, name, release, args.confidence) for name, release in releases))
            return
    empty = True
    dated = _dated(first)  # dates stay dates
    with TableWriter(args) as writer:
        for batch, points in _points(args, first):
            empty = empty and batch.num_rows == 0
            short = writer.kind == "csv"
            if not short:  # CSV gets the points' own text back; elsewhere numbers are numbers
                batch = with_columns(batch, points.drop_columns([one for one in points.schema.names if one in dated]))
            with remarked() as remarks:
                answers = [_answers(points, name, release, args.confidence, short=short) for name, release in releases]
            for extra in answers:
                writer.write(_joined(batch, extra | ({"remarks": [remarks] * len(batch)} if args.json else {})))
        if empty:
            raise DataError(f"{args.points} has no points. Hint: one point per row, under the names of the columns.")


def _points(args: argparse.Namespace, release: Release) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """The points' own columns as they are, and the release's columns among them as numbers or text."""
    from scumble.columns.kinds import converted, roles_of, without_words

    source = opened(args, args.points if args.at is None else pa.table(_one_point(args.at, release)))
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


def _numbers(table: Points, release: Release) -> Points:
    """Dates, times and booleans as numbers; all else stays."""
    kinds = _dated(release)
    if not kinds:
        return table
    from scumble.columns.kinds import points

    assert release.columns is not None  # kinds are those of named columns
    return points(table, kinds, release.columns)


def _one_point(at: dict[str, float | str], release: Release) -> dict[str, list[float | str | None]]:
    """The point of --at, as a table of one row; it needs NumPy alone."""
    from scumble.columns.kinds import roles_of

    if release.kinds:
        from scumble.columns.kinds import fixed_by

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
            raise DataError(f"--at asks for {name}={str(at[name])[:40]}, and {name!r} holds numbers.")
    return {name: [cell] for name, cell in found.items()}


def _cell(value: float | str, role: str) -> float | str | None:
    """The number in the text, or None for a word that means missing, as in files."""
    from scumble.columns.cells import number_in
    from scumble.columns.kinds import says_nothing

    if says_nothing(value, role):
        return None
    return number_in(value.encode()) if isinstance(value, str) and role == "number" else value


def _dated(release: Release) -> dict[str, str]:
    """The columns that are asked for as dates, times or booleans."""
    return {name: kind for name, kind in release.kinds.items() if kind != "whole"}


def _check(points: Points, release: Release, columns: list[str], place: Callable[[int], str], decimal: str) -> None:
    """Bad cells with their place, as `build` tells them."""
    import numpy as np

    from scumble.columns.table import Table

    table = Table.of(points)
    for factor in release.kernel.factors:
        which = factor.which(table.width, columns)
        _, bad = factor.read(table, which)
        if bad.any():
            from scumble.columns.kinds import read_as, unread

            row, column = np.argwhere(bad)[0]
            name = columns[which[column]]
            kind = release.kinds.get(name, None if factor.reads == "number" else factor.reads)
            where = place(int(row))
            rest = [] if where == "--at" else ["a point without a value has no answer: take such rows out"]
            hint = "; ".join([read_as(kind, decimal), *rest])
            raise DataError(f"{where}: column {name!r} is {unread([kind])}. Hint: {hint}.")


def _sentence(points: Points, name: object, release: Release, confidence: float) -> str:
    """The answer at one point, for people."""
    (low,), (high,) = release.interval(points, confidence)
    (total,), (density,) = release.kernel_sum(points), release.density(points)
    of = "" if name is None else f"{readable(str(name))}: "
    number, lower, upper = with_interval(*(max(float(one), 0.0) for one in (total, low, high)))  # no count is negative
    records = "record" if number == "1" else "records"
    among = "" if name is None else f" of about {number_with_error(release.count, release.count_standard_error)}"
    return f"{of}{number} {records} near ({lower} to {upper}, {100 * confidence:g} %){among}; density {density:.4g}"


def _answers(points: Points, name: object, release: Release, confidence: float, *, short: bool) -> Settings:
    """Columns of answers; `short` ones have no digits that are noise alone."""
    total, density = release.kernel_sum(points), release.density(points, shrink=False)
    lower, upper = release.interval(points, confidence)
    columns: list[list[float] | np.ndarray] = [total, density, lower, upper]
    if short:
        width = upper - lower
        columns = [*rounded([total], width), *rounded([density], width / release.divisor)]
        columns += rounded([lower, upper], width)
    label = {} if name is None else {"class": [str(name)] * len(total)}
    return label | dict(zip(ANSWERS, columns, strict=True))


def _joined(batch: pa.RecordBatch, extra: Settings) -> pa.RecordBatch:
    """The batch with these columns after its own."""
    from scumble.columns.containers import free

    taken = batch.schema.names
    names = [*taken, *free(list(extra), taken)]
    return pa.RecordBatch.from_arrays([*batch.columns, *map(pa.array, extra.values())], names=names)
