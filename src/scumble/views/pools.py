"""What pools of words hide: how far rows are from the table where a pair counted several words as one.

Of a pool a pair tells how its records lie, and nothing of each word; so the model takes all its words to lie alike, and
comparing pools with pools would call that faithful. A word with n records is in truth elsewhere, for two reasons. Words
differ: let their shares follow Dirichlet's law around those of the pool, with variances of t beside p(1 − p), as in
`ties`, where t is found in the words that have rows of their own; noise may hide it there, so it is taken to be at
least as much as is usual. And n records are few: their shares have variances of

    t' = t + (1 − t)/n

beside p(1 − p), which is one for a single record, as that is in one place. The mean deviation of a share of Beta's law
with mean p and concentration ν = 1/t' − 1 is

    E|X − p| = 2 p^(νp) (1 − p)^(ν(1 − p)) / (ν B(νp, ν(1 − p))),

which is 2p(1 − p) for t' = 1 (Johnson, Kotz & Balakrishnan 1995, ch. 25). Half of its sum over places is the share of
the word's records that would have to be in another.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from scumble.machine.functions import gammaln

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
NODES = 33
"""Numbers of records at which deviations are worked out; between them they are interpolated."""
USUAL = 0.03
"""The least t: it is what columns have that nobody measured together (the square of `unseen.UNKNOWN`)."""
NEVER = 1e-9
"""A variance beside p(1 − p) that is next to nothing, and with one less next to all."""


def misplaced(words: Floats, places: Floats, tied: float) -> Floats:
    """How many of each word's records are elsewhere than those of its pool.

    Parameters
    ----------
    words : ndarray of float
        The number of records of each word of a pool.
    places : ndarray of float
        How the pool's records lie in the other column.
    tied : float
        t.

    Examples
    --------
    >>> misplaced(np.array([1.0, 40.0]), np.array([30.0, 10.0]), 1.0).round(1)
    array([ 0.4, 15. ])
    >>> misplaced(np.array([1.0, 40.0]), np.array([30.0, 10.0]), 0.0).round(1)
    array([0.4, 3.2])
    """
    records, share = np.maximum(words, 0.0), np.maximum(places, 0.0)
    if not share.sum() > 0 or not len(records):
        return np.zeros(len(records))
    share = share[share > 0] / share.sum()
    tied = max(tied, USUAL)
    nodes = np.geomspace(1.0, max(float(records.max()), 2.0), NODES)
    spread = np.clip(tied + (1.0 - tied) / nodes, NEVER, 1.0 - NEVER)
    sure = (1.0 / spread - 1.0)[:, None]
    one, other = sure * share, np.maximum(sure * (1.0 - share), NEVER * sure)
    beta = gammaln(one) + gammaln(other) - gammaln(one + other)
    part = 2.0 * np.exp(one * np.log(share) + other * np.log(other / sure) - beta) / sure
    return np.asarray(records * np.interp(records, nodes, part.sum(axis=1) / 2.0))
