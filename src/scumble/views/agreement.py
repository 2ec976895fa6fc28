"""How far the model's tables are from the measured ones, and how far from the truth, by the rehearsals.

Tables here are those of the measured cells: all levels of a single column, the groups of levels of a pair. Differences
are in records; half of the summed absolute differences, over the number of records, is the total variation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from scumble.views.evidence import Evidence, View
from scumble.views.mixture import Mixture
from scumble.views.rehearsal import Rehearsal, exact_table

Floats = npt.NDArray[np.float64]
MEAN_DEVIATION = {"laplace": math.sqrt(1 / 2), "gaussian": math.sqrt(2 / math.pi)}
"""E|noise| over its standard deviation."""
SPREAD_OF_SQUARE = {"laplace": math.sqrt(5), "gaussian": math.sqrt(2)}
"""The standard deviation of the square of noise that has variance one."""


@dataclass(frozen=True)
class Modelled:
    """A model's tables in the measured cells.

    Parameters
    ----------
    model : Mixture
        The model.
    evidence : Evidence
        The cells.
    """

    model: Mixture
    evidence: Evidence

    @cached_property
    def _grouped(self) -> list[Floats]:
        """Each column of the model in groups of levels."""
        groups = self.evidence.groups
        return [table @ np.eye(int(g.max()) + 1)[g] for table, g in zip(self.model.columns, groups, strict=True)]

    def shares(self, columns: tuple[int, ...], *, apart: bool = False) -> Floats:
        """The model's shares of the records in the cells of one column, or of two; levels of the second one `apart`."""
        if len(columns) == 1:
            return self.model.weights @ self.model.columns[columns[0]]
        one, two = columns
        first, second = self._grouped[one], (self.model.columns if apart else self._grouped)[two]
        return (first * self.model.weights[:, None]).T @ second

    def off(self, view: View) -> Floats:
        """Modelled less measured records in each cell."""
        return self.evidence.count * self.shares(view.columns) - view.counts

    def chi(self, view: View) -> float:
        """χ² of a view per cell: about one where only noise is between model and view."""
        return float((self.off(view) ** 2).mean() / view.variance)

    def beyond_noise(self, view: View, law: str) -> float:
        """Summed absolute differences to a view, less those that noise of its law makes on average.

        >>> from scumble.views.grouping import Column
        >>> view = View((0,), np.array([60.0, 40.0]), variance=1.0)
        >>> model = Mixture(np.ones(1), (np.array([[0.5, 0.5]]),))
        >>> found = Modelled(model, Evidence((Column(2),), (np.arange(2),), (view,)))
        >>> round(found.beyond_noise(view, "gaussian"), 1)
        18.4
        """
        noise = MEAN_DEVIATION[law] * math.sqrt(view.variance) * view.counts.size
        return max(float(np.abs(self.off(view)).sum()) - noise, 0.0)


class Rehearsed:
    """The tables of a rehearsal, whose truth is known."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self._rehearsal = rehearsal
        self._modelled = Modelled(rehearsal.model, rehearsal.evidence)

    def off(self, columns: tuple[int, ...]) -> Floats:
        """By how many records each cell of the model is off.

        There is one fit here and there are several in earnest, whose mean is a little better: this is on the safe side.
        """
        found = self._rehearsal.evidence.count * self._modelled.shares(columns)
        return np.asarray(found - exact_table(self._rehearsal, columns))


def misfits(chi: float, cells: int, law: str, deviations: float = 5.0) -> bool:
    """Whether χ² per cell of so many cells is beyond what noise of this law makes: by so many standard deviations."""
    return chi > 1.0 + deviations * SPREAD_OF_SQUARE[law] / math.sqrt(cells)
