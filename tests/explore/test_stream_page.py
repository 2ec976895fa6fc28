"""The page of a stream: its numbers are those of the stream's own releases, and it moves through time."""

from __future__ import annotations

import base64
import os
import threading
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

import scumble
from scumble.cli import main
from scumble.continual.published import StreamRelease
from scumble.errors import ParameterError
from scumble.explore import Server, StreamExhibit, export, page, read
from scumble.explore.pages import part

KERNEL = scumble.EuclideanKernel(3.0, power=2)
RANGES = {"east": (0.0, 60.0), "north": (0.0, 40.0)}
SMALL: dict[str, Any] = {"rows": 16, "buckets": 32, "epsilon": 1.0, "delta": 1e-6}
READY = "#app[data-state=done]"


def published(columns: list[str], days: int, *, folder: Path | None = None, **options: Any) -> StreamRelease:
    """A town that is fuller every day, and another that is left after some."""
    chosen: dict[str, Any] = {**SMALL, **options}
    stream = scumble.Stream(KERNEL, columns=columns, periods=days + 5, folder=folder, **chosen)
    for day in range(days):
        rng = np.random.default_rng(day)
        towns = [rng.normal((45.0, 12.0), 1.5, (600 + 20 * day, 2)), rng.normal((15.0, 28.0), 1.5, (800, 2))]
        ends = np.vstack(towns if day < 10 else towns[:1])
        stream.update({name: ends[:, j] for j, name in enumerate(columns)})
        stream.close_period()
    return stream.published()


@dataclass(frozen=True)
class Shown:
    """A stream, its exhibit and its page."""

    exhibit: StreamExhibit
    description: dict[str, Any]
    arrays: str
    path: Path

    def open(self, visit: Callable[..., Any], **options: Any) -> Page:
        shown: Page = visit(**options).open(self.path.as_uri())
        return shown

    def array(self, name: str) -> np.ndarray:
        """An array of the page, a line for each period."""
        kept = self.description["arrays"][name]
        data = zlib.decompress(base64.b64decode(self.arrays))
        assert kept["kind"] == "f4"
        flat = np.frombuffer(data, "<f4", kept["size"], kept["first"])
        return flat.reshape(len(self.description["ends"]), -1)


def shown(stream: StreamRelease, path: Path, **options: Any) -> Shown:
    exhibit = StreamExhibit(stream, "Trips", **options)
    content = exhibit.content()
    exhibit.content = lambda: content  # type: ignore[method-assign]
    export(exhibit, path)
    return Shown(exhibit, *content, path)


@pytest.fixture(scope="session")
def two(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """Two columns, 20 periods."""
    stream = published(["east", "north"], 20)
    return shown(stream, tmp_path_factory.mktemp("two") / "two.html", ranges=RANGES, units={"east": "km"})


@pytest.fixture(scope="session")
def one(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """One column, more periods than are shown."""
    return shown(published(["east"], 70, rows=8), tmp_path_factory.mktemp("one") / "one.html")


# ---- numbers ----


def test_the_numbers_are_those_of_the_streams_releases(two: Shown, one: Shown) -> None:
    assert two.description["ends"] == list(range(1, 21)) and two.exhibit.widths == [None, 7, 1]
    ends = one.description["ends"]
    assert len(ends) == 60 and (ends[0], ends[-1]) == (1, 70) and one.exhibit.widths == [None, 28, 7, 1]
    for case in (two, one):
        stream, asked = case.exhibit.stream, case.exhibit.points()
        for choice in case.description["choices"]:
            sums, halves = case.array(choice["sums"]), case.array(choice["halves"])
            for at in (0, 8, len(sums) - 1):
                last, width = case.description["ends"][at], choice["width"]
                first = 1 if width is None else max(1, last - width + 1)
                release = stream.window(first=first, last=last)
                low, high = release.interval(asked)
                truth = (release.kernel_sum(asked), low, high)
                for page_has, right in zip(
                    (sums[at], sums[at] - halves[at], sums[at] + halves[at]), truth, strict=True
                ):
                    np.testing.assert_allclose(page_has, right, rtol=1e-5, atol=1e-5 * np.abs(high).max())
                assert choice["counts"][at] == pytest.approx([release.count, 1.96 * release.count_standard_error])


def test_points_stand_in_the_pages_order(two: Shown) -> None:
    points, (east, north) = two.exhibit.points(), two.exhibit.places
    assert points.shape == (32 * 24, 2)
    assert points[3 * 32 + 5].tolist() == [east[5], north[3]]


def test_what_was_there_shows_no_more_than_its_folder(tmp_path: Path) -> None:
    live = published(["east"], 3, folder=tmp_path / "trips", rows=4)
    assert page(StreamExhibit(live)) == page(StreamExhibit(read(tmp_path / "trips")))


# ---- what cannot be shown ----


def test_other_streams_are_refused_in_words(two: Shown, tmp_path: Path) -> None:
    wide = scumble.Stream(KERNEL, dimensions=3, periods=2, **SMALL)
    wide.update(np.zeros((4, 3)))
    wide.close_period()
    words = scumble.Stream(scumble.HammingKernel(), columns=["town"], periods=2, **SMALL)
    words.update({"town": ["Ulm", "Bonn"]})
    words.close_period()
    for stream in (wide, words):
        with pytest.raises(ParameterError, match=r"one or two columns of numbers.*`series`.*`plot`"):
            scumble.explore(stream.published(), tmp_path / "no.html")
    stream = two.exhibit.stream
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"values": {"east": ["a"]}}, "`values` are for categories"),
        ({"units": {"nobody": "km"}}, "`units`"),
        ({"ranges": {"nobody": (0, 1)}}, "`ranges`"),
        ({"ranges": {"east": (1, 1)}}, "low end below"),
    ]
    for options, told in wrong:
        with pytest.raises(ParameterError, match=told):
            scumble.explore(stream, tmp_path / "no.html", **options)
    with pytest.raises(ParameterError, match=r"`path` must be a name that ends in \.html or \.htm"):
        scumble.explore(stream, tmp_path / "no.docx")
    assert not list(tmp_path.iterdir())


