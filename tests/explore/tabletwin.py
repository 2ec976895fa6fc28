"""Python's answers by the rules of a table's page: its rounded model and its law of errors, in the place of rehearsals.

Everything else is the library's own. So where page and twin agree, the page differs from Python in these two alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from scumble.explore.tablepayload import FINEST, rounded, shapes, stacks
from scumble.tabular.answers import Answers
from scumble.tabular.release import TableRelease
from scumble.views.estimates import Estimate, by_groups, combined, inside, spread
from scumble.views.intervals import SHARED_NOISE, Reading, apart, beyond_model, conditions, smoothed
from scumble.views.mixture import Mixture


class PageReading(Reading):
    """One set of views, as the page reads it."""

    def __init__(self, reading: Reading, law: list[float], of_count: float) -> None:
        vars(self).update(vars(reading))
        self.law, self.of_count = np.array(law), of_count
        self.model = as_rounded(reading)
        self.unseen = replace(reading.unseen, model=self.model)

    def count(self, condition: Any, alike: float | None = None) -> Estimate:
        """The model's answer, with the law's error; and the view's own, of two columns."""
        share = self.model.share(condition)
        variance = smoothed(self.law, share if alike is None else alike, conditions(condition))
        variance += share**2 * self.of_count
        value, unseen = share * self.evidence.count, self.unseen.variance(condition, signed=alike is not None)
        told = by_groups(self.evidence, self.unseen.marginals, condition)
        if told is None:
            return Estimate(value, variance + unseen)
        if inside(self.evidence, condition) is not None:
            return self._paired(Estimate(value, variance + unseen), condition, told)
        found = self._paired(Estimate(value, variance), condition, told)
        return Estimate(found.value, found.variance + unseen)

    def _paired(self, modelled: Estimate, condition: Any, told: Any) -> Estimate:
        beside = beyond_model(self.evidence, self.model, told)
        own = Estimate(modelled.value + beside.value, beside.variance)
        value, weight = combined(own, modelled, SHARED_NOISE)
        variance = spread(own, modelled, weight, SHARED_NOISE)
        least = max((1 - weight) ** 2 * apart(own, modelled), self.unseen.drowned(condition, own.variance))
        return Estimate(value, max(variance, least))


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
