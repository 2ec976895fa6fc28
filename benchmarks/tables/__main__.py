"""``python -m benchmarks.tables --data FOLDER``: the figures of table releases, printed as Markdown.

FOLDER holds adult.parquet, and if they are to be judged, too, others that `known.py`, `unseen.py` and `fresh.py` name,
as .parquet or .csv. With ``--rivals`` others' programs are judged as well, each in an environment of its own, which is
made first. Cells of ``--results`` are kept (`contest`). The figures vary by about 3 % from release to
release: the noise is real. Intervals alone: ``python -m benchmarks.tables.coverage``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks import page
from benchmarks.tables import coverage
from benchmarks.tables.contest import RESULTS, Results, compete, report, shown
from benchmarks.tables.registry import TABLES, path_of
from benchmarks.tables.rivals import RIVALS
from benchmarks.tables.running import LIMIT
from benchmarks.tables.synthetic import SYNTHETIC
from scumble.table.fitting import one_thread

COMMAND = "python -m benchmarks.tables"


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
    there = [name for name in TABLES if path_of(name, chosen.data).exists()]
    names = chosen.tables or [*there, *SYNTHETIC]
    if chosen.only != "intervals":
        real, results = [name for name in names if name in TABLES], Results(chosen.results)
        compete(real, chosen.data, others, results, chosen.limit)
        told = report(cell for cell in results.cells if cell["table"] in real)
        print(told)
        if chosen.results == RESULTS:
            page.put("benchmarks.md", COMMAND, report(shown(results.cells)))
    if chosen.only != "accuracy":
        print(coverage.measure(names, chosen.data))


if __name__ == "__main__":
    with one_thread():
        main()
