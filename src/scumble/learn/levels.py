"""Estimators from the release of a table: linear in the levels that its pairs of columns separate.

Every column becomes the group of its cell; a model is one weight for each group of each column, and its answer the sum
of a record's. Least squares has a closed form: the moments of such indicators are the model's own tables. A logistic
regression is learned from records drawn from the model.
"""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from scumble.columns.category import Category
from scumble.columns.grammar import known
from scumble.columns.number import Number
from scumble.columns.schema import Schema
from scumble.errors import DataError, ParameterError, many
from scumble.table.mixture import Mixture, at_level
from scumble.table.release import TableRelease

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

ROWS = 60_000
"""Records that a logistic regression is learned from."""
LEAST_ROWS = 2_000
"""Of a rare class."""
STRENGTH = 0.1
"""1/λ of its ridge."""
RIDGE = 1e-4
"""λ of least squares, per record."""
DOUBT, TINY = 10.0, 1e-9
"""Records that a pair of levels needs before it is believed to be unusual, and the least share there is."""


class Levels:
    """The records of a table as groups of levels, one for each column but the `target`, if there is one."""

    def __init__(self, release: TableRelease, target: str | None = None) -> None:
        self.release, self.target = release, target
        self.names = tuple(name for name in release.columns if name != target)
        if not self.names:
            raise ParameterError("A table of one column has nothing to learn it from.")
        self.schema = Schema({name: release.schema[name] for name in self.names})
        self.places = [release.columns.index(name) for name in self.names]
        self.groups = [release.groups[name] for name in self.names]
        sizes = [int(group.max()) + 1 for group in self.groups]
        self.starts = np.cumsum([0, *sizes])[:-1]
        self.size = sum(sizes)

    def read(self, X: object) -> Integers:
        """For each record and column the place of its group among all groups; every record must have one."""
        codes, dropped = self.schema.encode(X)
        if dropped.any():
            raise DataError(
                f"{many(int(dropped.sum()), 'record')} must be left out: outside the bounds of columns that say so. "
                "Hint: leave them out."
            )
        if not len(codes):
            raise DataError("Found a table with 0 sample(s) while a minimum of 1 is required.")
        return self.grouped(codes)

    def grouped(self, codes: Integers) -> Integers:
        """The same, of levels."""
        found = [
            start + group[codes[:, j]] for j, (start, group) in enumerate(zip(self.starts, self.groups, strict=True))
        ]
        return np.stack(found, axis=1)

    def example(self, rows: int) -> pa.Table:
        """Some records that can be read."""
        return self.schema.decode(np.zeros((rows, len(self.names)), np.int64), np.random.default_rng(0))

    def tables(self, model: Mixture) -> tuple[Floats, Floats]:
        """The shares of the records in each two groups, and in each: E[x xᵀ] and E[x] of the groups' indicators x."""
        stack = self._stack(model)
        both = (stack * model.weights[:, None]).T @ stack
        alone = model.weights @ stack
        for first, end in zip(self.starts, [*self.starts[1:], self.size], strict=True):
            both[first:end, first:end] = np.diag(alone[first:end])  # a record is in one group of a column
        return both, alone

    def products(self, model: Mixture, target: Floats) -> Floats:
        """E[x y], where y has these means in the model's components."""
        return np.asarray((self._stack(model) * (model.weights * target)[:, None]).sum(axis=0))

    def _stack(self, model: Mixture) -> Floats:
        """The groups' shares in each component, all columns side by side."""
        pairs = zip(self.places, self.groups, strict=True)
        return np.concatenate([model.columns[j] @ np.eye(int(g.max()) + 1)[g] for j, g in pairs], axis=1)


def target_of(release: TableRelease, target: str | None, task: str, kinds: tuple[str, ...]) -> str:
    """The column to learn: the one given, or the one whose classes have views of their own; `kinds` can be learned."""
    if target is None:
        target = release.target
    if target is None:
        what = " or ".join(kinds)
        raise ParameterError(f"{task} from a table needs `target`, the column to learn. Hint: it learns a {what}.")
    target = known(target, release.schema.columns)
    if release.target is None and not any(target in view and len(view) > 1 for view in release.views):
        raise ParameterError(
            f"This release has no view of {target!r} together with another column, so nothing can be learned about it. "
            f"Hint: build with target={target!r}, a larger ε, or a δ."
        )
    return target


# ---- classes ----


