"""A table's page in a real browser: it answers as Python does, to filters made by mouse, keyboard and boxes."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import math
import os
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

import scumble
from scumble.cli import main
from scumble.errors import ParameterError
from scumble.explore import Server, TableExhibit, exhibit_of, export, page, read
from scumble.explore.pages import part
from scumble.tabular.spec import TableSpec

SCHEMA = scumble.Schema(
    age=scumble.Number(17, 90, whole=True),
    pay=scumble.Number(0, 10_000, scale="log", cells=16, missing=True),
    seen=scumble.Date("2024-01-01", "2024-12-31", cells=12),
    town=scumble.Category(["Ulm", "Bonn", "L'Aquila"], other=False),
    smoker=scumble.Boolean(),
)
UNITS = {"age": "years"}
READY = "#app[data-state=done]"


def people(n: int = 10_000) -> pd.DataFrame:
    """Records whose columns hang together."""
    rng = np.random.default_rng(11)
    age = rng.integers(17, 91, n)
    pay = np.where(rng.random(n) < 0.1, 0.0, np.exp(rng.normal(5 + age / 50, 1, n)).clip(0, 10_000))
    pay[rng.random(n) < 0.04] = np.nan
    seen = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 366, n), unit="D")
    town = rng.choice(["Ulm", "Bonn", "L'Aquila", None], n, p=[0.5, 0.3, 0.15, 0.05])
    return pd.DataFrame({"age": age, "pay": pay, "seen": seen, "town": town, "smoker": rng.random(n) < 0.1 + age / 200})


@dataclass(frozen=True)
class Shown:
    """A release, out of a file with its draws, and its page."""

    release: scumble.TableRelease
    path: Path

    def open(self, visit: Callable[..., Any], **options: Any) -> Page:
        page: Page = visit(**options).open(self.path.as_uri())
        return page


@pytest.fixture(scope="session", params=[None, "smoker"], ids=["whole", "by class"])
def shown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """A table, once as a whole and once by class."""
    return exported(request.param, tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    return exported(None, tmp_path_factory.mktemp("table"))


def exported(
    target: str | None,
    folder: Path,
    known: dict[Any, Shown] = {},  # noqa: B006  made once for all
) -> Shown:
    if target not in known:
        live = scumble.TableSketch(SCHEMA, target=target).update(people()).release(epsilon=2.0)
        release = scumble.TableRelease.from_bytes(live.to_bytes(draws=True))
        export(TableExhibit(release, "people.scumble", units=UNITS), folder / "people.html")
        known[target] = Shown(release, folder / "people.html")
    return known[target]


def questions(size: int, seed: int = 3) -> list[str]:
    """Conditions on one to four columns, which cut cells and which do not."""
    rng = np.random.default_rng(seed)

    def atom(name: str) -> str:
        low, high = np.sort(rng.random(2))
        months = [f"'2024-{1 + int(12 * end):02}-{rng.integers(1, 29):02}'" for end in (low, high)]
        pay = f"pay >= {10_000 * low**4:.2f} and pay < {10_000 * high:.2f}"
        return {
            "age": f"age >= {17 + int(73 * low)} and age <= {17 + int(73 * high)}",
            "pay": pay if rng.random() < 0.7 else f"({pay} or pay is missing)",
            "seen": f"seen >= {months[0]}" if rng.random() < 0.5 else f"seen <= {months[1]}",
            "town": "town in ['Bonn', 'Ulm']" if rng.random() < 0.5 else "town == 'L''Aquila'",
            "smoker": f"smoker == {['true', 'false'][rng.integers(2)]}",
        }[name]

    names = [rng.choice([*SCHEMA], 1 + number % 4, replace=False) for number in range(size)]
    return [" and ".join(map(atom, some)) for some in names]


ASK = """(asked) => asked.map((products) => {
    const maps = products.map((one) => new Map(one.map(([j, weights]) => [j, Float64Array.from(weights)])));
    const [even, sure = even, maybe = even] = maps;
    const question = { even, sure, maybe };
    const { answers, columns } = scumble.table;
    const means = [0, 1, 4].map((j) => answers.mean(question, j, columns[j].values, columns[j].extremes));
    return [answers.told(answers.counts(question)), answers.share(question), ...means].map(Object.values);
})"""


def as_json(release: scumble.TableRelease, where: str) -> list[Any]:
    """The products of a condition that has one of each: by evenness, surely, perhaps."""
    asked, nobody = release._question(where), {0: np.zeros(SCHEMA.sizes[0])}
    sides = [asked.even, asked.sure, asked.maybe] if asked.cuts else [asked.even]
    products = [side[0][1] if side else nobody for side in sides]
    return [[[j, np.asarray(weights).tolist()] for j, weights in one.items()] for one in products]


# ---- numbers ----


def test_the_page_answers_as_python_does(visit: Callable[..., Any], shown: Shown) -> None:
    """Counts, shares and means, with their intervals, of whole cells and of parts: out of the same draws."""
    release, asked = shown.release, questions(60)
    found = shown.open(visit).evaluate(ASK, [as_json(release, where) for where in asked])
    assert sum(release._question(where).cuts for where in asked) > 20
    for where, numbers in zip(asked, found, strict=True):
        means = (release.mean(name, where) for name in ("age", "pay", "smoker"))
        for told, by_python in zip(numbers, (release.count(where), release.share(where), *means), strict=True):
            wanted = [by_python.value, by_python.low, by_python.high]
            assert told == pytest.approx(wanted, rel=2e-6, abs=1e-4, nan_ok=True), where


def test_of_a_rare_word_no_more_records_are_possible_than_it_has(visit: Callable[..., Any], tmp_path: Path) -> None:
    """Not even together with a column that it was not counted with."""
    schema = scumble.Schema(word=scumble.Category(["often", "rare"], other=False, missing=False), ill=scumble.Boolean())
    rows = {"word": ["often"] * 3960 + ["rare"] * 40, "ill": [True, False] * 2000}
    release = scumble.TableSketch.from_spec(TableSpec.of(schema, pairs=())).update(rows).release(epsilon=20.0)
    scumble.explore(release, tmp_path / "rare.html")
    page = visit().open((tmp_path / "rare.html").as_uri())
    panel(page, "word").get_by_label("rare").check()
    panel(page, "ill").get_by_label("yes").check()
    page.wait_for_selector(READY)
    high = page.evaluate("scumble.table.count(scumble.state.filters).high")
    assert high == pytest.approx(release.count("word == 'rare' and ill").high, abs=0.01) and high < 60


# ---- what people do with it ----


def answered(page: Page) -> float:
    page.wait_for_selector(READY)
    return float(page.locator(".count strong").inner_text().replace(",", ""))


def condition(page: Page) -> str:
    """The question as the page puts it in Python's words."""
    code = page.locator(".elsewhere code").text_content() or ""
    asked: str = json.loads(code.split("release.count(")[1].removesuffix(")") or '""')
    return asked


