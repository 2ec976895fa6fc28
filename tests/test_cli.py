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
import pyarrow.parquet as pq
import pytest

import scumble
from scumble.bundle import Bundle
from scumble.cli import VERBS, demo, home, main
from scumble.cli.arguments import LISTS
from scumble.cli.parsing import parser_of
from scumble.cli.progress import ProgressLine
from scumble.sources import Progress

DESIGN = shlex.split(
    "build people.parquet --columns age,income --kernel euclidean --bandwidth 1 --power 2 "
    "--scale age=10,income=20000 --epsilon 1 --delta 0 --neighbors add-remove --rows 1000 --buckets 1024 "
    "--seed 7 --out people.scumble"
)


def design(*more: str) -> list[str]:
    """The same with other options, each with its value."""
    words = [*DESIGN]
    for option, value in zip(more[::2], more[1::2], strict=True):
        words[words.index(option) + 1] = value
    return words


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
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


def test_the_card_is_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*DESIGN, "--records-per-person", "3"]) == 0
    assert run("info people.scumble") == 0
    card = " ".join(said(capsys)[0].split())
    for words in (
        "people.scumble: a private release",
        "ε = 1, δ = 0",
        "at δ = 1e-6",
        "every person with up to 3 records",
        "add-remove",
        "a factor of at most 2.72",
        "discrete Laplace noise",
        "1,000 rows × 1,024 buckets",
        "euclidean (bandwidth 1, power 2, scale age=10, income=20,000)",
        "Records about",
        "standard error of about",
    ):
        assert words in card, words


def test_releases_hold_no_name_of_the_source(folder: Path) -> None:
    assert main(DESIGN) == 0
    data = Path("people.scumble").read_bytes()
    for word in (str(folder), "people.parquet", os.uname().nodename, "4000"):
        assert word.encode() not in data[: int.from_bytes(data[:8], "little")], word


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


@pytest.mark.parametrize("end", ["csv", "parquet", "arrow", "json", "jsonl"])
def test_answers_in_every_table_format(end: str) -> None:
    assert main(design("--rows", "16")) == 0
    assert main(["query", "people.scumble", "points.csv", "--out", f"answers.{end}", "--confidence", "0.5"]) == 0
    read = {
        "csv": pl.read_csv,
        "parquet": pl.read_parquet,
        "arrow": pl.read_ipc,
        "json": lambda path: pl.DataFrame(json.loads(Path(path).read_text())),
        "jsonl": pl.read_ndjson,
    }[end](f"answers.{end}")
    assert read["age"].to_list() == [45.0, 20.5]
    release = scumble.load("people.scumble")
    lower, upper = release.interval([[45.0, 50_000.0], [20.5, 1e4]], 0.5)
    assert np.all(np.abs(read["lower"].to_numpy() - lower) <= (upper - lower) * (1e-5 if end == "csv" else 1e-12))
    assert sorted(Path().glob("*.part")) == []


def test_stages_on_several_machines_equal_one_build(capsys: pytest.CaptureFixture[str]) -> None:
    same = shlex.split("--columns age,income --bandwidth 30000 --rows 32 --buckets 64 --seed 3")
    assert main(["sketch", "north.csv", *same, "--out", "north.secret"]) == 0
    assert main(["sketch", "south.csv", *same, "--out", "south.secret"]) == 0
    capsys.readouterr()
    assert run("merge north.secret south.secret --out all.secret") == 0
    assert "north.secret, south.secret still hold exact counters" in said(capsys)[1]
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
    assert run("release whole.secret --epsilon 1 --out whole.scumble --keep-secret") == 3, "that needs a ledger"
    assert "needs a ledger" in said(capsys)[1] and not os.path.exists("whole.scumble")
    assert run("ledger town.ledger --open people --epsilon 1") == 0
    account = "--ledger town.ledger --dataset people"
    assert run(f"release whole.secret --epsilon 1 --out whole.scumble --keep-secret {account}") == 0
    assert scumble.load_secret("whole.secret").count == 4000


