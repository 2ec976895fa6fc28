"""Sets of tokens, one per record, as one flat array and offsets (CSR).

>>> import numpy as np
>>> values, offsets, gone = tokens_of(np.array([{"a", "b"}, set(), None], dtype=object), "column 0")
>>> offsets.tolist(), gone.tolist()
([0, 2, 2, 2], [False, False, True])

Each set is sorted by hash and without duplicates. A record whose set is missing, or has a missing token, is marked and
has no tokens. An empty set (or empty text) is a set.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from scumble.columns import cells
from scumble.columns.hashing import hashes_of, stable_hash, text_of
from scumble.errors import DataError
from scumble.files.lazy_modules import pa, pc, pt

Sets: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]

HINT = "Hint: pass one column of lists or of text (split at white space), or several columns of 0 and 1."


def holds_numbers(column: cells.Column) -> bool:
    """Whether a column's type is numeric."""
    if cells.is_arrow(column):
        return cells.arrow_is_numeric(cells.plain_type(column))
    return column.dtype.kind in "biuf"


def may_hold_numbers(column: cells.Column) -> bool:
    """Whether a column's type is numeric, or objects."""
    return holds_numbers(column) or (not cells.is_arrow(column) and column.dtype == object)


def tokens_of(column: cells.Column, label: str) -> Sets:
    """The sets in one column of lists, of text or of objects."""
    if not cells.is_arrow(column):
        if column.dtype.kind not in "OUST":
            raise _not_sets(column, label)
        return _from_words([words(cell) for cell in column.astype(object)])
    kind = cells.plain_type(column)
    if _is_list(kind):
        parts = [_from_list(piece, label) for piece in cells.chunks(column)]
        if not parts:
            return _tidy(np.empty(0), np.empty(0, np.int64), np.empty(0, bool))
        values, counts, gone = (np.concatenate(group) for group in zip(*parts, strict=True))
        return _tidy(values, counts, gone)
    if not (cells.is_text(kind) or cells.is_bytes(kind)):
        raise _not_sets(column, label)
    return _from_words([words(cell) for cell in _decoded(column)])


def words(cell: object) -> list[bytes | None] | None:
    """The canonical texts of one cell's tokens; None if it holds no set.

    Text is split at white space, and a number says whether the token 0 is there.
    """
    if isinstance(cell, bytes):
        try:
            return [text_of(word) for word in cell.decode().split()]
        except UnicodeDecodeError:
            return [*cell.split()]
    if isinstance(cell, str):
        return [text_of(word) for word in str.split(cell)]
    if isinstance(cell, list | tuple | set | frozenset) or (isinstance(cell, np.ndarray) and cell.ndim == 1):
        try:
            return [text_of(token) for token in cell]
        except Exception:  # of the cell's own class
            return None
    flag = cells.number(cell)
    if not 0.0 <= flag < np.inf:
        return None
    return [b"0"] if flag else []


def tokens_of_flags(flags: np.ndarray) -> Sets:
    """The sets in columns of 0 and 1 (or any other finite positive number): the token of column j is the number j."""
    gone = ~((flags >= 0) & np.isfinite(flags)).all(axis=1)
    names = np.array([stable_hash(j) for j in range(flags.shape[1])])
    order = np.argsort(names)  # so that each set is sorted
    present = (flags[:, order] != 0) & ~gone[:, None]
    values = np.broadcast_to(names[order], flags.shape)[present]
    return _tidy(values, present.sum(axis=1, dtype=np.int64), gone)


def _not_sets(column: cells.Column, label: str) -> DataError:
    return DataError(f"{label} must hold sets of tokens, got {cells.describe(column)}. {HINT}")


def _is_list(kind: object) -> bool:
    tests = (pt.is_list, pt.is_large_list, pt.is_fixed_size_list, pt.is_list_view, pt.is_large_list_view)
    return any(test(kind) for test in tests)


def _decoded(column: cells.Column) -> list[bytes | None]:
    """Text as bytes, which need not be UTF-8."""
    found: list[bytes | None] = []
    for piece in cells.chunks(column):
        if isinstance(piece, pa.DictionaryArray):
            values = pc.cast(piece.dictionary, pa.large_binary()).to_pylist()
            found += [None if place is None else values[place] for place in piece.indices.to_pylist()]
        else:
            found += pc.cast(piece, pa.large_binary()).to_pylist()
    return found


def _from_list(piece: pa.Array, label: str) -> Sets:
    if isinstance(piece, pa.DictionaryArray):
        piece = piece.dictionary_decode()
    gone = cells.nulls_of(piece).copy()
    lengths = cells.buffer_of(pc.cast(pc.list_value_length(piece), pa.int64()), np.int64)
    values = cells.categories(pc.list_flatten(piece), label)  # leaves out what lies under a null
    return values, np.where(gone, 0, lengths), gone


def _from_words(rows: list[list[bytes | None] | None]) -> Sets:
    flat = [word for row in rows if row is not None for word in row]
    known: dict[bytes | None, int] = {}
    places = np.fromiter((known.setdefault(word, len(known)) for word in flat), np.int64, len(flat))
    counts = np.array([0 if row is None else len(row) for row in rows], np.int64)
    return _tidy(hashes_of(known)[places], counts, np.array([row is None for row in rows], bool))


def _tidy(values: np.ndarray, counts: np.ndarray, gone: np.ndarray) -> Sets:
    """Sort each set, drop duplicates, and empty the records that are missing."""
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
