"""The loader: where it looks, what it refuses, and that it can read the originals' formats."""

from __future__ import annotations

import io
import re
import urllib.request
import zipfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.paper import data, report, results
from benchmarks.paper.densities import PAPER, QUICK, SIZES, density_set, truth
from benchmarks.paper.experiments import ablations_density, density
from benchmarks.paper.functions import METHODS
from benchmarks.paper.report import learning
from benchmarks.paper.report.comparison import contest
from benchmarks.paper.report.rows import Rows
from benchmarks.paper.task import Task


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """SCUMBLE_DATA, empty; and the cache."""
    monkeypatch.setenv("SCUMBLE_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(data, "CACHE", tmp_path / "cache")
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch):
    """Stands in for the publisher's server: answers every address with these bytes."""

    def answer(content: bytes) -> None:
        monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: io.BytesIO(content))

    return answer


def zipped(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return buffer.getvalue()


ORIGINALS = {
    "skin": (zipped({"Skin_NonSkin.txt": "74\t85\t123\t1\n255 0 3 2\n"}), [[74, 85, 123, 1], [255, 0, 3, 2]]),
    "codrna": (b"-1 1:8 3:0.5 8:2\n1 2:1\n", [[8, 0, 0.5, 0, 0, 0, 0, 2, -1], [0, 1, 0, 0, 0, 0, 0, 0, 1]]),
    "pulsar": (zipped({"HTRU_2.csv": "1,2,3,4,5,6,7,8,0\n"}), [[1, 2, 3, 4, 5, 6, 7, 8, 0]]),
    "airfoil": (zipped({"airfoil_self_noise.dat": "800\t0\t0.3\t71\t0.1\t126\n"}), [[800, 0, 0.3, 71, 0.1, 126]]),
    "naval": (zipped({"UCI CBM Dataset/data.txt": " ".join(map(str, range(18))) + "\n"}), [[*range(18)]]),
    "occupancy": (
        zipped(
            {
                f"{name}.txt": '"date","Temperature","Humidity","Light","CO2","HumidityRatio","Occupancy"\n'
                f'"1","2015-02-04 17:51:00",23.18,{k},426,721.25,0.0048,1\n'
                for k, name in enumerate(("datatraining", "datatest", "datatest2"))
            }
        ),
        [[23.18, k, 426, 721.25, 0.0048, 1] for k in range(3)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ORIGINALS)
def test_originals_are_read_checked_and_kept(name: str, folder: Path, published, monkeypatch) -> None:
    content, numbers = ORIGINALS[name]
    published(content)
    with pytest.raises(SystemExit, match="checksum"):
        data.load(name)
    assert not (data.CACHE / f"{name}.parquet").exists()
    right = data.checksum(pd.DataFrame(numbers))
    monkeypatch.setitem(data.ORIGINALS, name, data.ORIGINALS[name]._replace(checksum=right))
    frame = data.load(name)
    np.testing.assert_allclose(frame.select_dtypes("number").to_numpy(float), numbers, rtol=1e-6)
    published(b"never asked again")
    pd.testing.assert_frame_equal(data.load(name), frame)


def test_the_checksum_is_of_numbers_not_of_files() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, np.nan], "b": [3, 4, 5], "c": ["x", "y", "z"]})
    same = frame.iloc[::-1].rename(columns={"a": "A"}).assign(c="other")
    assert data.checksum(same) == data.checksum(frame)
    assert data.checksum(frame.assign(b=[3, 4, 6])) != data.checksum(frame)


# ---- the experiments on densities, on synthetic records ----


def test_every_method_is_in_every_set_at_every_budget_it_can_run_at():
    found = {(task.dataset, task.method, task.epsilon) for task in density.tasks(quick=False)}
    for dataset in PAPER:
        for method in METHODS:
            budgets = {epsilon for name, other, epsilon in found if (name, other) == (dataset, method.name)}
            always = method.private == "none" or method.why_not(*SIZES[dataset], 1.0)
            assert budgets == ({10.0} if always else {0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0})


