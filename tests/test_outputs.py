"""An output is never an input; a secret is released once; what cannot be written is not paid for; leftovers go."""

from __future__ import annotations

import argparse
import errno
import itertools
import os
import shutil
import signal
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scumble
from processes import in_child, in_children
from scumble.cli import VERBS, home, main
from scumble.cli.handover import room
from scumble.cli.parsing import OUTPUTS, parser_of, paths_of
from scumble.errors import ParameterError
from scumble.files import places
from scumble.gate import spending
from scumble.sources.paths import require_apart

INPUTS = {"source", "stream", "files", "release", "other", "query", "points", "model", "table", "schema", "secret"}
INPUTS |= {"file", "ledger", "config", "claim", "releases"}
SIZE = ["--columns", "x", "--bandwidth", "1", "--rows", "4", "--buckets", "16", "--design", "iid", "--quiet"]
BUILD = ["build", "q.csv", *SIZE, "--epsilon", "1"]
CHARGED = ["--ledger", "book", "--dataset", "people"]
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
posix = pytest.mark.skipif(os.name != "posix", reason="links, locks and signals as POSIX has them")


def make_sketch(seed: int = 0) -> scumble.Sketch:
    made = scumble.Sketch(scumble.EuclideanKernel(1.0), columns=["x"], rows=4, buckets=16, design="iid")
    return made.update(np.random.default_rng(seed).normal(size=(50, 1)))


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, points, a ledger, a secret and a release: made once, for each test to have a copy."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "q.csv").write_text("x,y\n" + "".join(f"{k},{k}\n" for k in range(40)))
    (folder / "points.csv").write_text("x\n1\n")
    scumble.Ledger.create(folder / "book").open_dataset("people", epsilon=2)
    make_sketch().save(folder / "d.secret")
    make_sketch(1).release(1.0).save(folder / "r.scumble")
    return folder


