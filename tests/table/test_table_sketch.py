"""The secret sketch of a table: where records are counted, and that nothing else can be had of it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.table.people import SCHEMA, by_pandas, people

import scumble
from scumble import TableSketch, files
from scumble.columns.cuts import Positions
from scumble.columns.distinct import Distinct
from scumble.columns.number import Number
from scumble.errors import MergeError, ParameterError, PrivacyError
from scumble.files.compiling import Patience
from scumble.privacy.budget import Budget
from scumble.table import counting
from scumble.table import spec as spec_module
from scumble.table.prior import LEVELS
from scumble.table.sketch import COUNT_SHARE, TableShare
from scumble.table.spec import TableSpec, axis

TARGETS = [None, "smoker", "sex"]


SETS = [("age", "hours", "seen"), ("age", "hours", "seen", "sex"), tuple(SCHEMA)]
"""Those of four columns and more are counted along joined lines; two of them begin with the same two columns."""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("more", [{}, {"levels": 5}, {"levels": 2}, {"together": SETS}], ids=str)
def test_counters_are_the_crosstabs(target: str | None, more: dict[str, Any]) -> None:
    frame = people()
    named = [tuple(name for name in names if name != target) for names in more.get("together", ())]
    more = more | ({"together": [*dict.fromkeys(named)]} if named else {})
    sketch = TableSketch(SCHEMA, target=target, **more).update(frame)
    np.testing.assert_array_equal(sketch.secret.counts, by_pandas(sketch.spec, frame))
    assert sketch.count == len(frame)


@pytest.mark.parametrize("threads, first, block", [(1, 0, 7), (3, 0, 7), (3, 10**9, 7), (None, 0, None)])
def test_threads_and_blocks_and_numpy_count_alike(
    threads: int | None, first: int, block: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "numpy_first", Patience(first, first))
    if block is not None:
        monkeypatch.setattr(counting, "WORTH_A_THREAD", 1)
        monkeypatch.setattr(counting, "BLOCK", block)
    found = scumble.Schema({**SCHEMA, "sex": scumble.Category(discover=True)})
    kinds: list[tuple[scumble.Schema, dict[str, Any]]] = [
        (SCHEMA, {"target": "sex", "levels": 5}),
        (SCHEMA, {"together": SETS}),
        (found, {}),
    ]
    for schema, more in kinds:
        spec = TableSpec.of(schema, **more)
        codes = schema.find(people(200), positions=spec.placed, distinct=True)[0].codes
        counts = np.zeros(spec.counters, np.int64)
        counting.count(spec, codes, counts, threads)
        np.testing.assert_array_equal(counts, counting.reference(spec, codes))
    assert (counting.numpy_first.spent > 0) == (first > 0)


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=30, deadline=None)
@given(record=st.tuples(*[st.integers(0, size - 1) for size in TableSpec.of(SCHEMA).sizes]))
def test_a_record_moves_one_counter_of_every_view(target: str | None, record: tuple[int, ...]) -> None:
    spec = TableSpec.of(SCHEMA, target=target, levels=4)
    counts = np.zeros(spec.counters, np.int64)
    counting.count(spec, np.array([record], np.int32), counts)
    rows = np.split(counts, np.cumsum(spec.lengths)[:-1])
    assert len(rows) == spec.rows
    assert all(row.sum() == 1 and row.max() == 1 and row.min() == 0 for row in rows)


def test_a_bad_cell_drops_or_refuses_the_whole_record() -> None:
    frame = people(20)
    bad = frame.astype(object)
    bad.loc[3, "smoker"] = "perhaps"
    dropping = TableSketch(SCHEMA, invalid="drop").update(bad)
    np.testing.assert_array_equal(dropping.secret.counts, by_pandas(dropping.spec, frame.drop(3)))
    assert dropping.dropped == 1 and dropping.count == 19
    strict = TableSketch(SCHEMA)
    with pytest.raises(scumble.DataError, match="smoker") as told:
        strict.update(bad)
    assert "perhaps" not in str(told.value)
    assert not strict.secret.counts.any()


def test_parts_merge_to_the_whole(tmp_path: Path) -> None:
    frame = people(500)
    whole = TableSketch(SCHEMA, target="sex").update(frame)
    parts = [TableSketch(SCHEMA, target="sex").update(part) for part in (frame[:200], frame[200:350], frame[350:])]
    parts[0].save(tmp_path / "part.secret")
    assert (tmp_path / "part.secret").stat().st_mode & 0o777 == 0o600
    parts[0] = scumble.load_secret(tmp_path / "part.secret")
    total = scumble.merge(parts)
    assert isinstance(total, TableSketch)
    np.testing.assert_array_equal(total.secret.counts, whole.secret.counts)
    with pytest.raises(scumble.MergeError, match="itself"):
        total.merge(parts[0])
    with pytest.raises(scumble.MergeError, match="target"):
        TableSketch(SCHEMA).merge(whole)
    with pytest.raises(scumble.MergeError, match="'age'"):
        TableSketch(scumble.Schema({**SCHEMA, "age": scumble.Number(0, 99)})).merge(TableSketch(SCHEMA))
    mixed: Any = [whole, scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=2, buckets=4)]
    with pytest.raises(scumble.ParameterError, match="sketches"):
        scumble.merge(mixed)


@pytest.mark.parametrize(
    ("outside", "invalid", "count"),
    [("clip", "error", 2), ("clip", "drop", 2), ("drop", "error", 1), ("drop", "drop", 1)],
)
def test_where_records_may_be_dropped_n_is_not_public(outside: Any, invalid: str, count: int) -> None:
    schema = scumble.Schema(age=scumble.Number(0, 99, outside=outside), smoker=scumble.Boolean())
    sketch = TableSketch(schema, invalid=invalid).update({"age": [5.0, 500.0], "smoker": [True, False]})
    assert sketch.count == count
    if (outside, invalid) == ("clip", "error"):
        assert sketch.release(epsilon=1.0, neighbors="replace").noisy_count == 2
    else:
        with pytest.raises(scumble.PrivacyError, match="replace"):
            sketch.release(epsilon=1.0, neighbors="replace")


def test_what_no_sketch_takes_is_refused() -> None:
    spec = TableSpec.of(SCHEMA)
    for wrong in ({"invalid": "keep"}, {"engine": "gpu"}, {"threads": 0}):
        with pytest.raises(scumble.ParameterError):
            TableSketch.from_spec(spec, **wrong)  # type: ignore[arg-type]
    metadata, arrays = TableSketch(SCHEMA).secret.contents()
    del metadata["spec"]
    with pytest.raises(scumble.CorruptFileError):
        TableSketch.from_container(files.from_bytes(files.to_bytes("secret", metadata, arrays), expect="secret"))


@pytest.mark.parametrize("most", [2, 3, 7, 50])
@pytest.mark.parametrize("name", list(SCHEMA))
def test_axes_are_coarser_levels(name: str, most: int) -> None:
    column = SCHEMA[name]
    found = axis(column, most)
    assert len(found) == column.size
    assert np.array_equal(np.unique(found), np.arange(found.max() + 1)) and found.max() < max(most, 2)
    assert (np.diff(found[: column.size - column.missing]) >= 0).all()
    if column.missing:
        assert (found == found[-1]).sum() == 1


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(("low", "high"), [(0, 40), (-1, 39), (-3, 37), (-20, 20), (-37, 3), (-39, 1), (-40, 0)])
def test_zero_stays_alone_between_runs_of_equal_length(low: int, high: int, missing: bool) -> None:
    column = scumble.Number(low, high, cells=40, zeros=True, missing=missing)
    zero, line = column.zero_level, column.size - missing
    assert zero is not None
    for most in range(4, column.size):
        found = axis(column, most)
        runs = np.bincount(found[:line]).tolist()
        assert len(runs) == most - missing and (np.diff(found) >= 0).all()
        assert not missing or found[-1] == most - 1
        at = found[zero]
        below, above = runs[:at], runs[at + 1 :]
        assert runs[at] == 1 and bool(below) == (low < 0) and bool(above) == (high > 0)
        assert all(not side or max(side) - min(side) <= 1 for side in (below, above))
        even = (most - missing - 1) * zero / (line - 1)
        assert len(below) == pytest.approx(even, abs=0.5) or 1 in (len(below), len(above))


def test_axes_are_as_fine_as_memory_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three pairs of 48 levels squared are 6,912 counters, of 64 they would be 12,288."""
    schema = scumble.Schema({f"x{k}": scumble.Number(0, 1000, cells=300) for k in range(3)})
    alone = 3 * 300 + 2 * 3 * 9  # two digits of positions, and one counter for what has none
    pairs = [("x0", "x1"), ("x0", "x2"), ("x1", "x2")]
    monkeypatch.setattr(spec_module, "MOST_COUNTERS", 10_000)
    assert TableSpec.of(schema, pairs=pairs).counters == (3 * 48**2 + alone,)
    monkeypatch.setattr(spec_module, "LIMIT", 3 * 64**2 + alone)
    assert TableSpec.of(schema, pairs=pairs, levels=64).counters == (spec_module.LIMIT,)
    wrong: list[tuple[Any, dict[str, Any]]] = [(schema, {"levels": 65}), (schema, {"target": "c"})]
    for columns, options in [*wrong, ({"a": scumble.Boolean()}, {"target": "a"})]:
        with pytest.raises(scumble.ParameterError):
            TableSpec.of(columns, **{"pairs": pairs if columns is schema else None, **options})


