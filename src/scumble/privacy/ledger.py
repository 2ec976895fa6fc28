"""The ledger: what has been spent on each dataset, in one small file.

The curator names a dataset and gives it a total budget. Every release is *charged before its noise is drawn*, and one
that would exceed the budget is refused. Charges are never refunded: a crash after the charge loses budget, never
privacy. Costs add up exactly (:mod:`scumble.privacy.costs`). Disjoint parts must be named beforehand: a misspelt part
would otherwise be a fresh budget.

The file is an SQLite database of mode 0600 with sealed rows (:mod:`scumble.privacy.ledgerfile`). A seal is not a
signature: anyone who can write the file can make new seals or restore an old copy, so keep it as safe as the table.
Each operation reopens the file. A charge is one ``BEGIN IMMEDIATE`` transaction; with a rollback journal and
``synchronous=EXTRA`` it is on the disk, the folder's entry included, before the call returns (``ledger.proof.md``).
"""

from __future__ import annotations

import contextlib
import datetime
import os
import sqlite3
import uuid
import warnings
from collections.abc import Iterable, Iterator

from scumble import checks
from scumble.errors import BudgetError, ParameterError, did_you_mean, parameter
from scumble.privacy import ledgerfile
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.costs import Balance, Charge, Cost, budget_text, total_of
from scumble.privacy.exact import Number, as_count, show
from scumble.privacy.sensitivity import NEIGHBORS

__all__ = ["Balance", "Charge", "Cost", "Ledger", "open_ledger", "show"]


class Ledger:
    """A record of privacy budgets: one file, any number of datasets.

    Parameters
    ----------
    path : str or path-like
        The file, which must exist; `Ledger.create` makes one.
    timeout : float
        Seconds to wait for another process that is writing.

    >>> import tempfile, os, scumble
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger.create(os.path.join(folder.name, "town.ledger"))
    >>> account = ledger.open_dataset("people-2024", epsilon=1.0)
    >>> def sketch():
    ...     return scumble.Sketch(scumble.EuclideanKernel(1.0), dimensions=1, rows=8, buckets=16).update([[1.0]])
    >>> release = sketch().release(epsilon=0.7, ledger=ledger, dataset="people-2024")
    >>> ledger.account("people-2024").left().epsilon
    Fraction(3, 10)
    >>> sketch().release(epsilon=0.7, ledger=ledger, dataset="people-2024")
    Traceback (most recent call last):
    scumble.errors.BudgetError: Cannot release: it needs ε = 0.7, δ = 0 and dataset 'people-2024' has ε = 0.3, ...
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str], *, timeout: float = 60.0) -> None:
        self.path = os.path.realpath(checks.path(path, "ledger"))
        self._timeout = timeout
        self.accounts()  # a file that is not a ledger is refused now

    @staticmethod
    def create(path: str | os.PathLike[str], *, timeout: float = 60.0) -> Ledger:
        """A new, empty ledger; an existing file is refused."""
        target = os.path.abspath(checks.path(path, "ledger"))
        ledgerfile.make(target)
        return Ledger(target, timeout=timeout)

    def __repr__(self) -> str:
        return f"Ledger({self.path!r})"

    def key(self) -> tuple[int, int]:
        """Identifies the file, whatever its path."""
        about = os.stat(self.path)
        return about.st_dev, about.st_ino

    def accounts(self) -> dict[str, Balance]:
        """Every dataset with its budget and charges, in the order they were opened."""
        with self._connected(write=False) as connection:
            return ledgerfile.read(connection, self.path)

    def account(self, dataset: str) -> Balance:
        """One dataset's budget and charges."""
        return _named(self.accounts(), dataset, self.path)

    def check(self, dataset: str, claim: PrivacyClaim, *, part: str | None = None) -> None:
        """Refuse what could not be charged now; charges and reserves nothing."""
        account = self.account(dataset)
        _fits(account, claim, part)
        _require_room(account, [Cost.of(claim), Cost.of(claim, rounded=False)], part)

    def open_dataset(
        self,
        dataset: str,
        *,
        epsilon: Number | None = None,
        delta: Number = 0,
        rho: Number | None = None,
        composition: str | None = None,
        neighbors: str = "add-remove",
        records_per_person: int = 1,
        parts: Iterable[str] = (),
    ) -> Balance:
        """Give a dataset its total budget, once: opening it again with other numbers is refused.

        Parameters
        ----------
        dataset : str
            A name of your choice. All releases that may contain a person of this dataset must be charged to it.
        epsilon, delta : float, Fraction, Decimal, str or None
            The total budget.
        rho : float, Fraction, Decimal, str or None
            For ``composition="zcdp"``, instead of `epsilon`: the total ρ; ε is then shown at `delta`.
        composition : {"pure", "zcdp"}
            How costs add up, ``"pure"`` (default) or ``"zcdp"`` (needs δ > 0; the default if `rho` is given).
        neighbors, records_per_person : {"add-remove", "replace"} or int
            What is protected. Releases must promise the same, or more records.
        parts : iterable of str
            Names of disjoint parts, each person in only one. Opening the dataset again may add more.
        """
        kind = composition or ("pure" if rho is None else "zcdp")
        budget = total_of(epsilon, delta, rho, kind)
        names = [parts] if isinstance(parts, str) else list(parts)
        if not all(isinstance(name, str) and name.strip() for name in (dataset, *names)):
            raise parameter("dataset` and `parts", "names", [dataset, *names])
        if len(set(names)) != len(names):
            raise parameter("parts", "names that differ", names)
        if neighbors not in NEIGHBORS:
            raise parameter("neighbors", f"one of {NEIGHBORS}", neighbors)
        people = as_count("records_per_person", records_per_person)
        with self._connected(write=True) as connection:
            old = ledgerfile.read(connection, self.path).get(dataset)
            if old is None:
                values = [*(None if v is None else str(v) for v in budget), neighbors, people, _now()]
                ledgerfile.append(connection, "datasets", [dataset, kind, *values])
            else:
                there = (old.composition, old.epsilon, old.delta, old.rho, old.neighbors, old.records_per_person)
                if there != (kind, *budget, neighbors, people):
                    raise BudgetError(
                        f"Dataset {dataset!r} already has a budget: {budget_text(old)}. "
                        "Hint: open it with the same numbers."
                    )
            for name in names:
                if old is None or name not in old.parts:
                    ledgerfile.append(connection, "parts", [dataset, name])
            return ledgerfile.read(connection, self.path)[dataset]

    def charge(self, dataset: str, claim: PrivacyClaim, *, identity: str, part: str | None = None) -> bool:
        """Charge a release to a dataset, durably, or refuse and say what is left. True if it is a new charge.

        `identity` is the release's UUID. Charging it again changes nothing and gives False, so a charge may be repeated
        after a crash. Noise must be drawn only once for each charge.
        """
        if str(uuid.UUID(identity)) != identity:
            raise parameter("identity", "a UUID in its usual form", identity)
        costs = [Cost.of(claim), Cost.of(claim, rounded=False)]
        with self._connected(write=True) as connection:
            accounts = ledgerfile.read(connection, self.path)
            account = _named(accounts, dataset, self.path)
            _fits(account, claim, part)
            for known in accounts.values():
                for old in known.charges:
                    if old.identity == identity:
                        if (old.dataset, old.part) != (dataset, part) or old.cost not in costs:
                            raise BudgetError(f"Release {identity} was charged before at another cost.")
                        return False
            cost = _require_room(account, costs, part)
            numbers = [str(cost.epsilon), str(cost.delta), None if cost.rho is None else str(cost.rho)]
            ledgerfile.append(connection, "charges", [identity, dataset, part, *numbers, claim.mechanism, _now()])
            return True

    @contextlib.contextmanager
    def _connected(self, *, write: bool) -> Iterator[sqlite3.Connection]:
        """A connection for one operation, which is rolled back if it raises and else committed to the disk."""
        # A reader may have to roll back what a killed process left behind.
        mode = "rw" if write or os.access(self.path, os.W_OK) else "ro"
        try:
            with (
                ledgerfile.alone(self.path, self._timeout, self._require_sound) as about,
                contextlib.closing(self._connect(mode)) as connection,
            ):
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                try:
                    ledgerfile.check(connection, self.path)
                    if os.name == "posix" and about.st_mode & 0o077:
                        text = f"Others on this machine may open the ledger {self.path!r}. Hint: chmod 600 it."
                        warnings.warn(text, UserWarning, stacklevel=4)
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    with contextlib.suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
                    raise
        except sqlite3.Error as error:
            raise ledgerfile.problem(error, self.path, self._timeout) from None

    def _require_sound(self, connection: sqlite3.Connection) -> None:
        ledgerfile.check(connection, self.path)
        ledgerfile.read(connection, self.path)

    def _connect(self, mode: str) -> sqlite3.Connection:
        from urllib.parse import quote

        place = f"file:{quote(os.fsencode(self.path))}?mode={mode}"
        connection = sqlite3.connect(place, uri=True, timeout=self._timeout, isolation_level=None)
        # EXTRA also syncs the folder after the journal is deleted: else a power cut could bring the journal back and
        # undo a charge for which noise was drawn. On macOS only a full fsync empties the drive's cache.
        for setting in ("synchronous = EXTRA", "fullfsync = ON", "trusted_schema = OFF", "cell_size_check = ON"):
            connection.execute(f"PRAGMA {setting}")
        return connection


