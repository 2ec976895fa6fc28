"""From accuracy to a budget: the least ε for a wanted error.

The error that a plan foretells falls as ε grows. So the least ε of two digits, from 0.001 to 100, with which the plan's
error is not above the wanted one is found by halving.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import TYPE_CHECKING

from scumble.errors import parameter

if TYPE_CHECKING:
    from scumble.planning.plans import Plan

EPSILONS = [float(f"{digits}e{power}") for power in range(-4, 1) for digits in range(10, 100)] + [100.0]
SHOWN = (0.1, 0.3, 1.0, 3.0, 10.0)
"""The budgets of `by_epsilon`."""


def least(make: Callable[[float], Plan], error: object) -> Plan:
    """The plan with the least ε whose expected error is not above this one; `make` makes the plan for an ε."""
    wanted = as_error(error)
    if (best := make(EPSILONS[-1])).relative_error > wanted:
        must = f"at least {best.relative_error:.2%} here: hashing or the size of cells leaves as much at any ε"
        raise parameter(
            "error", must, error, "more records or a wider kernel would help, or a δ above 0 where it is 0."
        )
    place = bisect_left(EPSILONS, -wanted, key=lambda epsilon: -make(epsilon).relative_error)
    return make(EPSILONS[place])


def by_epsilon(make: Callable[[float], Plan]) -> dict[float, float]:
    """The error to expect at a few budgets."""
    return {epsilon: make(epsilon).relative_error for epsilon in SHOWN}


def as_error(value: object) -> float:
    """A relative error: 0.05, or "5%".

    >>> as_error("5%"), as_error(0.02)
    (0.05, 0.02)
    """
    try:
        text = str(value).strip()
        found = float(text[:-1]) / 100.0 if text.endswith("%") else float(text)
    except ValueError:
        found = 0.0
    if not 0.0 < found < 10.0:
        raise parameter("error", "a relative error above 0, such as 0.05 or '5%'", value)
    if found >= 1.0 and not text.endswith("%"):
        meant = f"{found:g}% or {found / 100:g}"
        raise parameter(
            "error", "below 1, or have a percent sign", value, f"write {meant} ({found:.0%} if you mean so)."
        )
    return found
