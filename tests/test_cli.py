"""The command line: what each verb does, on real files, in the words of the design."""

from __future__ import annotations

import csv
import importlib
import io
import json
import os
import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import scumble
from scumble.cli import VERBS, home, main
from scumble.cli.terminal import ProgressLine
from scumble.density.bundle import Bundle
from scumble.show import plots
from scumble.sources import Progress

DESIGN = shlex.split(
    "build people.parquet --columns age,income --kernel euclidean --bandwidth 1 --power 2 "
    "--scale age=10,income=20000 --epsilon 1 --delta 0 --neighbors add-remove --rows 1000 --buckets 1024 "
    "--seed 7 --out people.scumble"
)

THREE = "--columns age,income,mode --categories mode --scale age=10,income=20000 --bandwidth 1 --epsilon 1"
THREE += " --rows 16 --buckets 64"


def design(*more: str) -> list[str]:
    """The same with other options, each with its value."""
    words = [*DESIGN]
    for option, value in zip(more[::2], more[1::2], strict=True):
        words[words.index(option) + 1] = value
    return words


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plots, "_POINTS_2D", 31)
    monkeypatch.setattr(plots, "_POINTS_PAIRS", 31)
    rng = np.random.default_rng(4)
    frame = pl.DataFrame(
        {
            "name": [f"person {k}" for k in range(4000)],
            "age": rng.normal(45, 12, 4000),
            "income": rng.normal(50_000, 9_000, 4000),
            "mode": rng.choice(["bus", "car", "bike"], 4000),
        }
    )
    frame.write_parquet("people.parquet")
    frame[:2000].write_csv("north.csv")
    frame[2000:].write_csv("south.csv")
    Path("points.csv").write_text('id,age,income\nfirst,45,50000\n"a, b",20.50,1e4\n')
    return tmp_path


def run(line: str) -> int:
    """A command line as one would type it."""
    return main(shlex.split(line))


