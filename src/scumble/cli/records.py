"""The records that a model learns from; and, for the curator, which of them were left out.

A record is left out for its own cells alone: where they cannot be read and ``--invalid drop`` says so, or where they
are outside the bounds of a column that its schema declares with ``outside = "drop"``. So two tables that differ in one
record still differ in one record at most.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from scumble.cli.output import say
from scumble.errors import UNPUBLISHED, DataError
from scumble.machine.later import pa, pc
from scumble.schema import Schema
from scumble.sources import Source, open_source
from scumble.sources.causes import BEYOND, Causes, Found, declared_otherwise, without_level, without_value
from scumble.sources.source import Piece
from scumble.sources.text import not_text, spelt, usual_beside, with_questions, without_marks
from scumble.tables.cells import chosen
from scumble.tables.names import like_a_record
from scumble.tables.roles import converted


class Records(NamedTuple):
    """What was read."""

    X: pa.Table
    """The columns, by name: as numbers; or, where a schema reads them, as they are."""
    y: Any
    """The target as numbers, or the labels as they are."""
    causes: Causes
    """Why rows were left out: for the curator only."""
    skipped: int
    """Lines that are no rows and were left out: for the curator only."""
    undecoded: Mapping[str, int]
    """Cells, by column, that are no text in the encoding and count as missing: for the curator only."""
    repeated: int
    """Rows that are the column names once more: for the curator only."""
    more_lines: int
    """Lines that are no rows of their own: for the curator only."""

    def __repr__(self) -> str:
        return "Records(secret)"


def opened(args: argparse.Namespace) -> Source:
    """The table that a verb's options name."""
    reading = {name: getattr(args, name) for name in ("format", "delimiter", "decimal", "encoding")}
    return open_source(args.table, table=args.sheet, **reading)


def whole_rows(
    args: argparse.Namespace, source: Source, needed: Sequence[str], *, stops: bool = False
) -> Iterator[Piece]:
    """Public rows with all that stands in them, not just the columns that are `needed`, text as text.

    Of a name that stands twice nobody can tell which column is meant: it is left out, and the person at the terminal is
    told. A column that some files of a folder lack has missing cells there. Cells whose bytes are no text are missing
    in a column that is `needed`, or an error if one `stops`; in another they go through, with question marks in them.
    """
    names = source.keys()
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1 and name not in needed]
    if twice:
        told = f": {', '.join(map(repr, twice))}" if not source.first_line or not like_a_record([*{*names}]) else ""
        say(args, f"Left out, since their names stand twice{told}.")
    kept = [name for name in dict.fromkeys([*names, *needed]) if name not in twice]
    unread: Counter[str] = Counter()
    for piece in source.pieces(dict.fromkeys(kept, "any"), invalid="mark"):
        batch = piece.batch
        columns = [_plain_text(column) for column in batch.columns]
        batch = pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
        clean, bad = without_marks(batch)
        if stops and (rows := [bad[name][0] for name in needed if name in bad]):
            where = source.place(piece.position, batch.num_rows, min(rows))
            raise not_text(f"{where},", args.encoding, "or correct the line")
        unread.update({name: len(rows) for name, rows in bad.items()})
        for name in bad.keys() - {*needed}:
            clean = with_columns(clean, pa.RecordBatch.from_arrays([with_questions(batch[name])], names=[name]))
        yield piece._replace(batch=clean)
    if source.late:
        say(
            args,
            f"Left out, since only later lines have them: {', '.join(map(repr, source.late[:20]))}. Hint: name a file "
            "instead of '-', which can be looked through for its columns first.",
        )
    for name, cells in unread.items():
        what = "missing" if name in needed else "written with \ufffd in their place"
        say(
            args,
            f"{'1 cell' if cells == 1 else f'{cells:,} cells'} of {name!r}: bytes that are no {spelt(args.encoding)} "
            f"text are {what}. Hint: --encoding {' or '.join(usual_beside(args.encoding))}.",
        )


