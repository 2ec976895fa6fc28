"""The page: one self-contained HTML file that makes no requests; the same bytes are served and exported.

Script and style are allowed by their digests only. The release is embedded as data and only ever shown as text.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from importlib import resources

from scumble.files.places import write_whole
from scumble.show.exhibit import Exhibit
from scumble.show.pairexhibit import PairExhibit
from scumble.show.streamexhibit import StreamExhibit
from scumble.show.tableexhibit import TableExhibit

AnyExhibit = Exhibit | TableExhibit | StreamExhibit | PairExhibit


def part(name: str) -> str:
    """A part of the page, as ``make page`` built it from ``web/``."""
    return resources.files("scumble.show").joinpath("page", name).read_text(encoding="utf-8")


def page(exhibit: AnyExhibit) -> str:
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
    """The Content-Security-Policy: these scripts, this style, their pictures, and nothing else."""
    allowed = " ".join(digest(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {digest(style)}; img-src data: blob:; worker-src blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def digest(text: str) -> str:
    """The hash that lets an inline script run under a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def data(value: object) -> str:
    """JSON that cannot close the element around it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return (
        text.replace("&", "\\u0026")
        .replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )


def export(exhibit: AnyExhibit, path: str | os.PathLike[str]) -> int:
    """Write the page to a file atomically; returns its size in bytes."""
    content = page(exhibit).encode("utf-8", "replace")
    name = os.fsdecode(path)
    write_whole(name, content)
    return len(content)
