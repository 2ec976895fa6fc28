"""Bytes on disk: one container for releases, bundles, models, secrets and checkpoints.

A scumble file is a `safetensors <https://github.com/huggingface/safetensors>`_ file: a JSON header
and raw little-endian arrays. Any safetensors reader opens it; nothing in it can run. The code here
is our own because it is stricter than the format asks for::

    offset   bytes
    0        8      H, the length of the header, unsigned, little-endian
    8        H      header, ASCII JSON, filled up with spaces to a multiple of 8:
                      {"__metadata__":{"format":"scumble",
                                       "format_version":"2",
                                       "sha256":"<64 hexadecimal digits>",
                                       "kind":"release",
                                       "library":"0.1.0",
                                       "scumble":"<the metadata, JSON in a string>"},
                       "counts":{"dtype":"I32","shape":[1000,1024],"data_offsets":[0,4096000]},
                       ...}
                    (written without the line breaks; the first three values stand at fixed places)
    8 + H    rest   the arrays, row-major, one after the other: no gap, no overlap, nothing after.
                    Widest items first, then by name, so each array is aligned.

Whole numbers of 64 bits that all fit into 32, as noisy counters nearly always do, are stored in 32 and read as 64. That
is format version 2, and for public files only: what can be seen of a number's width is then a fact about published
numbers. All other files are of version 1, so that older readers read them.

``sha256`` is taken over the whole file with its own 64 digits replaced by zeros: no bit can change and
no byte can come or go unnoticed. That detects accidents. It is not a signature: whoever can write the
file can also write a new checksum.

A reader trusts no number in the header before it has compared it with the real size, checks the version
first (a newer format may do all the rest otherwise), then the checksum, and only then parses.
Equal content gives equal bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import stat
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from scumble._version import __version__
from scumble.errors import (
    CorruptFileError,
    FileError,
    ForeignFileError,
    MissingFileError,
    NewerFileError,
    SecretFileError,
    parameter,
)
from scumble.machine import places
from scumble.machine.mark import mark_of

FORMAT_VERSION = 2
WHOLE, HALF = np.dtype("<i8"), np.dtype("<i4")

# Each kind: what it is in words, and who reads it.
PUBLIC_KINDS = {
    "release": "a release",
    "bundle": "a bundle of releases",
    "model": "a fitted model",
    "table": "a table's release",
    "moments": "a release of moments",
}
SECRET_KINDS = {
    "secret": "a secret sketch",
    "checkpoint": "the checkpoint of a build",
    "share": "one custodian's share of a release",
    "stream": "the state of a stream",
}
KINDS = PUBLIC_KINDS | SECRET_KINDS
RELEASES = ("release", "bundle", "table", "moments")
"""What noise was drawn for."""
_READER = {
    "release": "scumble.load reads it",
    "bundle": "scumble.Bundle.load reads it",
    "table": "scumble.load reads it",
    "moments": "scumble.load reads it",
    "model": "scumble predict asks it, scumble info shows it (scumble.learn.load reads it)",
    "secret": "scumble.load_secret reads it; never share it",
    "checkpoint": "run the same build again to resume from it; never share it",
    "stream": "scumble.load_stream reads it; never share it",
    "share": "scumble.load_share reads it, to be added up with the others; never share it beyond",
}

_DTYPES = {"I64": "<i8", "U64": "<u8", "F64": "<f8", "I32": "<i4", "F32": "<f4", "U8": "|u1"}
_CODES = {np.dtype(dtype): code for code, dtype in _DTYPES.items()}
_MAGIC = b'{"__metadata__":{"format":"scumble","format_version":"'
_VERSION = re.compile(rb'([1-9][0-9]{0,8})"')
_DIGEST = re.compile(rb',"sha256":"([0-9a-f]{64})","kind":"')
_NAME = re.compile(r"[A-Za-z0-9_.\-]{1,128}")
_ZEROS = b"0" * 64
_MAX_HEADER = 1 << 24  # 16 MiB: room for a million short class names
_PLAIN_HEADER = 1 << 20  # 1 MiB and 32,768 values; more only with as much data: a small file is refused at small cost
_PLAIN_VALUES = 1 << 15
_MAX_DEPTH = 32
_MAX_NDIM = 8


@dataclass(frozen=True, repr=False)
class Container:
    """What a file holds: arrays by name (read-only), and JSON metadata.

    >>> data = to_bytes("release", {"epsilon": 1.0}, {"counts": np.arange(3)})
    >>> box = from_bytes(data, expect="release")
    >>> box.metadata, box.arrays["counts"].tolist()
    ({'epsilon': 1.0}, [0, 1, 2])
    """

    kind: str
    metadata: dict[str, Any]
    arrays: dict[str, np.ndarray]
    version: int
    library: str

    def __repr__(self) -> str:
        return f"Container({self.kind!r})"


# ---------------------------------------------------------------- to bytes


def to_bytes(kind: str, metadata: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """The content as one block of bytes; equal content gives equal bytes."""
    if kind not in KINDS:
        raise parameter("kind", f"one of {', '.join(KINDS)}", kind)
    blocks = {}
    for name, array in arrays.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name == "__metadata__":
            raise parameter("arrays", "named with letters, digits, '_', '.' and '-' (at most 128)", name)
        block = np.asarray(array)
        little = block.dtype.newbyteorder("<")
        if little not in _CODES or block.ndim > _MAX_NDIM:
            must = f"of dtype int64, uint64, int32, uint8, float64 or float32 with at most {_MAX_NDIM} axes"
            raise parameter(f"arrays[{name!r}]", must, f"{block.dtype} with {block.ndim}")
        blocks[name] = block.astype(little, copy=False)
    narrow = _narrowed(blocks) if kind in PUBLIC_KINDS else blocks
    version = 1 if narrow is blocks else FORMAT_VERSION
    blocks = narrow

    header: dict[str, Any] = {
        "__metadata__": {
            "format": "scumble",
            "format_version": str(version),
            "sha256": _ZEROS.decode(),
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
            "dtype": _CODES[block.dtype],
            "shape": list(block.shape),
            "data_offsets": [begin, end],
        }
        parts.append(block.tobytes())

    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    if len(text) > _MAX_HEADER:
        raise parameter("metadata", f"at most {_MAX_HEADER:,} bytes as JSON", f"{len(text):,} bytes")
    # A checkpoint names every file of its source, and its curator has made it: it may have a large header.
    if kind != "checkpoint" and _too_large(text, end):
        raise parameter("metadata", f"small beside the arrays ({end:,} bytes)", f"{len(text):,} bytes")
    parts = [len(text).to_bytes(8, "little"), text, *parts]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    # The first 64 zeros are the digest's own place: nothing of the caller's comes before it.
    parts[1] = text.replace(_ZEROS, digest.hexdigest().encode("ascii"), 1)
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


def _metadata_text(metadata: dict[str, Any]) -> str:
    """Strict JSON with sorted keys."""
    problem = _not_plain(metadata) if isinstance(metadata, dict) else f"a {type(metadata).__name__}"
    if problem:
        raise parameter("metadata", "a dict of plain JSON values (finite numbers, text keys)", problem)
    return json.dumps(metadata, sort_keys=True, allow_nan=False, separators=(",", ":"))


def _not_plain(value: object) -> str:
    """Says why a value cannot go through JSON unchanged, by type and never by content; '' if it can."""
    level: list[Any] = [value]
    for _ in range(_MAX_DEPTH + 1):  # one level of nesting after the other
        inner: list[Any] = []
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


_TEXT, _LISTS = (str, bool), (list, tuple)


def _too_large(header: bytes, data: int) -> bool:
    """Whether a header would cost far more to read than the file it belongs to."""
    values = header.count(b",") + header.count(b"[") + header.count(b"{")
    return len(header) > _PLAIN_HEADER + 2 * data or values > _PLAIN_VALUES + data // 4


# -------------------------------------------------------------- from bytes


def from_bytes(data: bytes, *, expect: str | tuple[str, ...], source: str = "the data") -> Container:
    """Reads what ``to_bytes`` wrote, or refuses. The arrays are read-only; most are views of ``data``."""
    data = bytes(data)  # a copy only of what is not bytes already: nobody may change it afterwards
    version, at, start = _preamble(data, len(data), source)
    if "checkpoint" not in expect and _too_large(data[8:start], len(data) - start):
        raise CorruptFileError(f"Cannot read {source}: its header is too large for what it holds.")

    digest = hashlib.sha256(data[:at])
    digest.update(_ZEROS)
    digest.update(memoryview(data)[at + 64 :])
    if digest.hexdigest().encode("ascii") != data[at : at + 64]:
        raise CorruptFileError(
            f"Cannot read {source}: its content does not match its checksum, so it was altered or damaged. "
            "Hint: copy it again from where it came from."
        )
    # From here on the bytes are as somebody wrote them; that somebody may still mean ill.
    try:
        header = _parse(data[8:start].decode("ascii"))
        about = header.pop("__metadata__")
        kind, library, text = (_text(about.pop(key)) for key in ("kind", "library", "scumble"))
        if set(about) != {"format", "format_version", "sha256"}:
            raise ValueError("unknown fields")
        metadata = _parse(text)
        if _not_plain(metadata):
            raise ValueError("metadata")
        arrays = _arrays(header, data, start, widen=version > 1)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        # `from None`: the inner message may quote the content.
        raise CorruptFileError(
            f"Cannot read {source}: its header breaks the rules of the format, so scumble did not write it. "
            "Hint: ask for the file again, from a source you trust."
        ) from None
    _check_kind(kind, expect, source)
    return Container(kind, metadata, arrays, version, library)


def _preamble(head: bytes, size: int, source: str) -> tuple[int, int, int]:
    """Version, place of the digest, start of the arrays; ``head`` is the beginning of ``size`` bytes."""
    truncated = f"Cannot read {source}: it is truncated ({size:,} bytes). Hint: copy it again."
    foreign = f"Cannot read {source}: it is not a scumble file."
    if size == 0:
        raise ForeignFileError(f"Cannot read {source}: it is empty. Hint: was the disk full when it was made?")
    magic = head[8 : 8 + len(_MAGIC)]
    if magic != _MAGIC:
        # A header of ours has at most 16 MiB, so its length ends in four zero bytes: that marks a stump of ours.
        if len(magic) < len(_MAGIC) and _MAGIC.startswith(magic) and not any(head[4:8]):
            raise CorruptFileError(truncated)
        if sum(a == b for a, b in zip(magic, _MAGIC, strict=False)) >= len(_MAGIC) - 4:
            raise CorruptFileError(f"Cannot read {source}: its first bytes are damaged. Hint: copy it again.")
        raise ForeignFileError(f"{foreign} Hint: scumble reads what it has written: .scumble and .secret files.")

    at = 8 + len(_MAGIC)
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
    if digest is None or length % 8 or not at <= length <= _MAX_HEADER:
        raise CorruptFileError(f"Cannot read {source}: its header is damaged. Hint: copy it again.")
    if 8 + length > size:
        raise CorruptFileError(truncated)
    return version, digest.start(1), 8 + length


def _parse(text: str) -> dict[str, Any]:
    """Strict JSON: an object, no NaN, no key twice."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
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


