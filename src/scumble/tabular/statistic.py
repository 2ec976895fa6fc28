"""Any statistic of a table: computed on rows of every draw, with the chance of drawing rows taken out.

A statistic of n synthetic rows scatters for two reasons: draws from the posterior differ, and rows are drawn. The
second has nothing to do with the table. So each draw gives two sets of rows. With s₁, s₂ the statistic on both, the
variance of their mean is that between draws plus that of drawing rows, and the latter is the mean of (s₁ − s₂)²/4. What
is left, and not less than zero, is the variance of the answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from scumble.errors import ParameterError
from scumble.schema import Schema, condition
from scumble.tabular import rows
from scumble.tabular.answers import Answers
from scumble.tabular.drawing import batches
from scumble.tabular.estimate import Estimate
from scumble.views.drawing import generator_of

if TYPE_CHECKING:
    from pandas import DataFrame

Floats = npt.NDArray[np.float64]
Statistic = Callable[[Any], Any]


def sampled(answers: Answers, schema: Schema, number: int, random_state: Any, size: int | None) -> Iterator[DataFrame]:
    """Frames of synthetic rows, each of one draw."""
    generator, posterior, everybody = generator_of(random_state), answers.posterior, condition(schema, None)
    for table in range(number):
        draw = table % posterior.size
        many = round(float(posterior.totals[draw])) if size is None else size
        found = batches(posterior.mixture(draw), everybody, many, generator)
        yield rows.held(rows.together(found), schema, "pandas")


def estimated(answers: Answers, schema: Schema, statistic: Statistic, most: int, confidence: float) -> Any:
    """The statistic with its interval: an Estimate, or a frame of several."""
    if not callable(statistic):
        raise ParameterError(
            "`statistic` must be a function of a pandas frame. Hint: release.estimate(lambda t: t['age'].std())."
        )
    posterior = answers.posterior
    size = max(1, min(round(answers.total.value), most))
    names: list[Any] | None = None
    one = two = np.empty((0, 0))
    for half in range(2):
        each = []
        for frame in sampled(answers, schema, posterior.size, half, size):
            labels, numbers = _numbers(statistic(frame))
            if names is None:
                names = labels
            known = dict(zip(labels, numbers, strict=True))
            each.append([known.get(name, math.nan) for name in names])
        one, two = (np.array(each), two) if half == 0 else (one, np.array(each))
    assert names is not None
    found = [_told(answers, one[:, k], two[:, k], confidence) for k in range(len(names))]
    if names == [None]:
        return found[0]
    pd = rows.library("pandas")
    return pd.DataFrame([estimate.numbers() for estimate in found], index=pd.Index(names))


def _told(answers: Answers, one: Floats, two: Floats, confidence: float) -> Estimate:
    """The answer out of two values for each draw: their spread is reduced by the chance of drawing rows."""
    each = (one + two) / 2
    known = np.isfinite(each)
    if known.sum() < 2:
        return Estimate(math.nan, -math.inf, math.inf, math.inf)
    mean, spread = each[known].mean(), each[known].var(ddof=1)
    chance = float(((one - two)[known] ** 2).mean()) / 4
    kept = math.sqrt(max(spread - chance, 0.0) / spread) if spread > 0 else 0.0
    return answers.told(mean + kept * (each - mean), confidence)


def _numbers(found: Any) -> tuple[list[Any], list[float]]:
    """What a statistic returned, as labels and numbers; a single number has no label."""
    if hasattr(found, "to_dict"):
        found = found.to_dict()
    if isinstance(found, Mapping):
        return list(found), [float(number) for number in found.values()]
    try:
        return [None], [float(found)]
    except (TypeError, ValueError):
        raise ParameterError(
            "A statistic must return a number, a Series or a dict of numbers. Hint: for example t['age'].std()."
        ) from None
