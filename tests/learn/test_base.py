"""What all estimators share, tested on each: scikit-learn's own checks, privacy of facts, files, repeats."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import scumble
from estimators import EACH, fitted, options, parts, releases, small, target
from scumble import learn
from scumble.density.bundle import Bundle
from scumble.learn import models, outliers
from scumble.learn.base import RepeatedReleaseWarning
from scumble.learn.moments import HatMoments

pytestmark = pytest.mark.filterwarnings("ignore::scumble.errors.CuratorWarning")  # bounds that cut, on purpose

# scikit-learn's checks that an honest private estimator cannot pass, each with its reason.
NOISE = "the noise has no seed: two fits are two releases, and differ"
IDEMPOTENT = {"check_fit_idempotent": NOISE}
NUMBERS = {"check_supervised_y_2d": NOISE, "check_regressor_data_not_an_array": NOISE, "check_regressors_int": NOISE}
NOT_PRIVATE = {
    "PrivateOutlierDetector": IDEMPOTENT
    | {"check_outliers_fit_predict": NOISE, "check_classifier_data_not_an_array": NOISE}
    | {"check_outliers_train": "the threshold comes from the release: it holds for many records, not for 30"},
    "PrivateLinearRegression": IDEMPOTENT | NUMBERS,
    "PrivateAdditiveRegressor": IDEMPOTENT | NUMBERS,
    "PrivateLogisticRegression": IDEMPOTENT,
    "PrivateLinearClassifier": IDEMPOTENT,
    "PrivateAdditiveClassifier": IDEMPOTENT,
    "PrivateClassifier": IDEMPOTENT,
}


def checked(kind: Any) -> Any:
    """An estimator for scikit-learn's checks: they give no bounds and no classes, so their data are declared public."""
    names = options(kind)
    public = tuple(fact for fact in ("bounds", "classes", "target_bounds") if fact in names)
    facts = dict.fromkeys(public) | {"public": public}
    if "classes" in names:
        return kind(epsilon=1e6, **facts)  # all noise is 0, as good as surely: two fits agree, as the checks want
    if "target_bounds" in names:
        return kind(epsilon=100.0, delta=1e-3, rows=200, **facts)
    return small(kind, rows=8, buckets=16, starts=2, **facts)


@pytest.fixture(scope="module")
def table() -> np.ndarray:
    rng = np.random.default_rng(1)
    centers = np.array([[2.0, 2.0], [7.0, 5.0]])
    return centers[rng.integers(0, 2, 4000)] + rng.normal(0.0, 0.4, (4000, 2))


@EACH
@pytest.mark.filterwarnings("ignore::scumble.learn.RepeatedReleaseWarning")
def test_scikit_learns_own_checks(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outliers, "DRAWS", 50)  # sooner done
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning, module="sklearn")
        results = check_estimator(
            checked(kind), expected_failed_checks=NOT_PRIVATE.get(kind.__name__, {}), on_fail=None
        )
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert not failed
    passed = [result for result in results if result["status"] == "passed"]
    assert len(passed) >= 30


@EACH
def test_nothing_is_read_off_the_data_silently(kind: Any, table: np.ndarray) -> None:
    with pytest.raises(scumble.PrivacyError, match=r"bounds=\(low, high\)"):
        fitted(kind, table, bounds=None)
    fitted(kind, table, bounds=None, public=("bounds",), rows=16, buckets=64)
    with pytest.raises(scumble.ParameterError, match="public"):
        fitted(kind, table, public=("bound",))


@EACH
@pytest.mark.parametrize("budget", [{"rho": 0.02}, {"mu": 0.2, "delta": 1e-9}])
def test_every_currency_pays(kind: Any, budget: dict[str, float], table: np.ndarray) -> None:
    """A μ of 0.2 is a ρ of 0.02. Without a δ, the ε of a ρ is stated at 1e-6."""
    claim = fitted(kind, table, rows=16, buckets=64, **budget).privacy_
    assert 0.019 < claim.rho <= 0.02 * (1 + 1e-9) and claim.delta <= budget.get("delta", 1e-6)


@EACH
def test_what_fit_does_not_take(kind: Any, table: np.ndarray) -> None:
    model, y = small(kind), target(kind, table)
    with pytest.raises(scumble.ParameterError, match="sample_weight"):
        model.fit(table, y, sample_weight=np.ones(len(table)))
    with pytest.raises(scumble.DataError, match="dense"):
        model.fit(csr_matrix(table), y)
    with pytest.raises(TypeError, match="weights"):
        model.fit(table, y, weights=None)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match="from_release"):
        model.partial_fit(table, y)
    assert model.bounds == (0, 10) and not hasattr(model, "release_")


