"""From counters to a release on disk: at every moment, one of them exists whole.

The order, for every verb that draws noise (``pledges.proof.md`` has the argument)::

    1  reserve     room for the release, of its full size, and for the note         nothing is charged if it fails
    2  sign        the secret file, locked, says which draft the release will be,   one process, one draft
                   and under what it is charged                                     one charge, also of two runs
    3  draw        the ledger is charged, then noise is drawn                       the budget is spent here
    4  fill        the release, whole, to the disk                                  from here on it exists
    5  empty       the note takes the secret file's name: the counters are gone
    6  name        the release takes its name

From 2 to 6 signals wait; after 6 they are no failure. The next run finds what a killed one left: before 4 the counters
are whole and the pledge is void, and noise is drawn anew for the same charge; after it the release is whole and is
taken as it is.

A release is paid for and cannot be made again, so none is lost: a new one under the same name leaves the old one in
place, as ``people.1.scumble``.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import sys
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from scumble import files
from scumble.cli.options import Settings
from scumble.cli.output import say
from scumble.cli.terminal import tell
from scumble.density.loading import release_in
from scumble.density.spec import Spec
from scumble.errors import BudgetError, FileError, PrivacyError, ScumbleError
from scumble.files import places
from scumble.files.interrupts import Unbroken, finish
from scumble.files.places import READY, Owned, Place, in_turn
from scumble.gate.pledges import identity_of, left_release, pledge
from scumble.gate.secret import Secret

if TYPE_CHECKING:
    from scumble.show.cards import AnyRelease

Note = Callable[[str, Settings], bytes]
"""What takes a secret file's place: made of the release's identity and the pledge."""


def room(spec: Spec, releases: int = 1) -> int:
    """The most bytes that a file of so many releases takes."""
    header = len(str(spec.to_dict()))
    return releases * (8 * math.prod(spec.counters) + 128 * spec.rows + 4 * header + 3072) + 1024


class Handover:
    """A release's way to --out, a file of at most `size` bytes or "-".

    `secret` is the file whose counters are released and then gone, `note` what takes its place, and `asked` the budget.
    """

    def __init__(
        self, out: str, size: int, *, secret: str | None = None, note: Note | None = None, asked: Settings | None = None
    ) -> None:
        self.out, self._make_note, self._asked = out, note, asked or {}
        self._release: Place | None = None
        self._note: Place | None = None
        with Unbroken():
            try:
                if secret is not None and note is not None:
                    self._note = Place(secret, secret=True)
                    # What goes to standard output waits next to the secret until it has been taken.
                    self._release = Place(secret if out == "-" else out, ending=READY)
                    self._note.reserve(len(note("0" * 36, self.pledge)) + 512)
                elif out != "-":
                    self._release = Place(out)
                if self._release is not None:
                    self._release.reserve(size)
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        """Let go of what was reserved and is not needed."""
        with Unbroken():
            for place in (self._note, self._release):
                if place is not None:
                    place.close()

    @property
    def pledge(self) -> Settings:
        """What the secret file says from now on."""
        return {} if self._release is None else pledge(self._release.draft, self._asked, self.out)

    def make(
        self, draw: Callable[[Settings], AnyRelease], *, put_back: Callable[[BaseException], object] = lambda _: None
    ) -> tuple[AnyRelease, int]:
        """Steps 2 to 6; gives the release and its size. `draw` gets the pledge, signs, and draws."""
        drawn = False
        try:
            with Unbroken() as steps:
                try:
                    release = draw(self.pledge)
                    data = release.to_bytes()
                    if self._release is not None:
                        self._release.fill(data)
                        self._release.owed = True
                except BaseException as problem:
                    put_back(problem)
                    raise
                drawn = True
                if self._note is not None and self._make_note is not None:
                    self._note.fill(self._make_note(_identity(release), self.pledge))
                    self._note.take_name()
                if self.out != "-" and self._release is not None:
                    with replacing(self.out, data):
                        self._release.take_name()
                    steps.finish(f"{self.out} was already written and is complete.")
            if self.out == "-":  # a pipe may make us wait, and signals act meanwhile
                _pour(data)
        except (OSError, KeyboardInterrupt) as problem:
            if not drawn:
                raise
            raise self._found_in(problem, release) from None
        if self._release is not None:
            self._release.owed = False
        return release, len(data)

    def _found_in(self, problem: BaseException, release: AnyRelease) -> BaseException:
        """The same trouble, and where the release is."""
        if self.out != "-" and self._release is not None and not self._release.draft:
            words = f"{self.out} was already written and is complete."
        elif self._note is not None and self._release is not None:
            words = f"The release is whole in {self._release.draft!r}; run the same command again to take it."
        else:
            words = f"The release is whole in {self._set_aside(release)!r}."
        if isinstance(problem, FileError):
            return FileError(f"{str(problem).split(' Hint:')[0]} Hint: {words[0].lower()}{words[1:]}")
        if isinstance(problem, OSError):
            problem.strerror = f"{problem.strerror}. Hint: {words[0].lower()}{words[1:-1]}"
        else:
            problem.args = (words,)
        return problem

    def _set_aside(self, release: AnyRelease) -> str:
        """A visible name for a release that is paid for but has no place."""
        if self._release is not None:
            self._release.set_aside()
            return self._release.draft
        name = f"release-{_identity(release)[:8]}.scumble"
        release.save(name)
        return name


def _pour(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
    finish("The release was already written to standard output and is complete.")


def _identity(release: AnyRelease) -> str:
    """Which release it is; of a bundle, the first."""
    one = release if hasattr(release, "identity") else next(iter(release.values()))
    return str(one.identity)


def finished(metadata: Settings, out: str) -> tuple[AnyRelease, int] | None:
    """The release at `out` and its size, if a note says that its counters became this very one."""
    if "released" not in metadata or out == "-":
        return None
    try:
        container = files.read(out, expect=files.RELEASES)
    except FileError:
        return None
    if identity_of(container) != metadata["released"]:
        return None
    finish(f"{out} was already written and is complete.")
    return release_in(container), os.path.getsize(out)


class Part:
    """A secret part that this process alone may release, by whatever name its name is.

    Links are followed: what counts is the file. Its lock is this process's until the end, and the file that takes its
    place is locked before it does.
    """

    def __init__(self, path: str) -> None:
        self._file = Owned(os.path.realpath(path))
        self.path = self._file.path
        if not self._file.take():
            raise BudgetError(f"{self.path!r} is being released by another process. Hint: query that release.")
        try:
            if os.path.isfile(path) and os.stat(path).st_nlink > 1:
                raise PrivacyError(
                    f"{path!r} has several names, of which a release empties one. Hint: remove the rest."
                )
            self.container = files.read(self.path, expect="secret")
            if not self._file.locked:
                raise FileError(
                    f"Cannot lock {self.path!r}, so it could be released twice. Hint: move it to a local disk of yours."
                )
        except BaseException:
            self.close()
            raise
        self._payment = self.container.payment or str(uuid.uuid4())

    def close(self) -> None:
        """Let go of the secret file."""
        self._file.let_go()

    # ---- its states ----

    def sign(self, pledged: Settings, secret: Secret) -> None:
        """Counters, pledge and payment, in one file."""
        self._rewrite({**self.container.metadata, **pledged}, self._payment)
        secret.payment = self._payment

    def put_back(self, problem: BaseException) -> None:
        """The counters as they were: no noise has been given out. What was not refused may have been charged."""
        refused = isinstance(problem, ScumbleError) and not isinstance(problem, FileError)
        metadata = {key: value for key, value in self.container.metadata.items() if key != "pledge"}
        with contextlib.suppress(FileError, BudgetError):  # a pledge without a whole draft is void anyway
            self._rewrite(metadata, self.container.payment if refused else self._payment)

    def _rewrite(self, metadata: Settings, payment: str | None) -> None:
        bound, arrays = "noise_first" in metadata, self.container.arrays
        if not self._file.write(files.bytes_of("secret", metadata, arrays, bound=bound, payment=payment)):
            raise BudgetError(f"Another process has put a file at {self.path!r}. Hint: query its release.")

    @staticmethod
    def note(identity: str, pledged: Settings) -> bytes:
        """What remains of a part: which release it became."""
        return files.to_bytes("secret", {"released": identity, **pledged}, {})

    def left(self, asked: Settings) -> Left | None:
        """The release that a killed run made of this part, if it is whole; refused if another budget is asked for."""
        found = Left.of(self.container.metadata, self.path, self.note)
        if found is not None and self.container.metadata["pledge"].get("asked") != asked:
            raise BudgetError(
                f"A killed run has released it as {found.identity!r} into {found.path!r}. Hint: ask for its budget."
            )
        return found


class Left:
    """A whole release that a killed run did not bring to its place."""

    def __init__(self, path: str, container: files.Container, metadata: Settings, secret: str, note: Note) -> None:
        self.path, self.container, self.identity = path, container, identity_of(container)
        self._metadata, self._secret, self._note = metadata, secret, note

    @staticmethod
    def of(metadata: Settings, secret: str, note: Note) -> Left | None:
        """What a killed run left of this secret, or None."""
        found = left_release(metadata, secret)
        return None if found is None else Left(*found, metadata, secret, note)

    def take(self, out: str) -> tuple[AnyRelease, int]:
        """Bring it to its place, and empty its secret if that was not yet done; gives the release and its size."""
        if places.alive(self.path):
            raise BudgetError(f"{self._secret!r} is being released by another process. Hint: wait for it.")
        with open(self.path, "rb") as file:
            data = file.read()
        with Unbroken() as steps:
            if "released" not in self._metadata:
                note = self._note(self.identity, {"pledge": self._metadata["pledge"]})
                places.write_whole(self._secret, note, secret=True)
            if out != "-":
                with replacing(out, data):
                    places.write_whole(out, data)
                places.clear(self.path)
                steps.finish(f"{out} was already written and is complete.")
        if out == "-":
            _pour(data)
            places.clear(self.path)
        return release_in(self.container), len(data)


# ---- what an output's name holds already ----


@contextlib.contextmanager
def set_apart(args: argparse.Namespace, verb: str) -> Iterator[None]:
    """Give what is at --out a second name, before anything is spent, and say so; if the work fails, take it back."""
    kept = None
    if args.out != "-" and files.is_paid(args.out):
        name = files.kept_as(args.out)
        with in_turn(args.out):
            kept = files.keep_paid(args.out)
        say(args, f"{args.out} already exists: it is kept as {kept or name}, and this {verb} is paid for separately.")
    try:
        yield
    except BaseException:
        if kept is not None:
            with in_turn(args.out):
                files.forget(kept, args.out)
            if not os.path.lexists(kept):
                say(args, f"Nothing took the place of {args.out}: it keeps its name alone.")
        raise


@contextlib.contextmanager
def replacing(out: str, data: bytes) -> Iterator[None]:
    """A turn to give these bytes their name; the file that has it stays, if it was paid for and is not the very same.

    `set_apart` does so before a budget is spent; this covers what was written later, and what costs nothing.
    """
    if out == "-":
        yield
        return
    with in_turn(out):
        kept = files.keep_paid(out, lambda: data)
        if kept is not None:
            tell(f"{out} already exists: it is kept as {kept}.")
        yield


def tidy(target: str, *, takes: bool = False) -> Iterator[str]:
    """Clear what killed runs left for a file; says what. With `takes`, the verb will look after whole releases."""
    removed = 0
    for left in places.leftovers(target):
        if left.endswith(f".{places.READY}"):
            try:
                files.read(left, expect=files.RELEASES)
            except FileError:
                pass
            else:
                if not takes:
                    yield f"A killed run left its complete release in {left!r}. Run the same command to get it."
                continue
        removed += places.clear(left)
    if removed:
        count = "an unfinished file" if removed == 1 else f"{removed} unfinished files"
        yield f"Removed {count} that a killed run had left for {target!r}."
