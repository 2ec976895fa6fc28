"""``scumble fit``: a table to a fitted model. A record is left out for its own cells alone."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from scumble.cli.inputs import opened
from scumble.cli.options import Settings, given, not_empty, promised, require, span, take
from scumble.cli.output import check_out, say, tell_weak
from scumble.columns import curator
from scumble.columns.category import Boolean, Category
from scumble.columns.cells import chosen
from scumble.columns.column import Column
from scumble.columns.kinds import converted, read_as
from scumble.columns.number import Number
from scumble.columns.schema import Schema
from scumble.errors import DataError, FileError, ParameterError, PrivacyError, did_you_mean
from scumble.files.lazy_modules import pa, pc
from scumble.learn.columns import Curator
from scumble.sources import Source

EXAMPLE = """
scumble fit people.csv --task classify --columns age,income --target mode --classes bike,bus,car --bounds age=0:100,income=0:200000 --epsilon 1 --out mode.scumble
scumble fit people.csv --task regress --columns age --target income --bounds age=0:100 --target-bounds 0:200000 --epsilon 1 --delta 1e-6 --rows 500 --out income.scumble
scumble fit people.csv --task classify --schema town.toml --target mode --epsilon 1 --invalid drop --out mixed.scumble
scumble ledger town.ledger --open visits --epsilon 3
scumble fit people.csv --task classify --columns age --target mode --classes bike,bus,car --bounds age=0:100 --epsilon 1 --ledger town.ledger --dataset visits --out mode.scumble
"""  # noqa: E501  command lines that run as they stand
LEARNS = {
    "choose": "classes, by what suits the columns and the budget",
    "classify": "classes, by how dense each is nearby",
    "separate": "classes, by planes between them",
    "logistic": "classes, by noisy steps; needs --delta",
    "curves": "two classes, as a sum of curves, one per column",
    "regress": "a number, as a plane",
    "add": "a number, as a sum of curves, one per column",
}
"""What each task learns."""


def arguments(parser: argparse.ArgumentParser) -> None:
    from scumble.learn import TASKS

    take(parser, source={"nargs": None, "metavar": "table", "help": "the private table; '-' for standard input"})
    tasks = "; ".join(f"{task}: {LEARNS[task]}" for task in TASKS)
    parser.add_argument("--task", choices=list(TASKS), required=True, help=tasks)
    take(
        parser,
        columns="what to learn from (default: all but the target)",
        target={"type": not_empty, "required": True, "help": "what to learn"},
        bounds="public bounds of every column of numbers",
        schema="instead of --bounds: what each column can hold, and the target's classes or bounds",
        classes="all classes; public (default: those of the schema)",
    )
    parser.add_argument(
        "--unknown",
        choices=["error", "drop"],
        help="records whose label is missing or none of the classes: stop, or leave them out (default: as --invalid)",
    )
    parser.add_argument(
        "--target-bounds",
        type=span,
        metavar="LOW:HIGH",
        help="public bounds of a target that is a number (default: those of the schema)",
    )
    take(parser, "invalid rows seed", out={"required": True, "help": "the model, by convention .scumble"})
    whole = "the most records of a person, who is then protected as a whole; nothing enforces it (default: 1)"
    take(parser, "READING BUDGET LEDGER", records_per_person=whole)


def run(args: argparse.Namespace) -> None:
    from scumble import learn
    from scumble.checks import by_column
    from scumble.cli.handover import replacing, set_apart
    from scumble.files.interrupts import Unbroken
    from scumble.files.places import Place
    from scumble.learn import TASKS, models
    from scumble.privacy.account import Account
    from scumble.privacy.budget import Budget

    asked = promised(args)
    if args.schema is None:
        require(args, bounds="the columns' public bounds; or --schema, a file that says what the columns can hold")
    elif args.bounds is not None:
        raise ParameterError("--bounds and --schema both say what the columns can hold. Hint: leave out --bounds.")
    if args.out == "-":
        raise ParameterError("A model is written to a file. Hint: --out model.scumble.")
    check_out(args.out, ours=True)
    Account.of(args.ledger, args.dataset, args.part)  # a ledger that is not there is refused before the table is read
    kind = getattr(learn, TASKS[args.task])
    takes = kind._get_param_names()
    regresses = "target_bounds" in takes
    whole = None if args.schema is None else Schema.load(args.schema)
    schema = None if whole is None else _features(args, whole)
    target = None if whole is None else whole.get(args.target)
    reads = schema  # what a schema reads: a target that is a number, too
    if schema is not None and target is not None and regresses:
        reads = Schema({**schema, args.target: target})
    _require_fitting(args, regresses, target, (reads or {}).values())
    usual = Budget.of(**asked).invalid
    found = _read(opened(args), args.target, args.columns, reads, number=regresses, invalid=args.invalid or usual)
    options: Settings = {**asked, "rows": args.rows, "random_state": args.seed}
    if schema is None:
        options["bounds"] = by_column(args.bounds, found.X.column_names)
    else:
        # Records beyond bounds that leave them out are gone by now: an estimator itself leaves none out.
        clipped = {name: {**one.to_dict(), "outside": "clip"} for name, one in schema.items() if _drops(one)}
        options["schema"] = Schema({**schema} | {name: Column.from_dict(one, name) for name, one in clipped.items()})
    if regresses:
        ends = (target.low, target.high) if isinstance(target, Number) else target and target.limits
        options["target_bounds"] = args.target_bounds or ends
    else:
        args.classes, labels = _classes_of(target, found.y, args.classes)
        found = found._replace(y=labels)
        args.unknown = args.unknown or usual
        options |= {"classes": args.classes, "unknown": args.unknown}
    model = kind(**options)
    _tell_left_out(args, found, args.classes, schema)
    steps = Unbroken()
    with contextlib.ExitStack() as stack:
        place = Place(args.out)
        stack.callback(place.close)
        stack.enter_context(set_apart(args, "fit"))
        tell_weak(args, Budget.of(**asked))

        def before_charge(size: int) -> None:
            place.reserve(size)
            stack.enter_context(steps)  # from here on signals wait

        model.before_charge, model.curator = before_charge, _AtTerminal(args)
        model.fit(found.X, found.y, **given(args, "LEDGER"))
        data = models.to_bytes(model)
        place.fill(data)
        try:
            with replacing(args.out, data):
                place.take_name()
        except OSError as problem:  # it is paid for
            place.owed = True
            place.set_aside()
            raise FileError(f"{problem} The model is whole in {place.draft!r}.") from None
        steps.finish(f"{args.out} was already written and is complete.")
    say(args, f"Wrote {args.out}: {model.privacy_}. Next: scumble predict {args.out} TABLE")


def _require_fitting(
    args: argparse.Namespace, regresses: bool, target: Column | None, columns: Iterable[Column]
) -> None:
    """Refuse what the task would ignore or cannot learn, and leaving records out where their number is public."""
    if isinstance(args.bounds, dict) and args.target in args.bounds:
        raise ParameterError(f"--bounds cannot name the target, {args.target!r}. Hint: --target-bounds.")
    for option in ("classes", "unknown") if regresses else ("target_bounds",):
        if getattr(args, option) is not None:
            raise ParameterError(f"--{option.replace('_', '-')} does not go with --task {args.task}.")
    if regresses and target is not None and not isinstance(target, (Number, Boolean)):
        other = "classify or separate" if isinstance(target, Category) else "classify, with --classes"
        raise ParameterError(f"--task {args.task} needs a number, not a {target.kind}. Hint: --task {other}.")
    if args.neighbors == "replace" and (args.invalid == "drop" or any(map(_drops, columns))):
        what = "--invalid drop" if args.invalid == "drop" else 'a column with outside = "drop"'
        raise PrivacyError(f"{what} does not go with --neighbors replace, which publishes the count. Hint: add-remove.")


def _features(args: argparse.Namespace, schema: Schema) -> Schema:
    """What the columns to learn from can hold: those of the schema, without the target."""
    names = [name for name in args.columns or schema if name != args.target]
    for name in names:
        if name not in schema:
            guess = did_you_mean(name, schema)
            raise ParameterError(f"{args.schema} has no column {name!r}.{guess} Hint: it has {', '.join(schema)}.")
    if not names:
        raise ParameterError(f"{args.schema} has no column but the target. Hint: declare what to learn from.")
    return Schema({name: schema[name] for name in names})


def _classes_of(
    target: Column | None, labels: pa.Array, given: list[str] | None = None
) -> tuple[Sequence[object] | None, pa.Array]:
    """The classes that a schema lists, which is public, and the labels in its words.

    They are its words for the target; other ones, and missing cells, are of no class. Of a boolean they are false and
    true, or what `given` calls these, however the cells write them.
    """
    if isinstance(target, Boolean):
        codes = target.encode(labels).codes
        classes = [False, True] if given is None else given
        sides = [int(code) for code in Boolean().encode(classes).codes]
        if sorted(sides) != [0, 1]:
            raise ParameterError("--classes must be a word for yes and one for no, of a boolean. Hint: leave it out.")
        words = [classes[sides.index(code)] for code in (0, 1)]
        return words, _in_words(words, codes)
    if given is not None:
        return given, labels
    if not isinstance(target, Category):
        return None, labels
    alike = len({type(word) for word in target.values}) == 1
    listed: list[object] = list(target.values) if alike else [text.decode() for text in target.known]
    return listed, _in_words(listed, target.encode(labels).codes)


def _in_words(classes: Sequence[object], codes: np.ndarray) -> pa.Array:
    """The words of these levels, and nothing for levels without one."""
    return pa.array(classes).take(pa.array(codes, mask=(codes < 0) | (codes >= len(classes))))


def _drops(column: Column) -> bool:
    """Whether records outside its bounds are left out."""
    return bool(getattr(column, "outside", "clip") == "drop")


class _AtTerminal(Curator):
    """The curator at the command line. No record decides whether there is a model: none are enough."""

    fewest = 0

    def __init__(self, args: argparse.Namespace) -> None:
        self.target, self._args = args.target, args
        self.decimal = args.decimal

    def tell(self, lines: Sequence[str]) -> None:
        """Lines that are as private as the records."""
        for line in lines:
            say(self._args, line)

    def look_at_classes(self, rows: int, lost: int, empty: Sequence[str]) -> None:
        """The classes alone: `_tell_left_out` reports the rows."""
        self.tell([curator.no_record_of(empty)] if empty else [])


def _tell_left_out(
    args: argparse.Namespace, found: _Records, classes: Sequence[object] | None, schema: Schema | None
) -> None:
    """How many rows are left out, and why: to the curator, before a budget is spent."""
    from scumble.learn.supervised import of_no_class

    for_cells = found.causes.total
    if args.unknown == "drop" and classes is not None:
        found.causes.add(curator.NO_CLASS, args.target, of_no_class(classes, found.y))
    skipped = sum(found.source.skipped.values())
    rows = found.causes.total + skipped
    if rows:
        say(args, curator.left_out(rows, list(found.causes.words(0, skipped))))
    of_cells = found.causes.columns(least=curator.many_unread(len(found.y) + for_cells))
    for name in of_cells:
        reads = read_as(None, args.decimal)
        if schema is not None and name in schema:
            reads = f"a value is left out that is {schema[name].refused(args.decimal) or 'missing'}"
        say(args, curator.private(f"In {name!r}, {reads}"))
    for line in (*([] if len(found.y) else [curator.NOTHING_COUNTED]), *found.source.oddities.words()):
        say(args, line)


# ---- reading ----


class _Records(NamedTuple):
    """What was read."""

    X: pa.Table
    """The columns, by name: as numbers; or, where a schema reads them, as they are."""
    y: Any
    """The target as numbers, or the labels as they are."""
    causes: curator.Causes
    """Why rows were left out: for the curator only."""
    source: Source

    def __repr__(self) -> str:
        return "_Records(secret)"


def _read(
    source: Source, target: str, columns: list[str] | None, schema: Schema | None, *, number: bool, invalid: str
) -> _Records:
    """The records that a model learns from: `columns` of numbers (None: all but the target) or those of the `schema`.

    A target that is a `number` must be there, and the schema may bound it; labels may be missing.
    """
    if schema is None:
        named = source.columns(columns or None, besides=[target])
    else:
        named = [name for name in schema if name != target]
    wanted = [*named, target]
    if any(name in source.names for name in wanted):
        source.require([target])  # by itself: a column to learn from may be what was meant
    source.require(wanted)
    roles = {name: "number" if schema is None else schema.roles[name] for name in named}
    roles[target] = "number" if number else "any"
    numbers = [*(named if schema is None else []), *([target] if number else [])]
    batches, causes = [], curator.Causes()
    for piece in source.pieces(roles, invalid=invalid):
        batch = converted(piece.batch.select(wanted), roles)
        found = {} if schema is None else curator.without_level(batch.select(list(schema)), schema)
        for name in numbers:
            cells = batch[name]  # missing ones, and those that are not finite
            if pa.types.is_floating(cells.type):
                bad = ~np.isfinite(cells.to_numpy(zero_copy_only=False))
            else:
                bad = cells.is_null().to_numpy(zero_copy_only=False)
            found |= curator.without_value(batch, name, np.asarray(bad))
        if invalid == "error":
            place = partial(source.place, piece.position, batch.num_rows)
            if refused := curator.refusal(found, place, "missing or unreadable", "--invalid drop leaves these out"):
                raise refused
        if found:
            batch = chosen(batch, ~causes.take(found, batch.num_rows))
        batches.append(batch)
    source.require_unchanged()
    if invalid == "error" and not any(batch.num_rows for batch in batches):
        raise DataError(f"{source} has no rows.")
    if not batches:
        batches = [converted(pa.record_batch({name: pa.array([], pa.string()) for name in wanted}), roles)]
    table = pa.Table.from_batches(batches)
    try:
        X = table.select(named)
        if schema is None:
            X = X.cast(pa.schema([(name, pa.float64()) for name in named]), safe=False)  # beyond 2⁵³: rounded
        y = np.asarray(pc.cast(table[target], pa.float64(), safe=False)) if number else table[target]
    except pa.ArrowException:  # whose words may quote cells
        raise DataError("A column is not numeric. Hint: --columns names those to learn from.") from None
    return _Records(X, y, causes, source)
