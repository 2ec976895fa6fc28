"""PrivateKDEClassifier: accuracy, privacy's bookkeeping, what ferns look at, files."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import scumble
from scumble.counting import engine
from scumble.density.bundle import Bundle
from scumble.gate import selection
from scumble.kernels import ColumnKernel
from scumble.learn import PrivateKDEClassifier, models
from scumble.learn.ferns import CELLS, KEPT, ONE, choose_columns, ferns_kernel

pytestmark = pytest.mark.filterwarnings("ignore::scumble.errors.CuratorWarning")  # bounds that cut, on purpose


@pytest.fixture(scope="module")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    """Two classes of 4,000 and 2,000 records in four columns, two of them idle; the best rule is right at 97 %."""
    rng = np.random.default_rng(1)
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
    path = tmp_path / "bundle.scumble"
    model.releases_[0].save(path)
    again = PrivateKDEClassifier.from_release(path)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    for rule in ("ml", "map"):
        assert PrivateKDEClassifier.from_release(path, rule=rule).score(X, y) > 0.6


def test_bundles_in_any_order_and_what_is_none(blobs) -> None:
    X, y = blobs
    one, zero = (
        scumble.Sketch(scumble.EuclideanKernel(0.2), 4, rows=30, buckets=256).update(X[y == k]).release(epsilon=10.0)
        for k in (1, 0)
    )
    model = PrivateKDEClassifier.from_release({"zero": zero, "one": one})
    assert np.mean(model.predict(X) == np.array(["zero", "one"])[y]) > 0.8
    with pytest.raises(scumble.ParameterError, match="one class only"):
        PrivateKDEClassifier.from_release(Bundle({"a": one}))


def test_a_score_does_not_depend_on_who_else_is_asked_about(rng) -> None:
    """To the last bit: the scores of private records are counted, and one record may move one count only."""
    X = rng.uniform(0.0, 1.0, (2049, 6))  # the last has a tile of its own
    model = PrivateKDEClassifier(bounds=(0, 1), classes=[0, 1]).fit(X, (X[:, 0] > 0.5).astype(int))
    together = model._scores(X)
    for part in (*(slice(k, k + 1) for k in range(20)), slice(-3, None)):
        np.testing.assert_array_equal(together[part], model._scores(X[part]))


def test_a_record_that_was_learnt_from_is_scored_without_itself(blobs) -> None:
    """Every counter that it is in holds one record less, and no fewer than none."""
    X, y = blobs
    ferns = fitted(X, y)._experts()
    seen, alpha, weight, layout = ferns.seen, ferns.alpha, ferns.weights, ferns.layout
    rows, buckets = seen.shape[1:]
    for own in (0, 1):
        asked = X[y == own][:20]
        parts, _ = layout.read(asked, invalid="error")
        places = engine("auto").sums(layout.hasher, parts, np.tile(np.arange(buckets, dtype=float), (rows, 1)))
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


@pytest.fixture
def contests(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[int], Any, dict[str, Any]]]:
    """What noisy_best is asked; the best score wins."""
    seen: list[tuple[list[int], Any, dict[str, Any]]] = []

    def best(scores: list[int], epsilon: Any, **told: Any) -> int:
        seen.append((list(scores), epsilon, told))
        return int(np.argmax(scores))

    monkeypatch.setattr(selection, "noisy_best", best)
    return seen


def chosen(parts: list[np.ndarray], counts: list[float], people: int = 1) -> list[int]:
    width = parts[0].shape[1]
    bounds = (np.full(width, -1.0), np.full(width, 3.0))
    told = {"epsilon": Fraction(1, 7), "records_per_person": people}
    return choose_columns(parts, bounds, np.array(counts), **told)


def test_a_score_is_what_it_is_said_to_be(contests: Any, rng: np.random.Generator) -> None:
    parts = [rng.uniform(-1.0, 3.0, (n, 3)) for n in (40, 9)]
    parts[0][0] = [-1.0, 3.0, 1.0]  # the ends
    chosen(parts, [40.0, 10.0])
    weights, expected = [Fraction(1, 4) * ONE, ONE], []
    for j in range(3):
        cells = [np.histogram(part[:, j], CELLS, (-1.0, 3.0))[0].tolist() for part in parts]
        expected.append(
            sum(max(w * n for w, n in zip(weights, both, strict=True)) for both in zip(*cells, strict=True))
        )
    assert contests[0][0] == expected


def test_a_record_raises_every_score_by_one_at_most_and_lowers_none(contests: Any, rng: np.random.Generator) -> None:
    """The noise of `noisy_best` is scaled by just this."""
    moved = set()
    for people in (1, 3):
        for c in (0, 1, 2):
            parts = [rng.uniform(-1.0, 3.0, (n, 6)) for n in (20, 6, 4)]
            more = [
                np.vstack([part, rng.uniform(-1.0, 3.0, (people, 6))]) if k == c else part
                for k, part in enumerate(parts)
            ]
            counts = [20.0, 7.0, 1.0]  # noisy, and public by then: the same for both
            contests.clear()
            chosen(parts, counts, people), chosen(more, counts, people)
            (before, _, told), after = contests[0], contests[len(contests) // 2][0]
            assert told == {"sensitivity": ONE * people, "monotone": True}
            assert all(0 <= b - a <= ONE * people for a, b in zip(before, after, strict=True))
            moved |= {b - a for a, b in zip(before, after, strict=True)}
    assert max(moved) > 2 * ONE  # the bound is of use: three records of the rarest class come near to it


def test_the_choices_share_the_budget_and_take_no_column_twice(contests: Any, rng: np.random.Generator) -> None:
    parts = [rng.uniform(-1.0, 3.0, (30, 40)) for _ in range(2)]
    columns = chosen(parts, [30.0, 30.0])
    assert len(set(columns)) == len(columns) == KEPT
    assert sum(epsilon for _, epsilon, _ in contests) == Fraction(1, 7)
    assert [len(scores) for scores, _, _ in contests] == list(range(40, 40 - KEPT, -1))


def test_cuts_follow_the_records_of_a_class() -> None:
    for epsilon, counts, expected in [
        (1.0, [5000, 5000], 5),
        (1.0, [90_000, 10_000], 5),
        (0.1, [5000, 5000], 3),
        (10.0, [5000, 5000], 7),
        (1.0, [500, 500], 3),
        (1.0, [1, 1], 2),
        (1.0, [144] * 10, 2),
        (3.0, [2000] * 6, 5),
    ]:
        kernel = ferns_kernel((np.zeros(1), np.ones(1)), epsilon, np.array(counts, float))
        assert 1.0 / kernel.bandwidth == pytest.approx(expected)  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def wide() -> tuple[np.ndarray, np.ndarray]:
    """Two classes in two of 32 columns."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 2000)
    X = rng.uniform(0.0, 1.0, (2000, 32))
    X[:, [7, 20]] = (X[:, [7, 20]] + y[:, None]) / 2.0
    return X, y


