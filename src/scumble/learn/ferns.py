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
        evidence, information = zip(*(self._experts(bundle) for bundle in bundles), strict=True)
        weights = [np.maximum(one, 0.0) ** SHARPNESS for one in information]
        length = np.sqrt(sum(float(np.sum(weight**2)) for weight in weights)) or 1.0
        self.layouts = [bundle.spec.layout for bundle in bundles]
        # (classes, rows, buckets) for each bundle: what a query adds up.
        self.tables = [e * (w / length)[None, :, None] for e, w in zip(evidence, weights, strict=True)]

    def _experts(self, bundle: Bundle) -> tuple[np.ndarray, np.ndarray]:
        """Evidence of every bucket of every row, (classes, rows, buckets), and each row's information."""
        seen = np.stack([_cleaned(release, n) for release, n in zip(bundle.values(), self.counts, strict=True)])
        deviation = np.sqrt(max(release.counter_variance for release in bundle.values()))
        alpha, shares = 2.0 + deviation, self.shares[:, None, None]
        posterior = (seen + alpha * shares) / (seen.sum(axis=0) + alpha)
        evidence = np.log(posterior / shares)
        return evidence, np.sum(seen.sum(axis=0) * np.sum(posterior * evidence, axis=0), axis=1)

    def scores(self, X: np.ndarray) -> np.ndarray:
        """(n, classes): log prior plus the rows' evidence. Comparable between classes, not yet probabilities."""
        out = np.tile(np.log(self.priors), (len(X), 1))
        lookup = engine("auto").lookup
        for layout, tables in zip(self.layouts, self.tables, strict=True):
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
