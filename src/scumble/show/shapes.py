"""Pictures of additive models: a curve for each column, with its band."""

from __future__ import annotations

import math
from typing import Any

from scumble.show.plots import INK, SECOND, new_figure, plain

ACROSS = 4


def draw(model: Any, *, title: str | None = None) -> Any:
    """Each column's curve, and two standard errors of the noise on either side; all on one scale."""
    names = model._names() or [f"column {j}" for j in range(model.n_features_in_)]
    across = min(ACROSS, len(names))
    down = math.ceil(len(names) / across)
    figure = new_figure(2.8 * across, 2.2 * down)
    all_axes = figure.subplots(down, across, squeeze=False, sharey=True).ravel()
    for name, axes, knots, shape, error in zip(
        names, all_axes, model.knots_, model.shapes_, model.shape_errors_, strict=False
    ):
        axes.fill_between(knots, shape - 2.0 * error, shape + 2.0 * error, color=SECOND, alpha=0.25, lw=0.0)
        axes.plot(knots, shape, color=INK, lw=1.5)
        axes.axhline(0.0, color=SECOND, lw=0.5)
        axes.set_title(name, fontsize=9, color=INK)
        plain(axes)
    for axes in all_axes[::across]:
        axes.set_ylabel("added to the prediction", fontsize=8, color=INK)
    for axes in all_axes[len(names) :]:
        axes.set_axis_off()
    told = f"about {max(model.release_.count, 0.0):,.0f} records; {model.privacy_}"
    figure.suptitle(told if title is None else title, fontsize=10, color=INK)
    return figure
