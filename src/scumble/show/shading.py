"""Colours of maps: even or by logarithm, and faded where there may be nothing.

The twin of ``web/src/page/shading.js``: up to two standard errors above nothing a value has hardly any colour, from
four on it has all of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from scumble.schema.kinds import MOST_DAYS

DROWNED, CLEAR = 2.0, 4.0
"""Standard errors at which colours begin, and at which they are full."""
PALE = 0.1
DEEPEST = 1e-4
"""The lowest density of a logarithmic scale, as a part of the greatest."""
LEVELS = 6
ACROSS = 4
"""Intervals between labels of degrees across."""
_ANGLES = {
    "longitude": (re.compile(r"(.*[_ .-])?(lon|lng|long|longitude)", re.IGNORECASE), 360.0, "EW"),
    "latitude": (re.compile(r"(.*[_ .-])?(lat|latitude)", re.IGNORECASE), 90.0, "NS"),
}

_LENGTHS = {
    "easting": re.compile(r"(.*[_ .-])?eastings?([_ .-].*)?", re.IGNORECASE),
    "northing": re.compile(r"(.*[_ .-])?northings?([_ .-].*)?", re.IGNORECASE),
}
ALIKE = 20.0
"""So many times as long as the other, a side of a map is in another unit."""


def strength(value: np.ndarray, error: np.ndarray) -> np.ndarray:
    """How much of its colour a value has.

    >>> strength(np.array([1.0, 2.0, 3.0, 9.0]), np.ones(4)).round(2)
    array([0.1 , 0.1 , 0.55, 1.  ])
    """
    clear = np.clip((value / np.maximum(error, 1e-300) - DROWNED) / (CLEAR - DROWNED), 0.0, 1.0)
    share: np.ndarray = PALE + (1.0 - PALE) * clear
    return share


def has_pale(share: np.ndarray) -> bool:
    """Whether some place has less than all of its colour."""
    return bool(np.any(share < 1.0))


def scale(values: np.ndarray, error: np.ndarray, log: bool) -> tuple[Any, np.ndarray]:
    """A matplotlib norm for densities, and the levels of contours that stand clear of their error."""
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


def angle(name: str, low: float, high: float) -> str | None:
    """ "longitude", "latitude" or None: by a column's name, and a range that fits."""
    for kind, (pattern, most, _) in _ANGLES.items():
        if pattern.fullmatch(name) and -most <= low and high <= most:
            return kind
    return None


def upward(name: str, low: float, high: float) -> bool:
    """Whether a column goes up a map."""
    return angle(name, low, high) == "latitude" or _LENGTHS["northing"].fullmatch(name) is not None


def _metres(ranges: list[tuple[float, float]], names: list[str]) -> bool:
    """Whether two columns are an easting across and a northing up, in one unit by their lengths."""
    wide, tall = (high - low for low, high in ranges)
    named = all(_LENGTHS[kind].fullmatch(name) for kind, name in zip(("easting", "northing"), names, strict=True))
    return named and max(wide, tall) <= ALIKE * min(wide, tall)


def degrees(kind: str, value: float, beside: Iterable[float] = ()) -> str:
    """A place on the Earth in words, with as many decimals as those beside it.

    >>> degrees("longitude", 11.6), degrees("latitude", -33.0), degrees("latitude", 40.8, [40.79, 40.8])
    ('11.6° E', '33° S', '40.80° N')
    """
    sides = _ANGLES[kind][2]
    decimals = max(len(f"{place:.6g}".partition(".")[2]) for place in (value, *beside))
    return f"{abs(value):.{decimals}f}°" + ("" if value == 0.0 else f" {sides[int(value < 0.0)]}")


def as_dates(axis: Any, kind: str | None, ends: tuple[float, float]) -> None:
    """A calendar along an axis of a column that was declared as dates or times: both count days since 1970."""
    if kind not in ("date", "time") or not max(map(abs, ends)) < MOST_DAYS:
        return
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(maxticks=7)  # type: ignore[no-untyped-call]
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def as_a_map(axes: Any, ranges: list[tuple[float, float]], names: list[str]) -> None:
    """Degrees along the axes; longitude or easting across and latitude or northing up are drawn so that a kilometre has
    one length.

    Across, a label such as 122.45° W is wide, and only a few have room.
    """
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    kinds = [angle(name, *side) for name, side in zip(names, ranges, strict=True)]
    for axis, kind in zip((axes.xaxis, axes.yaxis), kinds, strict=True):
        if kind is not None:
            axis.set_major_formatter(
                FuncFormatter(lambda value, _, kind=kind, axis=axis: degrees(kind, value, axis.get_majorticklocs()))
            )
    if kinds[0] is not None:
        axes.xaxis.set_major_locator(MaxNLocator(ACROSS, steps=[1, 2, 2.5, 5, 10], min_n_ticks=3))
    if _metres(ranges, names):
        axes.set_aspect(1.0)
    if kinds == ["longitude", "latitude"]:
        axes.set_aspect(1.0 / max(0.05, float(np.cos(np.radians(sum(ranges[1]) / 2.0)))))
