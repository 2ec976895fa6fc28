"""A place on disk: reserved first, filled later, named at the end.

Whatever scumble writes goes this way::

    reserve     a draft in the target's own folder, of the full size: the disk, the quota and the permissions are proven
    fill        the bytes, to the disk (fsync)
    take_name   one rename, and the folder to the disk: the target is now the new file, whole; before, the old one

A draft is called ``.scumble-<digest of the target's name>-<random>.tmp``, or ``.ready`` if it will be a release that a
secret file has pledged its counters for; only its owner can read that before it takes its name. Its process holds a
lock on it (``flock``), which the system takes away when the process ends, however it ends. So the next run can tell
what a killed run left behind, which `clear_leftovers` removes, from what a living one is writing.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import os
import secrets
import stat
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import BinaryIO

from scumble.errors import FileError, MissingFileError
from scumble.files.interrupts import Unbroken

try:
    import fcntl
except ImportError:  # Windows: what is open there cannot be removed or replaced, which is also a lock
    fcntl = None  # type: ignore[assignment]

DRAFT, READY = "tmp", "ready"
_UMASK = threading.Lock()
_UNFINISHED: set[Place] = set()
_OPEN = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_CREATE = _OPEN | os.O_CREAT | os.O_EXCL


class Place:
    """A file to be. What is at the target now stays until `take_name`.

    `secret` ones are for their owner's eyes only; the ending may also be `READY` or `TURN`.
    """

    def __init__(self, target: str, *, secret: bool = False, ending: str = DRAFT) -> None:
        self.target = target
        self._folder = os.path.dirname(target) or "."
        self._hidden = ending == READY and not secret
        self._size = 0
        self.owed = False  # whether it must stay, whatever happens: nothing else is left of what it was made of
        self.thread = threading.get_ident()
        with Unbroken(), self._told():
            check_target(target)
            # The umask takes its share of what is public.
            self.draft, self._descriptor = _draft(target, ending, 0o600 if secret or self._hidden else 0o666)
            _UNFINISHED.add(self)

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of the system, in words."""
        try:
            yield
        except FileError:
            raise
        except OSError as error:
            raise write_error(error, self.target, self._folder, self._size) from error

    @property
    def mark(self) -> str:
        """Which file it is; that stays when the file takes its name."""
        return mark_of(self._descriptor)

    @property
    def locked(self) -> bool:
        """Whether its disk has locks: then nobody takes it for a leftover while this process lives."""
        return lock(self._descriptor) is True

    def reserve(self, size: int) -> None:
        """Prove that this many bytes can be written, by allocating them now."""
        self._size = size
        with self._told():
            try:
                os.posix_fallocate(self._descriptor, 0, size)
            except (AttributeError, OSError) as problem:
                if getattr(problem, "errno", errno.EOPNOTSUPP) not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
                    raise
                with os.fdopen(self._descriptor, "wb", closefd=False) as file:
                    file.write(bytes(size))  # this disk takes no promises, only bytes
            os.fsync(self._descriptor)

    def fill(self, data: bytes) -> None:
        """Write exactly these bytes to the disk."""
        self._size = len(data)
        with self._told():
            with os.fdopen(self._descriptor, "wb", closefd=False) as file:
                file.seek(0)
                file.write(data)
                file.truncate()
            os.fsync(self._descriptor)

    def open(self) -> BinaryIO:
        """The draft as a file object, for what is written piece by piece."""
        return os.fdopen(os.dup(self._descriptor), "wb")

    def sync(self) -> None:
        """What was written piece by piece, to the disk."""
        with self._told():
            os.fsync(self._descriptor)

    def take_name(self) -> None:
        """Become the target. The lock stays until `close`."""
        with self._told():
            if self._hidden:
                _publish(self._descriptor, self.draft)
            if os.name == "nt":
                os.close(self._descriptor)
                self._descriptor = -1
            os.replace(self.draft, self.target)
            self.draft = ""
            sync_folder(self._folder)

    def close(self) -> None:
        """Let go; a draft that has not taken its name is removed, unless it is owed."""
        with Unbroken():
            if self.draft and not self.owed:
                with contextlib.suppress(OSError):
                    os.unlink(self.draft)
                self.draft = ""
            descriptor = self.give_lock()
            if descriptor >= 0:
                with contextlib.suppress(OSError):
                    os.close(descriptor)

    def set_aside(self) -> None:
        """Give a complete draft that could not take its name a visible one instead."""
        stem, ending = os.path.splitext(self.target)
        name = f"{stem}-{secrets.token_hex(4)}{ending}"
        with contextlib.suppress(OSError):
            os.rename(self.draft, name)
            self.draft = name

    def give_lock(self) -> int:
        """The open, locked file, which is the caller's to close from now on."""
        descriptor, self._descriptor = self._descriptor, -1
        _UNFINISHED.discard(self)
        return descriptor


