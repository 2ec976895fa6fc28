"""Layer 1: ε from below. Many releases of two neighbouring tables; what happens too often in one of them?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scumble.audit.bounds import excess
from scumble.audit.events import Events
from scumble.audit.report import Finding
from scumble.audit.samples import Samples
from scumble.privacy.claim import PrivacyClaim

PILOT = 0.1
"""Share of the releases that only serve to choose the events."""

Promise = tuple[float, float]
"""(ε, δ)."""


def promises_of(claim: PrivacyClaim) -> list[Promise]:
    """All that a claim promises and that releases in their thousands can show to be false.

    A δ of 1e-6 is beyond any such audit. But a claim promises a whole curve, (ε′, δ′) with far larger δ′ and smaller
    ε′, and noise that is too small breaks it there as well.

    >>> from scumble.privacy import calibrate
    >>> [(round(e, 2), d) for e, d in promises_of(calibrate(40, epsilon=1, delta=1e-6).claim)]
    [(1.0, 1e-06), (0.33, 0.01), (0.09, 0.06)]
    """
    found = [(claim.epsilon, claim.delta)]
    for delta in (0.01, 0.06, 0.2):
        if delta > claim.delta:
            epsilon = claim.equivalent(delta)
            if epsilon > 1e-6:
                found.append((epsilon, delta))
    return found


def epsilon_finding(
    here: Samples,
    there: Samples,
    promises: Sequence[Promise],
    *,
    alpha: float,
    exact: tuple[np.ndarray, np.ndarray] | None = None,
) -> Finding:
    """Whether the releases of two neighbours keep all the promises, for all events, in both directions.

    `alpha` is the probability that a mechanism which keeps them is accused.
    """
    first = max(1, int(PILOT * len(here)))
    (pilot_here, here), (pilot_there, there) = here.split(first), there.split(first)
    events = Events((pilot_here, pilot_there), exact)
    seen = [{name: int(happened.sum()) for name, happened in events(part)} for part in (here, there)]
    names, trials = list(seen[0]), len(here)
    k, other = (np.array(list(part.values())) for part in seen)
    each = alpha / (len(names) * len(promises) * 2)
    worst, shown = ("", 0.0, 0.0, 0.0), 0.0
    for number, (epsilon, delta) in enumerate(promises):
        for a, b in ((k, other), (other, k)):
            over, certain = excess(a, b, trials, epsilon, delta, each)
            i = int(np.argmax(over))
            if over[i] > 0.0 and over[i] > worst[1]:
                worst = names[i], float(over[i]), epsilon, delta
            if number == 0:
                shown = max(shown, float(certain.max()))
    claimed, delta = promises[0]
    values: dict[str, object] = {
        "claimed_epsilon": claimed,
        "claimed_delta": delta,
        "epsilon_at_least": shown,
        "events": len(names),
        "releases": trials,
    }
    told = f"{len(names)} events in 2 × {trials:,} releases show that ε is at least {shown:.3g}; claimed {claimed:.4g}"
    if delta:
        told += f" with δ = {delta:.3g}"
    if worst[0]:
        values["event"] = worst[0]
        told += f". Broken: (ε, δ) = ({worst[2]:.3g}, {worst[3]:.3g}) by the event “{worst[0]}”"
    return Finding(1, "neighbouring tables", not worst[0], told, values)