def test_merging_releases(capsys: pytest.CaptureFixture[str]) -> None:
    same = shlex.split("--columns age --bandwidth 10 --rows 16 --buckets 32 --epsilon 1")
    assert main(["build", "north.csv", *same, "--out", "n.scumble"]) == 0
    assert main(["build", "south.csv", *same, "--out", "s.scumble"]) == 0
    assert run("merge n.scumble s.scumble --disjoint records --out both.scumble") == 0
    assert "taken to be" not in said(capsys)[1]
    assert run("merge n.scumble s.scumble --out twice.scumble") == 0
    told = said(capsys)[1]
    sums = "all numbers are sums over 2 releases, and a record that is in both counts twice"
    assert f"The 2 releases are taken to be of the same records, so their budgets add up; {sums}. Hint: if" in told
    assert run("merge n.scumble s.scumble --overlapping --out twice.scumble") == 0
    assert (
        f"The 2 releases are declared to be of the same records, so their budgets add up; {sums}.\n" in said(capsys)[1]
    )
    assert run("merge n.scumble s.scumble --overlapping --disjoint persons --out x.scumble") == 2
    both, twice = scumble.load("both.scumble"), scumble.load("twice.scumble")
    assert both.privacy.epsilon == 1.0 and twice.privacy.epsilon == 2.0
    assert np.array_equal(both.counts, twice.counts)
    assert main(["build", "south.csv", *same, "--seed", "9", "--out", "other.scumble"]) == 0
    said(capsys)
    assert run("merge n.scumble other.scumble --out x.scumble") == 4
    assert "seed is 0 here and 9 there" in said(capsys)[1]
    for name in ("both", "twice"):
        assert main(["info", f"{name}.scumble"]) == 0
        assert (sums in " ".join(said(capsys)[0].split())) == (name == "twice")


def test_classes(capsys: pytest.CaptureFixture[str]) -> None:
    words = "build people.parquet --columns age --bandwidth 10 --label mode --classes bus,car,bike,ferry --epsilon 1"
    assert main([*words.split(), "--rows", "16", "--buckets", "32", "--out", "modes.scumble"]) == 0
    bundle = Bundle.load("modes.scumble")
    assert bundle.classes == ("bus", "car", "bike", "ferry") and bundle.label == "mode"
    assert run("query modes.scumble points.csv --json") == 0
    answers = json.loads(said(capsys)[0])
    assert [(row["id"], row["class"]) for row in answers][:4] == [("first", one) for one in bundle.classes] or len(
        answers
    ) == 8
    assert run("info modes.scumble --json") == 0
    facts = json.loads(said(capsys)[0])
    assert facts["classes"] == list(bundle.classes) and facts["epsilon"] == 1.0 and len(facts["counts"]) == 4
    assert run("info modes.scumble") == 0
    assert "bus, car, bike, ferry" in said(capsys)[0]
    assert run("plot modes.scumble --class car --range age=0:100 --out car.svg") == 0
    assert run("plot modes.scumble --range age=0:100 --out any.svg") == 2
    assert "choose one with --class: bus" in said(capsys)[1]


def test_mixed_tables_and_toml(capsys: pytest.CaptureFixture[str]) -> None:
    Path("people.toml").write_text(
        """
        source = "people.parquet"
        columns = ["age", "income", "mode"]
        epsilon = 1.0
        rows = 16
        buckets = 64
        out = "toml.scumble"
        [[kernel]]
        name = "euclidean"
        columns = ["age", "income"]
        bandwidth = 1.0
        scale = { age = 10, income = 20000 }
        [[kernel]]
        name = "hamming"
        columns = ["mode"]
        """
    )
    assert run("build --config people.toml") == 0
    flags = "build people.parquet --columns age,income,mode --categories mode --scale age=10,income=20000 --bandwidth 1"
    assert main([*flags.split(), "--epsilon", "1", "--rows", "16", "--buckets", "64", "--out", "flags.scumble"]) == 0
    a, b = scumble.load("toml.scumble"), scumble.load("flags.scumble")
    assert a.spec == b.spec
    assert run("build --config people.toml --rows 8 --out won.scumble") == 0
    assert scumble.load("won.scumble").rows == 8
    Path("points.csv").write_text("age,income,mode\n45,50000,bus\n")
    said(capsys)
    assert run("query toml.scumble points.csv") == 0
    assert said(capsys)[0].splitlines()[1].startswith("45,50000,bus,")