def drag(page: Page, chart: Locator, start: float, end: float) -> None:
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + start * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + end * box["width"], y, steps=5)
    page.mouse.up()


def bars(page: Page) -> list[list[str]]:
    """The bars of each column's picture."""
    found: list[list[str]] = page.evaluate(
        """() => [...document.querySelectorAll("article")].map((one) =>
            [...one.querySelectorAll("rect.column")].map((bar) =>
                `${bar.getAttribute("width")} ${bar.getAttribute("height")}`))"""
    )
    return found


def panel(page: Page, name: str) -> Locator:
    return page.get_by_role("article", name=name, exact=True)


def test_brushing_and_ticking_update_every_picture_at_once(visit: Callable[..., Any], whole: Shown) -> None:
    page = whole.open(visit)
    total = answered(page)
    assert total == round(whole.release.count().value)
    before = bars(page)
    drag(page, panel(page, "age years").locator("svg"), 0.55, 0.95)
    brushed = answered(page)
    assert brushed == round(whole.release.count(condition(page)).value) and 0.2 * total < brushed < 0.7 * total
    panel(page, "town").get_by_label("Bonn").check()
    panel(page, "town").get_by_label("L'Aquila").check()
    panel(page, "pay").get_by_role("checkbox").uncheck()
    page.get_by_label("seen to").fill("2024-07-01")
    page.get_by_label("seen to").press("Enter")
    answered(page)
    assert all(one != other for one, other in zip(before, bars(page), strict=True))
    asked = condition(page)
    assert "town in ['Bonn', 'L''Aquila']" in asked and "pay is not missing" in asked
    assert answered(page) == round(whole.release.count(asked).value)  # Python reads what the page wrote
    shares = page.locator(".part").inner_text()
    assert float(shares.split(" ")[0]) == pytest.approx(100 * whole.release.share(asked).value, abs=0.06)
    expect(page.locator(".chip")).to_have_count(4)
    page.get_by_role("button", name="Clear all").click()
    assert answered(page) == total
    assert bars(page) == before


def test_numbers_are_typed_and_means_follow(visit: Callable[..., Any], whole: Shown) -> None:
    page = whole.open(visit)
    page.get_by_label("age from").fill("65")
    page.get_by_label("age from").press("Enter")
    assert answered(page) == round(whole.release.count("age >= 65").value) and condition(page) == "age >= 65"
    page.get_by_label("age from").press("ArrowUp")
    page.wait_for_selector(READY)
    assert condition(page) == "age >= 66"
    page.get_by_label("Column to take the mean of").select_option(label="smoker")
    mean = float(page.locator(".average strong").inner_text())
    assert mean == pytest.approx(whole.release.mean("smoker", "age >= 66").value, abs=0.03)
    page.get_by_label("age to").fill("")
    page.get_by_label("age to").press("Enter")
    expect(page.get_by_label("age to")).to_have_value("90")


@pytest.mark.parametrize(
    ("field", "typed", "asked"),
    [
        ("pay from", "100", "pay >= 100"),
        ("pay to", "250.5", "pay < 250.5"),
        ("pay to", "0", "pay <= 0"),
        ("seen from", "2024-03-15", "seen >= '2024-03-15'"),
        ("seen to", "2024-03-15", "seen <= '2024-03-15'"),
    ],
)
def test_the_page_answers_what_was_typed(
    visit: Callable[..., Any], whole: Shown, field: str, typed: str, asked: str
) -> None:
    """Limits within a cell too: as Python does, values lie evenly in it, and all or none of them may be meant."""
    page = whole.open(visit)
    page.get_by_label(field).fill(typed)
    page.get_by_label(field).press("Enter")
    answered(page)
    assert condition(page) == asked
    expect(page.get_by_label(field)).to_have_value(typed)
    count, mean = whole.release.count(asked), whole.release.mean("pay", asked)
    told = f"{count.value:,.0f}\n{round(count.low):,} to {round(count.high):,} (95 % interval)"
    assert page.locator(".count").inner_text() == told
    found = page.evaluate("() => scumble.table.mean(1, scumble.state.filters)")
    assert [*found.values()] == pytest.approx([mean.value, mean.low, mean.high], rel=2e-6)
    drawn = page.evaluate("() => scumble.table.rows(200, scumble.state.filters)")
    rows = pd.DataFrame(drawn, columns=[*SCHEMA]).replace("", None)
    rows = rows.assign(pay=rows["pay"].astype(float), seen=pd.to_datetime(rows["seen"]))
    assert len(rows.query(asked)) == 200


