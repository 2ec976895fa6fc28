"""Pictures of a table's release: a histogram of each column, with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from scumble.columns.column import MISSING
from scumble.columns.containers import free
from scumble.columns.date import Date
from scumble.columns.number import Number
from scumble.errors import many
from scumble.show import plots
from scumble.table.questions import parts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from scumble.table.release import TableRelease

ACROSS = 3
WORDS = 40
"""Bars of words at most, each with its name."""
MANY = 80
"""Bars that have room for a line each; the intervals of more are a band."""
LONGEST = 34
"""Letters of a label."""
LABELS = 8
"""Labels of bars along one axis."""
LETTERS = 32
"""Letters that have room along one axis."""
GAP = 0.1
"""Inches on every side of a picture and its labels: the next one's labels do not read on from its bars."""
DAY = 86_400
ALIKE = 0.05
"""By which share cells may differ in width and still be drawn as they were counted."""


def marginals(release: TableRelease, columns: Iterable[str] | None = None) -> Figure:
    """A histogram for each column; the lines on the bars, or the band over many of them, are intervals."""
    names = list(release.columns if columns is None else columns)
    across = min(ACROSS, len(names))
    lying = [not release.schema[name].ordered for name in names]
    down = math.ceil(len(names) / across)
    words = [min(release.schema[name].size, WORDS) for name in names]
    high = [
        max(2.7, *(0.9 + 0.15 * words[k] for k in range(line, min(line + across, len(names))) if lying[k]), 0.0)
        for line in range(0, len(names), across)
    ]
    figure: Figure = plots.new_figure(max(5.0, (4.4 if any(lying) else 3.4) * across), sum(high))
    figure.set_layout_engine("constrained", w_pad=GAP, h_pad=GAP)
    all_axes = figure.subplots(down, across, squeeze=False, height_ratios=high).ravel()
    for name, axes in zip(names, all_axes, strict=False):
        (_lines if release.schema[name].ordered else _words)(axes, release, name)
        axes.set_title(plots.literal(plots.shortened(name, 40)), fontsize=9, color=plots.INK)
        plots.plain(axes)
    for axes in all_axes[len(names) :]:
        axes.set_axis_off()
    total = release._answers.total
    figure.suptitle(
        plots.promise(release.privacy, total.value, math.sqrt(total.variance)), fontsize=10, color=plots.INK
    )
    return figure


def _counted(release: TableRelease, name: str) -> DataFrame:
    """A column's histogram, the parts of which are called alike, whatever the column's own name."""
    answers = ["from", "to", "value", "low", "high"]
    found = release.histogram(name)
    return found.rename(columns={name: "level", **dict(zip(free(answers, [name]), answers, strict=True))})


def _words(axes: Axes, release: TableRelease, name: str) -> None:
    """Bars that lie, each with its name: the most frequent words, in their own order."""
    found = _counted(release, name)
    left_out = len(found) - WORDS
    if left_out > 0:
        found = found.loc[sorted(found["value"].nlargest(WORDS).index)]
    value, low, high = (found[side].to_numpy() for side in ("value", "low", "high"))
    place = np.arange(len(found))
    axes.barh(
        place,
        value,
        height=0.8,
        color=plots.INK,
        xerr=[value - low, high - value],
        ecolor=plots.SECOND,
        error_kw={"lw": 1},
    )
    labels = [plots.shortened(_word(level), LONGEST) for level in found["level"]]
    axes.set_yticks(place, [plots.literal(label) for label in labels], fontsize=7)
    axes.set_ylim(len(found) - 0.4, -0.6)
    axes.locator_params(axis="x", nbins=4)
    more = f"; … and {left_out} more, none of them more frequent" if left_out > 0 else ""
    axes.set_xlabel(f"records{more}", fontsize=7, color=plots.INK)
    plots.thousands(axes.xaxis, records=True)


def _word(level: object) -> str:
    if level is None or level != level:
        return MISSING
    return str(level).lower() if isinstance(level, bool | np.bool_) else str(level)


