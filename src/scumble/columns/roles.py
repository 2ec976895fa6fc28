"""What each column of a source is read as: files say too little (CSV) or too much (types), the kernel or schema knows.

"number" is read as numbers, "category" is only compared, "tokens" are sets. "word" is text that a schema, a calendar or
a list of classes reads, and "any" is merely passed on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scumble.checks import by_column
from scumble.columns.cells import DRESS, DRESSED_NUMBER, NO_VALUE, chunks, is_text, plain_type, without_views
from scumble.errors import ParameterError
from scumble.files.lazy_modules import pa, pc, pt

if TYPE_CHECKING:
    from scumble.kernels import Kernel

Roles = Mapping[str, str]

NO_WORDS = {"category": NO_VALUE, "tokens": tuple(word for word in NO_VALUE if word)}
"""Words for a missing cell, by role. Empty text is an empty set of tokens."""
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def roles_of(kernel: Kernel, columns: Sequence[str]) -> dict[str, str]:
    """What the kernel reads each column as.

    >>> from scumble.kernels import EuclideanKernel, HammingKernel
    >>> roles_of(EuclideanKernel(1.0, columns=["age"]) * HammingKernel(columns=["town"]), ["age", "town"])
    {'age': 'number', 'town': 'category'}
    """
    roles: dict[str, str] = {}
    for factor in kernel.factors:
        which = factor.which(len(columns), columns)
        # Several columns of sets hold zeros and ones.
        role = "number" if factor.reads == "tokens" and len(which) > 1 else factor.reads
        for name in (columns[j] for j in which):
            if roles.setdefault(name, role) != role:
                raise ParameterError(
                    f"The kernel reads the column {name!r} both as {roles[name]} and as {role}. "
                    "Hint: give each factor its own columns."
                )
    return {name: roles.get(name, "any") for name in columns}


def in_order(bounds: Any, kernel: Kernel, columns: Sequence[str] | None) -> Any:
    """Bounds by name as a pair (low, high) in the order of columns, for all that the kernel reads as numbers."""
    if columns is None or not isinstance(bounds, Mapping):
        return by_column(bounds, columns)
    return by_column(bounds, columns, [name for name, role in roles_of(kernel, columns).items() if role == "number"])


def numbers_from_text(column: pa.Array) -> pa.Array:
    """Text cells as float64; what is no number becomes null.

    >>> numbers_from_text(pa.array(["1.5", " +2 ", "true", "$1,234.50", "12 %", "1,2", "two", None])).to_pylist()
    [1.5, 2.0, 1.0, 1234.5, 12.0, None, None, None]
    """
    text = pc.utf8_lower(pc.utf8_trim_whitespace(column))
    dressed = pc.match_substring_regex(text, DRESSED_NUMBER)
    text = pc.if_else(dressed, pc.replace_substring_regex(text, DRESS, ""), text)
    text = pc.replace_substring_regex(text, r"^\+([^+-])", r"\1")  # Arrow reads no plus sign
    text = pc.if_else(pc.equal(text, "true"), "1", pc.if_else(pc.equal(text, "false"), "0", text))
    readable = pc.match_substring_regex(text, _NUMBER)
    return pc.cast(pc.if_else(readable, text, pa.scalar(None, text.type)), pa.float64())


def converted(batch: pa.RecordBatch, roles: Roles) -> pa.RecordBatch:
    """The batch with text as numbers where needed: NaN if it is none, null if it is missing."""
    columns = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        text = pt.is_string(column.type) or pt.is_large_string(column.type)
        columns.append(_numbers(column) if text and roles.get(name) == "number" else column)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def without_words(batch: pa.RecordBatch, roles: Roles) -> pa.RecordBatch:
    """The batch of a file with words for a missing cell as nulls, in categories and sets.

    >>> batch = pa.record_batch({"town": ["Ulm", "NA", ""], "words": ["red NA", "NA", ""], "seen": ["NA", "", "2024"]})
    >>> without_words(batch, {"town": "category", "words": "tokens", "seen": "word"}).to_pydict()
    {'town': ['Ulm', None, None], 'words': ['red NA', None, ''], 'seen': ['NA', '', '2024']}
    """
    if NO_WORDS.keys().isdisjoint(roles.values()):
        return batch
    columns = [
        _without(column, NO_WORDS[roles[name]]) if roles.get(name) in NO_WORDS else column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def says_nothing(cell: object, role: str) -> bool:
    """Whether text stands for a missing cell in a column of this role.

    >>> [says_nothing(cell, "tokens") for cell in ("NA", "", "NA DE", ["NA"])], says_nothing("NA", "word")
    ([True, False, False, False], False)
    """
    return isinstance(cell, str) and cell in NO_WORDS.get(role, ())


def _numbers(column: pa.Array) -> pa.Array:
    found = numbers_from_text(column)
    if found.null_count == column.null_count:
        return found
    words = pa.array(NO_VALUE, column.type)
    empty = pc.is_in(pc.utf8_trim_whitespace(column), value_set=words, skip_nulls=False)
    gone = pc.or_(empty, pc.is_null(column))
    return pc.if_else(pc.and_(pc.is_null(found), pc.invert(gone)), pa.scalar(math.nan, pa.float64()), found)


def _without(column: pa.Array, words: Sequence[str]) -> pa.Array:
    """Text with cells that are one of the words as nulls."""
    column = without_views(*chunks(column))
    kind = plain_type(column)
    if not (is_text(kind) or pt.is_binary(kind) or pt.is_large_binary(kind)):
        return column
    gone = pc.is_in(column, value_set=pa.array(words, pa.string()).cast(kind))
    return pc.if_else(gone, pa.scalar(None, column.type), column) if pc.any(gone).as_py() else column
