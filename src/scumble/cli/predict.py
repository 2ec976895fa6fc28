"""``scumble predict``: a fitted model's answers for the rows of a table."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from scumble.cli.inputs import opened, whole_rows, with_columns
from scumble.cli.options import TABLE_OUT, take
from scumble.cli.output import TableWriter, check_table, say
from scumble.errors import DataError, ParameterError, many
from scumble.files.lazy_modules import pa

if TYPE_CHECKING:
    from scumble.columns.curator import Causes
    from scumble.columns.schema import Schema
    from scumble.show.usefulness import Model
    from scumble.sources import Source

EXAMPLE = """
scumble fit people.csv --task regress --columns age --target income --bounds age=0:100 --target-bounds 0:200000 --epsilon 1 --delta 1e-6 --rows 500 --out income.scumble
scumble predict income.scumble points.csv --out -
scumble predict income.scumble points.csv --out answers.parquet
"""  # noqa: E501  command lines that run as they stand
NOTHING_PRIVATE = "reads a fitted model; the rows it answers for are the analyst's"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="a model made by scumble fit")
    rows = "rows with the columns that the model was fitted to; '-' for standard input"
    take(parser, source={"nargs": None, "metavar": "table", "help": rows})
    take(parser, "replace READING json", columns="of a model without names: its columns, in order", out=TABLE_OUT)


def run(args: argparse.Namespace) -> None:
    """Do what the verb says, batch by batch. A row that cannot be read keeps its place, without an answer."""
    from scumble import learn
    from scumble.columns.containers import free
    from scumble.columns.curator import Causes
    from scumble.columns.kinds import converted

    check_table(args)
    model = learn.load(args.model)
    if not hasattr(model, "predict"):
        raise DataError(f"{args.model}, a {type(model).__name__}, predicts nothing. Hint: scumble fit makes a model.")
    source = opened(args)
    columns = _columns(args, model, source)
    levels = model._levels()
    schema = model.schema_ if levels is None else levels.schema
    roles = dict.fromkeys(columns, "number") if schema is None else dict(schema.roles)
    source.require(list(roles))
    rows, unread, holds = 0, Causes(), f": the rows of {source} with an answer each, as private as they are"
    whole = [name for name in roles if schema is None or getattr(schema[name], "whole", False)]
    waiting: list[pa.RecordBatch] = []  # until a row has an answer: a table of which none has is not printed
    with TableWriter(args, whole=whole, holds=holds) as writer:
        for piece in whole_rows(args, source, list(roles)):
            batch = piece.batch
            if not batch.num_rows:
                continue
            read = converted(batch.select(list(roles)), roles)
            names, answers = _answered(model, schema, read, unread)
            given = batch if writer.kind == "csv" else with_columns(batch, read)  # CSV gets its own text back
            names = [*given.schema.names, *free(names, given.schema.names)]
            waiting.append(pa.RecordBatch.from_arrays([*given.columns, *answers], names=names))
            rows += batch.num_rows
            while waiting and unread.total < rows:
                writer.write(waiting.pop(0))
        if not rows:
            raise DataError(f"{source} has no rows.")
        if unread.total == rows:
            raise DataError(f"No row of {source} can be answered: {'; '.join(unread.words(0, 0))}.")
    if unread.total:
        left = "1 row has no answer" if unread.total == 1 else f"{unread.total:,} rows have no answer"
        say(args, f"{left}: {'; '.join(unread.words(0, 0))}.")


def _columns(args: argparse.Namespace, model: Model, source: Source) -> list[str]:
    """The table's columns that the model reads: by name, wherever they stand, if it knows their names."""
    from scumble.sources.source import did_you_mean

    if not hasattr(model, "feature_names_in_"):
        columns = source.columns(args.columns)
        if len(columns) != model.n_features_in_:
            wide = many(model.n_features_in_, "column")
            raise DataError(f"The model was fitted to {wide}, not {len(columns)}. Hint: name them by --columns.")
        return columns
    names = [str(name) for name in model.feature_names_in_]
    if args.columns is not None and {*args.columns} != {*names}:
        raise ParameterError(f"--columns must name the columns of the fit, {', '.join(names)}. Hint: leave it out.")
    missing = [name for name in names if source.declared and name not in source.names]
    if missing:
        lacking = ", ".join(map(repr, missing))
        raise DataError(
            f"{source} lacks columns that the model was fitted to: {lacking}."
            f"{did_you_mean(missing[0], source.names, names, first_line=source.first_line)}"
        )
    return names


def _answered(
    model: Model, schema: Schema | None, read: pa.RecordBatch, unread: Causes
) -> tuple[list[str], list[pa.Array]]:
    """Names of the answers, and their columns, missing where a row cannot be read; `unread` collects why."""
    import numpy as np

    from scumble.columns.curator import without_level, without_value
    from scumble.columns.table import Table

    numbers = None
    if schema is not None:
        found = without_level(read, schema)
    else:
        numbers, found = Table.of(read).numeric(range(read.num_columns)), {}
        for name, bad in zip(read.schema.names, ~np.isfinite(numbers).T, strict=True):
            found |= without_value(read, name, bad)
    good = ~unread.take(found, read.num_rows)
    table: Any = model._example(1)  # if no row can be read, this shows what an answer looks like
    if good.any():
        table = read.filter(pa.array(good)) if numbers is None else numbers[good]
    if numbers is not None and hasattr(model, "feature_names_in_"):
        table = pa.table([*map(pa.array, table.T)], names=read.schema.names)
    names, answers = ["prediction"], [model.predict(table)]
    if hasattr(model, "predict_proba"):
        names += [f"probability_{label}" for label in model.classes_]
        answers += list(model.predict_proba(table).T)
    places = pa.array(np.cumsum(good) - 1, mask=~good)
    return names, [pa.array(column).take(places) for column in answers]
