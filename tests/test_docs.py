"""Every example in the README, the docs and the help texts runs as it stands."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import scumble
from scumble.cli import VERBS, main

ROOT = Path(__file__).parent.parent
PAGES = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: str, *languages: str) -> list[tuple[str, str]]:
    return [(kind, text) for kind, text in BLOCK.findall((ROOT / page).read_text()) if kind in languages]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the examples find where they run."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(6)
    frame = pl.DataFrame(
        {
            "age": rng.normal(45, 12, 4000),
            "income": rng.normal(50_000, 9_000, 4000),
            "mode": rng.choice(["bus", "car", "bike"], 4000),
            "town": rng.choice(["Ulm", "Köln"], 4000),
        }
    )
    frame.write_parquet("people.parquet")
    frame[:2000].write_csv("people.csv")
    frame[2000:].write_csv("more.csv")
    os.mkdir("parts")
    frame.write_parquet("parts/1.parquet")
    frame[:2000].write_parquet("parts/2.parquet")
    with sqlite3.connect("people.db") as database:
        database.execute("CREATE TABLE people (age REAL, income REAL)")
        database.executemany("INSERT INTO people VALUES (?, ?)", frame[:500].select("age", "income").rows())
    database.close()
    Path("points.csv").write_text("age,income\n45,50000\n20,10000\n")
    for _, text in blocks("docs/command-line.md", "toml"):
        Path("people.toml").write_text(text)
    kernel = scumble.EuclideanKernel(1.0, 2, scale={"age": 10.0, "income": 20_000.0})
    scumble.build("people.parquet", kernel, ["age", "income"], rows=16, buckets=64).save("people.scumble")
    for names in (("north", "south"), ("monday", "tuesday")):
        for name in names:
            scumble.build("people.csv", kernel, ["age", "income"], rows=16, buckets=64).save(f"{name}.scumble")
    for name in ("part1", "part2"):
        sketch = scumble.Sketch(kernel, columns=["age", "income"], rows=16, buckets=64)
        sketch.update(frame.select("age", "income")).save(f"{name}.secret")
    return tmp_path


def run(line: str) -> None:
    """One command line: in this process, or by a shell where it needs one."""
    if line.startswith("scumble ") and not set(line) & set("|;&<>"):
        assert main(shlex.split(line)[1:]) == 0, line
        return
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(line, shell=True, env={**os.environ, "PATH": path}, capture_output=True)
    assert done.returncode == 0, (line, done.stderr)


@pytest.mark.parametrize("page", PAGES)
def test_the_pages_examples_run(page: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    ran = 0
    for kind, text in blocks(page, "python", "console"):
        if kind == "python":
            exec(compile(text, page, "exec"), names)
            ran += 1
        else:
            for line in text.splitlines():
                assert line.startswith("$ "), "an example is a command line"
                run(line[2:])
                ran += 1
    assert ran >= 3 or page not in ("README.md", "docs/command-line.md")
    if page == "README.md":
        found = re.search(
            r"about ([\d,]+) people; near .*: ([\d,]+) to ([\d,]+); truly ([\d,]+)", capsys.readouterr().out
        )
        assert found is not None
        count, low, high, exact = (int(number.replace(",", "")) for number in found.groups())
        assert abs(count - 100_000) < 500 and low - (high - low) < exact < high + (high - low)


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "demo"])
def test_the_helps_examples_run(verb: str, folder: Path) -> None:
    module = importlib.import_module(f"scumble.cli.{verb}")
    for line in module.EXAMPLE.strip().splitlines():
        run(line)


def test_the_readme_names_every_verb() -> None:
    text = (ROOT / "README.md").read_text()
    for verb in VERBS:
        assert f"`{verb}`" in text, verb
    for _, target in re.findall(r"\[([^]]*)\]\(([^)]+)\)", text):
        assert target.startswith("http") or (ROOT / target).exists(), target
