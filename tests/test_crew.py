"""Many threads, each with batches of its own: nobody can tell from the result."""

from __future__ import annotations

import csv
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import scumble
from scumble.counting.guard import Known
from scumble.density.sketch import Sketch
from scumble.errors import DataError, PrivacyError
from scumble.sources import Build, database, source, tally
from scumble.sources import arrow as parquet
from scumble.sources.checkpoint import Checkpoint
from scumble.sources.onepass import Crew

MANY = 6
ROWS = 2_000


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    for room in (source, database, parquet):
        monkeypatch.setattr(room, "BATCH_ROWS", 64)
    monkeypatch.setattr(parquet, "AT_ONCE", 1)


@pytest.fixture
def table(tmp_path: Path) -> str:
    values = np.random.default_rng(5).normal(size=(ROWS, 2)) * 3.0
    path = str(tmp_path / "t.parquet")
    pq.write_table(pa.table({"x": values[:, 0], "y": values[:, 1]}), path, row_group_size=500)
    return path


@pytest.fixture
def torn(tmp_path: Path) -> str:
    """Two columns of which some cells are bad, in several files: which come first decides what is said first."""
    folder = tmp_path / "torn"
    folder.mkdir()
    values = np.random.default_rng(6).normal(size=(ROWS, 2)).round(3) * 3.0
    for k in range(4):
        with open(folder / f"{k}.csv", "w", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(["x", "y"])
            for i, (x, y) in enumerate(values[500 * k : 500 * (k + 1)].tolist()):
                lines.writerow(["", y] if i % 97 == 70 else [x, "many"] if i % 97 == 71 else [x, y])
    return str(folder)


def job(path: str, threads: int, **options: Any) -> Build:
    settings: dict[str, Any] = {"rows": 16, "buckets": 32, "design": "iid", "epsilon": 1.0, "threads": threads}
    return Build(path, scumble.EuclideanKernel(2.0), ["x", "y"], **settings | options)


def told(made: Build) -> tuple[Any, ...]:
    """All that a pass leaves behind."""
    found = made.tally
    counts = [sketch.secret.counts.tolist() for sketch in found.sketches]
    return counts, found.rows, found.dropped, found.skipped, found.told(made.source), found.left_out()


@pytest.fixture
def uneven(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Threads that take their time, now one and now another; gives the names of those that have counted aside."""
    real, names, turn = Sketch.count_aside, set[str](), iter(range(1_000_000))

    def slowly(self: Sketch, *args: Any) -> None:
        names.add(threading.current_thread().name)
        time.sleep(0.004 * (next(turn) % 3))
        real(self, *args)

    monkeypatch.setattr(Sketch, "count_aside", slowly)
    return names


GRID: dict[str, Any] = {"design": "grid", "bounds": (-4.0, 4.0), "rows": None, "buckets": (8, 8)}


@pytest.mark.parametrize("more", [{}, GRID], ids=["rows", "grid"])
@pytest.mark.parametrize("source", ["table", "torn"])
def test_many_threads_leave_what_one_leaves(
    source: str, request: pytest.FixtureRequest, uneven: set[str], more: dict[str, Any]
) -> None:
    """The counters, and remarks in the order of the source."""
    path = request.getfixturevalue(source)
    alone, crew = (job(path, threads, invalid="drop", **more) for threads in (1, MANY))
    alone.count()
    assert not uneven
    crew.count()
    assert 1 < len(uneven) <= MANY
    assert told(crew) == told(alone)
    assert source == "torn" or bool(more) == bool(told(crew)[4])  # beyond the grid's bounds some were
    assert crew.tally.dropped == (40 if source == "torn" else 0)


def test_the_error_is_that_of_the_first_batch(torn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what was counted aside before it is wiped."""
    with pytest.raises(DataError) as alone:
        job(torn, 1, invalid="error").count()
    real, first, crews, begin = tally.Tally._found, threading.Lock(), list[Crew](), Crew.__init__

    def late(self: tally.Tally, batch: pa.RecordBatch) -> tally.Found:
        if first.acquire(blocking=False):
            time.sleep(0.2)  # the others have their errors before
        return real(self, batch)

    monkeypatch.setattr(tally.Tally, "_found", late)
    monkeypatch.setattr(Crew, "__init__", lambda self, tally: (crews.append(self), begin(self, tally))[1])
    with pytest.raises(DataError) as crew:
        job(torn, MANY, invalid="error").count()
    assert str(crew.value) == str(alone.value)
    assert crews[0]._made and not any(counts.any() for counts in crews[0]._made)


def test_an_error_while_counting_ends_the_pass(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(Sketch, "count_aside", fail)
    made = job(table, MANY)
    with pytest.raises(MemoryError):
        made.count()
    assert not made.tally.sketches[0].secret.counts.any()


def test_every_checkpoint_holds_the_rows_before_it(
    table: str, tmp_path: Path, uneven: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = job(table, 1)
    alone.count()
    seen: list[tuple[int, int]] = []
    real = Checkpoint.keep

    def look(self: Checkpoint, tally: Any, position: tuple[int, int], **more: Any) -> None:
        seen.append((position[1], tally.sketches[0].secret.total))
        real(self, tally, position, **more)

    crew = job(table, MANY, checkpoint=str(tmp_path / "c.secret"))
    monkeypatch.setattr(Checkpoint, "keep", look)
    monkeypatch.setattr(Checkpoint, "due", property(lambda _: crew.tally.rows >= (seen[-1][0] if seen else 0) + 300))
    crew.count()
    assert uneven and len(seen) > 2
    assert all(position == total for position, total in seen) and seen[-1] == (ROWS, ROWS)
    assert told(crew) == told(alone)


def test_an_interrupted_crew_goes_on_where_it_was(table: str, tmp_path: Path, uneven: set[str]) -> None:
    path = str(tmp_path / "c.secret")
    alone, crew = job(table, 1), job(table, MANY, checkpoint=path, checkpoint_seconds=1e9)
    alone.count()
    rows: list[int] = []

    def stop(progress: Any) -> None:
        rows.append(progress.rows)
        if len(rows) == 5:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        crew.count(stop)
    assert 5 * 64 <= rows[-1] < ROWS
    assert crew.tally.sketches[0].secret.total == rows[-1] == crew.tally.rows
    again = job(table, MANY, checkpoint=path, checkpoint_seconds=1e9)
    again.count()
    assert again.tally.rows == ROWS and told(again)[0] == told(alone)[0]


@pytest.mark.parametrize("threads", [1, MANY])
def test_a_source_without_rows_leaves_no_checkpoint(tmp_path: Path, threads: int) -> None:
    empty, path = str(tmp_path / "empty.parquet"), tmp_path / "c.secret"
    pq.write_table(pa.table({"x": pa.array([], pa.float64()), "y": pa.array([], pa.float64())}), empty)
    with pytest.raises(DataError, match="no rows"):
        job(empty, threads, checkpoint=str(path), checkpoint_seconds=0.0, invalid="error").count()
    assert not path.exists()


def test_an_error_while_the_crew_is_to_rest_leaves_no_thread_behind(
    table: str, tmp_path: Path, uneven: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    crew = job(table, MANY, checkpoint=str(tmp_path / "c.secret"))
    monkeypatch.setattr(Checkpoint, "due", property(lambda _: True))
    monkeypatch.setattr(Crew, "rest", lambda self, real=Crew.rest: real(self) and False)
    threads: list[threading.Thread] = []

    def fail(_: object) -> None:
        threads.extend(thread for thread in threading.enumerate() if thread.name.startswith("scumble-"))
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        crew.count(fail)
    assert uneven and threads and not any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize(
    "more",
    [{"noise_first": True}, {"engine": "reference"}, {"person_column": "x"}, {"threads": tally.MOST_THREADS}],
    ids=lambda more: next(iter(more)),
)
def test_what_needs_an_order_or_has_no_counters_to_spare_is_counted_in_turn(
    table: str, uneven: set[str], more: dict[str, Any]
) -> None:
    columns = ["y"] if "person_column" in more else ["x", "y"]
    options = {"epsilon": 1.0, "rows": 16, "buckets": 32, "threads": MANY} | more
    made = Build(table, scumble.EuclideanKernel(2.0), columns, **options)
    made.count()
    assert not uneven and made.tally.rows == ROWS


def test_what_has_noise_or_is_another_sketch_is_not_counted_aside() -> None:
    one, other = (Sketch(scumble.EuclideanKernel(2.0), dimensions=1, rows=4, buckets=8) for _ in range(2))
    counts = one.secret.aside()
    with pytest.raises(PrivacyError, match="another sketch"):
        one.count_aside(other.read([[1.0]]), counts, Known())
    assert not counts.any()
    with pytest.raises(PrivacyError):
        one.start_with_noise(epsilon=1.0).secret.aside()


@pytest.mark.parametrize("threads", [1, 3, 16])
@pytest.mark.parametrize("rows", [1, 7])
def test_what_was_counted_aside_is_added_up_and_cleared(
    rows: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scumble.gate import secret

    monkeypatch.setattr(secret, "WORTH_A_THREAD", 4)
    sketch = Sketch(scumble.EuclideanKernel(2.0), dimensions=1, rows=rows, buckets=5)
    aside = [sketch.secret.aside() for _ in range(3)]
    for k, counts in enumerate(aside):
        counts[:] = 10**k * np.arange(1, counts.size + 1).reshape(counts.shape)
    sketch.secret.take_in(aside, threads)
    assert sketch.secret.counts.ravel().tolist() == [111 * k for k in range(1, 5 * rows + 1)]
    assert not any(counts.any() for counts in aside)
