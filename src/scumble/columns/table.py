"""A table of any container, read by ``numeric``, ``categories`` and ``tokens``.

A compiled loop writes eight columns of numbers at a time side by side, which fill a line of cache, without the
interpreter's lock, and finds the ends of each. Until it is worth compiling, NumPy writes column after column.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from scumble.columns import cells, containers
from scumble.columns.containers import NOT_SHOWN, like_a_record
from scumble.columns.hashing import UnsupportedValue, hashes_of, stable_hash, text_of
from scumble.errors import DataError, many, nearest, parameter
from scumble.files.compiling import Patience, njit, read_only
from scumble.files.lazy_modules import pa, pc, pt


class Table:
    """Columns of any container, read as numbers, as categories, or as sets of tokens.

    The same data gives the same arrays in every container. A float64 array in C order is not copied.

    >>> X = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> Table.of(X).numeric([0, 1]) is X
    True
    >>> Table.of({"a": [1, None], "b": ["x", "y"]}, columns=["b", "a"])
    Table(2 columns: 'b', 'a')
    """

    __slots__ = ("_block", "_columns", "names", "rows", "width")

    def __init__(self, parts: containers.Parts) -> None:
        self._columns, self._block = parts.columns, parts.block
        self.names, self.rows, self.width = parts.names, parts.rows, len(parts.columns)

    @classmethod
    def of(cls, X: object, *, columns: Sequence[str] | None = None, dimensions: int | None = None) -> Table:
        """Any table. `columns` picks columns by name (or names those of a table without names); `dimensions` is the
        number of columns it must have."""
        if isinstance(columns, str) or not all(isinstance(name, str) for name in columns or ()):
            raise parameter("columns", "a list of names", columns, "write columns=['age'] for one column.")
        wanted = None if columns is None else list(columns)
        width = dimensions if wanted is None else len(wanted)
        if isinstance(X, Table):
            parts = containers.Parts(X._columns, X.rows, X.names, X._block)
        else:
            parts = containers.take_apart(X, wanted, width)
        if parts.flat and width is not None and width > 1:
            hint = "X.reshape(1, -1) for one record, X.reshape(-1, 1) for one column."
            raise DataError(f"`X` must have {many(width, 'column')}, got one axis only. Hint: {hint}")
        if wanted is not None:
            parts = _select(parts, wanted)
        table = cls(parts)
        if dimensions is not None and table.width != dimensions:
            hint = " Hint: pick them with columns=[...]." if table.width > dimensions else ""
            raise DataError(f"`X` must have {many(dimensions, 'column')}, got {table.width}.{hint}")
        return table

    def __repr__(self) -> str:
        # Cells and the number of rows are secret.
        names = "" if self.names is None else ": " + _listed(self.names)
        return f"Table({many(self.width, 'column')}{names})"

    def label(self, j: int) -> str:
        """The name of a column in errors."""
        return f"Column {j}" if self.names is None else f"Column {self.names[j]!r}"

    def column(self, j: int) -> cells.Column:
        """One column: a NumPy array of one axis or an Arrow array."""
        return self._columns[j]

    def numeric(self, which: Sequence[int]) -> np.ndarray:
        """The columns as (rows, k) float64 in C order; missing cells are NaN.

        Columns of text, times and the like are refused; in a column of objects, such cells are NaN.
        """
        block = self._as_block(which)
        return self._side_by_side(which)[0] if block is None else block

    def with_ends(self, which: Sequence[int]) -> tuple[np.ndarray, Ends]:
        """The same, with the ends of each column: NaN where it has a NaN, and perhaps elsewhere."""
        block = self._as_block(which)
        return self._side_by_side(which) if block is None else (block, ends(block))

    def _as_block(self, which: Sequence[int]) -> np.ndarray | None:
        """The columns of a matrix, or a single one; None where columns must be put side by side."""
        which = list(which)
        if self._block is not None:
            block = self._block if which == list(range(self.width)) else self._block[:, which]
            if block.dtype == np.float64:
                return np.ascontiguousarray(block)
            with np.errstate(all="ignore"):  # an extended float may overflow: a bad cell
                return np.ascontiguousarray(block, dtype=np.float64)
        if len(which) == 1:
            return np.ascontiguousarray(cells.numbers(self._columns[which[0]], self.label(which[0])))[:, None]
        return None

    def _side_by_side(self, which: Sequence[int]) -> tuple[np.ndarray, Ends]:
        pieces = cells.in_step([self._columns[j] for j in which]) if which else []
        out, done = np.empty((self.rows, len(which))), 0
        low, high = found = np.array([[np.inf] * len(which), [-np.inf] * len(which)])
        for columns in pieces:
            rows = slice(done, done := done + len(columns[0]))
            for first in range(0, len(which), LINE):  # a few at a time, to save memory
                named = zip(columns[first : first + LINE], which[first : first + LINE], strict=True)
                write([cells.numbers(column, self.label(j)) for column, j in named], first, out[rows], found)
        return out, (low, high)

    def categories(self, which: Sequence[int]) -> np.ndarray:
        """The columns as (rows, k) float64: stable hashes (:mod:`scumble.columns.hashing`), NaN for missing cells."""
        out = np.empty((self.rows, len(which)))
        for k, j in enumerate(which):
            out[:, k] = cells.categories(self._columns[j], self.label(j))
        return out

    def tokens(self, which: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """One set of tokens per record: ``values`` (hashes), ``offsets`` (int64, rows + 1), ``missing`` (bool).

        The set of record i is ``values[offsets[i]:offsets[i + 1]]``, sorted. It comes from one column of lists or of
        text (split at white space), or from columns of 0 and 1, where column j of `which` stands for the token j. A
        record with a missing or unreadable cell or token is marked, and has no tokens.
        """
        which = list(which)
        if len(which) == 1 and not cells.is_numeric(self._columns[which[0]]):
            return tokens_of(self._columns[which[0]], self.label(which[0]))
        for j in which:
            column = self._columns[j]
            if not cells.is_numeric(column) and (cells.is_arrow(column) or column.dtype != object):
                what = cells.describe(column)
                raise DataError(f"{self.label(j)} must hold 0 or 1, got {what}. {TOKENS}")
        return tokens_of_flags(self.numeric(which))


def _select(parts: containers.Parts, wanted: list[str]) -> containers.Parts:
    names = parts.names
    if names is None:
        if len(parts.columns) != len(wanted):
            asked = "1 was" if len(wanted) == 1 else f"{len(wanted)} were"
            has = f"no column names and {many(len(parts.columns), 'column')}"
            raise DataError(f"`X` has {has}, but {asked} asked for. Hint: pass exactly these columns, in order.")
        return parts._replace(names=tuple(wanted))
    if names == tuple(wanted) and len(set(names)) == len(names):
        return parts
    places = []
    for name in wanted:
        if name not in names:
            if like_a_record(names):
                raise DataError(f"There is no column {name!r}. {NOT_SHOWN}")
            close = nearest(name, [one for one in names if one not in wanted])
            guess = "" if close is None else f" Did you mean {close!r}?"
            raise DataError(f"There is no column {name!r}.{guess} The table has {_listed(names)}.")
        if names.count(name) > 1:
            raise DataError(f"The table has {names.count(name)} columns {name!r}. Hint: give each its own name.")
        places.append(names.index(name))
    if places == list(range(len(names))):
        return parts
    block = None if parts.block is None else parts.block[:, places]
    columns = [parts.columns[j] for j in places]
    return containers.Parts(columns, parts.rows, tuple(wanted), block)


def _listed(names: Sequence[str]) -> str:
    text = ", ".join(repr(name) for name in names[:20])
    return text if len(names) <= 20 else f"{text} and {len(names) - 20} more"


DROP_THEM = "Hint: correct them, or pass invalid='drop'."


def invalid_message(bad: np.ndarray, names: Sequence[str] | None, *, hint: str = DROP_THEM) -> str:
    """Where bad cells are, for the curator: columns and numbers, never what they hold."""
    counts = np.count_nonzero(bad, axis=0)
    total = int(counts.sum())
    if total == 0:
        return "No value is missing or infinite."
    places = np.flatnonzero(counts)
    parts = [f"{counts[j]:,} in column {j if names is None else repr(names[j])}" for j in places[:10]]
    if len(places) > 10:
        parts.append(f"the rest in {len(places) - 10} more columns")
    first = int(np.argmax(bad.any(axis=1)))
    values_are = "1 value is" if total == 1 else f"{total:,} values are"
    where = f"The first is in row {first:,} (counted from 0)."
    return f"{values_are} missing, unreadable or infinite: {', '.join(parts)}. {where} {hint}"


# ---- sets of tokens: one per record, sorted by hash, without duplicates; flat values and offsets (CSR) ----

Sets: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]

TOKENS = "Hint: pass one column of lists or of text (split at white space), or several columns of 0 and 1."


LISTS = (list, tuple, set, frozenset, np.ndarray)


def tokens_of(column: cells.Column, label: str) -> Sets:
    """The sets in one column of lists, of text or of objects."""
    kind = cells.plain_type(column) if cells.is_arrow(column) else column.dtype.kind
    textual = kind in "OUST" if isinstance(kind, str) else cells.is_text(kind) or cells.is_bytes(kind)
    try:
        if not textual and not _is_list(column):
            raise UnsupportedValue
        texts, places, lengths, gone = entries(column, words)
    except UnsupportedValue:
        raise DataError(f"{label} must hold sets of tokens, got {cells.describe(column)}. {TOKENS}") from None
    return _tidy(hashes_of(texts)[places], lengths, gone)


def _is_list(column: cells.Column) -> bool:
    lists = (pt.is_list, pt.is_large_list, pt.is_fixed_size_list, pt.is_list_view, pt.is_large_list_view)
    return cells.is_arrow(column) and any(test(cells.plain_type(column)) for test in lists)


def entries(
    column: cells.Column, of_cell: Callable[[object], list[bytes | None] | None]
) -> tuple[list[bytes | None], np.ndarray, np.ndarray, np.ndarray]:
    """The canonical texts in the cells' sets, where each entry's is among them, how many entries each cell has, and
    which cells hold no set. `of_cell` says what is in a cell that is no Arrow list.
    """
    if _is_list(column):
        pieces = [one.dictionary_decode() if pt.is_dictionary(one.type) else one for one in cells.chunks(column)]
        gone = np.concatenate([np.empty(0, bool), *map(cells.nulls_of, pieces)])
        lengths = [pc.fill_null(pc.cast(pc.list_value_length(one), pa.int64()), 0) for one in pieces]
        many = np.concatenate([np.empty(0, np.int64), *(cells.buffer_of(one, np.int64) for one in lengths)])
        items = [pc.list_flatten(one) for one in pieces]  # leaves out what lies under a null
        return *cells.texts(pa.chunked_array(items, cells.plain_type(column).value_type)), many, gone
    if not cells.is_arrow(column) and column.dtype.kind in "OT":
        found, which = column.astype(object), np.arange(len(column))
    else:
        found, which = cells.texts(column)
    sets = [of_cell(cell) for cell in found]
    known: dict[bytes | None, int] = {}
    flat = np.array([known.setdefault(text, len(known)) for one in sets for text in one or ()], np.int64)
    sizes = np.array([len(one or ()) for one in sets], np.int64)
    many = sizes[which]
    start = np.repeat((np.cumsum(sizes) - sizes)[which] - (np.cumsum(many) - many), many)
    gone = np.array([one is None for one in sets], bool)
    return list(known), flat[start + np.arange(len(start))], many, gone[which]


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
    if isinstance(cell, LISTS) and not (isinstance(cell, np.ndarray) and cell.ndim != 1):
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


LINE, BLOCK = 8, 4096
"""Columns that fill a line of cache, and rows that NumPy copies at a time."""
COMPILING = 1 << 26
"""Numbers that NumPy copies before the loop is compiled."""
LONG = 1024
"""Values of a row that NumPy reduces quickly."""

Ends = tuple[np.ndarray, np.ndarray]
"""The smallest value of each column, and the largest. They are as secret as the records."""

numpy_first = Patience(0, COMPILING)


def ends(values: np.ndarray) -> Ends:
    """Those of a matrix, NaN where a column has one. NumPy is quick on long rows, so several are reduced as one."""
    n, d = values.shape
    many = max(1, min(n, LONG // max(1, d)))
    whole = n - n % many
    lines, rest = values[:whole].reshape(-1, many * d), values[whole:]
    low, high = (np.concatenate([end(lines, axis=0).reshape(-1, d), rest]) for end in (np.min, np.max))
    return np.min(low, axis=0), np.max(high, axis=0)


def write(columns: Sequence[np.ndarray], first: int, out: np.ndarray, ends: np.ndarray) -> None:
    """Write up to eight columns of float64 into a matrix in C order, from column `first` on, and widen its ends.

    If some cell is NaN, the ends of all these columns are NaN, and remain so.
    """
    if numpy_first.lasts(len(columns) * len(out), ready) or not all(column.flags.c_contiguous for column in columns):
        _by_numpy(columns, first, out, ends)
    else:
        eight = [*columns, *[columns[-1]] * (LINE - len(columns))]
        _rows(*map(read_only, eight), len(columns), first, out, ends)


def ready() -> bool:
    """Whether the loop is compiled, without importing numba."""
    return "numba" in sys.modules and bool(getattr(_rows, "ready", True))


def _by_numpy(columns: Sequence[np.ndarray], first: int, out: np.ndarray, ends: np.ndarray) -> None:
    mine = ends[:, first : first + len(columns)]
    for start in range(0, len(out), BLOCK):
        some = slice(start, start + BLOCK)
        for k, column in enumerate(columns):
            out[some, first + k] = column[some]
            mine[0, k], mine[1, k] = (
                np.minimum(mine[0, k], column[some].min()),
                np.maximum(mine[1, k], column[some].max()),
            )
    if np.isnan(mine).any():
        mine[:] = np.nan


@njit(cache=True, inline="always")
def _wider(x, low, high):
    """Ends widened by x, unless it is NaN."""
    return x if x < low else low, x if x > high else high


@njit(nogil=True, cache=True, error_model="numpy", _nrt=False)
def _rows(a, b, c, d, e, f, g, h, many, first, out, ends):
    """Write the first `many` of eight columns."""
    a0 = b0 = c0 = d0 = e0 = f0 = g0 = h0 = np.inf
    a1 = b1 = c1 = d1 = e1 = f1 = g1 = h1 = -np.inf
    odd = False
    for i in range(out.shape[0]):
        p, q, r, s, t, u, v, w = a[i], b[i], c[i], d[i], e[i], f[i], g[i], h[i]
        out[i, first] = p
        if many > 1:
            out[i, first + 1] = q
        if many > 2:
            out[i, first + 2] = r
        if many > 3:
            out[i, first + 3] = s
        if many > 4:
            out[i, first + 4] = t
        if many > 5:
            out[i, first + 5] = u
        if many > 6:
            out[i, first + 6] = v
        if many > 7:
            out[i, first + 7] = w
        a0, a1 = _wider(p, a0, a1)
        b0, b1 = _wider(q, b0, b1)
        c0, c1 = _wider(r, c0, c1)
        d0, d1 = _wider(s, d0, d1)
        e0, e1 = _wider(t, e0, e1)
        f0, f1 = _wider(u, f0, f1)
        g0, g1 = _wider(v, g0, g1)
        h0, h1 = _wider(w, h0, h1)
        odd |= (p != p) | (q != q) | (r != r) | (s != s) | (t != t) | (u != u) | (v != v) | (w != w)
    low, high = (a0, b0, c0, d0, e0, f0, g0, h0), (a1, b1, c1, d1, e1, f1, g1, h1)
    for k in range(many):
        least, most = ends[0, first + k], ends[1, first + k]  # NaN stays: it compares as false
        ends[0, first + k] = np.nan if odd else low[k] if low[k] < least else least
        ends[1, first + k] = np.nan if odd else high[k] if high[k] > most else most
