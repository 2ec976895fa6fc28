"""The grey-box audit: every path that ends in a release, on neighbouring tables, with the noise played back.

:mod:`scumble.audit.replay` has the method. ``paths.py`` is the registry, and the other modules fill it:
``sketches.py``, ``steps.py``, ``planned.py``, ``moments.py``, ``tabular.py``, ``building.py``, ``streaming.py``,
``estimators.py``, ``verbs.py`` and ``clusters.py``. ``neighbors.py`` makes synthetic tables, ``forms.py`` puts them
into every form that is read, ``running.py`` runs a path under watch, and ``coverage.py`` finds paths that nobody has
registered.

>>> report = audit_paths("Sketch.release, pure")
>>> report.passed, len(report.paths)
(True, 1)
"""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from scumble.audit.greybox.neighbors import Pair
from scumble.audit.greybox.paths import PATHS, Path
from scumble.audit.greybox.running import Outcome, run
from scumble.audit.replay import compare, used
from scumble.errors import DataError, ParameterError

REFUSALS = (DataError, ParameterError, ValueError)
"""What a path that is strict may raise because of one record."""


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

    def to_dict(self) -> dict[str, Any]:
        """The verdict as plain values, for JSON."""
        return {**vars(self), "passed": not self.findings}


@dataclass(frozen=True)
class Report:
    """All verdicts. It prints itself as a table; `to_dict` is the same for programs."""

    paths: tuple[Verdict, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not any(verdict.findings for verdict in self.paths)

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        return {"passed": self.passed, "paths": [verdict.to_dict() for verdict in self.paths]}

    def __str__(self) -> str:
        width = max((len(verdict.path) for verdict in self.paths), default=4)
        lines = [f"{'path':<{width}}  pairs  calls  claim used"]
        for one in self.paths:
            lines.append(f"{one.path:<{width}}  {one.pairs:>5}  {one.calls:>5}  {one.share:>10.0%}")
            lines += [f"    FAIL  {finding}" for finding in one.findings]
        bad = sum(1 for verdict in self.paths if verdict.findings)
        tried = sum(verdict.pairs for verdict in self.paths)
        told = f"VIOLATION: {bad} of {len(self.paths)} paths break their promise."
        paths = "1 path" if len(self.paths) == 1 else f"{len(self.paths)} paths"
        lines.append(told if bad else f"{paths}, {tried:,} pairs of tables: no violation found.")
        return "\n".join(lines)


def all_paths() -> dict[str, Path]:
    """Every registered path that this machine can run."""
    # They register themselves.
    from scumble.audit.greybox import (  # noqa: F401
        building,
        clusters,
        estimators,
        moments,
        planned,
        sketches,
        steps,
        streaming,
        tabular,
        verbs,
    )

    return PATHS


def audit_paths(pattern: str = "*") -> Report:
    """Audit all paths whose names match a shell pattern."""
    found = [path for name, path in all_paths().items() if fnmatch.fnmatchcase(name, pattern)]
    if not found:
        raise ParameterError(f"No path's name matches {pattern!r}. Hint: '*sketch*', or leave it out for all.")
    return Report(tuple(audit_path(path) for path in found))


def audit_path(path: Path, pairs: Iterable[Pair] | None = None) -> Verdict:
    """Run one path on pairs of neighbours, its own unless others are given."""
    verdict = Verdict(path.name)
    chosen = path.pairs() if pairs is None else list(pairs)
    in_pairs = Counter(id(table) for pair in chosen for table in (pair.here, pair.there))
    recorded: dict[int, Outcome] = {}
    for pair in chosen:
        verdict.pairs += 1
        # To be neighbours is mutual, so either may be recorded: the one that more pairs share, once for all of them.
        first, second = sorted((pair.here, pair.there), key=lambda table: -in_pairs[id(table)])
        if id(first) not in recorded:
            recorded[id(first)] = run(path.run, first)
        here = recorded[id(first)]
        there = run(path.run, second, before=here.session)
        _judge(path, pair, here, there, verdict)
    if not verdict.calls and not path.forbidden:
        verdict.findings.append("nothing was published with any table: this path audits nothing")
    return verdict


def _judge(path: Path, pair: Pair, here: Outcome, there: Outcome, verdict: Verdict) -> None:
    def found(what: str) -> None:
        verdict.findings.append(f"{pair.name}: {what}")

    if here.refused != there.refused:
        refusals = [one.refusal for one in (here, there) if one.refusal is not None]
        if path.strict and all(isinstance(one, REFUSALS) for one in refusals):
            verdict.refused += 1
            return
        found(f"one table is refused, {_short(here.refused)}, the other {_short(there.refused)}")
        return
    played = compare(here.session, there.session)
    verdict.calls = max(verdict.calls, played.calls)
    for problem in played.problems:
        found(problem)
    if here.said != there.said:
        found(f"warnings or log lines differ: {_short(here.said)}, but {_short(there.said)}")
    if not played.problems and here.published != there.published:
        found("what is published differs beyond its noise")
    if here.claim != there.claim:
        found("the claim itself depends on the record")
    if here.claim is None:
        if here.refused is None and played.calls:
            found("something noisy is published without a claim")
        return
    share = used(here.claim, played.epsilon, played.rho) / path.allowance
    verdict.share = max(verdict.share, share)
    if share > 1.0:
        found(f"{share:.3g} times the claim is spent ({here.claim})")


def _short(what: Any) -> str:
    text = "not" if what is None else str(what)
    return text if len(text) <= 160 else text[:157] + "..."
