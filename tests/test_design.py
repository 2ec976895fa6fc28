"""Designs: stable for ever, exact in every row, and better than chance together."""

from __future__ import annotations

import hashlib

import mpmath
import numpy as np
import pytest
from scipy import stats

import scumble
from scumble.kernels import design, random, sobol
from scumble.kernels.design import BLOCKS, DESIGNS, Design


def digest(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()).hexdigest()[:16]


def test_philox_gives_the_published_answers() -> None:
    """Known-answer vectors of Random123 for philox4x32-10."""
    most = np.uint64(2**64 - 1)
    assert [hex(int(w)) for w in random._philox(most, most, most)] == ["0x41c83b0e408f276d", "0x6d5451fda20bc7c6"]
    assert [hex(int(w)) for w in random._philox(np.uint64(0), np.uint64(0), np.uint64(0))] == [
        "0xe169c58d6627e8d5",
        "0x9b00dbd8bc57ac4c",
    ]


GOLDEN = {"iid": "6288778321252a87", "sobol": "18b659ea222b4a73", "orthogonal": "0b51de44edf2813e"}


@pytest.mark.parametrize("name", DESIGNS)
def test_the_bits_never_change(name: str) -> None:
    """Projections, offsets and coefficients of a seed, on every platform and in every version."""
    design = Design(name, seed=7, rows=100)
    draws = design.draws()
    parts = [draws.uniform(2), draws.normal(5), draws.cauchy(3), design.rehash_coefficients(4)]
    assert digest(np.hstack([part.view(np.uint64) for part in parts])) == GOLDEN[name]


def test_sobol_points_are_the_known_sequence() -> None:
    """Unscrambled, in Gray-code order, they are SciPy's."""
    points = np.zeros((64, sobol.COORDINATES), np.uint64)
    directions = np.array([sobol.directions(j) for j in range(sobol.COORDINATES)], np.uint64)
    for n in range(64):
        gray = n ^ (n >> 1)
        for k in range(6):
            if gray >> k & 1:
                points[n] ^= directions[:, k]
    theirs = stats.qmc.Sobol(sobol.COORDINATES, scramble=False, bits=32).random(64)
    np.testing.assert_array_equal(points / 2.0**32, theirs)


def test_scrambling_keeps_the_net() -> None:
    """Any 2^m points of one coordinate fall one into each of 2^m equal steps."""
    for coordinate in (0, 1, 17, 1000):
        u = random.to_unit(sobol.points(3, 12345 + coordinate, coordinate, 1, 256)[0])
        assert sorted(np.floor(u * 256).astype(int)) == list(range(256))


@pytest.mark.parametrize("name", DESIGNS)
def test_every_row_has_its_exact_law(name: str) -> None:
    """The first row over 1,000 seeds: Kolmogorov–Smirnov, false alarms 1e-6 each of three."""
    rows = [Design(name, seed, 8).draws() for seed in range(1000)]
    values = np.array([[d.uniform(1)[3, 0], *d.normal(2)[3]] for d in rows])
    assert stats.kstest(values[:, 0], "uniform").pvalue > 1e-6
    assert stats.kstest(values[:, 1], "norm").pvalue > 1e-6
    angle = np.arctan2(values[:, 1], values[:, 2]) / (2 * np.pi) + 0.5
    assert stats.kstest(angle, "uniform").pvalue > 1e-6


@pytest.mark.parametrize(("rows", "d"), [(1, 3), (12, 6), (11, 4), (5, 1), (7, 9)])
def test_wide_blocks_have_the_bits_of_narrow_ones(rows: int, d: int) -> None:
    gauss, out = random.normal(random.to_unit(random.words(3, rows, rows * d))).reshape(rows, d), np.empty((rows, d))
    design._one_by_one(gauss, out)
    np.testing.assert_array_equal(out.view(np.uint64), design.orthogonalized(gauss).view(np.uint64))


def test_orthogonal_directions_are_orthogonal() -> None:
    a = Design("orthogonal", 1, 12).draws().normal(6)
    for block in (a[:6], a[6:]):
        unit = block / np.linalg.norm(block, axis=1, keepdims=True)
        np.testing.assert_allclose(unit @ unit.T, np.eye(6), atol=1e-12)


def test_coordinates_beyond_the_table_are_independent() -> None:
    draws = Design("sobol", 1, 64).draws()
    first = draws.uniform(sobol.COORDINATES - 1)
    rest = draws.uniform(5)
    assert first.shape == (64, 1023) and rest.shape == (64, 5)
    assert len(np.unique(rest)) == 320


def test_blocks_are_balanced_and_orthogonal_ones_stay_whole() -> None:
    assert len(np.unique(Design("iid", 0, 50).blocks())) == 50
    sizes = np.bincount(Design("sobol", 0, 1000).blocks())
    assert len(sizes) == BLOCKS and sizes.max() - sizes.min() <= 1
    for block in np.split(Design("orthogonal", 0, 120).blocks(size=6), 20):
        assert len(set(block)) == 1
    assert Design("sobol", 0, 3).blocks().tolist() == [0, 1, 2]


@pytest.mark.parametrize(("dimensions", "most"), [(1, 0.5), (3, 0.75)])
def test_sobol_rows_beat_independent_ones(dimensions: int, most: float) -> None:
    """RMS error at R = 1024 on the mean of 20 seeds: at most half in one dimension, three quarters in three."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2000, dimensions)) * rng.choice([0.3, 1.0, 3.0], (2000, 1))
    Q = rng.normal(size=(60, dimensions))
    kernel = scumble.EuclideanKernel(1.0)
    truth = kernel(Q, X).sum(axis=1)

    def rms(design: str) -> float:
        errors = [
            scumble.Sketch(kernel, dimensions, rows=1024, buckets=1024, seed=s, design=design).update(X).kernel_sum(Q)
            for s in range(20)
        ]
        return float(np.sqrt(np.mean((np.array(errors) - truth) ** 2)))

    assert rms("sobol") <= most * rms("iid")


def test_quantiles_are_accurate() -> None:
    u = np.r_[random.to_unit(random.words(1, 1, 400)), [2.0**-53, 1e-12, 0.25, 0.5, 0.75, 1 - 2.0**-53]]
    with mpmath.workdps(40):
        normal = [float(mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(float(x)) - 1)) for x in u]
        cauchy = [float(mpmath.tan(mpmath.pi * (mpmath.mpf(float(x)) - mpmath.mpf("0.5")))) for x in u]
    np.testing.assert_allclose(random.normal(u), normal, rtol=1e-14, atol=1e-16)
    np.testing.assert_allclose(random.cauchy(u), cauchy, rtol=1e-13, atol=1e-16)
