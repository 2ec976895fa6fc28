"""The grey-box audit: paths that end in a release, on neighboring tables, with the noise played back.

Here are the registry of paths and the audit of one path by :mod:`scumble.audit.replay`; ``neighbors.py`` makes the
tables. ``sketches.py`` registers every kind of release under every promise. The tests add sources, estimators, the
command line and Spark, and look for what ends in a release and is not registered.

>>> report = audit_paths("Sketch.release, pure")
>>> report.passed, len(report.paths)
(True, 1)
"""

from __future__ import annotations

import fnmatch
import logging
import sys
import tempfile
import uuid
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path as Folder
from typing import Any
from unittest import mock

import numpy as np

from scumble.audit.greybox.neighbors import Pair, Table, pairs
from scumble.audit.replay import Session, compare, used
from scumble.audit.report import Options
from scumble.density.bundle import Bundle
from scumble.density.release import Release
from scumble.errors import CuratorWarning, DataError, ParameterError
from scumble.gate import spending
from scumble.learn.moment_release import MomentRelease
from scumble.privacy import audit_hooks
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.composition import overlapping
from scumble.table.release import TableRelease

RELEASES = Release | Bundle | TableRelease | MomentRelease
HEADING = "pairs  calls  claim used  path"

# ---- the registry ----

Run = Callable[..., Any]
"""A path: from a table, an empty folder and its options to what is published, one thing or a list of them.
A `PrivacyClaim` in the list covers what has none of its own, such as a text."""

BUDGETS: dict[str, Options] = {
    "pure": {"epsilon": 1.0},
    "gaussian": {"epsilon": 1.0, "delta": 1e-3},
    "replace": {"epsilon": 1.0, "neighbors": "replace"},
    "gaussian replace": {"epsilon": 1.0, "delta": 1e-3, "neighbors": "replace"},
    "rho": {"rho": 0.02},
    "mu": {"mu": 0.2, "delta": 1e-5},
    "persons": {"epsilon": 1.0, "records_per_person": 3},
    "gaussian persons": {"epsilon": 1.0, "delta": 1e-3, "records_per_person": 3},
}
"""Every kind of promise. In small sketches Gaussian noise is the quieter only if δ is large."""


