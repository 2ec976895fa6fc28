"""Classifiers of vectors against their rivals, all at one budget (ε, δ), on sets that nothing was tuned on.

    python -m benchmarks.learning texts.npz images.npz --epsilon 1

Files hold `X` and `y`; without any, scikit-learn's digits. A fifth of the records tests what the others taught, and
all records are made of length 1. Rivals get what they cannot choose privately as a present: of each, the settings that
are best on average over the splits of that set are shown, chosen by the test records. Those of class means and LDA are
ridges; of DP-FC (Mehta et al. 2023), steps of gradients preconditioned by a noisy covariance; of DP-SGD (Opacus, where
it is installed), rates and epochs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy.special import softmax
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from scumble.learn import PrivateClassifier, PrivateLinearClassifier, PrivateLogisticRegression
from scumble.privacy import analytic_gaussian_sigma

try:
    import torch
    from opacus import PrivacyEngine
except ImportError:
    torch = None

Predict = Callable[[np.ndarray], np.ndarray]
RIDGES = 0.1, 1.0, 10.0
STEPS, RATES, BATCHES = (1, 4, 10), (0.3, 1.0), 10
EPOCHS, SPEEDS, CLIPS = (20,), (1.0, 4.0, 16.0), (0.3,)


def ours(X: np.ndarray, y: np.ndarray, epsilon: float, delta: float) -> Iterator[tuple[str, str, Predict]]:
    classes = list(range(y.max() + 1))
    for kind in (PrivateLogisticRegression, PrivateLinearClassifier, PrivateClassifier):
        model = kind(epsilon=epsilon, delta=delta, length=1.0, classes=classes)
        yield kind.__name__, "", model.fit(X, y).predict


def linear(weights: np.ndarray) -> Predict:
    """Of weights with the constant's last."""
    return lambda Q: (Q @ weights[:, :-1].T + weights[:, -1]).argmax(axis=1)


def noisy(total: np.ndarray, sigma: float, rng: np.random.Generator) -> np.ndarray:
    found = total + sigma * rng.normal(size=total.shape)
    return found if total.shape[0] != total.shape[1] else (np.triu(found) + np.triu(found, 1).T)


def moments(X: np.ndarray, y: np.ndarray, epsilon: float, delta: float) -> Iterator[tuple[str, str, Predict]]:
    """Nearest class means, and LDA with the covariance of all classes: a record moves its class's count and sum by
    √2, and the products by 1, whose noise is that of a budget split in halves."""
    rng, classes, (n, d) = np.random.default_rng(), y.max() + 1, X.shape
    Z = np.column_stack([X, np.ones(n)])
    one_hot = np.eye(classes)[y]
    for part, name in ((1.0, "class means"), (0.5, "DP-LDA")):
        sigma = analytic_gaussian_sigma(epsilon, delta) / np.sqrt(part)
        sums = noisy(one_hot.T @ Z, sigma * np.sqrt(2.0), rng)
        counts = np.maximum(sums[:, -1:], 1.0)
        means, shares = sums[:, :-1] / counts, counts[:, 0] / counts.sum()
        within = np.eye(d) / d
        if part < 1.0:
            within = noisy(X.T @ X, sigma, rng) / counts.sum() - (means.T * shares) @ means
        values, vectors = np.linalg.eigh(within)
        for ridge in RIDGES:
            spread = np.maximum(values, 0.0) + ridge * np.sqrt(d) * sigma / counts.sum() + 1e-9
            planes = ((means @ vectors) / spread) @ vectors.T
            offsets = np.log(shares) - 0.5 * (planes * means).sum(axis=1)
            yield name, f"ridge {ridge:g}", linear(np.column_stack([planes, offsets]))


