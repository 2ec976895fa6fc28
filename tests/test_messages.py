"""Every message of scumble: what its errors, warnings and refusals say, and where.

python tests/test_messages.py      lists them; {…} stands for what is filled in
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from test_readme import BANNED

SOURCE = Path(__file__).parent.parent / "src" / "scumble"
SPEAK = ("warn", "say", "tell", "private", "parameter", "finish")
"""Functions whose first text is a message, besides errors and warnings."""


class Message(NamedTuple):
    place: str
    text: str


def text_of(node: ast.AST) -> str | None:
    """The text that an expression gives, if it is one; the longer of two."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(str(one.value) if isinstance(one, ast.Constant) else "{…}" for one in node.values)
    if isinstance(node, ast.IfExp):
        return max(text_of(node.body) or "", text_of(node.orelse) or "", key=len) or None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = text_of(node.left), text_of(node.right)
        return None if parts == (None, None) else "".join(part or "{…}" for part in parts)
    return None


def speaks(call: ast.Call) -> bool:
    """Whether what is called makes a message: an error, a warning, or one of `SPEAK`."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name.endswith(("Error", "Warning")) or name.lstrip("_") in SPEAK


def messages() -> Iterator[Message]:
    """All of them, in the order of the files."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and speaks(node):
                for text in filter(None, map(text_of, node.args)):
                    if " " in text:
                        yield Message(f"{path.relative_to(SOURCE)}:{node.lineno}", text)


END = re.compile(r"[.!?](?=\s+[A-Z{`'\"-]|\s*$)")
STORY = "cli/demo.py"
"""A verb that tells a story."""


def test_a_message_is_short_and_plain() -> None:
    """At most two sentences, what is wrong and what to do, in words that a native writer uses."""
    found = [*messages()]
    assert len(found) > 1_000
    short = {one for one in found if len(one.text) < 240 and len(END.findall(one.text)) <= 2}
    assert [one for one in found if one not in short and not one.place.startswith(STORY)] == []
    assert [one for one in found if BANNED.search(re.sub(r"`[^`]*`", "", one.text))] == []


def test_texts_are_put_together() -> None:
    joined = ast.parse("""f"a {b}" + ("c" if d else "long") + e""", mode="eval").body
    assert text_of(joined) == "a {…}long{…}" and text_of(ast.parse("f(x)", mode="eval").body) is None


if __name__ == "__main__":
    for place, text in messages():
        sys.stdout.write(f"{place}  {text}\n")
