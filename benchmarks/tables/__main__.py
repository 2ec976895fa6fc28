"""``python -m benchmarks.tables --data FOLDER``: the figures of table releases, printed as Markdown.

FOLDER holds adult.parquet, and if they are to be judged, too, diamonds, bank, credit and compas as .parquet or .csv.
The figures vary by about 3 % from release to release: the noise is real.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from benchmarks.tables.coverage import coverage
from benchmarks.tables.data import KNOWN, Table, load, synthetic
from benchmarks.tables.protocol import conjunctions, group_means, learnt, questions, variation
from benchmarks.tables.releasing import budget, independent, joint, per_class
from scumble.views.fitting import one_thread
from scumble.views.mixture import Mixture

BUDGETS = ((1.0, 1e-6), (1.0, 0.0))
SYNTHETIC = ("chain", "interactions", "curved", "independent")


def accuracy(name: str, folder: Path) -> None:
    """One row per budget and method."""
    private, test = load(name, folder).split()
    print(
        f"\n{name}: {len(private.codes):,} private and {len(test.codes):,} test rows, {len(private.columns)} columns\n"
    )
    print("| ε, δ | method | TV 1-way | TV 2-way | conjunctions (all) | group means (sd) | AUC | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    asked = questions(private, 2000, 1)
    for epsilon, delta in BUDGETS:
        spend = budget(epsilon, delta)
        for method in (joint, per_class):
            begun = time.perf_counter()
            released = method(private, spend, 1)
            seconds = time.perf_counter() - begun
            if method is joint:
                _row(epsilon, delta, "independent", independent(released.evidence[0]), private, test, asked, 0.0)
            _row(epsilon, delta, method.__name__, released.model, private, test, asked, seconds)


def _row(
    epsilon: float, delta: float, method: str, model: Mixture, private: Table, test: Table, asked: list, seconds: float
) -> None:
    one, two = variation(private, model)
    common, every = conjunctions(private, model, asked)
    area = learnt(model.draw(len(private.codes), np.random.default_rng(0)), test)
    print(
        f"| {epsilon:g}, {delta:g} | {method} | {one:.4f} | {two:.4f} | {common:.1%} ({every:.1%}) "
        f"| {group_means(private, model):.3f} | {area:.3f} | {seconds:.1f} |",
        flush=True,
    )


def intervals(names: list[str], folder: Path) -> None:
    """One row per table and budget."""
    print("\n95 % intervals, 300 random conjunctions each\n")
    print("| table | ε, δ | held | of 1, 2, 3, 4 columns | median half-width | first answer | later ones |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        table = synthetic(name, 30_000, 7) if name in SYNTHETIC else load(name, folder).split()[0]
        for epsilon in (0.1, 1.0, 3.0):
            for delta in (1e-6, 0.0):
                found = coverage(table, budget(epsilon, delta), 1)
                by = ", ".join(f"{share:.2f}" for share in found.by_columns)
                print(
                    f"| {name} | {epsilon:g}, {delta:g} | {found.share:.3f} | {by} | {found.width:.2%} "
                    f"| {found.first:.1f} s | {1000 * found.later:.1f} ms |",
                    flush=True,
                )


def main() -> None:
    """Everything that the folder has tables for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the tables")
    parser.add_argument("--only", choices=("accuracy", "intervals"))
    parser.add_argument("--tables", nargs="+", choices=(*KNOWN, *SYNTHETIC))
    chosen = parser.parse_args()
    there = [name for name in KNOWN if any((chosen.data / (name + end)).exists() for end in (".parquet", ".csv"))]
    names = chosen.tables or [*there, *SYNTHETIC]
    if chosen.only != "intervals":
        for name in names:
            if name in KNOWN:
                accuracy(name, chosen.data)
    if chosen.only != "accuracy":
        intervals(names, chosen.data)


if __name__ == "__main__":
    with one_thread():
        main()
