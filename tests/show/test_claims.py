"""Questions of assistants: right answers can be checked, and wrong questions lead to right ones."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from tests.table.people import SCHEMA, people

import scumble
from scumble.cli import main
from scumble.cli.mcp import desk_of
from scumble.errors import ScumbleError
from scumble.show.claims import TOOLS, Desk, verify

N = 3000


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("claims")
    paths = [str(folder / name) for name in ("people.scumble", "later.scumble")]
    for seed, path in enumerate(paths):
        scumble.TableSketch(SCHEMA).update(people(N, seed)).release(epsilon=3.0).save(path, draws=True)
    return paths


@pytest.fixture(scope="module")
def desk(files: list[str]) -> Desk:
    return desk_of(files[:1])


@pytest.fixture(scope="module")
def two(files: list[str]) -> Desk:
    return desk_of(files)


def where(*conditions: Any) -> list[tuple[str, dict[str, Any]]]:
    return [("count", {"where": condition}) for condition in conditions]


def sql(*queries: str) -> list[tuple[str, dict[str, Any]]]:
    return [("sql", {"query": query}) for query in queries]


def estimate(*asked: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [("estimate", one) for one in asked]


WRONG: list[tuple[str, Any]] = [
    # columns, words and values that are not there, or out of bounds
    *where("agee > 40", "years >= 65", "name == 'Alice'", "sex == 'female'", "sex > 'Female'", "hours == 'many'"),
    *where(
        "smoker == 3", "seen > 5", "seen > '2024-13-01'", "age > 200", "age between 60 and 50", "seen > '2030-01-01'"
    ),
    *where("sex == 'Male' and sex == 'Female'", "smoker and not smoker"),
    # what cannot be read
    *where("", "age >", "age > 40 & smoker", "(age > 40", "age + 1 > 40", "age > hours", "40 > 30", "age == null"),
    *where("len(sex) > 3", "sex in []", "age > 40; drop table people", "__import__('os').system('ls')", "x" * 20_000),
    # questions about individuals
    *sql("select * from people where age = 90", "select age, sex from people limit 1", "select min(age) from people"),
    *sql(
        "select list(age) from people", "select row_number() over () from people", "select any_value(hours) from people"
    ),
    *(("sample", {"n": 0}), ("sample", {"where": "name == 'Alice'"}), ("lookup", {"name": "Alice"})),
    # SQL that is none, or that does more than ask
    *sql("", "count the smokers", "select count(*) from", "select count(*) from peple", "select avg(agee) from people"),
    *sql(
        "select count(*) from people where sex = 'Femal'", "select avg(sex) from people", "select 'unclosed from people"
    ),
    *sql("select count(*) from people where age > 200", "select sex, avg(hours) from people", "drop table people"),
    *sql("select count(*) from people; select 1", "attach 'x.db'", "select count(*) from read_csv('people.csv')"),
    *sql("select count(*) from people join later using (age)", "select avg(hours) from people where avg(hours) > 3"),
    *sql("select count(*) from people where age = (select max(age) from people)"),
    # statistics
    *estimate(
        {}, {"statistic": "mean"}, {"statistic": "share"}, {"statistic": "lambda t: t.age.max()", "column": "age"}
    ),
    *(("estimate", {"statistic": "mean", "column": one}) for one in ("agee", "sex", ["age", "hours"])),
    *estimate(
        {"statistic": "quantile", "column": "age", "q": 90},
        {"statistic": "correlation", "column": "age", "other": "sex"},
        {"statistic": "std", "column": "age", "where": "smoker"},
        {"statistic": "mean", "column": "age", "by": ["town"]},
    ),
    # arguments
    *(("count", one) for one in ({"filter": "age > 40"}, {"where": 40}, {"release": "persons"}, "age > 40")),
    *(("count", {"by": one}) for one in ("town", ["age", "hours", "seen"], 3)),
    *(("count", {"confidence": one}) for one in (95, 0, "high")),
    *(("counts", {"where": "age > 40"}), ("compare", {}), ("compare", {"first": "people", "second": "later"})),
    *(("sample", {"n": 2.5}), ("sample", {"seed": "x"})),
]


@pytest.mark.parametrize(("tool", "asked"), WRONG, ids=lambda part: str(part)[:60])
def test_a_wrong_question_leads_to_a_right_one(desk: Desk, tool: str, asked: Any) -> None:
    found = desk.ask(tool, asked)
    assert 20 < len(found["error"]) < 400 and "bug" not in found["error"]
    right = desk.ask(found["try"]["tool"], found["try"]["arguments"])
    assert right.get("answer"), "what is suggested must be answered"


RIGHT = [
    ("describe", {}),
    ("count", {}),
    ("count", {"where": "age>=65 AND (smoker or hours is missing)", "by": "sex", "confidence": 0.9}),
    ("sql", {"query": "select sex, count(*) as n, avg(hours) from people where age > 40 group by sex"}),
    ("estimate", {"statistic": "median", "column": "seen"}),
    ("estimate", {"statistic": "share", "where": "smoker", "by": ["sex"]}),
    ("estimate", {"statistic": "correlation", "column": "age", "other": "hours"}),
    ("sample", {"n": 3, "where": "sex == 'Male'"}),
]


@pytest.mark.parametrize(("tool", "asked"), RIGHT, ids=str)
def test_a_claim_is_recomputed(desk: Desk, tool: str, asked: Any) -> None:
    claim = json.loads(json.dumps(desk.answer(tool, asked), allow_nan=False))
    assert claim["releases"] == {"people": desk.releases["people"].identity}
    assert verify(claim, desk.releases.values()) == []
    assert {*claim["question"]["arguments"]} >= {*asked}


def test_answers_are_those_of_the_release(desk: Desk) -> None:
    release = desk.releases["people"]
    (row,) = desk.answer("count", {"where": "age >= 65"})["answer"]
    value, low, high = release.count("age >= 65")
    assert row == {"value": value, "low": low, "high": high}
    assert low < (people(N)["age"] >= 65).sum() < high


def test_every_kind_of_question_has_an_example_that_is_answered(two: Desk) -> None:
    for row in two.answer("describe", {})["answer"]:
        assert {example["tool"] for example in row["examples"]} == TOOLS.keys() - {"describe"}
        for example in row["examples"]:
            assert two.answer(example["tool"], example["arguments"])["answer"]


def test_another_number_disagrees(desk: Desk, files: list[str], tmp_path: Path) -> None:
    claim = desk.answer("sql", {"query": "select sex, count(*) as n from people group by sex"})
    width = claim["answer"][0]["n_high"] - claim["answer"][0]["n_low"]
    codes = {}
    for name, change in (("right", 0.0), ("rounded", width / 500), ("wrong", width / 20)):
        other = copy.deepcopy(claim)
        other["answer"][0]["n"] += change
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(other))
        codes[name] = main(["verify", str(path), files[0], "--quiet"])
    assert codes == {"right": 0, "rounded": 0, "wrong": 4}
    assert main(["verify", str(tmp_path / "right.json"), files[1], "--quiet"]) == 4  # another release
    for told in ("How many records have sex == 'Male'", None):
        (tmp_path / "told.json").write_text(json.dumps(claim | {"understood": told}))
        assert main(["verify", str(tmp_path / "told.json"), files[0], "--quiet"]) == 4


@pytest.mark.parametrize(
    "claim", [[], {}, {"format": "scumble-claim-1"}, {"format": "scumble-claim-1", "releases": {"people": []}}]
)
def test_what_is_no_claim_is_refused(desk: Desk, claim: Any) -> None:
    with pytest.raises(ScumbleError):
        verify(claim, desk.releases.values())


@pytest.mark.parametrize("odd", [[], {}, [[]], None, 10**400])
def test_what_a_claim_may_hold_breaks_nothing(desk: Desk, odd: Any) -> None:
    claim = desk.answer("count", {})
    with pytest.raises(ScumbleError):
        verify(claim | {"question": claim["question"] | {"tool": odd}}, desk.releases.values())
    assert verify(claim | {"answer": [claim["answer"][0] | {"value": odd}]}, desk.releases.values())


def test_two_releases_are_compared(two: Desk) -> None:
    claim = two.answer("compare", {"of": "tables"})
    assert {"difference", "low", "high", "p_adjusted"} <= claim["answer"][0].keys()
    assert verify(claim, reversed([*two.releases.values()])) == []
    assert "release" in two.ask("count", {})["error"]  # which of the two


def test_the_sdk_s_own_client_asks_over_stdio(files: list[str]) -> None:
    import sys

    import anyio
    from mcp import Client, StdioServerParameters, stdio_client

    async def talk() -> tuple[Any, ...]:
        command = StdioServerParameters(command=sys.executable, args=["-m", "scumble", "mcp", *files])
        async with Client(stdio_client(command)) as client:
            tools = await client.list_tools()
            right = await client.call_tool("count", {"release": "people", "where": "smoker"})
            wrong = await client.call_tool("count", {"release": "people", "where": "smokr"})
            return tools, right, wrong

    tools, right, wrong = anyio.run(talk)
    assert {tool.name for tool in tools.tools} == TOOLS.keys()
    claim = json.loads(right.content[0].text)
    assert not right.is_error and verify(claim, [scumble.load(files[0])]) == []
    assert wrong.is_error and json.loads(wrong.content[0].text)["try"]["tool"] == "count"
