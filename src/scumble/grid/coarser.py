"""Cells added up: from a fine grid to coarser ones over the same bounds.

A coarse cell is made of the fine cells whose centres lie in it. That is exact where the coarse edges are fine edges,
and good enough where the fine cells are far smaller: at most half a fine cell goes to the wrong side of an edge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from scumble.grid.cells import aligned

FAR_FINER = 8
"""So many fine cells to a coarse one: then edges need not agree."""
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
    out = np.zeros((1,) * len(shape), np.int64)
    for axis, ends in enumerate(zip(low.tolist(), high.tolist(), shape, coarse, strict=True)):
        line = [1] * len(shape)
        line[axis] = shape[axis]
        out = out * coarse[axis] + _along(*ends).reshape(line)
    return np.ascontiguousarray(np.broadcast_to(out, tuple(shape))).reshape(prod(shape))


def _along(low: float, high: float, fine: int, coarse: int) -> np.ndarray:
    """The coarse cell of each fine one, along one axis."""
    return np.clip(np.floor(_places(low, high, fine, coarse)), 0, coarse - 1).astype(np.int64)


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
