"""The page of a model that was fitted by a schema: words are words, whole numbers whole, missing cells said as such."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from scumble.columns.category import Boolean, Category
from scumble.columns.date import Date
from scumble.columns.number import Number
from scumble.columns.schema import Schema
from scumble.errors import ParameterError
from scumble.learn import PrivateKDEClassifier
from scumble.show.exhibit import Exhibit
from scumble.show.pages import export

pytestmark = pytest.mark.filterwarnings("ignore::scumble.errors.CuratorWarning")  # other teams, on purpose

SCHEMA = Schema(
    {
        "medal": Category(["Gold", "Silver", "Bronze"], other=False, missing=False),
        "team": Category(["USA", "GBR", "UKR"]),
        "guide": Boolean(missing=True),
        "year": Number(1960, 2020, whole=True),
        "heat": Number(1, 30, whole=True, missing=True),
        "prize": Number(0, 100_000, scale="log", cells=9),
        "born": Date("1950-01-01", "2000-12-31"),
        "seen": Date("2020-01-01", "2020-03-31", resolution="hour", missing=True),
    }
)


def athletes(n: int) -> pd.DataFrame:
    """Records of every kind, some cells missing."""
    rng = np.random.default_rng(3)
    days = rng.integers(0, 365 * 50, n).astype("timedelta64[D]")
    hours = rng.integers(0, 24 * 90, n).astype("timedelta64[h]")
    frame = pd.DataFrame(
        {
            "medal": rng.choice(["Gold", "Silver", "Bronze"], n),
            "team": rng.choice(["USA", "GBR", "UKR", "elsewhere"], n),
            "guide": rng.choice([True, False], n),
            "year": rng.integers(1960, 2021, n),
            "heat": rng.integers(1, 31, n).astype(float),
            "prize": np.round(10 ** rng.uniform(-3, 5, n), 2) * (rng.random(n) < 0.8),
            "born": np.datetime64("1950-01-01") + days,
            "seen": np.datetime64("2020-01-01T00") + hours,
        }
    ).astype({"guide": object})
    for name, share in {"team": 0.1, "guide": 0.2, "heat": 0.3, "seen": 0.2}.items():
        frame.loc[rng.random(n) < share, name] = None
    return frame


def cells_of(frame: pd.DataFrame) -> list[list[Any]]:
    """The same records as the page has them: words, numbers, days since 1970; None for a missing number."""
    word = {"team": "(missing)", "guide": "(missing)"}
    days = {name: (frame[name] - pd.Timestamp(0)) / pd.Timedelta(days=1) for name in ("born", "seen")}
    out = frame.assign(**days)
    out["guide"] = out["guide"].map({True: "true", False: "false"})
    plain = {name: out[name].fillna(word[name]) if name in word else out[name] for name in out}
    return [[None if cell != cell else cell for cell in row] for row in zip(*plain.values(), strict=True)]


def fitted(rule: str) -> tuple[PrivateKDEClassifier, pd.DataFrame]:
    frame = athletes(4_000)
    y = np.where((frame["medal"] == "Gold") | frame["heat"].isna(), "Men", "Women")
    model = PrivateKDEClassifier(schema=SCHEMA, rule=rule, classes=["Men", "Women"], epsilon=4.0, rows=30)
    return model.fit(frame[list(SCHEMA)], y), frame[list(SCHEMA)]


@pytest.fixture(scope="module")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The page of a classifier with columns of every kind."""
    path = tmp_path_factory.mktemp("coded") / "athletes.html"
    export(Exhibit(fitted("ferns")[0], "athletes"), path)
    return {"ferns": path}


