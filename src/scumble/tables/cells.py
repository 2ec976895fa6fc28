"""One column, read as numbers or as categories.

A column is a NumPy array of one axis or an Arrow array. Arrow data is read through its buffers and masks, not
through ``to_numpy``: the latter would import pandas where it is installed, half a second for nothing.

**Each cell for itself.** What a cell becomes depends on that cell and on the column's declared type, never on the other
cells. A declared type that does not fit (text where numbers are needed) is refused: it is public, like the column's
name. A column of Python objects declares nothing, so there each cell that does not fit is a bad cell of its own
record, to be refused or dropped like a missing one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from scumble.errors import DataError
from scumble.machine.later import pa, pc, pt
from scumble.tables.hashing import UnsupportedValue, hashes_of, iso_texts, nothing_in, text_of

_FLOAT = np.dtype(np.float64)
Column: TypeAlias = Any  # np.ndarray, pa.Array or pa.ChunkedArray: Arrow has no types for a checker

_NUMBER_HINT = "Hint: use a HammingKernel for categories, or turn it into numbers by a public rule."
_DATE_HINT = "Hint: name it in --dates or --times (dates=, times=), which read it as days since 1970-01-01."
_CATEGORY_HINT = "Hint: turn it into text or numbers first."
_KINDS = {
    "O": "objects",
    "U": "text",
    "T": "text",
    "S": "bytes",
    "M": "times",
    "m": "durations",
    "c": "complex numbers",
}
NUMBER_TEXT = re.compile(r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\Z")
"""How text says a number: as in CSV files, without words for what is not finite."""
BLANK = "[ \u00a0\u2009\u202f]"
"""Also those that do not break, or are thin: spreadsheets put them between thousands and before signs."""
BLANKS = " \t\n\v\f\r\u00a0\u2009\u202f"
"""What may stand at the ends of a word: these, and line ends."""
SIGNS = "$€£¥"
"""Of money."""
DRESSED_NUMBER = (
    rf"^([+-]?[{SIGNS}]?{BLANK}?|[{SIGNS}]{BLANK}?[+-])"
    rf"([0-9]{{1,3}}(,[0-9]{{3}})+|[0-9]{{1,3}}({BLANK}[0-9]{{3}})+|[0-9]+)(\.[0-9]*)?{BLANK}?[{SIGNS}%]?$"
)
"""A number as people write it: money, percent (12 % is 12), thousands apart. A comma is never a decimal
point. Of which currency it is, nobody asks."""
DRESS = rf"[{SIGNS}%,]|{BLANK}"
_DRESSED = re.compile(DRESSED_NUMBER[:-1] + r"\Z")
NO_VALUE = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL")
"""What text files write where there is no value."""
NO_VALUE_TEXTS = frozenset(word.encode() for word in NO_VALUE)
"""The same as canonical texts."""
NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating, Decimal, Fraction)


def is_arrow(column: Column) -> bool:
    """Whether a column is Arrow's."""
    return not isinstance(column, np.ndarray) and isinstance(column, pa.Array | pa.ChunkedArray)


def chunks(column: Column) -> list[pa.Array]:
    """The pieces of an Arrow column, unwrapped until their type says what they hold."""
    pieces = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return [_unwrap(piece) for piece in pieces]


def in_step(columns: Sequence[Column]) -> list[Sequence[Column]]:
    """Columns that Arrow holds in pieces, piece by piece where all are cut at the same rows; others as they are.

    >>> batches = [pa.record_batch({"a": [1, 2], "b": [3, 4]}), pa.record_batch({"a": [5], "b": [6]})]
    >>> [len(pieces[0]) for pieces in in_step(pa.Table.from_batches(batches).columns)]
    [2, 1]
    """
    if any(isinstance(column, np.ndarray) or not isinstance(column, pa.ChunkedArray) for column in columns):
        return [columns]
    pieces = [list(map(column.chunk, range(column.num_chunks))) for column in columns]
    cuts = {tuple(map(len, mine)) for mine in pieces}
    return [columns] if len(cuts) != 1 or () in cuts else list(zip(*pieces, strict=True))


def _unwrap(piece: pa.Array) -> pa.Array:
    if isinstance(piece, pa.ExtensionArray) and piece.type.extension_name.startswith("arrow."):
        return _unwrap(piece.storage)
    if isinstance(piece, pa.RunEndEncodedArray):
        return _unwrap(pc.run_end_decode(piece))
    return piece


