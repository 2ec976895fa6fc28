"""How good the first rows over one column happen to be: measured, on records that are made up.

α/√R (:mod:`scumble.reading.spread`) is the error of rows over many columns, whatever their seed. Over one column a hash
is two numbers, how wide its steps are and where they begin. Eight rows, or 256, may have them well or badly spread, and
err by a third of that or by three times as much. Which it is depends on the seed and hardly on the table: with seed 0
the error of 8 rows was 0.5 to 0.7 of α/√R on twelve of fifteen columns, and that of 32 rows 1.7 to 3.7 of it on
thirteen; with seed 1 that of 256 rows was 2.6 to 4.1 on fourteen.

So the sketch's own hash functions are tried before they are chosen from: on the quantiles of a normal law, stretched so
that they lie as densely as the records do, at three places. All of it is public. Of real sketches of records of other
laws the errors went with it: the correlation of their logarithms, over 8 to 512 rows, was 0.84 to 0.99 for eight of
nine laws and seeds.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import sqrt
from statistics import NormalDist

import numpy as np

from scumble.counting import reference
from scumble.counting.families import family
from scumble.errors import DataError
from scumble.planning.plans import hashing_error
from scumble.spec import Spec
from scumble.tables import Table

RECORDS, QUERIES = 128, 32
PLACES = 0.0, 7.0, -15.0
"""Around which they lie, in standard deviations: rows are not even everywhere."""
ROWS = 1024
"""Rows that are tried; more of them are as even as these."""
TRIED = np.array([0.01, 0.03, 0.1, 0.3])
"""Densities that records are given. Where real ones lie less densely, a few of them decide, and rows are alike."""


def measurable(spec: Spec) -> bool:
    """Whether rows hash one column of numbers, by steps."""
    kernel = spec.kernel
    columns = {j for factor in kernel.factors for j in factor.which(spec.dimensions, spec.columns)}
    return spec.shape is None and len(columns) == 1 and {family(factor) for factor in kernel.factors} == {"floor"}


def against_usual(spec: Spec, rows: int, densities: np.ndarray) -> np.ndarray:
    """The hashing error of the first `rows` rows over one column, in units of the usual one, for each density.

    >>> from scumble.kernels import EuclideanKernel
    >>> spec = Spec(EuclideanKernel(1.0, power=2), 1, None, rows=64, buckets=1024, seed=0, design="sobol")
    >>> 0.5 < against_usual(spec, 8, np.array([0.1])).item() < 0.8
    True
    >>> 2.0 < against_usual(spec, 32, np.array([0.1])).item() < 3.0
    True
    """
    tried = _tried(replace(spec, rows=min(spec.rows, ROWS), bounds=None, kinds={}))
    found: np.ndarray = np.exp(np.interp(np.log(densities), np.log(TRIED), tried[:, min(rows, ROWS) - 1]))
    return found


@lru_cache(maxsize=16)
@np.errstate(all="ignore")
def _tried(spec: Spec) -> np.ndarray:
    """(TRIED, rows): the logarithm of it, for every number of rows; nought where nothing can be measured.

    This is asked after the facts are paid for: no kernel, however narrow or wide, and no bucket too few may stop it.
    """
    usual = [[hashing_error(spec.kernel, spec.design, 1, spec.buckets, float(one), None)] for one in TRIED]
    try:
        errors = np.array([_at_density(spec, float(one)) for one in TRIED])
    except DataError:  # numbers of that size are none to the kernel
        return np.zeros((len(TRIED), spec.rows))
    found = np.log(errors * np.sqrt(np.arange(1, spec.rows + 1)) / usual)
    return np.where(np.isfinite(found), found, 0.0)


def _at_density(spec: Spec, density: float) -> np.ndarray:
    """For every number of rows, the error among records of this density, over all places."""
    stretch = _stretch(spec, density)
    return np.asarray(np.mean([_error(spec, stretch, place) for place in PLACES], axis=0))


def _error(spec: Spec, stretch: float, place: float) -> np.ndarray:
    """For every number of rows, the mean of |error|/density at made-up queries among made-up records."""
    records, queries = _made_up(spec, stretch, place)
    truth = spec.kernel(queries, records).sum(axis=1)
    hasher, chance = spec.layout.hasher, 1.0 / spec.buckets
    met, asked = (
        reference.buckets(hasher, spec.layout.read(table, invalid="error")[0]) + np.arange(spec.rows) * spec.buckets
        for table in (records, queries)
    )
    counts = np.bincount(met.reshape(-1), minlength=spec.rows * spec.buckets)
    answers = (counts[asked.T] - RECORDS * chance) / (1.0 - chance)
    means = np.cumsum(answers, axis=0) / np.arange(1, spec.rows + 1)[:, None]
    return np.asarray(np.mean(np.abs(means / truth - 1.0), axis=1))


def _made_up(spec: Spec, stretch: float, place: float = 0.0) -> tuple[Table, Table]:
    """Records and queries, all at quantiles of a normal law in the kernel's column."""
    law, tables = NormalDist(place, 1.0), []
    column = spec.kernel.factors[0].which(spec.dimensions, spec.columns)[0]
    for many, first in ((RECORDS, 0.5), (QUERIES, 0.4)):
        points = np.zeros((many, spec.dimensions))
        points[:, column] = [stretch * law.inv_cdf((k + first) / many) for k in range(many)]
        tables.append(Table.of(points, columns=spec.columns))
    return tables[0], tables[1]


def _stretch(spec: Spec, density: float) -> float:
    """How far records must be stretched to lie so densely."""

    def found(stretch: float) -> float:
        return float(spec.kernel(*_made_up(spec, stretch)).mean())

    low = high = 1.0
    while found(high) > density:
        low, high = high, 4.0 * high
    while found(low) < density:
        low, high = low / 4.0, low
    for _ in range(12):
        middle = sqrt(low * high)
        low, high = (middle, high) if found(middle) > density else (low, middle)
    return sqrt(low * high)
