"""The table of preparation and query times, and how they grow."""

from __future__ import annotations

from typing import Any

from benchmarks.paper.experiments import timing as experiment
from benchmarks.paper.report.density import lecture
from benchmarks.paper.report.markdown import significant, table, with_spread
from benchmarks.paper.report.methods import METHODS
from benchmarks.paper.report.rows import Cell, Rows

NAME = experiment.NAME
QUICK = ("hills-1d", "hills-3d")


def preparation(rows: Rows, dataset: str) -> dict[str, Cell]:
    """Seconds from the records to what is published, of every private method that ran."""
    found = {}
    for method in rows.methods(NAME, dataset):
        cell = rows.cell(NAME, dataset, method, experiment.EPSILON, "seconds_prepare")
        if cell is not None and METHODS[method].private in ("pure", "approximate"):
            found[method] = cell
    return found


def text(rows: Rows) -> str:
    datasets = [name for name in rows.datasets(NAME) if name != experiment.SYNTHETIC]
    if not datasets:
        return ""
    parts = ["## Time\n", lecture(experiment)]
    for dataset in datasets:
        parts += [f"### On {dataset}\n", _table(rows, dataset)]
    parts += [_growth(rows, dataset, "records") for dataset in datasets]
    parts.append(_growth(rows, experiment.SYNTHETIC, "columns"))
    return "\n".join(part for part in parts if part)


def _table(rows: Rows, dataset: str) -> str:
    lines = []
    for method in rows.methods(NAME, dataset):
        prepared, opened, asked = (
            rows.cell(NAME, dataset, method, experiment.EPSILON, measure)
            for measure in ("seconds_prepare", "seconds_open", "seconds_query")
        )
        reason = rows.reasons.get((NAME, dataset, method))
        if prepared is None and reason is not None:
            lines.append([method, f"cannot: {reason}", "", ""])
        else:
            query = "–" if asked is None else f"{significant(1e6 * asked.mean)}"
            lines.append([method, with_spread(prepared, significant), with_spread(opened, significant), query])
    return table(["method", "preparation, s", "first query, s", "a further query, µs"], lines)


def _growth(rows: Rows, dataset: str, option: str) -> str:
    """Seconds of preparation as `option` grows and all others stay."""
    varied = [row["options"] for row in rows.rows if row["experiment"] == NAME and row["dataset"] == dataset]
    varied = [options for options in varied if option in options]
    if not varied:
        return ""
    sizes: list[Any] = list(dict.fromkeys(options[option] for options in varied))
    fixed = {name: value for name, value in varied[0].items() if name != option}
    lines = []
    for method in rows.methods(NAME, dataset):
        cells = [
            rows.cell(NAME, dataset, method, experiment.EPSILON, "seconds_prepare", **fixed, **{option: size})
            for size in sizes
        ]
        if any(cells):
            lines.append([method, *("–" if cell is None else significant(cell.mean) for cell in cells)])
    title = f"### Preparation on {dataset} as {option} grow, s\n"
    return "\n".join([title, table([option, *(f"{size:,}" for size in sizes)], lines)])