HOSTILE: dict[str, list[Any]] = {
    "levels": [1, 2**16 + 1, 10**9, True, "5", None],
    "target": ["nobody", 5, ["sex"]],
    "pairs": [[[0, 0]], [[1, 0]], [[0, 99]], [[0, 1], [0, 1]], [[0]], "all", [[0.0, 1.0]]],
    "together": [[[0, 1]], [[2, 1, 0]], [[0, 1, 2, 3, 4, 5]], [[0, 1, 99]], [[0, 1, 2]] * 2],
    "triples": [[[0, 1]], [[0, 1, 2, 3]], [[1, 0, 2]], [[0, 1, 2]] * (2**16 + 1)],
    "important": [[[]], [[0, 1, 2]], [["sex"]]],
    "positions": [1, None],
    "apart": [[[0, -1]], [[0, 2**16]], [[0, "5"]], [[99, 3]], [[True, 1]], [[-1, 1]], 5],
    "schema": [None],
    "more": [1],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_specs_are_refused(name: str) -> None:
    good = TableSpec.of(SCHEMA, levels=8).to_dict()
    assert TableSpec.from_dict(good) == TableSpec.of(SCHEMA, levels=8)
    for wrong in HOSTILE[name]:
        with pytest.raises(scumble.CorruptFileError):
            TableSpec.from_dict({**good, name: wrong})
    for twice in ({"together": [[0, 1, 2]], "triples": [[0, 1, 2]]}, {"target": "sex", "pairs": [[0, 1]]}):
        with pytest.raises(scumble.CorruptFileError):
            TableSpec.from_dict({**good, **twice})
    for levels in (2, 2**16):
        assert TableSpec.from_dict({**good, "pairs": [], "triples": [], "levels": levels}).levels == levels
    assert TableSpec.from_dict({**good, "apart": [[1, 0], [3, 2**16 - 1]]}).apart == {1: 0, 3: 2**16 - 1}


@pytest.mark.parametrize(
    "wrong",
    [
        {"together": [("age", "sex")]},
        {"together": [("age", "sex", "hours", "seen", "smoker", "six")]},
        {"together": ["age"]},
        {"together": [("age", "sex", "sex")]},
        {"important": [("age", "sex", "hours")]},
        {"important": "age"},
        {"pairs": [("age", "sex", "hours")]},
        {"together": [("age", "sex", "town")]},
        {"target": "town"},
    ],
    ids=str,
)
def test_sets_of_columns_that_no_release_has_are_refused(wrong: dict[str, Any]) -> None:
    schema = {**SCHEMA, "six": scumble.Boolean(), "town": scumble.Category(discover=True)}
    with pytest.raises(ParameterError):
        TableSpec.of(schema, **wrong)


def test_which_sets_of_three_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of six columns there are 20; 19 share a column with a set of three, which is one of them."""
    named = ("a", "b", "c")

    def triples(most: int, columns: dict[str, Any], **options: Any) -> int:
        monkeypatch.setattr(spec_module, "MOST_TRIPLES", most)
        return len(TableSpec.of(columns, **options).triples)

    few = {name: scumble.Boolean() for name in "abcdef"}
    assert [triples(most, few) for most in (20, 19)] == [20, 0]
    assert [triples(most, few, together=[named]) for most in (20, 19, 18)] == [19, 18, 0]
    fine = {name: scumble.Number(0, 100, cells=LEVELS + 5) for name in "abcdef"}  # as fine as a set may be
    assert [triples(20, fine), triples(20, {**fine, "yes": few["a"]}, target="yes")] == [20, 0]
    assert triples(40, {**fine, "yes": few["a"]}, target="yes") == 20
    assert triples(20, {**few, "town": scumble.Category(discover=True)}) == 20  # none has words to be found


@pytest.mark.parametrize(("columns", "target"), [(10, None), (11, "x0")])
def test_too_many_columns_are_refused(columns: int, target: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten counted columns have 55 views, one more has 66; 361 have 65,341, and one more 65,703."""
    assert spec_module.MOST_ROWS == 2**16
    monkeypatch.setattr(spec_module, "MOST_ROWS", 2**6)
    schema = {f"x{k}": scumble.Boolean() for k in range(columns + 1)}
    with pytest.raises(scumble.ParameterError, match="views"):
        TableSpec.of(schema, target=target)
    del schema[f"x{columns}"]
    assert TableSpec.of(schema, target=target).rows >= 55


# ---- five custodians, one release ----


PAIRS = [("age", "sex"), ("sex", "smoker"), ("hours", "age")]


def sketch(frame: pd.DataFrame, **options: Any) -> scumble.TableSketch:
    return scumble.TableSketch(SCHEMA, pairs=PAIRS, invalid="drop", **options).update(frame)


def shares(n: int = 5, rows: int = 200, came: int | None = None, **options: Any) -> list[TableShare]:
    budget: dict[str, Any] = {"epsilon": 1.0, "custodians": n, **options}
    return [sketch(people(rows, seed)).release_share(**budget) for seed in range(n if came is None else came)]


def exact(seeds: range, rows: int = 200) -> np.ndarray:
    found: np.ndarray = sketch(pd.concat([people(rows, seed) for seed in seeds])).contents()[1]["counts"]
    return found


@pytest.mark.parametrize("options", [{}, {"delta": 1e-6, "epsilon": 3.0}], ids=["laplace", "gaussian"])
def test_the_sum_has_the_scale_of_one_release(options: dict[str, Any]) -> None:
    release = scumble.combine(shares(**options))
    budget = Budget.of(options.get("epsilon", 1.0), options.get("delta", 0.0), "add-remove", 1, COUNT_SHARE)
    alone = budget.claim(release.spec.rows)
    claimed = Fraction(release.privacy.exact_scale) / Fraction(alone.exact_scale)
    assert 1 <= claimed < 1 + Fraction(1, 10**4)
    assert release.variances == pytest.approx(
        (alone.law.variance(alone.scales.counters),) * release.spec.rows, rel=1e-3
    )
    assert (release.privacy.epsilon, release.privacy.custodians) == (pytest.approx(alone.epsilon), 5)


def test_the_sum_has_the_noise_of_one_release() -> None:
    """The mean square of thousands of draws: beyond 7 standard errors in less than one of 10⁹ tests."""
    releases = [scumble.combine(shares(epsilon=0.5)) for _ in range(8)]
    noise = np.concatenate([release.counts - exact(range(5)) for release in releases]).astype(float)
    variance = releases[0].variances[0]
    fourth = 24 * (variance / 2) ** 2  # of Laplace noise, 24 b⁴ with 2 b² = variance
    z = (np.mean(noise**2) - variance) / np.sqrt((fourth - variance**2) / noise.size)
    assert noise.size > 3000 and abs(z) < 7


def test_answers_are_those_of_all_custodians(tmp_path: Path) -> None:
    budget: dict[str, Any] = {"epsilon": 5.0, "custodians": 5}
    columns = scumble.Schema({name: SCHEMA[name] for name in ("age", "sex", "smoker")})
    pairs, together = [("age", "sex"), ("sex", "smoker")], [("age", "sex", "smoker")]
    parts = [scumble.TableSketch(columns, pairs=pairs, together=together) for _ in range(5)]
    made = [part.update(people(1000, seed)).release_share(**budget) for seed, part in enumerate(parts)]
    release, everybody = scumble.combine(made), pd.concat([people(1000, seed) for seed in range(5)])
    truth = ((everybody.sex == "Female") & (everybody.age >= 50)).sum()
    assert abs(release.count("sex == 'Female' and age >= 50").value - truth) < 250
    assert abs(release.mean("age").value - everybody.age.mean()) < 1.5
    release.save(tmp_path / "all.scumble")
    again = scumble.load(tmp_path / "all.scumble")
    assert again.privacy == release.privacy and again.count("smoker").value == release.count("smoker").value


def test_more_than_enough_shares_have_more_noise() -> None:
    enough = scumble.combine(shares(5, came=3, dropouts=2))
    more = scumble.combine(shares(5, dropouts=2))
    (scale,) = {*more.scales}
    times = (scale / Fraction(str(more.privacy.exact_scale))) ** 2 * 3 / 5
    assert 1 <= times < 1 + Fraction(1, 10**9)  # never less than there is
    assert more.variances[0] == pytest.approx(enough.variances[0] * 5 / 3, rel=0.02)
    assert scumble.TableRelease.from_bytes(more.to_bytes()).variances == more.variances
    with pytest.raises(PrivacyError, match="are needed"):
        scumble.combine(shares(5, came=2, dropouts=2))


def test_a_share_goes_into_one_sum_and_lives_in_its_file(tmp_path: Path) -> None:
    found = shares(3)
    for k, one in enumerate(found):
        one.save(tmp_path / f"{k}.share")
    loaded = [scumble.load_share(tmp_path / f"{k}.share") for k in range(3)]
    assert {type(one) for one in loaded} == {TableShare}
    first = scumble.combine(loaded)
    with pytest.raises(MergeError, match="another sum"):
        scumble.combine([*found[:2], sketch(people(200, 9)).release_share(epsilon=1.0, custodians=3)])
    assert np.array_equal(scumble.combine(found).counts, first.counts)


def test_what_is_not_fixed_beforehand_has_no_shares() -> None:
    with pytest.raises(ParameterError, match="pairs"):
        scumble.TableSketch(SCHEMA).release_share(epsilon=1.0, custodians=2)
    for wrong in (("age",), ("age", "sexx")):
        with pytest.raises(ParameterError):
            scumble.TableSketch(SCHEMA, pairs=[wrong])
    for columns in ({"id": Distinct(), **SCHEMA}, {"tags": scumble.Category(discover=True), **SCHEMA}):
        with pytest.raises(ParameterError, match=r"id|discover"):
            scumble.TableSketch(columns, pairs=[("age", "sex")]).release_share(epsilon=1.0, delta=1e-6, custodians=2)
    density = scumble.Sketch(scumble.EuclideanKernel(1.0), dimensions=1, rows=4, buckets=8)
    with pytest.raises(ParameterError):
        scumble.combine([*shares(1, custodians=2), density.release_share(epsilon=1.0, custodians=2)])


# ---- where in their cells values lie is counted ----


NUMBERS = {
    "linear": Number(0, 300_000),
    "log": Number(0, 300_000, scale="log"),
    "positive log": Number(0.5, 2000.0, scale="log", cells=7),
    "negative": Number(-50.0, 120.0, cells=9, zeros=True),
    "whole": Number(-20, 5000, whole=True),
    "whole and few": Number(0, 20, whole=True, cells=5),
    "whole log": Number(0, 100_000, whole=True, scale="log"),
    "given edges": Number(edges=[0, 1, 10, 11, 500.5]),
    "missing": Number(0, 7, cells=3, missing=True),
    "outside": Number(0, 7, cells=3, outside="drop"),
}
STRANGE = [
    0.0,
    -0.0,
    1e-300,
    5e-324,
    1e300,
    -1e300,
    np.nextafter(300_000.0, 0),
    300_000,
    0.1 + 0.2,
    41.9,
    -20,
    2**53,
]


def positions_of(column: Number) -> Positions:
    assert column.positions is not None
    return column.positions


@pytest.mark.parametrize("name", NUMBERS)
def test_positions_are_the_same_compiled_and_by_numpy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    column, rng = NUMBERS[name], np.random.default_rng(2)
    edges = column.cuts.values(np.array(column.cuts.edges))
    values = np.concatenate(
        [rng.uniform(edges[0], edges[-1], 500), edges, np.nextafter(edges, -np.inf), STRANGE, [np.nan]]
    )
    found = []
    for few in (0, 10**9):
        monkeypatch.setattr("scumble.columns.cuts.FEW", few)
        found.append(column.find(values))
    np.testing.assert_array_equal(found[0].codes, found[1].codes)
    np.testing.assert_array_equal(found[0].positions, found[1].positions)


@pytest.mark.parametrize("name", NUMBERS)
@settings(max_examples=15, deadline=None)
@given(
    values=st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(STRANGE), min_size=1, max_size=5)
)
def test_each_record_adds_one_to_one_counter_of_every_row(name: str, values: list[float]) -> None:
    """Hence, for every neighbor: adding moves each row by one, replacing by two at most."""
    sketch = TableSketch(scumble.Schema(x=NUMBERS[name], y=scumble.Boolean()), invalid="drop")
    before = sketch.secret.counts.copy()
    for value in values:
        sketch.update({"x": [value], "y": [True]})
        moved = np.split(sketch.secret.counts - before, np.cumsum(sketch.spec.lengths)[:-1])
        taken = sketch.count - before[: sketch.spec.lengths[0]].sum()
        assert all((row >= 0).all() and row.sum() == row.max() == taken for row in moved)
        before = sketch.secret.counts.copy()
    digits = positions_of(NUMBERS[name]).digits
    assert sketch.spec.placed == tuple((0, digit) for digit in range(digits)) and sketch.spec.rows == 3 + digits


