"""Columns declared as whole numbers, dates, times or booleans: cells, answers and samples are on what they hold."""

from __future__ import annotations

import datetime
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scumble
from scumble.cli import BAD_DATA, main
from scumble.columns import kinds
from scumble.density.release import Release, merge_releases
from scumble.errors import CorruptFileError, DataError, MergeError, ParameterError
from scumble.files import Container
from scumble.learn import PrivateKDE
from scumble.sources import Build
from scumble.sources.tally import Labels

EPOCH = datetime.datetime(1970, 1, 1)
KERNEL = scumble.EuclideanKernel(1.0, scale={"age": 10.0, "seen": 30.0})
BOUNDS = {"age": (0, 100), "seen": ("2024-01-01", "2024-12-31")}
DECLARED: dict[str, Any] = {"whole": ["age"], "dates": ["seen"]}


def rows(n: int) -> list[tuple[int, datetime.date]]:
    return [(20 + k % 40, datetime.date(2024, 1, 1) + datetime.timedelta(days=k * 7 % 366)) for k in range(n)]


def text(n: int) -> str:
    return "age,seen\n" + "".join(f"{age},{seen}\n" for age, seen in rows(n))


@pytest.fixture(scope="module")
def release() -> Release:
    table = pa.table({"age": [age for age, _ in rows(4000)], "seen": [seen for _, seen in rows(4000)]})
    return scumble.build(table, KERNEL, bounds=BOUNDS, buckets=(21, 61), epsilon=1.0, **DECLARED)


# ---- reading ----


@given(st.lists(st.datetimes(datetime.datetime(1, 1, 2), datetime.datetime(9999, 12, 30))))
@settings(max_examples=15, deadline=None)
def test_dates_and_times_are_days_since_1970(moments: list[datetime.datetime]) -> None:
    moments = [moment.replace(microsecond=0) for moment in moments]
    days = [(moment - EPOCH).days for moment in moments]
    exact = [(moment - EPOCH).total_seconds() / 86_400 for moment in moments]
    columns = [pa.array(moments, pa.timestamp("us")), pa.array([moment.isoformat() for moment in moments], pa.string())]
    for column in columns:
        assert kinds.read(column, "date", "it").tolist() == days
        assert kinds.read(column, "time", "it").tolist() == exact
    assert kinds.values(np.array(exact), "time").to_pylist() == moments
    assert kinds.values(np.array(days, float), "date").to_pylist() == [moment.date() for moment in moments]


def test_a_bad_cell_is_no_number() -> None:
    assert np.isnan(kinds.read(pa.array(["soon", None, "2024-02-30"]), "date", "it")).all()
    assert kinds.read(pa.array(["Yes", "n", "TRUE", "0", "2"]), "boolean", "it").tolist()[:4] == [1, 0, 1, 0]
    assert kinds.read(pa.array([41.9, -0.5, None]), "whole", "it").tolist()[:2] == [41, -1]
    for numbers in (pa.array([19_000]), np.array([19_000.0, np.nan]), np.array([True])):
        assert np.isnan(kinds.read(numbers, "date", "it")).all()
    with pytest.raises(DataError, match="must hold dates or times"):
        kinds.read(pa.array([datetime.timedelta(1)]), "date", "it")


@pytest.mark.parametrize("dates", [["2024-01-01", None], [None, None]])
def test_whether_anybody_has_a_date_refuses_nothing(dates: list[str | None]) -> None:
    """pandas makes numbers of a column without a single date: the type is the records' doing."""
    table = pd.read_csv(io.StringIO("x,d\n" + "".join(f"1,{date or ''}\n" for date in dates)))
    sketch = scumble.Sketch(
        scumble.EuclideanKernel(2.0), columns=["x", "d"], rows=4, buckets=8, dates=["d"], invalid="drop"
    )
    assert sketch.update(table).dropped == dates.count(None)


# ---- cells and samples ----


