"""What is said to whoever makes a mistake: numbers as people write them, near names, and what to do next."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import scumble
from scumble import Category, Date, Number, Schema, learn
from scumble.cli import main
from scumble.schema.column import Strays as OfBatch
from scumble.schema.strays import Strays
from scumble.show import cards
from scumble.show.usefulness import too_few
from scumble.sources.tableadvice import between_years
from scumble.tabular.estimate import Estimate


def test_numbers_in_sentences_are_written_as_people_write_them() -> None:
    (told,) = between_years(Schema(seen=Date("1789-01-01", "2020-12-31", cells=64)))
    assert "64 cells of about 1,320 days" in told
    assert str(Estimate(12_640_237.0, 1000.0, 1e6, 1.0)) == "12,640,200 (1,000 to 1,000,000)"
    assert Number(-10_000_000, 5e12).words() == "-10,000,000 to 5,000,000,000,000"
    assert Number(1870, 2009, whole=True).words() == "1870 to 2009", "a year has no comma"


def test_python_adds_no_guess_of_its_own_to_the_name_of_a_method() -> None:
    release = scumble.TableSketch(Schema(x=Number(0, 9))).update({"x": [1]}).release(1.0)
    with pytest.raises(AttributeError) as caught:
        release.median("x")
    told = traceback.format_exception_only(caught.value)[-1].strip()
    assert told.endswith("or [0.1, 0.9].") and "Did you mean" not in told


@pytest.mark.parametrize(
    ("part", "whole", "told"), [(1074, 1155, "93 %"), (999, 1000, "99 %"), (501, 1000, "50 %"), (7, 7, "all that")]
)
def test_shares_are_rounded_and_only_all_is_all(part: int, whole: int, told: str) -> None:
    strays = Strays()
    strays.add({"director": OfBatch(whole, other=part)})
    (line,) = strays.words({"director": Category(["x"])})
    assert f"{part:,} cells of 'director', {told}" in line


@pytest.mark.parametrize(
    ("verb", "asked", "there", "meant"),
    [
        ("schema", "nofile.csv", "one.csv", None),
        ("schema", "poeple.csv", "people.parquet", "people.parquet"),
        ("schema", "people.csv", "people.csv.gz", "people.csv.gz"),
        ("info", "nofile.scumble", "one.scumble", None),
        ("info", "peple.scumble", "people.scumble", "people.scumble"),
        ("info", "people", "people.scumble", "people.scumble"),
    ],
)
def test_of_files_that_are_not_there_only_near_names_are_guessed(
    verb: str,
    asked: str,
    there: str,
    meant: str | None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / there).write_text("x")
    assert main([verb, str(tmp_path / asked)]) == 4
    told = capsys.readouterr().err
    guess = "" if meant is None else f" Did you mean {str(tmp_path / meant)!r}?"
    assert f"{guess} Hint: check the path." in told and ("Did you mean" in told) == bool(guess)


def test_a_schema_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "town.toml").write_text("")
    with pytest.raises(scumble.ScumbleError, match=r"Did you mean '.*town\.toml'\? Hint: check the path"):
        Schema.load(tmp_path / "twon.toml")


@pytest.mark.parametrize(
    ("bounds", "hint"),
    [
        ({"age": (60, 0)}, r"got 60 to 0\. Hint: the lower one comes first, 0 to 60"),
        ({"age": (1e6, 0.0)}, r"the lower one comes first, 0 to 1,000,000"),
        ({"age": (0.0, float("inf"))}, "Hint: the least and the greatest value"),
        ((60, 0), r"column 0 of 1 \(counted from 0\) has others. Hint: the least"),
    ],
)
def test_bounds_in_the_wrong_order(bounds: object, hint: str) -> None:
    with pytest.raises(scumble.ParameterError, match=hint):
        scumble.Sketch(scumble.EuclideanKernel(1.0), columns=["age"], bounds=bounds)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "hint"),
    [
        (lambda: Number(10, 5), r"above `low`, 10, got 5.*Hint: exchange the two"),
        (lambda: Number(5, 5), "Hint: a column of one value"),
        (lambda: Date("2024-01-02", "2024-01-01"), "Hint: exchange the two"),
    ],
)
def test_ends_of_a_column_in_the_wrong_order(make: Callable[[], object], hint: str) -> None:
    with pytest.raises(scumble.ParameterError, match=hint):
        make()


def test_targets_that_are_not_there() -> None:
    schema = Schema(age=Number(0, 9), weight=Number(0, 9))
    for asked, guess in (("wieght", r"Did you mean 'weight'\? "), ("nosuch", "")):
        with pytest.raises(
            scumble.ParameterError, match=rf"one of the columns age, weight, got '{asked}'\. {guess}Hint"
        ):
            scumble.TableSketch(schema, target=asked)


def test_synthetic_rows_of_nobody() -> None:
    release = scumble.TableSketch(Schema(x=Number(0, 9))).update({"x": [1]}).release(1.0)
    with pytest.raises(scumble.ParameterError, match=r"nothing to draw from\. Hint: ask for more.*scumble count"):
        release.sample(3, where="x > 5 and x < 5")


def test_a_table_too_small_for_its_noise_is_told_so_by_its_noisy_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By nothing exact: the note is the same for whoever has the file alone."""
    monkeypatch.chdir(tmp_path)
    Path("town.toml").write_text('[columns.age]\nkind = "number"\nlow = 0\nhigh = 60\n')
    density = ["--columns", "age", "--bandwidth", "10", "--bounds", "age=0:60"]
    for how in (["--schema", "town.toml"], density):
        for records, few in ((1, True), (20_000, False)):
            Path("town.csv").write_text("age\n" + "41\n" * records)
            assert main(["build", "town.csv", *how, "--epsilon", "1", "--out", "town.scumble"]) == 0
            told = capsys.readouterr().err
            assert ("Note: It holds about" in told and "mostly noise. Hint: next time" in told) == few
            assert main(["info", "town.scumble"]) == 0
            card = " ".join(capsys.readouterr().out.split())
            assert ("are mostly noise" in card) == few
            assert not few or told.split("Note: ")[1].split(" Hint")[0] in card
            assert main(["sketch", "town.csv", *how, "--out", "town.secret"]) == 0
            assert main(["release", "town.secret", "--epsilon", "1", "--out", "later.scumble"]) == 0
            assert ("mostly noise. Hint: next time" in capsys.readouterr().err) == few


