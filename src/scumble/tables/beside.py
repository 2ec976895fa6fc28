"""Names of answers that stand beside a table's columns."""

from __future__ import annotations

from collections.abc import Iterable


def free(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Names of answers, out of the way of the columns' own.

    >>> free(["value", "low"], ["sex", "low"])
    ['value', 'scumble_low']
    """
    used, found = [*taken], list[str]()
    for name in names:
        while name in (*used, *found):
            name = f"scumble_{name}"
        found.append(name)
    return found
