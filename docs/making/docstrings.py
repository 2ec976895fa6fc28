"""Docstrings as Markdown, for mkdocstrings: the few marks that the library's docstrings use, and no more.

A docstring here is plain text with lists of parameters, examples after ``>>>``, names such as
``:class:`~scumble.Sketch```, and tables between rows of ``=``. Markdown shows the rest as it is.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

import griffe

_SECTION = re.compile(r"^(Parameters|Attributes|Returns|References)\n-+\n", re.MULTILINE)
_ROLE = re.compile(r":(?:class|func|meth|mod|attr):`(~?)([\w.]+)`")
_LINK = re.compile(r"`([^`<]+) <(https?://[^>]+)>`_")
_ENTRY = re.compile(r"^(\*{0,2}\w[\w\s,*]*?) : (.*)$")


class Markdown(griffe.Extension):
    """Turns every docstring into Markdown as it is loaded, and gives estimators their signatures."""

    def on_class_instance(self, *, cls: griffe.Class, **_: Any) -> None:
        # Estimators are dataclasses by a decorator of their own, which griffe does not know.
        for decorator in cls.decorators:
            if str(decorator.value) == "estimator":
                keyword = griffe.ExprKeyword("kw_only", "True")
                decorator.value = griffe.ExprCall(griffe.ExprName("dataclasses.dataclass"), [keyword])

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)


def markdown(text: str) -> str:
    """A docstring as Markdown."""
    text = _ROLE.sub(_reference, _LINK.sub(r"[\1](\2)", inspect.cleandoc(text)))
    lines = _SECTION.sub(lambda found: f"**{found[1]}**\n\n", text).split("\n")
    out: list[str] = []
    in_list = False
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith(">>> "):
            end = next((k for k in range(at, len(lines)) if not lines[k].strip()), len(lines))
            if out and out[-1].strip():
                out.append("")
            out += ["```pycon", *lines[at:end], "```", ""]
            at = end
            continue
        if line.startswith("===="):
            at = _table(lines, at, out)
            continue
        if line in ("**Parameters**", "**Attributes**"):
            in_list = True
        elif in_list and not line.strip() and out[-1].strip() and not out[-1].startswith("**"):
            in_list = False
        entry = _ENTRY.match(line) if in_list else None
        if entry:
            out.append(f"- `{entry[1]}` (`{entry[2]}`):")
        elif in_list and line.startswith("    "):
            out[-1] += " " + line.strip()
        elif _is_term(lines, at):
            at = _definition(lines, at, out)
            continue
        else:
            out.append(line[:-1] if line.endswith("::") else line)
        at += 1
    return "\n".join(out).strip()


def _reference(found: re.Match[str]) -> str:
    """A name in the typewriter's letters; with ``~``, its last part."""
    return f"`{found[2].rsplit('.', 1)[-1] if found[1] else found[2]}`"


def _is_term(lines: list[str], at: int) -> bool:
    """A word in double quotes, alone on its line, with its meaning indented below."""
    return bool(re.fullmatch(r"``.+``.*", lines[at])) and at + 1 < len(lines) and lines[at + 1].startswith("    ")


def _definition(lines: list[str], at: int, out: list[str]) -> int:
    if out and out[-1].strip() and not out[-1].startswith("- "):
        out.append("")
    words = [lines[at] + ":"]
    at += 1
    while at < len(lines) and lines[at].startswith("    "):
        words.append(lines[at].strip())
        at += 1
    out.append("- " + " ".join(words))
    if at < len(lines) and lines[at].strip() and not _is_term(lines, at):
        out.append("")
    return at


def _table(lines: list[str], at: int, out: list[str]) -> int:
    """A table of two columns between rows of ``=``."""
    middle = lines[at].index(" ")
    middle += len(lines[at][middle:]) - len(lines[at][middle:].lstrip())
    end = next(k for k in range(at + 1, len(lines)) if lines[k].startswith("===="))
    out += ["", "| | |", "|---|---|"]
    for line in lines[at + 1 : end]:
        cells = [cell.strip().replace("|", "\\|") for cell in (line[:middle], line[middle:])]
        out.append(f"| {cells[0]} | {cells[1]} |")
    out.append("")
    return end + 1