def test_the_columns_of_a_wide_table_are_chosen_and_paid_for(wide: Any) -> None:
    """With ε = 200 a choice has noise of scale ½, and the columns lead by hundreds of records."""
    X, y = wide
    model = PrivateKDEClassifier(epsilon=200.0, bounds=(0, 1), classes=[0, 1]).fit(X, y)
    columns = model.releases_[0].spec.kernel.columns
    assert {7, 20} <= set(columns) and len(columns) == KEPT
    assert model.selection_epsilon_ == "30"
    assert len(model.privacy_.parts) == 4  # counts, choice, sketches, calibration
    assert 199.9 < model.privacy_.epsilon <= 200.0


def test_a_choice_spends_no_more_than_it_claims(wide: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The float 0.3 is below 3/10: a part of ε that is no float is rounded to one before it is spent."""
    spent: list[Fraction] = []
    monkeypatch.setattr(selection, "noisy_best", lambda scores, epsilon, **_: spent.append(epsilon) or 0)
    model = PrivateKDEClassifier(bounds=(0, 1), classes=[0, 1], selection_share=0.3).fit(*wide)
    assert sum(spent) == Fraction(model._selection_claims()[0].epsilon) < Fraction(3, 10)


def test_a_model_of_several_kernels_is_refused_and_not_told_as_one(blobs) -> None:
    """Its first release alone would answer otherwise, and promise less than was spent."""
    X, y = blobs
    model = fitted(X[:100], y[:100], rows=4, buckets=16)
    model.releases_ = model.releases_ * 2
    with pytest.raises(scumble.ForeignFileError):
        models.from_bytes(models.to_bytes(model))
