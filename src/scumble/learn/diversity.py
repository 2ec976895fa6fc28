"""Diversity: keep what is rare, thin what is common."""

from __future__ import annotations

import numpy as np

from scumble import checks
from scumble.density.layout import alike
from scumble.errors import parameter
from scumble.learn.base import PrivateEstimator, estimator
from scumble.privacy.budget import Budget

METHODS = ("under-represented", "diverse")


@estimator
class DiversitySampler(PrivateEstimator):
    """Records with probability falling in their density: all of the rare ones, and about `tau` (τ) of each crowd.

    A record with f records like it (a kernel sum) is kept with probability min(1, τ/f) (Coleman et al. 2019,
    "Diversified RACE sampling", Algorithm 2, with exact probabilities in place of a hard threshold).

    **From a release: private.** `fit` releases a sketch of the private table. `select(pool, n)` then chooses, out of a
    *public* pool, the records that are under-represented in the private data, or ones that differ from it and from each
    other.

    **From a stream: not private.** `keep(batch)` counts each batch in a secret sketch and says which of its records to
    keep. *What is kept are the records themselves*, the rare ones first, which need protection most.

    For the other parameters, see :class:`~scumble.learn.base.PrivateEstimator`.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> private = rng.normal(2.0, 0.5, (10_000, 2))
    >>> pool = np.vstack([rng.normal(2.0, 0.5, (90, 2)), rng.normal(7.0, 0.5, (10, 2))])
    >>> sampler = DiversitySampler(bounds=(-1, 10)).fit(private)
    >>> sorted(sampler.select(pool, 10).tolist())        # the rare ones: 50 standard errors apart from the others
    [90, 91, 92, 93, 94, 95, 96, 97, 98, 99]
    """

    tau: float = 100.0

    _made_again = ("_stream", "_draws")

    def _check(self) -> None:
        checks.number("tau", self.tau, "positive: how many like records are enough", lambda tau: tau > 0)

    # ---- from a release: private ----

    def keep_probability(self, X: object) -> np.ndarray:
        """min(1, τ/f) for each record, from the release."""
        sums = self.release_.kernel_sum(self._read(X))
        return self.tau / np.maximum(sums, self.tau)

    def select(self, pool: object, n: int, *, method: str = "under-represented") -> np.ndarray:
        """The positions of n records of a public pool, best first.

        "under-represented": those with the fewest private records like them. "diverse": one after the other, the record
        least like both the private data and the records already chosen, which together weigh as much as the data.
        """
        if method not in METHODS:
            raise parameter("method", f"one of {', '.join(METHODS)}", method)
        X = self._read(pool)
        n = checks.whole("n", n, 0, len(X), must=f"a whole number up to the pool's {len(X)}")
        likeness = self.release_.kernel_sum(X) / self.release_.divisor
        if method == "under-represented":
            return np.argsort(likeness, kind="stable")[:n]
        chosen = np.empty(n, np.int64)
        for i in range(n):
            chosen[i] = np.argmin(likeness)
            likeness = likeness + alike(self.release_, X[chosen[i]][None, :], X)[0] / n
            likeness[chosen[: i + 1]] = np.inf
        return chosen

    # ---- from a stream: not private ----

    def keep(self, batch: object) -> np.ndarray:
        """Which records of the stream's next batch to keep, as a mask. The kept records are not private.

        Works without `fit`. Each record is first counted, then kept with probability min(1, τ/f).
        """
        self._check()
        fresh = "_stream" not in vars(self)
        known = not fresh or "release_" in vars(self)
        X = self._matrix(batch, clip=True) if known else self._enter(batch)
        if fresh:
            budget = Budget(1.0, neighbors=self.neighbors)
            self._stream = self._sketch(self._kernel(), X, budget)
            self._draws = np.random.default_rng(self._seed())
        f = np.maximum(self._stream.update(X).kernel_sum(X), 1.0)
        return self._draws.uniform(size=len(X)) < self.tau / f