def with_columns(batch: pa.RecordBatch, others: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with these columns in the place of its own."""
    for name, column in zip(others.schema.names, others.columns, strict=True):
        batch = batch.set_column(batch.schema.names.index(name), name, column)
    return batch


def _plain_text(column: pa.Array) -> pa.Array:
    """Cells that a workbook gives as bytes out of a list, as text."""
    if not pa.types.is_dictionary(column.type):
        return column
    return column.dictionary_decode().cast(pa.string())


def read(
    source: Source,
    *,
    target: str,
    columns: list[str] | None = None,
    schema: Schema | None = None,
    number: bool = False,
    bounded: Schema | None = None,
    invalid: str = "error",
) -> Records:
    """Read a table as a verb's options say.

    Parameters
    ----------
    source : Source
        The table.
    target : str
        What to learn.
    columns : list of str or None
        The columns of numbers; None takes all but the target.
    schema : Schema or None
        Instead, what the columns can hold.
    number : bool
        Whether that is a number: then it must be there. Labels may be missing, and are of no class.
    bounded : Schema or None
        What a target that is a number can hold, if a schema says so.
    invalid : {"error", "drop"}
        What to do with records whose cells cannot be read.
    """
    named = source.columns(columns or None, besides=[target]) if schema is None else list(schema)
    wanted = [*named, target]
    if any(name in source.names for name in wanted):
        source.require([target])  # by itself: a column to learn from may be what was meant
    source.require(wanted)
    roles = dict.fromkeys(named, "number") if schema is None else dict(schema.roles)
    roles[target] = "number" if number else "any"
    numbers = [*(named if schema is None else []), *([target] if number else [])]
    schemas = [one for one in (schema, bounded) if one is not None]
    batches, causes, stopped = [], Causes(), _Stopped(source)
    for piece in source.pieces(roles, invalid=invalid):
        batch = converted(piece.batch.select(wanted), roles)
        found: Found = {}
        for one in schemas:
            found |= without_level(batch.select(list(one)), one)
        for name in numbers:
            found |= without_value(batch, name, _no_number(batch[name]))
        if invalid == "error":
            stopped.look_at(found, piece.position, batch.num_rows)
        if found:
            batch = chosen(batch, ~causes.take(found, batch.num_rows))
        batches.append(batch)
    source.require_unchanged()
    stopped.refuse(schema, target)
    if not sum(batch.num_rows for batch in batches):
        skipped = sum(source.skipped.values())
        left = "; ".join(causes.words(0, skipped))
        raise DataError(f"No row of {source} is left: {left} {UNPUBLISHED}." if left else f"{source} has no rows.")
    table = pa.Table.from_batches(batches)
    try:
        X = table.select(named)
        if schema is None:
            X = X.cast(pa.schema([(name, pa.float64()) for name in named]), safe=False)  # beyond 2⁵³: rounded
        y = _floats(table[target]) if number else table[target]
    except pa.ArrowException:  # whose words may quote cells
        raise DataError("A column is not numeric. Hint: --columns names those to learn from.") from None
    skipped = sum(source.skipped.values())
    return Records(X, y, causes, skipped, dict(source.undecoded), source.repeated, source.more_lines)


def _floats(column: pa.ChunkedArray) -> np.ndarray:
    return np.asarray(pc.cast(column, pa.float64(), safe=False).to_numpy())


def _no_number(column: pa.Array) -> np.ndarray:
    """Which cells are missing or not finite."""
    if pa.types.is_floating(column.type):
        return np.asarray(~np.isfinite(column.to_numpy(zero_copy_only=False)))
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False))


class _Stopped:
    """Cells for which a table is refused: how many, in which columns, and where the first is."""

    def __init__(self, source: Source) -> None:
        self._source, self._cells, self._place = source, dict[str, int](), ""
        self._causes: dict[tuple[str, str], None] = {}

    def look_at(self, found: Found, position: Any, rows: int) -> None:
        bad = {key: mask for key, mask in found.items() if key[0] != BEYOND}  # what a schema leaves out is no error
        if bad and not self._place:
            self._place = self._source.place(position, rows, min(int(np.argmax(mask)) for mask in bad.values()))
        self._causes |= dict.fromkeys(bad)
        for (_, name), mask in bad.items():
            self._cells[name] = self._cells.get(name, 0) + int(np.count_nonzero(mask))

    def refuse(self, schema: Schema | None, target: str) -> None:
        """The error with the place, and what to do: a fit can leave records out."""
        total = sum(self._cells.values())
        if not total:
            return
        told = ", ".join(f"{cells:,} in column {name!r}" for name, cells in self._cells.items())
        what = "missing or unreadable" if schema is None else "missing, unreadable or no words of the schema"
        hint = "correct them, or leave such rows out with --invalid drop"
        if schema is None:
            hint += "; or say what columns hold by --schema, where missing = true counts them"
        elif causes := [cause for cause in self._causes if cause[1] != target]:
            hint += f"; or {declared_otherwise(causes)} in the schema"
        raise DataError(
            f"{self._place}: {'a cell is' if total == 1 else 'cells are'} {what}: {told} {UNPUBLISHED}. Hint: {hint}."
        )
