"""A comparison of two releases as a frame that draws itself: each difference with its interval."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pandas import DataFrame

from scumble.errors import ParameterError, many
from scumble.show import plots
from scumble.show.tableplots import LONGEST

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ACROSS, WIDE, TALL = 3, 4.2, 3.6
"""Pictures side by side, and inches of one and of a curve."""
LINE, FRAME = 0.2, 0.75
"""Inches of a line, and of what stands above and below the lines of a picture."""
SIZE = 9
"""Points of all letters."""
SIZES = ("font.size", "axes.titlesize", "axes.labelsize", "xtick.labelsize", "ytick.labelsize", "figure.titlesize")
ROOM = 15
"""Letters in an inch."""
MOST = 12
"""Lines of a picture; of more rows those with the most evidence are drawn."""
NOT_COMPARED = "These rows are no comparison. Hint: draw what `release.compare(other)` gives, or some of its rows."


class Comparison(DataFrame):  # type: ignore[misc]
    """What differs between two releases, a row for each statistic: a pandas frame that `plot` draws."""

    @property
    def _constructor(self) -> type[Comparison]:
        return Comparison

    def plot(self, *, title: str | None = None, units: Mapping[str, str] | None = None) -> Figure:
        """A matplotlib Figure: the difference in each row with its interval, filled where it is significant.

        Significant is what has a corrected p-value below one minus the confidence of the intervals. `units` of columns
        by name stand at the axes of means. Of many levels of a column those with the most evidence are drawn. Needs
        ``pip install 'scumble[plot]'``.
        """
        if not {"difference", "low", "high", "p_adjusted"} <= {*self} or not len(self):
            raise ParameterError(NOT_COMPARED)
        figure = plots.new_figure(1.0, 1.0)
        import matplotlib

        looks: Any = {**dict.fromkeys(SIZES, SIZE), "text.color": plots.INK, "axes.labelcolor": plots.INK}
        with matplotlib.rc_context(looks):
            _draw(figure, self, units or {})
            wide = int(ROOM * figure.get_figwidth())
            told = _title(self) if title is None else title
            figure.suptitle(plots.literal("\n".join(textwrap.wrap(told, wide))), weight="bold", x=0.02, ha="left")
            figure.supxlabel(plots.literal("\n".join(textwrap.wrap(_notes(self), wide))), size=SIZE, x=0.02, ha="left")
        return figure


@dataclass
class Block:
    """Rows that share an axis: of what, in which unit, their names, and a factor for their numbers."""

    rows: DataFrame
    labels: Sequence[str]
    unit: str
    factor: float = 1.0
    title: str = ""
    shares: bool = False

    @property
    def height(self) -> float:
        """Inches."""
        return FRAME + LINE * len(self.rows)


def _title(found: DataFrame) -> str:
    spans = found.attrs.get("periods")
    if spans is None:
        return "Difference: second table minus first"
    one, two = (f"period {first}" if first == last else f"periods {first} to {last}" for first, last in spans)
    return f"Difference: {two} minus {one}"


def _notes(found: DataFrame) -> str:
    confidence, of = found.attrs.get("confidence", 0.95), found.attrs.get("comparisons", len(found))
    told = f"Filled: significant at {100 * (1 - confidence):.3g} %, corrected for {many(of, 'comparison')}. "
    told += f"Lines: {100 * confidence:g} % intervals. Claims are {found.attrs.get('claim', '')}."
    return " ".join([told, *found.attrs.get("remarks", [])])


def _draw(figure: Figure, found: DataFrame, units: Mapping[str, str]) -> None:
    points = found.attrs.get("points", {})
    if "point" in found and len(points) == 1 and all(isinstance(one, float) for one in next(iter(points.values()))):
        figure.set_size_inches(7.0, TALL)
        _along(figure.subplots(), found, *points.items())
        return
    groups = [[_of_points(found, points)]] if "point" in found else [*_of_columns(found, units)]
    across = min(ACROSS, len(groups))
    stacks: list[list[Block]] = [[] for _ in range(across)]
    for group in groups:  # below the shortest so far
        min(stacks, key=lambda stack: sum(block.height for block in stack)).extend(group)
    heights = [sum(block.height for block in stack) for stack in stacks]
    figure.set_size_inches(max(WIDE * across, 6.0), max(heights) + 1.0)
    ends = [side * block.factor for stack in stacks for block in stack if block.shares for side in _ends(block.rows)]
    grid = figure.add_gridspec(1, across)
    for place, (stack, height) in enumerate(zip(stacks, heights, strict=True)):
        ratios = [*(block.height for block in stack), max(max(heights) - height, 1e-3)]
        spots = grid[0, place].subgridspec(len(ratios), 1, height_ratios=ratios)
        for number, block in enumerate(stack):
            axes = figure.add_subplot(spots[number, 0])
            _lines(axes, block, plots.LETTERS if across == 1 else plots.FEWER_LETTERS)
            if block.shares and max(ends) > min(ends):
                edge = 0.04 * (max(ends) - min(ends))
                axes.set_xlim(max(min(ends) - edge, -100.0), min(max(ends) + edge, 100.0))


def _ends(rows: DataFrame) -> list[float]:
    """How far the rows reach, zero included."""
    known = rows[["low", "high"]].to_numpy(float)
    known = known[np.isfinite(known)]
    return [min(0.0, *known), max(0.0, *known)] if len(known) else [0.0, 0.0]


def _of_points(found: DataFrame, points: Mapping[str, Sequence[object]]) -> Block:
    rows = _most_evident(found)
    labels = [
        ", ".join(f"{name} = {_text(cells[k])}" for name, cells in points.items()) or f"point {k + 1}"
        for k in rows["point"]
    ]
    return Block(rows, labels, "density (mean kernel value)", title=_some(found, rows, "points"))


def _of_columns(found: DataFrame, units: Mapping[str, str]) -> Iterator[list[Block]]:
    """The pictures of each column, one below the other: its mean, or where it has none its rank; and its shares."""
    named = found["column"].astype(object).where(found["column"].notna(), None)
    for name in dict.fromkeys(named):
        rows = found[(named == name) if name is not None else named.isna()]
        if name is None:
            yield [Block(rows, ["all"], "records", title="Records")]
            continue
        kind = rows["statistic"]
        center = "mean" if (kind == "mean").any() else "rank"
        shares, line = rows[kind == "share"], rows[kind == center]
        blocks = []
        if len(line):
            unit = units.get(name, "mean") if center == "mean" else "percentage points of rank"
            blocks.append(Block(line, [center], unit, 1.0 if center == "mean" else 100.0))
        if len(shares):
            shown = _most_evident(shares)
            labels = [_text(level) for level in shown["level"]]
            some = _some(shares, shown, "levels")
            blocks.append(Block(shown, labels, "percentage points", 100.0, title=some, shares=True))
        if blocks:
            blocks[0].title = ", ".join(filter(None, [name, blocks[0].title]))
            yield blocks


def _most_evident(rows: DataFrame) -> DataFrame:
    """As many rows as there is room for, in their own order."""
    return rows.loc[sorted(rows["p_value"].nsmallest(MOST).index)]


def _some(rows: DataFrame, shown: DataFrame, what: str) -> str:
    """How many of the rows are shown; nothing where all are."""
    return f"{len(shown)} of {len(rows):,} {what}" if len(shown) < len(rows) else ""


def _text(cell: object) -> str:
    return plots.shortened(f"{cell:,g}" if isinstance(cell, float) else str(cell), LONGEST)


def _sure(rows: DataFrame) -> np.ndarray:
    sure: np.ndarray = (rows["p_adjusted"] < 1 - rows.attrs.get("confidence", 0.95)).to_numpy()
    return sure


def _lines(axes: Axes, block: Block, letters: int) -> None:
    """A line for each row, the first above."""
    value, low, high = (block.rows[side].to_numpy(float) * block.factor for side in ("difference", "low", "high"))
    known = np.isfinite(low) & np.isfinite(high)
    place = np.arange(len(block.rows))
    axes.axvline(0.0, color=plots.FAINT, linewidth=1.0)
    for mine, color, fill in (
        (~_sure(block.rows), plots.INK, "white"),
        (_sure(block.rows), plots.SECOND, plots.SECOND),
    ):
        at = known & mine
        axes.hlines(place[at], low[at], high[at], color=color, linewidth=1.4)
        axes.plot(value[at], place[at], "o", color=color, mfc=fill, ms=5)
    for k in place[~known]:
        axes.text(0.0, k, " not known", va="center", color=plots.FAINT)
    axes.set_yticks(place, [plots.literal(plots.shortened(label, LONGEST)) for label in block.labels])
    axes.set_ylim(len(place) - 0.4, -0.6)
    axes.set_xlabel(plots.literal(block.unit))
    axes.set_title(plots.literal(plots.shortened(block.title, LONGEST)), loc="left", weight="bold")
    plots.thousands(axes.xaxis, records=True)  # a difference is no year
    plots.thin(axes.xaxis, letters)
    plots.plain(axes)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


def _along(axes: Axes, found: DataFrame, named: tuple[str, Sequence[float]]) -> None:
    """The differences along one column of numbers."""
    name, cells = named
    place = np.asarray(cells, float)[found["point"].to_numpy()]
    value, low, high = (found[side].to_numpy(float) for side in ("difference", "low", "high"))
    axes.axhline(0.0, color=plots.FAINT, linewidth=1.0)
    for mine, color, fill in ((~_sure(found), plots.INK, "white"), (_sure(found), plots.SECOND, plots.SECOND)):
        axes.vlines(place[mine], low[mine], high[mine], color=color, linewidth=1.4)
        axes.plot(place[mine], value[mine], "o", color=color, mfc=fill, ms=5)
    axes.set(xlabel=plots.literal(plots.shortened(name)), ylabel="density (mean kernel value)")
    plots.thousands(axes.xaxis)
    plots.thin(axes.xaxis, plots.LETTERS)
    plots.plain(axes)
