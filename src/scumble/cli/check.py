"""``scumble check``: what of a table its schema cannot read or match, for the curator's eyes. It publishes nothing."""

from __future__ import annotations

import argparse
from typing import Any

EXAMPLE = """
scumble check people.csv --schema town.toml
scumble check people.csv --schema town.toml --json
"""
SECRET = "SECRET: this tells of the records. It is for you alone: publish none of it, and keep it in no log."
ALL = 2**31 - 1
"""Records of a person: as many as there are."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    from scumble.cli import arguments as shared

    group = parser.add_argument_group("what to read")
    group.add_argument(
        "source", nargs="+", help="files, a folder, a quoted glob, '-' for standard input, or a database"
    )
    shared.reading(group)
    group.add_argument("--query", help="a query to a database, instead of --table")
    parser.add_argument("--schema", required=True, metavar="FILE.toml", help="what its columns can hold")
    parser.add_argument(
        "--person-column", metavar="COLUMN", help="whose record it is: also look for many of one person"
    )
    parser.add_argument(
        "--records-per-person", type=shared.Whole(), default=1, metavar="M", help="how many are counted (default: 1)"
    )
    shared.json_flag(parser)


def run(args: argparse.Namespace) -> int:
    """Do what the verb says."""
    from scumble.cli import BAD_DATA
    from scumble.cli.output import print_json
    from scumble.cli.progress import ProgressLine
    from scumble.schema import Schema
    from scumble.sources import Build

    reading = {name: getattr(args, name) for name in ("table", "query", "format", "delimiter", "decimal", "encoding")}
    options: dict[str, Any] = {"schema": Schema.load(args.schema), "person_column": args.person_column, **reading}
    job = Build(args.source, epsilon=1.0, records_per_person=ALL, invalid="drop", **options)  # never released
    line = ProgressLine(args.quiet)
    try:
        tally = job.count(line)
    finally:
        line.close()
    notes = tally.told(job.source)
    found: dict[str, Any] = {
        "secret": True,
        "rows": tally.rows,
        "rows_left_out": tally.dropped,
        "columns": tally.strays.to_dict(),
    }
    if tally.people is not None:
        rows = tally.people.rows_of_each()
        over = rows[rows > args.records_per_person]
        found["persons"] = {
            "persons": len(rows),
            "most_rows": int(rows.max(initial=0)),
            "with_too_many": len(over),
            "rows_too_many": int((over - args.records_per_person).sum()),
        }
        if len(over):
            limit = f"more than --records-per-person {args.records_per_person}"
            notes.append(
                f"{len(over):,} of {len(rows):,} persons have {limit}, up to {rows.max():,} rows; "
                f"{found['persons']['rows_too_many']:,} rows would be left out."
            )
    if args.json:
        print_json({**found, "notes": notes})
    else:
        print("\n".join([SECRET, f"{tally.rows:,} rows read.", *(notes or ["No problems found."])]))
    return BAD_DATA if notes else 0
