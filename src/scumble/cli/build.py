"""``scumble build``: a table to a released file, in one pass. The exact counters never touch the disk."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

EXAMPLE = """
scumble build people.parquet --columns age,income --scale age=10,income=20000 --bandwidth 1 --epsilon 1 --out p.scumble
scumble build people.csv --columns age,mode --categories mode --bandwidth 10 --epsilon 1 --out modes.scumble
scumble build people.csv --columns age --bandwidth 5 --label mode --classes bus,car,bike --epsilon 1 --out c.scumble
scumble build sqlite:///people.db --table people --columns age --bandwidth 5 --epsilon 1 --out ages.scumble
scumble build people.csv --columns age --whole age --bounds age=0:100 --bandwidth 5 --epsilon 1 --out whole.scumble
scumble build people.parquet --schema town.toml --epsilon 1 --out town.scumble
scumble build people.csv --columns age,income --bandwidth 1 --epsilon 1 --rehearse
scumble build --config people.toml
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    from scumble.cli import arguments as shared

    shared.source(parser)
    parser.add_argument("--label", metavar="COLUMN", help="one release per class: the column that holds the class")
    parser.add_argument(
        "--classes", type=shared.names, metavar="X,Y", help="all classes, public (not of a label among --booleans)"
    )
    shared.kernel(parser)
    shared.kinds(parser)
    shared.table(parser)
    shared.budget(parser)
    shared.people(parser)
    parser.add_argument(
        "--noise-first",
        action="store_true",
        help="draw the noise before the first record: raw counters never exist (one look at a checkpoint, not two)",
    )
    parser.add_argument(
        "--draws",
        action="store_true",
        help="of a table (--schema): store the draws that answers come from, so that readers need not make them",
    )
    parser.add_argument(
        "--rehearse",
        action="store_true",
        help="only tell what would come out, and what to change: no record is read, nothing spent or written",
    )
    shared.ledger(parser)
    shared.size(parser)
    shared.running(parser)
    shared.cluster(parser)
    parser.add_argument(
        "--out", metavar="FILE", help="the released file, such as people.scumble; '-' for standard output"
    )
    shared.json_flag(parser)


def run(args: argparse.Namespace) -> int | None:
    """Do what the verb says."""
    from scumble.cli.arguments import promised, require
    from scumble.cli.handover import Handover, Left, finished, room
    from scumble.cli.output import check_out, misnamed, print_json, say, tell_few, tell_strange, tell_weak
    from scumble.cli.preparing import count, prepare
    from scumble.cli.replacing import set_apart
    from scumble.errors import ParameterError
    from scumble.show.cards import facts
    from scumble.show.wording import human_bytes
    from scumble.sources.rehearsal import beforehand

    if args.engine != "spark" or not (args.table or args.query):
        require(args, source="the table to read, such as people.parquet")
    if args.master is not None and args.engine != "spark":
        raise ParameterError("--master goes with --engine spark.")
    promised(args, "the privacy budget; typical are 0.1 to 3, and 1 is a good start")
    if args.rehearse:
        return _rehearse(args)
    require(args, out="the released file to write, such as people.scumble")
    check_out(args.out, text=False, ours=True)
    if args.out == "-" and args.json:
        raise ParameterError("--json and --out - both want standard output. Hint: write the release to a file.")
    if args.draws and (args.schema is None or args.out == "-"):
        raise ParameterError("--draws is for tables in files. Hint: give --schema, and --out with a file's name.")
    job = prepare(args, label=args.label, classes=args.classes)
    kept = job.checkpoint
    said = (None if kept is None else kept.left()) or {}
    left = None if kept is None else Left.of(said, kept.path, kept.note)
    there = finished(said, args.out)
    if there is not None:
        job.source.close()
        release, size = there
        say(args, "A run that was killed had written this release; nothing was counted, drawn or charged again.")
    elif left is not None:
        job.source.close()
        release, size = left.take(args.out)
        say(args, "A run that was killed had made this release; nothing was counted, drawn or charged again.")
    else:
        sketches = job.tally.sketches
        needs = room(sketches[0].spec, len(sketches))
        secret, note = (None, None) if kept is None else (kept.path, kept.note)
        with Handover(args.out, needs, secret=secret, note=note) as handover, set_apart(args, "build"):
            tell_weak(args, job.budget)
            if sys.stderr.isatty():  # a script wants one line, and it is of what went wrong
                for line in beforehand(job):
                    say(args, line)
            count(args, job)
            release, size = handover.make(job.release)
    try:
        if args.draws:  # the release is safe without them
            release.save(args.out, draws=True)
            size = os.path.getsize(args.out)
        if args.json:
            print_json({"out": args.out, "bytes": size, **facts(release)})
        elif args.out != "-":
            apart = " No pair of columns was counted together." if _all_apart(release) else ""
            about = f"{release.privacy}.{apart}{_guessed(args)}{misnamed(args.out)} Next: scumble info {args.out}"
            say(args, f"Wrote {args.out} ({human_bytes(size)}): {about}")
        tell_few(args, release)
        tell_strange(args, release)
        sys.stdout.flush()
    finally:  # last: while its note is there, the same command finds what it has written, and is not charged again
        job.discard_checkpoint()
    return None


def _guessed(args: argparse.Namespace) -> str:
    """With classes, or noise first, the size is planned before anything is counted, for a number of records."""
    from scumble.planning import DEFAULT_RECORDS

    beforehand = args.schema is None and (args.label is not None or args.noise_first)
    if not beforehand or args.n is not None or args.rows is not None or args.buckets is not None:
        return ""
    return f" Its size was planned for {DEFAULT_RECORDS:,} records; --n says how many there are, if that is public."


def _all_apart(release: Any) -> bool:
    """Whether it is of a whole table, and tells each column by itself."""
    views = getattr(release, "views", ())
    return len(views) > 1 and release.target is None and all(len(view) == 1 for view in views)


def _rehearse(args: argparse.Namespace) -> int:
    from scumble.cli import REFUSED
    from scumble.cli.output import print_json
    from scumble.cli.preparing import prepare
    from scumble.sources.job import BOOK, LET_GO

    book = {name: getattr(args, name) for name in BOOK}
    for name in LET_GO:
        setattr(args, name, None)
    found = prepare(args, label=args.label, classes=args.classes).rehearse(**book)
    print_json(found.to_dict()) if args.json else print(found)
    return REFUSED if found.refused else 0
