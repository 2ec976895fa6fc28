"""At most m records of a person are counted, and nobody's records depend on anybody else's."""

from __future__ import annotations

import copy
import datetime
import pickle
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scumble
from scumble.cli import main
from scumble.sources import Build, build, people

KERNEL = scumble.EuclideanKernel(1.0)
NAMES = st.lists(st.sampled_from([f"person {k}" for k in range(12)]), max_size=60)


def slow(persons: list[str], most: int) -> list[bool]:
    """The first m of each: the slow, obvious twin."""
    seen: Counter[str] = Counter()
    out = []
    for person in persons:
        seen[person] += 1
        out.append(seen[person] <= most)
    return out


@given(st.lists(NAMES, max_size=5), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_the_first_m_of_each_pass_however_the_stream_is_cut(batches: list[list[str]], most: int) -> None:
    limit = scumble.PersonLimit(most)
    kept = [flag for batch in batches for flag in limit.keep(batch).tolist()]
    assert kept == slow([person for batch in batches for person in batch], most)


def test_rows_of_each_person_are_those_that_passed() -> None:
    limit = scumble.PersonLimit(2)
    limit.keep(["a", "b", "a", "c", "a"])
    assert sorted(limit.rows_of_each().tolist()) == [1, 1, 2]


@given(NAMES, st.integers(1, 3), st.sampled_from([f"person {k}" for k in range(12)]))
@settings(max_examples=60, deadline=None)
def test_removing_a_person_changes_nobody_elses_records(persons: list[str], most: int, gone: str) -> None:
    """The property that makes m the sensitivity, and that counting filters lack."""
    with_all = [p for p, kept in zip(persons, scumble.PersonLimit(most).keep(persons), strict=True) if kept]
    rest = [p for p in persons if p != gone]
    without = [p for p, kept in zip(rest, scumble.PersonLimit(most).keep(rest), strict=True) if kept]
    assert [p for p in with_all if p != gone] == without
    assert len(with_all) - len(without) <= most


def test_many_persons_while_the_table_grows(rng: np.random.Generator) -> None:
    persons = rng.integers(0, 20_000, 100_000)
    limit = scumble.PersonLimit(3)
    kept = np.concatenate([limit.keep(persons[k : k + 7000]) for k in range(0, 100_000, 7000)])
    assert kept.tolist() == slow(persons.tolist(), 3)
    assert limit._persons == len(set(persons.tolist()))


def test_no_number_of_persons_decides_whether_there_is_a_release() -> None:
    table = pa.table({"age": np.arange(5000.0), "who": np.arange(5000)})
    options: dict = {"person_column": "who", "records_per_person": 2, "rows": 4, "buckets": 8, "epsilon": 1.0}
    assert build(table, KERNEL, ["age"], **options).privacy.unit == "person"


def test_one_person_has_one_name_in_every_container() -> None:
    for column in (
        [7, 7.0, "7", np.int32(7), Decimal("7.00")],
        [Fraction(7), np.longdouble(7), 7, np.float16(7), Decimal("70E-1")],
        [0.5, "0.5", Decimal("0.50"), Fraction(1, 2), np.longdouble(0.5)],
        pa.array([7] * 5),
        pd.Series(["7"] * 5),
        pl.Series([7.0] * 5),
        pa.chunked_array([["7", "7"], ["7", "7", "7"]]),
        pa.array(["7"] * 5).dictionary_encode(),
        np.array([7] * 5, np.uint8),
    ):
        assert scumble.PersonLimit(2).keep(column).tolist() == [True, True, False, False, False]
    days = [datetime.date(2024, 1, 1), np.datetime64("2024-01-01"), datetime.date(2024, 1, 2)]
    assert scumble.PersonLimit(1).keep(days).tolist() == [True, False, True]
    assert scumble.PersonLimit(1).keep([True, 1, "true"]).tolist() == [True, True, False]


CLOSE = [Decimal(f"123456789012345678.{k}") for k in range(1, 4)]
ONE_FLOAT = {
    "decimal128": pa.array(CLOSE, pa.decimal128(38, 4)),
    "decimal256": pa.array(CLOSE, pa.decimal256(60, 4)),
    "decimals": pd.Series(CLOSE, dtype=object),
    "polars": pl.Series(CLOSE),
    "small": pa.array([Decimal("0.1"), Decimal("0.10000000000000000001"), Decimal("0.1000000000000000055")]),
    "fractions": np.array([Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**30), Fraction(1 / 3)], object),
    "extended": np.array([1, 1, 1], np.longdouble) + np.arange(3) * np.finfo(np.longdouble).eps,
    "beyond": np.array([10**30, 10**30 + 1, Decimal(f"{10**30}.5")], object),
    "tiny": [Decimal("1e-500"), Decimal("1e-501"), Decimal("-1e-501")],
}


