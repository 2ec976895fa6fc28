"""What a file may hold: its kinds, and how large, how deep and of which types its parts may be."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Json: TypeAlias = dict[str, Any]
"""Metadata: plain values of JSON by name."""
FORMAT_VERSION = 3
WHOLE, HALF, SHORT = np.dtype("<i8"), np.dtype("<i4"), np.dtype("<u2")

# Each kind: what it is in words, and who reads it.
PUBLIC_KINDS = {
    "release": "a release",
    "bundle": "a bundle of releases",
    "model": "a fitted model",
    "table": "the release of a table",
    "moments": "a release of moments",
}
SECRET_KINDS = {
    "secret": "a secret sketch",
    "checkpoint": "the checkpoint of a build",
    "share": "one custodian's share of a release",
    "stream": "the state of a stream",
}
KINDS = PUBLIC_KINDS | SECRET_KINDS
PAYMENT = "payment"
"""The metadata of a file that is about to be paid for: under what identity, and which file it is."""
RELEASES = ("release", "bundle", "table", "moments")
"""What noise was drawn for."""
READER = {
    "release": "scumble query asks it, scumble info shows it (scumble.load reads it)",
    "bundle": "scumble query asks it, scumble info shows it (scumble.Bundle.load reads it)",
    "table": "scumble count asks it, scumble info shows it (scumble.load reads it)",
    "moments": "scumble info shows it (scumble.load reads it)",
    "model": "scumble predict asks it, scumble info shows it (scumble.learn.load reads it)",
    "secret": "scumble release publishes it (scumble.load_secret reads it); never share it",
    "checkpoint": "run the same build again to resume from it; never share it",
    "stream": "scumble stream goes on with it (scumble.load_stream reads it); never share it",
    "share": "scumble.load_share reads it, to be added up with the others; never share it beyond",
}

DTYPES = {"I64": "<i8", "U64": "<u8", "F64": "<f8", "I32": "<i4", "F32": "<f4", "U16": "<u2", "U8": "|u1"}
CODES = {np.dtype(dtype): code for code, dtype in DTYPES.items()}
MAGIC = b'{"__metadata__":{"format":"scumble","format_version":"'
NAME = re.compile(r"[A-Za-z0-9_.\-]{1,128}")
ZEROS = b"0" * 64
MAX_HEADER = 1 << 24  # 16 MiB: room for a million short class names
_PLAIN_HEADER = 1 << 20  # 1 MiB and 32,768 values; more only with as much data: a small file is refused at small cost
_PLAIN_VALUES = 1 << 15
_MAX_DEPTH = 32
MAX_NDIM = 8
_TEXT, _LISTS = (str, bool), (list, tuple)


@dataclass(frozen=True, repr=False)
class Container:
    """What a file holds: arrays by name (read-only), and JSON metadata.

    >>> from scumble.files import from_bytes, to_bytes
    >>> data = to_bytes("release", {"epsilon": 1.0}, {"counts": np.arange(3)})
    >>> box = from_bytes(data, expect="release")
    >>> box.metadata, box.arrays["counts"].tolist()
    ({'epsilon': 1.0}, [0, 1, 2])
    """

    kind: str
    metadata: Json
    arrays: dict[str, np.ndarray]
    version: int
    library: str
    payment: str | None = None
    """Under what its release is charged, if the very file says so: a copy does not."""

    def __repr__(self) -> str:
        return f"Container({self.kind!r})"


def not_plain(value: object) -> str:
    """Says why a value cannot go through JSON unchanged, by type and never by content; '' if it can."""
    level: list[object] = [value]
    for _ in range(_MAX_DEPTH + 1):  # one level of nesting after the other
        inner: list[object] = []
        for item in level:
            if item is None or isinstance(item, _TEXT):
                continue
            if isinstance(item, dict):
                for key in item:
                    if not isinstance(key, str):
                        return "a key that is not text"
                inner += item.values()
            elif isinstance(item, _LISTS):
                inner += item
            elif isinstance(item, int):
                # Python refuses to read integers of more than 4,300 digits (a guard against slow parsing).
                if item.bit_length() > 8192:
                    return "an integer of more than 8192 bits"
            elif not isinstance(item, float):
                return f"a {type(item).__name__}"
            elif not math.isfinite(item):
                return "a number that is not finite"
        if not inner:
            return ""
        level = inner
    return f"more than {_MAX_DEPTH} levels"


def too_large(header: bytes, data: int) -> bool:
    """Whether a header would cost far more to read than the file it belongs to."""
    values = header.count(b",") + header.count(b"[") + header.count(b"{")
    return len(header) > _PLAIN_HEADER + 2 * data or values > _PLAIN_VALUES + data // 4


MOST = 2**62


def fits(*tables: np.ndarray) -> bool:
    """Whether the sum of these (rows, buckets) tables has room left; asked before they are added.

    Rows of unequal length, in one line, are taken as one row: that asks for more than is needed.

    >>> half = np.full((1, 1), 2**61)
    >>> fits(half), fits(half, half)
    (True, False)
    """
    highest, lowest = sum(int(table.max()) for table in tables), sum(int(table.min()) for table in tables)
    longest = max(np.atleast_2d(table).shape[1] for table in tables)
    if max(highest, -lowest) * longest < MOST // 2:
        return True  # so it is nearly always, and no sum of a row can come near
    sums = np.add.reduce([np.atleast_2d(table).sum(axis=1, dtype=np.float64) for table in tables])
    return lowest > -MOST and highest < MOST and bool(np.abs(sums).max() < MOST)
