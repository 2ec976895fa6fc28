"""Mechanisms that are wrong in known ways: an auditor that has never caught anybody proves nothing.

Each mutant is a small change to the correct mechanism, one that somebody has made or could make. `Mutant` has the face
of a mechanism (``many(data, n)``), its data sets being the two exact tables. The tests and ``benchmarks/audit.py`` run
the audit on each of them; ``scumble audit --mutant NAME`` shows one being caught.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from scumble.audit import examine, full_size_findings
from scumble.audit.report import Finding, Report
from scumble.audit.samples import Samples
from scumble.privacy.calibration import Calibration, calibrate
from scumble.privacy.laws import GAUSSIAN


@dataclass
class Setting:
    """What a mutant may use: the two neighbours' exact tables and the correct calibration."""

    tables: tuple[np.ndarray, np.ndarray]
    calibration: Calibration
    kept: dict[str, np.ndarray] = field(default_factory=dict)
    """What a mutant keeps from one call to the next. A correct mechanism keeps nothing."""

    @property
    def rows(self) -> int:
        return len(self.tables[0])

    @property
    def scale(self) -> Fraction:
        return self.calibration.counter_scale

    @property
    def epsilon(self) -> Fraction:
        """The part of ε that pays for the counters, taken back from the scale: pure ε only."""
        return Fraction(self.rows) / self.scale

    def draw(self, scale: Fraction, size: tuple[int, ...]) -> np.ndarray:
        return self.calibration.law.draw(scale, size)

    def noise(self, n: int, scale: Fraction | None = None) -> np.ndarray:
        """Noise for the counters of n releases."""
        return self.draw(self.scale if scale is None else scale, (n, *self.tables[0].shape))

    def samples(self, counts: np.ndarray, total: int, factor: Fraction = Fraction(1)) -> Samples:
        """With an honest count, or one whose scale is wrong by a factor."""
        scale = self.calibration.count_scale
        if scale is None:
            return Samples(counts)
        return Samples(counts, total + self.draw(scale * factor, (len(counts),)))


Change = Callable[[Setting, np.ndarray, int], Samples]
CHANGES: dict[str, Change] = {}
"""Every mutant by its name."""


def _mutant(change: Change) -> Change:
    CHANGES[change.__name__.replace("_", "-")] = change
    return change


class Mutant:
    """A mechanism with one mistake; the name "honest" has none.

    >>> from scumble.privacy import calibrate
    >>> from scumble.audit import audit
    >>> tables = np.array([[3, 0], [0, 3]]), np.array([[3, 1], [1, 3]])
    >>> correct = calibrate(2, epsilon=2)
    >>> wrong = Mutant("scale-of-one-row", tables, correct)
    >>> audit(wrong, *tables, correct.claim, exact=tables, releases=4000).passed
    False
    """

    def __init__(self, name: str, tables: tuple[np.ndarray, np.ndarray], calibration: Calibration) -> None:
        self._change = CHANGES[name]
        self._setting = Setting(tables, calibration)

    def many(self, data: np.ndarray, n: int) -> Samples:
        return self._change(self._setting, data, n)

    def __call__(self, data: np.ndarray) -> np.ndarray:
        return self.many(data, 1).counts[0]


@_mutant
def honest(s: Setting, table: np.ndarray, n: int) -> Samples:
    """No mistake: exact counters, and the calibration's own noise on each of them and on the count."""
    return s.samples(table + s.noise(n), int(table[0].sum()))


# ---- too little noise ----


@_mutant
def scale_divided(s: Setting, table: np.ndarray, n: int) -> Samples:
    """All scales divided by 1.25: a constant misremembered."""
    less = Fraction(4, 5)
    return s.samples(table + s.noise(n, s.scale * less), int(table[0].sum()), less)


@_mutant
def scale_halved(s: Setting, table: np.ndarray, n: int) -> Samples:
    """R/(2ε): replace-one noise halved twice, or a two-sided law taken for a one-sided one."""
    return s.samples(table + s.noise(n, s.scale / 2), int(table[0].sum()))


@_mutant
def scale_of_one_row_less(s: Setting, table: np.ndarray, n: int) -> Samples:
    """(R − 1)/ε: an off-by-one. With δ > 0, √(R − 1) for √R."""
    less = Fraction(s.rows - 1, s.rows)
    if not s.calibration.law.pure:
        less = Fraction(float(less) ** 0.5)
    return s.samples(table + s.noise(n, s.scale * less), int(table[0].sum()))


@_mutant
def scale_of_one_row(s: Setting, table: np.ndarray, n: int) -> Samples:
    """1/ε: one record is in one counter of *every* row, which is easily forgotten. With δ > 0, 1 for √R."""
    less = Fraction(1, s.rows) if s.calibration.law.pure else Fraction(float(s.rows) ** -0.5)
    return s.samples(table + s.noise(n, s.scale * less), int(table[0].sum()))


@_mutant
def scale_over_n(s: Setting, table: np.ndarray, n: int) -> Samples:
    """R/(Nε): the error of the paper's published code. Counts are not means; and N is also secret."""
    total = max(1, int(table[0].sum()))
    return s.samples(table + s.noise(n, s.scale / total), total)


@_mutant
def counted_twice(s: Setting, table: np.ndarray, n: int) -> Samples:
    """Each record is counted twice, and noise is for once: z and −z in one table, as in the published regression."""
    twice = s.tables[0] + 2 * (table - s.tables[0])
    return s.samples(twice + s.noise(n), int(table[0].sum()))


# ---- noise left out somewhere ----


@_mutant
def row_without_noise(s: Setting, table: np.ndarray, n: int) -> Samples:
    """One row is released as it is."""
    drawn = s.noise(n)
    drawn[:, -1] = 0
    return s.samples(table + drawn, int(table[0].sum()))


