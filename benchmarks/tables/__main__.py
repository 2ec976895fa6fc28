"""``python -m benchmarks.tables --data FOLDER``: the figures of table releases, printed as Markdown.

FOLDER holds adult.parquet, and if they are to be judged, too, others that `data.py` and `fresh.py` name, as .parquet or
.csv. With ``--rivals`` others' programs are judged beside, each in an environment of its own, which is made first.
Cells of ``--results`` are not measured again (`contest`). The figures vary by about 3 % from release to release: the
noise is real.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.tables.contest import RESULTS, TABLES, Results, compete, report
from benchmarks.tables.coverage import coverage
from benchmarks.tables.data import load, synthetic
from benchmarks.tables.measuring import budget
from benchmarks.tables.rivals import RIVALS
from benchmarks.tables.running import LIMIT
from scumble.views.fitting import one_thread

SYNTHETIC = ("chain", "interactions", "curved", "independent")


def intervals(names: list[str], folder: Path) -> None:
    """One row per table and budget."""
    print("\n95 % intervals, 300 random conjunctions each\n")
    print("| table | ε, δ | held | of 1, 2, 3, 4 columns | median half-width | release | first answer | later ones |")
    print("|---|---|---|---|---|---|---|---|")
    for name in names:
        table = synthetic(name, 30_000, 7) if name in SYNTHETIC else load(name, folder, TABLES).split()[0]
        for epsilon in (0.1, 1.0, 3.0):
            for delta in (1e-6, 0.0):
                found = coverage(table, budget(epsilon, delta), 1)
                by = ", ".join(f"{share:.2f}" for share in found.by_columns)
                print(
                    f"| {name} | {epsilon:g}, {delta:g} | {found.share:.3f} | {by} | {found.width:.2%} "
                    f"| {found.release:.1f} s | {found.first:.1f} s | {1000 * found.later:.1f} ms |",
                    flush=True,
                )


def main() -> None:
    """Everything that the folder has tables for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the tables")
    parser.add_argument("--only", choices=("accuracy", "intervals"))
    parser.add_argument("--tables", nargs="+", choices=(*TABLES, *SYNTHETIC))
    parser.add_argument("--rivals", nargs="*", choices=tuple(RIVALS), help="others' programs; alone: all of them")
    parser.add_argument("--results", type=Path, default=RESULTS, help="what was measured, and will have been")
    parser.add_argument("--limit", type=int, default=LIMIT, help="CPU seconds for a rival")
    chosen = parser.parse_args()
    others = tuple(RIVALS if chosen.rivals == [] else chosen.rivals or ())
    there = [name for name in TABLES if any((chosen.data / (name + end)).exists() for end in (".parquet", ".csv"))]
    names = chosen.tables or [*there, *SYNTHETIC]
    if chosen.only != "intervals":
        real, results = [name for name in names if name in TABLES], Results(chosen.results)
        compete(real, chosen.data, others, results, chosen.limit)
        print(report(cell for cell in results.cells if cell["table"] in real))
    if chosen.only != "accuracy":
        intervals(names, chosen.data)


if __name__ == "__main__":
    with one_thread():
        main()
