"""What the build of the site adds to the pages in `docs/`: pictures, proofs, help texts, and files that live elsewhere.

Pages are written to be read in the repository as well. So they link to proofs and to SECURITY.md where these lie; the
build copies those files into the site and leads the links there.
"""

from __future__ import annotations

import contextlib
import io
import os
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

import pictures  # noqa: E402  next to this file

PROOFS = {f"proofs/{path.name}": path for path in sorted((ROOT / "src").rglob("*.proof.md"))}
COPIES = {
    **{where: str(path.relative_to(ROOT)) for where, path in PROOFS.items()},
    "security.md": "SECURITY.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "releasing.md": "RELEASING.md",
    "paper/report.md": "benchmarks/paper/REPORT.md",
}
"""Page of the site → file of the repository."""
BESIDE = [ROOT / "benchmarks/paper/results.json", *sorted((ROOT / "benchmarks/paper/figures").glob("*.svg"))]
"""What the report links to; it stands next to the report's page as it does next to the report."""
_MOVED = {source: page for page, source in COPIES.items()}
_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")
_EVERY_VERB = "<!-- every verb -->"
_PROOF_NAME = re.compile(r"`((?:\w+/)*\w+\.proof\.md)`")


def on_files(files: Files, config: Any) -> Files:
    """Add the copies and the pictures to what mkdocs found."""
    for page, source in COPIES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text()))
    for path in BESIDE:
        place = path.relative_to(ROOT / "benchmarks").as_posix()
        files.append(File.generated(config, place, content=path.read_bytes()))
    for name, content in pictures.all_of_them().items():
        files.append(File.generated(config, f"pictures/{name}", content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links to files of the repository to their pages."""
    here = page.file.src_uri
    home = posixpath.dirname(COPIES.get(here, f"docs/{here}"))

    def led(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(home, found[1]))
        if target in _MOVED:
            inside = _MOVED[target]
        elif target.startswith("docs/"):
            inside = target.removeprefix("docs/")
        else:
            return found[0]
        return f"]({posixpath.relpath(inside, posixpath.dirname(here) or '.')}{found[2] or ''})"

    def named(found: re.Match[str]) -> str:
        name = posixpath.basename(found[1])
        return f"[{found[0]}]({name})" if f"proofs/{name}" in PROOFS and f"proofs/{name}" != here else found[0]

    markdown = _LINK.sub(led, markdown)
    if _EVERY_VERB in markdown:
        markdown = markdown.replace(_EVERY_VERB, every_verb())
    return _PROOF_NAME.sub(named, markdown) if here in PROOFS else markdown


def every_verb() -> str:
    """What each verb of the command line says of itself."""
    from scumble.cli import VERBS, main

    os.environ["COLUMNS"] = "100"  # what argparse wraps at
    parts = []
    for verb in VERBS:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            main([verb, "--help"])
        parts.append(f"### scumble {verb}\n\n```text\n{said.getvalue().rstrip()}\n```\n")
    return "\n".join(parts)
