"""Schemas from one charged pass: kinds, bounds and missing cells of messy tables, at a stated cost."""

from __future__ import annotations

import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import scumble
from scumble import BudgetError, cli
from scumble.columns.column import Column
from scumble.errors import CuratorWarning
from scumble.gate.rows import PublishedRow
from scumble.sources.drafting import GRID, HALF, KINDS, LENGTHS, _number, end_of, kind_of, on_grid, placed

N = 10_000


def messy(number: int) -> tuple[pd.DataFrame, dict[str, scumble.schema.Column]]:
    """A table as text, as a CSV file has it, and what somebody who knows it would declare."""
    rng = np.random.default_rng(number)
    days = pd.Timestamp("2022-03-01") + pd.to_timedelta(rng.integers(0, 700, N), unit="D")
    words, yes = rng.choice(["Ulm", " Bonn", "Jena"], N, p=[0.5, 0.3, 0.2]), rng.random(N) < 0.3
    age = rng.integers(17, 91, N)
    income = np.round(np.exp(rng.normal(10.4, 0.6, N)), 2)
    number_of, category = scumble.Number, scumble.Category(["Ulm", "Bonn", "Jena"])
    if number == 0:
        gone = np.where(rng.random(N) < 0.1, "", age.astype(str))
        return pd.DataFrame({"age": gone, "town": words, "smoker": np.where(yes, "yes", "No")}), {
            "age": number_of(17, 90, whole=True, missing=True),
            "town": category,
            "smoker": scumble.Boolean(missing=True),
        }
    if number == 1:
        return pd.DataFrame({"income": [f"${one:,.2f}" for one in income], "seen": days.strftime("%m/%d/%Y")}), {
            "income": number_of(0, 300_000, missing=True),
            "seen": scumble.Date("2022-03-01", "2024-01-31", format="%m/%d/%Y", missing=True),
        }
    if number == 2:
        return pd.DataFrame(
            {"celsius": rng.normal(3, 8, N).round(1), "day": days.strftime("%Y-%m-%d"), "town": words}
        ), {
            "celsius": number_of(-30, 40, missing=True),
            "day": scumble.Date("2022-03-01", "2024-01-31", missing=True),
            "town": category,
        }
    if number == 3:
        zeros = np.where(yes, 0, np.ceil(rng.exponential(40, N)))
        return pd.DataFrame({"minutes": zeros, "flag": yes.astype(int), "day": days.strftime("%d.%m.%Y")}), {
            "minutes": number_of(0, 400, whole=True, missing=True),
            "flag": scumble.Boolean(missing=True),
            "day": scumble.Date("2022-03-01", "2024-01-31", format="%d.%m.%Y", missing=True),
        }
    if number == 4:
        grades = rng.choice(["A", "B", "C", "n/a"], N, p=[0.5, 0.3, 0.1, 0.1])
        return pd.DataFrame({"id": rng.permutation(N).astype(str) + np.array("k"), "grade": grades, "age": age}), {
            "id": scumble.Distinct(),
            "grade": scumble.Category(["A", "B", "C"], missing_words=["n/a"]),
            "age": number_of(17, 90, whole=True, missing=True),
        }
    ratio = rng.beta(2, 5, N).round(4)
    return pd.DataFrame({"ratio": ratio, "balance": rng.normal(0, 900, N).round(), "town": words}), {
        "ratio": number_of(0, 1, missing=True),
        "balance": number_of(-4000, 4000, whole=True, missing=True),
        "town": category,
    }


def errors(
    release: scumble.TableRelease, frame: pd.DataFrame, columns: dict[str, scumble.schema.Column]
) -> list[float]:
    """Of means in standard deviations, of quantiles' ranks, and of counts of words in shares of the records."""
    found = []
    for name, column in columns.items():
        if isinstance(column, scumble.Number):
            values = pd.to_numeric(frame[name].astype(str).str.replace("[$,]", "", regex=True)).dropna()
            found.append(abs(release.mean(name).value - values.mean()) / values.std())
            for q in (0.1, 0.5, 0.9):
                asked = float(values.quantile(q))
                found.append(abs(release.count(f"{name} <= {asked}").value - (values <= asked).sum()) / N)
        elif isinstance(column, scumble.Category):
            for word in column.values:
                true = (frame[name].str.strip() == word).sum()
                found.append(abs(release.count({name: word}).value - true) / N)
    return found