def plain_type(column: Column) -> Any:
    """The Arrow type of the values, seen through dictionaries and wrappers."""
    kind = column.type
    while True:
        if isinstance(kind, pa.BaseExtensionType) and kind.extension_name.startswith("arrow."):
            kind = kind.storage_type
        elif pt.is_dictionary(kind) or pt.is_run_end_encoded(kind):
            kind = kind.value_type
        else:
            return kind


def arrow_is_numeric(kind: object) -> bool:
    """Whether an Arrow type holds numbers, or nothing at all."""
    tests = (pt.is_integer, pt.is_floating, pt.is_boolean, pt.is_decimal, pt.is_null)
    return any(test(kind) for test in tests)


def describe(column: Column) -> str:
    """What a column holds, in words and never by value."""
    if is_arrow(column):
        kind = plain_type(column)
        if is_text(kind):
            return "text"
        return f"values of type {re.split('[<[(]', str(kind))[0]}"  # the fields of a struct may come from records
    return _KINDS.get(column.dtype.kind, f"values of type {column.dtype}")


def is_text(kind: object) -> bool:
    """Whether an Arrow type holds text."""
    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind))


def is_bytes(kind: object) -> bool:
    """Whether an Arrow type holds bytes."""
    return any(test(kind) for test in (pt.is_binary, pt.is_large_binary, pt.is_binary_view, pt.is_fixed_size_binary))


def chosen(batch: Any, which: np.ndarray) -> Any:
    """The rows of an Arrow batch or table at which a mask is true. (``pa.array(mask)`` would import pandas.)

    >>> chosen(pa.record_batch({"age": [41, 42, 43]}), np.array([True, False, True]))["age"].to_pylist()
    [41, 43]
    """
    bits = pa.py_buffer(np.packbits(which, bitorder="little"))
    return batch.filter(pa.BooleanArray.from_buffers(pa.bool_(), len(which), [None, bits]))


def buffer_of(piece: pa.Array, dtype: Any) -> np.ndarray:
    """The numbers of a primitive Arrow array as they lie in memory; cells that are null hold anything."""
    if len(piece) == 0:
        return np.empty(0, dtype)
    kind = np.dtype(dtype)
    found = np.frombuffer(piece.buffers()[1], kind, count=len(piece), offset=piece.offset * kind.itemsize)
    found.flags.writeable = False  # it is Arrow's
    return found


def as_they_lie(column: Column) -> np.ndarray | None:
    """A column in one piece of Arrow's float64, all cells there, as it lies in memory; None of all others."""
    if isinstance(column, np.ndarray) or not isinstance(column, pa.DoubleArray) or column.null_count:
        return None
    return buffer_of(column, _FLOAT)


def nulls_of(piece: pa.Array) -> np.ndarray:
    """True where a cell is null."""
    return buffer_of(pc.cast(pc.is_null(piece), pa.uint8()), np.uint8).view(np.bool_)


def says_nothing(text: bytes) -> bool:
    """Whether a canonical text is a word for a missing cell."""
    return text.strip() in NO_VALUE_TEXTS


def there(column: Column, rows: np.ndarray, nothing: Callable[[bytes], bool] = says_nothing) -> np.ndarray:
    """Which of these rows have a cell that holds something, be it unreadable: not a missing one, nor a word for that.

    >>> there(pa.array(["01/02/2009", None, "NA", " "]), np.array([0, 1, 2, 3])).tolist()
    [True, False, False, False]
    >>> there(np.array(["NA", None, {"a": 1}], object), np.array([0, 1, 2])).tolist()
    [False, False, True]
    """
    if is_arrow(column):
        kind = plain_type(column)
        found = ~np.concatenate([np.empty(0, bool), *map(nulls_of, chunks(column))])[rows]
        textual = is_text(kind) or is_bytes(kind)
    else:
        column, rows = column[rows], np.arange(len(rows))
        kind = column.dtype.kind
        gone: Any = {"f": np.isnan, "M": np.isnat, "O": _nothings, "T": _nothings}.get(kind)
        found = np.ones(len(rows), bool) if gone is None else ~gone(column)
        textual = kind in "OUST"
    if not textual or not found.any():
        return np.asarray(found)
    known, places = texts(column)
    something = np.array([text is None or not nothing(text) for text in known], bool)
    return np.asarray(found & something[places[rows]])


