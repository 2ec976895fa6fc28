"""How far single precision can be trusted in one batch of records.

A projection t = b + Σ aⱼ xⱼ is needed only as ⌊t⌋, or as its sign. Single precision computes it twice as fast, with an
error that has a bound. Where t lies farther than that bound from the next edge, single precision decides as double
precision would; the few others are computed again. The counters are those of double precision, to the integer.

The bound. Columns are moved and stretched to [−1, 1] first: xⱼ = cⱼ + wⱼ yⱼ, so t = (b + Σ aⱼ cⱼ) + Σ aⱼ wⱼ yⱼ.
With u = 2⁻²⁴ and S = |b + Σ aⱼ cⱼ − low| + Σ |aⱼ| wⱼ, rounding the d + 1 factors of each kind and adding the products
in any order, fused or not, errs by at most ((1 + u)^(d + 3) − 1) S (Higham 2002, section 3.1): below (d + 4) u S, for
there are fewer than 2¹² columns. Double precision, here and in the reference, errs by less than (d + 4) 2⁻⁵¹ times the
sum of all absolute terms; that is added. For sides of hyperplanes, records are brought to size by powers of two; a
code of several sides is trusted where every one of them is.

Floors come as fixed-point numbers with 16 fractional bits, counted from the row's lowest code in this batch: the code
is in the upper bits, and the distance from the edges in the lower ones.

Range. Conversion to whole numbers is the same everywhere only within the range of the result: what is too large becomes
INT_MIN on x86-64 and the nearest end on ARM. So nothing else is ever converted, neither here nor in `exact._word`,
`hasher.whole` and the cells of grids. The columns are cut to [−1, 1], so they are numbers whatever the records hold;
the parameters are numbers, zero where fixed point does not hold the codes; and where it does, the lowest code lies one
below all projections and the span two above: 2¹⁶ (1 − ½) < t < 2¹⁶ · 2¹⁴, guards being at most WORST. Sides and steps
are cut to their ends.

Underflow. Columns that reach less than 2⁻⁹⁶⁰ from their center are taken to reach so far, which widens S but divides
by no denormal number; those that reach farther than 2⁹⁶⁰ are not served. What underflow takes from a projection,
gradually or flushed to zero, in single precision (2⁻¹²⁶ of each factor and each product) and in double precision
(2⁻¹⁰²² of x − c, hence 2⁻⁶² of y), is then less than 2⁻³⁰ units of fixed point. The guard has one whole unit to spare
for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from scumble.columns.table import Ends, ends
from scumble.counting.hasher import Hasher, whole
from scumble.files.compiling import read_only
from scumble.kernels import Records
from scumble.kernels.column import within

FRACTION = 16
ONE = 1 << FRACTION
SPAN = 1 << 14
"""Most codes of one hash in fixed point, so 31 bits hold them."""
WORST = ONE / 32
"""Widest guard worth its while: a sixteenth of all records would be computed again."""
FEW = 256
"""Records that are not worth the preparation."""
UNIT = 2.0**-24
MOST_COLUMNS = 4096
NARROW, WIDE = 2.0**-960, 2.0**960
"""How far columns may reach from their center: their inverses are ordinary numbers."""
SPARE, MUCH_WIDER = 0.125, 2.0
"""How much ends are widened on either side, and what they may be times those of a batch."""
SIDE_GUARD = 8
SMALL, LARGE = 1e-200, 1e200
"""Records with their largest value in between can be brought to size without loss; others become zero, the edge."""

FLOOR, SIGN, COLUMN, PICK, FOLDED = range(5)
FAMILIES = {"floor": FLOOR, "sign": SIGN, "column": COLUMN, "pick": PICK, "folded": FOLDED}

NUMBERS = ("width", "hashes", "parameters", "projections", "value", "first_column", "hash", "parameter", "projection")
FACTOR = np.dtype([("family", np.int64), *((name, np.int64) for name in NUMBERS)])
"""A factor of the kernel: its family, how many columns and hashes it has and how many parameters and projections a
hash, and where its values, its columns in single precision, its hashes, parameters and projections begin."""


class Batch(NamedTuple):
    """One batch of records, with what the quick loops need, as plain arrays."""

    values: np.ndarray
    """(n, columns of all factors): the records as they are."""
    center: np.ndarray
    stretch: np.ndarray
    """What makes columns of [−1, 1] out of them."""
    factors: np.ndarray
    """(factors,) of type `FACTOR`."""
    parameters: np.ndarray
    single: np.ndarray
    """(rows, all parameters): in double precision; and in single, for the moved and stretched columns."""
    guards: np.ndarray
    lowest: np.ndarray
    spans: np.ndarray
    """(rows, hashes): how near to an edge is too near; the code that fixed-point numbers are counted from; and how many
    codes there are from there, 0 where fixed point does not hold them."""
    start: np.ndarray
    """(rows,): the rehash's constant, with the lowest codes worked in."""
    multipliers: np.ndarray
    """(rows, hashes): the rehash's factors, or what a code is worth in the number of its bucket."""
    direct: bool
    """Whether buckets are numbered by the codes."""
    projections: int
    """How many projections a row has: one per hash, but for the folded kernel."""

    def __repr__(self) -> str:
        return "Batch(secret)"