def classes_of(release: TableRelease, target: str) -> tuple[np.ndarray, Integers]:
    """The target's words, sorted, and their levels. Missing and unforeseen ones are no classes."""
    column = release.schema[target]
    if isinstance(column, Category):
        words: list[object] = list(column.values)
    elif column.kind == "boolean":
        words = [False, True]
    else:
        raise ParameterError(
            f"Column {target!r} holds {column.kind}s, which are no classes. "
            "Hint: PrivateLinearRegression.from_release learns numbers."
        )
    if len(words) < 2:
        raise ParameterError(f"Column {target!r} has one class only; a classifier needs two.")
    mixed = len({isinstance(word, str) for word in words}) > 1
    labels = np.array([str(word) for word in words] if mixed else words)
    order = np.argsort(labels, kind="stable")
    return labels[order], order.astype(np.int64)


def logistic(levels: Levels, codes: Integers, seed: int) -> tuple[Floats, Floats, Floats]:
    """Weights (classes, groups), intercepts and shares of the classes at these levels of the target.

    As many records as each class should have are drawn from the model; of rare classes more, with less weight.
    """
    from scipy.sparse import csr_matrix
    from sklearn.linear_model import LogisticRegression

    assert levels.target is not None
    model, generator = levels.release._answers.model, np.random.default_rng(seed)
    place = levels.release.columns.index(levels.target)
    size = levels.release.schema[levels.target].size
    shares = np.maximum(model.table([place])[codes], 1e-6)
    shares = shares / shares.sum()
    parts, weights = [], []
    for level, share in zip(codes, shares, strict=True):
        rows = max(round(ROWS * share), LEAST_ROWS)
        drawn = model.given({place: at_level(level, size)}).draw(rows, generator)
        parts.append(levels.grouped(drawn[:, levels.places]))
        weights.append(np.full(rows, ROWS * share / rows))
    places = np.concatenate(parts)
    rows, width = places.shape
    indicators = csr_matrix(
        (np.ones(places.size), places.ravel(), np.arange(0, places.size + 1, width)), (rows, levels.size)
    )
    labels = np.repeat(np.arange(len(codes)), [len(part) for part in parts])
    found = LogisticRegression(C=STRENGTH, max_iter=300, tol=1e-3).fit(indicators, labels, np.concatenate(weights))
    slopes, shifts = found.coef_, found.intercept_
    if len(codes) == 2:
        slopes, shifts = np.concatenate([-slopes, slopes]) / 2, np.append(-shifts, shifts) / 2
    return slopes, shifts, shares


# ---- numbers ----


def least_squares(levels: Levels) -> tuple[Floats, float, tuple[float, float]]:
    """Weights of the groups, the intercept, and the target's bounds."""
    assert levels.target is not None
    column = levels.release.schema[levels.target]
    if not isinstance(column, Number):
        raise ParameterError(
            f"Column {levels.target!r} is a {column.kind}, not a number. "
            "Hint: PrivateKDEClassifier.from_release learns classes."
        )
    values = column.representative
    place, known_values = levels.release.columns.index(levels.target), np.isfinite(values)
    model = levels.release._answers.model.given({place: known_values.astype(float)})
    target = model.columns[place] @ np.nan_to_num(values)
    mean = float(model.weights @ target)
    both, alone = levels.tables(model)
    covariance = both - np.outer(alone, alone) + RIDGE * np.eye(levels.size)
    slopes = np.asarray(np.linalg.solve(covariance, levels.products(model, target) - mean * alone), np.float64)
    assert column.low is not None and column.high is not None
    return slopes, mean - float(alone @ slopes), (float(column.low), float(column.high))


# ---- how usual a record is ----


def log_likelihoods(levels: Levels, places: Integers) -> Floats:
    """Σ log p(x_i) + Σ_{i<j} log p(x_i, x_j)/(p(x_i) p(x_j)) for the records whose groups are at these places.

    The logarithm of the density, as far as pairs determine it: the joint density of the model fits its own draws too
    well.
    """
    model = levels.release._answers.model
    both, alone = levels.tables(model)
    product = np.outer(alone, alone)
    count = max(levels.release._answers.total.value, 1.0)
    ratio = np.log((count * both + DOUBT * product + TINY) / ((count + DOUBT) * product + TINY))
    wide = np.concatenate([np.bincount(group) for group in levels.groups])  # many levels are not dense for that
    scores = np.log(np.maximum(alone / wide, TINY))[places].sum(axis=1)
    for i, j in itertools.combinations(range(places.shape[1]), 2):
        scores += ratio[places[:, i], places[:, j]]
    return np.asarray(scores)
