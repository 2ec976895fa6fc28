"""Killed at each step around the charge, and run again: one charge, one release. What cannot be written costs nothing.

The ledger has room for one charge: whatever would be charged again is refused.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scumble
from processes import in_child
from scumble.cli import home, main, output
from scumble.files.places import Place
from scumble.privacy.ledger import Ledger

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
]
SIZE = ["--columns", "x", "--bandwidth", "1", "--rows", "4", "--buckets", "16", "--design", "iid"]
CHARGED = ["--epsilon", "1", "--ledger", "book", "--dataset", "people", "--quiet"]
KEPT = ["--checkpoint", "c.secret", "--out", "o.scumble"]
LINES = {
    "build": ["build", "q.csv", *SIZE, *CHARGED, *KEPT],
    "build, planned later": ["build", "q.csv", "--columns", "x", "--bandwidth", "1", *CHARGED, *KEPT],
    "build a table": ["build", "q.csv", "--schema", "q.toml", *CHARGED, *KEPT],
    "build, noise first": ["build", "q.csv", *SIZE, "--noise-first", *CHARGED, *KEPT],
    "release": ["release", "d.secret", *CHARGED, "--out", "o.scumble"],
    "fit": [
        *["fit", "q.csv", "--task", "regress", "--columns", "x", "--target", "y", "--bounds", "x=-5:5"],
        *["--target-bounds=-5:5", "--rows", "20", "--delta", "1e-6", *CHARGED, "--out", "o.scumble"],
    ],
    "stream": ["stream", "start", "o.secret", *SIZE, "--periods", "3", "--folder", "trips", *CHARGED],
}


@pytest.fixture(autouse=True)
def _desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    Path("q.csv").write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in rng.normal(size=(60, 2))))
    Path("q.toml").write_text('[columns.x]\nkind = "number"\nlow = -5\nhigh = 5\n')
    scumble.Ledger.create("book").open_dataset("people", epsilon=1, delta=1e-6)
    made = scumble.Sketch(scumble.EuclideanKernel(1.0), columns=["x"], rows=4, buckets=16)
    made.update(rng.normal(size=(50, 1))).save("d.secret")


def charges() -> int:
    return len(scumble.Ledger("book").account("people").charges)


STEPS = {
    "before the charge": (Ledger, "charge", False),
    "after the charge": (Ledger, "charge", True),
    "before it is written": (Place, "fill", False),
    "before it has its name": (Place, "fill", True),
    "after it has its name": (Place, "take_name", True),
    "while it is told": (None, "say", True),
}
"""The call that is meant, of the output's own file after the charge, and whether the signal comes after it."""


def hit(line: list[str], number: int, owner: Any, name: str, after: bool) -> int:
    """Run a command in a process of its own, which gets a signal at a step; its exit code."""

    def work() -> int:
        place = owner or import_module(home(line[0]))
        charge, call, charged = Ledger.charge, getattr(place, name), []

        def struck(self: Any, *args: Any, **options: Any) -> Any:
            ours = not isinstance(self, Place) or os.path.basename(self.target).startswith("o.")
            meant = place is Ledger or (charged and ours)
            if meant and not after:
                os.kill(os.getpid(), number)
            result = call(self, *args, **options)
            if meant and after:
                os.kill(os.getpid(), number)
            return result

        Ledger.charge = lambda *args, **options: (charge(*args, **options), charged.append(1))[0]  # type: ignore[method-assign]
        for where in (place,) if owner else (place, output):
            setattr(where, name, struck)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        return main(line)

    return in_child(work)


@pytest.mark.parametrize(
    ("verb", "step"),
    [
        *((verb, step) for verb in ("build", "build, noise first", "release", "stream") for step in STEPS),
        *((verb, "after the charge") for verb in ("build, planned later", "build a table")),
    ],
)
def test_a_command_that_is_killed_and_run_again_is_charged_once(verb: str, step: str) -> None:
    line = LINES[verb]
    assert hit(line, signal.SIGKILL, *STEPS[step]) == -signal.SIGKILL
    assert charges() == (step != "before the charge")
    again = main(line)
    is_there = step in ("after it has its name", "while it is told")
    assert again == (3 if is_there and verb in ("stream", "release") else 0)
    assert charges() == 1
    out = "o.secret" if verb == "stream" else "o.scumble"
    assert Path(out).exists() and not [name for name in os.listdir() if name.startswith(".scumble-")]
    if verb == "stream":
        made = scumble.load_stream(out)
        assert made.identity == scumble.Ledger("book").account("people").charges[0].identity
        made.close()
    else:
        assert scumble.load(out).identity == scumble.Ledger("book").account("people").charges[0].identity
        assert not Path("c.secret").exists()


@pytest.mark.parametrize(
    ("step", "number"),
    [
        ("after the charge", signal.SIGINT),
        ("after it has its name", signal.SIGTERM),
        ("while it is told", signal.SIGINT),
    ],
)
@pytest.mark.parametrize("verb", ["build", "release", "fit", "stream"])
def test_a_stop_from_the_charge_on_is_no_failure(verb: str, step: str, number: int) -> None:
    """It waits until all is written. A script that runs again whatever fails then pays once."""
    before = signal.signal(number, signal.default_int_handler)  # a process in the background may ignore it
    try:
        assert hit(LINES[verb], number, *STEPS[step]) == 0
    finally:
        signal.signal(number, before)
    assert charges() == 1 and [name for name in os.listdir() if name.startswith("o.")]
    assert not [name for name in os.listdir() if name.startswith(".scumble-")] and not Path("c.secret").exists()


