"""From a schema to a folder on a web server: what to expect, the card, and one command that never pays twice."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

import scumble
from scumble.cli import main
from scumble.privacy.ledger import Ledger

SCHEMA = scumble.Schema(
    age=scumble.Number(0, 100, cells=20),
    mode=scumble.Category(["bus", "car", "bike"], other=False, missing=False),
)
PEOPLE = 6000


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(3)
    columns = {"age": rng.uniform(0, 100, PEOPLE), "mode": rng.choice(["bus", "car", "bike"], PEOPLE)}
    pacsv.write_csv(pa.table(columns), tmp_path / "people.csv")
    SCHEMA.save(tmp_path / "town.toml")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_plan_predicts_the_intervals_that_a_release_has(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Within a factor of three; intervals vary by much less from noise to noise."""
    assert main(["plan", "--schema", "town.toml", "--n", str(PEOPLE), "--json", "--out", "plan.png"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (folder / "plan.png").read_bytes().startswith(b"\x89PNG")
    assert [one["epsilon"] for one in found["each"]] == [0.1, 0.3, 1, 3, 10]
    one = found["each"][2]
    table = pacsv.read_csv("people.csv")
    release = scumble.TableSketch(SCHEMA).update(table).release(epsilon=1.0)
    for key, answer in {
        "count": release.count("mode == 'bus'"),
        "mean": release.mean("age"),
        "group_mean": release.mean("age", "mode == 'bus'"),
    }.items():
        assert 1 / 3 < one[key] / ((answer.high - answer.low) / 2) < 3, key
    assert one["pairs"] == found["pairs"] == 1


@pytest.mark.parametrize("words", [["--rows", "5"], ["--rho", "0.1"], ["--bandwidth", "5"], []])
def test_a_plan_of_a_schema_refuses_what_it_would_not_heed(folder: Path, words: list[str]) -> None:
    assert main(["plan", "--schema", "town.toml", *words, *(["--n", "100"] if words else [])]) == 2


@pytest.mark.parametrize(("persons", "level"), [(None, "Record level"), (5, "Person level")])
def test_a_card_says_first_whom_it_protects(folder: Path, persons: int | None, level: str) -> None:
    more = [] if persons is None else ["--records-per-person", str(persons), "--person-column", "who"]
    table = pacsv.read_csv("people.csv").append_column("who", pa.array([str(k // 3) for k in range(PEOPLE)]))
    pacsv.write_csv(table, "people.csv")
    assert main(["build", "people.csv", "--schema", "town.toml", "--epsilon", "1", "--out", "p.scumble", *more]) == 0
    hostile = "<script>alert(1)</script>"
    assert main(["info", "p.scumble", "--html", "card.html", "--publisher", hostile, "--contact", "a@b.example"]) == 0
    card = (folder / "card.html").read_text()
    body = card.partition("<body>")[2]
    assert body.startswith(f'<p class="level"><strong>{level}')
    assert "<script" not in card and "a@b.example" in card
    assert hashlib.sha256((folder / "p.scumble").read_bytes()).hexdigest() in card
    assert main(["info", "p.scumble", "--html", "card.html"]) == 2, "it is there already"


PUBLISH = ["publish", "people.csv", "--schema", "town.toml", "--epsilon", "1", "--folder", "site"]
PARTS = ["README.md", "card.html", "index.html", "people.scumble", "schema.toml"]


@pytest.mark.parametrize(
    "place", [None, "scumble.show.pages.export", "scumble.cli.publish.write_card", "scumble.cli.handover.release_in"]
)
def test_a_folder_is_paid_for_once(folder: Path, monkeypatch: pytest.MonkeyPatch, place: str | None) -> None:
    """However often the command runs, and wherever it is stopped."""
    Ledger.create("l.ledger").open_dataset("d", epsilon="3")
    words = [*PUBLISH, "--ledger", "l.ledger", "--dataset", "d"]
    if place is not None:
        with monkeypatch.context() as broken:

            def stop(*_: object, **__: object) -> None:
                raise KeyboardInterrupt

            broken.setattr(place, stop)
            main(words)
    assert main(words) == 0 and main(words) == 0
    assert sorted(path.name for path in (folder / "site").iterdir()) == PARTS
    assert len(Ledger("l.ledger").account("d").charges) == 1
    assert not (folder / "site.secret").exists()
    release = scumble.load("site/people.scumble")
    assert release.identity == Ledger("l.ledger").account("d").charges[0].identity
    assert main([*words[:5], "2", *words[6:]]) == 2, "another budget is another release"
    assert len(Ledger("l.ledger").account("d").charges) == 1


@pytest.mark.parametrize("where", [".", "..", "people.csv"])
def test_a_private_table_is_not_published_with_its_release(folder: Path, where: str) -> None:
    before = sorted(folder.rglob("*"))
    assert main([*PUBLISH[:-1], where]) == 2
    assert sorted(folder.rglob("*")) == before
