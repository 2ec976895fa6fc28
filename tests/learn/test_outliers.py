"""PrivateOutlierDetector against the exact kernel density; the benchmark has more shapes and dimensions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from scumble import learn
from scumble.learn.outliers import PrivateOutlierDetector

pytestmark = pytest.mark.filterwarnings("ignore::scumble.errors.CuratorWarning")  # bounds that cut, on purpose

HASHED: dict[str, Any] = {"rows": 256, "buckets": 512, "bounds": (0, 1)}


def planted(rng: np.random.Generator, d: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    X = 0.5 + rng.normal(0.0, 0.1, (n, d))
    far = rng.uniform(size=n) < 0.05
    X[far] = rng.uniform(size=(int(far.sum()), d))
    return np.clip(X, 0.0, 1.0), far


@pytest.mark.parametrize("d", [2, 5])
def test_as_good_as_the_exact_density(d: int, rng: np.random.Generator) -> None:
    """AUC: the benchmark's largest loss is 0.001. Rate: twelve fits had 0.051 ± 0.008, noise and new records."""
    X, _ = planted(rng, d, 20_000)
    Q, far = planted(rng, d, 1000)
    size = {} if d == 2 else {"rows": 256, "buckets": 512}
    model = PrivateOutlierDetector(contamination=0.05, bounds=(0, 1), **size).fit(X)
    exact = np.concatenate([model.release_.kernel(part, X).sum(axis=1) for part in np.array_split(Q, 10)])
    assert roc_auc_score(~far, model.score_samples(Q)) > roc_auc_score(~far, exact) - 0.02
    assert abs(np.mean(model.predict(Q) == -1) - 0.05) < 0.06


def shaped(shape: str, d: int, rng: np.random.Generator, n: int = 60_000) -> np.ndarray:
    if shape == "planted":
        return planted(rng, d, n)[0]
    if shape == "skewed":
        return np.clip(0.05 * np.exp(rng.normal(0.0, 0.8, (n, d))), 0.0, 1.0)
    if shape == "heavy-tailed":
        return np.clip(0.5 + 0.04 * rng.standard_t(2, (n, d)), 0.0, 1.0)
    return rng.uniform(size=(40, d))[rng.choice(40, n, p=rng.dirichlet(np.ones(40)))] + rng.normal(0.0, 0.01, (n, d))


@pytest.mark.parametrize(
    ("d", "shape", "options"),
    [
        *((2, "skewed", {}), (2, "heavy-tailed", {})),
        *((5, "heavy-tailed", {**HASHED, "columns_share": 0.0}), (16, "clumps", {**HASHED, "columns_share": 0.4})),
    ],
)
def test_the_asked_rate_is_kept(d: int, shape: str, options: dict[str, Any], rng: np.random.Generator) -> None:
    """Six fits of each were off by 0.005 ± 0.003 at most on grids, eight in hashed rows by 0.001 ± 0.003."""
    X = shaped(shape, d, rng)
    model = PrivateOutlierDetector(**{"bounds": (0, 1), **options}).fit(X)
    assert (model.scores_ is None) == (not options) and model.release_.privacy.epsilon <= 1.0
    for contamination in (0.02, 0.05, 0.1, *([0.3] if options else [])):
        model.contamination = contamination
        model._learn()  # from the same releases: asking again is free
        assert abs(np.mean(model.predict(X[:20_000]) == -1) - contamination) < 0.025


@pytest.mark.parametrize("budget", [{}, {"neighbors": "replace"}, {"records_per_person": 3}, {"delta": 1e-6}])
def test_both_releases_are_paid_for(budget: dict[str, Any]) -> None:
    X = np.random.default_rng(0).normal(0.5, 0.1, (2000, 4))
    model = PrivateOutlierDetector(**HASHED, **budget).fit(X)
    assert model.scores_ is not None
    assert model.privacy_.epsilon <= 1.0 + 1e-9 and (budget.get("delta") or model.privacy_.epsilon > 1.0 - 1e-9)
    kernel, columns, scores = model.privacy_.parts
    assert scores.epsilon == pytest.approx(0.1)
    if "delta" in budget:  # the first two add up as one Gaussian release, and it is all used
        assert model.privacy_.epsilon > 0.999 and kernel.rho / columns.rho == pytest.approx(77 / 40, rel=1e-3)
        assert model.privacy_.delta <= budget["delta"]
    else:
        assert [kernel.epsilon, columns.epsilon] == pytest.approx([0.9 - 4 / 13, 4 / 13])  # four columns, and nine
    assert all(part.records_per_person == budget.get("records_per_person", 1) for part in model.privacy_.parts)
    in_rho = PrivateOutlierDetector(**{**HASHED, "epsilon": None}, rho=0.1, delta=1e-9).fit(X[:500])
    assert in_rho.privacy_.delta <= 1e-9 and in_rho.privacy_.rho == pytest.approx(0.1)