def test_plans(capsys: pytest.CaptureFixture[str]) -> None:
    words = shlex.split("plan --n 1000000 --dimensions 8 --bandwidth 1 --epsilon 1")
    assert main(words) == 0
    assert "expected error" in said(capsys)[0]
    assert main([*words, "--json", "--plot", "plan.svg"]) == 0
    found = json.loads(said(capsys)[0])
    direct = scumble.plan(1_000_000, 8, 1.0, kernel=scumble.EuclideanKernel(1.0))
    assert (found["rows"], found["buckets"]) == (direct.rows, direct.buckets)
    assert Path("plan.svg").stat().st_size > 5000
    grid = "plan --n 100000 --columns a,b --bandwidth 1 --bounds a=0:10,b=0:10 --epsilon 1 --plot grid.png --json"
    assert main(grid.split()) == 0
    assert json.loads(said(capsys)[0])["design"] == "grid"


def test_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(design("--rows", "32")) == 0
    both = ["--range", "age=0:90,income=10000:90000", "--units", "age=years"]
    for end in ("png", "svg", "pdf"):
        assert main(["plot", "people.scumble", *both, "--out", f"map.{end}"]) == 0
        assert Path(f"map.{end}").stat().st_size > 4000
    assert run("plot people.scumble --range age=0:90 --at income=50000 --out cut.png") == 0
    three = "build people.parquet --columns age,income,mode --categories mode --scale age=10,income=20000 --bandwidth 1"
    assert main([*three.split(), "--epsilon", "1", "--rows", "16", "--buckets", "64", "--out", "three.scumble"]) == 0
    assert main(["plot", "three.scumble", *both, "--out", "x.png"]) == 2
    assert "fix it, such as --at mode=bus" in said(capsys)[1]
    assert main(["plot", "three.scumble", *both, "--at", "mode=bus", "--out", "x.png"]) == 0
    flat = (
        "build people.parquet --columns age,income,twin --scale age=10,income=20000,twin=10 --bandwidth 1 --epsilon 1"
    )
    pq.write_table(
        pq.read_table("people.parquet").append_column("twin", pq.read_table("people.parquet")["age"]), "t.parquet"
    )
    assert main([*flat.replace("people", "t").split(), "--rows", "16", "--buckets", "64", "--out", "t.scumble"]) == 0
    assert main(["plot", "t.scumble", *both[:1], both[1] + ",twin=0:90", "--out", "pairs.png"]) == 0


def test_help_is_quick_and_whole() -> None:
    """What makes help slow is what it imports: nothing of the field may be among it."""
    timed = [sys.executable, "-X", "importtime", "-m", "scumble", "--help"]
    shown = subprocess.run(timed, capture_output=True, text=True, check=True)
    assert not re.search(r"\| +(numpy|numba|pyarrow|scipy|sklearn|matplotlib)$", shown.stderr, re.M)
    for verb in VERBS:
        assert f"\n  {verb} " in shown.stdout
    code = "import sys, scumble.cli as c; c.main(['--help']); print({'numpy', 'pyarrow', 'numba'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.endswith(
        "set()\n"
    )


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--help"]) == 0
    out, err = said(capsys)
    assert f"\n  scumble {verb} " in out and not err
    assert main(["help", verb]) == 0


def test_progress_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(design("--rows", "8")) == 0
    assert "rows/s" not in said(capsys)[1]
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert main(design("--rows", "8")) == 0
    assert "100%  4,000 rows" in said(capsys)[1]
    size = "--bandwidth 5 --rows 8 --buckets 8 --periods 2 --epsilon 1"
    assert run(f"stream start trips.secret --columns age {size} --folder trips") == 0
    assert run("stream append trips.secret people.parquet") == 0
    assert "100%  4,000 rows" in said(capsys)[1]
    assert run("stream append trips.secret nobody.csv") == 4
    assert "There is no file 'nobody.csv'" in said(capsys)[1], "and not that its batch has no name"

    def gone(_: str) -> int:
        raise OSError("the terminal is gone")

    with monkeypatch.context() as patch:
        patch.setattr(sys.stderr, "write", gone)
        line = ProgressLine(quiet=False)
        line(Progress(1, 1.0, None, None))  # no reason for a build to fail
        line.close()
    assert main([*design("--rows", "8"), "--quiet"]) == 0
    assert said(capsys)[1] == ""