def test_numbers_typed_beyond_a_column_are_told_to_be_cut(visit: Callable[..., Any], whole: Shown) -> None:
    page = whole.open(visit)
    read = page.locator(".panel", has=page.get_by_label("age to")).locator(".read")
    page.get_by_label("age to").fill("120")
    page.get_by_label("age to").press("Enter")
    expect(page.get_by_label("age to")).to_have_value("90")
    expect(read).to_have_text("120 is beyond 17 to 90, and was cut")
    page.get_by_label("seen from").fill("1999-05-01")
    page.get_by_label("seen from").press("Enter")
    expect(page.locator(".panel", has=page.get_by_label("seen to"))).to_contain_text("1999-05-01 is beyond")
    page.get_by_label("age from").fill("65")
    page.get_by_label("age from").press("Enter")
    expect(read).to_have_text(re.compile("^mean "))


def test_a_heap_at_a_bound_is_meant_as_in_python(visit: Callable[..., Any], tmp_path: Path) -> None:
    """What lay beyond a bound counts there, and does not lie evenly in its cell."""
    values = np.append(np.random.default_rng(3).uniform(0, 100, 4000), np.full(1000, 100.0))
    sketch = scumble.TableSketch(scumble.Schema(x=scumble.Number(0, 100, cells=10))).update({"x": values})
    release = scumble.TableRelease.from_bytes(sketch.release(epsilon=5.0).to_bytes(draws=True))
    export(TableExhibit(release, "heap"), tmp_path / "heap.html")
    page = visit().open((tmp_path / "heap.html").as_uri())
    for field, typed in [("x from", "95"), ("x to", "99")]:
        page.get_by_label(field).fill(typed)
        page.get_by_label(field).press("Enter")
        page.wait_for_selector(READY)
        with pytest.warns(UserWarning, match="Far more records") if field == "x from" else contextlib.nullcontext():
            wanted = release.count(condition(page))
        found = page.evaluate("() => scumble.table.count(scumble.state.filters)")
        assert [*found.values()] == pytest.approx([wanted.value, wanted.low, wanted.high], rel=2e-6, abs=1e-4)
        assert (found["value"] > 700) == (field == "x from")


def test_of_a_group_that_has_no_record_no_mean_and_no_share_is_known(visit: Callable[..., Any], whole: Shown) -> None:
    """As in Python; here the draws are made to have half a record, or a little less."""
    found = whole.open(visit).evaluate(
        """() => [0.49, 0.51].map((records) => {
          const { table } = scumble;
          const { posterior } = table.answers;
          const scale = records / posterior.totals.reduce((sum, total) => sum + total) * posterior.totals.length;
          for (const totals of [posterior.totals, posterior.classes[0].totals])
            totals.forEach((total, draw) => (totals[draw] = scale * total));
          const everybody = new Map();
          const nobody = table.answers.ratio(posterior.totals.map(() => 0.2), posterior.totals);
          return [...[0, 4].map((j) => table.mean(j, everybody)), nobody].map(({ value }) => Number.isNaN(value));
        })"""
    )
    assert found == [[True] * 3, [False] * 3]


def test_two_columns_together(visit: Callable[..., Any], whole: Shown) -> None:
    page = whole.open(visit)
    page.get_by_role("combobox", name="Rows").select_option(label="town")
    page.get_by_role("combobox", name="Columns").select_option(label="smoker")
    cells = page.locator(".crosstab td .value")
    found = [float(text.replace(",", "")) for text in cells.all_inner_texts()]
    assert found == [round(value) for value in whole.release.crosstab("town", "smoker")["value"]]
    assert page.locator(".crosstab td.doubt-0").count() >= 2
    page.get_by_label("Share of row").check()
    shares = [float(text.rstrip(" %")) for text in cells.all_inner_texts()]
    assert np.reshape(shares, (4, 2))[:3].sum(axis=1) == pytest.approx(100, abs=1.5)
    panel(page, "town").get_by_label("Ulm").check()  # only what the filter keeps
    page.wait_for_selector(READY)
    expect(page.locator(".crosstab tbody tr")).to_have_count(1)
    page.get_by_role("combobox", name="Columns").select_option(label="town")
    assert "two different columns" in page.locator(".cross").inner_text()


def test_long_names_of_columns_stay_within_their_cells(visit: Callable[..., Any], tmp_path: Path) -> None:
    schema = scumble.Schema(
        neighbourhood_group=scumble.Category(["Manhattan"]), bits=scumble.Category(["Averylongwordwithoutanyblanks"])
    )
    rows = {"neighbourhood_group": ["Manhattan"] * 9, "bits": ["Averylongwordwithoutanyblanks"] * 9}
    scumble.explore(scumble.TableSketch(schema).update(rows).release(epsilon=1.0), tmp_path / "long.html", title="long")
    page = visit().open((tmp_path / "long.html").as_uri())
    page.wait_for_selector(READY)
    wider = "cells => cells.filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent)"
    assert page.locator(".crosstab th").evaluate_all(wider) == []
    name = page.locator("h3").first
    assert name.text_content() == "neighbourhood_group" and name.locator("wbr").count() == 1


