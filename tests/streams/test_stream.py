"""Streams: totals, windows and periods as releases; one charge; one file; persons and batches counted once."""

from __future__ import annotations

import copy
import json
import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import scumble
from processes import in_child
from scumble import files
from scumble.audit.replay import Session
from scumble.cli import main
from scumble.errors import (
    BudgetError,
    CorruptFileError,
    DataError,
    FileError,
    ForeignFileError,
    MergeError,
    MissingFileError,
    ParameterError,
    PrivacyError,
    SecretFileError,
)
from scumble.gate.gate import Nodes
from scumble.privacy import audit_hooks
from scumble.streams import spark
from scumble.streams.choosing import method_of
from scumble.streams.published import StreamRelease, name_of
from scumble.streams.stream import State
from scumble.streams.toeplitz import Toeplitz

KERNEL = scumble.EuclideanKernel(1.0)
SIZE: dict[str, Any] = {"columns": ["x"], "rows": 6, "buckets": 16, "seed": 3, "design": "iid"}
MONEY: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
METHODS = ("toeplitz", "bridge", "daily")


def start(periods: int = 8, **options: Any) -> scumble.Stream:
    return scumble.Stream(KERNEL, periods=periods, **{**SIZE, **MONEY, **options})


def day(number: int, records: int = 40) -> pa.Table:
    return pa.table({"x": np.random.default_rng(number).normal(0.0, 2.0, records)})


def exact(*days: int) -> np.ndarray:
    sketch = scumble.Sketch(KERNEL, **SIZE)
    for number in days:
        sketch.update(day(number))
    counts: np.ndarray = sketch.secret.counts.copy()
    return counts


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """No noise at all: what is published is then exact, so arithmetic shows."""

    def draw(nodes: Nodes, _: str) -> np.ndarray:
        return np.zeros(nodes.size, np.int64)

    monkeypatch.setattr(Nodes, "draw", draw)


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.parametrize("method", METHODS)
def test_totals_windows_and_periods_add_up(method: str, neighbors: str, tmp_path: Path) -> None:
    stream = start(method=method, neighbors=neighbors, folder=tmp_path / "out")
    for number in range(8):
        assert stream.update(day(number))
        release = stream.close_period()
        assert np.array_equal(release.counts, exact(*range(number + 1))) and release.noisy_count == 40 * (number + 1)
    for published in (stream, scumble.load(tmp_path / "out")):
        assert np.array_equal(published.window(3).counts, exact(5, 6, 7))
        assert np.array_equal(published.window(2, last=4).counts, exact(2, 3))
        assert np.array_equal(published.window(first=1, last=2).counts, published.total(2).counts)
        assert np.array_equal(published.period(5).counts, exact(4)) and published.period(5).noisy_count == 40
        with pytest.raises(ParameterError):
            published.window(first=5, last=3)
    assert len(stream.published()) == stream.periods == stream.horizon == 8
    with pytest.raises(BudgetError, match="All 8 periods"):
        stream.update(day(8))
    with pytest.raises(BudgetError, match="All 8 periods"):
        stream.close_period()


@pytest.mark.parametrize("method", METHODS)
def test_each_period_goes_out_with_noise_of_its_own(method: str) -> None:
    """What is published less the noise that was drawn for this very period is the method's exact row, to the last bit.

    The auditor counts the periods of a bridge twice: its blocks hide them once more.
    """
    session = Session()
    with audit_hooks.watching(session):
        stream = start(method=method)
        for number in range(8):
            stream.update(day(number))
            stream.close_period()
    assert session.problems == []
    days = np.array([exact(number) for number in range(8)])
    if method == "toeplitz":
        weights = Toeplitz(8)
        days = sum(np.pad(np.multiply.outer(weights.entries(j), days[j]), ((j, 0), (0, 0), (0, 0))) for j in range(8))
    published = [call.exact for call in session.calls if call.exact.shape == (6, 16)]
    assert np.array_equal(published, np.repeat(days, 2, axis=0) if method == "bridge" else days)
    drawn = [shape for _, shape in session.draws if shape == (6, 16)]
    assert len(drawn) >= 8 and len(session.draws) == 2 * len(drawn), "of each node: the counters, and the count"


