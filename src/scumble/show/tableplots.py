"""Pictures of a table's release: its columns at a glance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from scumble.schema.column import MISSING
from scumble.show.plots import INK, SECOND, literal, new_figure, plain, promise, shortened, thousands
from scumble.show.shown import ShownTable

ACROSS = 3
WORDS = 40
"""Bars of words at most, each with its name."""
CROWDED = 24
"""Names that have room in letters of the usual size."""
LEVEL = 36
"""Letters of all labels together that have room side by side."""
LONGEST = 24
"""Letters of a label: as many as a range of dates has."""
_LETTERS = ((1e15, 1.0, ""), (1e12, 1e12, "T"), (1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k"), (0.0, 1.0, ""))
"""From where on a number has a letter, what it is divided by, and the letter."""


def marginals(release: ShownTable, columns: Iterable[str] | None = None) -> Any:
    """A histogram for each column; the lines on the bars are intervals."""
    names = list(release.columns if columns is None else columns)
    across = min(ACROSS, len(names))
    down = math.ceil(len(names) / across)
    crowded = any(not release.schema[name].ordered and release.schema[name].size > CROWDED for name in names)
    figure = new_figure(max(5.0, (4.4 if crowded else 3.4) * across), 2.7 * down)
    all_axes = figure.subplots(down, across, squeeze=False).ravel()
    for name, axes in zip(names, all_axes, strict=False):
        column = release.schema[name]
        found, left_out = _most(release.histogram(name), column.ordered)
        below = f"… and {left_out} more, none of them more frequent" if left_out else ""
        if column.ordered and column.missing:  # not the next number: beside the others it may be a tower
            below = f"{found['value'].iloc[-1]:,.0f} missing"
            found = found.iloc[:-1]
        middle = range(len(found))
        share = np.ones(len(found))
        if column.ordered:
            share[-1] = _last(column.size - column.missing, len(found))
        value, low, high = (found[side] / share for side in ("value", "low", "high"))
        error = {"yerr": [value - low, high - value], "ecolor": SECOND, "error_kw": {"lw": 1.0}}
        axes.bar(middle, value, width=0.9 * share, color=INK, **error)
        labels = _labels(name, found)
        shown = range(0, len(labels), max(1, len(labels) // 6)) if column.ordered else middle
        at, written = _starts(shown, labels) if column.ordered else ([*shown], labels)
        written = _calendar(written) if column.kind == "date" else written
        axes.set_xticks(at, [literal(word) for word in written], **_set(written))
        axes.set_title(literal(shortened(name, 40)), fontsize=9, color=INK)
        if below:
            axes.set_xlabel(below, fontsize=7, color=INK)
        thousands(axes.yaxis, records=True)
        plain(axes)
    for axes in all_axes[len(names) :]:
        axes.set_axis_off()
    figure.supylabel("records", fontsize=9, color=INK)
    total = release._answers.total
    figure.suptitle(promise(release.privacy, total.value, math.sqrt(total.variance)), fontsize=10, color=INK)
    return figure


def _last(cells: int, bars: int) -> float:
    """How wide the last of so many bars is, if the others have equally many cells: as high as they are if it is as
    dense.

    >>> _last(90, 90), _last(131, 66)
    (1.0, 0.5)
    """
    each = -(-cells // bars)
    return (cells - each * (bars - 1)) / each


def _most(found: Any, ordered: bool) -> tuple[Any, int]:
    """As many words as have room for their names: the most frequent, in their own order; and how many are left out."""
    if ordered or len(found) <= WORDS:
        return found, 0
    return found.loc[sorted(found["value"].nlargest(WORDS).index)].reset_index(drop=True), len(found) - WORDS


def _set(labels: Sequence[str]) -> dict[str, Any]:
    """How names have room side by side: level, slanted, upright, or small."""
    if len(labels) > 8:
        return {"rotation": 90, "fontsize": 7 if len(labels) <= CROWDED else 5}
    if sum(map(len, labels)) <= LEVEL:
        return {"fontsize": 7}
    return {"rotation": 30, "ha": "right", "fontsize": 7}


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


def _labels(name: str, found: Any) -> list[str]:
    """What stands below the bars: of ranges, to as many digits as tell all their ends apart."""
    known = [label != label or label is None for label in found[name]]  # NaN and NaT alone differ from themselves
    words = [MISSING if missing else str(label) for missing, label in zip(known, found[name], strict=True)]
    if "from" in found and any(word.startswith("[") for word in words):
        ends = [*zip(found["from"].tolist(), found["to"].tolist(), strict=True)]
        told = _apart({end for pair in ends for end in pair if end == end})
        words = [" to ".join(told[end] for end in pair) if pair[0] == pair[0] else MISSING for pair in ends]
    return [word if len(word) <= LONGEST else f"{word[: LONGEST - 1]}…" for word in words]


def _apart(numbers: set[float]) -> dict[float, str]:
    """Numbers to three digits, or to as many as tell them apart.

    >>> _apart({834434.0, 1.06968e06}), _apart({51.28, 51.3})
    ({834434.0: '834k', 1069680.0: '1.07M'}, {51.28: '51.28', 51.3: '51.3'})
    """
    for digits in range(3, 18):
        told = {number: _short(number, digits) for number in sorted(numbers)}
        if len({*told.values()}) == len(numbers):
            break
    return told


def _short(number: float, digits: int = 3) -> str:
    """So many digits, and a letter for thousands.

    >>> [_short(number) for number in (-59003.4, 1681.92, 999_999.0, 5e13, 0.125)]
    ['-59k', '1680', '1M', '50T', '0.125']
    """
    rounded = float(f"{number:.{digits}g}")
    _, size, letter = next(row for row in _LETTERS if abs(rounded) >= row[0])
    return f"{rounded / size:.12g}{letter}"
