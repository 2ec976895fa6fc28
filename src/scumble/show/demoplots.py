"""The demo's pictures: a private table beside what was released of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from scumble.privacy.exact import show
from scumble.show.plots import INK, SECOND, View, draw_map, new_figure, plain
from scumble.show.shown import Shown


def town_map(
    homes: np.ndarray,
    release: Shown,
    peaks: np.ndarray,
    *,
    names: Mapping[str, tuple[float, float]],
    units: Mapping[str, str],
) -> Any:
    """The private table beside what was released of it, with the town centres that were found."""
    from matplotlib.patheffects import withStroke

    figure = new_figure(11.5, 4.3)
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    view = View(release, {}, {}, units)
    first, second = view.names
    left.hist2d(*homes.T, bins=(120, 80), range=list(view.ranges.values()), cmap="Greys", norm="asinh", rasterized=True)
    left.set(xlabel=view.label(first), ylabel=view.label(second))
    left.set_title("The private table: every home (never shared)", fontsize=11, color=INK)
    image = draw_map(right, view, first, second, points=161)
    right.plot(*peaks.T, "o", color="white", mec=SECOND, mew=1.8, ms=8, label="centre found in the release")
    halo = [withStroke(linewidth=3, foreground="white")]
    for k, (name, place) in enumerate(names.items()):
        right.plot(*place, "+", color=INK, ms=9, mew=1.6, label="true centre" if k == 0 else None)
        where = {"xytext": (0, 20), "textcoords": "offset points", "ha": "center"}
        left.annotate(name, place, fontsize=10, color=SECOND, weight="bold", path_effects=halo, **where)
    right.set(ylabel="")
    right.set_title(f"The release: ε = {show(release.privacy.epsilon)}, free to share", fontsize=11, color=INK)
    figure.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    figure.colorbar(image, ax=right, label="density (mean kernel value)", shrink=0.9)
    for axes in (left, right):
        axes.set_aspect("equal")
    plain(left, grid=False)
    return figure


def line_cut(
    x: np.ndarray, truth: np.ndarray, value: np.ndarray, lower: np.ndarray, upper: np.ndarray, *, xlabel: str
) -> Any:
    """Kernel sums along a line: the release and the truth; below, their difference in the error band."""
    figure = new_figure(8.0, 5.6)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    top.plot(x, value, color=SECOND, linewidth=2.4, alpha=0.8, label="release")
    top.plot(x, truth, color=INK, linewidth=1.2, linestyle=(0, (4, 2)), label="truth (brute force)")
    top.set(ylabel="kernel sum (people near)", xlim=(x[0], x[-1]))
    top.set_ylim(bottom=0.0)
    bottom.fill_between(x, lower - value, upper - value, color=SECOND, alpha=0.2, linewidth=0, label="95 % interval")
    bottom.plot(x, value - truth, color=SECOND, linewidth=1.4, label="release − truth")
    bottom.axhline(0.0, color=INK, linewidth=0.8)
    bottom.set(xlabel=xlabel, ylabel="error (people)")
    most = 2.2 * float(np.max(upper - value))
    bottom.set_ylim(-most, most)
    for axes in (top, bottom):
        axes.legend(frameon=False, fontsize=9, loc="upper right", ncols=2 if axes is bottom else 1)
        plain(axes)
    return figure