@pytest.mark.parametrize("count_share", [0, 0.01])
def test_variances_are_those_of_the_method_and_of_rounding(count_share: float) -> None:
    """A twelfth for each total that was rounded: one for a total, two for the difference of two."""
    stream = start(4, count_share=count_share)
    for _ in range(4):
        stream.close_period()
    published, claim = stream.published(), stream.privacy
    law, scales, method = claim.law, claim.scales, method_of(published.total().stream.method)
    spans = (1, 4), (1, 2), (3, 4), (2, 2)
    for (first, last), release in ((span, published.window(first=span[0], last=span[1])) for span in spans):
        rounding, times = (1 if first == 1 else 2) / 12, method.variance(first, last)
        assert release.counter_variance == pytest.approx(law.variance(scales.counters) * times + rounding, rel=1e-12)
        expected = 0.0 if scales.count is None else law.variance(scales.count) * times + rounding
        assert release.count_variance == pytest.approx(expected, rel=1e-12)
        assert (release.stream.first, release.stream.last) == (first, last)
        assert (release.noisy_count is None) == (count_share == 0)


def test_series_are_the_answers_of_totals_and_windows() -> None:
    stream, points = start(4), [[0.0], [1.0]]
    for number in range(3):
        stream.update(day(number))
        stream.close_period()
    published = stream.published()
    for width, releases in (
        (1, [published.period(k) for k in (1, 2, 3)]),
        (2, [published.window(2, last=k) for k in (2, 3)]),
        (None, [published.total(k) for k in (1, 2, 3)]),
    ):
        found = published.series(points, width=width)
        assert found.shape == (len(releases), 2, 3)
        for line, release in zip(found, releases, strict=True):
            assert np.array_equal(line[:, 0], release.kernel_sum(points))
            assert np.array_equal(line[:, 1:].T, release.interval(points, confidence=0.95))
    for width in (0, 4):
        with pytest.raises(ParameterError, match="width"):
            published.series(points, width=width)


def test_a_release_of_a_stream_is_like_any_other(tmp_path: Path) -> None:
    stream = start(folder=tmp_path / "out")
    stream.update(day(0, 4000))
    release = stream.close_period()
    path = tmp_path / "out" / name_of(1)
    again = scumble.load(path)
    assert again.to_bytes() == release.to_bytes() == path.read_bytes()
    assert again.stream == release.stream and again.stream.last == 1 and again.privacy == stream.privacy
    low, high = again.interval([[0.0]])
    assert low[0] < again.kernel_sum([[0.0]])[0] < high[0] and "all releases of its stream" in again._repr_html_()
    assert stream.published().series([[0.0], [1.0]]).shape == (1, 2, 3)
    stream.update(day(1))
    other = stream.close_period()
    for parts in ([release, other], [other, stream.period(2)]):
        with pytest.raises(MergeError):
            scumble.merge(parts, disjoint=True)
    merged = scumble.merge([other, scumble.Sketch(KERNEL, **SIZE).update(day(9)).release(1.0)], disjoint=True)
    assert scumble.Release.from_bytes(merged.to_bytes()).privacy == merged.privacy


def test_charged_once_at_the_start(tmp_path: Path) -> None:
    book = scumble.Ledger.create(tmp_path / "book")
    book.open_dataset("trips", epsilon=1.0, delta=1e-6)
    stream = start(ledger=book, dataset="trips")
    for number in range(3):
        stream.update(day(number))
        stream.close_period()
    (charge,) = book.account("trips").charges
    assert charge.identity == stream.identity and float(charge.cost.epsilon) == 1.0
    with pytest.raises(BudgetError):
        start(ledger=book, dataset="trips")


# ---- persons and batches ----


def test_a_person_has_so_many_records_over_all_periods(tmp_path: Path) -> None:
    stream = start(person_column="who", records_per_person=2, method="daily", epsilon=1000.0, delta=0.0)
    stream.save(tmp_path / "s.secret")
    found = []
    for number in range(4):
        stream.update(pa.table({"x": [1.0, 2.0, float(number)], "who": ["ann", f"guest {number}", "bob"]}))
        found.append(int(stream._sketch.secret.total))
        stream.close_period()
        stream.close()
        stream = scumble.load_stream(tmp_path / "s.secret")
    assert found == [3, 3, 1, 1], "ann and bob have had enough after two days"
    with pytest.raises(PrivacyError, match="replace"):
        start(person_column="who", neighbors="replace")
    with pytest.raises(ParameterError, match="columns"):
        start(person_column="x")


