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
from collections.abc import Mapping, Sequence

from scumble import checks
from scumble.columns.column import BLANK
from scumble.errors import FileError, MissingFileError, ParameterError, many
from scumble.files.paid import near_file
from scumble.files.places import write_whole

MOST_BYTES = 2**22
"""The largest schema file: vocabularies of tens of thousands of words fit."""

_SPELLING = 'write whole = true, high = 1000, kind = "number" and values = ["Female", "Male"], each once.'
HEADER = (
    "# A scumble schema: public knowledge about a table, never read off its records.\n"
    "# Bounds and vocabularies are what is known in advance. Everybody who gets a release can read them.\n"
)


def text_of(columns: Mapping[str, Mapping[str, object]], rules: Sequence[str] = ()) -> str:
    """The columns' settings as TOML.

    >>> print(text_of({"a b": {"kind": "number", "low": 0.5}}).split("them.")[1].strip())
    [columns."a b"]
    kind = "number"
    low = 0.5
    """
    out = [HEADER, *[f"rules = {_value([*rules])}\n"] * bool(rules)]
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
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key_of(key)} = {_value(one)}' for key, one in value.items())} }}"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)  # numbers and booleans: finite, and written alike


def write(path: str | os.PathLike[str], columns: Mapping[str, Mapping[str, object]], rules: Sequence[str] = ()) -> None:
    """Write the file, whole or not at all."""
    write_whole(os.fsdecode(path), text_of(columns, rules).encode())


def read(path: str | os.PathLike[str]) -> tuple[dict[str, object], object]:
    """The settings of each column of a file, in order; and its rules."""
    name = checks.path(path)
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        guess = near_file(name, lambda one: one.endswith(".toml"))
        raise MissingFileError(f"There is no schema {name!r}.{guess} Hint: `scumble schema` drafts one.") from None
    except OSError as error:
        raise FileError(f"Cannot read {name!r}: {(error.strerror or 'it failed').lower()}.") from None
    if len(data) > MOST_BYTES:
        raise ParameterError(f"{name!r} is larger than {MOST_BYTES >> 20} MiB, too large for a schema.")
    return parse(data, os.path.basename(name))


def parse(data: bytes, name: str) -> tuple[dict[str, object], object]:
    """The settings and rules in the bytes of a file that is called `name` in errors."""
    import tomllib  # slow to import, and not needed to read a release

    try:
        found = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as problem:
        # tomllib's own message may quote the file, which may be a table by mistake.
        where = re.search(r"\(at (line \d+, column \d+)\)", str(problem))
        place = f" at {where[1]}" if where else ""
        raise ParameterError(f"{name} is not TOML{place}. Hint: {_SPELLING}") from None
    for key in found:
        if key not in ("columns", "rules"):
            hint = f"write [columns.{key_of(key[:60])}]."
            raise ParameterError(f"{name} has {key[:60]!r} where only rules and columns are allowed. Hint: {hint}")
    columns = found.get("columns")
    if not isinstance(columns, dict) or not columns:
        raise ParameterError(f"{name} has no columns. Hint: a column begins with a line such as [columns.age].")
    _refuse_blanks(columns, name)
    return columns, found.get("rules", [])


def _refuse_blanks(columns: Mapping[str, object], name: str) -> None:
    blanks = [
        (column, key)
        for column, settings in columns.items()
        if isinstance(settings, dict)
        for key, value in settings.items()
        if value == BLANK or (isinstance(value, list) and BLANK in value)
    ]
    if blanks:
        listed = ", ".join(f"{key} of {column!r}" for column, key in blanks[:2]) + ", …" * (len(blanks) > 2)
        raise ParameterError(
            f"{name} has {many(len(blanks), 'blank')} left: {listed}. Hint: replace {BLANK!r} by what is known in "
            "advance, never by a value looked up in the table."
        )
