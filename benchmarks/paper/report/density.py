"""Function release: tables of errors, and the ablations of densities."""

from __future__ import annotations

import inspect
import math
import re

from benchmarks.paper.experiments import ablations_density, close
from benchmarks.paper.experiments import density as experiment
from benchmarks.paper.report.comparison import Measure, results
from benchmarks.paper.report.markdown import budget, percent, significant, table, with_spread
from benchmarks.paper.report.rows import Rows

RELATIVE = Measure("density", "relative_error", percent)
L2 = Measure("density", "l2_error", significant)
SIZES = ("rows", "buckets", "design")


def text(rows: Rows) -> str:
    datasets = rows.datasets("density")
    if not datasets:
        return ""
    parts = ["## Densities\n", lecture(experiment)]
    for dataset in datasets:
        parts += [
            f"### {dataset}\n",
            f"![Error against ε on {dataset}](figures/density-{dataset}.svg)\n",
            "Mean relative error, %:\n",
            results(rows, RELATIVE, dataset),
            "L2 error of the density, root mean square over the queries:\n",
            results(rows, L2, dataset),
        ]
    return "\n".join(parts)


def close_calls(rows: Rows) -> str:
    """A line for each set and budget, the least error in bold, and the standard errors of the means."""
    datasets = rows.datasets(close.NAME)
    if not datasets:
        return ""
    lines = []
    for dataset in datasets:
        for epsilon in rows.epsilons(close.NAME, dataset):
            cells = [rows.cell(close.NAME, dataset, name, epsilon, "relative_error") for name in close.METHODS]
            least = min(cell.mean for cell in cells if cell)
            shown = [
                with_spread(cell and cell._replace(spread=cell.spread / math.sqrt(cell.repetitions)), percent)
                for cell in cells
            ]
            bold = [
                f"**{text}**" if cell and cell.mean == least else text for cell, text in zip(cells, shown, strict=True)
            ]
            lines.append([dataset, budget(epsilon), *bold])
    means = "Mean relative error, %, ± its standard error:\n"
    return "\n".join(["### Close calls\n", lecture(close), means, table(["set", "", *close.METHODS], lines, text=2)])


def ablations(rows: Rows) -> str:
    """One table for each part of the experiment: a line for each set and size, a column for each number."""
    name = ablations_density.NAME
    datasets = rows.datasets(name)
    if not datasets:
        return ""
    parts = ["## Ablations: densities\n", lecture(ablations_density)]
    for method in rows.methods(name, datasets[0]):
        parts += [f"### {method}\n", _ablation(rows, name, method)]
    return "\n".join(parts)


def _ablation(rows: Rows, name: str, method: str) -> str:
    found = [row for row in rows.rows if row["experiment"] == name and row["method"] == method]
    measures = list(dict.fromkeys(measure for row in found for measure in row["result"]))
    sizes = list(dict.fromkeys(size for row in found for size in row["options"]))
    lines = []
    for dataset, epsilon, options in dict.fromkeys(
        (row["dataset"], row["epsilon"], tuple(row["options"].items())) for row in found
    ):
        cells = [rows.cell(name, dataset, method, epsilon, measure, **dict(options)) for measure in measures]
        shown = [with_spread(cell, significant) for cell in cells]
        lines.append([dataset, budget(epsilon), *(str(dict(options).get(size, "")) for size in sizes), *shown])
    head = ["set", "", *sizes, *(measure.replace("_", " ") for measure in measures)]
    return table(head, lines, text=2 + len(sizes))


DEFINITION = re.compile(r"^(\S[^\n]*)\n((?: {4}[^\n]*(?:\n|$))+)", re.MULTILINE)


def lecture(module: object) -> str:
    """An experiment's own words on what it does; its definitions as a list."""
    words = (inspect.getdoc(module) or "").replace("``", "`")
    return DEFINITION.sub(lambda found: f"- **{found[1]}**: {' '.join(found[2].split())}\n", words) + "\n"