def _lines(axes: Axes, release: TableRelease, name: str) -> None:
    """Bars that stand, each as wide as its cells; alike, if somebody has cut the cells. What has no place on
    the line is written below: missing cells, and zeros that are counted apart."""
    column, found = release.schema[name], _counted(release, name)
    assert isinstance(column, Number | Date)
    below: list[str] = []
    value, low, high = (found[side].to_numpy() for side in ("value", "low", "high"))
    edges = _edges(column, name)
    if column.missing:
        below.append(f"{value[-1]:,.0f} missing")
    bars = slice(0, len(edges) - 1)
    apart = isinstance(column, Number) and column.zeros and column.zero_level == 0
    if edges[1] - edges[0] < np.finfo(float).tiny or (apart and len(edges) == column.cuts.size + 1):
        below.append(f"{value[0]:,.0f} at 0")
        bars, edges = slice(1, len(edges) - 1), edges[1:]
    share = np.ones(len(edges) - 1)
    logarithmic = isinstance(column, Number) and column.scale == "log" and column.edges is None
    if logarithmic and edges[0] < np.finfo(float).tiny:  # the cell above zero goes down for ever
        edges[0] = edges[1] ** 2 / edges[2]
    if column.edges is not None:
        shown = range(0, len(edges), math.ceil(len(edges) / LABELS))
        axes.set_xticks([*shown], [_told(column, edges[k], edges) for k in shown], fontsize=7, rotation=30, ha="right")
        edges = np.arange(len(edges), dtype=float)
    elif logarithmic:
        axes.set_xscale("log")
    elif not isinstance(getattr(column, "cells", None), str):  # months are bars for their own sake
        widths = np.diff(edges)
        usual = float(np.median(widths))
        share = widths / usual
        if len(share) > 1 and not np.allclose(share[:-1], 1.0, rtol=ALIKE):
            below.insert(0, f"records per {_unit(column, usual)}")
    value, low, high = (side[bars] / share for side in (value, low, high))
    axes.stairs(value, edges, fill=True, color=plots.INK, lw=0)
    if len(value) > MANY:
        axes.fill_between(edges.repeat(2)[1:-1], low.repeat(2), high.repeat(2), color=plots.SECOND, alpha=0.4, lw=0)
    else:
        middle = np.sqrt(edges[:-1] * edges[1:]) if logarithmic else (edges[:-1] + edges[1:]) / 2
        axes.errorbar(middle, value, yerr=[value - low, high - value], fmt="none", ecolor=plots.SECOND, elinewidth=1)
        if len(value) < MANY / 2:
            axes.vlines(edges[1:-1], 0, np.minimum(value[:-1], value[1:]), color="white", lw=0.4)
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(bottom=min(0.0, float(value.min(initial=0.0))))
    axes.tick_params(labelsize=7)
    axes.set_ylabel("records", fontsize=8, color=plots.INK)
    axes.set_xlabel("; ".join(below), fontsize=7, color=plots.INK)
    plots.thousands(axes.yaxis, records=True)
    if column.edges is None:
        _mark(axes, column, edges)


def _edges(column: Number | Date, name: str) -> npt.NDArray[np.float64]:
    """Where the bars of a column begin, and where the last one ends: values, of dates days since 1970. A whole number
    stands in the middle of its bar."""
    cuts = column.cuts
    weights = [np.flatnonzero(part.weights) for part in parts(column, name)][: None if not column.missing else -1]
    places = [int(cells[0]) for cells in weights] + [int(weights[-1][-1]) + 1]
    edges = cuts.values(np.array([cuts.edges[place] for place in places]))
    if isinstance(column, Date):
        return edges * (column.step / DAY)
    return edges - 0.5 if column.whole and column.scale == "linear" and column.edges is None else edges


def _unit(column: Number | Date, usual: float) -> str:
    size, unit = (usual, "day") if isinstance(column, Date) else (usual, "unit")
    return many(size, unit, "g")


def _told(column: Number | Date, edge: float, edges: Sequence[float] | npt.NDArray[np.float64]) -> str:
    """An edge that somebody has chosen, in words."""
    if isinstance(column, Date):
        return str(np.datetime64(round(edge * DAY), "s"))[: 10 if column.step >= DAY else 16]
    return plots.amount(edge, abs(edge) if abs(edge) >= 1e6 else 0.0)


def _mark(axes: Axes, column: Number | Date, edges: npt.NDArray[np.float64]) -> None:
    """Round numbers or dates along the line."""
    if isinstance(column, Date):
        plots.as_dates(axes.xaxis, "date", (float(edges[0]), float(edges[-1])))
    elif axes.get_xscale() == "log":
        from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

        axes.xaxis.set_major_locator(LogLocator(numticks=LABELS - 2))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: plots.amount(value, abs(value))))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        from matplotlib.ticker import MaxNLocator

        axes.xaxis.set_major_locator(
            MaxNLocator(6, steps=[1, 2, 2.5, 5, 10], integer=bool(getattr(column, "whole", 0)))
        )
        plots.thousands(axes.xaxis)
        plots.thin(axes.xaxis, LETTERS)
