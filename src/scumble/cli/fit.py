"""``scumble fit``: a table to a fitted model."""

from __future__ import annotations

import argparse
from typing import Any

EXAMPLE = """
scumble fit people.csv --task classify --columns age,income --target mode --classes bike,bus,car --bounds age=0:100,income=0:200000 --epsilon 1 --out mode.scumble
scumble fit people.csv --task regress --columns age --target income --bounds age=0:100 --target-bounds 0:200000 --epsilon 1 --delta 1e-6 --rows 500 --out income.scumble
scumble fit people.csv --task classify --schema town.toml --target mode --classes bike,bus,car --epsilon 1 --out mixed.scumble
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
    parser.add_argument("--bounds", type=bounds, metavar="A=0:100", help="public bounds of every column of numbers")
    parser.add_argument(
        "--schema", metavar="FILE.toml", help="instead of --bounds: what each column can hold, words and dates too"
    )
    parser.add_argument(
        "--classes", type=names, metavar="X,Y", help="all classes, public (left out: those of the schema)"
    )
    parser.add_argument(
        "--unknown",
        choices=["error", "drop"],
        help="rows of none of the classes: stop (default) or leave them out",
    )
    parser.add_argument("--target-bounds", type=span, metavar="LOW:HIGH", help="public bounds of a target to regress")
    parser.add_argument("--rows", type=Whole(), help="rows of counters (left out: a good number)")
    parser.add_argument("--seed", type=SEED, default=0, help="of the hash functions; public (default: 0)")
    parser.add_argument("--out", required=True, metavar="FILE", help="the model, by convention .scumble")
    reading(parser, table="sheet")
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
    from scumble.cli.output import check_out, say, tell_weak
    from scumble.cli.replacing import tell_replaced
    from scumble.errors import ParameterError
    from scumble.learn import saving
    from scumble.learn.estimators import TASKS
    from scumble.machine.interrupts import Unbroken
    from scumble.machine.places import Place
    from scumble.privacy.account import Account
    from scumble.privacy.budget import Budget

    require(args, epsilon="the privacy budget of this fit, such as 1")
    if args.schema is None:
        require(args, bounds="the columns' public bounds; or --schema, a file that says what the columns can hold")
    elif args.bounds is not None:
        raise ParameterError("--bounds and --schema both say what the columns can hold. Hint: leave out --bounds.")
    if args.out == "-":
        raise ParameterError("A model goes to a file. Hint: --out model.scumble.")
    check_out(args.out, ours=True)
    Account.of(args.ledger, args.dataset, args.part)  # a ledger that is not there is refused before the table is read
    kind = getattr(learn, TASKS[args.task])
    regresses = "target_bounds" in kind._get_param_names()
    _require_fitting(args, regresses)
    schema = None if args.schema is None else _features(args)
    classes = args.classes if regresses else args.classes or _classes(args)
    columns, X, y = read(args, target=args.target, columns=args.columns, number=regresses, schema=schema)
    options: dict[str, Any] = {
        "epsilon": args.epsilon,
        "delta": args.delta,
        "neighbors": args.neighbors,
        "records_per_person": args.records_per_person,
        "rows": args.rows,
        "random_state": args.seed,
        **({"bounds": by_column(args.bounds, columns)} if schema is None else {"schema": schema}),
    }
    if regresses:
        options["target_bounds"] = args.target_bounds
    else:
        options |= {"classes": classes, "unknown": args.unknown or "error"}
    model = kind(**options)
    tell_replaced(args, "fit")
    tell_weak(args, Budget.of(args.epsilon, args.delta))
    place = Place(args.out)
    try:
        model.before_charge = place.reserve
        model.fit(X, y, ledger=args.ledger, dataset=args.dataset, part=args.part)
        with Unbroken():
            place.fill(saving.to_bytes(model))
            place.take_name()
    finally:
        place.close()
    names = "" if schema is not None else f" --columns {','.join(columns)}"
    say(args, f"Wrote {args.out}: {model.privacy_}. Next: scumble predict {args.out} TABLE{names}")


def _require_fitting(args: argparse.Namespace, regresses: bool) -> None:
    """Refuse what the task would not heed."""
    from scumble.errors import ParameterError

    for name in ("classes", "unknown") if regresses else ("target_bounds",):
        if getattr(args, name) is not None:
            what = "a target that has classes" if regresses else "a target to regress"
            raise ParameterError(
                f"--{name.replace('_', '-')} is for {what}, and --task is {args.task}. Hint: leave it out."
            )


def _features(args: argparse.Namespace) -> Any:
    """What the columns to learn from can hold: those of the schema, without the target."""
    from scumble.errors import ParameterError
    from scumble.schema import Schema

    schema = Schema.load(args.schema)
    names = args.columns or [name for name in schema if name != args.target]
    for name in names:
        if name not in schema:
            raise ParameterError(f"{args.schema} has no column {name!r}. Hint: it has {', '.join(schema)}.")
    if not names:
        raise ParameterError(f"{args.schema} has no column but the target. Hint: declare what to learn from.")
    return Schema({name: schema[name] for name in names})


def _classes(args: argparse.Namespace) -> list[Any] | None:
    """The classes that the schema lists, which is public: all that the target can hold."""
    from scumble.schema import Category, Schema

    column = None if args.schema is None else Schema.load(args.schema).get(args.target)
    return list(column.values) if isinstance(column, Category) and not column.other else None


def read(
    args: argparse.Namespace, *, target: str | None, columns: list[str] | None, number: bool, schema: Any = None
) -> Any:
    """Column names, the columns as numbers, or as they are where a schema reads them; and the target, likewise."""
    import numpy as np
    import pyarrow.compute as pc

    from scumble.errors import DataError
    from scumble.machine.later import pa
    from scumble.sources import open_source
    from scumble.sources.tally import UNPUBLISHED
    from scumble.tables.roles import converted

    reading = {name: getattr(args, name) for name in ("format", "delimiter", "encoding")}
    source = open_source(args.table, table=args.sheet, **reading)
    columns = source.columns(columns or None, besides=[target]) if schema is None else list(schema)
    wanted = [*columns, *([target] if target else [])]
    source.require(wanted)
    roles = dict.fromkeys(columns, "number") if schema is None else dict(schema.roles)
    if target:
        roles[target] = "number" if number else "any"
    batches, place, missing = [], "", dict.fromkeys(wanted if schema is None else wanted[len(columns) :], 0)
    for piece in source.pieces(roles):
        batch = converted(piece.batch.select(wanted), roles)
        batches.append(batch)
        for name in missing:
            gone = batch[name].is_null(nan_is_null=True)
            if gone.true_count and not place:
                place = source.place(piece.position, batch.num_rows, gone.index(True).as_py())
            missing[name] += gone.true_count
    source.require_unchanged()
    if not batches or not sum(batch.num_rows for batch in batches):
        raise DataError(f"{source} has no rows.")
    table = pa.Table.from_batches(batches)
    bad = {name: cells for name, cells in missing.items() if cells}
    if bad:
        told = ", ".join(f"{cells:,} in column {name!r}" for name, cells in bad.items())
        fits = target is not None and schema is None  # who predicts has the schema of the model, or none
        beside = (
            ": a fit, unlike a build, leaves none out; or say what columns hold by --schema, where missing = true "
            "counts them"
            if fits
            else ""
        )
        raise DataError(
            f"{place}: {'a cell is' if sum(bad.values()) == 1 else 'cells are'} missing or unreadable: {told} "
            f"{UNPUBLISHED}. Hint: leave those rows out of the table beforehand, each for its own cells{beside}."
        )
    try:
        X = (
            table.select(columns)
            if schema is not None
            else np.column_stack([pc.cast(table[name], pa.float64()).to_numpy() for name in columns])
        )
        y = None if target is None else pc.cast(table[target], pa.float64()).to_numpy() if number else table[target]
    except pa.ArrowInvalid:
        raise DataError("A column is not numeric. Hint: --columns names those to learn from.") from None
    return columns, X, y