def test_whole_numbers_with_cells_of_their_own_hide_nothing() -> None:
    """Games every four years: each year is one heap, and where it lies is known. What is left is noise.

    If nobody declares that they are whole, an interval allows for heaps that lie anywhere in their cells.
    """
    years = np.repeat(np.arange(1960, 2021, 4), 200).astype(float)
    options: dict[str, Any] = {"bounds": (1960, 2020), "epsilon": 1.0, "n": len(years)}
    kernel, table = scumble.EuclideanKernel(4.0, power=2), pa.table({"year": years})
    places = np.arange(1960.0, 2021.0)[:, None]
    truth = kernel(places, years[:, None]).sum(1)
    known = scumble.build(table, kernel, whole=["year"], **options)
    unknown = scumble.build(table, kernel, design="grid", buckets=61, **options)
    assert known.spec.shape == unknown.spec.shape == (61,)
    noise = np.sqrt(known._reader().estimate(known._queries(places)).noise_variance)
    np.testing.assert_allclose(known.standard_error(places), noise, rtol=1e-9)
    assert np.all(np.abs(known.kernel_sum(places) - truth) < 12 * noise)  # a heap that is half a year off: 200
    assert np.median(unknown.standard_error(places)) > 5 * np.median(noise)
    for first in (0, 30):  # one by one, and many at once: two ways to the same
        few = known._reader().estimate(known._queries(places[first : first + 1]))
        assert few.hashing_variance[0] == 0.0


# ---- answers ----


