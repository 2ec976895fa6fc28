"""What an analyst types, and what comes back: options that are honored or refused, remarks in JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import scumble
from scumble.cli import main
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
    for more in (["20,10"], ["20,10,5", *BOUNDS], ["20x10", *BOUNDS], ["20,0", *BOUNDS]):
        assert main([*BUILD, "--buckets", *more]) == 2
    plan = ["plan", "--n", "100", "--columns", "x,y", "--bandwidth", "1", "--epsilon", "1", "--buckets", "20,10"]
    assert main([*plan, *BOUNDS]) == 2


def test_modes_have_their_remarks_in_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    X = np.tile([[2.0], [7.0]], (5000, 1))
    grid = {"bounds": (0, 9), "design": "grid", "columns": ["x"]}
    scumble.Sketch(scumble.EuclideanKernel(1.0, power=2), **grid).update(X).release(epsilon=9.0).save("m.scumble")
    for remarks in (0, 1):
        if remarks:
            monkeypatch.setattr(PrivateModes, "_as_dense", lambda self: 2)
        assert main(["modes", "m.scumble", "--json"]) == 0
        out, told = capsys.readouterr()
        found = json.loads(out)
        assert found and len(found[0]["remarks"]) == remarks and all(one in told for one in found[0]["remarks"])


def test_the_search_for_modes_asks_for_nothing_outside_the_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Climbers that stand at an edge: the mean of points there may be rounded beyond it."""
    sketch = scumble.Sketch(scumble.EuclideanKernel(9.0), 2, bounds=(0.0, 10.0), design="grid", buckets=(4, 4))
    model = PrivateModes.from_release(sketch.release(epsilon=1.0), random_state=0)
    asked: list[float] = []
    monkeypatch.setattr(PrivateModes, "_sums", lambda self, at: (asked.append(at.max()), at[:, 0])[1])
    model._climb(np.array([[20.0, 3.0]]), np.full(2, 0.1), np.random.default_rng(0))
    assert asked and max(asked) <= 10.0


def test_a_slow_verb_shows_what_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    assert main([*BUILD, *BOUNDS]) == 0
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr("scumble.cli.terminal.PATIENCE", 0.0)
    for home, name in ((PrivateModes, "_learn"), (plots, "density"), (scumble.Stream, "save")):
        real = getattr(home, name)
        monkeypatch.setattr(home, name, lambda *a, real=real, **k: (screen.told.wait(60), real(*a, **k))[1])
    start = "stream start a.secret --columns x --bandwidth 1 --periods 3 --epsilon 1 --folder f --rows 2 --buckets 8"
    for line in (["modes", "g.scumble"], ["plot", "g.scumble", "--out", "g.png"], start.split()):
        screen.told.clear()
        assert main(line) == 0
        assert screen.told.is_set() and "…\r\x1b[K" in screen.getvalue()
        screen.seek(screen.truncate(0))
