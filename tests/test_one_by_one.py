"""Saves to one name take turns: whatever two processes save at the same moment, both are there afterwards."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import scumble
from scumble import files
from scumble.cli import main
from scumble.cli.handover import replacing
from scumble.errors import FileError
from scumble.files import disk, places
from scumble.files import places as onebyone
from scumble.files.places import TURN, in_turn

posix = pytest.mark.skipif(os.name != "posix", reason="links and processes as POSIX has them")


@pytest.fixture(autouse=True)
def _desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def release() -> scumble.Release:
    sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), columns=["x"], rows=2, buckets=8).update([[1.0], [2.0]])
    return sketch.release(epsilon=1.0)


def at_once(monkeypatch: pytest.MonkeyPatch, saves: list[Callable[[], object]]) -> None:
    """Run them so that, if nothing held them back, all would look at the name before any of them takes it."""
    waits = threading.Barrier(len(saves))
    write_whole = places.write_whole

    def slowly(*args: object, **options: object) -> None:
        with contextlib.suppress(threading.BrokenBarrierError):
            waits.wait(timeout=0.5)
        write_whole(*args, **options)

    monkeypatch.setattr(places, "write_whole", slowly)
    monkeypatch.setattr("scumble.cli.output.write_whole", slowly)
    threads = [threading.Thread(target=save) for save in saves]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.filterwarnings("ignore:.*held another release")
def test_two_that_save_at_once_lose_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made = [release(), release(), release()]
    at_once(monkeypatch, [lambda one=one: one.save("a.scumble") for one in made])
    assert sorted(os.listdir()) == ["a.1.scumble", "a.2.scumble", "a.scumble"]
    assert {scumble.load(name).identity for name in os.listdir()} == {one.identity for one in made}


def test_the_command_line_takes_turns_too(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [[release().to_bytes(), release().to_bytes()] for _ in range(2)]
    for k, pair in enumerate(parts):
        for j, data in enumerate(pair):
            Path(f"{k}{j}.scumble").write_bytes(data)
    lines = [["merge", f"{k}0.scumble", f"{k}1.scumble", "--out", "m.scumble", "--quiet"] for k in range(2)]
    at_once(monkeypatch, [lambda line=line: main(line) for line in lines])
    assert {"m.scumble", "m.1.scumble"} <= {*os.listdir()}
    assert Path("m.scumble").read_bytes() != Path("m.1.scumble").read_bytes()


def test_one_that_ends_takes_nothing_from_one_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two command lines in one process the first ends while the second is about to give its file the name."""
    for name in ("a", "b"):
        release().save(f"{name}.scumble")
    made, first_at_work, second_at_work, first_is_done = places.Place.take_name, *(threading.Event() for _ in range(3))
    codes = []

    def in_step(place: places.Place) -> None:
        if place.target == "first.scumble":
            first_at_work.set()
            assert second_at_work.wait(60)
        else:
            second_at_work.set()
            assert first_is_done.wait(60)
        made(place)

    def merge(out: str) -> None:
        codes.append(main(["merge", "a.scumble", "b.scumble", "--out", out, "--quiet"]))

    monkeypatch.setattr(places.Place, "take_name", in_step)
    first, second = (threading.Thread(target=merge, args=[f"{name}.scumble"]) for name in ("first", "second"))
    first.start()
    assert first_at_work.wait(60)
    second.start()
    first.join()
    first_is_done.set()
    second.join()
    assert codes == [0, 0] and {"first.scumble", "second.scumble"} <= {*os.listdir()}


def test_a_turn_is_one_at_a_time_and_leaves_nothing() -> None:
    inside, most = [], []

    def work() -> None:
        for _ in range(5):
            with in_turn("a"):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.002)
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 20 and os.listdir() == []


@posix
def test_a_killed_run_does_not_block() -> None:
    """Its claim is left behind, and is removed by the next."""
    code = (
        "import os, signal\nfrom scumble.files.places import in_turn\n"
        "with in_turn('a'): os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run(
        [sys.executable, "-c", code], check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    assert [name.endswith(f".{TURN}") for name in os.listdir()] == [True]
    with in_turn("a"):
        assert len(places.beside("a", TURN)) == 1
    assert os.listdir() == []


@posix
def test_without_locks_age_tells_and_only_one_of_those_who_wait_gets_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "lock", lambda _: None)
    left = places.Place("a", ending=TURN)
    left.owed = True  # as if its process had been killed
    left.close()
    monkeypatch.setattr(onebyone, "PATIENCE", 0.0)
    with (
        pytest.raises(FileError, match=r"Cannot write 'a': another process is writing it. Hint: try again later"),
        in_turn("a"),
    ):
        pass
    monkeypatch.setattr(onebyone, "PATIENCE", 120.0)
    old = time.time() - 2 * onebyone.OLD
    os.utime(places.beside("a", TURN)[0], (old, old))
    test_a_turn_is_one_at_a_time_and_leaves_nothing()


def test_what_waits_is_told_and_keeps_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onebyone, "PATIENCE", 0.0)
    made = release()
    with in_turn("a.scumble"), pytest.raises(FileError, match="another process is writing it"):
        made.save("a.scumble")
    made.save("a.scumble")
    with replacing("a.scumble", b""), pytest.raises(FileError), disk.in_turn("a.scumble"):
        pass
    assert files.kind_at("a.scumble") == "release"