def test_a_refused_batch_counts_nothing_and_nobody() -> None:
    stream = start(person_column="who", invalid="error")
    with pytest.raises(DataError):
        stream.update(pa.table({"x": [1.0, None], "who": ["ann", "bob"]}), batch="bad")
    assert stream.update(pa.table({"x": [1.0, 2.0], "who": ["ann", "bob"]}), batch="bad")
    assert stream._sketch.secret.total == 2


def test_a_batch_is_counted_and_a_period_closed_once(tmp_path: Path) -> None:
    stream = start()
    assert stream.update(day(0), batch="monday") and not stream.update(day(0), batch="monday")
    stream.save(tmp_path / "s.secret")
    first = stream.close_period(1)
    assert stream.close_period(1).to_bytes() == first.to_bytes() and stream.periods == 1
    stream.close()
    stream = scumble.load_stream(tmp_path / "s.secret")
    assert not stream.update(day(0), batch="monday") and stream.knows("monday") and not stream.knows("tuesday")
    assert stream._sketch.secret.total == 0 and stream.update(day(1), batch="tuesday")
    with pytest.raises(ParameterError, match="period"):
        stream.close_period(3)


def test_what_no_noise_could_be_added_to_exactly_is_refused() -> None:
    stream = start()
    stream.update(day(0))
    most = int(stream._sketch.secret.counts.max())
    stream._most = 2**38 - most - 1
    with pytest.raises(DataError, match="38"):
        stream.update(day(1))
    assert int(stream._sketch.secret.counts.max()) == most and stream.update(pa.table({"x": [1.0]}))
    stream._most, most = 7, int(stream._sketch.secret.counts.max())
    stream.close_period()
    assert stream._most == 7 + most > 7


@pytest.mark.parametrize("drops", [True, False])
def test_files_are_read_as_builds_read_them(drops: bool, tmp_path: Path) -> None:
    """The stream's own file says whether records may have been left out."""
    (tmp_path / "monday.csv").write_text("y;x\n1;2\n1;3\n")
    stream = start(invalid="drop" if drops else "error")
    assert stream.update(tmp_path / "monday.csv", delimiter=";")
    stream.save(tmp_path / "s.secret")
    stream.close()
    assert files.read(tmp_path / "s.secret", expect="stream").metadata["drops"] is drops
    again = scumble.load_stream(tmp_path / "s.secret")._sketch.secret
    assert again.drops is drops and again.total == 2
    unnamed = scumble.Stream(KERNEL, 1, periods=3, epsilon=1.0, rows=4, buckets=8)
    with pytest.raises(ParameterError, match="columns"):
        unnamed.update(tmp_path / "monday.csv")


def test_no_number_is_public_where_records_were_left_out_by_hand() -> None:
    stream = start(neighbors="replace")
    for invalid, refusal in (("drop", PrivacyError), ("skip", ParameterError)):
        with pytest.raises(refusal):
            stream.update(day(0), invalid=invalid)
    stream.update(day(0), invalid="error")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scumble.gate.spending._FILTERED_BY_HAND", ["PersonLimit"])
        with pytest.raises(PrivacyError, match="PersonLimit"):
            stream.close_period()
    assert stream.close_period().noisy_count == 40


# ---- the secret file ----


def saved(path: Path, **options: Any) -> scumble.Stream:
    stream = start(**options)
    stream.update(day(0))
    stream.save(path)
    return stream


def test_the_file_is_secret_and_for_one_process(tmp_path: Path) -> None:
    path = tmp_path / "s.secret"
    stream = saved(path)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(BudgetError, match="Another process"):
        scumble.load_stream(path)
    with pytest.raises(PrivacyError, match="second file"):
        stream.save(tmp_path / "other.secret")
    with pytest.raises(PrivacyError, match="already"):
        start().save(path)
    with pytest.raises(SecretFileError):
        scumble.load(path)
    stream.close()
    with pytest.raises(BudgetError, match="closed"):
        stream.update(day(1))
    with pytest.raises(BudgetError, match="closed"):
        stream.close_period()
    shutil.copy(path, tmp_path / "copy.secret")
    with pytest.raises(SecretFileError, match="copy"):
        scumble.load_stream(tmp_path / "copy.secret")
    assert scumble.load_stream(path)._sketch.secret.total == 40
    with pytest.raises(ParameterError, match="path"):
        start().save()


