"""How usual a record is, by the kernel and by its columns one at a time.

Two things make a record unusual. A value may be rare in its own column; histograms of single columns show that best,
with little noise, and a kernel as wide as many columns need hardly at all. Or the values are common, each by itself,
and hardly ever come together; only the kernel sees that. Three scores know these things, each in its own way:

    h(x) = Σⱼ log pⱼ(xⱼ)                 the columns' histograms, as if columns were independent
    k(x) = log(f(x) + s)                 the kernel sum f of the release, of noise of standard deviation s − 1
    q(x) = k(x) − log(f₀(x) + s)         what f has beyond f₀: the kernel sum of records of independent columns

f₀ comes from records drawn from the histograms and counted by the release's own hash functions, so the errors of
hashing are nearly the same in f and in f₀, and cancel. The score of a record is

    h/σ(h) + r(k) k/σ(k) + r(q) q/σ(q),

with the spread σ of each among the drawn records, and with its reliability r: the share of its variance that is not
noise, which is known. If columns are independent, q is nothing but noise and r(q) is near 0; the less budget there is,
the more the histograms decide. All of it is post-processing.

The private records' own scores are counted to find a threshold (:mod:`scumble.learn.quantiles`). So a record's score is
a function of that record alone, to the last bit: it is made of whole numbers, looked-up numbers, and sums in one order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scumble.errors import ParameterError
from scumble.learn.frames import coding
from scumble.reading.masses import masses
from scumble.release import Release
from scumble.schema import Number, Schema
from scumble.schema.schema import MOST_COLUMNS
from scumble.tabular.release import TableRelease
from scumble.tabular.sketch import TableSketch
from scumble.tabular.spec import TableSpec

CELLS = 32
"""Of a column of numbers: with more the noise of each counts for more, with fewer what is rare gets lost."""
NARROWEST = 1e-300
"""Bounds: cells must have a width that floating-point numbers can tell."""
DRAWN = 10_000
TILE = 1 << 16
WIDTHS = 3.0
"""Standard deviations of scores that half the line of places is for."""


def countable(schema: Schema | None, bounds: tuple[np.ndarray, np.ndarray] | None) -> bool:
    """Whether a schema can have so many columns. Bounds so close together that cells have no width are refused."""
    if schema is not None or bounds is None:
        return schema is not None
    low, high = bounds
    if (high - low < NARROWEST).any():
        raise ParameterError(f"`bounds` must be at least {NARROWEST:g} apart. Hint: give the column in smaller units.")
    return len(low) <= MOST_COLUMNS


def columns_of(schema: Schema | None, bounds: tuple[np.ndarray, np.ndarray] | None) -> Schema:
    """The columns to be counted one at a time: those of the schema, or numbers within the bounds."""
    if schema is not None:
        return schema
    assert bounds is not None
    sides = zip(*(side.tolist() for side in bounds), strict=True)
    return Schema({f"column {j}": Number(low, high, cells=CELLS) for j, (low, high) in enumerate(sides)})


def column_sketch(schema: Schema) -> TableSketch:
    """An empty sketch of single columns; it has no pairs."""
    return TableSketch.from_spec(TableSpec.of(schema, pairs=()))


class Blend:
    """The scores of records, from a release of hashed rows and one of single columns.

    Parameters
    ----------
    release : Release
        The kernel's.
    columns : TableRelease
        That of `column_sketch`.
    """

    def __init__(self, release: Release, columns: TableRelease) -> None:
        self.schema, self.layout, self.reader = columns.schema, release.spec.layout, release._reader()
        self.deviation, self.total = self.reader.lone_deviation, release.divisor
        counted = columns._grouped.tables(columns.counts)
        mass = [masses(one, noise, self.total) for one, noise in zip(counted, columns.variances, strict=True)]
        self.logs = [np.log((one + 0.5) / (self.total + 0.5 * len(one))) for one in mass]
        rng = np.random.default_rng(0)  # any will do; a fixed one gives the same answers to everybody
        codes = np.column_stack([rng.choice(len(one), DRAWN, p=one / one.sum()) for one in mass])
        drawn = coding(self.schema, True).read(self.schema.decode(codes, rng))[0]
        counts = np.zeros(self.layout.counters, np.int64)
        parts, _ = self.layout.read(drawn, invalid="error")
        self.layout.count(parts, counts, engine_name="auto", threads=None)
        self.apart = self.layout.reader(counts, 0.0, None)
        self._weigh(codes, drawn)

    def _weigh(self, codes: np.ndarray, drawn: np.ndarray) -> None:
        h, k, apart = self._three(codes, drawn)
        q = k - apart
        noise = [0.0, *(np.mean((self.deviation / np.exp(logs)) ** 2) for logs in (k, apart))]
        self.weights = [_weight(values, float(variance)) for values, variance in zip((h, k, q), noise, strict=True)]
        of_h, of_k, of_q = self.weights
        scores = of_h * h + of_k * k + of_q * q
        self.centre, self.width = float(scores.mean()), WIDTHS * float(scores.std()) or 1.0

    def scores(self, numbers: np.ndarray, records: Any) -> np.ndarray:
        """How usual each record is; `numbers` are what the kernel reads of `records`."""
        codes = self.schema.encode(records, invalid="error")[0]
        of_h, of_k, of_q = self.weights
        found = np.empty(len(numbers))
        for first in range(0, len(numbers), TILE):
            place = slice(first, first + TILE)
            h, k, apart = self._three(codes[place], numbers[place])
            found[place] = of_h * h + of_k * k + of_q * (k - apart)
        return found

    def squashed(self, scores: np.ndarray) -> np.ndarray:
        """Scores between −1 and 1, to be counted: finely where most are, coarsely far out."""
        t = (scores - self.centre) / self.width
        return t / (1.0 + np.abs(t))

    def unsquashed(self, place: float) -> float:
        """The score at such a place."""
        return self.centre + self.width * place / max(1.0 - abs(place), 1e-9)

    def _three(self, codes: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        parts, _ = self.layout.read(numbers, invalid="error")
        h = np.zeros(len(codes))
        for logs, column in zip(self.logs, codes.T, strict=True):
            h += logs[column]
        sums = self.reader.lone_sums(parts), self.apart.lone_sums(parts) * (self.total / DRAWN)
        k, apart = (_log(np.maximum(one, 0.0) + (1.0 + self.deviation)) for one in sums)
        return h, k, apart


def _log(values: np.ndarray) -> np.ndarray:
    """The logarithm, number by number: NumPy's may depend on where in an array a number stands."""
    return np.fromiter(map(math.log, values.tolist()), float, len(values))


def _weight(values: np.ndarray, noise: float) -> float:
    """1/σ, times the share of the variance that is not noise."""
    variance = float(values.var())
    return max(0.0, 1.0 - noise / variance) / math.sqrt(variance) if variance > 0.0 else 0.0
