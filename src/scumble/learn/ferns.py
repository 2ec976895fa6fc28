"""Ferns: every row of a sketch is a small naive-Bayes expert; their opinions are added up.

In a query's bucket of a row, class c has a noisy count S_c, of noise of standard deviation s. Shrunk toward the
classes' shares π_c, so that an empty bucket, or one full of noise, says nothing,

    P_c = (max(S_c, 0) + α π_c) / (Σ max(S, 0) + α),       α = 2 + s,

the row's evidence is log(P_c / π_c) (random ferns: Özuysal, Calonder, Lepetit & Fua 2010). It is weighted by the square
of what the row's counters show, I_r = Σ_buckets Σ_c S_c log(P_c / π_c). Rows of one table are far from independent, so
the sum is divided by √Σ w².

**Columns** of a wide table are chosen, one after the other, each the best of those that are left by
:func:`scumble.gate.selection.noisy_best`. A column's score is the number of records that its histogram alone would
classify correctly, records of common classes counting less:

    score = Σ_cells max_c w_c n_c,      w_c ≤ 1 about inversely proportional to the class's noisy count.

*Claim.* Choosing k columns with ε/k each is ε-private. *Proof.* The weights are functions of what was published before.
A record raises one count n_c by one, hence the score by 0 to 1: monotone, of sensitivity 1 (times the whole number
``ONE`` in which weights are counted, and times the records of a person). Each choice is ε/k-private by the proof of
`noisy_best`, whatever was chosen before; k of them add up to ε. ∎
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from scumble.counting import engine
from scumble.density.bundle import Bundle
from scumble.density.release import Release
from scumble.density.sketch import Sketch
from scumble.errors import DataError, parameter
from scumble.gate import selection
from scumble.kernels import ColumnKernel, Kernel
from scumble.learn.columns import Bounds
from scumble.privacy.budget import calibrate
from scumble.privacy.exact import Number

SHARPNESS = 2.0
"""The power of the information in a row's weight: 0 weights all rows alike, 4 almost only the best row."""
TILE = 2048


class Ferns:
    """Scores of classes from a bundle of their releases."""

    def __init__(self, bundle: Bundle, counts: np.ndarray, priors: np.ndarray) -> None:
        self.layout = bundle.spec.layout
        if not self.layout.hashed:
            raise DataError(
                f"The rule 'ferns' needs hashed rows; a release here {self.layout.told}. Hint: pass rule='map'."
            )
        self.counts, self.shares, self.priors = counts, counts / counts.sum(), priors
        self.seen = np.stack([_cleaned(release, n) for release, n in zip(bundle.values(), counts, strict=True)])
        self.alpha = 2.0 + np.sqrt(max(one.counter_variance for one in bundle.values()))
        evidence, mean = self._evidence(self.seen)
        known = np.sum(self.seen.sum(axis=0) * mean, axis=1)
        weights = np.maximum(known, 0.0) ** SHARPNESS
        self.weights = (weights / (np.sqrt(np.sum(weights**2)) or 1.0))[None, :, None]
        self.table = evidence * self.weights
        """(classes, rows, buckets): what a query adds up."""

    def _evidence(self, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evidence of every bucket of every row, (classes, rows, buckets), and its mean over classes."""
        shares = self.shares[:, None, None]
        posterior = (seen + self.alpha * shares) / (seen.sum(axis=0) + self.alpha)
        evidence = np.log(posterior / shares)
        return evidence, np.sum(posterior * evidence, axis=0)

    def scores(self, X: np.ndarray, own: int | None = None) -> np.ndarray:
        """(n, classes): log prior plus the rows' evidence. Comparable between classes, not yet probabilities.

        Of records that were learned from, all in class `own`: as if they had not been.
        """
        out = np.tile(np.log(self.priors), (len(X), 1))
        table, read = self.table, engine("auto").sums
        if own is not None:  # each counter that this record is in holds one record less
            less = np.zeros((len(self.counts), 1, 1))
            less[own] = 1.0
            table = self._evidence(np.maximum(self.seen - less, 0.0))[0] * self.weights
        parts, _ = self.layout.read(X, invalid="error")
        for first in range(0, len(X), TILE):
            place = slice(first, min(first + TILE, len(X)))
            tile = [part[place] for part in parts]
            for c, of_class in enumerate(table):
                # Row by row: NumPy's own sum adds up in another order when there is one record only, and a record's
                # score, which the calibration counts, must not depend on who else is in the table.
                for evidence in read(self.layout.hasher, tile, of_class):
                    out[place, c] += evidence
        return out


def _cleaned(release: Release, total: float) -> np.ndarray:
    """Counters freed of their row's common noise (every row sums to the class's total), and of negative numbers."""
    if total < 2.0 * np.sqrt(release.counter_variance):
        return np.zeros(release.counts.shape)  # the class is smaller than one counter's noise: nothing can be seen
    hasher = release.spec.layout.hasher
    used = hasher.used if hasher.direct else release.buckets
    counts = release.counts.astype(float)
    counts[:, used:] = 0.0
    excess = (counts.sum(axis=1, keepdims=True) - total) / used
    counts[:, :used] = np.maximum(counts[:, :used] - excess, 0.0)
    return counts


# ---- planning: how finely columns are cut, and which columns or kernel ----

COUNTS = ColumnKernel(1.0, origin=0.0)
"""The sketch of a class's count: one counter."""
PLANNING_SHARE, CHOICE_SHARE = Fraction(1, 50), Fraction(3, 20)
"""Parts of ε for the counts and, where it pays, for the choice of columns."""
TOGETHER = 4
"""Columns that a row looks at together."""
KEPT, CELLS = 16, 5
"""Columns that are chosen, at most; and cells that they are cut into to be judged."""
ONE = 1 << 16
"""A weight of one."""
RAREST = 1 / 50
"""Classes that are rarer do not weigh more: an absent one would leave no weight to the others."""
ENOUGH = 10_000
"""Records beyond which cells need not be finer; also assumed where their number is not known."""


