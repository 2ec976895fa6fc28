"""Signals and kills at hundreds of fixed points, over every verb that writes.

A verb is run in a fork with a tracer that, just before the k-th line of the files that write, sends the process a
signal: SIGINT or SIGTERM, which its handlers get at once (as Python gives them at any line), or SIGKILL. The points are
fixed: every n-th line, from the first to the last, so each run of this test tries the same ones. A line that is come to
by the same calls again, as in a loop, is no new point. Then, whatever the point:

- the source is what it was, byte for byte, and the ledger opens;
- the secret is whole and can be released, or one release is whole; never both, never none, never two releases;
- after SIGINT and SIGTERM no draft is left; after SIGKILL the next run of the same command clears it;
- that next run ends well, and what it gives is the release that was there, if one was.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from traceback import walk_stack
from types import FrameType
from typing import Any

import numpy as np
import pytest

import scumble
from processes import before_each_line, in_child
from scumble import files
from scumble.cli import VERBS, handover, home, main, output, parsing
from scumble.cli import build as build_verb
from scumble.cli import release as release_verb
from scumble.cli import sketch as sketch_verb
from scumble.density import sketch
from scumble.errors import ScumbleError
from scumble.files import disk, format, interrupts, places
from scumble.files.interrupts import Stopped
from scumble.gate import gate, pledges, spending
from scumble.sources import building, checkpoint, onepass

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
]

STORING = [places, disk, format, pledges, handover, interrupts, output]
"""The files that write."""
DRAWING = [spending, gate, sketch, release_verb, sketch_verb, build_verb, building, checkpoint, parsing]

SIZE = ["--columns", "x", "--bandwidth", "1", "--rows", "4", "--buckets", "16", "--design", "iid", "--quiet"]
CHARGED = ["--epsilon", "1", "--ledger", "book", "--dataset", "people"]


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a table, a ledger, parts and releases; each run begins from a copy of it.

    In memory, where that is possible: thousands of writes need not wait for a disk, for no power fails here.
    """
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        home = Path(folder, "home")
        home.mkdir()
        monkeypatch.chdir(home)
        furnish(home)
        before = signal.signal(signal.SIGTERM, Stopped.handler)  # as the program itself would, from its first line on
        yield home
        signal.signal(signal.SIGTERM, before)


def furnish(home: Path) -> None:
    rng = np.random.default_rng(3)
    (home / "q.csv").write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in rng.normal(size=(60, 2))))
    scumble.Ledger.create("book").open_dataset("people", epsilon=10**6)
    kernel = scumble.EuclideanKernel(1.0)
    for name in ("d", "e"):
        made = scumble.Sketch(kernel, columns=["x"], rows=4, buckets=16, design="iid")
        made.update(rng.normal(size=(50, 1))).save(f"{name}.secret")
        made.release(1.0).save(f"{name}.scumble")
    (home / "points.csv").write_text("x\n0\n1\n")
    (home / "q.toml").write_text('[columns.x]\nkind = "number"\nlow = -3\nhigh = 3\ncells = 4\n')


def restore(home: Path, clean: Path) -> None:
    for path in home.iterdir():
        path.unlink()
    shutil.copytree(clean, home, dirs_exist_ok=True)
    spending._SPENT.clear()  # each run stands for a process of its own


def traced(words: list[str], modules: list[Any], at_line: Callable[[FrameType], None]) -> int:
    """Run a command, with this call before every line of these files; its exit code."""
    quiet = contextlib.redirect_stderr(io.StringIO())
    with open("../poured", "w") as sink, quiet, contextlib.redirect_stdout(sink), before_each_line(modules, at_line):
        try:
            return main(words)
        except KeyboardInterrupt as stop:  # before the program's first line of its own
            return 128 + getattr(stop, "number", signal.SIGINT)


def hit(words: list[str], number: int, point: int, modules: list[Any]) -> int:
    """Run it in a process of its own and send that a signal before the point-th line of these files.

    So what it holds goes with it. Its exit code, negative if it was killed.
    """
    line = 0

    def at_line(_: FrameType) -> None:
        nonlocal line
        line += 1
        if line == point:
            os.kill(os.getpid(), number) if number == signal.SIGKILL else signal.raise_signal(number)

    def work() -> int:
        gc.disable()  # it would touch, and so copy, every page that the two processes share
        return traced(words, modules, at_line)

    return in_child(work)


def quietly(words: list[str]) -> int:
    return traced(words, [], lambda _: None)