@pytest.mark.parametrize("rule", ["ferns", "map"])
def test_the_page_reads_cells_as_the_model_does(rule: str, visit: Callable[..., Any], tmp_path: Path) -> None:
    model, frame = fitted(rule)
    some = frame.iloc[:300]
    export(Exhibit(model, "athletes"), tmp_path / "athletes.html")
    seen = visit()
    page = seen.open((tmp_path / "athletes.html").as_uri())
    asked = "(points) => scumble.probabilities(points.map((cells) => cells.map((cell) => cell ?? NaN)))"
    found = np.array(page.evaluate(asked, cells_of(some))).reshape(-1, 2)
    np.testing.assert_allclose(found, model.predict_proba(some), rtol=1e-9)
    assert seen.said == []


def choose(page: Page, across: str, up: str) -> None:
    page.get_by_label("Across").select_option(label=across)
    page.get_by_label("Up").select_option(label=up)
    page.wait_for_selector(".figures[data-state=done]")


def axis_texts(page: Page) -> list[str]:
    return page.locator("figure svg").first.locator(".tick text").all_text_contents()


def test_words_are_words(visit: Callable[..., Any], page_of: dict[str, Path]) -> None:
    page = visit().open(page_of["ferns"].as_uri())
    choose(page, "medal", "team")
    assert axis_texts(page) == ["Gold", "Silver", "Bronze", "USA", "GBR", "UKR", "(other)", "(missing)"]
    guide = page.locator(".still select").first
    assert guide.locator("option").all_inner_texts() == ["false", "true", "(missing)"]
    guide.select_option("true")
    page.wait_for_selector(".figures[data-state=done]")
    page.get_by_text("The same in numbers").click()
    assert page.locator(".numbers thead").inner_text().split()[-3:] == ["Gold", "Silver", "Bronze"]
    page.get_by_label("Up").select_option(label="nothing: a curve")
    page.wait_for_selector(".figures[data-state=done]")
    shape = page.locator("figure svg path[opacity='0.85']").first.get_attribute("d")
    assert shape is not None and shape.count("Z") == 3, "a bar for each word"


def test_numbers_are_whole_and_missing_ones_have_their_place(
    visit: Callable[..., Any], page_of: dict[str, Path]
) -> None:
    page = visit().open(page_of["ferns"].as_uri())
    choose(page, "year", "heat")
    texts = axis_texts(page)
    assert "missing" in texts and "1970" in texts and not any("." in text or "−" in text for text in texts)
    assert page.get_by_label("heat from").input_value() == "1", "the range is that of the schema"
    page.locator(".pictures").focus()
    for key in ("ArrowRight", *["Shift+ArrowDown"] * 3):
        page.keyboard.press(key)
    expect(page.locator(".readout")).to_contain_text(re.compile(r"^year \d{4}, heat \(missing\): "))
    page.keyboard.press("ArrowUp")
    expect(page.locator(".readout")).to_contain_text(re.compile(r"^year \d{4}, heat 1: "))
    choose(page, "medal", "team")
    slider = page.locator(".slider", has_text="heat")
    assert float(slider.get_by_label("heat", exact=True).get_attribute("step") or 0) == 1
    assert slider.locator("input[type=number]").input_value() == "16"
    slider.get_by_label("missing").check()
    page.wait_for_selector(".figures[data-state=done]")
    assert slider.locator("input[type=number]").is_disabled()


def test_dates_are_dates(visit: Callable[..., Any], page_of: dict[str, Path]) -> None:
    page = visit().open(page_of["ferns"].as_uri())
    choose(page, "born", "seen")
    texts = axis_texts(page)
    assert {"missing", "1960"} <= set(texts) and any("Feb" in text for text in texts)
    assert page.get_by_label("born from").input_value() == "1950-01-01"
    assert page.get_by_label("seen to").input_value() == "2020-03-31T23:00"


def test_values_are_those_of_the_schema() -> None:
    model, _ = fitted("ferns")
    with pytest.raises(ParameterError, match="values"):
        _ = Exhibit(model, values={"medal": ["Gold"]}).columns
    columns = {column.name: column for column in Exhibit(model, ranges={"born": ("1960", "1969")}).columns}
    assert columns["born"].range == (-3653.0, -1.0)
    assert columns["seen"].range == (18262.0, 18352.0 + 23 / 24)