def feature_covariance(
    X: np.ndarray, y: np.ndarray, epsilon: float, delta: float
) -> Iterator[tuple[str, str, Predict]]:
    """DP-FC: half of the budget for Σ xxᵀ, half for gradients, to which a record adds √2 at most."""
    rng, classes = np.random.default_rng(), y.max() + 1
    Z = np.column_stack([X, np.ones(len(X))]) / np.sqrt(2.0)
    one_hot, sigma = np.eye(classes)[y], analytic_gaussian_sigma(epsilon, delta) * np.sqrt(2.0)
    values, vectors = np.linalg.eigh(noisy(Z.T @ Z, sigma, rng))
    for ridge in RIDGES:
        scaled = np.maximum(values, 0.0) + ridge * sigma * np.sqrt(Z.shape[1])
        for steps in STEPS:
            for rate in RATES:
                weights = np.zeros((classes, Z.shape[1]))
                for _ in range(steps):
                    gradient = (one_hot - softmax(Z @ weights.T, axis=1)).T @ Z
                    gradient = noisy(gradient, sigma * np.sqrt(2.0 * steps), rng)
                    weights += rate * classes * ((gradient @ vectors) / scaled) @ vectors.T
                yield "DP-FC", f"ridge {ridge:g}, {steps} steps, rate {rate:g}", linear(weights)


def opacus(X: np.ndarray, y: np.ndarray, epsilon: float, delta: float) -> Iterator[tuple[str, str, Predict]]:
    """DP-SGD: logistic regression, ten batches an epoch by Poisson sampling, Opacus's own accounting."""
    records = torch.utils.data.TensorDataset(torch.tensor(X, dtype=torch.float32), torch.tensor(y))
    for epochs in EPOCHS:
        for speed in SPEEDS:
            for clip in CLIPS:
                layer = torch.nn.Linear(X.shape[1], int(y.max()) + 1)
                torch.nn.init.zeros_(layer.weight)
                model, optimizer, batches = PrivacyEngine(accountant="prv").make_private_with_epsilon(
                    module=layer,
                    optimizer=torch.optim.SGD(layer.parameters(), lr=speed / clip),
                    data_loader=torch.utils.data.DataLoader(records, batch_size=len(X) // BATCHES),
                    target_epsilon=epsilon,
                    target_delta=delta,
                    epochs=epochs,
                    max_grad_norm=clip,
                )
                for _ in range(epochs):
                    for given, wanted in batches:
                        optimizer.zero_grad()
                        torch.nn.functional.cross_entropy(model(given), wanted).backward()
                        optimizer.step()
                found = np.column_stack([layer.weight.detach().numpy(), layer.bias.detach().numpy()])
                yield "DP-SGD", f"{epochs} epochs, rate {speed:g}, clip {clip:g}", linear(found)


def without_privacy(X: np.ndarray, y: np.ndarray, epsilon: float, delta: float) -> Iterator[tuple[str, str, Predict]]:
    yield "without privacy", "", LogisticRegression(C=100.0, max_iter=300).fit(X, y).predict


def compare(X: np.ndarray, y: np.ndarray, epsilon: float, delta: float, splits: int) -> None:
    """Print the accuracy of each on the test records, and its standard error."""
    X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    y = np.unique(y, return_inverse=True)[1]
    found: dict[str, dict[str, list[float]]] = {}
    spent: dict[str, float] = {}
    for split in range(splits):
        order = np.random.default_rng(split).permutation(len(X))
        test, train = np.split(order, [len(X) // 5])
        for contestants in (ours, moments, feature_covariance, *([opacus] if torch else []), without_privacy):
            start = time.process_time()
            for name, settings, predict in contestants(X[train], y[train], epsilon, delta):
                spent[name] = spent.get(name, 0.0) + time.process_time() - start
                found.setdefault(name, {}).setdefault(settings, []).append(float(np.mean(predict(X[test]) == y[test])))
                start = time.process_time()
    print(f"  {'the largest class':<26} {np.bincount(y).max() / len(y):.4f}")
    for name, tried in found.items():
        settings, rates = max(tried.items(), key=lambda pair: np.mean(pair[1]))
        error, seconds = np.std(rates) / np.sqrt(splits), spent[name] / splits / len(tried)
        print(f"  {name:<26} {np.mean(rates):.4f} ± {error:.4f} {seconds:7.2f} s  {settings}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=1e-6)
    parser.add_argument("--splits", type=int, default=3)
    args = parser.parse_args()
    for path in args.files or [None]:
        X, y = load_digits(return_X_y=True) if path is None else (np.load(path)[name] for name in "Xy")
        print(f"{'digits' if path is None else path.stem}: {len(X):,} × {X.shape[1]}, {len(np.unique(y))} classes")
        compare(np.asarray(X, np.float64), y, args.epsilon, args.delta, args.splits)


if __name__ == "__main__":
    main()
