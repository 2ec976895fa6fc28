"""Docstrings of parameters: a name that is there, the type after the colon, and what it means on the next lines."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

from test_package import modules

SECTION = re.compile(r"^(Parameters|Attributes)\n-+\n(.*?)(?:\n\n|\Z)", re.MULTILINE | re.DOTALL)
ENTRY = re.compile(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*) : (.+)")
NAME = r"(?!(?:a|an|the|of|or|one|how|what)\b)(?:[A-Za-z_][\w.]*|array-like|path-like)"
CHOICE = r'\{"[^"]+"(?:, "[^"]+")*\}'
KIND = rf"(?:{CHOICE}|{NAME}(?: of {NAME})*)"
TYPE = re.compile(rf"{KIND}(?:, {KIND})*(?: or {KIND})?(?:, optional)?")


def documented(module: Any) -> Iterator[tuple[str, Any]]:
    """What has a docstring in a module: functions, classes and their methods, private ones too."""
    for name, value in vars(module).items():
        own = getattr(value, "__module__", None) == module.__name__ and callable(value)
        if own and inspect.getdoc(value):
            yield name, value
            if inspect.isclass(value):
                yield from ((f"{name}.{inner}", one) for inner, one in vars(value).items() if inspect.isfunction(one))


def faults(value: Any) -> list[str]:
    """What is wrong with the lists in a docstring."""
    found = []
    for section in SECTION.finditer(inspect.cleandoc(value.__doc__ or "")):
        lines = section[2].split("\n")
        for number, line in enumerate(lines):
            entry = ENTRY.fullmatch(line)
            if line.startswith("    "):
                continue
            if entry is None:
                found.append(f"{line!r} is no `name : type`")
                continue
            if not TYPE.fullmatch(entry[2]):
                found.append(f"{entry[2]!r} is no type")
            if not "".join(lines[number + 1 : number + 2]).startswith("    "):
                found.append(f"{entry[1]!r} has no description")
            if section[1] == "Parameters":
                found += [f"there is no parameter {name!r}" for name in entry[1].split(", ") if not known(value, name)]
    return found


def known(value: Any, name: str) -> bool:
    """Whether a function takes it; by name, or in its ``**options``."""
    parameters = inspect.signature(value).parameters
    return name.lstrip("*") in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())


def test_parameters_have_types_and_descriptions() -> None:
    for module in modules():
        found = {name: faults(value) for name, value in documented(importlib.import_module(module))}
        assert {name: wrong for name, wrong in found.items() if wrong} == {}, module
