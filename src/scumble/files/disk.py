"""Files on the disk: written whole or not at all, and read with the reason where they cannot be."""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from scumble import checks
from scumble.errors import FileError, ForeignFileError, MissingFileError, SecretFileError
from scumble.files import places
from scumble.files.paid import forget, holds_noise, is_foreign, keep_paid, kind_at, near_file
from scumble.files.places import in_turn, mark_of
from scumble.files.reading import from_bytes, preamble, to_bytes
from scumble.files.rules import PAYMENT, SECRET_KINDS, Container, Json

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
    """Writes a file whole or not at all.

    The bytes go to a draft in the same folder, to the disk, and only then take the name (see
    :mod:`scumble.files.places`); a crash, a signal or a full disk leaves the old file as it was. Secret
    kinds (and ``secret=True``) are readable by their owner only, from the first byte on. A symbolic link at ``path`` is
    replaced by the file: what it points to is not touched, so nobody can lead a secret elsewhere.

    A file of another make is never replaced: it may be somebody's table. Another release or model, which
    was paid for, stays next to the new file under a second name, and a warning says which. Saves to one name take turns
    (:mod:`scumble.files.places`), so that this holds for what another process has just written.

    A ``bound`` file says which file it is (:mod:`scumble.files.places`). It may be moved within its file system;
    a copy is refused when it is read. What holds noise that is paid for is not replaced, but by itself (``again``).
    """
    target, data = checks.path(path), bytes_of(kind, metadata, arrays, bound=bound)
    if is_foreign(target):
        raise ForeignFileError(
            f"Cannot write {target!r}: it is there already, and is no .scumble file but something else: it would be "
            "lost. Hint: name another file, or remove that one first."
        )
    with in_turn(target):
        lost = kind not in SECRET_KINDS and kind_at(target) in SECRET_KINDS and not os.path.islink(target)
        if lost or (not again and holds_noise(target)):
            raise SecretFileError(
                f"Cannot write {target!r}: it is there already and holds exact counters or noise. "
                "Hint: name another file."
            )
        kept = keep_paid(target, lambda: b"" if bound else data(""))
        try:
            places.write_whole(target, data, secret=secret or kind in SECRET_KINDS)
        except BaseException:
            if kept is not None:
                forget(kept, target)
            raise
    if kept is not None:
        warnings.warn(
            f"{target!r} held another release or model, which was paid for and cannot be made again: it stays as "
            f"{kept!r}. Hint: remove that one if nobody needs it, or save under names of their own.",
            UserWarning,
            stacklevel=3,
        )


def bytes_of(
    kind: str, metadata: Json, arrays: Mapping[str, np.ndarray], *, bound: bool, payment: str | None = None
) -> Callable[[str], bytes]:
    """The bytes of a file with this mark; only one that is ``bound``, or has a ``payment``, cares."""

    def marked(mark: str) -> bytes:
        paid = {} if payment is None else {PAYMENT: [payment, mark]}
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
                preamble(head, about.st_size, source)  # a large foreign file is not read to its end
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
        raise SecretFileError(
            f"Cannot read {source}: it has a second name (a hard link), and its noise was drawn before its records: "
            "what is published under the two would differ by exact numbers. Hint: remove the other name."
        )
    if container.metadata.pop(BOUND, mark) != mark:
        raise SecretFileError(
            f"Cannot read {source}: it is a copy, and its noise was drawn before its records: what is published from "
            "the copy and from the original would differ by exact numbers. Hint: use the original, or begin anew."
        )
    if container.kind in SECRET_KINDS and os.name == "posix" and about.st_mode & 0o077:
        warnings.warn(
            f"{source} holds exact counters and others on this machine may read it. Hint: chmod 600 it.",
            UserWarning,
            stacklevel=3,
        )
    match container.metadata.pop(PAYMENT, None):
        case [str(payment), str(bound_to)] if bound_to == mark:
            return replace(container, payment=payment)
    return container
