"""The file format: what a file may hold, bytes to content and back.

Bytes may be hostile: no number is believed before it is compared with the real size.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from scumble._version import __version__
from scumble.checks import Json
from scumble.errors import CorruptFileError, ForeignFileError, NewerFileError, SecretFileError, parameter

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
    "share": "scumble.load_share reads it, to be added up with the others; share it with nobody else",
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


# ---- bytes to content ----

_VERSION = re.compile(rb'([1-9][0-9]{0,8})"')
_DIGEST = re.compile(rb',"sha256":"([0-9a-f]{64})","kind":"')


def from_bytes(data: bytes, *, expect: str | tuple[str, ...], source: str = "the data") -> Container:
    """Reads what ``to_bytes`` wrote, or refuses. The arrays are read-only; most are views of ``data``."""
    data = bytes(data)  # a copy only of what is not bytes already: nobody may change it afterwards
    version, at, start = preamble(data, len(data), source)
    if "checkpoint" not in expect and too_large(data[8:start], len(data) - start):
        raise CorruptFileError(f"Cannot read {source}: its header is too large for what it holds.")

    digest = hashlib.sha256(data[:at])
    digest.update(ZEROS)
    digest.update(memoryview(data)[at + 64 :])
    if digest.hexdigest().encode("ascii") != data[at : at + 64]:
        raise CorruptFileError(
            f"Cannot read {source}: it is damaged: its checksum does not match. Hint: copy it again."
        )
    # From here on the bytes are as somebody wrote them; that somebody may still mean ill.
    try:
        header = _parse(data[8:start].decode("ascii"))
        about = header.pop("__metadata__")
        kind, library, text = (_text(about.pop(key)) for key in ("kind", "library", "scumble"))
        if set(about) != {"format", "format_version", "sha256"}:
            raise ValueError("unknown fields")
        metadata = _parse(text)
        if not_plain(metadata):
            raise ValueError("metadata")
        arrays = _arrays(header, data, start, version)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        # `from None`: the inner message may quote the content.
        raise CorruptFileError(f"Cannot read {source}: its header breaks the format. Hint: copy it again.") from None
    _check_kind(kind, expect, source)
    return Container(kind, metadata, arrays, version, library)


def preamble(head: bytes, size: int, source: str) -> tuple[int, int, int]:
    """Version, place of the digest, start of the arrays; ``head`` is the beginning of ``size`` bytes."""
    truncated = f"Cannot read {source}: it is truncated ({size:,} bytes). Hint: copy it again."
    foreign = f"Cannot read {source}: it is not a scumble file."
    if size == 0:
        raise ForeignFileError(f"Cannot read {source}: it is empty. Hint: was the disk full when it was made?")
    magic = head[8 : 8 + len(MAGIC)]
    if magic != MAGIC:
        # A header of ours has at most 16 MiB, so its length ends in four zero bytes: that marks a stump of ours.
        if len(magic) < len(MAGIC) and MAGIC.startswith(magic) and not any(head[4:8]):
            raise CorruptFileError(truncated)
        if sum(a == b for a, b in zip(magic, MAGIC, strict=False)) >= len(MAGIC) - 4:
            raise CorruptFileError(f"Cannot read {source}: its first bytes are damaged. Hint: copy it again.")
        raise ForeignFileError(
            f"{foreign} Hint: releases and models are .scumble files; scumble build (scumble.build) makes one."
        )

    at = 8 + len(MAGIC)
    found = _VERSION.match(head, at)
    if found is None:
        raise CorruptFileError(f"Cannot read {source}: its format version is unreadable, so it is damaged.")
    version = int(found[1])
    if version > FORMAT_VERSION:
        raise NewerFileError(
            f"Cannot read {source}: it has format version {version} and this scumble ({__version__}) knows "
            f"versions up to {FORMAT_VERSION}. Hint: pip install --upgrade scumble."
        )
    digest = _DIGEST.match(head, found.end())
    length = int.from_bytes(head[:8], "little")
    if digest is None or length % 8 or not at <= length <= MAX_HEADER:
        raise CorruptFileError(f"Cannot read {source}: its header is damaged. Hint: copy it again.")
    if 8 + length > size:
        raise CorruptFileError(truncated)
    return version, digest.start(1), 8 + length


def _parse(text: str) -> Json:
    """Strict JSON: an object, no NaN, no key twice."""

    def unique(pairs: list[tuple[str, object]]) -> Json:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a key stands twice")
        return found

    def refuse(_: str) -> NoReturn:
        raise ValueError("NaN and infinity are not JSON")

    parsed = json.loads(text, object_pairs_hook=unique, parse_constant=refuse)
    if not isinstance(parsed, dict):
        raise ValueError("not an object")
    return parsed


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("not text")
    return value


def _arrays(header: Json, data: bytes, start: int, version: int) -> dict[str, np.ndarray]:
    """The arrays. Every number is checked before NumPy sees it."""
    arrays = {}
    position = 0
    room = len(data) - start
    if len(header) > 64 + room // 4:
        raise ValueError("more arrays than data")
    for name, entry in header.items():
        if not NAME.fullmatch(name) or set(entry) != {"dtype", "shape", "data_offsets"}:
            raise ValueError("entry")
        dtype = np.dtype(DTYPES[_text(entry["dtype"])])
        shape, offsets = entry["shape"], entry["data_offsets"]
        if dtype == SHORT and version < FORMAT_VERSION:
            raise ValueError("a type of a later version")
        for numbers in (shape, offsets):
            if type(numbers) is not list or not all(type(n) is int and 0 <= n < 1 << 48 for n in numbers):
                raise ValueError("numbers")
        if len(shape) > MAX_NDIM or math.prod(max(n, 1) for n in shape) >= 1 << 59:
            raise ValueError("shape")
        begin, end = offsets
        if begin != position or end - begin != math.prod(shape) * dtype.itemsize or end > room:
            raise ValueError("offsets")
        if begin % dtype.itemsize:
            raise ValueError("alignment")
        flat = np.frombuffer(data, dtype=dtype, count=math.prod(shape), offset=start + begin)
        if version > 1 and dtype == HALF:
            flat = flat.astype(WHOLE)
            flat.flags.writeable = False
        arrays[name] = flat.reshape(shape)
        position = end
    if position != room:
        raise ValueError("bytes after the last array")
    return arrays


def _check_kind(kind: str, expect: str | tuple[str, ...], source: str) -> None:
    """Refuses a file that is sound but not what was asked for."""
    expected = (expect,) if isinstance(expect, str) else tuple(expect)
    if kind in expected:
        return
    if kind not in KINDS:
        raise ForeignFileError(f"Cannot read {source}: its content is unknown here. Hint: install a newer scumble.")
    if kind in SECRET_KINDS and not any(one in SECRET_KINDS for one in expected):
        raise SecretFileError(
            f"Cannot read {source}: it is {KINDS[kind]} and holds exact counters. Hint: {READER[kind]}."
        )
    if "release" in expected:  # its other kinds need no names
        expected = tuple(one for one in expected if one == "release" or one not in RELEASES)
    wanted = " or ".join(KINDS.get(one, one) for one in expected)
    raise ForeignFileError(f"Cannot read {source}: it holds {KINDS[kind]}, not {wanted}. Hint: {READER[kind]}.")


# ---- content to bytes ----


def to_bytes(kind: str, metadata: Json, arrays: Mapping[str, np.ndarray]) -> bytes:
    """The content as one block of bytes; equal content gives equal bytes."""
    if kind not in KINDS:
        raise parameter("kind", f"one of {', '.join(KINDS)}", kind)
    blocks = {}
    for name, array in arrays.items():
        if not isinstance(name, str) or not NAME.fullmatch(name) or name == "__metadata__":
            raise parameter("arrays", "named with letters, digits, '_', '.' and '-' (at most 128)", name)
        block = np.asarray(array)
        little = block.dtype.newbyteorder("<")
        if little not in CODES or block.ndim > MAX_NDIM:
            must = f"of dtype int64, uint64, int32, uint16, uint8, float64 or float32 with at most {MAX_NDIM} axes"
            raise parameter(f"arrays[{name!r}]", must, f"{block.dtype} with {block.ndim}")
        blocks[name] = block.astype(little, copy=False)
    narrow = _narrowed(blocks) if kind in PUBLIC_KINDS else blocks
    version = 1 if narrow is blocks else 2
    if any(block.dtype == SHORT for block in blocks.values()):
        if any(block.dtype == HALF for block in blocks.values()):
            raise parameter(
                "arrays", "without int32 next to uint16: their reader could not tell which ones to widen", kind
            )
        version = FORMAT_VERSION
    blocks = narrow

    header: Json = {
        "__metadata__": {
            "format": "scumble",
            "format_version": str(version),
            "sha256": ZEROS.decode(),
            "kind": kind,
            "library": __version__,
            "scumble": _metadata_text(metadata),
        }
    }
    end = 0
    parts = []
    for name in sorted(blocks, key=lambda name: (-blocks[name].itemsize, name)):
        block = blocks[name]
        begin, end = end, end + block.nbytes
        header[name] = {"dtype": CODES[block.dtype], "shape": list(block.shape), "data_offsets": [begin, end]}
        parts.append(block.tobytes())

    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER:
        raise parameter("metadata", f"at most {MAX_HEADER:,} bytes as JSON", f"{len(text):,} bytes")
    # A checkpoint names every file of its source, and its curator has made it: it may have a large header.
    if kind != "checkpoint" and too_large(text, end):
        raise parameter("metadata", f"small compared with the arrays ({end:,} bytes)", f"{len(text):,} bytes")
    parts = [len(text).to_bytes(8, "little"), text, *parts]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    # The first 64 zeros are the digest's own place: nothing of the caller's comes before it.
    parts[1] = text.replace(ZEROS, digest.hexdigest().encode("ascii"), 1)
    return b"".join(parts)


def _narrowed(blocks: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same numbers, those of 64 bits in 32 where they fit; the very same arrays if there are none.

    Where some have 32 bits already nothing is narrowed: a reader could not tell which ones to widen.
    """
    least, most = np.iinfo(HALF).min, np.iinfo(HALF).max
    whole = {name: block for name, block in blocks.items() if block.dtype == WHOLE and block.size}
    fitting = [name for name, block in whole.items() if least <= block.min() and block.max() <= most]
    if not fitting or any(block.dtype == HALF for block in blocks.values()):
        return blocks
    return blocks | {name: blocks[name].astype(HALF) for name in fitting}


def _metadata_text(metadata: Json) -> str:
    """Strict JSON with sorted keys."""
    problem = not_plain(metadata) if isinstance(metadata, dict) else f"a {type(metadata).__name__}"
    if problem:
        raise parameter("metadata", "a dict of plain JSON values (finite numbers, text keys)", problem)
    return json.dumps(metadata, sort_keys=True, allow_nan=False, separators=(",", ":"))