def pays(width: int, classes: int, epsilon: float, records: int) -> bool:
    """Whether a choice of columns is worth its price, as far as public facts show.

    Many classes differ in many columns; and with few records the choice is noise.
    """
    return classes == 2 and width >= 2 * KEPT and epsilon * records >= 2 * ENOUGH


def ferns_kernel(bounds: Bounds, epsilon: float, counts: np.ndarray, columns: Sequence[int] | None = None) -> Kernel:
    """Rows of four columns together, of these columns or of all.

    Columns are cut into 5 steps with 5,000 records per class at ε = 1, into two fewer with a tenth of that.
    """
    each = min(float(counts.sum()), ENOUGH) / len(counts)
    steps = int(np.clip(np.round(5.0 + 2.0 * np.log10(epsilon * each / (ENOUGH / 2))), 2, 7))
    low, high = (side[slice(None) if columns is None else list(columns)] for side in bounds)
    return ColumnKernel(1.0 / steps, TOGETHER, scale=(high - low).tolist(), origin=low.tolist(), columns=columns)


def choose_columns(
    parts: Sequence[np.ndarray], bounds: Bounds, counts: np.ndarray, *, epsilon: Fraction, records_per_person: int
) -> list[int]:
    """Half of the columns, and `KEPT` at most: the most informative about the classes, chosen ε-privately."""
    low, high = bounds
    rarest = max(float(counts.min()), RAREST * float(counts.sum()))
    weights = np.maximum(np.round(ONE * np.minimum(rarest / counts, 1.0)), 1.0).astype(np.int64)
    scores = []
    for j in range(len(low)):
        cells = [np.minimum((part[:, j] - low[j]) / (high[j] - low[j]) * CELLS, CELLS - 1) for part in parts]
        seen = np.stack([np.bincount(one.astype(np.int64), minlength=CELLS) for one in cells])
        scores.append(int((weights[:, None] * seen).max(axis=0).sum()))
    left, chosen = list(range(len(low))), []
    kept = min(KEPT, (len(low) + 1) // 2)
    for _ in range(kept):
        sensitivity = ONE * records_per_person
        best = selection.noisy_best([scores[j] for j in left], epsilon / kept, sensitivity=sensitivity, monotone=True)
        chosen.append(left.pop(best))
    return sorted(chosen)


def choose_kernel(
    kernels: Sequence[Kernel],
    parts: Sequence[np.ndarray],
    *,
    epsilon: Number,
    release_epsilon: Number,
    delta: Number = 0.0,
    records_per_person: int = 1,
    rows: int = 20,
    buckets: int = 256,
    seed: int = 0,
) -> Kernel:
    """The kernel of a public list that separates the classes best, chosen ε-privately.

    `parts` are the records of each class. `epsilon` is what the choice costs, in addition to the release to come, whose
    noise follows from `release_epsilon`, `delta` and `rows`.

    >>> import numpy as np
    >>> from scumble.kernels import ColumnKernel
    >>> rng = np.random.default_rng(0)
    >>> parts = [rng.uniform(0, 1, (4000, 2)) + [[0, c]] for c in (0, 1)]
    >>> kernels = [ColumnKernel(0.5, 1), ColumnKernel(500.0, 1)]
    >>> choose_kernel(kernels, parts, epsilon=0.1, release_epsilon=0.9) is kernels[0]
    True
    """
    if not kernels:
        raise parameter("kernels", "at least one kernel", list(kernels))
    people = records_per_person
    noise = calibrate(rows, epsilon=release_epsilon, delta=delta, records_per_person=people).counter_variance
    margin = int(np.ceil(2.0 * np.sqrt(noise)))
    scores = []
    for kernel in kernels:
        size: dict[str, Any] = {"rows": rows, "buckets": buckets, "seed": seed, "design": "sobol"}
        sketches = [Sketch(kernel, part.shape[1], **size).update(part) for part in parts]
        scores.append(selection.credible_records([sketch.secret for sketch in sketches], margin))
    return kernels[selection.noisy_best(scores, epsilon, sensitivity=people, monotone=True)]
