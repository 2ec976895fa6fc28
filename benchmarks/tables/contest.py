"""Ours and others' programs on the same tables, budgets and yardsticks; every cell is kept in a file as it is measured.

A cell that is in the file is kept, so a comparison that takes hours can be stopped and taken up. Delete
the file, or cells of it, to measure them anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.tables.data import Table
from benchmarks.tables.measuring import budget
from benchmarks.tables.protocol import Distribution, Rows, conjunctions, group_means, learnt, questions, variation
from benchmarks.tables.registry import load
from benchmarks.tables.releasing import independent
from benchmarks.tables.running import LIMIT, Made, run

RESULTS = Path(__file__).with_name("contest.json")
BUDGETS = ((1.0, 1e-6), (1.0, 0.0))
OURS = ("real rows", "independent", "joint", "per_class")
"""The first is no release: what learning from the private rows themselves would give."""
ROUNDED = {"tv1": 4, "tv2": 4, "common": 4, "every": 4, "means": 4, "auc": 4, "cpu": 1, "mib": 0}
Cell = dict[str, Any]


class Results:
    """The cells of a file."""

    def __init__(self, path: Path = RESULTS) -> None:
        self.path = path
        self.cells: list[Cell] = json.loads(path.read_text()) if path.exists() else []

    def has(self, *key: object) -> bool:
        """Is there a cell of this table, ε, δ and method?"""
        return any(_key(cell) == key for cell in self.cells)

    def add(self, cell: Cell) -> None:
        """Keep one, at once."""
        self.cells = [*(other for other in self.cells if _key(other) != _key(cell)), cell]
        lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in self.cells)
        self.path.write_text(f"[\n{lines}\n]\n")


def compete(names: Iterable[str], folder: Path, rivals: Sequence[str], results: Results, limit: int = LIMIT) -> None:
    """Measure every cell that is not there yet."""
    for name in names:
        private, test = load(name, folder).split()
        for epsilon, delta in BUDGETS:
            for method in (*OURS, *rivals):
                if not results.has(name, epsilon, delta, method):
                    results.add(_cell(method, private, test, epsilon, delta, limit))


def _cell(method: str, private: Table, test: Table, epsilon: float, delta: float, limit: int) -> Cell:
    key = {"table": private.name, "epsilon": epsilon, "delta": delta, "method": method}
    if method == "real rows":
        made: Made | str = Made(Rows(private.codes, tuple(column.levels for column in private.columns)), 0.0, 0.0)
    elif method == "independent":
        made = Made(independent(private, budget(epsilon, delta)), 0.0, 0.0)
    else:
        made = run(method, private, epsilon, delta, limit)
    if isinstance(made, str):
        return {**key, "why": made}
    found = {**judge(made.distribution, private), "auc": learnt(made.draw(len(private.codes)), test)}
    found |= {"cpu": made.cpu, "mib": made.mib}
    return {**key, **{name: round(number, ROUNDED[name]) for name, number in found.items()}}


def judge(model: Distribution, private: Table, number: int = 2000) -> dict[str, float]:
    """All yardsticks but learning; conjunctions are so many random ones."""
    one, two = variation(private, model)
    common, every = conjunctions(private, model, questions(private, number, 1))
    return {"tv1": one, "tv2": two, "common": common, "every": every, "means": group_means(private, model)}


MEASURES = {
    "tv2": ("Error of pairs of columns (total variation)", "{:.3f}"),
    "common": ("Error of counts with two to four conditions", "{:.1%}"),
    "auc": ("AUC of a classifier trained on synthetic rows", "{:.3f}"),
    "cpu": ("CPU seconds", "{:,.0f}"),
}
NAMES = {
    "joint": "**scumble**",
    "per_class": "**scumble, `target=`**",
    "independent": "independent noisy columns",
    "real rows": "the private rows themselves",
}
"""What methods are called in the documentation."""


def report(cells: Iterable[Cell]) -> str:
    """Markdown: for each budget and measure a table of methods by tables of data."""
    kept, parts = list(cells), []
    for epsilon, delta in dict.fromkeys((cell["epsilon"], cell["delta"]) for cell in kept):
        parts.append(f"### ε = {epsilon:g}" + (", δ = 10⁻⁶" if delta else ""))
        here = {_key(cell): cell for cell in kept if (cell["epsilon"], cell["delta"]) == (epsilon, delta)}
        tables, methods = (list(dict.fromkeys(key[place] for key in here)) for place in (0, 3))
        methods.sort(key=lambda method: [*NAMES, method].index(method))
        for measure, (title, form) in MEASURES.items():
            lines = [f"| {title} | {' | '.join(map(str, tables))} |", "|---" + "|---:" * len(tables) + "|"]
            for method in methods:
                found = [_shown(here.get((name, epsilon, delta, method)), measure, form) for name in tables]
                if any(found):
                    lines.append(f"| {NAMES.get(str(method), method)} | {' | '.join(found)} |")
            parts.append("\n".join(lines))
    return "\n\n".join(parts)


def shown(cells: Iterable[Cell]) -> list[Cell]:
    """The cells that the documentation shows: the budget and the settings that rivals were run with everywhere."""
    return [cell for cell in cells if cell["delta"] and "rounded" not in cell["method"] and "16" not in cell["method"]]


def _shown(cell: Cell | None, measure: str, form: str) -> str:
    if cell is None:
        return ""
    if "why" in cell:
        return "–"
    wanted = measure == "auc" or cell["method"] != "real rows"  # whose other errors are zero
    return form.format(cell[measure]) if wanted and cell[measure] else ""


def _key(cell: Cell) -> tuple[object, ...]:
    return cell["table"], cell["epsilon"], cell["delta"], cell["method"]
