"""The page of densities: what it fades, counts, compares and measures, in one real browser; and how large it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from playwright.sync_api import Browser, Page, expect
from scipy.stats import norm

import scumble
from scumble.cli import main
from scumble.density.bundle import Bundle
from scumble.show.exhibit import Exhibit, PairExhibit
from scumble.show.pages import export, page, part
from scumble.show.server import description

DONE = ".figures[data-state=done]"
BOUNDS = ([47.0, 6.0], [55.0, 15.0])


def places(center: float) -> scumble.Release:
    """A town and a half on the map of a country, most of which is empty."""
    rng = np.random.default_rng(round(center))
    X = np.vstack([rng.normal([center, 11.5], 0.2, (4000, 2)), rng.normal([53.5, 10.0], 0.2, (2000, 2))])
    kernel = scumble.EuclideanKernel(1.0, 2, scale=0.4)
    return scumble.Sketch(kernel, columns=["lat", "lon"], bounds=BOUNDS, design="grid").update(X).release(epsilon=1.0)


@pytest.fixture(scope="module")
def before() -> scumble.Release:
    return places(48.0)


@pytest.fixture(scope="module")
def seen(browser: Browser, before: scumble.Release, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """Both releases side by side, in one file, on a wide screen."""
    name = tmp_path_factory.mktemp("pair") / "both.html"
    export(PairExhibit({"before": before, "after": places(50.0)}), name)
    context = browser.new_context(viewport={"width": 1240, "height": 1400}, bypass_csp=True)
    found = context.new_page()
    found.goto(name.as_uri())
    found.wait_for_selector(DONE)
    yield found
    context.close()


def alone(page: Page) -> None:
    """One release, in even colors."""
    page.locator("input[value=density]").check()
    page.wait_for_selector(f"{DONE} figure:nth-child(2)")
    expect(page.locator("figure svg").nth(1)).to_have_attribute("aria-label", re.compile("relative standard error"))


def colors(page: Page, at: list[tuple[float, float]]) -> np.ndarray:
    """What the first picture shows at shares of its width and height."""
    return np.array(
        page.evaluate(
            """async (at) => {
                const image = new Image();
                image.src = document.querySelector("figure svg image").getAttribute("href");
                await image.decode();
                const canvas = document.createElement("canvas");
                [canvas.width, canvas.height] = [image.width, image.height];
                const pen = canvas.getContext("2d");
                pen.drawImage(image, 0, 0);
                const pixel = ([x, y]) => pen.getImageData(x * image.width, y * image.height, 1, 1).data;
                return at.map((one) => Array.from(pixel(one)).slice(0, 3));
            }""",
            at,
        )
    )


def test_two_releases_share_a_view_and_a_scale_of_colors(seen: Page) -> None:
    figures = seen.locator("figure svg")
    assert figures.count() == 2
    titles = [figures.nth(k).locator("text").first.text_content() for k in (0, 1)]
    assert titles == ["Density of before", "Density of after"]
    legends = [figures.nth(k).locator(".bar text").all_text_contents() for k in (0, 1)]
    assert [text for text in legends[0] if "." in text] == [text for text in legends[1] if "." in text]
    assert seen.locator(".promise h3").all_text_contents() == ["before", "after"]


def test_places_on_the_earth_are_drawn_as_a_map(seen: Page) -> None:
    assert seen.get_by_label("Across").locator("option:checked").inner_text() == "lon"
    picture = seen.locator("figure svg").first
    image = picture.locator("image")
    shape = float(image.get_attribute("height") or 0) / float(image.get_attribute("width") or 1)
    assert shape == pytest.approx((8.0 / 9.0) / np.cos(np.radians(51.0)), rel=0.02)


def test_noise_is_faded_and_a_legend_says_so(seen: Page, before: scumble.Release) -> None:
    alone(seen)
    drawn = seen.evaluate("scumble.drawn()")
    x, y, density = (np.array(drawn[name]) for name in ("x", "y", "density"))
    some = np.flatnonzero(density > 0)[::97]
    Q = np.column_stack([y[some // len(x)], x[some % len(x)]])
    np.testing.assert_allclose(density[some], before.density(Q), rtol=1e-9)
    errors = density[some] / (before.standard_error(Q) / before.count)
    assert errors.min() < 2 < 4 < errors.max()
    drowned, clear = int(some[np.argmin(errors)]), int(some[np.argmax(errors)])
    at = [((k % len(x) + 0.5) / len(x), 1 - (k // len(x) + 0.5) / len(y)) for k in (drowned, clear)]
    pale, full = colors(seen, at)
    assert pale.min() > 245, "white paper, but for a tenth"
    assert full.min() < 200
    assert "could be zero" in (seen.locator("figure .fade text").first.text_content() or "")
    # By logarithm the noise would be seen best: it stays pale.
    seen.locator("input[value=log]").check()
    seen.wait_for_selector(DONE)
    assert colors(seen, at)[0].min() > 235
    seen.locator("input[value=even]").check()
    seen.wait_for_selector(DONE)


def test_a_region_is_counted_from_the_release_s_own_cells(seen: Page, before: scumble.Release) -> None:
    alone(seen)
    box = seen.locator("figure svg").first.bounding_box()
    assert box is not None
    at = [(box["x"] + a * box["width"], box["y"] + b * box["height"]) for a, b in ((0.4, 0.6), (0.7, 0.85))]
    seen.mouse.move(*at[0])
    seen.mouse.down()
    seen.mouse.move(*at[1], steps=3)
    seen.mouse.up()
    expect(seen.locator(".answer")).to_contain_text("records")
    for name, value in {"lat from": 47.5, "lat to": 48.5, "lon from": 11.0, "lon to": 12.0}.items():
        field = seen.get_by_label(f"Region: {name}")
        field.fill(str(value))
        field.press("Enter")
    told = re.search(r"about ([\d,]+) \(([\d,]+) to ([\d,]+)\)", seen.locator(".answer").inner_text())
    assert told is not None
    found = [int(number.replace(",", "")) for number in told.groups()]
    # The cells whose edges are nearest, added up; what is known of the number of all records takes out noise.
    grid = before.spec.layout.grid
    ends = [
        np.floor((np.array(side) - grid.start[j]) / grid.step[j] + 0.5).astype(int)
        for j, side in enumerate(((47.5, 48.5), (11.0, 12.0)))
    ]
    counts = before.counts.reshape(grid.shape)
    inside = counts[ends[0][0] : ends[0][1], ends[1][0] : ends[1][1]]
    assert before.noisy_count is not None
    beta = before.counter_variance * inside.size
    beta /= before.counter_variance * grid.cells + before.count_variance
    value = inside.sum() + beta * (before.noisy_count - counts.sum())
    half = norm.ppf(0.975) * np.sqrt(before.counter_variance * inside.size * (1.0 - beta))
    assert found == pytest.approx([value, value - half, value + half], abs=1.01)


def test_keys_alone_choose_a_region(seen: Page) -> None:
    alone(seen)
    seen.get_by_role("button", name="Clear the region").or_(seen.locator("h1")).first.click()
    seen.locator(".pictures").focus()
    for key in ("ArrowRight", "Space", "Shift+ArrowRight", "Shift+ArrowUp", "Space", "ArrowUp"):
        seen.keyboard.press(key)
    assert float(seen.get_by_label("Region: lon to").input_value()) == pytest.approx(10.5 + 0.9, abs=1e-3)
    assert float(seen.get_by_label("Region: lat to").input_value()) == pytest.approx(51.0 + 0.8, abs=1e-3)


PROGRAM = sum(len(part(name)) for name in Exhibit.parts)


def hashed() -> scumble.Release:
    sketch = scumble.Sketch(scumble.EuclideanKernel(1.0, 2), columns=["a", "b"], rows=64, buckets=256)
    return sketch.update(np.random.default_rng(8).normal(0, 2, (1000, 2))).release(epsilon=1.0)


@pytest.mark.parametrize("what", ["a grid", "hashed rows", "a bundle"])
def test_a_page_is_no_larger_than_its_release(what: str, before: scumble.Release) -> None:
    ranges = {"a": (-9.0, 9.0), "b": (-9.0, 9.0)}
    found: Any = before if what == "a grid" else hashed()
    if what == "a bundle":
        found = Bundle({"yes": found, "no": hashed()})
    exhibit = Exhibit(found, "a page", ranges=None if what == "a grid" else ranges)
    assert len(page(exhibit).encode()) - PROGRAM < len(found.to_bytes())


def test_two_releases_must_have_the_same_columns(before: scumble.Release) -> None:
    with pytest.raises(scumble.ParameterError, match="the same columns"):
        PairExhibit({"one": before, "other": hashed()})
    with pytest.raises(scumble.ParameterError, match="side by side"):
        PairExhibit({"one": before})


def test_each_of_two_releases_answers_by_its_name(before: scumble.Release) -> None:
    pair, at = PairExhibit({"one": before, "other": places(50.0)}), [[50.5, 11.0]]
    assert pair.density(at, label="one") == Exhibit(before).density(at) != pair.density(at, label="other")
    assert description(pair)["paths"].keys() == {"/api/info", "/api/density"}


@pytest.fixture(scope="module")
def diary() -> scumble.Release:
    """Ages and dates on a grid."""
    rng = np.random.default_rng(0)
    days = np.datetime64("2024-01-01") + rng.normal(150.0, 30.0, 2000).clip(0, 365).astype("timedelta64[D]")
    table = pa.table({"age": np.floor(rng.normal(40.0, 9.0, 2000)).clip(0, 99), "seen": pa.array(days)})
    kernel = scumble.EuclideanKernel(1.0, 2, scale={"age": 10.0, "seen": 30.0})
    ends = {"age": (0, 100), "seen": ("2024-01-01", "2024-12-31")}
    told: dict[str, Any] = {"epsilon": 1.0, "whole": ["age"], "dates": ["seen"]}
    return scumble.build(table, kernel, bounds=ends, buckets=(26, 62), **told)


def chosen(page: Page) -> str:
    """What the page says of a region whose ends are typed."""
    for end, text in (("x0", "30"), ("x1", "50"), ("y0", "2024-04-01"), ("y1", "2024-06-30")):
        page.locator(f'[data-end="{end}"]').fill(text)
        page.locator(f'[data-end="{end}"]').dispatch_event("change")
    return page.locator(".region .answer").inner_text()


def test_dates_stand_on_axes_and_in_fields(visit: Callable[..., Any], diary: scumble.Release, tmp_path: Path) -> None:
    diary.save(tmp_path / "diary.scumble")
    out = tmp_path / "diary.html"
    words = ["explore", str(tmp_path / "diary.scumble"), "--export", str(out), "--quiet"]
    assert main([*words, "--range", "seen=2024-02-01:2024-11-30"]) == 0
    seen = visit()
    page = seen.open(out.as_uri())
    assert {"Apr 2024", "Jul 2024", "Oct 2024"} <= set(page.locator(".figures svg text").all_text_contents())
    assert page.get_by_label("seen from", exact=True).input_value() == "2024-02-01"
    answer = chosen(page)
    assert re.search(r"age \d\d to \d\d, seen 2024-0[34]-\d\d to 2024-0[67]-\d\d\.$", answer), answer
    assert not [line for line in seen.said if line.startswith("error")]


def test_programs_ask_in_dates(diary: scumble.Release) -> None:
    exhibit = Exhibit(diary)
    assert exhibit.density([[40, "2024-05-30"]]) == exhibit.density([{"age": 40, "seen": 19_873}])
    points = description(exhibit)["paths"]["/api/density"]["post"]["requestBody"]["content"]["application/json"]
    allowed = points["schema"]["properties"]["points"]["items"]["oneOf"][1]["properties"]
    assert allowed["age"] == {"type": "number"} and "string" in allowed["seen"]["type"]
    with pytest.raises(scumble.ParameterError, match="declared as dates"):
        Exhibit(diary, ranges={"age": ("2024-01-01", "2024-12-31")})