class Known:
    """What batches of one pass have in common: ends that hold for them, and what was made for these ends.

    Making it takes some forty steps of NumPy, so threads that each count many batches share one of these. The ends are
    wider than those of the batch that they were made for, and grow with the next ones; they are not used for a batch
    that is much narrower. Counters are the same with any ends. They are secret, and forgotten with the pass.
    """

    def __init__(self) -> None:
        self._made: tuple[np.ndarray, np.ndarray, Batch] | None = None
        self.rooms: list[Any] = []
        """What threads have counted in (`quick.Room`), and leave to the counting of the next batch: all of it zero."""

    def __repr__(self) -> str:
        return "Known(secret)"

    def batch(self, hasher: Hasher, values: np.ndarray, low: np.ndarray, high: np.ndarray) -> Batch:
        """The batch of records whose columns lie between these ends."""
        made = self._made
        if made is None or not _hold(*made[:2], low, high):
            least, most = _grown(low, high, made)
            made = least, most, _within_ends(hasher, np.empty((0, len(low))), least, most)
            self._made = made
        return made[2]._replace(values=values)


def _hold(least: np.ndarray, most: np.ndarray, low: np.ndarray, high: np.ndarray) -> bool:
    """Whether ends hold for columns, and are not much too wide for them."""
    return bool(((least <= low) & (high <= most) & (most - least <= (high - low) * MUCH_WIDER)).all())


