"""A place on disk, step by step: its draft, its room, its modes, its lock, and what is said when a step fails."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from processes import in_child
from scumble.errors import FileError, MissingFileError
from scumble.files import places
from scumble.files.places import DRAFT, READY, Owned, Place

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="modes and locks of POSIX"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def open_to_all() -> Iterator[None]:
    """A umask of nothing: every file has the mode that was asked for."""
    old = os.umask(0)
    yield
    os.umask(old)


def mode(path: str | Path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


def fails(number: int) -> Callable[..., Any]:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


# ---- the steps ----


@pytest.mark.parametrize("target", ["bare", "folder/below"])
def test_from_draft_to_name(here: Path, target: str) -> None:
    (here / "folder").mkdir()
    for content in (b"first", b"second, over the first"):
        place = Place(target)
        assert os.path.dirname(os.path.abspath(place.draft)) == str((here / target).parent)
        if content == b"first":
            place.reserve(1000)
            assert os.stat(place.draft).st_size == 1000
            place.fill(content)
        else:  # bit by bit
            with place.open() as file:
                file.write(content[:7])
                file.write(content[7:])
            place.sync()
        mark = place.mark
        assert place in places.unfinished() and places.alive(place.draft)
        place.take_name()
        assert place.mark == mark and mark.split()[0] == str(os.stat(target).st_ino), "the file is still held"
        assert places.alive(target) and Path(target).read_bytes() == content
        descriptor = place._descriptor
        place.close()
        assert place not in places.unfinished() and not places.alive(target)
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)
    assert sorted(os.listdir(here)) == sorted({"folder", target.split("/")[0]}) and len(os.listdir("folder")) < 2


def test_a_draft_goes_unless_it_is_owed(here: Path) -> None:
    place, owed = Place("o"), Place("o")
    owed.owed = True
    place.close()
    owed.close()
    assert os.listdir(here) == [os.path.basename(owed.draft)] and not places.alive(owed.draft)
    owed.set_aside()
    (name,) = os.listdir(here)
    assert name.startswith("o-") and owed.draft == name


@pytest.mark.parametrize("secret", [True, False])
@pytest.mark.parametrize("ending", [DRAFT, READY])
@pytest.mark.parametrize("by_number", [True, False])
@pytest.mark.usefixtures("here", "open_to_all")
def test_who_may_read_it_and_from_when_on(
    monkeypatch: pytest.MonkeyPatch, secret: bool, ending: str, by_number: bool
) -> None:
    if not by_number:
        monkeypatch.delattr("os.fchmod")
    place = Place("o", secret=secret, ending=ending)
    assert place.draft.endswith(f".{ending}") and mode(place.draft) == (0o600 if secret or ending == READY else 0o666)
    place.take_name()
    place.close()
    assert mode("o") == (0o600 if secret else 0o666)


def test_while_the_umask_is_read_others_see_nothing(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It can be read only by setting it; a file that another thread makes meanwhile must not be open to all."""
    real, asked = os.umask, []
    monkeypatch.setattr("os.umask", lambda mask: asked.append(mask) or real(mask))
    place = Place("o", ending=READY)
    old = real(0o027)
    try:
        place.take_name()
    finally:
        real(old)
        place.close()
    assert asked == [0o077, 0o027] and mode("o") == 0o640


# ---- room ----


@pytest.mark.parametrize("why", [errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, None])
def test_a_disk_that_takes_no_promises_takes_bytes(
    here: Path, monkeypatch: pytest.MonkeyPatch, why: int | None
) -> None:
    if why is None:
        monkeypatch.delattr("os.posix_fallocate")
    else:
        monkeypatch.setattr("os.posix_fallocate", fails(why))
    place = Place("o")
    place.reserve(1000)
    assert Path(place.draft).read_bytes() == bytes(1000)
    place.fill(b"less")
    assert Path(place.draft).read_bytes() == b"less"
    place.close()


