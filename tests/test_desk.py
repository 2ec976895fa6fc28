"""What an analyst types, and what comes back: options that are heeded or refused, remarks in JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import scumble
from scumble.cli import main
from scumble.errors import CuratorWarning
from scumble.learn.modes import PrivateModes
from scumble.show import plots
from terminal import Terminal


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


def test_classes_without_a_number_of_records_are_told_what_their_size_was_planned_for(
    capsys: pytest.CaptureFixture,
) -> None:
    Path("c.csv").write_text("x,y,of\n1,2,a\n3,4,b\n2,2,NA\n2,3,\n5,5,c\n")
    line = ["build", "c.csv", "--columns", "x,y", "--bandwidth", "1", "--epsilon", "1", "--out", "c.scumble", *BOUNDS]
    line += ["--label", "of", "--classes", "a,b", "--invalid", "drop"]
    planned = "Its size was planned for 100,000 records; --n says how many there are, if that is public."
    assert main(line) == 0
    told = capsys.readouterr().err
    assert planned in told
    assert "2 with a missing cell in 'of', 1 of none of the classes in 'of'" in told, "which are not misspelt"
    assert "20 % of the rows are of none of the classes" in told
    for more in (["--n", "5"], ["--rows", "1", "--buckets", "20"]):
        assert main([*line, *more]) == 0
        assert "planned for" not in capsys.readouterr().err
    assert main([*BUILD, *BOUNDS]) == 0
    assert "planned for" not in capsys.readouterr().err


def test_cards_and_answers_say_of_which_class_they_are(capsys: pytest.CaptureFixture) -> None:
    Path("c.csv").write_text("x,y,of\n" + "1,2,a\n" * 300 + "3,4,b\n" * 20)
    line = ["build", "c.csv", "--columns", "x,y", "--bandwidth", "1", "--epsilon", "9", "--out", "c.scumble", *BOUNDS]
    assert main([*line, "--label", "of", "--classes", "a,b", "--buckets", "20,10"]) == 0
    assert main(["info", "c.scumble"]) == 0
    card = " ".join(capsys.readouterr().out.split())
    parts = {name: one.count for name, one in scumble.Bundle.load("c.scumble").items()}
    assert f"(95 %): a {parts['a']:,.0f} ± " in card and f", b {parts['b']:,.0f} ± " in card
    assert "Queries of a, at a density" in card
    assert main(["query", "c.scumble", "--at", "x=1,y=2"]) == 0
    out = capsys.readouterr().out
    assert f", 95%) of about {parts['a']:,.0f} ± " in out and f", 95%) of about {parts['b']:,.0f} ± " in out


def test_numbers_that_are_too_large_are_called_so(capsys: pytest.CaptureFixture) -> None:
    Path("large.csv").write_text("x,y\n1,2\n1e305,4\n")
    assert main(["build", "large.csv", *BUILD[2:], "--invalid", "error"]) == 4
    told = capsys.readouterr().err
    assert "1 cell is missing, not a number or beyond 1e+300 in size" in told
    assert "so large a number, as in 'x', cannot be counted" in told and "Text" not in told
    for bounds, words in (
        ("x=0:9,y=0:1e308", "--bounds of 'y' must lie between -1e300 and 1e300"),
        ("0:1e308", "must lie between -1e300 and 1e300, got 0:1e308"),
    ):
        assert main([*BUILD, "--bounds", bounds]) == 2
        told = capsys.readouterr().err
        assert words in told and "warning" not in told
    assert main([*BUILD, "--bounds", "x=0:9,y=0:1e300"]) == 0


def test_refusals_say_the_thing_once(capsys: pytest.CaptureFixture) -> None:
    Path("five.csv").write_text("a,b,c,d,e\n1,2,3,4,5\n")
    five = ["build", "five.csv", "--bandwidth", "1", "--epsilon", "1", "--out", "g.scumble", "--bounds", "0:9"]
    assert main([*five, "--design", "grid"]) == 2
    reason = "the kernel reads 5 columns and a grid can have 4 at most"
    assert f"--design cannot be 'grid' here: {reason}. Hint: leave it out" in capsys.readouterr().err
    assert main([*BUILD, "--classes", "a,b"]) == 2
    assert "--classes needs --label, the column that holds them.\n" in capsys.readouterr().err


def test_the_search_for_modes_asks_for_nothing_outside_the_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Climbers that stand at an edge: the mean of points there may be rounded beyond it."""
    sketch = scumble.Sketch(scumble.EuclideanKernel(9.0), 2, bounds=(0.0, 10.0), design="grid", buckets=(4, 4))
    model = PrivateModes.from_release(sketch.release(epsilon=1.0), random_state=0)
    asked: list[float] = []
    monkeypatch.setattr(PrivateModes, "_sums", lambda self, at: (asked.append(at.max()), at[:, 0])[1])
    model._climb(np.array([[20.0, 3.0]]), np.full(2, 0.1), np.random.default_rng(0))
    assert asked and max(asked) <= 10.0


def test_a_scale_by_name_stands_in_the_order_of_the_columns(capsys: pytest.CaptureFixture) -> None:
    assert main([*BUILD, *BOUNDS, "--scale", "y=2,x=5"]) == 0
    assert main(["info", "g.scumble"]) == 0
    assert "scale x=5, y=2)" in capsys.readouterr().out


def test_whoever_waits_for_modes_a_picture_or_a_stream_is_told_what_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert main([*BUILD, *BOUNDS]) == 0
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr("scumble.cli.progress.PATIENCE", 0.0)

    def slow(home: object, name: str) -> None:
        real = getattr(home, name)
        monkeypatch.setattr(home, name, lambda *a, **k: (screen.told.wait(60), real(*a, **k))[1])

    slow(PrivateModes, "_learn")
    slow(plots, "density")
    slow(scumble.Stream, "save")
    slow(scumble.Stream, "close_period")
    start = "stream start a.secret --columns x --bandwidth 1 --periods 3 --epsilon 1 --folder f --rows 2 --buckets 8"
    for line, words in (
        (["modes", "g.scumble"], "Looking for modes …"),
        (["plot", "g.scumble", "--out", "g.png"], "Drawing the picture …"),
        (start.split(), "Drawing the noise of the first period …"),
        (["stream", "publish", "a.secret"], "Publishing the period, and drawing the noise of the next …"),
    ):
        screen.told.clear()
        assert main(line) == 0
        assert f"\r\x1b[K{words}\r\x1b[K" in screen.getvalue()
