"""Sources: the same rows give the identical sketch, whatever they come from."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import openpyxl
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest
from tests import postgres

import scumble
from rates import laplace
from scumble.columns.kinds import roles_of
from scumble.kernels import EuclideanKernel, HammingKernel, JaccardKernel
from scumble.sources import Build, build, build_by, formats, onepass, open_source
from scumble.sources import arrow as parquet
from scumble.sources.formats import Options
from scumble.sources.opening import FileSource
from scumble.sources.source import BATCH_ROWS, Piece

ROWS = 5_000
COLUMNS = ["age", "income", "member", "town", "words"]
KERNEL = (
    EuclideanKernel(1.0, 2, scale={"age": 10.0, "income": 20_000.0}, columns=["age", "income", "member"])
    * HammingKernel(columns=["town"])
    * JaccardKernel(columns=["words"])
)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = np.random.default_rng(3)
    words = np.array(["red", "green", "blue", "Grün", 'a "quoted" one', "x,y"])
    return pa.table(
        {
            "other": rng.integers(0, 9, ROWS),
            "income": rng.normal(50_000, 9_000, ROWS),
            "age": rng.integers(18, 90, ROWS),
            "member": rng.random(ROWS) < 0.5,
            "town": rng.choice(["Ulm", "Köln", "na", "none", "7"], ROWS),
            "words": [" ".join(rng.choice(words, rng.integers(0, 4))) for _ in range(ROWS)],
            "class": rng.choice(["Ulm", "Köln", "NA", "", "7"], ROWS),
        }
    )


def counted(
    source: object, kernel: scumble.Kernel = KERNEL, columns: list[str] | None = None, **options: object
) -> np.ndarray:
    """The exact counters of a source."""
    job = Build(source, kernel, columns or COLUMNS, rows=24, buckets=64, seed=5, design="iid", **options)
    return job.count().sketches[0]._counts


@pytest.fixture(scope="module")
def expected(table: pa.Table) -> np.ndarray:
    sketch = scumble.Sketch(KERNEL, columns=COLUMNS, rows=24, buckets=64, seed=5, design="iid")
    return sketch.update(table)._counts


def small(source: object, kernel: scumble.Kernel, columns: list[str], **options: object) -> Build:
    """A build that has counted, and leaves out what it cannot count."""
    job = Build(source, kernel, columns, **{"rows": 4, "buckets": 4096, "invalid": "drop", **options})
    job.count()
    return job


def csv_bytes(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pacsv.write_csv(table, sink)
    return sink.getvalue()


def json_bytes(table: pa.Table) -> bytes:
    return pl.from_arrow(table).write_ndjson().encode()


def write_arrow(new: Callable[..., Any], table: pa.Table, sink: object) -> None:
    with new(sink, table.schema) as writer:
        writer.write_table(table, 900)


WRITERS = {
    "t.csv": lambda t, p: p.write_bytes(csv_bytes(t)),
    "t.csv.gz": lambda t, p: p.write_bytes(gzip.compress(csv_bytes(t))),
    "t.csv.zst": lambda t, p: p.write_bytes(pa.compress(csv_bytes(t), "zstd", asbytes=True)),
    "windows.csv": lambda t, p: p.write_bytes(b"\xef\xbb\xbf" + csv_bytes(t).replace(b"\n", b"\r\n")),
    "t.tsv": lambda t, p: p.write_bytes(pl.from_arrow(t).write_csv(separator="\t").encode()),
    "t.parquet": lambda t, p: pq.write_table(t, p, row_group_size=700),
    "t.arrow": lambda t, p: write_arrow(ipc.new_file, t, p),
    "t.arrows": lambda t, p: write_arrow(ipc.new_stream, t, p),
    "t.feather": lambda t, p: feather.write_feather(t, p, compression="zstd"),
    "t.jsonl": lambda t, p: p.write_bytes(json_bytes(t)),
    "t.jsonl.gz": lambda t, p: p.write_bytes(gzip.compress(json_bytes(t))),
    "no-ending": lambda t, p: pq.write_table(t, p),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_file_format_gives_the_identical_sketch(
    name: str, table: pa.Table, expected: np.ndarray, tmp_path: Path
) -> None:
    WRITERS[name](table, tmp_path / name)
    assert np.array_equal(counted(tmp_path / name), expected)


def test_folders_hive_partitions_globs_and_lists(table: pa.Table, expected: np.ndarray, tmp_path: Path) -> None:
    plain, hive = tmp_path / "plain", tmp_path / "hive"
    plain.mkdir()
    for k in range(4):
        pq.write_table(table.slice(k * 1250, 1250), plain / f"part-{k}.parquet", row_group_size=400)
    (plain / "_SUCCESS").write_text("")
    (plain / "notes.md").write_text("not a table")
    towns = table["town"].to_numpy(zero_copy_only=False)
    for town in np.unique(towns):
        folder = hive / f"town={town}" if town else hive / "town="
        folder.mkdir(parents=True)
        pq.write_table(table.filter(pa.array(towns == town)).drop_columns("town"), folder / "x.parquet")
    assert np.array_equal(counted(plain), expected)
    assert np.array_equal(counted(str(plain / "*.parquet")), expected)
    assert np.array_equal(counted(sorted(plain.glob("*.parquet"))), expected)
    assert np.array_equal(counted(hive), expected)


def test_hive_partitions_of_numbers_and_of_csv(tmp_path: Path) -> None:
    kernel = EuclideanKernel(1.0)
    for year in (2020, 2021):
        (tmp_path / f"year={year}").mkdir()
        (tmp_path / f"year={year}" / "a.csv").write_text("x\n1\n2\n")
    X = [[1, 2020], [2, 2020], [1, 2021], [2, 2021]]
    whole = scumble.Sketch(kernel, columns=["x", "year"], rows=24, buckets=64, seed=5, design="iid").update(X)
    assert np.array_equal(counted(tmp_path, kernel, ["x", "year"]), whole._counts)


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "json", "arrow"])
def test_standard_input(kind: str, table: pa.Table, expected: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind == "arrow":
        write_arrow(ipc.new_stream, table, sink := io.BytesIO())
        data = sink.getvalue()
    else:
        data = {"csv": csv_bytes, "csv.gz": lambda t: gzip.compress(csv_bytes(t)), "json": json_bytes}[kind](table)
    monkeypatch.setattr(formats, "_STDIN", [formats.StandardInput(io.BytesIO(data))])
    assert np.array_equal(counted("-"), expected)


def test_sqlite(table: pa.Table, expected: np.ndarray, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "t.db") as database:
        table.to_pandas().to_sql("people", database, index=False)
    database.close()
    uri = f"sqlite:///{tmp_path / 't.db'}"
    assert np.array_equal(counted(uri, table="people"), expected)
    assert np.array_equal(counted(uri, query="SELECT * FROM people WHERE age >= 0;"), expected)


def test_sqlite_cells_have_types_of_their_own(tmp_path: Path) -> None:
    """2,000 missing cells first, then whole numbers, fractions and words: the driver alone would fail on each."""
    with sqlite3.connect(tmp_path / "t.db") as database:
        database.execute("CREATE TABLE t (x, c)")
        cells = [None] * 2000 + [7] * 2000 + [0.5] * 2000 + ["word"] * 2000
        database.executemany("INSERT INTO t VALUES (?, ?)", [(cell, cell) for cell in cells])
    database.close()
    uri = f"sqlite:///{tmp_path / 't.db'}"
    tally = small(uri, EuclideanKernel(1.0), ["x"], table="t").tally
    assert tally.sketches[0].count == 4000 and tally.dropped == 4000
    with pytest.raises(scumble.DataError):
        counted(uri, EuclideanKernel(1.0), ["x"], table="t", invalid="error")
    direct = scumble.Sketch(HammingKernel(), columns=["c"], rows=24, buckets=64, seed=5, design="iid")
    direct.update({"c": np.array([7] * 2000 + [0.5] * 2000 + ["word"] * 2000, dtype=object)})
    assert np.array_equal(counted(uri, HammingKernel(), ["c"], table="t", invalid="drop"), direct._counts)


def test_duckdb(table: pa.Table, expected: np.ndarray, tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as database:
        database.register("given", table)
        database.execute("CREATE TABLE people AS SELECT * FROM given")
        database.execute("CREATE SCHEMA old; CREATE TABLE old.people AS SELECT * FROM given LIMIT 3")
        database.execute("CREATE SCHEMA public; CREATE TABLE public.people AS SELECT * FROM given LIMIT 3")
        database.execute("CREATE TABLE texts AS SELECT x::VARCHAR AS x FROM range(9) t(x)")
        database.execute("CREATE TABLE words AS SELECT 'hush' AS word FROM range(3)")
    uri = f"duckdb:///{path}"
    assert np.array_equal(counted(uri, table="people"), expected)
    assert np.array_equal(counted(uri, query="SELECT * FROM people WHERE age >= 0 -- all of them"), expected)
    for three in ("old.people", "public.people"):
        assert counted(uri, table=three).sum() == 3 * (expected.sum() // table.num_rows)
    numbers = scumble.Schema(x=scumble.Number(0, 9, whole=True))
    assert scumble.build(uri, schema=numbers, epsilon=100.0, table="texts").count("x < 5").low > 3
    for wrong in ({"table": "poeple"}, *({"query": one} for one in ("SELEC 1", *WRONG, "DROP TABLE people"))):
        with pytest.raises(scumble.DataError):
            counted(uri, **wrong)
    with pytest.raises(scumble.DataError) as found:
        counted(uri, EuclideanKernel(1.0), ["x"], query="SELECT CAST(word AS double) AS x FROM words")
    assert "hush" not in str(found.value)


def test_a_relation_and_a_lazy_frame_are_read_in_batches(table: pa.Table, expected: np.ndarray, tmp_path: Path) -> None:
    with duckdb.connect() as database:
        database.register("given", table)
        assert np.array_equal(counted(database.sql("SELECT * FROM given")), expected)
    pq.write_table(table, tmp_path / "t.parquet")
    lazy = pl.scan_parquet(tmp_path / "t.parquet")
    assert np.array_equal(counted(lazy), expected)
    assert counted(lazy.filter(pl.col("age") < -1e9), allow_empty=True).sum() == 0
    with pytest.raises(scumble.DataError) as found:
        counted(pl.LazyFrame({"w": ["hush"]}).select(pl.col("w").cast(pl.Float64)), EuclideanKernel(1.0), ["w"])
    assert "hush" not in str(found.value)


WRONG = "SELEC 1", "SELECT nix FROM people"


@pytest.fixture(scope="module")
def server():
    programs = postgres.binaries()
    if programs is None:
        pytest.fail("No PostgreSQL server. Hint: `make postgresql` installs it (apt-get install postgresql).")
    running = postgres.Server(programs)
    yield running
    running.stop()


def test_postgresql(table: pa.Table, expected: np.ndarray, server: postgres.Server) -> None:
    server.sql(
        "CREATE TABLE people (other int, income float8, age numeric(5, 1), member boolean, town text, words text, "
        "class text)"
    )
    server.sql("COPY people FROM STDIN WITH (FORMAT csv, HEADER)", csv_bytes(table))
    assert np.array_equal(counted(server.uri(), table="people"), expected)
    assert np.array_equal(counted(server.uri(), query="SELECT * FROM people WHERE age > 0"), expected)
    once = {
        "person_column": "class",
        "invalid": "drop",
        "query": "SELECT * FROM people ORDER BY md5(income::text || %s)",
    }
    first, other = (counted(server.uri(), **{**once, "query": once["query"] % salt}) for salt in ("'a'", "'b'"))
    assert np.array_equal(first, other) and first.sum() < expected.sum()
    for wrong in ({"table": "poeple"}, *({"query": one} for one in WRONG)):
        with pytest.raises(scumble.DataError):
            counted(server.uri(), **wrong)
    with pytest.raises(scumble.DataError):
        counted(server.uri(), EuclideanKernel(1.0), ["town"], table="people")
    with pytest.raises(scumble.DataError) as problem:
        counted("postgresql://me:hush@127.0.0.1:1/x", table="people")
    assert "hush" not in str(problem.value)


@pytest.mark.parametrize(
    "make", [lambda t: t, pa.Table.to_reader, pa.Table.to_pandas, pl.from_arrow, lambda t: iter(t.to_batches(800))]
)
def test_tables_in_memory(make: object, table: pa.Table, expected: np.ndarray) -> None:
    assert np.array_equal(counted(make(table)), expected)  # type: ignore[operator]


def test_build_gives_a_release_with_the_plans_choice(table: pa.Table, tmp_path: Path) -> None:
    pq.write_table(table, tmp_path / "t.parquet")
    kernel = EuclideanKernel(10.0)
    release = build(tmp_path / "t.parquet", kernel, ["age"], epsilon=0.1, n=5000, bounds=(0.0, 100.0))
    planned = scumble.plan(5000, 1, 0.1, kernel=kernel, bounds=(0.0, 100.0), columns=["age"])
    assert (release.design, release.rows) == (planned.design, planned.rows) == ("grid", 1)
    assert planned.buckets / 4 < release.buckets < planned.buckets * 4  # by noisy facts, not by n
    assert abs(release.count - ROWS) < laplace() * release.count_standard_error
    assert str(tmp_path).encode() not in release.to_bytes()
    seen: list[int] = []
    scumble.build(
        table, kernel, ["age"], rows=8, buckets=8, progress=lambda state: seen.append(state.rows), epsilon=1.0
    )
    assert seen[-1] == ROWS


def test_a_misspelt_option_is_no_option_that_was_left_out() -> None:
    """Else a budget would be another, or bounds would be none."""
    for word, meant in {"bound": "bounds", "epsilom": "epsilon", "date": "dates", "ledgr": "ledger"}.items():
        with pytest.raises(TypeError, match=f"no option '{word}'. Did you mean '{meant}'"):
            scumble.build({"age": [1.0, 2.0]}, scumble.EuclideanKernel(1.0), **{word: ["age"]})


def test_one_sketch_a_class(table: pa.Table, tmp_path: Path) -> None:
    pq.write_table(table, tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_bytes(csv_bytes(table))
    kernel, towns = EuclideanKernel(10.0), ["Ulm", "Köln", "NA", "", 7]
    whole = [
        scumble.Sketch(kernel, columns=["age"], rows=24, buckets=64, seed=5, design="iid").update(
            table.filter(pa.array(table["class"].to_numpy(zero_copy_only=False) == str(town)))
        )
        for town in towns
    ]
    for name in ("t.parquet", "t.csv"):
        job = Build(
            tmp_path / name, kernel, ["age"], label="class", classes=towns, rows=24, buckets=64, seed=5, design="iid"
        )
        for part, one in zip(job.count().sketches, whole, strict=True):
            assert np.array_equal(part._counts, one._counts)
    bundle = build_by(
        table, kernel, ["age"], label="class", classes=[*towns, "Nowhere"], rows=8, buckets=8, epsilon=0.5
    )
    assert bundle.classes == (*towns, "Nowhere") and bundle.label == "class" and bundle.privacy.epsilon == 0.5
    with pytest.raises(scumble.DataError):
        build_by(table, kernel, ["age"], label="class", classes=["Ulm"], rows=8, epsilon=1.0, invalid="error")
    tally = small(table, kernel, ["age"], label="class", classes=["Ulm"]).tally
    assert tally.sketches[0].count + tally.dropped == ROWS
    with pytest.raises(scumble.PrivacyError):
        Build(table, kernel, ["age"], label="class")
    with pytest.raises(scumble.PrivacyError):
        build_by(table, kernel, ["age"], label="class", classes=towns, neighbors="replace", epsilon=1.0)


def test_kernels_of_any_make_say_what_they_read() -> None:
    numbers = dict.fromkeys(["age", "income", "member"], "number")
    assert roles_of(KERNEL, COLUMNS) == {**numbers, "town": "category", "words": "tokens"}
    assert roles_of(JaccardKernel(), ["a", "b"]) == {"a": "number", "b": "number"}

    class Own(scumble.Kernel):
        def _draw_one(self, draws, dimensions):  # type: ignore[no-untyped-def]
            return draws.uniform(1)

        def collision(self, X, Y):  # type: ignore[no-untyped-def]
            return np.ones((len(X), len(Y)))

    class Town(Own):
        reads = "category"

    assert roles_of(Own(), ["a"]) == {"a": "number"}
    found = roles_of(Town(columns=["b"]) * Own(columns=["a"]), ["a", "b", "c"])
    assert found == {"a": "number", "b": "category", "c": "any"}
    with pytest.raises(scumble.ParameterError):
        roles_of(EuclideanKernel(1.0) * HammingKernel(), ["a"])


def test_json_cells_of_any_type(tmp_path: Path) -> None:
    """Numbers as text, text as numbers, missing fields, blank lines: slower, never wrong."""
    (tmp_path / "t.jsonl").write_text(
        '{"x": 1, "c": 7, "w": ["a", "b"]}\n\n{"x": "2.5", "c": "7", "w": "b a"}\n'
        '{"x": true, "c": 7.0, "w": ["b", "a"]}\n'
        '{"c": true}\n{"x": "word", "c": null, "w": []}'
    )
    tally = small(tmp_path / "t.jsonl", EuclideanKernel(0.01, columns=["x"]), ["x"]).tally
    assert tally.sketches[0].count == 3 and tally.dropped == 2
    for kernel, column in ((HammingKernel(), "c"), (JaccardKernel(), "w")):
        found = small(tmp_path / "t.jsonl", kernel, [column]).tally.sketches[0]._counts
        assert (np.sort(found, axis=1)[:, -2:] == [1, 3]).all()


def test_excel(table: pa.Table, tmp_path: Path) -> None:
    columns = ["age", "income", "member"]  # a workbook has no empty texts: they are missing cells
    table = table.slice(0, 200)
    table.to_pandas().to_excel(tmp_path / "t.xlsx", index=False)
    kernel = EuclideanKernel(1.0, scale={"age": 10.0, "income": 20_000.0, "member": 1.0})
    assert np.array_equal(counted(tmp_path / "t.xlsx", kernel, columns), counted(table, kernel, columns))


def test_an_excel_sheet_has_cells_of_any_type(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    rows = [["x", "c", None], [1, "a"], [], ["$2,000", 7], [True, None], [None, "b"], ["word", "c"]]
    for row in (*rows, [dt.date(2020, 1, 1), "d"]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    source = open_source(tmp_path / "t.xlsx")
    assert source.names == ("x", "c")
    (piece,) = source.pieces({"x": "number", "c": "category"})
    x, c = piece.batch.columns
    numbers = x.to_pylist()
    assert numbers[:4] == [1.0, 2000.0, 1.0, None] and np.isnan(numbers[4:]).all()  # empty, and no numbers
    assert c.dictionary_decode().to_pylist() == [b"a", b"7", None, b"b", b"c", b"d"]
    (later,) = source.pieces({"x": "number"}, start=(0, 2))
    assert repr(later.batch.columns[0].to_pylist()) == repr(numbers[2:])
    with pytest.raises(scumble.DataError):
        counted(tmp_path / "t.xlsx", EuclideanKernel(1.0), ["x"], invalid="error")
    (tmp_path / "t.xlsx").write_bytes(b"PK\x03\x04" + b"xl/worksheets" * 9)
    with pytest.raises(scumble.DataError):
        counted(tmp_path / "t.xlsx", EuclideanKernel(1.0), ["age"])


def test_a_sheet_is_chosen_by_name(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.title = "north"
    for sheet, value in ((book.active, 1), (book.create_sheet("south"), 2)):
        sheet.append(["x"])
        sheet.append([value])
    book.save(tmp_path / "t.xlsx")
    with pytest.warns(UserWarning, match="2 sheets") as told:
        first = open_source(tmp_path / "t.xlsx")
        assert next(first.pieces({"x": "number"})).batch.column(0).to_pylist() == [1.0]
    assert len(told) == 1
    second = open_source(tmp_path / "t.xlsx", table="south")  # without a warning, which would be an error here
    (piece,) = second.pieces({"x": "number"})
    assert piece.batch.column(0).to_pylist() == [2.0]
    assert second.fingerprint() != first.fingerprint()
    with pytest.raises(scumble.DataError):
        open_source(tmp_path / "t.xlsx", table="South")
    with pytest.raises(scumble.ParameterError):
        open_source(__file__, format="csv", table="south")


@pytest.mark.parametrize("cores", [2, 16])
@pytest.mark.parametrize("skip", [0, 65_536, 300_001, 600_001])
def test_whatever_is_read_at_a_time_batches_are_cut_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, skip: int, cores: int
) -> None:
    """The rows of a file, from any of them on, in batches of a few MB."""
    monkeypatch.setattr(parquet, "available_threads", lambda: cores)
    pq.write_table(pa.table({"x": np.arange(600_001.0)}), tmp_path / "t.parquet", row_group_size=100_000)
    source = FileSource(str(tmp_path / "t.parquet"), options=Options())
    pieces = list(source.pieces({"x": "number"}, start=(0, skip)))
    assert all(0 < piece.batch.num_rows <= parquet.AT_ONCE * BATCH_ROWS for piece in pieces)
    assert all(piece.batch.nbytes <= parquet.MOST_BYTES for piece in pieces)
    found = np.concatenate([np.empty(0), *(piece.batch["x"].to_numpy() for piece in pieces)])
    np.testing.assert_array_equal(found, np.arange(skip, 600_001.0))
    assert [piece.position[1] for piece in pieces] == (skip + np.cumsum([p.batch.num_rows for p in pieces])).tolist()


def test_dictionaries_are_not_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """One record's rare word may be one too many for the index, and a refusal would tell that it is there."""
    monkeypatch.setattr(onepass, "LARGE", 1)
    words = [[f"a{k}" for k in range(127)], ["a0", "rare"]]
    batches = [
        pa.record_batch({"x": pa.array(one).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string()))})
        for one in words
    ]
    assert batches[0].schema == batches[1].schema
    found = list(onepass.gathered((Piece(batch, (0, 0), None) for batch in batches), 1000))
    assert [piece.batch for piece in found] == batches


def test_words_of_a_schema_are_counted_alike_however_parquet_holds_them(tmp_path: Path) -> None:
    """As dictionaries or plainly, with few words or one per row, with words that nobody declared and missing ones."""
    rng = np.random.default_rng(4)
    words = rng.choice(np.array(["Ulm", "Köln ", "na", "", "Rom", None], object), ROWS)
    each = np.array([f"town {k}" for k in range(ROWS)], object)
    table = pa.table({"few": words, "each": each, "coded": pa.array(words).dictionary_encode()})
    schema = scumble.Schema({name: scumble.Category(["Ulm", "Köln", "town 7"]) for name in table.column_names})
    wanted = scumble.TableSketch(schema).update(table.to_pandas())
    for name, options in {"coded": {}, "plain": {"use_dictionary": False}}.items():
        pq.write_table(table, tmp_path / f"{name}.parquet", row_group_size=1000, **options)
        for threads in (1, 3):
            job = Build(tmp_path / f"{name}.parquet", schema=schema, threads=threads, epsilon=1.0)
            assert np.array_equal(job.count().sketches[0].secret.counts, wanted.secret.counts)
            assert job.tally.aside == (threads > 1)
