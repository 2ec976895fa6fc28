"""Messages put together from parts read as if they had been written, and pages are short and in plain English."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

# ---- the documentation ----

ROOT = Path(__file__).parent.parent
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
PAGE, PARAGRAPH, TOTAL = 2_000, 100, 30_000
"""The most words of a page, of a paragraph, and of all pages in docs/."""
LIMITS = {"README.md": 900, "CHANGELOG.md": 1_200, "docs/limitations.md": 1_500, "docs/speed.md": 1_000}
"""Pages with a limit of their own."""
REFERENCE = ("docs/api/", "docs/command-line.md", "docs/file-format.md")
"""As long as it must be."""
BANNED = re.compile(
    r"\b(nought|foretold|told|whoever|thereof|dearer|beside|hangs? together|made[ -]up|by the clock|as a rule|such a|"
    r"since then|was tried|measured again)\b|(?:^|[.:] )of which\b|"
    r"\b(neighbour|colour|behaviour|favour|centre|catalogue|\w+(?:alis|aris|gnis|timis)(?:e|ed|es|ing|ation)\b)",
    re.IGNORECASE | re.MULTILINE,
)
"""What no native writer says in technical prose, the diary of a project, and British spelling."""


def prose(text: str) -> str:
    """Without code, and without the tables that commands write."""
    text = re.sub(r"<!-- begin: .*?<!-- end -->", "", text, flags=re.DOTALL)
    text = re.sub(r"^ *```.*?^ *```$|<!--.*?-->", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`|\]\([^)\s]*\)", " code ", text)


def words(text: str) -> int:
    return len(re.findall(r"\S*[^\W\d_]\S*", text))


def paragraphs(text: str) -> list[str]:
    """Items of a list count by themselves, and so do the cells of a table."""
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text)
    return [part for block in blocks for part in (re.split(r"\||\n", block) if block.startswith("|") else [block])]


@pytest.mark.parametrize("page", [*sorted(path.name for path in ROOT.glob("*.md")), *PAGES])
def test_a_page_is_short_and_plain(page: str) -> None:
    text = prose((ROOT / page).read_text("utf-8"))
    if not page.startswith(REFERENCE):
        assert words(text) <= LIMITS.get(page, PAGE)
    long = [part for part in paragraphs(text) if words(part) > PARAGRAPH]
    assert not long, long
    assert not (found := [match[0] for match in BANNED.finditer(text)]), found


def test_all_pages_together_can_be_read() -> None:
    assert sum(words(prose((ROOT / page).read_text("utf-8"))) for page in PAGES) <= TOTAL


def test_what_is_long_or_odd_is_found() -> None:
    text = "One two.\n\n```text\nno\n```\n\n- three four\n- five\n\n| six | seven |\n\n<!-- begin: x -->no<!-- end -->"
    assert words(prose(text)) == 7
    assert [words(part) for part in paragraphs(prose(text)) if words(part)] == [2, 2, 1, 1, 1]
    assert len(BANNED.findall("It is told here. Of which there are two, made up by neighbours.")) == 4
    assert not BANNED.search("A neighbor of this color, next to that one.")
