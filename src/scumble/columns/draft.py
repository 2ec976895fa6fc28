"""A schema to be filled in by a person: names and types are known, bounds and vocabularies are blank.

They must not be read off the table: the largest income in it is somebody's.
"""

from __future__ import annotations

from collections.abc import Mapping

from scumble.columns.column import BLANK
from scumble.columns.schema import check_name
from scumble.columns.toml import HEADER, key_of
from scumble.errors import parameter
from scumble.files.lazy_modules import pa, pt

_HOW = f"""\
# Replace {BLANK!r} by what is known in advance: never by a value looked up in the table.
# Delete the columns that nobody will ask about: each of them takes a part of the budget.
# kind = "number": low = 0, high = 100; optional: whole = true, cells = 50, edges = [0, 18, 100], outside = "drop",
#   scale = "log" for incomes and other long tails
# kind = "date": low = "2020-01-01", high = "2025-12-31"; optional: cells = "month" (or year, quarter, week, day).
#   Dates are read as ISO 8601, 2020-01-31 or 2020-01-31T12:30, and as format = "%m/%d/%Y" says
# kind = "category": values = ["one", "another"]; other words share a level, "(other)", unless other = false.
#   Of a district within a region: within = "region", parents = {{ Ulm = "BW", Bonn = "NRW" }}
# kind = "boolean": no settings
# All kinds: missing = true if cells may be empty (the default for a category). Unreadable cells then count as missing.
"""
_UNTYPED = """\
# Kinds are blank because the table declares no types, as in a CSV file. Write them here, or set them for many columns
#   at once with scumble schema --numbers, --whole, --dates, --booleans, --categories.
"""
_NUMBER = [f'low = "{BLANK}"  # the smallest value possible', f'high = "{BLANK}"  # the largest value possible']

_DATE = [
    f'low = "{BLANK}"  # the earliest possible, such as 2020-01-01',
    f'high = "{BLANK}"  # the latest possible, such as 2030-01-01',
]


def draft(columns: Mapping[str, pa.DataType | None] | pa.Schema) -> str:
    """A schema file for a table whose names and types are known.

    Parameters
    ----------
    columns : mapping or pyarrow.Schema
        The Arrow type of each column by name, or None where the source has no types, as in CSV.

    Returns
    -------
    str
        TOML with blanks, which `Schema.load` refuses until they are filled in.

    Examples
    --------
    >>> print(draft({"smoker": pa.bool_(), "age": pa.int32()}).split("missing.\\n")[1].strip())
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
    return "\n".join([HEADER + _HOW + untyped, *blocks])


def _lines(kind: pa.DataType | None) -> list[str]:
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
        return ['kind = "date"', *_DATE]
    return ['kind = "category"', f'values = ["{BLANK}"]  # every word possible; others share a level, "(other)"']
