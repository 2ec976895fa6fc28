"""A real browser, for the tests of both pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from tests.browser import executable

expect.set_options(timeout=60_000)

DONE = ".figures[data-state=done], #app[data-state=done]"
"""The pictures are complete."""
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests."""
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=executable(driver), args=QUIET)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session", autouse=True)
def few_starts() -> Iterator[None]:
    """A short search for modes: how long it is in a page is not what is tested here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scumble.show.exhibit.STARTS", 12)
        yield


class Visit:
    """A page, with all that it said and all that it asked for."""

    def __init__(self, page: Page) -> None:
        self.page, self.said, self.asked = page, [], []
        page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (self.said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: self.asked.append(request.url))

    def open(self, url: str, *, drawn: bool = True) -> Page:
        self.page.goto(url)
        if drawn:
            self.page.wait_for_selector(DONE, timeout=60_000)
        return self.page


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Visit]]:
    """Opens pages that remember what they said and asked for; closes them in the end."""
    contexts = []

    def new(**options: Any) -> Visit:
        contexts.append(browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options}))
        return Visit(contexts[-1].new_page())

    yield new
    for context in contexts:
        context.close()
