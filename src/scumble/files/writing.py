"""A file's content to bytes: equal content gives equal bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

import numpy as np

from scumble._version import __version__
from scumble.errors import parameter
from scumble.files.rules import (
    CODES,
    FORMAT_VERSION,
    HALF,
    KINDS,
    MAX_HEADER,
    MAX_NDIM,
    NAME,
    PUBLIC_KINDS,
    SHORT,
    WHOLE,
    ZEROS,
    Json,
    not_plain,
    too_large,
)


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
                "arrays", "without int32 beside uint16: their reader could not tell which ones to widen", kind
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
        header[name] = {
            "dtype": CODES[block.dtype],
            "shape": list(block.shape),
            "data_offsets": [begin, end],
        }
        parts.append(block.tobytes())

    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER:
        raise parameter("metadata", f"at most {MAX_HEADER:,} bytes as JSON", f"{len(text):,} bytes")
    # A checkpoint names every file of its source, and its curator has made it: it may have a large header.
    if kind != "checkpoint" and too_large(text, end):
        raise parameter("metadata", f"small beside the arrays ({end:,} bytes)", f"{len(text):,} bytes")
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
    fitting = [name for name, block in blocks.items() if block.dtype == WHOLE and block.size and _fits(block)]
    if not fitting or any(block.dtype == HALF for block in blocks.values()):
        return blocks
    return blocks | {name: blocks[name].astype(HALF) for name in fitting}


def _fits(block: np.ndarray) -> bool:
    limits = np.iinfo(HALF)
    return bool(limits.min <= block.min() and block.max() <= limits.max)


def _metadata_text(metadata: Json) -> str:
    """Strict JSON with sorted keys."""
    problem = not_plain(metadata) if isinstance(metadata, dict) else f"a {type(metadata).__name__}"
    if problem:
        raise parameter("metadata", "a dict of plain JSON values (finite numbers, text keys)", problem)
    return json.dumps(metadata, sort_keys=True, allow_nan=False, separators=(",", ":"))
