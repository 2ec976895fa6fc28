"""What part of each column to draw: the public bounds, or where a search of the release finds its records.

A release of hashed rows does not say where its records lie. Looking for them is post-processing, like every question,
and costs no privacy. The kernel's tails are long: from far away its sum already tells which way is up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from scumble.columns.category import Boolean, Category
from scumble.columns.clock import SECONDS
from scumble.columns.date import Date
from scumble.columns.kinds import roles_of
from scumble.columns.number import Number
from scumble.density.release import Release
from scumble.density.spec import Spec
from scumble.kernels import ColumnKernel
from scumble.kernels.projection import ProjectionKernel
from scumble.show.usefulness import Facts, Model

Range = tuple[float, float]

BATCH, CLIMBS = 256, 48
CLOUD = 4096
LARGEST = 1e290
"""Steps beyond this leave the numbers."""
SHARE, ERRORS = 0.1, 5.0
"""A place belongs to the picture if its density is this part of the greatest one and clear of so many errors."""


def column_names(release: Release | Spec) -> list[str]:
    """The columns' names, or x0, x1 and so on."""
    return list(release.columns) if release.columns is not None else [f"x{j}" for j in range(release.dimensions)]


def roles(release: Release) -> list[str]:
    """For each column: number, category, tokens, or any if the kernel does not read it."""
    names = column_names(release)
    found = roles_of(release.kernel, names)
    return [found[name] for name in names]


def find(release: Release, others: Sequence[object]) -> tuple[list[Range | None], bool]:
    """A range for each numeric column, and whether that is where the release has records as far as is known.

    `others` holds a value for each other column, or None where none is known. A search over many columns may find
    nothing that stands out of the noise: then the ranges are a few units around zero, as good as any other place.
    """
    kinds = roles(release)
    numeric = [j for j, role in enumerate(kinds) if role == "number"]
    out: list[Range | None] = [None] * release.dimensions
    if release.bounds is not None:
        for j in numeric:
            out[j] = (float(release.bounds[0][j]), float(release.bounds[1][j]))
        return out, True
    units = _units(release)
    there = True
    searched = [j for j in numeric if units[j] is not None]
    for j in numeric:
        out[j] = _known(release, j) or (-1.0, 1.0)
    if searched and all(kinds[j] in ("number", "any") or others[j] is not None for j in range(release.dimensions)):
        low, high, there = _Search(release, searched, np.array([units[j] for j in searched]), out, others).extent()
        for k, j in enumerate(searched):
            if np.isfinite(high[k] - low[k]) and low[k] < high[k]:  # a file may ask for steps beyond all numbers
                out[j] = rounded(low[k], high[k])
    return out, there


def _units(release: Release) -> list[float | None]:
    """The kernel's own unit along each column; None where the column is no line that could be searched."""
    out: list[float | None] = [None] * release.dimensions
    for factor in release.kernel.factors:
        if isinstance(factor, ProjectionKernel) or (isinstance(factor, ColumnKernel) and factor.origin is None):
            which = factor.which(release.dimensions, release.columns)
            for j, scale in zip(which, factor._scales(release.columns, which), strict=True):
                unit = float(scale) * factor.bandwidth
                out[j] = unit if 0.0 < unit < LARGEST else None
    return out


def _known(release: Release, column: int) -> Range | None:
    """The range that the kernel itself states: zeros and ones of sets, or origin and scale of bounded columns."""
    for factor in release.kernel.factors:
        which = factor.which(release.dimensions, release.columns)
        if column not in which:
            continue
        k = which.index(column)
        if factor.reads == "tokens":
            return 0.0, 1.0
        scale = float(factor._scales(release.columns, which)[k])
        origin = getattr(factor, "origin", None)
        if origin is not None:
            first = float(np.broadcast_to(np.asarray(origin, float), (len(which),))[k])
            return first, first + scale
        return -scale, scale
    return None


