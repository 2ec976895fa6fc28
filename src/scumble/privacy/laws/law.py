"""What a law of noise is: all that scumble asks of one.

A law is the shape of the noise; its width, the *scale*, is given with every question. It draws noise, knows its
variance, finds the least scales for a budget, and says what scales cost and prove.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from scumble.errors import about, parameter
from scumble.privacy import noise
from scumble.privacy.exact import Number
from scumble.privacy.sensitivity import Moves, Scales

Size = int | tuple[int, ...]
Shared = tuple[Fraction, ...]
"""What each row gets of a whole that is 1; empty: all the same."""
Floats = npt.NDArray[np.float64]


class Law(ABC):
    """A law of integer noise, symmetric about 0. It has no state: one object serves all."""

    name: ClassVar[str]
    """In claims and files; never changed."""
    family: ClassVar[str]
    """What people call it: "Laplace"."""
    pure: ClassVar[bool]
    """Whether a finite ε bounds what it costs (δ = 0). If not, costs are counted in ρ."""
    reach: ClassVar[float]
    """Scales from 0 beyond which less weighs than float64 can tell."""
    slack: ClassVar[float] = 0.0
    """c <= slack·min(1, ε), where shares add up to the law up to e^±c at every point; 0 if they do so exactly."""

    @property
    def title(self) -> str:
        """On cards."""
        return f"discrete {self.family} noise"

    # -- the noise ----------------------------------------------------------------------------

    @abstractmethod
    def draw(self, scale: Fraction, size: Size, *, backend: str = "exact") -> noise.Integers:
        """Fresh draws, exact, from the system's entropy."""

    @abstractmethod
    def variance(self, scale: Fraction) -> float:
        """Variance of one draw."""

    @abstractmethod
    def weights(self, sizes: noise.Integers, scale: float) -> Floats:
        """P(k), up to a constant, for |k| in `sizes`: the definition, for the auditor."""

    @abstractmethod
    def tail(self, scale: Fraction, least: int) -> float:
        """An upper bound on the chance of at least so much, which is at least 1; its logarithm is concave."""

    # -- shares of it: any `enough` of them, drawn apart, add up to noise of the full `scale` --

    @abstractmethod
    def share(self, scale: Fraction, enough: int) -> Drawn:
        """What the sampler reports of one share."""

    @abstractmethod
    def draw_share(self, scale: Fraction, enough: int, size: Size) -> noise.Integers:
        """Fresh draws of one share."""

    @abstractmethod
    def share_variance(self, scale: Fraction, enough: int) -> float:
        """Variance of one share."""

    def distance(self, scale: Fraction, enough: int) -> float:
        """c for one coordinate."""
        return 0.0

    # -- what it costs ------------------------------------------------------------------------

    @abstractmethod
    def serves(self, epsilon: float, delta: float) -> bool:
        """Whether a request for (ε, δ) can be answered with this law; of those that say so, the quietest is taken."""

    @abstractmethod
    def scales(self, moves: Moves, epsilon: float, delta: float, count_share: Fraction, shares: Shared = ()) -> Scales:
        """The least scales that make a release (ε, δ)-private, with this share of the budget for the count.

        `shares`, if any, say which part of the rest each row gets: of ε if the law is pure, and else of ρ.
        """

    @abstractmethod
    def part(self, scale: Fraction, share: Fraction) -> Fraction:
        """The least scale that costs no more than this share of what `scale` costs."""

    @abstractmethod
    def epsilon(self, moves: Moves, scales: Scales) -> Fraction | None:
        """Pure ε of a release with these scales, exactly; None if the law has none."""

    @abstractmethod
    def rho(self, moves: Moves, scales: Scales) -> Fraction:
        """ρ of a release with these scales, exactly (zCDP, Bun & Steinke 2016)."""

    @abstractmethod
    def curve(self, moves: Moves, scales: Scales, delta: float) -> float:
        """The least ε that is proven at δ > 0; an upper bound."""

    @abstractmethod
    def proves(self, moves: Moves, scales: Scales, epsilon: float, delta: float) -> bool:
        """Whether these scales make (ε, δ) good: what a claim from a file is held to."""

    def revealed(self, moves: Moves, scale: Fraction, threshold: int) -> float:
        """Upper bound on the chance that a number goes out which is zero without one person (``gate/words.proof.md``).

        A person moves the numbers of each row by κ together. Those that only they make positive are published from the
        threshold T on. For j of them, each is κ − j + 1 at most; in R rows: R · max_j j · P(noise ≥ T − κ + j − 1).
        """
        most = moves.sides * moves.most
        if not most < threshold < 2**62:
            return 1.0

        def chance(words: int) -> float:
            return words * self.tail(scale, threshold - most + words - 1)

        low, high = 1, most  # what has a concave logarithm rises, and then falls
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if chance(middle) < chance(middle + 1) else (low, middle)
        return min(1.0, moves.rows * chance(low))

    def least_threshold(self, moves: Moves, scale: Fraction, delta: float) -> int:
        """The least threshold with which `revealed` is at most δ."""
        low = high = moves.sides * moves.most
        while self.revealed(moves, scale, high) > delta:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.revealed(moves, scale, middle) > delta else (low, middle)
        return high

    @abstractmethod
    def spent(self, moves: Sequence[int], scale: Fraction) -> Fraction:
        """What hiding these very moves takes, in ε if the law is pure and else in ρ: for the auditor."""


class Drawn(NamedTuple):
    """A draw as it is reported to `scumble.privacy.audit_hooks`: `parts` such draws make the noise whole."""

    kind: str
    scale: Fraction
    parts: int = 1


def require_scales(scales: Scales, budget: Number, name: str = "epsilon") -> Scales:
    """Scales that the sampler can draw, and that hide something."""
    found = [scale for _, scale in scales.runs(1)] + ([] if scales.count is None else [scales.count])
    if max(found) > noise.LARGEST_SCALE:
        raise parameter(
            name,
            "large enough for a noise scale of at most 2**48",
            budget,
            f"the scale would be {about(max(found))}; use a larger {name} or fewer rows.",
        )
    if min(found) < noise.SMALLEST_SCALE:
        raise parameter(
            name,
            "small enough for a noise scale of at least 2**-32",
            budget,
            "with so large a budget the counters would be published as they are.",
        )
    return scales
