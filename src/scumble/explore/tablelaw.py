"""How far a table's page may be off: the law of its intervals, in four numbers.

Python's intervals (`views.intervals`) know how far a question itself was off in rehearsals, of which each has a model
and a table of its own: far too much for a page. The page has a law in their place,

    log variance = β₀ + β₁ log p + β₂ log² p + β₃ (number of conditions),

fitted, when the page is made, to the variances that Python gives to random questions. Single questions scatter around
the law. Where an interval by the law is narrower than Python's it covers less, where it is wider more; so the law is
raised until, over all those questions, it covers what it should: with r the ratio of the law's deviation to Python's,
the mean of 2Φ(1.96 r) − 1 is `COVERED`, which is more than 95 % since the law was fitted to the same questions.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from scumble.views.intervals import MOST_CONDITIONS, Reading, gamma_regression, law_inputs, random_condition

QUESTIONS = 240
COVERED = 0.96
_LEVEL = 0.95


def law_of(reading: Reading, seed: int) -> npt.NDArray[np.float64]:
    """β for one set of views, in squared records; the same each time."""
    generator = np.random.default_rng([seed, QUESTIONS])
    rows = reading.model.draw(2 * QUESTIONS, generator)
    columns = len(reading.evidence.columns)
    inputs, variances = [], []
    for number in range(QUESTIONS):
        size = min(1 + number % MOST_CONDITIONS, columns)
        asked = random_condition(reading.evidence, rows[2 * number : 2 * number + 2], size, generator)
        inputs.append(law_inputs(reading.model.share(asked), size))
        variances.append(reading.rehearsed_variance(asked))
    found = gamma_regression(np.array(inputs), np.array(variances))
    found[0] += raised(np.array(inputs) @ found - np.log(np.maximum(variances, 1e-300)))
    return found


def raised(ratios: npt.NDArray[np.float64]) -> float:
    """What to add to the law's logarithm, for logarithms of the law's variance over the true one.

    >>> round(raised(np.zeros(5)), 2)  # a law without scatter: from 95 % to 96 %
    0.09
    >>> raised(np.array([-1.0, 1.0])) > raised(np.zeros(2))
    True
    """

    def covered(more: float) -> float:
        reach = ndtri((1 + _LEVEL) / 2) * np.exp((ratios + more) / 2)
        return float(np.mean(2 * ndtr(reach) - 1)) - COVERED

    return float(brentq(covered, -50.0 - float(ratios.max()), 50.0 - float(ratios.min())))
