"""Moments: what a record adds, exactly; what that costs; files and merging."""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import scumble
from foreign import Elsewhere
from scumble import files
from scumble.counting import gpu
from scumble.density.loading import load_secret, merge
from scumble.errors import CorruptFileError, DataError, MergeError, ParameterError
from scumble.learn import moment_release as sketch_module
from scumble.learn.moment_release import MomentRelease, MomentSketch
from scumble.learn.moments import (
    BLOCK,
    CPU,
    HASHES,
    LENGTH,
    MOST_COUNTERS,
    MOST_KNOTS,
    PARTS,
    UNIT,
    ClassMoments,
    HatMoments,
    LinearMoments,
    engine,
    longer,
    root_above,
    steps,
    within_length,
)
from scumble.privacy.budget import Budget, calibrate
from scumble.privacy.sensitivity import Moves, Reach

BOUNDS = ((0.0, -1.0, 5.0), (1.0, 1.0, 9.0))
BALL = ((-2.0,) * 3, (2.0,) * 3)
SPECS: dict[str, Any] = {
    "linear, pure": LinearMoments(BOUNDS, None, True, 1.0, (0.0, 10.0)),
    "linear, Gaussian": LinearMoments(BOUNDS, None, False, 0.7, (0.0, 10.0)),
    "hats, pure": HatMoments(BOUNDS, ("a", "b", "c"), True, (0.0, 10.0), 4),
    "hats, Gaussian": HatMoments(BOUNDS, None, False, (0.0, 10.0), 3),
    "placed hats": HatMoments(BOUNDS, None, True, (0.0, 10.0), ((0.0, 0.125, 1.0), (-0.5, 0.75), (5.0, 6.0, 7.0, 8.0))),
    "classes, pure": ClassMoments(BOUNDS, None, True, 1.0, 3),
    "classes, Gaussian": ClassMoments(BOUNDS, None, False, 0.5, 3),
    "unit, pure": ClassMoments(BALL, None, True, 0.25, 3, ball=True),
    "unit, Gaussian": ClassMoments(BALL, None, False, 0.25, 3, ball=True),
    "unit linear, pure": LinearMoments(BALL, None, True, 0.25, (0.0, 10.0), ball=True),
    "unit linear, Gaussian": LinearMoments(BALL, None, False, 0.25, (0.0, 10.0), ball=True),
}
EACH = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)


def target(spec: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 3, n) if isinstance(spec, ClassMoments) else rng.uniform(-2.0, 12.0, n)


