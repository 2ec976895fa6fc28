"""``scumble predict``: a fitted model's answers for the rows of a table."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scumble.sources import Source

EXAMPLE = """
scumble fit people.csv --task regress --columns age --target income --bounds age=0:100 --target-bounds 0:200000 --epsilon 1 --delta 1e-6 --rows 500 --out income.scumble
scumble predict income.scumble points.csv --out -
scumble predict income.scumble points.csv --out answers.parquet
"""  # noqa: E501  command lines that run as they stand
NOTHING_PRIVATE = "reads a fitted model; the rows it answers for are the analyst's"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    from scumble.cli.arguments import json_flag, names, reading, replace_flag

    parser.add_argument("model", help="a model made by scumble fit")
    parser.add_argument("table", help="a table with the columns that the model was fitted to; '-' for standard input")
    parser.add_argument("--columns", type=names, metavar="A,B", help="of a model without names: its columns, in order")
    parser.add_argument("--out", default="-", metavar="FILE", help=".csv, .parquet, .arrow, .json or '-' (default)")
    replace_flag(parser)
    reading(parser, table="sheet")
    json_flag(parser)


def run(args: argparse.Namespace) -> None:
    """Do what the verb says."""
    import numpy as np

    from scumble import learn
    from scumble.cli.modes import free
    from scumble.cli.output import TABLES, TableWriter, check_out, say
    from scumble.cli.records import opened, read
    from scumble.errors import DataError
    from scumble.machine.later import pa

    check_out(args.out, like=tuple(TABLES), replace=args.replace)
    model = learn.load(args.model)
    if not hasattr(model, "predict"):
        raise DataError(
            f"{args.model} is a {type(model).__name__}, which predicts nothing. Hint: scumble fit makes one."
        )
    source = opened(args)
    columns = _columns(args, model, source)
    levels = model._levels()
    schema = model.schema_ if levels is None else levels.schema
    if schema is not None:
        _of_table(args, model, schema, source)
        return
    X = read(source, columns=columns).X
    names, answers = _answers(model, X if hasattr(model, "feature_names_in_") else np.column_stack(X.columns))
    given = [_as_written(column) for column in X.combine_chunks().to_batches()[0].columns]
    with TableWriter(args.out, args.json) as writer:
        writer.write(pa.RecordBatch.from_arrays([*given, *answers], names=[*columns, *free(names, columns)]))
    if args.out != "-":
        say(args, f"Wrote {args.out}.")


def _columns(args: argparse.Namespace, model: Any, source: Source) -> list[str]:
    """The table's columns that the model reads: by name, wherever they stand, if it knows their names."""
    from scumble.errors import DataError, ParameterError
    from scumble.sources.source import did_you_mean

    if not hasattr(model, "feature_names_in_"):
        columns = source.columns(args.columns)
        if len(columns) != model.n_features_in_:
            raise DataError(
                f"The model was fitted to {model.n_features_in_} columns without names, and there are {len(columns)}. "
                "Hint: --columns names them, in the order of the fit."
            )
        return columns
    names = [str(name) for name in model.feature_names_in_]
    if args.columns is not None and {*args.columns} != {*names}:
        raise ParameterError(
            f"--columns must name the columns of the fit, {', '.join(names)}. Hint: leave it out: the model knows them."
        )
    missing = [name for name in names if source.declared and name not in source.names]
    if missing:
        told = ", ".join(map(repr, missing))
        raise DataError(
            f"{source} lacks columns that the model was fitted to: {told}."
            f"{did_you_mean(missing[0], source.names, names)}"
        )
    return names


def _answers(model: Any, X: Any) -> tuple[list[str], list[Any]]:
    """Names of the answers, and their columns."""
    from scumble.machine.later import pa

    answers, names = [model.predict(X)], ["prediction"]
    if hasattr(model, "predict_proba"):
        answers += list(model.predict_proba(X).T)
        names += [f"probability_{label}" for label in model.classes_]
    return names, [pa.array(column) for column in answers]


def _as_written(column: Any) -> Any:
    """Numbers without fractions as whole ones, as a text file has them: there they are read as floats."""
    from scumble.machine.later import pa, pc

    if not pa.types.is_floating(column.type):
        return column
    try:
        return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column).cast(pa.int64())
    except pa.ArrowInvalid:  # it has fractions
        return column


def _of_table(args: argparse.Namespace, model: Any, schema: Any, source: Source) -> None:
    """Batch by batch, with the columns as they are: the model's schema reads them."""
    from scumble.cli.modes import free
    from scumble.cli.output import TableWriter, say
    from scumble.errors import DataError
    from scumble.machine.later import pa
    from scumble.tables.roles import converted

    roles = schema.roles
    source.require(list(roles))
    empty = True
    with TableWriter(args.out, args.json) as writer:
        for piece in source.pieces(dict.fromkeys(roles, "any")):
            batch = piece.batch.select(list(roles))
            if batch.num_rows:
                read = converted(batch, roles)
                names, answers = _answers(model, read)
                batch = batch if writer.kind == "csv" else read  # CSV gets the rows' own text back
                names = [*roles, *free(names, list(roles))]
                text = writer.kind in ("csv", "json")  # in other files a column has one type throughout
                given = [
                    _as_written(cells) if text and getattr(column, "whole", False) else cells
                    for cells, column in zip(batch.columns, schema.values(), strict=True)
                ]
                writer.write(pa.RecordBatch.from_arrays([*given, *answers], names=names))
                empty = False
        if empty:
            raise DataError(f"{source} has no rows.")
    if args.out != "-":
        say(args, f"Wrote {args.out}.")
