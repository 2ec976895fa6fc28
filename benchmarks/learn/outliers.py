"""Outliers at ε = 1: the AUC against the exact kernel density with the same kernel, and the rates that thresholds keep.

    python -m benchmarks.learn.outliers [runs]

*AUC.* A twentieth of the records is uniform over the bounds, the others are clusters, one Gaussian, or a skewed law.
Scores are taken on held-out records of the same kind.

*Rates.* `contamination` is asked for; the share of the training records that is then called outliers should be the
same. Every rate in RATES is read off the same fit, as asking again is free. `from data` is `fit`; `from release` is
`from_release` with the last fit's own release and the rates in FEW, with no data to look at: on grids both are the same
rule. Shown is the largest difference. Where many records are equal (steps, in few columns) no threshold keeps them all.

The rule for hashed rows and its constants were chosen on synthetic tables like these; the real ones, with their least
and greatest values as bounds, came last and have changed nothing. skin, in three columns, would get a grid and is also
shown with hashed rows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.paper.data import classification, load
from scumble.learn import PrivateOutlierDetector

RECORDS, QUERIES, SHARE = 20_000, 2_000, 0.05
PLANTED = ("clusters", "gaussian", "skewed")
SHAPES = (*PLANTED, "lognormal", "exponential", "heavy-tailed", "mixture", "clumps", "correlated", "even", "steps")
RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
FEW = (0.05, 0.2)


def table(rng: np.random.Generator, shape: str, d: int, n: int) -> np.ndarray:
    """Records in the unit cube."""
    if shape == "clusters":
        X = rng.uniform(0.25, 0.75, (4, d))[rng.integers(0, 4, n)] + rng.normal(0.0, 0.05, (n, d))
    elif shape == "gaussian":
        X = rng.normal(0.5, 0.1, (n, d))
    elif shape == "skewed":
        X = rng.beta(2.0, 8.0, (n, d))
    elif shape == "lognormal":
        X = 0.05 * np.exp(rng.normal(0.0, 0.8, (n, d)))
    elif shape == "exponential":
        X = rng.exponential(0.12, (n, d))
    elif shape == "heavy-tailed":
        X = 0.5 + 0.04 * rng.standard_t(2, (n, d))
    elif shape == "mixture":
        which = rng.choice(5, n, p=[0.35, 0.25, 0.2, 0.15, 0.05])
        widths = np.array([0.02, 0.05, 0.07, 0.1, 0.15])[which]
        X = rng.uniform(0.2, 0.8, (5, d))[which] + widths[:, None] * rng.normal(size=(n, d))
    elif shape == "clumps":
        X = rng.uniform(size=(60, d))[rng.choice(60, n, p=rng.dirichlet(np.full(60, 0.5)))]
        X = X + rng.normal(0.0, 0.01, (n, d))
    elif shape == "correlated":
        X = 0.5 + rng.normal(0.0, 0.15, (n, 2)) @ rng.normal(0.0, 0.7, (2, d)) + rng.normal(0.0, 0.02, (n, d))
    elif shape == "even":
        X = rng.uniform(size=(n, d))
    else:
        X = rng.binomial(4, 0.2, (n, d)) / 4.0
    return np.clip(X, 0.0, 1.0)


def planted(rng: np.random.Generator, shape: str, d: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Records in the unit cube, and which of them are planted outliers."""
    X, far = table(rng, shape, d, n), rng.uniform(size=n) < SHARE
    X[far] = rng.uniform(size=(int(far.sum()), d))
    return X, far


def auc(runs: int) -> None:
    from sklearn.metrics import roc_auc_score

    print(f"{'planted':>9} {'d':>2} {'design':>10} {'AUC exact':>10} {'private':>8} {'loss':>7}")
    for shape in PLANTED:
        for d in (2, 3, 5, 8):
            exact, private = [], []
            for run in range(runs):
                X, far = planted(np.random.default_rng(run), shape, d, RECORDS + QUERIES)
                Q, far, X = X[:QUERIES], far[:QUERIES], X[QUERIES:]
                model = PrivateOutlierDetector(contamination=SHARE, bounds=(0, 1), random_state=run).fit(X)
                sums = np.concatenate([model.release_.kernel(part, X).sum(axis=1) for part in np.array_split(Q, 20)])
                exact.append(roc_auc_score(~far, sums))
                private.append(roc_auc_score(~far, model.decision_function(Q)))
            loss = np.mean(exact) - np.mean(private)
            found = f"{np.mean(exact):>10.4f} {np.mean(private):>8.4f} {loss:>7.4f}"
            print(f"{shape:>9} {d:>2} {model.release_.design:>10} {found}", flush=True)


def tables(runs: int) -> Iterator[tuple[str, int, dict[str, Any], list[np.ndarray]]]:
    """Name, columns, options of the fit, and the table of each run."""
    for d in (3, 5, 8, 16, 25):
        for shape in SHAPES:
            made = [np.random.default_rng(run) for run in range(runs)]
            yield shape, d, {"bounds": (0, 1)}, [table(rng, shape, d, RECORDS) for rng in made]
        for shape in PLANTED:
            made = [np.random.default_rng(run) for run in range(runs)]
            yield f"{shape} +", d, {"bounds": (0, 1)}, [planted(rng, shape, d, RECORDS)[0] for rng in made]
    public: dict[str, Any] = {"public": ("bounds",)}
    skin = load("skin")[["B", "G", "R"]].to_numpy(float)
    yield "skin", 3, public, [skin] * runs
    yield "skin", 3, {**public, "rows": 1024, "buckets": 1024}, [skin] * runs
    yield "codrna", 8, public, [load("codrna").drop(columns="label").to_numpy(float)] * runs
    for name in ("pulsar", "occupancy", "nomao"):
        X = classification(name)[0]
        yield name, X.shape[1], public, [X] * runs


def off(model: PrivateOutlierDetector, X: np.ndarray, asked: tuple[float, ...]) -> list[float]:
    """How far the shares called outliers are from those asked."""
    scores, found = model.score_samples(X), []
    for rate in asked:
        model.contamination = rate
        model._learn()
        found.append(abs(float(np.mean(scores < model.offset_)) - rate))
    return found


def rates(runs: int) -> None:
    print(f"{'table':>14} {'d':>2} {'records':>8} {'design':>10} {'from data':>10} {'from release':>13}")
    errors: dict[str, list[list[float]]] = {"grid": [], "hashed": []}
    for name, d, options, made in tables(runs):
        found = []
        for run, X in enumerate(made):
            model = PrivateOutlierDetector(random_state=run, **options).fit(X)
            found.append(off(model, X, RATES))
        alone = PrivateOutlierDetector.from_release(model.release_, bounds=model.bounds_)
        rough = off(alone, X, FEW)
        design = model.release_.design
        errors["grid" if design == "grid" else "hashed"].extend(found)
        line = f"{name:>14} {d:>2} {len(X):>8,} {design:>10} {np.max(found):>10.4f} {np.max(rough):>13.4f}"
        print(line, flush=True)
    for kind, every in errors.items():
        all_of = np.array(every)
        within = np.mean(all_of <= 0.02)
        print(
            f"{kind}: {len(all_of)} fits, {within:.1%} of {all_of.size} rates within 0.02, largest {all_of.max():.4f}"
        )


def main(runs: int = 3) -> None:
    auc(runs)
    print()
    rates(runs)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
