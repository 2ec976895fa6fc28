"""PrivateKDEClassifier: accuracy, privacy's bookkeeping, bad input, files."""

from __future__ import annotations

import numpy as np
import pytest

import scumble
from scumble.counting import engine
from scumble.density.bundle import Bundle
from scumble.kernels import ColumnKernel
from scumble.learn import PrivateKDEClassifier

pytestmark = pytest.mark.filterwarnings("ignore::scumble.errors.CuratorWarning")  # bounds that cut, on purpose


@pytest.fixture
def blobs(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two classes of 4,000 and 2,000 records in four columns, two of them idle; the best rule is right at 97 %."""
    y = (rng.uniform(size=6000) < 1 / 3).astype(int)
    X = rng.normal(0.0, 1.0, (6000, 4))
    X[:, :2] += 2.8 * y[:, None]
    return np.clip(X / 12.0 + 0.4, 0.0, 1.0), y


def fitted(X: np.ndarray, y: np.ndarray, **options: object) -> PrivateKDEClassifier:
    return PrivateKDEClassifier(**{"bounds": (0, 1), "classes": [0, 1], **options}).fit(X, y)


@pytest.mark.parametrize(("rule", "least"), [("ferns", 0.94), ("map", 0.86), ("ml", 0.85)])
def test_every_rule_learns(blobs, rule: str, least: float) -> None:
    """The best possible is about 0.975 here; twenty fits had 0.975 ± 0.002, 0.927 ± 0.008 and 0.979 ± 0.002."""
    X, y = blobs
    size = {} if rule == "ferns" else {"rows": 200, "buckets": 256}
    assert fitted(X[:5000], y[:5000], rule=rule, **size).score(X[5000:], y[5000:]) > least


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_claim_adds_up_to_the_budget_and_never_above(blobs, epsilon: float, delta: float) -> None:
    X, y = blobs
    claim = fitted(X, y, epsilon=epsilon, delta=delta, random_state=3).privacy_
    assert 0.999 * epsilon < claim.epsilon <= epsilon
    assert claim.delta <= delta


def test_a_private_choice_of_kernels_is_part_of_the_claim(blobs) -> None:
    X, y = blobs
    kernels = [ColumnKernel(0.1, origin=0.0), ColumnKernel(50.0, origin=0.0)]
    model = fitted(X, y, kernel=kernels, selection_share=0.1)
    assert [bundle.spec.kernel for bundle in model.releases_] == kernels[:1]
    assert 0.999 < model.privacy_.epsilon <= 1.0
    assert len(model.privacy_.parts) == 3  # the choice, the sketches, the calibration


def test_three_classes_and_one_that_is_absent(rng) -> None:
    y = rng.integers(0, 3, 6000)
    X = rng.uniform(0.0, 0.2, (6000, 2)) + 0.3 * y[:, None]
    model = PrivateKDEClassifier(bounds=(0, 1), classes=["a", "b", "c", "none"]).fit(X, np.array(list("abc"))[y])
    assert model.score(X, np.array(list("abc"))[y]) > 0.95
    assert set(model.releases_[0].classes) == {"a", "b", "c", "none"}
    assert np.abs(model.releases_[0]["none"].counts).sum() > 0  # full noise
    assert model.predict_proba(X[:5]).shape == (5, 4)


def test_given_priors_move_the_decision(blobs) -> None:
    X, y = blobs
    share = [fitted(X, y, priors=[p, 1 - p], calibration_share=0.0).predict(X).mean() for p in (0.999, 0.001)]
    assert share[0] < y.mean() < share[1]


def test_a_bundle_alone_is_enough(blobs, tmp_path) -> None:
    X, y = blobs
    model = fitted(X, y, calibration_share=0.0)
    paths = []
    for k, bundle in enumerate(model.releases_):
        paths.append(tmp_path / f"{k}.scumble")
        bundle.save(paths[-1])
    again = PrivateKDEClassifier.from_release(paths)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    for rule in ("ml", "map"):
        assert PrivateKDEClassifier.from_release(paths[0], rule=rule).score(X, y) > 0.6


def test_a_bundle_may_hold_its_classes_in_any_order(blobs) -> None:
    X, y = blobs
    kernel = scumble.EuclideanKernel(0.2)
    parts = {
        name: scumble.Sketch(kernel, 4, rows=30, buckets=256, design="sobol").update(X[y == k]).release(epsilon=10.0)
        for k, name in ((0, "zero"), (1, "one"))
    }
    model = PrivateKDEClassifier.from_release(Bundle(parts))
    assert np.mean(model.predict(X) == np.array(["zero", "one"])[y]) > 0.8


def test_a_release_of_the_wrong_kind_is_refused(blobs) -> None:
    X, _ = blobs
    release = scumble.Sketch(scumble.EuclideanKernel(1.0), 4, rows=8, buckets=16).update(X).release(epsilon=1.0)
    with pytest.raises(scumble.ParameterError, match="Bundle"):
        PrivateKDEClassifier.from_release(release)
    with pytest.raises(scumble.ParameterError, match="one class only"):
        PrivateKDEClassifier.from_release(Bundle({"a": release}))


def test_a_score_does_not_depend_on_who_else_is_asked_about(rng) -> None:
    """To the last bit: the scores of private records are counted, and one record may move one count only."""
    X = rng.uniform(0.0, 1.0, (2049, 6))
    model = PrivateKDEClassifier(bounds=(0, 1), classes=[0, 1]).fit(X, (X[:, 0] > 0.5).astype(int))
    together = model._scores(X)
    alone = np.concatenate([model._scores(X[i : i + 1]) for i in range(200)])
    np.testing.assert_array_equal(together[:200], alone)
    np.testing.assert_array_equal(together[-3:], model._scores(X[-3:]))  # one of them had a tile of its own


def test_a_record_that_was_learnt_from_is_scored_without_itself(blobs) -> None:
    """Every counter that it is in holds one record less, and no fewer than none."""
    X, y = blobs
    ferns = fitted(X, y)._experts()
    (seen,), (alpha,), (weight,), (layout,) = ferns.seen, ferns.alphas, ferns.weights, ferns.layouts
    rows, buckets = seen.shape[1:]
    for own in (0, 1):
        asked = X[y == own][:20]
        parts, _ = layout.read(asked, invalid="error")
        places = engine("auto").lookup(layout.hasher, parts, np.tile(np.arange(buckets, dtype=float), (rows, 1)))
        expected = np.tile(np.log(ferns.priors), (20, 1))
        for row, bucket in enumerate(places):
            here = seen[:, row, bucket.astype(int)].copy()
            here[own] = np.maximum(here[own] - 1.0, 0.0)
            shares = ferns.shares[:, None]
            evidence = np.log((here + alpha * shares) / (here.sum(axis=0) + alpha) / shares)
            expected += (weight[0, row, 0] * evidence).T
        np.testing.assert_allclose(ferns.scores(asked, own), expected, rtol=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 30.0])
def test_where_nothing_can_be_told_the_larger_class_is_the_answer(rng, epsilon: float) -> None:
    """With much noise, and with little: ferns that know their records by heart must not be taken at their word."""
    X, y = rng.uniform(0.0, 1.0, (1500, 8)), (rng.uniform(size=1500) < 0.4).astype(int)
    model = fitted(X, y, epsilon=epsilon)
    asked = rng.uniform(0.0, 1.0, (2000, 8))
    assert model.predict(asked).mean() < 0.02
    assert len(np.unique(model.decision_function(asked))) > 1000  # they are ranked all the same