def test_a_second_name_does_not_go_on_with_the_same_noise(tmp_path: Path) -> None:
    """A hard link and a moved file are no copies: mark and content are the original's."""
    path, other = tmp_path / "s.secret", tmp_path / "other.secret"
    stream = saved(path)
    with open(path, "rb") as before:
        stream.close_period()
        assert before.read() == b"", "a version that was replaced is empty, whatever leads to it"
    os.link(path, other)
    with pytest.raises(BudgetError, match="second name"):
        stream.close_period()
    stream.close()
    for name in (path, other):
        with pytest.raises(SecretFileError, match="second name"):
            scumble.load_stream(name)
    other.unlink()
    stream = scumble.load_stream(path)
    path.rename(other)
    with pytest.raises(BudgetError, match="moved"):
        stream.close_period()
    assert not path.exists()
    stream.close()
    assert scumble.load_stream(other).close_period().stream.last == 2, "at its new place it goes on"


def test_another_release_of_a_period_is_not_given_out(tmp_path: Path) -> None:
    stream = saved(tmp_path / "s.secret", folder=tmp_path / "out")
    stream.close_period()
    mine, other = tmp_path / "out" / name_of(1), start(folder=tmp_path / "elsewhere")
    other.close_period()
    shutil.copy(tmp_path / "elsewhere" / name_of(1), mine)
    stream.close()
    with pytest.raises(BudgetError, match="another release of this period"):
        scumble.load_stream(tmp_path / "s.secret").close_period(1)


def test_a_sketch_is_merged_once_and_goes_nowhere_else(tmp_path: Path) -> None:
    stream = start()
    made, released = (scumble.Sketch(KERNEL, **SIZE).update(day(number)) for number in (1, 2))
    kept = []
    for sketch, name in ((made, "a"), (made, "b"), (released, "c")):
        sketch.save(tmp_path / f"{name}.secret")
        kept.append(scumble.load_secret(tmp_path / f"{name}.secret"))
    again, third, last = kept
    assert stream.merge(made, batch="north") and not stream.merge(again, batch="north")
    released.release(1.0)
    refused: list[tuple[Any, Any, type[Exception], str]] = [
        (stream, made, BudgetError, "added to its stream"),
        (stream, again, MergeError, "already"),
        (start(), third, BudgetError, "in a stream"),
        (start(), last, BudgetError, "released before"),
        (stream, scumble.Sketch(KERNEL, **{**SIZE, "buckets": 9}), MergeError, "buckets"),
        (stream, scumble.Sketch(KERNEL, **SIZE).start_with_noise(1.0), PrivacyError, "noise"),
        (start(person_column="who"), scumble.Sketch(KERNEL, **SIZE), PrivacyError, "whose records"),
        (start(neighbors="replace"), scumble.Sketch(KERNEL, **SIZE, invalid="drop"), PrivacyError, "replace"),
    ]
    for into, sketch, problem, words in refused:
        with pytest.raises(problem, match=words):
            into.merge(sketch)
    with pytest.raises(BudgetError, match="released before"):
        again.release(1.0)
    assert stream._sketch.secret.total == 40
    stream.save(tmp_path / "s.secret")
    stream.close()
    with pytest.raises(MergeError, match="already"):
        scumble.load_stream(tmp_path / "s.secret").merge(again)


