"""Any statistic of a table: computed on rows of every draw, with the chance of drawing rows taken out.

A statistic of n synthetic rows scatters for two reasons: draws from the posterior differ, and rows are drawn. The
second has nothing to do with the table. So each draw gives two sets of rows. With s₁, s₂ the statistic on both, the
variance v of their mean is that between draws plus that of drawing rows, and the latter is the mean of (s₁ − s₂)²/4.
What is left is the variance of the answer; but v is itself known up to a standard error of v √(2/(M − 1)) from M draws,
and the answer's variance is not taken for less than that.

Where in their cells values lie is not known either, so each draw puts them elsewhere: in half of the cells all lean to
the same side, in the others each by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from scumble.columns.conditions import condition
from scumble.columns.schema import Schema
from scumble.errors import ParameterError
from scumble.table import rows
from scumble.table.answers import Answers
from scumble.table.estimate import Estimate
from scumble.table.rows import RandomState, batches, generator_of

if TYPE_CHECKING:
    from pandas import DataFrame

Floats = npt.NDArray[np.float64]
Statistic = Callable[["DataFrame"], object]


def sampled(
    answers: Answers, schema: Schema, number: int, random_state: RandomState, size: int | None
) -> Iterator[DataFrame]:
    """Frames of synthetic rows, each of one draw."""
    generator, posterior, everybody = generator_of(random_state), answers.posterior, condition(schema, None)
    for table in range(number):
        draw = table % posterior.size
        many = round(float(posterior.totals[draw])) if size is None else size
        found = batches(posterior.mixture(draw), everybody, many, generator, _powers(answers, draw, schema))
        yield rows.held(rows.together(found), schema, "pandas")


def estimated(
    answers: Answers, schema: Schema, statistic: Statistic, most: int, confidence: float
) -> Estimate | DataFrame:
    """The statistic with its interval: an Estimate, or a frame of several."""
    if not callable(statistic):
        raise ParameterError(
            "`statistic` must be a function of a pandas frame. Hint: release.estimate(lambda t: t['age'].std())."
        )
    posterior = answers.posterior
    size = max(1, min(round(answers.total.value), most))
    halves = [
        [_numbers(statistic(frame)) for frame in sampled(answers, schema, posterior.size, half, size)]
        for half in range(2)
    ]
    names = [*dict.fromkeys(name for half in halves for each in half for name in each)]  # groups that any draw has
    found = []
    for name in names:
        one, two = (np.array([each.get(name, math.nan) for each in half]) for half in halves)
        found.append(_told(answers, one, two, confidence))
    if names == [None]:
        return found[0]
    pd = rows.library("pandas")
    return pd.DataFrame([estimate.to_dict() for estimate in found], index=pd.Index(names))


def _told(answers: Answers, one: Floats, two: Floats, confidence: float) -> Estimate:
    """The answer out of two values for each draw: their spread is reduced by the chance of drawing rows."""
    each = (one + two) / 2
    known = np.isfinite(each)
    if known.sum() < 2:
        return Estimate(math.nan, -math.inf, math.inf, math.inf, confidence=confidence)
    mean, spread = each[known].mean(), each[known].var(ddof=1)
    chance = float(((one - two)[known] ** 2).mean()) / 4
    unsure = spread * math.sqrt(2.0 / (known.sum() - 1))
    kept = math.sqrt(min(max(spread - chance, unsure) / spread, 1.0)) if spread > 0 else 0.0
    return answers.told(mean + kept * (each - mean), confidence)


def _powers(answers: Answers, draw: int, schema: Schema) -> list[Floats]:
    """For each level of each column the power p that puts values at u**p of it: their mean is 1/(1 + p) of it."""
    generator, found = np.random.default_rng([draw, 4]), []
    for place, column in enumerate(schema.values()):
        within = answers.within(place)
        if within is None:
            own = generator.uniform(0.0, 1.0, column.size)
            share = np.where(generator.random(column.size) < 0.5, (1 + answers.lean[draw]) / 2, own)
        else:
            share = within[draw]
        found.append(power(share))
    return found


def expected_powers(answers: Answers, schema: Schema) -> list[Floats]:
    """The same of the mean of all draws; even, where it is not known where in their cells values lie."""
    each = (answers.within(place) for place in range(len(schema)))
    return [
        np.ones(column.size) if one is None else power(one.mean(axis=0))
        for one, column in zip(each, schema.values(), strict=True)
    ]


def power(share: Floats) -> Floats:
    """The power p with which u**p, u being even, has this mean."""
    share = np.clip(share, 0.01, 0.99)
    return (1 - share) / share


def _numbers(found: Any) -> dict[object, float]:
    """What a statistic returned, by labels; a single number has none."""
    if hasattr(found, "to_dict"):
        found = found.to_dict()
    try:
        return {
            name: float(number) for name, number in (found if isinstance(found, Mapping) else {None: found}).items()
        }
    except (TypeError, ValueError):
        raise ParameterError(
            "A statistic must return a number, a Series or a dict of numbers. Hint: for example t['age'].std()."
        ) from None
