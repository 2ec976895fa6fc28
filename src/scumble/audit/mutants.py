"""Mechanisms that are wrong in known ways: an auditor that has never caught anybody proves nothing.

Each mutant is a small change to the correct mechanism, one that somebody has made or could make. The tests and
``benchmarks/audit.py`` run the audit on each of them; ``scumble audit --mutant NAME`` shows one being caught.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from scumble.audit import examine, full_size_findings
from scumble.audit.epsilon import Samples
from scumble.audit.report import Finding, Report
from scumble.privacy.budget import calibrate
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.laws import GAUSSIAN


class Mutant:
    """A mechanism with one mistake; the name "honest" has none. Its data sets are the two neighbors' exact tables.

    >>> from scumble.privacy import calibrate
    >>> from scumble.audit import audit
    >>> tables = np.array([[3, 0], [0, 3]]), np.array([[3, 1], [1, 3]])
    >>> correct = calibrate(2, epsilon=2)
    >>> wrong = Mutant("scale-of-one-row", tables, correct)
    >>> audit(wrong, *tables, correct, exact=tables, releases=4000).passed
    False
    """

    def __init__(self, name: str, tables: tuple[np.ndarray, np.ndarray], claim: PrivacyClaim) -> None:
        self._change, self.tables, self.claim = CHANGES[name], tables, claim
        self.kept: dict[str, np.ndarray] = {}  # from one call to the next; a correct mechanism keeps nothing

    def many(self, data: np.ndarray, n: int) -> Samples:
        """Many releases of one table, with the fault in them."""
        counts = self._change(self, data, n)
        return counts if isinstance(counts, Samples) else self.samples(counts, data)

    def __call__(self, data: np.ndarray) -> np.ndarray:
        return self.many(data, 1).counts[0]

    def noise(self, n: int, factor: Fraction | float = 1) -> np.ndarray:
        """Noise for the counters of n releases, with a scale that is wrong by a factor."""
        scale = self.claim.scales.counters * Fraction(factor)
        return self.claim.law.draw(scale, (n, *self.tables[0].shape))

    def samples(self, counts: np.ndarray, table: np.ndarray, factor: Fraction | float = 1) -> Samples:
        """With a noisy count of the table's records, whose scale is wrong by a factor."""
        scale = self.claim.scales.count
        if scale is None:
            return Samples(counts)
        return Samples(counts, table[0].sum() + self.claim.law.draw(scale * Fraction(factor), (len(counts),)))


def _less(s: Mutant, factor: float) -> float:
    """A factor of the sensitivity, which is L1 for pure ε and else L2."""
    return factor if s.claim.law.pure else float(factor**0.5)


def _overwritten(noise: np.ndarray, place: Any, value: Any) -> np.ndarray:
    """The noise of all releases with another value in the last row, or in a place of it."""
    noise[(slice(None), -1, *place)] = value
    return noise


def _float_noise(s: Mutant, table: np.ndarray, n: int) -> np.ndarray:
    words = np.frombuffer(os.urandom(16 * n * table.size), np.uint64).reshape(2, n, *table.shape)
    unit = (words + 0.5) * 2.0**-64
    scale = float(s.claim.scales.counters)
    if s.claim.law.pure:
        drawn = -scale * np.log(unit[0]) * np.where(unit[1] < 0.5, -1.0, 1.0)
    else:  # with the usual slip of a continuous law of the discrete one's σ and floor for round
        drawn = scale * np.sqrt(-2.0 * np.log(unit[0])) * np.cos(2.0 * np.pi * unit[1]) - 0.5
    return np.rint(table + drawn).astype(np.int64)


def _clipped_noise(s: Mutant, table: np.ndarray, n: int) -> np.ndarray:
    bound = int(3 * s.claim.scales.counters)
    return table + np.clip(s.noise(n), -bound, bound)


def _exact_row_sums(s: Mutant, table: np.ndarray, n: int) -> np.ndarray:
    drawn = s.noise(n)
    drawn[:, :, -1] -= drawn.sum(axis=2)
    return table + drawn


def _shared_rows(s: Mutant, table: np.ndarray, n: int) -> np.ndarray:
    drawn = s.noise(n)
    return table + _overwritten(drawn, (), drawn[:, 0])