def _grown(
    low: np.ndarray, high: np.ndarray, before: tuple[np.ndarray, np.ndarray, Batch] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Ends for columns, somewhat wider than they; such that hold for earlier ones too, unless those are much wider."""
    reach = high - low
    if before is not None:
        least = np.where(low < before[0], low - reach * SPARE, before[0])
        most = np.where(high > before[1], high + reach * SPARE, before[1])
        if _hold(least, most, low, high):
            return least, most
    return low - reach * SPARE, high + reach * SPARE


EndsOf = Callable[[np.ndarray], Ends]


@np.errstate(all="ignore")
def prepare(
    hasher: Hasher, records: Sequence[Records], known: Known | None = None, ends_of: EndsOf = ends
) -> Batch | None:
    """The batch for the quick loops, or None if they do not serve it. `ends_of` finds the ends of columns."""
    if len(records[0]) < FEW or any(family not in FAMILIES for family in hasher.families):
        return None
    values = records[0].values if len(records) == 1 else np.hstack([part.values for part in records])
    values = read_only(np.ascontiguousarray(values, np.float64))
    if not 0 < values.shape[1] <= MOST_COLUMNS:
        return None
    if not any(family in ("floor", "column") for family in hasher.families):
        return _whatever_the_ends(hasher, values)
    found = [part.ends for part in records if part.ends is not None]  # as they were found when the records were read
    low, high = map(np.concatenate, zip(*found, strict=True)) if len(found) == len(records) else ends_of(values)
    return _within_ends(hasher, values, low, high) if known is None else known.batch(hasher, values, low, high)


def _whatever_the_ends(hasher: Hasher, values: np.ndarray) -> Batch:
    """The batch where all but the records is the same for every batch: made once."""
    known: Batch | None = getattr(hasher, "_batch", None)
    if known is None:
        none = np.zeros(values.shape[1])
        known = _within_ends(hasher, np.empty((0, len(none))), none, none)  # no record outlives its batch
        hasher.__dict__["_batch"] = known
    return known._replace(values=values)


def _within_ends(hasher: Hasher, values: np.ndarray, low: np.ndarray, high: np.ndarray) -> Batch:
    """The batch of records whose columns lie between these ends."""
    center, reach = _middles(low, high)
    rows, hashes = hasher.multipliers.shape
    factors: list[tuple[int, ...]] = []
    single: list[np.ndarray] = []
    guards: list[np.ndarray] = []
    lowest, spans = np.zeros((2, rows, hashes), np.int64)
    value = column = parameter = projection = 0
    for factor, drawn, place in zip(hasher.factors, hasher.parameters, hasher.slices, strict=True):
        family, d = FAMILIES[hasher.families[len(factors)]], len(hasher.which[len(factors)])
        mine = slice(value, value + d)
        mild, guard = drawn, np.zeros(drawn.shape[:2])
        if family == FLOOR:
            mild, guard, lowest[:, place], spans[:, place] = _floors(drawn, center[mine], reach[mine])
        elif family in (SIGN, FOLDED):
            mild, guard = _sides(drawn, d)
            spans[:, place] = factor.radix or 2
        elif family == COLUMN:
            lowest[:, place], spans[:, place] = _steps(drawn, low[mine], high[mine], hasher.direct)
        hashes, k = drawn.shape[1:]
        each = k // d if family == FOLDED else 1
        factors.append((family, d, hashes, k, each, value, column, place.start, parameter, projection))
        single.append(mild.reshape(rows, -1))
        guards.append(guard)
        value, column = value + d, column + d + (family == FLOOR)
        parameter, projection = parameter + hashes * k, projection + hashes * each
    start = hasher.start + np.sum(hasher.multipliers * lowest.astype(np.uint64), axis=1, dtype=np.uint64)
    return Batch(
        values=values,
        center=center,
        stretch=1.0 / reach,
        factors=np.array(factors, FACTOR),
        parameters=np.hstack([drawn.reshape(rows, -1) for drawn in hasher.parameters]),
        single=np.hstack(single).astype(np.float32),
        guards=np.hstack(guards).astype(np.float32),
        lowest=lowest,
        spans=spans,
        start=start,
        multipliers=hasher.multipliers,
        direct=hasher.direct,
        projections=projection,
    )


def _middles(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The center of each column and how far it reaches from there: an ordinary number, or infinite if that is none."""
    center = low / 2.0 + high / 2.0
    reach = np.maximum(high - center, center - low)
    return center, np.where(reach <= WIDE, np.maximum(reach, NARROW), np.inf)


def _floors(drawn: np.ndarray, center: np.ndarray, reach: np.ndarray) -> tuple[np.ndarray, ...]:
    """Parameters, guards, lowest codes and spans of ⌊b + Σ aⱼ xⱼ⌋ for columns within `reach` of their center."""
    d = len(center)
    offset, direction = drawn[:, :, 0], drawn[:, :, 1:]
    middle = offset + direction @ center
    stretched = direction * reach
    far = np.abs(stretched).sum(axis=2)
    lowest = np.floor(middle - far) - 1.0
    span = np.floor(middle + far) + 2.0 - lowest
    terms = np.abs(offset) + np.abs(direction) @ np.abs(center) + far
    error = (d + 4) * (UNIT * (np.abs(middle - lowest) + far) + 2.0**-51 * terms)
    guard = np.ceil(error * ONE) + 2.0  # conversion cuts off less than one
    mild = np.concatenate([(middle - lowest)[:, :, None], stretched], axis=2) * ONE
    good = (span <= SPAN) & (guard <= WORST) & (terms < 2.0**30)  # false for NaN
    return np.where(good[:, :, None], mild, 0.0), np.where(good, guard, 0.0), whole(lowest, good), whole(span, good)


def _sides(drawn: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Directions and guards of [Σ aⱼ xⱼ ≥ 0], for records whose largest value is brought to between 1 and 2.

    A hash has one direction or several. They are stretched so that the bound of the error becomes `SIDE_GUARD` units.
    """
    directions = drawn.reshape(*drawn.shape[:2], -1, d)
    error = (d + 4) * UNIT * 2.0 * np.abs(directions).sum(axis=3, keepdims=True)
    trusted = (error > 1e-30) & (error < 1e30)
    # Conversion cuts off less than one. Where the bound cannot be trusted, all sides are too near to tell.
    mild = np.where(trusted, directions * ((SIDE_GUARD - 2) / error), 0.0)
    return mild.reshape(drawn.shape), np.full(drawn.shape[:2], float(SIDE_GUARD))


def _steps(drawn: np.ndarray, low: np.ndarray, high: np.ndarray, direct: bool) -> tuple[np.ndarray, np.ndarray]:
    """Lowest codes and spans of the steps of one column, clipped to the codes that there are."""
    column = drawn[:, :, 0].astype(np.intp)
    steps, offset, bottom, top = (drawn[:, :, k] for k in range(1, 5))
    if not direct:  # codes that number the buckets count from zero
        bottom, top = (within(np.floor(end[column] * steps + offset), bottom, top) for end in (low, high))
    span = top - bottom + 1.0
    good = (span <= SPAN) & (np.abs(bottom) < 2.0**30)
    return whole(bottom, good), whole(span, good)