# ---- what people do with it ----


def said(found: Page) -> str:
    return found.locator(".now").inner_text()


def picture(found: Page) -> str:
    """The large picture, as it is drawn."""
    return found.locator(".large svg").inner_html()


def number(value: float) -> str:
    """As the page writes numbers of a thousand or more."""
    return f"{round(value):,}"


def test_moving_through_time_and_over_the_map(visit: Callable[..., Any], two: Shown) -> None:
    stream, found = two.exhibit.stream, two.open(visit)
    found.get_by_role("radio", name="Running total").check(force=True)
    before = picture(found), said(found)
    slider = found.get_by_role("slider")
    slider.focus()
    for _ in range(3):
        found.keyboard.press("ArrowLeft")
    expect(found.locator("output")).to_have_text("periods 1 to 17")
    assert picture(found) != before[0] and said(found) != before[1]

    chart = found.locator(".large svg")
    box = chart.bounding_box()
    assert box is not None
    wide, tall = box["width"], box["height"]
    found.mouse.click(box["x"] + 62 + 0.75 * (wide - 88), box["y"] + 46 + 0.7 * (tall - 96))  # near (45, 12)
    here = found.evaluate("scumble.story.values(scumble.state.here)")
    assert (here["x"], here["y"]) == pytest.approx((45, 12), abs=1.9)
    place = [[here["x"], here["y"]]]
    for label, width in (("Running total", None), ("Last 7 periods", 7), ("Single periods", 1)):
        found.get_by_role("radio", name=label).check(force=True)
        first = 1 if width is None else 17 - width + 1
        release = stream.window(first=first, last=17)
        (value,), ((low,), (high,)) = release.kernel_sum(place), release.interval(place)
        answer = found.evaluate("(({choice, at, here}) => scumble.story.answer(choice, at, here))(scumble.state)")
        told = [answer[name] for name in ("value", "low", "high")]
        assert told == pytest.approx([value, low, high], abs=1e-5 * abs(high))
        if low > 1000:
            span = "Period 17" if width == 1 else f"Periods {first} to 17"
            assert said(found).startswith(f"{span}: {number(value)} near here, {number(low)} to {number(high)} (95 %)")
        series = stream.series(place, width=width)[:, 0]
        line = found.evaluate("scumble.story.line(scumble.state).map(({value, low, high}) => [value, low, high])")
        np.testing.assert_allclose(line[20 - len(series) :], series, rtol=1e-3, atol=1e-3 * np.abs(series).max())
    found.locator(".large").focus()
    before = picture(found), found.locator(".line svg").inner_html()
    found.keyboard.press("Shift+ArrowLeft")
    moved = found.evaluate("scumble.story.values(scumble.state.here)")
    assert moved["x"] == pytest.approx(here["x"] - 5 * 60 / 32) and moved["y"] == here["y"]
    assert picture(found) != before[0] and found.locator(".line svg").inner_html() != before[1]


def test_small_multiples_share_a_scale_and_lead_to_their_period(visit: Callable[..., Any], two: Shown) -> None:
    found = two.open(visit)
    panels = found.locator(".panel")
    assert panels.count() == 12
    pictures = found.evaluate("[...document.querySelectorAll('.panel canvas')].map((one) => one.toDataURL())")
    assert len(set(pictures)) == 12
    panels.first.click()
    expect(found.locator("output")).to_have_text("period 1")
    expect(panels.first).to_have_attribute("aria-pressed", "true")
    clear = "scumble.story.choices.map(({sums, halves}) => Math.max(...sums.filter((sum, i) => sum > halves[i])))"
    assert found.evaluate("scumble.story.choices.map(({most}) => most)") == found.evaluate(clear)


