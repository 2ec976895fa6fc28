"""Pictures of a table's release: its columns at a glance."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from scumble.schema.column import MISSING
from scumble.show.plots import INK, SECOND, new_figure, plain
from scumble.show.shown import ShownTable

ACROSS = 3
BARS = 24
LONGEST = 24
"""Letters of a label: as many as a range of dates has."""
_RANGE = re.compile(r"[\[(](.+), (.+)[\])]")
_LETTERS = ((1e12, 1.0, ""), (1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e3, 1e3, "k"), (0.0, 1.0, ""))
"""From where on a number has a letter, what it is divided by, and the letter."""


def marginals(release: ShownTable, columns: Iterable[str] | None = None) -> Any:
    """A histogram for each column; the lines on the bars are intervals."""
    names = list(release.columns if columns is None else columns)
    across = min(ACROSS, len(names))
    down = math.ceil(len(names) / across)
    figure = new_figure(3.4 * across, 2.5 * down)
    all_axes = figure.subplots(down, across, squeeze=False).ravel()
    for name, axes in zip(names, all_axes, strict=False):
        found = release.histogram(name, BARS)
        middle = range(len(found))
        off = [found["value"] - found["low"], found["high"] - found["value"]]
        axes.bar(middle, found["value"], width=0.9, color=INK, yerr=off, ecolor=SECOND, error_kw={"lw": 1.0})
        labels = [_label(bin) for bin in found[name]]
        shown = _ticks(labels)
        axes.set_xticks(shown, [labels[place] for place in shown], rotation=30, ha="right", fontsize=7)
        axes.set_title(name, fontsize=9, color=INK)
        plain(axes)
    for axes in all_axes[len(names) :]:
        axes.set_axis_off()
    figure.suptitle(f"about {release._answers.total.value:,.0f} records; {release.privacy}", fontsize=10, color=INK)
    return figure


def _ticks(labels: Sequence[str]) -> list[int]:
    """Which bars have a label: every so many, and always that of missing cells, which are not the next number.

    >>> _ticks([*"0123456789", "10", MISSING]), _ticks(["a", "b"])
    ([0, 2, 4, 6, 8, 11], [0, 1])
    """
    last, step = len(labels) - 1, max(1, len(labels) // 6)
    ticks = range(0, len(labels), step)
    return [*ticks] if labels[last] != MISSING else [*(tick for tick in ticks if tick + step <= last), last]


def _label(bin: Any) -> str:
    """Missing cells of numbers and dates have a null in a frame, those of words a word.

    >>> _label("[834434, 1.06968e+06)"), _label("[0, 0.0124961)"), _label("Ulm"), _label(None)
    ('834k to 1.07M', '0 to 0.0125', 'Ulm', '(missing)')
    """
    label = str(bin) if bin == bin and bin is not None else MISSING  # NaN and NaT alone differ from themselves
    between = _RANGE.fullmatch(label)
    if between:
        with suppress(ValueError):  # a word of such a form
            label = " to ".join(_short(float(end)) for end in between.groups())
    return label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…"


def _short(number: float) -> str:
    """Three digits, and a letter for thousands.

    >>> [_short(number) for number in (-59003.4, 1681.92, 999_999.0, 5e13, 0.125)]
    ['-59k', '1.68k', '1M', '5e+13', '0.125']
    """
    rounded = float(f"{number:.3g}")
    _, size, letter = next(row for row in _LETTERS if abs(rounded) >= row[0])
    return f"{rounded / size:.3g}{letter}"