@pytest.mark.parametrize("persons", ONE_FLOAT.values(), ids=ONE_FLOAT)
def test_numbers_that_are_one_float64_name_several_persons(persons: object) -> None:
    assert scumble.PersonLimit(1).keep(persons).all()


@pytest.mark.parametrize(
    "bad",
    [[None], ["a", float("nan")], [["x"]], [object()], np.zeros((2, 2)), np.array([1 + 1j]), np.array([1], "m8[s]")],
)
def test_columns_that_name_nobody(bad: object) -> None:
    with pytest.raises((scumble.DataError, scumble.ParameterError)) as caught:
        scumble.PersonLimit(1).keep(bad)
    assert "0x" not in str(caught.value)
    assert scumble.PersonLimit(1).keep([]).shape == (0,) and scumble.PersonLimit(2**31 - 1).keep(["ann"]).all()


@pytest.mark.parametrize("bad", [0, -1, 1.5, 2.0, True, "2", 2**31, 2**32, 3**31])
def test_limits_that_make_no_sense(bad: object) -> None:
    with pytest.raises(scumble.ParameterError):
        scumble.PersonLimit(bad)  # type: ignore[arg-type]


def test_the_limit_keeps_its_secret() -> None:
    limit = scumble.PersonLimit(2)
    limit.keep(["ann"])
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(scumble.PrivacyError):
            attempt(limit)
    assert repr(limit) == "PersonLimit(2)"
    assert scumble.PersonLimit(2)._key != scumble.PersonLimit(2)._key


# ---- builds ----


def visits(rng: np.random.Generator, n: int = 30_000) -> pa.Table:
    who = np.minimum(rng.zipf(1.3, n), 5000)  # a few persons with very many records
    return pa.table({"age": rng.normal(40, 10, n), "who": who})


def test_a_build_counts_at_most_m_of_each(rng: np.random.Generator) -> None:
    table = visits(rng)
    size = {"rows": 4, "buckets": 64, "design": "iid", "seed": 2}
    job = Build(table, KERNEL, ["age"], person_column="who", records_per_person=3, **size)
    job.count()
    kept = np.array(slow(table["who"].to_pylist(), 3))
    expected = scumble.Sketch(KERNEL, columns=["age"], **size)
    expected.update(table.select(["age"]).filter(pa.array(kept)))
    np.testing.assert_array_equal(job.tally.sketches[0]._counts, expected._counts)
    assert job.tally.over == int((~kept).sum()) and job.tally.rows == len(kept)
    release = job.release()
    assert release.privacy.unit == "person" and release.privacy.records_per_person == 3


def test_one_person_moves_the_sketch_by_m_records_at_most(rng: np.random.Generator) -> None:
    table = visits(rng, 5000)
    without = table.filter(pa.compute.not_equal(table["who"], 1))
    counts = []
    for each in (table, without):
        job = Build(each, KERNEL, ["age"], person_column="who", records_per_person=4, rows=4, buckets=64)
        job.count()
        counts.append(job.tally.sketches[0]._counts)
    assert table.num_rows - without.num_rows > 500
    np.testing.assert_array_equal(np.abs(counts[0] - counts[1]).sum(axis=1), 4)


def of_duckdb(table: pa.Table, path: Path) -> dict[str, Any]:
    with duckdb.connect(str(path)) as connection:
        connection.register("given", table)
        connection.execute("create table visits as select * from given")
    return {"source": f"duckdb:///{path}", "query": "select who, age from visits"}


QUERIES = {
    "polars": lambda table, path: {"source": pl.from_arrow(table).lazy()},
    "relation": lambda table, path: {"source": duckdb.connect().from_arrow(table)},
    "duckdb": of_duckdb,
}


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_may_return_its_rows_in_any_order(query: str, tmp_path: Path, rng: np.random.Generator) -> None:
    """Else the absence of one person could change which records of the others count."""
    table, counts = visits(rng, 3000), []
    for k in range(3):
        given = QUERIES[query](table.take(rng.permutation(len(table))), tmp_path / f"{k}.duckdb")
        options = {"person_column": "who", "records_per_person": 2, "rows": 4, "buckets": 64, "seed": 2}
        job = Build(given.pop("source"), KERNEL, ["age"], **options, **given)
        counts.append(job.count().sketches[0]._counts)
    assert counts[0].sum(axis=1).max() < 3000
    np.testing.assert_array_equal(counts[0], counts[1])
    np.testing.assert_array_equal(counts[0], counts[2])


