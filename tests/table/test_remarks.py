"""The remarks of an answer reach the user by every road: Python, SQL, HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import scumble
from scumble import Boolean, Category, Date, Number, Schema
from scumble.cli import main
from scumble.show.claims import Desk
from scumble.show.tableexhibit import TableExhibit
from scumble.table.remarks import PERHAPS_NONE

SCHEMA = Schema(age=Number(0, 99, cells=10), town=Category(["Ulm", "Bonn"]), smoker=Boolean())
REMARK = "Not counted together: 'age' and 'town'. Their relationship is inferred;"


@pytest.fixture(scope="module")
def release() -> Any:
    """One whose ages and towns were not counted together."""
    rng = np.random.default_rng(0)
    n = 4000
    table = {"age": rng.integers(0, 100, n), "town": rng.choice(["Ulm", "Bonn"], n), "smoker": rng.random(n) < 0.3}
    sketch = scumble.TableSketch(SCHEMA, pairs=[("age", "smoker"), ("town", "smoker")]).update(table)
    return sketch.release(epsilon=5.0)


WHERE = "age >= 50 and town == 'Ulm'"


def test_an_answer_says_what_was_not_counted_together(release: Any) -> None:
    ulm = "town == 'Ulm'"
    for found in (release.mean("age", ulm), release.sum("age", ulm), release.quantile("age", 0.5, ulm)):
        assert len(found.remarks) == 1 and found.remarks[0].startswith(REMARK) and REMARK in repr(found)
    for frame in (
        *(release.count(ulm, by="age"), release.mean("age", by="town"), release.quantile("age", [0.1, 0.9], ulm)),
        *(release.histogram("age", where=ulm), release.crosstab("town", "age", bins=3)),
    ):
        assert [one[: len(REMARK)] for one in frame.attrs["remarks"]] == [REMARK] and "remarks" not in frame
    for found in (release.count("age >= 50 and smoker"), release.mean("age", "smoker"), release.count()):
        assert found.remarks == (), "what was counted together needs no remark"
    for frame in (release.count(by=["age", "smoker"]), release.histogram("age"), release.mean("age", by="smoker")):
        assert not frame.attrs


WEEKS = "The question cuts cells of 'seen', which was counted by the week: the answer as"


@pytest.fixture(scope="module")
def by_the_week() -> Any:
    schema = Schema(seen=Date("2024-01-01", "2024-03-31", cells="week"), smoker=Boolean())
    days = np.datetime64("2024-01-01") + np.arange(2000) % 91
    return scumble.TableSketch(schema).update({"seen": days, "smoker": np.arange(2000) % 3 == 0}).release(epsilon=9.0)


CELL = "The question cuts cells of '{}', such as {}: the answer assumes that records are spread evenly"


@pytest.fixture(scope="module")
def minutes() -> Any:
    whole = {"minutes": Number(0, 320, whole=True, cells=32), "seasons": Number(1, 10, whole=True)}
    schema = Schema(whole | {"price": Number(0, 100, cells=10, zeros=False)})
    table = {"minutes": np.arange(2000) % 200, "price": np.arange(2000) % 90, "seasons": np.arange(2000) % 9 + 1}
    return scumble.TableSketch(schema).update(table).release(epsilon=9.0)


@pytest.mark.parametrize(
    ("where", "cell"),
    [
        ("minutes == 90", "90 to 99"),
        ("minutes != 90", "90 to 99"),
        ("minutes in (95, 13)", "10 to 19"),
        ("minutes >= 90 and minutes <= 90", "90 to 99"),
        ("minutes == 90 or seasons == 3", "90 to 99"),
        ("minutes between 90 and 99", None),
        ("minutes < 95", None),
        ("seasons == 3", None),
        ("price > 15", None),
        ("price >= 20", None),
        ("price < 100", None),
        *(
            (f"price {cut}", f"[{low}, {low + 10})")
            for cut, low in (("> 0", 0), ("!= 0", 0), ("<= 20", 20), ("> 80", 80))
        ),
    ],
)
def test_a_question_for_a_single_number_of_a_cell_is_remarked_on(minutes: Any, where: str, cell: str | None) -> None:
    cuts = [one for one in minutes.count(where).remarks if one.startswith(CELL[:18])]
    wanted = [] if cell is None else [CELL.format(where.split()[0], cell)]
    assert [one[: len(wanted[0])] for one in cuts] == wanted if wanted else not cuts


def test_a_mean_lies_where_its_condition_has_the_column() -> None:
    table = pa.table({"height": np.repeat([3.0, 7.0, 40.0], [500, 60, 5]), "tall": np.tile(["no", "yes"], 283)[:565]})
    schema = scumble.Schema(height=scumble.Number(0, 200, cells=40), tall=scumble.Category(["no", "yes"]))
    release = scumble.build(table, schema=schema, epsilon=0.3)
    for where, low, high in [("height > 10", 10, 200), ("height >= 5 and height < 10", 5, 10), ("height < 50", 0, 50)]:
        found = release.mean("height", where)
        assert low <= found.low <= found.value <= found.high <= high


RUN = "Counted as one with 'share': neighboring values of 'rank', such as 1 to "


@pytest.fixture(scope="module")
def ranks() -> Any:
    """One whose ranks were measured in runs, and whose rare words are pooled."""
    rng = np.random.default_rng(0)
    n = 5000
    words = [f"w{k}" for k in range(40)]
    schema = Schema(rank=Number(1, 60, whole=True), share=Number(0, 1), word=Category(words))
    rank = rng.integers(1, 61, n)
    table = {"rank": rank, "share": rank / 100 + 0.3 * rng.random(n), "word": rng.choice(words[:20], n)}
    return scumble.TableSketch(schema).update(table).release(epsilon=1.0)


@pytest.fixture(scope="module")
def towns() -> Any:
    """One of which nobody lives in Jena, many live in towns that are not listed, and of many nothing is known."""
    schema = Schema(town=Category(["Ulm", "Jena"]), paid=Number(0, 9, missing=True), smoker=Boolean())
    n = 3000
    town = np.array(["Ulm", "Bonn", "Köln"], object)[np.arange(n) % 3]
    paid = [None if k % 4 == 0 else float(k % 9) for k in range(n)]
    table = {"town": town, "paid": paid, "smoker": np.arange(n) % 7 < 3}
    return scumble.TableSketch(schema).update(table).release(epsilon=9.0)


KINDS = {
    "not counted together": ("release", "age >= 50 and town == 'Ulm'", REMARK),
    "beyond the bounds": (
        "minutes",
        "minutes >= 300 and minutes < 500",
        "The question reaches beyond the bounds of 'minutes', 0 to 320.",
    ),
    "a day of a week": ("by_the_week", "seen == '2024-02-29'", WEEKS),
    "a value of a cell": ("minutes", "minutes == 90", CELL.format("minutes", "90 to 99")),
    "a small group": ("ranks", "", PERHAPS_NONE),
    "other words": ("towns", "town == 'Ulm'", "'(other)' holds about 67 % of 'town'."),
    "missing cells": ("towns", "paid < 7", "'(missing)' holds about 25 % of 'paid'."),
    "counted as one": ("ranks", "rank == 2 and share < 0.5", RUN),
}


@pytest.mark.filterwarnings("ignore:The question reaches beyond the bounds")
@pytest.mark.parametrize("kind", [*KINDS])
def test_each_kind_of_remark_comes_once_by_every_road(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of Python, SQL, the API, assistants and the command line, the same words."""
    name, where, begins = KINDS[kind]
    found = request.getfixturevalue(name)
    if not where:  # of twenty words that nobody has; that noise lifts all of them above zero has a chance below 1e-20
        nobody = (f"word == 'w{k}'" for k in range(20, 40))
        where = next(one for one in nobody if found.count(one).low <= 0)
    (told,) = found.count(where).remarks
    assert told.startswith(begins)
    asked = f"select count(*) as n from people where {where.replace('==', '=')}"
    by = next(column for column in found.schema if column not in where)
    for frame in (found.count(where, by=by), found.share(where, by=by)):
        remarks = frame.attrs["remarks"]
        assert len({*remarks}) == len(remarks) and any(one.startswith(begins[:19]) for one in remarks)
    assert scumble.sql(asked, people=found).attrs["remarks"] == [told] == [*found.share(where).remarks]
    exhibit = TableExhibit(found)
    for answer in (exhibit.count({"where": where}), exhibit.sql({"query": asked.replace("people", "data")})):
        assert answer["remarks"] == [told]
    assert Desk({"people": found}).answer("count", {"where": where})["remarks"] == [told]
    path = str(tmp_path / "people.scumble")
    found.save(path, draws=True)
    for words in (["count", path, "--where", where], ["sql", path, asked]):
        assert main([*words, "--json"]) == 0
        said = capsys.readouterr()
        rows = json.loads(said.out)
        assert all(row["remarks"] == [told] for row in (rows if isinstance(rows, list) else [rows]))
        assert said.err == f"scumble: warning: {told}\n"


