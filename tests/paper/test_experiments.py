"""The paper's experiments: checksums of the data, a bound of the paper, and a report that says what the results say."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.paper import data, report, results
from benchmarks.paper.densities import QUICK
from benchmarks.paper.experiments import ablations_density
from benchmarks.paper.report import learning
from benchmarks.paper.report.comparison import contest
from benchmarks.paper.report.rows import Rows
from benchmarks.paper.task import Task


def test_the_checksum_is_of_numbers_not_of_files() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, np.nan], "b": [3, 4, 5], "c": ["x", "y", "z"]})
    same = frame.iloc[::-1].rename(columns={"a": "A"}).assign(c="other")
    assert data.checksum(same) == data.checksum(frame)
    assert data.checksum(frame.assign(b=[3, 4, 6])) != data.checksum(frame)


# ---- the experiments on densities, on synthetic records ----


@pytest.mark.parametrize("dataset", QUICK)
@pytest.mark.parametrize("epsilon", [0.1, 10.0])
def test_the_bound_of_theorem_3_holds(dataset, epsilon):
    row = ablations_density.run(Task("ablations_density", dataset, "theorem 3", epsilon, 0, (("rows", 256),)))
    assert row["violations"] <= 0.05
    assert row["slack"] > 1.0


# ---- the report says what the results say ----


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
