"""Squared errors out of a few rehearsals, and laws that smooth them.

So few squares scatter widely. Questions of the same kind err alike, so a law smooths them: log E[error²] is linear in a
few features of a question, and is fitted by gamma regression.

**What is always taken off counts twice** (`mean_squares`). Where noise hides structure, the model does without: it
takes two columns for independent, a group's levels for alike, a few full cells for flatter than they are. In rehearsals
that is a bias, an error of the same sign each time. But a rehearsal's world was fitted to noisy counts itself, and has
lost as much on its way from the table. So the square of the bias is added once more.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

RIDGE = 0.02
"""Of a law's slopes, beside some hundred questions."""


def mean_square(errors: Floats, between: float, fits: int) -> float:
    """The squared error of a count, as it would be with as many fits as the model has.

    `errors` are those of one fit in each rehearsal. The square of their mean, less what chance makes of it, is that of
    a bias, and counts twice. `between` is the variance of the answer between fits, and the mean of F fits has 1/F of
    that in its error; so what more fits take off is known. It is an estimate, and at least a quarter of the square is
    kept.

    >>> mean_square(np.array([1.0, -1.0]), 0.0, 1), mean_square(np.array([2.0, 2.0]), 0.0, 1)
    (1.0, 8.0)
    """
    return float(mean_squares(errors[:, None], np.array([between]), fits)[0])


def mean_squares(errors: Floats, between: Floats, fits: int) -> Floats:
    """The same of several counts: a column of `errors` for each, and a row for each rehearsal."""
    square, times = (errors**2).mean(axis=0), len(errors)
    if times > 1:
        square = square + np.maximum(errors.mean(axis=0) ** 2 - errors.var(axis=0, ddof=1) / times, 0.0)
    return np.asarray(np.maximum(square - (1 - 1 / fits) * between, square / 4))


def gamma_regression(features: Floats, values: Floats, steps: int = 50) -> Floats:
    """β with E[value] = exp(features · β), by Fisher scoring of the gamma likelihood; the first feature is 1.

    A ridge holds the slopes near nought where the features hardly vary: with one column of few levels, questions of
    other shares than were seen are answered by the mean, not by a slope that chance has made.
    """
    values = np.maximum(values, 1e-9 * max(values.mean(), 1e-9))
    penalty = np.full(features.shape[1], RIDGE)
    penalty[0] = 1e-3
    middle = np.zeros(features.shape[1])
    middle[0] = np.log(values).mean()
    inverse = np.linalg.inv(features.T @ features + np.diag(penalty))
    beta = middle + inverse @ features.T @ (np.log(values) - middle[0])
    for _ in range(steps):
        rest = np.clip(values * np.exp(-features @ beta) - 1, -1, 3)
        beta = beta + inverse @ (features.T @ rest - penalty * (beta - middle))
    return np.asarray(beta, float)