def test_no_question_of_the_demo_cuts_a_cell() -> None:
    """Of a cell that is cut nobody knows which half the records are in: the interval would be wide on one side."""
    schema = demo.public_schema()
    for where in (demo.CYCLISTS, demo.ON_THE_BUS, demo.YOUNG_AND_RICH):
        assert scumble.schema.condition(schema, where).exact
    income = demo.commuters(2000)["income"].to_numpy()
    assert ((income >= schema["income"].low) & (income <= schema["income"].high)).all()


def test_the_demo_of_a_stream_tells_its_story(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("demo --stream --days 9 --out out") == 0
    told = said(capsys)[0]
    assert "all 9 days" in told and "this stream" in told
    assert len(os.listdir("out/trips")) == 9 and os.path.exists("out/trips.png")
    assert os.path.getsize("out/trips.html") > 100_000
    assert run("demo --stream --days 9 --out out") == 2 and "already" in said(capsys)[1]


def test_the_demo_tells_its_story(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("demo --people 20000 --out out") == 0
    out, _ = said(capsys)
    assert "5 there are" in out and "a private release" in out and "scumble query out/commuters.scumble" in out
    for name in ("commuters.parquet", "commuters.scumble", "map.png", "cut.png", "plan.png", "places.csv"):
        assert (Path("out") / name).stat().st_size > 50
    assert run("query out/commuters.scumble out/places.csv") == 0


@pytest.mark.parametrize("verb", VERBS)
def test_verbs_that_hold_private_tables_leave_no_core_dumps(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each as its first example begins, and then stopped: every verb but those that say why they need not."""
    module, done = importlib.import_module(home(verb)), []
    monkeypatch.setattr("scumble.cli.coredumps.switch_off", lambda: done.append("off"))
    monkeypatch.setattr(module, "run", lambda args: done.append("run"))
    line = next(line for line in module.EXAMPLE.split("\n") if line.startswith(f"scumble {verb}"))
    assert main(shlex.split(line)[1:]) == 0
    assert done == (
        ["off", "run"] if verb in ("build", "check", "sketch", "merge", "release", "fit", "stream") else ["run"]
    )


def test_the_formats_that_are_offered_are_those_that_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    from scumble.sources.filesource import READERS
    from scumble.sources.paths import FORMATS

    assert set(FORMATS) == set(READERS)
    assert main(["query", "--help"]) == 0
    assert "--format {" + ",".join(FORMATS) + "}" in said(capsys)[0]


def test_the_engines_that_are_offered_are_those_that_count(capsys: pytest.CaptureFixture[str]) -> None:
    from scumble.counting.engines import ENGINES

    assert main(["build", "--help"]) == 0
    offered = re.search(r"--engine \{(.*?)\}", said(capsys)[0])
    assert offered is not None and set(offered[1].split(",")) == {*ENGINES, "spark"} - {"reference"}


def test_what_is_replaced_is_told_before_it_is_charged(capsys: pytest.CaptureFixture[str]) -> None:
    """Twice the same line costs twice: the second run says so, unless it is to be quiet. What was paid for stays."""
    build = shlex.split(
        "build north.csv --columns age --bandwidth 5 --rows 4 --buckets 8 --epsilon 1 --out twice.scumble"
    )
    book = ["--ledger", "twice.ledger", "--dataset", "d"]
    assert main(["ledger", "twice.ledger", "--open", "d", "--epsilon", "9"]) == 0
    capsys.readouterr()
    lines, made = [], []
    for more in (book, book, [], [*book, "--quiet"]):
        assert main([*build, *more]) == 0
        lines.append(capsys.readouterr().err.splitlines())
        made.append(Path("twice.scumble").read_bytes())
    kept = [Path(f"twice.{number}.scumble").read_bytes() for number in (1, 2, 3)]
    assert [*kept, Path("twice.scumble").read_bytes()] == made, "each was paid for"
    assert main([*build, "--checkpoint-seconds", "x"]) == 2
    Path("twice.csv").write_text("age\n41\nforty\n")
    assert main([*build[:1], "twice.csv", *build[2:], "--invalid", "error"]) == 4, "a cell cannot be read"
    assert not Path("twice.4.scumble").exists(), "what fails takes no name"
    capsys.readouterr()
    first, second, third, quiet = lines
    told = "twice.scumble is a release already (ε = 1), written 20"
    assert len(first) == 1 and quiet == []
    assert (
        second[0].startswith(told)
        and "if this build succeeds, it stays as twice.1.scumble, and this build will be charged beside it."
        in second[0]
    )
    assert "The ledger has its charge of 20" in second[0] and second[1].startswith("Wrote")
    assert third[0].startswith(told) and "charged" not in third[0], "there is no ledger to charge"
    assert third[0].endswith(
        "what it cost stays spent: this build will add to it, and without --ledger nobody keeps count."
    )
    parts = ["sketch", "north.csv", "--columns", "age", "--bandwidth", "5", "--rows", "4", "--buckets", "8"]
    assert main([*parts, "--out", "twice.secret"]) == 0
    assert main([*parts, "--out", "thrice.secret"]) == 0
    assert main(["release", "twice.secret", "--epsilon", "1", "--out", "thrice.secret"]) == 2
    assert "holds exact counters" in capsys.readouterr().err
    assert main([*parts, "--out", "twice.scumble"]) == 2 and "is published" in capsys.readouterr().err
    other = Path("twice.1.scumble").read_bytes()
    assert main(["merge", "twice.2.scumble", "twice.3.scumble", "--out", "twice.1.scumble"]) == 0
    assert Path("twice.1.1.scumble").read_bytes() == other


def test_what_is_not_ours_is_not_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    """A table, a schema that was filled in by hand, or any other file stays as it is, and nothing is counted."""
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
        assert "'south.csv' is there already, and is no .scumble file but something else" in said(capsys)[1]
    release = Path("p.scumble").read_bytes()
    for line, out in (
        ("schema north.csv --out", "south.csv"),
        ("sample p.scumble --bounds 0:100 --n 2 --out", "south.csv"),
        ("query p.scumble --at age=5 --out", "south.csv"),
        ("modes p.scumble --bounds 0:100 --starts 2 --out", "south.csv"),
        ("predict p.scumble north.csv --out", "south.csv"),
        ("plot p.scumble --range age=0:100 --out", "mine.png"),
        ("explore p.scumble --range age=0:100 --export", "mine.html"),
        ("plan --n 900 --dimensions 1 --bandwidth 5 --epsilon 1 --plot", "mine.png"),
    ):
        Path(out).write_text("mine")
        assert run(f"{line} {out}") == 2, line
        assert "Hint: name another file, or add --replace." in said(capsys)[1]
        assert Path(out).read_text() == "mine"
        if "predict" not in line:
            assert run(f"{line} {out} --replace") == 0
            assert Path(out).read_bytes() != b"mine"
    assert Path("p.scumble").read_bytes() == release


def test_verbs_say_what_they_wrote(capsys: pytest.CaptureFixture[str]) -> None:
    """How many rows nobody asked for, that a .csv holds a release, and how a number is written."""
    assert (
        run("build north.csv --columns age --whole age --bandwidth 5 --rows 4 --buckets 8 --epsilon 1 --out a.csv") == 0
    )
    assert "It is a release, not a table, whatever .csv says: .scumble is usual." in said(capsys)[1]
    assert run("sample a.csv --bounds 0:100 --out s.csv") == 0
    assert said(capsys)[1] == "Wrote s.csv: 1,000 synthetic records.\n"
    assert len(Path("s.csv").read_text().splitlines()) == 1001
    assert run("query a.csv --at age=ten") == 4
    assert "Hint: numbers are read as 1234.5, $1,234.50 or 12 %" in said(capsys)[1]


def test_what_is_given_twice_does_not_replace_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    build = shlex.split("build north.csv --columns age,income --bandwidth 5 --epsilon 1 --out o.scumble")
    for words, told in (
        ("--bounds age=0:100 --bounds income=0:9", "--bounds is given twice"),
        ("--bounds age=0:100,age=0:50", "argument --bounds: names 'age' twice"),
        ("--bounds=age=0:100 --bounds age=0:50", "--bounds is given twice"),
        ("--scale age=1,age=2", "argument --scale: names 'age' twice"),
        ("--scale 2 --scale age=2", "--scale is given twice"),
        ("--columns income", "--columns is given twice"),
        (
            "--epsilon 1 --epsilon 2",
            "--epsilon is given twice, and the second would replace the first: write one, the one that you mean",
        ),
        ("--epsilon=1 --epsilon=1", "--epsilon is given twice"),
        ("--seed 1 --seed 2", "--seed is given twice"),
        *((f"--{kind} age --{kind} income", f"--{kind} is given twice") for kind in ("whole", "dates", "categories")),
    ):
        assert main([*build, *words.split()]) == 2
        assert told in capsys.readouterr().err
    assert main(["query", "o.scumble", "--at", "age=1,age=2"]) == 2
    assert main(["explore", "o.scumble", "--values", "mode=bus,mode=car"]) == 2
    assert capsys.readouterr().err.count("twice, and only one of them can be meant") == 2
    for verb in VERBS:  # whatever is a list of columns is known as one
        parser = parser_of(verb, VERBS[verb], importlib.import_module(home(verb)))
        listed = {action.option_strings[0] for action in parser._actions if str(action.metavar).count(",")}
        assert listed <= {action.option_strings[0] for action in parser._actions if action.type in LISTS}


def test_a_count_and_its_density_agree_where_few_records_are(capsys: pytest.CaptureFixture[str]) -> None:
    """So large a budget that the noise is far below one record."""
    kernel = scumble.EuclideanKernel(1.0, power=2)
    people = {"age": np.full(10_000, 20.0)}
    release = scumble.build(pl.DataFrame(people), kernel, epsilon=20.0, bounds=(0, 60), buckets=4096)
    release.save("far.scumble")
    for age in range(21, 60, 2):
        assert main(["query", "far.scumble", "--at", f"age={age}"]) == 0
        told = re.fullmatch(r"(\S+) records near \((\S+) to (\S+), 95%\); density (\S+)\n", capsys.readouterr().out)
        assert told is not None
        total, low, high, density = (float(number.replace(",", "")) for number in told.groups())
        assert low < high and low <= total <= high
        assert abs(density * release.count - total) < 0.2 * (high - low) + 1e-3 * total or density == 0.0


def test_nobody_is_told_of_less_than_no_records(capsys: pytest.CaptureFixture[str]) -> None:
    """Of empty classes there is noise alone, below zero as often as above; JSON has it as it is, unbiased.

    It is exactly zero for less than one class in ten, so none of 40 is below with a chance of 0.55⁴⁰ < 1e-10 at most.
    """
    kernel = scumble.EuclideanKernel(1.0, power=2)
    classes = {str(k): scumble.Sketch(kernel, columns=["age"], rows=8, buckets=16) for k in range(40)}
    Bundle({name: sketch.release(epsilon=1.0) for name, sketch in classes.items()}).save("empty.scumble")
    assert main(["query", "empty.scumble", "--at", "age=5"]) == 0
    told = capsys.readouterr().out
    assert "-" not in re.sub(r"density \S+", "", told)
    assert main(["query", "empty.scumble", "--at", "age=5", "--json"]) == 0
    assert min(row["kernel_sum"] for row in json.loads(capsys.readouterr().out)) < 0


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
            assert [len(row["remarks"]) for row in full] == [0, 1] and "1 point lies outside" in captured.err
            _, upper = release.interval([[100.0]])
            assert full[1]["lower"] <= 0.0 and full[1]["upper"] == pytest.approx(upper[0])


def test_a_point_outside_the_bounds_is_answered_with_a_remark(capsys: pytest.CaptureFixture[str]) -> None:
    release = scumble.Sketch(
        scumble.EuclideanKernel(9.0), columns=["age", "seen"], dates=["seen"], design="grid", buckets=64,
        bounds={"age": (0, 100), "seen": ("2024-01-01", "2024-12-31")},
    ).release(1.0)  # fmt: skip
    release.save("dated.scumble")
    for at, more, told in (
        ("age=100,seen=2024-12-31", [], []),
        ("age=101,seen=2024-12-31", [], ["'age' goes from 0 to 100."]),
        ("age=-1,seen=2025-01-01", ["--json"], ["0 to 100.", "'seen' goes from 2024-01-01 to 2024-12-31."]),
        ("age=-1,seen=2025-01-01", ["--quiet"], []),
    ):
        assert main(["query", "dated.scumble", "--at", at, *more]) == 0
        out, err = (text.splitlines() for text in capsys.readouterr())
        if "--json" in more:
            assert json.loads("".join(out))[0]["remarks"] == err
        assert len(err) == len(told) and all(end in line for line, end in zip(err, told, strict=True))