def test_each_micro_batch_of_spark_is_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is killed when. Spark itself is in tests/sources."""
    monkeypatch.setattr(spark.engine, "query_of", lambda batch: "query 7")
    monkeypatch.setattr(spark, "count", lambda batch, tally: tally.update(batch))

    def batch(number: int) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([pa.array(np.full(number + 1, float(number)))], names=["x"])

    stream = start(epsilon=1.0)
    with pytest.raises(ParameterError, match="path"):
        spark.into(stream)(batch(0), 0)
    stream = start()
    stream.save(tmp_path / "s.secret")
    for number in (0, 0, 1):
        spark.into(stream)(batch(number), number)
    stream.close()  # killed: what was counted is in the file
    stream = scumble.load_stream(tmp_path / "s.secret")
    sink = spark.into(stream)
    sink(batch(1), 1)
    assert stream._sketch.secret.total == 3
    stream.close_period()
    sink(batch(1), 1)
    assert stream._sketch.secret.total == 0, "not in the next period either"
    with pytest.raises(DataError, match="was not counted"):
        sink(batch(3), 3)
    sink(batch(2), 2)
    assert stream._sketch.secret.total == 3
    with pytest.raises(ParameterError, match="columns"):
        spark.into(scumble.Stream(KERNEL, 1, periods=4, epsilon=1.0, rows=4, buckets=8))


def test_a_stream_is_not_copied_and_shows_no_numbers(tmp_path: Path) -> None:
    stream = saved(tmp_path / "s.secret")
    for copying in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(PrivacyError):
            copying(stream)
    assert "40" not in repr(stream).replace("0 of 8", "") and "toeplitz" in repr(stream)
    open_rows = scumble.Stream(KERNEL, columns=["x"], periods=8, epsilon=1.0)
    assert not open_rows._sketch.planned, "or every period would publish as many rows as could ever pay"


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_no_stream() -> None:
    stream = start()

    def closes() -> None:
        with pytest.raises(BudgetError, match="stays with the process that drew or loaded it"):
            stream.close_period()

    assert in_child(closes) == 0


def test_nothing_is_given_out_before_the_file_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = saved(tmp_path / "s.secret", folder=tmp_path / "out")

    def full(*_: object) -> None:
        raise OSError(28, "no space left")

    with monkeypatch.context() as patch:
        patch.setattr("scumble.streams.stream.State.write", full)
        with pytest.raises(OSError, match="no space"):
            stream.close_period()
    assert os.listdir(tmp_path / "out") == []
    with pytest.raises(BudgetError, match="interrupted"):
        stream.close_period()
    again = scumble.load_stream(tmp_path / "s.secret")
    assert again.periods == 0 and again._sketch.secret.total == 40
    assert again.close_period().stream is not None


def test_files_of_somebody_who_means_ill_are_refused(tmp_path: Path) -> None:
    stream = saved(tmp_path / "s.secret", person_column=None)
    stream.close()
    box = files.read(tmp_path / "s.secret", expect="stream")
    assert "SECRET" in box.metadata["note"]
    lies: list[tuple[dict[str, Any], dict[str, np.ndarray]]] = [
        *(({"closed": wrong}, {}) for wrong in (9, -1, True)),
        *(({"method": wrong}, {}) for wrong in ({"method": "daily", "periods": 8}, None)),
        *(({"claim": {**box.metadata["claim"], **wrong}}, {}) for wrong in ({"rows": 5}, {"exact_scale": None})),
        *(({"folder": wrong}, {}) for wrong in (5, "a\0b")),
        *(({name: wrong}, {}) for name, wrong in (("most", -5), ("claim", {}), ("spec", {}), ("person_column", "who"))),
        ({}, {"counts": np.zeros((6, 15), np.int64)}),
        ({}, {"counts": np.full((6, 16), 2**62)}),
        ({}, {"batches": np.zeros((2, 3), np.uint8)}),
        ({}, {"machine.noise": np.zeros(3, np.int64)}),
        ({}, {"machine.noise": np.zeros(97, np.float64)}),
        ({}, {"machine.more": np.zeros(97, np.int64)}),
    ]
    written = [({**box.metadata, **metadata}, {**box.arrays, **arrays}) for metadata, arrays in lies]
    for name in ("claim", "identity", "folder", "drops"):
        written.append(({key: value for key, value in box.metadata.items() if key != name}, box.arrays))
    for number, (metadata, arrays) in enumerate(written):
        files.write(tmp_path / f"{number}.secret", "stream", metadata, arrays, secret=True)
        with pytest.raises(CorruptFileError):
            scumble.load_stream(tmp_path / f"{number}.secret")


# ---- what is published ----


def forged(path: Path, **changes: Any) -> None:
    box = files.read(path, expect="release")
    path.unlink()  # else it would stay under a second name
    files.write(path, "release", {**box.metadata, **changes}, box.arrays)


def test_published_files_must_fit_their_stream(tmp_path: Path) -> None:
    stream = start(folder=tmp_path / "out")
    for _ in range(3):
        stream.close_period()
    path = tmp_path / "out" / name_of(2)
    good = path.read_bytes()
    box = files.from_bytes(good, expect="release")
    about = json.loads(json.dumps(box.metadata["stream"]))
    lies: list[dict[str, Any]] = [
        {"counter_variance": 1.0},
        {"counter_variance": 1.001 * box.metadata["counter_variance"]},
        {"spec": {**box.metadata["spec"], "seed": 4}},
        *({"stream": wrong} for wrong in (None, [1], {**about, "first": 2}, {**about, "more": 1})),
        *({"stream": {**about, "last": wrong}} for wrong in (3, True)),
        {"stream": {**about, "method": {"method": "daily", "periods": 8}}},
        *({"stream": {**about, "method": wrong}} for wrong in ({**about["method"], "periods": 9}, {})),
        *({"stream": {**about, "identity": one}} for one in ("nobody", "00000000-0000-4000-8000-000000000000")),
    ]
    for lie in lies:
        path.write_bytes(good)
        forged(path, **lie)
        with pytest.raises(FileError):
            scumble.load(tmp_path / "out").period(3)
    path.unlink()
    with pytest.raises(MissingFileError):
        scumble.load(tmp_path / "out").period(3)
    assert scumble.load(tmp_path / "out").total().stream.last == 3


@pytest.mark.parametrize(("method", "lie"), [("toeplitz", {"method": "daily"}), ("daily", {"periods": 2})])
def test_the_first_file_that_is_read_must_fit_its_claim(method: str, lie: dict[str, Any], tmp_path: Path) -> None:
    """No other file tells of its method; as far as it has come, the lie has the same variance."""
    stream = start(method=method, folder=tmp_path / "out", count_share=0)
    for _ in range(3 if method == "daily" else 1):
        stream.close_period()
    path = tmp_path / "out" / name_of(stream.periods)
    about = files.from_bytes(path.read_bytes(), expect="release").metadata["stream"]
    forged(path, stream={**about, "method": {**about["method"], **lie}})
    with pytest.raises(FileError):
        scumble.load(tmp_path / "out")


def test_totals_that_were_not_kept_are_missed(tmp_path: Path) -> None:
    stream = start()
    for _ in range(3):
        stream.close_period()
    some = StreamRelease({number: stream.total(number) for number in (1, 3)})
    assert some.periods == 3 and some.total(1).to_bytes() == stream.total(1).to_bytes()
    with pytest.raises(MissingFileError):
        some.period(3)
    with pytest.raises(MissingFileError):
        StreamRelease(tmp_path / "nowhere")
    for name in ("total-00000.scumble", "total-1.scumble", "total-0000x.scumble", "a-total-00001.scumble"):
        (tmp_path / name).touch()
    with pytest.raises(MissingFileError):
        StreamRelease(tmp_path)


def test_folders(tmp_path: Path) -> None:
    stream = start(folder=tmp_path / "out")
    with pytest.raises(MissingFileError, match="nothing published"):
        stream.published()
    stream.close_period()
    with pytest.raises(ParameterError, match="folder of its own"):
        start(folder=tmp_path / "out")
    with pytest.raises(MissingFileError):
        scumble.load(tmp_path / "nowhere")
    (tmp_path / "other").mkdir()
    with pytest.raises(MissingFileError, match="nothing published"):
        scumble.load(tmp_path / "other")
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="folder"):
        start(folder=tmp_path / "file")
    other = start(folder=tmp_path / "second")
    other.close_period()
    other.close_period()
    shutil.copy(tmp_path / "out" / name_of(1), tmp_path / "second" / name_of(1))
    with pytest.raises(ForeignFileError, match="another stream"):
        scumble.load(tmp_path / "second").period(2)


def test_questions_that_have_no_answer() -> None:
    stream = start()
    stream.close_period()
    for ask in ({}, {"width": 1, "first": 1}, {"first": 2}, {"width": 2}, {"first": 1, "last": 2}, {"width": 0}):
        with pytest.raises(ParameterError):
            stream.window(**ask)
    with pytest.raises(ParameterError):
        stream.total(2)
    assert stream.expected.to_dict()["method"] == "toeplitz"


def test_pictures_over_time() -> None:
    stream = start(design="grid", bounds=(-5.0, 5.0), rows=1, buckets=16, method="daily")
    for number in range(3):
        stream.update(day(number))
        stream.close_period()
    published = stream.published()
    assert len(published.plot([[0.0], [1.0]]).axes[0].lines) == 2
    assert len(published.plot(panels=2).axes) == 2
    with pytest.raises(ParameterError, match="width"):
        published.plot(width=9)


# ---- what the command line says of a stream's periods ----


@pytest.fixture
def stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The words that start one of twelve periods, of which one is published."""
    monkeypatch.chdir(tmp_path)
    Path("day.csv").write_text("x\n" + "1\n2\n3\n" * 50)
    start = (
        "start s.secret --folder out --columns x --bandwidth 1 --rows 8 --buckets 16 --periods 12 --mu 1 --delta 1e-6"
    )
    words = ["stream", *start.split()]
    assert main(words) == 0 and main(["stream", "append", "s.secret", "day.csv"]) == 0
    assert main(["stream", "publish", "s.secret", "--period", "1"]) == 0
    assert "Wrote " in capsys.readouterr().err
    return words


