"""Who may release, and when: a sketch once, or as often as one account of a ledger allows.

- Charge first, then draw: `spend` settles everything before any noise exists. A crash afterwards can lose budget but
  never privacy.
- `publish_once` refuses to use noise that is drawn long before (noise first, shares) in two published things.
- A fork copies records, and each process knows only of its own releases: `leave_behind` closes the child's copies,
  unless a ledger, which sees both, is charged.
- Under replace N is public, so no record's content may decide whether it is counted: `require_public_count`.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scumble.errors import BudgetError, PrivacyError
from scumble.privacy.account import Account, Key
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.composition import overlapping

if TYPE_CHECKING:
    from scumble.gate.secret import Secret

_SPENT: dict[str, list[Key | None]] = {}
"""The accounts charged for each lineage released in this process."""

_SPENDING = threading.Lock()
"""Held while deciding who may spend: if two threads release one sketch, one is refused."""


def _after_fork() -> None:
    global _SPENDING
    _SPENDING = threading.Lock()  # a thread that does not exist in the child may have held it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


_LEFT_BEHIND: set[str] = set()
"""Lineages of records that were counted before this process was forked; the parent may release them."""


def leave_behind(lineage: set[str]) -> None:
    """In a forked child: without a ledger, only the parent may release these records."""
    _LEFT_BEHIND.update(lineage)


def _require_here(lineage: set[str], verb: str) -> None:
    if lineage & _LEFT_BEHIND:
        hint = "Hint: release it in the parent, or with a ledger."
        raise BudgetError(f"Cannot {verb}: this sketch has records from before this process was forked. {hint}")


_PUBLISHED: dict[str, str] = {}
"""A digest of what each noise, by identity, was published in."""

_FILTERED_BY_HAND: list[str] = []
"""The tools with which this process has dropped records before any sketch saw them."""


class Prepaid:
    """Several releases charged together before the first of them, such as those of one `fit`.

    Afterwards exactly the announced claims may be charged, each once. Their identities derive from the ledger's.
    """

    def __init__(self, claims: Sequence[PrivacyClaim], where: Account | None) -> None:
        self._announced, self._left = len(claims), list(claims)
        self.key = None if where is None else where.key
        total = overlapping(claims)
        self.identity = str(uuid.uuid4()) if where is None else where.charge(total)

    def charge(self, claim: PrivacyClaim, _: str | None = None) -> str:
        """Take one of the announced releases, and return its identity."""
        if claim not in self._left:
            raise PrivacyError("This release was not announced when the budget was charged.")
        self._left.remove(claim)
        return derived(self.identity, f"release {self._announced - len(self._left)}", self._announced)


def derived(identity: str, name: str, of: int) -> str:
    """The identity that was charged; each of several releases for one charge has its own, derived from it."""
    return identity if of == 1 else str(uuid.uuid5(uuid.UUID(identity), name))


def require_public_count(claim: PrivacyClaim, secrets: Sequence[Secret]) -> None:
    """Under replace the exact N is published: refuse if a record's content may decide whether it is counted."""
    if claim.neighbors != "replace":
        return
    why = ""
    if any(secret.drops for secret in secrets):
        why = "this sketch drops records by their content (invalid='drop' or unknown='drop')"
    elif _FILTERED_BY_HAND:
        why = f"this process has dropped records with {_FILTERED_BY_HAND[0]}"
    if why:
        hint = "Hint: use neighbors='add-remove', or invalid='error'."
        raise PrivacyError(f"Cannot release with neighbors='replace', whose count is public: {why}. {hint}")


def filtered_by_hand(tool: str) -> None:
    """Note that `tool` has left out records: from now on no number of records is public in this process."""
    _FILTERED_BY_HAND.append(tool)


def may_lack_records() -> bool:
    """Whether this process has left out records, so that what it saves may lack some."""
    return bool(_FILTERED_BY_HAND)


def publish_once(noise: str, content: str) -> None:
    """Refuse to publish noise in a second thing; repeating the first is fine."""
    with _SPENDING:
        if _PUBLISHED.setdefault(noise, content) != content:
            raise BudgetError(
                "Cannot release: this noise was published before, and a difference is exact. Hint: query that release."
            )


def _add_up(before: Key | None, now: Key | None) -> bool:
    """Whether a ledger adds two charges up; for two disjoint parts it does not, and no record is in both."""
    if before is None or now is None:
        return False
    return before[:2] == now[:2] and (before[2] == now[2] or None in (before[2], now[2]))


def spend_in_stream(secret: Secret) -> None:
    """Take records into a stream that is already charged: refuse released ones, and allow no other release."""
    with _SPENDING:
        secret.require_open("merge")
        _require_here(secret.lineage, "merge")
        if any(_SPENT.get(one) for one in secret.lineage):
            raise BudgetError(
                "Cannot merge: records were released before, or are in a stream. Hint: use a sketch once."
            )
        for one in secret.lineage:
            _SPENT.setdefault(one, []).append(None)


def spend(secrets: Sequence[Secret], claim: PrivacyClaim, where: Account | Prepaid | None, verb: str) -> str:
    """Charge a release of these secrets, close them to all others, and return the release's identity.

    If the ledger refuses, the secrets stay open. A payment is for one release: it is kept where a charge is
    interrupted, so that the next attempt at the same release is charged under it, and once.
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
            hint = "Hint: query that release, or release with the same ledger and dataset (and part)."
            raise BudgetError(f"Cannot release: records of this sketch were released before. {hint}")
        for one in lineage:
            _SPENT.setdefault(one, []).append(account)
        for secret in secrets:
            secret.closed = "It is being released."
    first = secrets[0]
    try:
        first.payment = first.payment or str(uuid.uuid4())
        identity = str(uuid.uuid4()) if where is None else where.charge(claim, first.payment)
    except BaseException:
        # Charged or not, no noise was drawn.
        with _SPENDING:
            for one in lineage:
                _SPENT[one].remove(account)
            for secret in secrets:
                secret.closed = ""
        raise
    for secret in secrets:
        secret.payment = None
    return identity
