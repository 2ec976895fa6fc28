"""What an audit found, for people and for programs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

LAYERS = {1: "ε from below", 2: "the noise's law", 3: "sensitivity"}
"""The three questions, in the order in which the report answers them."""


@dataclass(frozen=True)
class Finding:
    """The outcome of one group of tests.

    `passed` is False if a test of the group failed although it fails with a probability of at most the audit's
    false-alarm rate if all is well. `detail` says what was looked at and what was seen.
    """

    layer: int
    name: str
    passed: bool
    detail: str
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """All findings of an audit. It prints itself; `to_dict` is the same for programs.

    >>> report = Report("a mechanism", 1e-6, (Finding(1, "events", True, "ε is at least 0.8; claimed 1"),))
    >>> report.passed
    True
    >>> print(report)
    Audit of a mechanism
    1  ε from below     ok    events: ε is at least 0.8; claimed 1
    No violation found. A correct mechanism is accused in at most one of 1,000,000 audits.
    """

    subject: str
    false_alarm: float
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing was found. That is no proof: a small enough flaw escapes every audit."""
        return all(finding.passed for finding in self.findings)

    @property
    def violations(self) -> tuple[Finding, ...]:
        """The findings that failed."""
        return tuple(finding for finding in self.findings if not finding.passed)

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        found = [{**asdict(finding), "question": LAYERS[finding.layer]} for finding in self.findings]
        return {"subject": self.subject, "passed": self.passed, "false_alarm": self.false_alarm, "findings": found}

    def __str__(self) -> str:
        lines = [f"Audit of {self.subject}"]
        before = 0
        for finding in self.findings:
            question = f"{finding.layer}  {LAYERS[finding.layer]}" if finding.layer != before else ""
            before = finding.layer
            verdict = "ok" if finding.passed else "FAIL"
            lines.append(f"{question:<18}  {verdict:<4}  {finding.name}: {finding.detail}")
        if self.passed:
            rate = f"A correct mechanism is accused in at most one of {round(1 / self.false_alarm):,} audits."
            lines.append(f"No violation found. {rate}")
        else:
            lines.append(
                f"VIOLATION: {len(self.violations)} of {len(self.findings)} groups of tests failed. "
                f"By chance that happens in at most one of {round(1 / self.false_alarm):,} audits."
            )
        return "\n".join(lines)