def test_bad_rows_are_left_out_of_one_batch_where_append_says_so(
    stream: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bad.csv").write_text("x\n1\n\n2\nmany\n3\n")
    append = ["stream", "append", "s.secret", "bad.csv", "--period", "2"]
    assert main([*append, "--invalid", "error"]) == 4
    assert "--invalid drop" in capsys.readouterr().err
    assert main([*append, "--invalid", "drop"]) == 0
    assert capsys.readouterr().err.startswith("1 record was left out: 1 with an unreadable or infinite value in 'x'")
    assert main([*append, "--batch", "again", "--invalid", "error"]) == 4, "of one batch, not of the stream"
    opened = scumble.load_stream("s.secret")
    assert opened._sketch.secret.counts.sum() == 3 * opened.spec.rows and opened._sketch.secret.drops
    opened.close()


@pytest.mark.parametrize("damage", [b"", b"no release", None])
def test_a_damaged_last_release_is_written_anew_once_it_is_moved_away(
    stream: list[str], damage: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    (file,) = Path("out").glob("*.scumble")
    whole = file.read_bytes()
    file.write_bytes(whole[:-9] + b"?" + whole[-8:] if damage is None else damage)
    assert main(["stream", "append", "s.secret", "day.csv", "--period", "2"]) == 5
    assert "Hint: move it away" in capsys.readouterr().err
    file.rename("damaged")
    assert main(["stream", "append", "s.secret", "day.csv", "--period", "2"]) == 0
    assert file.read_bytes() == whole


JUNK = ["", "x", "\0", None, -1, 1 << 70, 1.5, [], {}, True, "1/0", "1e999", {"a": 1}]


@pytest.mark.parametrize(
    "field", ["identity", "folder", "backend", "closed", "most", "person_column", "merged", "drops"]
)
def test_a_file_of_a_stream_signed_by_another_is_used_or_refused_in_our_words(stream: list[str], field: str) -> None:
    state = State("s.secret")
    found = state.read()
    state.let_go()
    for junk in JUNK:
        data = files.to_bytes(found.kind, {**found.metadata, field: junk}, found.arrays)
        Path("s.secret").write_bytes(data)
        try:
            opened = scumble.load_stream("s.secret")
            opened.close()
        except scumble.ScumbleError:
            continue


@pytest.mark.parametrize("method", METHODS)
def test_the_noise_is_what_the_releases_say(method: str) -> None:
    """z of 20,000 counters. Its mean square is within 10 standard errors (√(κ/20,000), κ <= 5): a rate below 1e-20."""
    stream = start(6, method=method, rows=20, buckets=1000)
    truth = scumble.Sketch(KERNEL, **{**SIZE, "rows": 20, "buckets": 1000})
    for number in range(6):
        stream.update(day(number))
        truth.update(day(number))
        stream.close_period()
    last = scumble.Sketch(KERNEL, **{**SIZE, "rows": 20, "buckets": 1000}).update(day(4)).update(day(5))
    for release, counts in ((stream.total(), truth.secret.counts), (stream.window(2), last.secret.counts)):
        z = (release.counts - counts) / np.sqrt(release.counter_variance)
        assert abs((z**2).mean() - 1) < 10 * np.sqrt(5 / z.size)
        assert release.count_variance > 0 and abs(release.noisy_count - 20) < 1e9
    assert stream.window(2).counter_variance < stream.total(6).counter_variance + stream.total(4).counter_variance