@pytest.mark.parametrize("number", range(6))
def test_a_draft_and_a_release_for_one_budget(number: int, tmp_path: Path) -> None:
    frame, by_hand = messy(number)
    frame.to_csv(tmp_path / "people.csv", index=False)
    ledger = scumble.Ledger.create(tmp_path / "ledger")
    ledger.open_dataset("people", epsilon=1.0, delta=1e-6)
    book: dict[str, Any] = {"ledger": ledger, "dataset": "people"}
    schema = scumble.draft(tmp_path / "people.csv", epsilon=0.2, delta=4e-7, **book)
    assert {name: schema.declared[name].kind for name in by_hand} == {name: one.kind for name, one in by_hand.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CuratorWarning)  # numbers outside the bounds
        release = scumble.build(tmp_path / "people.csv", schema=schema, epsilon=0.8, delta=6e-7, invalid="drop", **book)
    spent = ledger.account("people").spent
    assert spent.epsilon <= 1 and spent.delta <= Fraction("1e-6")
    assert release.count().value == pytest.approx(N, rel=0.02)
    assert np.mean(errors(release, frame, by_hand)) < 0.02
    with pytest.raises(BudgetError):
        scumble.draft(tmp_path / "people.csv", epsilon=0.2, **book)


def test_cells_of_the_grid_hold_their_numbers() -> None:
    for number in (*np.random.default_rng(0).normal(0, 1e3, 200).tolist(), 0.0, -0.0, 1.0, -1.0, 2.0**39, -(2.0**-28)):
        low, high = (end_of(on_grid(number), upper=upper) for upper in (False, True))
        assert low <= number <= high and (number == 0 or (high - low) <= abs(number) / 8)
    assert on_grid(1e300) == LENGTHS[2] - 2 and on_grid(-1e300) == 0 and on_grid(1e-300) == HALF


def test_bounds_of_any_cells_load_and_hold_them() -> None:
    rng = np.random.default_rng(1)
    for first, last in np.sort(rng.integers(0, LENGTHS[GRID] - 1, (60, 2)), axis=1).tolist():
        for real, tail in ((True, 0), (False, 0), (True, 3), (False, 5)):
            settings, _ = _number((first, last), real, tail, [], False)
            column = Column.from_dict(settings, "x")
            if isinstance(column, scumble.Number):
                held = [end_of(first, upper=False), end_of(last, upper=True)]
                if not real:  # the end that is farther from zero is not in its cell
                    held = [held[0] + (held[0] <= -1), held[1] - (held[1] >= 1)]
                    held = [float(np.ceil(held[0])), float(np.floor(held[1]))]
                assert held[0] > held[1] or (column.low <= held[0] and held[1] <= column.high)


@pytest.mark.parametrize(
    "text, kind",
    [
        *((None, "missing"), (b"", "missing"), (b"NA", "missing"), (b"Yes", "boolean"), (b"true", "boolean")),
        *((b"17", "whole"), (b"1e3", "whole"), (b"$1,234.50", "number"), (b"inf", "text"), (b"2020-02-29", "iso")),
        *(
            (b"2020", "whole"),
            (b"2020/12/31", "%Y/%m/%d"),
            (b"31.12.2020", "%d.%m.%Y"),
            (b"31/12/2020", "%d/%m/%Y"),
            (b"12/31/2020", "%m/%d/%Y"),
        ),
        *((b"01/02/2020", "either"), (b"\xff\xfe", "text"), (b"9999-12-31", "iso"), (b"Ulm", "text")),
    ],
)
def test_a_cell_has_one_place_in_each_row(text: bytes | None, kind: str) -> None:
    found = placed(text)
    assert KINDS[found[0]] == kind
    assert all(0 <= place < length for place, length in zip(found, LENGTHS, strict=True))


def test_a_decimal_comma() -> None:
    assert placed(b"1.234,5", ",")[1] == placed(b"1234.5")[1] and KINDS[placed(b"1,5", ",")[0]] == "number"


def test_no_more_records_of_a_person_count_than_are_paid_for(tmp_path: Path) -> None:
    """2,000 persons are up to 60 years old, and one has 3,000 records of 5,000. Noise of this name hides two."""
    ages = [20 + k % 41 for k in range(2000)] + [5000] * 3000
    table = pa.table({"who": [*range(2000), *[2000] * 3000], "age": ages})
    most: dict[str, Any] = {"epsilon": 8.0, "records_per_person": 2}
    loose = scumble.draft(table, **most)
    with pytest.warns(CuratorWarning, match="2,998 over the limit"):
        bound = scumble.draft(table, **most, person_column="who")
    assert loose["age"].high >= 5000 and bound["age"].high < 500 and bound.names == ("age",)
    table.to_pandas().to_csv(tmp_path / "t.csv", index=False)
    options = ["--epsilon", "8", "--records-per-person", "2", "--person-column", "who", "--out"]
    assert cli.main(["schema", str(tmp_path / "t.csv"), *options, str(tmp_path / "t.toml")]) == 0
    assert scumble.Schema.load(tmp_path / "t.toml")["age"].high < 500
    unnamed = table.select(["age"]).append_column("id", pa.array([None, *range(4999)]))
    with pytest.warns(
        CuratorWarning, match="1 without a person"
    ):  # one record does not decide whether there is a draft
        assert scumble.draft(unnamed, **most, person_column="id").names == ("age",)