def test_errors_are_against_the_exact_density():
    data = density_set("hills-3d")
    exact = truth("hills-3d", data.kernel)
    np.testing.assert_allclose(exact[:20], data.kernel(data.Q[:20], data.X).mean(axis=1), rtol=1e-6)
    assert density.errors(exact, exact) == {"relative_error": 0.0, "l2_error": 0.0}
    assert density.errors(1.1 * exact, exact)["relative_error"] == pytest.approx(0.1)


@pytest.mark.parametrize("dataset", QUICK)
@pytest.mark.parametrize("epsilon", [0.1, 10.0])
def test_the_bound_of_theorem_3_holds(dataset, epsilon):
    row = ablations_density.run(Task("ablations_density", dataset, "theorem 3", epsilon, 0, (("rows", 256),)))
    assert row["violations"] <= 0.05
    assert row["slack"] > 1.0


def test_the_own_count_is_far_better_than_that_of_all_counters():
    """Errors of 25 on average against 570: twelve of the latter average below 75 with probability 2e-9."""
    rows = [
        ablations_density.run(Task("ablations_density", "hills-1d", "count", 1.0, repetition, (("rows", 256),)))
        for repetition in range(12)
    ]
    theirs, own = (np.mean([row[f"count_error_{name}"] for row in rows]) for name in ("algorithm_2", "own"))
    assert own < theirs / 3


# ---- the report says what the results say, and the figures are there ----


COMMITTED = results.PATH.parent


def row(method: str, epsilon: float, repetition: int, **result: Any) -> dict[str, Any]:
    place = {"experiment": "classification", "dataset": "pulsar", "method": method}
    return {**place, "epsilon": epsilon, "repetition": repetition, "options": {}, "result": result}


@pytest.fixture
def rows() -> Rows:
    made = [row("scumble, δ = 0", 1.0, k, accuracy=0.9 + 0.01 * k) for k in range(3)]
    made += [
        row("scumble, δ = 0, MAP", 1.0, 0, accuracy=0.99),
        row("Private RACE, as published", 1.0, 0, accuracy=0.98),
    ]
    made += [row("logistic regression", 1.0, 0, accuracy=0.95), row("naive Bayes", 1.0, 0, accuracy=0.5)]
    return Rows(made)


def test_only_promises_that_are_kept_take_part_and_ours_is_not_chosen_in_hindsight(rows: Rows) -> None:
    one = contest(rows, learning.ACCURACY, "pulsar", 1.0, pure=True)
    assert one is not None
    assert (one.our.mean, one.rival, one.their.mean) == (pytest.approx(0.91), "logistic regression", 0.95)


@pytest.fixture(scope="module")
def committed() -> dict[str, Any]:
    return results.read()


@pytest.fixture(scope="module")
def page() -> str:
    return (COMMITTED / report.NAME).read_text("utf-8")


def test_the_report_is_what_the_results_make(committed: dict[str, Any], page: str) -> None:
    """If this fails: python -m benchmarks.paper --report"""
    assert report.text(committed) == page


def test_its_tables_hold_the_means_of_the_rows(committed: dict[str, Any], page: str) -> None:
    """Computed here from the rows themselves, in the plainest way."""
    values: dict[tuple[str, str, float], list[float]] = defaultdict(list)
    for one in committed["rows"]:
        if one["experiment"] == "classification":
            values[one["dataset"], one["method"], one["epsilon"]].append(one["result"]["accuracy"])
    assert values
    for (_, method, _), found in values.items():
        shown = f"{100 * np.mean(found):.1f} ± {100 * np.std(found, ddof=1):.1f}"
        assert re.search(rf"^\| {re.escape(method)} \|.*{re.escape(shown)}", page, re.MULTILINE), (method, shown)


def test_every_figure_is_there(page: str) -> None:
    pictures = re.findall(r"\]\((figures/[^)]+)\)", page)
    assert pictures
    for picture in pictures:
        assert (COMMITTED / picture).stat().st_size > 1000
