"""Before a budget is spent: what an output's name holds already, and under which name that is kept.

A file of scumble's own gives up its name (another does not: see `check_out`), since scripts write the same one again
and again. But a release is paid for and cannot be made again, so it is never lost: it stays beside the new one, as
``people.1.scumble``. What is told of it is public: the file's claim and date, the ledger's line.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import os
from collections.abc import Iterator


@contextlib.contextmanager
def set_apart(args: argparse.Namespace, verb: str) -> Iterator[None]:
    """Give what is at --out a second name, before anything is spent, and say so; if the work fails, take it back."""
    from scumble import files
    from scumble.cli.output import say
    from scumble.machine.onebyone import in_turn

    kept = None
    if args.out != "-" and files.is_paid(args.out):
        what, identity = _held(args.out)
        written = datetime.date.fromtimestamp(os.path.getmtime(args.out))
        name, cost = files.kept_as(args.out), _cost(args, verb, identity)
        with in_turn(args.out):
            kept = files.keep_paid(args.out)
        stays = f"if this {verb} succeeds, it stays as {kept or name}, and {cost}"
        say(args, f"{args.out} is {what}, written {written}: {stays}.")
    try:
        yield
    except BaseException:
        if kept is not None:
            with in_turn(args.out):
                files.forget(kept, args.out)
        raise


@contextlib.contextmanager
def replacing(out: str, data: bytes) -> Iterator[None]:
    """A turn to give these bytes their name; the file that has it stays, if it was paid for and is not the very same.

    `set_apart` has done so before anything was spent; but hours may have passed, and what a killed run left to be
    taken, or what is made of other releases, costs nothing and was not announced.
    """
    from scumble import files
    from scumble.cli.streams import tell
    from scumble.machine.onebyone import in_turn

    if out == "-":
        yield
        return
    with in_turn(out):
        kept = files.keep_paid(out, lambda: data)
        if kept is not None:
            tell(f"{out} is there already: it stays as {kept}.")
        yield


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
