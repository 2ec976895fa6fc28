"""Do 95 % intervals hold? Random conjunctions of one to four columns, on real and synthetic tables.

    python -m benchmarks.tables.coverage --data FOLDER [--tables NAME ...] [--releases 4] [--questions 300]
                                         [--processes 2]

Every release has noise and questions of its own. All questions of a release share its noise, so that single releases
scatter; each figure is the mean of several, with the least and the most of them beside it.
"""

from __future__ import annotations

import argparse
import itertools
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks.tables.measuring import budget, measured
from benchmarks.tables.protocol import questions
from benchmarks.tables.registry import TABLES, load
from benchmarks.tables.synthetic import SYNTHETIC, synthetic
from benchmarks.tables.unseen import UNSEEN
from scumble.machine.onethread import one_thread

NORMAL = 1.96
BUDGETS = tuple(itertools.product((0.1, 1.0, 3.0), (1e-6, 0.0)))


@dataclass(frozen=True)
class Covered:
    """Shares of intervals that held, in one release."""

    share: float
    by_columns: tuple[float, ...]
    """Of questions of one, two, three and four columns."""
    width: float
    """Median half-width, as a share of the records."""
    pairs: int
    """How many pairs of columns were measured."""


def coverage(name: str, folder: Path, epsilon: float, delta: float, seed: int, number: int) -> Covered:
    """Release once, ask `number` questions."""
    table = synthetic(name, 30_000, 7) if name in SYNTHETIC else load(name, folder).split()[0]
    asked = questions(table, number, seed, (1, 4))
    with one_thread():
        answers = measured(table.codes, table.columns, budget(epsilon, delta))._answers
        estimates = [answers.count(question.condition) for question in asked]
    deviations = np.sqrt([estimate.variance for estimate in estimates])
    errors = np.abs([estimate.value - q.count for estimate, q in zip(estimates, asked, strict=True)])
    held = errors <= NORMAL * deviations
    sizes = np.array([len(q.weights) for q in asked])
    by_columns = tuple(float(held[sizes == size].mean()) for size in range(1, 5))
    pairs = sum(len(view.columns) == 2 for view in answers.readings[0].evidence.views)
    return Covered(float(held.mean()), by_columns, float(np.median(NORMAL * deviations)) / len(table.codes), pairs)


def report(names: list[str], folder: Path, releases: int = 4, number: int = 300, processes: int = 2) -> None:
    """A row for each table: the mean, the least and the most of its releases; then what they are made of."""
    cases = list(itertools.product(names, BUDGETS))
    tasks = [(name, folder, *spent, 1 + seed, number) for seed in range(releases) for name, spent in cases]
    with get_context("spawn").Pool(processes) as pool:
        found = pool.starmap(coverage, tasks, chunksize=1)
    by_case = {case: found[place :: len(cases)] for place, case in enumerate(cases)}
    heads = [f"ε = {epsilon:g}" + (", δ = 10⁻⁶" if delta else "") for epsilon, delta in BUDGETS]
    print(
        f"\n95 % intervals that held: {releases} releases each, {number} random conjunctions of one to four columns\n"
    )
    print("| table | " + " | ".join(heads) + " |\n|" + "---|" * (1 + len(heads)))
    for name in names:
        cells = []
        for spent in BUDGETS:
            shares = [one.share for one in by_case[name, spent]]
            cells.append(f"{_short(np.mean(shares))} ({_short(min(shares))}–{_short(max(shares))})")
        print(f"| {name} | " + " | ".join(cells) + " |")
    print("\n| table | ε, δ | pairs measured | of 1, 2, 3, 4 columns | median half-width |\n|---|---|---|---|---|")
    for (name, (epsilon, delta)), ones in by_case.items():
        by = ", ".join(_short(share) for share in np.mean([one.by_columns for one in ones], axis=0))
        width = np.mean([one.width for one in ones])
        print(f"| {name} | {epsilon:g}, {delta:g} | {ones[0].pairs} | {by} | {width:.2%} |")


def _short(share: float) -> str:
    """Without the nought before the point."""
    return f"{share:.3f}".removeprefix("0")


def main() -> None:
    """All tables of the folder that nothing was chosen on, unless others are named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables.coverage", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the tables")
    parser.add_argument("--tables", nargs="+", choices=(*TABLES, *SYNTHETIC), default=list(UNSEEN))
    parser.add_argument("--releases", type=int, default=4)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--processes", type=int, default=2)
    chosen = parser.parse_args()
    report(chosen.tables, chosen.data, chosen.releases, chosen.questions, chosen.processes)


if __name__ == "__main__":
    main()
