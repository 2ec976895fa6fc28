"""Pictures of a table's release: its columns at a glance."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from scumble.errors import many
from scumble.schema.column import MISSING
from scumble.show import barticks
from scumble.show.plots import INK, SECOND, literal, new_figure, plain, promise, shortened, thousands
from scumble.show.shown import ShownTable
from scumble.tables.beside import free

ACROSS = 3
WORDS = 40
"""Bars of words at most, each with its name."""
CROWDED = 24
"""Names that have room in letters of the usual size."""
FEW = 8
"""Words that stand below their bars if they have room there; else they stand beside bars that lie."""
MANY = 80
"""Bars that have room for a line each; the intervals of more are a band."""
LONGEST = 34
"""Letters of a label."""
GAP = 0.1
"""Inches on every side of a picture and its labels: the next one's labels do not read on from its bars."""
ALIKE = 0.05
"""By which share cells may differ in width and still pass for equal ones."""


def marginals(release: ShownTable, columns: Iterable[str] | None = None) -> Any:
    """A histogram for each column; the lines on the bars, or the band over many of them, are intervals."""
    names = list(release.columns if columns is None else columns)
    across = min(ACROSS, len(names))
    pictures = [_Bars(name, release) for name in names]
    lines = [pictures[first : first + across] for first in range(0, len(names), across)]
    high = [max(one.height for one in line) for line in lines]
    figure = new_figure(max(5.0, (4.4 if any(one.lying for one in pictures) else 3.4) * across), sum(high))
    figure.get_layout_engine().set(w_pad=GAP, h_pad=GAP)
    all_axes = figure.subplots(len(lines), across, squeeze=False, height_ratios=high).ravel()
    for place, (picture, axes) in enumerate(zip(pictures, all_axes, strict=False)):
        picture.draw(axes)
        if not picture.lying and (place % across == 0 or pictures[place - 1].lying):
            axes.set_ylabel("records", fontsize=9, color=INK)
    for axes in all_axes[len(names) :]:
        axes.set_axis_off()
    total = release._answers.total
    figure.suptitle(promise(release.privacy, total.value, math.sqrt(total.variance)), fontsize=10, color=INK)
    return figure


