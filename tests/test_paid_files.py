"""Nothing that was paid for is lost: what another file replaces is kept, under a second name."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import scumble
from processes import in_child, in_threads
from scumble import files, learn
from scumble.cli import main
from scumble.cli.handover import replacing
from scumble.errors import FileError
from scumble.files import disk, places
from scumble.files.places import TURN, in_turn

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
posix = pytest.mark.skipif(os.name != "posix", reason="links and processes as POSIX has them")


@pytest.fixture(autouse=True)
def _desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def sketch() -> scumble.Sketch:
    return scumble.Sketch(scumble.EuclideanKernel(1.0), columns=["x"], rows=2, buckets=8).update([[1.0], [2.0]])


def made(kind: str) -> tuple:
    """Two of a kind: what they are differs by their noise, or by their identity alone."""

    def one():
        if kind == "model":
            return learn.PrivateLinearRegression(bounds=(0, 1), target_bounds=(0, 1)).fit([[0.5]], [0.5])
        if kind == "table":
            return scumble.TableSketch(scumble.Schema(smoker=scumble.Boolean())).release(epsilon=1.0)
        release = sketch().release(epsilon=1.0)
        return scumble.Bundle({"bus": release}) if kind == "bundle" else release

    return one(), one()


@pytest.mark.parametrize("kind", ["release", "bundle", "table", "model"])
def test_what_is_saved_over_another_leaves_that_beside_it(kind: str) -> None:
    first, second = made(kind)
    first.save("a.scumble")
    paid = Path("a.scumble").read_bytes()
    first.save("a.scumble")  # the same once more: nothing to say, nothing to keep
    assert os.listdir() == ["a.scumble"] and Path("a.scumble").read_bytes() == paid
    with pytest.warns(UserWarning, match=r"'a\.scumble' held another .* paid for .* it is kept as 'a\.1\.scumble'"):
        second.save("a.scumble")
    newer = Path("a.scumble").read_bytes()
    assert sorted(os.listdir()) == ["a.1.scumble", "a.scumble"]
    assert Path("a.1.scumble").read_bytes() == paid != newer
    with pytest.warns(UserWarning, match=r"a\.2\.scumble"):
        first.save("a.scumble")
    assert Path("a.2.scumble").read_bytes() == newer
    second.save("a.scumble")  # what is replaced is there as a.1.scumble
    assert sorted(os.listdir()) == ["a.1.scumble", "a.2.scumble", "a.scumble"]


def test_counters_do_not_take_the_place_of_what_was_paid_for() -> None:
    release, secret = sketch().release(epsilon=1.0), sketch()
    release.save("a.scumble")
    paid = Path("a.scumble").read_bytes()
    with pytest.warns(UserWarning, match=r"a\.1\.scumble"):
        secret.save("a.scumble")
    assert Path("a.1.scumble").read_bytes() == paid
    secret.save("b.secret")
    secret.update([[3.0]]).save("b.secret")  # counters can be counted again
    assert sorted(os.listdir()) == ["a.1.scumble", "a.scumble", "b.secret"]
    assert os.stat("b.secret").st_nlink == 1


@posix
def test_a_link_is_replaced_and_what_it_leads_to_stays() -> None:
    first, second = made("release")
    first.save("home.scumble")
    os.symlink("home.scumble", "a.scumble")
    second.save("a.scumble")
    assert sorted(os.listdir()) == ["a.scumble", "home.scumble"]
    assert scumble.load("home.scumble").identity == first.identity


def test_a_disk_without_second_names_gets_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    first, second = made("release")
    first.save("a.scumble")
    monkeypatch.setattr(os, "link", refuse)
    assert files.keep_paid("a.scumble", second.to_bytes) == "a.1.scumble" == files.kept_as("a.scumble")
    assert files.keep_paid("a.scumble", second.to_bytes) is None, "a copy of it is there"
    assert Path("a.1.scumble").read_bytes() == first.to_bytes()


@posix
@pytest.mark.parametrize("verb", ["build", "release"])
def test_what_a_killed_run_left_replaces_nothing_paid(
    verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """It was to be a.scumble; meanwhile another release has that name."""
    Path("p.csv").write_text("x\n1\n2\n")
    sketch().save("p.secret")
    line = ["release", "p.secret", "--epsilon", "1", "--out", "a.scumble"]
    if verb == "build":
        line = ["build", "p.csv", "--columns", "x", "--bandwidth", "1", "--rows", "2", "--buckets", "8"]
        line += ["--epsilon", "1", "--out", "a.scumble", "--checkpoint", "c.secret"]

    def dies(self: places.Place) -> None:
        if self.target == "a.scumble":
            os._exit(9)
        named(self)

    named = places.Place.take_name
    with monkeypatch.context() as patch:
        patch.setattr(places.Place, "take_name", dies)
        assert in_child(lambda: main(line)) == 9
    other = sketch().release(epsilon=1.0)
    other.save("a.scumble")
    capsys.readouterr()
    assert main(line) == 0
    told = capsys.readouterr().err
    assert "a.scumble already exists: it is kept as a.1.scumble." in told and "nothing was" in told
    assert scumble.load("a.1.scumble").identity == other.identity != scumble.load("a.scumble").identity


def test_a_file_that_holds_all_of_it_may_replace_it() -> None:
    one, other = np.zeros((1, 2), np.int64), np.ones((1, 2), np.int64)
    small, more, changed, named = (
        files.to_bytes("release", {"name": name}, arrays)
        for name, arrays in [
            *(("a", {"counts": one}), ("a", {"counts": one, "draws": other}), ("a", {"counts": other})),
            ("b", {"counts": one}),
        ]
    )
    assert disk._holds(small, small) and disk._holds(more, small)
    assert not any(disk._holds(new, old) for new, old in [(small, more), (changed, small), (named, small)])
    first, second = made("table")
    first.save("a.scumble")
    first.save("a.scumble", draws=True)
    assert os.listdir() == ["a.scumble"]
    with pytest.warns(UserWarning, match="is kept as"):
        second.save("a.scumble", draws=True)
    assert sorted(os.listdir()) == ["a.1.scumble", "a.scumble"]


@posix
def test_a_pipe_is_refused_at_once_and_a_secret_stays() -> None:
    first, _ = made("release")
    os.mkfifo("pipe")
    with pytest.raises(scumble.FileError, match="not a regular file"):
        first.save("pipe")
    sketch().save("a.secret")
    secret = Path("a.secret").read_bytes()
    with pytest.raises(scumble.SecretFileError, match="holds exact counters"):
        first.save("a.secret")
    assert Path("a.secret").read_bytes() == secret and sorted(os.listdir()) == ["a.secret", "pipe"]


# ---- saves to one name take turns ----


def release() -> scumble.Release:
    return sketch().release(epsilon=1.0)


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
    assert not any(in_threads(*saves))


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

    assert not any(in_threads(*[work] * 4))
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
    monkeypatch.setattr(places, "PATIENCE", 0.0)
    with (
        pytest.raises(FileError, match=r"Cannot write 'a': another process is writing it. Hint: try again later"),
        in_turn("a"),
    ):
        pass
    monkeypatch.setattr(places, "PATIENCE", 120.0)
    old = time.time() - 2 * places.OLD
    os.utime(places.beside("a", TURN)[0], (old, old))
    test_a_turn_is_one_at_a_time_and_leaves_nothing()


def test_what_waits_is_told_and_keeps_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "PATIENCE", 0.0)
    made = release()
    with in_turn("a.scumble"), pytest.raises(FileError, match="another process is writing it"):
        made.save("a.scumble")
    made.save("a.scumble")
    with replacing("a.scumble", b""), pytest.raises(FileError), disk.in_turn("a.scumble"):
        pass
    assert files.kind_at("a.scumble") == "release"
