"""Names of columns that may be none: where a header is missing, they are what the first record holds.

Messages list the columns of a table, for whoever misspelt one. A file without a header has its first record there
instead, and no message shows a record.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from scumble.tables.cells import NO_VALUE, number_in

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
"""A number in any country's way, more loosely than cells are read."""
NOT_SHOWN = (
    "The names of the table's columns look like a record, so they are not shown. Hint: was it read from a file without "
    "a line of names? Give it names, as by pandas.read_csv(..., names=['age', 'town'])."
)
"""What is said of a table in memory whose names may be none."""
_ANSWERS = {"yes", "true", "false"}
"""Beside numbers and dates. `no`, `n` and `y` are names of columns in many tables."""


def like_a_record(names: Sequence[str]) -> bool:
    """Whether the names may be none, and what a record holds.

    >>> like_a_record(["No", "n", "x", "y"]), like_a_record(["", "age"]), like_a_record(["0", "1", "2"])
    (False, False, False)
    >>> like_a_record(["Anna Schmidt", "54321", "Ulm"])
    True
    """
    return doubt(names) is not None


def doubt(names: Sequence[str]) -> str | None:
    """Why names may be none, if there is a reason.

    Some can hardly be one: a number, a date, an answer. Nor do names stand twice, or lack; but the first, where pandas
    and R write the numbers of their rows. Columns that pandas has numbered for want of names show nothing.

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
