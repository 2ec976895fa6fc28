"""The Jaccard kernel: the first token in a random order, for sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scumble.kernels.base import Kernel, Records

if TYPE_CHECKING:
    from scumble.kernels.design import Draws

EMPTY = -1.0
"""The code of the empty set: two empty sets are equal, an empty and a full one have nothing in common."""


class JaccardKernel(Kernel):
    """Near means many tokens in common: the kernel for sets, baskets, words.

    The hash puts all tokens in a random order and reads the set's first one (MinHash, Broder 1997), so
    k = |A ∩ B| / |A ∪ B|. A record is one column of lists, or of text split at white space (and not at commas), or
    several columns of zeros and ones.

    >>> JaccardKernel()([[1, 1, 1, 0]], [[1, 1, 0, 0], [0, 0, 0, 1]]).round(3)
    array([[0.667, 0.   ]])
    """

    name = "jaccard"
    reads = "tokens"

    def _draw_one(self, draws: Draws, dimensions: int) -> np.ndarray:
        # The key of the random order: a whole number of 52 bits.
        return np.floor(draws.uniform(1) * 2.0**52)

    def codes(self, records: Records, parameters: np.ndarray) -> np.ndarray:
        offsets = records.offsets
        assert offsets is not None
        keys = parameters[:, :, 0]
        out = np.full((len(records), *keys.shape), EMPTY)
        for i in range(len(records)):
            tokens = records[i]
            if tokens.size:
                out[i] = rank(tokens[:, None, None], keys[None]).min(axis=0)
        return out

    def _collision_of(self, X: Records, Y: Records) -> np.ndarray:
        left, right = ([frozenset(records[i].tolist()) for i in range(len(records))] for records in (X, Y))
        shares = [[len(a & b) / len(a | b) if a or b else 1.0 for b in right] for a in left]
        return np.array(shares).reshape(len(X), len(Y))

    def collision(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """For columns of zeros and ones."""

        def records(matrix: np.ndarray) -> Records:
            row, token = np.nonzero(matrix)
            offsets = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(matrix)))])
            return Records(token.astype(np.float64), offsets)

        return self._collision_of(records(X), records(Y))


def rank(tokens: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """A token's place in the random order of a key: two rounds of the SplitMix64 finaliser, to 53 bits."""
    with np.errstate(over="ignore"):
        h = tokens.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) ^ keys.astype(np.uint64)
        for _ in range(2):
            h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            h ^= h >> np.uint64(31)
    return (h >> np.uint64(11)).astype(np.float64)
