"""One column, read as numbers or as categories.

A column is a NumPy array of one axis or an Arrow array. Arrow data is read through its buffers: ``to_numpy`` would
import pandas.

What a cell becomes depends on that cell and on the column's declared type, never on other cells. A declared type that
does not fit (text where numbers are needed) is refused; it is as public as the column's name. In a column of Python
objects, each cell that does not fit is a bad cell of its own record.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from scumble.columns.hashing import UnsupportedValue, hashes_of, iso_texts, nothing_in, text_of
from scumble.errors import DataError
from scumble.files.lazy_modules import pa, pc, pt

Column: TypeAlias = Any  # np.ndarray, pa.Array or pa.ChunkedArray: Arrow has no types for a checker

_NUMBER_HINT = "Hint: use a HammingKernel for categories, or convert it to numbers."
_DATE_HINT = "Hint: name it in --dates or --times (dates=, times=)."
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
"""A finite number in text."""
BLANK = "[ \u00a0\u2009\u202f]"
"""Spaces, also non-breaking and thin ones, as spreadsheets put between thousands."""
BLANKS = " \t\n\v\f\r\u00a0\u2009\u202f"
"""What is stripped from the ends of a word."""
SIGNS = "$€£¥"
DRESSED_NUMBER = (
    rf"^([+-]?[{SIGNS}]?{BLANK}?|[{SIGNS}]{BLANK}?[+-])"
    rf"([0-9]{{1,3}}(,[0-9]{{3}})+|[0-9]{{1,3}}({BLANK}[0-9]{{3}})+|[0-9]+)(\.[0-9]*)?{BLANK}?[{SIGNS}%]?$"
)
"""A number with a currency, a percent sign (12 % is 12) or thousands apart. A comma is never a decimal point."""
DRESS = rf"[{SIGNS}%,]|{BLANK}"
_DRESSED = re.compile(DRESSED_NUMBER[:-1] + r"\Z")
NO_VALUE = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL")
"""What text files write where there is no value."""
NO_VALUE_TEXTS = frozenset(word.encode() for word in NO_VALUE)
NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating, Decimal, Fraction)


def is_arrow(column: Column) -> bool:
    """Whether a column is Arrow's."""
    return not isinstance(column, np.ndarray) and isinstance(column, pa.Array | pa.ChunkedArray)


def chunks(column: Column) -> list[pa.Array]:
    """The pieces of an Arrow column, without extension types and run-end encoding."""
    pieces = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return [_unwrap(piece) for piece in pieces]


def in_step(columns: Sequence[Column]) -> list[Sequence[Column]]:
    """Chunked columns piece by piece, if all are cut at the same rows; others as they are.

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
    if isinstance(piece, pa.DictionaryArray) and pt.is_null(piece.type.value_type):
        return pa.nulls(len(piece))  # Arrow crashes where it is asked which of its cells are null
    return piece


def plain_type(column: Column) -> pa.DataType:
    """The Arrow type of the values, without dictionaries and wrappers."""
    kind = column.type
    while True:
        if isinstance(kind, pa.BaseExtensionType) and kind.extension_name.startswith("arrow."):
            kind = kind.storage_type
        elif pt.is_dictionary(kind) or pt.is_run_end_encoded(kind):
            kind = kind.value_type
        else:
            return kind


def arrow_is_numeric(kind: object) -> bool:
    """Whether an Arrow type is numeric, boolean or null."""
    tests = (pt.is_integer, pt.is_floating, pt.is_boolean, pt.is_decimal, pt.is_null)
    return any(test(kind) for test in tests)


def is_numeric(column: Column) -> bool:
    """Whether a column's type is numeric."""
    return arrow_is_numeric(plain_type(column)) if is_arrow(column) else column.dtype.kind in "biuf"


def describe(column: Column) -> str:
    """The type of a column, in words."""
    if is_arrow(column):
        kind = plain_type(column)
        if is_text(kind):
            return "text"
        return f"values of type {re.split('[<[(]', str(kind))[0]}"  # the fields of a struct may be data
    return _KINDS.get(column.dtype.kind, f"values of type {column.dtype}")


def is_text(kind: object) -> bool:
    """Whether an Arrow type holds text."""
    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind))


def is_bytes(kind: object) -> bool:
    """Whether an Arrow type holds bytes."""
    return any(test(kind) for test in (pt.is_binary, pt.is_large_binary, pt.is_binary_view, pt.is_fixed_size_binary))


def chosen(batch: pa.Table, which: np.ndarray) -> pa.Table:
    """The rows of an Arrow batch or table where a mask is true, without importing pandas."""
    bits = pa.py_buffer(np.packbits(which, bitorder="little"))
    columns = [without_views(column) for column in batch.columns]
    filterable = type(batch).from_arrays(columns, names=batch.schema.names)
    return filterable.filter(pa.BooleanArray.from_buffers(pa.bool_(), len(which), [None, bits]))


def without_views(column: Column) -> Column:
    """The same cells in a type that Arrow can filter and look up: no views and no run-end encoding."""
    kind = column.type
    if pt.is_run_end_encoded(kind):
        return without_views(pc.run_end_decode(column))
    if pt.is_string_view(kind):
        return as_text(column, pa.large_string())
    if pt.is_binary_view(kind):
        return pc.cast(column, pa.large_binary())
    if pt.is_dictionary(kind) and isinstance(column, pa.DictionaryArray):
        values, plain = column.dictionary, without_views(column.dictionary)
        return column if plain.type == values.type else pa.DictionaryArray.from_arrays(column.indices, plain)
    if pt.is_list(kind) or pt.is_large_list(kind):
        inner = without_views(pa.nulls(0, kind.value_type)).type
        return column if inner == kind.value_type else pc.cast(column, pa.large_list(inner))
    return column


