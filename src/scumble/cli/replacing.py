"""What an output's name holds already: told before a budget is spent, and kept when the name is taken.

A file of scumble's own gives up its name (another does not: see `check_out`), since scripts write the same one again
and again. But a release is paid for and cannot be made again, so it is never lost: it stays beside the new one, as
``people.1.scumble``. What is told of it is public: the file's claim and date, the ledger's line.
"""

from __future__ import annotations

import argparse
import datetime
import os


def tell_replaced(args: argparse.Namespace, verb: str) -> None:
    """Say what is at --out, if anything, and what becomes of it."""
    from scumble import files
    from scumble.cli.output import say

    if args.out != "-" and os.path.isfile(args.out):
        what, identity = _held(args.out)
        written = datetime.date.fromtimestamp(os.path.getmtime(args.out))
        kept, cost = files.kept_as(args.out), _cost(args, verb, identity)
        say(args, f"{args.out} is {what}, written {written}: it will stay as {kept}, and {cost}.")


def keep_replaced(out: str, data: bytes, *, told: bool = False) -> None:
    """Keep the file at a name that these bytes are about to take, if it was paid for and is not the very same.

    Not sooner: until then the work may fail, and its name is what it was. `told`: `tell_replaced` has said so.
    """
    from scumble import files
    from scumble.cli.streams import tell

    kept = None if out == "-" else files.keep_paid(out, lambda: data)
    if kept is not None and not told:
        tell(f"{out} is there already: it stays as {kept}.")


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
        return f"what it cost stays spent: this {verb} will add to it, and without --ledger nobody keeps count"
    charges = Ledger(args.ledger).account(args.dataset).charges
    days = [one.charged[:10] for one in charges if one.identity == identity is not None]
    kept = f". The ledger has its charge of {days[0]}, which stays" if days else ""
    return f"this {verb} will be charged beside it{kept}"
