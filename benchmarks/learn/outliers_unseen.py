"""Outliers of public tables that nothing was chosen on, by AUC, beside private histograms of the columns.

    python -m benchmarks.learn.outliers_unseen FOLDER [runs]

FOLDER holds tables of ADBench (Han et al. 2022), ``adbench/datasets/Classical`` of its repository on GitHub: arrays X
and y in ``.npz`` files. At most 20,000 records of each are taken. The columns' least and greatest values count as
public bounds, for all methods alike.

ours
    `PrivateOutlierDetector` as it comes.
kernel
    the same with `columns_share=0`: the density alone.
histograms
    Laplace noise on 20 cells of each column, ε shared equally; the score is the sum of the logarithms of the cells'
    shares, of which none is below half a record.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from scumble.learn import PrivateOutlierDetector

SEEN = ("28_pendigits", "38_thyroid")
"""On which, beside synthetic tables and those of the paper, the weights were chosen."""
UNSEEN = ("23_mammography", "32_shuttle", "2_annthyroid", "31_satimage-2", "26_optdigits", "10_cover")
MOST, CELLS = 20_000, 20
BUDGETS = ((1.0, 0.0), (1.0, 1e-6), (0.3, 0.0))


def histograms(X: np.ndarray, low: np.ndarray, high: np.ndarray, epsilon: float) -> np.ndarray:
    """How usual each record is, by private histograms alone."""
    n, d = X.shape
    cells = np.clip(((X - low) / (high - low) * CELLS).astype(int), 0, CELLS - 1)
    total = np.zeros(n)
    for column in cells.T:
        counts = np.bincount(column, minlength=CELLS) + np.random.default_rng().laplace(0.0, d / epsilon, CELLS)
        total += np.log(np.maximum(counts, 0.5)[column])
    return total


def main(folder: str, runs: int = 3) -> None:
    print(f"{'table':>14} {'records':>8} {'columns':>7} {'budget':>12} {'ours':>6} {'kernel':>6} {'histograms':>10}")
    for name in (*SEEN, *UNSEEN):
        held = np.load(Path(folder) / f"{name}.npz")
        some = np.random.default_rng(0).permutation(len(held["X"]))[:MOST]
        X, far = held["X"][some].astype(float), held["y"][some].astype(bool)
        low, high = X.min(axis=0), X.max(axis=0)
        high = np.where(high > low, high, low + 1.0)
        for epsilon, delta in BUDGETS:
            found = []
            for run in range(runs):
                told = {"epsilon": epsilon, "delta": delta, "bounds": (low, high), "random_state": run}
                models = [PrivateOutlierDetector(**told, columns_share=share).fit(X) for share in (0.4, 0.0)]
                each = [model.score_samples(X) for model in models] + [histograms(X, low, high, epsilon)]
                found.append([roc_auc_score(~far, scores) for scores in each])
            ours, kernel, alone = np.mean(found, axis=0)
            budget = f"{epsilon:g}, {delta:g}"
            print(
                f"{name:>14} {len(X):>8,} {X.shape[1]:>7} {budget:>12} {ours:>6.3f} {kernel:>6.3f} {alone:>10.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
