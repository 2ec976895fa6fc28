"""PrivateLogisticRegression: what a record adds to each row, turns at the gate, accuracy, classes, files."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scumble
from scumble.errors import BudgetError, MergeError, ParameterError
from scumble.gate.rows import PublishedRow, PublishedRows, publish_in_turn
from scumble.gate.secret import Secret
from scumble.learn import PrivateLinearClassifier, PrivateLogisticRegression, logistic
from scumble.learn.descent import BLOCK, CLIP, FINE, GRAIN, WHOLE, Counting, DescentSpec, exact_logits, residuals
from scumble.learn.moments import LENGTH
from scumble.privacy import noise
from scumble.privacy.budget import Budget

BOUNDS = ((0.0, -1.0, 5.0), (1.0, 1.0, 9.0))
SPECS = {
    "bounds": DescentSpec(BOUNDS, None, False, 3, 4),
    "length": DescentSpec(((-2.0,) * 3, (2.0,) * 3), None, False, 3, 4, ball=True),
}
WAYS = Path(__file__).parents[1] / "golden" / "descents.json"
EACH = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)


def published(rows: list[np.ndarray], variance: float = 1.0) -> PublishedRows:
    """Rows as the gate would publish them."""
    made = [PublishedRow(k, row, variance, None, Fraction(1)) for k, row in enumerate(rows)]
    return PublishedRows(tuple(made), None, None, 0.0, "")  # type: ignore[arg-type]


def paths(spec: DescentSpec, rng: np.random.Generator) -> list[np.ndarray]:
    """Rows that could be published: of many records in turn, or nothing but noise of any size."""
    size = spec.step * rng.choice([1.0, 1e3, 1e6])
    rows = [rng.normal(0.0, size, length).astype(np.int64) for length in spec.lengths]
    rows[2] = np.abs(rows[2])
    return rows


def added(spec: DescentSpec, X: np.ndarray, y: np.ndarray, rows: list[np.ndarray]) -> list[np.ndarray]:
    """What records add to each row but the first, after such rows."""
    counting = Counting(spec, X, y)
    return [counting(published(rows[:number])) for number in range(1, spec.rows)]


def records(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Records within the bounds, beyond them, and very far."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-3.0, 12.0, (n, 3))
    X[:4] = [[0.0, 0.0, 0.0], [1e300, -1e300, 1e300], [1.0, 1.0, 9.0], [0.0, -1.0, 5.0]]
    return X, rng.integers(0, 3, n)


@EACH
def test_no_record_adds_more_than_the_step(spec: DescentSpec) -> None:
    X, y = records(24)
    rng, largest = np.random.default_rng(1), np.zeros(spec.rows - 1)
    for k in range(len(X)):
        for number, row in enumerate(added(spec, X[k : k + 1], y[k : k + 1], paths(spec, rng))):
            assert len(row) == spec.lengths[number + 1]
            largest[number] = max(largest[number], math.sqrt(sum(int(one) ** 2 for one in row)) / spec.step)
    assert (largest <= 1.0).all() and (largest > 0.5).all()  # the bound holds, and is not idle


@EACH
def test_a_record_adds_the_same_in_any_company(spec: DescentSpec) -> None:
    X, y = records(BLOCK + 7)
    rows = paths(spec, np.random.default_rng(2))
    whole = added(spec, X, y, rows)
    order = np.array_split(np.random.default_rng(0).permutation(len(X)), 5)
    parts = [added(spec, np.asfortranarray(X[part]), y[part], rows) for part in order]
    for number, row in enumerate(whole):
        np.testing.assert_array_equal(row, sum(part[number] for part in parts))


def test_whole_numbers_are_near_the_formulas() -> None:
    rng = np.random.default_rng(4)
    logits, y = rng.normal(0.0, 3.0, (50, 5)), rng.integers(0, 5, 50)
    expected = np.eye(5)[y] - np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    expected *= np.minimum(1.0, CLIP / np.linalg.norm(expected, axis=1, keepdims=True))
    found = residuals(np.floor(logits * GRAIN).astype(np.int64), y) / WHOLE
    np.testing.assert_allclose(found, expected, atol=2.0 / GRAIN)
    vectors, weights, offsets = rng.integers(-LENGTH, LENGTH, (20, 3)), rng.normal(size=(4, 3)), rng.normal(size=4)
    found = exact_logits(vectors, weights, offsets) / (FINE * LENGTH)
    np.testing.assert_allclose(found, vectors / LENGTH @ weights.T + offsets, atol=4 / FINE)


def test_rows_are_published_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row's noise is drawn before the row is counted, and the count sees the rows before it alone."""
    spec, events = SPECS["bounds"], []
    drawing = noise.discrete_gaussian

    def counted(found: PublishedRows) -> np.ndarray:
        events.append(len(found.rows))
        return np.zeros(spec.lengths[len(found.rows)], np.int64)

    def drawn(sigma: Any, size: Any, **options: Any) -> np.ndarray:
        events.append("drawn")
        return drawing(sigma, size, **options)

    monkeypatch.setattr("scumble.privacy.noise.discrete_gaussian", drawn)
    secret, budget = Secret(spec, drops=False), Budget(1.0, 1e-6)
    made = publish_in_turn(secret, budget, shares=spec.shares, counted=counted)
    assert events[-2 * (spec.rows - 1) :] == [one for row in range(1, spec.rows) for one in ("drawn", row)]
    assert made.privacy == budget.claim(spec.rows, spec.shares, spec.reach)
    assert [len(row.counts) for row in made.rows] == list(spec.lengths)
    with pytest.raises(BudgetError, match="released"):
        publish_in_turn(secret, budget, shares=spec.shares, counted=counted)


