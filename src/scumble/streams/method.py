"""What a method of publishing again and again is: all that a stream asks of one, in one place.

A `Method` is public and knows no data: what a record does to all that is published (`column`), and how noisy the total
of any periods will be (`variance`). Its `Machine` goes along with one stream. Nodes are the numbers that get noise of
their own; a machine asks for a node's noise when a period opens, and publishes the node with it when a period closes.
What it gives back, the running total, is a function of published numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from scumble.checks import Json
from scumble.errors import CorruptFileError, parameter
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
    """How a stream of so many periods is published.

    Parameters
    ----------
    periods : int
        T, the most periods that there will be. Public.
    """

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
    if isinstance(periods, bool) or not isinstance(periods, int | np.integer) or not 1 <= periods <= MOST_PERIODS:
        must = f"a whole number from 1 to {MOST_PERIODS:,}, the most periods that there will be"
        raise parameter("periods", must, periods, "declare it generously: ten times as many cost about a sixth.")
    return int(periods)


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
        return _Machine(size)


class _Machine(Machine):
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
