"""One column, read as numbers or as categories.

A column is a NumPy array of one axis or an Arrow array. Arrow data is read through its buffers and masks, not
through ``to_numpy``: the latter would import pandas where it is installed, half a second for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from scumble.errors import DataError
from scumble.tables.hashing import UnsupportedValue, hashes, hashes_of_distinct, iso_texts, missing

Column: TypeAlias = Any  # np.ndarray, pa.Array or pa.ChunkedArray: Arrow has no types for a checker

_NUMBER_HINT = "Hint: use a HammingKernel for categories, or turn it into numbers by a public rule."
_CATEGORY_HINT = "Hint: turn it into text or numbers first."
_KINDS = {"U": "text", "T": "text", "S": "bytes", "M": "times", "m": "durations", "c": "complex numbers"}
NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating, Decimal, Fraction)


def is_arrow(column: Column) -> bool:
    return isinstance(column, pa.Array | pa.ChunkedArray)


def chunks(column: Column) -> list[pa.Array]:
    """The pieces of an Arrow column, unwrapped until their type says what they hold."""
    pieces = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return [_unwrap(piece) for piece in pieces]


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


def arrow_is_numeric(kind: Any) -> bool:
    tests = (pt.is_integer, pt.is_floating, pt.is_boolean, pt.is_decimal, pt.is_null)
    return any(test(kind) for test in tests)


def object_types(column: np.ndarray) -> set[type]:
    """The types of the cells that are there."""
    types = set(map(type, column))
    return {one for one in types if one.__name__ not in ("NoneType", "NAType", "NaTType")}


def describe(column: Column) -> str:
    """What a column holds, in words and never by value."""
    if is_arrow(column):
        kind = plain_type(column)
        return "text" if is_text(kind) else f"values of type {str(kind)[:60]}"
    if column.dtype == object:
        others = {one for one in object_types(column) if not issubclass(one, NUMBERS)}
        names = sorted("text" if issubclass(one, str) else one.__name__ for one in others)
        return "text" if names == ["text"] else f"values of type {', '.join(names[:4]) or 'object'}"
    return _KINDS.get(column.dtype.kind, f"values of type {column.dtype}")


def is_text(kind: Any) -> bool:
    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind))


def buffer_of(piece: pa.Array, dtype: Any) -> np.ndarray:
    """The numbers of a primitive Arrow array as they lie in memory; cells that are null hold anything."""
    if len(piece) == 0:
        return np.empty(0, dtype)
    width = np.dtype(dtype).itemsize
    return np.frombuffer(piece.buffers()[1], dtype, count=len(piece), offset=piece.offset * width)


def nulls_of(piece: pa.Array) -> np.ndarray:
    """True where a cell is null."""
    return buffer_of(pc.cast(pc.is_null(piece), pa.uint8()), np.uint8).view(np.bool_)


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
        return _object_numbers(column, label)
    if column.dtype.kind not in "biuf":
        raise not_numeric(column, label)
    with np.errstate(all="ignore"):  # an extended float beyond 1e308 becomes infinite: found later, as a bad cell
        return column.astype(np.float64, copy=False)


def not_numeric(column: Column, label: str) -> DataError:
    return DataError(f"{label} must hold numbers, got {describe(column)}. {_NUMBER_HINT}")


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


def _object_numbers(column: np.ndarray, label: str) -> np.ndarray:
    if not all(issubclass(one, NUMBERS) for one in object_types(column)):
        raise not_numeric(column, label)
    try:
        return column.astype(np.float64)  # None becomes NaN; text cannot be here, so nothing is parsed
    except (TypeError, ValueError, OverflowError):  # pandas.NA, a signalling NaN, 10 ** 400
        return np.array([_number(value) for value in column], dtype=np.float64)


def _number(value: Any) -> float:
    if missing(value):
        return np.nan
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


# ------------------------------------------------------------ categories


def categories(column: Column, label: str) -> np.ndarray:
    """The column as stable hashes in float64, missing cells as NaN; each distinct value is hashed once."""
    try:
        if not is_arrow(column):
            return _numpy_categories(column)
        parts = [_arrow_categories(piece) for piece in _encoded(column)]
    except (UnsupportedValue, OverflowError, pa.ArrowNotImplementedError):
        what = describe(column)
        raise DataError(f"{label} must hold categories, got {what}. {_CATEGORY_HINT}") from None
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0)


def _numpy_categories(column: np.ndarray) -> np.ndarray:
    kind = column.dtype.kind
    if kind == "O":
        return hashes(column)
    if kind == "T":
        return hashes(column.astype(object))
    if kind == "f":
        with np.errstate(all="ignore"):
            column = column.astype(np.float64, copy=False)
    elif kind not in "biuUSM":
        raise UnsupportedValue(kind)
    distinct, place = np.unique(column, return_inverse=True)
    if kind == "M":
        found = np.full(len(distinct), np.nan)
        there = ~np.isnat(distinct)
        found[there] = hashes_of_distinct(iso_texts(distinct[there]))
        return found[place]
    return hashes_of_distinct(distinct.tolist())[place]


def _encoded(column: Column) -> Iterable[pa.Array]:
    """Pieces that share one dictionary where Arrow can arrange it, so that nothing is hashed twice."""
    kind = column.type
    if isinstance(column, pa.ChunkedArray) and pt.is_dictionary(kind) and column.num_chunks > 1:
        try:
            return chunks(column.unify_dictionaries())
        except pa.ArrowNotImplementedError:
            return chunks(column)
    return chunks(column)


def _arrow_categories(piece: pa.Array) -> np.ndarray:
    if pt.is_null(piece.type):
        return np.full(len(piece), np.nan)
    if not isinstance(piece, pa.DictionaryArray):
        if pt.is_decimal(piece.type) and piece.type.bit_width < 128:
            piece = pc.cast(piece, pa.decimal128(piece.type.precision, piece.type.scale))
        piece = pc.dictionary_encode(piece)
    found = _arrow_hashes(_unwrap(piece.dictionary))
    places = buffer_of(pc.cast(piece.indices, pa.int64()), np.int64)
    if piece.indices.null_count == 0:
        return found[places]
    gone = nulls_of(piece.indices)
    padded = np.append(found, np.nan)  # an empty dictionary has no entry to point at
    return padded[np.where(gone, len(found), places)]


def _arrow_hashes(values: pa.Array) -> np.ndarray:
    kind = values.type
    if pt.is_null(kind):
        return np.full(len(values), np.nan)
    if pt.is_date(kind) or pt.is_timestamp(kind) or pt.is_time(kind):
        return _arrow_times(values)
    if pt.is_nested(kind) or pt.is_duration(kind) or pt.is_interval(kind) or pt.is_dictionary(kind):
        raise UnsupportedValue(str(kind))
    if isinstance(values, pa.ExtensionArray):
        raise UnsupportedValue(str(kind))
    try:
        return hashes_of_distinct(values.to_pylist())
    except UnicodeDecodeError:  # text that is not UTF-8: its bytes are as good a name
        return hashes_of_distinct(pc.cast(values, pa.large_binary()).to_pylist())


def _arrow_times(values: pa.Array) -> np.ndarray:
    # Not by to_pylist: Python's own times end at the microsecond.
    kind = values.type
    unit = "D" if pt.is_date32(kind) else "ms" if pt.is_date64(kind) else kind.unit
    width = pa.int32() if kind.bit_width == 32 else pa.int64()
    ticks = buffer_of(pc.cast(pc.cast(values, width), pa.int64()), np.int64)
    there = ~nulls_of(values)
    zone = "Z" if pt.is_timestamp(kind) and kind.tz is not None else ""
    texts: list[str] = iso_texts(ticks[there].astype(f"datetime64[{unit}]"), zone)
    if pt.is_time(kind):  # a time of day: the first day of the epoch says nothing
        texts = [text.removeprefix("1970-01-01T") if "T" in text else "00:00:00" for text in texts]
    found = np.full(len(values), np.nan)
    found[there] = hashes_of_distinct(texts)
    return found