def _arrays(header: dict[str, Any], data: bytes, start: int, *, widen: bool) -> dict[str, np.ndarray]:
    """The arrays. Every number is checked before NumPy sees it."""
    arrays = {}
    position = 0
    room = len(data) - start
    if len(header) > 64 + room // 4:
        raise ValueError("more arrays than data")
    for name, entry in header.items():
        if not _NAME.fullmatch(name) or set(entry) != {"dtype", "shape", "data_offsets"}:
            raise ValueError("entry")
        dtype = np.dtype(_DTYPES[_text(entry["dtype"])])
        shape, offsets = entry["shape"], entry["data_offsets"]
        for numbers in (shape, offsets):
            if type(numbers) is not list or not all(type(n) is int and 0 <= n < 1 << 48 for n in numbers):
                raise ValueError("numbers")
        if len(shape) > _MAX_NDIM or math.prod(max(n, 1) for n in shape) >= 1 << 59:
            raise ValueError("shape")
        begin, end = offsets
        if begin != position or end - begin != math.prod(shape) * dtype.itemsize or end > room:
            raise ValueError("offsets")
        if begin % dtype.itemsize:
            raise ValueError("alignment")
        flat = np.frombuffer(data, dtype=dtype, count=math.prod(shape), offset=start + begin)
        if widen and dtype == HALF:
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
        raise ForeignFileError(
            f"Cannot read {source}: it holds a kind of content that this scumble ({__version__}) does not "
            "know. Hint: pip install --upgrade scumble."
        )
    if kind in SECRET_KINDS and not any(one in SECRET_KINDS for one in expected):
        raise SecretFileError(
            f"Cannot read {source}: it is {KINDS[kind]} and holds exact counters, not a public release. "
            f"Hint: {_READER[kind]}."
        )
    wanted = " or ".join(KINDS.get(one, one) for one in expected)
    raise ForeignFileError(f"Cannot read {source}: it holds {KINDS[kind]}, not {wanted}. Hint: {_READER[kind]}.")


