"""Before a budget is spent: what an output's name holds already, and that it will be replaced.

A file of scumble's own is replaced (another is not: see `check_out`): scripts write the same one again and again. But
each time costs, and one file is left to show for it, so whoever types the command is told. What is told is public: the
file's claim and date, the ledger's line.
"""

from __future__ import annotations

import argparse
import datetime
import os


def tell_replaced(args: argparse.Namespace, verb: str) -> None:
    """Say that the file at --out will be replaced, if there is one."""
    from scumble.cli.output import say

    if args.out != "-" and os.path.isfile(args.out):
        what, identity = _held(args.out)
        written = datetime.date.fromtimestamp(os.path.getmtime(args.out))
        say(
            args,
            f"{args.out} is {what}, written {written}: it will be replaced, and {_cost(args, verb, identity)}.",
        )


def _held(path: str) -> tuple[str, str | None]:
    """What a file is, in words, and which release."""
    from scumble import files
    from scumble.errors import ScumbleError
    from scumble.loading import release_in
    from scumble.privacy.exact import show
    from scumble.releasing.pledges import identity_of

    try:
        container = files.read(path, expect=tuple(files.PUBLIC_KINDS))
        if container.kind not in files.RELEASES:
            return f"{files.KINDS[container.kind]} already", None
        claim = release_in(container).privacy
        delta = f", δ = {show(claim.delta)}" if claim.delta else ""
        return f"a release already (ε = {show(claim.epsilon)}{delta})", identity_of(container)
    except ScumbleError:
        return "there already", None


def _cost(args: argparse.Namespace, verb: str, identity: str | None) -> str:
    """What becomes of its cost, and when the ledger was charged for it."""
    from scumble.privacy.ledger import Ledger

    if args.ledger is None:
        return f"what it cost stays spent: this {verb} adds to it, and without --ledger nobody keeps count"
    charges = Ledger(args.ledger).account(args.dataset).charges
    days = [one.charged[:10] for one in charges if one.identity == identity is not None]
    kept = f". The ledger has its charge of {days[0]}, which stays" if days else ""
    return f"this {verb} is charged beside it{kept}"
