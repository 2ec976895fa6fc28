"""No charge vanishes: not by another name, not by a stray journal, not by a write-ahead log."""

from __future__ import annotations

import contextlib
import os
import pathlib
import sqlite3
import uuid

import pytest

import scumble
from scumble.privacy import ledgerfile
from scumble.privacy.budget import calibrate
from scumble.privacy.ledger import Ledger

CLAIM = calibrate(4, epsilon=0.1)


@pytest.fixture
def book(tmp_path: pathlib.Path) -> Ledger:
    made = Ledger.create(tmp_path / "town.ledger")
    made.open_dataset("people", epsilon=100)
    return made


def charge(book: Ledger) -> None:
    assert book.charge("people", CLAIM, identity=str(uuid.uuid4()))


def charges(book: Ledger) -> int:
    return len(book.account("people").charges)


def left_by_a_kill(path: pathlib.Path) -> tuple[bytes, bytes]:
    """The file and its journal as a process leaves them that dies in the middle of writing a page."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("PRAGMA cache_size = 1")
        raw.execute("BEGIN IMMEDIATE")
        for _ in range(100):
            cost = ["1/10", "0", "1/100", "discrete-laplace", "2026-01-01"]
            ledgerfile.append(raw, "charges", [str(uuid.uuid4()), "people", None, *cost])
        torn, journal = bytearray(path.read_bytes()), beside(path).read_bytes()
        raw.execute("ROLLBACK")
    assert journal[:8] == bytes.fromhex("d9d505f920a163d7") and int.from_bytes(journal[8:12], "big") > 0, "hot"
    page = int.from_bytes(journal[512:516], "big")  # the first that the journal can restore
    torn[4096 * (page - 1) : 4096 * page - 2048] = bytes(2048)
    return bytes(torn), journal


def beside(path: pathlib.Path, end: str = "-journal") -> pathlib.Path:
    return path.with_name(path.name + end)


def test_a_torn_ledger_is_rolled_back_by_its_own_journal(book: Ledger) -> None:
    path = pathlib.Path(book.path)
    charge(book)
    torn, journal = left_by_a_kill(path)
    path.write_bytes(torn)
    beside(path).write_bytes(journal)
    assert charges(book) == 1
    assert not beside(path).exists()


@pytest.mark.parametrize("count", [1, 2, 5])
def test_charges_under_another_name_are_not_rolled_back(book: Ledger, count: int) -> None:
    """A journal is left, the file is renamed, charged to, and renamed back."""
    path = pathlib.Path(book.path)
    other = path.with_name("other.ledger")
    beside(path).write_bytes(left_by_a_kill(path)[1])
    os.rename(path, other)
    for _ in range(count):
        charge(Ledger(other))
    os.rename(other, path)
    assert charges(Ledger(path)) == count
    charge(book)
    assert charges(book) == count + 1


def test_a_torn_ledger_is_not_rolled_back_by_an_older_journal(book: Ledger) -> None:
    path = pathlib.Path(book.path)
    old = left_by_a_kill(path)[1]
    for _ in range(3):
        charge(book)
    path.write_bytes(left_by_a_kill(path)[0])
    beside(path).write_bytes(old)
    with pytest.raises(scumble.CorruptFileError, match="journal"):
        charge(book)
    assert beside(path).read_bytes() == old


def test_two_names_are_refused(book: Ledger) -> None:
    path = pathlib.Path(book.path)
    other = path.with_name("other.ledger")
    os.link(path, other)
    for name in (path, other):
        with pytest.raises(scumble.FileError, match="hard links"):
            Ledger(name)
    with pytest.raises(scumble.FileError, match="hard links"):
        charge(book)
    other.unlink()
    charge(book)


def test_a_symbolic_link_leads_to_the_one_ledger(book: Ledger, tmp_path: pathlib.Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.ledger"
    link.symlink_to(book.path)
    beside(pathlib.Path(book.path)).write_bytes(left_by_a_kill(pathlib.Path(book.path))[1])
    charge(Ledger(link))
    assert charges(book) == 1 and os.listdir(link.parent) == ["link.ledger"]


def test_a_write_ahead_log_is_refused(book: Ledger) -> None:
    for mode, refused in (("WAL", pytest.raises(scumble.FileError, match="write-ahead log")), ("DELETE", None)):
        with contextlib.closing(sqlite3.connect(book.path)) as raw:
            assert raw.execute(f"PRAGMA journal_mode = {mode}").fetchone() == (mode.lower(),)
        for attempt in (lambda: charge(book), lambda: Ledger(book.path)):
            with refused or contextlib.nullcontext():
                attempt()


def test_a_stray_write_ahead_log_is_not_replayed(book: Ledger) -> None:
    beside(pathlib.Path(book.path), "-wal").write_bytes(bytes(32))
    with pytest.raises(scumble.FileError, match="write-ahead log"):
        charge(book)


def test_a_new_ledger_does_not_inherit_a_journal(book: Ledger) -> None:
    path = pathlib.Path(book.path)
    for end in ("-journal", "-wal"):
        beside(path, end).write_bytes(b"old")
        path.unlink(missing_ok=True)
        with pytest.raises(scumble.FileError, match="of an earlier one"):
            Ledger.create(path)
        beside(path, end).unlink()
    Ledger.create(path)


def test_garbage_beside_a_sound_ledger_is_removed(book: Ledger) -> None:
    charge(book)
    beside(pathlib.Path(book.path)).write_bytes(os.urandom(5000))
    charge(book)
    assert charges(book) == 2


def test_a_child_that_was_forked_does_not_keep_the_lock(book: Ledger) -> None:
    reading, writing = os.pipe()
    with book._connected(write=False):
        pid = os.fork()
        if pid == 0:
            os.close(writing)
            os.read(reading, 1)  # until the parent is done
            os._exit(0)
    charge(Ledger(book.path, timeout=5.0))
    os.close(writing)
    os.close(reading)
    os.waitpid(pid, 0)
