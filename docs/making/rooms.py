"""The picture of the rooms in ``docs/architecture.md``, drawn from the code: ``python docs/making/rooms.py``.

The layers are those of the import contract in ``pyproject.toml``, next to a room is the first sentence of
its docstring, and the marks are the steps that the page describes. A test draws it again and compares.
"""

from __future__ import annotations

import ast
import re
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src" / "scumble"
PAGE = ROOT / "docs" / "architecture.md"
PICTURE = ROOT / "docs" / "pictures" / "rooms.svg"

WAYS = {"R": "#c2374b", "G": "#8a5a00", "Q": "#2f7d55"}
"""Headings of the page whose numbered steps are marked, by the first letter of what travels: record, gate, question."""
WIDTH, LINE, GAP, LEFT, NAME = 1020, 24, 6, 40, 104
_PATH = re.compile(r"`(\w+)(?:/[\w/]*)?(?:\.py)?`")


def layers() -> list[list[str]]:
    """The rooms, layer by layer, outermost first, as the import contract has them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    found = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [[room.strip("() ") for room in re.split(r"[|:]", layer)] for layer in found]


def sentence(room: str) -> str:
    """What a room says of itself: the first sentence of its docstring."""
    package = SOURCE / room / "__init__.py"
    told = ast.get_docstring(ast.parse((package if package.exists() else SOURCE / f"{room}.py").read_text())) or ""
    first = re.split(r"(?<=[.?]) |\n\n|::\n", told.replace("``", ""))[0].replace("\n", " ")
    return first.rstrip(".")


def ways(page: str) -> dict[str, list[str]]:
    """For each way, the room of each of its steps: that of the first file which the step names."""
    found: dict[str, list[str]] = {letter: [] for letter in WAYS}
    for part in re.split(r"^## ", page, flags=re.MULTILINE):
        letter = re.match(r".*\(([A-Z])\)\n", part)
        if letter is not None:
            for step in re.findall(r"^\d+\. (.*)$", part, re.MULTILINE):
                room = _PATH.search(step)
                assert room is not None, f"a step that names no file: {step}"
                found[letter[1]].append(room[1])
    return found


def marks(page: str) -> dict[str, list[str]]:
    """For each room, the steps that happen in it: R1, G2, …"""
    found: dict[str, list[str]] = {}
    for letter, rooms in ways(page).items():
        for number, room in enumerate(rooms, 1):
            found.setdefault(room, []).append(f"{letter}{number}")
    return found


def svg(page: str) -> str:
    """The picture."""
    steps, y, out = marks(page), 34.0, []
    for layer in layers():
        height = LINE * len(layer) + 4
        out.append(f'<rect x="{LEFT}" y="{y:g}" width="{WIDTH - LEFT - 10}" height="{height}" rx="5" class="layer"/>')
        for k, room in enumerate(layer):
            base = y + 18 + LINE * k
            out.append(f'<text x="{LEFT + 12}" y="{base:g}" class="room">{escape(room)}</text>')
            out.append(f'<text x="{LEFT + NAME}" y="{base:g}" class="says">{escape(sentence(room))}</text>')
            for j, mark in enumerate(reversed(steps.get(room, []))):
                x = WIDTH - 32 - 30 * j
                out.append(
                    f'<rect x="{x - 13}" y="{base - 13:g}" width="26" height="18" rx="9" fill="{WAYS[mark[0]]}"/>'
                )
                out.append(f'<text x="{x}" y="{base:g}" class="mark">{mark}</text>')
        y += height + GAP
    arrow = f'<path d="M20 40V{y - 18:g}m-6 -9l6 9l6 -9" class="arrow"/>'
    middle = f'<text transform="translate(14 {y / 2:g}) rotate(-90)" class="axis">imports point down, never up</text>'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 4:g}" role="img">',
            "<title>The rooms of scumble, layer by layer</title>",
            "<style>",
            "text{font:13px system-ui,sans-serif;fill:#1b3a4b}.room{font:bold 13px ui-monospace,monospace}",
            ".says{font-size:12px}.mark{font-size:11px;fill:#fff;text-anchor:middle}",
            ".axis{font-size:12px;fill:#51677a;text-anchor:middle}.layer{fill:#eef2f4;stroke:#c5d0d6}",
            ".arrow{fill:none;stroke:#51677a;stroke-width:1.5}",
            "</style>",
            '<rect width="100%" height="100%" fill="#fff"/>',
            f'<text x="{LEFT}" y="20">src/scumble: a line is a room (a folder or a file), a box is a layer. '
            "R: the path of a record. G: through the gate. Q: the path of a question.</text>",
            arrow,
            middle,
            *out,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    PICTURE.write_text(svg(PAGE.read_text()))