def words(n: int, d: int, classes: int, apart: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Like mean word vectors: directions that fade, one that all share, unit length."""
    rng = np.random.default_rng(seed)
    sizes = np.arange(1, d + 1.0) ** -0.3
    sizes /= np.linalg.norm(sizes)
    means, y = apart * rng.normal(size=(classes, d)) * sizes, rng.integers(0, classes, n)
    X = means[y] + rng.normal(size=(n, d)) * sizes + np.eye(d)[0]
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def fitted(X: np.ndarray, y: np.ndarray, **options: Any) -> PrivateLogisticRegression:
    return PrivateLogisticRegression(**{"length": 1.0, "classes": np.unique(y).tolist(), **options}).fit(X, y)


def descended(spec: DescentSpec, error: float) -> tuple[np.ndarray, ...]:
    """All that follows from 4,000 records and noise that is the same each time, `error` records in the mean."""
    X, y = words(4000, spec.dimensions, spec.classes, 1.5)
    counting, rows = Counting(spec, X, y), [np.bincount(y) * spec.step]
    for length in (*spec.lengths[1:], 0):
        rows[-1] = rows[-1] + np.rint(spec.step * error * math.sqrt(2) * np.sin(np.arange(len(rows[-1])))).astype(int)
        if length:
            rows.append(counting(published(rows, (error * spec.step) ** 2)))
    counting.descent.take(rows[-1] / spec.step, error)
    weights, offsets = counting.descent.settled()
    return counting.descent.middle, np.array([counting.descent.radius]), weights, offsets


@pytest.mark.parametrize("error", [0.5, 20.0])
@EACH
def test_a_descent_takes_the_way_that_was_decided(spec: DescentSpec, error: float) -> None:
    """From `python -m tests.learn.test_logistic`; weights are counted with in steps of a thousandth."""
    (name,) = (name for name, one in SPECS.items() if one is spec)
    wanted = json.loads(WAYS.read_text())[f"{name} {error}"]
    for found, its in zip(descended(spec, error), wanted, strict=True):
        np.testing.assert_allclose(found, its, rtol=2e-3, atol=2e-3)


def test_many_classes_of_embeddings() -> None:
    """Forty classes, 250 records each. Four fits: 0.71 to 0.72, and planes 0.58 to 0.60."""
    X, y = words(12_000, 60, 40, 0.45)
    test, truth = X[10_000:], y[10_000:]
    model = fitted(X[:10_000], y[:10_000])
    made = PrivateLinearClassifier(epsilon=1.0, delta=1e-6, length=1.0, classes=list(range(40)))
    planes = made.fit(X[:10_000], y[:10_000]).score(test, truth)
    assert model.score(test, truth) > max(0.65, planes + 0.05) and planes > 0.5
    for one in (model, made):
        chances = one.predict_proba(test)
        assert chances.shape == (2000, 40)
        np.testing.assert_allclose(chances.sum(axis=1), 1.0)


def test_with_little_noise_it_is_logistic_regression() -> None:
    """The log loss of 20 fits was .0069 above, with a standard deviation of .00002."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss

    X, y = words(6000, 20, 5, 0.5)
    best = LogisticRegression(C=100.0, max_iter=500).fit(X, y)
    model = fitted(X, y, epsilon=1000.0)
    assert model.score(X, y) > best.score(X, y) - 0.02
    assert log_loss(y, model.predict_proba(X)) < log_loss(y, best.predict_proba(X)) + 0.012
    assert model.release_.spec.steps == 8 and model.release_.spec.ball


def test_more_records_than_sums_can_hold_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = words(300, 4, 2, 1.0)
    largest = 300 * fitted(X, y).release_.spec.step * 4
    monkeypatch.setattr(logistic, "LIMIT", largest + 1)
    assert fitted(X, y).release_.privacy.delta == 1e-6
    monkeypatch.setattr(logistic, "LIMIT", largest)
    with pytest.raises(scumble.DataError):
        fitted(X, y)


def test_models_do_not_merge() -> None:
    X, y = words(300, 4, 2, 1.0)
    one, other = (fitted(X, y).release_ for _ in range(2))
    with pytest.raises(MergeError, match="steps"):
        one.merge(other)
    with pytest.raises(ParameterError, match="PrivateLogisticRegression"):
        scumble.learn.moment_release.MomentSketch(one.spec).update(X, y)
    with pytest.raises(ParameterError, match="delta"):
        fitted(X, y, delta=0.0)


def test_specs_of_files_are_checked() -> None:
    for change in ({"steps": 0}, {"steps": 65}, {"classes": 0}, {"pure": True}, {"ball": True}):
        with pytest.raises(ParameterError):
            replace(SPECS["bounds"], **change).check()


if __name__ == "__main__":
    ways = {
        f"{name} {error}": [one.tolist() for one in descended(spec, error)]
        for name, spec in SPECS.items()
        for error in (0.5, 20.0)
    }
    WAYS.write_text(json.dumps(ways) + "\n")