def unfinished() -> set[Place]:
    """The drafts that this thread is at work on."""
    return {place for place in tuple(_UNFINISHED) if place.thread == threading.get_ident()}


def write_whole(target: str, data: bytes | Callable[[str], bytes], *, secret: bool = False) -> None:
    """Write the bytes to the target, or change nothing, whenever a signal arrives.

    A function gets the mark of the file that it will be, and makes the bytes.
    """
    with Unbroken():
        place = Place(target, secret=secret)
        try:
            place.fill(data(place.mark) if callable(data) else data)
            place.take_name()
        finally:
            place.close()


# ---- leftovers of killed runs ----


def leftovers(target: str) -> list[str]:
    """Drafts for this target that nobody is writing any more."""
    return [path for path in beside(target) if not alive(path)]


def beside(target: str, ending: str = "") -> list[str]:
    """All drafts for this target, or those that end so."""
    with contextlib.suppress(OSError), os.scandir(os.path.dirname(target) or ".") as entries:
        begin = _prefix(target)
        return sorted(one.path for one in entries if one.name.startswith(begin) and one.name.endswith(ending))
    return []


def clear(path: str) -> bool:
    """Remove a draft, if its process is gone."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, _OPEN)
        try:
            if lock(descriptor):  # kept until it is gone: nobody can begin to use it
                if os.name == "nt":
                    os.close(descriptor)
                    descriptor = -1
                os.unlink(path)
                return True
        finally:
            if descriptor >= 0:
                os.close(descriptor)
    return False


def clear_leftovers(target: str) -> int:
    """Remove what killed runs left for this target, but for whole releases that a secret file is pledged for."""
    return sum(clear(path) for path in leftovers(target) if not path.endswith(f".{READY}"))


def alive(path: str) -> bool:
    """Whether a process is still at work on a draft (or on any file that is locked while in use)."""
    try:
        descriptor = os.open(path, _OPEN)
    except FileNotFoundError:
        return False
    except OSError:
        return True  # not ours: leave it alone
    try:
        return not lock(descriptor)
    finally:
        os.close(descriptor)


def lock(descriptor: int) -> bool | None:
    """Take the lock of an open file; False if another process has it, None if this disk knows no locks."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


# ---- steps ----


def _prefix(target: str) -> str:
    name = os.path.basename(target)
    return f".scumble-{hashlib.sha256(os.fsencode(name)).hexdigest()[:12]}-"


def _draft(target: str, ending: str, mode: int) -> tuple[str, int]:
    """A new file next to the target, locked."""
    folder = os.path.dirname(target) or "."
    while True:
        path = os.path.join(folder, f"{_prefix(target)}{secrets.token_hex(6)}.{ending}")
        descriptor = os.open(path, _CREATE, mode)
        try:
            # Until here somebody may have taken it for a leftover: then begin anew.
            if lock(descriptor) is not False and os.fstat(descriptor).st_nlink:
                return path, descriptor
        except BaseException:
            os.close(descriptor)
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise
        os.close(descriptor)


def _publish(descriptor: int, path: str) -> None:
    """Give the file the permissions of any new file, which the umask decides."""
    with _UMASK:  # it can be read only by setting it
        mask = os.umask(0o077)
        os.umask(mask)
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, 0o666 & ~mask)
    else:
        os.chmod(path, 0o666 & ~mask)


