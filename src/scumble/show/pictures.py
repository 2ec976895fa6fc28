"""Pictures of fitted estimators: densities, classes, predictions. Post-processing, like every picture."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from scumble.errors import ParameterError, many
from scumble.show import plots
from scumble.show.plots import FAINT, INK, LINES, SECOND, View, literal, new_figure, plain, thousands

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from scumble.density.release import Release
    from scumble.show.usefulness import Model

At = Mapping[str, object]
Units = Mapping[str, str]
_POINTS_1D, _POINTS_2D = 401, 161
CURVE, MAP = (7.0, 4.2), (7.6, 5.8)
"""Inches."""
ACROSS = 4


def draw(
    model: Model,
    *,
    ranges: plots.Ranges | None = None,
    at: At | None = None,
    units: Units | None = None,
    title: str | None = None,
) -> Figure:
    """What a fitted estimator knows, over one or two columns; a matplotlib Figure.

    Classifiers show the probability of each class along one column, or the regions of two; regressions the prediction;
    all others the density, with the modes that were found or the border of the outliers. `at` fixes columns, such as
    ``at={"age": 40}``; those without names are called ``column 0``, ``column 1``, …
    """
    if "classes_" in vars(model):
        kind = _classes
    elif "coef_" in vars(model) or "shapes_" in vars(model):
        kind = _predictions
    else:
        kind = _density
    figure, view = kind(model, _bounds(model) | dict(ranges or {}), dict(at or {}), dict(units or {}))
    figure.suptitle(literal(title if title is not None else view.title()), fontsize=11, color=INK)
    return figure


def _names(model: Model) -> list[str]:
    return model._names() or [f"column {j}" for j in range(model.n_features_in_)]


def _bounds(model: Model) -> dict[str, tuple[float, float]]:
    if model.bounds_ is None:
        return {}
    low, high = (side.tolist() for side in model.bounds_)
    return {name: (low[j], high[j]) for j, name in enumerate(_names(model))}


def _view(model: Model, ranges: plots.Ranges, at: At, units: Units) -> View:
    """The columns of a model whose release is not over its columns, or is one of several."""
    stands_for = SimpleNamespace(
        columns=None, dimensions=model.n_features_in_, kernel=None, bounds=None, privacy=model.privacy_
    )
    stands_for.columns = tuple(_names(model))
    view = View(stands_for, {name: ranges[name] for name in ranges if name not in at}, at, units)
    if len(view.free) > 2:
        fixed = {view.free[-1]: sum(view.ranges[view.free[-1]]) / 2}
        raise ParameterError(f"One or two columns can be drawn, not {len(view.free)}. Hint: fix others, as at={fixed}.")
    return view


def _ask(question: Callable[[Any], np.ndarray], table: object) -> np.ndarray:
    """A model's answers for a matrix in the order of its columns, whether or not it knows their names."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        return question(table)


def _table(view: View, values: Mapping[str, np.ndarray]) -> np.ndarray:
    found = view.table(values)
    return np.column_stack(list(found.values()) if isinstance(found, dict) else found.T).astype(float)


def _curve_table(view: View) -> tuple[np.ndarray, np.ndarray]:
    x = view.axis(view.free[0], _POINTS_1D)
    return x, _table(view, {view.free[0]: x})


