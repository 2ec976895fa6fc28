"""The ledger: what has been spent on each dataset, in one small file that never forgets.

**Idea.** A release is private once. Ten releases of the same table are ten times less private, and nobody notices,
because each of them is fine on its own. A ledger adds them up. The curator names a dataset and gives it a total
budget; every release is *charged before its noise is drawn*, and a release that would go over the budget is refused.
What is charged is never given back: a crash after the charge loses budget, never privacy.

**How costs add up.** A dataset's account follows one of two rules, chosen when it is opened:

- ``"pure"``: Σε ≤ ε and Σδ ≤ δ (basic composition, Dwork et al. 2006);
- ``"zcdp"``: Σρ ≤ ρ (Bun & Steinke 2016, Lemma 1.7), where ρ is the largest one that implies (ε, δ). For many releases
  this is far cheaper: √k instead of k.

Releases of *disjoint parts* of the dataset (by year, by region; each person in only one part) cost the largest sum of
any one part (parallel composition, McSherry 2009). Parts must be named by the curator beforehand: a misspelt part would
otherwise be a fresh budget.

**Exactness.** Costs are computed from the exact noise scales and kept as fractions, in text: three times 0.1 is 0.3.

**The file** is an SQLite database of mode 0600 with three tables that only grow; triggers refuse to change or delete a
row, and each row carries a seal, a SHA-256 over its content and the seal before it, so a damaged or edited row is
found. (It is not a signature: whoever can write the file can make new seals, or restore an old copy. Keep the file as
safe as the table.) Each operation reopens the file: nothing is shared between threads or across a fork. What SQLite
cannot protect by itself (several names, stray journals) is handled by :mod:`scumble.privacy.ledgerfile`. A charge
is one ``BEGIN IMMEDIATE`` transaction; with a rollback journal and ``synchronous=EXTRA`` it is on the disk, the
folder's entry included, before the call returns. ``ledger.proof.md`` holds the argument.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import hashlib
import json
import math
import os
import sqlite3
import uuid
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from scumble.errors import (
    BudgetError,
    CorruptFileError,
    FileError,
    ForeignFileError,
    MissingFileError,
    NewerFileError,
    ParameterError,
    parameter,
)
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.curve import least_epsilon
from scumble.privacy.exact import ROUNDING, Number, _simplest_between, as_count, as_fraction, float_down, float_up
from scumble.privacy.gaussian import zcdp_delta
from scumble.privacy.ledgerfile import APPLICATION, alone, in_use, lock, sync, unlock
from scumble.privacy.sensitivity import LAPLACE, NEIGHBORS, sides_of

COMPOSITIONS = ("pure", "zcdp")

_VERSION = 1
_FINEST = 10**30
"""Fractions with large denominators are rounded up to a multiple of 10⁻³⁰, so sums stay short."""

_TABLES = {
    "datasets": (
        "CREATE TABLE datasets (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, composition TEXT NOT NULL, "
        "epsilon TEXT, delta TEXT NOT NULL, rho TEXT, neighbors TEXT NOT NULL, records_per_person INTEGER NOT NULL, "
        "opened TEXT NOT NULL, seal TEXT NOT NULL)"
    ),
    "parts": (
        "CREATE TABLE parts (number INTEGER PRIMARY KEY, dataset TEXT NOT NULL, name TEXT NOT NULL, "
        "seal TEXT NOT NULL, UNIQUE (dataset, name))"
    ),
    "charges": (
        "CREATE TABLE charges (number INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE, dataset TEXT NOT NULL, "
        "part TEXT, epsilon TEXT NOT NULL, delta TEXT NOT NULL, rho TEXT, mechanism TEXT NOT NULL, "
        "charged TEXT NOT NULL, seal TEXT NOT NULL)"
    ),
}
_SCHEMA = dict(_TABLES) | {
    f"{table}_{verb}": (
        f"CREATE TRIGGER {table}_{verb} BEFORE {verb.upper()} ON {table} "
        "BEGIN SELECT RAISE(ABORT, 'a ledger only grows'); END"
    )
    for table in _TABLES
    for verb in ("update", "delete")
}


@dataclass(frozen=True)
class Cost:
    """What a release costs, exactly. `rho` is None if nobody has shown one."""

    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None

    @staticmethod
    def of(claim: PrivacyClaim, *, rounded: bool = True) -> Cost:
        """The cost of a claim, from its exact scales.

        Scales were enlarged by up to 2⁻⁴⁰ to be short fractions, so ε = 0.7 is exactly 0.69999999999936. `rounded`
        goes back up by as much, to the simplest fraction there is: 7/10.

        >>> from scumble.privacy import calibrate
        >>> Cost.of(calibrate(1000, epsilon=0.7).claim).epsilon
        Fraction(7, 10)
        """
        if claim.parts:
            costs = [Cost.of(part, rounded=rounded) for part in claim.parts]
            if claim.combination == "disjoint":
                return _largest(costs)
            total = _sum(costs)
            # The claim may have been added up more tightly than part by part.
            return dataclasses.replace(total, epsilon=min(total.epsilon, Fraction(claim.epsilon)))
        assert claim.rows is not None and claim.exact_scale is not None and claim.rho is not None
        scale = Fraction(claim.exact_scale)
        count = None if claim.exact_count_scale is None else Fraction(claim.exact_count_scale)
        sides, people = sides_of(claim.neighbors), claim.records_per_person
        rho = Fraction(sides * claim.rows * people**2) / (2 * scale**2)
        epsilon = Fraction(sides * claim.rows * people) / scale
        if count is not None:
            rho += Fraction(people**2) / (2 * count**2)
            epsilon += people / count
        if claim.custodians is not None:
            rho = max(rho, Fraction(claim.rho))  # a sum of shares has a little more
        short = _simple if rounded else _short
        if claim.mechanism == LAPLACE:
            return Cost(short(epsilon), Fraction(0), short(rho))
        # The certificate at these floats has room for their last digit, so the shortest text that means them will do.
        return Cost(Fraction(repr(claim.epsilon)), Fraction(repr(claim.delta)), short(rho))


def _sum(costs: Iterable[Cost]) -> Cost:
    total = Cost(Fraction(0), Fraction(0), Fraction(0))
    for cost in costs:
        rho = None if total.rho is None or cost.rho is None else total.rho + cost.rho
        total = Cost(total.epsilon + cost.epsilon, total.delta + cost.delta, rho)
    return total


def _largest(costs: Iterable[Cost]) -> Cost:
    found = list(costs) or [Cost(Fraction(0), Fraction(0), Fraction(0))]
    rhos = [cost.rho for cost in found if cost.rho is not None]
    return Cost(
        max(cost.epsilon for cost in found),
        max(cost.delta for cost in found),
        max(rhos) if len(rhos) == len(found) else None,
    )


@dataclass(frozen=True)
class Charge:
    """One line of the ledger."""

    identity: str
    dataset: str
    part: str | None
    cost: Cost
    mechanism: str
    charged: str


@dataclass(frozen=True)
class Account:
    """A dataset's budget and what has been charged to it.

    `epsilon` and `delta` are the total; for ``composition="zcdp"`` the account is kept in `rho`.
    """

    dataset: str
    composition: str
    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None
    neighbors: str
    records_per_person: int
    parts: tuple[str, ...]
    charges: tuple[Charge, ...]
    opened: str

    @property
    def spent(self) -> Cost:
        """What the charges cost together, for the person who is worst off."""
        return self._spent_by(self.parts)

    def left(self, part: str | None = None) -> Cost:
        """What a further release (of the whole, or of one part) may cost."""
        spent = self._spent_by(self.parts if part is None else (part,))
        if self.composition == "pure":
            assert self.epsilon is not None
            return Cost(self.epsilon - spent.epsilon, self.delta - spent.delta, None)
        assert self.rho is not None and spent.rho is not None
        return Cost(Fraction(0), Fraction(0), self.rho - spent.rho)

    def _spent_by(self, parts: tuple[str, ...]) -> Cost:
        everybody = _sum(charge.cost for charge in self.charges if charge.part is None)
        some = _largest(_sum(charge.cost for charge in self.charges if charge.part == part) for part in parts)
        return _sum([everybody, some])

    def refusal(self, cost: Cost, part: str | None) -> str:
        """Why a charge does not fit; empty if it does."""
        left = self.left(part)
        if self.composition == "pure":
            if cost.epsilon <= left.epsilon and cost.delta <= left.delta:
                return ""
            return (
                f"it needs ε = {show(cost.epsilon)}, δ = {show(cost.delta)} and dataset {self.dataset!r} has "
                f"ε = {show(left.epsilon, up=False)}, δ = {show(left.delta, up=False)} left"
            )
        if cost.rho is None:
            return f"dataset {self.dataset!r} adds up ρ, and nobody has shown a ρ for this release"
        assert left.rho is not None
        if cost.rho <= left.rho:
            return ""
        return (
            f"it needs ρ = {show(cost.rho)} and dataset {self.dataset!r} has ρ = {show(left.rho, up=False)} left, "
            f"of ρ = {show(self.rho or Fraction(0), up=False)}"
        )

    def spent_epsilon(self) -> float:
        """The ε that has been spent, rounded up: Σε, or what Σρ means at the account's δ."""
        spent = self.spent
        if self.composition == "pure":
            return float_up(spent.epsilon)
        assert spent.rho is not None
        return _epsilon_of(float_up(spent.rho), float_down(self.delta)) if spent.rho else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: floats to read, fractions (as text) to check."""
        spent, left = self.spent, self.left()
        own = {part: self.left(part) for part in self.parts}
        return {
            "dataset": self.dataset,
            "composition": self.composition,
            "neighbors": self.neighbors,
            "records_per_person": self.records_per_person,
            "opened": self.opened,
            "budget": _plain(Cost(self.epsilon or Fraction(0), self.delta, self.rho), up=False),
            "spent": _plain(spent) | {"epsilon_at_delta": self.spent_epsilon()},
            "left": _plain(left, up=False),
            "parts": {part: _plain(cost, up=False) for part, cost in own.items()},
            "charges": [
                {
                    "identity": charge.identity,
                    "part": charge.part,
                    "mechanism": charge.mechanism,
                    "charged": charge.charged,
                    **_plain(charge.cost),
                }
                for charge in self.charges
            ],
        }


class Ledger:
    """A custodian's record of privacy budgets: one file, any number of datasets.

    Parameters
    ----------
    path : the file. It must exist: a misspelt name must not be a fresh budget. `Ledger.create` makes one.
    timeout : seconds to wait for another process that is writing.

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
        self.path = os.path.realpath(os.fsdecode(path))
        self._timeout = timeout
        self.accounts()  # a file that is not a ledger is refused now

    @staticmethod
    def create(path: str | os.PathLike[str], *, timeout: float = 60.0) -> Ledger:
        """A new, empty ledger; a file that is there already is refused."""
        target = os.path.abspath(os.fsdecode(path))
        for end in ("-journal", "-wal"):
            if os.path.lexists(target + end):
                raise FileError(
                    f"Cannot make a ledger at {target!r}: {os.path.basename(target + end)!r} of an earlier one is "
                    "there and would be replayed into it. Hint: choose another name, or remove it."
                )
        # The file is made complete under another name: whoever finds it finds a ledger.
        draft = os.path.join(os.path.dirname(target), f".scumble-{uuid.uuid4().hex}.tmp")
        try:
            descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                lock(descriptor)  # while it has two names, nobody uses it
                with contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as connection:
                    connection.execute("PRAGMA synchronous = EXTRA")
                    connection.execute("BEGIN IMMEDIATE")
                    for statement in _SCHEMA.values():
                        connection.execute(statement)
                    connection.execute(f"PRAGMA application_id = {APPLICATION}")
                    connection.execute(f"PRAGMA user_version = {_VERSION}")
                    connection.execute("COMMIT")
                _take_name(draft, target)
            finally:
                for name in (draft, f"{draft}-journal"):
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(name)
                unlock(descriptor)
                os.close(descriptor)
            sync(os.path.dirname(target))
        except FileExistsError:
            raise FileError(f"Cannot make a ledger at {target!r}: there is a file already. Hint: open it.") from None
        except FileNotFoundError:
            raise MissingFileError(f"Cannot make a ledger at {target!r}: there is no such folder.") from None
        except (OSError, sqlite3.Error) as error:
            raise FileError(f"Cannot make a ledger at {target!r}: {_reason(error)}.") from None
        return Ledger(target, timeout=timeout)

    def __repr__(self) -> str:
        return f"Ledger({self.path!r})"

    def key(self) -> tuple[int, int]:
        """What tells this file from another, whatever its path."""
        about = os.stat(self.path)
        return about.st_dev, about.st_ino

    # ---- reading ----

    def accounts(self) -> dict[str, Account]:
        """Every dataset with its budget and charges, in the order they were opened."""
        with self._connected(write=False) as connection:
            return _read(connection, self.path)

    def account(self, dataset: str) -> Account:
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
    ) -> Account:
        """Give a dataset its total budget, once and for all: opening it again with other numbers is refused.

        Parameters
        ----------
        dataset : a name of your choice for the records. All releases that a person of this dataset may be in
            must be charged to it, under this one name.
        epsilon, delta : the total. With ``composition="pure"`` every release's ε and δ count against them.
        rho : for ``composition="zcdp"``, instead of `epsilon`: the total ρ; `delta` is then the δ at which it is shown.
        composition : how costs add up, ``"pure"`` (default) or ``"zcdp"`` (needs δ > 0; the default if `rho` is given).
        neighbors, records_per_person : what is protected. Releases must promise the same, or more records.
        parts : names of disjoint parts, each person in only one. More may be added by opening the dataset again.
        """
        kind = composition or ("pure" if rho is None else "zcdp")
        budget = _budget(epsilon, delta, rho, kind)
        if not isinstance(dataset, str) or not dataset.strip():
            raise parameter("dataset", "a name", dataset)
        names = [parts] if isinstance(parts, str) else list(parts)
        if not all(isinstance(name, str) and name.strip() for name in names) or len(set(names)) != len(names):
            raise parameter("parts", "names that differ", names)
        if neighbors not in NEIGHBORS:
            raise parameter("neighbors", f"one of {NEIGHBORS}", neighbors)
        people = as_count("records_per_person", records_per_person)
        with self._connected(write=True) as connection:
            old = _read(connection, self.path).get(dataset)
            if old is None:
                values = [*(None if v is None else str(v) for v in budget), neighbors, people, _now()]
                _append(connection, "datasets", [dataset, kind, *values])
            else:
                there = (old.composition, old.epsilon, old.delta, old.rho, old.neighbors, old.records_per_person)
                if there != (kind, *budget, neighbors, people):
                    raise BudgetError(
                        f"Dataset {dataset!r} has a budget already, and it is not changed: "
                        f"{_budget_text(old)}. Hint: open it with the same numbers."
                    )
            for name in names:
                if old is None or name not in old.parts:
                    _append(connection, "parts", [dataset, name])
            return _read(connection, self.path)[dataset]

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
            accounts = _read(connection, self.path)
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
            _append(connection, "charges", [identity, dataset, part, *numbers, claim.mechanism, _now()])
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
                    _check(connection, self.path)
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
            raise _problem(error, self.path, self._timeout) from None

    def _require_sound(self, connection: sqlite3.Connection) -> None:
        _check(connection, self.path)
        _read(connection, self.path)

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


