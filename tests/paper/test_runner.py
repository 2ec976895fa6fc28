"""A run that is killed goes on where it was, and nothing is run twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from benchmarks.paper import results, runner
from benchmarks.paper.task import Task

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "benchmarks.paper", "--quick", "--only", "wang", "--out"]


def row(key: str) -> dict:
    return {"key": key, "seconds": 1.0}


def test_a_torn_line_is_cut_off(tmp_path: Path) -> None:
    journal = runner.Journal(tmp_path / "journal")
    journal.write(row("a"))
    journal.write(row("b"))
    with journal.path.open("ab") as file:
        file.write(b'{"key": "c", "sec')
    again = runner.Journal(journal.path)
    again.write(row("d"))
    assert list(runner.Journal(journal.path).rows) == ["a", "b", "d"]


def test_what_is_forgotten_is_run_again(tmp_path: Path) -> None:
    journal = runner.Journal(tmp_path / "journal")
    journal.write(row("a"))
    journal.write({"forget": "a"})
    assert not runner.Journal(journal.path).rows


def test_batches_keep_one_method_on_one_set_together() -> None:
    tasks = [Task("x", data, method, 1.0, r) for data in ("p", "q") for method in ("m", "n") for r in range(3)]
    few, many = runner._batches(tasks, 2), runner._batches(tasks, 8)
    assert [len(batch) for batch in few] == [3, 3, 3, 3]
    assert [len(batch) for batch in many] == [1] * 12, "more workers than there would be work for"
    for batches in (few, many):
        assert [task for batch in batches for task in batch] == tasks


def test_every_experiment_is_found_and_timing_comes_last() -> None:
    names = list(runner.modules())
    assert {"density", "classification", "regression", "wang"} <= {*names}
    assert names[-1] == "timing"
    keys = [task.key for task in runner.all_tasks(True)]
    assert len(keys) == len({*keys})


def test_what_is_noted_of_a_machine_names_nobody() -> None:
    noted = json.dumps(runner.about())
    for secret in (os.uname().nodename, str(Path.home()), str(ROOT)):
        assert secret not in noted


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the journal of a run that was killed on the way."""
    folder = tmp_path_factory.mktemp("paper")
    process = subprocess.Popen([*COMMAND, str(folder)], cwd=ROOT, stderr=subprocess.PIPE, start_new_session=True)
    journal = folder / runner.JOURNAL.name
    try:
        while process.poll() is None and (not journal.exists() or journal.read_bytes().count(b"\n") < 5):
            time.sleep(0.02)
        assert process.poll() is None, process.stderr.read().decode()  # type: ignore[union-attr]
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    return folder


def test_a_killed_run_goes_on(killed: Path) -> None:
    before = runner.Journal(killed / runner.JOURNAL.name).rows
    assert before
    assert not (killed / "results.json").exists()
    subprocess.run([*COMMAND, str(killed)], cwd=ROOT, check=True, capture_output=True)
    lines = [json.loads(line) for line in (killed / runner.JOURNAL.name).read_text().splitlines()]
    counts = Counter(line["key"] for line in lines if "key" in line)
    wanted = [task.key for task in runner.all_tasks(True, ["wang"])]
    assert set(counts.values()) == {1}
    assert sorted(counts) == sorted(wanted)
    assert {key: entry["result"] for key, entry in before.items()}.items() <= {
        line["key"]: line["result"] for line in lines if "key" in line
    }.items()
    found = results.read(killed / "results.json")
    assert len(found["rows"]) == len(wanted)
    assert {entry["run"] for entry in found["rows"]} <= {*found["runs"]}
    assert (killed / "REPORT.md").read_text("utf-8").startswith("# The paper's experiments")
