"""``python -m benchmarks.tables --data FOLDER``: the figures of table releases, printed as Markdown.

FOLDER holds adult.parquet, and if they are to be judged, too, others that `data.py` names, as .parquet or .csv. With
``--rivals`` others' programs are judged beside, each in an environment of its own, which is made first. The figures
vary by about 3 % from release to release: the noise is real. Intervals: ``python -m benchmarks.tables.coverage``.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from benchmarks.tables import rivals
from benchmarks.tables.data import KNOWN, Table, load
from benchmarks.tables.measuring import budget
from benchmarks.tables.protocol import conjunctions, group_means, learnt, questions, variation
from benchmarks.tables.releasing import independent, joint, per_class
from benchmarks.tables.unseen import UNSEEN
from scumble.views.fitting import one_thread
from scumble.views.mixture import Mixture

BUDGETS = ((1.0, 1e-6), (1.0, 0.0))


def accuracy(name: str, folder: Path, others: tuple[str, ...] = ()) -> None:
    """One row per budget and method, rivals' programs among them."""
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
            released = method(private, spend)
            seconds = time.perf_counter() - begun
            if method is joint:
                _row(epsilon, delta, "independent", independent(private, spend), private, test, asked, 0.0)
            _row(epsilon, delta, method.__name__, released.model, private, test, asked, seconds)
        for rival in others:
            found = rivals.synthesised(rival, private, epsilon, delta)
            if isinstance(found, str):
                print(f"| {epsilon:g}, {delta:g} | {rival} | {found} | | | | | |", flush=True)
                continue
            rows, seconds = found
            _row(epsilon, delta, rival, rivals.as_model(rows, private), private, test, asked, seconds, rows)


def _row(
    epsilon: float,
    delta: float,
    method: str,
    model: Mixture,
    private: Table,
    test: Table,
    asked: list,
    seconds: float,
    rows: np.ndarray | None = None,
) -> None:
    one, two = variation(private, model)
    common, every = conjunctions(private, model, asked)
    area = learnt(model.draw(len(private.codes), np.random.default_rng(0)) if rows is None else rows, test)
    print(
        f"| {epsilon:g}, {delta:g} | {method} | {one:.4f} | {two:.4f} | {common:.1%} ({every:.1%}) "
        f"| {group_means(private, model):.3f} | {area:.3f} | {seconds:.1f} |",
        flush=True,
    )


def main() -> None:
    """Everything that the folder has tables for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the tables")
    parser.add_argument("--tables", nargs="+", choices=(*KNOWN, *UNSEEN))
    parser.add_argument(
        "--rivals", nargs="*", choices=tuple(rivals.RIVALS), help="others' programs; alone: all of them"
    )
    chosen = parser.parse_args()
    every = (*KNOWN, *UNSEEN)
    others = tuple(rivals.RIVALS if chosen.rivals == [] else chosen.rivals or ())
    there = [name for name in every if any((chosen.data / (name + end)).exists() for end in (".parquet", ".csv"))]
    for name in chosen.tables or there:
        accuracy(name, chosen.data, others)


if __name__ == "__main__":
    with one_thread():
        main()