def open_ledger(ledger: Ledger | str | os.PathLike[str]) -> Ledger:
    """A ledger, or the one at a path."""
    return ledger if isinstance(ledger, Ledger) else Ledger(ledger)


def _named(accounts: dict[str, Balance], dataset: str, path: str) -> Balance:
    if dataset not in accounts:
        known = ", ".join(map(repr, accounts)) or "none yet"
        first = " Hint: open it with `scumble ledger FILE --open NAME --epsilon 3` or Ledger.open_dataset."
        raise ParameterError(
            f"There is no dataset {dataset!r} in ledger {path!r} (datasets: {known})."
            f"{did_you_mean(dataset, accounts) or first}"
        )
    return accounts[dataset]


def _fits(account: Balance, claim: PrivacyClaim, part: str | None) -> None:
    """Refuse a claim of another kind than the account's: they do not add up."""
    if claim.neighbors != account.neighbors:
        raise parameter("neighbors", f"{account.neighbors!r}, as dataset {account.dataset!r} has it", claim.neighbors)
    if claim.records_per_person < account.records_per_person:
        must = f"at least {account.records_per_person}, as dataset {account.dataset!r} has it"
        raise parameter("records_per_person", must, claim.records_per_person)
    if part is not None and part not in account.parts:
        known = ", ".join(map(repr, account.parts)) or "none"
        raise ParameterError(
            f"Dataset {account.dataset!r} has no part {part!r} (parts: {known}). "
            "Hint: name disjoint parts when the dataset is opened."
        )


def _require_room(account: Balance, costs: list[Cost], part: str | None) -> Cost:
    """The first of the costs (all of them sound) that the account can cover."""
    for cost in costs:
        if not account.refusal(cost, part):
            return cost
    raise BudgetError(
        f"Cannot release: {account.refusal(costs[-1], part)}. "
        "Hint: ask for less, or query a release you have; that costs nothing."
    )


def _now() -> str:
    # For people to read; rows are ordered by number, not by time.
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