@pytest.fixture(autouse=True)
def desk(furnished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(furnished, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    spending._SPENT.clear()
    return tmp_path


def charges() -> int:
    return len(scumble.Ledger("book").account("people").charges)


def drafts(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob(".scumble-*"))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# ---- every output against every input, of every verb ----


def parser(verb: str) -> argparse.ArgumentParser:
    return parser_of(verb, VERBS[verb], import_module(home(verb)))


@pytest.mark.parametrize("verb", VERBS)
def test_every_path_of_every_verb_is_known_as_input_or_output(verb: str) -> None:
    """A new option for a file must be put into one of the two lists, and then is guarded."""
    for name in paths_of(parser(verb)):
        assert (name in INPUTS) != (name in OUTPUTS), f"{verb}: {name}"


PAIRS = [
    (verb, read, written)
    for verb in VERBS
    for read, written in itertools.permutations(paths_of(parser(verb)), 2)
    if written in OUTPUTS and (read in INPUTS or read < written)
]
WAYS = {"same": "{}", "symbolic link": "link.csv", "hard link": "hard.csv", "other spelling": "./x/../{}"}
TRIED = [(*pair, "same") for pair in PAIRS] + [("build", "source", "out", way) for way in list(WAYS)[1:]]
ENDINGS = {"export": ".html", "html": ".html", "checkpoint": ".secret"}


def test_there_are_pairs_of_every_verb_that_reads_and_writes() -> None:
    alone = {"check", "count", "sql", "ledger", "audit", "demo", "mcp", "verify"}
    assert {verb for verb, _, _ in PAIRS} == set(VERBS) - alone
    assert ("build", "ledger", "out") in PAIRS and ("release", "ledger", "out") in PAIRS
    assert ("query", "points", "out") in PAIRS and ("build", "checkpoint", "out") in PAIRS


@posix
@pytest.mark.parametrize(("verb", "read", "written", "way"), TRIED)
def test_no_output_is_an_input(
    verb: str, read: str, written: str, way: str, desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    actions = paths_of(parser(verb))
    real = "ledger-file" if read == "ledger" else f"one{ENDINGS.get(written, '.csv')}"
    Path(real).write_bytes(b"epsilon = 1\n" if read == "config" else b"precious")
    other = WAYS[way].format(real)
    os.mkdir("x")
    if way == "symbolic link":
        os.symlink(real, other)
    elif way == "hard link":
        os.link(real, other)
    fixed = [action.choices for action in parser(verb)._actions if not action.option_strings and action.choices]
    words = [verb, *(list(choices)[-1] for choices in fixed)]
    for name, action in actions.items():
        if name == read:
            value = real
        elif name == written:
            value = other
        elif action.option_strings and not action.required:
            continue
        else:
            value = "another.csv"
        words += [action.option_strings[0], value] if action.option_strings else [value]
    for action in parser(verb)._actions:
        if action.required and action.option_strings and action.dest not in actions:
            words += [action.option_strings[0], next(iter(action.choices)) if action.choices else "x"]
    before = contents(desk)
    assert main(words) == 2, words
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and ("would overwrite" in said or "are the same file" in said), said
    assert contents(desk) == before


def test_folders_patterns_databases_and_streams(desk: Path) -> None:
    os.mkdir("t")
    shutil.copy("q.csv", "t/a.csv")
    sources = {"t": "t/new.csv", "t/*.csv": "t/new.csv", "t/**/*.csv": "t/in/new.csv"}
    os.mkdir("t/in")
    for source, out in sources.items():
        with pytest.raises(ParameterError, match="lies among"):
            require_apart({"--out": out}, {"SOURCE": [source]})
        with pytest.raises(ParameterError, match=r"overwrite|among"):
            require_apart({"--out": "t/a.csv"}, {"SOURCE": [source]})
        require_apart({"--out": "t/new.scumble", "--checkpoint": "t/c.secret"}, {"SOURCE": [source]})
        require_apart({"--out": "new.csv"}, {"SOURCE": [source]})
    for outputs, inputs, every in (
        ({"--out": "t/new.scumble"}, {"SOURCE": ["t"]}, True),
        ({"--out": "people.db-wal"}, {"SOURCE": ["sqlite:///people.db"]}, False),
        ({"--out": "t"}, {"SOURCE": ["t"]}, False),
        ({"--out": "Café", "--checkpoint": "CAFE\u0301"}, {}, False),
    ):
        with pytest.raises(ParameterError):
            require_apart(outputs, inputs, every=every)
    require_apart({"--out": "o"}, {"SOURCE": ["postgresql://host/name", "s3://bucket/o"]})


@posix
def test_standard_streams_are_files_too(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    python = f"{sys.executable} -m scumble"
    before = Path("q.csv").read_bytes()
    shell(f"{python} build - {' '.join(SIZE)} --epsilon 1 --out q.csv < q.csv", 2, "would overwrite")
    shell(f"{python} query r.scumble q.csv >> q.csv", 2, "would overwrite")
    shell(f"{python} {' '.join(BUILD)} --out /dev/stdout > o", 2, "not a regular file. Hint: '-'")
    assert main([*BUILD, "--out", "/dev/null"]) == 2 and "not a regular file" in capsys.readouterr().err
    assert Path("q.csv").read_bytes() == before and os.path.islink("/dev/stdout")


def shell(line: str, code: int, words: str = "") -> str:
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    assert done.returncode == code, (line, done.returncode, done.stderr)
    assert words in done.stderr and "bug" not in done.stderr and "Traceback" not in done.stderr, done.stderr
    return done.stdout


def test_the_library_keeps_its_checkpoint_apart(desk: Path) -> None:
    options: dict[str, Any] = {"rows": 4, "buckets": 16, "epsilon": 1.0, "ledger": "book", "dataset": "people"}
    before = contents(desk)
    for name in ("q.csv", "./q.csv", "book"):
        with pytest.raises(ParameterError):
            scumble.build("q.csv", scumble.EuclideanKernel(1.0), ["x"], **options, checkpoint=name)
    assert contents(desk) == before


# ---- one secret, one release ----


@posix
@pytest.mark.parametrize("way", ["same", "symbolic link", "other folder"])
def test_two_releases_at_once(desk: Path, way: str) -> None:
    """Both begin at the same moment, three times over: one wins, the other is refused on privacy grounds."""
    os.mkdir("sub")
    names = {"same": "d.secret", "symbolic link": "link.secret", "other folder": "sub/../d.secret"}
    if way == "symbolic link":
        os.symlink("d.secret", "link.secret")
    original = Path("d.secret").read_bytes()
    for turn in range(3):
        Path("d.secret").write_bytes(original)

        def wins(which: int, turn: int = turn) -> bool:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            secret = ("d.secret", names[way])[which]
            code = main(["release", secret, "--epsilon", "1", "--quiet", "--out", f"{turn}-{which}.scumble"])
            assert code in (0, 3)
            return code == 0

        assert sum(in_children(2, wins)) == 1
        assert len(list(desk.glob(f"{turn}-*.scumble"))) == 1
        with pytest.raises(scumble.BudgetError):
            scumble.load_secret("d.secret")
    assert not drafts(desk)


@posix
def test_a_link_leads_to_the_real_secret(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkdir("far")
    os.symlink("../d.secret", "far/link.secret")
    assert main(["release", "far/link.secret", "--epsilon", "1", "--out", "o.scumble"]) == 0
    assert os.path.islink("far/link.secret")
    assert main(["release", "d.secret", "--epsilon", "1", "--out", "p.scumble"]) == 3
    assert "released before" in capsys.readouterr().err and not os.path.exists("p.scumble")


@posix
def test_a_secret_with_two_names_is_refused(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.link("d.secret", "twin.secret")
    before = contents(desk)
    assert main(["release", "d.secret", "--epsilon", "1", *CHARGED, "--out", "o.scumble"]) == 3
    assert "several names" in capsys.readouterr().err and contents(desk) == before
    os.unlink("twin.secret")
    assert main(["release", "d.secret", "--epsilon", "1", *CHARGED, "--out", "o.scumble"]) == 0


def test_keeping_a_secret_needs_a_ledger(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["release", "d.secret", "--epsilon", "1", "--keep-secret", "--out"]
    assert main([*words, "o.scumble"]) == 3
    assert "needs a ledger" in capsys.readouterr().err and not os.path.exists("o.scumble")
    for name, code in (("a", 0), ("b", 0), ("c", 3)):
        spending._SPENT.clear()
        assert main([*words, f"{name}.scumble", *CHARGED]) == code
    assert charges() == 2 and scumble.load_secret("d.secret").count == 50


@posix
@pytest.mark.parametrize("budget", ["the same", "another"])
@pytest.mark.parametrize("step", ["before the note", "before the name"])
def test_a_killed_release_is_taken_or_told(
    desk: Path, step: str, budget: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["release", "d.secret", "--epsilon", "1", *CHARGED, "--out", "o.scumble"]
    real, seen = os.replace, []

    def die(a: str, b: str) -> None:
        seen.append(b)
        if len(seen) == (2 if step == "before the note" else 3):
            os.kill(os.getpid(), signal.SIGKILL)
        real(a, b)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", die)
        assert in_child(lambda: main(words)) == -signal.SIGKILL
    (ready,) = desk.glob(".scumble-*.ready")
    whole = scumble.load(ready)
    assert not os.path.exists("o.scumble")
    assert step == "before the name" or os.stat(ready).st_mode & 0o077 == 0, "nobody else can have seen it"
    with pytest.raises(scumble.BudgetError, match="released"):
        scumble.load_secret("d.secret")
    assert main(["info", "r.scumble"]) == 0
    capsys.readouterr()
    if budget == "another":
        assert main([*words[:3], "0.5", *words[4:]]) == 3
        said = capsys.readouterr().err
        assert whole.identity in said and str(ready) in said and ready.exists()
        assert main(["query", "r.scumble", "points.csv", "--out", "o.csv"]) == 0
    assert main(words) == 0
    assert "nothing was drawn or charged again" in capsys.readouterr().err
    assert scumble.load("o.scumble").identity == whole.identity and charges() == 1
    assert not drafts(desk) and main(words) == 3


# ---- nothing is paid for that cannot be written ----

FULL = {
    "release": ["release", "d.secret", "--epsilon", "1", *CHARGED],
    "build": [*BUILD, *CHARGED],
    "build with noise first": [*BUILD, *CHARGED, "--noise-first"],
    "build with a checkpoint": [*BUILD, *CHARGED, "--checkpoint", "c.secret"],
    "fit": [
        *["fit", "q.csv", "--task", "regress", "--columns", "x", "--target", "y", "--bounds", "x=0:50", "--rows", "20"],
        *["--target-bounds", "0:50", "--epsilon", "1", *CHARGED],
    ],
}


@pytest.mark.parametrize("verb", FULL)
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS])
def test_a_full_disk_costs_nothing(
    desk: Path, verb: str, number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    before = contents(desk)
    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", full, raising=False)
        assert main([*FULL[verb], "--out", "o.scumble"]) == 5
    assert "Cannot write" in capsys.readouterr().err
    assert contents(desk) == before and charges() == 0
    spending._SPENT.clear()
    assert main([*FULL[verb], "--out", "o.scumble"]) == 0 and charges() == 1


@pytest.mark.parametrize("verb", FULL)
def test_names_and_folders_that_cannot_be_written_cost_nothing(desk: Path, verb: str) -> None:
    os.mkdir("folder")
    before = contents(desk)
    for out, codes in (("n" * 300, (5,)), ("nowhere/o", (4,)), ("folder", (2,)), ("q.csv/o", (4, 5))):
        assert main([*FULL[verb], "--out", out]) in codes, out
    assert contents(desk) == before and charges() == 0


@posix
@pytest.mark.parametrize("verb", FULL)
def test_a_read_only_folder_costs_nothing(desk: Path, verb: str) -> None:
    os.mkdir("shut")
    for path in (desk, *list(desk.parents)[:3]):
        if os.stat(path).st_uid == os.geteuid() and path != Path("/tmp"):
            os.chmod(path, 0o755)
    os.chmod("shut", 0o555)

    def as_nobody() -> int:
        if os.geteuid() == 0:
            for path in [desk, *desk.iterdir()]:
                os.chown(path, 65534, 65534)
            os.chown("shut", 0, 0)
            os.setgid(65534)
            os.setuid(65534)
        return main([*FULL[verb], "--out", "shut/o.scumble"])

    assert in_child(as_nobody) == 5
    assert charges() == 0 and scumble.load_secret("d.secret").count == 50 and not drafts(desk)


def test_room_is_enough_for_every_kind(desk: Path) -> None:
    """Also of the longest numbers and names."""
    long = [f"column {k} " + "é" * 40 for k in range(30)]
    kernel = scumble.EuclideanKernel(1.0, scale=dict.fromkeys(long, 0.1 + 0.2))
    for options in ({"rows": 1, "buckets": 2}, {"rows": 50, "buckets": 64, "design": "sobol"}):
        made = scumble.Sketch(kernel, columns=long, seed=2**64 - 1, **options)
        made._counts[:] = 2**61
        for budget in ({"epsilon": 1 / 3}, {"epsilon": 0.7, "delta": 1e-7, "records_per_person": 3}):
            copy = scumble.Sketch.from_spec(made.spec)
            copy._counts[:] = made._counts // 4
            assert len(copy.release(**budget).to_bytes()) <= room(made.spec)
    releases = {f"class {k} " + "é" * 30: make_sketch(k).release(0.3) for k in range(20)}
    bundle = scumble.Bundle(releases, label="é" * 40)
    assert len(bundle.to_bytes()) <= room(bundle.spec, 20) + 20 * 2 * 6 * 40


# ---- leftovers ----


@posix
def test_the_next_run_clears_what_a_killed_one_left(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files of the dead go, with one line that says so; files of the living, and of other outputs, stay."""
    for target in ("o.scumble", "other.scumble", "c.secret"):

        def killed(target: str = target) -> None:
            places.Place(target, secret=True).fill(b"exact counters")
            os.kill(os.getpid(), signal.SIGKILL)

        assert in_child(killed) == -signal.SIGKILL
    living = places.Place("o.scumble")
    assert len(drafts(desk)) == 4
    words = [*BUILD, "--checkpoint", "c.secret", "--out", "o.scumble"]
    words.remove("--quiet")
    assert main(words) == 0
    said = capsys.readouterr().err
    assert said.count("Removed an unfinished file") == 2 and "'o.scumble'" in said and "'c.secret'" in said
    assert len(drafts(desk)) == 2 and os.path.basename(living.draft) in drafts(desk)
    living.close()
    assert main(["sketch", "q.csv", *SIZE, "--out", "other.scumble"]) == 0
    assert not drafts(desk)


@posix
def test_a_draft_is_locked_from_its_first_moment(desk: Path) -> None:
    """A hundred drafts made while another thread clears all it can: none is lost."""
    stop = threading.Event()

    def clearing() -> None:
        while not stop.is_set():
            places.clear_leftovers("o")

    thread = threading.Thread(target=clearing)
    thread.start()
    try:
        for k in range(100):
            places.write_whole("o", b"%d" % k)
            assert Path("o").read_bytes() == b"%d" % k
    finally:
        stop.set()
        thread.join()
    assert not drafts(desk)


# ---- closed, full and broken streams ----


@posix
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("info r.scumble >&-", 5),
        ("info r.scumble > /dev/full", 5),
        ("info r.scumble 2>&-", 0),
        ("info - <&-", 5),
        ("build - --epsilon 1 --bandwidth 1 --out o.scumble <&-", 4),
        ("build q.csv --columns x --bandwidth 1 --epsilon 1 --out o.scumble >&- 2>&- <&-", 0),
        ("build q.csv --columns x --bandwidth 1 --epsilon 1 --out - > /dev/full", 5),
        ("--help > /dev/full", 5),
        ("bild 2>&-", 2),
        ("query r.scumble many.csv | head -n 1 > /dev/null; exit ${PIPESTATUS[0]}", 141),
    ],
)
def test_streams_that_are_closed_full_or_broken(desk: Path, line: str, code: int) -> None:
    if "many.csv" in line:
        (desk / "many.csv").write_text("x\n" + "1\n" * 100_000)
    shell(f"{sys.executable} -m scumble {line}", code)
    assert not drafts(desk)


@posix
def test_a_release_that_nobody_could_take_is_kept(desk: Path) -> None:
    """To a full or broken standard output: the release waits, whole, and the same command gives it out."""
    line = f"{sys.executable} -m scumble release d.secret --epsilon 1 {' '.join(CHARGED)} --out -"
    shell(f"{line} > /dev/full", 5)
    (ready,) = desk.glob(".scumble-*.ready")
    identity = scumble.load(ready).identity
    done = subprocess.run(["bash", "-c", line], capture_output=True)
    assert done.returncode == 0 and scumble.Release.from_bytes(done.stdout).identity == identity
    assert charges() == 1 and not drafts(desk)
    assert b"nothing was drawn" in done.stderr
    assert main(["release", "d.secret", "--epsilon", "1", *CHARGED, "--out", "-"]) == 3
