"""Pictures of releases and plans. They need matplotlib: ``pip install 'scumble[plot]'``.

Every function gives a matplotlib Figure back; `save` writes it as PNG, SVG or PDF. A picture is post-processing: it
costs no privacy.
"""

from __future__ import annotations

import io
import math
import os
import textwrap
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from scumble import checks
from scumble.columns.kinds import MOST_DAYS, fixed_by, ranges_by, shown
from scumble.errors import ParameterError, many, parameter
from scumble.files.places import write_whole
from scumble.privacy.exact import show
from scumble.show.ranges import side_of_map
from scumble.show.usefulness import Facts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Colormap, Normalize
    from matplotlib.figure import Figure

    from scumble.density.release import Release
    from scumble.privacy.claim import PrivacyClaim

Ranges = Mapping[str, tuple[object, object]]

FORMATS = (".png", ".svg", ".pdf")
INK, SECOND, FAINT = "#1b3a4b", "#d1495b", "#8aa1ad"
LINES = ("#d1495b", "#edae49", "#66a182", "#2e4057", "#8d96a3")
_POINTS_1D, _POINTS_2D, _POINTS_PAIRS = 401, 121, 61
LETTERS, FEWER_LETTERS = 48, 30
"""That have room along the lower side of a picture, and of one of several side by side."""
_NAME = 24
"""Letters of a name that have room at one of several pictures."""
_LINE = 11
"""Letters of a title that have room in an inch."""


def new_figure(width: float, height: float) -> Figure:
    """An empty matplotlib figure, outside any window."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ParameterError("Pictures need matplotlib. Hint: pip install 'scumble[plot]'.") from None
    return Figure(figsize=(width, height), layout="constrained")


def literal(text: object) -> str:
    """A name, a level or a title as it is written: to matplotlib, what stands between two dollars is a formula.

    >>> print(literal("$20-$40"))
    \\$20-\\$40
    """
    return str(text).replace("$", r"\$")


def shortened(text: str, most: int = 56) -> str:
    """As much of a name as there is room for.

    >>> shortened("a name that is longer than its picture", 16)
    'a name that is…'
    """
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def promise(claim: PrivacyClaim, count: float | None, error: float = 0.0) -> str:
    """The number of records if it is known, to the first digit of its standard error, and ε and δ: what stands above a
    picture.

    >>> from types import SimpleNamespace
    >>> promise(SimpleNamespace(epsilon=1.0, delta=0.0), 10_651.0, 1244.0)
    'about 11,000 records; ε = 1'
    """
    rough = math.floor(math.log10(max(error, 1.0)))
    records = "" if count is None else f"about {many(round(max(count, 0.0), -rough), 'record', ',.0f')}; "
    return f"{records}ε = {show(claim.epsilon)}" + (f", δ = {show(claim.delta)}" if claim.delta else "")


def save(figure: Figure, path: str | os.PathLike[str], *, secret: bool = False) -> None:
    """Write a picture; the name's end says as what. One that is `secret` can be read by its owner alone."""
    name = os.fsdecode(path)
    if os.path.splitext(name.lower())[1] not in FORMATS:
        raise ParameterError(f"Cannot draw {name!r}. Hint: let its name end in {', '.join(FORMATS)}.")
    picture = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)  # a box stands for it
        figure.savefig(picture, format=os.path.splitext(name.lower())[1][1:], dpi=150, facecolor="white")
    write_whole(name, picture.getvalue(), secret=secret)


def density(
    release: Release,
    *,
    ranges: Ranges | None = None,
    at: Mapping[str, object] | None = None,
    units: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    title: str | None = None,
    log: bool = False,
) -> Figure:
    """The density that a release describes.

    One free column: a curve with its interval as a band. Two: a heat map with contours. More: all pairs, each a cut
    through the middle of the others. `at` fixes columns, `ranges` says what to draw (the release's bounds by default).
    `log` colors maps by the logarithm of the density, for data of which a small part holds nearly all. Whatever noise
    alone could explain is faded; columns called longitude and latitude (lon, lat), or easting and northing, are drawn
    as a map.
    """
    view = View(release, ranges or {}, at or {}, units or {})
    if len(view.free) == 1:
        figure = new_figure(7.0, 4.2)
        draw_curve(figure.subplots(), view, view.free[0], confidence)
    elif len(view.free) == 2:
        figure = new_figure(7.6, 5.8)
        axes = figure.subplots()
        across_and_up = sorted(view.free, key=upward)
        image = draw_map(axes, view, *across_and_up, points=_POINTS_2D, log=log)
        figure.colorbar(image, ax=axes, label="density (mean kernel value)")
        strengths = image.get_array()
        if strengths is not None and np.any(strengths < 1.0):
            figure.supxlabel("pale: could be zero", fontsize=8, color=FAINT)
    else:
        figure = _pairs(view, confidence, log)
    lines = (title if title is not None else view.title()).splitlines()
    wrapped = [part for line in lines for part in textwrap.wrap(line, int(_LINE * figure.get_figwidth()))]
    figure.suptitle(literal("\n".join(wrapped)), fontsize=11, color=INK)
    return figure


