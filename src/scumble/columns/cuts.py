"""A line cut into cells, and how values are spread within a cell.

The edges of cells are a function of a column's public parameters, the same on every machine: linear edges are rounded
once, from exact fractions; logarithmic ones come from Python's `decimal`, whose ``exp`` and ``ln`` are correctly
rounded. These rules are part of the file format and never change. By default, inner edges are round
numbers, as in most questions, and at least half a cell from the bounds.

Within a cell, values are assumed to be spread evenly, on the line or on its logarithm. Answers use this assumption
(`shares`, `at`, `means`); counting (`find`) does not.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, log10

import numpy as np

from scumble.columns import line
from scumble.columns.line import Span, Spans
from scumble.errors import ParameterError
from scumble.files.compiling import can_compile, njit

FEW = 10_000
"""For fewer places, NumPy searches."""
_LEAST = 1e-300
"""A cell that begins below is not logarithmic: the one between zero and the first edge."""
_NOTHING = 1e-300
"""A smaller share of a cell is that of a single value, zero."""
_SUMMED = 10_000
"""Cells of no more whole numbers get their mean by summing them."""


@dataclass(frozen=True)
class Cuts:
    """Cells on a line, each from its own edge to the next one."""

    edges: tuple[int, ...]
    """The first place of each cell, and the one after the last cell."""
    real: bool
    """Whether places are the bits of float64 values, or whole numbers."""
    log: bool
    """Whether values are spread evenly on the logarithm."""

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.edges) - 1

    @property
    def line(self) -> Span:
        """The first place, and the one after the last."""
        return self.edges[0], self.edges[-1]

    @property
    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        edges = np.array(self.edges, np.int64)
        return edges[:-1], edges[1:]

    @property
    def _logarithmic(self) -> np.ndarray:
        return self.log & (self.values(self._ends[0]) > _LEAST)

    def values(self, places: np.ndarray) -> np.ndarray:
        """The values at these places, as float64."""
        return line.value(places) if self.real else np.asarray(places, np.float64)

    def find(self, places: np.ndarray) -> np.ndarray:
        """The cell of each place; beyond the ends, the nearest one."""
        return cells_of(np.array(self.edges[1:-1], np.int64), places)

    def holds(self, places: np.ndarray) -> np.ndarray:
        """Which places are on the line."""
        first, end = self.line
        return (places >= first) & (places < end)

    def touched(self, spans: Spans) -> Spans:
        """The spans (all on the line), extended to whole cells."""
        edges = self.edges
        wide = [(edges[bisect_right(edges, first) - 1], edges[bisect_right(edges, end - 1)]) for first, end in spans]
        return line.joined(tuple(wide))

    def shares(self, spans: Spans) -> tuple[np.ndarray, np.ndarray]:
        """The share of each cell that lies in the spans (all on the line), and whether the cell is cut."""
        share, partly = np.zeros(self.size), np.zeros(self.size, bool)
        for first, end in spans:
            one, other = bisect_right(self.edges, first) - 1, bisect_right(self.edges, end - 1) - 1
            share[one + 1 : other] = 1.0
            for cell in {one, other}:
                low, high = max(first, self.edges[cell]), min(end, self.edges[cell + 1])
                # There are gaps between spans: several do not fill a cell together.
                partly[cell] = (low, high) != (self.edges[cell], self.edges[cell + 1])
                share[cell] += self._part(cell, low, high) if partly[cell] else 1.0
        return np.minimum(share, 1.0), partly

    def _part(self, cell: int, low: int, high: int) -> float:
        """The share of one cell between two of its places."""
        values = self.values(np.array([self.edges[cell], low, high, self.edges[cell + 1]]))
        if self._logarithmic[cell]:
            values = np.log(values)
        start, below, upto, end = values.tolist()
        share = (upto - below) / (end - start) if end > start else 0.0
        return share if share > _NOTHING else 0.0

    def _measure(self, places: np.ndarray) -> np.ndarray:
        """The values, or their logarithms, at one place of each cell."""
        values = self.values(places)
        return np.where(self._logarithmic, np.log(np.maximum(values, _LEAST)), values)

    def at(self, codes: np.ndarray, share: np.ndarray) -> np.ndarray:
        """The value below which that share of its cell lies: float64, or int64 for whole numbers."""
        starts, ends = (side[codes] for side in self._ends)
        low, high = (self._measure(side)[codes] for side in self._ends)
        found = low + share * (high - low)
        logarithmic = self._logarithmic[codes]
        found = np.where(logarithmic, np.exp(np.where(logarithmic, found, 0.0)), found)
        if self.real:
            return np.clip(found, self.values(starts), self.values(ends - 1))
        return np.clip(np.floor(found).astype(np.int64), starts, ends - 1)

    @property
    def lengths(self) -> np.ndarray:
        """The length of each cell, on the scale on which its values are spread evenly."""
        return np.asarray(np.subtract(*map(self._measure, reversed(self._ends))))

    @property
    def extremes(self) -> tuple[np.ndarray, np.ndarray]:
        """The smallest and the largest value of each cell."""
        starts, ends = self._ends
        return self.values(starts), self.values(ends - 1)

    @property
    def means(self) -> np.ndarray:
        """The mean of each cell."""
        starts, ends = self._ends
        low, high = self.values(starts), self.values(ends)
        middle: np.ndarray = low + (self.values(ends - 1) - low) / 2
        for k in np.flatnonzero(self._logarithmic):
            middle[k] = _log_mean(low[k], high[k], real=self.real)
        return middle


DIGIT = 8
"""Values of a digit of a position."""
OCTAVES = 24
"""Cells narrower than the widest by more powers of two share their positions."""


@dataclass(frozen=True, eq=False)
class Positions:
    """Where in its cell a value lies, whichever cell it is: what makes sums exact.

    The cells of a line are sorted by their widths, a class for each power of two. A value's position is its distance
    from the lower end of its cell, in steps of 1/64 of its class's widest cell; of whole numbers, in steps of one, as
    long as these are fewer. It has two digits, of 0 to 7: which eighth of the steps, and which step of that; of fewer
    than nine steps, one. A row of counters for each digit of each class is a view like any other. With the cells'
    counts, they give the sum of all values to within half a step:
    Σ x = Σ (cell's lower end) + Σ (first digit's distance) + Σ (second digit's distance). In units of the variance of
    a counter times the squared width of a cell, the mean then has noise 1.3; one row of 64 positions has 64/12.
    """

    kind: np.ndarray
    """The class of each cell; −1 of those that hold a single value."""
    start: np.ndarray
    scale: np.ndarray
    most: np.ndarray
    longest: np.ndarray
    """The lower end of each cell, its steps per unit, its last step and its largest distance."""
    steps: np.ndarray
    widths: np.ndarray
    """How many steps each class has, and how wide they are."""
    whole: bool

    @staticmethod
    def of_cells(cuts: Cuts) -> Positions | None:
        """Those of a line's cells; None if each holds a single value."""
        starts, ends = cuts._ends
        low, high, last = cuts.values(starts), cuts.values(ends), cuts.values(ends - 1)
        width = np.where((ends - starts > 1) & (high - low > _LEAST), high - low, 0.0)
        if not width.any():
            return None
        octave = np.frexp(width)[1]
        apart = np.where(width > 0, np.minimum(octave[width > 0].max() - octave, OCTAVES - 1), -1)
        kinds, kind = np.unique(apart, return_inverse=True)
        kind -= int(kinds[0] < 0)
        widest = np.array([width[kind == one].max() for one in range(int(kind.max()) + 1)])
        steps = np.full(len(widest), DIGIT**2)
        if not cuts.real:
            steps = np.minimum(steps, widest.astype(np.int64))
        scale = np.where(kind < 0, 0.0, (steps / widest)[kind])
        most = np.where(kind < 0, 0, steps[kind] - 1)
        return Positions(kind, low, scale, most, last - low, steps, widest / steps, not cuts.real)

    @property
    def fine(self) -> np.ndarray:
        """How many steps of each class share a first digit; the second digit distinguishes them."""
        return -(-self.steps // DIGIT)

    @property
    def digits(self) -> int:
        """How many rows of counters there are."""
        return 2 if self.fine.max() > 1 else 1

    @property
    def size(self) -> int:
        """How many counters each has: of each class, and one for values that are alone in their cells, or missing."""
        return DIGIT * len(self.steps) + 1

    def distances(self, kind: int) -> tuple[np.ndarray, np.ndarray]:
        """The distances from the lower end of a cell that the values of the first and the second digit mean."""
        width, fine = self.widths[kind], int(self.fine[kind])
        near = (width - self.whole) / 2  # the middle of a step, or of the whole numbers in it
        return width * fine * np.arange(-(-self.steps[kind] // fine)), width * np.arange(fine) + near

    def find(self, values: np.ndarray, cells: np.ndarray) -> list[np.ndarray]:
        """The digits of values' positions in their cells: 0, or 1 + 8·class + digit."""
        if len(values) >= FEW and can_compile():
            found = np.empty((2, len(values)), np.int32)
            _place(values, cells, self.kind, self.start, self.scale, self.most, self.fine, found)
            return [*found[: self.digits]]
        kind = np.where(cells < 0, -1, self.kind[cells])
        cell = np.where(kind < 0, 0, cells)
        steps = np.minimum((values - self.start[cell]) * self.scale[cell], self.most[cell])
        step = np.where(kind < 0, 0, steps).astype(np.int32)
        fine = self.fine[kind]
        parts = [step // fine, step % fine][: self.digits]
        return [np.where(kind < 0, 0, 1 + DIGIT * kind + part).astype(np.int32) for part in parts]


@njit(nogil=True, cache=True)
def _place(
    values: np.ndarray,
    cells: np.ndarray,
    kinds: np.ndarray,
    start: np.ndarray,
    scale: np.ndarray,
    most: np.ndarray,
    fine: np.ndarray,
    found: np.ndarray,
) -> None:
    for i in range(len(values)):
        cell = cells[i]
        kind = kinds[cell] if cell >= 0 else -1
        if kind < 0:
            found[0, i] = found[1, i] = 0
        else:
            step = int(min((values[i] - start[cell]) * scale[cell], float(most[cell])))
            found[0, i] = 1 + DIGIT * kind + step // fine[kind]
            found[1, i] = 1 + DIGIT * kind + step % fine[kind]


def _log_mean(low: float, high: float, *, real: bool) -> float:
    """The mean of values spread evenly on the logarithm of [low, high), or of the whole numbers in it."""
    if not real and high - low <= _SUMMED:
        wholes = np.arange(low, high)
        return float(np.average(wholes, weights=np.log1p(1 / wholes)))
    ratio = (high - low) / low
    mean = (high - low) / np.log1p(ratio)
    return float(np.clip(mean if real else mean - 0.5, low, high))


def cells_of(inner: np.ndarray, places: np.ndarray) -> np.ndarray:
    """How many of the sorted `inner` edges each place has reached, as int32; both are int64.

    NumPy's ``searchsorted`` is slower, because it mispredicts half of its branches on unordered records.
    """
    if len(places) < FEW or not can_compile():
        return np.searchsorted(inner, places, side="right").astype(np.int32)
    levels = len(inner).bit_length()
    # Padded to 2^levels - 1 edges, so that every search takes the same steps.
    padded = np.full((1 << levels) - 1, np.iinfo(np.int64).max)
    padded[: len(inner)] = inner
    found = np.empty(len(places), np.int32)
    _search(padded, np.ascontiguousarray(places), found, levels)
    return found


@njit(nogil=True, cache=True)
def _search(edges: np.ndarray, places: np.ndarray, found: np.ndarray, levels: int) -> None:
    for i in range(len(places)):
        place = places[i]
        reached = 0
        for level in range(levels - 1, -1, -1):
            step = 1 << level
            reached += step * (edges[reached + step - 1] <= place)
        found[i] = reached


# ---- edges ----

FINE = 64
"""About the default number of cells."""
EACH = 128
"""Up to this many whole numbers have a cell each, by default."""
DECADES = 10**6
"""On a logarithmic scale that begins at zero, positive numbers below ``high / DECADES`` share a cell."""

_FORTY = Context(prec=40, Emin=-(10**6), Emax=10**6)


def require_rising(edges: Sequence[float]) -> None:
    """Refuse edges that are not increasing.

    >>> require_rising([0, 5, 3])
    Traceback (most recent call last):
    scumble.errors.ParameterError: `edges` must be increasing, and number 3 of 3 is not above number 2. Hint: ...
    """
    for place, (one, other) in enumerate(pairwise(edges), 2):
        if one >= other:
            raise ParameterError(
                f"`edges` must be increasing, and number {place} of {len(edges)} is not above number {place - 1}. "
                "Hint: write each once, from the least to the largest."
            )


def equal_cells(wholes: int | None) -> int | None:
    """How many equal cells a column has; None: one for each of its `wholes`, the whole numbers it can hold if any."""
    return None if wholes is not None and wholes <= EACH else FINE


def whole_edges(low: int, high: int, cells: int, *, log: bool) -> list[int]:
    """The first number of each cell, and the one after the last."""
    end = high + 1
    cells = min(cells, end - low)
    if not log:
        return [low + (end - low) * k // cells for k in range(cells + 1)]
    edges = [0] if low == 0 else []  # zero has a cell of its own
    at, left = max(low, 1), max(cells - len(edges), 1)
    while left and at < end:
        edges.append(at)
        # A geometric step toward the end; at least one, so small numbers get a cell each.
        at = max(at + 1, int(_geometric(Decimal(at), Decimal(end), Fraction(1, left))))
        left -= 1
    return [*edges, end]


def real_edges(low: float, high: float, cells: int, *, log: bool) -> list[float]:
    """The edges of cells of real numbers, the last one included; without the cell of zero."""
    if not log:
        first, width = Fraction(low), Fraction(high) - Fraction(low)
        edges = [float(first + width * k / cells) for k in range(cells + 1)]
    elif low > 0:
        one, other = Decimal(low), Decimal(high)
        inner = [float(_geometric(one, other, Fraction(k, cells))) for k in range(1, cells)]
        edges = [low, *inner, high]
    else:  # zero itself is one cell, what lies between it and the first edge another
        return [0.0, *(real_edges(high / DECADES, high, cells - 2, log=True) if cells > 2 else [high])]
    return sorted({*edges, low, high})  # each once, if the bounds are too close for all cells


def nearest_to_fine(span: Fraction, steps: Iterable[Fraction]) -> Fraction:
    """The step that cuts a span into as nearly `FINE` cells as can be."""
    return min(steps, key=lambda step: max(span / step / FINE, FINE * step / span))


def round_edges(low: float, high: float, *, whole: bool, log: bool) -> list[float]:
    """About `FINE` cells with round edges, from `low` to `high`; of whole numbers, up to before `high`.

    Steps are 1, 2, 2.5 or 5 times a power of ten. On a logarithmic scale, edges are near 10^(j/m) for a whole m, each
    the one with the fewest digits that is nearer to its own power than to the next.

    >>> round_edges(0.0, 99_999.0, whole=False, log=False)[-3:], round_edges(17, 1000, whole=True, log=False)[:3]
    ([96000.0, 98000.0, 99999.0], [17, 40, 60])
    >>> round_edges(0.0, 50.0, whole=False, log=True)[-11:]
    [5.0, 6.0, 8.0, 10.0, 13.0, 16.0, 20.0, 25.0, 30.0, 40.0, 50.0]
    """
    inner = _round_ratios(low, high) if log else _round_steps(Fraction(low), Fraction(high), whole)
    edges = (round(edge) for edge in inner) if whole else (float(edge) for edge in inner)
    return sorted(
        {low, *({1} if whole and log and low == 0 else ()), *(edge for edge in edges if low < edge < high), high}
    )


def _round_steps(low: Fraction, high: Fraction, whole: bool) -> list[Fraction]:
    power = floor(log10(high - low)) - 2
    steps = [Fraction(digits, 2) * Fraction(10) ** k for k in (power, power + 1) for digits in (2, 4, 5, 10)]
    step = nearest_to_fine(high - low, [step for step in steps if not whole or step.denominator == 1])
    return [step * k for k in range(ceil(low / step + Fraction(1, 2)), floor(high / step - Fraction(1, 2)) + 1)]


def _round_ratios(low: float, high: float) -> list[Decimal]:
    """From zero on, `DECADES` of them."""
    first, last = Decimal(low or high / DECADES), Decimal(high)
    begin, end = (Fraction(_FORTY.log10(one)) for one in (first, last))
    cells = (FINE - 2 * (low == 0)) / (end - begin)  # per decade, next to zero and what lies below the first edge
    share = Fraction(round(cells)) if cells > 1 else Fraction(1, round(1 / cells))
    half, found = _power(Fraction(1, 2) / share), []
    for place in range(floor(share * begin), ceil(share * end) + 1):
        exact = _power(Fraction(place) / share)
        digits = (Context(prec=digits).plus(exact) for digits in range(1, 30))
        edge = next(edge for edge in digits if exact / half < edge < exact * half)
        if first * (half if low else 1) <= edge <= last / half:
            found.append(edge)
    return found


def _power(exponent: Fraction) -> Decimal:
    """A power of ten."""
    return _geometric(Decimal(1), Decimal(10), exponent)


def _geometric(low: Decimal, high: Decimal, share: Fraction) -> Decimal:
    """low^(1 - share) high^share."""
    step = _FORTY.divide(Decimal(share.numerator), Decimal(share.denominator))
    ratio = _FORTY.ln(_FORTY.divide(high, low))
    # Rounded to 30 digits: what is exact, such as 10 between 1 and 100, comes out exact.
    return Context(prec=30).plus(_FORTY.multiply(low, _FORTY.exp(_FORTY.multiply(ratio, step))))
