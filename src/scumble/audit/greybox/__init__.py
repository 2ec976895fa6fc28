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
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from scumble.audit.greybox.neighbors import Pair
from scumble.audit.greybox.paths import PATHS, Path
from scumble.audit.greybox.running import Outcome, run
from scumble.audit.replay import compare, used
from scumble.errors import DataError, ParameterError

HEADING = "pairs  calls  claim used  path"
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

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        return {"passed": self.passed, "paths": [verdict.to_dict() for verdict in self.paths]}

    @property
    def summary(self) -> str:
        """All of it in a line."""
        bad = sum(1 for verdict in self.paths if verdict.findings)
        tried = sum(verdict.pairs for verdict in self.paths)
        paths = "1 path" if len(self.paths) == 1 else f"{len(self.paths)} paths"
        violation = f"VIOLATION: {bad} of {len(self.paths)} paths break their promise."
        return violation if bad else f"{paths}, {tried:,} pairs of tables: no violation found."

    def __str__(self) -> str:
        return "\n".join([HEADING, *map(str, self.paths), self.summary])


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
