"""Planted outliers at ε = 1: the AUC against the exact kernel density with the same kernel, and the rate that the
threshold keeps.

A twentieth of the records is uniform over the bounds, the others are clusters, one Gaussian, or a skewed law. Scores
and rates are taken on held-out records of the same kind, with `contamination` set to the planted share.
"""

from __future__ import annotations

import sys
from time import perf_counter

import numpy as np

from scumble.learn import PrivateOutlierDetector

RECORDS, QUERIES, SHARE = 20_000, 2_000, 0.05
KINDS = ("clusters", "gaussian", "skewed")


def planted(rng: np.random.Generator, kind: str, d: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Records in the unit cube, and which of them are planted outliers."""
    if kind == "clusters":
        X = rng.uniform(0.25, 0.75, (4, d))[rng.integers(0, 4, n)] + rng.normal(0.0, 0.05, (n, d))
    elif kind == "gaussian":
        X = 0.5 + rng.normal(0.0, 0.1, (n, d))
    else:
        X = rng.beta(2.0, 8.0, (n, d))
    far = rng.uniform(size=n) < SHARE
    X[far] = rng.uniform(size=(int(far.sum()), d))
    return np.clip(X, 0.0, 1.0), far


def main(runs: int = 3) -> None:
    from sklearn.metrics import roc_auc_score

    heads = f"{'AUC exact':>10} {'private':>8} {'loss':>7} {'asked':>6} {'kept':>6} {'seconds':>8}"
    print(f"{'data':>9} {'d':>2} {'design':>7} {heads}")
    for kind in KINDS:
        for d in (2, 3, 5, 8):
            exact, private, kept, seconds = [], [], [], 0.0
            for run in range(runs):
                X, far = planted(np.random.default_rng(run), kind, d, RECORDS + QUERIES)
                Q, far, X = X[:QUERIES], far[:QUERIES], X[QUERIES:]
                start = perf_counter()
                model = PrivateOutlierDetector(contamination=SHARE, bounds=(0, 1), random_state=run).fit(X)
                seconds += perf_counter() - start
                sums = np.concatenate([model.release_.kernel(part, X).sum(axis=1) for part in np.array_split(Q, 20)])
                exact.append(roc_auc_score(~far, sums))
                private.append(roc_auc_score(~far, model.decision_function(Q)))
                kept.append(np.mean(model.predict(Q) == -1))
            loss = np.mean(exact) - np.mean(private)
            print(
                f"{kind:>9} {d:>2} {model.release_.design:>7} {np.mean(exact):>10.4f} {np.mean(private):>8.4f} "
                f"{loss:>7.4f} {SHARE:>6.3f} {np.mean(kept):>6.3f} {seconds / runs:>8.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
