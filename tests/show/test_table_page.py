"""A table's page in a real browser: it answers as Python does, to filters made by mouse, keyboard and boxes."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Locator, Page, expect

import scumble
from scumble.cli import main
from scumble.errors import ParameterError
from scumble.show.opening import exhibit_of, read
from scumble.show.pages import export, page, part
from scumble.show.tableexhibit import TableExhibit
from scumble.table.remarks import PERHAPS_NONE
from scumble.table.spec import TableSpec

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
    """Records whose columns are correlated."""
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


ASK = """([asked, means]) => asked.map(([products, spans]) => {
    const maps = products.map((one) => new Map(one.map(([j, weights]) => [j, Float64Array.from(weights)])));
    const [even, sure = even, maybe = even] = maps;
    const question = { even, sure, maybe };
    const { answers, columns } = scumble.table;
    const filters = new Map(spans.map(([j, low, high]) => [j, { low, high }]));
    const found = means.map((j) => answers.mean(question, j, ...columns[j].valued(filters.get(j), answers.lean)));
    return [answers.counted(answers.counts(question)), answers.share(question), ...found].map(Object.values);
})"""


def as_json(release: scumble.TableRelease, where: str) -> list[Any]:
    """The products of a condition that has one of each: by evenness, surely, perhaps; and where it cuts columns."""
    asked, nobody = release._question(where), {0: np.zeros(release.schema.sizes[0])}
    sides = [asked.even, asked.sure, asked.maybe] if asked.cuts else [asked.even]
    products = [side[0][1] if side else nobody for side in sides]
    each = [[[j, np.asarray(weights).tolist()] for j, weights in one.items()] for one in products]
    cuts = {j: release.schema[release.schema.names[j]].cuts for j in asked.spans}
    return [each, [[j, *cuts[j].values(np.array(span)).tolist()] for j, span in asked.spans.items()]]


def test_the_page_answers_as_python_does(visit: Callable[..., Any], shown: Shown) -> None:
    """Counts, shares and means, with their intervals, of whole cells and of parts: out of the same draws."""
    release, asked = shown.release, questions(60)
    found = shown.open(visit).evaluate(ASK, [[as_json(release, where) for where in asked], [0, 1, 4]])
    assert sum(release._question(where).cuts for where in asked) > 20
    for where, numbers in zip(asked, found, strict=True):
        means = (release.mean(name, where) for name in ("age", "pay", "smoker"))
        for k, by_python in enumerate((release.count(where), release.share(where), *means)):
            wanted = [by_python.value, by_python.low, by_python.high]
            rounding = 1e-4 if k else 1.0  # a count's ends are whole
            assert numbers[k] == pytest.approx(wanted, rel=2e-6, abs=rounding, nan_ok=True), where


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
    assert high == pytest.approx(release.count("word == 'rare' and ill").high, abs=1) and high < 60


def ruled(target: str | None) -> scumble.TableRelease:
    """A table with a column within another, and rules."""
    schema = scumble.Schema(
        state=scumble.Category(["BW", "NRW"]),
        due=scumble.Number(0, 99, whole=True),
        paid=scumble.Number(0, 99, whole=True, missing=True),
        town=scumble.Category(["Ulm", "Bonn", "Aachen"], within="state", parents=PARENTS),
        smoker=scumble.Boolean(),
        rules=["paid <= due", "due >= 10", "state == 'BW' or smoker"],
    )
    rng = np.random.default_rng(2)
    due, town = rng.integers(10, 100, 4_000), rng.choice([*PARENTS], 4_000)
    columns = {"due": due, "paid": rng.integers(0, due + 1), "town": town, "state": [PARENTS[one] for one in town]}
    rows = pd.DataFrame(columns | {"smoker": (town != "Ulm") | (rng.random(4_000) < 0.5)})
    return scumble.TableSketch(schema, target=target).update(rows).release(epsilon=1.0, delta=1e-6)


PARENTS = {"Ulm": "BW", "Bonn": "NRW", "Aachen": "NRW"}


@pytest.mark.parametrize("target", [None, "smoker"])
def test_rules_and_columns_within_others_hold(visit: Callable[..., Any], tmp_path: Path, target: str | None) -> None:
    release = scumble.TableRelease.from_bytes(ruled(target).to_bytes(draws=True))
    scumble.explore(release, tmp_path / "ruled.html")
    page = visit().open((tmp_path / "ruled.html").as_uri())
    page.wait_for_selector(READY)
    asked = [
        *("state == 'NRW'", "paid > 60 and due < 50", "town != 'Ulm' and not smoker", "paid >= 20 and state == 'BW'"),
        "due < 33",
    ]
    found = page.evaluate(ASK, [[as_json(release, where) for where in asked], []])
    for where, (numbers, _) in zip(asked, found, strict=True):
        wanted = release.count(where)
        assert numbers == pytest.approx([wanted.value, wanted.low, wanted.high], rel=1e-5, abs=1.0), where
    for place in (0, 2):
        cells = page.evaluate(f"Array.from(scumble.table.answers.posterior.cells({place}, new Map()))")
        by_python = release._answers.posterior.cells([place]).ravel()
        np.testing.assert_allclose(cells, by_python, rtol=1e-4, atol=1e-3)
    rows = page.evaluate("scumble.table.rows(500, new Map())")
    assert len(rows) == 500
    for state, due, paid, town, smoker in rows:
        assert PARENTS.get(town, town) == state and int(due) >= 10 and (not paid or int(paid) <= int(due))
        assert state != "NRW" or smoker == "true"


def answered(page: Page) -> float:
    page.wait_for_selector(READY)
    return float(page.locator(".count strong").inner_text().replace(",", ""))


def condition(page: Page) -> str:
    """The question as the page writes it for `release.count`."""
    return page.locator(".elsewhere code").text_content() or ""


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


def enter(page: Page, field: str, text: str) -> None:
    """When the page is at rest: a picture that is drawn between the letters and Enter fills the field anew."""
    page.wait_for_selector(READY)
    page.get_by_label(field).fill(text)
    page.get_by_label(field).press("Enter")


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
    enter(page, "seen to", "2024-07-01")
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


TYPED = [
    ("pay from", "100", "pay >= 100"),
    ("pay to", "250.5", "pay < 250.5"),
    ("pay to", "0", "pay <= 0"),
    ("seen from", "2024-03-15", "seen >= '2024-03-15'"),
    ("seen to", "2024-03-15", "seen <= '2024-03-15'"),
]


def test_the_page_answers_what_was_typed(visit: Callable[..., Any], whole: Shown) -> None:
    """Limits within a cell too: as Python does, values lie evenly in it, and all or none of them may be meant."""
    page = whole.open(visit)
    for field, typed, asked in TYPED:
        enter(page, field, typed)
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
        page.get_by_role("button", name="Clear all").click()
    enter(page, "age from", "65")
    page.get_by_label("age from").press("ArrowUp")
    page.wait_for_selector(READY)
    assert condition(page) == "age >= 66"
    page.get_by_label("Column to take the mean of").select_option(label="smoker")
    assert float(page.locator(".average strong").inner_text()) == pytest.approx(
        whole.release.mean("smoker", "age >= 66").value, abs=0.03
    )
    enter(page, "age to", "")
    expect(page.get_by_label("age to")).to_have_value("90")


def test_a_heap_at_a_bound_is_meant_as_in_python(visit: Callable[..., Any], tmp_path: Path) -> None:
    """What lay beyond a bound counts there, and does not lie evenly in its cell."""
    values = np.append(np.random.default_rng(3).uniform(0, 100, 4000), np.full(1000, 100.0))
    sketch = scumble.TableSketch(scumble.Schema(x=scumble.Number(0, 100, cells=10))).update({"x": values})
    release = scumble.TableRelease.from_bytes(sketch.release(epsilon=5.0).to_bytes(draws=True))
    export(TableExhibit(release, "heap"), tmp_path / "heap.html")
    page = visit().open((tmp_path / "heap.html").as_uri())
    for field, typed in [("x from", "95"), ("x to", "99")]:
        enter(page, field, typed)
        page.wait_for_selector(READY)
        wanted = release.count(condition(page))
        found = page.evaluate("() => scumble.table.count(scumble.state.filters)")
        assert [*found.values()] == pytest.approx([wanted.value, wanted.low, wanted.high], rel=2e-6, abs=1.0)
        assert (found["value"] > 700) == (field == "x from")


def test_of_a_group_that_has_no_record_no_mean_and_no_share_is_known(visit: Callable[..., Any], whole: Shown) -> None:
    """As in Python; here the draws are made to have half a record, or a little less."""
    found = whole.open(visit).evaluate(
        """() => [0.49, 0.51].map((records) => {
          const { table } = scumble;
          const { posterior } = table.answers;
          const scale = records / posterior.totals.reduce((sum, total) => sum + total) * posterior.totals.length;
          for (const numbers of [posterior.totals, posterior.classes[0].scale])
            numbers.forEach((number, draw) => (numbers[draw] = scale * number));
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
    assert found == [round(value) for value in whole.release.crosstab("town", "smoker", long=True)["value"]]
    assert page.locator(".crosstab td.doubt-0").count() >= 2
    page.get_by_label("Share of row").check()
    shares = [float(text.rstrip(" %")) for text in cells.all_inner_texts()]
    assert np.reshape(shares, (4, 2))[:3].sum(axis=1) == pytest.approx(100, abs=1.5)
    panel(page, "town").get_by_label("Ulm").check()  # only what the filter keeps
    page.wait_for_selector(READY)
    expect(page.locator(".crosstab tbody tr")).to_have_count(1)
    page.get_by_role("combobox", name="Columns").select_option(label="town")
    assert "two different columns" in page.locator(".cross").inner_text()


def test_what_the_release_cannot_know_is_said(visit: Callable[..., Any], tmp_path: Path) -> None:
    """Columns that were counted alone: nothing is known of two together."""
    release = scumble.TableSketch.from_spec(TableSpec.of(SCHEMA, pairs=())).update(people(400)).release(epsilon=0.05)
    scumble.explore(release, tmp_path / "alone.html", title="alone")
    page = visit().open((tmp_path / "alone.html").as_uri())
    panel(page, "town").get_by_label("Ulm").check()
    panel(page, "smoker").get_by_label("yes").check()
    page.wait_for_selector(READY)
    assert "Not counted together: 'town' and 'smoker'." in page.locator(".answer .doubt").inner_text()
    asked = "town == 'Ulm' and smoker"
    for name in ("pay", "age"):
        page.get_by_role("combobox", name="Column to take the mean of").select_option(label=name)
        told = page.locator(".answer .doubt-of-mean").inner_text()
        assert all(f"'{one}' and " in told or f" and '{one}'" in told for one in (name, "town", "smoker")), told
        assert "'town' and 'smoker'" not in told and (told != "") == bool(release.mean(name, asked).remarks)
    page.get_by_role("combobox", name="Column to take the mean of").select_option(label="smoker")
    expect(page.locator(".answer .doubt-of-mean")).to_be_hidden()  # the line above has said it
    panel(page, "age").locator(".histogram").focus()
    for key in ("Home", "Enter"):
        page.keyboard.press(key)
    page.wait_for_selector(READY)
    assert PERHAPS_NONE in page.locator(".answer .doubt").inner_text()
    page.get_by_role("button", name="Clear all").click()
    together = page.locator(".cross .doubt")
    for name, other in [("town", "smoker"), ("age", "pay")]:
        page.get_by_role("combobox", name="Rows").select_option(label=name)
        page.get_by_role("combobox", name="Columns").select_option(label=other)
        (remark,) = release.crosstab(name, other, bins=2).attrs["remarks"]
        expect(together).to_have_text(remark)
    page.get_by_role("combobox", name="Columns").select_option(label="age")
    expect(together).to_be_hidden()


@pytest.fixture(scope="module")
def worded(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """A vocabulary too long to be listed: some words are frequent, others rare, and the last thirty are nobody's."""
    words = [f"{kind} {number:02}" for kind in ("Zürich", "Ulm", "Bonn") for number in range(30)]
    schema = scumble.Schema(word=scumble.Category(words, other=False, missing=False), smoker=scumble.Boolean())
    rng, often = np.random.default_rng(5), [5.0 if 20 <= place < 50 else 1.0 for place in range(60)]
    table = {"word": rng.choice(words[:60], 9_000, p=np.array(often) / sum(often)), "smoker": rng.random(9_000) < 0.3}
    live = scumble.TableSketch(schema).update(table).release(epsilon=9.0)
    release = scumble.TableRelease.from_bytes(live.to_bytes(draws=True))
    path = tmp_path_factory.mktemp("words") / "words.html"
    export(TableExhibit(release, "words"), path)
    return Shown(release, path)


@pytest.mark.parametrize("width", [1280, 390])
def test_a_long_vocabulary_is_searched(visit: Callable[..., Any], worded: Shown, width: int) -> None:
    """Listed are the most frequent words, or those that contain a text; those that are ticked filter."""
    page, release = worded.open(visit, viewport={"width": width, "height": 900}), worded.release
    word = panel(page, "word")
    assert "The 40 most frequent of 90." in word.inner_text()
    word.get_by_role("button", name="Show all 40").click()
    frequent = {f"Zürich {number}" for number in range(20, 30)} | {f"Ulm {number:02}" for number in range(20)}
    assert frequent <= {*word.locator(".word").all_inner_texts()}
    shown, field = word.locator("label:not([hidden]) .word"), word.get_by_role("searchbox")
    field.fill("BONN 2")  # words that no record has: none of the most frequent ones
    expect(shown).to_have_count(10)
    assert {*shown.all_inner_texts()} == {f"Bonn {number}" for number in range(20, 30)}
    word.get_by_label("Bonn 21").check()
    expect(field).to_have_value("BONN 2")
    field.fill("zurich 0")
    word.get_by_label("Zürich 07").check()
    asked = "word in ['Zürich 07', 'Bonn 21']"
    assert answered(page) == round(release.count(asked).value) and condition(page) == asked
    assert page.locator(".crosstab tbody tr").count() == 2  # a row for each, though they are not frequent
    field.fill("nobody")
    expect(shown).to_have_count(0)
    field.fill("")
    expect(word.locator("label:not([hidden]) input:checked")).to_have_count(2)
    word.get_by_label("Bonn 21").uncheck()
    assert answered(page) == round(release.count("word == 'Zürich 07'").value)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    sent: Page = visit(viewport={"width": width, "height": 900}).open(page.url)
    expect(panel(sent, "word").get_by_label("Zürich 07")).to_be_checked()


def test_synthetic_rows_are_downloaded(visit: Callable[..., Any], whole: Shown) -> None:
    seen = visit(accept_downloads=True)
    # Rows are drawn with Math.random, which has a seed here.
    seen.page.add_init_script("let s = 1; Math.random = () => ((s = (s * 16807) % 2147483647) - 1) / 2147483646;")
    page = seen.open(whole.path.as_uri())
    enter(page, "age from", "40")
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


def test_the_keyboard_alone_does_everything(visit: Callable[..., Any], whole: Shown) -> None:
    page = whole.open(visit)
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


def test_the_program_is_small() -> None:
    assert sum(len(part(name)) for name in TableExhibit.parts if name) < 80_000


@pytest.fixture(scope="session")
def changed(whole: Shown, tmp_path_factory: pytest.TempPathFactory) -> tuple[scumble.TableRelease, Path]:
    """A later release, where more people smoke, and the page of both."""
    table = people()
    later = table.assign(smoker=table["smoker"] | (table["age"] < 40))
    release = scumble.TableSketch(SCHEMA).update(later).release(epsilon=2.0)
    path = tmp_path_factory.mktemp("changed") / "changed.html"
    scumble.explore({"before": whole.release, "later": release}, path, units=UNITS)
    return release, path


def test_the_page_of_two_tables_says_what_differs_as_python_does(
    visit: Callable[..., Any], whole: Shown, changed: tuple[scumble.TableRelease, Path]
) -> None:
    page: Page = visit(accept_downloads=True).open(changed[1].as_uri())
    part = page.locator(".compared")
    part.locator("summary").click()
    for label, of in (("Populations", "populations"), ("These two tables", "tables")):
        part.get_by_label(label, exact=True).check()
        found = whole.release.compare(changed[0], of=of)
        found = found.sort_values(["p_adjusted", "p_value"], kind="stable")
        sure = int((found["p_adjusted"] < 0.05).sum())
        expect(part.locator("p[role=status]")).to_contain_text(f"{sure} of {len(found)} comparisons")
        expect(part.locator("p[role=status]")).to_contain_text("these tables" if of == "tables" else "random samples")
        rows = part.locator("details tbody tr")
        expect(rows).to_have_count(len(found))
        expect(part.locator("tbody tr").filter(has_text="Differs")).to_have_count(sure + min(sure, 12))
        first = part.locator("tbody tr").first.inner_text()
        assert "smoker · yes" in first and "Differs; by chance: under 1 in 1,000" in first
        told = [float(text.replace("−", "-").split(" ")[0]) for text in first.split("\t")[1:5]]
        wanted = 100 * found.iloc[0][["first", "second", "difference", "low"]].to_numpy(float)
        assert told == pytest.approx(wanted, abs=0.06)
        with page.expect_download() as saved:
            part.get_by_role("button", name="Download comparison").click()
        taken = pd.read_csv(saved.value.path())
        assert [*taken] == [*found]
        for name in ("difference", "low", "high", "p_value", "p_adjusted"):
            assert taken[name].to_numpy() == pytest.approx(found[name].to_numpy(float), rel=1e-9)
    assert answered(page) == round(whole.release.count().value)
    assert "about before" in part.inner_text()
    card = page.locator("dl.lines").text_content() or ""
    assert "(before)" in card and "(later)" in card


def test_from_the_command_line(
    whole: Shown, changed: tuple[scumble.TableRelease, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two, where = (str(tmp_path / name) for name in ("one.scumble", "two.scumble", "page.html"))
    whole.release.save(one, draws=True)
    changed[0].save(two)
    assert main(["explore", one, two, "--export", where]) == 0
    assert '"names":["one","two"]' in Path(where).read_text(encoding="utf-8")
    assert main(["explore", one, "--export", where, "--replace", "--units", "age=years"]) == 0
    same = TableExhibit(read(one), "one.scumble", units=UNITS)
    assert Path(where).read_text(encoding="utf-8") == page(same)
    for more, told in (([one], "same release"), (["--range", "age=0:1"], "schema says them")):
        assert main(["explore", one, *more, "--export", where, "--replace"]) in (2, 4)
        assert told in capsys.readouterr().err
    density = scumble.Sketch(scumble.EuclideanKernel(1.0), columns=["age"], rows=20, buckets=64).release(epsilon=1.0)
    with pytest.raises(ParameterError, match="or two of the same columns"):
        exhibit_of({"one": whole.release, "two": density})


def test_what_has_met_the_records_shows_no_more_than_its_file(tmp_path: Path) -> None:
    small = scumble.Schema(smoker=scumble.Boolean(), sex=scumble.Category(["f", "m"]))
    live = scumble.TableSketch(small).update({"smoker": [True, False] * 100, "sex": ["f", "m"] * 100}).release(1.0)
    live.save(tmp_path / "small.scumble")
    assert page(TableExhibit(live, "small")) == page(exhibit_of(read(tmp_path / "small.scumble"), "small"))


def test_screenshots_for_the_docs(visit: Callable[..., Any], tmp_path: Path) -> None:
    """The page of the tutorials' table. With SCUMBLE_PICTURES=docs/pictures it is that of the docs."""
    folder = Path(os.environ.get("SCUMBLE_PICTURES", tmp_path))
    clinic = scumble.load(Path(__file__).parents[2] / "docs" / "tutorials" / "clinic.scumble")
    export(TableExhibit(clinic, "clinic.scumble", units={"age": "years", "cost": "dollars"}), tmp_path / "clinic.html")
    page = visit(viewport={"width": 1180, "height": 860}).open((tmp_path / "clinic.html").as_uri())
    enter(page, "age from", "65")
    panel(page, "ward").get_by_label("surgery").check()
    page.wait_for_selector(READY)
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    page.screenshot(path=folder / "explore-table.png")
    assert (folder / "explore-table.png").stat().st_size > 30_000


def test_a_link_holds_the_filters(whole: Shown, visit: Callable[..., Any]) -> None:
    page = whole.open(visit)
    page.wait_for_selector(READY)
    plain = page.url
    assert "#" not in plain
    enter(page, "age from", "30")
    page.wait_for_selector(READY)
    page.get_by_role("checkbox", name="L'Aquila").check()
    page.get_by_label("missing", exact=False).last.uncheck()
    count, asked, link = answered(page), condition(page), page.url
    assert "age >= 30" in asked and "'L''Aquila'" in asked
    other = visit()
    sent: Page = other.open(link)
    assert (answered(sent), condition(sent)) == (count, asked)
    sent.get_by_role("button", name="Clear all").click()
    expect(sent.locator(".hint").first).to_be_visible()
    assert sent.url.removesuffix("#") == plain
    sent.evaluate("address => { location.hash = address }", link.partition("#")[2])  # pasted into an open page
    expect(sent.get_by_label("age from")).to_have_value("30")
    assert condition(sent) == asked


ODD = [
    "no=[1,2,false]",
    "age=oops",
    "age=[90,17,true]",
    "age=[]",
    "town=[%22Rome%22]",
    "town={}",
    "age=[null,1e999]",
    "%",
]


def test_a_link_that_fits_no_filter_shows_all_records(whole: Shown, visit: Callable[..., Any]) -> None:
    page = whole.open(visit)
    asked = page.locator(".elsewhere code")
    for address in ODD:
        for link, condition in (("age=[30,91,false]", "age >= 30"), (address, "")):
            page.evaluate("address => { location.hash = address }", link)
            expect(asked).to_have_text(condition)
        assert page.locator("#app.unfiltered").count() == 1, address


def test_what_is_shown_can_be_taken_away(whole: Shown, visit: Callable[..., Any]) -> None:
    """As numbers, equal to Python's but for rounding; and as a picture of the charts that is not empty."""
    page = whole.open(visit, accept_downloads=True)
    page.wait_for_selector(READY)
    page.get_by_role("checkbox", name="Ulm").check()
    page.wait_for_selector(READY)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download numbers (CSV)").click()
    found = pd.read_csv(saved.value.path(), keep_default_na=False)
    assert [*found] == ["column", "value", "records", "low", "high"] and {*found["column"]} == {"", *SCHEMA}
    assert found["value"][0] == "town == 'Ulm'" and found["records"][0] == round(answered(page))
    smoker = found[found["column"] == "smoker"].set_index("value")
    for word, flag in (("yes", "true"), ("no", "false")):
        told = whole.release.count(f"town == 'Ulm' and smoker == {flag}")
        assert smoker.loc[word, ["records", "low", "high"]].tolist() == pytest.approx(list(told), abs=1.0)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download charts (PNG)").click()
    picture = plt.imread(saved.value.path())
    box = page.locator(".panels").bounding_box()
    assert box is not None and picture.shape[1] == pytest.approx(2 * box["width"], abs=70)
    assert len(np.unique(picture[::9, ::9, :3].reshape(-1, 3), axis=0)) > 20


MIDDLES = """([j, by]) => {
    const { table, state } = scumble;
    const bins = by === null ? [null] : table.columns[by].bins(8, { filter: state.filters.get(by), grouped: true });
    const three = ({ value, low, high }) => [value, low, high];
    return bins.map((bin) => table.middles(j, state.filters, bin, by).map(three));
}"""
QUARTILES = [0.25, 0.5, 0.75]


def as_numbers(cells: Any) -> Any:
    """Dates as days since 1970."""
    return (cells.astype("datetime64[D]").astype(np.int64) if cells.dtype == object else cells).astype(float)


def test_means_and_quartiles_by_group_are_those_of_python(visit: Callable[..., Any], shown: Shown) -> None:
    page, release, columns = shown.open(visit), shown.release, [*SCHEMA]
    asked = {
        "": None,
        "pay=[123,2345,false]": "pay >= 123 and pay < 2345",
        'town=["Ulm","Bonn"]': "town in ['Ulm', 'Bonn']",
    }
    for filters, where in asked.items():
        page.evaluate("filters => { location.hash = filters; }", filters)
        page.wait_for_selector(READY)
        for by in (None, "town", "smoker"):
            for name in ("age", "pay", "seen", "smoker"):
                found = page.evaluate(MIDDLES, [columns.index(name), None if by is None else columns.index(by)])
                if SCHEMA[name].ordered:
                    frame = release.quantile(name, QUARTILES, where, by=by)
                    wanted = np.stack([as_numbers(frame[side].to_numpy()) for side in ("value", "low", "high")], axis=1)
                    wanted = wanted.reshape(3, len(found), 3).swapaxes(0, 1)
                    by_page = np.array([row[-3:] for row in found], float)
                    np.testing.assert_allclose(by_page, wanted, rtol=2e-6, atol=1e-4, err_msg=f"{name} by {by}")
                if name != "seen":
                    mean = release.mean(name, where, by=by)
                    wanted = np.array([[*mean]]) if by is None else mean[["value", "low", "high"]].to_numpy(float)
                    by_page = np.array([row[0] for row in found], float)
                    np.testing.assert_allclose(by_page, wanted, rtol=2e-6, atol=1e-4, err_msg=f"{name} by {by}")


def test_remarks_on_the_page_are_those_of_python(visit: Callable[..., Any], tmp_path: Path) -> None:
    """But for quotes around names: pairs that were not counted together, cells that are cut, words counted as one."""
    rng, n = np.random.default_rng(0), 5000
    words = [f"w{k}" for k in range(40)]
    schema = scumble.Schema(
        minutes=scumble.Number(0, 320, whole=True, cells=32),
        seen=scumble.Date("2024-01-01", "2024-03-31", cells="week"),
        word=scumble.Category(words, other=False, missing=False),
        smoker=scumble.Boolean(missing=False),
    )
    table = {
        "minutes": rng.integers(0, 200, n),
        "seen": np.datetime64("2024-01-01") + np.arange(n) % 91,
        "word": rng.choice(words[:20], n),
        "smoker": rng.random(n) < 0.3,
    }
    pairs = [("word", "smoker"), ("minutes", "smoker"), ("seen", "smoker")]
    live = scumble.TableSketch(schema, pairs=pairs).update(table).release(epsilon=0.5)
    release = scumble.TableRelease.from_bytes(live.to_bytes(draws=True))
    export(TableExhibit(release, "remarks"), tmp_path / "remarks.html")
    group = release.groups["word"]
    rare = words[int(np.flatnonzero(np.bincount(group)[group] > 1)[0])]
    opened, kinds = visit(), set()
    for address, where in (
        ("minutes=[90,91,false]", "minutes == 90"),
        ("minutes=[90,100,false]", "minutes between 90 and 99"),
        ("seen=[19787,19790,false]", "seen between '2024-03-05' and '2024-03-07'"),
        (f'word=["{rare}"]', f"word == '{rare}'"),
        (f'smoker=["true"]&word=["{rare}"]', f"word == '{rare}' and smoker"),
        (f'seen=[19787,19790,false]&word=["{rare}"]&minutes=[0,40,false]', None),
    ):
        where = where or f"minutes < 40 and seen between '2024-03-05' and '2024-03-07' and word == '{rare}'"
        page: Page = opened.open(f"{(tmp_path / 'remarks.html').as_uri()}#{address}")
        page.reload()
        page.wait_for_selector(READY)
        assert page.locator(".chip").count() == address.count("=")
        remarks = release.count(where).remarks
        kinds |= {one[:13] for one in remarks}
        told = page.locator(".answer .doubt").text_content() or ""
        assert told == " ".join(remarks)
        page.get_by_role("combobox", name="Number").select_option(label="minutes")
        page.get_by_role("combobox", name="By").select_option(label="word")
        by = release.mean("minutes", where, by="word").attrs.get("remarks", [])
        assert page.locator(".groups .doubt").text_content() == " ".join(one for one in by if one not in remarks)
    assert {"The question ", "Not counted t", "Counted as on"} <= kinds