@EACH
def test_values_outside_the_bounds_are_clipped_and_the_number_stays_with_the_curator(
    kind: Any, table: np.ndarray, tmp_path: Path
) -> None:
    wild = table.copy()
    wild[:37, 1] = 1e6
    model = fitted(kind, wild, rows=16, buckets=64)
    assert model.clipped_ == 37
    model.save(tmp_path / "model.scumble")
    assert b"clipped" not in (tmp_path / "model.scumble").read_bytes()
    assert not hasattr(learn.load(tmp_path / "model.scumble"), "clipped_")
    assert not hasattr(pickle.loads(pickle.dumps(model)), "clipped_")  # noqa: S301  our own bytes


@EACH
def test_from_a_file_alone(kind: Any, table: np.ndarray, tmp_path: Path) -> None:
    """A released file makes the same estimator as the data did: what is learned is a function of the release.

    Estimators that learn a target may make several releases, which their own tests put together again.
    """
    frame = pd.DataFrame(table, columns=["a", "b"])
    model = fitted(kind, frame, random_state=3)
    model.save(tmp_path / "model.scumble")
    found = [learn.load(tmp_path / "model.scumble"), pickle.loads(pickle.dumps(model))]  # noqa: S301  our own bytes
    if target(kind, table) is None:
        model.release_.save(tmp_path / "release.scumble")
        given = {"starts": 10} if "starts" in options(kind) else {}
        found.append(kind.from_release(tmp_path / "release.scumble", **given))
    for again in found:
        assert again.n_features_in_ == 2 and list(again.feature_names_in_) == ["a", "b"]
        for one, other in zip(releases(again), releases(model), strict=True):
            assert repr(one) == repr(other)
            for mine, others in zip(parts(one), parts(other), strict=True):
                np.testing.assert_array_equal(mine.counts, others.counts)
        for name in model._learnt:
            if isinstance(value := getattr(model, name, None), int | float | np.ndarray):
                equal(getattr(again, name), value)
        assert again.privacy_ == model.privacy_
        assert again.privacy_.epsilon == pytest.approx(1.0)


def equal(found: Any, value: Any) -> None:
    if isinstance(value, np.ndarray) and value.dtype.kind in "OU":
        np.testing.assert_array_equal(found, value)
    else:
        np.testing.assert_allclose(found, value, rtol=1e-12)


@pytest.mark.parametrize("rows", [None, 16])
def test_kernels_that_call_columns_by_name(rows: int | None, table: np.ndarray) -> None:
    kernel = scumble.EuclideanKernel(1.0, scale={"a": 1.0, "b": 2.0})
    frame = pd.DataFrame(table[:20], columns=["a", "b"])
    sketch = scumble.Sketch(kernel, columns=["a", "b"], rows=rows, buckets=None if rows is None else 64, bounds=(0, 10))
    release = sketch.update(table).release(1.0)
    learn.PrivateModes.from_release(release, bounds=(0, 10), starts=10)
    learn.PrivateOutlierDetector.from_release(release, bounds=(0, 10))
    learn.DiversitySampler.from_release(release).select(frame, 5, method="diverse")
    learn.PrivateNeighbors.from_release(release).nearest(frame[:3], catalogue=frame)
    assert learn.sample(release, 7, bounds=(0, 10)).shape == (7, 2)


@EACH
def test_what_is_no_release_is_refused(kind: Any, table: np.ndarray, tmp_path: Path) -> None:
    sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), 2, rows=4, buckets=8)
    with pytest.raises(scumble.ParameterError, match="release"):
        kind.from_release(sketch)
    sketch.save(tmp_path / "part.secret")
    with pytest.raises(scumble.SecretFileError):
        kind.from_release(tmp_path / "part.secret")
    with pytest.raises(scumble.ForeignFileError, match="model"):
        sketch.release(1.0).save(tmp_path / "r.scumble")
        learn.load(tmp_path / "r.scumble")


