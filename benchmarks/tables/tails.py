"""Do 95 % intervals hold in far tails? Shares of the records above high points of skewed columns.

    python -m benchmarks.tables.tails [--releases 16] [--processes 2]

Most cells of a tail hold fewer records than their noise. Each table has a
Pareto or lognormal column, in equal cells up to its largest value, beside a normal one and a category.
"""

from __future__ import annotations

import argparse
import itertools
from multiprocessing import get_context

import numpy as np

from benchmarks.tables.data import Table
from benchmarks.tables.measuring import budget, measured
from scumble.machine.onethread import one_thread
from scumble.views.grouping import Column

RECORDS = 20_000
POINTS = (0.9, 0.98, 0.995, 0.999)
LAWS = ("pareto", "lognormal")
CELLS = (64, 200)
BUDGETS = tuple(itertools.product((1.0, 3.0), (1e-6, 0.0)))


def skewed(law: str, cells: int) -> Table:
    """A table whose first column has a long tail."""
    generator = np.random.default_rng(5)
    values = generator.pareto(2.0, RECORDS) + 1 if law == "pareto" else np.exp(generator.normal(size=RECORDS))
    along = (values - values.min()) / np.ptp(values)
    normal, category = generator.normal(size=RECORDS), generator.integers(0, 4, RECORDS)
    codes = np.stack([np.minimum(along * cells, cells - 1), np.clip((normal + 4) / 8 * 30, 0, 29), category], axis=1)
    columns = (Column(cells, cells), Column(30, 30), Column(4))
    return Table(law, ("skewed", "normal", "category"), columns, (None,) * 3, codes.astype(np.int64), 2)


def tails(law: str, cells: int, epsilon: float, delta: float) -> list[tuple[bool, float]]:
    """One release: for each point whether the interval of the count above it held, and the error over all records."""
    table = skewed(law, cells)
    upto = np.cumsum(np.bincount(table.codes[:, 0], minlength=cells))
    found = []
    with one_thread():
        answers = measured(table.codes, table.columns, budget(epsilon, delta))._answers
        for point in POINTS:
            last = int(np.searchsorted(upto, point * RECORDS))
            counts = answers.posterior.counts([(1.0, {0: np.arange(cells) > last})])
            shown, true = answers.told(counts, 0.95, 0.0), RECORDS - upto[last]
            found.append((bool(shown.low <= true <= shown.high), (shown.value - true) / RECORDS))
    return found


def report(releases: int, processes: int) -> None:
    """A row for each table and budget."""
    cases = list(itertools.product(LAWS, CELLS, BUDGETS))
    tasks = [(law, cells, *spent) for law, cells, spent in cases for _ in range(releases)]
    with get_context("spawn").Pool(processes) as pool:
        found = np.array(pool.starmap(tails, tasks, chunksize=1)).reshape(len(cases), releases, len(POINTS), 2)
    print(f"\n95 % intervals that held, and root mean square errors: {releases} releases each\n")
    print("| column | ε, δ | " + " | ".join(f"above {point:.1%}" for point in POINTS) + " |\n|---|---|" + "---|" * 4)
    for (law, cells, (epsilon, delta)), ones in zip(cases, found, strict=True):
        print(f"| {law}, {cells} cells | {epsilon:g}, {delta:g} | {_row(ones)} |")
    print(f"| all | | {_row(found.reshape(-1, len(POINTS), 2))} |")


def _row(ones: np.ndarray) -> str:
    held, errors = ones[..., 0].mean(axis=0), np.sqrt((ones[..., 1] ** 2).mean(axis=0))
    return " | ".join(f"{share:.3f}, {error:.3%}" for share, error in zip(held, errors, strict=True))


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables.tails", description=__doc__)
    parser.add_argument("--releases", type=int, default=16)
    parser.add_argument("--processes", type=int, default=2)
    chosen = parser.parse_args()
    report(chosen.releases, chosen.processes)


if __name__ == "__main__":
    main()
