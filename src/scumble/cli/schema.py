"""``scumble schema``: a draft of a table's schema, to be filled in by a person. No record is read."""

from __future__ import annotations

import argparse
import fnmatch
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scumble.sources import Source

EXAMPLE = """
scumble schema people.parquet --out draft.toml
scumble schema people.csv
scumble schema people.csv --columns age,income,mode --whole age --numbers income --categories mode
"""
NOTHING_PRIVATE = "reads names and types, no record"
HOLDS = {
    "numbers": "numbers",
    "whole": "whole numbers",
    "dates": "dates, or times",
    "booleans": "true or false, yes or no",
    "categories": "words",
}
"""What each option says of columns."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    from scumble.cli import arguments as shared

    group = parser.add_argument_group("what to read")
    group.add_argument("source", nargs="+", help="files, a folder, a quoted glob, or a database; only its columns")
    group.add_argument("--columns", type=shared.names, metavar="A,B", help="the columns, in order (default: all)")
    shared.reading(group)
    group.add_argument("--query", help="a query to a database, instead of --table")
    group = parser.add_argument_group("what columns hold, as is known beforehand; 'q*' for all that begin so")
    for option, what in HOLDS.items():
        group.add_argument(f"--{option}", type=shared.names, metavar="A,B", help=what)
    parser.add_argument("--out", default="-", metavar="FILE", help="the schema to write, or '-' (default)")
    shared.replace_flag(parser)


def _declared(args: argparse.Namespace, names: Sequence[str], source: Source) -> dict[str, Any]:
    """The types of columns that the options name: by themselves, or, of the others, by how they begin."""
    from scumble.errors import ParameterError
    from scumble.machine.later import pa

    types = (pa.float64(), pa.int64(), pa.date32(), pa.bool_(), pa.string())
    given = [
        (option, kind, word) for option, kind in zip(HOLDS, types, strict=True) for word in getattr(args, option) or ()
    ]
    found: dict[str, Any] = {}
    said: dict[str, str] = {}
    for begins in (False, True):
        named = {*found}
        for option, kind, word in given:
            if (word not in names and "*" in word) is not begins:
                continue
            meant = fnmatch.filter(names, word) if begins else [word]
            if not meant or meant[0] not in names:
                source.require([word])
                raise ParameterError(
                    f"--{option} names {word!r}, which is none of --columns. Hint: name it there, too."
                )
            for name in (name for name in meant if name not in named):
                if found.setdefault(name, kind) != kind:
                    raise ParameterError(
                        f"--{said[name]} and --{option} both name {name!r}. Hint: name a column in one of them."
                    )
                said.setdefault(name, option)
    return found


def run(args: argparse.Namespace) -> None:
    """Do what the verb says."""
    from scumble.cli.output import check_out, say
    from scumble.errors import DataError
    from scumble.machine.places import write_whole
    from scumble.schema import draft
    from scumble.sources import open_source
    from scumble.sources.source import BELOW_A_TITLE, numbers_rows

    check_out(args.out, replace=args.replace)
    reading = {name: getattr(args, name) for name in ("table", "query", "format", "delimiter", "decimal", "encoding")}
    source = open_source(args.source, **reading)
    try:
        if source.titled:
            raise DataError(f"{source} seems to have a title above its header. {BELOW_A_TITLE}")
        numbers = [] if args.columns else [name for name in source.names if numbers_rows(name)]
        names = source.columns(args.columns or None, besides=numbers)
        source.require(names)
        text = draft(source.types(names) | _declared(args, names, source))
    finally:
        source.close()
    if numbers:
        say(args, "Left out: a column that seems to hold the numbers of the rows, as pandas and R write them.")
    if args.out == "-":
        print(text, end="")
        return
    write_whole(args.out, text.encode())
    say(args, f"Wrote {args.out}. Fill in its blanks with what is known beforehand; then scumble build --schema.")
