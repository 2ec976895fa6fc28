"""What an audit found, for people and for programs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

Options = dict[str, Any]
"""Values by name: parameters to call something with, or JSON."""
LAYERS = {1: "ε from below", 2: "the noise's law", 3: "sensitivity"}
"""The three questions, in the order in which the report answers them."""


@dataclass(frozen=True)
class Finding:
    """The outcome of one group of tests, each of which fails by chance within the audit's false-alarm rate."""

    layer: int
    name: str
    passed: bool
    detail: str
    values: Options = field(default_factory=dict)


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
        """Whether nothing was found. That is not a proof: a small enough flaw escapes every audit."""
        return all(finding.passed for finding in self.findings)

    @property
    def violations(self) -> tuple[Finding, ...]:
        """The findings that failed."""
        return tuple(finding for finding in self.findings if not finding.passed)

    def to_dict(self) -> Options:
        """JSON values."""
        found = [{**asdict(finding), "question": LAYERS[finding.layer]} for finding in self.findings]
        return {"subject": self.subject, "passed": self.passed, "false_alarm": self.false_alarm, "findings": found}

    def __str__(self) -> str:
        lines = [f"Audit of {self.subject}"]
        for layer, question in LAYERS.items():
            mine = [finding for finding in self.findings if finding.layer == layer]
            if mine:
                for verdict, detail in _lines(mine):
                    lines.append(f"{f'{layer}  {question}':<18}  {verdict:<4}  {detail}")
        rate = f"one of {round(1 / self.false_alarm):,} audits"
        if self.passed:
            lines.append(f"No violation found. A correct mechanism is accused in at most {rate}.")
        else:
            failed = f"{len(self.violations)} of {len(self.findings)} groups of tests failed"
            lines.append(f"VIOLATION: {failed}. By chance that happens in at most {rate}.")
        return "\n".join(lines)


def _lines(findings: list[Finding]) -> list[tuple[str, str]]:
    """What failed, one line each; and what passed, in one line."""
    failed = [("FAIL", f"{finding.name}: {finding.detail}") for finding in findings if not finding.passed]
    well = [finding for finding in findings if finding.passed]
    if len(well) == 1:
        return [*failed, ("ok", f"{well[0].name}: {well[0].detail}")]
    if well:
        names = dict.fromkeys(finding.name for finding in well)
        return [*failed, ("ok", f"{len(well)} groups of tests: {', '.join(names)}")]
    return failed