class _Search:
    """Climbs to where the kernel sum is greatest, then looks around."""

    def __init__(
        self,
        release: Release,
        columns: list[int],
        units: np.ndarray,
        known: Sequence[Range | None],
        others: Sequence[object],
    ) -> None:
        self.release, self.columns, self.units = release, columns, units
        self.rng = np.random.default_rng(0)
        self.still = [
            other if spread is None else sum(spread) / 2.0 for other, spread in zip(others, known, strict=True)
        ]

    def _table(self, places: np.ndarray) -> dict[str, object]:
        columns: list[object] = [[0 if value is None else value] * len(places) for value in self.still]
        for k, j in enumerate(self.columns):
            columns[j] = places[:, k]
        return dict(zip(column_names(self.release), columns, strict=True))

    def _sums(self, places: np.ndarray) -> np.ndarray:
        return self.release.kernel_sum(self._table(places))

    def _steps(self, n: int, most: float) -> np.ndarray:
        """Random steps of all sizes, along one column, some, or all."""
        d = len(self.units)
        size = 10.0 ** self.rng.uniform(-1.0, most, (n, 1))
        chosen = self.rng.random((n, d)) < self.rng.choice([1.0 / d, 0.5, 1.0], (n, 1))
        steps: np.ndarray = self.rng.normal(size=(n, d)) * chosen * size * self.units
        return steps

    def _anywhere(self, n: int) -> np.ndarray:
        """Places of all magnitudes, each column its own."""
        signs = self.rng.normal(size=(n, len(self.units)))
        places: np.ndarray = signs * 10.0 ** self.rng.uniform(0.0, 4.5, (n, 1)) * self.units
        return places

    def peak(self) -> np.ndarray:
        best = np.zeros(len(self.units))
        height = -np.inf
        for turn in range(CLIMBS):
            early = turn < CLIMBS // 2
            near = best + self._steps(BATCH, 4.0 if early else 1.5)
            tried = np.vstack([best, near, self._anywhere(BATCH)]) if early else np.vstack([best, near])
            sums = self._sums(tried)
            top = int(np.argmax(sums))
            if sums[top] > height:
                best, height = tried[top], float(sums[top])
        return best

    def extent(self) -> tuple[np.ndarray, np.ndarray, bool]:
        """From where to where it stands out of the noise, and whether it does."""
        top = self.peak()
        places = np.vstack([top, top + self._steps(CLOUD, 2.5)])
        table = self._table(places)
        sums, errors = self.release.kernel_sum(table), self.release.standard_error(table)
        there = places[(sums > SHARE * sums[0]) & (sums > ERRORS * errors)]
        if sums[0] <= ERRORS * errors[0]:  # the highest of so many places is as high as that by noise alone
            return -5.0 * self.units, 5.0 * self.units, False
        if len(there) < 20:  # a few units around the best guess
            return top - 5.0 * self.units, top + 5.0 * self.units, True
        low, high = np.quantile(there, [0.01, 0.99], axis=0)
        return low - self.units, high + self.units, True


def rounded(low: float, high: float) -> Range:
    """The range widened to round numbers.

    >>> rounded(17.3, 68.9), rounded(-0.0123, 0.9)
    ((10.0, 70.0), (-0.1, 0.9))
    """
    step = 10.0 ** np.floor(np.log10((high - low) / 4.0))
    step *= next(factor for factor in (5.0, 2.0, 1.0) if factor * step <= (high - low) / 8.0 or factor == 1.0)
    digits = int(max(0, 1 - np.floor(np.log10(step))))
    return round(float(np.floor(low / step) * step), digits), round(float(np.ceil(high / step) * step), digits)


# ---- columns as the page shows them, encoded as the releases of a model have them (``web/src/engine/coding.js``) ----


@dataclass(frozen=True)
class Column:
    """One column: its name, its role, and what to draw of it."""

    name: str
    role: str
    range: tuple[float, float] | None
    values: tuple[str, ...]
    unit: str
    kind: str | None = None
    """The declared kind of its numbers: whole, date, time or boolean."""
    code: Facts | None = None
    """How cells are encoded in the releases of a model; None if they are numbers already."""
    lost: bool = False
    """Whether the range is a guess, since no search has found where the records are."""

    def to_dict(self) -> Facts:
        """As JSON values."""
        return asdict(self) | {"side": side_of_map(self.name) if self.role == "number" else None}


SIDES = {
    "longitude": r"(.*[_ .-])?(lon|lng|long|longitude)",
    "latitude": r"(.*[_ .-])?(lat|latitude)",
    "easting": r"(.*[_ .-])?eastings?([_ .-].*)?",
    "northing": r"(.*[_ .-])?northings?([_ .-].*)?",
}


def side_of_map(name: str) -> str | None:
    """Which side of a map a column is by its name, if any.

    >>> side_of_map("home_lat"), side_of_map("Easting (m)"), side_of_map("flat")
    ('latitude', 'easting', None)
    """
    return next((side for side, pattern in SIDES.items() if re.fullmatch(pattern, name, re.IGNORECASE)), None)


def columns_of(model: Model) -> list[Column] | None:
    """The columns of the table; None if the model was fitted on numbers."""
    coding = None if model is None or not hasattr(model, "_coding") else model._coding()
    if coding is None:
        return None
    return [_column(name, part) for name, part in zip(coding.schema, coding.parts, strict=True)]


def _column(name: str, part: Any) -> Column:
    column = part.column
    if isinstance(column, Category | Boolean):
        codes = np.arange(column.size)
        cells = column.cells_at(codes.astype(np.float64), (codes == column.size - 1) & column.missing)
        numbers, *_ = part.read(cells, name)
        return Column(name, "category", None, tuple(column.levels), "", None, {"words": numbers.tolist()})
    low, high = column.limits
    ticks = SECONDS["day"] // column.step if isinstance(column, Date) else 1
    whole = isinstance(column, Date) or column.whole
    log = isinstance(column, Number) and column.scale == "log"
    code = {
        "low": low,
        "high": high,
        "gone": part.gone if column.missing else None,
        "flagged": part.flagged,
        "whole": whole,
        "ticks": ticks,
        "edges": column.cuts.values(np.array(column.cuts.edges)).tolist() if log else None,
    }
    ends = (float(column.low), float(column.high)) if log else (low / ticks, high / ticks)
    return Column(name, "number", ends, (), "", _kind(column), code)


def _kind(column: Number | Date) -> str | None:
    if isinstance(column, Date):
        return "date" if column.resolution == "day" else "time"
    return "whole" if column.whole else None


def as_numbers(column: Column) -> bool:
    """Whether the cells are encoded as themselves, so that values between them make sense."""
    code = column.code
    return code is not None and "words" not in code and code["ticks"] == 1 and not code["edges"] and not code["flagged"]
