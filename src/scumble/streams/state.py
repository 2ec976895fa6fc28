"""A stream's secret file: all that it goes on from, written in one step; mode 0600.

It is written when a period has been closed and the next one's noise is drawn, *before* the closed one's release is
given out: noise that is lost with a killed process nobody has seen. Two processes with one file would publish two
things with one noise, so it is locked while a stream is open and bound to its place: copies and second names are
refused.

The first version is written before the stream is charged, and says under what: a place that cannot be written costs
nothing, and a start that is killed and repeated is charged once.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Callable

import numpy as np

from scumble import files
from scumble.checks import Json
from scumble.errors import BudgetError, FileError, PrivacyError
from scumble.files import places
from scumble.files.places import Owned, in_turn

NOTE = "SECRET: exact counters and noise. Keep this file as safe as the records themselves; never copy it."


class State:
    """The one file of a stream, for this process alone until it lets go; symbolic links are followed."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = Owned(path, only=True)
        self.path = self._file.path
        self._new = False

    def claim(self) -> str:
        """Claim a place where no stream is yet, with a file that says under what the stream is charged, and no more.

        One that a killed run has left is taken over.
        """
        with in_turn(self.path):
            places.clear_leftovers(self.path)
            if self.begun() is not None:
                if not self._file.take():
                    raise self._taken()
                if (payment := self.begun()) is not None:  # now that it is locked
                    return payment
            payment = str(uuid.uuid4())
            if not self._file.write(files.bytes_of("stream", {"note": NOTE}, {}, bound=True, payment=payment)):
                raise self._taken()
            self._new = True
            return payment

    def begun(self) -> str | None:
        """Under what a start that was interrupted is charged; None if there is no file. Any other file is refused."""
        with contextlib.suppress(FileError):
            if (payment := files.read(self.path, expect="stream").payment) is not None:
                return payment
        if not os.path.lexists(self.path):
            return None
        self.let_go()
        hint = "Hint: choose another name, or scumble stream append (scumble.load_stream)."
        raise PrivacyError(f"There is a file {self.path!r} already, and a stream begins with its own. {hint}")

    def reserve(self, metadata: Json, arrays: dict[str, np.ndarray]) -> None:
        """Prove that a next version of this size can be written."""
        self._file.reserve(len(self._bytes(metadata, arrays)("0" * 64)))

    def read(self) -> files.Container:
        """Take the file, and read it."""
        if not self._file.take():
            raise self._taken()
        places.clear_leftovers(self.path)
        try:
            found = files.read(self.path, expect="stream")
            if found.payment is not None:
                raise BudgetError(f"The stream in {self.path!r} has not begun. Hint: start it again; that is free.")
            return found
        except BaseException:
            self.let_go()
            raise

    def write(self, metadata: Json, arrays: dict[str, np.ndarray]) -> None:
        """The next version, whole or not at all."""
        if not self._file.write(self._bytes(metadata, arrays)):
            hint = "Hint: put it back where it was, with one name."
            raise BudgetError(f"The stream's file {self.path!r} was moved or replaced, or has a second name. {hint}")

    @staticmethod
    def _bytes(metadata: Json, arrays: dict[str, np.ndarray]) -> Callable[[str], bytes]:
        return files.bytes_of("stream", {"note": NOTE, **metadata}, arrays, bound=True)

    def _taken(self) -> BudgetError:
        return BudgetError(f"Another process is at work on the stream in {self.path!r}. Hint: wait for it.")

    def let_go(self, *, withdraw: bool = False) -> None:
        """Others may go on from it; a place that this process claimed, and where nothing has begun, is given up."""
        if withdraw and self._new:
            with contextlib.suppress(OSError):
                os.unlink(self.path)
        self._file.let_go()
