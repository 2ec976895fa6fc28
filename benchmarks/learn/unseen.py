"""Learning on tables that no choice was made on, beside DPEBM, diffprivlib, AdaSSP and Laplace sufficient statistics.

    python -m benchmarks.learn.unseen DATA [--tables all] [--interpret PYTHON] [--diffprivlib PYTHON] [--jobs 2]
        [--runs 3] [--out results.json]

DATA is a folder with the CSV files named in :mod:`benchmarks.learn.unseen_tables`, from two public repositories on
GitHub: ``jbrownlee/Datasets`` and ``vincentarelbundock/Rdatasets`` (folder ``csv``, a file's package before its name:
``ggplot2_diamonds.csv``). The interpreters are those of environments with ``interpret-core`` and with ``diffprivlib``
and scikit-learn below 1.6; a rival without one is left out.

Methods that take words, ours and DPEBM, get them as they are; the others get a column per word. The numbers' least and
greatest values, and the words, count as public, for all methods alike. At most 10,000 records are learnt from, and at
most 5,000 others are predicted. Regressions: mean squared error over the target's variance; predictions are clipped to
the target's bounds, for all alike. Classes: the area under the ROC curve, and accuracy.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from benchmarks.learn.unseen_tables import LATER, TABLES, Table, table
from scumble import learn

BUDGETS = [(epsilon, delta) for delta in (0.0, 1e-6) for epsilon in (0.1, 1.0, 3.0)]
MOST, QUERIES = 10_000, 5_000
OURS = ("linear", "additive", "classes", "planes")


def ours(train: Table, y: np.ndarray, Q: pd.DataFrame, epsilon: float, delta: float) -> dict[str, Any]:
    """scumble's estimators as they come."""
    plain = [one for one in train.frame if one not in train.categories]
    common: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "bounds": dict.fromkeys(plain, (-1.0, 1.0))}
    if train.categories:
        common["categories"] = train.categories
    if train.classify:
        common["classes"] = [0, 1]
        return {
            "classes": learn.PrivateKDEClassifier(**common).fit(train.frame, y).decision_function(Q),
            "planes": learn.PrivateLinearClassifier(**common).fit(train.frame, y).decision_function(Q),
        }
    common["target_bounds"] = (-1.0, 1.0)
    return {
        "linear": learn.PrivateLinearRegression(**common).fit(train.frame, y).predict(Q),
        "additive": learn.PrivateAdditiveRegressor(**common).fit(train.frame, y).predict(Q),
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
    warnings.simplefilter("ignore")
    whole = table(folder, name)
    y, classify = whole.y, whole.classify
    order = np.random.default_rng(run).permutation(len(y))
    cut = min(MOST, int(0.75 * len(y)))
    train, test = order[:cut], order[cut : cut + QUERIES]
    codes = whole.frame.assign(**{one: whole.frame[one].map(words.index) for one, words in whole.categories.items()})
    nominal = [one in whole.categories for one in whole.frame]
    learnt, asked = whole._replace(frame=whole.frame.iloc[train]), whole.frame.iloc[test]
    out = []
    with tempfile.TemporaryDirectory() as place:
        split = Path(place) / "split.npz"
        mixed = codes.to_numpy(float)
        forms = {"X": whole.numbers[train], "Q": whole.numbers[test], "mixed": mixed[train], "mixed_Q": mixed[test]}
        np.savez(split, **forms, y=y[train], classify=classify, nominal=nominal)
        others = rivals(split, pythons)
        for epsilon, delta in BUDGETS:
            began = time.perf_counter()
            found = ours(learnt, y[train], asked, epsilon, delta)
            seconds = time.perf_counter() - began
            end = f"@{epsilon},{delta}"
            found |= {name.removesuffix(end): one for name, one in others.items() if name.endswith(end)}
            about = {"table": name, "run": run, "epsilon": epsilon, "delta": delta, "seconds": seconds}
            about |= {"records": cut, "columns": whole.frame.shape[1], "classify": classify}
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
    parser.add_argument("--tables", default=",".join(TABLES), help="names, or: all, later")
    parser.add_argument("--jobs", type=int, default=1, help="splits at a time")
    parser.add_argument("--out", type=Path, default=Path("unseen.json"))
    args = parser.parse_args()
    pythons = {"statistics": sys.executable}
    pythons |= {name: getattr(args, name) for name in ("interpret", "diffprivlib") if getattr(args, name)}
    names = {"all": [*TABLES, *LATER], "later": [*LATER]}.get(args.tables, args.tables.split(","))
    runs = range(args.first, args.first + args.runs)
    results: list[dict[str, Any]] = []
    with ProcessPoolExecutor(args.jobs, get_context("spawn")) as pool:
        waiting = {pool.submit(measured, args.data, name, run, pythons): (name, run) for run in runs for name in names}
        for done in as_completed(waiting):
            print(*waiting[done], done.exception() or "", file=sys.stderr, flush=True)
            if done.exception() is None:
                results += done.result()
                args.out.write_text(json.dumps(results))
    results.sort(key=lambda one: (names.index(one["table"]), one["run"]))
    print(shown(results))


if __name__ == "__main__":
    main()
