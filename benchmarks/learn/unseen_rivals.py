"""The rivals of :mod:`benchmarks.learn.unseen`, run by an interpreter of their own; it needs no scumble.

    python unseen_rivals.py FAMILY SPLIT.npz OUT.npz EPSILON,DELTA EPSILON,DELTA …

FAMILY is "interpret" (DPEBM), "diffprivlib", or "statistics" (AdaSSP and Laplace sufficient statistics: NumPy alone).
Columns and target come scaled to [−1, 1] by their public bounds; labels are 0 and 1. Words come as columns of −1 and 1,
and to DPEBM as words. OUT gets one array of scores for each method and budget, "method@ε,δ": predictions for a
regression, else what grows with the chance of class 1 and is 0 where both are equally likely.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np


def interpret(X: Any, y: Any, Q: Any, epsilon: float, delta: float, classify: bool, nominal: Any) -> dict[str, Any]:
    """Private boosted additive models (Nori et al. 2021). They need a δ, and take words as they are."""
    if delta == 0.0:
        return {}
    from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

    bounds = {j: (-1.0, 1.0) for j in range(X.shape[1]) if not nominal[j]}
    X, Q = (_words(one, nominal) for one in (X, Q))
    told = {"epsilon": epsilon, "delta": delta, "privacy_bounds": bounds, "n_jobs": 1, "random_state": None}
    told["feature_types"] = ["nominal" if one else "continuous" for one in nominal]
    if classify:
        model = DPExplainableBoostingClassifier(**told).fit(X, y)
        return {"DPEBM": model.predict_proba(Q)[:, 1] - 0.5}
    told |= {"privacy_target_min": -1.0, "privacy_target_max": 1.0}
    return {"DPEBM": DPExplainableBoostingRegressor(**told).fit(X, y).predict(Q)}


def diffprivlib(X: Any, y: Any, Q: Any, epsilon: float, delta: float, classify: bool) -> dict[str, Any]:
    """diffprivlib's models, of pure privacy."""
    import scipy.optimize
    from diffprivlib import models

    search = scipy.optimize.fmin_l_bfgs_b
    # Newer SciPy has no such words; diffprivlib still says them.
    scipy.optimize.fmin_l_bfgs_b = lambda *words, iprint=None, disp=None, **more: search(*words, **more)
    d = X.shape[1]
    box = (np.full(d, -1.0), np.full(d, 1.0))
    if not classify:
        return {
            "dpl linear": models.LinearRegression(epsilon=epsilon, bounds_X=box, bounds_y=(-1.0, 1.0))
            .fit(X, y)
            .predict(Q)
        }
    logistic = models.LogisticRegression(epsilon=epsilon, data_norm=float(np.sqrt(d)), max_iter=500).fit(X, y)
    bayes = models.GaussianNB(epsilon=epsilon, bounds=box).fit(X, y)
    forest = models.RandomForestClassifier(epsilon=epsilon, bounds=box, classes=[0, 1], n_estimators=10).fit(X, y)
    return {
        "dpl logistic": logistic.decision_function(Q),
        "dpl bayes": np.nan_to_num(bayes.predict_proba(Q)[:, 1]) - 0.5,
        "dpl forest": forest.predict_proba(Q)[:, 1] - 0.5,
    }


def statistics(X: Any, y: Any, Q: Any, epsilon: float, delta: float, classify: bool) -> dict[str, Any]:
    """Sufficient statistics with noise: AdaSSP (Wang 2018) with δ, plain Laplace noise without; for classes, on ±1."""
    rng = np.random.default_rng()
    target = 2.0 * y - 1.0 if classify else y
    Z = np.column_stack([X, np.ones(len(X))])
    q = Z.shape[1]
    G, b = Z.T @ Z, Z.T @ target
    if delta > 0.0:
        share, size, root = epsilon / 3.0, float(q), np.sqrt(np.log(6.0 / delta))
        least = max(np.linalg.eigvalsh(G)[0] + root * size / share * rng.normal() - root**2 * size / share, 0.0)
        ridge = max(0.0, np.sqrt(q * np.log(2.0 * q * q / 0.05)) * root * size / share - least)
        G = G + _symmetric(rng.normal(size=(q, q))) * root * size / share
        b = b + rng.normal(size=q) * root * np.sqrt(size) / share
        name = "AdaSSP"
    else:
        scale = (q * (q + 1) / 2 + q) / epsilon
        G = G + _symmetric(rng.laplace(size=(q, q))) * scale
        b = b + rng.laplace(size=q) * scale
        ridge = 2.0 * np.sqrt(2.0) * scale * np.sqrt(q)
        name = "Laplace statistics"
    values, vectors = np.linalg.eigh(G)
    theta = vectors @ ((vectors.T @ b) / (np.maximum(values, 0.0) + ridge + 1e-9))
    return {name: np.column_stack([Q, np.ones(len(Q))]) @ theta}


def _words(X: Any, nominal: Any) -> Any:
    """Columns of codes as words."""
    if not np.any(nominal):
        return X
    out = X.astype(object)
    for j in np.flatnonzero(nominal):
        out[:, j] = [f"w{int(code)}" for code in X[:, j]]
    return out


def _symmetric(M: Any) -> Any:
    return np.triu(M) + np.triu(M, 1).T


FAMILIES = {"diffprivlib": diffprivlib, "statistics": statistics}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    family, split, out, *budgets = sys.argv[1:]
    held, found = np.load(split), {}
    for budget in budgets:
        epsilon, delta = map(float, budget.split(","))
        classify = bool(held["classify"])
        if family == "interpret":
            mixed = held["mixed"], held["y"], held["mixed_Q"]
            made = interpret(*mixed, epsilon, delta, classify, held["nominal"])
        else:
            made = FAMILIES[family](held["X"], held["y"], held["Q"], epsilon, delta, classify)
        found |= {f"{method}@{budget}": scores for method, scores in made.items()}
    np.savez(out, **found)