def test_what_the_release_cannot_know_is_said(visit: Callable[..., Any], tmp_path: Path) -> None:
    """Columns that were counted alone: nothing is known of two together."""
    release = scumble.TableSketch.from_spec(TableSpec.of(SCHEMA, pairs=())).update(people(400)).release(epsilon=0.05)
    scumble.explore(release, tmp_path / "alone.html", title="alone")
    page = visit().open((tmp_path / "alone.html").as_uri())
    panel(page, "town").get_by_label("Ulm").check()
    panel(page, "smoker").get_by_label("yes").check()
    page.wait_for_selector(READY)
    assert "Not counted together: town and smoker. How such" in page.locator(".answer .doubt").inner_text()
    asked = "town == 'Ulm' and smoker"
    for name in ("pay", "age"):
        page.get_by_role("combobox", name="Column to take the mean of").select_option(label=name)
        told = page.locator(".answer .doubt-of-mean").inner_text()
        assert all(f"{one} and " in told or f" and {one}" in told for one in (name, "town", "smoker")), told
        assert "town and smoker" not in told and release.mean(name, asked).remarks[0].split(". ")[1] in told
    page.get_by_role("combobox", name="Column to take the mean of").select_option(label="smoker")
    expect(page.locator(".answer .doubt-of-mean")).to_be_hidden()  # the line above has said it
    panel(page, "age").locator(".histogram").focus()
    for key in ("Home", "Enter"):
        page.keyboard.press(key)
    page.wait_for_selector(READY)
    assert "cannot tell them from none" in page.locator(".answer .doubt").inner_text()
    page.get_by_role("button", name="Clear all").click()
    page.wait_for_selector(READY)
    expect(page.locator(".answer .doubt-of-mean")).to_be_hidden()
    together = page.locator(".cross .doubt")
    for name, other in [("town", "smoker"), ("age", "pay")]:
        page.get_by_role("combobox", name="Rows").select_option(label=name)
        page.get_by_role("combobox", name="Columns").select_option(label=other)
        (remark,) = release.crosstab(name, other, bins=2).attrs["remarks"]
        expect(together).to_have_text(remark.replace("'", ""))
    page.get_by_role("combobox", name="Columns").select_option(label="age")
    expect(together).to_be_hidden()
    page.locator("summary", has_text="The columns").click()
    headings = page.locator("details", has_text="The columns").locator("thead th").all_inner_texts()
    assert headings == ["Column", "Kind", "What it can hold", "Levels"], "no pairs were counted"


def test_columns_of_no_pair_have_no_levels_in_pairs(visit: Callable[..., Any], tmp_path: Path) -> None:
    sketch = scumble.TableSketch.from_spec(TableSpec.of(SCHEMA, pairs=((0, 4),)))
    scumble.explore(sketch.update(people(4000)).release(epsilon=20.0), tmp_path / "one.html", title="one")
    page = visit().open((tmp_path / "one.html").as_uri())
    page.locator("summary", has_text="The columns").click()
    listed = page.locator("details", has_text="The columns")
    assert listed.locator("thead th").all_inner_texts()[-2:] == ["Levels alone", "Levels in pairs"]
    found = [row.split("\t")[-1] for row in listed.locator("tbody tr").all_inner_texts()]
    assert found[1:4] == ["in none"] * 3 and found[0].isdigit() and found[4] == "2"
    page.get_by_role("combobox", name="Rows").select_option(label="age")
    page.get_by_role("combobox", name="Columns").select_option(label="smoker")
    expect(page.locator(".cross .doubt")).to_be_hidden()


def test_of_a_long_vocabulary_the_most_frequent_words_are_shown(visit: Callable[..., Any], tmp_path: Path) -> None:
    words = [f"word {number:03}" for number in range(300)]
    schema = scumble.Schema(word=scumble.Category(words), smoker=scumble.Boolean())
    table = {"word": [words[number % 30 + 100] for number in range(3000)], "smoker": [True] * 3000}
    sketch = scumble.TableSketch.from_spec(TableSpec.of(schema, pairs=())).update(table)
    scumble.explore(sketch.release(epsilon=10.0), tmp_path / "words.html")
    page = visit().open((tmp_path / "words.html").as_uri())
    assert "The 40 most frequent of 302." in panel(page, "word").inner_text()
    panel(page, "word").get_by_role("button", name="Show all 40").click()
    shown = panel(page, "word").locator(".word").all_inner_texts()
    assert len(shown) == 40 and {*words[100:130]} <= {*shown}


