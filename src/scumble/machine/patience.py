"""When compiled loops have earned the time that they take to load, or to be compiled."""

from __future__ import annotations

from collections.abc import Callable

Ready = Callable[[], bool]


class Patience:
    """How much work has been done the slower way; both ways give the same integers.

    Parameters
    ----------
    limits : tuple of int
        Up to the first, the slower way; from the last on, the quicker one; in between the quicker one if it is ready.
    """

    def __init__(self, *limits: int) -> None:
        self.limits = limits
        self.spent = 0

    def lasts(self, work: int, ready: Ready) -> bool:
        """Whether to do this work the slower way, too."""
        after = self.spent + work
        if after >= self.limits[-1] or (after >= self.limits[0] and ready()):
            return False
        self.spent = after
        return True
