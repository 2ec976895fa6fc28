"""A schema to be filled in by a person: names and types are known, bounds and vocabularies are not.

They could be read off the table, and must not: the largest income in it is somebody's. So a draft has blanks, `load`
says which are left, and what is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scumble.errors import parameter
from scumble.machine.later import pa, pt
from scumble.schema.column import BLANK
from scumble.schema.schema import check_name
from scumble.schema.toml import HEADER, key_of

_FILL = f"# Wherever it says {BLANK!r}, put in what is known in advance: never a value looked up in the table.\n"
_HOW = """\
# Delete the columns that nobody will ask about: each of them takes a part of the budget.
# kind = "number": low = 0, high = 100; perhaps whole = true, cells = 50, edges = [0, 18, 100], outside = "drop", and
#   scale = "log" for incomes and other long tails. Zero, if it is the lowest, is told from what is just above it
# kind = "date": low = "2020-01-01", high = "2025-12-31"; perhaps cells = "month" (or year, quarter, week, day) for
#   questions by the calendar. They are read as ISO 8601, 2020-01-31 or 2020-01-31T12:30
# kind = "category": values = ["one", "another"]; other words share a level, "(other)", unless other = false
# kind = "boolean": nothing else
# Any of them: missing = true, if cells may be empty (a category has it, unless missing = false). Those that cannot
#   be read then count as missing, too.
"""
_UNTYPED = """\
# Kinds are blank where the table declares no types, as a CSV file does: to guess them would be to read records. Write
#   them, each with its settings as above; scumble schema --numbers, --whole, --dates, --booleans, --categories does it
#   for many columns at once.
"""
_NUMBER = [f'low = "{BLANK}"  # the smallest value possible', f'high = "{BLANK}"  # the largest value possible']


def draft(columns: Mapping[str, Any] | pa.Schema) -> str:
    """TOML for a table of which only names and types are known.

    Parameters
    ----------
    columns : mapping or pyarrow.Schema
        The type of each column by its name: Arrow types, or None where the source tells none, as CSV does.

    Returns
    -------
    str
        The text of a schema file, with blanks that `Schema.load` refuses until they are filled in.

    Examples
    --------
    >>> print(draft({"smoker": pa.bool_(), "age": pa.int32()}).split("too.\\n")[1].strip())
    [columns.smoker]
    kind = "boolean"
    <BLANKLINE>
    [columns.age]
    kind = "number"
    whole = true
    low = "<?>"  # the smallest value possible
    high = "<?>"  # the largest value possible
    """
    if isinstance(columns, pa.Schema):
        columns = dict(zip(columns.names, columns.types, strict=True))
    if not isinstance(columns, Mapping) or not columns:
        raise parameter("columns", "a type, or None, for each column by its name", columns)
    blocks = ["\n".join([f"[columns.{key_of(check_name(name))}]", *_lines(kind), ""]) for name, kind in columns.items()]
    untyped = _UNTYPED if any(kind is None for kind in columns.values()) else ""
    return "\n".join([HEADER + _FILL + _HOW + untyped, *blocks])


def _lines(kind: Any) -> list[str]:
    if kind is None:
        return [f'kind = "{BLANK}"  # "number", "date", "category" or "boolean", and its settings as above']
    while pt.is_dictionary(kind) or pt.is_run_end_encoded(kind):
        kind = kind.value_type
    if pt.is_boolean(kind):
        return ['kind = "boolean"']
    if pt.is_integer(kind):
        return ['kind = "number"', "whole = true", *_NUMBER]
    if pt.is_floating(kind) or pt.is_decimal(kind):
        return ['kind = "number"', *_NUMBER]
    if pt.is_date(kind) or pt.is_timestamp(kind):
        first, last = (
            f'{side} = "{BLANK}"  # the {word} possible, such as {year}-01-01' for side, word, year in _SIDES
        )
        return ['kind = "date"', first, last]
    return ['kind = "category"', f'values = ["{BLANK}"]  # every word possible; others share a level, "(other)"']


_SIDES = (("low", "earliest", 2020), ("high", "latest", 2030))