# ---- rows and their seals ----


def _seal(table: str, before: str, row: list[Any]) -> str:
    return hashlib.sha256(json.dumps([table, before, *row], ensure_ascii=True).encode("ascii")).hexdigest()


def _append(connection: sqlite3.Connection, table: str, values: list[Any]) -> None:
    last = connection.execute(f"SELECT number, seal FROM {table} ORDER BY number DESC LIMIT 1").fetchone()
    number, before = (last[0] + 1, last[1]) if last else (1, "")
    row = [number, *values]
    marks = ", ".join("?" * (len(row) + 1))
    connection.execute(f"INSERT INTO {table} VALUES ({marks})", [*row, _seal(table, before, row)])


def _rows(connection: sqlite3.Connection, table: str) -> Iterator[list[Any]]:
    before = ""
    for place, found in enumerate(connection.execute(f"SELECT * FROM {table} ORDER BY number"), start=1):
        row, seal = list(found[:-1]), found[-1]
        if row[0] != place or seal != _seal(table, before, row):
            raise sqlite3.DatabaseError("a row has been altered")
        before = seal
        yield row[1:]


def _read(connection: sqlite3.Connection, path: str) -> dict[str, Account]:
    """The whole ledger, every seal checked."""
    try:
        parts = list(_rows(connection, "parts"))
        charges = []
        for identity, dataset, part, epsilon, delta, rho, mechanism, charged in _rows(connection, "charges"):
            cost = Cost(Fraction(epsilon), Fraction(delta), None if rho is None else Fraction(rho))
            charges.append(Charge(identity, dataset, part, cost, mechanism, charged))
        accounts = {}
        for name, kind, epsilon, delta, rho, neighbors, people, opened in _rows(connection, "datasets"):
            accounts[name] = Account(
                name,
                kind,
                None if epsilon is None else Fraction(epsilon),
                Fraction(delta),
                None if rho is None else Fraction(rho),
                neighbors,
                people,
                tuple(part for dataset, part in parts if dataset == name),
                tuple(charge for charge in charges if charge.dataset == name),
                opened,
            )
        if sum(len(account.charges) for account in accounts.values()) != len(charges):
            raise ValueError("a charge without a dataset")
        return accounts
    except (ValueError, TypeError, ZeroDivisionError):
        raise CorruptFileError(f"Ledger {path!r} is damaged. Hint: bring it back from a backup.") from None


