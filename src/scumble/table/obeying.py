"""Mixtures that obey a schema's rules.

A draw under rules is p(x) ∝ Σ_k w_k Π_j A_jk(x_j) Π_r f_r(x): a mixture of products times a factor for each rule, on
one or two columns. Columns joined by rules form trees, so sums over all cells are exact by passing messages along them
(Pearl 1988): a column sends Σ_y f(x, y) A(y) Π of what it was sent itself. Its margins are those of its posterior by
iterative proportional fitting, which multiplies A by functions of one column each and leaves the factors alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from scumble.columns.rules import Factors

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Obeyed:
    """Rules as factors on the counted columns of one class, by their numbers.

    Parameters
    ----------
    alone : mapping
        Weights on the levels of single columns.
    beside : mapping
        For each column that is joined with others: those, and the factors (own levels, the other's).
    possible : bool
        Whether the class may have records.
    """

    alone: Mapping[int, Floats] = field(default_factory=dict)
    beside: Mapping[int, Mapping[int, Numbers]] = field(default_factory=dict)
    possible: bool = True

    @staticmethod
    def of(factors: Factors, number: Mapping[int, int], place: int | None, one: int) -> Obeyed:
        """The rules of class `one` of the column at `place`."""
        alone = {number[j]: weights for j, weights in factors.alone.items() if j != place}
        beside: dict[int, dict[int, Numbers]] = {}
        for (i, j), allowed in factors.pairs.items():
            if place in (i, j):
                other, mine = (number[j], allowed[one]) if i == place else (number[i], allowed[:, one])
                alone[other] = alone.get(other, 1.0) * mine
            else:
                beside.setdefault(number[i], {})[number[j]] = allowed.astype(np.float32)
                beside.setdefault(number[j], {})[number[i]] = allowed.T.astype(np.float32)
        possible = place is None or place not in factors.alone or bool(factors.alone[place][one] > 0)
        return Obeyed(alone, beside, possible)

    def __bool__(self) -> bool:
        return bool(self.alone or self.beside)

    @cached_property
    def trees(self) -> tuple[tuple[int, ...], ...]:
        """The columns that rules join, the first of each tree first."""
        found: list[tuple[int, ...]] = []
        for first in self.beside:
            if not any(first in tree for tree in found):
                tree = [first]
                for column in tree:
                    tree += [other for other in self.beside[column] if other not in tree]
                found.append(tuple(tree))
        return tuple(found)

    def weighed(self, product: Mapping[int, npt.ArrayLike]) -> dict[int, Floats]:
        """A product of conditions with the rules on single columns."""
        found = {j: np.asarray(weights, float) for j, weights in product.items()}
        return found | {j: found.get(j, 1.0) * weights for j, weights in self.alone.items()}