def as_text(column: Column, kind: pa.DataType) -> Column:
    """Text of another type, or bytes as text: they need not be UTF-8."""
    return pc.cast(column, options=pc.CastOptions(target_type=kind, allow_invalid_utf8=True))


def buffer_of(piece: pa.Array, dtype: npt.DTypeLike) -> np.ndarray:
    """The memory of a primitive Arrow array; null cells hold anything."""
    if len(piece) == 0:
        return np.empty(0, dtype)
    kind = np.dtype(dtype)
    found = np.frombuffer(piece.buffers()[1], kind, count=len(piece), offset=piece.offset * kind.itemsize)
    found.flags.writeable = False  # it is Arrow's
    return found


def nulls_of(piece: pa.Array) -> np.ndarray:
    """True where a cell is null."""
    return buffer_of(pc.cast(pc.is_null(piece), pa.uint8()), np.uint8).view(np.bool_)


def says_nothing(text: bytes) -> bool:
    """Whether a canonical text stands for a missing cell."""
    return text.strip() in NO_VALUE_TEXTS


def there(column: Column, rows: np.ndarray, nothing: Callable[[bytes], bool] = says_nothing) -> np.ndarray:
    """Which of these rows hold something, even if unreadable: neither a null nor a word for a missing cell."""
    if is_arrow(column):
        kind = plain_type(column)
        found = ~np.concatenate([np.empty(0, bool), *map(nulls_of, chunks(column))])[rows]
        textual = is_text(kind) or is_bytes(kind)
    else:
        column, rows = column[rows], np.arange(len(rows))
        kind = column.dtype.kind
        gaps: dict[str, Callable[[np.ndarray], np.ndarray]]
        gaps = {"f": np.isnan, "M": np.isnat, "O": _nothings, "T": _nothings}
        found = ~gaps[kind](column) if kind in gaps else np.ones(len(rows), bool)
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
    """The column as float64, missing cells as NaN; its own memory where possible."""
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
    with np.errstate(all="ignore"):  # an extended float may become infinite: a bad cell
        found: np.ndarray = column.astype(np.float64, copy=False)
    return found


def not_numeric(column: Column, label: str) -> DataError:
    """The error for a column that should hold numbers."""
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
    if type(cell) is float:  # the most common
        return cell
    if not isinstance(cell, NUMBERS):
        return np.nan
    try:
        return _float(cell)
    except Exception:  # a signaling NaN, or a user's class, whose message may quote the cell
        return np.nan


def number_or_none(cell: object) -> float | None:
    """One cell of any type as a number, text parsed; None if it is missing, NaN if it holds something else."""
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
    """The number in a canonical text, or NaN. "true" is 1."""
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


_CODE = re.compile(rb"\s*0\d+\s*\Z")


def is_code(text: bytes) -> bool:
    """Whether digits begin with a zero that a number would lose, as ZIP codes do.

    >>> [is_code(text) for text in (b"01067", b"0", b"0.5", b"10115")]
    [True, False, False, False]
    """
    return _CODE.match(text) is not None


# ------------------------------------------------------------ categories


Texts: TypeAlias = tuple[list[bytes | None], np.ndarray]
"""Canonical texts (None for a bad cell, repeats possible), and the index of each cell's text."""


def categories(column: Column, label: str) -> np.ndarray:
    """The column as stable hashes in float64, missing cells as NaN."""
    try:
        found, places = texts(column)
    except UnsupportedValue:
        raise DataError(f"{label} must hold categories, got {describe(column)}. Hint: convert it to text.") from None
    return hashes_of(found)[places]


def texts(column: Column) -> Texts:
    """The canonical texts of a column; an UnsupportedValue if its type has none."""
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
    known = iter(iso_texts(times[~np.isnat(times)], zone))
    return [None if gone else next(known).encode("ascii") for gone in np.isnat(times).tolist()]


def _encoded(column: Column) -> Iterable[pa.Array]:
    """Pieces that share one dictionary where Arrow can do it, so that nothing is hashed twice."""
    if isinstance(column, pa.ChunkedArray) and pt.is_dictionary(column.type) and column.num_chunks > 1:
        with contextlib.suppress(pa.ArrowException):  # a type it cannot unify, or too many values for the indices
            return chunks(column.unify_dictionaries())
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
    if pt.is_date(kind) or pt.is_timestamp(kind) or pt.is_time(kind):
        found = _time_texts(times_of(values), "Z" if pt.is_timestamp(kind) and kind.tz is not None else "")
        if not pt.is_time(kind):
            return found
        midnight = b"00:00:00"  # without the day of the epoch
        return [text and (text.removeprefix(b"1970-01-01T") if b"T" in text else midnight) for text in found]
    unsupported = (pt.is_nested, pt.is_duration, pt.is_interval, pt.is_dictionary)
    if any(test(kind) for test in unsupported) or isinstance(values, pa.ExtensionArray):
        raise UnsupportedValue(str(kind))
    if is_text(kind):  # need not be UTF-8
        values = pc.cast(values, pa.large_binary())
    return [text_of(value) for value in values.to_pylist()]


def times_of(values: pa.Array) -> np.ndarray:
    """Dates, time stamps (in UTC, if they have a zone) or times of day as datetime64 of their own unit."""
    kind = values.type
    unit = "D" if pt.is_date32(kind) else "ms" if pt.is_date64(kind) else kind.unit
    width = pa.int32() if kind.bit_width == 32 else pa.int64()
    ticks = buffer_of(pc.cast(pc.cast(values, width), pa.int64()), np.int64)
    return np.where(nulls_of(values), np.iinfo(np.int64).min, ticks).view(f"datetime64[{unit}]")
