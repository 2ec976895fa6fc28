"""Mistakes: the right error, with near names; and a note where a release is mostly noise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import scumble
from scumble import Category, Date, Number, Schema, learn
from scumble.cli import main
from scumble.show import cards
from scumble.show.usefulness import too_few

PEOPLE = pd.DataFrame({"age": np.arange(50.0), "town": ["Ulm", "Bonn"] * 25})
NEAR = scumble.EuclideanKernel(1.0)


def test_a_table_too_small_for_its_noise_is_told_so_by_its_noisy_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By nothing exact: the note is the same for a reader who has only the file."""
    monkeypatch.chdir(tmp_path)
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
            assert main(["sketch", "town.csv", *how, "--out", "town.secret"]) == 0
            assert main(["release", "town.secret", "--epsilon", "1", "--out", "later.scumble"]) == 0
            assert ("mostly noise" in capsys.readouterr().err) == few


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


BUILD: dict[str, Any] = {"source": PEOPLE, "kernel": NEAR, "columns": ["age"], "epsilon": 1.0, "invalid": "error"}


@pytest.mark.parametrize(
    "options",
    [
        {"buckets": "many"},
        {"buckets": 2.5},
        {"bounds": {"age": (-1e308, 1e308)}},
        {"bounds": {"age": (60, 0)}},
        {"bounds": {"age": (0.0, float("inf"))}},
        {"kernel": scumble.EuclideanKernel(1e-320)},
        {"person_column": "age", "records_per_person": 1},
        {"progress": 3},
        {"whole": 3},
        {"checkpoint": 3},
        {"ledger": 3, "dataset": "x"},
        {"n": "many"},
        {"columns": "age"},
        {"source": np.zeros((3, 1)), "columns": None},
        {"source": PEOPLE["age"]},
    ],
)
def test_a_mistake_of_a_build_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(scumble.ScumbleError):
        scumble.build(**BUILD | options)


@pytest.fixture(scope="module")
def table() -> scumble.TableRelease:
    return scumble.build(PEOPLE, schema=Schema(age=Number(0, 99), town=Category(["Ulm", "Bonn"])), epsilon=1.0)


@pytest.fixture(scope="module")
def density() -> scumble.Release:
    return scumble.Sketch(NEAR, 1, rows=4, buckets=4).update([[1.0]]).release(1.0)


WRONG = (TypeError, AttributeError, scumble.ParameterError)


@pytest.mark.parametrize(
    "call",
    [
        lambda table, density: table.mean("age", wher="age > 3"),
        lambda table, density: table.sample(3, where="age > 5 and age < 5"),
        lambda table, density: table["age"],
        lambda table, density: table.relation("x"),
        lambda table, density: density.density([[1.0]], 3),
        lambda table, density: density.merge(3),
        lambda table, density: density.plot(ranges=3),
        lambda table, density: Number(5, 5),
        lambda table, density: Date("2024-01-02", "2024-01-01"),
        lambda table, density: scumble.load(["a", "b"]),  # type: ignore[arg-type]
        lambda table, density: scumble.Ledger(3),  # type: ignore[arg-type]
        lambda table, density: scumble.Bundle(3),  # type: ignore[arg-type]
        lambda table, density: scumble.HammingKernel(columns="town"),
        lambda table, density: learn.PrivateKDE(bandwidth=1),  # type: ignore[call-arg]
        lambda table, density: scumble.open("x"),  # type: ignore[attr-defined]
    ],
)
def test_wrong_questions_types_and_names(
    call: Callable[..., object], table: scumble.TableRelease, density: scumble.Release
) -> None:
    with pytest.raises(WRONG):
        call(table, density)