def check_target(target: str) -> None:
    """Refuse a target that a rename must not replace, such as a device or a pipe, or could not replace."""
    folder = os.path.dirname(target) or "."
    try:
        about = os.lstat(target)
    except FileNotFoundError:
        return
    if stat.S_ISDIR(about.st_mode):
        raise FileError(f"Cannot write {target!r}: it is a folder. Hint: give the file a name in it.")
    if not (_leads_to_a_file(target) if stat.S_ISLNK(about.st_mode) else stat.S_ISREG(about.st_mode)):
        raise FileError(f"Cannot write {target!r}: it is not a regular file. Hint: '-' is standard output.")
    if hasattr(os, "geteuid"):
        inside = os.stat(folder)
        if inside.st_mode & stat.S_ISVTX and os.geteuid() not in (0, about.st_uid, inside.st_uid):
            raise FileError(f"Cannot write {target!r}: it belongs to somebody else. Hint: choose another name.")


def _leads_to_a_file(link: str) -> bool:
    """Whether a link may be replaced: not if the system uses it to reach a stream or a device."""
    try:
        through = os.stat(link).st_mode
    except OSError:
        return True  # it leads nowhere
    system = os.path.realpath(link).startswith(("/dev/", "/proc/")) or os.path.abspath(link).startswith("/dev/")
    return stat.S_ISREG(through) and not system


def sync_folder(folder: str) -> None:
    """The new name must also reach the disk."""
    if os.name != "posix":
        return  # elsewhere a folder cannot be opened, and a rename is durable in its own way
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network disks cannot; not our failure
            raise
    finally:
        os.close(descriptor)


def write_error(error: OSError, target: str, folder: str, size: int) -> FileError:
    """Why a file could not be written, and what to do."""
    kind: type[FileError] = FileError
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        reason = "the disk is full" if error.errno != errno.EFBIG else "files of this size are not allowed here"
        hint = f"it needs {size:,} bytes; a file that was there before is untouched"
    elif error.errno == errno.ENOENT and os.path.isdir(folder):  # as of /proc
        reason, hint = f"the folder {folder!r} takes no files, or lost this one", "try again, or choose another"
    elif error.errno == errno.ENOENT:
        kind, reason, hint = MissingFileError, f"the folder {folder!r} does not exist", "make it first"
    elif error.errno == errno.ENAMETOOLONG:
        reason, hint = "its name is too long", "choose a shorter one"
    else:
        reason = (error.strerror or type(error).__name__).lower()
        hint = "check that the folder can be written to"
    problem = kind(f"Cannot write {target!r}: {reason}. Hint: {hint}.")
    problem.errno = error.errno
    return problem


_HERE, _BIRTH = 0x1000, 0x800  # AT_EMPTY_PATH, STATX_BTIME
_MASK, _SECONDS = struct.Struct("=I"), struct.Struct("=qI")
_BIRTH_AT, _SIZE = 80, 256  # bytes: where `stx_btime` is in `struct statx`, and how large that is


def mark_of(descriptor: int) -> str:
    """Identifies this file within its file system; a copy or a successor has another mark."""
    about = os.fstat(descriptor)
    born = _born(descriptor) if sys.platform == "linux" else getattr(about, "st_birthtime", None)
    return f"{about.st_ino}" if born is None else f"{about.st_ino} of {born}"


def _born(descriptor: int) -> str | None:
    """When the file was created, which Python's `stat` does not report on Linux; None if unknown."""
    ask = getattr(ctypes.CDLL(None), "statx", None)
    answer = ctypes.create_string_buffer(_SIZE)
    if ask is None or ask(descriptor, b"", _HERE, _BIRTH, answer) != 0 or not _MASK.unpack_from(answer)[0] & _BIRTH:
        return None
    seconds, nanoseconds = _SECONDS.unpack_from(answer, _BIRTH_AT)
    return f"{seconds}.{nanoseconds:09}"


# ---- a file that one process goes on from ----


