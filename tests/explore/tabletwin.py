"""Python's answers by the rules of a table's page: its rounded model and errors of cells, and its law of errors, in the
place of rehearsals, where no view tells.

Everything else is the library's own. So where page and twin agree, the page differs from Python in these alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from scumble.explore.tablepayload import FINEST, rounded, shapes, stacks, stepped
from scumble.tabular.answers import Answers
from scumble.tabular.release import TableRelease
from scumble.views.intervals import Reading, conditions, smoothed
from scumble.views.misfit import Misfit
from scumble.views.mixture import Mixture


class PageReading(Reading):
    """One set of views, as the page reads it."""

    def __init__(self, reading: Reading, law: list[float], of_count: float) -> None:
        reading.prepare()
        vars(self).update(vars(reading))
        self.law, self.of_count = np.array(law), of_count
        self.model, self._told, self._known = as_rounded(reading), {}, reading
        self.unseen = replace(reading.unseen, model=self.model)

    def misfit(self, pair: tuple[int, int]) -> Misfit:
        """The errors of cells, in steps."""
        found = self._known.misfit(pair)
        steps, step = stepped(found)
        return replace(found, errors=steps.astype(float) * step)

    def _variance(self, condition: Any, share: float) -> float:
        """By the law, in the place of rehearsals."""
        return smoothed(self.law, share, conditions(condition)) + self.model.share(condition) ** 2 * self.of_count

    def _projected(self, condition: Any) -> float:
        """The law was fitted to variances that are no less."""
        return 0.0


def as_rounded(reading: Reading) -> Mixture:
    """The model as the page has it."""
    seen, columns = reading.seen, []
    for stack, group, shape in zip(stacks(reading.model, seen), seen.groups, shapes(reading), strict=True):
        shares = (rounded(stack).T / FINEST) ** 2
        columns.append((shares / shares.sum(axis=1, keepdims=True))[:, group] * shape)
    return Mixture(reading.model.weights, tuple(columns))


def twin(release: TableRelease, description: dict[str, Any]) -> Answers:
    """Answers of the page that was made with this description."""
    known = release._answers
    answers = Answers(known._spec, known._evidence, known._law, release.identity)
    answers._readings = [
        PageReading(reading, part["law"], part["count"][1])
        for reading, part in zip(known.readings, description["parts"], strict=True)
    ]
    return answers