def _map_table(view: View, *columns: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places along two columns, the free ones unless others are given, and a matrix of all of them."""
    one, other = columns or view.free
    x, y = view.axis(one, _POINTS_2D), view.axis(other, _POINTS_2D)
    across, up = np.meshgrid(x, y)
    return x, y, _table(view, {one: across.ravel(), other: up.ravel()})


def _label(axes: Axes, view: View, *, y: str | None = None) -> None:
    axes.set_xlabel(view.label(view.free[0]))
    axes.set_ylabel(y if y is not None else view.label(view.free[1]))
    thousands(axes.xaxis, *([axes.yaxis] if y is None else []))
    plain(axes, grid=y is not None)


# ---- densities ----


def _density(model: Model, ranges: plots.Ranges, at: At, units: Units) -> tuple[Figure, View]:
    """The picture of the release, with the modes that were found or the border of the outliers."""
    view = View(model.release_, {name: ranges[name] for name in ranges if name not in at}, at, units)
    figure = plots.density(model.release_, ranges=view.ranges, at=at, units=units)
    axes, modes = figure.axes[0], vars(model).get("modes_", ())
    if len(view.free) == 1:
        for mode in modes:
            axes.axvline(mode[view.names.index(view.free[0])], color=INK, linewidth=1.0, linestyle=(0, (3, 2)))
    elif len(view.free) == 2 and len(modes):
        place = [view.names.index(name) for name in sorted(view.free, key=plots.upward)]
        axes.plot(*model.modes_[:, place].T, "o", color="white", mec=SECOND, mew=1.8, ms=8, label="mode")
        axes.legend(frameon=False, fontsize=9)
    elif len(view.free) == 2 and hasattr(model, "offset_"):
        across, up = sorted(view.free, key=plots.upward)
        x, y, table = _map_table(view, across, up)
        border = _ask(model.decision_function, table).reshape(len(y), len(x))
        axes.contour(x, y, border, levels=[0.0], colors=SECOND, linewidths=1.8)
        axes.plot([], [], color=SECOND, label="beyond this: outliers")
        axes.legend(frameon=False, fontsize=9)
    return figure, view


# ---- classes ----


def _classes(model: Model, ranges: plots.Ranges, at: At, units: Units) -> tuple[Figure, View]:
    view = _view(model, ranges, at, units)
    colors = [LINES[k % len(LINES)] for k in range(len(model.classes_))]
    if len(view.free) == 1:
        figure = new_figure(*CURVE)
        axes = figure.subplots()
        x, table = _curve_table(view)
        shares = _shares(model, table)
        for share, color, name in zip(shares.T, colors, model.classes_, strict=True):
            axes.plot(x, share, color=color, linewidth=1.8, label=literal(name))
        axes.set_ylim(-0.02, 1.02)
        _label(axes, view, y="probability of each class")
        axes.legend(frameon=False, fontsize=9)
        return figure, view
    figure = new_figure(7.0, 5.6)
    axes = figure.subplots()
    x, y, table = _map_table(view)
    shares = _shares(model, table).reshape(len(y), len(x), -1)
    axes.imshow(
        _mixed(shares, colors), origin="lower", extent=(x[0], x[-1], y[0], y[-1]), aspect="auto", interpolation="none"
    )
    winner = shares.argmax(axis=-1)
    for k in range(len(colors)):
        axes.contour(x, y, winner == k, levels=[0.5], colors=INK, linewidths=0.8)
        axes.plot([], [], "s", color=colors[k], ms=9, label=literal(model.classes_[k]))
    axes.legend(frameon=True, fontsize=9, title="class (pale: unsure)", title_fontsize=9)
    _label(axes, view)
    return figure, view


def _shares(model: Model, table: object) -> np.ndarray:
    """Probabilities, or certainties where a model has none."""
    if hasattr(model, "predict_proba"):
        return _ask(model.predict_proba, table)
    sure: np.ndarray = _ask(model.predict, table)[:, None] == model.classes_[None, :]
    return sure.astype(float)


def _mixed(shares: np.ndarray, colors: list[str]) -> np.ndarray:
    """Each place in its class's color, the paler the less sure."""
    rgb = np.array([[int(color[i : i + 2], 16) / 255.0 for i in (1, 3, 5)] for color in colors])
    best, sure = shares.argmax(axis=-1), shares.max(axis=-1)
    least = 1.0 / shares.shape[-1]
    weight = 0.15 + 0.6 * np.clip((sure - least) / (1.0 - least), 0.0, 1.0)[..., None]
    mixed: np.ndarray = weight * rgb[best] + (1.0 - weight)
    return mixed


# ---- predictions ----


def _predictions(model: Model, ranges: plots.Ranges, at: At, units: Units) -> tuple[Figure, View]:
    view = _view(model, ranges, at, units)
    figure = new_figure(*(CURVE if len(view.free) == 1 else MAP))
    axes = figure.subplots()
    if len(view.free) == 1:
        x, table = _curve_table(view)
        axes.plot(x, _ask(model.predict, table), color=SECOND, linewidth=2.0, label="prediction")
        for side in model.target_bounds_:
            axes.axhline(side, color=FAINT, linewidth=1.0, linestyle=(0, (4, 3)))
        axes.plot([], [], color=FAINT, linestyle=(0, (4, 3)), label="the target's public bounds")
        axes.legend(frameon=False, fontsize=9)
        _label(axes, view, y="prediction")
        return figure, view
    x, y, table = _map_table(view)
    values = _ask(model.predict, table).reshape(len(y), len(x))
    image = axes.pcolormesh(x, y, values, cmap="YlGnBu", shading="gouraud", rasterized=True)
    axes.contour(x, y, values, levels=8, colors=INK, linewidths=0.6, alpha=0.7)
    figure.colorbar(image, ax=axes, label="prediction")
    _label(axes, view)
    return figure, view


def shapes(model: Model, *, title: str | None = None) -> Figure:
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


def _draw_pair(figure: Figure, axes: Axes, model: Model, names: list[str]) -> None:
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


# ---- streams over time ----


class ShownStream(Protocol):
    """What a picture needs to know of what a stream has published."""

    @property
    def periods(self) -> int:
        """How many periods."""

    def window(self, width: int | None = None, *, first: int | None = None, last: int | None = None) -> Release:
        """A release of several periods."""

    def series(self, Q: npt.ArrayLike, *, width: int | None = 1, confidence: float = 0.95) -> np.ndarray:
        """Kernel sums over time, with their intervals."""


def lines(
    stream: ShownStream,
    Q: npt.ArrayLike,
    *,
    width: int | None = 1,
    confidence: float = 0.95,
    labels: Sequence[object] | None = None,
) -> Figure:
    """The kernel sum at each point over time, with its interval as a band."""
    found = stream.series(Q, width=width, confidence=confidence)
    last = np.arange(stream.periods - len(found) + 1, stream.periods + 1)
    figure = new_figure(8.0, 4.4)
    axes = figure.subplots()
    for k in range(found.shape[1]):
        color = LINES[k % len(LINES)]
        axes.fill_between(last, found[:, k, 1], found[:, k, 2], color=color, alpha=0.2, linewidth=0)
        axes.plot(
            last,
            found[:, k, 0],
            color=color,
            linewidth=1.6,
            label=f"point {k + 1}" if labels is None else literal(labels[k]),
        )
    axes.set(xlabel="period", ylabel=f"kernel sum, {_words(width)}")
    axes.set_title(f"{100 * confidence:g} % intervals", fontsize=10, color=INK)
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
            plots.draw_curve(axes, seen, seen.free[0])
            axes.get_legend().remove()
        else:
            plots.draw_map(axes, seen, *seen.free, points=61, contours=False)
        first = last - each + 1
        axes.set_title(f"period {last}" if each == 1 else f"periods {first} to {last}", fontsize=9, color=INK)
        axes.label_outer()
        axes.tick_params(labelsize=7)
    for axes in all_axes[len(ends) :]:
        axes.set_axis_off()
    return figure


def _words(width: int | None) -> str:
    return "running total" if width is None else "of each period" if width == 1 else f"of the last {width} periods"
