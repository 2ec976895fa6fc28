"""Who may release, and when: a sketch once, or as often as one account of a ledger allows.

**Charge first, then draw.** `spend` settles everything before any noise exists: no other thread can release the same
records, the ledger (if there is one) has the charge on its disk, and the release's identity is fixed. What happens
afterwards, a crash included, can lose budget but never privacy.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from scumble.errors import BudgetError, ParameterError, PrivacyError, parameter
from scumble.privacy.claim import PrivacyClaim

if TYPE_CHECKING:
    from scumble.privacy.ledger import Ledger

Account = tuple[tuple[int, int], str]
"""A ledger's file, whatever its path, and a dataset in it."""

_SPENT: dict[str, Account | None] = {}
"""Lineages released in this process, and the account that was charged: however sketches were merged, each record's
budget is spent once, or again and again from one account."""

_SPENDING = threading.Lock()
"""Held while it is settled who may spend: of two threads that release one sketch, one is refused."""


def _after_fork() -> None:
    global _SPENDING
    _SPENDING = threading.Lock()  # a thread that does not exist in the child may have held it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Spender(Protocol):
    """What is released: a sketch."""

    _lineage: set[str]
    _closed: str
    _drops: bool

    def _require_open(self, verb: str) -> None: ...

    def _give_up(self, why: str) -> None: ...


@dataclass(frozen=True)
class Charging:
    """Where a release is charged."""

    ledger: Ledger
    dataset: str
    part: str | None

    @property
    def account(self) -> Account:
        return self.ledger.key(), self.dataset

    def check(self, claim: PrivacyClaim) -> None:
        """Refuse what could not be charged now."""
        self.ledger.check(self.dataset, claim, part=self.part)

    def charge(self, claim: PrivacyClaim, identity: str) -> None:
        self.ledger.charge(self.dataset, claim, identity=identity, part=self.part)


def charging(ledger: Ledger | str | os.PathLike[str] | None, dataset: str | None, part: str | None) -> Charging | None:
    """Where to charge; None without a ledger."""
    if ledger is None:
        if dataset is not None or part is not None:
            raise ParameterError("`dataset` and `part` name an account in a ledger. Hint: pass ledger=... too.")
        return None
    if not isinstance(dataset, str):
        raise parameter("dataset", "the name of a dataset in the ledger", dataset)
    from scumble.privacy.ledger import open_ledger  # SQLite only for those who keep a ledger

    return Charging(open_ledger(ledger), dataset, part)


def spend(sketches: Sequence[Spender], claim: PrivacyClaim, where: Charging | None, verb: str) -> str:
    """Charge a release of these sketches; gives its identity. Afterwards they are closed to all others.

    If the ledger refuses, the sketches are open as before.
    """
    if claim.neighbors == "replace" and any(sketch._drops for sketch in sketches):
        # Then N is the number of *readable* records: it depends on what they say, and would be published exactly.
        raise PrivacyError(
            "Cannot release with neighbors='replace': this sketch drops unreadable records (invalid='drop'), so that "
            "their number, which 'replace' makes public, depends on what they say. "
            "Hint: use neighbors='add-remove', or mend the records and build with invalid='error'."
        )
    account = None if where is None else where.account
    lineage = {part for sketch in sketches for part in sketch._lineage}
    with _SPENDING:
        for sketch in sketches:
            sketch._require_open(verb)
        known = {part: _SPENT[part] for part in lineage if part in _SPENT}
        if any(before is None or before != account for before in known.values()):
            raise BudgetError(
                "Cannot release: records of this sketch were released before, alone or as part of a merged one. "
                "A sketch is released once, or more often from one dataset of a ledger. "
                "Hint: query the release you have; that is free."
            )
        _SPENT.update(dict.fromkeys(lineage, account))
        for sketch in sketches:
            sketch._closed = "It is being released."
    try:
        identity = str(uuid.uuid4())
        if where is not None:
            where.charge(claim, identity)
    except BaseException:
        if where is None:
            for sketch in sketches:
                sketch._give_up("Its release failed after the budget was spent.")
            raise
        # Perhaps it was charged, perhaps not; no noise was drawn.
        with _SPENDING:
            for part in lineage - set(known):
                _SPENT.pop(part, None)
            for sketch in sketches:
                sketch._closed = ""
        raise
    return identity
