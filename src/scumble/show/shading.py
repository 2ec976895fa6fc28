"""Colors of maps, linear or logarithmic, faded where noise could explain a value (``web/src/page/shading.js``).

Up to two standard errors a value is pale, from four on it has its full color.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from scumble.columns.kinds import MOST_DAYS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

DROWNED, CLEAR = 2.0, 4.0
"""Standard errors at which colors begin and are full."""
PALE = 0.1
DEEPEST = 1e-4
"""The lowest density of a logarithmic scale, as a share of the highest."""
LEVELS = 6
_EARTH = (re.compile(r"(.*[_ .-])?(lon|lng|long|longitude)", re.I), re.compile(r"(.*[_ .-])?(lat|latitude)", re.I))
_LENGTHS = (re.compile(r"(.*[_ .-])?eastings?([_ .-].*)?", re.I), re.compile(r"(.*[_ .-])?northings?([_ .-].*)?", re.I))
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


def has_pale(share: np.ndarray) -> bool:
    """Whether any place is faded."""
    return bool(np.any(share < 1.0))


def scale(values: np.ndarray, error: np.ndarray, log: bool) -> tuple[Any, np.ndarray]:
    """A matplotlib norm for densities, and contour levels above their error."""
    from matplotlib.colors import LogNorm, Normalize

    most, noise = float(values.max()) or 1.0, float(np.median(error))
    if log:
        least = min(max(2.0 * noise, DEEPEST * most), most / 3.0)
        return LogNorm(least, most, clip=True), np.geomspace(least, most, LEVELS + 2)[1:-1]
    levels = np.linspace(0.0, most, LEVELS + 2)[1:-1]
    return Normalize(0.0, most), levels[levels > 3.0 * noise]


def colours(values: np.ndarray, error: np.ndarray, norm: Any, cmap: Any) -> np.ndarray:
    """(…, 3): red, green and blue on white paper."""
    shade = strength(values, error)[..., None]
    mixed: np.ndarray = shade * np.asarray(cmap(norm(values)))[..., :3] + (1.0 - shade)
    return mixed


def upward(name: str) -> bool:
    """Whether a column goes up a map."""
    return any(pair[1].fullmatch(name) for pair in (_EARTH, _LENGTHS))


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
    north = ranges[1]
    if _called(names, _EARTH) and wide <= 360 and north[0] >= -90 and north[1] <= 90:
        axes.set_aspect(1.0 / max(0.05, math.cos(math.radians(sum(north) / 2.0))))
    elif _called(names, _LENGTHS) and max(wide, tall) <= ALIKE * min(wide, tall):
        axes.set_aspect(1.0)


def _called(names: list[str], patterns: tuple[re.Pattern[str], re.Pattern[str]]) -> bool:
    return all(pattern.fullmatch(name) for pattern, name in zip(patterns, names, strict=True))
