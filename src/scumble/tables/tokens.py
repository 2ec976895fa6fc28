"""Sets of tokens, one set a record, as one flat array and offsets (CSR).

>>> import numpy as np
>>> values, offsets, gone = tokens_of(np.array([{"a", "b"}, set(), None], dtype=object), "column 0")
>>> offsets.tolist(), gone.tolist()
([0, 2, 2, 2], [False, False, True])

Each set comes out sorted by hash and without duplicates: the same set gives the same numbers, whatever order
its container kept. A record whose set is missing, or has a missing token in it, is marked and has no tokens.
An empty set (or empty text) is a set like any other.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from scumble.errors import DataError
from scumble.tables import cells
from scumble.tables.hashing import UnsupportedValue, hashes, missing, stable_hash

Sets: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]

HINT = "Hint: pass one column of lists or of text (split at white space), or several columns of 0 and 1."


def holds_numbers(column: cells.Column) -> bool:
    """Whether a column is one of the 0/1 kind."""
    if cells.is_arrow(column):
        return cells.arrow_is_numeric(cells.plain_type(column))
    if column.dtype == object:
        return all(issubclass(one, cells.NUMBERS) for one in cells.object_types(column))
    return column.dtype.kind in "biuf"


def tokens_of(column: cells.Column, label: str) -> Sets:
    """The sets in one column of lists or of text."""
    if not cells.is_arrow(column):
        if column.dtype.kind not in "OUST":
            raise _not_sets(column, label)
        return _from_objects(column.astype(object).tolist(), column, label)
    kind = cells.plain_type(column)
    if not _is_list(kind):
        return _from_objects(_decoded(column), column, label)
    parts = [_from_list(piece, label) for piece in cells.chunks(column)]
    if not parts:
        return _tidy(np.empty(0), np.empty(0, np.int64), np.empty(0, bool))
    values, counts, gone = (np.concatenate(group) for group in zip(*parts, strict=True))
    return _tidy(values, counts, gone)


def tokens_of_flags(flags: np.ndarray, labels: list[str]) -> Sets:
    """The sets that columns of 0 and 1 stand for: the token of column j is the number j."""
    negative = np.flatnonzero((flags < 0).any(axis=0))
    if len(negative):
        raise DataError(f"{labels[negative[0]]} must hold 0 or 1 (present or not), got negative numbers. {HINT}")
    gone = ~np.isfinite(flags).all(axis=1)
    names = np.array([stable_hash(j) for j in range(flags.shape[1])])
    order = np.argsort(names)  # sorted once here, the sets need no sorting each
    present = (flags[:, order] != 0) & ~gone[:, None]
    values = np.broadcast_to(names[order], flags.shape)[present]
    return _tidy(values, present.sum(axis=1, dtype=np.int64), gone)


def _not_sets(column: cells.Column, label: str) -> DataError:
    return DataError(f"{label} must hold sets of tokens, got {cells.describe(column)}. {HINT}")


def _is_list(kind: object) -> bool:
    tests = (pt.is_list, pt.is_large_list, pt.is_fixed_size_list, pt.is_list_view, pt.is_large_list_view)
    return any(test(kind) for test in tests)


def _decoded(column: cells.Column) -> list:
    return [value for piece in cells.chunks(column) for value in piece.to_pylist()]


def _from_list(piece: pa.Array, label: str) -> Sets:
    if isinstance(piece, pa.DictionaryArray):
        piece = piece.dictionary_decode()
    gone = cells.nulls_of(piece).copy()
    lengths = cells.buffer_of(pc.cast(pc.list_value_length(piece), pa.int64()), np.int64)
    values = cells.categories(pc.list_flatten(piece), label)  # leaves out what lies under a null
    return values, np.where(gone, 0, lengths), gone


def _from_objects(rows: list, column: cells.Column, label: str) -> Sets:
    flat: list[object] = []
    counts = np.zeros(len(rows), np.int64)
    gone = np.zeros(len(rows), bool)
    for i, row in enumerate(rows):
        found: Collection[object]
        if isinstance(row, str | bytes):
            found = row.split()
        elif isinstance(row, np.ndarray) and row.ndim == 1:
            found = row.tolist()
        elif isinstance(row, list | tuple | set | frozenset):
            found = row
        elif missing(row):
            gone[i] = True
            continue
        else:
            raise _not_sets(column, label)
        flat.extend(found)
        counts[i] = len(found)
    try:
        return _tidy(hashes(flat), counts, gone)
    except UnsupportedValue as error:
        raise DataError(f"{label} must hold sets of text or numbers, got tokens of type {error}.") from None


def _tidy(values: np.ndarray, counts: np.ndarray, gone: np.ndarray) -> Sets:
    """Sorts each set, drops what it has twice, empties the records that are missing."""
    row = np.repeat(np.arange(len(counts)), counts)
    gone = gone.copy()
    gone[row[np.isnan(values)]] = True
    keep = ~gone[row]
    values, row = values[keep], row[keep]
    if not ((row[1:] > row[:-1]) | (values[1:] > values[:-1])).all():
        order = np.lexsort((values, row))
        values, row = values[order], row[order]
    first = np.ones(len(values), bool)
    first[1:] = (values[1:] != values[:-1]) | (row[1:] != row[:-1])
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(np.bincount(row[first], minlength=len(counts)), out=offsets[1:])
    return values[first], offsets, gone
