"""``scumble fit``: a table to a fitted model."""

from __future__ import annotations

import argparse
from typing import Any

EXAMPLE = """
scumble fit people.csv --task classify --columns age,income --target mode --classes bike,bus,car --bounds age=0:100,income=0:200000 --epsilon 1 --out mode.scumble
scumble fit people.csv --task regress --columns age --target income --bounds age=0:100 --target-bounds 0:200000 --epsilon 1 --delta 1e-6 --rows 500 --out income.scumble
scumble ledger town.ledger --open visits --epsilon 3
scumble fit people.csv --task classify --columns age --target mode --classes bike,bus,car --bounds age=0:100 --epsilon 1 --ledger town.ledger --dataset visits --out mode.scumble
"""  # noqa: E501  command lines that run as they stand


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    from scumble.cli.arguments import SEED, Whole, bounds, budget, ledger, name, names, reading
    from scumble.learn.estimators import TASKS

    parser.add_argument("table", help="the private table; '-' for standard input")
    parser.add_argument(
        "--task", choices=list(TASKS), required=True, help="classify, separate, regress (a plane), add (curves)"
    )
    parser.add_argument("--columns", type=names, metavar="A,B", help="what to learn from (default: all but the target)")
    parser.add_argument("--target", type=name, required=True, metavar="COLUMN", help="what to learn")
    parser.add_argument("--bounds", type=bounds, metavar="A=0:100", help="public bounds of every column")
    parser.add_argument("--classes", type=names, metavar="X,Y", help="all classes, public")
    parser.add_argument("--target-bounds", type=span, metavar="LOW:HIGH", help="public bounds of a target to regress")
    parser.add_argument("--rows", type=Whole(), help="rows of counters (left out: a good number)")
    parser.add_argument("--seed", type=SEED, default=0, help="of the hash functions; public (default: 0)")
    parser.add_argument("--out", required=True, metavar="FILE", help="the model, by convention .scumble")
    reading(parser)
    budget(parser)
    ledger(parser)


def span(text: str) -> tuple[float, float]:
    """0:200000"""
    try:
        low, high = (float(side) for side in text.split(":"))
    except ValueError:
        raise argparse.ArgumentTypeError("must look like 0:200000") from None
    return low, high


def run(args: argparse.Namespace) -> None:
    """Do what the verb says."""
    from scumble import learn
    from scumble.checks import by_column
    from scumble.cli.arguments import require
    from scumble.cli.output import check_out, say
    from scumble.learn import saving
    from scumble.learn.estimators import TASKS
    from scumble.machine.interrupts import Unbroken
    from scumble.machine.places import Place
    from scumble.privacy.account import Account

    require(args, epsilon="the privacy budget of this fit, such as 1", bounds="the columns' public bounds")
    if args.out == "-":
        from scumble.errors import ParameterError

        raise ParameterError("A model goes to a file. Hint: --out model.scumble.")
    check_out(args.out)
    Account.of(args.ledger, args.dataset, args.part)  # a ledger that is not there is refused before the table is read
    kind = getattr(learn, TASKS[args.task])
    regresses = "target_bounds" in kind._get_param_names()
    columns, X, y = read(args, target=args.target, columns=args.columns, number=regresses)
    options: dict[str, Any] = {
        "epsilon": args.epsilon,
        "delta": args.delta,
        "neighbors": args.neighbors,
        "records_per_person": args.records_per_person,
        "rows": args.rows,
        "random_state": args.seed,
        "bounds": by_column(args.bounds, columns),
    }
    if regresses:
        options["target_bounds"] = args.target_bounds
    else:
        options["classes"] = args.classes
    model = kind(**options)
    place = Place(args.out)
    try:
        model.before_charge = place.reserve
        model.fit(X, y, ledger=args.ledger, dataset=args.dataset, part=args.part)
        with Unbroken():
            place.fill(saving.to_bytes(model))
            place.take_name()
    finally:
        place.close()
    say(args, f"Wrote {args.out}: {model.privacy_}.")


def read(args: argparse.Namespace, *, target: str | None, columns: list[str] | None, number: bool) -> Any:
    """Column names, the columns as numbers, and the target as numbers or as it is."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from scumble.errors import DataError
    from scumble.sources import open_source
    from scumble.tables.roles import converted

    source = open_source(args.table, format=args.format, delimiter=args.delimiter, encoding=args.encoding)
    columns = source.columns(columns or None, besides=[target])
    wanted = [*columns, *([target] if target else [])]
    source.require(wanted)
    roles = dict.fromkeys(columns, "number")
    if target:
        roles[target] = "number" if number else "any"
    batches = [converted(piece.batch.select(wanted), roles) for piece in source.pieces(roles)]
    source.require_unchanged()
    if not batches or not sum(batch.num_rows for batch in batches):
        raise DataError(f"{source} has no rows.")
    table = pa.Table.from_batches(batches)
    bad = [name for name in wanted if table[name].null_count]
    if bad:
        raise DataError(f"The column {bad[0]!r} has missing or unreadable cells. Hint: drop those rows first.")
    try:
        X = np.column_stack([pc.cast(table[name], pa.float64()).to_numpy() for name in columns])
        y = None if target is None else pc.cast(table[target], pa.float64()).to_numpy() if number else table[target]
    except pa.ArrowInvalid:
        raise DataError("A column is not numeric. Hint: --columns names those to learn from.") from None
    return columns, X, y
