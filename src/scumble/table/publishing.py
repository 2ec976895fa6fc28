"""From the exact views of a table to a release: one claim, one charge, views as the plan asks for them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from scumble.errors import warn
from scumble.gate.rows import planned_claim, publish_as_planned, publish_rows
from scumble.gate.secret import Secret
from scumble.gate.spending import Prepaid
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.table.planner import Planner, with_positions
from scumble.table.release import TableRelease
from scumble.table.spec import TableSpec

COUNT_SHARE = Fraction(1, 100)


def publish(
    secret: Secret,
    spec: TableSpec,
    budget: Budget,
    payer: Account | Prepaid | None = None,
    *,
    n: int | None = None,
    keep: bool = False,
) -> TableRelease:
    """Publish the views of a table, the count and single columns first, and give up the exact counters."""
    planner = Planner(spec, budget, n)
    if n is not None and not planner.predicted(n).pairs:  # where some are measured, the card says which
        for told in planner.advice(n):
            warn(told)
    if spec.pairs:
        published = publish_as_planned(secret, budget, payer, most=planner.most, plan=planner, keep=keep)
    else:  # nothing to plan
        published = publish_rows(secret, budget, payer, shares=_shares(spec), keep=keep)
    return TableRelease(
        planner.grouped,
        np.concatenate([row.counts for row in published.rows]),
        published.privacy,
        noisy_count=published.noisy_count,
        count_variance=published.count_variance,
        identity=published.identity,
        scales=tuple(row.scale for row in published.rows),
    )


def price(spec: TableSpec, budget: Budget) -> PrivacyClaim:
    """What a release will claim, and cost: known before any record is."""
    if not spec.pairs:
        return budget.claim(spec.rows, _shares(spec))
    return planned_claim(budget, spec.rows, Planner(spec, budget).most)


def _shares(spec: TableSpec) -> list[Fraction]:
    """Where there is nothing to plan, all columns get the same."""
    shares = with_positions(spec, np.ones(spec.rows - len(spec.placed)))
    return [Fraction(share).limit_denominator(2**20) for share in shares.tolist()]
