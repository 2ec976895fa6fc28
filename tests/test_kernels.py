"""Kernels one by one: formulas, scales, columns, products, and kernels of one's own."""

from __future__ import annotations

from itertools import pairwise

import mpmath
import numpy as np
import pandas as pd
import pytest
from scipy import integrate, special, stats

import scumble
from rates import normal
from scumble.kernels import Kernel
from scumble.kernels.projection import meeting


@pytest.mark.parametrize("distance", [1e-6, 1e-3, 0.1, 0.7, 1.0, 3.0, 50.0, 1e9])
@pytest.mark.parametrize("law", [stats.norm, stats.cauchy], ids=["Euclidean", "Manhattan"])
def test_the_formula_is_the_integral_it_comes_from(law: stats.rv_continuous, distance: float) -> None:
    """k = ∫ over the projected gap u of (1 − u/w) · 2φ(u/c)/c du (Datar et al. 2004, equation 1)."""
    kernel = (scumble.EuclideanKernel if law is stats.norm else scumble.ManhattanKernel)(2.0)
    edges = np.unique(np.clip(distance * np.array([0.0, 1.0, 10.0, 40.0, 1e3, 1e5, 1e7]), 0.0, 2.0)).tolist()
    edges += [2.0] if edges[-1] < 2.0 else []
    value = sum(
        integrate.quad(lambda u: (1 - u / 2.0) * 2.0 * law.pdf(u, scale=distance), a, b, limit=400)[0]
        for a, b in pairwise(edges)
    )
    assert kernel([[0.0]], [[distance]])[0, 0] == pytest.approx(value, rel=1e-6)


def test_the_euclidean_formula_is_exact_to_rounding_wherever_its_parts_meet() -> None:
    edges = [np.nextafter(edge, side) for edge in (0.25, 1.0, 8.5) for side in (0.0, 10.0)]
    t = np.concatenate([np.geomspace(1e-9, 1e6, 1501), np.linspace(0.2, 9.0, 500), edges])
    with mpmath.workdps(60):
        places = [mpmath.mpf(place) for place in t.tolist()]
        exact = [
            mpmath.erf(x / mpmath.sqrt(2)) + mpmath.sqrt(2 / mpmath.pi) * mpmath.expm1(-x * x / 2) / x for x in places
        ]
    np.testing.assert_allclose(meeting(t), np.array(exact, float), rtol=1e-15, atol=0.0)
    by_scipy = special.erf(t / np.sqrt(2.0)) + np.sqrt(2.0 / np.pi) * np.expm1(-0.5 * t * t) / t
    np.testing.assert_allclose(meeting(t), by_scipy, rtol=2e-15, atol=0.0)
    assert np.isnan(meeting(np.array([np.nan, 0.1, 5.0]))).tolist() == [True, False, False]


def test_scale_divides_columns() -> None:
    X, Y = np.array([[10.0, 2.0]]), np.array([[30.0, 3.0]])
    plain = scumble.EuclideanKernel(1.0)(X / [20.0, 5.0], Y / [20.0, 5.0])
    for scale in ([20.0, 5.0], (20, 5), np.array([20.0, 5.0])):
        np.testing.assert_allclose(scumble.EuclideanKernel(1.0, scale=scale)(X, Y), plain)
    named = scumble.EuclideanKernel(1.0, scale={"pay": 5.0, "age": 20.0})
    frames = (pd.DataFrame(x, columns=["age", "pay"]) for x in (X, Y))
    np.testing.assert_allclose(named(*frames), plain)


def test_a_product_multiplies_over_its_own_columns() -> None:
    frame = pd.DataFrame({"age": [30.0, 40.0, 30.0], "town": ["Ulm", "Ulm", "Jena"], "pay": [1.0, 2.0, 3.0]})
    age = scumble.EuclideanKernel(10.0, columns=["age"])
    town = scumble.HammingKernel(columns=["town"])
    both = age * town
    np.testing.assert_allclose(both(frame, frame), age(frame, frame) * town(frame, frame))
    assert both(frame, frame)[0, 2] == 0.0
    three = both * scumble.ManhattanKernel(1.0, columns=["pay"])
    assert len(three.factors) == 3
    assert Kernel.from_dict(three.to_dict()) == three


def test_a_sketch_of_a_mixed_table_is_unbiased(rng: np.random.Generator) -> None:
    """Mean over 200 seeds within the bounds of chance of brute force."""
    words = [" ".join(rng.choice(list("abcdef"), 3)) for _ in range(300)]
    towns = rng.choice(["Ulm", "Jena", "Gera"], 300)
    frame = pd.DataFrame({"age": rng.normal(40.0, 10.0, 300), "town": towns, "words": words})
    kernel = scumble.EuclideanKernel(10.0, columns=["age"]) * scumble.HammingKernel(columns=["town"])
    kernel = kernel * scumble.JaccardKernel(columns=["words"])
    truth = kernel(frame[:1], frame).sum()
    size = {"columns": list(frame), "rows": 16, "buckets": 64, "design": "iid"}
    sums = [scumble.Sketch(kernel, **size, seed=s).update(frame).kernel_sum(frame[:1]) for s in range(200)]
    assert abs(np.mean(sums) - truth) <= normal() * np.std(sums) / np.sqrt(200)


