"""``scumble schema``: a draft of a table's schema. Records are read with --look or --epsilon alone."""

from __future__ import annotations

import argparse
import fnmatch
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scumble.cli.inputs import opened
from scumble.cli.options import Settings, names, per_person, take
from scumble.cli.output import check_out, say
from scumble.errors import ParameterError
from scumble.files.lazy_modules import pa

if TYPE_CHECKING:
    from scumble.sources import Source

EXAMPLE = """
scumble schema people.parquet --out draft.toml
scumble schema people.csv
scumble schema people.csv --look --out look.toml
scumble schema people.csv --epsilon 0.1 --delta 1e-6
scumble schema people.csv --columns age,income,mode --whole age --numbers income --categories mode
"""
LOOKED = (
    "SECRET: the comments of this draft tell what the records hold, for you alone. "
    "No budget covers what you copy from them: write what is known in advance."
)
HOLDS = {
    "numbers": "numbers",
    "whole": "whole numbers",
    "dates": "dates, or times",
    "booleans": "true or false, yes or no",
    "categories": "words",
}
"""What each option says of columns."""


def arguments(parser: argparse.ArgumentParser) -> None:
    take(parser.add_argument_group("what to read"), "source columns READING query", source={"nargs": "+"})
    group = parser.add_argument_group("what columns hold, if known; 'q*' for all that begin with q")
    for option, what in HOLDS.items():
        group.add_argument(f"--{option}", type=names, metavar="A,B", help=what)
    parser.add_argument("--look", action="store_true", help="read the table, for your eyes only: see what it holds")
    private = parser.add_argument_group("a private draft, with bounds and kinds found for a budget")
    take(private, "delta records_per_person ledger dataset", epsilon="what the draft may cost, such as 0.1")
    take(parser, "replace", out={"default": "-", "help": "the schema to write, or '-' (default)"})


def _declared(args: argparse.Namespace, names: Sequence[str], source: Source) -> Settings:
    """The types of columns that the options name; a full name takes precedence over a pattern."""
    kinds = dict(zip(HOLDS, (pa.float64(), pa.int64(), pa.date32(), pa.bool_(), pa.string()), strict=True))
    words = [(option, word) for option in HOLDS for word in getattr(args, option) or ()]
    found: dict[str, str] = {}
    for pattern in (False, True):
        named = {*found}
        for option, word in words:
            if (word not in names and "*" in word) is not pattern:
                continue
            meant = fnmatch.filter(names, word) if pattern else [word]
            if not meant or meant[0] not in names:
                source.require([word])
                raise ParameterError(f"--{option} names {word!r}, which is not among --columns.")
            for name in (name for name in meant if name not in named):
                if found.setdefault(name, option) != option:
                    raise ParameterError(f"--{found[name]} and --{option} both name {name!r}. Hint: keep one of them.")
    return {name: kinds[option] for name, option in found.items()}


def run(args: argparse.Namespace) -> None:
    from scumble.columns.draft import draft, look
    from scumble.sources.source import numbers_rows

    check_out(args.out, replace=args.replace)
    source = opened(args)
    try:
        numbers = [] if args.columns else [name for name in source.names if numbers_rows(name)]
        columns = source.columns(args.columns or None, besides=numbers)
        source.require(columns)
        if args.epsilon is not None:
            _private(args, source, columns)
            return
        if args.ledger is not None or args.dataset is not None or args.delta:
            raise ParameterError("A ledger and --delta are for private drafts. Hint: add --epsilon 0.1.")
        kinds = source.types(columns) | _declared(args, columns, source)
        seen = None
        if args.look:
            pieces = source.pieces(dict.fromkeys(columns, "any"), invalid="drop")
            seen = look((piece.batch for piece in pieces), columns)
            say(args, LOOKED)
        text = draft(kinds, seen, decimal=source.decimal)
    finally:
        source.close()
    if numbers:
        say(args, "Left out: a column that seems to hold the numbers of the rows, as pandas and R write them.")
    if _wrote(args, text):
        say(args, f"Wrote {args.out}. Fill in its blanks with what is known beforehand; then scumble build --schema.")


def _private(args: argparse.Namespace, source: Source, columns: Sequence[str]) -> None:
    """A draft that is complete, for a budget."""
    from scumble.privacy.account import Account
    from scumble.privacy.budget import Budget
    from scumble.sources.drafting import drafted

    if args.look or any(getattr(args, option) for option in HOLDS):
        raise ParameterError("A private draft finds kinds by itself. Hint: leave out --look and declarations.")
    budget = Budget.of(args.epsilon, args.delta, "add-remove", per_person(args), 0)
    text = drafted(source, columns, budget, Account.of(args.ledger, args.dataset, None)).toml()
    if _wrote(args, text):
        say(args, f"Wrote {args.out}. Its comments say what remains to decide; then scumble build --schema.")


def _wrote(args: argparse.Namespace, text: str) -> bool:
    from scumble.files.places import write_whole

    if args.out == "-":
        print(text, end="")
        return False
    write_whole(args.out, text.encode())
    return True
