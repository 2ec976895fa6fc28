"""A rehearsal tells what will come out, and reads no record; the curator is told why rows were left out."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import scumble
from scumble.cli import BAD_DATA, main
from scumble.errors import DataError
from scumble.machine import places
from scumble.privacy import seam
from scumble.show.wording import decided_later, sized
from scumble.sources import Rehearsal, build_by, madeup
from scumble.sources.advice import advice, deciding
from scumble.sources.filesource import FileSource
from scumble.sources.rehearsal import beforehand
from scumble.sources.tableadvice import few_pairs, no_pairs

BOUNDS = {"age": (0, 100), "income": (0, 200_000)}
SCALE = {"age": 10.0, "income": 20_000.0}
KERNEL = scumble.EuclideanKernel(1.0, power=2, scale=SCALE)
WORDS = ["--columns", "age,income", "--bandwidth", "1", "--power", "2", "--scale", "age=10,income=20000"]
WORDS += ["--bounds", "age=0:100,income=0:200000", "--epsilon", "1"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sound.csv").write_text("age,income,mode\n" + "41,50000,bus\n" * 200)
    (tmp_path / "poisoned.csv").write_bytes(b"age,income,mode\n" + b'9e999,"x\x00\xff\n,,,,,,\n' * 50)
    return tmp_path


def test_no_record_is_read_no_noise_drawn_nothing_written_or_charged(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scumble.Ledger.create(folder / "town.ledger").open_dataset("people", epsilon=0.5)
    (folder / f"{places._prefix('o.scumble')}0.tmp").write_bytes(b"what a killed run left")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def forbidden(*_: Any, **__: Any) -> Any:
        raise AssertionError("a rehearsal went too far")

    monkeypatch.setattr(FileSource, "pieces", forbidden)
    monkeypatch.setattr(seam, "hold", forbidden)
    monkeypatch.setattr(seam, "publish", forbidden)
    told = set()
    more = ["--rehearse", "--checkpoint", "c.secret", "--ledger", "town.ledger", "--dataset", "people"]
    for name in ("sound.csv", "poisoned.csv"):
        assert main(["build", name, *WORDS, *more, "--out", "o.scumble"]) == 3
        out, err = capsys.readouterr()
        told.add(out)
        assert not err and "The build would be refused: " in out and "0.5" in out, "the ledger has less than it costs"
        found = scumble.build(
            folder / name,
            KERNEL,
            ["age", "income"],
            bounds=BOUNDS,
            epsilon=1.0,
            rehearse=True,
            ledger="town.ledger",
            dataset="people",
        )
        assert isinstance(found, Rehearsal) and f"{found}\n" == out
    assert len(told) == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_what_it_tells_is_what_comes_out(folder: Path) -> None:
    table = madeup.records(KERNEL, ["age", "income"], BOUNDS, 20_000)
    found = scumble.build(table, KERNEL, bounds=BOUNDS, n=20_000, epsilon=1.0, rehearse=True)
    release = scumble.build(table, KERNEL, bounds=BOUNDS, n=20_000, epsilon=1.0)
    cells = math.prod(map(int, re.fullmatch(r"A grid of (\d+) × (\d+) cells", found.kind).groups()))  # type: ignore[union-attr]
    # Noisy facts choose (see `STEP` of test_one_plan.py), and these records share no places, as real ones often do.
    assert 1 / 3.2 < cells / release.spec.buckets < 4.5
    assert found.bytes == pytest.approx(4 * cells + 2000, rel=0.02) and found.records == 20_000
    assert len(release.to_bytes()) == pytest.approx(4 * release.spec.buckets + 2000, rel=0.05)
    at = table.slice(0, 64)
    near, off = sorted(release.kernel_sum(at)), release.standard_error(at)
    crowded, typical, sparse = found.places
    assert sparse.near < typical.near < crowded.near and near[0] < typical.near < near[-1]
    assert 0.7 < typical.error / sorted(off)[32] < 1.9  # the noise of up to so many more cells
    assert "evenly over the middle third" in found.spread and found.spread in str(found)
    assert all("whole numbers" in one for one in found.advice)  # a rehearsal cannot know that ages have fractions here
    assert json.loads(json.dumps(found.to_dict()))["bytes"] == found.bytes


def test_a_table_is_rehearsed_by_its_schema(folder: Path) -> None:
    schema = scumble.Schema(age=scumble.Number(0, 99, whole=True), income=scumble.Number(0, 200_000))
    found = scumble.build(folder / "sound.csv", schema=schema, rehearse=True)
    assert found.kind == "Counts of 2 columns and 1 of 1 pairs of them"
    wide = {"schema": scumble.Schema(age=scumble.Number(0, 999, cells=1000)), "allow_empty": True, "epsilon": 1}
    size = len(scumble.build(folder / "sound.csv", **wide).to_bytes())
    alone = scumble.build(folder / "sound.csv", **wide, rehearse=True)
    assert alone.bytes == pytest.approx(size, rel=0.1) and not any("Pairs tell" in one for one in alone.advice)
    assert found.decides == "'age' has the most levels, 100; pairs tell them all apart."
    assert "is decided after counting" in found.later and found.later in str(found)
    few = scumble.build(folder / "sound.csv", schema=schema, n=3000, rehearse=True)
    assert few.decides.endswith("of a column apart.") and "at most" in few.decides
    poor = scumble.build(folder / "sound.csv", schema=schema, n=30, epsilon=0.01, rehearse=True)
    assert (
        "No pair of columns stands out" in poor.advice[0]
        and "δ" in poor.advice[0]
        and poor.places[0].error > found.places[0].error
    )


def test_a_rehearsal_advises_nothing_that_is_there_and_tells_a_weak_budget(folder: Path) -> None:
    """A δ that is given is no advice; an ε above 10 or a δ above 1e-4 is told at build, on the card and here."""
    for pure in (True, False):
        assert ("a δ above 0" in no_pairs(pure)) is ("--delta" in few_pairs(1, 9, 3, pure)) is pure
    schema = scumble.Schema(age=scumble.Number(0, 99, whole=True), income=scumble.Number(0, 200_000))
    weak = scumble.build(folder / "sound.csv", schema=schema, epsilon=50, delta=0.01, rehearse=True).advice[0]
    assert "e^50 with one record" in weak and "one record in 100 may be given away whole" in weak


def test_a_weak_budget_is_told_before_it_is_spent_and_on_the_card(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["build", "sound.csv", "--columns", "age", "--bandwidth", "5", "--rows", "4", "--buckets", "8", "--out", "o"]
    for epsilon, weak in (("50", True), ("10", False)):
        assert main([*line, "--epsilon", epsilon]) == 0
        assert ("Note: an ε above 10 promises little" in capsys.readouterr().err) is weak
        assert main(["info", "o"]) == 0
        assert ("an ε above 10 promises little" in " ".join(capsys.readouterr().out.split())) is weak


def test_a_misspelt_option_is_no_option_that_was_left_out() -> None:
    """Else a budget would be another, or bounds would be none."""
    for word, meant in {"bound": "bounds", "epsilom": "epsilon", "date": "dates", "ledgr": "ledger"}.items():
        with pytest.raises(TypeError, match=f"no option '{word}'. Did you mean '{meant}'"):
            scumble.build({"age": [1.0, 2.0]}, scumble.EuclideanKernel(1.0), **{word: ["age"]})


def test_a_source_that_can_be_read_once_keeps_its_tables() -> None:
    table = pa.table({"x": [1.0, 2.0]})
    tables = iter([table, table])
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    for source in (tables, reader):
        with pytest.raises(scumble.ParameterError, match="an empty table of these columns"):
            scumble.build(source, scumble.EuclideanKernel(1.0), epsilon=1.0, rehearse=True)
    assert len(list(tables)) == 2 and reader.read_all().num_rows == 2


def test_a_query_that_was_not_run_is_not_run() -> None:
    def never(frame: pl.DataFrame) -> pl.DataFrame:
        raise AssertionError("a row was asked for")

    source = pl.LazyFrame({"x": [1.0, 2.0]}).map_batches(never)
    told = scumble.build(source, scumble.EuclideanKernel(1.0), epsilon=1.0, rehearse=True)
    assert "records" in str(told)


def test_classes_are_rehearsed(folder: Path) -> None:
    about: dict[str, Any] = {"label": "mode", "classes": ["bus", "car"], "bounds": BOUNDS}
    found = build_by(folder / "sound.csv", KERNEL, ["age", "income"], **about, rehearse=True)
    assert found.kind.endswith("for each of 2 classes")


NAMES = ["age", "income"]
PLAIN = scumble.EuclideanKernel(1.0, power=2)
WRONG: dict[str, tuple[scumble.kernels.Kernel, Any, str]] = {
    "no scale": (PLAIN, None, "No scale: a step of 1 counts alike in 'age' and 'income'"),
    "no scale, with bounds": (PLAIN, BOUNDS, "No scale"),
    "a scale for one": (scumble.EuclideanKernel(1.0, 2, scale={"age": 10.0}), BOUNDS, "The scale leaves out 'income'"),
    "a scale that misses": (scumble.EuclideanKernel(1.0, 2, scale=[10, 200]), BOUNDS, "'income' outweighs 'age'"),
    "no bounds": (KERNEL, None, "No bounds: rows are hashed"),
    "power 1": (scumble.EuclideanKernel(1.0, scale=SCALE), BOUNDS, "Power 1"),
    "narrow": (scumble.EuclideanKernel(0.01, 2, scale=SCALE), BOUNDS, "The bandwidth is narrow"),
    "wide": (scumble.EuclideanKernel(50.0, 2, scale=SCALE), BOUNDS, "The bandwidth is wide"),
}


@pytest.mark.parametrize("name", WRONG)
def test_each_mistake_has_its_word(name: str) -> None:
    kernel, bounds, told = WRONG[name]
    found = advice(kernel, NAMES, bounds)
    assert any(one.startswith(told) and "Hint: " in one for one in found), found


def test_hashed_rows_have_wider_intervals_with_epsilon_alone_and_few_columns() -> None:
    """As measured: of 10,000 records 3 to 9 times wider in one or two columns, not in three, nor with a δ."""
    wider = "larger, and intervals are several times wider than a grid's"
    for columns, pure, words in (
        (2, True, f"{wider}."),
        (3, True, f"{wider}, if records are many."),
        (4, True, "must be told where to look."),
        (2, False, "must be told where to look."),
    ):
        (told,) = advice(scumble.EuclideanKernel(1.0, 2, scale=1.0), list("abcd"[:columns]), None, pure=pure)
        assert words in told and (wider in told) == (wider in words)
    rows = pa.table({"x": [1.0]})
    foretold = scumble.build(rows, PLAIN, rehearse=True, epsilon=1.0, delta=1e-6, n=1000)
    assert any("must be told where to look" in one for one in foretold.advice)


def test_crowds_are_not_said_to_be_sure_where_they_share_a_place_and_no_size_is_told_twice() -> None:
    rows = pa.table({"x": [1.0]})
    within = scumble.build(rows, PLAIN, rehearse=True, epsilon=1.0, bounds=(0, 9), n=1000)
    assert within.spread.endswith(
        "Where many share one place the error grows with them: nobody knows where in its cell that is."
    )
    assert decided_later("7 × 8 cells", sized((9, 9), "grid"), False).endswith("it comes to about 9 × 9 cells.")
    assert decided_later("7 rows", sized((7,), "sobol"), False).endswith("it comes to the same.")


def test_what_is_meant_gets_no_advice_and_alike_columns_need_no_scale() -> None:
    assert advice(KERNEL, NAMES, BOUNDS) == []
    assert advice(PLAIN, ["east", "north"], (0, 60)) == []
    assert deciding(scumble.EuclideanKernel(1.0, scale=[10, 200]), NAMES, BOUNDS).startswith("'income' decides")
    assert advice(scumble.HammingKernel(), ["town"], None) == []


def test_columns_that_may_be_of_whole_numbers_are_told_of_where_cells_cut_through_them(folder: Path) -> None:
    """By bounds and cells alone. Not where they are declared, nor where bounds are no whole numbers, nor where cells
    are wider than 1."""
    told = (
        "Cells are narrower than 1 in 'age'. If it holds whole numbers, errors will be several times what is told here"
    )
    kernel = scumble.EuclideanKernel(10.0, power=2)

    def advised(bounds: tuple[float, float], **more: Any) -> bool:
        words = {"columns": ["age"], "bounds": {"age": bounds}, "n": 20_000, "epsilon": 1.0, "rehearse": True}
        found = scumble.build(folder / "sound.csv", kernel, **words, **more)
        return any(one.startswith(told) and "--whole age (whole=)" in one for one in found.advice)

    assert advised((0, 100))
    assert not advised((0, 100), whole=["age"]) and not advised((0, 99.5)) and not advised((0, 100_000))
    words = {"columns": ["age"], "bounds": {"age": (0, 100)}, "epsilon": 1.0}
    assert told in "".join(beforehand(scumble.sources.Build(folder / "sound.csv", kernel, **words)))


def test_each_factor_is_judged_by_its_own_columns() -> None:
    """A wide column of another factor, whose bandwidth is its own, says nothing of a scale."""
    place = scumble.EuclideanKernel(1.0, 2, columns=["east", "north"])
    age = scumble.EuclideanKernel(1.0, 2, columns=["age"])
    bounds = {"east": (0, 10), "north": (0, 8), "age": (0, 150)}
    assert advice(place * age, ["east", "north", "age"], bounds) == []
    (told,) = advice(place * age, ["east", "north", "age"], {**bounds, "north": (0, 150)})
    assert told.startswith("No scale: a step of 1 counts alike in 'east' and 'north'.")
    scaled = scumble.EuclideanKernel(1.0, 2, scale=2.0, columns=["east", "north"])
    (told,) = advice(scaled * age, ["east", "north", "age"], {**bounds, "north": (0, 150)})
    assert told.startswith("'north' outweighs 'east': 75 bandwidths to 5.")


def test_misspelt_and_missing_classes() -> None:
    found = advice(KERNEL, NAMES, BOUNDS, label="cut", classes=["Ideal", "Premium", "ideal "], drops=True)
    assert found[0].startswith("The classes 'Ideal' and 'ideal ' look alike")
    assert found[1].startswith("Records whose 'cut' is none of 'Ideal', 'Premium' and 'ideal ' are left out")
    assert advice(KERNEL, NAMES, BOUNDS, label="cut", classes=[1, 2]) == []


def test_a_rehearsal_says_that_it_guessed_how_many_records_there_are(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "t.toml").write_text('[columns.age]\nkind = "number"\nlow = 0\nhigh = 99\n')
    for words in (WORDS, ["--schema", "t.toml", "--epsilon", "1"]):
        told = []
        for more in ([], ["--n", "100000"]):
            assert main(["build", "sound.csv", *words, "--rehearse", *more]) == 0
            told.append(capsys.readouterr().out)
        assert "Of 100,000 records (a guess: give --n or n=, if it is public); ± is one standard error:" in told[0]
        assert "Of 100,000 records; ± is" in told[1] and "guess" not in told[1]


def test_on_a_terminal_a_build_begins_with_the_two_lines_that_matter(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    words = ["build", "sound.csv", "--columns", "age,income", "--bandwidth", "1", "--epsilon", "1", "--rows", "8"]
    assert main([*words, "--buckets", "16", "--out", "o.scumble"]) == 0
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert first.startswith(
        "Expected: 8 rows of 16 buckets (sobol), about 2.5 kB. Of 100,000 records (a guess: give --n"
    )
    assert second.startswith("Advice: No scale") and second.endswith("(2 more: --rehearse)")
    assert main([*words, "--buckets", "16", "--out", "o.scumble", "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    assert main([*words, "--buckets", "16", "--out", "p.scumble"]) == 0
    assert capsys.readouterr().err.startswith("Wrote p.scumble")
    for size, planned in (({}, True), ({"rows": 8}, False)):
        job = scumble.sources.Build(folder / "sound.csv", columns=["age"], kernel=scumble.EuclideanKernel(5.0), **size)
        assert ("B (decided after counting). Of" in beforehand(job)[0]) is planned


def test_the_curator_is_told_why_rows_were_left_out_and_nobody_else(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["41,5,bus", "x,5,bus", ",y,bus", "41,5,buss", "41,,car", "41,5", "41,5,car"]
    (folder / "mixed.csv").write_text("age,income,mode\n" + "\n".join(rows) + "\n")
    words = ["build", "mixed.csv", *WORDS, "--label", "mode", "--classes", "bus,car", "--invalid", "drop", "--json"]
    assert main([*words, "--out", "o.scumble"]) == 0
    out, err = capsys.readouterr()
    told = next(line for line in err.splitlines() if "left out:" in line)
    assert told == (
        "5 rows were left out: 1 of none of the classes in 'mode', 1 with a missing cell in 'age', 1 with a cell "
        "unreadable or not finite in 'age', 1 with a missing cell in 'income', 1 line that is not a row; "
        "each row is counted once, at its first such column (do not publish this)."
    )
    assert (
        "left out" not in out and "classes in" not in out and b"unreadable" not in (folder / "o.scumble").read_bytes()
    )


@pytest.mark.parametrize("cell", ["NA", "", "91 min"])
def test_how_numbers_are_read_is_told_where_cells_could_not_be(
    folder: Path, capsys: pytest.CaptureFixture[str], cell: str
) -> None:
    (folder / "gaps.csv").write_text("age,income\n" + f"41,5\n{cell},5\n" * 20)
    assert main(["build", "gaps.csv", *WORDS, "--invalid", "drop", "--out", "o.scumble"]) == 0
    err = capsys.readouterr().err
    unread = cell == "91 min"
    assert f"20 with a {'cell unreadable or not finite' if unread else 'missing cell'} in 'age'" in err
    assert ("numbers are read as" in err) is unread


def test_a_misspelt_class_is_told_loudly_and_stops_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mixed.csv").write_text("age,income,mode\n" + "41,5,bus\n41,5,autumn\n" * 3)
    words = ["build", "mixed.csv", *WORDS, "--label", "mode", "--invalid", "drop", "--classes"]
    assert main([*words, "bus,autum", "--out", "o.scumble"]) == 0
    err = capsys.readouterr().err
    assert "WARNING: 50 % of the rows are of none of the classes in 'mode'" in err
    assert "WARNING: no record was counted of 'autum' (do not publish this)." in err
    assert main([*words, "bus,autumn,winter", "--out", "p.scumble"]) == 0
    assert "WARNING" not in capsys.readouterr().err  # where nobody is lost, an empty class is nobody's business


def test_causes_of_a_table(folder: Path) -> None:
    schema = scumble.Schema(
        age=scumble.Number(0, 99, outside="drop"), mode=scumble.Category(["bus", "car"], other=False)
    )
    (folder / "mixed.csv").write_text("age,mode\n41,bus\n120,bus\nx,bus\n41,tram\n")
    job = scumble.sources.Build(folder / "mixed.csv", schema=schema, invalid="drop")
    assert list(job.count().causes.words(job.tally.dropped_rows, 0)) == [
        "1 outside the bounds of 'age'",
        "1 with a cell unreadable or not finite in 'age'",
        "1 with a word that the schema does not have in 'mode'",
    ]
    with pytest.raises(DataError, match=r"1 in column 'age'.*"):
        scumble.sources.Build(folder / "mixed.csv", schema=schema, invalid="error").count()


def test_what_was_left_out_is_told_before_anything_is_spent(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A misspelt class: the curator hears of it while the ledger is still full, and nobody else ever does."""
    (folder / "mixed.csv").write_text("age,income,mode\n" + "41,5,bus\n41,5,buss\n" * 3)
    ledger = scumble.Ledger.create(folder / "town.ledger")
    ledger.open_dataset("people", epsilon=1.0)
    before = (folder / "town.ledger").read_bytes()
    told = "3 rows were left out: 3 of none of the classes in 'mode'"

    def published(*_: Any, **__: Any) -> Any:
        assert told in capsys.readouterr().err and (folder / "town.ledger").read_bytes() == before
        raise DataError("nothing is drawn here")

    words = ["build", "mixed.csv", *WORDS, "--label", "mode", "--classes", "bus,car", "--invalid", "drop"]
    words += ["--ledger", "town.ledger", "--dataset", "people", "--out", "o.scumble"]
    with monkeypatch.context() as patched:
        patched.setattr("scumble.sources.job.released", published)
        assert main(words) == BAD_DATA
    assert main(words) == 0
    for file in ("o.scumble", "town.ledger"):
        assert not [word for word in (b"none of", b"left out", b"dropped") if word in (folder / file).read_bytes()]


