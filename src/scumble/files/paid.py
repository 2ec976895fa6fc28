"""What was paid for is not lost: a file whose name another one takes stays next to it, as ``people.1.scumble``.

A release or a model cannot be made again: its noise was drawn once, and its cost stays spent. Scripts write the same
name again and again all the same, and the newest has it; so the file that was there gets a second name first. Secret
files get none, for what they hold is to be in one place: another secret file may replace one, a public one may not.
"""

from __future__ import annotations

import contextlib
import difflib
import itertools
import json
import os
import stat
from collections.abc import Callable

import numpy as np

from scumble.errors import FileError, nearest
from scumble.files.places import write_error
from scumble.files.reading import from_bytes
from scumble.files.rules import KINDS, MAGIC, MAX_HEADER, PAYMENT, SECRET_KINDS


def is_paid(path: str) -> bool:
    """Whether a file at this name was paid for, and would be lost with it: what a link leads to stays."""
    there = os.path.isfile(path) and not os.path.islink(path)
    return there and is_ours(path) and kind_at(path) not in SECRET_KINDS


def keep_paid(path: str, data: Callable[[], bytes] = bytes) -> str | None:
    """The new name under which the file at `path` stays when other bytes take its place; None if nothing is lost.

    So it is where nothing paid is there, and where the new file holds all of it or it has a second name already.
    """
    if not is_paid(path):
        return None
    with open(path, "rb") as old:
        if _holds(data(), old.read()):
            return None
    name, new = _second(path)
    return name if new else None


def _holds(new: bytes, old: bytes) -> bool:
    """Whether a file holds all that another one does: it may have more arrays, such as the draws of a table."""
    if new == old or not new:
        return new == old
    try:
        mine, its = (from_bytes(data, expect=tuple(KINDS)) for data in (new, old))
    except FileError:
        return False
    arrays = all(name in mine.arrays and np.array_equal(mine.arrays[name], its.arrays[name]) for name in its.arrays)
    return arrays and (mine.kind, mine.metadata) == (its.kind, its.metadata)


def kept_as(path: str) -> str:
    """The name that the file at `path` would stay under: the first that is free, or the one that it has."""
    root, ending = os.path.splitext(path)
    return next(name for number in itertools.count(1) if _is_for(path, name := f"{root}.{number}{ending}"))


def _is_for(path: str, name: str) -> bool:
    return not os.path.lexists(name) or _is_alike(path, name)


def _is_alike(path: str, name: str) -> bool:
    return os.path.isfile(name) and _same(path, name)


def forget(name: str, path: str) -> None:
    """Take a second name back, if the first still leads to the same: what was to replace it could not be written."""
    with contextlib.suppress(OSError):
        if _same(name, path):
            os.unlink(name)


def _second(path: str) -> tuple[str, bool]:
    """A second name for a file, and whether it is new: a run that did not come to an end may have given it one."""
    while True:
        name = kept_as(path)
        if _is_alike(path, name):
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
    """A copy, to be read by whom the file may be read by; whole, or not at all."""
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
        if os.path.getsize(one) != os.path.getsize(other):
            return False
        with open(one, "rb") as first, open(other, "rb") as second:
            return first.read() == second.read()
    return False


def is_foreign(path: str | os.PathLike[str]) -> bool:
    """Whether a file that is not scumble's would be lost under this name.

    A link is replaced itself, and what it leads to stays; an empty file is a name that somebody reserved.
    """
    there = os.path.isfile(path) and not os.path.islink(path) and os.path.getsize(path) > 0
    return there and not is_ours(path)


def is_ours(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as scumble's do, be it damaged, secret or of a later version."""
    try:
        with open(path, "rb") as file:
            return file.read(8 + len(MAGIC))[8:] == MAGIC
    except OSError:
        return False


def kind_at(path: str | os.PathLike[str]) -> str | None:
    """The kind that a file of scumble's calls itself; None if it is none, or too damaged to say."""
    if not os.path.isfile(path):  # a pipe would make us wait
        return None
    try:
        with open(path, "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            kind = json.loads(file.read(min(size, MAX_HEADER)))["__metadata__"]["kind"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return kind if isinstance(kind, str) and kind in KINDS else None


def holds_noise(path: str | os.PathLike[str]) -> bool:
    """Whether a file holds what is paid for and not yet published: a stream, a share, noise drawn first, a charge."""
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
    return PAYMENT in found or any(isinstance(one, dict) and one.get("finished") is False for one in firsts)


def near_file(path: str, like: Callable[[str], object]) -> str:
    """A question after a name that is not there: of the files next to it that are `like` it, the one with a near name;
    or nothing.

    Ends are not compared, for all that are like have one: ``nofile.csv`` is not near to ``one.csv``, and ``people.csv``
    is near to ``people.parquet``.
    """
    folder, name = os.path.split(path)
    try:
        beside = sorted(one for one in os.listdir(folder or ".") if one != name and like(one))
    except (OSError, ValueError):
        return ""
    stems: dict[str, list[str]] = {}
    for one in beside:
        stems.setdefault(_stem(one), []).append(one)
    stem = nearest(_stem(name), stems)
    if stem is None:
        return ""
    found = max(stems[stem], key=lambda one: difflib.SequenceMatcher(None, one, name).ratio())
    return f" Did you mean {os.path.join(folder, found)!r}?"


def _stem(name: str) -> str:
    """A name without its ends, of which it may have two.

    >>> _stem("people.csv.gz"), _stem(".hidden")
    ('people', '.hidden')
    """
    return name[:1] + name[1:].partition(".")[0]