def test_points_are_dates_or_days(release: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    day = datetime.date(2024, 5, 1)
    asked = [
        [[40, 19_844]],
        [[40.0, day]],
        {"age": [40], "seen": ["2024-05-01"]},
        pa.table({"seen": pa.array([day]), "age": [40]}),
    ]
    (first,) = {float(release.kernel_sum(one)[0]) for one in asked}
    release.save(tmp_path / "r.scumble")
    words = ["query", str(tmp_path / "r.scumble")]
    (tmp_path / "points.csv").write_text("seen,age\n2024-05-01,40\n")
    for points in (["--at", "age=40,seen=2024-05-01"], [str(tmp_path / "points.csv")]):
        assert main([*words, *points, "--json"]) == 0
        (answer,) = json.loads(capsys.readouterr().out)
        assert answer["kernel_sum"] == first and answer["seen"] == "2024-05-01"
    sentences = []
    for written in ("2024", "2024-01", "2024-01-01", "19723.0", "19723"):  # four digits are a year, as in a range
        assert main([*words, "--at", f"age=40,seen={written}"]) == 0
        sentences.append(capsys.readouterr())
    assert len(set(sentences)) == 1 and not sentences[0].err, "the year begins within the bounds"
    assert main([*words, "--at", "age=40,seen=soon"]) == BAD_DATA


def test_the_command_line_builds_by_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text_of = "".join(f"{age},{seen}T12:00,{['yes', 'no'][age % 2]}\n" for age, seen in rows(200))
    (tmp_path / "people.csv").write_text(f"age,seen,smoker\n{text_of}")
    words = "--bandwidth 1 --scale age=10,seen=30,smoker=1 --bounds age=0:100,seen=2024-01-01:2024-12-31 --epsilon 1"
    words += " --whole age --times seen --booleans smoker"
    out = str(tmp_path / "o.scumble")
    assert main(["build", str(tmp_path / "people.csv"), *words.split(), "--out", out]) == 0
    found = scumble.load(out)
    assert found.kinds == {"age": "whole", "seen": "time", "smoker": "boolean"}
    assert found.bounds == ((0.0, 19_723.0, 0.0), (100.0, 20_089.0 - 1 / 86_400, 1.0))  # to the end of the last day
    capsys.readouterr()
    assert main(["sample", out, "--n", "5", "--json"]) == 0
    for one in json.loads(capsys.readouterr().out):
        assert (type(one["age"]), type(one["smoker"])) == (int, bool)
        assert datetime.datetime.fromisoformat(one["seen"]).year == 2024


def test_an_upper_bound_is_all_of_its_day_or_month() -> None:
    """Whatever is seen in December lies within bounds that end with it."""
    times = ["2024-12-31T00:00", "2024-12-31T23:59:59", "2025-01-01T00:00", "2023-12-31T23:59:59"]
    frame = pa.table({"seen": times})
    for kind in ("dates", "times"):
        for low, high in (("2024-01-01", "2024-12-31"), ("2024-01", "2024-12"), ("2024", "2024")):
            options: dict[str, Any] = {kind: ["seen"], "bounds": {"seen": (low, high)}, "design": "grid"}
            job = Build(frame, scumble.EuclideanKernel(5.0), ["seen"], **options)
            job.count()
            (told,) = job.strays()
            assert told.startswith("2 values of 'seen' lay outside its bounds, 2024-01-01") and "2024-12-31" in told
    years = kinds.ends_by("date", (2020, np.int64(2024)))  # as in a cell; days of 1975 and 1997 are floats
    assert years == kinds.ends_by("date", ("2020-01-01", "2024-12-31")) != (2020, 2024)
    old = kinds.ends_by("date", ("1975-01-01", "1997-01-01"))
    assert old == kinds.ends_by("date", old) == (1826.0, 9862.0), "what is a number of days stays one"
    assert kinds.ends_by("whole", (2020, 2024)) == (2020, 2024) and kinds.ends_by("date", (999, 10_000)) == (
        999,
        10_000,
    )
    moments = kinds.ends_by("time", ("2024-01-01T10:00", "2024-01-01T12:00"))
    assert moments == (19_723 + 10 / 24, 19_723.5)  # a moment is itself


# ---- files ----


def declared_as(release: Release, **kinds: str) -> Release:
    return release._with(spec=replace(release.spec, kinds=kinds))


def test_a_file_names_kinds_only_where_there_are_some(release: Release) -> None:
    assert release.kinds == {"age": "whole", "seen": "date"} == Release.from_bytes(release.to_bytes()).kinds
    assert "kinds" not in declared_as(release).metadata()
    box = {"counts": np.array(release.counts)}
    for bad in ({"age": "odd"}, {"nobody": "whole"}, ["age"]):
        with pytest.raises(CorruptFileError, match="kinds of columns"):
            Release.from_container(Container("release", {**release.metadata(), "kinds": bad}, box, 1, ""))


def test_a_merge_keeps_what_both_say() -> None:
    table = pa.table({"age": np.arange(100.0)})
    options: dict[str, Any] = {"bounds": (0, 100), "buckets": (101,), "epsilon": 1.0}
    one, two = (scumble.build(table, scumble.EuclideanKernel(5.0), whole=["age"], **options) for _ in range(2))
    assert merge_releases([one, two]).kinds == {"age": "whole"}
    assert merge_releases([one, declared_as(two)]).kinds == {}
    with pytest.raises(MergeError, match="'age'"):
        merge_releases([declared_as(one, age="whole"), declared_as(two, age="date")])


# ---- sketches, streams and plans ----


def test_a_sketch_reads_what_a_build_reads_and_keeps_the_kinds(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(text(300))
    size: dict[str, Any] = {"bounds": BOUNDS, "buckets": (21, 61)}
    built = Build(tmp_path / "people.csv", KERNEL, **size, **DECLARED).count().sketches[0]
    typed = pa.table({"age": [age + 0.9 for age, _ in rows(300)], "seen": [seen for _, seen in rows(300)]})
    sketch = scumble.Sketch(KERNEL, columns=["age", "seen"], **size, **DECLARED).update(typed)
    asked = {"age": [40, 25], "seen": ["2024-05-01", "2024-06-26"]}
    assert sketch.spec == built.spec and np.array_equal(sketch.kernel_sum(asked), built.kernel_sum(asked))
    sketch.save(tmp_path / "part.secret")
    kept = scumble.load_secret(tmp_path / "part.secret")
    assert kept.spec.kinds == {"age": "whole", "seen": "date"} and "kinds" in kept.spec.to_dict()
    other = scumble.Sketch(KERNEL, columns=["age", "seen"], whole=["age"], bounds=built.spec.bounds, buckets=(21, 61))
    with pytest.raises(scumble.MergeError, match="kinds is"):
        kept.merge(other)
    assert "kinds" not in scumble.Sketch(KERNEL, columns=["age", "seen"], rows=2, buckets=4).spec.to_dict()
    share = kept.release_share(epsilon=1.0, custodians=1)
    assert scumble.combine([share]).kinds == {"age": "whole", "seen": "date"}
    with pytest.raises(ParameterError, match="`columns`"):
        scumble.Sketch(KERNEL, 2, whole=["age"])


def test_a_stream_counts_dates_from_files_and_tables(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(text(100))
    about: dict[str, Any] = {"columns": ["age", "seen"], "bounds": BOUNDS, "buckets": (3, 3), **DECLARED}
    stream = scumble.Stream(KERNEL, periods=2, epsilon=1.0, folder=tmp_path / "days", **about)
    stream.update(tmp_path / "people.csv")
    table = pa.table({"age": [age for age, _ in rows(100)], "seen": [seen for _, seen in rows(100)]})
    stream.update(table)
    once = scumble.Sketch(KERNEL, **about).update(table)
    assert np.array_equal(stream._sketch.secret.counts, 2 * once.secret.counts)
    stream.save(tmp_path / "s.secret")
    stream.close()
    stream = scumble.load_stream(tmp_path / "s.secret")
    assert stream.close_period().kinds == {"age": "whole", "seen": "date"}
    stream.close()


def test_a_plan_has_no_cells_between_whole_numbers() -> None:
    about: dict[str, Any] = {"kernel": scumble.EuclideanKernel(1.0), "columns": ["age"], "bounds": (0, 10)}
    plain, whole = (scumble.plan(10**5, 1, 1.0, **about, **more) for more in ({}, {"whole": ["age"]}))
    assert plain.shape is not None and plain.shape[0] > 11 and whole.shape == (11,) and whole.buckets == 11
    fixed = scumble.plan(10**5, 1, 1.0, **about, buckets=40, design="grid", whole=["age"])
    assert fixed.shape == (11,) and fixed.bytes < plain.bytes
    with pytest.raises(TypeError, match="'wole'"):
        scumble.plan(10**5, 1, 1.0, **about, wole=["age"])
    with pytest.raises(ParameterError, match="among the columns age"):
        scumble.plan(10**5, 1, 1.0, **about, dates=["seen"])


# ---- refusals ----


@pytest.mark.parametrize(
    "options",
    [
        {"whole": "age"},
        {"whole": ["age"], "dates": ["age"]},
        {"whole": ["agee"]},
        {"whole": ["town"]},
        {"whole": ["age"], "bounds": {"age": (0, 99.5)}},
        {"whole": ["age"], "schema": scumble.Schema(age=scumble.Number(0, 99))},
    ],
)
def test_wrong_declarations_are_refused(options: dict[str, Any]) -> None:
    kernel = scumble.EuclideanKernel(5.0, columns=["age"]) * scumble.HammingKernel(columns=["town"])
    with pytest.raises(ParameterError):
        Build(pa.table({"age": [1.0], "town": ["Ulm"]}), None if "schema" in options else kernel, **options)


def test_a_checkpoint_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(text(50))
    options: dict[str, Any] = {"checkpoint": tmp_path / "c.secret", "checkpoint_seconds": 0.0, "buckets": (21, 21)}
    options |= {"bounds": {"age": (0, 100), "seen": (19_723, 20_088)}}

    def stop(_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Build(tmp_path / "people.csv", KERNEL, **DECLARED, **options).count(stop)
    with pytest.raises(ParameterError, match="kinds"):
        Build(tmp_path / "people.csv", KERNEL, whole=["age"], times=["seen"], **options).count()
    assert Build(tmp_path / "people.csv", KERNEL, **DECLARED, **options).count().rows == 50


def test_cells_that_are_no_dates_are_told_by_place_and_never_by_value(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(text(3) + "41,unspeakable\n")
    with pytest.raises(DataError, match=r"line 5: 1 value is missing.*'seen'") as caught:
        Build(tmp_path / "people.csv", KERNEL, bounds=BOUNDS, invalid="error", **DECLARED).count()
    assert "unspeakable" not in str(caught.value)
    job = Build(tmp_path / "people.csv", KERNEL, bounds=BOUNDS, invalid="drop", **DECLARED)
    job.count()
    assert job.left_out() == ["1 with an unreadable or infinite value in 'seen'"]


# ---- a label that is yes or no needs no list of classes ----


PLAIN = scumble.EuclideanKernel(1.0)
HOW: dict[str, Any] = {"rows": 2, "buckets": 8, "columns": ["x"], "label": "smoker", "booleans": ["smoker"]}


@pytest.mark.parametrize(
    "cells",
    [["yes", "no", "no"], ["TRUE", "false", "False"], ["t", "f", "f"], [1, 0, 0], [True, False, False]],
    ids=str,
)
def test_cells_are_read_as_booleans(cells: list) -> None:
    table = pa.table({"x": [0.0, 1.0, 2.0], "smoker": pa.array(cells)})
    job = Build(table, PLAIN, **HOW)
    assert [sketch.count for sketch in job.count().sketches] == [2, 1]
    assert job.tally.classes == [False, True]
    bundle = scumble.build_by(table, PLAIN, **HOW, epsilon=1.0)
    assert bundle.classes == (False, True) and bundle.label == "smoker" and bundle.spec.kinds == {}
    named = scumble.build_by(table, PLAIN, classes=["yes", "no"], **HOW, epsilon=1.0)
    assert named.classes == ("yes", "no")


def test_bounds_are_of_the_columns_that_are_counted() -> None:
    """A boolean among those has bounds of its own; the label has none."""
    table = pa.table({"x": [0.0, 1.0, 2.0], "smoker": ["yes", "no", "no"]})
    how = {"columns": ["x"], "label": "smoker", "booleans": ["smoker"], "bounds": {"x": (0, 9)}, "epsilon": 1.0}
    assert scumble.build_by(table, PLAIN, **how).spec.bounds == ((0.0,), (9.0,))
    with pytest.raises(scumble.ParameterError, match="names 'smoker', which is none of the columns x"):
        scumble.build_by(table, PLAIN, **{**how, "bounds": {"x": (0, 9), "smoker": (0, 1)}})


def test_a_cell_that_is_neither_is_of_no_class() -> None:
    table = pa.table({"x": [0.0, 1.0, 2.0], "smoker": ["yes", "perhaps", None]})
    with pytest.raises(scumble.DataError, match=r"2 values are none of the classes: 2 in column 'smoker'"):
        Build(table, PLAIN, **HOW, invalid="error").count()
    job = Build(table, PLAIN, **HOW, invalid="drop")
    assert [sketch.count for sketch in job.count().sketches] == [0, 1] and job.tally.unknown == 2


def test_places_are_those_of_the_classes(rng: np.random.Generator) -> None:
    """In whatever order they were listed, many or few."""
    classes = [int(k) for k in rng.permutation(1000)]
    cells = rng.integers(-5, 1005, 3000)
    found = Labels("c", classes).places(pa.record_batch({"c": cells}))
    for cell, place in zip(cells.tolist(), found.tolist(), strict=True):
        assert (classes[place] == cell) if 0 <= cell < 1000 else place == -1
    assert Labels("c", ["a"]).places(pa.record_batch({"c": pa.array(["a", None, "b"])})).tolist() == [0, -1, -1]
    for none in (None, "bus", []):
        with pytest.raises(scumble.PrivacyError, match="must list all classes"):
            Labels("c", none)


# ---- bounds by the names of their columns, wherever a scale may be given so ----

NAMED = {"b": (0, 100), "a": (-1, 1)}
PAIR = ([-1.0, 0.0], [1.0, 100.0])
SCALED = scumble.EuclideanKernel(1.0, scale={"a": 1.0, "b": 30.0})
SMALL = pa.table({"a": [0.0, 0.5], "b": [3.0, 40.0]})


def test_a_sketch_a_plan_a_build_and_an_estimator_take_them_and_mean_the_pair() -> None:
    named = scumble.Sketch(SCALED, columns=["a", "b"], bounds=NAMED)
    assert named.spec == scumble.Sketch(SCALED, columns=["a", "b"], bounds=PAIR).spec
    about = {"n": 10**5, "dimensions": 2, "epsilon": 1.0, "kernel": SCALED, "columns": ["a", "b"]}
    assert scumble.plan(**about, bounds=NAMED) == scumble.plan(**about, bounds=PAIR)
    made = scumble.build(SMALL, SCALED, ["a", "b"], bounds=NAMED, design="grid", buckets=64, epsilon=1.0)
    assert made.spec.bounds == tuple(map(tuple, PAIR))
    model = PrivateKDE(bounds=NAMED, rows=1, buckets=64)
    model.feature_names_in_ = np.array(["a", "b"], dtype=object)
    low, high = model._public_bounds(np.zeros((1, 2)))
    assert (low.tolist(), high.tolist()) == PAIR


@pytest.mark.parametrize(
    "given",
    [
        {"a": (0, 1), "b": (0, 1), "c": (0, 1)},
        {"a": (0, 1)},
        *({"a": (0, 1), "b": wrong} for wrong in (7, (1, 2, 3), ("x", 2), (9, 2.5), ("2016-01-01", "2017-01-01"))),
        {"a": (0, float("inf")), "b": (0, 1)},
        (5, 1),
        ([0, 3], [1, 2]),
    ],
)
def test_what_does_not_fit_the_columns_is_refused(given: object) -> None:
    with pytest.raises(ParameterError):
        scumble.Sketch(SCALED, columns=["a", "b"], bounds=given, rows=4, buckets=8)