def _nothings(column: np.ndarray) -> np.ndarray:
    return np.fromiter(map(nothing_in, column), bool, len(column))


# --------------------------------------------------------------- numbers


def numbers(column: Column, label: str) -> np.ndarray:
    """The column as float64, missing cells as NaN; the column's own memory where that is possible."""
    if is_arrow(column):
        kind = plain_type(column)
        if not arrow_is_numeric(kind):
            raise not_numeric(column, label)
        parts = [_arrow_numbers(piece) for piece in chunks(column)]
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts) if parts else np.empty(0)
    if column.dtype == object:
        return np.fromiter(map(number, column), np.float64, len(column))
    if column.dtype.kind not in "biuf":
        raise not_numeric(column, label)
    with np.errstate(all="ignore"):  # an extended float beyond 1e308 becomes infinite: found later, as a bad cell
        found: np.ndarray = column.astype(np.float64, copy=False)
    return found


def not_numeric(column: Column, label: str) -> DataError:
    """The error of a column that should hold numbers."""
    dates = pt.is_temporal(plain_type(column)) if is_arrow(column) else column.dtype.kind == "M"
    return DataError(f"{label} must hold numbers, got {describe(column)}. {_DATE_HINT if dates else _NUMBER_HINT}")


def _arrow_numbers(piece: pa.Array) -> np.ndarray:
    if isinstance(piece, pa.DictionaryArray):
        piece = _unwrap(piece.dictionary_decode())
    if pt.is_null(piece.type):
        return np.full(len(piece), np.nan)
    if not pt.is_float64(piece.type):
        piece = pc.cast(piece, pa.float64(), safe=False)  # beyond 2^53: the nearest float64
    values = buffer_of(piece, np.float64)
    if piece.null_count == 0:
        return values
    return np.where(nulls_of(piece), np.nan, values)


def number(cell: object) -> float:
    """One cell of a column of objects as a number; NaN if it is missing or no number. Text is not parsed."""
    if type(cell) is float:  # the most common kind, ahead of the rare ones
        return cell
    if not isinstance(cell, NUMBERS):
        return np.nan
    try:
        return _float(cell)
    except Exception:  # a signalling NaN, or a class of somebody's own: its words may quote the cell
        return np.nan


def number_or_none(cell: object) -> float | None:
    """One cell that declares no type, as a number, also of text: None if it is missing, NaN if it holds something else.

    >>> [number_or_none(cell) for cell in (5, " 5.0 ", b"5", "NA", None, "five")]
    [5.0, 5.0, 5.0, None, None, nan]
    """
    if isinstance(cell, str | bytes):
        text = text_of(cell)
        return None if text is not None and says_nothing(text) else number_in(text)
    return None if nothing_in(cell) else number(cell)


def _float(cell: Any) -> float:
    try:
        with np.errstate(all="ignore"):  # an extended float may overflow
            return float(cell)
    except OverflowError:
        return np.inf if cell > 0 else -np.inf


def number_in(text: bytes | None) -> float:
    """The number that a canonical text says; NaN if it says none. A cell's number is the same, whichever container it
    came in: 5, ``Decimal("5.00")`` and " 5.0 " are 5, "true" is 1.

    >>> [number_in(text) for text in (b"5", b" +2.5e1 ", b"TRUE", b"$1,234.50", b"12 %", b"1,2", b"two", None)]
    [5.0, 25.0, 1.0, 1234.5, 12.0, nan, nan, nan]
    """
    if text is None:
        return np.nan
    try:
        words = text.decode().strip().lower()
    except UnicodeDecodeError:
        return np.nan
    if NUMBER_TEXT.match(words):
        return float(words)
    if _DRESSED.match(words):
        return float(re.sub(DRESS, "", words))
    return {"true": 1.0, "false": 0.0}.get(words, np.nan)


# ------------------------------------------------------------ categories


Texts: TypeAlias = tuple[list[bytes | None], np.ndarray]
"""Canonical texts (None for a bad cell), and for each cell which of them it has. A text may stand there twice."""


def categories(column: Column, label: str) -> np.ndarray:
    """The column as stable hashes in float64, missing cells as NaN; each distinct value is hashed once."""
    try:
        found, places = texts(column)
    except UnsupportedValue:
        what = describe(column)
        raise DataError(f"{label} must hold categories, got {what}. {_CATEGORY_HINT}") from None
    return hashes_of(found)[places]


