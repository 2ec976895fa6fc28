"""A stationary kernel as a function of x − y alone, in the units of the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from scumble.errors import ParameterError
from scumble.kernels import Kernel

MAX_DIMENSIONS = 4
FAR = 100.0
"""So many half-widths away, a kernel of power 1 is about 1/100, and one of power 2 about its square."""
TILE = 1 << 16
"""Values at a time: they stay in the cache, and there are few enough parts."""


def supports(kernel: Kernel, width: int, names: Sequence[str] | None = None) -> str | None:
    """None if a grid can serve the kernel, else the reason why not."""
    for factor in kernel.factors:
        if not factor.stationary:
            return f"the {factor.name or type(factor).__name__} kernel does not depend on x − y alone"
    dimensions = len(kernel.which(width, names))
    if dimensions > MAX_DIMENSIONS:
        return f"the kernel reads {dimensions} columns and a grid can have {MAX_DIMENSIONS} at most"
    return None


class Profile:
    """k(x, y) = profile(x − y), over the columns that the kernel reads.

    >>> from scumble.kernels import EuclideanKernel
    >>> profile = Profile(EuclideanKernel(2.0, power=2, scale=10.0), width=1)
    >>> profile(np.array([[0.0], [20.0]])).round(4)
    array([1.   , 0.136])
    >>> profile.half_widths.round(2)
    array([7.36])
    """

    def __init__(self, kernel: Kernel, width: int, names: Sequence[str] | None = None) -> None:
        reason = supports(kernel, width, names)
        if reason is not None:
            raise ParameterError(f"A grid cannot serve this kernel: {reason}. Hint: use hashed rows, design='sobol'.")
        columns = kernel.which(width, names)
        self.dimensions = len(columns)
        self._factors: list[tuple[Any, list[int], np.ndarray]] = []
        for factor in kernel.factors:
            which = factor.which(width, names)
            self._factors.append((factor, [columns.index(i) for i in which], factor._scales(names, which)))
        self.half_widths = self._half_widths()
        self.even = self._is_even()
        self.ridged = self._is_ridged()

    def __call__(self, differences: np.ndarray) -> np.ndarray:
        out: np.ndarray | None = None
        with np.errstate(over="ignore", under="ignore"):  # far beyond every bandwidth k is 0, and that is right
            for factor, columns, scales in self._factors:
                mine = differences if len(columns) == self.dimensions else differences[..., columns]
                value = factor.profile(mine if np.all(scales == 1.0) else mine / scales)
                value = value if factor.power == 1 else value**factor.power
                out = value if out is None else out * value
        assert out is not None
        return out

    @cached_property
    def long_tailed(self) -> bool:
        """Whether it falls as 1/distance along every axis, as kernels of power 1 do."""
        return bool(np.all(self(FAR * np.diag(self.half_widths)) > FAR**-1.5))

    def on_page(self) -> list[dict[str, Any]]:
        """Its factors, for a page that computes it."""
        return [
            {
                "kernel": factor.name,
                "bandwidth": factor.bandwidth,
                "power": factor.power,
                "columns": columns,
                "scales": scales.tolist(),
            }
            for factor, columns, scales in self._factors
        ]

    def _half_widths(self) -> np.ndarray:
        """How far along each axis the kernel falls to one half: over all magnitudes of a float, cut in 32 each time."""
        low, high, axes = np.full(self.dimensions, -300.0), np.full(self.dimensions, 300.0), np.arange(self.dimensions)
        for _ in range(12):
            places = np.linspace(low, high, 33)
            near = self(10.0 ** places[1:-1, :, None] * np.eye(self.dimensions)) > 0.5
            last = np.logical_and.accumulate(near).sum(axis=0)
            low, high = places[last, axes], places[last + 1, axes]
        return 10.0**low

    def _is_even(self) -> bool:
        """Whether the signs of the differences play no part, by trial: a table then needs one corner only."""
        place = np.arange(1, 257)[:, None] * np.sqrt([2.0, 3.0, 5.0, 7.0][: self.dimensions])
        points = self.half_widths * (0.1 + 2.9 * (place % 1.0))
        flips = np.where((7.3 * place) % 1.0 < 0.5, -1.0, 1.0)
        return bool(np.allclose(self(points), self(points * flips), rtol=1e-12, atol=0.0))

    def _is_ridged(self) -> bool:
        """Whether the kernel has kinks away from x = y too, along the axes, as Manhattan distance and products have."""
        for axis in range(self.dimensions if self.dimensions > 1 else 0):
            away = np.where(np.arange(self.dimensions) == axis, 0.0, self.half_widths)
            aside = np.where(np.arange(self.dimensions) == axis, self.half_widths, 0.0)
            bends = [
                abs(float(np.diff(self(np.stack([away - e * aside, away, away + e * aside])), 2)[0]))
                for e in (1e-3, 2e-3)
            ]
            if bends[1] < 3.0 * bends[0]:  # a smooth function bends four times as much, a kink twice
                return True
        return False

    def table(self, step: np.ndarray, axes: Sequence[np.ndarray]) -> np.ndarray:
        """The kernel at whole multiples of the step: `axes` are runs of whole numbers, one an axis."""
        return self._shifted(step, axes, np.zeros(self.dimensions))

    def smooth_table(self, step: np.ndarray, axes: Sequence[np.ndarray]) -> np.ndarray:
        """Like `table`, made for interpolation: kinks are rounded off so that the interpolant has no bias.

        Interpolating values at whole multiples of the step overrates a kernel near a kink by |k′| step/6 on average
        (Euler–Maclaurin). The mean of k at a fifth of a step to either side, sharpened again, takes off 0.168 of it and
        is the same to fourth order wherever k is smooth.
        """
        if not self.ridged:
            return self.table(step, axes)
        out: np.ndarray | float = 0.0
        wider = [np.arange(axis[0] - 1, axis[-1] + 2) for axis in axes]
        for signs in np.ndindex(*[2] * self.dimensions):
            out = out + self._shifted(step, wider, 0.4 * np.array(signs) - 0.2) / 2**self.dimensions
        return sharpened(np.asarray(out), np.full(self.dimensions, 12 * 0.2**2))

    def _shifted(self, step: np.ndarray, axes: Sequence[np.ndarray], shift: np.ndarray) -> np.ndarray:
        """The kernel at (whole numbers + shift) × step; of an even kernel one side, and its mirror image."""
        out = np.empty([len(axis) for axis in axes])
        if not self.even:
            self._fill(out, [axis + s for axis, s in zip(axes, shift, strict=True)], step)
            return out
        sides = [_longer_side(axis) for axis in axes]
        distances = [np.abs(axis[side]) + s for axis, (side, _, _), s in zip(axes, sides, shift, strict=True)]
        self._fill(out[tuple(side for side, _, _ in sides)], distances, step)
        for j, (_, rest, image) in enumerate(sides):
            before, after = (slice(None),) * j, [side for side, _, _ in sides[j + 1 :]]
            out[(*before, rest, *after)] = out[(*before, image, *after)]
        return out

    def _fill(self, out: np.ndarray, axes: Sequence[np.ndarray], step: np.ndarray) -> None:
        """The kernel on a lattice, so many points at a time that they stay in the processor's cache."""
        first, *rest = axes
        for here in tiles(out):
            out[here] = self(lattice([first[here], *rest], step))


