"""Pictures of additive models: a curve for each column, with its band; a map of what a pair of columns adds."""

from __future__ import annotations

import math
from typing import Any

from scumble.errors import many
from scumble.show.plots import INK, SECOND, literal, new_figure, plain

ACROSS = 4


def draw(model: Any, *, title: str | None = None) -> Any:
    """Each column's curve, and two standard errors of the noise on either side, all on one scale; then the pair."""
    names = model._names() or [f"column {j}" for j in range(model.n_features_in_)]
    pictures = len(names) + (model.pair_columns_ is not None)
    across = min(ACROSS, pictures)
    down = math.ceil(pictures / across)
    figure = new_figure(2.8 * across, 2.2 * down)
    all_axes = figure.subplots(down, across, squeeze=False).ravel()
    for name, axes, knots, shape, error in zip(
        names, all_axes, model.knots_, model.shapes_, model.shape_errors_, strict=False
    ):
        axes.fill_between(knots, shape - 2.0 * error, shape + 2.0 * error, color=SECOND, alpha=0.25, lw=0.0)
        axes.plot(knots, shape, color=INK, lw=1.5)
        axes.axhline(0.0, color=SECOND, lw=0.5)
        axes.set_title(literal(name), fontsize=9, color=INK)
        axes.sharey(all_axes[0])
        plain(axes)
    for number, axes in enumerate(all_axes[: len(names)]):
        if number % across:
            axes.tick_params(labelleft=False)
        else:
            axes.set_ylabel("added to the prediction", fontsize=8, color=INK)
    if model.pair_columns_ is not None:
        _draw_pair(figure, all_axes[len(names)], model, names)
    for axes in all_axes[pictures:]:
        axes.set_axis_off()
    told = f"about {many(max(model.release_.count, 0.0), 'record', ',.0f')}; {model.privacy_}"
    figure.suptitle(literal(told if title is None else title), fontsize=10, color=INK)
    return figure


def _draw_pair(figure: Any, axes: Any, model: Any, names: list[str]) -> None:
    """What the cells of two columns add: red more, blue less."""
    one, other = (literal(names[j]) for j in model.pair_columns_)
    most = max(float(abs(model.pair_effects_).max()), 1e-300)
    image = axes.pcolormesh(*model.pair_knots_, model.pair_effects_.T, cmap="RdBu_r", vmin=-most, vmax=most)
    bar = figure.colorbar(image, ax=axes)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=7, colors=INK)
    axes.set_title("both, beyond the curves", fontsize=9, color=INK)
    axes.set_xlabel(one, fontsize=8, color=INK)
    axes.set_ylabel(other, fontsize=8, color=INK)
    plain(axes)
