"""scumble as it comes, `PrivateKDE`: `plan` chooses from public facts alone, discrete Laplace noise, δ = 0.

Hashed rows are refined by a synthetic companion (`scumble.learn.refine`), as `PrivateKDE` does by default.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import scumble
from benchmarks.paper.functions.memo import remember
from benchmarks.paper.functions.method import Answer, Bounds, Method, Setting
from scumble.learn import PrivateKDE


class Summary(NamedTuple):
    sketch: scumble.Sketch
    bounds: Bounds


@dataclass(frozen=True)
class Scumble(Method):
    """Nothing to choose: there is one setting, what `plan` says for this budget."""

    delta: float = 0.0

    def settings(self, n: int, d: int, epsilon: float) -> tuple[Setting, ...]:
        return ((("epsilon", epsilon),),)

    def summarize(
        self, X: np.ndarray, kernel: scumble.EuclideanKernel, bounds: Bounds, setting: Setting, seed: int
    ) -> Any:
        plan = self._plan(X, kernel, bounds, dict(setting)["epsilon"])
        return Summary(_counted(X, kernel, seed, tuple(plan.parameters().items())), bounds)

    def _plan(self, X: np.ndarray, kernel: scumble.EuclideanKernel, bounds: Bounds, epsilon: Any) -> scumble.Plan:
        return scumble.plan(*X.shape, epsilon, self.delta, kernel, bounds=bounds, refined=True)

    def publish(self, summary: Summary, epsilon: float, delta: float, rng: np.random.Generator) -> Answer:
        """The noise comes from the operating system and cannot be seeded: `rng` plays no part."""
        sketch = scumble.Sketch.from_spec(summary.sketch.spec)
        sketch.secret.counts += summary.sketch.secret.counts  # as if counted anew: there are many draws here
        return self._answer(sketch, epsilon, summary.bounds)

    def release(
        self,
        X: np.ndarray,
        kernel: scumble.EuclideanKernel,
        epsilon: float,
        delta: float,
        seed: int,
        bounds: Bounds,
        setting: Setting | None = None,
    ) -> Answer:
        """As a user would: nothing kept for another draw."""
        plan = self._plan(X, kernel, bounds, epsilon)
        sketch = scumble.Sketch(kernel, X.shape[1], seed=seed, **plan.parameters()).update(X)
        return self._answer(sketch, epsilon, bounds)

    def _answer(self, sketch: scumble.Sketch, epsilon: float, bounds: Bounds) -> Answer:
        """Answers from the release; the analyst's companion is made when the first query comes."""
        release = sketch.release(epsilon, self.delta)
        return PrivateKDE.from_release(release, bounds=bounds).density


@remember(4)
def _counted(X: np.ndarray, kernel: scumble.EuclideanKernel, seed: int, parameters: Any) -> scumble.Sketch:
    return scumble.Sketch(kernel, X.shape[1], seed=seed, **dict(parameters)).update(X)


METHOD = Scumble("scumble, δ = 0", "this project", "pure")
