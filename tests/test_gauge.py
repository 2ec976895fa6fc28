"""Rows over one column: how good the first of them happen to be is measured before they are chosen from."""

from __future__ import annotations

import numpy as np
import pytest

import scumble
from scumble.kernels import Kernel
from scumble.planning import gauge, later
from scumble.planning.later import Menu
from scumble.privacy.budget import Budget
from scumble.privacy.facts import Facts
from scumble.spec import Spec

LADDER = [8, 16, 32, 64, 128, 256, 512]
DENSITY = np.array([0.1])


def spec_of(kernel: Kernel, dimensions: int = 1, columns: tuple[str, ...] | None = None, **options: object) -> Spec:
    fields = {"rows": 512, "buckets": 1024, "seed": 0, "design": "sobol"} | options
    return Spec(kernel, dimensions, columns, **fields)  # type: ignore[arg-type]


def measured(spec: Spec) -> np.ndarray:
    return np.array([gauge.against_usual(spec, rows, DENSITY).item() for rows in LADDER])


@pytest.mark.parametrize("seed", [0, 2])
@pytest.mark.parametrize("law", ["uniform", "lognormal", "two heaps"])
def test_other_records_meet_the_same_rows(seed: int, law: str) -> None:
    """Real sketches of records of other laws, without noise: their errors follow the gauge, not 1/√R."""
    rng = np.random.default_rng(1)
    drawn = {
        "uniform": lambda n: rng.random(n) * 3.5,
        "lognormal": lambda n: np.exp(0.4 * rng.normal(size=n)) * 2.0,
        "two heaps": lambda n: rng.normal(size=n) * 0.7 + np.where(rng.random(n) < 0.5, 0.0, 3.0),
    }[law]
    records, queries = drawn(4000)[:, None], drawn(400)[:, None]
    kernel = scumble.EuclideanKernel(0.3, power=2)
    truth = kernel(queries, records).sum(axis=1)
    assert 0.05 < np.median(truth) / len(records) < 0.2
    errors = []
    for rows in LADDER:
        first = scumble.Sketch(kernel, 1, rows=rows, buckets=1024, seed=seed, design="sobol").update(records)
        errors.append(np.mean(np.abs(first.kernel_sum(queries) - truth) / truth) * rows**0.5)
    seen, told = np.log(errors), np.log(measured(spec_of(kernel, seed=seed)))
    seen, told = seen - seen.mean(), told - told.mean()
    assert np.sqrt(np.mean((seen - told) ** 2)) < 0.6 * np.sqrt(np.mean(seen**2))
    assert np.corrcoef(seen, told)[0, 1] > 0.85


def test_all_that_matters_is_how_densely_records_lie() -> None:
    plain = measured(spec_of(scumble.EuclideanKernel(1.0, power=2)))
    assert plain.max() > 2.5 * plain.min()
    for kernel, *rest in (
        (scumble.EuclideanKernel(1000.0, power=2),),
        (scumble.EuclideanKernel(1e-6, power=2),),
        (scumble.EuclideanKernel(1.0, power=2, scale=20.0),),
        (scumble.EuclideanKernel(3.0, power=2, columns=["b"]), 3, ("a", "b", "c")),
    ):
        assert np.allclose(measured(spec_of(kernel, *rest)), plain, rtol=0.02)


def test_more_rows_than_are_tried_are_like_the_last_of_them() -> None:
    many = spec_of(scumble.EuclideanKernel(1.0, power=2), rows=4 * gauge.ROWS)
    assert gauge.against_usual(many, 4096, DENSITY) == gauge.against_usual(many, gauge.ROWS, DENSITY)


def test_only_one_column_of_numbers_is_measured() -> None:
    euclidean = scumble.EuclideanKernel(1.0)
    assert gauge.measurable(spec_of(euclidean))
    assert gauge.measurable(spec_of(scumble.EuclideanKernel(1.0, columns=["b"]), 2, ("a", "b")))
    assert not gauge.measurable(spec_of(euclidean, 2))
    assert not gauge.measurable(spec_of(scumble.AngularKernel(), 1))
    assert not gauge.measurable(spec_of(scumble.HammingKernel(), 1))
    assert not gauge.measurable(scumble.Sketch(euclidean, 1, bounds=(0.0, 9.0), design="grid").spec)


def chosen() -> int:
    """Of 100,000 records that lie at a density of 0.03, with ε = 0.1."""
    spec = scumble.Sketch(scumble.EuclideanKernel(1.0, power=2), 1, seed=0).spec
    norm = round(100_000 * (0.03 + 0.97 / spec.buckets) ** 0.5)
    return Menu(spec, Budget(0.1, 0.0)).choose([Facts(100_000, 0.0, norm, 1.0)]).rows


def test_few_rows_that_do_well_are_preferred(monkeypatch: pytest.MonkeyPatch) -> None:
    """With seed 0, 8 rows err by little, and 16 to 128 by no less: their noise would be for nothing."""
    assert chosen() == 8
    monkeypatch.setattr(later, "measurable", lambda spec: False)
    assert chosen() == 128


@pytest.mark.parametrize(
    "kernel",
    [scumble.EuclideanKernel(width, power=2) for width in (1e-300, 1e-150, 1e150, 1e290)]
    + [scumble.EuclideanKernel(1.0, scale=scale) for scale in (1e-200, 1e200)],
    ids=repr,
)
def test_no_kernel_is_too_narrow_or_too_wide_to_choose_rows(kernel: Kernel) -> None:
    """The choice is made when the budget is spent: it must not fail, nor warn."""
    menu = Menu(scumble.Sketch(kernel, 1, seed=0).spec, Budget(1.0, 0.0))
    assert menu.choose([Facts(20_000, 10.0, 3_000, 10.0)]).rows in menu.rows


def test_one_bucket_tells_nothing_and_stops_nothing() -> None:
    one = spec_of(scumble.EuclideanKernel(1.0), buckets=1)
    assert np.array_equal(gauge.against_usual(one, 8, DENSITY), [1.0])
    assert scumble.Sketch(scumble.EuclideanKernel(1.0), 1, buckets=1).update(np.zeros((50, 1))).release(1.0).rows >= 8
