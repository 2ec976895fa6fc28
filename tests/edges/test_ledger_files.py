"""No charge vanishes: not by another name, not by a stray journal, not by a write-ahead log."""

from __future__ import annotations

import contextlib
import os
import pathlib
import sqlite3
import struct
import threading
import uuid

import pytest

import scumble
from scumble.files import places
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


# ---- the steps ----


def journal_of(*pages: tuple[int, int], sector: int = 512, size: int = 512) -> bytes:
    """A rollback journal that holds these pages: (number, counter of changes, where the first page has it)."""
    header = bytes.fromhex("d9d505f920a163d7") + struct.pack(">5I", len(pages), 1, 1, sector, size)
    content = b"".join(
        struct.pack(">I", number) + bytes(24) + struct.pack(">I", changes) + bytes(size - 28) + b"\xff" * 4
        for number, changes in pages
    )
    return header.ljust(sector, b"\0") + content


@pytest.mark.parametrize(
    ("journal", "changes"),
    [
        (journal_of((1, 77)), 77),
        (journal_of((3, 5), (2, 6), (1, 2**32 - 1)), 2**32 - 1),
        (journal_of((3, 5), (256, 6)), None),  # the first page is not in it
        (journal_of((1, 77), sector=65536, size=65536), 77),
        (journal_of((1, 77), sector=4096), 77),
        (journal_of((1, 77), size=511), None),
        (journal_of((1, 77), size=65537), None),
        (journal_of((1, 77), sector=65537), None),
        (journal_of((1, 77), sector=511), None),
        (journal_of((1, 77))[:-1], None),  # cut off
        (journal_of((1, 77))[:27], None),
        (b"", None),
    ],
)
def test_what_a_journal_would_restore(tmp_path: pathlib.Path, journal: bytes, changes: int | None) -> None:
    (tmp_path / "j").write_bytes(journal)
    assert ledgerfile._changes_in(str(tmp_path / "j")) == changes
    assert ledgerfile._changes_in(str(tmp_path / "none")) is None


@pytest.mark.parametrize(("before", "refused"), [(0, False), (1, False), (2, True), (-1, True)])
@pytest.mark.parametrize("now", [2, 300, 2**24 + 7])
def test_only_the_last_transaction_is_rolled_back(tmp_path: pathlib.Path, now: int, before: int, refused: bool) -> None:
    path = tmp_path / "l"
    path.write_bytes(bytes(24) + struct.pack(">I", now) + b"\xff" * 100)
    beside(path).write_bytes(journal_of((1, now - before)))

    def torn(_: sqlite3.Connection) -> None:
        raise scumble.CorruptFileError("torn")

    with open(path, "rb") as file:
        with pytest.raises(scumble.CorruptFileError, match="journal") if refused else contextlib.nullcontext():
            ledgerfile._settle_journal(str(path), file.fileno(), torn)
        assert beside(path).exists()
        beside(path).write_bytes(b"says nothing")
        ledgerfile._settle_journal(str(path), file.fileno(), torn)


def test_a_reader_without_write_permission_leaves_the_journal(book: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    path = pathlib.Path(book.path)
    beside(path).write_bytes(b"of another")
    monkeypatch.setattr("os.access", lambda *_: False)
    with open(path, "rb") as file:
        ledgerfile._settle_journal(str(path), file.fileno(), lambda _: None)
    assert beside(path).read_bytes() == b"of another"


@pytest.mark.parametrize("place", [18, 19])
def test_either_number_says_that_there_is_a_log(tmp_path: pathlib.Path, place: int) -> None:
    """For writing (18) and for reading (19): 2 is a write-ahead log."""
    sound = bytearray(100)
    sound[18:20], sound[20], sound[17] = b"\1\1", 2, 2
    sound[68:72] = b"ScLg"  # as ledgers of years ago have it
    path = str(tmp_path / "l")
    ledgerfile._require_no_log(path, bytes(sound))
    sound[place] = 2
    with pytest.raises(scumble.FileError, match="write-ahead log"):
        ledgerfile._require_no_log(path, bytes(sound))
    sound[71] ^= 1
    ledgerfile._require_no_log(path, bytes(sound))  # another program's: refused elsewhere


def test_a_file_that_was_just_replaced_is_refused(book: Ledger, tmp_path: pathlib.Path) -> None:
    (tmp_path / "other").touch()
    ledgerfile._require_one_name(book.path, os.stat(book.path))
    with pytest.raises(scumble.FileError, match="has just been replaced"):
        ledgerfile._require_one_name(book.path, os.stat(tmp_path / "other"))


def test_a_ledger_that_may_not_be_read(book: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(scumble.FileError, match=r"Cannot read ledger .*: permission denied"):
        ledgerfile._open(book.path)


def test_an_operation_under_way_is_waited_for(book: Ledger) -> None:
    descriptor = os.open(book.path, os.O_RDONLY)
    assert places.lock(descriptor)
    with pytest.raises(scumble.FileError, match=r"in use for over 0\.1 s"):
        Ledger(book.path, timeout=0.1)
    timer = threading.Timer(0.3, lambda: ledgerfile.unlock(descriptor))
    timer.start()
    charge(Ledger(book.path, timeout=60.0))
    timer.join()
    os.close(descriptor)
