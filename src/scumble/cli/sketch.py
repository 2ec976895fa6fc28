"""``scumble sketch``: a table to a secret part, to be merged with parts made elsewhere and then released."""

from __future__ import annotations

import argparse

from scumble.cli.build import count, prepare
from scumble.cli.options import require, take
from scumble.cli.output import check_out, say, secret_out

EXAMPLE = """
scumble sketch people.csv --columns age --bandwidth 5 --rows 64 --buckets 256 --seed 7 --out part1.secret
scumble sketch more.csv --columns age --bandwidth 5 --rows 64 --buckets 256 --seed 7 --out part2.secret
scumble merge part1.secret part2.secret --out all.secret
scumble release all.secret --epsilon 1 --out all.scumble
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    take(parser, "SOURCE KERNEL KINDS WHOLE_TABLE SIZE n")
    budget = parser.add_argument_group("budget, for the plan only")
    take(budget, "epsilon delta neighbors records_per_person", epsilon={"default": 1.0})
    take(parser, "person_column RUNNING", out="the secret file, such as part.secret; mode 0600")


def run(args: argparse.Namespace) -> None:
    from scumble.cli.handover import room
    from scumble.files.interrupts import Unbroken
    from scumble.files.places import Place

    require(
        args, source="the table to read, such as people.parquet", out="the secret file to write, such as part.secret"
    )
    secret_out(args.out)
    check_out(args.out, ours=True, secret=True)
    if args.schema is not None:  # a table's counters depend on no budget, and words are found at its release
        args.delta = args.delta or 1e-6
    job = prepare(args)
    place = Place(args.out, secret=True)  # reserved before hours of work
    try:
        place.reserve(room(job.tally.sketches[0].spec))
        count(args, job)
        with Unbroken():
            place.fill(job.tally.sketches[0].to_bytes())
            place.take_name()
            job.discard_checkpoint()
    finally:
        place.close()
    say(args, f"Wrote {args.out}, which is SECRET: exact counters. Next: scumble merge, then scumble release.")
