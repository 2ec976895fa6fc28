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
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scumble.files.compiling import Patience, available_threads, njit
from scumble.table.spec import TableSpec

Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Lines = npt.NDArray[np.uint16]
"""(lines, records): all that views ask of a record. No column has more levels than 2¹⁶."""

BLOCK = 1 << 12
"""Records of a block: their levels stay in the cache of a core."""
WORTH_A_THREAD = 1 << 19
"""Increments that take longer than starting a thread does."""
numpy_first = Patience(1 << 26, 1 << 27)
"""Increments by NumPy, some 7 ns each, that take no longer than loading the compiled loop, and than compiling it."""


def count(spec: TableSpec, codes: Codes, counts: Integers, threads: int | None = None) -> None:
    """Add records to the counters of all views, in place.

    `codes`, (records, columns), has the level of every cell, and all else that `TableSpec.sizes` lists; all are there.
    All cores count, or so many `threads`."""
    add(spec, lines(spec, codes), counts, threads)


def lines(spec: TableSpec, codes: Codes) -> Lines:
    """All that views ask of a record, a line each (`_layout`)."""
    layout = _layout(spec)
    found = np.empty((layout.number, len(codes)), np.uint16)
    found[: codes.shape[1]] = codes.T
    for line, column, axis in layout.axes:
        axis.take(found[column], out=found[line], mode="clip")  # "raise" would copy; all are there
    for line, first, second, size in layout.joined:
        np.multiply(found[first], np.uint16(size), out=found[line])
        found[line] += found[second]
    found[-1] = 0
    return found


