"""What every page must be, whatever it shows: one file that asks nobody, plain text, and open to everybody.

All names and words of what is shown are hostile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

import scumble
from scumble.show.opening import exhibit_of
from scumble.show.pages import AnyExhibit, export, part
from scumble.show.server import Server

EVIL = ["</script><script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "{{script}}<b>`x`", "__proto__"]
TITLE = "</title><script>alert(6)</script>"
RANGES = dict.fromkeys(EVIL[:2], (0.0, 60.0))
KINDS = ("a grid", "hashed rows", "a table", "classes", "a stream", "a pair", "two tables")
LOOKS = (("light", 1280), ("dark", 390))
CONTROLS = """[...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
    .filter((one) => one.checkVisibility() && !(one.type === "radio" && !one.checked)).length"""


@pytest.fixture(scope="session")
def exhibits() -> dict[str, AnyExhibit]:
    """One of each kind."""
    rng = np.random.default_rng(7)
    X = rng.normal([20.0, 40.0], 6.0, (3000, 2)).clip(0.0, 60.0)

    def density(**options: Any) -> scumble.Release:
        settings: dict[str, Any] = {"rows": 30, "buckets": 64, **options}
        sketch = scumble.Sketch(scumble.EuclideanKernel(4.0, 2), columns=EVIL[:2], **settings)
        return sketch.update(X).release(epsilon=1.0)

    schema = scumble.Schema(
        {EVIL[0]: scumble.Number(0, 60), EVIL[2]: scumble.Category(EVIL), EVIL[3]: scumble.Date("2024-01", "2024-12")}
    )
    rows = {EVIL[0]: X[:, 0], EVIL[2]: rng.choice(EVIL, 3000), EVIL[3]: ["2024-05-01"] * 3000}
    stream = scumble.Stream(scumble.EuclideanKernel(4.0, 2), columns=EVIL[:2], periods=5, epsilon=1.0, rows=8)
    for day in range(3):
        stream.update(X[day::3])
        stream.close_period()
    bundle = scumble.Bundle({EVIL[0]: density(), "<!--<script>": density()}, label=EVIL[1], extra={"note": EVIL[2]})
    units: dict[str, Any] = {"title": TITLE, "units": {EVIL[0]: "<i>km"}}
    bounded = density(design="grid", bounds=(0.0, 60.0), rows=None, buckets=(40, 40))
    tables = [scumble.TableSketch(schema).update(rows).release(epsilon=1.0) for _ in range(2)]
    return {
        "a grid": exhibit_of(bounded, **units),
        "hashed rows": exhibit_of(density(), ranges=RANGES, **units),
        "classes": exhibit_of(bundle, ranges=RANGES, **units),
        "a pair": exhibit_of({EVIL[1]: bounded, EVIL[2]: density()}, ranges=RANGES, **units),
        "a table": exhibit_of(tables[0], **units),
        "two tables": exhibit_of(dict(zip(EVIL[1:3], tables, strict=True)), **units),
        "a stream": exhibit_of(stream.published(), ranges=RANGES, **units),
    }


@pytest.fixture(scope="session")
def paths(exhibits: dict[str, AnyExhibit], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("every")
    found = {kind: folder / f"{kind.replace(' ', '-')}.html" for kind in exhibits}
    for kind, path in found.items():
        export(exhibits[kind], path)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_one_file_that_asks_nobody_and_shows_names_as_text(
    kind: str, visit: Callable[..., Any], paths: dict[str, Path], exhibits: dict[str, AnyExhibit]
) -> None:
    seen = visit()
    page = seen.open(paths[kind].as_uri())
    for summary in page.locator("summary:visible").all():
        summary.click()
    assert seen.said == []
    assert all(url.startswith(("file:", "blob:", "data:")) for url in seen.asked)
    assert page.evaluate("fetch('data:,').then(() => 'connected', (error) => 'refused')") == "refused"
    assert page.locator("h1").inner_text() == TITLE == page.title().removesuffix(" · scumble")
    assert page.evaluate("document.querySelectorAll('img, #app script, #app b:not(.chip b)').length") == 0
    assert page.evaluate("document.querySelectorAll('body > script').length") == 4
    assert EVIL[0] in page.locator("main").text_content()
    assert not any("</script" in part(name) for name in exhibits[kind].parts if name and name.endswith(".js"))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_stands_in_the_way_of_assistive_tools(
    kind: str, visit: Callable[..., Any], paths: dict[str, Path]
) -> None:
    scheme, width = LOOKS[KINDS.index(kind) % 2]
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}, "bypass_csp": True}
    page: Page = visit(**options).open(paths[kind].as_uri())
    for summary in page.locator("summary:visible").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    violations = Axe().run(page).response["violations"]
    assert [(found["id"], found["impact"], found["nodes"][0]["html"][:200]) for found in violations] == []


@pytest.mark.parametrize("kind", KINDS[2:5])
def test_the_keyboard_alone_reaches_everything(kind: str, visit: Callable[..., Any], paths: dict[str, Path]) -> None:
    page: Page = visit().open(paths[kind].as_uri())
    reached, wanted = page.evaluate_handle("new Set()"), page.evaluate(CONTROLS)
    for _ in range(wanted + 10):
        page.keyboard.press("Tab")
        page.evaluate("(set) => document.activeElement === document.body || set.add(document.activeElement)", reached)
    assert page.evaluate("(set) => set.size", reached) == wanted


@pytest.mark.parametrize("kind", ["classes"])  # its maps are drawn by workers
def test_the_served_page_is_the_same_and_asks_its_own_server_alone(
    kind: str, visit: Callable[..., Any], paths: dict[str, Path], exhibits: dict[str, AnyExhibit]
) -> None:
    with Server(exhibits[kind]) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        seen = visit()
        seen.open(server.url)
        assert seen.said == [] and server.html() == paths[kind].read_bytes()
        assert [url for url in seen.asked if not url.startswith(("blob:", "data:"))] == [server.url]
        server.shutdown()
