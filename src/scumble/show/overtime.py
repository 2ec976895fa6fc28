"""Pictures of a stream over time: lines with bands at chosen points, and small multiples of the density."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from scumble.errors import ParameterError
from scumble.show.plots import INK, LINES, View, draw_curve, draw_map, literal, new_figure, plain, thousands

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ACROSS = 4


class ShownStream(Protocol):
    """What a picture needs to know of what a stream has published."""

    @property
    def periods(self) -> int:
        """How many periods."""

    def window(self, width: int | None = None, *, first: int | None = None, last: int | None = None) -> Any:
        """A release of several periods."""

    def series(self, Q: Any, *, width: int | None = 1, confidence: float = 0.95) -> np.ndarray:
        """Kernel sums over time, with their intervals."""


def lines(
    stream: ShownStream, Q: Any, *, width: int | None = 1, confidence: float = 0.95, labels: Any = None
) -> Figure:
    """The kernel sum at each point over time, with its interval as a band."""
    found = stream.series(Q, width=width, confidence=confidence)
    last = np.arange(stream.periods - len(found) + 1, stream.periods + 1)
    figure = new_figure(8.0, 4.4)
    axes = figure.subplots()
    for k in range(found.shape[1]):
        colour = LINES[k % len(LINES)]
        axes.fill_between(last, found[:, k, 1], found[:, k, 2], color=colour, alpha=0.2, linewidth=0)
        axes.plot(
            last,
            found[:, k, 0],
            color=colour,
            linewidth=1.6,
            label=f"point {k + 1}" if labels is None else literal(labels[k]),
        )
    axes.set(xlabel="period", ylabel=f"kernel sum, {_words(width)}")
    axes.set_title(f"{confidence:.0%} intervals", fontsize=10, color=INK)
    axes.legend(frameon=False, fontsize=9)
    thousands(axes.yaxis)
    plain(axes)
    return figure


def multiples(stream: ShownStream, *, width: int | None = None, panels: int = 12, **view: Any) -> Figure:
    """The density of window after window: `panels` of them, evenly spread over time, each of `width` periods."""
    most = max(1, min(int(panels), stream.periods))
    each = max(1, stream.periods // most) if width is None else int(width)
    if each > stream.periods:
        raise ParameterError(f"`width` must be at most {stream.periods}, the periods that are published, got {each}.")
    ends = np.unique(np.linspace(each, stream.periods, most).astype(int))
    across = min(ACROSS, len(ends))
    figure = new_figure(3.0 * across, 2.5 * math.ceil(len(ends) / across))
    all_axes = figure.subplots(math.ceil(len(ends) / across), across, squeeze=False, sharex=True, sharey=True).ravel()
    for last, axes in zip(ends.tolist(), all_axes, strict=False):
        seen = View(stream.window(each, last=last), *(view.get(name) or {} for name in ("ranges", "at", "units")))
        if len(seen.free) > 2:
            raise ParameterError("Small multiples show one or two columns. Hint: fix the others with at={...}.")
        if len(seen.free) == 1:
            draw_curve(axes, seen, seen.free[0])
            axes.get_legend().remove()
        else:
            draw_map(axes, seen, *seen.free, points=61, contours=False)
        first = last - each + 1
        axes.set_title(f"period {last}" if each == 1 else f"periods {first} to {last}", fontsize=9, color=INK)
        axes.label_outer()
        axes.tick_params(labelsize=7)
    for axes in all_axes[len(ends) :]:
        axes.set_axis_off()
    return figure


def _words(width: int | None) -> str:
    return "running total" if width is None else "of each period" if width == 1 else f"of the last {width} periods"