class View:
    """A release, or a model of the same look, with names, ranges and fixed values for its columns."""

    def __init__(self, release: Any, ranges: Ranges, at: Mapping[str, object], units: Mapping[str, str]) -> None:
        from scumble.columns.kinds import roles_of

        self.release, self.units = release, units
        self.names = release.columns or tuple(f"column {j}" for j in range(release.dimensions))
        for what, given in (("range", ranges), ("at", at), ("units", units)):
            if not isinstance(given, Mapping):
                raise parameter(f"--{what}", "a mapping from columns, such as {'age': …}", given)
            checks.columns_named(f"--{what}", given, self.names)
        self.kinds: dict[str, str] = getattr(release, "kinds", {})
        ranges = ranges_by(self.kinds, ranges)
        roles = roles_of(release.kernel, self.names) if release.columns and release.kernel else {}
        self.ranges: dict[str, tuple[float, float]] = {}
        self.fixed = fixed_by(self.kinds, at)
        for j, name in enumerate(self.names):
            if name in at:
                continue
            if roles.get(name, "number") != "number":
                raise ParameterError(f"Column {name!r} holds no numbers. Hint: fix it, such as --at {name}=bus.")
            if name in ranges:
                low, high = ranges[name]
            elif release.bounds is not None:
                low, high = release.bounds[0][j], release.bounds[1][j]
            else:
                told = f"--range {name}=LOW:HIGH (ranges={{{name!r}: (low, high)}})"
                raise ParameterError(f"Give {told}: what to draw of hashed rows; guesses cost nothing.")
            if not low < high:
                told = ":".join(shown(end, self.kinds.get(name)) for end in (low, high))
                raise ParameterError(f"--range {name} must have its low end below its high end, got {told}.")
            self.ranges[name] = (low, high)
        self.free = list(self.ranges)
        if not self.free:
            raise ParameterError("All columns are fixed by --at: there is nothing left to draw.")

    def axis(self, name: str, points: int) -> np.ndarray:
        """Points along a column, from end to end."""
        return np.linspace(*self.ranges[name], points)

    def label(self, name: str, most: int = 56) -> str:
        """A column's name, with its unit."""
        return literal(shortened(f"{name} ({self.units[name]})" if name in self.units else name, most))

    def title(self) -> str:
        """Where the picture cuts through the data, the number of records if it is known, and the promise."""
        fixed = {
            name: shown(value, self.kinds.get(name)) if type(value) in (int, float) else value
            for name, value in self.fixed.items()
        }
        if len(self.free) > 2:
            fixed |= {name: shown(sum(self.ranges[name]) / 2, self.kinds.get(name)) for name in self.free}
        cut = ", ".join(f"{shortened(name, 40)} = {value}" for name, value in fixed.items())
        return f"cut at {cut}   ({self._promise()})" if cut else self._promise()

    def _promise(self) -> str:
        count, error = (getattr(self.release, name, None) for name in ("count", "count_standard_error"))
        return promise(self.release.privacy, count, error or 0.0)

    def table(self, values: Mapping[str, np.ndarray]) -> Any:
        """Queries: these columns vary, the others stay at their fixed value or in the middle."""
        size = len(next(iter(values.values())))
        columns: Facts = {}
        for name in self.names:
            if name in values:
                columns[name] = values[name]
            elif name in self.fixed:
                columns[name] = [self.fixed[name]] * size
            else:
                columns[name] = np.full(size, sum(self.ranges[name]) / 2)
        return columns if self.release.columns else np.column_stack(list(columns.values()))


def draw_curve(axes: Axes, view: View, name: str, confidence: float = 0.95, *, letters: int = LETTERS) -> None:
    """One column: the density and its interval as a band."""
    x = mesh_axis(view, name, _POINTS_1D)
    table = view.table({name: x})
    count = view.release.divisor
    lower, upper = (np.clip(side / count, 0.0, 1.0) for side in view.release.interval(table, confidence))
    axes.fill_between(x, lower, upper, color=SECOND, alpha=0.25, linewidth=0, label=f"{100 * confidence:g} % interval")
    axes.plot(x, view.release.density(table, shrink=False), color=SECOND, linewidth=1.6, label="released density")
    axes.set(xlabel=view.label(name), ylabel="density (mean kernel value)", xlim=view.ranges[name])
    axes.set_ylim(bottom=0.0)
    axes.legend(frameon=False, fontsize=9)
    thousands(axes.xaxis)
    thin(axes.xaxis, letters)
    as_dates(axes.xaxis, view.kinds.get(name), view.ranges[name])
    plain(axes)


