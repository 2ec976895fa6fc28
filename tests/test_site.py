"""The site: built without a warning, whole, and sufficient to itself."""

from __future__ import annotations

import importlib
import re
import warnings
import zlib
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config

import scumble
from scumble.cli import VERBS
from scumble.show import pictures, plots

ROOT = Path(__file__).parent.parent
MAKEFILE = (ROOT / "Makefile").read_text()
MODULES = ("scumble", "scumble.learn", "scumble.kernels", "scumble.privacy", "scumble.audit", "scumble.sources")
FETCHES = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}


class Page(HTMLParser):
    """The anchors, links and fetched addresses of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attributes}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in FETCHES and FETCHES[tag] in found and found.get("rel") not in ("canonical", "next", "prev"):
            self.fetched.append(found[FETCHES[tag]])


def dead_links(site: Path, pages: dict[Path, Page]) -> list[tuple[str, str]]:
    """(page, link) for every link into the site that leads nowhere."""
    dead = []
    for path, page in pages.items():
        for link in [*page.links, *page.fetched]:
            where = urlsplit(link)
            if where.scheme or where.netloc:
                continue
            target = (path.parent / unquote(where.path)).resolve() if where.path else path
            anchor = unquote(where.fragment)
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].anchors):
                dead.append((path.relative_to(site).as_posix(), link))
    return dead


def documented(site: Path) -> set[str]:
    """Every name that the site describes: mkdocstrings lists them in an inventory."""
    data = (site / "objects.inv").read_bytes()
    lines = zlib.decompress(data.split(b"\n", 4)[4]).decode()  # after four lines of text
    return {line.split(" ")[0] for line in lines.splitlines()}


def homes_of(module: str, name: str, value: Any) -> set[str]:
    """The names under which a public thing may be described."""
    if isinstance(value, ModuleType):  # a room that can be called
        home = value if hasattr(value, name) else importlib.import_module(f"{value.__name__}.asking")
        value = getattr(home, name)
    home, own = getattr(value, "__module__", None), getattr(value, "__qualname__", name)
    return {f"{module}.{name}", f"{home}.{own}"}


DOCSTRING = """Adds; see :class:`~scumble.density.sketch.Sketch`.

    Parameters
    ----------
    a, b : int or float
        Two numbers,
        of any size.
    **others : str
        See elsewhere.

    ``"fast"``
        in no time.

    =====  =====
    ``a``  first
    =====  =====

    >>> 1 + 1
    2
    """
MARKDOWN = """Adds; see `Sketch`.

**Parameters**

- `a, b` (`int or float`): Two numbers, of any size.
- `**others` (`str`): See elsewhere.

- ``"fast"``: in no time.


| | |
|---|---|
| ``a`` | first |


```pycon
>>> 1 + 1
2
```"""


def test_docstrings_become_markdown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "making"))
    assert importlib.import_module("docstrings").markdown(DOCSTRING) == MARKDOWN


def test_the_site_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One test, for the site is built once: no warning, no dead link, nothing from outside, every name described."""
    site = tmp_path / "site"
    assert re.search(r"^\tNO_MKDOCS_2_WARNING=1 \$\(BIN\)/python -m mkdocs build --strict$", MAKEFILE, re.MULTILINE)
    monkeypatch.chdir(ROOT)
    for module, points in ((plots, 31), (pictures, 31)):  # coarse pictures, of which none is painted
        monkeypatch.setattr(module, "_POINTS_2D", points)
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda figure, file, **_: file.write(bytes(99)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other libraries; mkdocs counts its own, and --strict makes them errors
        build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(site), strict=True))

    pages = {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    assert dead_links(site, pages) == []
    outside = [(path.name, one) for path, page in pages.items() for one in page.fetched if urlsplit(one).netloc]
    assert not outside
    for path in site.rglob("*.css"):
        assert "url(http" not in path.read_text().replace('"', "").replace("'", ""), path.name

    # Search works from a folder too: the index as a script, and a worker made of a frame.
    assert (site / "search/search_index.js").read_text().startswith("var __index = {")
    assert any(address.endswith("iframe-worker.js") for address in pages[site / "index.html"].fetched)

    known = documented(site)
    for module in MODULES:
        for name in importlib.import_module(module).__all__:
            value = getattr(importlib.import_module(module), name)
            if name != "__version__":
                assert homes_of(module, name, value) & known, f"{module}.{name} is nowhere in the site"
    contents = {unquote(link) for link in pages[site / "index.html"].links}
    for proof in (ROOT / "src").rglob("*.proof.md"):
        assert f"proofs/{proof.name.replace('.md', '.html')}" in contents, f"{proof} is missing from the navigation"
    assert {f"scumble-{verb}" for verb in VERBS} <= pages[site / "command-line.html"].anchors
    assert scumble.__version__ in (site / "changelog.html").read_text()