def test_a_program_asks_why_rows_were_left_out(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    (folder / "mixed.csv").write_text("age,income,mode\n41,5,bus\nx,5,bus\n41,5,buss\n41,5,buss\n")
    classes: dict[str, Any] = {"label": "mode", "classes": ["bus"], "invalid": "drop", "bounds": BOUNDS}
    job = scumble.sources.Build(folder / "mixed.csv", KERNEL, ["age", "income"], **classes)
    job.count()
    assert job.left_out() == [
        "2 of none of the classes in 'mode'",
        "1 with a cell unreadable or not finite in 'age'",
    ]
    assert not caplog.records


def test_a_guessed_number_of_records_says_below_which_no_pair_is_measured() -> None:
    schema = scumble.Schema({f"c{k}": scumble.Number(0, 100) for k in range(12)})
    table = pa.table({name: [1.0] for name in schema})

    def rehearsed(**n: int) -> scumble.sources.rehearsal.Rehearsal:
        return scumble.build(table, schema=schema, epsilon=1.0, rehearse=True, **n)

    told = re.search(r"With fewer than about ([\d,]+) records no pair would be measured", str(rehearsed()))
    assert told is not None and str(rehearsed()).count("a guess") == 1
    least = int(told[1].replace(",", ""))
    assert " and 0 of 66 pairs" not in rehearsed(n=least).kind and " and 0 of 66 pairs" in rehearsed(n=least // 2).kind
    assert "a guess" not in str(rehearsed(n=100_000)) and "With fewer" not in str(rehearsed(n=100_000))


def test_a_plan_says_that_its_size_is_an_estimate_where_it_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["plan", "--n", "40000", "--columns", "age", "--bandwidth", "5", "--bounds", "age=0:100", "--epsilon", "1"]
    assert main(asked) == 0
    told = capsys.readouterr().out
    assert "grid (about " in told and "smaller where records clump little." in " ".join(told.split())
    assert main([*asked, "--buckets", "20", "--rows", "1", "--design", "grid"]) == 0
    assert "grid (17 cells)" in capsys.readouterr().out