def test_the_limit_is_one_for_all_classes(rng: np.random.Generator) -> None:
    table = visits(rng, 3000).append_column("mode", pa.array(rng.choice(["bus", "car"], 3000)))
    limit = {"person_column": "who", "records_per_person": 2}
    job = Build(table, KERNEL, ["age"], label="mode", classes=["bus", "car"], **limit, rows=4, buckets=16)
    job.count()
    assert sum(sketch.count for sketch in job.tally.sketches) == sum(slow(table["who"].to_pylist(), 2))


def test_missing_persons_are_refused_or_dropped() -> None:
    table = pa.table({"age": [1.0, 2.0, 3.0], "who": ["ann", None, "bob"]})
    options = {"person_column": "who", "rows": 4, "buckets": 8}
    with pytest.raises(scumble.DataError, match="1 person missing in 'who'"):
        build(table, KERNEL, ["age"], epsilon=1.0, invalid="error", **options)
    job = Build(table, KERNEL, ["age"], invalid="drop", **options)
    job.count()
    assert job.tally.sketches[0].count == 2 and job.tally.dropped == 1
    with pytest.raises(scumble.ParameterError, match="columns"):
        build(table, KERNEL, ["age", "who"], **options)
    with pytest.raises(scumble.DataError, match="no column 'whom'"):
        build(table, KERNEL, ["age"], **{**options, "person_column": "whom"})


def test_a_resumed_build_remembers_whom_it_has_counted(tmp_path: Path, rng: np.random.Generator) -> None:
    import pyarrow.parquet as pq

    table = visits(rng)
    folder = tmp_path / "visits"
    folder.mkdir()
    for k in range(3):
        pq.write_table(table[10_000 * k : 10_000 * (k + 1)], folder / f"{k}.parquet")
    options: dict = {"person_column": "who", "records_per_person": 2, "rows": 4, "buckets": 64}
    options |= {"checkpoint": tmp_path / "c", "checkpoint_seconds": 0}

    def stop(progress: object) -> None:
        raise KeyError

    for _ in range(2):  # one batch further each time
        with pytest.raises(KeyError):
            Build(str(folder), KERNEL, ["age"], **options).count(stop)
        assert (tmp_path / "c").stat().st_mode & 0o777 == 0o600
    with pytest.raises(scumble.ParameterError, match="another build"):
        Build(str(folder), KERNEL, ["age"], **{**options, "person_column": None}).count()
    job = Build(str(folder), KERNEL, ["age"], **options)
    job.count()
    straight = Build(table, KERNEL, ["age"], **{**options, "checkpoint": None})
    straight.count()
    np.testing.assert_array_equal(job.tally.sketches[0]._counts, straight.tally.sketches[0]._counts)
    assert job.tally.over == straight.tally.over


