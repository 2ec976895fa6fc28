"""What somebody types who has only the README and --help: options are honored or refused, and nothing misleads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import scumble
from scumble.cli import main
from scumble.columns.draft import Words, draft
from scumble.learn.modes import PrivateModes
from scumble.show import cards
from scumble.show.usefulness import too_few
from scumble.sources.drafting import KINDS, placed

SCHEMA = '[columns.age]\nkind = "number"\nlow = 0\nhigh = 99\nwhole = true\n[columns.id]\nkind = "distinct"\n'
BUILD = ["build", "p.csv", "--columns", "x,y", "--bandwidth", "1", "--epsilon", "1", "--out", "g.scumble"]
BOUNDS = ["--bounds", "x=0:9,y=0:9"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two tables and a schema, in which all commands run."""
    monkeypatch.chdir(tmp_path)
    Path("p.csv").write_text("x,y\n1,2\n3,4\n")
    pd.DataFrame({"age": [30, 40] * 500, "id": range(1000)}).to_csv("t.csv", index=False)
    Path("t.toml").write_text(SCHEMA)
    return tmp_path


@pytest.fixture
def released() -> scumble.TableRelease:
    """The release of a table, which is also in a file."""
    assert main(["build", "t.csv", "--schema", "t.toml", "--epsilon", "5", "--quiet", "--out", "t.scumble"]) == 0
    return scumble.load("t.scumble")


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


def test_a_table_too_small_for_its_noise_is_told_so_by_its_noisy_count(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By nothing exact: the note is the same for a reader who has only the file."""
    Path("town.toml").write_text('[columns.age]\nkind = "number"\nlow = 0\nhigh = 60\n')
    density = ["--columns", "age", "--bandwidth", "10", "--bounds", "age=0:60"]
    for how in (["--schema", "town.toml"], density):
        for records, few in ((1, True), (20_000, False)):
            Path("town.csv").write_text("age\n" + "41\n" * records)
            assert main(["build", "town.csv", *how, "--epsilon", "1", "--out", "town.scumble"]) == 0
            told = capsys.readouterr().err
            assert ("mostly noise" in told) == few
            assert main(["info", "town.scumble"]) == 0
            card = " ".join(capsys.readouterr().out.split())
            assert ("are mostly noise" in card) == few


def test_too_few_records_are_found_without_the_rest_of_the_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of coarse cells, fine ones and rows alike; of many counters it is known at once, unless it is near."""
    kernel, rng = scumble.EuclideanKernel(10.0), np.random.default_rng(0)
    sizes = {"coarse": (2, 2), "fine": (300, 300), "rows": None}
    for name, size in sizes.items():
        for records in (3, 300, 30_000):
            how: dict[str, Any] = {"rows": 64, "buckets": 64} if size is None else {"design": "grid", "buckets": size}
            sketch = scumble.Sketch(kernel, columns=["a", "b"], bounds=(0, 60), **how)
            release = sketch.update(rng.uniform(0, 60, (records, 2))).release(1.0)
            assert cards.few(release) == too_few(cards.facts(release))
            with monkeypatch.context() as patched:
                patched.setattr(type(release.spec.layout), "expected_error", None)
                if name == "fine" and records == 30_000:
                    assert cards.few(release) is None
                else:
                    with pytest.raises(TypeError):
                        cards.few(release)


def test_a_dash_never_names_a_file(
    released: scumble.TableRelease, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for verb, option in (("info", "--html"), ("explore", "--export"), ("evidence", "--out"), ("plot", "--out")):
        assert main([verb, "t.scumble", option, "-"]) == 2
        assert "cannot go to standard output. Hint: name a file" in capsys.readouterr().err
    assert not (folder / "-").exists()


def test_a_refused_fit_takes_back_what_it_said(
    released: scumble.TableRelease, capsys: pytest.CaptureFixture[str]
) -> None:
    fit = ["fit", "t.csv", "--task", "classify", "--columns", "age", "--bounds", "0:99", "--target", "id"]
    paid = Path("t.scumble").read_bytes()
    assert main([*fit, "--epsilon", "1", "--out", "t.scumble"]) == 3
    said = capsys.readouterr().err
    assert "kept as t.1.scumble" in said and "Nothing took the place of t.scumble" in said
    assert Path("t.scumble").read_bytes() == paid and not Path("t.1.scumble").exists()


def seen(*words: str) -> str:
    """What a look at a column of these words writes."""
    return draft({"x": None}, seen={"x": Words(words)}).split("[columns.x]")[1]


def test_codes_with_leading_zeros_are_words() -> None:
    zips = [f"{number:05}" for number in (1067, 4109, 10115, 80331)] * 50
    assert 'kind = "category"' in seen(*zips) and '"01067"' in seen(*zips)
    assert 'kind = "number"' in seen(*map(str, range(200)), "0", "0.5")
    assert KINDS[placed(b"01067")[0]] == "text" and KINDS[placed(b"0")[0]] == "whole" == KINDS[placed(b"10")[0]]
    many = pd.DataFrame({"zip": zips * 50})
    assert scumble.draft(many, epsilon=2.0, delta=1e-6).declared["zip"].kind == "category"


def test_the_remarks_of_a_private_draft_are_true(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = pd.DataFrame({"x": np.arange(5000) % 90, "empty": [None] * 5000})
    frame.to_csv(tmp_path / "many.csv", index=False)
    frame[:0].to_csv(tmp_path / "none.csv", index=False)
    options = ["--epsilon", "1", "--delta", "1e-6", "--quiet"]
    assert main(["schema", str(tmp_path / "many.csv"), *options]) == 0
    x, empty = capsys.readouterr().out.split("[columns.")[1:]
    assert "all but empty" in empty and "all but empty" not in x and "noise hides what" not in x
    for _ in range(5):
        assert main(["schema", str(tmp_path / "none.csv"), *options]) == 0
        text = capsys.readouterr().out
        assert text.count("noise hides what it holds") == 2 and "about 1 records" not in text
        shares = [
            int(line.split("% of all missing")[0].split()[-1]) for line in text.splitlines() if "% of all" in line
        ]
        assert all(share <= 100 for share in shares) and len(shares) == 2