def whole_release(path: Path) -> bytes | None:
    try:
        scumble.load(path)
    except (ScumbleError, OSError):
        return None
    return path.read_bytes()


def whole_secret(path: Path) -> bool:
    try:
        scumble.load_secret(path)
    except ScumbleError:
        return False
    return True


def drafts(home: Path) -> list[str]:
    return sorted(path.name for path in home.iterdir() if path.name.startswith(".scumble-"))


def points_of(words: list[str], modules: list[Any]) -> list[int]:
    """At which of its lines in these files a command, left alone, has not been by the same calls; and its end."""
    line, points = 0, []
    known: set[tuple[tuple[str, int], ...]] = set()

    def at_line(frame: FrameType) -> None:
        nonlocal line
        line += 1
        place = tuple((one.f_code.co_filename, number) for one, number in walk_stack(frame))
        if place not in known:
            known.add(place)
            points.append(line)

    traced(words, modules, at_line)
    return [*points, line + 1]


def every_point(
    desk: Path, words: list[str], modules: list[Any], strides: dict[int, int], check: Callable[[int, int], None]
) -> int:
    """Run, hit, check, run again, from the same beginning each time; how many points were tried."""
    clean = desk.parent / "clean"
    shutil.copytree(desk, clean)
    restore(desk, clean)
    points = points_of(words, modules)
    tried = 0
    for number, stride in strides.items():
        for point in points[::stride]:
            restore(desk, clean)
            code = hit(words, number, point, modules)
            stopped = -signal.SIGKILL if number == signal.SIGKILL else 128 + number
            assert code in (0, stopped), f"point {point}: {code}"
            assert (desk / "q.csv").read_bytes() == (clean / "q.csv").read_bytes()
            scumble.Ledger("book").accounts()
            check(number, code)
            tried += 1
    return tried


STOPS = (signal.SIGINT, signal.SIGTERM)


@pytest.mark.parametrize("out", ["r.scumble", "-"])
def test_release(desk: Path, out: str) -> None:
    words = ["release", "d.secret", *CHARGED, "--out", out]
    old, states = {path.read_bytes() for path in desk.iterdir()}, set()

    def check(number: int, code: int) -> None:
        secret = whole_secret(desk / "d.secret")
        new = (path for path in desk.iterdir() if path.read_bytes() not in old)
        found = {data for path in new if (data := whole_release(path)) is not None}
        if out == "-" and (poured := whole_release(desk.parent / "poured")) is not None:
            assert not secret and found <= {poured}, "it was given out, and may still be there to be given out again"
            return
        assert secret != bool(found), "one of them, and only one"
        assert len(found) < 2
        if number in STOPS and out != "-":
            assert not drafts(desk)
        states.add((secret, bool(drafts(desk))))
        in_place = not secret and (desk / out).exists()
        spending._SPENT.clear()
        assert quietly(words) == (3 if in_place else 0)
        if out != "-":
            there = whole_release(desk / out)
            assert there is not None and (secret or there in found), "the same release"
        assert not whole_secret(desk / "d.secret") and not drafts(desk)
        charged = scumble.Ledger("book").account("people").charges
        assert len(charged) == 1

    strides = {signal.SIGINT: 27, signal.SIGTERM: 35, signal.SIGKILL: 23}
    if out == "-":
        strides = dict.fromkeys(strides, 135)
    tried = every_point(desk, words, [*STORING, *DRAWING], strides, check)
    assert tried >= (100 if out != "-" else 20), tried
    assert {secret for secret, _ in states} == {False, True}


@pytest.mark.parametrize("kept", [False, True])
def test_build(desk: Path, kept: bool) -> None:
    words = ["build", "q.csv", *SIZE, *CHARGED, "--out", "r.scumble"]
    words += ["--checkpoint", "c.secret", "--checkpoint-seconds", "0"] if kept else []

    def check(number: int, code: int) -> None:
        found = whole_release(desk / "r.scumble")
        if number in STOPS:
            assert not drafts(desk)
        if (desk / "c.secret").exists() and found is not None:
            assert not files.read(desk / "c.secret", expect="checkpoint").arrays, "no counters outlive the release"
        left = [whole_release(desk / name) for name in drafts(desk) if name.endswith(".ready")]
        spending._SPENT.clear()
        assert quietly(words) == 0
        assert not (desk / "c.secret").exists()
        assert not drafts(desk) and whole_release(desk / "r.scumble") is not None
        if any(left):
            assert whole_release(desk / "r.scumble") in left, "what was drawn is what is given out"

    strides = {signal.SIGINT: 123, signal.SIGTERM: 203, signal.SIGKILL: 75}
    if not kept:
        strides = {signal.SIGINT: 47, signal.SIGTERM: 87, signal.SIGKILL: 47}
    tried = every_point(desk, words, [*STORING, *DRAWING, onepass], strides, check)
    assert tried >= 30, tried


