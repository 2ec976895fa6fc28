"""Diversity: keep what is rare, thin what is common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scumble import checks
from scumble.checks import whole
from scumble.errors import parameter
from scumble.kernels import Kernel
from scumble.learn.base import PrivateEstimator
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.reading.likeness import alike
from scumble.schema import Described
from scumble.sketch import Sketch

METHODS = ("under-represented", "diverse")


class DiversitySampler(PrivateEstimator):
    """Records with probability falling in their density (RACE sampling, Coleman et al. 2019, "Diversified RACE
    sampling").

    A record with f records like it (a kernel sum) is kept with probability min(1, τ/f): all of the rare ones, and
    about τ of each crowd, however large. There are two uses, and only one of them is private.

    **From a release: private.** `fit` releases a sketch of the private table. `select(pool, n)` then chooses, out of a
    *public* pool, the records that are under-represented in the private data, or ones that differ from it and
    from each other. All of that is post-processing: the choice reveals no more than the release does.

    **From a stream: not private.** `keep(batch)` thins a stream as it passes: it counts each batch in a secret sketch,
    exactly, and says which of its records to keep. *What is kept are the records themselves.* They are no more private
    than the stream was, and rare records, the ones that need protection most, are the ones kept. Use it where thinning
    is the purpose, on data that you may hold.

    The parameters that are not listed are those of :class:`~scumble.learn.base.PrivateEstimator`.

    Parameters
    ----------
    tau : float
        How many similar records are enough: τ.

    Attributes
    ----------
    release_ : Release
        The release of the table given to `fit`.

    References
    ----------
    Coleman, Geordie, Chou, Elworth, Treangen & Shrivastava 2019; Algorithm 2, with exact probabilities in place of a
    hard threshold.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> private = rng.normal(2.0, 0.5, (10_000, 2))
    >>> pool = np.vstack([rng.normal(2.0, 0.5, (90, 2)), rng.normal(7.0, 0.5, (10, 2))])
    >>> sampler = DiversitySampler(bounds=(-1, 10)).fit(private)
    >>> sorted(sampler.select(pool, 10).tolist())        # the rare ones: 50 standard errors apart from the others
    [90, 91, 92, 93, 94, 95, 96, 97, 98, 99]
    """

    _learnt = ()

    def __init__(
        self,
        *,
        tau: float = 100.0,
        epsilon: float = 1.0,
        delta: float = 0.0,
        rho: float | None = None,
        mu: float | None = None,
        neighbors: str = "add-remove",
        kernel: Kernel | None = None,
        rows: int | None = None,
        buckets: int | None = None,
        bounds: Any = None,
        schema: Described | None = None,
        categories: Mapping[str, Sequence[Any]] | None = None,
        public: Sequence[str] = (),
        records_per_person: int = 1,
        random_state: int | None = None,
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            mu=mu,
            neighbors=neighbors,
            kernel=kernel,
            rows=rows,
            buckets=buckets,
            bounds=bounds,
            schema=schema,
            categories=categories,
            public=public,
            records_per_person=records_per_person,
            random_state=random_state,
        )
        self.tau = tau

    def fit(
        self, X: Any, y: Any = None, *, ledger: Any = None, dataset: str | None = None, part: str | None = None
    ) -> DiversitySampler:
        """Release a sketch of X. `y` is ignored; `ledger`, `dataset`, `part`: where to charge it."""
        self._check()
        account = Account.of(ledger, dataset, part)
        X = self._begin(X)
        self.release_ = self._release(X, account)
        self._learn()
        return self

    def _check(self) -> None:
        checks.number("tau", self.tau, "positive: how many like records are enough", lambda tau: tau > 0)

    def _learn(self) -> None:
        self._check()

    # ---- from a release: private ----

    def keep_probability(self, X: object) -> np.ndarray:
        """min(1, τ/f) for each record, from the release."""
        sums = self.release_.kernel_sum(self._read(X))
        return self.tau / np.maximum(sums, self.tau)

    def select(self, pool: object, n: int, *, method: str = "under-represented") -> np.ndarray:
        """The positions of n records of a public pool, best first.

        "under-represented": those with the fewest private records like them. "diverse": one after the other, the
        record least like both the private data and the records chosen before; each chosen one weighs as much as all
        private data, divided by n.
        """
        if method not in METHODS:
            raise parameter("method", f"one of {', '.join(METHODS)}", method)
        X = self._read(pool)
        n = whole("n", n, 0, len(X), must=f"a whole number up to the pool's {len(X)}")
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

        Works without `fit`. Each record is first counted and then kept with probability min(1, τ/f), f being the
        number of records like it so far.
        """
        self._check()
        fresh = "_stream" not in vars(self)
        known = not fresh or "release_" in vars(self)
        X = self._matrix(batch, clip=True) if known else self._enter(batch)[0]
        if fresh:
            budget = Budget(1.0, neighbors=self.neighbors)
            self._stream: Sketch = self._sketch(self._kernel(), X, budget)
            self._draws = np.random.default_rng(self._seed())
        f = np.maximum(self._stream.update(X).kernel_sum(X), 1.0)
        return self._draws.uniform(size=len(X)) < self.tau / f

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name not in ("_stream", "_draws")}

    def __sklearn_is_fitted__(self) -> bool:
        return "release_" in vars(self)
