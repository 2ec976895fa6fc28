"""Mixed tables straight in: every estimator, the same numbers as by hand, conventions, files, refusals."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import scumble
from estimators import CLASSES, EACH, options, parts, releases, small
from scumble import Boolean, Category, Date, Number, Schema, learn
from scumble.gate import selection
from scumble.learn.columns import Coding
from scumble.learn.models import contents, from_bytes
from scumble.privacy.laws.discrete_gaussian import DiscreteGaussian
from scumble.privacy.laws.discrete_laplace import DiscreteLaplace

pytestmark = pytest.mark.filterwarnings("ignore::scumble.errors.CuratorWarning")  # bounds that cut, on purpose

SCHEMA = Schema(
    pay=Number(0, 1000, scale="log", whole=True, missing=True),
    seen=Date("2020-01-01", "2020-12-31", missing=True),
    town=Category(["Ulm", "Bonn"]),
    smoker=Boolean(),
    age=Number(17, 90, whole=True),
)
N = 400
ANSWERS = ("predict", "decision_function", "score_samples", "keep_probability")
TOWNS = np.array(["Ulm", "Bonn", "Rom", None], dtype=object)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    seen = pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 366, N), "D"))
    return pd.DataFrame(
        {
            "age": rng.integers(10, 99, N),
            "seen": seen.where(rng.random(N) < 0.9),
            "town": TOWNS[rng.integers(0, 4, N)],
            "smoker": rng.random(N) < 0.3,
            "pay": pd.Series(rng.integers(0, 1200, N).astype(float)).where(rng.random(N) < 0.8),
        }
    )


def by_hand(frame: pd.DataFrame, *, indicators: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers and bounds, column by column."""
    edges = np.array([*map(int, SCHEMA["pay"].cuts.edges)])  # type: ignore[attr-defined]

    def placed(value: Any) -> np.ndarray:
        k = np.searchsorted(edges, value, side="right") - 1
        return k + (value - edges[k]) / (edges[k + 1] - edges[k])

    top, (first, last) = placed(1000), (18262, 18627)
    pay = np.where(frame["pay"].isna(), np.nan, placed(frame["pay"].fillna(0).clip(upper=1000).to_numpy()))
    days = (frame["seen"] - pd.Timestamp("1970-01-01")).dt.days.to_numpy(float)
    level = frame["town"].map({"Ulm": 0, "Bonn": 1}).fillna(2).where(frame["town"].notna(), 3)
    rest = frame["smoker"], frame["age"].clip(17, 90)
    if indicators:
        cells = [np.nan_to_num(pay, nan=top / 2), np.isnan(pay), np.nan_to_num(days, nan=(first + last) / 2)]
        cells += [np.isnan(days), *(level == k for k in range(4)), *rest]
        low, high = [0, -1, first, -1, -1, -1, -1, -1, 0, 17], [top, 1, last, 1, 1, 1, 1, 1, 1, 90]
    else:
        below = -0.25 * top, first - 0.25 * 365
        cells = [np.nan_to_num(pay, nan=below[0]), np.nan_to_num(days, nan=below[1]), level, *rest]
        low, high = [*below, 0, 0, 17], [top, last, 3, 1, 90]
    return np.column_stack(cells).astype(float), np.array(low, float), np.array(high, float)


@pytest.fixture
def no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    for law in (DiscreteLaplace, DiscreteGaussian):
        monkeypatch.setattr(law, "draw", lambda self, scale, size, backend="exact": np.zeros(size, np.int64))
    monkeypatch.setattr(selection, "discrete_laplace", lambda scale, size: np.zeros(size, np.int64))


def made(kind: Any, **given: Any) -> Any:
    size = {} if hasattr(kind, "_moments") else {"rows": 8, "buckets": 32}
    # Histograms of single columns count the levels of a schema, however they are coded: see test_outliers.py.
    return small(kind, bounds=None, starts=2, columns_share=0, **size, **given)


def learnt(kind: Any, frame: pd.DataFrame) -> Any:
    if "classes" in options(kind):
        return np.where(frame["age"] > 50, *reversed(CLASSES))
    return frame["age"].to_numpy() / 10.0 if "target_bounds" in options(kind) else None


