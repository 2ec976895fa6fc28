"""What every method of function release offers, so one experiment can run them all.

A release has two steps. `summarize` reads the records: exact, secret, and often the same for every budget. `publish`
adds the noise; what it returns answers any query, and is all that an analyst gets. The experiments keep summaries
between budgets to save time; `release` runs both.

Neighbors add or remove one record for every method, and N is secret: a method that needs it pays for a noisy N out of
the same budget, as scumble does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from scumble import EuclideanKernel

Setting = tuple[tuple[str, Any], ...]
"""One choice of a method's own parameters, as (name, value) pairs."""
Bounds = tuple[float, float] | None
Answer = Callable[[np.ndarray], np.ndarray]
"""From queries to densities."""


@dataclass(frozen=True)
class Method:
    """A way to release densities. `private` is "pure", "approximate", "none" or "not as claimed"."""

    name: str
    reference: str
    private: str
    kernel: str = "the LSH kernel of scumble.EuclideanKernel"

    def why_not(self, n: int, d: int, epsilon: float) -> str | None:
        """Why it cannot run on n records of d columns, in plain words; None if it can."""
        return None

    def settings(self, n: int, d: int, epsilon: float) -> tuple[Setting, ...]:
        """Parameters worth trying. Where there are several, the experiments take the best in hindsight."""
        return ((),)

    def own_kernel(self, kernel: EuclideanKernel) -> Any:
        """The kernel whose density it releases."""
        return kernel

    def summarize(self, X: np.ndarray, kernel: EuclideanKernel, bounds: Bounds, setting: Setting, seed: int) -> Any:
        """What is read off the records: exact and secret."""
        raise NotImplementedError

    def publish(self, summary: Any, epsilon: float, delta: float, rng: np.random.Generator) -> Answer:
        """The summary with noise, as a function from queries to densities."""
        raise NotImplementedError

    def release(
        self,
        X: np.ndarray,
        kernel: EuclideanKernel,
        epsilon: float,
        delta: float,
        seed: int,
        bounds: Bounds,
        setting: Setting | None = None,
    ) -> Answer:
        """The whole way from records to a public function of densities."""
        if setting is None:
            setting = self.settings(*X.shape, epsilon)[0]
        summary = self.summarize(X, kernel, bounds, setting, seed)
        return self.publish(summary, epsilon, delta, np.random.default_rng([seed, 1]))
