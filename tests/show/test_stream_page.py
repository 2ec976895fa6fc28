"""The page of a stream: its numbers are those of the stream's own releases, and it moves through time."""

from __future__ import annotations

import base64
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pandas import DataFrame
from playwright.sync_api import Page, expect

import scumble
from scumble.cli import main
from scumble.show.exhibit import StreamExhibit
from scumble.show.opening import read
from scumble.show.pages import export, page
from scumble.streams.published import StreamRelease

KERNEL = scumble.EuclideanKernel(3.0, power=2)
RANGES = {"east": (0.0, 60.0), "north": (0.0, 40.0)}
SMALL: dict[str, Any] = {"rows": 16, "buckets": 32, "epsilon": 1.0, "delta": 1e-6}


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


@pytest.mark.parametrize("columns", [1, 2])
def test_two_periods_are_compared_as_python_compares_them(
    columns: int, visit: Callable[..., Any], one: Shown, two: Shown
) -> None:
    case = (one, two)[columns - 1]
    found, (stream, ends) = case.open(visit), (case.exhibit.stream, case.description["ends"])
    section = found.get_by_role("region", name="What differs")
    for start, claim, end in ((0, "populations", len(ends) - 1), (0, "tables", 12), (11, "tables", 12)):
        before, after = section.get_by_role("combobox").all()
        before.select_option(f"Period {ends[start]}")
        after.select_option(f"Period {ends[end]}")
        section.get_by_role("radio", name={"populations": "Populations", "tables": "These records"}[claim]).check(
            force=True
        )
        first, second = (stream.window(1, last=ends[at]) for at in (start, end))
        right = first.compare(second, at=case.exhibit.points(), of=claim)
        has = DataFrame(found.evaluate("scumble.story.differences(scumble.state).found"))
        has = has.rename(columns={"value": "difference", "p": "p_value", "adjusted": "p_adjusted"})
        for name in ("first", "second", "difference", "low", "high", "p_value", "p_adjusted"):
            np.testing.assert_allclose(has[name], right[name], rtol=2e-3, atol=2e-6, err_msg=name)
        sure = int((right["p_adjusted"] < 0.05).sum())
        assert section.locator("svg circle").count() == has["sure"].sum() == sure
        told = section.get_by_role("status").inner_text()
        assert told.startswith(f"{sure or 'None'} of {len(right)} points") and claim in told
    before.select_option(f"Period {ends[12]}")  # the same
    assert section.locator("svg").count() == 0 and "two different" in section.get_by_role("status").inner_text()


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