def told_by_counters(column: Number, values: np.ndarray) -> tuple[float, float]:
    """The sum of some values by exact counters, and half the sum of the steps that they lie in."""
    spec = TableSpec.of({"x": column})
    sketch = TableSketch.from_spec(spec).update({"x": values})
    rows = np.split(sketch.secret.counts, np.cumsum(spec.lengths)[:-1])
    positions, (*digits, cells) = positions_of(column), rows
    found = float(cells[: len(positions.start)] @ positions.start)
    off = 0.0
    for kind in range(len(positions.steps)):
        for row, distance in zip(digits, positions.distances(kind), strict=False):
            found += float(row[1 + 8 * kind :][: len(distance)] @ distance)
            assert not row[1 + 8 * kind + len(distance) : 9 + 8 * kind].any()
        own = float(digits[0][1 + 8 * kind : 9 + 8 * kind].sum())
        found += (len(digits) == 1) * own * positions.distances(kind)[1][0]
        whole = positions.whole and positions.widths[kind] == 1
        off += 0.0 if whole else own * positions.widths[kind] / 2
    return found, off


@pytest.mark.parametrize("name", [name for name in NUMBERS if name not in ("missing", "outside")])
@pytest.mark.parametrize("spread", [1.0, 3.0])
def test_the_counters_tell_the_sum_to_half_a_step(name: str, spread: float) -> None:
    column = NUMBERS[name]
    rng = np.random.default_rng(3)
    low, high = column.limits if column.scale == "linear" else (max(column.low or 0.0, 1e-3), column.high)
    assert low is not None and high is not None
    values = low + (high - low) * rng.random(2000) ** spread
    values = np.floor(values) if column.whole else values
    found, off = told_by_counters(column, values)
    assert abs(found - values.sum()) <= off * (1 + 1e-9) + 1e-6
    assert off <= 2000 * (high - low) / 128 and (name != "whole and few" or off == 0)


