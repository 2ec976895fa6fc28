"""Tables that a command measures, put into a page of the documentation between two marks."""

from __future__ import annotations

from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def put(page: str, command: str, text: str) -> None:
    """Replace what stands between the marks of `command` in a page."""
    path = DOCS / page
    before, rest = path.read_text("utf-8").split(_begin(command))
    after = rest.split(END, 1)[1]
    path.write_text(f"{before}{_begin(command)}\n\n{text.strip()}\n\n{END}{after}", "utf-8")


def between(page: str, command: str) -> str:
    """What stands there."""
    return (DOCS / page).read_text("utf-8").split(_begin(command))[1].split(END)[0].strip()


END = "<!-- end -->"


def _begin(command: str) -> str:
    return f"<!-- begin: written by {command} -->"