@EACH
@pytest.mark.usefixtures("no_noise")
def test_every_estimator_counts_what_coding_by_hand_counts(kind: Any, frame: pd.DataFrame, tmp_path: Path) -> None:
    """Without noise the counters are those of a matrix of numbers within bounds; so are the answers."""
    SCHEMA.save(tmp_path / "people.toml")
    model = made(kind, schema=str(tmp_path / "people.toml"))
    assert clone(model).get_params()["schema"] == model.schema
    model.fit(frame, learnt(kind, frame))
    X, low, high = by_hand(frame, indicators=model._indicators())
    plain = made(kind).set_params(bounds=(low, high))
    learner = model._learner() if hasattr(model, "_learner") else model
    if hasattr(learner, "_sizes"):  # numbers do not tell that they are levels
        plain._sizes = learner._sizes
    plain.fit(X, learnt(kind, frame))
    for one, other in zip(releases(model), releases(plain), strict=True):
        for mine, others in zip(parts(one), parts(other), strict=True):
            np.testing.assert_array_equal(mine.counts, others.counts)
            assert mine.privacy == others.privacy
    assert model.clipped_ == int(((frame["age"] < 17) | (frame["age"] > 90) | (frame["pay"] > 1000)).sum())
    assert model.n_features_in_ == 5 and model.feature_names_in_.tolist() == list(SCHEMA)
    shuffled = pl.from_pandas(frame[["town", "age", "pay", "smoker", "seen"]].assign(more=1))
    for name in ANSWERS:
        if hasattr(model, name):
            np.testing.assert_array_equal(getattr(model, name)(shuffled), getattr(plain, name)(X))
    with pytest.raises(scumble.DataError, match="There is no column 'town'"):
        model._read(frame.drop(columns="town"))
    model.save(tmp_path / "m.scumble")
    assert b"people.toml" not in (tmp_path / "m.scumble").read_bytes()
    for again in (learn.load(tmp_path / "m.scumble"), pickle.loads(pickle.dumps(model))):  # noqa: S301  our own bytes
        assert again.schema_ == SCHEMA and again.n_features_in_ == 5
        for name in ANSWERS:
            if hasattr(model, name):
                np.testing.assert_array_equal(getattr(again, name)(frame), getattr(model, name)(frame))


def test_a_release_alone_and_its_schema(frame: pd.DataFrame) -> None:
    for kind in (learn.PrivateKDE, learn.PrivateLinearRegression, learn.PrivateAdditiveRegressor):
        model = made(kind, schema=SCHEMA).fit(frame, learnt(kind, frame))
        again = kind.from_release(model.release_, schema=SCHEMA)
        np.testing.assert_array_equal(again._read(frame), model._read(frame))
        with pytest.raises(scumble.DataError, match="schema that the release was made with"):
            kind.from_release(model.release_, schema=Schema(age=Number(0, 1)))


@pytest.mark.parametrize("indicators", [False, True])
def test_a_record_is_coded_alike_in_any_company_and_comes_back(indicators: bool, frame: pd.DataFrame) -> None:
    coding = Coding(SCHEMA, indicators=indicators)
    together, *_ = coding.read(frame)
    assert all((coding.read(frame[i : i + 1])[0] == together[i]).all() for i in range(0, N, 40))
    low, high = coding.bounds
    assert (together >= low).all() and (together <= high).all()
    back = coding.table(together, "pandas")
    assert list(back) == list(SCHEMA)
    np.testing.assert_array_equal(coding.read(back)[0], together)  # what was clipped or unforeseen stays that


def test_samples_and_modes_are_records() -> None:
    crowd = pd.DataFrame({"age": [30.0] * 3000, "town": ["Bonn"] * 3000})
    given: dict[str, Any] = {"schema": {"age": Number(0, 100), "town": Category(["Ulm", "Bonn"])}, "epsilon": 100.0}
    kde = learn.PrivateKDE(**given, rows=16, buckets=64).fit(crowd)
    drawn = kde.sample(7, random_state=0)
    assert list(drawn) == ["age", "town"] and len(drawn) == 7 and kde.density(drawn).shape == (7,)
    with pytest.raises(scumble.ParameterError, match="no picture"):
        kde.plot()
    modes = learn.PrivateModes(**given, starts=2, rows=32, buckets=64).fit(crowd)
    assert modes.records_["town"].tolist()[:1] == ["Bonn"]  # at hundreds of standard errors
    with pytest.raises(scumble.ParameterError, match="no schema"):
        _ = learn.PrivateModes(bounds=(0, 1), starts=2, rows=4, buckets=8).fit([[0.5]]).records_


def test_a_file_cannot_say_another_thing_than_its_schema(frame: pd.DataFrame) -> None:
    model = learn.PrivateKDE(schema=SCHEMA, rows=4, buckets=8).fit(frame)
    metadata, arrays = contents(model)
    learnt = metadata["learnt"]
    other = {"@schema": Schema(town=Category(["Ulm"]), age=Number(0, 1)).to_dict()}
    for change in (
        {"schema_": other},
        {"schema_": 3},
        {"n_features_in_": 4},
        {"bounds_": None},
        *({"feature_names_in_": {"@texts": list(names), "object": True}} for names in ("ab", "abcde")),
    ):
        bad = scumble.files.to_bytes("model", {**metadata, "learnt": {**learnt, **change}}, arrays)
        with pytest.raises(scumble.CorruptFileError):
            from_bytes(bad)


@pytest.mark.parametrize(
    "given",
    [
        {"schema": SCHEMA, "bounds": (0, 1)},
        {"schema": Schema(age=Number(17, 90, outside="drop"))},
        {"schema": Schema(age=Number(17, 90), pay=Number(0, 9))},
        {"schema": Schema(town=Category(["Ulm"], other=False))},
        {"schema": Schema(age=Number(17, 90), town=Category(discover=True))},
        {"schema": Schema({"a": Category(["b=c"]), "a=b": Category(["c"])})},
    ],
)
def test_what_is_wrong_is_said_without_a_cell(given: dict[str, Any], frame: pd.DataFrame) -> None:
    table = frame[["age", "town", "pay"]]
    with pytest.raises((scumble.ParameterError, scumble.DataError)) as caught:
        learn.PrivateKDE(rows=4, buckets=8, **given).fit(table)
    assert "Rom" not in str(caught.value)
