"""``scumble release``: a secret part to a released file. A part can be released only once, and is emptied."""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import TYPE_CHECKING

from scumble.cli.options import Settings, given, promised, take
from scumble.cli.output import check_release_out, say, tell_release, tell_weak
from scumble.errors import BudgetError

if TYPE_CHECKING:
    from scumble.show.cards import AnyRelease

EXAMPLE = """
scumble release part1.secret --epsilon 1 --out part1.scumble
scumble release part2.secret --epsilon 1 --delta 1e-6 --out part2.scumble --json
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("secret", help="a secret part, made by sketch or merge")
    take(parser, "BUDGET LEDGER out keep_secret json")


def run(args: argparse.Namespace) -> None:
    from scumble.cli.handover import Handover, Part, room, set_apart, tidy
    from scumble.density.loading import load_secret, sketch_in
    from scumble.privacy.budget import Budget

    asked, charged = promised(args), given(args, "LEDGER")
    check_release_out(args)
    tell_weak(args, Budget.of(**asked))
    if args.keep_secret:
        if args.ledger is None:
            raise BudgetError("A part that is kept can be released again: that needs a ledger. Hint: --ledger FILE.")
        sketch = load_secret(args.secret)
        with closing(Handover(args.out, room(sketch.spec))) as handover, set_apart(args, "release"):
            release, size = handover.make(lambda _: sketch.release(**asked, **charged))
    else:
        with closing(Part(args.secret)) as part:
            left = part.left(asked)
            for line in tidy(part.path, takes=True):
                say(args, f"scumble: {line}")
            if left is not None:
                release, size = left.take(args.out)
                say(args, "A killed run had made this release; nothing was drawn or charged again.")
            else:
                sketch = sketch_in(part.container)

                def draw(pledge: Settings) -> AnyRelease:
                    part.sign(pledge, sketch.secret)
                    made: AnyRelease = sketch.release(**asked, **charged)
                    return made

                handing = Handover(args.out, room(sketch.spec), secret=part.path, note=part.note, asked=asked)
                with closing(handing) as handover, set_apart(args, "release"):
                    release, size = handover.make(draw, put_back=part.put_back)
    gone = "" if args.keep_secret else f" {args.secret} has been emptied: its exact counters are gone."
    tell_release(args, release, size, gone)
