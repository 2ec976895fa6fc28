"""Tables out of every source, by Python and by the command line."""

from __future__ import annotations

import json
import shlex
import sqlite3
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.table.people import SCHEMA, by_pandas, people

import scumble
from scumble import TableRelease, TableSketch
from scumble.cli import main
from scumble.errors import CuratorWarning
from scumble.sources import Build
from scumble.sources import arrow as parquet

FRAME = people(1500)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    FRAME.to_parquet("people.parquet")
    FRAME.to_csv("people.csv", index=False)
    FRAME.to_json("people.jsonl", orient="records", lines=True, date_format="iso")
    with sqlite3.connect("people.db") as database:
        FRAME.astype({"seen": str, "smoker": int}).to_sql("people", database, index=False)
    database.close()
    SCHEMA.save("people.toml")
    return tmp_path


def run(line: str) -> int:
    return main(shlex.split(line))


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ("people.parquet", {}),
        ("people.csv", {}),
        ("people.jsonl", {}),
        ("sqlite:///people.db", {"table": "people"}),
        (FRAME, {}),
    ],
    ids=["parquet", "csv", "json", "sqlite", "memory"],
)
def test_every_source_fills_the_same_counters(source, options: dict) -> None:
    job = Build(source, schema=SCHEMA, target="sex", **options)
    (sketch,) = job.count().sketches
    np.testing.assert_array_equal(sketch.secret.counts, by_pandas(sketch.spec, FRAME))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_any_number_of_threads_fills_the_same_counters(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many batches, whose levels are found in any order, are counted once each, and listed in their own order."""
    monkeypatch.setattr(parquet, "BATCH_ROWS", 100)
    monkeypatch.setattr(parquet, "AT_ONCE", 1)
    told: list[int] = []
    counted = Build("people.parquet", schema=SCHEMA, threads=threads).count(lambda found: told.append(found.rows))
    np.testing.assert_array_equal(counted.sketches[0].secret.counts, by_pandas(counted.sketches[0].spec, FRAME))
    assert told == list(range(100, 1501, 100))


def test_a_build_gives_a_release_and_is_charged(tmp_path: Path) -> None:
    ledger = scumble.Ledger.create(tmp_path / "town.ledger")
    ledger.open_dataset("people", epsilon=1.5)
    options = {"schema": SCHEMA, "epsilon": 1.0, "ledger": ledger, "dataset": "people"}
    with pytest.warns(CuratorWarning, match=r"^69 values of .sex. are not in its vocabulary") as told:
        release = scumble.build("people.csv", n=1500, **options)
    assert len(told) == 1 and told[0].filename == __file__
    assert isinstance(release, TableRelease) and release.privacy.epsilon <= 1.0
    with pytest.raises(scumble.BudgetError):
        scumble.build("people.csv", **options)


def test_a_killed_build_goes_on_from_its_checkpoint() -> None:
    class Killed(Exception):
        pass

    def die(progress) -> None:
        raise Killed

    options = {"schema": SCHEMA, "target": "smoker", "checkpoint": "c.secret", "checkpoint_seconds": 0.0}
    with pytest.raises(Killed):
        Build(["people.parquet"], **options).count(die)
    assert Path("c.secret").stat().st_mode & 0o777 == 0o600
    with pytest.raises(scumble.ParameterError, match="target"):
        Build(["people.parquet"], **{**options, "target": "sex"}).count()
    (sketch,) = Build(["people.parquet"], **options).count().sketches
    np.testing.assert_array_equal(sketch.secret.counts, by_pandas(sketch.spec, FRAME))


def test_what_does_not_go_with_a_schema_is_refused() -> None:
    for options in (
        *(
            {"kernel": scumble.EuclideanKernel(1.0)},
            {"columns": ["age"]},
            {"rows": 5},
            {"design": "grid"},
            {"schema": 7},
        ),
        *({"label": "sex", "classes": ["Male"]}, {"noise_first": True}, {"target": "height"}, {"engine": "gpu"}),
        {"schema": None, "target": "sex"},
    ):
        with pytest.raises((scumble.ParameterError, scumble.PrivacyError)):
            Build("people.csv", **{"schema": SCHEMA, **options})


# ---- the command line ----


def test_from_a_file_to_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("build people.parquet --schema people.toml --epsilon 3 --delta 1e-6 --draws --out p.scumble") == 0
    assert scumble.load("p.scumble").to_bytes(draws=True) == Path("p.scumble").read_bytes()
    assert not Path("p.1.scumble").exists(), "the file without draws is not another release"
    assert run("info p.scumble") == 0
    assert f"{len(scumble.load('p.scumble').views)} views" in capsys.readouterr().out
    assert run("count p.scumble --where \"age >= 65 and sex == 'Female'\" --json") == 0
    found = json.loads(capsys.readouterr().out)
    truth = int(((FRAME.age >= 65) & (FRAME.sex == "Female")).sum())
    assert abs(found["value"] - truth) < 6 * found["standard_error"] + 1
    assert run("count p.scumble --by sex") == 0
    assert "(missing)" in capsys.readouterr().out
    assert run("sample p.scumble --n 50 --seed 1 --where \"sex == 'Male'\" --out rows.parquet") == 0
    rows = pq.read_table("rows.parquet")
    assert rows.column_names == list(SCHEMA) and set(rows["sex"].to_pylist()) == {"Male"} and len(rows) == 50
    assert run("sample p.scumble --n 2 --seed 1") == 0
    assert capsys.readouterr().out.startswith("age,sex,hours,seen,smoker\n")
    assert run("plot p.scumble --out p.png") == 0
    assert Path("p.png").stat().st_size > 10_000
    capsys.readouterr()
    for heedless in ("--range age=0:50", "--at age=5", "--units age=years", "--title T", "--class x", "--log"):
        assert run(f"plot p.scumble --out q.png {heedless}") == 2, "nothing is left out silently"
    assert run("count p.scumble --where 'height > 3'") == 2
    assert run("query p.scumble people.csv") == 2
    assert run("modes p.scumble --out -") == 2
    assert run("build people.parquet --schema people.toml --epsilon 1 --draws --out -") == 2
    assert run("build people.csv --columns age --epsilon 1 --draws --out ages.scumble") == 2


def test_parts_by_the_command_line() -> None:
    for part, rows in (("a", FRAME[:700]), ("b", FRAME[700:])):
        rows.to_csv(f"{part}.csv", index=False)
        assert run(f"sketch {part}.csv --schema people.toml --target smoker --out {part}.secret") == 0
    assert run("merge a.secret b.secret --out all.secret") == 0
    whole = scumble.load_secret("all.secret")
    assert isinstance(whole, TableSketch)
    np.testing.assert_array_equal(whole.secret.counts, by_pandas(whole.spec, FRAME))
    assert run("release all.secret --epsilon 1 --out all.scumble") == 0
    assert isinstance(scumble.load("all.scumble"), TableRelease)
    assert run("release all.secret --epsilon 1 --out again.scumble") == 3
