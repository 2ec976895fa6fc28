"""What an analyst types, and what comes back: options that are heeded or refused, remarks in JSON."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import scumble
from scumble.cli import main
from scumble.errors import CuratorWarning
from scumble.learn.modes import PrivateModes


@pytest.fixture(autouse=True)
def _table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.csv").write_text("x,y\n1,2\n3,4\n")


BUILD = ["build", "p.csv", "--columns", "x,y", "--bandwidth", "1", "--epsilon", "1", "--out", "g.scumble"]
BOUNDS = ["--bounds", "x=0:9,y=0:9"]


def test_a_grid_takes_its_cells_along_each_axis(capsys: pytest.CaptureFixture) -> None:
    assert main([*BUILD, *BOUNDS, "--buckets", "20,10"]) == 0
    spec = scumble.load("g.scumble").spec
    assert (spec.design, spec.shape, spec.buckets) == ("grid", (20, 10), 200)
    Path("g.toml").write_text("buckets = [20, 10]\n")
    assert main([*BUILD, *BOUNDS, "--config", "g.toml"]) == 0
    assert scumble.load("g.scumble").spec.shape == (20, 10)
    capsys.readouterr()
    for more, words in (
        (["--buckets", "20,10"], "Cells along each axis are for a grid: no --bounds are given"),
        ([*BOUNDS, "--buckets", "20,10,5"], "one number of cells for each column"),
        ([*BOUNDS, "--buckets", "20x10"], "of a grid with --bounds one for each axis, 200,100"),
        ([*BOUNDS, "--buckets", "20,0"], "of a grid with --bounds one for each axis, 200,100"),
    ):
        assert main([*BUILD, *more]) == 2
        assert words in capsys.readouterr().err
    plan = ["plan", "--n", "100", "--columns", "x,y", "--bandwidth", "1", "--epsilon", "1", "--buckets", "20,10"]
    assert main([*plan, *BOUNDS]) == 2
    assert "`plan` chooses the cells along each axis" in capsys.readouterr().err


def test_a_stream_refuses_what_it_would_not_heed(capsys: pytest.CaptureFixture) -> None:
    start = "stream start a.secret --columns x --bandwidth 1 --periods 3 --epsilon 1 --folder f --rows 2 --buckets 8"
    assert main([*start.split(), "--n", "1000"]) == 2
    assert "heeds no --n: leave it out, or give --rows and --buckets" in capsys.readouterr().err
    assert main(["stream", "--help"]) == 0
    assert "--n " not in capsys.readouterr().out


def test_modes_have_their_remarks_in_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    X = np.tile([[2.0], [7.0]], (5000, 1))
    grid = {"bounds": (0, 9), "design": "grid", "columns": ["x"]}
    scumble.Sketch(scumble.EuclideanKernel(1.0, power=2), **grid).update(X).release(epsilon=9.0).save("m.scumble")
    line = ["modes", "m.scumble", "--json"]
    assert main(line) == 0
    found = json.loads(capsys.readouterr().out)
    assert found and all(one["remarks"] == [] for one in found)
    monkeypatch.setattr(PrivateModes, "_as_dense", lambda self: 2)
    assert main(line) == 0
    out, told = capsys.readouterr()
    (remark,) = json.loads(out)[0]["remarks"]
    assert remark.startswith("2 further places are at least as dense") and remark in told
    assert main(line[:-1]) == 0
    assert capsys.readouterr().out.startswith("x,density,lower,upper\n")


@pytest.mark.parametrize("table", [False, True])
def test_a_rehearsal_says_which_budget_is_taken_if_none_is_given(table: bool) -> None:
    rows = pa.table({"x": [1.0, 2.0]})
    how = {"schema": scumble.Schema(x=scumble.Number(0, 9))} if table else {"kernel": scumble.EuclideanKernel(1.0)}
    said = "No budget is given, so ε is 1 (epsilon=, rho= or mu= gives one)."
    assert scumble.build(rows, **how, rehearse=True).advice[0] == said
    for given in ({"epsilon": 1.0}, {"rho": 0.1}, {"mu": 0.5}):
        assert said not in scumble.build(rows, **how, **given, rehearse=True).advice
    with pytest.warns(CuratorWarning, match="No budget is given"):
        assert "ε = 1" in repr(scumble.build(rows, **how))