class _Bars:
    """The picture of one column: bars that stand, or lie where their names are long."""

    def __init__(self, name: str, release: ShownTable) -> None:
        self._name, self._column = name, release.schema[name]
        self._found, left_out = _most(_counted(release, name), self._column.ordered)
        self._below = [f"… and {left_out} more, none of them more frequent"] if left_out else []
        if self._column.ordered and self._column.missing:  # not the next number: beside the others it may be a tower
            self._below = [f"{self._found['value'].iloc[-1]:,.0f} missing"]
            self._found = self._found.iloc[:-1]
        self._labels = _labels(self._found)
        few = len(self._labels) <= FEW and _level(range(len(self._labels)), self._labels, len(self._labels))
        self.lying = not self._column.ordered and not few
        self._uneven = _uneven(self._column, self._found, self._labels)
        self.height = max(2.7, 0.9 + 0.11 * len(self._labels)) if self.lying else 2.7

    def draw(self, axes: Any) -> None:
        middle, share, width = range(len(self._found)), np.ones(len(self._found)), np.array(0.9)
        if self._uneven is not None:
            share, told = self._uneven
            self._below = [told, *self._below]
        elif self._column.ordered:
            line = self._column.size - self._column.missing
            joined = len(self._found) < line
            cells = len(getattr(self._column, "alike", range(line + 1))) - 1 if joined else line
            share[-1] = _last(cells, len(self._found))
            width = 0.9 * share
        value, low, high = (self._found[side] / share for side in ("value", "low", "high"))
        ends = [value - low, high - value]
        error = {"ecolor": SECOND, "error_kw": {"lw": 1.0}}
        if self.lying:
            axes.barh(middle, value, height=0.8, color=INK, xerr=ends, **error)
            size = 7 if len(self._labels) <= CROWDED else 6
            axes.set_yticks(middle, [literal(word) for word in self._labels], fontsize=size)
            axes.set_ylim(len(self._labels) - 0.4, -0.6)
            axes.locator_params(axis="x", nbins=4)
            self._below = ["records", *self._below]
        else:
            if len(value) > MANY:
                axes.bar(middle, value, width=width / 0.9, color=INK)
                edges = np.arange(len(value) + 1).repeat(2)[1:-1] - 0.5
                axes.fill_between(edges, low.repeat(2), high.repeat(2), color=SECOND, alpha=0.4, lw=0)
            else:
                axes.bar(middle, value, width=width, color=INK, yerr=ends, **error)
            at, written = self._along() if self._column.ordered else ([*middle], self._labels)
            slanted = not _level(at, written, len(self._found))
            at, written = barticks.clear(at, written, len(self._found), slanted=slanted)
            style = {"rotation": 30, "ha": "right"} if slanted else {}
            axes.set_xticks(at, [literal(word) for word in written], fontsize=7, **style)
        axes.set_title(literal(shortened(self._name, 40)), fontsize=9, color=INK)
        if self._below:
            axes.set_xlabel("; ".join(self._below), fontsize=7, color=INK)
        thousands(axes.xaxis if self.lying else axes.yaxis, records=True)
        plain(axes)

    def _along(self) -> tuple[list[float], list[str]]:
        """Labels of numbers and dates: round ones within ranges, else those of some bars."""
        found, labels = self._found, self._labels
        ranges = any(" to " in label for label in labels)
        if ranges and "from" in found:
            ends = [*zip(found["from"].tolist(), found["to"].tolist(), strict=True)]
            if self._column.edges is not None:
                return barticks.ends(ends)
            return barticks.along(ends, log=getattr(self._column, "scale", "linear") == "log")
        bars = barticks.days(labels) if self._column.kind == "date" else None
        if bars is not None:
            held = barticks.held(bars) if self._uneven is None else ""
            self._below = [*filter(None, [held]), *self._below]
            at, written = barticks.years(bars)
            if at:
                return at, written
        shown: Sequence[int] = range(0, len(labels), max(1, len(labels) // 6))
        if not ranges and bars is None:
            shown = _round(labels) or shown
        at, written = _starts(shown, labels)
        return at, _calendar(written) if self._column.kind == "date" else written


def _level(at: Sequence[float], written: Sequence[str], bars: int) -> bool:
    """Whether labels have room side by side."""
    return len(barticks.clear(at, written, bars)[1]) == len(written)


def _counted(release: ShownTable, name: str) -> Any:
    """A column's histogram, the parts of which are called alike, whatever the column's own name."""
    answers = ["from", "to", "value", "low", "high"]
    return release.histogram(name).rename(
        columns={name: "level", **dict(zip(free(answers, [name]), answers, strict=True))}
    )


def _round(labels: Sequence[str]) -> list[int]:
    """Which bars of single numbers have round ones.

    >>> _round([str(age) for age in range(18, 65)])
    [2, 12, 22, 32, 42]
    """
    try:
        values = [float(label) for label in labels]
        round_ones = {*barticks.steps(values[0], values[-1])}
    except (ValueError, IndexError):  # words, or a single one
        return []
    return [place for place, value in enumerate(values) if value in round_ones]


def _last(cells: int, bars: int) -> float:
    """How wide the last of so many bars is, if the others have equally many cells: as high as they are if it is as
    dense.

    >>> _last(90, 90), _last(131, 66)
    (1.0, 0.5)
    """
    each = -(-cells // bars)
    return (cells - each * (bars - 1)) / each


def _uneven(column: Any, found: Any, labels: Sequence[str]) -> tuple[np.ndarray, str] | None:
    """How many times the usual number of units each bar holds, and what is then counted; None if all hold as many.

    A hundred whole numbers in 45 cells are cells of two and of three: their counts would be a comb. Edges that somebody
    chose, months and ratios are bars for their own sake; and so is zero.

    """
    ends = None
    if not column.ordered or column.edges is not None:
        return None
    if column.kind == "date" and not isinstance(column.cells, str):
        ends = barticks.days(labels)
    elif column.kind == "number" and column.whole and column.scale == "linear" and "from" in found:
        ends = [*zip(found["from"], found["to"], strict=True)]
    if ends is None:
        return None
    units = np.diff(ends).ravel()
    own = int(getattr(column, "zero_apart", False))
    usual = statistics.mode(units[own:].tolist())
    units[:own] = usual
    unit = many(usual, "day" if column.kind == "date" else "unit", "g")
    alike = np.allclose(units, usual, rtol=ALIKE)
    return None if alike else (units / usual, f"records per {unit}{', 0 by itself' * own}")


def _most(found: Any, ordered: bool) -> tuple[Any, int]:
    """As many words as have room for their names: the most frequent, in their own order; and how many are left out."""
    if ordered or len(found) <= WORDS:
        return found, 0
    return found.loc[sorted(found["value"].nlargest(WORDS).index)].reset_index(drop=True), len(found) - WORDS


def _starts(shown: Iterable[int], labels: Sequence[str]) -> tuple[list[float], list[str]]:
    """Where labels of bars stand, and what they say: of ranges where they begin, at the bar's left edge.

    >>> _starts([0, 2], ["0 to 4", "5 to 9", "10 to 14"]), _starts([0, 1], ["1", "2"])
    (([-0.5, 1.5], ['0', '10']), ([0.0, 1.0], ['1', '2']))
    """
    aside = 0.5 if any(" to " in label for label in labels) else 0.0
    return [place - aside for place in shown], [labels[place].split(" to ")[0] for place in shown]


def _calendar(days: list[str]) -> list[str]:
    """Days as years, if each begins one, or as months.

    >>> _calendar(["1300-01-01", "1419-01-01"]), _calendar(["2024-01-01", "2024-03-01"]), _calendar(["2024-01-31"])
    (['1300', '1419'], ['2024-01', '2024-03'], ['2024-01-31'])
    """
    for end in ("-01-01", "-01"):
        if all(len(day) == len("2024-01-01") and day.endswith(end) for day in days):
            return [day.removesuffix(end) for day in days]
    return days


def _word(label: object) -> str:
    return str(label).lower() if isinstance(label, bool | np.bool_) else str(label)


def _labels(found: Any) -> list[str]:
    """What stands below the bars: of ranges, to as many digits as tell all their ends apart."""
    known = [label != label or label is None for label in found["level"]]  # NaN and NaT alone differ from themselves
    words = [MISSING if missing else _word(label) for missing, label in zip(known, found["level"], strict=True)]
    if "from" in found and any(word.startswith("[") for word in words):
        ends = [*zip(found["from"].tolist(), found["to"].tolist(), strict=True)]
        told = barticks.apart([end for pair in ends for end in pair if end == end])
        words = [" to ".join(told[end] for end in pair) if pair[0] == pair[0] else MISSING for pair in ends]
    return [shortened(word, LONGEST) for word in words]
