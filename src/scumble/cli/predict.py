"""``scumble predict``: a fitted model's answers for the rows of a table."""

from __future__ import annotations

import argparse
from typing import Any

EXAMPLE = """
scumble fit people.csv --task regress --columns age --target income --bounds age=0:100 --target-bounds 0:200000 --epsilon 1 --delta 1e-6 --rows 500 --out income.scumble
scumble predict income.scumble points.csv --columns age --out -
scumble predict income.scumble points.csv --columns age --out answers.parquet
"""  # noqa: E501  command lines that run as they stand
NOTHING_PRIVATE = "reads a fitted model; the rows it answers for are the analyst's"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    from scumble.cli.arguments import json_flag, names, reading

    parser.add_argument("model", help="a model made by scumble fit")
    parser.add_argument("table", help="a table with the columns that the model was fitted to; '-' for standard input")
    parser.add_argument("--columns", type=names, metavar="A,B", help="those columns, in the order of the fit")
    parser.add_argument("--out", default="-", metavar="FILE", help=".csv, .parquet, .arrow, .json or '-' (default)")
    reading(parser, table="sheet")
    json_flag(parser)


def run(args: argparse.Namespace) -> None:
    """Do what the verb says."""
    from scumble import learn
    from scumble.cli.fit import read
    from scumble.cli.modes import free
    from scumble.cli.output import TABLES, TableWriter, check_out, say
    from scumble.errors import DataError
    from scumble.machine.later import pa

    check_out(args.out, like=tuple(TABLES))
    model = learn.load(args.model)
    if not hasattr(model, "predict"):
        raise DataError(
            f"{args.model} is a {type(model).__name__}, which predicts nothing. Hint: scumble fit makes one."
        )
    levels = model._levels()
    schema = model.schema_ if levels is None else levels.schema
    if schema is not None:
        _of_table(args, model, schema)
        return
    columns, X, _ = read(args, target=None, columns=args.columns, number=True)
    if X.shape[1] != model.n_features_in_:
        raise DataError(
            f"The model was fitted to {model.n_features_in_} columns, the table gives {X.shape[1]}. "
            "Hint: --columns names them, in the order of the fit."
        )
    names, answers = _answers(model, X)
    batch = pa.RecordBatch.from_arrays([*map(pa.array, X.T), *answers], names=[*columns, *free(names, columns)])
    with TableWriter(args.out, args.json) as writer:
        writer.write(batch)
    if args.out != "-":
        say(args, f"Wrote {args.out}.")


def _answers(model: Any, X: Any) -> tuple[list[str], list[Any]]:
    """Names of the answers, and their columns."""
    from scumble.machine.later import pa

    answers, names = [model.predict(X)], ["prediction"]
    if hasattr(model, "predict_proba"):
        answers += list(model.predict_proba(X).T)
        names += [f"probability_{label}" for label in model.classes_]
    return names, [pa.array(column) for column in answers]


def _of_table(args: argparse.Namespace, model: Any, schema: Any) -> None:
    """Batch by batch, with the columns as they are: the model's schema reads them."""
    from scumble.cli.modes import free
    from scumble.cli.output import TableWriter, say
    from scumble.errors import DataError, ParameterError
    from scumble.machine.later import pa
    from scumble.sources import open_source

    if args.columns is not None:
        raise ParameterError("--columns is not for the model of a table: it knows its columns by name.")
    reading = {name: getattr(args, name) for name in ("format", "delimiter", "encoding")}
    source = open_source(args.table, table=args.sheet, **reading)
    roles = schema.roles
    source.require(list(roles))
    empty = True
    with TableWriter(args.out, args.json) as writer:
        for piece in source.pieces(roles):
            batch = piece.batch.select(list(roles))
            if batch.num_rows:
                names, answers = _answers(model, batch)
                names = [*roles, *free(names, list(roles))]
                writer.write(pa.RecordBatch.from_arrays([*batch.columns, *answers], names=names))
                empty = False
        if empty:
            raise DataError(f"{source} has no rows.")
    if args.out != "-":
        say(args, f"Wrote {args.out}.")
