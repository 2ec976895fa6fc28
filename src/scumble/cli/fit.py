"""``scumble fit``: a table to a fitted model."""

from __future__ import annotations

import argparse
import contextlib
from typing import Any

EXAMPLE = """
scumble fit people.csv --task classify --columns age,income --target mode --classes bike,bus,car --bounds age=0:100,income=0:200000 --epsilon 1 --out mode.scumble
scumble fit people.csv --task regress --columns age --target income --bounds age=0:100 --target-bounds 0:200000 --epsilon 1 --delta 1e-6 --rows 500 --out income.scumble
scumble fit people.csv --task classify --schema town.toml --target mode --epsilon 1 --invalid drop --out mixed.scumble
scumble ledger town.ledger --open visits --epsilon 3
scumble fit people.csv --task classify --columns age --target mode --classes bike,bus,car --bounds age=0:100 --epsilon 1 --ledger town.ledger --dataset visits --out mode.scumble
"""  # noqa: E501  command lines that run as they stand


LEARNS = {
    "classify": "classes, by how dense each is nearby",
    "separate": "classes, by planes between them",
    "regress": "a number, as a plane",
    "add": "a number, as a sum of curves, one per column",
}
"""What each task learns."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    from scumble.cli.arguments import SEED, Whole, bounds, budget, ledger, name, names, reading
    from scumble.learn.estimators import TASKS

    parser.add_argument("table", help="the private table; '-' for standard input")
    tasks = "; ".join(f"{task}: {LEARNS[task]}" for task in TASKS)
    parser.add_argument("--task", choices=list(TASKS), required=True, help=tasks)
    parser.add_argument("--columns", type=names, metavar="A,B", help="what to learn from (default: all but the target)")
    parser.add_argument("--target", type=name, required=True, metavar="COLUMN", help="what to learn")
    parser.add_argument("--bounds", type=bounds, metavar="A=0:100", help="public bounds of every column of numbers")
    parser.add_argument(
        "--schema",
        metavar="FILE.toml",
        help="instead of --bounds: what each column can hold, words and dates too, and the target's classes or bounds",
    )
    parser.add_argument(
        "--classes",
        type=names,
        metavar="X,Y",
        help="all classes, public (left out: the schema's words for the target; of a boolean, false and true, which "
        "no,yes calls so)",
    )
    parser.add_argument(
        "--unknown",
        choices=["error", "drop"],
        help="rows whose label is missing or none of the classes: stop, or leave them out (as --invalid)",
    )
    parser.add_argument(
        "--target-bounds",
        type=span,
        metavar="LOW:HIGH",
        help="public bounds of a target that is a number (left out: those of the schema)",
    )
    parser.add_argument(
        "--invalid",
        choices=["error", "drop"],
        help="rows with missing, infinite or unreadable cells, but for labels: leave them out (default), or stop "
        "(the default of --neighbors replace)",
    )
    parser.add_argument("--rows", type=Whole(), help="rows of counters (left out: a good number)")
    parser.add_argument("--seed", type=SEED, default=0, help="of the hash functions; public (default: 0)")
    parser.add_argument("--out", required=True, metavar="FILE", help="the model, by convention .scumble")
    reading(parser, table="sheet")
    budget(parser, persons=False)
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
    from scumble.cli import fitting
    from scumble.cli.arguments import promised, require
    from scumble.cli.output import check_out, say, tell_weak
    from scumble.cli.records import opened, read
    from scumble.cli.replacing import replacing, set_apart
    from scumble.errors import FileError, ParameterError
    from scumble.learn import saving
    from scumble.learn.estimators import TASKS
    from scumble.machine.interrupts import Unbroken
    from scumble.machine.places import Place
    from scumble.privacy.account import Account
    from scumble.privacy.budget import Budget
    from scumble.schema import Schema

    asked = promised(args, "the privacy budget of this fit, such as 1")
    if args.schema is None:
        require(args, bounds="the columns' public bounds; or --schema, a file that says what the columns can hold")
    elif args.bounds is not None:
        raise ParameterError("--bounds and --schema both say what the columns can hold. Hint: leave out --bounds.")
    if args.out == "-":
        raise ParameterError("A model goes to a file. Hint: --out model.scumble.")
    check_out(args.out, ours=True)
    Account.of(args.ledger, args.dataset, args.part)  # a ledger that is not there is refused before the table is read
    kind = getattr(learn, TASKS[args.task])
    takes = kind._get_param_names()
    regresses = "target_bounds" in takes
    if not asked.keys() <= {*takes}:
        raise ParameterError(f"--task {args.task} is paid for in ε alone. Hint: --epsilon 1, with or without --delta.")
    _require_fitting(args, regresses)
    whole = None if args.schema is None else Schema.load(args.schema)
    schema = None if whole is None else fitting.features(args, whole)
    target = None if whole is None else whole.get(args.target)
    bounded = Schema({args.target: target}) if regresses and target is not None else None
    if regresses:
        fitting.require_number(args, target)
    usual = Budget.of(**asked).invalid
    fitting.require_drops(args, [*(schema or {}).values(), *(bounded or {}).values()])
    found = read(
        opened(args),
        columns=args.columns,
        schema=schema,
        target=args.target,
        number=regresses,
        bounded=bounded,
        invalid=args.invalid or usual,
    )
    options: dict[str, Any] = {
        **asked,
        "rows": args.rows,
        "random_state": args.seed,
    }
    if schema is None:
        options["bounds"] = by_column(args.bounds, found.X.column_names)
    else:
        options["schema"] = fitting.clipping(schema)
    if regresses:
        options["target_bounds"] = args.target_bounds or fitting.bounds_of(target)
    else:
        args.classes, labels = fitting.classes_of(target, found.y, args.classes)
        found = found._replace(y=labels)
        args.unknown = args.unknown or usual
        options |= {"classes": args.classes, "unknown": args.unknown}
    model = kind(**options)
    for_cells = found.causes.total
    fitting.tell_left_out(args, found, args.classes, schema)
    steps = Unbroken()
    with contextlib.ExitStack() as stack:
        place = Place(args.out)
        stack.callback(place.close)
        stack.enter_context(set_apart(args, "fit"))
        tell_weak(args, Budget.of(**asked))

        def before_charge(size: int) -> None:
            place.reserve(size)
            stack.enter_context(steps)  # from here on signals wait

        model.before_charge, model.curator = before_charge, fitting.AtTerminal(args, for_cells)
        model.fit(found.X, found.y, ledger=args.ledger, dataset=args.dataset, part=args.part)
        data = saving.to_bytes(model)
        place.fill(data)
        try:
            with replacing(args.out, data):
                place.take_name()
        except OSError as problem:  # it is paid for
            place.owed = True
            place.set_aside()
            raise FileError(f"{problem} The model is whole in {place.draft!r}.") from None
        steps.finish(f"{args.out} was written first, and is whole.")
    say(args, f"Wrote {args.out}: {model.privacy_}. Next: scumble predict {args.out} TABLE")


def _require_fitting(args: argparse.Namespace, regresses: bool) -> None:
    """Refuse what the task would not heed."""
    from scumble.errors import ParameterError

    if isinstance(args.bounds, dict) and args.target in args.bounds:
        low, high = (str(side).removesuffix(".0") for side in args.bounds[args.target])
        hint = f"--target-bounds={low}:{high}" if regresses and args.target_bounds is None else "leave them out"
        raise ParameterError(
            f"--bounds are those of columns to learn from, and {args.target!r} is the target. Hint: {hint}."
        )
    for name in ("classes", "unknown") if regresses else ("target_bounds",):
        if getattr(args, name) is not None:
            what = "a target that has classes" if regresses else "a target to regress"
            raise ParameterError(
                f"--{name.replace('_', '-')} is for {what}, and --task is {args.task}. Hint: leave it out."
            )