# ----------------------------------------------------------------- on disk


BOUND = "bound_to"
"""The metadata of a bound file: which file it is."""


def write(
    path: str | os.PathLike[str],
    kind: str,
    metadata: dict[str, Any],
    arrays: Mapping[str, np.ndarray],
    *,
    secret: bool = False,
    bound: bool = False,
) -> None:
    """Writes a file whole or not at all.

    The bytes go to a draft in the same folder, to the disk, and only then take the name (see
    :mod:`scumble.machine.places`); a crash, a signal or a full disk leaves the old file as it was. Secret
    kinds (and ``secret=True``) are readable by their owner only, from the first byte on. A symbolic link at ``path`` is
    replaced by the file: what it points to is not touched, so nobody can lead a secret elsewhere.

    A ``bound`` file says which file it is (:mod:`scumble.machine.mark`). It may be moved within its file system; a copy
    is refused when it is read.
    """
    data = bytes_of(kind, metadata, arrays, bound=bound)
    places.write_whole(_path(path), data, secret=secret or kind in SECRET_KINDS)


def bytes_of(
    kind: str, metadata: dict[str, Any], arrays: Mapping[str, np.ndarray], *, bound: bool
) -> Callable[[str], bytes]:
    """The bytes of a file with such a mark; only a ``bound`` one cares."""
    return lambda mark: to_bytes(kind, {**metadata, BOUND: mark} if bound else metadata, arrays)


