"""Before a budget is spent: what an output's name holds already, and under which name that is kept.

A file of scumble's own gives up its name (another does not: see `check_out`), since scripts write the same one again
and again. But a release is paid for and cannot be made again, so it is never lost: it stays beside the new one, as
``people.1.scumble``. What is told of it is public: the file's claim and date, the ledger's line.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import os
from typing import Any


def tell_replaced(args: argparse.Namespace, verb: str) -> None:
    """Keep the file at --out under another name, if there is one, and say so."""
    from scumble.cli.output import say

    if args.out != "-" and os.path.isfile(args.out):
        what, identity = _held(args.out)
        written = datetime.date.fromtimestamp(os.path.getmtime(args.out))
        kept = _kept(args.out)
        say(args, f"{args.out} is {what}, written {written}: it stays as {kept}, and {_cost(args, verb, identity)}.")


def keep_replaced(out: str, release: Any) -> None:
    """Keep the file at a name that a release, made of others at no cost, will take; unless it is the very same."""
    from scumble.cli.streams import tell

    if out != "-" and os.path.isfile(out) and os.path.getsize(out) > 0:
        with open(out, "rb") as old:
            same = old.read() == release.to_bytes()
        if not same:
            tell(f"{out} is there already: it stays as {_kept(out)}.")


def _kept(path: str) -> str:
    """A second name for a file, the first that is free; or the one it has, of a run that did not come to an end."""
    from scumble.machine.places import write_whole

    root, ending = os.path.splitext(path)
    for number in itertools.count(1):
        name = f"{root}.{number}{ending}"
        if os.path.exists(name) and os.path.samefile(path, name):
            return name
        if os.path.lexists(name):
            continue
        try:
            os.link(path, name)
        except FileExistsError:
            continue
        except OSError:  # not every disk has second names
            with open(path, "rb") as old:
                write_whole(name, old.read())
        return name
    raise AssertionError


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
