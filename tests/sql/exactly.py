"""A release that answers exactly: the meaning of SQL can be tested without noise.

Each of its draws is the table itself, one component for each record. All between the statement and the draws is as
ever.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

import scumble
from scumble.table.answers import Answers, Noisy
from scumble.table.mixture import Condition
from scumble.table.posterior import Draws
from scumble.table.spec import TableSpec

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


class _Exact(Answers):
    @property
    def total(self) -> Noisy:
        return Noisy(float(self.posterior.totals.mean()), 0.0)

    def not_measured(self, asked: Condition, besides: Iterable[int] = ()) -> Iterator[tuple[int, int]]:
        """Everything is counted."""
        yield from ()

    def group_of(self, column: int) -> Any:
        """Everything is distinguished."""
        return self.posterior.classes[0].groups[column]

    def singles(self, column: int) -> tuple[Any, float]:
        return self.posterior.cells([column]).mean(axis=0), 0.0


def exactly(frame: pd.DataFrame, schema: scumble.Schema = SCHEMA, *, error: float = 0.0) -> scumble.TableRelease:
    """A release whose answers are those of the table; all draws are it, but for a relative error of the counts."""
    spec = TableSpec.of(schema, positions=False)
    release = scumble.TableSketch.from_spec(spec).update(frame).release(epsilon=1.0)
    codes = schema.encode(frame).codes
    off = np.array([-1.0, 1.0, -1.0, 1.0])
    draws = Draws(
        len(codes) * (1 + error * off),
        np.full((len(off), len(codes)), 1 / len(codes)),
        tuple(np.stack([np.eye(size)[codes[:, j]]] * len(off)) for j, size in enumerate(schema.sizes)),
        tuple(np.ones((len(off), size)) for size in schema.sizes),
        tuple(np.arange(size) for size in schema.sizes),
    )
    answers = _Exact(release.spec, (), "laplace", release.identity)
    answers.hold([draws])
    answers.__dict__["_lean"] = np.zeros(len(off))
    release.__dict__["_prepared"] = answers
    return release
