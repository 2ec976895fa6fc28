"""``scumble release``: a secret part to a released file. A part can be released only once, and is emptied."""

from __future__ import annotations

import argparse
from typing import Any

EXAMPLE = """
scumble release part1.secret --epsilon 1 --out part1.scumble
scumble release part2.secret --epsilon 1 --delta 1e-6 --out part2.scumble --json
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
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
        help="do not empty the part; each further release of it is charged, so this needs a --ledger",
    )
    shared.json_flag(parser)


def run(args: argparse.Namespace) -> None:
    """Do what the verb says."""
    from scumble.cli.arguments import promised, require
    from scumble.cli.guard import tidy
    from scumble.cli.handover import Handover, Part, room
    from scumble.cli.output import check_out, misnamed, print_json, say, tell_few, tell_weak
    from scumble.cli.replacing import set_apart
    from scumble.errors import BudgetError, ParameterError
    from scumble.loading import load_secret, sketch_in
    from scumble.privacy.budget import Budget
    from scumble.show.cards import facts
    from scumble.show.wording import human_bytes

    asked = promised(args, "the privacy budget; typical are 0.1 to 3, and 1 is a good start")
    require(args, out="the released file to write, such as people.scumble")
    check_out(args.out, text=False, ours=True)
    if args.out == "-" and args.json:
        raise ParameterError("--json and --out - both want standard output. Hint: write the release to a file.")
    tell_weak(args, Budget.of(**asked))
    charged = {name: getattr(args, name) for name in ("ledger", "dataset", "part")}
    if args.keep_secret:
        if args.ledger is None:
            raise BudgetError("A part that is kept can be released again: that needs a ledger. Hint: --ledger FILE.")
        sketch = load_secret(args.secret)
        with Handover(args.out, room(sketch.spec)) as handover, set_apart(args, "release"):
            release, size = handover.make(lambda _: sketch.release(**asked, **charged))
    else:
        with Part(args.secret) as part:
            left = part.left(asked)
            for line in tidy(part.path, takes=True):
                say(args, f"scumble: {line}")
            if left is not None:
                release, size = left.take(args.out)
                say(args, "A run that was killed had made this release; nothing was drawn or charged again.")
            else:
                sketch = sketch_in(part.container)

                def draw(pledge: dict[str, Any]) -> Any:
                    part.sign(pledge, sketch.secret)
                    return sketch.release(**asked, **charged)

                handing = Handover(args.out, room(sketch.spec), secret=part.path, note=part.note, asked=asked)
                with handing as handover, set_apart(args, "release"):
                    release, size = handover.make(draw, put_back=part.put_back)
    if args.json:
        print_json({"out": args.out, "bytes": size, **facts(release)})
    elif args.out != "-":
        gone = "" if args.keep_secret else f" {args.secret} has been emptied: its exact counters are gone."
        say(args, f"Wrote {args.out} ({human_bytes(size)}): {release.privacy}.{misnamed(args.out)}{gone}")
    tell_few(args, release)
