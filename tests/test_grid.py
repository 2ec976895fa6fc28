"""The grid: one row of cells. Exact in what it counts, honest in what it answers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from scipy.integrate import quad

import scumble
from scumble import Sketch
from scumble.density.answers import BeyondBounds
from scumble.density.expected_error import Box
from scumble.density.field import AT_ONCE, Field
from scumble.density.grid_cells import MAX_DIMENSIONS, Grid, Profile, supports
from scumble.density.plan import plan_within
from scumble.errors import ParameterError
from scumble.kernels import AngularKernel, EuclideanKernel, HammingKernel, ManhattanKernel
from scumble.kernels.projection import ProjectionKernel
from scumble.privacy.budget import Budget

STATIONARY = [EuclideanKernel, ManhattanKernel]


def counted(grid: Grid, X: np.ndarray) -> np.ndarray:
    counts = np.zeros((1, grid.cells), np.int64)
    grid.count(X, counts)
    return counts


def brute(kernel, X, Q):
    return kernel(Q, X).sum(axis=1)


def sums(grid: Grid, counts: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Kernel sums from counters without noise."""
    return Field(grid, counts, 0.0).estimate(Q)[0]


def gaussian(seed: int, n: int, d: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.0, 10.0, (n, d))


def laplace(rng, epsilon: float, shape) -> tuple[np.ndarray, float]:
    """Discrete Laplace noise for tests, and its variance."""
    p = 1.0 - np.exp(-epsilon)
    return rng.geometric(p, shape) - rng.geometric(p, shape), 2.0 * (1.0 - p) / p**2


# ---- cells ----


def test_a_cell_is_half_open_and_edges_take_what_lies_outside():
    grid = Grid(EuclideanKernel(1.0), low=[0.5], high=[4.5], shape=(4,), width=1)
    values = np.array([[0.5], [1.4999], [1.5], [4.5], [99.0], [-1e300], [1e300], [0.0], [-0.0]])
    assert grid.cell(values).tolist() == [0, 0, 1, 3, 3, 0, 3, 0, 0]
    single = Grid(EuclideanKernel(1e6), low=[0.1], high=[1.0], shape=(1,), width=1)
    field = Field(single, np.array([[50]]), 2.0, count=50.0, count_variance=100.0)
    value, noise, places = field.estimate(np.array([[0.5]]))
    np.testing.assert_allclose(value, 50.0, rtol=1e-5)
    assert 1.0 < (noise + places)[0] < 4.0


@pytest.mark.parametrize("cells", [11, 21, 31, 101])
def test_on_whole_numbers_a_small_grid_is_exact(cells):
    """They are centers of its cells: the sum over these is the sum over records, and nothing is interpolated."""
    grid = Grid(EuclideanKernel(4.0), low=[-5, -5], high=[5, 5], shape=(cells, cells), width=2)
    X = np.random.default_rng(3).integers(-5, 6, (500, 2)).astype(float)
    places = np.stack(np.unravel_index(grid.cell(X), grid.shape), axis=1)
    np.testing.assert_allclose(grid.start + (places + 0.5) * grid.step, X, atol=1e-12)
    found = sums(grid, counted(grid, X), X)
    np.testing.assert_allclose(found, brute(EuclideanKernel(4.0), X, X), rtol=1e-9)


@pytest.mark.parametrize("shape", [(7, 5), (300, 200)], ids=["few cells", "many cells"])
@pytest.mark.parametrize("threads", [1, 2, 16])
def test_threads_count_what_one_counts(threads, shape, monkeypatch):
    monkeypatch.setattr("scumble.density.grid_cells.TILE", 64)
    X = np.vstack([gaussian(3, 1001, 2), [[np.nan, 0.0], [np.inf, -np.inf], [-0.0, 1e300]]])
    grid = Grid(EuclideanKernel(1.0), low=[-9, -8.5], high=[9, 8], shape=shape, width=2)
    places = []
    for x in X:
        place = np.floor((x - grid.start) / grid.step)
        places.append([0 if not p > 0 else int(min(p, n - 1)) for p, n in zip(place, shape, strict=True)])
    wanted = np.zeros(shape, np.int64)
    np.add.at(wanted, tuple(np.transpose(places)), 1)
    counts = np.ones((1, grid.cells), np.int64)
    grid.count(X, counts, threads)
    assert np.array_equal(counts[0] - 1, wanted.ravel())


# ---- which kernels ----