def test_synthetic_rows_are_downloaded(visit: Callable[..., Any], whole: Shown) -> None:
    seen = visit(accept_downloads=True)
    # Rows are drawn with Math.random, which has a seed here.
    seen.page.add_init_script("let s = 1; Math.random = () => ((s = (s * 16807) % 2147483647) - 1) / 2147483646;")
    page = seen.open(whole.path.as_uri())
    page.get_by_label("age from").fill("40")
    page.get_by_label("age from").press("Enter")
    panel(page, "town").get_by_label("Ulm").check()
    page.wait_for_selector(READY)
    page.get_by_role("spinbutton", name="Rows").fill("4000")
    with page.expect_download() as loading:
        page.get_by_role("button", name="Download CSV").click()
    assert loading.value.suggested_filename == "people-synthetic.csv"
    rows = pd.read_csv(io.BytesIO(Path(loading.value.path()).read_bytes()))
    assert list(rows) == list(SCHEMA) and len(rows) == 4000
    assert rows["age"].min() >= 40 and set(rows["town"]) == {"Ulm"}
    codes = SCHEMA.encode(rows).codes  # every cell has a level
    model = whole.release._answers.model
    asked = [(1.0, {0: np.arange(74) >= 23.0, 3: np.eye(4)[0]})]
    for j in range(len(SCHEMA)):
        shares = model.table([j], asked) / model.share(asked)
        shares = np.clip(shares, 0.0, 1.0)  # rounding
        off = np.bincount(codes[:, j], minlength=len(shares)) / 4000 - shares
        # Six deviations of a binomial share and one row: below 1e-8 for each of 130 levels.
        assert (np.abs(off) <= 6 * np.sqrt(shares * (1 - shares) / 4000) + 1 / 4000).all()


# ---- for everybody ----


def test_the_keyboard_alone_reaches_and_does_everything(visit: Callable[..., Any], whole: Shown) -> None:
    page = whole.open(visit)
    wanted = page.evaluate(
        """() => [...document.querySelectorAll('button, input, select, summary, [tabindex="0"]')]
            .filter((one) => one.checkVisibility() && !(one.type === "radio" && !one.checked)).length"""
    )
    reached = page.evaluate_handle("new Set()")
    for _ in range(wanted + 10):
        page.keyboard.press("Tab")
        page.evaluate("(set) => document.activeElement === document.body || set.add(document.activeElement)", reached)
    assert page.evaluate("(set) => set.size", reached) == wanted

    panel(page, "age years").locator(".histogram").focus()
    for key in ("End", "ArrowLeft", "ArrowLeft", "Enter", "End", "Enter", "ArrowLeft"):
        page.keyboard.press(key)
    page.wait_for_selector(READY)
    assert condition(page).startswith("age >= 8")
    assert " to " in panel(page, "age years").locator(".read").inner_text()
    page.keyboard.press("Escape")
    page.wait_for_selector(READY)
    assert condition(page) == ""
    panel(page, "smoker").get_by_label("yes").focus()
    page.keyboard.press("Space")
    page.wait_for_selector(READY)
    assert condition(page) == "smoker == true"


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_nothing_stands_in_the_way_of_assistive_tools(
    scheme: str, width: int, visit: Callable[..., Any], whole: Shown
) -> None:
    page = whole.open(visit, color_scheme=scheme, viewport={"width": width, "height": 844}, bypass_csp=True)
    panel(page, "town").get_by_label("Ulm").check()
    for summary in page.locator("summary").all():
        summary.click()
    page.wait_for_selector(READY)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    violations = Axe().run(page).response["violations"]
    assert [(found["id"], found["impact"], found["nodes"][0]["html"][:200]) for found in violations] == []


# ---- one file, from anybody ----


def test_the_file_works_by_itself_and_is_small(visit: Callable[..., Any], whole: Shown) -> None:
    seen = visit()
    page = seen.open(whole.path.as_uri())
    assert page.locator("h1").inner_text() == "people.scumble" and page.locator("article").count() == len(SCHEMA)
    assert seen.said == []
    assert all(url.startswith(("file:", "blob:", "data:")) for url in seen.asked)
    assert "connect" not in page.evaluate("fetch('data:,').then(() => 'connected', (error) => 'refused')")
    assert sum(len(part(name)) for name in TableExhibit.parts) < 80_000
    assert "</script" not in part("table.js") + part("tableengine.js")