def _longer_side(axis: np.ndarray) -> tuple[slice, slice, slice]:
    """Of a run of whole numbers: where those of one sign are, the rest, and the mirror image of the rest."""
    below, above = max(0, -int(axis[0])), max(0, int(axis[-1]))
    if not below or not above:
        return slice(None), slice(0), slice(0)
    if above >= below:
        return slice(below, None), slice(below), slice(2 * below, below, -1)
    return slice(below + 1), slice(below + 1, None), slice(below - 1, below - 1 - above, -1)


def tiles(values: np.ndarray) -> Iterator[slice]:
    """Parts along the first axis, each so small that it stays in the processor's cache."""
    tile = max(1, TILE // max(1, prod(values.shape[1:])))
    return (slice(begin, begin + tile) for begin in range(0, len(values), tile))


def sharpened(values: np.ndarray, spread: np.ndarray, first_axis: int = 0) -> np.ndarray:
    """a − Σ_axes spread Δ²a/24, on the points that have both neighbours: undoes a blur of variance spread/12."""
    whole = (slice(None),) * first_axis
    out = np.empty_like(values[(*whole, *[slice(1, -1)] * (values.ndim - first_axis))])
    for here in tiles(out):
        around = values[here] if first_axis else values[here.start : here.stop + 2]
        middle = (*whole, *[slice(1, -1)] * (values.ndim - first_axis))
        part = np.multiply(around[middle], 1.0 + np.sum(spread) / 12.0, out=out[here])
        for axis, share in enumerate(spread, start=first_axis):
            for shift in (slice(None, -2), slice(2, None)):
                part -= around[(*middle[:axis], shift, *middle[axis + 1 :])] * (share / 24.0)
    return out


def lattice(axes: Sequence[np.ndarray], step: np.ndarray) -> np.ndarray:
    """(n₁, …, n_d, d): the points of a lattice."""
    places = np.meshgrid(*[axis * s for axis, s in zip(axes, step, strict=True)], indexing="ij", copy=False)
    return np.moveaxis(np.stack(places), 0, -1)  # in memory one coordinate after the other: sums over them are quick


def around(reach: Sequence[int] | np.ndarray) -> list[np.ndarray]:
    """From −reach to reach along each axis."""
    return [np.arange(-r, r + 1) for r in np.asarray(reach).tolist()]


def fast_length(least: int) -> int:
    """The next number with no prime factor beyond 5: an FFT is fast at these.

    >>> [fast_length(n) for n in (1, 7, 11, 121, 1081)]
    [1, 8, 12, 125, 1125]
    """
    found = least
    while True:
        rest = found
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return found
        found += 1