def _check(connection: sqlite3.Connection, path: str) -> None:
    """The tables and triggers must be ours to the letter, and the pages in order."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise ForeignFileError(f"Cannot use {path!r} as a ledger: it is another program's database.")
    if connection.execute("PRAGMA user_version").fetchone()[0] > _VERSION:
        raise NewerFileError(f"Ledger {path!r} was made by a newer scumble. Hint: pip install --upgrade scumble.")
    found = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_autoindex_%'"))
    if found != _SCHEMA:
        raise CorruptFileError(f"Ledger {path!r} has been altered: its tables are not as scumble makes them.")
    if connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
        raise CorruptFileError(f"Ledger {path!r} is damaged. Hint: bring it back from a backup.")


def _named(accounts: dict[str, Account], dataset: str, path: str) -> Account:
    if dataset not in accounts:
        known = ", ".join(map(repr, accounts)) or "none yet"
        raise ParameterError(
            f"There is no dataset {dataset!r} in ledger {path!r} (datasets: {known}). "
            "Hint: give it a budget first: `scumble ledger FILE --open NAME --epsilon 3`, or Ledger.open_dataset."
        )
    return accounts[dataset]


def _fits(account: Account, claim: PrivacyClaim, part: str | None) -> None:
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


def _require_room(account: Account, costs: list[Cost], part: str | None) -> Cost:
    """The first of the costs (all of them sound) that the account can cover."""
    for cost in costs:
        if not account.refusal(cost, part):
            return cost
    raise BudgetError(
        f"Cannot release: {account.refusal(costs[-1], part)}. Nothing was charged. "
        "Hint: ask for less, or query a release you have; that is free."
    )


# ---- numbers ----


def _short(value: Fraction) -> Fraction:
    """Exactly, if it is a short fraction or a decimal; else rounded up by less than 10⁻³⁰."""
    if value.denominator <= 10**9 or _FINEST % value.denominator == 0:
        return value
    return Fraction(math.ceil(value * _FINEST), _FINEST)


def _simple(value: Fraction) -> Fraction:
    """The simplest fraction that is not below, and above by at most twice what scales may have been enlarged by."""
    return _simplest_between(value, value * (1 + 2 * ROUNDING))


def _written(name: str, value: Number) -> Fraction:
    """The number that the curator wrote: 0.3 is three tenths here, not the float next to it."""
    return as_fraction(name, repr(value) if isinstance(value, float) else value)


def _budget(
    epsilon: Number | None, delta: Number, rho: Number | None, composition: str
) -> tuple[Fraction | None, Fraction, Fraction | None]:
    if composition not in COMPOSITIONS:
        raise parameter("composition", "'pure' or 'zcdp'", composition)
    failure = _written("delta", delta)
    if not 0 <= failure < 1:
        raise parameter("delta", "at least 0 and below 1", delta)
    if rho is not None and (composition == "pure" or epsilon is not None):
        raise ParameterError("`rho` is for composition='zcdp', and stands instead of `epsilon`.")
    if rho is None and epsilon is None:
        raise ParameterError("Give `epsilon`, the total budget (or `rho`). Hint: typical totals are 1 to 10.")
    total = None if epsilon is None else _written("epsilon", epsilon)
    if total is not None and total <= 0:
        raise parameter("epsilon", "positive", epsilon)
    if composition == "pure":
        return total, failure, None
    if failure == 0:
        raise parameter("delta", "positive for composition='zcdp'", delta, "such as 1e-6.")
    if total is not None:
        return total, failure, Fraction(_rho_of(float_down(total), float_down(failure)))
    assert rho is not None
    sum_of = _written("rho", rho)
    if sum_of <= 0:
        raise parameter("rho", "positive", rho)
    return None, failure, sum_of


def _rho_of(epsilon: float, delta: float) -> float:
    """The largest ρ, to nine digits and never above it, that implies (epsilon, delta)."""
    low, high = 0.0, 1.0
    while zcdp_delta(epsilon, high) <= delta:
        low, high = high, 2 * high
    while high - low > 1e-9 * high and high > 1e-300:
        middle = (low + high) / 2
        low, high = (middle, high) if zcdp_delta(epsilon, middle) <= delta else (low, middle)
    return low


def _epsilon_of(rho: float, delta: float) -> float:
    return least_epsilon(lambda epsilon: zcdp_delta(epsilon, rho), delta)


def show(value: Fraction, *, up: bool = True) -> str:
    """Six digits, rounded to the safe side."""
    if value == 0:
        return "0"
    near = Fraction(f"{float(value):.6g}")
    if near == value or (near > value) == up:
        return f"{float(value):.6g}"
    step = Fraction(10) ** (math.floor(math.log10(abs(float(value)))) - 5)
    return f"{float(near + step if up else near - step):.6g}"


def _plain(cost: Cost, *, up: bool = True) -> dict[str, Any]:
    bound = float_up if up else float_down
    out: dict[str, Any] = {}
    for field in dataclasses.fields(cost):
        value = getattr(cost, field.name)
        out[field.name] = None if value is None else bound(value)
        out[f"exact_{field.name}"] = None if value is None else str(value)
    return out


def _budget_text(account: Account) -> str:
    if account.composition == "pure":
        assert account.epsilon is not None
        text = f"ε = {show(account.epsilon, up=False)}, δ = {show(account.delta, up=False)}, pure"
    else:
        assert account.rho is not None
        text = f"ρ = {show(account.rho, up=False)} at δ = {show(account.delta, up=False)}, zcdp"
    return f"{text}, {account.neighbors}, {account.records_per_person} record(s) a person"


# ---- small things ----


def _take_name(draft: str, target: str) -> None:
    """Give a file its name, but never take that of another."""
    try:
        os.link(draft, target)
    except FileExistsError:
        raise
    except OSError:  # some disks know no links
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        os.replace(draft, target)


def _now() -> str:
    # For people to read. Nothing depends on the clock: rows are ordered by number.
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _reason(error: Exception) -> str:
    return ((getattr(error, "strerror", None) or str(error)) or type(error).__name__).lower()


def _problem(error: sqlite3.Error, path: str, timeout: float) -> FileError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return in_use(path, timeout)
    if code == sqlite3.SQLITE_FULL:
        return FileError(f"Cannot write ledger {path!r}: the disk is full. Nothing was released.")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return FileError(f"Cannot write ledger {path!r}: check that the file and its folder can be written to.")
    if code == sqlite3.SQLITE_IOERR:
        return FileError(f"Cannot write ledger {path!r}: {_reason(error)}. Nothing was released.")
    if code == sqlite3.SQLITE_NOTADB:
        return ForeignFileError(
            f"Cannot use {path!r} as a ledger: scumble did not make it, or its beginning is damaged."
        )
    return CorruptFileError(f"Ledger {path!r} is damaged ({_reason(error)}). Hint: bring it back from a backup.")
