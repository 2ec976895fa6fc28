"""What is said of a condition that cannot be read, and how names and numbers stand in one that can."""

from __future__ import annotations

import re
from collections.abc import Collection

from scumble.errors import ColumnError, ParameterError, did_you_mean
from scumble.tables.cells import NO_VALUE, number_in

_QUOTED = re.compile(r"""'[^']*'|"[^"]*"|`[^`]*`""")
_LIKE = re.compile(r"\bi?like\b", re.IGNORECASE)
_DATE = re.compile(r"\b[0-9]{4}-[0-9]{2}(-[0-9]{2}([T ][0-9]{2}(:[0-9]{2}){1,2})?)?(?![\w:-])")
_DRESSED = re.compile(
    r"""[$€£¥]\s*[0-9][0-9_,]*(?:\.[0-9]+)?
    | (?:(?<=[<>=])|(?<=[<>=]\s)|(?<=between\s)|(?<=and\s))[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?(?![\w,])
    | [0-9]+(?:\.[0-9]+)?\s*%(?!\s*[0-9(])""",
    re.VERBOSE | re.IGNORECASE,
)
_COMMA = re.compile(
    r"(?:(?<=[<>=])|(?<=[<>=]\s)|(?<=between\s)|(?<=and\s))[0-9]+,(?![0-9]{3}(?![0-9]))[0-9]+(?![\w,.])", re.IGNORECASE
)
_UNITS = "year|quarter|month|week|day|hour|minute"
_CALENDAR = re.compile(
    rf"\b(?P<unit>{_UNITS})\s*\(\s*(?P<of>[^\W0-9]\w*|`[^`]+`)\s*\)"
    rf"|(?P<column>[^\W0-9]\w*|`[^`]+`)\.(?:dt\.)?(?P<part>{_UNITS})\b",
    re.IGNORECASE,
)
_WORDS_APART = re.compile(
    r"""(?:=|<>)\s*((?:(?!(?:and|or|not|in|is|between)\b)[^\W0-9]\w*(?:\s+|$)){2,})""", re.IGNORECASE | re.VERBOSE
)
KEYWORDS = {"and", "or", "not", "in", "is"}
GAPS = {word.lower() for word in NO_VALUE}
"""What text files write where there is no value; in a condition none of it is a value."""
CONSTANTS = {"true": True, "false": False, "null": None, "none": None, "missing": None}


def unclear(text: str, what: str = "") -> ParameterError:
    """The error of a condition that cannot be read; `what` says why, where nothing plainer is found."""
    if date := _DATE.search(_QUOTED.sub("", text)):
        what = f": dates and times stand in quotes, here '{date[0]}'"
    if like := _LIKE.search(_QUOTED.sub("", text)):
        what = f": {like[0].lower()} is not known here; list the words that are meant, as in town in ('Ulm', 'Bonn')"
    what = _misspelt(_QUOTED.sub("''", text)) or undressed(text) or _of_the_calendar(text) or what
    shown = repr(text if len(text) <= 80 else text[:80] + "…")
    return ParameterError(
        f"The condition {shown} cannot be read{what}. Hint: write age >= 65 and sex == 'Female', with text in quotes "
        "and odd names in backticks."
    )


def _misspelt(plain: str) -> str:
    """What other languages write, and how it is written here; empty if there is none. Texts are cut out of `plain`."""
    if "&" in plain or "|" in plain:
        return ": conditions are joined by `and` and `or`"
    if "=>" in plain or "=<" in plain:
        return ": write >= and <="
    if apart := _WORDS_APART.search(plain):
        return f": text stands in quotes, here '{apart[1].strip()}'"
    return ""


def bare_name(text: str, columns: Collection[str]) -> str:
    """How an odd name is written that stands there without backticks; empty if there is none."""
    plain = _QUOTED.sub("''", text)
    found = max((name for name in columns if written(name) != name and name in plain), key=len, default=None)
    return "" if found is None else f": such a name stands in backticks, {written(found)}"


def _of_the_calendar(text: str) -> str:
    """How a year or a month of one is asked for, instead of year(seen) or seen.dt.month; empty if it is not meant.

    >>> _of_the_calendar("year(seen) == 1990")
    ": functions are not known here; a year is asked for as seen == '2024', and years from one on as seen >= '2024'"
    """
    if not (found := _CALENDAR.search(text)):
        return ""
    unit, name = (found["unit"] or found["part"]).lower(), found["of"] or found["column"]
    told = ": functions are not known here; a year is asked for as "
    if unit == "year":
        return f"{told}{name} == '2024', and years from one on as {name} >= '2024'"
    return f"{told}{name} == '2024', a month of it as {name} == '2024-05', a day as {name} == '2024-05-31'"


def undressed(text: str) -> str:
    """How a number with a sign of money, of thousands or of percent, or with a decimal comma is written; empty if
    there is none.

    >>> undressed("price > $1,000,000"), undressed("price > 1000000"), undressed("price > 20,5")
    (': numbers stand plain, here 1000000', '', ': numbers have a decimal point, here 20.5')
    """
    if comma := _COMMA.search(_QUOTED.sub("''", text)):
        return f": numbers have a decimal point, here {comma[0].replace(',', '.')}"
    found = _DRESSED.search(_QUOTED.sub("''", text))
    return f": numbers stand plain, here {number_in(found[0].encode()):.15g}" if found else ""


def written(name: str) -> str:
    """The name of a column as a condition must write it: in backticks, unless it is a plain word of no other meaning.

    >>> written("town"), written("post code"), written("missing")
    ('town', '`post code`', '`missing`')
    """
    plain = name.isidentifier() and name.lower() not in {*KEYWORDS, *CONSTANTS, "between"}
    return name if plain else f"`{name}`"


def known(name: object, columns: Collection[str], *, text: str = "") -> str:
    """The name, if there is such a column; a refusal with the nearest one if not.

    It may have been meant as `text`, which stands "in quotes".
    """
    if isinstance(name, str) and name in columns:
        return name
    guess = did_you_mean(name, columns)
    listed = ", ".join(map(repr, list(columns)[:20])) + (f" and {len(columns) - 20} more" if len(columns) > 20 else "")
    quotes = f" If it is meant as text, put it {text}." if text else ""
    raise ColumnError(f"There is no column {str(name)[:100]!r}.{guess}{quotes} Hint: the columns are {listed}.")
