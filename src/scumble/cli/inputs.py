"""What verbs read: released files, and public tables with all their columns."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from scumble import files
from scumble.cli.options import given
from scumble.cli.output import say
from scumble.errors import CorruptFileError, ForeignFileError, ParameterError, many
from scumble.files.lazy_modules import pa

if TYPE_CHECKING:
    from scumble.density.release import Release
    from scumble.show.cards import AnyRelease
    from scumble.sources import Source
    from scumble.sources.source import Piece
    from scumble.table.release import TableRelease


def load_release(path: str, *, tables: bool = False, moments: bool = False, models: bool = False) -> Any:
    """A release or a bundle (or a table, moments, a model, if the verb knows them); "-" reads standard input."""
    from scumble.density.loading import release_in

    kinds = (*files.RELEASES, "model")
    if path == "-":
        container = files.from_bytes(sys.stdin.buffer.read(), expect=kinds, source="standard input")
    else:
        try:
            container = files.read(path, expect=kinds)
        except ForeignFileError as problem:
            raise for_another_verb(path) or problem from None
    if container.kind == "model":
        if models:
            from scumble.learn.models import from_container

            return from_container(container)
        name = "standard input" if path == "-" else repr(path)
        hint = "Hint: use scumble predict or scumble info."
        raise ForeignFileError(f"Cannot read {name}: it holds a fitted model, not a release. {hint}")
    for kind, known, verb in (("table", tables, "count"), ("moments", moments, "info")):
        if container.kind == kind and not known:
            what = "a table" if kind == "table" else kind
            raise ParameterError(f"{path} is a release of {what}, which has no densities. Hint: try scumble {verb}.")
    try:
        return release_in(container)
    except ParameterError as problem:  # sound bytes that do not make a release: somebody else wrote them
        raise CorruptFileError(f"Cannot read {path!r}: {problem}") from problem


def for_another_verb(path: str) -> ForeignFileError | None:
    """The error for what is no release, and for which there is another verb: a stream's folder, or a table."""
    from scumble.sources.paths import kind_of

    if os.path.isdir(path):
        published = any(name.startswith("total-") for name in os.listdir(path))
        hint = f"scumble stream window {path} --out all.scumble makes one" if published else "name a file in it"
        return ForeignFileError(
            f"{path!r} is {'the folder of a stream' if published else 'a folder'}, not a release. Hint: {hint}."
        )
    if os.path.isfile(path) and files.kind_at(path) is None and kind_of(path)[0]:
        return ForeignFileError(f"{path!r} is a table, not a release. Hint: scumble build makes a release of it.")
    return None


def table_release(path: str) -> TableRelease:
    """The release of a table."""
    from scumble.table.release import TableRelease

    found = load_release(path, tables=True)
    if not isinstance(found, TableRelease):
        raise ParameterError(f"{path} is not the release of a table. Hint: scumble build --schema makes one.")
    return found


def one_release(found: AnyRelease, path: str, label: str | None) -> Release:
    """A release; of a bundle, the class that was asked for."""
    from scumble.density.bundle import Bundle
    from scumble.density.release import Release

    if not isinstance(found, Bundle):
        if label is not None:
            raise ParameterError(f"{path} has no classes. Hint: leave out --class.")
        assert isinstance(found, Release)  # as `load_release` gives where tables are not asked for
        return found
    by_text = {str(name): release for name, release in found.items()}
    if label is None or label not in by_text:
        raise ParameterError(f"{path} holds several classes. Hint: choose one with --class: {', '.join(by_text)}.")
    return by_text[label]


def opened(args: argparse.Namespace, source: object = None) -> Source:
    """The table that a verb's options name, or `source` read by these options."""
    from scumble.sources import open_source

    return open_source(args.source if source is None else source, **given(args, "READING query"))


def whole_rows(
    args: argparse.Namespace, source: Source, needed: Sequence[str], *, stops: bool = False
) -> Iterator[Piece]:
    """Public rows with all their columns, not just those that are `needed`, text as text.

    A column whose name occurs twice is left out, unless it is needed. Cells whose bytes are no text are missing in a
    column that is `needed`, or an error with `stops`; in another they are written with question marks.
    """
    from scumble.columns.containers import like_a_record
    from scumble.sources.formats import not_text, other_than, with_questions, without_marks

    found = source.keys()
    twice = [name for name in dict.fromkeys(found) if found.count(name) > 1 and name not in needed]
    if twice:
        which = f": {', '.join(map(repr, twice))}" if not source.first_line or not like_a_record([*{*found}]) else ""
        say(args, f"Left out because their names occur twice{which}.")
    kept = [name for name in dict.fromkeys([*found, *needed]) if name not in twice]
    unread: Counter[str] = Counter()
    for piece in source.pieces(dict.fromkeys(kept, "any"), invalid="mark"):
        columns = [_plain_text(column) for column in piece.batch.columns]
        batch = pa.RecordBatch.from_arrays(columns, names=piece.batch.schema.names)
        clean, bad = without_marks(batch)
        if stops and (rows := [bad[name][0] for name in needed if name in bad]):
            where = source.place(piece.position, batch.num_rows, min(rows))
            raise not_text(f"{where},", args.encoding, "or correct the line")
        unread.update({name: len(rows) for name, rows in bad.items()})
        for name in bad.keys() - {*needed}:
            clean = with_columns(clean, pa.RecordBatch.from_arrays([with_questions(batch[name])], names=[name]))
        yield piece._replace(batch=clean)
    if late := list(source.oddities.late):
        listed = ", ".join(map(repr, late[:20]))
        say(args, f"Left out because only later lines have them: {listed}. Hint: name a file instead of '-'.")
    for name, cells in unread.items():
        what = "missing" if name in needed else "written with \ufffd in their place"
        other, told = other_than(args.encoding), f"no {args.encoding.upper()} text"
        say(args, f"{many(cells, 'cell')} of {name!r} {what}: {told}. Hint: --encoding {other}.")


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
