"""Ferns: every row of a sketch is a small naive-Bayes expert; their opinions are added up.

A row sends the query to one bucket. There class c has a noisy count S_c, of noise of standard deviation s. Shrunk
towards the classes' shares π_c, so an empty or drowned bucket says nothing,

    P_c = (max(S_c, 0) + α π_c) / (Σ max(S, 0) + α),       α = 2 + s,

the row's evidence is log(P_c / π_c) (random ferns: Özuysal, Calonder, Lepetit & Fua 2010). Rows are not alike: most
know little, some know nearly all. A row's own counters show how much it knows,

    I_r = Σ_buckets Σ_c S_c log(P_c / π_c)     (records times bits, as far as the noise lets it be seen),

and it is weighted by w_r = I_r². Independent opinions would add up; those of rows of one table are far
from independent, so the sum is divided by √Σ w². All of this is post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scumble.bundle import Bundle
from scumble.counting import engine
from scumble.errors import DataError
from scumble.reading.layout import Layout
from scumble.release import Release

SHARPNESS = 2.0
"""The power of the information in a row's weight: 0 weights all rows alike, 4 almost only the best row."""
TILE = 2048


class Ferns:
    """Scores of classes from one bundle of releases, or from several with different kernels."""

    def __init__(self, bundles: Sequence[Bundle], counts: np.ndarray, priors: np.ndarray) -> None:
        for bundle in bundles:
            _require_hashes(bundle.spec.layout)
        self.counts, self.shares, self.priors = counts, counts / counts.sum(), priors
        self.layouts = [bundle.spec.layout for bundle in bundles]
        self.seen = [self._seen(bundle) for bundle in bundles]
        self.alphas = [2.0 + np.sqrt(max(one.counter_variance for one in bundle.values())) for bundle in bundles]
        opinions = [self._evidence(seen, alpha) for seen, alpha in zip(self.seen, self.alphas, strict=True)]
        known = [np.sum(seen.sum(axis=0) * one[1], axis=1) for seen, one in zip(self.seen, opinions, strict=True)]
        weights = [np.maximum(one, 0.0) ** SHARPNESS for one in known]
        length = np.sqrt(sum(float(np.sum(weight**2)) for weight in weights)) or 1.0
        self.weights = [(weight / length)[None, :, None] for weight in weights]
        # (classes, rows, buckets) for each bundle: what a query adds up.
        self.tables = [one[0] * weight for one, weight in zip(opinions, self.weights, strict=True)]

    def _seen(self, bundle: Bundle) -> np.ndarray:
        return np.stack([_cleaned(release, n) for release, n in zip(bundle.values(), self.counts, strict=True)])

    def _evidence(self, seen: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        """Evidence of every bucket of every row, (classes, rows, buckets), and its mean over classes."""
        shares = self.shares[:, None, None]
        posterior = (seen + alpha * shares) / (seen.sum(axis=0) + alpha)
        evidence = np.log(posterior / shares)
        return evidence, np.sum(posterior * evidence, axis=0)

    def _tables_without(self, own: int) -> list[np.ndarray]:
        """What a training record of class `own` adds up: each counter that it is in holds one record less."""
        less = np.zeros((len(self.counts), 1, 1))
        less[own] = 1.0
        return [
            self._evidence(np.maximum(seen - less, 0.0), alpha)[0] * weight
            for seen, alpha, weight in zip(self.seen, self.alphas, self.weights, strict=True)
        ]

    def scores(self, X: np.ndarray, own: int | None = None) -> np.ndarray:
        """(n, classes): log prior plus the rows' evidence. Comparable between classes, not yet probabilities.

        Of records that were learnt from, all in class `own`: as if they had not been.
        """
        out = np.tile(np.log(self.priors), (len(X), 1))
        lookup = engine("auto").lookup
        every = self.tables if own is None else self._tables_without(own)
        for layout, tables in zip(self.layouts, every, strict=True):
            parts, _ = layout.read(X, invalid="error")
            for first in range(0, len(X), TILE):
                place = slice(first, min(first + TILE, len(X)))
                tile = [part[place] for part in parts]
                for c, table in enumerate(tables):
                    # Row by row: NumPy's own sum adds up in another order when there is one record only, and a record's
                    # score, which `calibration` counts, must not depend on who else is in the table.
                    for evidence in lookup(layout.hasher, tile, table):
                        out[place, c] += evidence
        return out


def _cleaned(release: Release, total: float) -> np.ndarray:
    """Counters freed of their row's common noise (every row sums to the class's total), and of negative numbers."""
    if total < 2.0 * np.sqrt(release.counter_variance):
        return np.zeros(release.counts.shape)  # a class that drowns in one counter's noise: nothing is to be seen of it
    hasher = release.spec.layout.hasher
    used = hasher.used if hasher.direct else release.buckets
    counts = release.counts.astype(float)
    counts[:, used:] = 0.0
    excess = (counts.sum(axis=1, keepdims=True) - total) / used
    counts[:, :used] = np.maximum(counts[:, :used] - excess, 0.0)
    return counts


def _require_hashes(layout: Layout) -> None:
    if not layout.hashed:
        raise DataError(f"The rule 'ferns' needs hashed rows; a release here {layout.told}. Hint: pass rule='map'.")