def test_too_few_records_are_found_without_the_rest_of_the_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of coarse cells, fine ones and rows alike; of many counters it is known at once, unless it is near."""
    kernel, rng = scumble.EuclideanKernel(10.0), np.random.default_rng(0)
    sizes = {"coarse": (2, 2), "fine": (300, 300), "rows": None}
    for name, size in sizes.items():
        for records in (3, 300, 30_000):
            how: dict[str, Any] = {"rows": 64, "buckets": 64} if size is None else {"design": "grid", "buckets": size}
            sketch = scumble.Sketch(kernel, columns=["a", "b"], bounds=(0, 60), **how)
            release = sketch.update(rng.uniform(0, 60, (records, 2))).release(1.0)
            assert cards.few(release) == too_few(cards.facts(release))
            with monkeypatch.context() as patched:
                patched.setattr(type(release.spec.layout), "expected_error", None)
                if name == "fine" and records == 30_000:
                    assert cards.few(release) is None
                else:
                    with pytest.raises(TypeError):
                        cards.few(release)


def test_a_secret_under_the_name_of_a_release_and_a_folder_that_is_none_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("town.csv").write_text("age\n41\n")
    size = ["--columns", "age", "--bandwidth", "5", "--rows", "8", "--buckets", "8"]
    for out in ("part.scumble", "part.secret"):
        assert main(["sketch", "town.csv", *size, "--out", out]) == 0
        assert ("call it .secret" in capsys.readouterr().err) == (out == "part.scumble")
    assert main(["stream", "window", "nowhere", "--out", "w.scumble"]) == 4
    assert "Hint: name the folder that the stream publishes into" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"buckets": "many"}, "`buckets` must be a whole number of at least 1, got 'many'. Hint: leave it out"),
        ({"buckets": 2.5}, "`buckets` must be a whole number"),
        ({"bounds": {"age": (-1e308, 1e308)}}, "Hint: they are too far apart for a float: the least"),
        ({"kernel": scumble.EuclideanKernel(1e-320)}, "with this bandwidth and scale: give larger ones, or correct"),
        ({"person_column": "age"}, "`columns` must be without 'age'.* Hint: 'age' says whose record it is"),
        ({"source": {"age": [1.0], "town": []}}, "must be equally long, got different lengths. Hint: write None"),
    ],
)
def test_a_mistake_of_a_build_is_told_with_what_to_do(options: dict[str, Any], words: str) -> None:
    given = {
        "source": PEOPLE,
        "kernel": scumble.EuclideanKernel(5.0),
        "columns": ["age"],
        "epsilon": 1,
        "invalid": "error",
    }
    given |= options
    with pytest.raises(scumble.ScumbleError, match=words):
        if isinstance(given["source"], dict):
            scumble.Sketch(given["kernel"], columns=["age"]).update(given["source"])
        scumble.build(**given)


PEOPLE = pd.DataFrame({"age": np.arange(50.0), "town": ["Ulm", "Bonn"] * 25})
NEAR = scumble.EuclideanKernel(1.0)


@pytest.fixture(scope="module")
def table() -> scumble.TableRelease:
    return scumble.build(PEOPLE, schema=Schema(age=Number(0, 99), town=Category(["Ulm", "Bonn"])), epsilon=1.0)


@pytest.fixture(scope="module")
def density() -> scumble.Release:
    return scumble.Sketch(NEAR, 1, rows=4, buckets=4).update([[1.0]]).release(1.0)


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (
            lambda one: one.count(total=5),
            "`count`: got an unexpected keyword argument 'total'. Hint: it takes where, by",
        ),
        (lambda one: one.mean("age", wher="age > 3"), "Did you mean 'where'? Hint: it takes column, where"),
        (lambda one: one.mean(), "`mean`: missing a required argument: 'column'. Hint: it takes column"),
        (lambda one: one.histogram("age", cells=3), "Hint: it takes column, bins"),
        (lambda one: one.sample(3, seed=1), "Hint: it takes n, random_state"),
        (lambda one: one["age"], "Hint: ask `mean(column)`"),
        (lambda one: one.age, "Hint: it is a column: ask `mean('age')`"),
        (
            lambda one: one.relation("x"),
            "`connection` must be one of DuckDB's, or left out, got 'x'. Hint: duckdb.connect",
        ),
    ],
)
def test_of_a_table(ask: Callable[[object], object], told: str, table: scumble.TableRelease) -> None:
    with pytest.raises((TypeError, AttributeError, scumble.ParameterError)) as caught:
        ask(table)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda one: one.density(), "`density`: missing a required argument: 'Q'. Hint: it takes Q, method"),
        (lambda one: one.density([[1.0]], 3), "`density`: too many positional arguments"),
        (lambda one: one.sample(3), "Hint: `scumble.learn.sample(release, n)`"),
        (lambda one: one.merge(3), "`other` must be a Release, got 3. Hint: scumble.load"),
        (lambda one: one.plot(ranges=3), "must be a mapping from columns"),
        (lambda one: one.plot(at=3), "must be a mapping from columns"),
    ],
)
def test_of_a_density(ask: Callable[[object], object], told: str, density: scumble.Release) -> None:
    with pytest.raises((TypeError, AttributeError, scumble.ParameterError)) as caught:
        ask(density)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"progress": 3}, "`progress` must be a function .*Hint: progress=print"),
        ({"whole": 3}, r"`whole` must be a list of names, such as \['age'\]"),
        ({"checkpoint": 3}, "`checkpoint` must be a path, got 3. Hint"),
        ({"ledger": 3, "dataset": "x"}, "`ledger` must be a path, got 3. Hint"),
        ({"n": "many"}, "`n` must be a whole number"),
        ({"columns": "age"}, r"`columns` must be a list of names, such as \['age'\], got 'age'"),
    ],
)
def test_options_of_a_build(options: dict[str, Any], told: str) -> None:
    with pytest.raises(scumble.ParameterError, match=told):
        scumble.build(PEOPLE, NEAR, **{"columns": ["age"], "epsilon": 1.0} | options)


@pytest.mark.parametrize(
    ("source", "told"), [(np.zeros((3, 1)), "names the columns of an array"), (PEOPLE["age"], "to_frame")]
)
def test_tables_without_names(source: object, told: str) -> None:
    with pytest.raises(scumble.DataError, match=rf"Hint: .*{told}"):
        scumble.build(source, NEAR, epsilon=1.0)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: scumble.load(None), "`path` must be a path, got None. Hint"),  # type: ignore[arg-type]
        (lambda: scumble.load(["a", "b"]), "`path` must be a path, got a list of 2. Hint"),  # type: ignore[arg-type]
        (lambda: Schema.load(3), "`path` must be a path, got 3. Hint"),  # type: ignore[arg-type]
        (lambda: scumble.Ledger(3), "`ledger` must be a path, got 3. Hint"),  # type: ignore[arg-type]
        (lambda: scumble.Ledger.create(3), "`ledger` must be a path, got 3. Hint"),  # type: ignore[arg-type]
        (lambda: scumble.Bundle(3), "`releases` must be a mapping"),  # type: ignore[arg-type]
        (lambda: scumble.JaccardKernel(columns=3), "`columns` must be a list of names"),  # type: ignore[arg-type]
        (lambda: scumble.HammingKernel(columns="town"), "`columns` must be a list of names.*got 'town'"),
        (lambda: learn.PrivateKDE(eps=1), "`PrivateKDE`: .*Did you mean 'epsilon'"),  # type: ignore[call-arg]
        (lambda: learn.PrivateKDE(bandwidth=1), "Did you mean 'bandwidths'"),  # type: ignore[call-arg]
        (lambda: learn.PrivateEstimator(eps=1), "`PrivateEstimator`: .*Did you mean 'epsilon'"),  # type: ignore[abstract, call-arg]
        (lambda: scumble.open("x"), r"Hint: scumble\.load\(path\)"),  # type: ignore[attr-defined]
        (lambda: scumble.table(PEOPLE), r"Hint: scumble\.build"),  # type: ignore[attr-defined]
    ],
)
def test_wrong_types_and_names(call: Callable[[], object], told: str) -> None:
    with pytest.raises((TypeError, AttributeError, scumble.ParameterError), match=told):
        call()


ROWS = "a,b,town\n" + "1,2,Ulm\n3,4,Bonn\n" * 50
BUILD = ["build", "people.csv", "--epsilon", "1", "--out", "o.scumble"]
NUMBERS = [*BUILD, "--columns", "a,b", "--bandwidth", "1"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            [*BUILD, "--columns", "town", "--categories", "town", "--bandwidth", "1"],
            "there are none. Hint: leave them out, or name a column of numbers in --columns, too.",
        ),
        ([*NUMBERS, "--rho", "1"], "not in --epsilon and --rho. Hint: --epsilon (with --delta), --rho"),
        (
            [*NUMBERS, "--scale", "a=-1"],
            "--scale of 'a' must be a positive, finite number. Hint: numbers of the column",
        ),
        (
            [*NUMBERS, "--scale", "zz=1"],
            "the kernel's columns ['a', 'b'], got 'zz'. Hint: leave out 'zz', or name it among the columns, --columns",
        ),
        ([*BUILD, "--schema", "whole.toml"], "got 0.5. Hint: round it; or, without whole = true (whole=True), numbers"),
        (
            [*BUILD, "--schema", "words.toml", "--invalid", "error"],
            "Hint: in 'town' cells hold none of its words: correct them, "
            "declare 'town' with other = true (other=True) in the schema file, or leave such rows out",
        ),
        (
            ["fit", *BUILD[1:], "--task", "classify", "--schema", "words.toml", "--target", "b", "--classes", "2,4"]
            + ["--invalid", "error"],
            "with --invalid drop; or declare 'town' with other = true (other=True) in the schema.",
        ),
        (["query", "there.scumble", "other.csv"], "needs its own, write there those that are asked for or, where you"),
        (["explore", "there.scumble", "--range", "zz=0:1"], "--range names 'zz'; the release has a, b."),
        (
            ["explore", "there.scumble", "--range", "a=5:1"],
            "--range of 'a' must be finite, with the low end below the high end, got 5 to 1. Hint: a=LOW:HIGH",
        ),
    ],
)
def test_refusals_say_what_to_do_in_words_of_the_verb(
    words: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(ROWS)
    Path("other.csv").write_text("c,d\n5,x\n")
    Path("whole.toml").write_text('[columns.a]\nkind = "number"\nwhole = true\nlow = 0.5\nhigh = 10\n')
    Path("words.toml").write_text('[columns.town]\nkind = "category"\nvalues = ["Ulm", "Jena"]\nother = false\n')
    table = pd.DataFrame({"a": [1.0, 3.0], "b": [2.0, 4.0]})
    scumble.build(table, scumble.EuclideanKernel(1.0), epsilon=1.0, rows=2, buckets=4).save("there.scumble")
    assert main(words) != 0
    error = capsys.readouterr().err
    assert told in error and "missing = true" not in error


def test_of_words_that_a_release_does_not_list_a_point_without_records_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = scumble.EuclideanKernel(1.0, columns=["a"]) * scumble.HammingKernel(columns=["town"])
    table = pd.DataFrame({"a": [1.0] * 900, "town": ["Ulm"] * 900})
    scumble.build(table, kernel, epsilon=50.0, rows=50, buckets=64).save(tmp_path / "o.scumble")
    for word, says in (("Ulm", False), ("Umm", True)):
        assert main(["query", str(tmp_path / "o.scumble"), "--at", f"a=1,town={word}"]) == 0
        assert ("does not list the words of 'town': nobody is near a misspelt one" in capsys.readouterr().err) == says


def test_a_part_that_was_released_names_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "people.csv").write_text(ROWS)
    secret, first, second = (str(tmp_path / name) for name in ("p.secret", "first.scumble", "second.scumble"))
    assert main(["sketch", str(tmp_path / "people.csv"), "--columns", "a", "--bandwidth", "1", "--out", secret]) == 0
    assert main(["release", secret, "--epsilon", "1", "--out", first]) == 0
    capsys.readouterr()
    assert main(["release", secret, "--epsilon", "1", "--out", second]) == 3
    assert f"The part was released before, as {first!r} ({scumble.load(first).identity})" in capsys.readouterr().err
