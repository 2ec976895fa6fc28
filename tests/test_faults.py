"""Things break: a ledger killed at any step, forks, threads, links, failing draws. Nothing is lost or revealed."""

from __future__ import annotations

import io
import logging
import os
import signal
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import scumble
from processes import in_child, in_threads
from scumble.privacy import ledger
from scumble.sources import Build

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
]

KERNEL = scumble.EuclideanKernel(1.0)


def small() -> scumble.Sketch:
    made = scumble.Sketch(KERNEL, 1, rows=4, buckets=8, seed=1, design="iid")
    return made.update(np.zeros((50, 1)))


# ---- killed while charging ----


def test_killed_inside_sqlite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between any two instructions of SQLite's machine: a charge is there or not, never half."""
    book = scumble.Ledger.create(tmp_path / "ledger")
    book.open_dataset("people", epsilon=10**6)
    secret = small()
    connect = ledger.Ledger._connect
    steps = {"left": 0}

    def bomb() -> int:
        steps["left"] -= 1
        if steps["left"] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    def armed(self: ledger.Ledger, mode: str) -> Any:
        connection = connect(self, mode)
        connection.set_progress_handler(bomb, 1)
        return connection

    before, kills = 0, 0
    for step in range(1, 4000, 33):
        with monkeypatch.context() as patch:
            patch.setattr(ledger.Ledger, "_connect", armed)
            steps["left"] = step
            code = in_child(lambda: secret.release(1.0, ledger=book, dataset="people"))
        after = len(book.account("people").charges)
        assert after - before in (0, 1)
        if code == 0:
            assert after == before + 1
            break
        assert code == -signal.SIGKILL
        kills += 1
        before = after
    assert kills >= 10 and code == 0


# ---- killed while building ----


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four files of a table: four batches."""
    source = tmp_path / "table"
    source.mkdir()
    rng = np.random.default_rng(9)
    for k in range(4):
        pq.write_table(pa.table({"x": rng.normal(size=200), "who": rng.integers(0, 90, 200)}), source / f"{k}.parquet")
    return source


# ---- disks, writers, folders, links ----


@pytest.mark.parametrize("kind", ["stream", "checkpoint", "noise first", "share"])
def test_a_link_leads_to_the_file_that_is_gone_on_from(tmp_path: Path, folder: Path, kind: str) -> None:
    """The link stays a link, and the next version is where the last one was: nowhere do two of them live on."""
    (tmp_path / "far").mkdir()
    real, link = tmp_path / "far" / "real", tmp_path / "link"
    link.symlink_to(real)
    if kind == "stream":
        made = scumble.Stream(KERNEL, 1, periods=3, epsilon=1.0, rows=4, buckets=8)
        made.save(real)
        made.close()
        made = scumble.load_stream(link)
        made.update([[1.0]], batch="monday")
        made.save(link)
        made.close()
        assert scumble.load_stream(real).knows("monday")
    elif kind == "checkpoint":
        job = Build(str(folder), KERNEL, ["x"], rows=4, buckets=16, checkpoint=link, checkpoint_seconds=0)
        job.count()
        assert real.exists(), "the counters are where the link leads"
        job.release()
        job.discard_checkpoint()
        assert not real.exists()
    elif kind == "noise first":
        begun = scumble.Sketch(KERNEL, 1, rows=4, buckets=8).start_with_noise(epsilon=1.0)
        begun.save(real)
        begun.update([[1.0]]).save(link)
        assert scumble.load_secret(real).release().identity == begun.release().identity
    else:
        share = small().release_share(1.0, custodians=1)
        share.save(real)
        share.save(link)
        assert scumble.load_share(real).identity == share.identity
    assert link.is_symlink()


# ---- forks and threads ----


@pytest.mark.statistical(rate=1e-100)
def test_forked_workers_and_threads_never_share_noise(tmp_path: Path) -> None:
    """8 forks and 8 threads release copies of one sketch: no two equal, in any counter row or count."""

    def fresh() -> scumble.Sketch:
        return scumble.Sketch(KERNEL, 1, rows=4, buckets=256)

    base = fresh()
    warm = fresh().release(1.0)  # the parent has drawn before
    for k in range(8):

        def work(k: int = k) -> None:
            base.release(0.01).save(tmp_path / f"fork-{k}")
            fresh().start_with_noise(0.01).release().save(tmp_path / f"first-{k}")
            fresh().release_share(0.01, custodians=2).save(tmp_path / f"share-{k}")

        assert in_child(work) == 0
    assert not any(
        in_threads(*(lambda k=k: fresh().release(0.01).save(tmp_path / f"thread-{k}") for k in range(8)))  # type: ignore[misc]
    )
    shares = [scumble.load_share(path) for path in tmp_path.glob("share-*")]
    releases = [scumble.load(path) for path in tmp_path.iterdir() if not path.name.startswith("share")]
    tables = [warm.counts, *(one.counts for one in releases), *(one._counts for one in shares)]
    rows = [row.tobytes() for table in tables for row in table]
    assert len({one.identity for one in releases}) == 24
    assert len(set(rows)) == len(rows) == 4 * 33


@pytest.mark.statistical(rate=1e-100)
def test_a_fork_while_a_thread_is_releasing_does_not_hang(tmp_path: Path) -> None:
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            small().release(1.0)

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(10):

            def work() -> bool:
                signal.alarm(20)
                return small().release(1.0).counts.shape == (4, 8)

            assert in_child(work) == 0
    finally:
        stop.set()
        thread.join()


# ---- nothing secret is revealed ----


SECRET = 7_654_321


@pytest.mark.parametrize("verb", ["release", "release_share", "ledger"])
def test_a_release_that_fails_half_way_tells_nothing(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even to a logger that prints every local variable of every frame."""
    secret = small()
    secret._counts[:, 3] = SECRET
    exact = secret._counts.copy()
    book = scumble.Ledger.create(tmp_path / "ledger")
    book.open_dataset("people", epsilon=1)
    calls = {"left": 2}

    def fail(count: int, real: Callable = scumble.privacy.noise._entropy) -> np.ndarray:  # type: ignore[attr-defined]
        calls["left"] -= 1
        if calls["left"] < 0:
            raise OSError("no entropy")
        return real(count)

    monkeypatch.setattr("scumble.privacy.noise._entropy", fail)
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logging.getLogger().addHandler(handler)
    options: dict[str, Any] = {"release": {}, "release_share": {"custodians": 2}}.get(
        verb, {"ledger": book, "dataset": "people"}
    )
    calls["left"] = 0 if verb != "release_share" else 1
    with pytest.raises(OSError, match="no entropy") as caught:
        (secret.release_share if verb == "release_share" else secret.release)(1.0, **options)
    logging.getLogger().removeHandler(handler)
    beyond = caught.tb.tb_next  # this frame here knows the secret, of course
    story = traceback.StackSummary.extract(traceback.walk_tb(beyond), capture_locals=True)
    told = "".join(story.format()) + str(caught.value) + stream.getvalue()
    assert "locals" in told or "self = <Sketch" in told
    assert str(SECRET) not in told
    frame = beyond
    while frame is not None:
        for value in frame.tb_frame.f_locals.values():
            assert not (isinstance(value, np.ndarray) and np.array_equal(value, exact))
        frame = frame.tb_next
    assert secret._counts.size == 0, "the exact counters are gone"
