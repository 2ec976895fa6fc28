"""Pictures of a table's release: its columns at a glance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from scumble.schema.column import MISSING
from scumble.show.plots import INK, SECOND, literal, new_figure, plain, thousands
from scumble.show.shown import ShownTable

ACROSS = 3
WORDS = 40
"""Bars of words at most, each with its name."""
CROWDED = 24
"""Names that have room in letters of the usual size."""
LONGEST = 24
"""Letters of a label: as many as a range of dates has."""
_LETTERS = ((1e12, 1.0, ""), (1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e3, 1e3, "k"), (0.0, 1.0, ""))
"""From where on a number has a letter, what it is divided by, and the letter."""


def marginals(release: ShownTable, columns: Iterable[str] | None = None) -> Any:
    """A histogram for each column; the lines on the bars are intervals."""
    names = list(release.columns if columns is None else columns)
    across = min(ACROSS, len(names))
    down = math.ceil(len(names) / across)
    crowded = any(not release.schema[name].ordered and release.schema[name].size > CROWDED for name in names)
    figure = new_figure((4.4 if crowded else 3.4) * across, 2.7 * down)
    all_axes = figure.subplots(down, across, squeeze=False).ravel()
    for name, axes in zip(names, all_axes, strict=False):
        column = release.schema[name]
        found, left_out = _most(release.histogram(name), column.ordered)
        middle = range(len(found))
        share = np.ones(len(found))
        if column.ordered:
            share[-1 - column.missing] = _last(column.size - column.missing, len(found) - column.missing)
        value, low, high = (found[side] / share for side in ("value", "low", "high"))
        error = {"yerr": [value - low, high - value], "ecolor": SECOND, "error_kw": {"lw": 1.0}}
        axes.bar(middle, value, width=0.9 * share, color=INK, **error)
        labels = _labels(name, found)
        shown = _ticks(labels) if column.ordered else [*middle]
        written = [literal(labels[place]) for place in shown]
        axes.set_xticks(shown, written, **_set(len(shown)))
        axes.set_title(literal(name), fontsize=9, color=INK)
        if left_out:
            axes.set_xlabel(f"… and {left_out} more, none of them more frequent", fontsize=7, color=INK)
        thousands(axes.yaxis)
        plain(axes)
    for axes in all_axes[len(names) :]:
        axes.set_axis_off()
    figure.suptitle(f"about {release._answers.total.value:,.0f} records; {release.privacy}", fontsize=10, color=INK)
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


def _set(labels: int) -> dict[str, Any]:
    """How so many names have room side by side: slanted, upright, or small."""
    if labels <= 8:
        return {"rotation": 30, "ha": "right", "fontsize": 7}
    return {"rotation": 90, "fontsize": 7 if labels <= CROWDED else 5}


def _ticks(labels: Sequence[str]) -> list[int]:
    """Which bars have a label: every so many, and always that of missing cells, which are not the next number.

    >>> _ticks([*"0123456789", "10", MISSING]), _ticks(["a", "b"])
    ([0, 2, 4, 6, 8, 11], [0, 1])
    """
    last, step = len(labels) - 1, max(1, len(labels) // 6)
    ticks = range(0, len(labels), step)
    return [*ticks] if labels[last] != MISSING else [*(tick for tick in ticks if tick + step <= last), last]


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
    ['-59k', '1.68k', '1M', '5e+13', '0.125']
    """
    rounded = float(f"{number:.{digits}g}")
    _, size, letter = next(row for row in _LETTERS if abs(rounded) >= row[0])
    return f"{rounded / size:.{digits}g}{letter}"
