"""Lines for the curator about rows that were left out: as private as the rows, and in nothing that is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from scumble.errors import UNPUBLISHED

SHARE_TOLD = 0.01
"""Of rows of no class, so many are told apart from the other rows that are left out."""
MANY, SHARE_UNREAD = 10, 0.1
"""Rows, and their share of all: if so many are left out for a column, its cells may be written as another kind."""
NO_CLASS = "of none of the classes in"


def left_out(rows: int, why: Sequence[str] = ()) -> str:
    """The line about rows that were left out, and why."""
    were = "1 row was" if rows == 1 else f"{rows:,} rows were"
    once = "; each row is counted once, at its first such column" if len(why) > 1 else ""
    causes = f": {', '.join(why)}{once}" if why else ""
    return private(f"{were} left out{causes}")


def undecoded(cells: Mapping[str, int], since: str = "") -> Iterator[str]:
    """A line for each column with cells whose bytes are no text in the encoding that was named."""
    for name, count in cells.items():
        were = "1 cell of {} was" if count == 1 else f"{count:,} cells of {{}} were"
        yield private(
            f"{were.format(repr(name))} read as missing{since}, for bytes that are no text in this encoding. "
            "Hint: --encoding (encoding=) names another"
        )


def currencies(cells: Mapping[tuple[str, str], int], since: str = "") -> Iterator[str]:
    """A line for each column with several signs of money: no value, but how some are written.

    >>> print(*currencies({("price", "$"): 1200, ("price", "£"): 1, ("fee", "$"): 9}))
    'price' has money of several signs, 1,200 cells with $ and 1 with £, which count alike ...
    """
    for name in dict.fromkeys(name for name, _ in cells):
        signs = {sign: count for (one, sign), count in cells.items() if one == name}
        if len(signs) > 1:
            (first, most), *rest = sorted(signs.items(), key=lambda one: -one[1])
            told = [f"{most:,} {'cell' if most == 1 else 'cells'} with {first}", *(f"{n:,} with {s}" for s, n in rest)]
            yield private(
                f"{name!r} has money of several signs{since}, {', '.join(told[:-1])} and {told[-1]}, which count alike "
                "by their bare numbers. Hint: bring them to one currency first"
            )


def many_unread(rows: int) -> int:
    """How many of so many rows must be left out for a column before somebody is told how its cells are written."""
    return max(MANY, round(SHARE_UNREAD * rows))


def repeated(rows: int) -> Iterator[str]:
    """A line on rows that are the column names once more."""
    if rows:
        what = "1 row is the line of column names" if rows == 1 else f"{rows:,} rows are the line of column names"
        yield private(f"{what} once more, as where files were joined. Hint: take such lines out")


def more_lines(lines: int) -> Iterator[str]:
    """A line on lines of text that are no rows of their own, if they are some: a quote may be left open, and all that
    follows, up to the next one, is a single cell."""
    if lines >= MANY:
        yield private(
            f"{lines:,} lines are no rows of their own: they are blank, or cells in quotes go on over them. "
            "Hint: if neither should be, a quote is left open, and rows are lost in one cell"
        )


def private(line: str) -> str:
    """A line for the curator alone, marked as such."""
    return f"{line} {UNPUBLISHED}."


def misnamed(label: str | None, rows: int, lost: int, empty: Sequence[str]) -> Iterator[str]:
    """A line on rows of no class, if they are many, and one on classes without a record: one may be misspelt."""
    if 0 < SHARE_TOLD * rows <= lost:
        yield (
            f"WARNING: {100 * lost / rows:.0f} % of the rows are {NO_CLASS} {label!r} and were left out. "
            f"Hint: is a class misspelt, or missing? {UNPUBLISHED}."
        )
    if lost and empty:
        yield no_record_of(empty)


def no_record_of(classes: Sequence[str]) -> str:
    """The line about classes without a record."""
    return f"WARNING: no record was counted of {', '.join(map(repr, classes))} {UNPUBLISHED}."


def no_record_in(period: int) -> str:
    """The line about a period without a record."""
    return (
        f"WARNING: no record was counted in period {period}, and what is published of it is noise alone. Hint: if some "
        f"belong to it, they can still count in the next {UNPUBLISHED}."
    )
