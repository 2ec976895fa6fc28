"""Sketches: exact counting, merging, and the curator's own answers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scumble
from rates import normal

KERNEL = scumble.EuclideanKernel(1.0)


def small(dimensions: int = 2, **options: object) -> scumble.Sketch:
    chosen: dict = {"rows": 24, "buckets": 32, "seed": 3, "design": "sobol", **options}
    return scumble.Sketch(KERNEL, dimensions, **chosen)


def counters(sketch: scumble.Sketch) -> np.ndarray:
    return sketch._counts


SEEDS = 120


@pytest.mark.parametrize(("buckets", "power", "design"), [(16, 3, "sobol"), (1024, 1, "orthogonal")])
def test_kernel_sums_are_unbiased(buckets: int, power: int, design: str) -> None:
    """Mean over the seeds within the bounds of chance of brute force, at ten queries: false alarms 1e-8 a case."""
    rng = np.random.default_rng(1)
    X, Q = rng.normal(size=(60, 3)), rng.normal(size=(10, 3))
    kernel = scumble.EuclideanKernel(2.0, power=power)
    truth = kernel(Q, X).sum(axis=1)
    size: dict = {"rows": 8, "buckets": buckets, "design": design}
    sums = np.array([scumble.Sketch(kernel, 3, seed=s, **size).update(X).kernel_sum(Q) for s in range(SEEDS)])
    assert np.all(np.abs(sums.mean(axis=0) - truth) <= normal() * sums.std(axis=0, ddof=1) / np.sqrt(SEEDS))


def test_the_error_falls_with_the_rows_even_with_few_buckets(clusters: np.ndarray) -> None:
    """At W = 64, 64 times the rows have about an eighth of the error, at most a fifth: the rehash leaves no floor."""
    Q = clusters[::80]
    truth = KERNEL(Q, clusters).sum(axis=1)

    def rms(rows: int) -> float:
        sums = [small(3, rows=rows, buckets=64, seed=s, design="iid").update(clusters).kernel_sum(Q) for s in range(8)]
        return float(np.sqrt(np.mean((np.array(sums) - truth) ** 2)))

    assert rms(4096) <= rms(64) / 5.0


@settings(max_examples=12, deadline=None)
@given(cuts=st.lists(st.integers(0, 200), max_size=5), seed=st.integers(0, 3))
def test_any_partition_merges_to_the_whole(cuts: list[int], seed: int) -> None:
    X = np.random.default_rng(seed).normal(size=(200, 2))
    whole = small(seed=seed).update(X)
    parts = [small(seed=seed).update(part) for part in np.split(X, sorted(cuts))]
    merged = scumble.merge(parts)
    np.testing.assert_array_equal(counters(merged), counters(whole))
    in_place = small(seed=seed)
    for part in parts:
        in_place.merge(part)
    np.testing.assert_array_equal(counters(in_place), counters(whole))


@pytest.mark.parametrize(
    "other", [{"seed": 8}, {"rows": 25}, {"buckets": 64}, {"design": "iid"}, {"dimensions": 3}, {"kernel": 2.0}]
)
def test_sketches_that_differ_do_not_merge(other: dict) -> None:
    size: dict = {"rows": 24, "buckets": 32, "seed": 3, "design": "sobol", "dimensions": 2} | other
    kernel = scumble.EuclideanKernel(size.pop("kernel", 1.0))
    with pytest.raises(scumble.MergeError):
        small().merge(scumble.Sketch(kernel, **size))


def test_a_sketch_does_not_merge_with_itself_nor_twice() -> None:
    a, b = small().update(np.zeros((5, 2))), small().update(np.ones((5, 2)))
    with pytest.raises(scumble.MergeError):
        a.merge(a)
    a.merge(b)
    with pytest.raises(scumble.MergeError):
        a.merge(b)
    with pytest.raises(scumble.ParameterError, match="`other`"):
        a.merge("b")


# ---- bad input ----


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("rows", (0, 2.5, True, "5")),
        ("buckets", (0, -4)),
        ("seed", (-1, 2**64, True, 0.0, "0")),
        ("bounds", ((1.0, 0.0), (0.0, [1.0, 2.0, 3.0]))),
        *(("design", ("random",)), ("invalid", ("ignore",)), ("engine", ("abacus",)), ("threads", (0,))),
    ],
)
def test_bad_parameters_are_named(name: str, values: tuple[object, ...]) -> None:
    for value in values:
        with pytest.raises(scumble.ParameterError, match=f"`{name}`"):
            small(**{name: value})


def test_the_least_and_the_most_that_may_be_asked_for() -> None:
    assert scumble.Sketch(KERNEL, 1, rows=1, buckets=1).seed == 0
    for seed in (0, 2**64 - 1, np.int64(5)):
        assert small(seed=seed).seed == seed
    assert small(rows=np.int32(1), threads=1).rows == 1
    grid = scumble.Sketch(KERNEL, 2, buckets=(1, 4), design="grid", bounds=(0.0, 1.0))
    assert grid.buckets == 4
    for wrong in ((0, 4), (1, True), (1, 2.5)):
        with pytest.raises(scumble.ParameterError, match="`buckets`"):
            scumble.Sketch(KERNEL, 2, buckets=wrong, design="grid", bounds=(0.0, 1.0))  # type: ignore[arg-type]


@pytest.mark.parametrize("columns", ["ab", ["a", 5], ["a", "a"]])
def test_columns_have_names(columns: object) -> None:
    with pytest.raises(scumble.ParameterError, match="`columns`"):
        scumble.Sketch(KERNEL, columns=columns)  # type: ignore[arg-type]
    assert scumble.Sketch(KERNEL, 2, columns=["a", "b"], rows=1, buckets=1).dimensions == 2


def test_dropped_rows_add_up_and_a_merged_sketch_remembers_that_it_drops() -> None:
    X = np.array([[1.0, 2.0], [np.nan, 1.0]])
    one, two = small(invalid="drop").update(X).update(X), small(invalid="drop").update(X)
    assert (one.dropped, two.dropped, small().dropped) == (2, 1, 0)
    both = scumble.merge([small(), one, two])
    assert both.dropped == 3 and both.count == 3 and both.secret.drops
    assert scumble.merge([one]).count == 2, "one alone is also merged"
    assert not scumble.merge([small(), small()]).secret.drops


def test_exact_answers_have_no_noise_in_their_errors() -> None:
    """All records in one place: every row agrees. Noise of variance 1 in each counter would make 1/8 of 64 rows."""
    sketch = small(rows=64).update(np.full((1000, 2), 3.25))
    assert sketch.standard_error([[3.25, 3.25]])[0] < 0.05


def test_dimensions_must_be_known() -> None:
    for wrong in ({}, {"dimensions": 3, "columns": ["a", "b"]}, {"kernel": "euclidean", "dimensions": 2}):
        with pytest.raises(scumble.ParameterError):
            scumble.Sketch(**{"kernel": KERNEL, **wrong})


def test_invalid_cells_are_counted_not_shown() -> None:
    X = np.array([[1.0, 2.0], [np.nan, 31337.0], [np.inf, np.nan], [3.0, 4.0]])
    sketch = small()
    with pytest.raises(scumble.DataError) as caught:
        sketch.update(X)
    assert "31337" not in str(caught.value)
    assert sketch.count == 0, "a refused table is not counted in part"
    dropping = small(invalid="drop").update(X)
    assert dropping.count == 2 and dropping.dropped == 2
    np.testing.assert_array_equal(counters(dropping), counters(small().update(X[[0, 3]])))


@pytest.mark.parametrize("n", [0, 1])
def test_empty_and_single_tables(n: int) -> None:
    sketch = small().update(np.ones((n, 2)))
    assert sketch.count == n
    np.testing.assert_allclose(sketch.kernel_sum(np.ones((1, 2))), [float(n)], atol=1e-9)
    assert sketch.kernel_sum(np.ones((0, 2))).shape == (0,)


def test_one_bucket_and_one_row_are_allowed() -> None:
    sketch = scumble.Sketch(KERNEL, 2, rows=1, buckets=1).update(np.ones((10, 2)))
    assert np.isfinite(sketch.kernel_sum([[1.0, 1.0]])).all()
    assert sketch.count == 10 and sketch.release(1.0, neighbors="replace").count == 10.0
    odd = small(buckets=37).update(np.ones((10, 2)))
    assert odd.buckets == 37


def test_an_interrupted_update_closes_the_sketch(monkeypatch: pytest.MonkeyPatch) -> None:
    sketch = small().update(np.ones((3, 2)))

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(type(sketch.spec.layout), "count", interrupt)
    with pytest.raises(KeyboardInterrupt):
        sketch.update(np.ones((3, 2)))
    with pytest.raises(scumble.BudgetError):
        sketch.release(1.0)


def test_defaults_need_no_tuning(clusters: np.ndarray) -> None:
    sketch = scumble.Sketch(KERNEL, dimensions=3).update(clusters)
    truth = KERNEL(clusters[:100], clusters).sum(axis=1)
    assert np.mean(np.abs(sketch.kernel_sum(clusters[:100]) / truth - 1.0)) < 0.05


def test_what_another_sketch_has_read_is_not_counted_and_shows_no_record() -> None:
    """Another's records may have another order of columns, or another scale."""
    table = pd.DataFrame({"a": [0.5, 1.0], "b": [7.25, 8.5]})
    one, other = small(columns=["a", "b"]), small(columns=["b", "a"])
    read = other.read(table)
    with pytest.raises(scumble.PrivacyError):
        one.add(read)
    assert "7.25" not in repr(read) + str(read)
    assert np.array_equal(counters(one.add(one.read(table))), counters(small(columns=["a", "b"]).update(table)))


def test_bounds_for_another_number_of_columns_are_refused() -> None:
    known = scumble.Sketch(scumble.EuclideanKernel(1.0), dimensions=1, rows=4, buckets=8)._spec
    with pytest.raises(scumble.CorruptFileError):
        type(known).from_dict({**known.to_dict(), "bounds": [[], ""]})
