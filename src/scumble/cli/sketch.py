"""``scumble sketch``: a table to a secret part, to be merged with parts made elsewhere and then released."""

from __future__ import annotations

import argparse

EXAMPLE = """
scumble sketch people.csv --columns age --bandwidth 5 --rows 64 --buckets 256 --seed 7 --out part1.secret
scumble sketch more.csv --columns age --bandwidth 5 --rows 64 --buckets 256 --seed 7 --out part2.secret
scumble merge part1.secret part2.secret --out all.secret
scumble release all.secret --epsilon 1 --out all.scumble
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    from scumble.cli import arguments as shared

    shared.source(parser)
    shared.kernel(parser)
    shared.kinds(parser)
    shared.table(parser)
    shared.size(parser)
    shared.budget(parser, hint=True)
    shared.people(parser)
    shared.running(parser)
    parser.add_argument("--out", metavar="FILE", help="the secret file, such as part.secret; mode 0600")


def run(args: argparse.Namespace) -> None:
    """Do what the verb says."""
    from scumble.cli.arguments import require
    from scumble.cli.handover import room
    from scumble.cli.output import check_out, like_a_release, say, secret_out
    from scumble.cli.preparing import count, prepare
    from scumble.machine.interrupts import Unbroken
    from scumble.machine.places import Place

    require(
        args,
        source="the table to read, such as people.parquet",
        out="the secret file to write, such as part.secret",
    )
    secret_out(args.out)
    check_out(args.out, ours=True, secret=True)
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
    secret = f"It is SECRET: exact counters.{like_a_release(args.out)}"
    say(args, f"Wrote {args.out}. {secret} Next: scumble merge, then scumble release.")
