"""What to build and what to publish: from public facts before the first record, from noisy ones at the release.

The files::

    plans.py        a plan for a budget, and the error to expect
    wanted.py       the budget for a wanted error
    start.py        what a sketch counts where its user left that open
    later.py        what its release publishes of that
    plausible.py    what noisy facts say of a table
    gauge.py        how good the first rows over one column happen to be
    rehashing.py    the records of a grid's cells in rows
    foretelling.py  the plan that people ask for: what all of these will decide
"""

from __future__ import annotations

from scumble.planning.foretelling import plan
from scumble.planning.plans import Bounds, Plan, plan_within, require_dimensions, rows_to_plan
from scumble.planning.plausible import DEFAULT_RECORDS

__all__ = [
    "DEFAULT_RECORDS",
    "Bounds",
    "Plan",
    "plan",
    "plan_within",
    "require_dimensions",
    "rows_to_plan",
]
