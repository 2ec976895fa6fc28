"""Draws from the posterior in 16 bits, as files store them and pages hold them.

A share is stored as its square root, in 65,535 steps: small shares keep their digits. The reader makes shares that
belong together sum to one again. A share p is then off by about √p / 65,535, far less than draws differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from scumble.errors import CorruptFileError
from scumble.files.rules import MOST
from scumble.table.posterior import Draws

Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float32]
FINEST = 2**16 - 1
TOTALS, WEIGHTS, TABLES, WITHIN = NAMES = ("draws.totals", "draws.weights", "draws.tables", "draws.within")
"""What the arrays are called."""


def packed(classes: Sequence[Draws]) -> dict[str, np.ndarray]:
    """The draws of all classes: the axes of each array begin with classes and draws.

    Totals have no others, weights one for components, tables one more for the groups of all columns in turn; `within`
    has one for the levels of all columns.
    """
    return {
        TOTALS: np.stack([one.totals for one in classes]).astype(np.float64),
        WEIGHTS: np.stack([_rounded(one.weights) for one in classes]),
        TABLES: np.stack([_rounded(np.concatenate(one.tables, axis=2)) for one in classes]),
        WITHIN: np.stack([_rounded(np.concatenate(one.within, axis=1)) for one in classes]),
    }


def unpacked(arrays: Mapping[str, np.ndarray], classes: int, groups: Sequence[Integers]) -> list[Draws]:
    """The draws of so many classes, whose columns' levels are in these groups; arrays that do not fit are refused."""
    totals, weights, tables, within = (arrays[name] for name in NAMES)
    sizes = [int(group.max()) + 1 for group in groups]
    shape = weights.shape
    if len(shape) != 3 or shape[0] != classes or shape[1] < 2 or shape[2] < 1:
        raise CorruptFileError("The file's draws do not have the shape of the release.")
    wanted = (shape[:2], shape, (*shape, sum(sizes)), (*shape[:2], sum(map(len, groups))))
    for array, its, kind in zip((totals, weights, tables, within), wanted, ("f8", "u2", "u2", "u2"), strict=True):
        if array.shape != its or array.dtype != np.dtype(kind):
            raise CorruptFileError("The file's draws do not have the shape of the release.")
    if not (np.isfinite(totals).all() and (totals >= 0).all() and (totals < MOST).all()):
        raise CorruptFileError("The file has draws whose number of records is none.")
    inner = np.split(tables, np.cumsum(sizes)[:-1], axis=3)
    outer = np.split(within, np.cumsum([*map(len, groups)])[:-1], axis=2)
    return [
        Draws(
            totals[number],
            _shares(weights[number]).astype(np.float64),
            tuple(_shares(one[number]) for one in inner),
            tuple(_shares(one[number], group) for one, group in zip(outer, groups, strict=True)),
            tuple(groups),
        )
        for number in range(classes)
    ]


def _rounded(shares: npt.NDArray[np.floating]) -> npt.NDArray[np.uint16]:
    return np.asarray(np.rint(np.sqrt(np.clip(shares.astype(np.float64), 0.0, 1.0)) * FINEST), np.uint16)


def _shares(roots: np.ndarray, group: Integers | None = None) -> Numbers:
    """Shares that sum to one along the last axis, or in each group of it."""
    squares = np.square(roots, dtype=np.float32)
    if group is None:
        sums = squares.sum(axis=-1, keepdims=True)
    else:
        order = np.argsort(group, kind="stable")
        starts = np.searchsorted(group[order], np.arange(group.max() + 1))
        sums = np.add.reduceat(squares[..., order], starts, axis=-1)[..., group]
    if not (sums > 0).all():
        raise CorruptFileError("The file has draws without any share.")
    return np.asarray(squares / sums, np.float32)