@_mutant
def cell_without_noise(s: Setting, table: np.ndarray, n: int) -> Samples:
    """One cell is released as it is; nothing says that the audit's record touches it."""
    drawn = s.noise(n)
    drawn[:, -1, -1] = 0
    return s.samples(table + drawn, int(table[0].sum()))


@_mutant
def empty_cells_without_noise(s: Setting, table: np.ndarray, n: int) -> Samples:
    """Noise on cells that are not empty: a sparse table, released sparsely."""
    return s.samples(table + s.noise(n) * (table != 0), int(table[0].sum()))


@_mutant
def exact_count(s: Setting, table: np.ndarray, n: int) -> Samples:
    """N itself beside the noisy counters."""
    return Samples(table + s.noise(n), np.full(n, int(table[0].sum())))


@_mutant
def exact_row_sums(s: Setting, table: np.ndarray, n: int) -> Samples:
    """The noise of a row adds up to zero, "so that N stays right"."""
    drawn = s.noise(n)
    drawn[:, :, -1] -= drawn.sum(axis=2)
    return s.samples(table + drawn, int(table[0].sum()))


# ---- noise that is not independent, or not of its law ----


@_mutant
def shared_rows(s: Setting, table: np.ndarray, n: int) -> Samples:
    """The same noise in two rows."""
    drawn = s.noise(n)
    drawn[:, -1] = drawn[:, 0]
    return s.samples(table + drawn, int(table[0].sum()))


@_mutant
def fixed_seed(s: Setting, table: np.ndarray, n: int) -> Samples:
    """Noise of a generator with a fixed seed: the same in every release."""
    drawn = s.kept.setdefault("noise", s.noise(1))
    return s.samples(np.repeat(table + drawn, n, axis=0), int(table[0].sum()))


@_mutant
def clipped_counters(s: Setting, table: np.ndarray, n: int) -> Samples:
    """Counters clipped before noise is added, at a bound taken from the data: the largest counter but one."""
    cap = max(1, int(np.sort(table, axis=None)[-2] // 2))
    return s.samples(np.minimum(table, cap) + s.noise(n), int(table[0].sum()))


@_mutant
def clipped_noise(s: Setting, table: np.ndarray, n: int) -> Samples:
    """Noise clipped at three scales before it is added: values beyond betray which side they came from."""
    bound = int(3 * s.scale)
    return s.samples(table + np.clip(s.noise(n), -bound, bound), int(table[0].sum()))


@_mutant
def clipped_to_n(s: Setting, table: np.ndarray, n: int) -> Samples:
    """Noisy counters clipped to what is possible, 0 to N, with the exact N."""
    total = int(table[0].sum())
    return s.samples(np.clip(table + s.noise(n), 0, total), total)


@_mutant
def float_noise(s: Setting, table: np.ndarray, n: int) -> Samples:
    """Floating-point noise of the continuous law, rounded after it is added."""
    size = (n, *table.shape)
    words = np.frombuffer(os.urandom(16 * n * table.size), np.uint64).reshape(2, *size)
    unit = (words + 0.5) * 2.0**-64
    scale = float(s.scale)
    if s.calibration.law.pure:
        drawn = -scale * np.log(unit[0]) * np.where(unit[1] < 0.5, -1.0, 1.0)
    else:  # with the usual slip of a continuous law of the discrete one's σ and floor for round
        drawn = scale * np.sqrt(-2.0 * np.log(unit[0])) * np.cos(2.0 * np.pi * unit[1]) - 0.5
    return s.samples(np.rint(table + drawn).astype(np.int64), int(table[0].sum()))


# ---- an audit of a mutant ----

SMALL, FULL = (4, 8), (64, 128)
"""Rows and buckets: few rows for layer 1, many for layer 2."""
RELEASES = 12_500
"""Of each of the two neighbours."""


def example_tables(rows: int, buckets: int, neighbors: str = "add-remove") -> tuple[np.ndarray, np.ndarray]:
    """Exact tables of nine records, and of the same with one more (or one replaced). All rows and columns differ."""
    here = np.zeros((rows, buckets), np.int64)
    r = np.arange(rows)
    here[r, (3 * r) % buckets] = 5
    here[r, (3 * r + 1) % buckets] = 4
    there = here.copy()
    there[r, (3 * r + 2 + r % 3) % buckets] += 1
    if neighbors == "replace":
        there[r, (3 * r) % buckets] -= 1
    return here, there


def audit_mutant(
    name: str,
    *,
    epsilon: float = 2.0,
    delta: float = 0.0,
    neighbors: str = "add-remove",
    releases: int = RELEASES,
    false_alarm: float = 1e-6,
) -> Report:
    """Layers 1 and 2 on a mutant (or on "honest"): the audit of the real release path, vectorised."""
    found: list[Finding] = []
    law = GAUSSIAN.name if delta else None  # also where Laplace noise is the quieter: flaws of both must be caught
    for shape in (SMALL, FULL):
        tables = example_tables(*shape, neighbors)
        calibration = calibrate(shape[0], epsilon=epsilon, delta=delta, neighbors=neighbors, mechanism=law)
        mutant = Mutant(name, tables, calibration)
        if shape == SMALL:
            samples = [mutant.many(table, releases) for table in tables]
            found += examine(samples[0], samples[1], calibration.claim, exact=tables, alpha=false_alarm / 2)
        else:
            full = mutant.many(tables[0], 3)
            found += full_size_findings(full, tables[0], calibration.claim, alpha=false_alarm / 2)
    return Report(f"the mutant {name!r}", false_alarm, tuple(found))
