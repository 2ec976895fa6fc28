"""From the exact views of a table to a release: one claim, one charge, views as the plan asks for them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.releasing.adaptive import planned_claim, publish_as_planned
from scumble.releasing.secret import Secret
from scumble.releasing.spending import Prepaid
from scumble.releasing.steps import publish_in_steps
from scumble.tabular.planner import Planner
from scumble.tabular.release import TableRelease
from scumble.tabular.spec import TableSpec

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
    if spec.pairs:
        published = publish_as_planned(secret, budget, payer, most=planner.most, plan=planner, keep=keep)
    else:  # nothing to plan
        (published,) = publish_in_steps([secret], budget, payer, shares=[1] * spec.rows, keep=keep)
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
        return budget.claim(spec.rows, [1] * spec.rows)
    return planned_claim(budget, spec.rows, Planner(spec, budget).most)
