"""``scumble release``: a secret part to a released file. The part is used up: a sketch is released once."""

from __future__ import annotations

import argparse

EXAMPLE = """
scumble release part1.secret --epsilon 1 --out part1.scumble
scumble release part2.secret --epsilon 1 --delta 1e-6 --out part2.scumble --json
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    from scumble.cli import arguments as shared

    parser.add_argument("secret", help="a secret part, made by sketch or merge")
    shared.budget(parser)
    shared.ledger(parser)
    parser.add_argument(
        "--out", metavar="FILE", help="the released file, such as people.scumble; '-' for standard output"
    )
    parser.add_argument(
        "--keep-secret",
        action="store_true",
        help="do not empty the part. Each further release of it adds to the budget: use a --ledger",
    )
    shared.json_flag(parser)


def run(args: argparse.Namespace) -> None:
    import os

    from scumble.cli.arguments import require
    from scumble.cli.output import check_out, human_bytes, print_json, say, write_release
    from scumble.display import facts
    from scumble.errors import ParameterError
    from scumble.sketch import Sketch, load_secret

    require(
        args,
        epsilon="the privacy budget; typical are 0.1 to 10, and 1 is a good start",
        out="the released file to write, such as people.scumble",
    )
    check_out(args.out, text=False)
    if args.out == "-" and args.json:
        raise ParameterError("--json and --out - both want standard output. Hint: write the release to a file.")
    if os.path.exists(args.out) and os.path.samefile(args.out, args.secret):
        raise ParameterError("--out is the secret part itself. Hint: name another file.")
    sketch = load_secret(args.secret)
    release = sketch.release(
        epsilon=args.epsilon,
        delta=args.delta,
        neighbors=args.neighbors,
        records_per_person=args.records_per_person,
        ledger=args.ledger,
        dataset=args.dataset,
        part=args.part,
    )

    def use_up() -> None:
        Sketch.write_used_up(args.secret, release)

    size = write_release(release, args.out, first=None if args.keep_secret else use_up)
    if args.json:
        print_json({"out": args.out, "bytes": size, **facts(release)})
    elif args.out != "-":
        gone = "" if args.keep_secret else f" {args.secret} is used up: its exact counters are gone."
        say(args, f"Wrote {args.out} ({human_bytes(size)}): {release.privacy}.{gone}")
