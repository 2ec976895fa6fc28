"""The bridge: single periods and blocks of n periods, for pure ε.

Each period's count x_i gets noise z_i, and so does the sum of a block of n. With Y_i = x_i + z_i, and the block's sum
S = Σ x_i + z_S, the least-squares estimate of the first k periods of a block is, in hindsight,

    Y_1 + … + Y_k + k (S − ΣY)/(n + 1).

In hindsight: but D = S − ΣY = z_S − Σ z_i is noise alone. So a block's noise is drawn when it opens, D is known from
then on, and the estimate can be said after every period, for good: it is never revised. After m blocks and k periods
its variance is m n/(n + 1) + k (n + 1 − k)/(n + 1) times that of one noise, which a record's two moves (its period, its
block) make twice as wide as that of a single release. In between, the noise is that of a random walk that is tied at
both ends: hence the name. n is about √(3T).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from scumble.checks import Json
from scumble.errors import parameter
from scumble.privacy.laws import LAPLACE
from scumble.privacy.sensitivity import Column
from scumble.streams.method import Draw, Floats, Integers, Machine, Method, Pin, Publish


class Bridge(Method):
    """Periods and blocks.

    Parameters
    ----------
    periods : int
        T, the most periods that there will be.
    block : int or None
        n, the periods of a block; None for the best.

    >>> Bridge(365).block
    33
    """

    name = "bridge"
    law = LAPLACE.name

    def __init__(self, periods: int, block: int | None = None) -> None:
        super().__init__(periods)
        if block is None:
            guess = math.isqrt(3 * self.periods)
            near = range(max(1, guess - 3), guess + 4)
            block = min(near, key=lambda n: float(_totals(self.periods, n).sum()))
        if type(block) is not int or not 1 <= block <= self.periods + 5:
            raise parameter("block", "a whole number of periods", block)
        self.block = block

    def about(self) -> Json:
        return {"block": self.block}

    @property
    def column(self) -> Column:
        return Column(2, 2, 2)

    def variance(self, first: int, last: int) -> float:
        """Blocks are independent, and a part of k periods of one is a part of a walk tied at both ends."""
        n = self.block
        (start, before), (end, upto) = divmod(first - 1, n), divmod(last, n)
        if start == end:
            return _part(upto - before, n)
        whole = (end - start - 1) * n / (n + 1)
        return float(_part(n - before, n) + whole + _part(upto, n))

    def machine(self, size: int) -> Machine:
        return _Machine(size, self.block)


def _part(k: int, n: int) -> float:
    return k * (n + 1 - k) / (n + 1)


def _totals(periods: int, n: int) -> Floats:
    blocks, k = np.divmod(np.arange(1, periods + 1), n)
    found: Floats = (blocks * n + k * (n + 1 - k)) / (n + 1)
    return found


class _Machine(Machine):
    """`total` is (n + 1) times the total but for k D of the open block; `leaves` is noise of periods to come:
    SECRET."""

    def __init__(self, size: int, block: int) -> None:
        super().__init__()
        self._block = block
        zeros = np.zeros(size, np.int64)
        self.arrays = {"total": zeros, "pinned": zeros.copy(), "leaves": np.zeros((block, size), np.int32)}

    def open(self, period: int, draw: Draw, pin: Pin) -> None:
        block, place = divmod(period, self._block)
        if place:
            return
        self.arrays["leaves"] = np.zeros(
            (self._block, 0), np.int32
        )  # the last block's, before the next one's are drawn
        names = [_leaf(period + k) for k in range(self._block)]
        leaves = [_short(draw(name)) for name in names]
        whole = draw(f"block {block}")
        for leaf in leaves:
            whole = whole - leaf
        self.arrays["leaves"] = np.stack(leaves)
        self.arrays["pinned"] = pin(f"block {block}", names, whole)

    def close(self, period: int, exact: Integers, publish: Publish) -> None:
        place, n = period % self._block, self._block
        out = publish(_leaf(period), self.arrays["leaves"][place].astype(np.int64), exact)
        self.arrays["leaves"][place] = 0
        self.arrays["total"] += (n + 1) * out
        if place + 1 == n:
            self.arrays["total"] += n * self.arrays["pinned"]
            self.arrays["pinned"] = np.zeros_like(self.arrays["pinned"])

    def total(self, period: int) -> Integers:
        n, k = self._block, (period + 1) % self._block
        above = self.arrays["total"] + k * self.arrays["pinned"]
        found: Integers = (2 * above + (n + 1)) // (2 * (n + 1))  # to the nearest, exactly
        return found

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        found = arrays.get("leaves")
        if found is not None and found.dtype == np.int64:  # noise that is too wide for half the room
            self.arrays["leaves"] = self.arrays["leaves"].astype(np.int64)
        super().restore(arrays)


def _leaf(period: int) -> str:
    return f"period {period}"


def _short(noise: Integers) -> np.ndarray:
    """In half the room, if it fits."""
    short = noise.astype(np.int32)
    return short if np.array_equal(short, noise) else noise