def draw_map(
    axes: Axes,
    view: View,
    first: str,
    second: str,
    *,
    points: int,
    contours: bool = True,
    log: bool = False,
    letters: int = LETTERS,
) -> ScalarMappable:
    """Two columns: a heat map, faded where noise drowns it; contours where the density stands clear of its error.

    Gives what a color bar needs; its array is how much of its color each place has.
    """
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable

    x, y, values, error = surface(view, first, second, points)
    norm, levels = scale(values, error, log)
    cmap = colormaps["YlGnBu"]
    axes.imshow(
        colors(values, error, norm, cmap),
        origin="lower",
        extent=(x[0], x[-1], y[0], y[-1]),
        aspect="auto",
        interpolation="bilinear",
    )
    if contours and len(levels):
        clear = np.ma.masked_where(values <= DROWNED * error, values)
        axes.contour(x, y, clear, levels=levels, colors=INK, linewidths=0.6, alpha=0.7)
    axes.set(xlabel=view.label(first), ylabel=view.label(second))
    thousands(axes.xaxis, axes.yaxis)
    thin(axes.xaxis, letters)
    as_a_map(axes, [view.ranges[first], view.ranges[second]], [first, second])
    for axis, name in ((axes.xaxis, first), (axes.yaxis, second)):
        as_dates(axis, view.kinds.get(name), view.ranges[name])
    plain(axes, grid=False)
    drawn = ScalarMappable(norm, cmap)
    drawn.set_array(strength(values, error))
    return drawn


def _pairs(view: View, confidence: float, log: bool) -> Figure:
    names = view.free
    figure = new_figure(2.4 * len(names) + 0.6, 2.3 * len(names) + 0.6)
    all_axes = figure.subplots(len(names), len(names))
    for i, j in np.ndindex(len(names), len(names)):
        axes = all_axes[i, j]
        if i < j:
            axes.set_axis_off()
            continue
        if i == j:
            draw_curve(axes, view, names[i], confidence, letters=FEWER_LETTERS)
            axes.set_ylabel("density" if i == 0 else "")
            axes.get_legend().remove()
        else:
            draw_map(axes, view, names[j], names[i], points=_POINTS_PAIRS, log=log, letters=FEWER_LETTERS)
            axes.set_ylabel(view.label(names[i], _NAME) if j == 0 else "")
        axes.set_xlabel(view.label(names[j], _NAME) if i == len(names) - 1 else "")
        axes.tick_params(labelsize=7)
        axes.xaxis.label.set_size(9)
        axes.yaxis.label.set_size(9)
    return figure


def thousands(*sides: Axis, records: bool = False) -> None:
    """Numbers along these axes with thousands set apart, or in millions or billions where an axis reaches them.

    Of `records` they are set apart on short axes too, which else may be of years.
    """
    from matplotlib.ticker import FuncFormatter

    least = 1e4 if records else 0.0
    for side in sides:
        side.set_major_formatter(
            FuncFormatter(lambda value, _, side=side: amount(value, max(least, *map(abs, side.get_view_interval()))))
        )