def test_a_column_of_persons_needs_the_records_of_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table of visits must not shrink to one visit each, and be paid for, because an option was forgotten."""
    whose, out = ["--columns", "age", "--bandwidth", "5", "--person-column", "who"], str(tmp_path / "out")
    absent = str(tmp_path / "absent.csv")  # refused before it is looked for
    stream = ["--epsilon", "1", "--periods", "2", "--folder", out]
    for words in (
        ["build", absent, *whose, "--epsilon", "1", "--out", out],
        ["sketch", absent, *whose, "--out", out],
        ["stream", "plan", *whose, *stream],
        ["stream", "start", out, *whose, *stream],
    ):
        assert main(words) == 2
        told = " ".join(capsys.readouterr().err.split())
        assert "Give --records-per-person" in told
    assert not list(tmp_path.iterdir())


# ---- the table of persons ----


def test_nobody_is_forgotten_while_the_table_grows() -> None:
    limit = scumble.PersonLimit(1)
    limit.keep(np.arange(768))
    assert len(limit._counts) == 1024 and limit._persons == 768
    limit.keep([768])
    assert len(limit._counts) == 2048 and limit._persons == 769
    assert not limit.keep(np.arange(769)).any()


@pytest.mark.parametrize("persons", [0, 1, 768, 769, 3000])
def test_what_a_checkpoint_remembers(persons: int) -> None:
    limit, again = scumble.PersonLimit(2), scumble.PersonLimit(2)
    limit.keep(np.arange(persons))
    about, arrays = limit.contents()
    again.restore(about, arrays)
    assert again._persons == persons and 4 * persons <= 3 * len(again._counts) and len(again._counts) <= 4096
    assert again.keep(np.arange(persons)).all() and not again.keep(np.arange(persons)).any()
    assert len(arrays["people.hashes"]) == persons and bytes.fromhex(about["key"]) == limit._key
    assert len(limit._key) == 32 and limit._hash(b"ann") == again._hash(b"ann") and len(limit._hash(b"ann")) == 16


@pytest.mark.parametrize(
    "spoil",
    [
        lambda about, arrays: about.update(records_per_person=3),
        lambda about, arrays: about.update(key="no hexadecimal"),
        lambda about, arrays: about.pop("key"),
        lambda about, arrays: arrays.pop("people.hashes"),
        lambda about, arrays: arrays.pop("people.counts"),
        lambda about, arrays: arrays.update({"people.hashes": arrays["people.hashes"][:-1]}),
        lambda about, arrays: arrays.update({"people.hashes": arrays["people.hashes"][:, :1]}),
        lambda about, arrays: arrays.update({"people.hashes": arrays["people.hashes"].astype(np.int64)}),
        lambda about, arrays: arrays.update({"people.counts": arrays["people.counts"].astype(np.int64)}),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused(spoil) -> None:
    limit = scumble.PersonLimit(2)
    limit.keep(["ann", "bob"])
    about, arrays = limit.contents()
    spoil(about, arrays)
    with pytest.raises(scumble.CorruptFileError, match="lacks the table of persons"):
        scumble.PersonLimit(2).restore(about, arrays)


def test_the_first_place_is_a_place_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_number(self: scumble.PersonLimit, name: bytes) -> bytes:
        return int(name).to_bytes(8, "little") + bytes(8)

    monkeypatch.setattr(scumble.PersonLimit, "_hash", by_number)
    limit = scumble.PersonLimit(2)
    assert limit.keep(range(48)).all() and limit._counts[0] == 1
    assert limit.keep(range(48)).all() and not limit.keep(range(48)).any()


# ---- the two loops, as plain Python and as compiled ----

find, passing = people._find.__wrapped__, people._pass.__wrapped__  # not compiled


def slots(places: int, *taken: tuple[int, int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """An empty table with some places taken: (place, two words of the hash, count)."""
    hashes, counts = np.zeros((places, 2), np.uint64), np.zeros(places, np.int32)
    for place, one, two, count in taken:
        hashes[place], counts[place] = (one, two), count
    return hashes, counts


def words(*hashes: tuple[int, int]) -> np.ndarray:
    return np.array(hashes, np.uint64).reshape(-1, 2)


def test_each_has_the_first_free_place_from_its_own_on() -> None:
    hashes, counts = slots(8)
    places, fresh = find(hashes, counts, words((3, 7), (8 + 3, 7), (6, 1), (3, 8), (7, 3), (15, 0), (3, 7)))
    assert places.tolist() == [3, 4, 6, 5, 7, 0, 3] and fresh == 6, "also round the end"
    assert counts.tolist() == [-1, 0, 0, -1, -1, -1, -1, -1], "a place, and no record yet"
    assert hashes.tolist() == [[15, 0], [0, 0], [0, 0], [3, 7], [11, 7], [3, 8], [6, 1], [7, 3]]


def test_two_are_one_only_if_both_words_agree() -> None:
    hashes, counts = slots(4, (1, 1, 5, 2), (2, 1, 6, 1))
    places, fresh = find(hashes, counts, words((1, 6), (5, 5), (0, 0)))
    assert places.tolist() == [2, 3, 0] and fresh == 2 and counts.tolist() == [-1, 2, 1, -1]
    places, fresh = find(hashes, counts, words())
    assert places.shape == (0,) and fresh == 0


@pytest.mark.parametrize("most", [1, 2, 3])
def test_the_first_records_of_each_pass(most: int) -> None:
    counts = np.array([-1, 0, 2, 1], np.int32)
    places, which = np.array([2, 0, 3]), np.array([0, 1, 1, 2, 1, 0, 2, 1])
    out = passing(counts, places, which, most)
    seen, wanted = [2, 0, 1], []
    for person in which.tolist():
        wanted.append(seen[person] < most)
        seen[person] += wanted[-1]
    assert out.tolist() == wanted and out.dtype == bool
    assert counts.tolist() == [seen[1], 0, seen[0], seen[2]]


def test_compiled_they_do_the_same() -> None:
    rng = np.random.default_rng(4)
    hashes = rng.integers(0, 2**64, (700, 2), dtype=np.uint64)
    which = rng.integers(0, 700, 3000)
    results = []
    for look, let_pass in ((find, passing), (people._find, people._pass)):
        kept, counts = slots(1024)
        places, fresh = look(kept, counts, hashes)
        results.append([kept, places, fresh, let_pass(counts, places, which, 3), counts])
    for plain, compiled in zip(*results, strict=True):
        np.testing.assert_array_equal(plain, compiled)
