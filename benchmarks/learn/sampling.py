"""A classifier trained on synthetic rows of occupancy, ε = 1, against one trained on the real rows.

One release a class, each with the whole budget (no record is in two classes), drawn from with `sample`. The bounds are
what an office can be like, the kernel is in units of these bounds: few rows, so their noise is small. 80/20
split, mean of several draws of the noise.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

import scumble
from benchmarks.paper.data import load
from scumble.bundle import Bundle
from scumble.learn import sample

COLUMNS = ["Temperature", "Humidity", "Light", "CO2", "HumidityRatio"]
LOW, HIGH = np.array([15.0, 10.0, 0.0, 300.0, 0.002]), np.array([30.0, 60.0, 2000.0, 2500.0, 0.012])
DRAWS = 10
KERNEL = scumble.EuclideanKernel(0.1, scale=(HIGH - LOW).tolist())
SIZE: dict[str, Any] = {"rows": 32, "buckets": 128, "design": "sobol"}


def bundle(X: np.ndarray, y: np.ndarray, epsilon: float, seed: int) -> Bundle:
    """One release a class."""

    def release(rows: np.ndarray) -> scumble.Release:
        return scumble.Sketch(KERNEL, columns=COLUMNS, seed=seed, **SIZE).update(rows).release(epsilon)

    return Bundle({label: release(X[y == label]) for label in (0, 1)}, label="label")


def classifiers() -> dict[str, Callable[[], Any]]:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    return {
        "logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
        "random forest": lambda: RandomForestClassifier(50, random_state=0),
        "decision tree": lambda: DecisionTreeClassifier(max_depth=6, random_state=0),
    }


def main(draws: int = DRAWS) -> None:
    frame = load("occupancy")
    X, y = frame[COLUMNS].to_numpy(float), frame["label"].to_numpy(int)
    order = np.random.default_rng(4).permutation(len(X))
    test, train = order[: len(X) // 5], order[len(X) // 5 :]
    kinds = classifiers()
    real = {name: make().fit(X[train], y[train]).score(X[test], y[test]) for name, make in kinds.items()}
    print(f"{'ε':>5} {'classifier':>20} {'real rows':>10} {'synthetic':>10} {'worst':>7} {'loss':>7}")
    for epsilon in (1.0, 0.1):
        scores: dict[str, list[float]] = {name: [] for name in kinds}
        start = perf_counter()
        for seed in range(draws):
            made = bundle(X[train], y[train], epsilon, seed)
            A, b = sample(made, len(train), seed, bounds=(LOW, HIGH))
            for name, make in kinds.items():
                scores[name].append(make().fit(A, b).score(X[test], y[test]))
        for name, found in scores.items():
            mean = float(np.mean(found))
            loss = real[name] - mean
            print(f"{epsilon:>5} {name:>20} {real[name]:>10.4f} {mean:>10.4f} {min(found):>7.4f} {loss:>7.4f}")
        print(f"{(perf_counter() - start) / draws:.1f} seconds a draw", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