EVIL = ["<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "</script><b>`x`", "{{script}}", "__proto__"]


def test_a_hostile_table_shows_as_text(visit: Callable[..., Any], tmp_path: Path) -> None:
    names = [EVIL[0], EVIL[2], EVIL[4]]
    schema = scumble.Schema({name: scumble.Category(EVIL, other=False, missing=False) for name in names})
    rng = np.random.default_rng(1)
    table = {name: rng.choice(EVIL, 300).tolist() for name in names}
    release = scumble.TableSketch(schema).update(table).release(epsilon=1.0)
    title = "</title><script>alert(6)</script>"
    scumble.explore(release, tmp_path / "evil.html", title=title, units={EVIL[0]: "<i>km"})
    seen = visit()
    page = seen.open((tmp_path / "evil.html").as_uri())
    for box in page.locator(".ticks").get_by_role("checkbox").all()[:9:8]:
        box.check()
    page.wait_for_selector(READY)
    assert seen.said == []
    assert page.locator("h1").inner_text() == title == page.title().removesuffix(" · scumble")
    assert page.evaluate("document.querySelectorAll('img, #app script, #app i:not(.key i), body > script').length") == 4
    assert EVIL[0] in page.locator("article h3").first.inner_text()
    assert all(url.startswith(("file:", "blob:", "data:")) for url in seen.asked)


# ---- served, and from the command line ----


def test_the_served_page_and_its_api(visit: Callable[..., Any], whole: Shown) -> None:
    exhibit = TableExhibit(whole.release, "people")
    with Server(exhibit) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        page = visit().page
        page.goto(server.url + "api/info")
        ask = """([path, body]) => fetch(path, {method: "POST", headers: {"Content-Type": "application/json"},
            body: JSON.stringify(body)}).then(async (answer) => [answer.status, await answer.json()])"""
        asked = {"where": "age >= 65 and town == 'Ulm'", "confidence": 0.9}
        found = page.evaluate(ask, ["/api/count", asked])
        assert found == [200, whole.release.count(asked["where"], confidence=0.9).numbers() | {"remarks": []}]
        found = page.evaluate(ask, ["/api/mean", {"column": "pay"}])
        assert found == [200, whole.release.mean("pay").numbers() | {"remarks": []}]
        wrong: list[tuple[str, Any, str]] = [
            ("/api/count", {"where": "age >"}, "cannot be read"),
            ("/api/count", {"where": {"age": 3}}, "must be text"),
            ("/api/count", {"confidence": True}, "between 0 and 1"),
            ("/api/mean", {}, "must name a column"),
            ("/api/mean", {"column": "town"}, "no mean"),
            ("/api/count", {"points": []}, "not known here"),
            ("/api/density", {"points": [[1]]}, "There is no"),
        ]
        for path, body, told in wrong:
            status, answer = page.evaluate(ask, [path, body])
            assert 400 <= status < 500 and told in answer["error"], (path, body)
        described = page.evaluate("fetch('/openapi.json').then((answer) => answer.json())")
        assert {*described["paths"]} == {"/api/info", "/api/count", "/api/mean"}
        server.shutdown()


def test_from_the_command_line(whole: Shown, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = scumble.Schema(smoker=scumble.Boolean(), sex=scumble.Category(["f", "m"]))
    table = {"smoker": [True, False] * 100, "sex": ["f", "m"] * 100}
    live = scumble.TableSketch(small).update(table).release(epsilon=1.0)
    live.save(tmp_path / "small.scumble")
    where = str(tmp_path / "small.html")
    assert main(["explore", str(tmp_path / "small.scumble"), "--export", where, "--units", "sex=kind"]) == 0
    assert "Wrote" in capsys.readouterr().err
    # What has met the records shows no more than its file does.
    assert Path(where).read_text(encoding="utf-8") == page(TableExhibit(live, "small.scumble", units={"sex": "kind"}))
    assert (
        main(["explore", str(tmp_path / "small.scumble"), "--export", where, "--replace", "--range", "smoker=0:1"]) == 2
    )
    assert "schema says them" in capsys.readouterr().err
    assert isinstance(exhibit_of(read(tmp_path / "small.scumble")), TableExhibit)
    with pytest.raises(ParameterError, match="units"):
        TableExhibit(whole.release, units={"nobody": "km"})


def test_screenshots_for_the_docs(visit: Callable[..., Any], whole: Shown, tmp_path: Path) -> None:
    """With SCUMBLE_PICTURES=docs/pictures it is that of the docs."""
    folder = Path(os.environ.get("SCUMBLE_PICTURES", tmp_path))
    page = whole.open(visit, viewport={"width": 1180, "height": 900})
    drag(page, panel(page, "age years").locator("svg"), 0.55, 0.95)
    panel(page, "town").get_by_label("Bonn").check()
    page.wait_for_selector(READY)
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=folder / "explore-table.png")
    assert (folder / "explore-table.png").stat().st_size > 30_000


# ---- what stands at the axes ----


def test_axes_say_their_ends(visit: Callable[..., Any], tmp_path: Path) -> None:
    """Also below zero, close together, far away; of a few whole numbers each, of years without a comma."""
    rng = np.random.default_rng(4)
    columns = {
        "lon": (scumble.Number(-73.99, -73.94, cells=8), ["−73.99", "−73.965", "−73.94"]),
        "near": (scumble.Number(1000.001, 1000.009, cells=8), ["1000.001", "1000.005", "1000.009"]),
        "far": (scumble.Number(0, 5e12, cells=8), ["0", "2.5T", "5T"]),
        "small": (scumble.Number(-1e-5, 1e-5, cells=8), ["−1e−5", "0", "1e−5"]),
        "grade": (scumble.Number(1, 4, whole=True), ["1", "2", "3", "4"]),
        "year": (scumble.Number(1500, 1860, whole=True, cells=9), ["1500", None, "1860"]),
    }
    records = pd.DataFrame({name: rng.uniform(c.low, c.high, 200) for name, (c, _) in columns.items()})
    records[["grade", "year"]] = records[["grade", "year"]].astype(int)
    sketch = scumble.TableSketch(scumble.Schema({name: column for name, (column, _) in columns.items()}))
    export(TableExhibit(sketch.update(records).release(epsilon=9.0), "axes"), tmp_path / "axes.html")
    page = visit().open((tmp_path / "axes.html").as_uri())
    for j, (name, (_, told)) in enumerate(columns.items()):
        found = page.locator(".panel").nth(j).locator(".tick").all_text_contents()
        assert [text for text, known in zip(found, told, strict=True) if known] == [*filter(None, told)], name
    first = page.locator(".panel").nth(0)
    first.locator("summary").click()
    assert first.locator("tbody th").first.inner_text() == "−73.99 to −73.98375"
    assert "e−" in page.locator(".panel").nth(3).locator(".read").inner_text()
    assert page.locator(".cross option:checked").all_text_contents() == ["lon", "near"], "two columns, not one twice"


def test_one_column_is_not_asked_for_a_second(visit: Callable[..., Any], tmp_path: Path) -> None:
    sketch = scumble.TableSketch(scumble.Schema(age=scumble.Number(0, 9, whole=True))).update({"age": [1, 2] * 99})
    export(TableExhibit(sketch.release(epsilon=0.1), "one"), tmp_path / "one.html")
    page = visit().open((tmp_path / "one.html").as_uri())
    assert page.locator(".cross").count() == 0
    assert "." not in page.locator(".promise-line").inner_text().split("records")[0], "records have no parts"


def test_bars_are_alike_and_years_have_no_commas(visit: Callable[..., Any], tmp_path: Path) -> None:
    """Fifty-one years stand in threes, a hundred and forty in sevens, as in Python: no last one is left alone."""
    schema = scumble.Schema(
        born=scumble.Date("1959-01-01", "2009-12-31", cells="year"),
        year=scumble.Number(1870, 2009, whole=True, cells=140),
    )
    rng = np.random.default_rng(5)
    born = [f"{year}-06-01" for year in rng.integers(1959, 2010, 500)]
    sketch = scumble.TableSketch(schema).update(pd.DataFrame({"born": born, "year": rng.integers(1870, 2010, 500)}))
    export(exhibit_of(sketch.release(epsilon=1.0), "born"), tmp_path / "born.html")
    page = visit().open((tmp_path / "born.html").as_uri())
    sizes = page.evaluate("scumble.table.columns.map((one) => one.bins(26).map(({ first, end }) => end - first))")
    assert sizes == [[3] * 17, [7] * 20]
    odd = page.evaluate(
        "scumble.table.columns[1].bins(26, { filter: { first: 0, end: 61 } }).map((b) => b.end - b.first)"
    )
    assert odd == [3] * 19 + [4], "a prime number of levels has no equal parts; what would be left over joins the last"
    panel = page.locator(".panel").nth(1)
    assert panel.locator(".tick").all_text_contents() == ["1870", "1940", "2009"]
    panel.locator("summary").click()
    expect(panel.locator(".numbers tbody th").first).to_have_text("1870 to 1876")


@pytest.fixture(scope="module")
def long_tailed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Half of the records in the first of 64 cells, a logarithmic scale, weeks of which the last has two days, columns
    of many and of few words, cells of uneven width."""
    rng = np.random.default_rng(8)
    schema = scumble.Schema(
        price=scumble.Number(0, 5_000_000),
        tip=scumble.Number(0, 5_000, scale="log", cells=32),
        seen=scumble.Date("2023-01-01", "2024-12-31", cells="week"),
        word=scumble.Category([f"word {k}" for k in range(30)]),
        smoker=scumble.Boolean(),
        owner=scumble.Boolean(),
        uneven=scumble.Number(edges=[0, 1, *range(11, 101, 10), 100]),
    )
    n = 6000
    rows = pd.DataFrame(
        {
            "price": np.exp(rng.normal(10.8, 1.2, n)).clip(0, 5e6),
            "tip": np.exp(rng.normal(1.5, 1.4, n)).clip(0, 5e3),
            "seen": pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 731, n), unit="D"),
            "word": [f"word {k}" for k in rng.integers(0, 30, n)],
            "smoker": rng.random(n) < 0.3,
            "owner": rng.random(n) < 0.6,
            "uneven": rng.uniform(0, 100, n),
        }
    )
    path = tmp_path_factory.mktemp("tails") / "tails.html"
    export(TableExhibit(scumble.TableSketch(schema).update(rows).release(epsilon=8.0), "tails"), path)
    return path


def test_an_axis_is_logarithmic_where_half_of_the_records_crowd_at_its_lower_end(
    visit: Callable[..., Any], long_tailed: Path
) -> None:
    page = visit().open(long_tailed.as_uri())
    price, tip, seen = (panel(page, name) for name in ("price", "tip", "seen"))
    assert price.locator(".tick").all_text_contents() == ["0", "100k", "1M", "5M"]
    marks = tip.locator(".tick").all_text_contents()
    assert marks[0] == "0" and marks[-1] == "5000" and {*marks[1:-1]} <= {"0.1", "1", "10", "100"} and len(marks) > 3
    assert [one.get_by_text("log axis").count() for one in (price, tip, seen)] == [1, 1, 0]
    zero, width = page.evaluate("[1, 2].map((edge) => scumble.table.columns[0].spot(edge))")
    assert zero == 0
    assert width == pytest.approx(math.log(2) / math.log(51)), "the first cell, up to which the axis is even"
    sizes = page.evaluate("scumble.table.columns[0].bins(26).map(({ first, end }) => end - first)")
    assert sizes[:3] == [2, 1, 1] and sizes[1:] == sorted(sizes[1:-1]) + sizes[-1:] and sum(sizes) == 51
    drag(page, price.locator("svg"), 0.5, 0.98)  # what is seen is what is chosen
    page.wait_for_selector(READY)
    low = float(condition(page).split(">= ")[1])
    assert math.log(1 + low / 78125) / math.log(65) == pytest.approx(0.5, abs=0.05)


def test_no_bar_is_left_over_and_no_narrow_one_sets_the_scale(visit: Callable[..., Any], long_tailed: Path) -> None:
    page = visit().open(long_tailed.as_uri())
    sizes = page.evaluate("scumble.table.columns[2].bins(26).map(({ first, end }) => end - first)")
    assert sum(sizes) == 106 and min(sizes) == 5 and max(sizes) == 6, "a last week of two days stands with the others"
    heights = [float(bar.split()[1]) for bar in bars(page)[2]]
    assert min(heights) > 50, "of 100: records lie evenly over the weeks"
    page.evaluate("() => { scumble.table.counts = (_, bins) => bins.map(() => ({ value: 50, low: 0, high: 100 })); }")
    panel(page, "smoker").get_by_label("yes").check()
    page.wait_for_selector(READY)
    first, *others = [float(bar.split()[1]) for bar in bars(page)[6]]
    assert first == pytest.approx(100) and min(others) > 9, "a tenth as wide, so ten times as high, without its whisker"


@pytest.fixture(scope="module")
def far_apart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cells that all but one lie at one end, numbers of many digits, and times."""
    columns = {
        "savings": scumble.Number(edges=[-1e7, -1e6, -1e5, -1e4, -1000, 0, 1000, 1e4, 1e5, 1e6, 1e7, 5e8]),
        "late": scumble.Number(edges=[0, 9.7e8, 9.8e8, 9.9e8, 1e9]),
        "serial": scumble.Number(1_234_567_890, 1_234_567_896, whole=True),
        "year": scumble.Number(2003, 2009, whole=True),
        "hour": scumble.Date("2024-01-01T00:00", "2024-01-01T23:59"),
        "seen": scumble.Date("2023-01-01", "2024-12-31", cells="week"),
    }
    row = {name: column.decode([0], np.random.default_rng(0)).to_pylist() for name, column in columns.items()}
    path = tmp_path_factory.mktemp("apart") / "apart.html"
    release = scumble.TableSketch(scumble.Schema(columns)).update(row).release(epsilon=8.0)
    export(TableExhibit(release, "apart"), path)
    return path


def test_no_mark_at_an_axis_is_printed_over_another(visit: Callable[..., Any], far_apart: Path) -> None:
    for width in (1280, 400):
        page = visit(viewport={"width": width, "height": 900}).open(far_apart.as_uri())
        marks = {name: panel(page, name).locator(".tick") for name in ("savings", "late", "serial", "hour", "seen")}
        places = "all => all.map((one) => one.getBoundingClientRect()).map(({ left, right }) => [left, right])"
        for name, found in marks.items():
            ends = found.evaluate_all(places)
            assert len(ends) > 1 and all(one[1] < other[0] for one, other in itertools.pairwise(ends)), name
        assert marks["savings"].all_text_contents() == ["−10M", "500M"]
        assert marks["seen"].count() == 3, "what has room stays"
        assert panel(page, "year").locator(".tick").all_text_contents() == [str(year) for year in range(2003, 2010)]


def test_numbers_beside_pictures_are_not_cut_off(visit: Callable[..., Any], long_tailed: Path) -> None:
    for width in (1280, 400):
        page = visit(viewport={"width": width, "height": 900}).open(long_tailed.as_uri())
        for summary in page.locator("summary").all():
            summary.click()
        wider = "all => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.ariaLabel)"
        assert page.locator(".panel .scroll, #app details .scroll").evaluate_all(wider) == []
        page.get_by_role("combobox", name="Columns").select_option(label="seen")
        lines = "all => all.map((one) => one.getClientRects().length)"
        ends = page.locator(".crosstab thead .end-of-range")
        assert ends.count() > 8 and {*ends.evaluate_all(lines)} == {1}, "no date breaks"
        heights = "all => all.map((one) => one.getBoundingClientRect().height)"
        assert max(ends.evaluate_all(heights)) < 30
        assert re.fullmatch(r"2023-01-01 to \d{4}-\d\d-\d\d", page.locator(".crosstab thead th").nth(1).inner_text())


def test_the_cross_table_begins_with_columns_of_few_levels(visit: Callable[..., Any], long_tailed: Path) -> None:
    page = visit().open(long_tailed.as_uri())
    assert page.locator(".cross option:checked").all_text_contents() == ["smoker", "owner"]


def test_dates_along_axes_do_not_overprint_each_other(visit: Callable[..., Any], tmp_path: Path) -> None:
    """Times of a month are told by their days, those of a day by both ends; a week has no room for seven dates."""
    schema = scumble.Schema(
        times=scumble.Date("2024-01-01T00:00", "2024-01-31T23:59", cells=31),
        hours=scumble.Date("2024-01-01T00:00", "2024-01-01T23:59", cells=24),
        week=scumble.Date("2024-01-01", "2024-01-07"),
        two=scumble.Date("2024-01-01", "2024-01-02"),
    )
    table = {name: ["2024-01-01T05:00", "2024-01-01T17:00"] * 50 for name in schema}
    sketch = scumble.TableSketch.from_spec(TableSpec.of(schema, pairs=())).update(table)
    export(TableExhibit(sketch.release(epsilon=9.0), "times"), tmp_path / "times.html")
    page = visit().open((tmp_path / "times.html").as_uri())
    told = {name: panel(page, name).locator(".tick").all_text_contents() for name in schema}
    assert told["times"][::2] == ["2024-01-01", "2024-01-31"] and len(told["times"]) == 3
    assert told["hours"] == ["2024-01-01T00:00", "2024-01-01T23:59"]
    assert told["week"] == ["2024-01-01", "2024-01-04", "2024-01-07"] and told["two"] == ["2024-01-01", "2024-01-02"]
    for name in schema:
        places = (
            panel(page, name)
            .locator(".tick")
            .evaluate_all(
                "all => all.map((one) => one.getBoundingClientRect()).map(({ left, right }) => [left, right])"
            )
        )
        assert all(one[1] < other[0] for one, other in itertools.pairwise(places)), name
