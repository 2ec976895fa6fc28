"""Ours, as anyone would use it: the estimator with its defaults, for each of its three rules."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.paper.method import PURE, Method
from scumble.learn import PrivateKDEClassifier


def _with(rule: str) -> Callable[..., Callable[[np.ndarray], np.ndarray]]:
    def fit(X: np.ndarray, y: np.ndarray, epsilon: float, seed: int) -> Callable[[np.ndarray], np.ndarray]:
        model = PrivateKDEClassifier(epsilon=epsilon, bounds=(0, 1), classes=[0, 1], rule=rule, random_state=seed)
        return model.fit(X, y).predict

    return fit


METHOD = Method("scumble, δ = 0", "this project", PURE, _with("ferns"))
ML = Method("scumble, δ = 0, ML", "this project", PURE, _with("ml"))
MAP = Method("scumble, δ = 0, MAP", "this project", PURE, _with("map"))
