"""The heaviest place near a point, where hashes cut space into slabs v ≤ a·x + b < v + 1.

The heaviest slab of every row among the point's own and the neighbouring ones is taken, and the point sought that lies
in as many of these, weighted by their counts, as possible: with slacks sᵣ that is the linear program

    min Σ cᵣ sᵣ   subject to   vᵣ − sᵣ ≤ aᵣ·x + bᵣ ≤ vᵣ + 1 + sᵣ,   s ≥ 0,   low ≤ x ≤ high.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack, identity, vstack

from scumble.checks import Sides
from scumble.errors import DataError
from scumble.kernels.projection import ProjectionKernel
from scumble.reading.layout import Layout, Released

LP_ROWS = 128


class Slabs:
    """The hash functions of a release with floor hashes, as the linear programs see them."""

    def __init__(self, layout: Layout, release: Released) -> None:
        spec, hasher = layout.spec, layout.hasher
        if not all(isinstance(factor, ProjectionKernel) for factor in spec.kernel.factors):
            raise DataError("method='lp' needs a Euclidean or Manhattan kernel. Hint: use method='climb'.")
        self.counts, self.buckets = release.counts - release.counts.mean(axis=1, keepdims=True), spec.buckets
        self.start, self.multipliers = hasher.start, hasher.multipliers
        rows, d = spec.rows, spec.dimensions
        # All hashes of a row, whatever factor they belong to, as directions over all columns.
        self.offsets = np.hstack([parameters[:, :, 0] for parameters in hasher.parameters])
        self.directions = np.zeros((rows, self.offsets.shape[1], d))
        for place, which, parameters in zip(hasher.slices, hasher.which, hasher.parameters, strict=True):
            self.directions[:, place, which] = parameters[:, :, 1:]

    def count(self, codes: np.ndarray) -> np.ndarray:
        """(rows, n, hashes) codes → (rows, n) released counts, less the row's mean; see `counting.hasher`."""
        with np.errstate(over="ignore"):
            total = self.start[:, None] + np.sum(
                codes.astype(np.int64).astype(np.uint64) * self.multipliers[:, None, :], -1
            )
        bucket = ((total >> np.uint64(32)) * np.uint64(self.buckets)) >> np.uint64(32)
        return np.take_along_axis(self.counts, bucket.astype(np.int64), axis=1)

    def program(self, point: np.ndarray, bounds: Sides) -> np.ndarray:
        """The point that lies in the heaviest slabs near `point`, as far as one point can."""
        hashes = self.offsets.shape[1]
        here = self.offsets + self.directions @ point
        near = np.floor(here)
        # The slab itself, and across the nearest wall of one hash: p + 1 codes per row.
        step = np.where(here - near < 0.5, -1.0, 1.0)
        moves = np.concatenate([np.zeros((1, hashes)), np.eye(hashes)])
        codes = near[:, None, :] + moves[None, :, :] * step[:, None, :]
        counts = self.count(codes)
        best = np.argmax(counts, axis=1)
        weight = np.take_along_axis(counts, best[:, None], axis=1)[:, 0]
        chosen = np.argsort(-weight)[:LP_ROWS]
        chosen = chosen[weight[chosen] > 0.0]
        if not len(chosen):
            return point
        v = np.take_along_axis(codes, best[:, None, None], axis=1)[chosen, 0].ravel()
        a = self.directions[chosen].reshape(len(v), -1)
        c = np.repeat(weight[chosen], hashes)
        lower = v - self.offsets[chosen].ravel()
        slack = -identity(len(v), format="csr")
        A = vstack([hstack([csr_array(a), slack]), hstack([csr_array(-a), slack])], format="csr")
        low, high = bounds
        limits = [*zip(low, high, strict=True), *[(0.0, None)] * len(v)]
        cost = np.concatenate([np.zeros(len(point)), c / c.sum()])
        # Half a slab of margin asks for the slabs' middle: walls are where the neighbours' counts begin.
        found = linprog(cost, A, np.concatenate([lower + 0.5, -lower - 0.5]), bounds=limits, method="highs")
        return found.x[: len(point)] if found.status == 0 else point