def test_each_fit_is_a_release(table: np.ndarray) -> None:
    model = learn.PrivateKDE(bounds=(0, 10))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(table)
    with pytest.warns(RepeatedReleaseWarning, match=r"fit number 2 .* 2 times ε = 1"):
        model.fit(table)
    with pytest.warns(RepeatedReleaseWarning, match="fit number 3"):
        clone(model).fit(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learn.PrivateKDE(bounds=(0, 10)).fit(table)  # another estimator: not our business


@pytest.mark.statistical(rate=1e-300)  # 1,024 noises all equal, each with probability below 1/16
@EACH
def test_the_hash_seed_is_public_and_the_noise_has_none(kind: Any, table: np.ndarray) -> None:
    models = [fitted(kind, table, random_state=5, rows=16, buckets=64) for _ in range(2)]
    for one, other in zip(
        *([part for held in releases(model) for part in parts(held)] for model in models), strict=True
    ):
        assert _unplaced(one.spec) == _unplaced(other.spec)  # with the seed, where there is one
        assert not np.array_equal(one.counts, other.counts)


def _unplaced(spec: Any) -> Any:
    """A spec but for its knots, which follow noisy histograms."""
    return replace(spec, knots=2) if isinstance(spec, HatMoments) else spec


@EACH
def test_estimators_keep_no_data(kind: Any, table: np.ndarray) -> None:
    for name, value in vars(fitted(kind, table)).items():
        size = value.size if isinstance(value, np.ndarray) else 0
        assert size < len(table), f"{kind.__name__}.{name} is as long as the table"


def test_the_number_of_records_is_used_only_where_it_is_public(table: np.ndarray) -> None:
    def cells(**options: Any) -> int:
        return learn.PrivateOutlierDetector(bounds=(0, 10), **options).fit(table[:500]).release_.buckets

    assert cells() == learn.PrivateOutlierDetector(bounds=(0, 10)).fit(table).release_.buckets
    assert cells(public=("count",)) < cells()


def test_models_hold_every_plain_value(table: np.ndarray, tmp_path: Path) -> None:
    release = learn.PrivateKDE(bounds=(0, 10), rows=8, buckets=16).fit(table).release_
    arrays: dict[str, np.ndarray] = {}
    values = {
        "numbers": [1, 2.5, np.float32(0.5), np.int8(3), True, None, float("nan"), float("-inf")],
        "tuple": (1, ("a", 2)),
        "keys": {1: "one", 2: release},
        "flags": np.array([True, False]),
        "names": np.array(["a", "b"], dtype=object),
        "texts": np.array(["a", "b"]),
        "kernel": scumble.EuclideanKernel(2.0),
        "bundle": Bundle({"x": release, "y": release}, label="kind"),
        "exact": [Fraction(1, 3), Decimal("0.1")],
    }
    encoded = models.encode(values, arrays)
    box = scumble.files.from_bytes(scumble.files.to_bytes("model", {"v": encoded}, arrays), expect="model")
    found = models._decode(box.metadata["v"], box)
    assert found["numbers"][:6] == [1, 2.5, 0.5, 3, True, None] and np.isnan(found["numbers"][6])
    assert found["tuple"] == (1, ("a", 2)) and found["kernel"] == values["kernel"]
    assert found["flags"].dtype == bool and found["names"].dtype == object and found["texts"].dtype.kind == "U"
    np.testing.assert_array_equal(found["keys"][2].counts, release.counts)
    assert found["bundle"].classes == ("x", "y") and found["bundle"].label == "kind"
    assert found["exact"] == [Fraction(1, 3), Fraction(1, 10)]
    with pytest.raises(scumble.ParameterError, match="set"):
        models.encode({1, 2}, {})


def test_a_models_file_runs_nothing_and_sets_nothing_unknown(table: np.ndarray) -> None:
    model = learn.PrivateKDE(bounds=(0, 10), rows=8, buckets=16).fit(table)
    metadata, arrays = models.contents(model)
    for change in (
        {"estimator": "os.system"},
        {"estimator": "load"},
        {"learnt": {**metadata["learnt"], "density": 1}},
        {"learnt": {"x": {"@python": "1"}}},
        {"parameters": {"unknown": 1}},
        *({"parameters": {"epsilon": {"@fraction": text}}} for text in ("1e9", "1/0", "1", "1/1e9", ["1", "3"])),
    ):
        bad = scumble.files.to_bytes("model", {**metadata, **change}, arrays)
        with pytest.raises((scumble.CorruptFileError, scumble.ForeignFileError)):
            models.from_bytes(bad)
    older = {**metadata, "parameters": {**metadata["parameters"], "bandwidths": None, "categories": None}}
    several = {**metadata, "parameters": {**metadata["parameters"], "bandwidths": [0.1, 0.2]}}
    with pytest.raises(scumble.ForeignFileError):
        models.from_bytes(scumble.files.to_bytes("model", several, arrays))
    for good in (models.to_bytes(model), scumble.files.to_bytes("model", older, arrays)):
        assert isinstance(models.from_bytes(good), learn.PrivateKDE)
