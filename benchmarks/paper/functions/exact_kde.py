"""The density itself, record by record: the truth, with no privacy at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.paper.functions.answer import WeightedPoints
from benchmarks.paper.functions.method import Answer, Bounds, Method, Setting
from benchmarks.paper.sums import distinct
from scumble import EuclideanKernel


@dataclass(frozen=True)
class ExactKde(Method):
    def summarize(self, X: np.ndarray, kernel: EuclideanKernel, bounds: Bounds, setting: Setting, seed: int) -> Any:
        points, counts = distinct(X)
        return WeightedPoints(points, counts, kernel, float(len(X)))

    def publish(self, summary: WeightedPoints, epsilon: float, delta: float, rng: np.random.Generator) -> Answer:
        return summary


METHOD = ExactKde("Exact density", "—", "none")
