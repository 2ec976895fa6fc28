"""The figures: error or accuracy against ε, one for each data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.paper.report.comparison import Measure
from benchmarks.paper.report.density import L2, RELATIVE
from benchmarks.paper.report.learning import ACCURACY, MSE, WANG
from benchmarks.paper.report.methods import GREY, is_ours, look
from benchmarks.paper.report.rows import Cell, Rows

LABELS = {
    "relative_error": "mean relative error",
    "l2_error": "L2 error of the density",
    "accuracy": "accuracy",
    "mse": "test mean squared error",
}
DASHES = ("--", "-.", ":", (0, (1, 3)))


def write(folder: Path, rows: Rows) -> None:
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "scumble", "svg.fonttype": "none", "font.size": 9}):
        for measures in ((RELATIVE, L2), (ACCURACY,), (MSE,), (WANG,)):
            for dataset in rows.datasets(measures[0].experiment):
                folder.mkdir(parents=True, exist_ok=True)
                _figure(folder / f"{measures[0].experiment}-{dataset}.svg", rows, measures, dataset)


def _figure(path: Path, rows: Rows, measures: tuple[Measure, ...], dataset: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.4 + 3.8 * len(measures), 4.2), layout="constrained")
    axes = figure.subplots(1, len(measures), squeeze=False)[0]
    for panel, measure in zip(axes, measures, strict=True):
        _panel(panel, rows, measure, dataset)
    handles, labels = axes[0].get_legend_handles_labels()
    order = sorted(
        range(len(labels)), key=lambda place: rows.methods(measures[0].experiment, dataset).index(labels[place])
    )
    figure.legend([handles[k] for k in order], [labels[k] for k in order], loc="outside right center", frameon=False)
    figure.suptitle(dataset)
    figure.savefig(path, metadata={"Date": None})


def _panel(axes: Any, rows: Rows, measure: Measure, dataset: str) -> None:
    epsilons = rows.epsilons(measure.experiment, dataset)
    floors = 0
    for method in rows.methods(measure.experiment, dataset):
        constant = rows.unlimited(measure.experiment, dataset, method, measure.name)
        if len(epsilons) > 1 and constant is not None:
            if constant.mean > 0.0:
                axes.axhline(constant.mean, color=GREY, lw=1, ls=DASHES[floors % len(DASHES)], label=method)
                floors += 1
            continue
        cells = {e: rows.cell(measure.experiment, dataset, method, e, measure.name) for e in epsilons}
        _curve(axes, method, {e: cell for e, cell in cells.items() if cell is not None})
    axes.set(xscale="log", xlabel="ε  (bars: standard error of the mean)", ylabel=LABELS[measure.name])
    _limits(axes, rows, measure, dataset)
    axes.grid(alpha=0.25, lw=0.5)
    axes.spines[["top", "right"]].set_visible(False)


def _curve(axes: Any, method: str, cells: dict[float, Cell]) -> None:
    if not cells:
        return
    style, ours = look(method), is_ours(method)
    axes.errorbar(
        list(cells),
        [cell.mean for cell in cells.values()],
        yerr=[cell.spread / np.sqrt(cell.repetitions) for cell in cells.values()],
        color=style.color,
        marker=style.marker or None,
        ls=style.line,
        lw=2.0 if ours else 1.2,
        ms=5,
        elinewidth=0.7,
        zorder=3 if ours else 2,
        label=method,
    )


def _limits(axes: Any, rows: Rows, measure: Measure, dataset: str) -> None:
    """Limits that separate all but the worst; errors on a logarithmic scale."""
    values = [
        cell.mean
        for method in rows.methods(measure.experiment, dataset)
        for epsilon in rows.epsilons(measure.experiment, dataset)
        if (cell := rows.cell(measure.experiment, dataset, method, epsilon, measure.name)) is not None
        and cell.mean > 0.0
    ]
    if measure.larger:
        axes.set_ylim(max(min(values) - 0.03, 0.0), 1.01)
        return
    axes.set_yscale("log")
    low, high = min(values), float(np.quantile(values, 0.97))
    axes.set_ylim(low / 1.4, max(high, low) * 1.6)
