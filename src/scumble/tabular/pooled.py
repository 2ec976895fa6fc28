"""Values that a measured pair counted as one: what to say to whoever asks about some of them beside another column."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from scumble.schema.column import Column
from scumble.tabular.questions import Floats, name_of_run

Integers = npt.NDArray[np.int64]
NAMED = 3
"""Words that one remark names."""


def is_part(weights: Floats, group: Integers) -> bool:
    """Whether all levels that are meant are in one group, which has others.

    >>> [is_part(np.array(weights), np.array([0, 0, 1])) for weights in ([1.0, 0, 0], [1.0, 1, 0], [0.0, 1, 1])]
    [True, False, False]
    """
    meant = np.flatnonzero(weights)
    own = group[meant]
    return len(own) > 0 and bool((own == own[0]).all() and len(own) < (group == own[0]).sum())


def counted_as_one(name: str, column: Column, group: Integers, beside: Iterable[str]) -> str:
    """A remark on the levels of a column that pairs with some other columns do not tell apart.

    The same whichever of them are asked for.

    >>> from scumble.schema import Category, Number
    >>> counted_as_one("order", Number(1, 9, whole=True), np.arange(9) // 3, ["price"])[:79]
    "Counted as one beside 'price': neighbouring values of 'order', such as 1 to 3. "
    >>> counted_as_one("town", Category(list("abcdefg")), np.array([0, 0, 0, 0, 1, 2, 3, 3, 3]), ["age"])[:66]
    "Counted as one beside 'age': words of 'town', 'a', 'b', 'c' and 1 "
    """
    first = int(np.argmax(np.bincount(group) > 1))
    levels = np.flatnonzero(group == first)
    if column.ordered:
        which = f"neighbouring values of {name!r}, such as {name_of_run(column, int(levels[0]), int(levels[-1]) + 1)}"
        whole, fewer = "such a range", f"fewer cells of {name!r}, or fewer columns"
    else:
        words = [column.levels[level] for level in levels]
        more = f" and {len(words) - NAMED} more" if len(words) > NAMED else ""
        which = f"words of {name!r}, {', '.join(map(repr, words[:NAMED]))}{more}"
        whole, fewer = "them", "fewer columns"
    return (
        f"Counted as one beside {', '.join(map(repr, beside))}: {which}. How these differ there is not known, "
        f"and they are taken to be alike. Ask for {whole} as a whole, or release with {fewer}."
    )