Change = Callable[[Mutant, np.ndarray, int], "np.ndarray | Samples"]
CHANGES: dict[str, Change] = {
    # No mistake: exact counters, and the calibration's own noise on each of them and on the count.
    "honest": lambda s, table, n: table + s.noise(n),
    # Too little noise. All scales divided by 1.25: a constant misremembered.
    "scale-divided": lambda s, table, n: s.samples(table + s.noise(n, 0.8), table, 0.8),
    # R/(2ε): replace-one noise halved twice, or a two-sided law taken for a one-sided one.
    "scale-halved": lambda s, table, n: table + s.noise(n, 0.5),
    # (R − 1)/ε: an off-by-one. With δ > 0, √(R − 1) for √R.
    "scale-of-one-row-less": lambda s, table, n: table + s.noise(n, _less(s, 1 - 1 / len(table))),
    # 1/ε: one record is in one counter of *every* row, which is easily forgotten. With δ > 0, 1 for √R.
    "scale-of-one-row": lambda s, table, n: table + s.noise(n, _less(s, 1 / len(table))),
    # R/(Nε): the error of the paper's published code. Counts are not means; and N is also secret.
    "scale-over-n": lambda s, table, n: table + s.noise(n, 1 / max(1, int(table[0].sum()))),
    # Each record is counted twice, and noise is for once: z and −z in one table, as in the published regression.
    "counted-twice": lambda s, table, n: 2 * table - s.tables[0] + s.noise(n),
    # Noise left out somewhere. One row, or one cell, is released as it is; the audit's record need not touch the cell.
    "row-without-noise": lambda s, table, n: table + _overwritten(s.noise(n), (), 0),
    "cell-without-noise": lambda s, table, n: table + _overwritten(s.noise(n), (-1,), 0),
    # Noise on cells that are not empty: a sparse table, released sparsely.
    "empty-cells-without-noise": lambda s, table, n: table + s.noise(n) * (table != 0),
    # N itself with the noisy counters.
    "exact-count": lambda s, table, n: Samples(table + s.noise(n), np.full(n, table[0].sum())),
    # The noise of a row adds up to zero, "so that N stays right".
    "exact-row-sums": _exact_row_sums,
    # Noise that is not independent, or not of its law. The same noise in two rows.
    "shared-rows": _shared_rows,
    # Noise of a generator with a fixed seed: the same in every release.
    "fixed-seed": lambda s, table, n: np.repeat(table + s.kept.setdefault("noise", s.noise(1)), n, axis=0),
    # Counters clipped before noise is added, at a bound taken from the data: half the largest counter but one.
    "clipped-counters": lambda s, table, n: np.minimum(table, max(1, np.sort(table, axis=None)[-2] // 2)) + s.noise(n),
    # Noise clipped at three scales before it is added: values beyond betray which side they came from.
    "clipped-noise": _clipped_noise,
    # Noisy counters clipped to what is possible, 0 to N, with the exact N.
    "clipped-to-n": lambda s, table, n: np.clip(table + s.noise(n), 0, int(table[0].sum())),
    # Floating-point noise of the continuous law, rounded after it is added.
    "float-noise": _float_noise,
}
"""Every mutant by its name: from itself, an exact table and a number to the counters of that many releases."""


# ---- an audit of a mutant ----

SMALL, FULL = (4, 8), (64, 128)
"""Rows and buckets: few rows for layer 1, many for layer 2."""
RELEASES = 12_500
"""Of each of the two neighbors."""


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
    """Layers 1 and 2 on a mutant (or on "honest"): the audit of the real release path, vectorized."""
    found: list[Finding] = []
    law = GAUSSIAN.name if delta else None  # also where Laplace is the quieter: a flaw of each law must show
    for shape in (SMALL, FULL):
        here, there = example_tables(*shape, neighbors)
        claim = calibrate(shape[0], epsilon=epsilon, delta=delta, neighbors=neighbors, mechanism=law)
        many = Mutant(name, (here, there), claim).many
        if shape == SMALL:
            samples = many(here, releases), many(there, releases)
            found += examine(*samples, claim, exact=(here, there), alpha=false_alarm / 2)
        else:
            found += full_size_findings(many(here, 3), here, claim, alpha=false_alarm / 2)
    return Report(f"the mutant {name!r}", false_alarm, tuple(found))
