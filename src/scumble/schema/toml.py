"""Schemas as TOML, which people can read and write.

::

    [columns.age]
    kind = "number"
    low = 17
    high = 90
    whole = true

    [columns."hours-per-week"]
    kind = "number"
    …
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any

from scumble import checks
from scumble.errors import FileError, MissingFileError, ParameterError
from scumble.files.near import near_file
from scumble.machine.places import write_whole
from scumble.schema.column import BLANK
from scumble.schema.mistyped import mistyped

MOST_BYTES = 2**22
"""A schema file is no larger: vocabularies of tens of thousands of words fit."""

HEADER = (
    "# A scumble schema: public knowledge about a table, never read off its records.\n"
    "# Bounds and vocabularies are what is known in advance. Everybody who gets a release can read them.\n"
)


def text_of(columns: Mapping[str, Mapping[str, Any]]) -> str:
    """The columns' settings as TOML.

    >>> print(text_of({"a b": {"kind": "number", "low": 0.5}}).split("them.")[1].strip())
    [columns."a b"]
    kind = "number"
    low = 0.5
    """
    out = [HEADER]
    for name, settings in columns.items():
        lines = [f"{key} = {_value(value)}" for key, value in settings.items()]
        out.append("\n".join([f"[columns.{key_of(name)}]", *lines, ""]))
    return "\n".join(out)


def key_of(name: str) -> str:
    """A name as a TOML key."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)  # numbers and booleans: finite, and written alike


def write(path: str | os.PathLike[str], columns: Mapping[str, Mapping[str, Any]]) -> None:
    """The file, whole or not at all."""
    write_whole(os.fsdecode(path), text_of(columns).encode())


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The settings of each column, in order; what they mean is for the columns to say."""
    name = checks.path(path)
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        hint = f"check the path; scumble schema TABLE --out {name} drafts one"
        guess = near_file(name, lambda one: one.endswith(".toml"))
        raise MissingFileError(f"There is no schema {name!r}.{guess} Hint: {hint}.") from None
    except OSError as error:
        raise FileError(f"Cannot read {name!r}: {(error.strerror or 'it failed').lower()}.") from None
    if len(data) > MOST_BYTES:
        raise ParameterError(f"{name!r} is larger than {MOST_BYTES >> 20} MiB, which no schema is.")
    return parse(data, os.path.basename(name))


def parse(data: bytes, name: str) -> dict[str, Any]:
    """The settings in the bytes of a file that is called `name` in errors."""
    import tomllib  # who reads a release needs none

    try:
        found = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as problem:
        place, told = _why(problem, data)
        raise ParameterError(f"{name} is not TOML{place}{told or '. Hint: `scumble schema` drafts one'}.") from None
    for key in found:
        if key != "columns":
            raise ParameterError(
                f"{name} has {key[:60]!r} where only columns may stand. Hint: write [columns.{key_of(key[:60])}]."
            )
    columns = found.get("columns")
    if not isinstance(columns, dict) or not columns:
        raise ParameterError(f"{name} has no columns. Hint: a column begins with a line such as [columns.age].")
    _refuse_blanks(columns, name)
    return columns


def _why(problem: Exception, data: bytes) -> tuple[str, str]:
    """Where the trouble is, and what it is, if that can be told. tomllib's own words may quote the file, which may be a
    table by mistake."""
    words = str(problem)
    where = re.search(r"\(at (line (\d+), column \d+)\)", words)
    place = f" at {where[1]}" if where else ""
    if words.startswith("Cannot"):
        return place, ": the same stands there twice"
    if words.endswith("(at end of document)"):
        return place, ": its end is missing, perhaps of a list in brackets or a text in quotes"
    told = mistyped(data.decode().split("\n"), int(where[2])) if where else ""
    return place, f": {told}" if told else ""


_WANTED = {
    "kind": 'what it holds: "number", "date", "category" or "boolean"',
    "low": "the smallest value that it can have, known in advance and not looked up in the table",
    "high": "the largest value that it can have, known in advance and not looked up in the table",
    "values": 'the words that it can hold, known in advance, such as ["Female", "Male"]',
}


def _refuse_blanks(columns: Mapping[str, Any], name: str) -> None:
    blanks = [
        (column, key)
        for column, settings in columns.items()
        if isinstance(settings, dict)
        for key, value in settings.items()
        if value == BLANK or (isinstance(value, list) and BLANK in value)
    ]
    if not blanks:
        return
    column, key = blanks[0]
    listed = ", ".join(f"{key} of {column!r}" for column, key in blanks[:10])
    more = f" and {len(blanks) - 10} more" if len(blanks) > 10 else ""
    raise ParameterError(
        f"{name} has {len(blanks)} blank{'s' if len(blanks) > 1 else ''} left: {listed}{more}. "
        f"Hint: put in the place of {BLANK!r}, for {key} of {column!r}, {_WANTED.get(key, 'a value of your own')}."
    )