# ---- means ----


def incomes(seed: int, rounded: float) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    town = rng.choice(8, 200_000, p=[0.3, 0.2, 0.15, 0.1, 0.1, 0.06, 0.05, 0.04])
    income = np.minimum(np.exp(rng.normal(10.6, 0.6, 200_000)) * (1 + 0.06 * town), 300_000)
    income = np.round(income / rounded) * rounded if rounded else income
    return {"town": np.array([f"t{k}" for k in range(8)])[town], "income": income}, town, income


def test_the_mean_of_200_000_incomes() -> None:
    """A truth is farther than three half-widths from the answer once in some 10⁷ times (Student's t, 31 degrees)."""
    table, town, income = incomes(1, 1000.0)
    towns = scumble.Category([f"t{k}" for k in range(8)], other=False, missing=False)
    schema = scumble.Schema(town=towns, income=Number(0, 300_000))
    release = TableSketch(schema).update(table).release(epsilon=1.0)
    found, truth = release.mean("income"), income.mean()
    half = (found.high - found.low) / 2
    assert half <= 0.005 * truth and abs(found.value - truth) <= 3 * half
    by = release.mean("income", by="town")
    truths = np.array([income[town == k].mean() for k in range(8)])
    halves = ((by["high"] - by["low"]) / 2).to_numpy()
    assert (halves <= 0.015 * truths).all()
    assert (np.abs(by["value"] - truths) <= 3 * halves).all()
    rows = release.sample(50_000, random_state=0)
    assert rows["income"].mean() == pytest.approx(truth, rel=0.03)  # ten standard errors