@pytest.mark.parametrize(
    ("verb", "number", "again"),
    [("release", signal.SIGTERM, 3), ("build", signal.SIGKILL, 0)],
)
def test_a_program_that_is_hit_while_it_leaves_has_paid_once(verb: str, number: int, again: int) -> None:
    code = (
        "import atexit, os, sys\nfrom scumble.cli import main\n"
        f"atexit.register(os.kill, os.getpid(), {number:d})\nsys.exit(main())"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code, *LINES[verb]], check=False, env=environment)
    killed = number == signal.SIGKILL
    assert done.returncode == (-number if killed else 0) and charges() == 1
    assert Path("c.secret").exists() == killed
    assert main(LINES[verb]) == again and charges() == 1, "what ended well is a release of its own, and has no room"


@pytest.mark.parametrize("what", ["print_json", "tell_doubts"])
def test_what_cannot_be_said_is_not_paid_for_again(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its exit code is no success, so a script runs it again."""
    line = [*LINES["build"], "--json"]
    with monkeypatch.context() as patch:
        patch.setattr(f"scumble.cli.output.{what}", lambda *_: (_ for _ in ()).throw(OSError))
        assert main(line)
    made = scumble.load("o.scumble").identity
    assert main(line) == 0 and charges() == 1 and not Path("c.secret").exists()
    assert scumble.load("o.scumble").identity == made


@pytest.mark.parametrize("verb", ["build", "release"])
def test_a_copy_of_what_was_killed_is_paid_for_by_itself(verb: str) -> None:
    line, name = LINES[verb], {"build": "c.secret", "release": "d.secret"}[verb]
    assert hit(line, signal.SIGKILL, *STEPS["after the charge"]) == -signal.SIGKILL
    shutil.copy2(name, "copy.secret")
    copied = [{name: "copy.secret", "o.scumble": "p.scumble"}.get(word, word) for word in line]
    assert main(copied) == 3 and main(line) == 0, "the ledger has room for one"
    assert charges() == 1 and not Path("p.scumble").exists()


def test_a_start_that_was_killed_is_no_stream_yet() -> None:
    line = LINES["stream"]
    assert hit(line, signal.SIGKILL, *STEPS["after the charge"]) == -signal.SIGKILL
    assert main(["stream", "append", "o.secret", "q.csv"]) == 3
    assert main([*line, "--records-per-person", "2"]) == 3, "another promise has a charge of its own"
    assert main(line) == 0 and charges() == 1


@pytest.mark.parametrize("where", ["no/o.secret", "q.csv/o.secret", "/proc/o.secret", "full", "/proc/self", "there"])
def test_a_stream_that_cannot_be_written_costs_nothing(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = LINES["stream"]
    odd = "trips" if where == "/proc/self" else "o.secret" if "/" in where else ""
    if where == "there":
        Path("o.secret").write_text("mine")
    with monkeypatch.context() as patch:
        if where == "full":
            patch.setattr(os, "posix_fallocate", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
        assert main([where if word == odd else word for word in words]) in (3, 4, 5)
    assert charges() == 0 and Path("o.secret").exists() == (where == "there")
    Path("o.secret").unlink(missing_ok=True)
    assert main(words) == 0 and charges() == 1


def test_a_charge_that_was_interrupted_is_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor by the other process of two, each of which has noise of its own."""
    sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), columns=["x"], rows=4, buckets=16).update([[1.0]])
    charge: Any = Ledger.charge
    paid = {"epsilon": 0.5, "ledger": "book", "dataset": "people"}

    def interrupted(*args: Any, **options: Any) -> None:
        charge(*args, **options)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Ledger, "charge", interrupted)
        sketch.release(**paid)
    assert in_child(lambda: sketch.release(**paid)) == 0 and charges() == 2
    found = sketch.release(**paid)
    assert charges() == 2 and found.identity == scumble.Ledger("book").account("people").charges[0].identity


def _stream(path: str) -> None:
    made = scumble.Stream(scumble.EuclideanKernel(1.0), 1, periods=3, epsilon=1.0, rows=4, buckets=16)
    made.save(path)
    made.close()


def _small() -> scumble.Sketch:
    return scumble.Sketch(scumble.EuclideanKernel(1.0), dimensions=1, rows=4, buckets=16)


def _killed(verb: str, path: str) -> None:
    hit([path if word == "c.secret" else word for word in LINES[verb]], signal.SIGKILL, *STEPS["after the charge"])


NOISE = {
    "a stream": _stream,
    "a share": lambda path: _small().update([[1.0]]).release_share(epsilon=1, custodians=2).save(path),
    "noise first": lambda path: _small().start_with_noise(epsilon=1.0).save(path),
    "a charge": lambda path: _killed("build", path),
    "noise first, in a checkpoint": lambda path: _killed("build, noise first", path),
}


@pytest.mark.parametrize("what", NOISE)
def test_a_secret_file_with_noise_that_is_paid_for_is_not_replaced(what: str) -> None:
    NOISE[what]("x.secret")
    before = Path("x.secret").read_bytes()
    for save in (_small().update([[1.0]]).save, _small().start_with_noise(epsilon=1.0).save):
        with pytest.raises(scumble.SecretFileError):
            save("x.secret")
    assert main(["sketch", "q.csv", *SIZE, "--out", "x.secret"]) == 2
    assert Path("x.secret").read_bytes() == before


def test_noise_that_was_published_is_replaced() -> None:
    first = _small().start_with_noise(epsilon=1.0)
    first.save("x.secret")
    first.update([[1.0]]).save("x.secret")
    first.release()
    _small().update([[1.0]]).save("x.secret")
    assert scumble.load_secret("x.secret").count == 1
