"""Names of columns: those that may be a record of a file without a header, and those of answers.

Messages list the columns of a table. A file without a header has its first record there, which no message may show.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from scumble.columns.cells import NO_VALUE, number_in

_DATED = re.compile(
    r"""[0-9]{4}[-/.][0-9]{1,2}([-/.][0-9]{1,2}([T\ ].*)?)?   # 2024-01-31, 2024/01, 2024-01-31T12:30
    | [0-9]{1,2}[-/.][0-9]{1,2}[-/.]([0-9]{2}){1,2}([T\ ].*)? # 31.01.2024, 1/31/24
    | [0-9]{1,2}:[0-9]{2}(:[0-9.]+)?                          # 12:30
    | [0-9]{1,2}[\ -][^\W\d]{3,}[\ -]([0-9]{2}){1,2}          # 31 Jan 2024
    | [^\W\d]{3,}\ [0-9]{1,2},?\ [0-9]{4}                     # January 31, 2024
    """,
    re.VERBOSE,
)
_NUMBERED = re.compile(r"[-+(]?\s*[$€£¥]?\s*[-+]?[0-9][0-9.,'_ \u00a0\u202f]*\s*([$€£¥%]|[A-Z]{3})?\s*\)?")
"""A number in any country's format."""
NOT_SHOWN = (
    "The table's column names look like a record, so they are not shown. Hint: if it comes from a file without a "
    "header, name the columns, as in pandas.read_csv(..., names=['age', 'town'])."
)
_ANSWERS = {"yes", "true", "false"}
"""`no`, `n` and `y` are names of columns in many tables."""


def like_a_record(names: Sequence[str]) -> bool:
    """Whether the names may be a record.

    >>> like_a_record(["No", "n", "x", "y"]), like_a_record(["", "age"]), like_a_record(["0", "1", "2"])
    (False, False, False)
    >>> like_a_record(["Anna Schmidt", "54321", "Ulm"])
    True
    """
    return doubt(names) is not None


def doubt(names: Sequence[str]) -> str | None:
    """Why names may be a record, if there is a reason: a number, a date, an answer, an empty or repeated word.

    The first may be empty, where pandas and R write row numbers. Columns numbered by pandas show nothing.

    >>> doubt(["a", "a", "b"]), doubt(["a", "b", ""])
    ('has one word twice, in cells 1 and 2', 'has nothing in cell 3')
    """
    if len(names) > 2 and list(names) == [str(number) for number in range(len(names))]:
        return None
    words = [name.strip() for name in names]
    if any(map(_is_cell, filter(None, words))):
        return "looks like a record and not like names"
    seen: dict[str, int] = {}
    for place, word in enumerate(words, 1):
        if place > 1 and not word:
            return f"has nothing in cell {place}"
        if (first := seen.setdefault(word, place)) < place:
            return f"has one word twice, in cells {first} and {place}"
    return None


def _is_cell(word: str) -> bool:
    return (
        math.isfinite(number_in(word.encode()))
        or word.lower() in _ANSWERS
        or word in NO_VALUE
        or "@" in word
        or _DATED.fullmatch(word) is not None
        or _NUMBERED.fullmatch(word) is not None
    )


def free(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Names of answers, changed where a column has the same.

    >>> free(["value", "low"], ["sex", "low"])
    ['value', 'scumble_low']
    """
    used, found = [*taken], list[str]()
    for name in names:
        while name in (*used, *found):
            name = f"scumble_{name}"
        found.append(name)
    return found
