"""The ledger's file: one at a time, under one name, and never back to an older state.

SQLite finds the journal of a killed process by the *name* of the database, and rolls the database back by it. If the
file had another name in the meantime (a hard link, a rename), charges were made there of which the journal knows
nothing, and rolling back would undo them. So before SQLite sees the file:

- it has one name (no hard links; symbolic ones are followed first), and no write-ahead log;
- if a journal lies beside it, the file is looked at as it stands. If every row, seal and index is in order, the
  transaction that left the journal is done, or had not begun to write, or others have been committed since: in each
  case the file is right, and the journal goes. The worst that remains is a charge whose noise was never drawn.
- Only a file that is torn is rolled back, and only by a journal of its own last transaction: SQLite's counter of
  changes tells.

All of it happens behind a lock of our own on the file (``flock``), so no other operation is in its middle. A lock
of that kind has nothing to do with SQLite's (``fcntl``). Those are dropped when *any* descriptor of the file is closed
in the same process: ours is closed last, when no operation is left. ``ledger.proof.md`` holds the argument.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import struct
import time
from collections.abc import Callable, Iterator
from urllib.parse import quote

from scumble.errors import CorruptFileError, FileError, ForeignFileError, MissingFileError

APPLICATION = 0x5363_4C67  # "ScLg", in the header of the file
_PAUSE = 0.002  # seconds between two attempts to get the lock


@contextlib.contextmanager
def alone(path: str, timeout: float, sound: Callable[[sqlite3.Connection], object]) -> Iterator[os.stat_result]:
    """While open, nobody else is in an operation on the ledger, and its file is fit to be given to SQLite.

    `sound` raises if the ledger that a connection shows is not in order.
    """
    descriptor = _open(path)
    try:
        _lock(descriptor, path, timeout)
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
    shown = repr(path)
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would be waited for
            raise ForeignFileError(f"Cannot use {shown} as a ledger: it is not a regular file.")
        return os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        raise MissingFileError(
            f"There is no ledger {shown}. Hint: `scumble ledger FILE --open NAME --epsilon 3` makes one, and in Python "
            f"scumble.Ledger.create({shown})."
        ) from None
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"Cannot read ledger {shown}: {(error.strerror or type(error).__name__).lower()}.") from None


def lock(descriptor: int) -> bool:
    """Try to get the lock; whether it worked. Where there are no such locks, SQLite's own must do."""
    if os.name != "posix":
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # some network disks know none
        return True
    return True


def unlock(descriptor: int) -> None:
    """Release the lock, even where a forked child also holds the descriptor."""
    if os.name == "posix":
        import fcntl

        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def _lock(descriptor: int, path: str, timeout: float) -> None:
    end = time.monotonic() + timeout
    while not lock(descriptor):
        if time.monotonic() > end:
            raise in_use(path, timeout)
        time.sleep(_PAUSE)


def in_use(path: str, timeout: float) -> FileError:
    """The error of a ledger that others keep busy."""
    return FileError(f"Ledger {path!r} has been in use for over {timeout:g} s. Nothing was released. Hint: try again.")


def _require_one_name(path: str, about: os.stat_result) -> None:
    if about.st_nlink > 1:
        raise FileError(
            f"Ledger {path!r} has {about.st_nlink} names (hard links): what a killed process leaves behind is found "
            "under one of them only. Hint: remove the others, such as by `cp` to a new file that replaces them."
        )
    now = os.stat(path)
    if (now.st_dev, now.st_ino) != (about.st_dev, about.st_ino):
        raise FileError(f"Ledger {path!r} has just been replaced by another file. Hint: try again.")


def _require_no_log(path: str, header: bytes) -> None:
    """A write-ahead log holds charges in a second file, and is likewise replayed by its name."""
    ours = int.from_bytes(header[68:72], "big") == APPLICATION
    if ours and (2 in header[18:20] or os.path.lexists(f"{path}-wal")):
        raise FileError(
            f"Ledger {path!r} has been set to a write-ahead log (WAL), which can lose charges when the file is moved. "
            f"Hint: with {os.path.basename(path)}-wal beside it, run: sqlite3 FILE 'PRAGMA journal_mode = DELETE'."
        )


def _settle_journal(path: str, descriptor: int, sound: Callable[[sqlite3.Connection], object]) -> None:
    journal = f"{path}-journal"
    if not os.path.lexists(journal) or not os.access(path, os.W_OK):
        return  # whoever may only read rolls nothing back: SQLite refuses
    try:
        place = f"file:{quote(os.fsencode(path))}?mode=ro&immutable=1"  # as it stands, whatever lies beside it
        with contextlib.closing(sqlite3.connect(place, uri=True, isolation_level=None)) as connection:
            sound(connection)
    except (sqlite3.Error, FileError):
        kept = _changes_in(journal)
        now = int.from_bytes(os.pread(descriptor, 4, 24), "big")
        if kept is not None and kept not in (now, now - 1):
            raise CorruptFileError(
                f"Ledger {path!r} is damaged, and {os.path.basename(journal)!r} beside it is of an older state. "
                "Hint: restore the ledger from a backup."
            ) from None
        return
    os.unlink(journal)
    sync(os.path.dirname(path))


def _changes_in(journal: str) -> int | None:
    """SQLite's counter of changes as the journal would restore it; None if the journal does not say.

    The format of rollback journals: https://www.sqlite.org/fileformat2.html#the_rollback_journal
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


def sync(folder: str) -> None:
    """A folder's entries to the disk."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