@pytest.mark.parametrize(
    ("kernel", "low", "high", "shape"),
    [
        (AngularKernel(), 0.0, 1.0, (2,)),
        *((None, low, high, (3,)) for low, high in ((1, 1), (2, 1), (np.nan, 1), (0, np.inf), (-1e308, 1e308))),
        *((None, 0.0, 1.0, shape) for shape in ((), (0,), (3, 3), (2.5,), (True,))),
    ],
)
def test_what_is_no_grid_is_refused(kernel, low, high, shape):
    with pytest.raises(ParameterError):
        Grid(kernel or EuclideanKernel(1.0), low=[low], high=[high], shape=shape, width=1)


def test_supports_says_why_not():
    assert supports(EuclideanKernel(1.0), 3) is None
    assert supports(EuclideanKernel(1.0, columns=[0]) * ManhattanKernel(1.0, columns=[5]), 9) is None
    assert supports(AngularKernel(), 2) and supports(EuclideanKernel(1.0), MAX_DIMENSIONS + 1)
    assert supports(EuclideanKernel(1.0, columns=[0]) * HammingKernel(columns=[1]), 2)


# ---- the sum ----


def obvious(grid: Grid, kernel, counts: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """The slow twin: sharpen the counters cell by cell, then sum over all cells with the kernel itself."""
    shape = grid.shape
    weight: dict[tuple[int, ...], float] = {}
    for index in np.ndindex(*shape):
        value = float(counts[0, np.ravel_multi_index(index, shape)])
        weight[index] = weight.get(index, 0.0) + value
        for axis, spread in enumerate(grid.spread):
            for move, share in ((-1, -1 / 24), (0, 2 / 24), (1, -1 / 24)):
                other = tuple(i + move * (j == axis) for j, i in enumerate(index))
                weight[other] = weight.get(other, 0.0) + value * share * spread
    centers = grid.start + (np.array(list(weight)) + 0.5) * grid.step
    return kernel(Q, centers) @ np.array(list(weight.values()))


class Tilted(ProjectionKernel):
    """A stationary kernel whose axes are not its own: signs of the differences matter."""

    def _direction(self, draws, dimensions):
        return draws.normal(dimensions)

    def profile(self, differences):
        turned = differences @ np.array([[1.0, 0.8], [0.0, 0.6]])
        return EuclideanKernel(self.bandwidth).profile(turned)


@pytest.mark.parametrize(
    ("kernel", "d"),
    [
        (EuclideanKernel(5.0), 1),
        (EuclideanKernel(9.0, power=3), 2),
        (EuclideanKernel(5.0), 3),
        (ManhattanKernel(8.0), 2),
        (EuclideanKernel(0.5, columns=[0], scale=10.0) * ManhattanKernel(9.0, columns=[1]), 2),
        (Tilted(5.0), 2),
    ],
)
def test_field_equals_the_obvious_sum(kernel, d):
    X, Q = gaussian(2, 400, d), gaussian(3, 60, d)
    # Cubics miss a kernel that is smooth at a distance of 2 steps by 3/128 step⁴ k⁗: well under 0.3 % of f for steps of
    # half a bandwidth. Kinks along the axes (Manhattan, products) cost about a tenth of |k′| step in one slab: 3 %.
    cells = (25, 21, 23)[:d]
    grid = Grid(kernel, low=[-31.5] * d, high=[33.0] * d, shape=cells, width=d)
    counts = counted(grid, X)
    expected = obvious(grid, kernel, counts, Q)
    ridged = isinstance(kernel, ManhattanKernel) or len(kernel.factors) > 1
    rtol = 3e-2 if ridged else 3e-3
    np.testing.assert_allclose(sums(grid, counts, Q), expected, rtol=rtol)
    centers = grid.start + (np.array([[i] * d for i in range(3, 20)]) + 0.5) * grid.step
    if not ridged:  # on centers nothing is interpolated
        np.testing.assert_allclose(sums(grid, counts, centers), obvious(grid, kernel, counts, centers), rtol=1e-10)


def test_outside_the_bounds_the_sum_goes_on():
    kernel = EuclideanKernel(5.0)
    grid = Grid(kernel, low=[-31.5] * 2, high=[33.0] * 2, shape=(25, 21), width=2)
    counts = counted(grid, gaussian(2, 400, 2))
    field = Field(grid, counts, 4.0, count=400.0, count_variance=9.0)
    line = np.stack([np.linspace(-150.0, 150.0, 301), np.full(301, 1.0)], axis=1)
    expected = obvious(grid, kernel, counts, line)
    np.testing.assert_allclose(sums(grid, counts, line), expected, rtol=3e-3)
    # The error bars go on without a jump where the slow way takes over (here the grid is 65 wide and 25 cells long).
    _, noise, places = field.estimate(line)
    jumps = np.abs(np.diff(np.log(noise + places))) / 2.0
    assert jumps.max() < 0.2
    far = field.estimate(np.array([[1e300, 0.0], [-1e300, 1e300], [1e30, 1e30]]))
    assert np.all(far[0][:2] == 0.0) and np.isfinite(far).all()


@pytest.mark.parametrize("kind", STATIONARY)
def test_beyond_the_bounds_intervals_allow_for_records_that_were_moved_to_the_edge(kind):
    """The exact sketch of records that lie far outside: every one of them counts at the edge."""
    kernel = kind(5.0)
    X = np.vstack([gaussian(7, 200, 2), [[60.0, 0.0]] * 300, [[-200.0, 90.0]] * 100])
    sketch = Sketch(kernel, dimensions=2, design="grid", bounds=(-30, 30), buckets=4096).update(X)
    Q = np.array([[60.0, 0.0], [45.0, -2.0], [-200.0, 90.0], [30.0, 300.0], [1e300, 0.0]])
    lower, upper = sketch.interval(Q)
    truth = brute(kernel, X, Q)
    assert (lower <= truth).all() and (truth <= upper).all() and (lower <= 0.0).all()
    within = np.array([[29.0, 0.0], [-30.0, 30.0]])
    assert np.all(sketch.interval(within)[0] > 0.0)


CASES = [(kind, power, d) for kind in STATIONARY for power, d in ((1, 1), (4, 2), (1, 3))]


@pytest.mark.parametrize(("kind", "power", "d"), CASES)
def test_error_falls_as_cells_shrink(kind, power, d):
    # Records move by a random part of a step, so the root mean square error falls as the step: a third of it must give
    # less than 0.6 of the error (0.33 expected; that of 200 queries which share records varies by a fifth or so).
    kernel = kind(10.0 if kind is EuclideanKernel else 20.0, power=power)
    X, Q = gaussian(11, 2000, d), gaussian(12, 200, d)
    truth = brute(kernel, X, Q)
    errors = []
    for cells in ((24, 72), (24, 72), (14, 42))[d - 1]:
        grid = Grid(kernel, low=[-40.0] * d, high=[41.25] * d, shape=(cells,) * d, width=d)
        errors.append(np.sqrt(np.mean(np.square(sums(grid, counted(grid, X), Q) - truth))))
    assert errors[1] < 0.6 * errors[0]
    assert errors[1] < 0.05 * np.sqrt(np.mean(np.square(truth)))


# ---- noise ----


def noisy_setting(d: int):
    kernel = EuclideanKernel(6.0)
    shape = {1: (40,), 2: (13, 11), 3: (6, 7, 5)}[d]
    grid = Grid(kernel, low=[-30.0] * d, high=[31.5] * d, shape=shape, width=d)
    return grid, counted(grid, gaussian(31, 800, d)), gaussian(32, 25, d) * 1.3


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("count_variance", [None, 50.0])
def test_noise_goes_in_linearly_and_its_variance_is_known(d, count_variance):
    # By linearity the weight of each counter is the response to one more record in it: the noise's variance is
    # v Σ weight², plus the count's. No draw is needed.
    grid, counts, Q = noisy_setting(d)
    v, known = 7.0, {} if count_variance is None else {"count": 800.0, "count_variance": count_variance}
    base, stated, _ = Field(grid, counts, v, **known).estimate(Q)
    weights = []
    for cell in range(grid.cells):
        more = counts.copy()
        more[0, cell] += 1000
        weights.append((Field(grid, more, v, **known).estimate(Q)[0] - base) / 1000.0)
    variance = v * np.sum(np.square(weights), axis=0)
    if count_variance is not None:
        shifted = Field(grid, counts, v, count=801.0, count_variance=count_variance).estimate(Q)[0]
        variance += count_variance * np.square(shifted - base)
    np.testing.assert_allclose(stated, variance, rtol=0.03)  # cubics between the centers: about one percent of k²


# ---- error bars ----


def salaries(rng, n):
    """Smooth, with a few values that many share."""
    smooth = np.exp(rng.normal(11.1, 0.4, n))
    return np.where(rng.random(n) < 0.3, rng.choice(np.arange(30, 130, 7) * 997.0, n), smooth)[:, None]


def colors(rng, n):
    return np.clip(np.round(rng.normal(128, 30, (n, 1)) + rng.normal(0, 12, (n, 3))), 0, 255)


SETTINGS = {
    "salaries": (EuclideanKernel(5000.0), salaries, [0.0], [250_000.0], 12_000),
    "colors": (EuclideanKernel(10.0), colors, [0.0] * 3, [255.0] * 3, 20_000),
    "blob": (EuclideanKernel(5.0), lambda rng, n: rng.normal(0, 10, (n, 2)), [-50.0] * 2, [50.5] * 2, 20_000),
    "few": (ManhattanKernel(10.0), lambda rng, n: rng.normal(0, 10, (n, 1)), [-50.0], [50.5], 400),
}


@pytest.mark.parametrize("epsilon", [1.0, 0.1])
@pytest.mark.parametrize("name", SETTINGS)
def test_intervals_cover_and_are_not_too_wide(name, epsilon):
    # All queries of one draw share its noise, so coverage is averaged over draws: with three or twelve draws of, say,
    # five independent stretches each, 95 % has a standard error of 3 %; two of them are allowed for in each half.
    kernel, sample, low, high, n = SETTINGS[name]
    rng = np.random.default_rng(61)
    shape = planned(kernel, low, high, n=n, epsilon=epsilon).shape
    grid = Grid(kernel, low=low, high=high, shape=shape, width=len(low))
    errors, bars, sums = [], [], []
    for _ in range(3 if len(low) == 3 else 32 if name == "few" else 12):  # few records: 95 % in 300 draws, ± 12 % each
        X, Q = sample(rng, n), sample(rng, 60)
        counts = counted(grid, X)
        noise, v = laplace(rng, epsilon, counts.shape)
        count = n + rng.laplace(0.0, 25.0 / epsilon)
        field = Field(grid, counts + noise, v, count=count, count_variance=2 * 625.0 / epsilon**2)
        truth = brute(kernel, X, Q)
        value, by_noise, by_places = field.estimate(Q)
        errors.append(value - truth)
        bars.append(1.96 * np.sqrt(by_noise + by_places))
        sums.append(truth)
    error, bar, total = (np.concatenate(part) for part in (errors, bars, sums))
    dense = total > np.median(total)
    for some in (dense, ~dense):
        assert np.mean(np.abs(error[some]) <= bar[some]) >= 0.87
    # A few records in each cell make tails that no interval of a normal law has: 0.926 in 60 draws of 400 records.
    assert np.mean(np.abs(error) <= bar) >= (0.90 if name == "few" else 0.93)
    # In cells twice as wide as the kernel, the density's own curvature looks like records that share a place.
    assert np.sqrt(np.mean(np.square(bar))) <= 3.5 * 1.96 * np.sqrt(np.mean(np.square(error)))


# ---- the shape ----


def planned(kernel, low, high, *, n=100_000, epsilon=1.0, **options):
    columns = {"dimensions": len(low), "design": "grid", "later": False, **options}
    return plan_within(Budget(epsilon), n, kernel=kernel, bounds=(low, high), **columns)


@pytest.mark.parametrize("limit", [1, 10, 1000])
@pytest.mark.parametrize("d", [1, 2, 4])
def test_shape_respects_the_limit(limit, d):
    plan = planned(EuclideanKernel(5.0), [0.3] * d, [255.0] * d, n=10**6, buckets=limit)
    assert len(plan.shape) == d and np.prod(plan.shape) == plan.buckets <= limit and plan.relative_error > 0.0


def test_axes_are_cut_in_proportion_to_the_kernel():
    kernel = EuclideanKernel(1.0, scale=[10.0, 20_000.0])
    shape = Box(kernel, 2, None, ([0.5, 0.5], [100.0, 200_000.0])).finest
    assert abs(shape[0] / shape[1] - 1.0) < 0.05


@pytest.mark.parametrize("kernel", [EuclideanKernel(3.0, power=2), ManhattanKernel(3.0)])
def test_the_centers_of_all_cells_at_once(kernel) -> None:
    """As asked one by one; where the kernel has ridges, these are rounded off, by 4 % in cells as coarse as these."""
    rng = np.random.default_rng(5)
    grid = Grid(kernel, low=[0.0, 0.0], high=[20.0, 30.0], shape=(17, 23), width=2)
    counts = counted(grid, rng.normal([8.0, 20.0], 4.0, (3000, 2)))
    noise, variance = laplace(rng, 0.5, counts.shape)
    field = Field(grid, counts + noise, variance, count=3010.0, count_variance=50.0)
    axes = [grid.start[j] + (np.arange(n) + 0.5) * grid.step[j] for j, n in enumerate(grid.shape)]
    centers = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    tolerance = 1e-9 if kernel.name == "euclidean" else 0.1
    np.testing.assert_allclose(field.at_centers(), field.estimate(centers)[0], rtol=tolerance)


# ---- how many cells ----


@pytest.mark.parametrize("length", [0.5, 30.0, 1e4])
@pytest.mark.parametrize("kernel", [EuclideanKernel(1.0, power=2), ManhattanKernel(2.0)])
def test_the_means_behind_the_choice_are_right(kernel, length):
    """Against the definition, integrated adaptively."""
    box, profile = Box(kernel, 1, None, ([0.0], [length])), Profile(kernel, 1)
    half = length / 2.0

    def mean(f):
        edges = [0.0, *np.geomspace(min(1e-2, half / 2.0), half, 12)]
        return sum(quad(f, a, b, epsabs=0.0, epsrel=1e-9)[0] for a, b in pairwise(edges)) / half

    def k(x):
        return float(profile(np.array([[x]]))[0])

    expected = mean(lambda x: 2.0 * (1.0 - x / half) * k(x)), mean(lambda x: k(x) ** 2), mean(k)
    np.testing.assert_allclose((box.spread, box._square, box._mean), expected, rtol=1e-3)


def test_half_widths_are_where_the_kernel_falls_to_one_half():
    for scale in (1e-200, 1e-3, 1.0, 1e200):
        profile = Profile(EuclideanKernel(1.0, power=2, scale=[scale, 7.0 * scale]), 2)
        np.testing.assert_allclose(profile(np.diag(profile.half_widths)), 0.5, rtol=1e-9)
        np.testing.assert_allclose(profile.half_widths[1] / profile.half_widths[0], 7.0, rtol=1e-9)


# ---- the first few queries ----


@pytest.mark.parametrize(
    ("kernel", "shape"),
    [
        (EuclideanKernel(3.0), (4000,)),
        (EuclideanKernel(9.0, power=2), (60, 50)),
        (ManhattanKernel(9.0), (60, 50)),
        (EuclideanKernel(40.0), (14, 15, 16)),
    ],
)
def test_first_answers_are_those_that_all_others_would_get(kernel, shape, monkeypatch) -> None:
    """Summed over all cells, or interpolated from tables: the same to a thousandth, in the corners too."""
    rng, d = np.random.default_rng(1), len(shape)
    grid = Grid(kernel, low=[0.2] * d, high=[100.1] * d, shape=shape, width=d)
    counts = counted(grid, rng.normal(40.0, 15.0, (2000, d))) + rng.integers(-3, 4, (1, grid.cells))
    Q = np.concatenate([rng.uniform(20, 80, (AT_ONCE - 4, d)), np.outer([0.2, 1.0, 99.0, 100.1], np.ones(d))])
    monkeypatch.setattr("scumble.density.field.SMALL", 0)
    field = Field(grid, counts, 4.0, count=2000.0, count_variance=9.0)
    first = field.estimate(Q)
    assert "_tables" not in vars(field), "so few queries need none"
    again = field.estimate(Q)
    assert "_tables" in vars(field)
    assert np.all(np.abs(first[0] - again[0]) < 0.02 * np.sqrt(again[1] + again[2]))
    np.testing.assert_allclose(first[1], again[1], rtol=0.03)
    np.testing.assert_allclose(first[1] + first[2], again[1] + again[2], rtol=0.05)


def test_points_beyond_the_bounds_are_told() -> None:
    """As `scumble query` tells them: what lay there was counted at the edge."""
    kernel = scumble.EuclideanKernel(5.0)
    release = scumble.build(pa.table({"age": [50.0] * 100}), kernel, bounds=(0, 100), epsilon=1.0)
    release.kernel_sum([[0.0], [100.0]]), release.density([[50.0]])
    release.interval([[150.0]]), release.standard_error([[150.0]])  # which allow for it
    for ask in (release.kernel_sum, release.density):
        with pytest.warns(BeyondBounds, match="^2 points") as told:
            ask([[50.0], [100.1], [-1.0]])
        assert [one.filename for one in told] == [__file__]
