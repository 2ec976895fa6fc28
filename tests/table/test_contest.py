"""The comparison with others' programs: is everybody judged alike, and is what is written what was measured?"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.tables import contest, running
from benchmarks.tables.contest import Results, judge, report
from benchmarks.tables.data import Table
from benchmarks.tables.protocol import Rows, conjunctions, questions, variation
from benchmarks.tables.rivals import RIVALS, Rival
from benchmarks.tables.synthetic import synthetic

from scumble.table.grouping import Column
from scumble.table.mixture import Mixture

SIZES = (2, 5, 7, 3)


@pytest.fixture(scope="module")
def table() -> Table:
    return synthetic("chain", 400, 3, (2, 5, -7, 3))


def test_rows_are_counted(table: Table) -> None:
    rows = Rows(table.codes, SIZES)
    for i, j in itertools.permutations(range(4), 2):
        found = rows.table([i, j])
        for a, b in np.ndindex(found.shape):
            assert found[a, b] == pytest.approx(np.mean((table.codes[:, i] == a) & (table.codes[:, j] == b)))
    for question in questions(table, 20, 1):
        assert rows.share(question.condition) * 400 == pytest.approx(question.count)


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


def test_groups_are_divided_evenly() -> None:
    columns = (Column(9, 7), Column(3), Column(40, 40))
    groups = [running.grouped(column, 4) for column in columns]
    assert groups[0].tolist() == [0, 0, 1, 1, 2, 2, 3, 4, 5] and groups[1].tolist() == [0, 1, 2]
    assert np.bincount(groups[2]).tolist() == [10, 10, 10, 10]
    rows = np.stack([np.repeat([0, 3, 4, 5], 4000), np.tile([0, 1], 8000), np.repeat([0, 1, 2, 3], 4000)], 1)
    found = running.divided(rows, groups)
    for j, group in enumerate(groups):
        assert (group[found[:, j]] == rows[:, j]).all()
    assert all(400 - 120 < count < 400 + 120 for count in np.bincount(found[:, 2]))  # six standard deviations
    for column in columns:
        assert running.grouped(column, None).tolist() == list(range(column.levels))


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
    told = report(Results(path).cells)
    assert (
        told.count("| AIM | – |") == told.count("| **scumble** | – |") == len(contest.BUDGETS) * len(contest.MEASURES)
    )
