"""Who may release, and when: a sketch once, or as often as one account of a ledger allows.

**Charge first, then draw.** `spend` settles everything before any noise exists: no other thread can release the same
records, the ledger (if there is one) has the charge on its disk, and the release's identity is fixed. What happens
afterwards, a crash included, can lose budget but never privacy.

**Noise in one published thing only.** `publish_once` remembers what noise has been given out, for noise that is drawn
long before: noise first, and shares.

**Records stay with the process that counted them.** A fork copies them, and each process knows only of its own
releases: `leave_behind` closes the child's copies, unless a ledger, which sees both, is charged.

**N is public under replace, if no record can change it.** Whatever may drop a record because of what it says makes the
number of those that are left depend on content. `require_public_count` is the one place that knows.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Sequence
from typing import Protocol

from scumble.errors import BudgetError, PrivacyError
from scumble.privacy.account import Account, Key
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.composition import overlapping

_SPENT: dict[str, list[Key | None]] = {}
"""Lineages released in this process, and the accounts that were charged: however sketches were merged, each record's
budget is spent once, or again and again where the costs add up."""

_SPENDING = threading.Lock()
"""Held while it is settled who may spend: of two threads that release one sketch, one is refused."""


def _after_fork() -> None:
    global _SPENDING
    _SPENDING = threading.Lock()  # a thread that does not exist in the child may have held it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


_LEFT_BEHIND: set[str] = set()
"""Lineages of records that were counted before this process was forked: the other one may release them."""


def leave_behind(lineage: set[str]) -> None:
    """In a forked child: without a ledger, these records are released where they were counted, or nowhere."""
    _LEFT_BEHIND.update(lineage)


def _require_here(lineage: set[str], verb: str) -> None:
    if lineage & _LEFT_BEHIND:
        raise BudgetError(
            f"Cannot {verb}: records of this sketch were counted before this process was forked, and the other one may "
            "release them. Hint: release it there, or with a ledger."
        )


_PUBLISHED: dict[str, str] = {}
"""Noise that was given out in this process, by identity, and in what."""

_FILTERED_BY_HAND: list[str] = []
"""What this process has dropped records with before any sketch saw them."""


class Spender(Protocol):
    """What is released: a secret (:class:`scumble.releasing.secret.Secret`)."""

    lineage: set[str]
    closed: str
    drops: bool
    """Whether records may have been left out because of what they say."""
    payment: str | None
    """Under what it is charged, if its file says so."""

    def require_open(self, verb: str) -> None:
        """Refuse what was released before."""


class Prepaid:
    """Several releases that belong together, such as those of one `fit`: charged at once, before the first of them.

    What may be charged afterwards is exactly what was announced, each once. Their identities are derived from the one
    that stands in the ledger; a single release has that very one.
    """

    def __init__(self, claims: Sequence[PrivacyClaim], where: Account | None) -> None:
        self._announced, self._left = len(claims), list(claims)
        self.key = None if where is None else where.key
        total = overlapping(claims)
        self.identity = str(uuid.uuid4()) if where is None else where.charge(total)

    def charge(self, claim: PrivacyClaim, _: str | None = None) -> str:
        """One of the releases that were announced; gives its identity."""
        if claim not in self._left:
            raise PrivacyError("This release was not announced when the budget was charged.")
        self._left.remove(claim)
        return derived(self.identity, f"release {self._announced - len(self._left)}", self._announced)


def derived(identity: str, name: str, of: int) -> str:
    """The identity that was charged; of several releases for one charge, each has its own, derived from it."""
    return identity if of == 1 else str(uuid.uuid5(uuid.UUID(identity), name))


def require_public_count(claim: PrivacyClaim, secrets: Sequence[Spender]) -> None:
    """Under replace N is published as it is: refuse where a record's content may have decided whether it is counted."""
    if claim.neighbors != "replace":
        return
    why = ""
    if any(secret.drops for secret in secrets):
        why = "this sketch leaves out records because of what they say (invalid='drop', unknown='drop')"
    elif _FILTERED_BY_HAND:
        why = f"this process has left out records with {_FILTERED_BY_HAND[0]}, because of whose they are"
    if why:
        raise PrivacyError(
            f"Cannot release with neighbors='replace': {why}, so their number, which 'replace' makes public, "
            "depends on what they say. "
            "Hint: use neighbors='add-remove', or correct the records and build with invalid='error'."
        )


def filtered_by_hand(tool: str) -> None:
    """Records were left out with `tool` before any sketch saw them: from now on no number of records is public here."""
    _FILTERED_BY_HAND.append(tool)


def may_lack_records() -> bool:
    """Whether this process has left out records by hand: what it saves may lack some, wherever it is read."""
    return bool(_FILTERED_BY_HAND)


def publish_once(noise: str, content: str) -> None:
    """Noise is given out in one thing only, however often that is done: refuse it in another."""
    with _SPENDING:
        if _PUBLISHED.setdefault(noise, content) != content:
            raise BudgetError(
                "Cannot release: the noise of this sketch or share is in something that was given out before, and the "
                "difference of the two would tell the exact numbers. Hint: query the release you have; that is free."
            )


def _add_up(before: Key | None, now: Key | None) -> bool:
    """Whether a ledger adds two charges up: those of two parts it does not, for there no record can be in both."""
    if before is None or now is None:
        return False
    return before[:2] == now[:2] and (before[2] == now[2] or None in (before[2], now[2]))


def spend_in_stream(secret: Spender) -> None:
    """Records go into a stream, which was charged when it began: refuse those that were released, and let them out
    nowhere else."""
    with _SPENDING:
        secret.require_open("merge")
        _require_here(secret.lineage, "merge")
        if any(_SPENT.get(one) for one in secret.lineage):
            raise BudgetError(
                "Cannot merge: records of this sketch were released before, or are in a stream. "
                "Hint: a stream takes sketches that go nowhere else."
            )
        for one in secret.lineage:
            _SPENT.setdefault(one, []).append(None)


def spend(secrets: Sequence[Spender], claim: PrivacyClaim, where: Account | Prepaid | None, verb: str) -> str:
    """Charge a release of these secrets; gives its identity. Afterwards they are closed to all others.

    If the ledger refuses, the sketches are open as before. A payment is for one release.
    """
    require_public_count(claim, secrets)
    account = None if where is None else where.key
    lineage = {part for secret in secrets for part in secret.lineage}
    with _SPENDING:
        for secret in secrets:
            secret.require_open(verb)
        if account is None:  # a ledger adds up what all processes spend
            _require_here(lineage, verb)
        if not all(_add_up(before, account) for one in lineage for before in _SPENT.get(one, ())):
            raise BudgetError(
                "Cannot release: records of this sketch were released before, alone or as part of a merged one. "
                "A sketch can be released only once, or more often from one dataset (and one part of it) of a ledger. "
                "Hint: query the release you have; that is free."
            )
        for one in lineage:
            _SPENT.setdefault(one, []).append(account)
        for secret in secrets:
            secret.closed = "It is being released."
    try:
        return str(uuid.uuid4()) if where is None else where.charge(claim, secrets[0].payment)
    except BaseException:
        # Perhaps it was charged, perhaps not; no noise was drawn.
        with _SPENDING:
            for one in lineage:
                _SPENT[one].remove(account)
            for secret in secrets:
                secret.closed = ""
        raise
    finally:
        for secret in secrets:
            secret.payment = None
