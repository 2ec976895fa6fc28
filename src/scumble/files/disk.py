"""Files on disk: written whole or not at all, and read, or refused with the reason.

A release or a model cannot be made again: its noise was drawn once, and its cost stays spent. So when another file
takes its name, it stays next to it, as ``people.1.scumble``. A secret file never gets a second name, because its
content must exist only once: another secret file may replace it, a public one may not.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from scumble import checks
from scumble.checks import Json
from scumble.errors import FileError, ForeignFileError, MissingFileError, SecretFileError, nearest, warn
from scumble.files import format
from scumble.files.format import Container, from_bytes, to_bytes
from scumble.files.places import in_turn, mark_of, write_error, write_whole

OURS = (".scumble", ".secret")
"""How names of our files usually end."""

BOUND = "bound_to"
"""The metadata of a bound file: which file it is."""


def write(
    path: str | os.PathLike[str],
    kind: str,
    metadata: Json,
    arrays: Mapping[str, np.ndarray],
    *,
    secret: bool = False,
    bound: bool = False,
    again: bool = False,
) -> None:
    """Writes a file whole or not at all (:mod:`scumble.files.places`).

    Secret kinds (and ``secret=True``) are readable by their owner only, from the first byte on. A symbolic link at
    ``path`` is replaced by the file. A file that is not scumble's is never replaced. Another release or model, which
    was paid for, stays next to the new file under a second name, with a warning; saves to one name take turns.

    A ``bound`` file says which file it is. It may be moved within its file system; a copy is refused when it is read.
    What holds noise that is paid for is not replaced, except by itself (``again``).
    """
    target, data = checks.path(path), bytes_of(kind, metadata, arrays, bound=bound)
    if is_foreign(target):
        raise ForeignFileError(
            f"Cannot write {target!r}: it already exists and is not a .scumble file. Hint: name another file."
        )
    with in_turn(target):
        lost = kind not in format.SECRET_KINDS and kind_at(target) in format.SECRET_KINDS and not os.path.islink(target)
        if lost or (not again and holds_noise(target)):
            raise SecretFileError(
                f"Cannot write {target!r}: it already exists and holds exact counters or noise. Hint: name another."
            )
        kept = keep_paid(target, lambda: b"" if bound else data(""))
        try:
            write_whole(target, data, secret=secret or kind in format.SECRET_KINDS)
        except BaseException:
            if kept is not None:
                forget(kept, target)
            raise
    if kept is not None:
        warn(f"{target!r} held another release or model, which was paid for and stays: it is kept as {kept!r}.")


def bytes_of(
    kind: str, metadata: Json, arrays: Mapping[str, np.ndarray], *, bound: bool, payment: str | None = None
) -> Callable[[str], bytes]:
    """The bytes of a file with this mark; only one that is ``bound``, or has a ``payment``, cares."""

    def marked(mark: str) -> bytes:
        paid = {} if payment is None else {format.PAYMENT: [payment, mark]}
        return to_bytes(kind, {**metadata, **paid, **({BOUND: mark} if bound else {})}, arrays)

    return marked


def read(path: str | os.PathLike[str], *, expect: str | tuple[str, ...]) -> Container:
    """Reads a file of the expected kind, or refuses with an error that says why."""
    target = checks.path(path)
    source = repr(target)
    try:
        # Without O_NONBLOCK a named pipe would keep us waiting for ever.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(target, flags | getattr(os, "O_BINARY", 0))
        try:
            about, mark = os.fstat(descriptor), mark_of(descriptor)
            if stat.S_ISDIR(about.st_mode):
                raise ForeignFileError(f"Cannot read {source}: it is a folder, not a file. Hint: name a file in it.")
            if not stat.S_ISREG(about.st_mode):
                raise ForeignFileError(f"Cannot read {source}: it is not a regular file.")
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                head = file.read(256)
                format.preamble(head, about.st_size, source)  # a large foreign file is not read to its end
                file.seek(0)
                data = file.read()
        finally:
            os.close(descriptor)
    except FileError:
        raise
    except FileNotFoundError as error:
        guess = near_file(os.fsdecode(target), lambda name: name.endswith(OURS))
        missing = MissingFileError(f"Cannot read {source}: there is no such file.{guess} Hint: check the path.")
        missing.errno = error.errno
        raise missing from None
    except OSError as error:
        problem = FileError(f"Cannot read {source}: {(error.strerror or type(error).__name__).lower()}.")
        problem.errno = error.errno
        raise problem from error
    container = from_bytes(data, expect=expect, source=source)
    if BOUND in container.metadata and about.st_nlink > 1:
        raise SecretFileError(f"Cannot read {source}: it has a second name; its noise is used once. Hint: remove one.")
    if container.metadata.pop(BOUND, mark) != mark:
        raise SecretFileError(f"Cannot read {source}: it is a copy; its noise is used once. Hint: use the original.")
    if container.kind in format.SECRET_KINDS and os.name == "posix" and about.st_mode & 0o077:
        warn(f"{source} holds exact counters and others on this machine may read it. Hint: chmod 600 it.")
    match container.metadata.pop(format.PAYMENT, None):
        case [str(payment), str(bound_to)] if bound_to == mark:
            return replace(container, payment=payment)
    return container


# ---- what is at a name already ----


def is_paid(path: str) -> bool:
    """Whether replacing this name would lose a file that was paid for. (A link's target stays.)"""
    there = os.path.isfile(path) and not os.path.islink(path)
    return there and is_ours(path) and kind_at(path) not in format.SECRET_KINDS


def keep_paid(path: str, data: Callable[[], bytes] = bytes) -> str | None:
    """Give the file at `path` a second name before other bytes replace it; the name, or None if nothing would be lost.

    Nothing is lost if it was not paid for, if the new file contains all of it, or if it has a second name already.
    """
    if not is_paid(path):
        return None
    with open(path, "rb") as old:
        if _holds(data(), old.read()):
            return None
    name, new = _second(path)
    return name if new else None


def _holds(new: bytes, old: bytes) -> bool:
    """Whether a file contains everything in another: it may have more arrays, such as the draws of a table."""
    if new == old or not new:
        return new == old
    try:
        mine, its = (from_bytes(data, expect=tuple(format.KINDS)) for data in (new, old))
    except FileError:
        return False
    arrays = all(name in mine.arrays and np.array_equal(mine.arrays[name], its.arrays[name]) for name in its.arrays)
    return arrays and (mine.kind, mine.metadata) == (its.kind, its.metadata)


def kept_as(path: str) -> str:
    """The second name of the file at `path`: the one it has, or else the first free one."""
    root, ending = os.path.splitext(path)
    names = (f"{root}.{number}{ending}" for number in itertools.count(1))
    return next(name for name in names if not os.path.lexists(name) or _same(path, name))


def forget(name: str, path: str) -> None:
    """Remove a second name again, if the first still leads to the same content: the replacement failed."""
    with contextlib.suppress(OSError):
        if _same(name, path):
            os.unlink(name)


def _second(path: str) -> tuple[str, bool]:
    """A second name for a file, and whether it is new: an interrupted run may have made one before."""
    while True:
        name = kept_as(path)
        if _same(path, name):
            return name, False
        try:
            os.link(path, name)
        except FileExistsError:
            continue
        except OSError:  # not every disk has second names
            try:
                _copy(path, name)
            except FileExistsError:
                continue
            except OSError as error:
                raise write_error(error, name, os.path.dirname(name) or ".", os.path.getsize(path)) from None
        return name, True


def _copy(path: str, name: str) -> None:
    """A copy with the same permissions; whole, or not at all."""
    with open(path, "rb") as old:
        data, mode = old.read(), stat.S_IMODE(os.fstat(old.fileno()).st_mode)
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with open(descriptor, "wb") as new:
            new.write(data)
            new.flush()
            os.fsync(new.fileno())
    except BaseException:
        os.unlink(name)
        raise


def _same(one: str, other: str) -> bool:
    """Whether two files are one, or hold the same; not if either cannot be read."""
    with contextlib.suppress(OSError):
        if not os.path.isfile(other) or os.path.getsize(one) != os.path.getsize(other):  # a pipe would make us wait
            return False
        with open(one, "rb") as first, open(other, "rb") as second:
            return first.read() == second.read()
    return False


def is_foreign(path: str | os.PathLike[str]) -> bool:
    """Whether replacing this name would lose a file that scumble did not write; links and empty files do not count."""
    there = os.path.isfile(path) and not os.path.islink(path) and os.path.getsize(path) > 0
    return there and not is_ours(path)


def is_ours(path: str | os.PathLike[str]) -> bool:
    """Whether a file starts like one of scumble's, even if it is damaged, secret or of a later version."""
    try:
        with open(path, "rb") as file:
            return file.read(8 + len(format.MAGIC))[8:] == format.MAGIC
    except OSError:
        return False


def kind_at(path: str | os.PathLike[str]) -> str | None:
    """The kind stated in a scumble file; None for other files and damaged headers."""
    if not os.path.isfile(path):  # a pipe would make us wait
        return None
    try:
        with open(path, "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            kind = json.loads(file.read(min(size, format.MAX_HEADER)))["__metadata__"]["kind"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return kind if isinstance(kind, str) and kind in format.KINDS else None


def holds_noise(path: str | os.PathLike[str]) -> bool:
    """Whether a file holds something paid for but not yet published: a stream, a share, early noise, or a charge."""
    kind = None if os.path.islink(path) else kind_at(path)
    if kind not in ("secret", "checkpoint"):
        return kind in ("stream", "share")
    try:
        with open(path, "rb") as file:
            found = from_bytes(file.read(), expect=kind).metadata
    except (OSError, FileError):
        return False
    sketches = found.get("sketches")
    parts = [found, *(sketches if isinstance(sketches, list) else [])]
    firsts = [one.get("noise_first") for one in parts if isinstance(one, dict)]
    return format.PAYMENT in found or any(isinstance(one, dict) and one.get("finished") is False for one in firsts)


def near_file(path: str, like: Callable[[str], object]) -> str:
    """A question after a name that is not there: which file next to it that is `like` it may be meant; or nothing.

    Ends are not compared: ``people.csv`` is near to ``people.parquet``, and ``nofile.csv`` is not to ``one.csv``.
    """
    folder, name = os.path.split(path)
    try:
        beside = sorted(one for one in os.listdir(folder or ".") if one != name and like(one))
    except (OSError, ValueError):
        return ""
    stems = {one.partition(".")[0]: one for one in reversed(beside)}
    stem = nearest(name.partition(".")[0], stems)
    return "" if stem is None else f" Did you mean {os.path.join(folder, stems[stem])!r}?"