def test_a_kind_needs_most_cells() -> None:
    def kind(others: int, variance: float = 0.0) -> str:
        counts = np.zeros(len(KINDS), int)
        counts[[0, 2, -1]] = 500, 89, others
        return kind_of(PublishedRow(0, counts, variance, None, Fraction(1)))

    assert kind(11) == "text" and kind(9) == "number"
    assert kind(11, variance=1.0) == "number"  # it may be noise
    assert kind(90, variance=1000.0) == "text"


def test_the_command_writes_what_loads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    messy(0)[0].to_csv(tmp_path / "people.csv", index=False)
    out = str(tmp_path / "people.toml")
    assert cli.main(["schema", str(tmp_path / "people.csv"), "--epsilon", "1", "--out", out]) == 0
    text = Path(out).read_text()
    assert list(scumble.Schema.load(out).declared) == ["age", "town", "smoker"]
    assert "ε = 1" in text and "decide" in text
    assert cli.main(["schema", str(tmp_path / "people.csv"), "--delta", "1e-6"]) != 0


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_noise_alone_gives_no_bounds(delta: float) -> None:
    """No record is there, and no column gets bounds: with noise of this name, for the chance is 1 %."""
    schema = scumble.draft(pd.DataFrame({"x": np.empty(0), "y": np.empty(0)}), epsilon=1.0, delta=delta)
    assert {one.kind for one in schema.declared.values()} <= {"category", "boolean"}


def test_a_boolean_that_noise_may_have_made_says_so() -> None:
    """Numbers above one would be missing in it."""
    ends = on_grid(0.0), on_grid(1.0)
    (own, doubts), (sure, none) = (_number(ends, real=False, tail=tail, remarks=[], unique=False) for tail in (1, 0))
    assert own == sure == {"kind": "boolean", "missing": True}
    assert len(doubts) == 1 and not none


def test_a_table_of_identifiers_has_a_draft_that_loads() -> None:
    ids = pd.DataFrame({"id": [f"k{k}" for k in range(500)], "other": [f"u{k}" for k in range(500)]})
    schema = scumble.draft(ids, epsilon=10.0)
    assert len(schema) == 1 and len(schema.declared) == 2


@pytest.mark.parametrize("columns", [["x" * 2000], []], ids=["a long name", "no column"])
def test_what_no_schema_can_have_is_refused_before_the_charge(columns: list[str], tmp_path: Path) -> None:
    ledger = scumble.Ledger.create(tmp_path / "ledger")
    ledger.open_dataset("people", epsilon=1.0, delta=1e-6)
    people = pd.DataFrame({name: [1, 2] for name in columns})
    with pytest.raises(scumble.ParameterError, match="column"):
        scumble.draft(people, epsilon=0.5, ledger=ledger, dataset="people")
    assert ledger.account("people").spent.epsilon == 0


def test_columns_of_json_lines_are_named(tmp_path: Path) -> None:
    (tmp_path / "people.jsonl").write_text('{"a": "x", "b": 3}\n' * 500 + '{"a": [1], "c": 4}\n')
    with pytest.raises(scumble.PrivacyError, match="keys of records are private"):
        scumble.draft(tmp_path / "people.jsonl", epsilon=1.0)
    assert [*scumble.draft(tmp_path / "people.jsonl", epsilon=1.0, columns=["a", "b"])] == ["a", "b"]


@pytest.mark.parametrize("budget", [{"epsilon": 10.0}, {"epsilon": 25.0}, {"epsilon": 100.0, "delta": 1e-6}])
def test_small_noise_makes_no_bounds_either(budget: dict[str, float]) -> None:
    """Whole numbers of a small scale lie farther out than their variance tells.

    Each draft is off with a probability of at most 1 %, five of twelve with one below 8e-8.
    """
    people = pd.DataFrame({"age": [3] * 200, "day": ["2020-01-01"] * 200})
    found = [scumble.draft(people, **budget)["day"] for _ in range(12)]
    assert sum(one == scumble.Date("2020-01-01", "2020-01-31", missing=True) for one in found) > 7
