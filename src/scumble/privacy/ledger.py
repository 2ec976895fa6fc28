"""The ledger: what has been spent on each dataset, in one small file that never forgets.

**Idea.** A release is private once. Ten releases of the same table are ten times less private, and nobody notices,
because each of them is fine on its own. A ledger adds them up. The curator names a dataset and gives it a total
budget; every release is *charged before its noise is drawn*, and a release that would go over the budget is refused.
What is charged is never given back: a crash after the charge loses budget, never privacy.

**How costs add up** is the arithmetic of :mod:`scumble.privacy.costs`, exact, in fractions: ``"pure"`` (Σε, Σδ) or
``"zcdp"`` (Σρ), and the largest sum of any one of several *disjoint parts*. Parts must be named by the curator
beforehand: a misspelt part would otherwise be a fresh budget.

**The file** is an SQLite database of mode 0600 whose rows are sealed: a damaged or edited one is found
(:mod:`scumble.privacy.ledgertables`). A seal is not a signature: whoever can write the file can make new seals, or
restore an old copy. Keep the file as safe as the table. Each operation reopens the file: nothing is shared between
threads or across a fork. What SQLite cannot protect by itself (several names, stray journals) is handled by
:mod:`scumble.privacy.ledgerfile`. A charge is one ``BEGIN IMMEDIATE`` transaction; with a rollback journal and
``synchronous=EXTRA`` it is on the disk, the folder's entry included, before the call returns. ``ledger.proof.md`` holds
the argument.
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
from scumble.privacy import ledgertables
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.costs import Balance, Charge, Cost, budget_text, total_of
from scumble.privacy.exact import Number, as_count, show
from scumble.privacy.ledgerfile import alone
from scumble.privacy.sensitivity import NEIGHBORS

__all__ = ["Balance", "Charge", "Cost", "Ledger", "open_ledger", "show"]


class Ledger:
    """A custodian's record of privacy budgets: one file, any number of datasets.

    Parameters
    ----------
    path : str or path-like
        The file. It must exist: a misspelt name must not be a fresh budget. `Ledger.create` makes one.
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
        """A new, empty ledger; a file that is there already is refused."""
        target = os.path.abspath(checks.path(path, "ledger"))
        ledgertables.make(target)
        return Ledger(target, timeout=timeout)

    def __repr__(self) -> str:
        return f"Ledger({self.path!r})"

    def key(self) -> tuple[int, int]:
        """What tells this file from another, whatever its path."""
        about = os.stat(self.path)
        return about.st_dev, about.st_ino

    # ---- reading ----

    def accounts(self) -> dict[str, Balance]:
        """Every dataset with its budget and charges, in the order they were opened."""
        with self._connected(write=False) as connection:
            return ledgertables.read(connection, self.path)

    def account(self, dataset: str) -> Balance:
        """One dataset's budget and charges."""
        return _named(self.accounts(), dataset, self.path)

    def check(self, dataset: str, claim: PrivacyClaim, *, part: str | None = None) -> None:
        """Refuse, before hours of work, what could not be charged now. Charges nothing and holds nothing back."""
        account = self.account(dataset)
        _fits(account, claim, part)
        _require_room(account, [Cost.of(claim), Cost.of(claim, rounded=False)], part)

    # ---- writing ----

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
        """Give a dataset its total budget, once and for all: opening it again with other numbers is refused.

        Parameters
        ----------
        dataset : str
            A name of your choice for the records. All releases that a person of this dataset may be in must be charged
            to it, under this one name.
        epsilon, delta : float, Fraction, Decimal, str or None
            The total. With ``composition="pure"`` every release's ε and δ count against them.
        rho : float, Fraction, Decimal, str or None
            For ``composition="zcdp"``, instead of `epsilon`: the total ρ; `delta` is then the δ at which it is shown.
        composition : {"pure", "zcdp"}
            How costs add up, ``"pure"`` (default) or ``"zcdp"`` (needs δ > 0; the default if `rho` is given).
        neighbors, records_per_person : {"add-remove", "replace"} or int
            What is protected. Releases must promise the same, or more records.
        parts : iterable of str
            Names of disjoint parts, each person in only one. More may be added by opening the dataset again.
        """
        kind = composition or ("pure" if rho is None else "zcdp")
        budget = total_of(epsilon, delta, rho, kind)
        if not isinstance(dataset, str) or not dataset.strip():
            raise parameter("dataset", "a name", dataset)
        names = [parts] if isinstance(parts, str) else list(parts)
        if not all(isinstance(name, str) and name.strip() for name in names) or len(set(names)) != len(names):
            raise parameter("parts", "names that differ", names)
        if neighbors not in NEIGHBORS:
            raise parameter("neighbors", f"one of {NEIGHBORS}", neighbors)
        people = as_count("records_per_person", records_per_person)
        with self._connected(write=True) as connection:
            old = ledgertables.read(connection, self.path).get(dataset)
            if old is None:
                values = [*(None if v is None else str(v) for v in budget), neighbors, people, _now()]
                ledgertables.append(connection, "datasets", [dataset, kind, *values])
            else:
                there = (old.composition, old.epsilon, old.delta, old.rho, old.neighbors, old.records_per_person)
                if there != (kind, *budget, neighbors, people):
                    raise BudgetError(
                        f"Dataset {dataset!r} has a budget already, and it is not changed: "
                        f"{budget_text(old)}. Hint: open it with the same numbers."
                    )
            for name in names:
                if old is None or name not in old.parts:
                    ledgertables.append(connection, "parts", [dataset, name])
            return ledgertables.read(connection, self.path)[dataset]

    def charge(self, dataset: str, claim: PrivacyClaim, *, identity: str, part: str | None = None) -> bool:
        """Charge a release to a dataset, durably, or refuse and say what is left. True if it is a new charge.

        `identity` is the release's UUID, fixed beforehand. Charging it again changes nothing and gives False: if you
        do not know whether a charge went through, you may repeat it. (Noise must be drawn once for each charge:
        `Sketch.release` takes a fresh identity each time.)
        """
        if str(uuid.UUID(identity)) != identity:
            raise parameter("identity", "a UUID in its usual form", identity)
        costs = [Cost.of(claim), Cost.of(claim, rounded=False)]
        with self._connected(write=True) as connection:
            accounts = ledgertables.read(connection, self.path)
            account = _named(accounts, dataset, self.path)
            _fits(account, claim, part)
            for known in accounts.values():
                for old in known.charges:
                    if old.identity == identity:
                        if (old.dataset, old.part) != (dataset, part) or old.cost not in costs:
                            raise BudgetError(f"Release {identity} was charged before, with another cost.")
                        return False
            cost = _require_room(account, costs, part)
            numbers = [str(cost.epsilon), str(cost.delta), None if cost.rho is None else str(cost.rho)]
            ledgertables.append(connection, "charges", [identity, dataset, part, *numbers, claim.mechanism, _now()])
            return True

    # ---- the file ----

    @contextlib.contextmanager
    def _connected(self, *, write: bool) -> Iterator[sqlite3.Connection]:
        """A connection for one operation. What raises inside is rolled back; else it is committed, to the disk."""
        # A reader may also have to roll back what a killed process left behind.
        mode = "rw" if write or os.access(self.path, os.W_OK) else "ro"
        try:
            with (
                alone(self.path, self._timeout, self._require_sound) as about,
                contextlib.closing(self._connect(mode)) as connection,
            ):
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                try:
                    ledgertables.check(connection, self.path)
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
            raise ledgertables.problem(error, self.path, self._timeout) from None

    def _require_sound(self, connection: sqlite3.Connection) -> None:
        ledgertables.check(connection, self.path)
        ledgertables.read(connection, self.path)

    def _connect(self, mode: str) -> sqlite3.Connection:
        from urllib.parse import quote

        place = f"file:{quote(os.fsencode(self.path))}?mode={mode}"
        connection = sqlite3.connect(place, uri=True, timeout=self._timeout, isolation_level=None)
        # EXTRA also syncs the folder after the journal is gone: else a power cut could bring the journal back and
        # undo a charge for which noise was drawn.
        # On macOS `fsync` alone leaves the drive's own cache behind: hence the full one (elsewhere it changes nothing).
        for setting in ("synchronous = EXTRA", "fullfsync = ON", "trusted_schema = OFF", "cell_size_check = ON"):
            connection.execute(f"PRAGMA {setting}")
        return connection


def open_ledger(ledger: Ledger | str | os.PathLike[str]) -> Ledger:
    """A ledger, or the one at a path."""
    return ledger if isinstance(ledger, Ledger) else Ledger(ledger)


def _named(accounts: dict[str, Balance], dataset: str, path: str) -> Balance:
    if dataset not in accounts:
        known = ", ".join(map(repr, accounts)) or "none yet"
        first = " Hint: give it a budget first: `scumble ledger FILE --open NAME --epsilon 3`, or Ledger.open_dataset."
        raise ParameterError(
            f"There is no dataset {dataset!r} in ledger {path!r} (datasets: {known})."
            f"{did_you_mean(dataset, accounts) or first}"
        )
    return accounts[dataset]


def _fits(account: Balance, claim: PrivacyClaim, part: str | None) -> None:
    """Promises of different kinds do not add up."""
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
        f"Cannot release: {account.refusal(costs[-1], part)}. Nothing was charged. "
        "Hint: ask for less, or query a release you have; that is free."
    )


def _now() -> str:
    # For people to read. Nothing depends on the clock: rows are ordered by number.
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
