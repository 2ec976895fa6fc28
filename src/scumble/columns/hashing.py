"""A number for every category: the same on every platform, in every version, from every container.

A kernel over categories or sets of tokens only asks whether two values are equal. So a value becomes a 53-bit integer,
which a float64 holds exactly, and no vocabulary is read from the data.

1. *Canonical text.* Equal cells of CSV, Parquet and JSON files have equal texts: 5, 5.0, ``np.int8(5)``,
   ``Decimal("5.00")`` and "5" are "5"; ``True`` is "true"; other floats, and decimals equal to one, are the shortest
   text that reads back as the same float64; every other number has a text of its own. Text is itself as UTF-8, bytes
   are themselves. A date, or a time stamp at its midnight, is "2020-02-29"; other time stamps are
   "2020-02-29T12:30:00.5", in UTC with a "Z" if they have a zone. The text depends on the cell alone.
2. *Hash.* The top 53 bits of BLAKE2b of the text (8 bytes, personalized "scumble").

Two different values collide with probability 2^-53; among a million values, some two do with probability below 6e-5,
and then count as equal.

>>> stable_hash(5) == stable_hash(5.0) == stable_hash("5")
True
>>> int(stable_hash("scumble"))
3138221643013314
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from hashlib import blake2b

import numpy as np

_PERSON = b"scumble"
UNTOLD = b"\xff no text"
"""In an Arrow column made of objects, a cell without a canonical text, such as a list. It is not UTF-8."""


BITS = 20
BUCKETS = 1 << BITS


class UnsupportedValue(TypeError):
    """A type without a canonical text; names the type, never the value."""


def stable_hash(value: object) -> float:
    """The number of one value, an integer in [0, 2^53) as a float; NaN if it is missing."""
    return hash_of(canonical(value))


def hash_of(text: bytes | None) -> float:
    """The number of a canonical text; NaN for None."""
    if text is None:
        return math.nan
    return float(int.from_bytes(blake2b(text, digest_size=8, person=_PERSON).digest(), "big") >> 11)


def bucket_of(text: bytes) -> int:
    """One of 2^20 public buckets: the first bits of the number of a canonical text."""
    return int(hash_of(text)) >> 53 - BITS


def hashes_of(texts: Iterable[bytes | None]) -> np.ndarray:
    """The numbers of many canonical texts."""
    return np.array([hash_of(text) for text in texts], dtype=np.float64)


def text_of(cell: object) -> bytes | None:
    """The canonical text of any cell; None if it is missing or has none."""
    try:
        return canonical(cell)
    except Exception:  # of the cell's own class: its message may quote the cell
        return None


def nothing_in(cell: object) -> bool:
    """Whether a cell is missing, which one without a text is not."""
    try:
        return missing(cell)
    except Exception:  # of the cell's own class
        return False


def missing(value: object) -> bool:
    """None, NaN, and what pandas and NumPy use for them."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, float | np.floating):
        return bool(value != value)
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, np.datetime64 | np.timedelta64) and bool(np.isnat(value))


def canonical(value: object) -> bytes | None:
    """The text that stands for a value; None if it is missing."""
    if isinstance(value, str):
        # A cell read with errors="surrogateescape" may hold a lone surrogate.
        return str.encode(value, "utf-8", "surrogatepass")
    if type(value) is float and value == value:  # the most common
        return _float_text(value)
    if missing(value):
        return None
    if isinstance(value, bool | np.bool_):
        return b"true" if value else b"false"
    if isinstance(value, int | np.integer):
        return _int_text(int(value))
    if isinstance(value, np.floating):
        near = float(value)
        if near == value:
            return _float_text(near)
        value = Fraction(*value.as_integer_ratio())  # more digits than a float64 has
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, Fraction):
        return _fraction_text(value)
    if isinstance(value, Decimal):
        return _decimal_text(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return None if value == UNTOLD else bytes(value)
    if isinstance(value, np.datetime64):
        return iso_texts(np.array([value]))[0].encode("ascii")
    if isinstance(value, datetime.datetime):
        if value.utcoffset() is None:  # `astimezone` would use this machine's zone
            value = value.replace(tzinfo=None)
            return _trim(value.isoformat()).encode("ascii")
        utc = value.astimezone(datetime.UTC).replace(tzinfo=None)
        return _trim(utc.isoformat(), zone="Z").encode("ascii")
    if isinstance(value, datetime.date):
        return value.isoformat().encode("ascii")
    if isinstance(value, datetime.time) and value.tzinfo is None:
        return _trim(value.isoformat()).encode("ascii")
    raise UnsupportedValue(type(value).__name__)


def _int_text(value: int) -> bytes:
    # Python writes at most 4,300 decimal digits.
    return b"%d" % value if value.bit_length() < 8192 else hex(value).encode("ascii")


def _float_text(value: float) -> bytes:
    if math.isfinite(value) and value.is_integer():
        return b"%d" % int(value)  # also makes -0.0 a plain 0
    return repr(value).encode("ascii")


def _fraction_text(value: Fraction) -> bytes:
    if value.denominator == 1:
        return _int_text(value.numerator)
    places = value.denominator.bit_length()  # enough: a denominator 2^a 5^b divides 10^max(a, b)
    shifted = value * 10**places
    if shifted.denominator == 1:
        return _decimal_text(Decimal((value < 0, Decimal(shifted.numerator).as_tuple().digits, -places)))
    return _int_text(value.numerator) + b"/" + _int_text(value.denominator)


def _decimal_text(value: Decimal) -> bytes:
    if not value.is_finite():
        return _float_text(float(value))
    if not value:
        return b"0"
    if value.adjusted() < 400 and value == value.to_integral_value():
        return b"%d" % int(value)
    near = float(value)
    if math.isfinite(near) and Decimal(repr(near)) == value:
        return _float_text(near)
    # Its digits and exponent: no float is written like this, and an integer could be very long.
    sign, digits, exponent = value.as_tuple()
    text = "".join(map(str, digits))
    short = text.rstrip("0")
    return f"{'-' * sign}{short}E{int(exponent) + len(text) - len(short)}".encode("ascii")


def iso_texts(times: np.ndarray, zone: str = "") -> list[str]:
    """The canonical texts of an array of datetime64 without NaT."""
    rest = {"h": ":00:00", "m": ":00"}.get(np.datetime_data(times.dtype)[0], "")
    return [_trim(text + rest, zone) for text in np.datetime_as_string(times).tolist()]


def _trim(text: str, zone: str = "") -> str:
    """Without zeros at the end of a second's fraction, so that equal times in different units have one text."""
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    if zone:
        return text + zone
    return text.removesuffix("T00:00:00")
