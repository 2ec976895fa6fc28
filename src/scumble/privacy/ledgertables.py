"""The ledger's tables: rows that are sealed and never change.

An SQLite database with three tables that only grow; triggers refuse to change or delete a row, and each row carries a
seal, a SHA-256 over its content and the seal before it, so a damaged or edited row is found. Whoever reads checks all
of it: the schema to the letter, the pages, every seal. ``ledger.proof.md`` holds the argument.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import uuid
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from scumble.errors import CorruptFileError, FileError, ForeignFileError, MissingFileError, NewerFileError
from scumble.privacy.costs import Balance, Charge, Cost
from scumble.privacy.ledgerfile import APPLICATION, in_use, lock, sync, unlock

_VERSION = 1

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


# ---- a new file ----


def make(target: str) -> None:
    """A new, empty ledger under this name; a file that is there already is refused."""
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
        folder = os.path.dirname(target)
        if os.path.isdir(folder):  # as of /proc
            raise FileError(
                f"Cannot make a ledger at {target!r}: the folder {folder!r} takes no files. Hint: choose another."
            ) from None
        raise MissingFileError(
            f"Cannot make a ledger at {target!r}: the folder {folder!r} does not exist. Hint: make it first."
        ) from None
    except (OSError, sqlite3.Error) as error:
        raise FileError(
            f"Cannot make a ledger at {target!r}: {_reason(error)}. Hint: choose a folder that can be written to."
        ) from None


def _take_name(draft: str, target: str) -> None:
    """Give a file its name, but never take that of another."""
    try:
        os.link(draft, target)
    except FileExistsError:
        raise
    except OSError:  # some disks know no links
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        os.replace(draft, target)


# ---- rows and their seals ----


def _seal(table: str, before: str, row: list[Any]) -> str:
    return hashlib.sha256(json.dumps([table, before, *row], ensure_ascii=True).encode("ascii")).hexdigest()


def append(connection: sqlite3.Connection, table: str, values: list[Any]) -> None:
    """Add a row, sealed together with the one before."""
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


def read(connection: sqlite3.Connection, path: str) -> dict[str, Balance]:
    """The whole ledger, every seal checked."""
    try:
        parts = list(_rows(connection, "parts"))
        charges = []
        for identity, dataset, part, epsilon, delta, rho, mechanism, charged in _rows(connection, "charges"):
            cost = Cost(Fraction(epsilon), Fraction(delta), None if rho is None else Fraction(rho))
            charges.append(Charge(identity, dataset, part, cost, mechanism, charged))
        accounts = {}
        for name, kind, epsilon, delta, rho, neighbors, people, opened in _rows(connection, "datasets"):
            accounts[name] = Balance(
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
        raise CorruptFileError(f"Ledger {path!r} is damaged. Hint: restore it from a backup.") from None


def check(connection: sqlite3.Connection, path: str) -> None:
    """The tables and triggers must be ours to the letter, and the pages in order."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise ForeignFileError(f"Cannot use {path!r} as a ledger: it is another program's database.")
    if connection.execute("PRAGMA user_version").fetchone()[0] > _VERSION:
        raise NewerFileError(f"Ledger {path!r} was made by a newer scumble. Hint: pip install --upgrade scumble.")
    found = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_autoindex_%'"))
    if found != _SCHEMA:
        raise CorruptFileError(f"Ledger {path!r} has been altered: its tables are not as scumble makes them.")
    if connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
        raise CorruptFileError(f"Ledger {path!r} is damaged. Hint: restore it from a backup.")


# ---- what went wrong ----


def _reason(error: Exception) -> str:
    return ((getattr(error, "strerror", None) or str(error)) or type(error).__name__).lower()


def problem(error: sqlite3.Error, path: str, timeout: float) -> FileError:
    """What an error of SQLite means to the user."""
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
    return CorruptFileError(f"Ledger {path!r} is damaged ({_reason(error)}). Hint: restore it from a backup.")
