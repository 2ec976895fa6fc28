"""Learning on tables that no choice was made on, beside DPEBM, diffprivlib, AdaSSP and Laplace sufficient statistics.

    python -m benchmarks.learn.unseen DATA [--interpret PYTHON] [--diffprivlib PYTHON] [--runs 3] [--out results.json]

DATA is a folder with the CSV files named in `TABLES`, from two public repositories on GitHub: ``jbrownlee/Datasets``
and ``vincentarelbundock/Rdatasets`` (folder ``csv``, a file's package before its name: ``ggplot2_diamonds.csv``). The
interpreters are those of environments with ``interpret-core`` and with ``diffprivlib`` and scikit-learn below 1.6; a
rival without one is left out.

Numbers and words of up to eight levels are taken as columns, words as one column per level; rows with missing cells are
left out. The columns' least and greatest values count as public bounds, for all methods alike. At most 10,000 records
are learnt from, and at most 5,000 others are predicted. Regressions: mean squared error over the target's variance;
predictions are clipped to the target's bounds, for all alike. Classes: the area under the ROC curve, and accuracy.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from scumble import learn

TABLES: dict[str, tuple[str, str | int, Any]] = {
    "diamonds": ("ggplot2_diamonds.csv", "price", None),
    "computers": ("Ecdat_Computers.csv", "price", None),
    "abalone": ("abalone.csv", 8, None),
    "white wine": ("winequality-white.csv", 11, None),
    "wages 1988": ("AER_CPS1988.csv", "wage", None),
    "earnings 1978": ("DAAG_cps1.csv", "re78", None),
    "ridership": ("modeldata_Chicago.csv", "ridership", None),
    "houses": ("ggplot2_txhousing.csv", "median", None),
    "mammography": ("mammography.csv", 6, "'1'"),
    "phoneme": ("phoneme.csv", 5, 1),
    "lending": ("modeldata_lending_club.csv", "Class", "bad"),
    "churn": ("modeldata_mlc_churn.csv", "churn", "yes"),
    "telephone": ("modeldata_wa_churn.csv", "churn", "Yes"),
    "light chains": ("survival_flchain.csv", "death", 1),
    "spam": ("DAAG_spam7.csv", "yesno", "y"),
    "caravan": ("ISLR_Caravan.csv", "Purchase", "Yes"),
}
"""File, target (a name, or a place where there are none), and the label of class 1: None for a regression."""
BUDGETS = [(epsilon, delta) for delta in (0.0, 1e-6) for epsilon in (0.1, 1.0, 3.0)]
MOST, QUERIES, LEVELS = 10_000, 5_000, 8
OURS = ("linear", "additive", "classes", "planes")


def table(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray, bool]:
    """Columns and target, scaled to [−1, 1] (labels: 0 and 1), and whether to classify."""
    file, target, positive = TABLES[name]
    frame = pd.read_csv(folder / file, header=None if isinstance(target, int) else 0)
    frame = frame.drop(columns=[one for one in ("rownames", "futime", "chapter") if one in frame.columns])
    y = frame.pop(target)
    words = frame.select_dtypes(exclude=["number", "bool"])
    few = [one for one in words if words[one].nunique() <= LEVELS]
    plain = frame.drop(columns=list(words)).astype(float)
    X = pd.concat([plain, *(pd.get_dummies(words[one].astype("string"), dtype=float) for one in few)], axis=1)
    X = X.loc[:, X.isna().mean() < 0.2]
    known = (X.notna().all(axis=1) & y.notna()).to_numpy()
    values, aim = X.to_numpy(float)[known], y[known].to_numpy()
    low, high = values.min(axis=0), values.max(axis=0)
    scaled = 2.0 * (values - low) / np.where(high > low, high - low, 1.0) - 1.0
    if positive is not None:
        return scaled, (aim == positive).astype(int), True
    aim = aim.astype(float)
    return scaled, 2.0 * (aim - aim.min()) / (aim.max() - aim.min()) - 1.0, False


def ours(X: np.ndarray, y: np.ndarray, Q: np.ndarray, epsilon: float, delta: float, classify: bool) -> dict[str, Any]:
    """scumble's estimators as they come."""
    common: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "bounds": (-1.0, 1.0)}
    if classify:
        common["classes"] = [0, 1]
        return {
            "classes": learn.PrivateKDEClassifier(**common).fit(X, y).decision_function(Q),
            "planes": learn.PrivateLinearClassifier(**common).fit(X, y).decision_function(Q),
        }
    common["target_bounds"] = (-1.0, 1.0)
    return {
        "linear": learn.PrivateLinearRegression(**common).fit(X, y).predict(Q),
        "additive": learn.PrivateAdditiveRegressor(**common).fit(X, y).predict(Q),
    }


