"""Cells added up: from a fine grid to coarser ones over the same bounds.

Where the coarse edges are fine edges, a coarse cell is made of the fine cells in it. Elsewhere fine cells must be far
smaller, and those that an edge cuts go to either side, in turn, as often as their parts lie there: each goes where a
point in it lies, and these points are spread by a fixed pattern (multiples of irrational numbers). If all went where
their centres lie, edges would be off to the same side for dozens of cells on end, and answers there by as much times
their slope: 30 of 7,700 people near a town, where the standard error was 10.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from scumble.grid.cells import aligned

FAR_FINER = 8
"""So many fine cells to a coarse one: then edges need not agree."""
TURNS = (0.8705505632961241, 0.757858283255199, 0.6597539553864471, 0.5743491774985175)
"""Powers of the fifth root of a half: so no sum of whole multiples is whole. Written out, to be alike everywhere."""
_FACTORS = tuple(dict.fromkeys([*range(1, 17), *np.round(np.geomspace(16, 2**22, 80)).astype(int).tolist()]))


def coarser(
    low: np.ndarray, high: np.ndarray, shape: Sequence[int], wished: Sequence[int] | None = None
) -> Iterator[tuple[int, ...]]:
    """Shapes that a grid of this shape can be added up to, each once, the finest first.

    An axis of few whole numbers has fewer cells than were `wished` for: these stay as they are until along the other
    axes, too, cells are as coarse as that.

    >>> ends = np.array([0.0, 0.0]), np.array([64.0, 7.0])
    >>> list(coarser(*ends, (64, 8), wished=(64, 64)))[:4]
    [(64, 8), (32, 8), (16, 8), (8, 8)]
    """
    seen: set[tuple[int, ...]] = set()
    kept = [cells / more for cells, more in zip(shape, wished or shape, strict=True)]
    for factor in _FACTORS:
        by = [max(1, round(factor * share / max(kept))) for share in kept]
        coarse = tuple(-(-cells // along) for cells, along in zip(shape, by, strict=True))
        if coarse not in seen and all(map(_nested, low.tolist(), high.tolist(), shape, coarse)):
            seen.add(coarse)
            yield coarse
        if max(coarse) == 1:
            return


def groups(low: np.ndarray, high: np.ndarray, shape: Sequence[int], coarse: Sequence[int]) -> np.ndarray:
    """For each cell of the fine grid, flat, the flat number of the coarse cell that it belongs to.

    >>> groups(np.array([0.0]), np.array([1.0]), (6,), (2,))
    array([0, 0, 0, 1, 1, 1])
    """
    axes = list(zip(low.tolist(), high.tolist(), shape, coarse, strict=True))
    below, above = (
        [np.clip(np.floor(side), 0, ends[3] - 1).astype(np.int64) for side, ends in zip(sides, axes, strict=True)]
        for sides in zip(*(_sides(*ends) for ends in axes), strict=True)
    )
    strides = [prod(coarse[axis + 1 :]) for axis in range(len(shape))]
    out = sum(np.ix_(*(line * stride for line, stride in zip(below, strides, strict=True))), np.zeros(shape, np.int64))
    for axis, ends in enumerate(axes):
        cut = np.flatnonzero(above[axis] > below[axis])
        lower, upper = (side[cut] for side in _sides(*ends))
        share = ((upper - above[axis][cut]) / (upper - lower)).reshape([-1] + [1] * (len(shape) - axis - 1))
        places = np.ix_(*(cut if other == axis else np.arange(n) for other, n in enumerate(shape)))
        point = sum((place * TURNS[(other - axis) % len(shape)] for other, place in enumerate(places)), 0.5) % 1.0
        out[places] += strides[axis] * (point < share)
    return np.asarray(out.reshape(prod(shape)))


def _sides(low: float, high: float, fine: int, coarse: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the fine cells begin and end, in coarse steps from the first coarse edge; rounding cuts no cell."""
    step, stride = (aligned(low, high, cells)[1] for cells in (fine, coarse))
    middle, half = _places(low, high, fine, coarse), (0.5 - 1e-6) * step / stride
    return middle - half, middle + half


def _places(low: float, high: float, fine: int, coarse: int) -> np.ndarray:
    """The centres of the fine cells, in coarse steps from the first coarse edge."""
    (start, step, _), (first, stride, _) = aligned(low, high, fine), aligned(low, high, coarse)
    places: np.ndarray = (start + (np.arange(fine) + 0.5) * step - first) / stride
    return places


def _nested(low: float, high: float, fine: int, coarse: int) -> bool:
    """Whether every fine cell lies within one coarse cell, or is far smaller."""
    step, stride = (aligned(low, high, cells)[1] for cells in (fine, coarse))
    if fine == coarse or coarse == 1 or stride >= FAR_FINER * step:
        return True
    inside = np.abs(_places(low, high, fine, coarse) - 0.5) % 1.0  # 0 in the middle of a coarse cell, ½ at its edges
    inside = np.minimum(inside, 1.0 - inside)
    return bool(np.all(inside <= 0.5 - 0.5 * step / stride + 1e-6))
