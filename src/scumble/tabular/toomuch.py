"""Counts of groups that sum up to more than there is: what to say of them."""

from __future__ import annotations

from collections.abc import Iterable

from scumble.errors import plain_number
from scumble.tabular.estimate import Estimate

WORTH = 1.05
"""Times the most that all of them may be: less is hardly seen."""
DIGITS = 3
"""Of either sum: no more are known."""


def too_much(counts: Iterable[float], all_of: Estimate) -> tuple[str, ...]:
    """A remark on counts of groups, or their shares, that sum up to clearly more than all of them are.

    No count is below 0, so of many groups that hold next to nothing those stay raised that noise has raised.

    >>> too_much([600.0, 0.0, 900.0], Estimate(1000.0, 950.0, 1050.0, 25.0))[0][:57]
    'The groups sum up to 1,500 where all of them are 1,000: n'
    >>> too_much([600.0, 0.0, 410.0], Estimate(1000.0, 950.0, 1050.0, 25.0))
    ()
    """
    found = sum(counts)
    if not found > WORTH * all_of.high:
        return ()
    together, total = (plain_number(number, DIGITS) for number in (found, all_of.value))
    return (
        f"The groups sum up to {together} where all of them are {total}: no count is below 0, so many small ones are "
        "too much together. For several of them at once, ask one question, or in fewer groups.",
    )
