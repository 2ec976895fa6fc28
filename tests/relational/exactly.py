"""A release that answers exactly: what SQL means can be told from noise.

Its model is the table itself, one component for each record, and its errors are none. All between the statement and
the model is as ever.
"""

from __future__ import annotations

import datetime
import math
from typing import Any

import numpy as np
import pandas as pd

import scumble
from scumble.tabular.answers import Answers
from scumble.views.estimates import Estimate
from scumble.views.mixture import Condition, Mixture

SCHEMA = scumble.Schema(
    age=scumble.Number(0, 49, whole=True, missing=True),
    score=scumble.Number(0, 8, cells=8),
    town=scumble.Category(["Ulm", "Bonn", "Jena"]),
    plan=scumble.Category(["basic", "plus", "pro"], other=False, missing=False),
    smoker=scumble.Boolean(missing=True),
    seen=scumble.Date("2024-01-01", "2024-03-31", missing=True),
)


def table(n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Records with every kind of column and missing cells; scores are the middles of their cells."""
    rng = np.random.default_rng(seed)

    def gaps(values: Any, share: float = 0.15) -> list[Any]:
        return [None if gone else value for value, gone in zip(values, rng.random(n) < share, strict=True)]

    days = [datetime.date(2024, 1, 1) + datetime.timedelta(int(day)) for day in rng.integers(0, 91, n)]
    return pd.DataFrame(
        {
            "age": pd.array(gaps(rng.integers(0, 50, n).tolist()), dtype="Int64"),
            "score": rng.integers(0, 8, n) + 0.5,
            "town": gaps(rng.choice(["Ulm", "Bonn", "Jena"], n).tolist()),
            "plan": rng.choice(["basic", "plus", "pro"], n).tolist(),
            "smoker": pd.array(gaps((rng.random(n) < 0.4).tolist()), dtype="boolean"),
            "seen": gaps(days),
        }
    )


class _Exact:
    """As `views.intervals.Reading`, without error."""

    def __init__(self, model: Mixture, variance: float) -> None:
        self.model, self.variance = model, variance

    def exact(self, condition: Condition) -> None:
        """Everything is counted."""

    def count(self, condition: Condition, alike: float | None = None) -> Estimate:
        return Estimate(round(self.model.share(condition) * len(self.model.weights), 9), self.variance)

    def allowed(self, condition: Condition, chance: float) -> tuple[float, float]:
        return 0.0, math.inf

    def above(self, condition: Condition, chance: float, answer: float | None = None) -> float:
        return 0.0

    def column_sums(self, condition: Condition, column: int, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return values @ self.model.table([column], condition) * len(self.model.weights), np.zeros(len(values))


class _ExactAnswers(Answers):
    @property
    def total(self) -> Estimate:
        return self.readings[0].count([(1.0, {})])

    def group_of(self, column: int) -> Any:
        """Everything is told apart."""
        return np.arange(len(self.readings[0].model.columns[column][0]))


def exactly(frame: pd.DataFrame, schema: scumble.Schema = SCHEMA, *, variance: float = 0.0) -> scumble.TableRelease:
    """A release whose answers are those of the table, and say that they may be off by so much."""
    release = scumble.TableSketch(schema).update(frame).release(epsilon=1.0)
    codes = schema.encode(frame).codes
    columns = tuple(np.eye(size)[codes[:, j]] for j, size in enumerate(schema.sizes))
    answers = _ExactAnswers(release.spec, (), "laplace", release.identity)
    answers._readings = [_Exact(Mixture(np.full(len(codes), 1 / len(codes)), columns), variance)]
    release.__dict__["_prepared"] = answers
    return release
