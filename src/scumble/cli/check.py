"""``scumble check``: what a schema cannot read or match in a table, for the curator alone. It publishes nothing."""

from __future__ import annotations

import argparse
import contextlib

from scumble.cli import BAD_DATA
from scumble.cli.options import Settings, given, take
from scumble.cli.output import print_json
from scumble.cli.terminal import ProgressLine
from scumble.errors import many

EXAMPLE = """
scumble check people.csv --schema town.toml
scumble check people.csv --schema town.toml --json
"""
SECRET = "SECRET: this describes the records. It is for you alone: do not publish or log it."
ALL = 2**31 - 1
"""Records of a person: as many as there are."""


def arguments(parser: argparse.ArgumentParser) -> None:
    take(parser.add_argument_group("what to read"), "source READING query", source={"nargs": "+"})
    take(parser, "json", schema={"required": True, "help": "what its columns can hold"})
    take(parser, person_column="the person that each record belongs to: also look for persons with many records")
    take(parser, records_per_person={"default": 1, "help": "how many would be counted (default: 1)"})


def run(args: argparse.Namespace) -> int:
    from scumble.columns.schema import Schema
    from scumble.sources import Build

    # Never released, so any budget will do.
    options = {"schema": Schema.load(args.schema), **given(args, "person_column READING query")}
    job = Build(args.source, epsilon=1.0, delta=1e-6, records_per_person=ALL, invalid="drop", **options)
    with contextlib.closing(ProgressLine(args.quiet)) as line:
        tally = job.count(line)
    notes = tally.told(job.source)
    found: Settings = {
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
                f"{len(over):,} of {len(rows):,} persons have {limit}, up to {rows.max():,} records; "
                f"{found['persons']['rows_too_many']:,} records would be left out."
            )
    if args.json:
        print_json({**found, "notes": notes})
    else:
        print("\n".join([SECRET, f"{many(tally.rows, 'record')} read.", *(notes or ["No problems found."])]))
    return BAD_DATA if notes else 0
