"""``scumble schema``: a draft of a table's schema, to be filled in by a person. No record is read."""

from __future__ import annotations

import argparse

EXAMPLE = """
scumble schema people.parquet --out draft.toml
scumble schema people.csv
"""
NOTHING_PRIVATE = "reads names and types, no record"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    from scumble.cli import arguments as shared

    group = parser.add_argument_group("what to read")
    group.add_argument("source", nargs="+", help="files, a folder, a quoted glob, or a database; only its columns")
    group.add_argument("--columns", type=shared.names, metavar="A,B", help="the columns, in order (default: all)")
    shared.reading(group)
    group.add_argument("--query", help="a query to a database, instead of --table")
    parser.add_argument("--out", default="-", metavar="FILE", help="the schema to write, or '-' (default)")
    shared.replace_flag(parser)


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
        text = draft(source.types(names))
    finally:
        source.close()
    if numbers:
        say(args, "Left out: a column that seems to hold the numbers of the rows, as pandas and R write them.")
    if args.out == "-":
        print(text, end="")
        return
    write_whole(args.out, text.encode())
    say(args, f"Wrote {args.out}. Fill in its blanks with what is known beforehand; then scumble build --schema.")