def test_a_curve_with_its_band(visit: Callable[..., Any], one: Shown) -> None:
    found = one.open(visit)
    assert found.locator(".large .band").count() == found.locator(".line .band").count() == 1
    before = picture(found)
    found.get_by_role("slider").fill("3")
    assert picture(found) != before
    assert "60 of 70 periods" in found.locator("main").inner_text()
    found.locator("summary").first.click()
    found.locator(".numbers tbody tr").first.wait_for()  # the table is made when it is opened
    assert found.locator(".numbers tbody tr").count() == 60


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_nothing_stands_in_the_way_of_assistive_tools(
    scheme: str, width: int, visit: Callable[..., Any], two: Shown
) -> None:
    found = two.open(visit, color_scheme=scheme, viewport={"width": width, "height": 844}, bypass_csp=True)
    for summary in found.locator("summary").all():
        summary.click()
    found.wait_for_function("document.querySelector('.large svg').getBoundingClientRect().width > 200")
    assert found.evaluate("document.documentElement.scrollWidth <= innerWidth")
    violations = Axe().run(found).response["violations"]
    assert [(one["id"], one["impact"], one["nodes"][0]["html"][:200]) for one in violations] == []


# ---- one file, from anybody ----

EVIL = ["</script><script>alert(1)</script>", '"><img src=x onerror=alert(2)>{{script}}']


def test_a_hostile_stream_shows_as_text(visit: Callable[..., Any], tmp_path: Path) -> None:
    stream = published(EVIL, 2, rows=4)
    title = "</title><script>alert(6)</script>"
    spread = dict.fromkeys(EVIL, (0.0, 60.0))
    scumble.explore(stream, tmp_path / "evil.html", title=title, ranges=spread, units={EVIL[0]: "<i>km"})
    seen = visit()
    found = seen.open((tmp_path / "evil.html").as_uri())
    assert seen.said == []
    assert found.locator("h1").inner_text() == title == found.title().removesuffix(" · scumble")
    assert found.evaluate("document.querySelectorAll('img, #app script, #app i, body > script').length") == 4
    assert EVIL[0] in found.locator(".words").inner_text() and EVIL[1] in found.locator(".words").inner_text()
    assert all(url.startswith(("file:", "blob:", "data:")) for url in seen.asked)
    assert sum(len(part(name)) for name in StreamExhibit.parts if name) < 150_000
    assert "</script" not in part("stream.js")


# ---- served, and from the command line ----


def test_the_served_page(visit: Callable[..., Any], two: Shown) -> None:
    with Server(two.exhibit) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        found = visit().open(server.url)
        assert found.evaluate("fetch('data:,').then(() => 'connected', () => 'refused')") == "refused"
        assert server.html() == two.path.read_bytes()
        found.goto(server.url + "openapi.json")
        assert '"/api/info"' in found.content() and "/api/density" not in found.content()
        server.shutdown()


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stream = published(["east"], 2, folder=tmp_path / "trips", rows=4)
    where = tmp_path / "trips.html"
    asked = ["explore", f"{tmp_path / 'trips'}{os.sep}", "--export", str(where), "--range", "east=0:60"]
    assert main(asked) == 0 and "Wrote" in capsys.readouterr().err
    same = StreamExhibit(stream, "trips", ranges={"east": (0.0, 60.0)})
    assert where.read_text(encoding="utf-8") == page(same)
    assert main(["explore", str(tmp_path), "--export", str(where), "--replace"]) == 4
    assert "nothing published" in capsys.readouterr().err


def test_a_screenshot_for_the_docs(visit: Callable[..., Any], two: Shown, tmp_path: Path) -> None:
    """With SCUMBLE_PICTURES=docs/pictures it is that of the docs."""
    folder = Path(os.environ.get("SCUMBLE_PICTURES", tmp_path))
    found = two.open(visit, viewport={"width": 1180, "height": 900})
    found.get_by_role("slider").fill("8")
    found.wait_for_function("document.querySelector('.line svg').getBoundingClientRect().width > 400")
    found.screenshot(path=folder / "explore-stream.png")
    assert (folder / "explore-stream.png").stat().st_size > 30_000


def test_degrees_are_drawn_as_a_map(visit: Callable[..., Any], tmp_path: Path) -> None:
    """A kilometre is as long across as up, on the large map and on the small ones."""
    ranges = {"lon": (0.0, 60.0), "lat": (0.0, 40.0)}
    page = shown(published(["lon", "lat"], 2), tmp_path / "map.html", ranges=ranges).open(visit)
    image = page.locator(".large svg image")
    shape = float(image.get_attribute("height") or 0) / float(image.get_attribute("width") or 1)
    expected = (40.0 / 60.0) / np.cos(np.radians(20.0))
    assert shape == pytest.approx(expected, rel=0.02)
    box = page.locator(".panel canvas").first.bounding_box()
    assert box is not None and box["height"] / box["width"] == pytest.approx(expected, rel=0.05)
