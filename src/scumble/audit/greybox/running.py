"""One run of a path under watch: what it publishes, what it claims, what it says, and whether it is refused.

Two runs on neighbouring tables can be compared to the byte because nothing else differs between them: releases get the
same identities, and what one run has spent does not bind the next. Each run has a folder of its own, with another name:
a path of this machine in a published file would show.

What is compared: the bytes of all that is published, standard output of commands included; warnings; log lines; and an
exception's type and words. What is exempt: standard error of commands, which is the curator's own, and the same words
in Python, a `CuratorWarning`; and what the documentation calls the curator's alone and `dir` does not show
(`PrivateEstimator.clipped_`).
"""

from __future__ import annotations

import io
import logging
import sys
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from scumble.audit.replay import Session
from scumble.bundle import Bundle
from scumble.cli import main
from scumble.errors import CuratorWarning
from scumble.moments.release import MomentRelease
from scumble.privacy import seam
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.composition import overlapping
from scumble.release import Release
from scumble.releasing import spending
from scumble.tabular.release import TableRelease

Run = Callable[[Any, Path], Any]
"""A path: from a table and an empty folder to what is published, one thing or a list of them. A `PrivacyClaim` among
them is for what has none of its own, such as a text."""


@dataclass
class Outcome:
    """What one run came to."""

    session: Session
    published: list[bytes] = field(default_factory=list)
    claim: PrivacyClaim | None = None
    said: list[str] = field(default_factory=list)
    refused: str | None = None
    refusal: BaseException | None = None


def run(path: Run, table: Any, before: Session | None = None) -> Outcome:
    """Run a path on a table, recording; or playing back what an earlier session recorded."""
    outcome = Outcome(Session(before))
    with (
        tempfile.TemporaryDirectory() as folder,
        _same_identities(),
        _nothing_spent(),
        _listening(outcome.said),
        seam.watching(outcome.session),
    ):
        try:
            things = path(table, Path(folder))
        except Exception as problem:
            outcome.refusal = problem
            outcome.refused = f"{type(problem).__name__}: {problem}"
        else:
            things = things if isinstance(things, list) else [things]
            outcome.published = [public_bytes(thing) for thing in things if not isinstance(thing, PrivacyClaim)]
            outcome.claim = claim_of(things)
        outcome.said[:] = [_placeless(line, folder) for line in outcome.said]
        outcome.refused = outcome.refused and _placeless(outcome.refused, folder)
    return outcome


def _placeless(text: str, folder: str) -> str:
    return text.replace(folder, "…")


# ---- what is published ----


def public_bytes(thing: Any) -> bytes:
    """Everything about a thing that its curator may give away."""
    if isinstance(thing, bytes):
        return thing
    if isinstance(thing, str):
        return thing.encode()
    if isinstance(thing, Release | Bundle | TableRelease | MomentRelease):
        return thing.to_bytes()
    from scumble.learn import saving

    return saving.to_bytes(thing) + b"".join(_learnt(thing))


def _learnt(model: Any) -> Iterator[bytes]:
    """All that a fitted estimator shows, in a notebook too, beyond what its file holds."""
    for name in dir(model):
        if name.endswith("_") and not name.startswith("_"):
            yield name.encode() + _plain(getattr(model, name))


def _plain(value: Any) -> bytes:
    if isinstance(value, Release | Bundle | TableRelease | MomentRelease):
        return value.to_bytes()
    if isinstance(value, np.ndarray) and value.dtype != object:
        return f"{value.dtype}{value.shape}".encode() + value.tobytes()
    if isinstance(value, list | tuple):
        return b"".join(map(_plain, value))
    return repr(value).encode()


def claim_of(things: Iterable[Any]) -> PrivacyClaim | None:
    """What the curator would say of all of it together: claims add up, and copies of one release count once."""
    claims: dict[str, PrivacyClaim] = {}
    for k, thing in enumerate(things):
        if isinstance(thing, PrivacyClaim):
            claims[f"thing {k}"] = thing
        elif isinstance(thing, Release | TableRelease | MomentRelease):
            claims[thing.identity] = thing.privacy
        elif not isinstance(thing, bytes | str):
            claims[f"thing {k}"] = thing.privacy if isinstance(thing, Bundle) else thing.privacy_
    return overlapping(claims.values()) if claims else None


# ---- two runs that differ in nothing but the table ----


@contextmanager
def _same_identities() -> Iterator[None]:
    """The k-th UUID that a function asks for is the same in every run."""
    asked: dict[str, int] = {}

    def known() -> uuid.UUID:
        code = sys._getframe(1).f_code
        asked[code.co_qualname] = asked.get(code.co_qualname, 0) + 1
        return uuid.uuid5(uuid.NAMESPACE_OID, f"{code.co_filename} {code.co_qualname} {asked[code.co_qualname]}")

    with mock.patch("uuid.uuid4", known):
        yield


@contextmanager
def _nothing_spent() -> Iterator[None]:
    """What a run has spent is forgotten after it: the tables are synthetic."""
    with (
        mock.patch.dict(spending._SPENT, clear=True),
        mock.patch.dict(spending._PUBLISHED, clear=True),
        mock.patch.object(spending, "_FILTERED_BY_HAND", []),
    ):
        yield


@contextmanager
def _listening(said: list[str]) -> Iterator[None]:
    """Warnings that are not for the curator alone, and log lines, go into `said`."""
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("scumble")
    logger.addHandler(handler)
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            yield
        said.extend(f"{one.category.__name__}: {one.message}" for one in told if one.category is not CuratorWarning)
    finally:
        logger.removeHandler(handler)


# ---- commands ----


def command(words: list[str], folder: Path, standard_input: bytes = b"") -> bytes:
    """Run a command line of scumble; gives its exit code and standard output, which are public."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf8", write_through=True)
    given = io.TextIOWrapper(io.BytesIO(standard_input), encoding="utf8")
    with (
        mock.patch("sys.stdin", given),
        mock.patch("scumble.sources.formats._STDIN", []),
        redirect_stdout(out),
        redirect_stderr(io.StringIO()),
    ):
        code = main(words)
    shown = out.buffer.getvalue()
    return f"{code}\n".encode() + shown.replace(str(folder).encode(), b"")
