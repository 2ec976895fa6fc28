"""The page: one file of HTML with everything in it, so it opens with a double-click and makes no requests.

The very same bytes are served and exported. Script and style stand in the file and are allowed by their digests alone;
the release stands in it as data, which no browser runs. Whatever comes from the release is set as text by the script.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from importlib import resources
from typing import Any, Protocol

from scumble.machine.places import write_whole


class Shown(Protocol):
    """What a page is made of."""

    title: str

    @property
    def parts(self) -> tuple[str, str, str | None, str]:
        """Frame, style, engine (if it computes) and script."""

    def content(self) -> tuple[dict[str, Any], str]:
        """JSON, and the arrays as base64."""


def part(name: str) -> str:
    """A built part of the page, as it lies in the package; ``make page`` builds them from ``web/``."""
    return resources.files("scumble.explore").joinpath("page", name).read_text(encoding="utf-8")


def page(exhibit: Shown) -> str:
    """The whole page."""
    frame, style, engine, script = ("" if name is None else part(name) for name in exhibit.parts)
    description, arrays = exhibit.content()
    slots = {
        "policy": policy(style, engine, script),
        "title": html.escape(exhibit.title),
        "style": style,
        "release": data(description),
        "arrays": arrays,
        "engine": engine,
        "script": script,
    }
    before, *pieces = frame.split("{{")
    out = [before]
    for piece in pieces:
        name, after = piece.split("}}", 1)
        out += [slots[name], after]
    return "".join(out)


def policy(style: str, *scripts: str) -> str:
    """The Content-Security-Policy: these scripts and this style, pictures made by them, and nothing else at all."""
    allowed = " ".join(digest(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {digest(style)}; img-src data: blob:; worker-src blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def digest(text: str) -> str:
    """The hash under which a content security policy lets an inline script run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def data(value: object) -> str:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return (
        text.replace("&", "\\u0026")
        .replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )


def export(exhibit: Shown, path: str | os.PathLike[str]) -> int:
    """Write the page to a file, which gets its name when it is complete; gives its size in bytes."""
    content = page(exhibit).encode("utf-8", "replace")
    name = os.fsdecode(path)
    write_whole(name, content)
    return len(content)
