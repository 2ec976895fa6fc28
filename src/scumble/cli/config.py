"""Options in a TOML file: the names of the flags, with lists and tables where the command line has commas.

::

    source = "people.parquet"
    columns = ["age", "income", "mode"]
    epsilon = 1.0
    out = "people.scumble"

    [[kernel]]                      # a product; one [kernel] table or a name will also do
    name = "euclidean"
    columns = ["age", "income"]
    bandwidth = 1.0
    scale = { age = 10, income = 20000 }

    [[kernel]]
    name = "hamming"
    columns = ["mode"]

    [bounds]
    age = [0, 100]

Paths are taken as if they stood on the command line.
"""

from __future__ import annotations

import argparse
import tomllib
from typing import Any

from scumble.cli.guard import INPUTS, OUTPUTS
from scumble.errors import ParameterError, did_you_mean

_LISTS = ("columns", "categories", "tokens", "classes", "whole", "dates", "times", "booleans")


def read_config(path: str, known: dict[str, argparse.Action]) -> dict[str, Any]:
    """The file's options by the names that the parser uses."""
    try:
        with open(path, "rb") as file:
            data = tomllib.load(file)
    except FileNotFoundError:
        raise ParameterError(f"There is no configuration file {path!r}. Hint: check the path.") from None
    except OSError as error:
        raise ParameterError(f"Cannot read {path!r}: {(error.strerror or '').lower()}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ParameterError(f"{path} is not TOML: {problem}.") from None
    out = {}
    for key, value in data.items():
        name = key.replace("-", "_")
        if name not in known:
            guess = did_you_mean(name, known)
            raise ParameterError(f"{path} has an option {key!r} that this verb does not know.{guess}")
        out[name] = _value(path, name, value, known[name])
    return out


def _value(path: str, name: str, value: object, action: argparse.Action) -> Any:
    words = value if isinstance(value, list) else [value]
    if name in (*INPUTS, *OUTPUTS) and not all(isinstance(word, str) and word and "\0" not in word for word in words):
        raise ParameterError(f"{path}: {name} must be the name of a file.")
    if name == "kernel" and isinstance(value, (dict, list)):
        return value
    if name in ("source", "files"):
        return [value] if isinstance(value, str) else value
    if name in _LISTS and isinstance(value, list):
        return value
    if name == "buckets" and isinstance(value, list):
        value = ",".join(map(str, value))
    if name in ("bounds", "range") and isinstance(value, dict):
        pairs = {key: tuple(side) for key, side in value.items() if isinstance(side, list) and len(side) == 2}
        if len(pairs) < len(value):
            raise ParameterError(f"{path}: {name} must give two numbers per column, such as age = [0, 100].")
        return pairs
    if name in ("scale", "at") and isinstance(value, dict):
        return value
    if action.const is True:  # a switch
        if isinstance(value, bool):
            return value
        raise ParameterError(f"{path}: {name} must be true or false.")
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ParameterError(f"{path}: {name} has a value of a kind that it cannot have.")
    if action.choices is not None and value not in action.choices:
        raise ParameterError(f"{path}: {name} must be one of {', '.join(map(str, action.choices))}.")
    try:
        return action.type(str(value)) if callable(action.type) else value
    except (ValueError, argparse.ArgumentTypeError) as problem:
        raise ParameterError(f"{path}: {name}: {problem}.") from None
