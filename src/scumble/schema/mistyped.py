"""What is wrong with a line of a schema's file that is no TOML, and what it must be.

Such a file may be a table by mistake, and its lines records: a line is quoted only below the head of a column, and only
if it sets what a column of a schema has.
"""

from __future__ import annotations

import re

_TRUE_OR_FALSE = "true or false, in small letters and without quotes"
_BOUND = 'a number, such as 1000 or 0.5, or a date in quotes, such as "2020-01-31"'
MUST_BE = {
    "kind": '"number", "date", "category" or "boolean", in quotes',
    "low": _BOUND,
    "high": _BOUND,
    "whole": _TRUE_OR_FALSE,
    "missing": _TRUE_OR_FALSE,
    "zeros": _TRUE_OR_FALSE,
    "other": _TRUE_OR_FALSE,
    "strip": _TRUE_OR_FALSE,
    "ignore_case": _TRUE_OR_FALSE,
    "scale": '"linear" or "log", in quotes',
    "outside": '"clip" or "drop", in quotes',
    "resolution": '"day", "hour", "minute" or "second", in quotes',
    "cells": 'a whole number, such as 50, or a word of the calendar in quotes, such as "month"',
    "edges": "a list of numbers, such as [0, 18, 100], or of dates in quotes",
    "values": 'a list of words in quotes, such as ["Female", "Male"]',
    "missing_words": 'a list of words in quotes, such as ["-", "n/a"]',
}
"""What may stand behind each setting."""
_HEAD = re.compile(r"^\s*\[columns\.", re.MULTILINE)
_SETTING = re.compile(r"\s*([a-z_]+)\s*([=:]?)\s*(.*?)\s*")
_MOST = 60
"""Letters of a line that are shown."""


def mistyped(lines: list[str], number: int) -> str:
    """What stands in a line of a file, numbered from 1, and what must; empty where nobody can tell.

    >>> mistyped(["[columns.age]", "whole = yes"], 2)
    '`whole` must be true or false, in small letters and without quotes, got yes'
    >>> mistyped(["name,whole", "Ada,yes"], 2)
    ''
    """
    before, line = "\n".join(lines[: number - 1]), lines[number - 1]
    found = _SETTING.fullmatch(line)
    if not (found and found[1] in MUST_BE and _HEAD.search(before)):
        return ""
    key, sign, rest = found.groups()
    if sign != "=":
        return f"a setting is written as {key} = …, got {_cut(line.strip())}"
    return f"`{key}` must be {MUST_BE[key]}, got {_cut(rest) or 'nothing'}"


def _cut(text: str) -> str:
    return text if len(text) <= _MOST else text[:_MOST] + "…"
