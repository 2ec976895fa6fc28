"""Do 95 % intervals hold in far tails? Shares of the records above high points of skewed columns.

    python -m benchmarks.tables.tails [--releases 16] [--processes 2]

Most cells of a tail hold fewer records than their noise. Each table has a Pareto or lognormal column, in equal cells up
to its largest value, next to a normal one and a category. Writes the table in docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import itertools
from multiprocessing import get_context

import numpy as np

from benchmarks import page
from benchmarks.tables.data import Table
from benchmarks.tables.measuring import budget, measured
from scumble.table.fitting import one_thread
from scumble.table.grouping import Column

COMMAND = "python -m benchmarks.tables.tails"
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


def tails(law: str, cells: int, epsilon: float, delta: float) -> list[bool]:
    """One release: for each point whether the interval of the count above it held."""
    table = skewed(law, cells)
    upto = np.cumsum(np.bincount(table.codes[:, 0], minlength=cells))
    found = []
    with one_thread():
        answers = measured(table.codes, table.columns, budget(epsilon, delta))._answers
        for point in POINTS:
            last = int(np.searchsorted(upto, point * RECORDS))
            counts = answers.posterior.counts([(1.0, {0: np.arange(cells) > last})])
            shown = answers.counted(counts, 0.95)
            found.append(bool(shown.low <= RECORDS - upto[last] <= shown.high))
    return found


def measure(releases: int, processes: int) -> str:
    """Markdown: a row for each column, over all budgets."""
    cases = list(itertools.product(LAWS, CELLS, BUDGETS))
    tasks = [(law, cells, *spent) for law, cells, spent in cases for _ in range(releases)]
    with get_context("spawn").Pool(processes) as pool:
        held = np.array(pool.starmap(tails, tasks, chunksize=1))
    lines = ["| column | " + " | ".join(f"above {point:.1%}" for point in POINTS) + " |", "|---" + "|---:" * 4 + "|"]
    for law, cells in itertools.product(LAWS, CELLS):
        mine = held[[task[:2] == (law, cells) for task in tasks]]
        lines.append(f"| {law}, {cells} cells | {' | '.join(f'{share:.3f}' for share in mine.mean(axis=0))} |")
    return "\n".join([*lines, f"| all | {' | '.join(f'{share:.3f}' for share in held.mean(axis=0))} |"])


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables.tails", description=__doc__)
    parser.add_argument("--releases", type=int, default=16)
    parser.add_argument("--processes", type=int, default=2)
    chosen = parser.parse_args()
    found = measure(chosen.releases, chosen.processes)
    print(found)
    page.put("benchmarks.md", COMMAND, found)


if __name__ == "__main__":
    main()
