"""Every period by itself: x and noise. The total of k periods has the noise of k.

A record is in one period, so all of them together cost as much as one. Nothing is quieter for single periods, and
nothing needs less memory.
"""

from __future__ import annotations

import numpy as np

from scumble.continual.method import Draw, Integers, Machine, Method, Pin, Publish
from scumble.privacy.sensitivity import ONCE, Column


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