def test_sketch(desk: Path) -> None:
    words = ["sketch", "q.csv", *SIZE, "--out", "s.secret", "--checkpoint", "c.secret", "--checkpoint-seconds", "0"]

    def check(number: int, code: int) -> None:
        if number in STOPS:
            assert not drafts(desk)
        assert not (desk / "s.secret").exists() or whole_secret(desk / "s.secret")
        assert quietly(words) == 0
        assert scumble.load_secret("s.secret").count == 60
        assert not drafts(desk) and not (desk / "c.secret").exists(), "exact counters are in one file only"

    strides = {signal.SIGINT: 143, signal.SIGTERM: 279, signal.SIGKILL: 107}
    tried = every_point(desk, words, [*STORING, *DRAWING, onepass], strides, check)
    assert tried >= 14, tried


@pytest.mark.parametrize("kind", ["secret", "scumble"])
def test_merge(desk: Path, kind: str) -> None:
    words = ["merge", f"d.{kind}", f"e.{kind}", "--out", f"all.{kind}", "--quiet"]
    parts = {name: (desk / f"{name}.{kind}").read_bytes() for name in "de"}

    def check(number: int, code: int) -> None:
        assert {name: (desk / f"{name}.{kind}").read_bytes() for name in "de"} == parts
        if number in STOPS:
            assert not drafts(desk)
        assert quietly(words) == 0 and not drafts(desk)
        files.read(desk / f"all.{kind}", expect=("secret", "release"))

    strides = {signal.SIGINT: 135, signal.SIGTERM: 299, signal.SIGKILL: 135}
    assert every_point(desk, words, STORING, strides, check) >= 7


@pytest.mark.parametrize("end", ["csv", "parquet", "jsonl"])
def test_query(desk: Path, end: str) -> None:
    words = ["query", "d.scumble", "points.csv", "--out", f"a.{end}", "--quiet", "--replace"]
    (desk / f"a.{end}").write_bytes(b"old")

    def check(number: int, code: int) -> None:
        now = (desk / f"a.{end}").read_bytes()
        if number in STOPS:
            assert not drafts(desk)
        assert quietly(words) == 0 and not drafts(desk)
        assert now in (b"old", (desk / f"a.{end}").read_bytes()), "old or new, and whole"

    strides = {signal.SIGINT: 107, signal.SIGTERM: 203, signal.SIGKILL: 107}
    assert every_point(desk, words, STORING, strides, check) >= 8


OTHERS = {
    "modes": ["modes", "d.scumble", "--bounds", "x=-3:3", "--starts", "4", "--out", "o.csv", "--replace"],
    "sample": ["sample", "d.scumble", "--n", "3", "--seed", "1", "--bounds", "x=-3:3", "--out", "o.csv", "--replace"],
    "plot": ["plot", "d.scumble", "--range", "x=-3:3", "--out", "o.svg", "--replace"],
    "explore": ["explore", "d.scumble", "--range", "x=-3:3", "--export", "o.html", "--replace"],
    "fit": [
        *["fit", "q.csv", "--task", "regress", "--columns", "x", "--target", "y", "--bounds", "x=-5:5", "--rows", "20"],
        *["--target-bounds=-5:5", "--epsilon", "1", "--delta", "1e-6", "--out", "o.scumble"],
    ],
    "predict": ["predict", "model.scumble", "points.csv", "--out", "o.csv", "--replace"],
    "schema": ["schema", "q.csv", "--out", "o.toml", "--replace"],
    "stream": ["stream", "window", "nights", "--width", "1", "--out", "o.scumble"],
    "info": ["info", "d.scumble", "--html", "o.html", "--replace"],
    "plan": ["plan", "--schema", "q.toml", "--n", "600", "--out", "o.svg", "--replace"],
    "compare": ["compare", "d.scumble", "e.scumble", "--at", "x=0", "--out", "o.csv", "--replace"],
    "evidence": ["evidence", "d.scumble", "--out", "o.zip", "--replace"],
}
COVERED = {"release", "build", "sketch", "merge", "query", *OTHERS, "publish"}
"""The last of them writes a folder: tests/test_publishing.py."""
OPTIONS = {"explore": "--export", "info": "--html"}
"""By which a verb names its file, if not by --out."""