class TriangleKernel(Kernel):
    """A kernel of one's own: a randomly shifted grid on a line, k = max(0, 1 − |x − y|)."""

    name = "test-triangle"

    def _draw_one(self, draws, dimensions):
        return draws.uniform(1)

    @staticmethod
    def code(record, parameters):
        return np.floor(record[0] + parameters[0])

    def collision(self, X, Y):
        return np.maximum(0.0, 1.0 - np.abs(X[:, :1] - Y[:, 0]))


def test_a_kernel_of_ones_own_is_compiled_and_counted(rng: np.random.Generator) -> None:
    X = rng.normal(size=(2000, 1))
    kernel = TriangleKernel(power=2)
    sketches = [
        scumble.Sketch(kernel, 1, rows=64, buckets=32, seed=4, design="sobol", engine=engine).update(X[:200])
        for engine in ("cpu", "reference")
    ]
    Q = np.linspace(-2.0, 2.0, 9)[:, None]
    np.testing.assert_array_equal(sketches[0].kernel_sum(Q), sketches[1].kernel_sum(Q))
    sketch = scumble.Sketch(kernel, 1, rows=2048, buckets=64, seed=4).update(X)
    np.testing.assert_allclose(sketch.kernel_sum(Q), kernel(Q, X).sum(axis=1), atol=30.0)
    assert scumble.Release.from_bytes(sketch.release(1.0).to_bytes()).kernel == kernel


def test_what_a_kernel_reads_it_says() -> None:
    class Same(TriangleKernel):
        """Equal or not, for columns of any type."""

        name = "test-same"
        reads = "category"

        @staticmethod
        def code(record, parameters):
            return record[0]

        def collision(self, X, Y):
            return np.equal.outer(X[:, 0], Y[:, 0]).astype(float)

    towns = pd.DataFrame({"town": ["Ulm", "Bonn", "Ulm"]})
    np.testing.assert_array_equal(Same()(towns[:1], towns), [[1.0, 0.0, 1.0]])
    met = scumble.Sketch(Same(), columns=["town"], rows=64, buckets=64).update(towns).kernel_sum(towns[:1])
    assert abs(met[0] - 2.0) < 0.2
    numbers, categories = TriangleKernel(columns=[0]), Same(columns=[1])
    assert numbers.numeric and not categories.numeric and not (numbers * categories).numeric
    with pytest.raises(scumble.ParameterError, match=r"`Odd\.reads` must be one of number, category, tokens"):
        type("Odd", (TriangleKernel,), {"reads": "color"})
    with pytest.raises(scumble.ParameterError, match="must say what that reads"):
        type("Odd", (TriangleKernel,), {"read": scumble.HammingKernel.read})


def test_token_sets_are_read_from_lists_text_and_columns() -> None:
    kernel = scumble.JaccardKernel()
    lists = pd.DataFrame({"basket": [["milk", "bread"], ["milk"], []]})
    text = pd.DataFrame({"basket": ["milk bread", "milk", ""]})
    expected = [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]
    np.testing.assert_allclose(kernel(lists, lists), expected)
    np.testing.assert_allclose(kernel(text, lists), expected)
    np.testing.assert_allclose(kernel([[1, 1], [1, 0], [0, 0]], [[1, 1], [1, 0], [0, 0]]), expected)


@pytest.mark.parametrize(
    ("bandwidth", "scale"),
    [
        *((bandwidth, None) for bandwidth in (0, -1.0, np.nan, np.inf, "wide", None, True)),
        *((1.0, scale) for scale in (0, -1.0, [1.0, np.nan], {"age": 0.0}, "x")),
    ],
)
def test_a_bad_bandwidth_or_scale_is_refused(bandwidth: object, scale: object) -> None:
    with pytest.raises(scumble.ParameterError):
        scumble.EuclideanKernel(bandwidth, scale=scale)


def test_columns_that_are_not_there_are_named() -> None:
    frame, plain = pd.DataFrame({"age": [1.0], "pay": [2.0]}), np.ones((1, 2))
    for table, column, error in ((frame, "height", scumble.DataError), (plain, 5, scumble.DataError)):
        with pytest.raises(error, match=str(column)):
            scumble.EuclideanKernel(1.0, columns=[column])(table, table)
    with pytest.raises(scumble.ParameterError):
        scumble.EuclideanKernel(1.0, columns=["age"])(plain, plain)


def test_a_subclass_does_not_take_its_parents_name() -> None:
    class Shifted(scumble.EuclideanKernel):
        """Inherits everything but its name."""

    assert Kernel.registry["euclidean"] is scumble.EuclideanKernel and Shifted.name == ""
    assert type(Kernel.from_dict(scumble.EuclideanKernel(1.0).to_dict())) is scumble.EuclideanKernel
    assert Shifted(1.0) != scumble.EuclideanKernel(1.0)
    with pytest.raises(scumble.ScumbleError, match="Shifted"):
        Kernel.from_dict(Shifted(1.0).to_dict())
