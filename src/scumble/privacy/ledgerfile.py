"""The ledger's file: one operation at a time, under one name, and never back to an older state.

SQLite finds the journal of a killed process by the *name* of the database, and rolls the database back by it. If the
file had another name in the meantime (a hard link, a rename), that would undo charges made there. So before SQLite
opens it:

- it has one name (no hard links; symbolic ones are followed first), and no write-ahead log;
- if there is a journal, the file is read as it stands. If every row, seal and index is in order, the transaction that
  left the journal is done, had not begun to write, or was followed by others: the file is right, and the journal is
  deleted. At worst a charge remains whose noise was never drawn;
- only a torn file is rolled back, and only by a journal of its own last transaction, as SQLite's change counter shows.

All of it happens behind a lock of our own on the file (``flock``), independent of SQLite's (``fcntl``). Those are
dropped when *any* descriptor of the file is closed in the same process, so ours is closed last.

Three tables only grow: triggers refuse to change or delete a row, and each row carries a seal, a SHA-256 over its
content and the seal before it. Every read checks the schema to the letter, the pages and every seal
(``ledger.proof.md``).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import stat
import struct
import time
import uuid
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any
from urllib.parse import quote

from scumble.errors import CorruptFileError, FileError, ForeignFileError, MissingFileError, NewerFileError
from scumble.files.places import lock, sync_folder
from scumble.privacy.costs import Balance, Charge, Cost

APPLICATION = 0x5363_4C67  # "ScLg", in the header of the file
_PAUSE = 0.002  # seconds between two attempts to get the lock


@contextlib.contextmanager
def alone(path: str, timeout: float, sound: Callable[[sqlite3.Connection], object]) -> Iterator[os.stat_result]:
    """Lock the ledger, and make sure that its file is safe to open with SQLite.

    `sound` raises if the ledger of a connection is not in order.
    """
    descriptor = _open(path)
    try:
        end = time.monotonic() + timeout
        while lock(descriptor) is False:  # where there are no locks, SQLite's own must do
            if time.monotonic() > end:
                raise in_use(path, timeout)
            time.sleep(_PAUSE)
        try:
            about = os.fstat(descriptor)
            _require_one_name(path, about)
            _require_no_log(path, os.pread(descriptor, 100, 0))
            _settle_journal(path, descriptor, sound)
            yield about
        finally:
            unlock(descriptor)
    finally:
        os.close(descriptor)


def _open(path: str) -> int:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # opening a pipe would wait
            raise ForeignFileError(f"Cannot use {path!r} as a ledger: it is not a regular file.")
        return os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except FileError:
        raise
    except FileNotFoundError:
        raise MissingFileError(
            f"There is no ledger {path!r}. Hint: make one with `scumble ledger FILE --open NAME --epsilon 3`, or in "
            "Python with scumble.Ledger.create."
        ) from None
    except OSError as error:
        raise FileError(f"Cannot read ledger {path!r}: {_reason(error)}.") from None


def unlock(descriptor: int) -> None:
    """Release the lock, even if a forked child also holds the descriptor."""
    if os.name == "posix":
        import fcntl

        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def in_use(path: str, timeout: float) -> FileError:
    """The error of a ledger that others keep busy."""
    return FileError(
        f"Ledger {path!r} has been in use for over {timeout:g} s, so nothing was released. Hint: try again."
    )


def _require_one_name(path: str, about: os.stat_result) -> None:
    if about.st_nlink > 1:
        raise FileError(
            f"Ledger {path!r} has several names (hard links), so a killed process could leave it inconsistent. "
            "Hint: replace it by a copy, and remove the other names."
        )
    now = os.stat(path)
    if (now.st_dev, now.st_ino) != (about.st_dev, about.st_ino):
        raise FileError(f"Ledger {path!r} has just been replaced by another file. Hint: try again.")


def _require_no_log(path: str, header: bytes) -> None:
    """Refuse a write-ahead log: it holds charges in a second file, which is found by name too."""
    ours = int.from_bytes(header[68:72], "big") == APPLICATION
    if ours and (2 in header[18:20] or os.path.lexists(f"{path}-wal")):
        raise FileError(
            f"Ledger {path!r} uses a write-ahead log (WAL), which can lose charges when the file is moved. "
            "Hint: with the -wal file in the same folder, run: sqlite3 FILE 'PRAGMA journal_mode = DELETE'."
        )


def _settle_journal(path: str, descriptor: int, sound: Callable[[sqlite3.Connection], object]) -> None:
    journal = f"{path}-journal"
    if not os.path.lexists(journal) or not os.access(path, os.W_OK):
        return  # SQLite refuses to roll back without write access
    try:
        place = f"file:{quote(os.fsencode(path))}?mode=ro&immutable=1"  # ignores journals
        with contextlib.closing(sqlite3.connect(place, uri=True, isolation_level=None)) as connection:
            sound(connection)
    except (sqlite3.Error, FileError):
        kept = _changes_in(journal)
        now = int.from_bytes(os.pread(descriptor, 4, 24), "big")
        if kept is not None and kept not in (now, now - 1):
            raise CorruptFileError(
                f"Ledger {path!r} is damaged, and its journal {os.path.basename(journal)!r} is older. "
                "Hint: restore the ledger from a backup."
            ) from None
        return
    os.unlink(journal)
    sync_folder(os.path.dirname(path))


def _changes_in(journal: str) -> int | None:
    """SQLite's change counter as the journal would restore it; None if the journal lacks it.

    The format: https://www.sqlite.org/fileformat2.html#the_rollback_journal
    """
    try:
        with open(journal, "rb") as file:
            header = file.read(28)
            sector, page = struct.unpack(">2I", header[20:28])
            if not 512 <= page <= 65536 or not 512 <= sector <= 65536:
                return None
            file.seek(sector)
            while len(record := file.read(page + 8)) == page + 8:
                if record[:4] == b"\0\0\0\1":
                    return int.from_bytes(record[4 + 24 : 4 + 28], "big")
    except (OSError, struct.error):
        return None
    return None


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


def make(target: str) -> None:
    """A new, empty ledger under this name; an existing file is refused."""
    for end in ("-journal", "-wal"):
        if os.path.lexists(target + end):
            raise FileError(
                f"Cannot make a ledger at {target!r}: {os.path.basename(target + end)!r} of an earlier one would be "
                "replayed into it. Hint: choose another name, or remove it."
            )
    # The file is completed under another name, so that its name never holds half a ledger.
    folder = os.path.dirname(target)
    draft = os.path.join(folder, f".scumble-{uuid.uuid4().hex}.tmp")
    try:
        descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            lock(descriptor)  # not to be used while it has two names
            with contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as connection:
                numbers = [f"PRAGMA application_id = {APPLICATION}", f"PRAGMA user_version = {_VERSION}"]
                for statement in ("PRAGMA synchronous = EXTRA", "BEGIN IMMEDIATE", *_SCHEMA.values(), *numbers):
                    connection.execute(statement)
                connection.execute("COMMIT")
            _take_name(draft, target)
        finally:
            for name in (draft, f"{draft}-journal"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name)
            unlock(descriptor)
            os.close(descriptor)
        sync_folder(folder)
    except FileExistsError:
        raise FileError(f"Cannot make a ledger at {target!r}: there is already a file. Hint: open it.") from None
    except FileNotFoundError:
        if os.path.isdir(folder):  # such as /proc
            raise FileError(f"Cannot make a ledger in {folder!r}: it takes no files. Hint: choose another.") from None
        raise MissingFileError(
            f"Cannot make a ledger at {target!r}: the folder does not exist. Hint: create it first."
        ) from None
    except (OSError, sqlite3.Error) as error:
        raise FileError(
            f"Cannot make a ledger at {target!r}: {_reason(error)}. Hint: choose a folder that can be written to."
        ) from None


def _take_name(draft: str, target: str) -> None:
    """Rename a file without replacing another."""
    try:
        os.link(draft, target)
    except FileExistsError:
        raise
    except OSError:  # some disks have no links
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        os.replace(draft, target)


def _seal(table: str, before: str, row: list[str | int | None]) -> str:
    return hashlib.sha256(json.dumps([table, before, *row], ensure_ascii=True).encode("ascii")).hexdigest()


def append(connection: sqlite3.Connection, table: str, values: list[str | int | None]) -> None:
    """Add a row, sealed with the one before."""
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

    def fraction(text: str | None) -> Fraction | None:
        return None if text is None else Fraction(text)

    try:
        parts = list(_rows(connection, "parts"))
        charges = []
        for identity, dataset, part, epsilon, delta, rho, mechanism, charged in _rows(connection, "charges"):
            cost = Cost(Fraction(epsilon), Fraction(delta), fraction(rho))
            charges.append(Charge(identity, dataset, part, cost, mechanism, charged))
        accounts = {}
        for name, kind, epsilon, delta, rho, neighbors, people, opened in _rows(connection, "datasets"):
            own = tuple(part for dataset, part in parts if dataset == name)
            paid = tuple(charge for charge in charges if charge.dataset == name)
            total = fraction(epsilon), Fraction(delta), fraction(rho)
            accounts[name] = Balance(name, kind, *total, neighbors, people, own, paid, opened)
        if sum(len(account.charges) for account in accounts.values()) != len(charges):
            raise ValueError("a charge without a dataset")
        return accounts
    except (ValueError, TypeError, ZeroDivisionError):
        raise CorruptFileError(f"Ledger {path!r} is damaged. Hint: restore it from a backup.") from None


def check(connection: sqlite3.Connection, path: str) -> None:
    """Refuse tables and triggers that differ from ours, and damaged pages."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise ForeignFileError(f"Cannot use {path!r} as a ledger: it is another program's database.")
    if connection.execute("PRAGMA user_version").fetchone()[0] > _VERSION:
        raise NewerFileError(f"Ledger {path!r} was made by a newer scumble. Hint: pip install --upgrade scumble.")
    found = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_autoindex_%'"))
    if found != _SCHEMA:
        raise CorruptFileError(f"Ledger {path!r} has been altered: its tables are not as scumble makes them.")
    if connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
        raise CorruptFileError(f"Ledger {path!r} is damaged. Hint: restore it from a backup.")


def _reason(error: Exception) -> str:
    return ((getattr(error, "strerror", None) or str(error)) or type(error).__name__).lower()


def problem(error: sqlite3.Error, path: str, timeout: float) -> FileError:
    """What an error of SQLite means to the user."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return in_use(path, timeout)
    if code == sqlite3.SQLITE_NOTADB:
        return ForeignFileError(f"Cannot use {path!r} as a ledger: scumble did not make it, or its start is damaged.")
    why = {sqlite3.SQLITE_FULL: "the disk is full. Nothing was released"}
    why[sqlite3.SQLITE_IOERR] = f"{_reason(error)}. Nothing was released"
    for one in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        why[one] = "check that the file and its folder can be written to"
    if code in why:
        return FileError(f"Cannot write ledger {path!r}: {why[code]}.")
    return CorruptFileError(f"Ledger {path!r} is damaged ({_reason(error)}). Hint: restore it from a backup.")
