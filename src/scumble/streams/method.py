"""What a method of publishing again and again is: all that a stream asks of one, in one place.

A `Method` is public and knows no data: what a record does to all that is published (`column`), and how noisy the total
of any periods will be (`variance`). Its `Machine` goes along with one stream. Nodes are the numbers that get noise of
their own: a machine asks for a node's noise when a period opens, and publishes the node with it when a period closes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from scumble.checks import Json, whole
from scumble.errors import CorruptFileError, parameter
from scumble.privacy.laws import LAPLACE
from scumble.privacy.sensitivity import ONCE, Column

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MOST_PERIODS = 10_000
"""Of days, 27 years."""

Draw = Callable[[str], Integers]
"""Fresh noise for the node of this name: one number for each counter, and one for the count."""
Publish = Callable[[str, Integers, Integers], Integers]
"""A node's name, its noise, and its exact numbers: their sum, as it is published."""
Pin = Callable[[str, Sequence[str], Integers], Integers]
"""A block, its nodes, and the block's noise less theirs: a public number, as it is published."""


class Method(ABC):
    """How a stream of `periods` periods at most is published."""

    name: ClassVar[str]
    law: ClassVar[str | None] = None
    """The law of noise that it needs; None: any."""

    def __init__(self, periods: int) -> None:
        self.periods = whole_periods(periods)

    @property
    @abstractmethod
    def column(self) -> Column:
        """What one record does to all that is published of a counter."""

    @abstractmethod
    def variance(self, first: int, last: int) -> float:
        """Variance of the total of the periods `first` to `last` (from 1 on), in units of one node's noise."""

    def variances(self, width: int) -> Floats:
        """That of every window of so many periods, in order; of every running total if `width` is 0."""
        ends = range(max(width, 1), self.periods + 1)
        return np.array([self.variance(last - width + 1 if width else 1, last) for last in ends])

    @abstractmethod
    def machine(self, size: int) -> Machine:
        """A machine for a stream of so many numbers, before its first period."""

    def about(self) -> Json:
        """What else than the periods decides it, as JSON values."""
        return {}

    def to_dict(self) -> Json:
        """As JSON values."""
        return {"method": self.name, "periods": self.periods, **self.about()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Method) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(repr(self.to_dict()))


class Machine(ABC):
    """What goes along with one stream. `arrays` is all that it remembers, and some of it is SECRET."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}

    @abstractmethod
    def open(self, period: int, draw: Draw, pin: Pin) -> None:
        """Before the first record of a period (from 0 on): draw the noise of all nodes that it opens."""

    @abstractmethod
    def close(self, period: int, exact: Integers, publish: Publish) -> None:
        """After its last record: publish the nodes that it closes."""

    @abstractmethod
    def total(self, period: int) -> Integers:
        """The running total up to the end of a period that has just been closed, to whole numbers."""

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go on from these; what does not fit is refused."""
        if set(arrays) != set(self.arrays):
            raise CorruptFileError("The file lacks a part of a stream.")
        for name, mine in self.arrays.items():
            found = arrays[name]
            if found.shape != mine.shape or found.dtype != mine.dtype:
                raise CorruptFileError("The arrays of the stream do not have the shape that the file's header states.")
            self.arrays[name] = found.copy()


def whole_periods(periods: object) -> int:
    """T, if it is one."""
    must = f"a whole number from 1 to {MOST_PERIODS:,}, the most periods that there will be"
    hint = "declare it generously: ten times as many cost about a sixth."
    return whole("periods", periods, 1, MOST_PERIODS, must=must, hint=hint)


class Daily(Method):
    """Releases of single periods, added up.

    >>> Daily(365).variance(first=1, last=7)
    7.0
    """

    name = "daily"

    @property
    def column(self) -> Column:
        return ONCE

    def variance(self, first: int, last: int) -> float:
        return float(last - first + 1)

    def machine(self, size: int) -> Machine:
        return _Days(size)


class _Days(Machine):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.arrays = {"noise": np.zeros(size, np.int64), "total": np.zeros(size, np.int64)}

    def open(self, period: int, draw: Draw, pin: Pin) -> None:
        self.arrays["noise"] = draw(f"period {period}")

    def close(self, period: int, exact: Integers, publish: Publish) -> None:
        self.arrays["total"] += publish(f"period {period}", self.arrays["noise"], exact)
        self.arrays["noise"] = np.zeros_like(exact)

    def total(self, period: int) -> Integers:
        return self.arrays["total"].copy()


class Bridge(Method):
    """Periods and blocks of n periods, for pure ε: about √(3T) of them; `block` is n, None for the best.

    Each period's count x_i gets noise z_i, and so does the sum of a block. With Y_i = x_i + z_i, and the block's sum S
    = Σ x_i + z_S, the least-squares estimate of the first k periods of a block is Y_1 + … + Y_k + k (S − ΣY)/(n + 1).
    As D = S − ΣY = z_S − Σ z_i is noise alone, a block's noise is drawn when it opens, D is known from then on, and the
    estimate is never revised. After m blocks and k periods its variance is m n/(n + 1) + k (n + 1 − k)/(n + 1) times
    that of one noise, which a record's two moves (its period, its block) make twice as wide as that of a single
    release: a random walk that is tied at both ends of a block.

    >>> Bridge(365).block
    33
    """

    name = "bridge"
    law = LAPLACE.name

    def __init__(self, periods: int, block: int | None = None) -> None:
        super().__init__(periods)
        if block is None:
            guess, upto = math.isqrt(3 * self.periods), np.arange(1, self.periods + 1)
            near = range(max(1, guess - 3), guess + 4)
            block = min(near, key=lambda n: float(np.sum(upto // n * _part(n, n) + _part(upto % n, n))))
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
            return float(_part(upto - before, n))
        return float(_part(n - before, n) + (end - start - 1) * _part(n, n) + _part(upto, n))

    def machine(self, size: int) -> Machine:
        return _Blocks(size, self.block)


def _part(k: int | Integers, n: int) -> float | Floats:
    """The variance of k periods of a block."""
    return k * (n + 1 - k) / (n + 1)


class _Blocks(Machine):
    """`total` is (n + 1) times the total but for k D of the open block; `leaves` is noise to come: SECRET."""

    def __init__(self, size: int, block: int) -> None:
        super().__init__()
        self._block = block
        zeros = np.zeros(size, np.int64)
        self.arrays = {"total": zeros, "pinned": zeros.copy(), "leaves": np.zeros((block, size), np.int32)}

    def open(self, period: int, draw: Draw, pin: Pin) -> None:
        block, place = divmod(period, self._block)
        if place:
            return
        self.arrays["leaves"] = np.zeros((self._block, 0), np.int32)  # the last block's, before the next are drawn
        names = [f"period {period + k}" for k in range(self._block)]
        leaves = [_short(draw(name)) for name in names]
        whole = draw(f"block {block}")
        for leaf in leaves:
            whole = whole - leaf
        self.arrays["leaves"] = np.stack(leaves)
        self.arrays["pinned"] = pin(f"block {block}", names, whole)

    def close(self, period: int, exact: Integers, publish: Publish) -> None:
        place, n = period % self._block, self._block
        out = publish(f"period {period}", self.arrays["leaves"][place].astype(np.int64), exact)
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


def _short(noise: Integers) -> np.ndarray:
    """In half the room, if it fits."""
    short = noise.astype(np.int32)
    return short if np.array_equal(short, noise) else noise