@dataclass(frozen=True)
class Path:
    """A way that ends in a release, and the neighbors it must bear."""

    name: str
    run: Run
    takes: frozenset[str] = frozenset()
    """The traits of the neighbors that it can be given, in addition to the plain ones."""
    neighbors: str = "add-remove"
    people: int = 1
    public: tuple[str, ...] = ()
    """Facts that its user declares public: only neighbors that agree in them count."""
    strict: bool = False
    """Whether one record may cause a `DataError`, `ParameterError` or `ValueError` (`invalid="error"`)."""
    few: int | None = 8
    """How many pairs to take, evenly spread; None for all."""
    forbidden: bool = False
    """Whether the library should refuse this path. Then it may publish nothing at all."""

    def pairs(self) -> list[Pair]:
        """The neighboring tables to try."""
        relation = "replace" if "count" in self.public else self.neighbors
        found = [
            pair
            for pair in pairs(relation, people=self.people)
            if pair.trait in ("plain", *self.takes)
            and all(_fact(fact, pair.here) == _fact(fact, pair.there) for fact in self.public)
        ]
        if self.few is None:
            return found
        chosen = found[:: max(1, len(found) // self.few)][: self.few]
        return chosen + [pair for pair in found if pair.records > 1 and pair not in chosen]

    @property
    def allowance(self) -> int:
        """How many steps apart the tables are, each within the claim: a replaced record is one removed and one added.

        So many steps cost as many times ε, and the square of that times ρ (Bun & Steinke 2016, Proposition 1.9).
        """
        return 2 if self.neighbors == "add-remove" and "count" in self.public else 1


def _fact(name: str, table: Table) -> object:
    if name == "count":
        return len(table)
    if name == "classes":
        return sorted({str(record["label"]) for record in table})
    cells = [[record[column] for record in table] for column in {"bounds": "xy", "target_bounds": "z"}[name]]
    return [(min(column, default=0), max(column, default=0)) for column in cells]


PATHS: dict[str, Path] = {}


def path(
    name: str, *takes: str, each: Mapping[str, Mapping[str, Any]] | None = None, **promise: Any
) -> Callable[[Run], Run]:
    """Register a function as a path, or with `each` as one path for every set of options, whose name replaces ``{}``.

    `neighbors`, `records_per_person` and `public` among the options are the path's promise. Under "replace" no record
    may be dropped, so paths are strict.
    """

    def register(run: Run) -> Run:
        for title, options in ({"": {}} if each is None else each).items():
            known = {"neighbors": options.get("neighbors", "add-remove"), "public": options.get("public", ())}
            known |= {"people": options.get("records_per_person", 1), **promise}
            known.setdefault("strict", known["neighbors"] == "replace")
            called = name.format(title).strip()
            if called in PATHS:
                raise ValueError(f"there are two paths {called!r}")
            PATHS[called] = Path(called, partial(run, **options), frozenset(takes), **known)
        return run

    return register


def all_paths() -> dict[str, Path]:
    """Every registered path that this machine can run."""
    from scumble.audit.greybox import sketches  # noqa: F401 - it registers itself

    return PATHS


# ---- verdicts ----


@dataclass
class Verdict:
    """What the audit of one path has shown."""

    path: str
    pairs: int = 0
    calls: int = 0
    share: float = 0.0
    """The largest part of the claim that a pair took: 1 is all of it."""
    refused: int = 0
    """Pairs of which one table was refused, as documented."""
    findings: list[str] = field(default_factory=list)

    def to_dict(self) -> Options:
        """The verdict as plain values, for JSON."""
        return {**vars(self), "passed": not self.findings}

    def __str__(self) -> str:
        line = f"{self.pairs:>5}  {self.calls:>5}  {self.share:>10.0%}  {self.path}"
        return "\n".join([line, *(f"    FAIL  {finding}" for finding in self.findings)])


@dataclass(frozen=True)
class Report:
    """All verdicts. It prints itself as a table; `to_dict` is the same for programs."""

    paths: tuple[Verdict, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not any(verdict.findings for verdict in self.paths)

    def to_dict(self) -> Options:
        """JSON values."""
        return {"passed": self.passed, "paths": [verdict.to_dict() for verdict in self.paths]}

    @property
    def summary(self) -> str:
        """All of it in a line."""
        bad = sum(bool(verdict.findings) for verdict in self.paths)
        if bad:
            return f"VIOLATION: {bad} of {len(self.paths)} paths break their promise."
        paths = "1 path" if len(self.paths) == 1 else f"{len(self.paths)} paths"
        return f"{paths}, {sum(verdict.pairs for verdict in self.paths):,} pairs of tables: no violation found."

    def __str__(self) -> str:
        return "\n".join([HEADING, *map(str, self.paths), self.summary])


def audit_paths(pattern: str = "*", show: Callable[[object], None] = lambda _: None) -> Report:
    """Audit all paths whose names match a shell pattern; `show` gets the heading, and each verdict as it is reached."""
    found = [path for name, path in all_paths().items() if fnmatch.fnmatchcase(name, pattern)]
    if not found:
        raise ParameterError(f"No path's name matches {pattern!r}. Hint: '*sketch*', or leave it out for all.")
    show(HEADING)
    verdicts = []
    for path in found:
        verdicts.append(audit_path(path))
        show(verdicts[-1])
    return Report(tuple(verdicts))


def audit_path(path: Path, pairs: Iterable[Pair] | None = None) -> Verdict:
    """Run one path on pairs of neighbors, its own unless others are given."""
    verdict = Verdict(path.name)
    chosen = path.pairs() if pairs is None else list(pairs)
    in_pairs = Counter(id(table) for pair in chosen for table in (pair.here, pair.there))
    recorded: dict[int, Outcome] = {}
    for pair in chosen:
        verdict.pairs += 1
        # Being neighbors is mutual: the table that more pairs share is recorded, once for all of them.
        first, second = sorted((pair.here, pair.there), key=lambda table: -in_pairs[id(table)])
        if id(first) not in recorded:
            recorded[id(first)] = run(path.run, first)
        here = recorded[id(first)]
        for finding in _judge(path, here, run(path.run, second, before=here.session), verdict):
            verdict.findings.append(f"{pair.name}: {finding}")
    if not verdict.calls and not path.forbidden:
        verdict.findings.append("nothing was published with any table: this path audits nothing")
    return verdict


def _judge(path: Path, here: Outcome, there: Outcome, verdict: Verdict) -> Iterator[str]:
    if here.refused != there.refused:
        refusals = [one.refusal for one in (here, there) if one.refusal is not None]
        if path.strict and all(isinstance(one, DataError | ParameterError | ValueError) for one in refusals):
            verdict.refused += 1
        else:
            yield f"one table is refused, {_short(here.refused)}, the other {_short(there.refused)}"
        return
    played = compare(here.session, there.session)
    verdict.calls = max(verdict.calls, played.calls)
    yield from played.problems
    if here.said != there.said:
        yield f"warnings or log lines differ: {_short(here.said)}, but {_short(there.said)}"
    if not played.problems and here.published != there.published:
        yield "what is published differs beyond its noise"
    if here.claim != there.claim:
        yield "the claim itself depends on the record"
    if here.claim is None:
        if here.refused is None and played.calls:
            yield "something noisy is published without a claim"
        return
    share = used(here.claim, played.epsilon / path.allowance, played.rho / path.allowance**2)
    verdict.share = max(verdict.share, share)
    if share > 1.0:
        yield f"{share:.3g} times the claim is spent ({here.claim})"


def _short(what: object) -> str:
    text = "not" if what is None else str(what)
    return text if len(text) <= 160 else text[:157] + "..."


# ---- one run under watch ----


@dataclass
class Outcome:
    """What one run came to."""

    session: Session
    published: list[bytes] = field(default_factory=list)
    claim: PrivacyClaim | None = None
    said: list[str] = field(default_factory=list)
    refused: str | None = None
    refusal: BaseException | None = None


def run(path: Run, table: Table, before: Session | None = None) -> Outcome:
    """Run a path on a table, recording; or playing back what an earlier session recorded.

    Compared are the bytes of what is published, warnings, log lines, and an exception's type and text. Exempt is what
    is for the curator alone: standard error, `CuratorWarning`, and attributes that `dir` does not show.
    """
    outcome = Outcome(Session(before))
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        for watched in (_alone(), _listening(outcome.said), audit_hooks.watching(outcome.session)):
            stack.enter_context(watched)
        try:
            things = path(table, Folder(folder))
        except Exception as problem:
            outcome.refusal = problem
            outcome.refused = f"{type(problem).__name__}: {problem}".replace(folder, "…")
        else:
            things = things if isinstance(things, list) else [things]
            outcome.published = [public_bytes(thing) for thing in things if not isinstance(thing, PrivacyClaim)]
            outcome.claim = claim_of(things)
    outcome.said[:] = [line.replace(folder, "…") for line in outcome.said]
    return outcome


def public_bytes(thing: Any) -> bytes:
    """Everything about a thing that its curator may give away; of a fitted estimator also what a notebook shows."""
    if isinstance(thing, bytes):
        return thing
    if isinstance(thing, RELEASES):
        return thing.to_bytes()
    if isinstance(thing, np.ndarray) and thing.dtype != object:
        return f"{thing.dtype}{thing.shape}".encode() + thing.tobytes()
    if isinstance(thing, list | tuple):
        return b"".join(map(public_bytes, thing))
    if not hasattr(thing, "privacy_"):
        return repr(thing).encode()
    from scumble.learn import models

    learnt = [name for name in dir(thing) if name.endswith("_") and not name.startswith("_")]
    return models.to_bytes(thing) + b"".join(name.encode() + public_bytes(getattr(thing, name)) for name in learnt)


def claim_of(things: Iterable[Any]) -> PrivacyClaim | None:
    """The claim for all of it together: claims add up, and copies of one release count once."""
    claims: dict[str, PrivacyClaim] = {}
    for k, thing in enumerate(things):
        if isinstance(thing, PrivacyClaim):
            claims[f"thing {k}"] = thing
        elif isinstance(thing, RELEASES):
            claims[getattr(thing, "identity", f"thing {k}")] = thing.privacy
        elif not isinstance(thing, bytes | str):
            claims[f"thing {k}"] = thing.privacy_
    return overlapping(claims.values()) if claims else None


@contextmanager
def _alone() -> Iterator[None]:
    """Runs differ in the table alone: a function's k-th UUID is always the same, and what is spent is forgotten."""
    asked: Counter[str] = Counter()

    def known() -> uuid.UUID:
        code = sys._getframe(1).f_code
        asked[code.co_qualname] += 1
        return uuid.uuid5(uuid.NAMESPACE_OID, f"{code.co_filename} {code.co_qualname} {asked[code.co_qualname]}")

    with (
        mock.patch("uuid.uuid4", known),
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
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        said.extend(f"{one.category.__name__}: {one.message}" for one in caught if one.category is not CuratorWarning)
    finally:
        logger.removeHandler(handler)