def test_synthetic_values_are_multiples_of_the_step_in_their_own_cells() -> None:
    rng = np.random.default_rng(0)
    money, quarters = Number(0, 300_000, step=0.01), Number(-1, 1, cells=7, step=0.25)
    for column in (money, quarters, Number(0, 5000, whole=True, step=5)):
        codes = rng.integers(0, column.size, 3000)
        values = np.array(column.decode(codes, rng).to_pylist(), float)
        np.testing.assert_array_equal(column.encode(values).codes, codes)
        steps, (low, high) = values / column.step, column.cuts.extremes  # type: ignore[operator]
        possible = np.floor(high / column.step) >= np.ceil(low / column.step)  # type: ignore[operator]
        off = np.abs(steps - np.rint(steps)) > 1e-6
        assert not off[possible[codes]].any() and possible.mean() > 0.9
        assert Number.from_dict(column.to_dict() | {"kind": "number"}, "x") == column
    for wrong, whole in ((0, False), (-1, False), (3, False), ("x", False), (np.inf, False), (0.5, True)):
        with pytest.raises(scumble.ParameterError):
            Number(0, 2, whole=whole, step=wrong)  # type: ignore[arg-type]


def test_without_positions_the_interval_allows_for_all_of_a_cell() -> None:
    """As in older files, which have none."""
    table, _, income = incomes(2, 0.0)
    spec = TableSpec.of({"income": Number(0, 300_000)}, positions=False)
    release = TableSketch.from_spec(spec).update({"income": table["income"]}).release(epsilon=1.0)
    found = release.mean("income")
    assert found.low <= income.mean() <= found.high and found.high - found.low > 2000
    placed = TableSpec.of({"income": Number(0, 300_000)})
    assert "positions" not in spec.to_dict() and placed.to_dict()["positions"] is True
    assert all(TableSpec.from_dict(one.to_dict()) == one for one in (spec, placed))
    with pytest.raises(scumble.MergeError):
        TableSketch.from_spec(placed).merge(TableSketch.from_spec(spec))
    with pytest.raises(scumble.errors.CorruptFileError):
        TableSpec.from_dict(placed.to_dict() | {"positions": 1})
