"""What the measurements read, and that the pages show what was measured."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks import page
from benchmarks.paper import report, results
from benchmarks.speed import __main__ as speed
from benchmarks.speed import rivals, scaling
from benchmarks.tables import __main__ as comparison
from benchmarks.tables import contest, coverage, drafts
from benchmarks.tables.synthetic import synthetic

import scumble
from scumble.errors import CuratorWarning


def test_pages_show_the_recorded_results() -> None:
    """If this fails: python -m benchmarks.speed --write, python -m benchmarks.paper --report, or benchmarks.tables."""
    shown = page.between("speed.md", "make bench")
    for part, table in (("rivals", rivals.table), ("scaling", scaling.summary)):
        assert "\n".join(table(speed._by_machine(json.loads((speed.HERE / "results.json").read_text()), part))) in shown
    assert page.between("benchmarks.md", "make paper") == report.in_short(results.read()).strip()
    assert page.between("benchmarks.md", comparison.COMMAND) == contest.report(contest.shown(contest.Results().cells))


def test_intervals_of_every_kind_of_question_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "synthetic", partial(synthetic, kinds=(-20, 4, -9, 3)))  # few columns
    found = coverage.coverage("chain", None, 3.0, 1e-6, 1, 22)
    assert {kind for kind, _, _ in found} == {*coverage.KINDS} and all(score >= 0 for _, _, score in found)
    assert np.mean([held for _, held, _ in found]) > 0.5
    assert coverage._judged("mean", scumble.Estimate(2.0, 1.0, 3.0, 0.5), 4.0, 2.0) == ("mean", False, (2 + 40) / 2)


def test_questions_of_a_messy_table_are_answered_by_a_schema_of_people(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    known: drafts.Known = {"x": drafts.Number(0, 10), "w": None}
    frame = pd.DataFrame({"x": generator.uniform(1, 9, 2_000)})
    frame["w"] = np.where(frame["x"] < 5, "a", "b").astype(object)
    written, left = drafts.messy(frame, known, generator)
    assert written.isin(["", "NA", "-"]).sum().sum() == left.isna().sum().sum() > 0
    written.to_csv(tmp_path / "t.csv", sep=";", index=False)
    schema = drafts.by_people(left, known)
    with pytest.warns(CuratorWarning, match="could not be read"):
        release = scumble.build(tmp_path / "t.csv", schema=schema, epsilon=100, delta=1e-6, **drafts.READING)
    counts, means = drafts.errors(release, left, drafts.questions(left, known, generator))
    assert counts < 0.02 and means < 0.05
