"""What the measurements read, and that the pages show what was measured."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks import page
from benchmarks.paper import report, results
from benchmarks.plans import tables
from benchmarks.speed import __main__ as speed
from benchmarks.speed import rivals, scaling
from benchmarks.tables import __main__ as comparison
from benchmarks.tables import contest, coverage, drafts, running
from benchmarks.tables.contest import Results, judge
from benchmarks.tables.data import Table
from benchmarks.tables.protocol import Rows, conjunctions, questions, variation
from benchmarks.tables.rivals import RIVALS, Rival
from benchmarks.tables.synthetic import synthetic

import scumble
from scumble.errors import CuratorWarning
from scumble.table.mixture import Mixture


@pytest.mark.parametrize(("head", "row", "columns"), [("age", "{0}.5", 1), ("a;b", "{0};{0}", 2), ("a,b", "x,{0}", 1)])
def test_tables_of_one_column_and_of_any_delimiter_are_read(tmp_path: Path, head: str, row: str, columns: int) -> None:
    (tmp_path / "t.csv").write_text("\n".join([head, *(row.format(k) for k in range(50))]) + "\n")
    ((name, numbers),) = tables(tmp_path)
    assert name == "t" and numbers.shape == (50, columns)
    np.testing.assert_allclose(numbers.std(axis=0), 1.0)


def test_pages_show_the_recorded_results() -> None:
    """If this fails: python -m benchmarks.speed --write, python -m benchmarks.paper --report, or benchmarks.tables."""
    shown = page.between("speed.md", "make bench")
    for part, table in (("rivals", rivals.table), ("scaling", scaling.summary)):
        assert "\n".join(table(speed._by_machine(json.loads((speed.HERE / "results.json").read_text()), part))) in shown
    assert page.between("benchmarks.md", "make paper") == report.in_short(results.read()).strip()
    assert page.between("benchmarks.md", comparison.COMMAND) == contest.report(contest.shown(contest.Results().cells))


def test_a_table_is_put_between_its_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "DOCS", tmp_path)
    (tmp_path / "a.md").write_text("x\n<!-- begin: written by one -->\nold\n<!-- end -->\ny\n")
    page.put("a.md", "one", "new")
    assert (tmp_path / "a.md").read_text() == "x\n<!-- begin: written by one -->\n\nnew\n\n<!-- end -->\ny\n"
    assert page.between("a.md", "one") == "new"


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


# ---- the comparison with others' programs ----


SIZES = (2, 5, 7, 3)


@pytest.fixture(scope="module")
def table() -> Table:
    return synthetic("chain", 400, 3, (2, 5, -7, 3))


def test_a_model_and_its_rows_are_judged_alike(table: Table) -> None:
    """A mixture with a component for each row is those rows."""
    drawn = np.random.default_rng(0).integers(0, SIZES, (60, 4))
    columns = tuple(np.eye(size)[drawn[:, j]] for j, size in enumerate(SIZES))
    model, rows = Mixture(np.full(60, 1 / 60), columns), Rows(drawn, SIZES)
    assert judge(model, table, 50) == pytest.approx(judge(rows, table, 50))
    assert min(variation(table, rows)) > 0.05 and min(conjunctions(table, rows, questions(table, 50, 1))) > 0.05


ENDS = "import sys, numpy as np; rows = np.load(sys.argv[1])['codes'] + 0 * {epsilon}; assert {delta} < 1"
OUTCOMES = {
    ENDS: None,
    "while True: pass": "not ended in 1 s of one core",
    "raise ValueError('no | room')": "failed: ValueError: no / room",
}


@pytest.mark.parametrize("program", OUTCOMES)
def test_a_rival_ends_or_is_reported(program: str, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Rival, "python", lambda _: sys.executable)
    monkeypatch.setitem(RIVALS, "rival", Rival(("nothing",), program, {}, pure=False))
    assert running.run("rival", table, 1.0, 0.0, 1) == "needs a δ"
    made = running.run("rival", table, 1.0, 1e-6, 1)
    if OUTCOMES[program]:
        assert made == OUTCOMES[program]
        return
    assert isinstance(made, running.Made) and isinstance(made.distribution, Rows)
    assert (made.distribution.codes == table.codes).all() and made.cpu > 0 and made.mib > 1
    assert sorted(map(tuple, made.draw(400))) == sorted(map(tuple, table.codes))


def test_cells_are_measured_once(table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def cell(method: str, private: Table, test: Table, epsilon: float, delta: float, limit: int) -> contest.Cell:
        asked.append((method, epsilon, delta))
        return {"table": table.name, "epsilon": epsilon, "delta": delta, "method": method, "why": f"limit {limit}"}

    monkeypatch.setattr(contest, "load", lambda *_: table)
    monkeypatch.setattr(contest, "_cell", cell)
    path = tmp_path / "cells.json"
    contest.compete(["chain"], tmp_path, ["MST"], Results(path), 7)
    once = list(asked)
    assert len(once) == len(set(once)) == len(contest.BUDGETS) * (len(contest.OURS) + 1)
    contest.compete(["chain"], tmp_path, ["MST", "AIM"], Results(path), 7)
    assert asked[len(once) :] == [("AIM", *budget) for budget in contest.BUDGETS]
    told = contest.report(Results(path).cells)
    assert (
        told.count("| AIM | – |") == told.count("| **scumble** | – |") == len(contest.BUDGETS) * len(contest.MEASURES)
    )