def thin(side: Axis, letters: int) -> None:
    """Fewer numbers along an axis that has room for so many letters, if they would be printed over each other."""
    from matplotlib.ticker import MaxNLocator

    low, high = side.get_view_interval()
    told = [side.get_major_formatter()(place, None) for place in side.get_majorticklocs() if low <= place <= high]
    longest = max(map(len, told), default=0) + 1
    if len(told) * longest > letters:
        side.set_major_locator(MaxNLocator(max(1, letters // longest - 1), steps=[1, 2, 5, 10]))


def amount(value: float, most: float) -> str:
    """A number on an axis that reaches so far.

    >>> amount(2500.0, 4e5), amount(5e6, 5e6), amount(5e5, 5e6), amount(0.0, 5e6), amount(0.1 + 0.2, 1.0)
    ('2,500', '5M', '0.5M', '0', '0.3')
    >>> amount(1789.0, 1870.0), amount(2.5e9, 4e9), amount(-2e-6, 1e-5)  # a year has no comma
    ('1789', '2.5G', '-2e-6')
    """
    if most >= 1e12:
        return f"{value:,g}"
    for size, letter in ((1e9, "G"), (1e6, "M")):
        if most >= size and value:
            return f"{value / size:,.12g}{letter}"
    return f"{value:,.12g}" if most >= 1e4 else f"{value:.12g}".replace("e-0", "e-")


def plain(axes: Axes, *, grid: bool = True) -> None:
    """Axes without a frame, with a faint grid."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if grid:
        axes.grid(color=FAINT, alpha=0.25, linewidth=0.6)
        axes.set_axisbelow(True)


FINER = 3
"""So many times as fine as was asked for a mesh is at most."""


def mesh_axis(view: View, name: str, points: int) -> np.ndarray:
    """Points along a column: at least so many, and one for each cell of a grid if `FINER` times as many suffice."""
    release = view.release
    shape = getattr(getattr(release, "spec", None), "shape", None)
    if shape is None or release.bounds is None:
        return np.asarray(view.axis(name, points))
    column = view.names.index(name)
    low, high = (float(side[column]) for side in release.bounds)
    start, end = view.ranges[name]
    cells = math.ceil(min(shape[column] * (end - start) / (high - low), FINER * points))
    return np.asarray(view.axis(name, max(points, cells)))


def surface(view: View, first: str, second: str, points: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The points along two columns, and the density and its standard error on the mesh."""
    x, y = mesh_axis(view, first, points), mesh_axis(view, second, points)
    table = view.table({first: np.tile(x, len(y)), second: np.repeat(y, len(x))})
    values = view.release.density(table, shrink=False)
    error = view.release.standard_error(table) / view.release.divisor
    return x, y, values.reshape(len(y), len(x)), error.reshape(len(y), len(x))


# ---- colors of maps (``web/src/page/js``): from two standard errors to four they gain their strength ----


DROWNED, CLEAR = 2.0, 4.0
"""Standard errors at which colors begin and are full."""
PALE = 0.1
DEEPEST = 1e-4
"""The lowest density of a logarithmic scale, as a share of the highest."""
LEVELS = 6
ALIKE = 20.0
"""Sides of a map whose lengths differ by more than this factor are in different units."""


def strength(value: np.ndarray, error: np.ndarray) -> np.ndarray:
    """How much of its color a value has.

    >>> strength(np.array([1.0, 2.0, 3.0, 9.0]), np.ones(4)).round(2)
    array([0.1 , 0.1 , 0.55, 1.  ])
    """
    clear = np.clip((value / np.maximum(error, 1e-300) - DROWNED) / (CLEAR - DROWNED), 0.0, 1.0)
    share: np.ndarray = PALE + (1.0 - PALE) * clear
    return share


def scale(values: np.ndarray, error: np.ndarray, log: bool) -> tuple[Normalize, np.ndarray]:
    """A matplotlib norm for densities, and contour levels above their error."""
    from matplotlib.colors import LogNorm, Normalize

    most, noise = float(values.max()) or 1.0, float(np.median(error))
    if log:
        least = min(max(2.0 * noise, DEEPEST * most), most / 3.0)
        return LogNorm(least, most, clip=True), np.geomspace(least, most, LEVELS + 2)[1:-1]
    levels = np.linspace(0.0, most, LEVELS + 2)[1:-1]
    return Normalize(0.0, most), levels[levels > 3.0 * noise]


def colors(values: np.ndarray, error: np.ndarray, norm: Normalize, cmap: Colormap) -> np.ndarray:
    """(…, 3): red, green and blue on white paper."""
    shade = strength(values, error)[..., None]
    mixed: np.ndarray = shade * np.asarray(cmap(norm(values)))[..., :3] + (1.0 - shade)
    return mixed


def upward(name: str) -> bool:
    """Whether a column goes up a map."""
    return side_of_map(name) in ("latitude", "northing")


def as_dates(axis: Axis, kind: str | None, ends: tuple[float, float]) -> None:
    """A calendar along the axis of a column declared as dates or times (days since 1970)."""
    if kind not in ("date", "time") or not max(map(abs, ends)) < MOST_DAYS:
        return
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(maxticks=7)  # type: ignore[no-untyped-call]
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def as_a_map(axes: Axes, ranges: list[tuple[float, float]], names: list[str]) -> None:
    """Equal kilometers in both directions for longitude and latitude, or easting and northing."""
    wide, tall = (high - low for low, high in ranges)
    north, sides = ranges[1], [*map(side_of_map, names)]
    if sides == ["longitude", "latitude"] and wide <= 360 and north[0] >= -90 and north[1] <= 90:
        axes.set_aspect(1.0 / max(0.05, math.cos(math.radians(sum(north) / 2.0))))
    elif sides == ["easting", "northing"] and max(wide, tall) <= ALIKE * min(wide, tall):
        axes.set_aspect(1.0)