def read(path: str | os.PathLike[str], *, expect: str | tuple[str, ...]) -> Container:
    """Reads a file of the expected kind, or refuses with an error that says why."""
    target = _path(path)
    source = repr(target)
    try:
        # Without O_NONBLOCK a named pipe would keep us waiting for ever.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(target, flags | getattr(os, "O_BINARY", 0))
        try:
            about, mark = os.fstat(descriptor), mark_of(descriptor)
            if stat.S_ISDIR(about.st_mode):
                raise ForeignFileError(f"Cannot read {source}: it is a folder, not a file.")
            if not stat.S_ISREG(about.st_mode):
                raise ForeignFileError(f"Cannot read {source}: it is not a regular file.")
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                head = file.read(256)
                _preamble(head, about.st_size, source)  # a large foreign file is not read to its end
                file.seek(0)
                data = file.read()
        finally:
            os.close(descriptor)
    except FileError:
        raise
    except FileNotFoundError as error:
        missing = MissingFileError(f"Cannot read {source}: there is no such file.")
        missing.errno = error.errno
        raise missing from None
    except OSError as error:
        problem = FileError(f"Cannot read {source}: {(error.strerror or type(error).__name__).lower()}.")
        problem.errno = error.errno
        raise problem from error
    container = from_bytes(data, expect=expect, source=source)
    if BOUND in container.metadata and about.st_nlink > 1:
        raise SecretFileError(
            f"Cannot read {source}: it has a second name (a hard link), and its noise was drawn before its records: "
            "what is published under the two would differ by exact numbers. Hint: remove the other name."
        )
    if container.metadata.pop(BOUND, mark) != mark:
        raise SecretFileError(
            f"Cannot read {source}: it is a copy, and its noise was drawn before its records: what is published from "
            "the copy and from the original would differ by exact numbers. Hint: use the original, or begin anew."
        )
    if container.kind in SECRET_KINDS and os.name == "posix" and about.st_mode & 0o077:
        warnings.warn(
            f"{source} holds exact counters and others on this machine may read it. Hint: chmod 600 it.",
            UserWarning,
            stacklevel=3,
        )
    return container


def is_ours(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as scumble's do, be it damaged, secret or of a later version."""
    try:
        with open(path, "rb") as file:
            return file.read(8 + len(_MAGIC))[8:] == _MAGIC
    except OSError:
        return False


def _path(path: str | os.PathLike[str]) -> str:
    try:
        target = os.fsdecode(path)
    except TypeError:
        raise parameter("path", "a path", path) from None
    if not target or "\0" in target:
        raise parameter("path", "a path that is not empty and has no null character", target)
    return target
