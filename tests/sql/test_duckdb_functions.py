"""Released files as functions of DuckDB."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest

import scumble


@pytest.fixture
def connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> duckdb.DuckDBPyConnection:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    kernel = scumble.EuclideanKernel(10.0, columns=["age"]) * scumble.HammingKernel(columns=["town"])
    table = {"age": rng.integers(0, 100, 500).astype(float), "town": rng.choice(["Ulm", "Bonn"], 500)}
    scumble.Sketch(kernel, columns=["age", "town"], rows=8, buckets=64).update(table).release(1.0).save("d.scumble")
    schema = scumble.Schema(age=scumble.Number(0, 99, whole=True), town=scumble.Category(("Ulm", "Bonn")))
    scumble.TableSketch(schema).update(table).release(epsilon=1.0).save("t.scumble")
    made = duckdb.connect()
    scumble.register(made)
    made.execute(
        "create table points as select * from (values (30.0, 'Ulm'), (70.0, 'Bonn'), (null, 'Ulm')) t(age, town)"
    )
    return made


def test_densities(connection: duckdb.DuckDBPyConnection) -> None:
    rows = connection.execute("select scumble_density('d.scumble', age, town) from points").fetchall()
    expected = scumble.load("d.scumble").density({"age": [30.0, 70.0], "town": ["Ulm", "Bonn"]})
    assert [row[0] for row in rows] == [*expected.tolist(), None]


def test_counts(connection: duckdb.DuckDBPyConnection) -> None:
    asked = "select scumble_count('t.scumble', 'age >= ' || x) from (values (10), (60), (10)) v(x)"
    release = scumble.load("t.scumble")
    expected = [float(release.count(f"age >= {x}")) for x in (10, 60, 10)]
    assert [row[0] for row in connection.execute(asked).fetchall()] == expected


def test_a_file_that_changes_is_read_again(connection: duckdb.DuckDBPyConnection) -> None:
    ask = "select scumble_count('t.scumble', 'age >= 0')"
    before = connection.execute(ask).fetchone()
    schema = scumble.Schema(age=scumble.Number(0, 9))
    with pytest.warns(UserWarning, match="it is kept as 't.1.scumble'"):
        scumble.TableSketch(schema).update({"age": [1.0] * 9000}).release(epsilon=1.0).save("t.scumble")
    assert connection.execute(ask).fetchone() != before


@pytest.mark.parametrize(
    "asked",
    [
        "density('t.scumble', 1)",
        "count('d.scumble', 'age > 1')",
        "density('d.scumble', 1.0)",
        "density('no', 1.0)",
    ],
)
def test_what_cannot_be_asked(connection: duckdb.DuckDBPyConnection, asked: str) -> None:
    with pytest.raises(duckdb.Error, match=r"scumble|age, town|no such file"):
        connection.execute(f"select scumble_{asked}").fetchall()
    with pytest.raises(scumble.ParameterError):
        scumble.register("people.duckdb")