def add(spec: TableSpec, levels: Lines, counts: Integers, threads: int | None = None) -> None:
    """Add the records of `lines` to the counters of all views, in place."""
    records = levels.shape[1]
    if not records:
        return
    layout = _layout(spec)
    table = layout.table
    if numpy_first.lasts(records * spec.rows, lambda: bool(_count.ready)):
        _count_slowly(levels, layout, counts)
        return
    parts = max(1, min(threads or available_threads(), spec.rows, 1 + records * spec.rows // WORTH_A_THREAD))
    edges = [layout.begins[len(spec.lengths) * k // parts] for k in range(parts + 1)]
    if parts == 1:
        _count(levels, table, counts, BLOCK)
        return
    with ThreadPoolExecutor(parts) as pool:
        list(pool.map(lambda part: _count(levels, table[part[0] : part[1]], counts, BLOCK), pairwise(edges)))


def reference(spec: TableSpec, codes: Codes) -> Integers:
    """The counters of some records, slowly and obviously.

    >>> from scumble.columns.category import Boolean

    >>> from scumble.columns.schema import Schema
    >>> reference(TableSpec.of(Schema(a=Boolean(), b=Boolean())), np.array([[0, 1], [1, 1]], np.int32))
    array([1, 1, 0, 2, 0, 1, 0, 1])
    """
    rows = []
    for view, shape in zip(spec.views, spec.shapes, strict=True):
        columns = tuple(j for j in view if j != spec.place)
        maps = spec.axes_of(columns) if len(columns) > 1 else [np.arange(spec.sizes[j]) for j in columns]
        axes = [of[codes[:, j]] for j, of in zip(columns, maps, strict=True)]
        if (upper := spec.upper(columns)) is not None:
            axes = [codes[:, upper] * np.int64(spec.sizes[columns[0]]) + axes[0]]
        if spec.place in view:
            axes = [np.asarray(codes[:, spec.place]), *axes]
        cells = np.ravel_multi_index(tuple(axes), shape)
        rows.append(np.bincount(cells, minlength=math.prod(shape)))
    for row, own in spec.token_rows.items():
        each = [[spec.slot_axis(row, j)[codes[:, j]] for j in view] for view in own.views]
        cells = np.concatenate([np.ravel_multi_index(tuple(axes), own.shape) for axes in each])
        rows.append(np.bincount(cells, minlength=math.prod(own.shape)))
    return np.concatenate(rows)


class Layout(NamedTuple):
    """What is prepared of each record, and how views make their cells of it."""

    number: int
    """Lines: the columns' levels, then those that follow, then zeros."""
    axes: list[tuple[int, int, Lines]]
    """A line of coarser levels: which, of which column, and the coarser level of each level."""
    joined: list[tuple[int, int, int, int]]
    """A line that joins two: which, of which, and how many levels the second has."""
    begins: list[int]
    """Where each row of counters begins in the table, and its length: one thread has all lines of a row."""
    table: Integers
    """For each view, those of a row of tokens too: which lines make its cell (class, first, second, third), how far a
    step along each of these goes
    but for the last, and where its counters begin."""


def _layout(spec: TableSpec) -> Layout:
    """Made once for each spec."""
    if "_layout" not in vars(spec):
        vars(spec)["_layout"] = _laid_out(spec)
    found: Layout = vars(spec)["_layout"]
    return found


def _laid_out(spec: TableSpec) -> Layout:
    number = len(spec.sizes)
    axes, joined = list[tuple[int, int, Lines]](), list[tuple[int, int, int, int]]()
    known, together = dict[tuple[int, bytes], int](), dict[tuple[int, int], int]()

    def line_of(column: int, axis: Integers) -> int:
        nonlocal number
        if len(axis) == axis[-1] + 1:
            return column
        if (column, axis.tobytes()) not in known:
            known[column, axis.tobytes()] = number
            axes.append((number, column, axis.astype(np.uint16)))
            number += 1
        return known[column, axis.tobytes()]

    starts = np.cumsum([0, *spec.lengths])
    table = np.zeros((spec.rows, 8), np.int64)
    begins = [*range(len(spec.views)), *np.cumsum([len(spec.views), *spec.touches.values()]).tolist()]
    for r, (view, shape) in enumerate(zip(spec.views, spec.shapes, strict=True)):
        own = tuple(j for j in view if j != spec.place)
        used = [line_of(j, axis) for j, axis in zip(own, spec.axes_of(own), strict=True)] if len(own) > 1 else [*own]
        sizes = list(shape[len(shape) - len(own) :])
        if (upper := spec.upper(own)) is not None:
            used, sizes = [upper, *used], [spec.sizes[upper], spec.sizes[own[0]]]
        while len(used) > 3:  # the cells of a named set have 16 bits
            first, second = used[:2]
            if (first, second) not in together:
                together[first, second] = number
                joined.append((number, first, second, sizes[1]))
                number += 1
            used, sizes = [together[first, second], *used[2:]], [sizes[0] * sizes[1], *sizes[2:]]
        used, sizes = [-1] * (3 - len(used)) + used, [1] * (3 - len(sizes)) + sizes
        group = spec.place if spec.place in view else -1
        table[r] = (group, *used, math.prod(sizes), sizes[1] * sizes[2], sizes[2], starts[r])
    for row, tokens in spec.token_rows.items():
        for r, view in enumerate(tokens.views, begins[row]):
            used = [line_of(j, spec.slot_axis(row, j)) for j in view]
            used, size = [-1] * (3 - len(used)) + used, tokens.shape[-1]
            table[r] = (-1, *used, 0, 0, size, starts[row])
    table[:, :4][table[:, :4] < 0] = number
    return Layout(number + 1, axes, joined, begins, table)


def _count_slowly(levels: Lines, layout: Layout, counts: Integers) -> None:
    for group, one, two, three, a, b, c, begin in layout.table.tolist():
        cells = levels[group] * np.int64(a)
        cells += levels[one] * np.int64(b)
        cells += levels[two] * np.int64(c)
        cells += levels[three]
        found = np.bincount(cells)
        counts[begin : begin + len(found)] += found


@njit(nogil=True, cache=True)
def _count(levels: Lines, table: Integers, counts: Integers, block: int) -> None:
    records, nothing = levels.shape[1], levels.shape[0] - 1
    for start in range(0, records, block):
        end = min(start + block, records)
        for r in range(table.shape[0]):
            group, one, two, three = levels[table[r, 0]], levels[table[r, 1]], levels[table[r, 2]], levels[table[r, 3]]
            a, b, c, begin = table[r, 4], table[r, 5], table[r, 6], table[r, 7]
            if table[r, 0] == nothing:
                for i in range(start, end):
                    counts[begin + one[i] * b + two[i] * c + three[i]] += 1
            elif table[r, 1] == nothing:
                for i in range(start, end):
                    counts[begin + group[i] * a + two[i] * c + three[i]] += 1
            else:
                for i in range(start, end):
                    counts[begin + group[i] * a + one[i] * b + two[i] * c + three[i]] += 1