def texts(column: Column) -> Texts:
    """The canonical texts of a column. A type that has none is an UnsupportedValue."""
    if not is_arrow(column):
        return _numpy_texts(column)
    found: list[bytes | None] = []
    places = [np.empty(0, np.int64)]
    try:
        for piece in _encoded(column):
            mine, where = _arrow_texts(piece)
            places.append(where + len(found))
            found += mine
    except pa.ArrowNotImplementedError:
        raise UnsupportedValue(str(column.type)[:60]) from None
    return found, np.concatenate(places)


def _numpy_texts(column: np.ndarray) -> Texts:
    kind = column.dtype.kind
    if kind in "OT":
        known: dict[bytes | None, int] = {}
        cells = (known.setdefault(text_of(cell), len(known)) for cell in column.astype(object))
        places = np.fromiter(cells, np.int64, len(column))
        return list(known), places
    if kind not in "biufUSM":
        raise UnsupportedValue(kind)
    distinct, places = np.unique(column, return_inverse=True)
    return _time_texts(distinct) if kind == "M" else [text_of(value) for value in distinct.tolist()], places


def _time_texts(times: np.ndarray, zone: str = "") -> list[bytes | None]:
    found: list[bytes | None] = [None] * len(times)
    there = np.flatnonzero(~np.isnat(times))
    for place, text in zip(there.tolist(), iso_texts(times[there], zone), strict=True):
        found[place] = text.encode("ascii")
    return found


def _encoded(column: Column) -> Iterable[pa.Array]:
    """Pieces that share one dictionary where Arrow can arrange it, so nothing is hashed twice."""
    kind = column.type
    if isinstance(column, pa.ChunkedArray) and pt.is_dictionary(kind) and column.num_chunks > 1:
        try:
            return chunks(column.unify_dictionaries())
        except pa.ArrowException:  # a type it cannot unite, or more values than the indices can tell apart
            return chunks(column)
    return chunks(column)


def _arrow_texts(piece: pa.Array) -> Texts:
    if pt.is_null(piece.type):
        return [None], np.zeros(len(piece), np.int64)
    if not isinstance(piece, pa.DictionaryArray):
        if pt.is_decimal(piece.type) and piece.type.bit_width < 128:
            piece = pc.cast(piece, pa.decimal128(piece.type.precision, piece.type.scale))
        piece = pc.dictionary_encode(piece)
    found = _texts_of_dictionary(_unwrap(piece.dictionary))
    places = buffer_of(pc.cast(piece.indices, pa.int64()), np.int64)
    if piece.indices.null_count:
        places = np.where(nulls_of(piece.indices), len(found), places)
    return [*found, None], places


def _texts_of_dictionary(values: pa.Array) -> list[bytes | None]:
    kind = values.type
    if pt.is_null(kind):
        return [None] * len(values)
    if pt.is_date(kind) or pt.is_timestamp(kind) or pt.is_time(kind):
        return _arrow_times(values)
    if pt.is_nested(kind) or pt.is_duration(kind) or pt.is_interval(kind) or pt.is_dictionary(kind):
        raise UnsupportedValue(str(kind))
    if isinstance(values, pa.ExtensionArray):
        raise UnsupportedValue(str(kind))
    if is_text(kind):  # its bytes, which need not be UTF-8
        values = pc.cast(values, pa.large_binary())
    return [text_of(value) for value in values.to_pylist()]


def times_of(values: pa.Array) -> np.ndarray:
    """Dates, time stamps (in UTC, if they have a zone) or times of day as datetime64 of their own unit."""
    # Not by to_pylist: Python's own times end at the microsecond.
    kind = values.type
    unit = "D" if pt.is_date32(kind) else "ms" if pt.is_date64(kind) else kind.unit
    width = pa.int32() if kind.bit_width == 32 else pa.int64()
    ticks = buffer_of(pc.cast(pc.cast(values, width), pa.int64()), np.int64)
    return np.where(nulls_of(values), np.iinfo(np.int64).min, ticks).view(f"datetime64[{unit}]")


def _arrow_times(values: pa.Array) -> list[bytes | None]:
    kind = values.type
    zone = "Z" if pt.is_timestamp(kind) and kind.tz is not None else ""
    found = _time_texts(times_of(values), zone)
    if pt.is_time(kind):  # a time of day: the first day of the epoch says nothing
        return [
            None if text is None else text.removeprefix(b"1970-01-01T") if b"T" in text else b"00:00:00"
            for text in found
        ]
    return found