def test_a_records_cell_is_its_own_affair(rng: np.random.Generator) -> None:
    """The kernel sums that are counted are those of the release, and the same to the last bit in any company."""
    X, _ = planted(rng, 5, 3000)
    release = PrivateOutlierDetector(**HASHED).fit(X).release_
    reader, read = release._reader(), release.spec.layout.read
    sums = reader.lone_sums(read(X, invalid="error")[0])
    np.testing.assert_allclose(sums, release.kernel_sum(X), rtol=1e-9, atol=1e-9)
    for part in (X[:1], X[:7], X[:2999]):
        np.testing.assert_array_equal(reader.lone_sums(read(part, invalid="error")[0]), sums[: len(part)])


def local(rng: np.random.Generator, d: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Clusters; the outliers have each column from another record, or one value that no other record has."""
    X = rng.uniform(0.1, 0.6, (8, d))[rng.integers(0, 8, n)] + rng.normal(0.0, 0.02, (n, d))
    kind = rng.choice(3, n, p=[0.94, 0.03, 0.03])
    mixed, odd = np.flatnonzero(kind == 1), np.flatnonzero(kind == 2)
    X[mixed] = np.column_stack([rng.permutation(column)[: len(mixed)] for column in X.T])
    X[odd, rng.integers(0, d, len(odd))] = rng.uniform(0.75, 1.0, len(odd))
    return X, kind > 0


@pytest.fixture(scope="module")
def blended() -> Any:
    X, far = local(np.random.default_rng(7), 8, 20_000)
    return PrivateOutlierDetector(epsilon=3.0, bounds=(0, 1), rows=64, buckets=512).fit(X), X, far


def test_ahead_of_kernel_and_histograms(blended: Any) -> None:
    """Half of these outliers only the kernel can tell, half are plainest in one column: each alone is the worse."""
    model, X, far = blended
    blend = model._blended()
    assert blend is not None and all(weight > 0.0 for weight in blend.weights)
    codes = blend.schema.encode(X, invalid="error")[0]
    columns, kernel, _ = blend._three(codes, X)
    both = roc_auc_score(~far, model.score_samples(X))
    assert both > roc_auc_score(~far, columns) + 0.05 and both > roc_auc_score(~far, kernel)


def test_columns_are_counted_as_they_are(blended: Any) -> None:
    """The histograms of single columns against NumPy's; 80 numbers within 22 scales: a false alarm in 4e-8."""
    model, X, _ = blended
    assert model.columns_ is not None
    exact = np.concatenate([np.histogram(column, 10, (0.0, 1.0))[0] for column in X.T])
    scale = 17.0 / 3.0
    assert np.abs(model.columns_.counts - exact).max() < 22.0 * scale
    assert len(model.columns_.counts) == 8 * 10 and set(model.columns_.scales) == {model.columns_.scales[0]}


def test_a_blended_score_is_its_records_own_affair(blended: Any, tmp_path: Path) -> None:
    """It is counted, so it must be the same to the last bit in any company; and in a copy of the model."""
    model, X, _ = blended
    scores = model.score_samples(X[:3000])
    for part in (1, 7, 2999):
        np.testing.assert_array_equal(model.score_samples(X[:part]), scores[:part])
    model.save(tmp_path / "model.scumble")
    np.testing.assert_array_equal(learn.load(tmp_path / "model.scumble").score_samples(X[:3000]), scores)
    blend = model._blended()
    assert blend is not None
    places = blend.squashed(scores)
    assert np.abs(places).max() < 1.0
    np.testing.assert_allclose([blend.unsquashed(place) for place in places[:50]], scores[:50], rtol=1e-9)
