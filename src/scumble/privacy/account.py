"""Where a release is charged: a ledger, a dataset in it, and perhaps one of its disjoint parts."""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from scumble.errors import ParameterError, parameter
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.exact import Number

if TYPE_CHECKING:
    from scumble.privacy.ledger import Ledger


class Promise(TypedDict, total=False):
    """The keywords of a release next to ε and δ, as :meth:`scumble.Sketch.release` describes them."""

    neighbors: str
    records_per_person: int
    rho: Number | None
    mu: Number | None
    count_share: Number | None
    ledger: Ledger | str | os.PathLike[str] | None
    dataset: str | None
    part: str | None


def charged(epsilon: Number | None, delta: Number, promise: Promise) -> tuple[Budget, Account | None]:
    """The budget that these keywords name, and the account that pays for it."""
    rest = dict(promise)
    account = Account.of(**{name: rest.pop(name, None) for name in ("ledger", "dataset", "part")})  # type: ignore[arg-type]
    return Budget.of(epsilon, delta, **rest), account  # type: ignore[arg-type]


Key = tuple[tuple[int, int], str, str | None]
"""A ledger's file, whatever its path, a dataset in it, and one of its disjoint parts (None: all of it)."""


@dataclass(frozen=True)
class Account:
    """A dataset of a ledger, or one of its parts, that pays for a release."""

    ledger: Ledger
    dataset: str
    part: str | None = None

    @staticmethod
    def of(ledger: Ledger | str | os.PathLike[str] | None, dataset: str | None, part: str | None) -> Account | None:
        """The account that a person named in keywords; None without a ledger."""
        if ledger is None:
            if dataset is not None or part is not None:
                raise ParameterError(
                    "`dataset` and `part` name an account in a ledger. Hint: name it, --ledger FILE (ledger=)."
                )
            return None
        if not isinstance(dataset, str):
            hint = "--dataset NAME (dataset=); `scumble ledger FILE` lists those that are open"
            raise parameter("dataset", "the name of a dataset in the ledger", dataset, f"{hint}.")
        from scumble.privacy.ledger import open_ledger  # SQLite only for those who keep a ledger

        return Account(open_ledger(ledger), dataset, part)

    @property
    def key(self) -> Key:
        """What tells this account from others, whatever the path of its ledger."""
        return self.ledger.key(), self.dataset, self.part

    def check(self, claim: PrivacyClaim) -> None:
        """Refuse what could not be charged now."""
        self.ledger.check(self.dataset, claim, part=self.part)

    def charge(self, claim: PrivacyClaim, payment: str | None = None) -> str:
        """Charge a release; gives the identity that it must have.

        Under one `payment`, a UUID, a claim is charged once, even if that is repeated after a crash.
        """
        same = json.dumps([claim.to_dict(), self.dataset, self.part], sort_keys=True)
        identity = str(uuid.uuid4() if payment is None else uuid.uuid5(uuid.UUID(payment), same))
        self.ledger.charge(self.dataset, claim, identity=identity, part=self.part)
        return identity
