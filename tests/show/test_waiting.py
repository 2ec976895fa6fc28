"""While the first map is computed, its frame is there, and nothing moves when it comes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scumble
from scumble.density.bundle import Bundle
from scumble.show.exhibit import Exhibit
from scumble.show.pages import export

# What the page had at each of its changes: the first picture's title, where the pictures end, and where the page does.
WATCH = """
window.seen = [];
new MutationObserver(() => {
  const figures = document.querySelector(".figures");
  if (!figures?.firstChild) return;
  const title = figures.querySelector("svg text")?.textContent ?? "";
  const place = (one) => Math.round(one.getBoundingClientRect().bottom + scrollY);
  window.seen.push([title, place(figures), place(document.querySelector("footer"))]);
}).observe(document, { subtree: true, childList: true, attributes: true });
"""


def release(columns: list[str]) -> scumble.Release:
    X = np.random.default_rng(1).normal(50.0, 10.0, (2_000, len(columns)))
    kernel = scumble.EuclideanKernel(8.0, len(columns))
    return scumble.Sketch(kernel, columns=columns, rows=200, buckets=256, seed=7).update(X).release(epsilon=1.0)


@pytest.mark.parametrize(("kind", "width"), [("density", 400), ("classes", 1200)])
def test_the_frame_is_there_at_once(kind: str, width: int, visit: Callable[..., Any], tmp_path: Path) -> None:
    one = release(["east", "north"])
    shown = one if kind == "density" else Bundle({"well": one, "ill": release(["east", "north"])})
    export(Exhibit(shown, "places", ranges={"east": (0, 100), "north": (0, 100)}), tmp_path / "places.html")
    seen = visit(viewport={"width": width, "height": 900})
    seen.page.add_init_script(WATCH)
    page = seen.open((tmp_path / "places.html").as_uri())
    titles, bottoms, ends = zip(*page.evaluate("window.seen"), strict=True)
    assert titles[0] == "Drawing…"
    assert titles[-1] == {"density": "Density", "classes": "Most probable class"}[kind]
    assert len({*bottoms}) == 1 and ends[0] == ends[-1], "nothing moves"
    assert seen.said == []