def said(capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_the_command_lines_of_the_design(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(DESIGN) == 0
    assert run("query people.scumble points.csv --out -") == 0
    out, _ = said(capsys)
    rows = list(csv.DictReader(io.StringIO(out)))
    assert list(rows[0]) == ["id", "age", "income", "kernel_sum", "density", "lower", "upper"]
    assert [row["id"] for row in rows] == ["first", "a, b"] and rows[1]["age"] == "20.50"
    release = scumble.load("people.scumble")
    Q = np.array([[45.0, 50_000.0], [20.5, 1e4]])
    lower, upper = release.interval(Q)
    for name, answers in (("kernel_sum", release.kernel_sum(Q)), ("lower", lower), ("upper", upper)):
        assert np.all(np.abs([float(row[name]) for row in rows] - answers) <= (upper - lower) / 1e5)
    assert run("info people.scumble --json") == 0
    facts = json.loads(said(capsys)[0])
    assert (facts["epsilon"], facts["delta"], facts["neighbors"]) == (1.0, 0.0, "add-remove")
    assert (facts["rows"], facts["buckets"], facts["columns"]) == (1000, 1024, ["age", "income"])
    assert facts["mechanism"] == "discrete-laplace" and facts["seed"] == 7
    assert facts["kernel"]["kernel"] == "euclidean" and facts["kernel"]["scale"] == {"age": 10.0, "income": 20_000.0}
    assert facts["count"] == release.count and abs(facts["count"] - 4000) < 600  # 24 scales of its Laplace noise


def test_out_and_quiet_and_pipes(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(design("--out", "-", "--rows", "16")) == 0
    captured = capsysbinary.readouterr()
    release = scumble.Release.from_bytes(captured.out)
    assert release.rows == 16 and captured.err == b""
    assert main([*DESIGN, "--quiet"]) == 0
    captured = capsysbinary.readouterr()
    assert captured.out == captured.err == b""
    read = subprocess.run(
        f"{sys.executable} -m scumble info - --json < people.scumble", shell=True, capture_output=True, check=True
    )
    assert json.loads(read.stdout)["rows"] == 1000


def test_stages_on_several_machines_equal_one_build(capsys: pytest.CaptureFixture[str]) -> None:
    same = shlex.split("--columns age,income --bandwidth 30000 --rows 32 --buckets 64 --seed 3")
    assert main(["sketch", "north.csv", *same, "--out", "north.secret"]) == 0
    assert main(["sketch", "south.csv", *same, "--out", "south.secret"]) == 0
    capsys.readouterr()
    assert run("merge north.secret south.secret --out all.secret") == 0
    assert "Delete north.secret, south.secret" in said(capsys)[1]
    assert main(["sketch", "people.parquet", *same, "--out", "whole.secret"]) == 0
    merged, whole = scumble.load_secret("all.secret"), scumble.load_secret("whole.secret")
    assert np.array_equal(merged._counts, whole._counts)
    assert stat.S_IMODE(os.stat("all.secret").st_mode) == 0o600
    said(capsys)
    assert run("merge all.secret north.secret --out twice.secret") == 4
    assert "count twice" in said(capsys)[1]
    assert run("release all.secret --epsilon 1 --out all.scumble --json") == 0
    assert json.loads(said(capsys)[0])["epsilon"] == 1.0
    assert os.path.getsize("all.secret") < 1000, "its counters are gone"
    assert stat.S_IMODE(os.stat("all.secret").st_mode) == 0o600
    assert run("release all.secret --epsilon 1 --out again.scumble") == 3, "a sketch can be released only once"
    assert "released before" in said(capsys)[1] and not os.path.exists("again.scumble")


def test_classes(capsys: pytest.CaptureFixture[str]) -> None:
    words = "build people.parquet --columns age --bandwidth 10 --label mode --classes bus,car,bike,ferry --epsilon 1"
    assert main([*words.split(), "--rows", "16", "--buckets", "32", "--out", "modes.scumble"]) == 0
    bundle = Bundle.load("modes.scumble")
    assert bundle.classes == ("bus", "car", "bike", "ferry") and bundle.label == "mode"
    assert run("query modes.scumble points.csv --json") == 0
    answers = json.loads(said(capsys)[0])
    assert {(row["id"], row["class"]) for row in answers} == {(k, c) for k in ("first", "a, b") for c in bundle.classes}
    assert run("info modes.scumble --json") == 0
    facts = json.loads(said(capsys)[0])
    assert facts["classes"] == list(bundle.classes) and facts["epsilon"] == 1.0 and len(facts["counts"]) == 4
    assert run("plot modes.scumble --class car --range age=0:100 --out car.svg") == 0
    assert run("plot modes.scumble --range age=0:100 --out any.svg") == 2


def test_mixed_tables_and_toml(capsys: pytest.CaptureFixture[str]) -> None:
    Path("people.toml").write_text(
        'source = "people.parquet"\ncolumns = ["age", "income", "mode"]\nepsilon = 1.0\nrows = 16\nbuckets = 64\n'
        'out = "toml.scumble"\n[[kernel]]\nname = "euclidean"\ncolumns = ["age", "income"]\nbandwidth = 1.0\n'
        'scale = { age = 10, income = 20000 }\n[[kernel]]\nname = "hamming"\ncolumns = ["mode"]\n'
    )
    assert run("build --config people.toml") == 0
    assert run(f"build people.parquet {THREE} --out flags.scumble") == 0
    assert scumble.load("toml.scumble").spec == scumble.load("flags.scumble").spec
    assert run("build --config people.toml --rows 8 --out won.scumble") == 0
    assert scumble.load("won.scumble").rows == 8
    Path("points.csv").write_text("age,income,mode\n45,50000,bus\n")
    said(capsys)
    assert run("query toml.scumble points.csv") == 0
    assert said(capsys)[0].splitlines()[1].startswith("45,50000,bus,")


def test_help_is_quick_and_whole(capsys: pytest.CaptureFixture[str]) -> None:
    """What makes help slow is what it imports: nothing of the field may be among it."""
    timed = [sys.executable, "-X", "importtime", "-m", "scumble", "--help"]
    shown = subprocess.run(timed, capture_output=True, text=True, check=True)
    assert not re.search(r"\| +(numpy|numba|pyarrow|scipy|sklearn|matplotlib)$", shown.stderr, re.M)
    for verb in VERBS:
        assert f"\n  {verb} " in shown.stdout
        assert main([verb, "--help"]) == 0 == main(["help", verb])
        out, err = said(capsys)
        assert f"\n  scumble {verb} " in out and not err


def test_progress_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    build = design("--rows", "8")
    assert main(build) == 0
    assert "rows/s" not in said(capsys)[1]
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    size = "--bandwidth 5 --rows 8 --buckets 8 --periods 2 --epsilon 1"
    assert run(f"stream start trips.secret --columns age {size} --folder trips") == 0
    for line in (build, ["stream", "append", "trips.secret", "people.parquet"]):
        said(capsys)
        assert main(line) == 0
        assert "100%  4,000 rows" in said(capsys)[1]
    assert run("stream append trips.secret nobody.csv") == 4

    def gone(_: str) -> int:
        raise OSError("the terminal is gone")

    with monkeypatch.context() as patch:
        patch.setattr(sys.stderr, "write", gone)
        line = ProgressLine(quiet=False)
        line(Progress(1, 1.0, None, None))  # no reason for a build to fail
        line.close()
    said(capsys)
    assert main([*build, "--quiet"]) == 0
    assert said(capsys)[1] == ""


def test_the_demo_tells_its_story(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("demo --out out") == 0
    out, _ = said(capsys)
    assert out.count("  95 % interval") == 2 and "scumble query out/density.scumble" in out
    for name in ("people.parquet", "people.scumble", "map.png", "people.html"):
        assert (Path("out") / name).stat().st_size > 50
    assert run("query out/density.scumble out/points.csv") == 0


@pytest.mark.parametrize("verb", VERBS)
def test_verbs_that_hold_private_tables_leave_no_core_dumps(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each as its first example begins, and then stopped: every verb but those that say why they need not."""
    module, done = importlib.import_module(home(verb)), []
    monkeypatch.setattr("scumble.cli.no_core_dumps", lambda: done.append("off"))
    monkeypatch.setattr(module, "run", lambda args: done.append("run"))
    line = next(line for line in module.EXAMPLE.split("\n") if line.startswith(f"scumble {verb}"))
    assert main(shlex.split(line)[1:]) == 0
    assert done == (
        ["off", "run"]
        if verb in ("build", "check", "schema", "sketch", "merge", "release", "fit", "stream", "compare", "publish")
        else ["run"]
    )


def test_what_is_replaced_is_told_before_it_is_charged(capsys: pytest.CaptureFixture[str]) -> None:
    """Twice the same line costs twice: the second run says so, unless it is to be quiet. What was paid for stays."""
    size = "--columns age --bandwidth 5 --rows 4 --buckets 8"
    book = "--ledger twice.ledger --dataset d"
    assert run("ledger twice.ledger --open d --epsilon 9") == 0
    said(capsys)
    lines, made = [], []
    for more in (book, book, "", f"{book} --quiet"):
        assert run(f"build north.csv {size} --epsilon 1 --out twice.scumble {more}") == 0
        lines.append(said(capsys)[1].splitlines())
        made.append(Path("twice.scumble").read_bytes())
    assert [len(one) for one in lines] == [1, 2, 2, 0]
    kept = [Path(f"twice.{number}.scumble").read_bytes() for number in (1, 2, 3)]
    assert [*kept, Path("twice.scumble").read_bytes()] == made, "each was paid for"
    Path("twice.csv").write_text("age\n41\nforty\n")
    assert run(f"build twice.csv {size} --epsilon 1 --out twice.scumble --invalid error") == 4
    assert not Path("twice.4.scumble").exists(), "what fails takes no name"
    for name in ("twice", "thrice"):
        assert run(f"sketch north.csv {size} --out {name}.secret") == 0
    assert run("release twice.secret --epsilon 1 --out thrice.secret") == 2, "it holds exact counters"
    assert run(f"sketch north.csv {size} --out twice.scumble") == 2, "it is published"
    assert run("merge twice.2.scumble twice.3.scumble --out twice.1.scumble") == 0
    assert Path("twice.1.1.scumble").read_bytes() == kept[0]


def test_what_is_not_ours_is_not_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    """A table, an edited schema, or any other file stays as it is, and nothing is counted."""
    kernel = "north.csv --columns age --bandwidth 5 --rows 4 --buckets 8"
    assert run(f"build {kernel} --epsilon 1 --out p.scumble") == 0
    capsys.readouterr()
    for line in (
        f"build {kernel} --epsilon 1 --out south.csv",
        f"build {kernel} --epsilon 1 --out new.scumble --checkpoint south.csv",
        f"sketch {kernel} --out south.csv",
        "merge p.scumble --out south.csv",
        "fit north.csv --task classify --target mode --bounds 0:1 --classes bus --epsilon 1 --out south.csv",
    ):
        assert run(line) == 2, line
        assert "'south.csv' already exists and is not a .scumble file" in said(capsys)[1]
    release = Path("p.scumble").read_bytes()
    for line, out in (
        ("schema north.csv --out", "south.csv"),
        ("sample p.scumble --bounds 0:100 --n 2 --out", "south.csv"),
        ("query p.scumble --at age=5 --out", "south.csv"),
        ("modes p.scumble --bounds 0:100 --starts 2 --out", "south.csv"),
        ("predict p.scumble north.csv --out", "south.csv"),
        ("plot p.scumble --range age=0:100 --out", "mine.png"),
        ("explore p.scumble --range age=0:100 --export", "mine.html"),
        ("explore p.scumble --range age=0:100 --out", "mine.html"),
    ):
        Path(out).write_text("mine")
        assert run(f"{line} {out}") == 2, line
        assert "--replace" in said(capsys)[1]
        assert Path(out).read_text() == "mine"
        if "predict" not in line:
            assert run(f"{line} {out} --replace") == 0
            assert Path(out).read_bytes() != b"mine"
    assert Path("p.scumble").read_bytes() == release


def test_what_is_given_twice_does_not_replace_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    build = "build north.csv --columns age,income --bandwidth 5 --epsilon 1 --out o.scumble"
    for line in (
        f"{build} --bounds age=0:100 --bounds income=0:9",
        f"{build} --bounds age=0:100,age=0:50",
        f"{build} --scale age=1,age=2",
        f"{build} --scale 2 --scale age=2",
        f"{build} --epsilon=1 --epsilon=1",
        *(f"{build} --{kind} age --{kind} income" for kind in ("whole", "dates", "categories")),
        "query o.scumble --at age=1,age=2",
        "explore o.scumble --values mode=bus,mode=car",
    ):
        assert run(line) == 2
        assert "twice" in said(capsys)[1]


def test_answers_in_text_have_the_digits_that_noise_leaves_and_json_all(capsys: pytest.CaptureFixture[str]) -> None:
    X = np.random.default_rng(0).normal(45, 9, (4_000, 1))
    sketch = scumble.Sketch(scumble.EuclideanKernel(9.0), columns=["age"], bounds=(0, 100))
    release = sketch.update(X).release(1.0)
    release.save("ages.scumble")
    Path("ages.csv").write_text("age\n45\n120\n")
    for verb in (["query", "ages.scumble", "ages.csv"], ["modes", "ages.scumble"]):
        assert main(verb) == 0
        short = list(csv.DictReader(capsys.readouterr().out.splitlines()))
        assert main([*verb, "--json"]) == 0
        captured = capsys.readouterr()
        full = json.loads(captured.out)
        for text, row in zip(short, full, strict=True):
            assert max(map(len, text.values())) < 12
            width = row["upper"] - row["lower"]
            for name in ("kernel_sum", "lower", "upper") if "kernel_sum" in row else ("density", "lower", "upper"):
                assert abs(float(text[name]) - row[name]) <= width / 1e5
        if verb[0] == "query":
            assert all(len(row["remarks"]) == 1 and row["remarks"][0] in captured.err for row in full)
            _, upper = release.interval([[100.0]])
            assert full[1]["lower"] <= 0.0 and full[1]["upper"] == pytest.approx(upper[0])
