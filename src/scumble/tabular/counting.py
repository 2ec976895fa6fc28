"""Counting a batch: each record adds one to one counter of every view. Compiled, all cores, no interpreter lock; the
first, small batches by NumPy, as long as loading a compiled loop would take longer.

First a record's levels are laid out as the views ask for them (`lines`), which is a function of the record alone: any
thread may do it, in any order. Then the counters go up (`add`). Views are dealt out to the threads, so that each thread
owns its views' counters and nothing has to be merged. Records are taken in blocks small enough for the cache, and a
block goes through all views before the next one comes.

The slow twin is `reference`: one `bincount` a view.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from scumble.machine.compiling import can_compile, njit
from scumble.machine.cores import available_threads
from scumble.machine.patience import Patience
from scumble.tabular.spec import TableSpec

Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Lines = npt.NDArray[np.uint16]
"""(2 columns + 1, records): all that views ask of a record. No column has more levels than 2¹⁶."""

BLOCK = 1 << 12
"""Records of a block: their levels stay in the cache of a core."""
WORTH_A_THREAD = 1 << 19
"""Increments that take longer than starting a thread does."""
numpy_first = Patience(1 << 26, 1 << 27)
"""Increments by NumPy, some 7 ns each, that take no longer than loading the compiled loop, and than compiling it."""


def count(spec: TableSpec, codes: Codes, counts: Integers, threads: int | None = None) -> None:
    """Add records to the counters of all views, in place.

    Parameters
    ----------
    spec : TableSpec
        The views.
    codes : ndarray of int32
        (records, columns): the level of every cell; all are there.
    counts : ndarray of int64
        The counters.
    threads : int, optional
        How many count; all cores by default.
    """
    add(spec, lines(spec, codes), counts, threads)


def lines(spec: TableSpec, codes: Codes) -> Lines:
    """All that views ask of a record, a line each: its levels, its levels in pairs, and nothing."""
    columns = codes.shape[1]
    found = np.empty((2 * columns + 1, len(codes)), np.uint16)
    found[:columns] = codes.T
    for j, axis in enumerate(spec.axes):
        axis.astype(np.uint16).take(found[j], out=found[columns + j], mode="clip")  # "raise" would copy; all are there
    found[-1] = 0
    return found


def add(spec: TableSpec, levels: Lines, counts: Integers, threads: int | None = None) -> None:
    """Add the records of `lines` to the counters of all views, in place."""
    records = levels.shape[1]
    if not records:
        return
    table = _table(spec)
    if not can_compile() or numpy_first.lasts(records * spec.rows, lambda: bool(_count.ready)):
        _count_slowly(levels, table, spec.lengths, counts)
        return
    parts = max(1, min(threads or available_threads(), spec.rows, 1 + records * spec.rows // WORTH_A_THREAD))
    edges = [spec.rows * k // parts for k in range(parts + 1)]
    if parts == 1:
        _count(levels, table, counts, BLOCK)
        return
    with ThreadPoolExecutor(parts) as pool:
        list(pool.map(lambda part: _count(levels, table[part[0] : part[1]], counts, BLOCK), pairwise(edges)))


def reference(spec: TableSpec, codes: Codes) -> Integers:
    """The counters of some records, slowly and obviously.

    >>> from scumble.schema import Boolean, Schema
    >>> reference(TableSpec.of(Schema(a=Boolean(), b=Boolean())), np.array([[0, 1], [1, 1]], np.int32))
    array([1, 1, 0, 2, 0, 1, 0, 1])
    """
    rows = []
    for view, shape in zip(spec.views, spec.shapes, strict=True):
        columns = [j for j in view if j != spec.place]
        axes = [np.asarray(codes[:, j]) if len(columns) == 1 else spec.axes[j][codes[:, j]] for j in columns]
        if spec.place is not None:
            axes = [np.asarray(codes[:, spec.place]), *axes]
        cells = np.ravel_multi_index(tuple(axes), shape)
        rows.append(np.bincount(cells, minlength=math.prod(shape)))
    return np.concatenate(rows)


def _table(spec: TableSpec) -> Integers:
    """For each view: which lines make its cell (class, one, other), how far a step along each goes, where it begins."""
    columns = len(spec.schema)
    nothing = 2 * columns
    starts = np.cumsum([0, *spec.lengths])
    out = np.zeros((spec.rows, 6), np.int64)
    for r, (view, shape) in enumerate(zip(spec.views, spec.shapes, strict=True)):
        own = [j for j in view if j != spec.place]
        lines = own if len(own) < 2 else [columns + j for j in own]
        sizes = list(shape[len(shape) - len(own) :])
        lines, sizes = [nothing] * (2 - len(lines)) + lines, [1] * (2 - len(sizes)) + sizes
        group = nothing if spec.place is None else spec.place
        out[r] = (group, lines[0], lines[1], sizes[0] * sizes[1], sizes[1], starts[r])
    return out


def _count_slowly(levels: Lines, table: Integers, lengths: Sequence[int], counts: Integers) -> None:
    for (group, one, other, far, near, begin), length in zip(table.tolist(), lengths, strict=True):
        cells = levels[group] * np.int64(far)
        cells += levels[one] * np.int64(near)
        cells += levels[other]
        counts[begin : begin + length] += np.bincount(cells, minlength=length)


@njit(nogil=True, cache=True)
def _count(levels: Lines, table: Integers, counts: Integers, block: int) -> None:
    records = levels.shape[1]
    for start in range(0, records, block):
        end = min(start + block, records)
        for r in range(table.shape[0]):
            group, one, other = levels[table[r, 0]], levels[table[r, 1]], levels[table[r, 2]]
            far, near, begin = table[r, 3], table[r, 4], table[r, 5]
            for i in range(start, end):
                counts[begin + group[i] * far + one[i] * near + other[i]] += 1
