"""Tests whether a mechanism keeps its privacy promise. Three layers, each of which sees what the others cannot:

1. ε from below (``epsilon.py``): what happens too often in releases of one of two neighboring tables?
2. The noise's law (``law.py``): its size, its shape, its independence, row by row.
3. Sensitivity (``sensitivity.py``): how far do hostile neighboring tables move the exact counters?

`audit` takes any *mechanism*, a callable from a data set to released whole numbers; ``mechanisms.py`` takes the release
path of a real sketch, ``greybox`` plays back the noise of paths that end in a release (``replay.py``), and
``mutants.py`` has mechanisms that the auditor must catch. ``report.py`` says what was found, ``verb.py`` is ``scumble
audit``, and ``evidence.py`` puts together what an assessor examines.
An audit can convict and cannot acquit: that ε is *at most* what is claimed is for the proofs to show.

>>> from scumble.privacy import calibrate
>>> honest = calibrate(1, epsilon=2, count_share=0)
>>> def mechanism(table):
...     return [table[0] + honest.draw_counters(1)[0]]
>>> audit(mechanism, [5], [6], honest, releases=1000).passed
True
>>> report = audit(lambda table: [table[0]], [5], [6], honest, releases=500)
>>> report.passed, report.violations[0].values["event"]
(False, 'row 0 sums up as here')
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scumble.audit.epsilon import Exact, Mechanism, Promise, Samples, collect, epsilon_finding, promises_of
from scumble.audit.law import Law, count_findings, law_findings
from scumble.audit.report import Finding, Report
from scumble.audit.sensitivity import broken_bound, sensitivity_finding
from scumble.errors import parameter
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.exact import as_count

__all__ = [
    "FALSE_ALARM",
    "Finding",
    "Law",
    "Mechanism",
    "Promise",
    "Report",
    "Samples",
    "audit",
    "broken_bound",
    "collect",
    "count_findings",
    "epsilon_finding",
    "examine",
    "full_size_findings",
    "law_findings",
    "promises_of",
    "sensitivity_finding",
]

FALSE_ALARM = 1e-6
"""The probability that a correct mechanism is accused, all tests of an audit together."""


def audit(
    mechanism: Mechanism,
    data: Any,
    neighbor: Any,
    claim: PrivacyClaim | Promise,
    *,
    releases: int = 20_000,
    exact: Exact | None = None,
    false_alarm: float = FALSE_ALARM,
    subject: str = "a mechanism",
) -> Report:
    """Release two neighboring data sets many times, and say whether the claim can be true.

    Parameters
    ----------
    mechanism : callable
        Takes a data set to whole numbers, or to a pair of them and a noisy count; it may have ``many(data, n)``.
    data, neighbor : object
        Two data sets that differ in one record (or person), as the claim has it.
    claim : PrivacyClaim or pair of float
        What is promised; a pair is (ε, δ).
    exact : pair of numpy.ndarray or None
        The two exact tables, if they are known: sharper events, and with a PrivacyClaim the noise's law too.
    """
    as_count("releases", releases, "20,000 find what matters.")
    if not 0.0 < false_alarm < 1.0:
        raise parameter("false_alarm", "between 0 and 1", false_alarm)
    samples = collect(mechanism, data, releases), collect(mechanism, neighbor, releases)
    return Report(subject, false_alarm, tuple(examine(*samples, claim, exact=exact, alpha=false_alarm)))


def examine(
    here: Samples, there: Samples, claim: PrivacyClaim | Promise, *, exact: Exact | None = None, alpha: float
) -> list[Finding]:
    """The findings of layers 1 and 2 on small releases of two neighbors."""
    promises = promises_of(claim) if isinstance(claim, PrivacyClaim) else [claim]
    if not isinstance(claim, PrivacyClaim) or exact is None or claim.scale is None:
        return [epsilon_finding(here, there, promises, alpha=alpha, exact=exact)]
    found = [epsilon_finding(here, there, promises, alpha=alpha / 2, exact=exact)]
    noise = np.concatenate([part.counts - table for part, table in zip((here, there), exact, strict=True)])
    law = Law(claim.mechanism, claim.scale)
    found += law_findings(noise, law, alpha=alpha / 4, where="small releases", full_size=False)
    if claim.count_scale is not None and here.count is not None and there.count is not None:
        parts = zip((here.count, there.count), exact, strict=True)
        drawn = np.concatenate([count - table[0].sum() for count, table in parts])
        law = Law(claim.mechanism, claim.count_scale)
        found += count_findings(drawn, law, alpha=alpha / 4, where="small releases")
    return found


def full_size_findings(samples: Samples, exact: np.ndarray, claim: PrivacyClaim, *, alpha: float) -> list[Finding]:
    """Layer 2 on a few releases of full size: `exact` is the table that all of them were made from."""
    if claim.scale is None:
        raise parameter("claim", "that of a single release", claim.combination)
    noise, law = samples.counts - exact, Law(claim.mechanism, claim.scale)
    size = f"{len(noise)} releases of {exact.shape[0]:,} × {exact.shape[1]:,}"
    return law_findings(noise, law, alpha=alpha, where=size, full_size=True)