def rivals(split: Path, pythons: dict[str, str]) -> dict[str, np.ndarray]:
    """What each of the others predicts with each budget: "method@ε,δ"."""
    found: dict[str, np.ndarray] = {}
    script = Path(__file__).with_name("unseen_rivals.py")
    for family, python in pythons.items():
        # DPEBM needs a δ; diffprivlib's models are pure.
        fit = [b for b in BUDGETS if family == "statistics" or (family == "interpret") == (b[1] > 0.0)]
        out = split.with_name(f"{family}.npz")
        words = [python, str(script), family, str(split), str(out), *(f"{epsilon},{delta}" for epsilon, delta in fit)]
        done = subprocess.run(words, capture_output=True, check=False, text=True)
        if done.returncode:
            print(family, done.stderr[-300:], file=sys.stderr)
            continue
        found |= dict(np.load(out))
    return found


def judged(scores: np.ndarray, y: np.ndarray, classify: bool) -> dict[str, float]:
    """How good predictions are."""
    if classify:
        return {"auc": float(roc_auc_score(y, scores)), "accuracy": float(np.mean((scores > 0.0) == (y == 1)))}
    return {"error": float(np.mean((np.clip(scores, -1.0, 1.0) - y) ** 2) / y.var())}


def measured(folder: Path, name: str, run: int, pythons: dict[str, str]) -> list[dict[str, Any]]:
    """Every method with every budget, on one split."""
    X, y, classify = table(folder, name)
    order = np.random.default_rng(run).permutation(len(y))
    cut = min(MOST, int(0.75 * len(y)))
    train, test = order[:cut], order[cut : cut + QUERIES]
    out = []
    with tempfile.TemporaryDirectory() as place:
        split = Path(place) / "split.npz"
        np.savez(split, X=X[train], y=y[train], Q=X[test], classify=classify)
        others = rivals(split, pythons)
        for epsilon, delta in BUDGETS:
            began = time.perf_counter()
            found = ours(X[train], y[train], X[test], epsilon, delta, classify)
            seconds = time.perf_counter() - began
            end = f"@{epsilon},{delta}"
            found |= {name.removesuffix(end): one for name, one in others.items() if name.endswith(end)}
            about = {"table": name, "run": run, "epsilon": epsilon, "delta": delta, "seconds": seconds}
            about |= {"records": cut, "columns": X.shape[1], "classify": classify}
            about["share"] = float(max(np.mean(y[test]), 1.0 - np.mean(y[test]))) if classify else None
            out += [{**about, "method": method, **judged(one, y[test], classify)} for method, one in found.items()]
    return out


def shown(results: list[dict[str, Any]]) -> str:
    """Tables in Markdown, and in how many cells the best of ours is best, or within a standard error of the best."""
    frame, out = pd.DataFrame(results), []
    cells = won = 0
    for classify, word in ((False, "error"), (True, "auc")):
        for delta in (0.0, 1e-6):
            part = frame[(frame.classify == classify) & (frame.delta == delta)]
            if part.empty:
                continue
            methods = list(dict.fromkeys(part.method))
            out += ["", f"{'AUC' if classify else 'error/variance'}, δ = {delta:g}, at ε = 0.1 / 1 / 3:", ""]
            out += ["| table | " + " | ".join(methods) + " |", "|---" * (len(methods) + 1) + "|"]
            for name, of_table in part.groupby("table", sort=False):
                line = [str(name)]
                for method in methods:
                    means = [
                        of_table[(of_table.method == method) & (of_table.epsilon == epsilon)][word].mean()
                        for epsilon in (0.1, 1.0, 3.0)
                    ]
                    line.append(" ".join(f"{mean:.2f}" for mean in means))
                out.append("| " + " | ".join(line) + " |")
                for _, cell in of_table.groupby("epsilon"):
                    found = cell.groupby("method")[word].agg(["mean", "std", "count"])
                    found["mean"] *= -1 if classify else 1
                    mine = found[found.index.isin(OURS)]["mean"].min()
                    best = found.loc[found["mean"].idxmin()]
                    cells += 1
                    won += bool(mine <= best["mean"] + best["std"] / np.sqrt(best["count"]))
    return "\n".join([*out, "", f"Best, or within a standard error of the best: {won} of {cells} cells."])


def main() -> None:
    """Measure, write, show."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--interpret", help="an interpreter with interpret-core")
    parser.add_argument("--diffprivlib", help="an interpreter with diffprivlib")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="the number of the first run: its split's seed")
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--out", type=Path, default=Path("unseen.json"))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    pythons = {"statistics": sys.executable}
    pythons |= {name: getattr(args, name) for name in ("interpret", "diffprivlib") if getattr(args, name)}
    results: list[dict[str, Any]] = []
    for run in range(args.first, args.first + args.runs):
        for name in args.tables.split(","):
            results += measured(args.data, name, run, pythons)
            args.out.write_text(json.dumps(results))
            print(name, run, f"{time.process_time():.0f} s", file=sys.stderr)
    print(shown(results))


if __name__ == "__main__":
    main()
