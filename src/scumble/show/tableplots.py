"""Pictures of a table's release: its columns at a glance."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from scumble.schema.column import MISSING
from scumble.show.plots import INK, SECOND, new_figure, plain
from scumble.show.shown import ShownTable

ACROSS = 3
BARS = 24
LONGEST = 22
"""Letters of a label; a range of numbers has fewer."""


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
        shown = list(middle)[:: max(1, len(found) // 6)]
        labels = [_label(found[name].iloc[place]) for place in shown]
        axes.set_xticks(shown, labels, rotation=30, ha="right", fontsize=7)
        axes.set_title(name, fontsize=9, color=INK)
        plain(axes)
    for axes in all_axes[len(names) :]:
        axes.set_axis_off()
    figure.suptitle(f"about {release._answers.total.value:,.0f} records; {release.privacy}", fontsize=10, color=INK)
    return figure


def _label(bin: Any) -> str:
    """Missing cells of numbers and dates have a null in a frame, those of words a word."""
    label = str(bin) if bin == bin and bin is not None else MISSING  # NaN and NaT alone differ from themselves
    return label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…"
