"""What a secret file says about the release that is being made of it.

A secret part (or a build's checkpoint) goes through three states, each one whole file under one name::

    counters              may be released
    counters + pledge     a run has claimed it, and will write the release to the draft that the pledge names; the
                          payment (:mod:`scumble.files.disk`) under which the release is charged is with it
    released              a note: which release it was, its draft and its file; the counters are gone

A pledge whose draft is not a whole release is void: nothing was published, and the counters are there. A pledge or note
whose draft is whole leads to the release. ``pledges.proof.md`` discusses each state.
"""

from __future__ import annotations

import os
import re

from scumble import files
from scumble.checks import Json
from scumble.errors import BudgetError, FileError, ScumbleError

_DRAFT = re.compile(r"\.scumble-[0-9a-f]{12}-[0-9a-f]{12}\.ready")


def pledge(draft: str, asked: Json, out: str) -> Json:
    """The draft that will hold the whole release, its final name, and the request."""
    return {"pledge": {"ready": os.path.abspath(draft), "out": os.path.abspath(out), "asked": asked}}


def became(metadata: Json) -> str:
    """The release that a note names, with its file if that is still there."""
    identity = metadata["released"]
    try:
        path = metadata["pledge"]["out"]
        there = identity_of(files.read(path, expect=files.RELEASES)) == identity
    except (KeyError, TypeError, ScumbleError):
        there = False
    return f"{path!r} ({identity})" if there else repr(identity)


def left_release(metadata: Json, secret: str | None = None) -> tuple[str, files.Container] | None:
    """The whole release that a pledge leads to: its path (as pledged, or in the secret file's folder) and content."""
    try:
        ready = metadata["pledge"]["ready"]
        if not _DRAFT.fullmatch(os.path.basename(ready)):
            return None
    except (KeyError, TypeError):
        return None
    beside = [] if secret is None else [os.path.join(os.path.dirname(secret), os.path.basename(ready))]
    for path in (ready, *beside):
        try:
            return path, files.read(path, expect=files.RELEASES)
        except FileError:
            continue
    if "released" not in metadata and not os.path.isdir(os.path.dirname(ready)):
        folder = os.path.dirname(ready)
        raise BudgetError(
            f"A killed run may have released this part into {folder!r}, which is gone. Hint: mount it, or make it."
        )
    return None


def identity_of(container: files.Container) -> str:
    """The identity of a release; for a bundle, of its first."""
    data = container.metadata
    return str((data["releases"][0] if container.kind == "bundle" else data)["identity"])


def require_free(metadata: Json) -> None:
    """Refuse counters that were released by a run that was killed before it could record this."""
    left = left_release(metadata)
    if left is not None:
        path, container = left
        hint = "Hint: run `scumble release` again with the same budget to take it."
        raise BudgetError(f"A killed run released this part as {identity_of(container)!r}, whole in {path!r}. {hint}")