def records(spec: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Records within the bounds, at them, in their corners and beyond."""
    rng = np.random.default_rng(3)
    low, high = map(np.array, BOUNDS)
    inside = rng.uniform(low - 1.0, high + 1.0, (n, 3))
    corners = np.array(list(product(*zip(*BOUNDS, strict=True))))
    X = np.concatenate([inside, corners, (low + high)[None] / 2.0, np.full((2, 3), [[1e300], [-1e300]])])
    return X, target(spec, len(X), rng)


@EACH
def test_no_record_adds_more_than_the_step(spec: Any) -> None:
    X, y = records(spec, 60)
    most = 0
    for k in range(len(X)):
        rows = spec.sums(X[k : k + 1], y[k : k + 1])
        assert [row.size for row in rows] == list(spec.lengths)
        assert rows[0].sum() == spec.step and rows[0].min() >= 0
        for row in rows:
            numbers = [int(one) for one in row.ravel()]
            size = sum(map(abs, numbers)) if spec.pure or not spec.signed else sum(one * one for one in numbers)
            assert size <= (spec.step if spec.pure or not spec.signed else spec.step**2)
            assert spec.signed or min(numbers) >= 0
        most = max(most, max(abs(int(one)) for one in rows[1].ravel()))
    assert most > spec.step / 40  # the bound is not idle


@EACH
def test_a_record_adds_the_same_in_any_company(spec: Any) -> None:
    X, y = records(spec, BLOCK + 5)
    whole = MomentSketch(spec).update(X, y)
    apart = MomentSketch(spec)
    for part in np.array_split(np.random.default_rng(0).permutation(len(X)), 7):
        apart.update(np.asfortranarray(X[part]), y[part])
    assert np.array_equal(whole.secret.counts, apart.secret.counts) and whole.count == len(X)


def test_sums_are_those_of_whole_numbers() -> None:
    """Slowly, with Python's integers."""
    spec = SPECS["linear, pure"]
    X, y = records(spec, 20)
    rows = [np.zeros(2, object), np.zeros(15, object)]
    for x, t in zip(X, y, strict=True):
        u = [int(steps(np.array([v]), low, high, 2 * UNIT)[0]) - UNIT for v, low, high in zip(x, *BOUNDS, strict=True)]
        v = int(steps(np.array([t]), 0.0, 10.0, 2 * UNIT)[0]) - UNIT
        z = [*u, UNIT, v]
        w = sum(map(abs, u)) + 2 * UNIT
        p = [abs(one) * LENGTH // w * (1 if one >= 0 else -1) for one in z]
        rows[0] += [spec.step - (UNIT + v) * spec.step // (2 * UNIT), (UNIT + v) * spec.step // (2 * UNIT)]
        rows[1] += [p[i] * p[j] * (1 if i == j else 2) for i in range(5) for j in range(i, 5)]
    assert MomentSketch(spec).update(X, y).secret.counts.tolist() == [*rows[0], *rows[1]]


@pytest.mark.parametrize("name", ["linear, pure", "linear, Gaussian", "classes, pure"])
def test_products_come_back_as_a_matrix(name: str) -> None:
    spec = SPECS[name]
    numbers = np.random.default_rng(1).integers(-999, 999, (spec.width, spec.width))
    matrix = numbers + numbers.T
    assert np.allclose(spec.matrix(spec.products(matrix) / spec.step) * LENGTH**2, matrix)


def test_hats_give_back_the_sums_of_products() -> None:
    spec = SPECS["hats, pure"]
    X, y = records(spec, 50)
    rows = spec.split(MomentSketch(spec).update(X, y).secret.counts)
    first, second, _ = (spec.hats(X)[:, part] / PARTS for part in spec.parts)
    assert np.allclose(rows[4].reshape(4, 4), first.T @ second)
    weights = np.clip(y, 0.0, 10.0) / 10.0
    assert np.allclose(rows[1].reshape(7, 2)[:4, 1], (first**2).T @ weights, atol=0.05)
    for places, low, high in zip(spec.places, *BOUNDS, strict=True):
        np.testing.assert_allclose(places, np.linspace(low, high, 4))


def test_hats_between_knots_of_ones_own() -> None:
    """A value's parts are its distances from its two knots; beyond the last knot it is at that knot."""
    spec = SPECS["placed hats"]
    X, _ = records(spec, 50)
    found = spec.hats(X)
    for j, (knots, part) in enumerate(zip(spec.knots, spec.parts, strict=True)):
        expected = np.stack([np.interp(X[:, j], knots, one) for one in np.eye(len(knots))], axis=1) * PARTS
        assert np.abs(found[:, part] - expected).max() <= 0.5 + 1e-9 and (found[:, part].sum(axis=1) == PARTS).all()


def test_long_vectors_are_shortened_as_they_point() -> None:
    tiny = 5e-324
    rows = np.array(
        [[0.0, 0.0], [3e-5, -4e-5], [0.6, 0.8], [6.0, 8.0], [1.7e308, -1.7e308], [tiny, tiny], [1e308, tiny]]
    )
    found = within_length(rows, 1.0)
    assert (found.astype(object) ** 2).sum(axis=1).max() <= UNIT**2
    assert found[0].tolist() == [0, 0] and found[5].tolist() == [0, 0]
    assert found[1].tolist() == [round(3e-5 * UNIT), -round(4e-5 * UNIT)]  # short ones stay as they are
    for k, way in ((2, (0.6, 0.8)), (3, (0.6, 0.8)), (4, (0.5**0.5, -(0.5**0.5))), (6, (1.0, 0.0))):
        assert np.abs(found[k] / UNIT - way).max() < 3e-6
    assert within_length(rows * 1e-300, 1e-300)[3].tolist() == found[3].tolist()


def test_roots_are_rounded_up() -> None:
    squares = np.array([k * k + e for k in (2, 7, 2**20, 2**25 + 1, 2**26 - 1) for e in (-1, 0, 1)])
    for square, root in zip(squares.tolist(), root_above(squares).tolist(), strict=True):
        assert (root - 1) ** 2 < square <= root**2
    assert root_above(np.array([0, 1])).tolist() == [0, 1]
    assert longer(np.array([[0.0, 0.0], [0.0, 3.0], [2.4, 3.2], [2.5, 3.2], [1e308, 1e308]]), 4.0) == 2
    assert within_length(np.array([[0.0, 0.25]]), 1.0).tolist() == [[0, 262_144]], "the unit of every file"


def test_a_replaced_signed_number_moves_twice_as_far() -> None:
    signed = Moves(3, "replace", 1, reach=Reach(10, True))
    plain = Moves(3, "replace", 1, reach=Reach(10))
    assert (signed.total, signed.squared) == (60, 1200)
    assert (plain.total, plain.squared) == (60, 600)
    assert Moves(3, "add-remove", 2, reach=Reach(10, True)).squared == 1200
    assert Moves(3, "replace", 2) == Moves(3, "replace", 2, reach=Reach()) and Moves(3, "replace", 2).squared == 24


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_noise_grows_with_the_step_and_the_claim_stays(delta: float) -> None:
    law = "discrete-gaussian" if delta else None
    told: dict[str, Any] = {"epsilon": 1.0, "delta": delta, "count_share": 0}
    one, many = calibrate(4, **told, mechanism=law), calibrate(4, **told, reach=Reach(1000, True, law))
    assert float(many.scales.counters / one.scales.counters) == pytest.approx(1000.0, rel=1e-2)
    assert many.rho == pytest.approx(one.rho, rel=2e-2) and many.equivalent(1e-6) <= 1.0
    again = type(many).from_dict(many.to_dict())
    assert again == many and again.step == 1000 and again.signed
    assert delta or Fraction(4 * 1000) / many.scales.counters <= 1
    with pytest.raises(ParameterError, match="more privacy"):
        type(many).from_dict({**many.to_dict(), "step": 1001})


@EACH
@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_a_release_comes_back_from_its_file(spec: Any, neighbors: str, tmp_path: Any) -> None:
    X, y = records(spec, 40)
    release = MomentSketch(spec).update(X, y).release(1.0, 0.0 if spec.pure else 1e-6, neighbors=neighbors)
    release.save(tmp_path / "m.scumble")
    found = scumble.load(tmp_path / "m.scumble")
    assert found.spec == spec and np.array_equal(found.counts, release.counts)
    assert found.to_bytes() == release.to_bytes() and found.privacy == release.privacy
    if neighbors == "replace":
        assert found.noisy_count == len(X)
    assert all(error > 0.0 for error in found.errors) and len(found.errors) == spec.rows


def test_secrets_merge_and_are_kept(tmp_path: Any) -> None:
    spec = SPECS["hats, pure"]
    X, y = records(spec, 40)
    one, other = MomentSketch(spec).update(X[:9], y[:9]), MomentSketch(spec).update(X[9:], y[9:])
    one.save(tmp_path / "one.secret")
    both = merge([load_secret(tmp_path / "one.secret"), other])  # type: ignore[list-item]
    assert np.array_equal(both.secret.counts, MomentSketch(spec).update(X, y).secret.counts)
    for unlike in (replace(spec, knots=5), SPECS["linear, pure"]):
        with pytest.raises(MergeError):
            one.merge(MomentSketch(unlike))


def test_sums_that_could_wrap_are_refused() -> None:
    spec = SPECS["linear, pure"]
    sketch, (X, y) = MomentSketch(spec), records(spec, 3)
    most = (2**61 - 1) // spec.step
    with sketch.secret.changing("update") as counts:
        counts[0] = (most - 2) * spec.step
    assert sketch.count == most - 2
    assert sketch.update(X[:2], y[:2]).count == most
    with pytest.raises(DataError, match="too many records"):
        sketch.update(X[:1], y[:1])


def test_releases_merge() -> None:
    spec = SPECS["linear, pure"]
    X, y = records(spec, 40)
    parts = [MomentSketch(spec).update(X, y).release(1.0) for _ in range(2)]
    both = merge(parts, disjoint=True)  # type: ignore[call-overload]
    assert np.array_equal(both.counts, parts[0].counts + parts[1].counts)
    assert both.privacy.epsilon == parts[0].privacy.epsilon <= 1.0
    assert merge(parts).privacy.epsilon == pytest.approx(2.0)  # type: ignore[call-overload]
    assert both.variances == tuple(2.0 * one for one in parts[0].variances)
    assert both.count_variance == 2.0 * parts[0].count_variance
    assert MomentRelease.from_bytes(both.to_bytes()).privacy == both.privacy
    with pytest.raises(MergeError, match="already"):
        both.merge(parts[0])


def test_a_claim_about_other_moments_is_refused() -> None:
    spec = SPECS["linear, pure"]
    X, y = records(spec, 5)
    one, two = (MomentSketch(spec).update(X, y).release(1.0) for _ in range(2))
    for release, other in product((one, one.merge(two)), (replace(spec, pure=False), SPECS["hats, pure"])):
        counts = {"counts": np.zeros(other.counters, np.int64)}
        data = {**release.metadata(), "spec": other.to_dict(), "variances": [1.0] * other.rows}
        with pytest.raises(CorruptFileError):
            MomentRelease.from_container(files.Container("moments", data, counts, 1, ""))


LINEAR = SPECS["linear, pure"].to_dict()
FITTING = [
    {"variances": [0, 9e299], "count_variance": 0, "noisy_count": 1 - 2**62},
    {"noisy_count": None},
]
UNFIT = [
    *({"variances": wrong} for wrong in ([1.0], [1.0, -1.0], [1.0, 1e300], [1.0, "1"], [1.0, float("nan")])),
    *({"noisy_count": wrong} for wrong in (2**62, -(2**62), 1.0)),
    {"count_variance": -1.0},
    {"parts": None},
    *({"spec": wrong} for wrong in ([], LINEAR | {"more": 1}, LINEAR | {"moments": "others"})),
]


def test_numbers_of_a_file_are_checked() -> None:
    release = MomentSketch(SPECS["linear, pure"]).release(1.0)
    made = files.Container("moments", release.metadata(), {"counts": release.counts}, 1, "")
    for change in FITTING:
        found = MomentRelease.from_container(replace(made, metadata={**made.metadata, **change}))
        assert found.noisy_count == change["noisy_count"]
    counts = release.counts
    wrong = [replace(made, arrays={"counts": one}) for one in (counts[1:], counts.astype(np.int32), counts | 2**62)]
    for bad in (*wrong, *(replace(made, metadata={**made.metadata, **change}) for change in UNFIT)):
        with pytest.raises(CorruptFileError):
            MomentRelease.from_container(bad)


def test_the_count_is_weighed_by_variances() -> None:
    """The first row says 3 + 5 records with a variance of 2 + 2, the count 16 with one of 12: weights 3/4 and 1/4."""
    spec = SPECS["linear, pure"]
    counts = np.zeros(spec.counters, np.int64)
    counts[:2] = 3 * spec.step, 5 * spec.step
    made = MomentSketch(spec).release(1.0)
    options: dict[str, Any] = {"variances": (2.0 * spec.step**2, 1.0), "count_variance": 12.0}
    assert MomentRelease(spec, counts, made.privacy, noisy_count=16, **options).count == pytest.approx(10.0)
    alone = MomentRelease(spec, counts, made.privacy, noisy_count=None, **options)
    assert alone.count == 8.0 and alone.errors[0] == pytest.approx(2.0**0.5)
    assert alone.merge(made, disjoint=True).noisy_count is None
    large = MomentRelease(spec, counts + 2**61, made.privacy, noisy_count=None, **options)
    with pytest.raises(MergeError, match="damaged"):
        large.merge(MomentRelease(spec, counts + 2**61, made.privacy, noisy_count=None, **options))
    with pytest.raises(ParameterError, match="disjoint"):
        alone.merge(made, disjoint="perhaps")  # type: ignore[arg-type]


def changed(name: str, **changes: Any) -> Any:
    return replace(SPECS[name], **changes)


KNOTS = [  # of the third column of "placed hats", and one list for two columns
    *((5.0,), (6.0, 5.0), (5.0, 10.0), (4.0, 6.0, 9.0), tuple(5.0 + k / 32 for k in range(65)), [5.0, 6.0]),
]
BAD_SPECS = [
    *(changed("linear, pure", anchor=anchor) for anchor in (2.0**-11, 33.0, 1)),
    changed("linear, pure", target_bounds=(1.0, 1.0)),
    *(
        changed("linear, pure", bounds=bounds)
        for bounds in [
            *(((0.0,), (0.0,)), ((), ()), ((0.0, 0.0), (1.0,)), ((0,), (1.0,)), ((0.0,), (1,))),
            *(((-1.7e308,), (1.7e308,)), ((0.0,) * 4097, (1.0,) * 4097)),
        ]
    ),
    changed("linear, pure", pure=1),
    *(changed("linear, pure", columns=columns) for columns in (("a", "b"), ("a", "b", 3))),
    HatMoments(((0.0,) * 257, (1.0,) * 257), None, True, (0.0, 1.0), 64),  # 2**27 counters and half a million more
    object(),
    *(changed("hats, pure", knots=knots) for knots in (1, 65)),
    HatMoments(((1.7e18,), (1.7e18 + 1000,)), None, True, (0.0, 1.0), 12),  # of which several would be one float
    *(changed("classes, pure", classes=classes) for classes in (0, 2**16 + 1, True)),
    changed("placed hats", knots=((0.0, 1.0), (-1.0, 1.0))),
    *(changed("placed hats", knots=((0.0, 1.0), (-1.0, 1.0), knots)) for knots in KNOTS),
    changed("unit, pure", bounds=((-2.0, -2.0, -1.0), (2.0, 2.0, 2.0))),
    changed("classes, pure", ball=1),
]
GOOD_SPECS = [
    HatMoments(((0.0,) * 256, (1.0,) * 256), None, True, (0.0, 1.0), 64),
    HatMoments(((0.0,), (1.0,)), None, True, (0.0, 1.0), 2),
    ClassMoments(((-1.0,), (1.0,)), None, True, 1.0, 2, ball=True),
    *(changed("classes, pure", anchor=anchor, classes=many) for anchor, many in ((2.0**-10, 1), (32.0, 2**16))),
]


def test_specs_beyond_the_limits_are_refused() -> None:
    for bad in BAD_SPECS:
        with pytest.raises(ParameterError):
            MomentSketch(bad)
    for good in GOOD_SPECS:
        good.check()


@pytest.mark.parametrize("cell", ["12 Mill Lane", 10**400, 1 + 2j, None, [1.0], np.nan, np.inf])
def test_what_is_no_number_is_refused_and_not_quoted(cell: Any) -> None:
    spec = LinearMoments(((0.0,), (1.0,)), None, True, 1.0, (0.0, 1.0))
    for X, y in ([[[cell], [0.5]], [0.5, 0.5]], [[[0.5], [0.5]], [cell, 0.5]]):
        with pytest.raises(DataError, match="not finite numbers") as told:
            MomentSketch(spec).update(X, y)  # type: ignore[arg-type]
        assert str(told.value).endswith("Hint: correct them.") and told.value.__context__ is None


def test_bad_records_are_refused() -> None:
    for X, y in ((np.zeros((2, 2)), np.zeros(2)), (np.zeros((2, 3)), np.zeros(3))):
        with pytest.raises(DataError):
            MomentSketch(SPECS["linear, pure"]).update(X, y)
    for places in ([-1, 0], [0, 3], [0.0, 1.0], ["a", "b"]):  # that no class has
        with pytest.raises(ParameterError):
            MomentSketch(SPECS["classes, pure"]).update(np.zeros((2, 3)), np.array(places))


@pytest.mark.parametrize(
    ("name", "shares"), [("linear, pure", [1, 15]), ("classes, pure", [1, 9.8, 9.2]), ("hats, pure", [1, *[2.5] * 6])]
)
def test_rows_divide_the_budget(name: str, shares: list[float]) -> None:
    """Of Laplace noise a row has as much less as its share is larger."""
    errors = MomentSketch(SPECS[name]).release(1.0).errors
    assert [errors[0] / error for error in errors] == pytest.approx(shares, rel=1e-3)


def test_shares_follow_the_numbers_of_classes_and_of_pairs() -> None:
    """The more classes, the more their sums get; columns of hats get a root of how many pairs they have."""
    for classes, products in ((2, "10"), (10, "7.6"), (77, "3.8")):
        spec = replace(SPECS["classes, pure"], classes=classes)
        assert spec.shares == (1, Fraction(products), 19 - Fraction(products))
    for pure, columns, share in ((True, 17, 2), (False, 9, 2), (True, 3, 1)):
        hats = HatMoments(((0.0,) * columns, (1.0,) * columns), None, pure, (0.0, 1.0), 2)
        pairs = columns * (columns - 1) // 2
        assert hats.shares == (Fraction(share * columns + pairs, 15), *[share] * columns, *[1] * pairs)


@EACH
def test_no_row_has_more_counters_than_its_step(spec: Any) -> None:
    """The proof of Gaussian noise asks for it. The steps are those of every file."""
    longest = MOST_KNOTS**2 if isinstance(spec, HatMoments) else MOST_COUNTERS
    assert longest <= spec.step
    steps = [SPECS[name].step for name in ("hats, pure", "linear, pure", "linear, Gaussian")]
    assert steps == [2**22, 2**28, 5 * 2**28]
    rows = spec.split(np.arange(sum(spec.lengths)))
    assert [row.size for row in rows] == list(spec.lengths) and rows[-1][-1] * spec.step == sum(spec.lengths) - 1


def test_moments_for_laplace_noise_have_no_price_in_rho() -> None:
    reach = Reach(10, True, "discrete-laplace")
    with pytest.raises(scumble.ParameterError, match="rho"):
        Budget.of(rho=0.1).claim(3, None, reach)
    assert Budget.of(epsilon=1.0).claim(3, None, reach).law.pure


# ---- on a GPU ----

needs_a_device = pytest.mark.skipif(
    not gpu.available(), reason="no CUDA device here: the device's arithmetic is checked where one is"
)


@EACH
def test_sums_taken_elsewhere_are_the_same(spec: Any) -> None:
    """All of it runs on arrays that are not NumPy's, and never meets one that is."""
    X, y = records(spec, BLOCK + 5)
    counts, wanted = np.zeros((2, *spec.counters), np.int64)
    spec.count(X, y, counts, Elsewhere())
    spec.count(X, y, wanted)
    np.testing.assert_array_equal(counts, wanted)
    spec.count(X[:0], y[:0], counts, Elsewhere())
    np.testing.assert_array_equal(counts, wanted)


@needs_a_device
@EACH
@pytest.mark.parametrize("n", [1, BLOCK + 5])
def test_the_device_agrees_with_the_processor(spec: Any, n: int) -> None:
    X, y = records(spec, n)
    by_cpu, by_gpu = (MomentSketch(spec, engine=engine).update(X, y).secret.counts for engine in ("cpu", "gpu"))
    np.testing.assert_array_equal(by_gpu, by_cpu)
    empty = MomentSketch(spec, engine="gpu").update(X[:0], y[:0])
    assert not empty.secret.counts.any()


@needs_a_device
@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-30, 1e-3, 1.0, 1e30, 1e290])
@pytest.mark.parametrize("pure", [True, False])
def test_the_device_agrees_whatever_the_units(size: float, pure: bool) -> None:
    """Wide records, close to halves of units, where one rounding more or less would show."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(3000, 65))
    X[::2] = np.rint(X[::2] * 2**12) / 2**13
    X[::3] /= np.linalg.norm(X[::3], axis=1, keepdims=True)
    y = rng.integers(0, 7, len(X))
    high = float(max(size, 1e-300))
    for ball in (False, True):
        spec = ClassMoments(((-high,) * 65, (high,) * 65), None, pure, 0.3, 7, ball=ball)
        by_cpu, by_gpu = (
            MomentSketch(spec, engine=engine).update(X * size, y).secret.counts for engine in ("cpu", "gpu")
        )
        np.testing.assert_array_equal(by_gpu, by_cpu)


def test_the_engine_is_chosen_by_name_or_by_the_size_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    enough = -(-gpu.WORTH_A_DEVICE // HASHES)
    assert engine("cpu", 10**12) is engine("auto", 0) is CPU
    monkeypatch.setattr(gpu, "driver_present", lambda: True)
    monkeypatch.setattr(gpu, "available", lambda: 1)
    monkeypatch.setattr(gpu, "first_device", lambda: "the first")
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(asarray=abs, asnumpy=len))
    for device in (engine("auto", enough), engine("gpu", 0)):
        assert (device.upload, device.download, device.working()) == (abs, len, "the first")
    assert engine("auto", enough - 1) is CPU
    monkeypatch.setenv("CUBLAS_EMULATE_DOUBLE_PRECISION", "1")
    assert engine("auto", enough) is CPU
    with pytest.raises(ParameterError, match="must be exact"):
        engine("gpu", 0)
    with pytest.raises(ParameterError, match="`engine` must be one of auto, cpu, gpu"):
        MomentSketch(SPECS["linear, pure"], engine="abacus")


def test_the_engine_stays_with_the_sketch(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = SPECS["linear, pure"]
    X, y = records(spec, 20)
    asked = []
    monkeypatch.setattr(sketch_module, "engine", lambda name, cells: asked.append((name, cells)) or Elsewhere())
    one = MomentSketch(spec, engine="gpu").update(X, y)
    one.save(tmp_path / "one.secret")
    load_secret(tmp_path / "one.secret", engine="cpu").empty().update(X, y)
    one.empty().update(X[:1], y[:1])
    assert asked == [("gpu", X.size), ("cpu", X.size), ("gpu", 3)]


def test_without_a_device_the_error_says_what_to_do() -> None:
    spec = SPECS["linear, pure"]
    sketch, (X, y) = MomentSketch(spec, engine="gpu"), records(spec, 5)
    if gpu.available():
        assert sketch.update(X, y).count == len(X)
        return
    with pytest.raises(scumble.ScumbleError, match="engine='gpu'"):
        sketch.update(X, y)
    assert sketch.count == 0 and not sketch.secret.counts.any()
