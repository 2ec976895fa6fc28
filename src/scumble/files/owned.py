"""A file that one process goes on from: whoever has its lock, and nobody else, writes the next version of it."""

from __future__ import annotations

import os
from collections.abc import Callable

from scumble.files.interrupts import Unbroken
from scumble.files.places import Place, lock

_OPEN = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def followed(path: str | os.PathLike[str]) -> str:
    """Where a symbolic link leads; any other path as it was given, which is what messages name."""
    return os.path.realpath(path) if os.path.islink(path) else os.fspath(path)


class Owned:
    """A file that this process alone goes on from: its lock passes from each version of it to the next.

    Of a file that is the `only` one no version may live on under another name: two of them would go on with one noise.
    So one that has a second name (a hard link), or is not where it was, is not written; and the version before is
    emptied, whatever else leads to it. Symbolic links are followed once, at the beginning: `path` is the file itself.
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
                return True  # none, or none that could be written to: whoever reads it will say so
            if lock(descriptor) is False:
                os.close(descriptor)
                return False
            self._lock = descriptor
            if not self._mine():
                self.let_go()  # it is another file by now: look again
        return True

    def reserve(self, size: int) -> None:
        """Prove that a next version of so many bytes can be written, by taking the room now."""
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

    def _mine(self) -> bool:
        try:
            return self._lock >= 0 and os.path.samestat(os.fstat(self._lock), os.lstat(self.path))
        except FileNotFoundError:
            return False

    def let_go(self) -> None:
        """Others may go on from it."""
        if self._next is not None:
            self._next.close()
        descriptor, self._lock = self._lock, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        self.let_go()
