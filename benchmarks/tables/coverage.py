"""Do 95 % intervals hold, and how wide are they? Random questions of every kind, on real and synthetic tables.

    python -m benchmarks.tables.coverage [--data FOLDER] [--tables NAME ...] [--releases 4] [--questions 240]
                                         [--processes 2] [--write]

Each release has noise and questions of its own. The interval score is the width plus 40 times the distance of the truth
from the interval (Gneiting & Raftery 2007): less is better, and neither wide nor wrong intervals have a good one. It is
given in percent of the number of records, of a column's standard deviation, or of both for sums.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks import page
from benchmarks.tables.data import Table
from benchmarks.tables.measuring import budget, measured
from benchmarks.tables.protocol import questions
from benchmarks.tables.registry import TABLES, load
from benchmarks.tables.synthetic import SYNTHETIC, synthetic
from benchmarks.tables.unseen import UNSEEN
from scumble import Estimate, TableRelease, sql
from scumble.table.fitting import one_thread

COMMAND = "python -m benchmarks.tables.coverage"
BUDGETS = tuple(itertools.product((0.1, 1.0, 3.0), (1e-6, 0.0)))
COUNTS = tuple(f"count, {many} condition{'s' * (many > 1)}" for many in range(1, 5))
KINDS = (*COUNTS, "share", "mean", "mean by group", "sum by group", "quantile", "ratio", "correlation")
Judged = tuple[str, bool, float]
"""A kind of question, whether the interval held, and its score."""


def coverage(name: str, folder: Path | None, epsilon: float, delta: float, seed: int, number: int) -> list[Judged]:
    """Release once, ask `number` questions, of every kind equally many."""
    if name in SYNTHETIC or folder is None:
        table = synthetic(name, 30_000, 7)
    else:
        table = load(name, folder).split()[0]
    with one_thread():
        release = measured(table.codes, table.columns, budget(epsilon, delta))
        return [_judged(*asked) for asked in _asked(release, table, number // len(KINDS) + 1, seed)]


def _judged(kind: str, found: Estimate, truth: float, unit: float) -> Judged:
    missed = max(found.low - truth, truth - found.high, 0.0)
    return kind, missed <= 0, (found.high - found.low + 40 * missed) / unit


def _asked(release: TableRelease, table: Table, each: int, seed: int) -> Iterator[tuple[str, Estimate, float, float]]:
    """Kind, answer, truth and unit of each question; numbers of a table are the numbers of their cells."""
    generator, codes, n = np.random.default_rng(seed), table.codes, len(table.codes)
    answers = release._answers
    for many, kind in enumerate(COUNTS, 1):
        for q in questions(table, each, 10 * seed + many, (many, many)):
            yield kind, answers.counted(answers.posterior.counts(q.condition), 0.95), q.count, n
    for q in questions(table, each, 10 * seed, (2, 2)):
        shares = answers.posterior.counts(q.condition) / answers.posterior.totals
        yield "share", answers.told(shares, 0.95, 0.0, 1.0), q.count / n, 1.0
    numbers = [j for j, column in enumerate(table.columns) if column.ordered == column.levels]
    words = [j for j, column in enumerate(table.columns) if not column.ordered]
    for _ in range(each):
        if not numbers or not words:
            return
        number, word = int(generator.choice(numbers)), int(generator.choice(words))
        level = int(codes[generator.integers(n), word])
        values, some = codes[:, number].astype(float), codes[:, word] == level
        where, spread = {f"c{word}": str(level)}, max(float(values.std()), 1e-9)
        q = float(generator.choice([0.1, 0.25, 0.5, 0.75, 0.9]))
        yield "mean", release.mean(f"c{number}"), values.mean(), spread
        yield "mean by group", release.mean(f"c{number}", where), values[some].mean(), spread
        yield "sum by group", release.sum(f"c{number}", where), values[some].sum(), spread * n
        yield "quantile", release.quantile(f"c{number}", q), np.quantile(values, q, method="inverted_cdf"), spread
        middle = int(np.median(values))
        above = release.count(where | {f"c{number}": (middle, None)}) / release.count(where)
        yield "ratio", above, (values[some] >= middle).mean(), 1.0
        if len(numbers) > 1:
            pair = [int(j) for j in generator.choice(numbers, 2, replace=False)]
            truth = np.corrcoef(codes[:, pair].T)[0, 1]
            found = sql(f"select corr(c{pair[0]}, c{pair[1]}) as r from t", t=release).iloc[0]
            yield "correlation", Estimate(found.r, found.r_low, found.r_high, 0.0), float(truth), 1.0


def measure(names: Sequence[str], folder: Path | None, releases: int = 4, number: int = 240, processes: int = 2) -> str:
    """Markdown: a row for each kind of question, then one for each table."""
    cases = list(itertools.product(names, BUDGETS))
    tasks = [(name, folder, *spent, 1 + seed, number) for seed in range(releases) for name, spent in cases]
    if processes > 1:
        with get_context("spawn").Pool(processes) as pool:
            found = pool.starmap(coverage, tasks, chunksize=1)
    else:
        found = [coverage(*task) for task in tasks]
    rows = [(*task[:1], task[2:4], *one) for task, ones in zip(tasks, found, strict=True) for one in ones]
    heads = [f"ε = {epsilon:g}" + (", δ = 10⁻⁶" if delta else "") for epsilon, delta in BUDGETS]
    parts = []
    for title, place, those in (("question", 2, KINDS), ("table", 0, names)):
        lines = [
            f"| {title} | " + " | ".join((*heads, "all", "score, %")) + " |",
            "|---" + "|---:" * (2 + len(heads)) + "|",
        ]
        for this in those:
            mine = [row for row in rows if row[place] == this]
            cells = [_held([row for row in mine if row[1] == spent]) for spent in BUDGETS]
            score = f"{100 * np.mean([row[4] for row in mine]):.3g}" if mine else "–"
            lines.append(f"| {this} | " + " | ".join((*cells, _held(mine), score)) + " |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _held(rows: list[tuple[str, tuple[float, float], str, bool, float]]) -> str:
    return f"{np.mean([row[3] for row in rows]):.3f}" if rows else "–"


def main() -> None:
    """All tables of the folder that nothing was chosen on; without a folder, synthetic ones."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables.coverage", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of the tables")
    parser.add_argument("--tables", nargs="+", choices=(*TABLES, *SYNTHETIC))
    parser.add_argument("--releases", type=int, default=4)
    parser.add_argument("--questions", type=int, default=240)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks.md")
    chosen = parser.parse_args()
    names = chosen.tables or list(UNSEEN if chosen.data else SYNTHETIC)
    found = measure(names, chosen.data, chosen.releases, chosen.questions, chosen.processes)
    print(found)
    if chosen.write:
        page.put("benchmarks.md", COMMAND, found.split("\n\n")[0])


if __name__ == "__main__":
    main()