@pytest.mark.parametrize("why", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_that_is_full_says_so_at_every_step(here: Path, monkeypatch: pytest.MonkeyPatch, why: int) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(places, "_draft", fails(why))
        with pytest.raises(FileError, match=r"the disk is full\. Hint: it needs 0 bytes"):
            Place("o")
    with monkeypatch.context() as patch:
        patch.setattr("os.posix_fallocate", fails(why))
        place = Place("o")
        with pytest.raises(FileError, match=r"the disk is full\. Hint: it needs 1,234 bytes") as caught:
            place.reserve(1234)
        assert caught.value.errno == why
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", fails(why))
        for step in (lambda: place.fill(bytes(4321)), place.sync):
            with pytest.raises(FileError, match=r"the disk is full\. Hint: it needs 4,321 bytes"):
                step()
    place.close()
    assert os.listdir(here) == []


def test_only_a_folder_that_is_not_there_is_missing(here: Path) -> None:
    """/proc answers alike of a folder that is there and takes no files."""
    for error in (errno.EFBIG, errno.ENOENT, errno.ENAMETOOLONG, errno.EIO, None):
        found = places.write_error(OSError(error, "why"), "there/o", "there", 5)
        assert type(found) is (MissingFileError if error == errno.ENOENT else FileError) and found.errno == error
    assert type(places.write_error(OSError(errno.ENOENT, "why"), str(here / "o"), str(here), 5)) is FileError
    for problem, reason in {
        OSError(errno.ENAMETOOLONG, "why"): "its name is too long",
        OSError(errno.EIO, "Why"): "why",
        OSError(): "oserror",
    }.items():
        assert f": {reason}. Hint: " in str(places.write_error(problem, "there/o", "there", 5))


@pytest.mark.skipif(sys.platform != "linux", reason="asks the system's own stat")
def test_a_mark_has_the_time_when_the_file_was_made(here: Path) -> None:
    place = Place("o")
    told = subprocess.run(["stat", "-c", "%i of %.9W", place.draft], capture_output=True, text=True, check=True)
    wanted = told.stdout.strip()
    assert place.mark == (wanted if int(wanted.split()[2].split(".")[0]) > 0 else wanted.split()[0])
    assert place.locked
    place.close()


@pytest.mark.parametrize("why", [errno.EINVAL, errno.ENOTSUP])
def test_a_folder_reaches_the_disk_where_it_can(here: Path, monkeypatch: pytest.MonkeyPatch, why: int) -> None:
    seen: list[int] = []
    monkeypatch.setattr("os.fsync", lambda descriptor: seen.append(os.fstat(descriptor).st_ino))
    places.sync_folder(".")
    assert seen == [os.stat(here).st_ino]
    monkeypatch.setattr("os.fsync", fails(why))  # some network disks cannot
    places.sync_folder(".")
    monkeypatch.setattr("os.fsync", fails(errno.EIO))
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        places.sync_folder(".")


# ---- what may be replaced ----


def test_only_files_are_replaced(here: Path) -> None:
    (here / "folder").mkdir()
    os.mkfifo("pipe")
    (here / "file").write_bytes(b"")
    for name, target in (("to-pipe", "pipe"), ("to-folder", "folder"), ("to-proc", "/proc/self/status")):
        os.symlink(target, name)
    for name, target in (("to-file", "file"), ("to-nothing", "nothing")):
        os.symlink(target, name)
        places.check_target(name)
    places.check_target("file")
    places.check_target("new")
    with pytest.raises(FileError, match="it is a folder"):
        Place("folder")
    for name in ("pipe", "to-pipe", "to-folder", "to-proc", "/dev/null"):
        with pytest.raises(FileError, match="it is not a regular file"):
            places.check_target(name)
    with open("file", "rb") as file, pytest.raises(FileError, match="it is not a regular file"):
        places.check_target(f"/dev/fd/{file.fileno()}")  # a file it is; but the name is the system's


@pytest.mark.parametrize(
    ("me", "owner", "folder", "sticky", "allowed"),
    [
        (7, 8, 9, True, False),
        (7, 8, 9, False, True),
        (7, 7, 9, True, True),
        (7, 8, 7, True, True),
        (0, 8, 9, True, True),
        (1, 8, 9, True, False),
    ],
)
def test_in_a_folder_for_all_each_replaces_his_own(
    here: Path, monkeypatch: pytest.MonkeyPatch, me: int, owner: int, folder: int, sticky: bool, allowed: bool
) -> None:
    Path("o").touch()

    def owned(found: os.stat_result, by: int, more: int = 0) -> os.stat_result:
        return os.stat_result([found.st_mode | more, *found[1:4], by, *found[5:]])

    file, inside = owned(os.lstat("o"), owner), owned(os.stat("."), folder, stat.S_ISVTX if sticky else 0)
    problem = None
    with monkeypatch.context() as patch:
        patch.setattr("os.geteuid", lambda: me)
        patch.setattr("os.lstat", lambda *_: file)
        patch.setattr("os.stat", lambda *_, **__: inside)
        try:
            places.check_target("o")
        except FileError as found:
            problem = str(found)
    assert problem is None if allowed else problem is not None and "belongs to somebody else" in problem


# ---- the dead and the living ----


def test_what_the_dead_left_is_found_and_what_the_living_write_is_not(here: Path) -> None:
    (here / "folder").mkdir()
    for target in ("o", "folder/o"):
        living = Place(target)

        def killed(target: str = target) -> None:
            Place(target, ending=READY)
            Place(target)
            Place("other")

        assert in_child(killed) == 0
        (here / target).touch()
        found = places.leftovers(target)
        assert [left.endswith(READY) for left in found].count(True) == 1 and len(found) == 2
        assert all(os.path.dirname(left) == (os.path.dirname(target) or ".") for left in found)
        assert places.clear_leftovers(target) == 1, "but for what may be a whole release"
        (left,) = places.leftovers(target)
        assert left.endswith(READY) and places.clear(left) and not os.path.exists(left)
        assert not places.clear(living.draft) and os.path.exists(living.draft) and not places.clear("nothing")
        living.close()
    assert places.leftovers("nowhere/o") == []


def test_a_leftover_is_locked_until_it_is_gone(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can begin to use it in between."""
    Path("o").touch()
    real, seen = os.unlink, []

    def unlink(path: str) -> None:
        seen.append(places.alive(path))
        real(path)

    monkeypatch.setattr("os.unlink", unlink)
    assert places.clear("o") and seen == [True] and not places.clear("o")


def test_a_draft_that_was_taken_for_a_leftover_is_made_anew(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for answer in (True, None, False):  # locked; no locks on this disk; somebody else was quicker
        seen: list[int] = []

        def lock(descriptor: int, answer: bool | None = answer, seen: list[int] = seen) -> bool | None:
            seen.append(descriptor)
            if len(seen) == 1:
                (name,) = os.listdir(here)
                os.unlink(name)  # by another process, before it was locked
                return answer
            return True

        monkeypatch.setattr(places, "lock", lock)
        place = Place("o")
        assert len(seen) == 2 and os.path.exists(place.draft)
        place.close()
    monkeypatch.setattr(places, "lock", lambda _: None)
    place = Place("o")
    place.close()

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(places, "lock", stop)
    with pytest.raises(KeyboardInterrupt):
        Place("o")
    assert os.listdir(here) == []


def test_a_disk_without_locks(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fcntl.flock", fails(errno.ENOLCK))
    with open("o", "wb") as file:
        assert places.lock(file.fileno()) is None
    assert not Owned("o")._mine()


# ---- a file that one process goes on from ----


def test_one_goes_on_at_a_time(here: Path) -> None:
    one, two = Owned("c"), Owned("c")
    assert one.take() and one.write(b"1") and one.take(), "there is nothing yet to take"
    assert mode("c") == 0o600
    assert not two.take() and not two.write(b"2") and Path("c").read_bytes() == b"1"
    assert one.write(lambda mark: mark.encode()) and Path("c").read_text().split()[0] == str(os.stat("c").st_ino)
    os.replace("c", "moved")
    Path("c").write_bytes(b"another's")
    assert not one.write(b"3") and Path("c").read_bytes() == b"another's"
    one.let_go()
    one.let_go()
    assert two.take() and two.write(b"4")
    with pytest.raises(ZeroDivisionError):
        two.write(lambda _: b"%d" % (1 // 0))
    assert Path("c").read_bytes() == b"4" and not one.take(), "it is still the second's"
    two.let_go()
    assert sorted(os.listdir(here)) == ["c", "moved"]


def test_no_older_version_of_an_only_file_lives_on(here: Path) -> None:
    only, plain = Owned("o", only=True), Owned("p")
    assert not only.locked and only.write(b"1") and plain.write(b"1") and only.locked
    before = [open(name, "rb") for name in "op"]  # noqa: SIM115
    assert only.write(b"2") and plain.write(b"2")
    assert [file.read() for file in before] == [b"", b"1"]
    for file in before:
        file.close()
    for name in "op":
        os.link(name, f"{name}.link")
    assert not only.write(b"3") and plain.write(b"3") and Path("o").read_bytes() == b"2"
    os.unlink("o.link")
    assert only.write(b"4") and Path("o").read_bytes() == b"4"
    for name in "op":
        os.replace(name, f"{name}.moved")
    assert not only.write(b"5") and plain.write(b"5") and not os.path.exists("o")
    only.let_go()
    plain.let_go()


def test_a_file_that_is_replaced_while_it_is_taken_is_taken_anew(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("c").write_bytes(b"old")
    real, seen = places.lock, []

    def lock(descriptor: int) -> bool | None:
        if not seen:
            Path("d").write_bytes(b"new")
            os.replace("d", "c")
        seen.append(os.fstat(descriptor).st_ino)
        return real(descriptor)

    monkeypatch.setattr("scumble.files.places.lock", lock)
    owned = Owned("c")
    assert owned.take() and seen[-1] == os.stat("c").st_ino and len(seen) == 2
    owned.let_go()


def test_the_number_0_is_a_file_too(here: Path) -> None:
    """Where standard input is closed, the next file that is opened gets its number."""

    def gone() -> bool:
        try:
            os.fstat(0)
        except OSError:
            return True
        return False

    kept = os.dup(0)
    os.close(0)
    try:
        place = Place("o")
        assert place._descriptor == 0
        place.take_name()
        place.close()
        assert gone()
        owned = Owned("o")
        assert owned.take() and owned._lock == 0 and owned.take() and not Owned("o").take()
        owned.let_go()
        assert gone() and places.clear("o") and gone() and not os.path.exists("o")
    finally:
        os.dup2(kept, 0)
        os.close(kept)