@pytest.mark.parametrize("verb", OTHERS)
def test_the_others(desk: Path, verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Pictures are drawn in memory, before a byte is written: this one takes no second.
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda figure, memory, **_: memory.write(bytes(9999)))
    nights = str(desk.parent / "nights")  # a folder: the desk has files alone
    words = [*(nights if word == "nights" else word for word in OTHERS[verb]), "--quiet"]
    if verb == "stream":
        made = scumble.Stream(scumble.EuclideanKernel(1.0), 1, periods=3, epsilon=1.0, rows=4, folder=nights)
        made.close_period()
        made.close_period()
    if verb == "predict":
        assert quietly([*OTHERS["fit"][:-1], "model.scumble", "--quiet"]) == 0
    assert quietly(words) == 0
    out = desk / words[words.index(OPTIONS.get(verb, "--out")) + 1]
    size = out.stat().st_size
    out.unlink()
    most = len(points_of(words, STORING))

    def check(number: int, code: int) -> None:
        assert not out.exists() or out.stat().st_size > size / 2
        if number in STOPS:
            assert not drafts(desk)

    strides = {signal.SIGINT: max(1, most // 3), signal.SIGTERM: most, signal.SIGKILL: max(1, most // 2)}
    assert every_point(desk, words, STORING, strides, check) >= 3
    assert quietly(words) == 0 and not drafts(desk)


def test_every_verb_that_writes_is_here() -> None:
    from importlib import import_module

    from scumble.cli.parsing import parser_of

    writing = {
        verb
        for verb, summary in VERBS.items()
        if any(
            name in parsing.OUTPUTS for name in parsing.paths_of(parser_of(verb, summary, import_module(home(verb))))
        )
    }
    assert writing == COVERED


# ---- the handlers themselves ----


def test_the_second_signal_of_a_patient_pass_acts_at_once() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # Spark, for one, has its own
    try:
        with pytest.raises(KeyboardInterrupt), interrupts.PatientInterrupts() as asked:
            signal.raise_signal(signal.SIGINT)
            assert asked()
            signal.raise_signal(signal.SIGINT)
            raise AssertionError("not reached")
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.fixture
def heard() -> Iterator[None]:
    """Ctrl-C as at a terminal: who starts the tests in the background has them ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
def test_handlers_come_back_and_ignored_signals_stay_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        others = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        with interrupts.Unbroken():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            with interrupts.Unbroken():
                assert all(signal.getsignal(number) is not handler for number, handler in others.items())
        assert {number: signal.getsignal(number) for number in others} == others
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_command_leaves_the_signals_as_it_found_them() -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    assert main(["--version"]) == 0
    assert {number: signal.getsignal(number) for number in before} == before


@pytest.mark.usefixtures("heard")
def test_a_handler_that_outlives_its_block_passes_signals_on() -> None:
    """As when another signal cuts the restoring short: the late handler must not swallow anything."""
    late = interrupts.Unbroken()
    with late:
        pass
    before = signal.signal(signal.SIGINT, late._note)
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
def test_every_stop_behaves_as_ctrl_c(
    desk: Path, number: int, code: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of the pass: a checkpoint, one line, an exit code that tells which signal it was."""
    add = scumble.Sketch.add

    def hit(self: scumble.Sketch, found: Any) -> scumble.Sketch:
        if len(found.records[0]):
            signal.raise_signal(number)
        return add(self, found)

    monkeypatch.setattr(scumble.Sketch, "add", hit)  # by one thread: of many, each counts into its own
    words = [
        "build",
        "q.csv",
        *SIZE,
        "--epsilon",
        "1",
        "--checkpoint",
        "c.secret",
        "--out",
        "r.scumble",
        "--threads",
        "1",
    ]
    before = signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    try:  # under nohup a hangup is ignored, and stays so
        assert main(words) == code
    finally:
        signal.signal(number, before)
    err = capsys.readouterr().err
    assert "Run the same command again" in err and err.count("\n") == 1
    assert json.dumps(files.read("c.secret", expect="checkpoint").metadata["rows"]) == "60"
    assert not drafts(desk) and not (desk / "r.scumble").exists()