def followed(path: str | os.PathLike[str]) -> str:
    """Where a symbolic link leads; any other path as it was given, which is what messages name."""
    return os.path.realpath(path) if os.path.islink(path) else os.fspath(path)


class Owned:
    """A file that this process alone goes on from: its lock passes from each version of it to the next.

    Of an `only` file no version may live on under another name: two would go on with one noise. So one that has a hard
    link, or was moved, is not written, and the version before is emptied. Symbolic links are followed at the beginning.
    """

    def __init__(self, path: str | os.PathLike[str], *, only: bool = False) -> None:
        self.path = followed(path)
        self._only = only
        self._lock = -1
        self._next: Place | None = None

    def take(self) -> bool:
        """Lock the file, if there is one; False if another has it."""
        while self._lock < 0:
            try:
                descriptor = os.open(self.path, _OPEN)
            except OSError:
                return True  # none, or none that could be written to: its reader will say so
            if lock(descriptor) is False:
                os.close(descriptor)
                return False
            self._lock = descriptor
            if not self._mine():
                self.let_go()  # it is another file by now: look again
        return True

    def reserve(self, size: int) -> None:
        """Prove that a next version of this many bytes can be written, by allocating it now."""
        with Unbroken():
            self._next = Place(self.path, secret=True)
        self._next.reserve(size)

    def write(self, data: bytes | Callable[[str], bytes]) -> bool:
        """The next version, for its owner's eyes only; False, and nothing changed, if another process has put a file
        there, or if an `only` one was moved or linked."""
        if os.path.lexists(self.path) and not self._mine():
            return False
        if self._only and self._lock >= 0 and (not self._mine() or os.fstat(self._lock).st_nlink != 1):
            return False
        with Unbroken():
            place, self._next = self._next or Place(self.path, secret=True), None
            try:
                place.fill(data(place.mark) if callable(data) else data)
                place.take_name()
            except BaseException:
                place.close()
                raise
            if self._only and self._lock >= 0:
                os.ftruncate(self._lock, 0)
            self.let_go()
            self._lock = place.give_lock()
        return True

    @property
    def locked(self) -> bool:
        """Whether this process has the lock: not where there is no file, or a disk without locks."""
        return self._lock >= 0 and lock(self._lock) is True

    def _mine(self) -> bool:
        try:
            return self._lock >= 0 and os.path.samestat(os.fstat(self._lock), os.lstat(self.path))
        except FileNotFoundError:
            return False

    def let_go(self) -> None:
        """Release the file to other processes."""
        if self._next is not None:
            self._next.close()
        descriptor, self._lock = self._lock, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        self.let_go()


# ---- turns at one name ----


TURN = "turn"
OLD = 60.0
"""Seconds after which a claim that nobody can lock is a leftover, as its own disk counts them."""
PATIENCE = 120.0
"""Seconds to wait for a turn."""


@contextlib.contextmanager
def in_turn(target: str) -> Iterator[None]:
    """A turn to look at the file of this name and to replace it, so that what another has just written is kept.

    A claim is an empty draft that ends in ``.turn``. A process that finds another's takes its own back and tries again;
    of any two, the one that looks last sees the other's, so never do both go on. A claim that can be locked is a
    leftover and is removed; without locks, its age decides.
    """
    last = time.monotonic() + PATIENCE
    while True:
        claim = Place(target, ending=TURN)
        if not any(_is_held(path, claim) for path in beside(target, TURN) if path != claim.draft):
            break
        claim.close()
        if time.monotonic() > last:
            raise FileError(f"Cannot write {target!r}: another process is writing it. Hint: try again later.")
        time.sleep((5 + secrets.randbelow(46)) / 1000)
    try:
        yield
    finally:
        claim.close()


def _is_held(path: str, claim: Place) -> bool:
    """Whether another claim stands; a leftover is removed."""
    if clear(path):
        return False
    try:
        age = os.stat(claim.draft).st_mtime - os.stat(path).st_mtime
    except FileNotFoundError:  # it has just been taken back
        return False
    if age <= OLD or (claim.locked and os.access(path, os.W_OK)):
        return True
    with contextlib.suppress(OSError):
        os.unlink(path)
    return False