def test_a_mean_says_how_many_cells_are_missing(towns: Any) -> None:
    (told,) = towns.mean("paid").remarks
    assert told == "'(missing)' holds about 25 % of 'paid'." and towns.mean("smoker").remarks == ()


def test_whole_runs_and_whole_weeks_need_no_remark(ranks: Any, by_the_week: Any) -> None:
    last = int(np.flatnonzero(np.diff(ranks.groups["rank"]))[0]) + 1
    (told,) = ranks.mean("share", by="rank").attrs["remarks"]
    assert told.startswith(f"{RUN}{last}. ") and ranks.histogram("rank", where="share < 0.5").attrs["remarks"] == [told]
    for found in (ranks.mean("share", f"rank between 1 and {last}"), ranks.count("rank == 2")):
        assert found.remarks == (), "whole runs, and a column alone"
    assert {*ranks.count(by="rank").attrs.get("remarks", ())} <= {PERHAPS_NONE} and not ranks.histogram("share").attrs
    assert by_the_week.count("seen between '2024-02-26' and '2024-03-03'").remarks == ()


def test_classes_tell_all_levels_of_a_column_apart() -> None:
    schema = Schema(rank=Number(1, 60, whole=True), smoker=Boolean(), share=Number(0, 1))
    table = {"rank": np.arange(3000) % 60 + 1, "smoker": np.arange(3000) % 7 < 3, "share": np.arange(3000) % 9 / 9}
    found = scumble.TableSketch(schema, target="smoker").update(table).release(epsilon=1.0)
    assert not found.mean("smoker", by="rank").attrs
    assert found.mean("share", by="rank").attrs["remarks"][0].startswith(RUN)


def test_who_asks_beyond_bounds_is_warned_at_their_own_line(minutes: Any, recwarn: pytest.WarningsRecorder) -> None:
    minutes.count("minutes > 500")
    minutes.histogram("minutes", bins=[0, 100, 900])
    build = scumble.build(pa.table({"x": [1.0, 2.0]}), scumble.EuclideanKernel(1.0), ["x"], bounds=(0, 9), epsilon=1.0)
    build.density([[99.0]])
    assert [one.filename for one in recwarn] == [__file__] * len(recwarn) and len(recwarn) >= 3
