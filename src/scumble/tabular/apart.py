"""Columns that an answer was about and that were not counted together: what to say of them."""

from __future__ import annotations

from collections.abc import Iterable

BEGINS = "Not counted together: "
"""As every remark on pairs does."""
MOST_PAIRS = 3
"""That one remark names."""


def not_counted_together(pairs: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """A remark on such pairs of columns; none, if there are none.

    >>> not_counted_together([("age", "town")])[0][:47]
    "Not counted together: 'age' and 'town'. How suc"
    """
    named = [f"'{one}' and '{two}'" for one, two in dict.fromkeys(pairs)]
    if not named:
        return ()
    left = len(named) - MOST_PAIRS
    more = f" and {left} more {'pairs' if left > 1 else 'pair'}" if left > 0 else ""
    return (
        f"{BEGINS}{', '.join(named[:MOST_PAIRS])}{more}. How such columns hang together is inferred; "
        "intervals allow for what is usual among tables, and fail where it is more.",
    )
