"""What a secret file says about the release that is being made of it.

A secret part (or a build's checkpoint) goes through three states, each of them one whole file under one name::

    counters              may be released
    counters + pledge     a run has claimed it, and will put the release into the draft that the pledge names; beside it
                          stands the payment (:mod:`scumble.files.disk`), under which the release is charged
    released              a note: which release it was, its draft and its file; the counters are gone

A pledge whose draft is not a whole release is void: nothing was given out, and the counters are there. A pledge (or a
note) whose draft is whole leads to the release. ``pledges.proof.md`` has the states one by one.
"""

from __future__ import annotations

import os
import re
from typing import Any

from scumble import files
from scumble.errors import BudgetError, FileError, ScumbleError

_DRAFT = re.compile(r"\.scumble-[0-9a-f]{12}-[0-9a-f]{12}\.ready")


def pledge(draft: str, asked: dict[str, Any], out: str) -> dict[str, Any]:
    """Where the release will be whole before it takes its name, that name, and what was asked for."""
    return {"pledge": {"ready": os.path.abspath(draft), "out": os.path.abspath(out), "asked": asked}}


def became(metadata: dict[str, Any]) -> str:
    """Which release a note says that counters became, and the file that holds it, if it is still where it was."""
    identity = metadata["released"]
    try:
        path = metadata["pledge"]["out"]
        there = identity_of(files.read(path, expect=files.RELEASES)) == identity
    except (KeyError, TypeError, ScumbleError):
        there = False
    return f"{path!r} ({identity})" if there else repr(identity)


def left_release(metadata: dict[str, Any], secret: str | None = None) -> tuple[str, files.Container] | None:
    """The whole release that a pledge leads to: its path, where it was or beside the secret file, and its content."""
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
        raise BudgetError(
            f"A run that was killed may have released this part into the folder {os.path.dirname(ready)!r}, which is "
            "not there now. Hint: mount it again; if it is gone for good with all that was in it, make it anew."
        )
    return None


def identity_of(container: files.Container) -> str:
    """Which release it is; of a bundle, the first."""
    data = container.metadata
    return str((data["releases"][0] if container.kind == "bundle" else data)["identity"])


def require_free(metadata: dict[str, Any]) -> None:
    """Refuse counters that were released by a run that was killed before it could say so."""
    left = left_release(metadata)
    if left is not None:
        path, container = left
        raise BudgetError(
            f"The part was released before, as {identity_of(container)!r}, by a run that was killed; the release is "
            f"whole in {path!r}. Hint: run `scumble release` with the same budget again, to take it."
        )
