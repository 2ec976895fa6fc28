"""How far a table's page may be off where no view tells: a law in four numbers.

Python's intervals (`views.intervals`) know how far a question itself was off in rehearsals, of which each has a model
and a table of its own: far too much for a page. Of measured pairs it has the errors of their cells (`tablepayload`). Of
three columns and more, and of columns that were not measured together, it has a law in their place. A count is the
model's share times the number of records n, which is known up to noise too:

    variance = share² · variance of n + exp(β₀ + β₁ log p + β₂ log² p + β₃ (number of conditions)),

with p = min(share, 1 − share), fitted, when the page is made, to the variances that Python gives to random questions:
one half about levels that many records have, the other about any levels, as the page has a bar for each. Single
questions scatter around the law. Where an interval by the law is narrower than Python's it covers less, where it is
wider more; so the law is raised until, over all those questions, it covers what it should: with r the ratio of the
law's deviation to Python's, the mean of 2Φ(1.96 r) − 1 is `COVERED`, which is more than 95 % since the law was fitted
to the same questions.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from scumble.views.intervals import MOST_CONDITIONS, Reading, law_inputs, random_condition
from scumble.views.smoothing import gamma_regression

Floats = npt.NDArray[np.float64]

QUESTIONS = 240
COVERED = 0.96
LEAST = 0.1
"""Of a variance the law has at least this part: that of the number of records is itself known roughly."""
WIDEST = 100.0
_LEVEL = 0.95


def law_of(reading: Reading, of_count: float, seed: int) -> Floats:
    """β for one set of views, in squared records; `of_count` is the variance of its number of records."""
    generator = np.random.default_rng([seed, QUESTIONS])
    columns = reading.evidence.columns
    rows = reading.model.draw(2 * QUESTIONS, generator)
    rows[QUESTIONS:] = generator.integers(0, [column.levels for column in columns], (QUESTIONS, len(columns)))
    inputs, fixed, variances = [], [], []
    for number in range(QUESTIONS):
        size = min(1 + number % MOST_CONDITIONS, len(columns))
        asked = random_condition(reading.evidence, rows[2 * number : 2 * number + 2], size, generator)
        share = reading.model.share(asked)
        inputs.append(law_inputs(share, size))
        fixed.append(share**2 * of_count)
        variances.append(max(reading.rehearsed_variance(asked), 1e-9))
    law, known, truth = np.array(inputs), np.array(fixed), np.array(variances)
    found = gamma_regression(law, np.maximum(truth - known, LEAST * truth))
    found[0] += raised(known, np.exp(law @ found), truth)
    return found


def raised(known: Floats, law: Floats, truth: Floats) -> float:
    """What to add to the law's logarithm, for variances that are `truth`, of which the part `known` needs no law.

    >>> nothing, one = np.zeros(5), np.ones(5)
    >>> round(raised(nothing, one, one), 2)  # a law without scatter: from 95 % to 96 %
    0.09
    >>> raised(nothing, np.array([0.5, 2.0, 1.0, 1.0, 1.0]), one) > raised(nothing, one, one)
    True
    """

    def covered(more: float) -> float:
        reach = ndtri((1 + _LEVEL) / 2) * np.sqrt((known + np.exp(more) * law) / truth)
        return float(np.mean(2 * ndtr(reach) - 1)) - COVERED

    from scipy.optimize import brentq  # slow to load, and most pages do without it

    return float(brentq(covered, -WIDEST, WIDEST)) if covered(-WIDEST) < 0 else 0.0
