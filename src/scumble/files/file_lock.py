"""Saves to one name take turns, so that none replaces a file that another has just written and nobody has kept.

Whoever wants a turn makes a claim: a draft of its own beside the target (:mod:`scumble.files.places`), which ends in
``.turn`` and holds nothing. Only then does it look for others. If it finds one, it takes its claim back and tries again
a little later; if it finds none, the turn is its own until its claim is gone. Of any two, the one that looks last sees
the claim of the other, so never do both go on.

A claim is locked by its process, and the system takes the lock away when that ends, however it ends: a claim that can
be locked is a leftover, and is removed. On disks without locks, and for claims of somebody whose files are not ours to
lock, age tells: a turn lasts as long as it takes to write a file. No leftover passes from one to the next, so several
who wait for one have no quarrel about it: each makes a claim of its own, and looks.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterator

from scumble.errors import FileError
from scumble.files.places import Place, beside, clear

TURN = "turn"
OLD = 60.0
"""Seconds after which a claim that nobody can lock is a leftover, by the clock of its own disk."""
PATIENCE = 120.0
"""Seconds to wait for a turn."""


@contextlib.contextmanager
def in_turn(target: str) -> Iterator[None]:
    """A turn to look at the file of this name and to replace it."""
    last = time.monotonic() + PATIENCE
    while True:
        claim = Place(target, ending=TURN)
        if not any(_is_held(path, claim) for path in beside(target, TURN) if path != claim.draft):
            break
        claim.close()
        if time.monotonic() > last:
            raise FileError(f"Cannot write {target!r}: another process is writing it. Hint: try again later.")
        time.sleep((5 + secrets.randbelow(46)) / 1000)
    try:
        yield
    finally:
        claim.close()


def _is_held(path: str, claim: Place) -> bool:
    """Whether another claim stands; a leftover is removed."""
    if clear(path):
        return False
    try:
        age = os.stat(claim.draft).st_mtime - os.stat(path).st_mtime
    except FileNotFoundError:  # it has just been taken back
        return False
    if age <= OLD or (claim.locked and os.access(path, os.W_OK)):
        return True
    with contextlib.suppress(OSError):
        os.unlink(path)
    return False
