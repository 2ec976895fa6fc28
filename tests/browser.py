"""Which browser the tests of the explorer page drive: Debian's Chromium, Playwright's own, or an installed Chrome.

python tests/browser.py      fails where there is none
"""

from __future__ import annotations

import os
import shutil
from typing import Any

from playwright.sync_api import sync_playwright

_CHROMES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
)


def executable(driver: Any) -> str | None:
    """The browser's program, or None."""
    installed = (shutil.which(name) for name in ("chromium", "google-chrome"))
    places = ("/usr/bin/chromium", driver.chromium.executable_path, *installed, *_CHROMES)
    return next((place for place in places if place and os.path.exists(place)), None)


if __name__ == "__main__":
    with sync_playwright() as running:
        found = executable(running)
    raise SystemExit(0 if found else 1)
