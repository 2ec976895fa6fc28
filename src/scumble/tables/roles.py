"""What each column is read as. Files say too little (CSV) or too much (types that differ by file); the kernel knows.

A column that a kernel reads as numbers is "number", one whose values are only compared is "category", one of sets
is "tokens". A column that is merely passed on is "any".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from scumble.errors import ParameterError
from scumble.tables import Table
from scumble.tables.containers import Parts

if TYPE_CHECKING:
    from scumble.kernels import Kernel

Roles = Mapping[str, str]

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


class _Probe(Table):
    """An empty table that notes how its columns are asked for, so kernels of any make can tell what they need."""

    __slots__ = ("asked",)

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(Parts([np.empty(0) for _ in names], 0, tuple(names)))
        self.asked: list[tuple[int, str]] = []

    def numeric(self, which: Sequence[int]) -> np.ndarray:
        self.asked += [(j, "number") for j in which]
        return np.empty((0, len(which)))

    def categories(self, which: Sequence[int]) -> np.ndarray:
        self.asked += [(j, "category") for j in which]
        return np.empty((0, len(which)))

    def tokens(self, which: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        # Several columns of a Jaccard kernel hold zeros and ones.
        self.asked += [(j, "tokens" if len(which) == 1 else "number") for j in which]
        return np.empty(0), np.zeros(1, np.int64), np.empty(0, bool)


def roles_of(kernel: Kernel, columns: Sequence[str]) -> dict[str, str]:
    """For each column, what the kernel reads it as.

    >>> from scumble.kernels import EuclideanKernel, HammingKernel
    >>> roles_of(EuclideanKernel(1.0, columns=["age"]) * HammingKernel(columns=["town"]), ["age", "town"])
    {'age': 'number', 'town': 'category'}
    """
    probe = _Probe(columns)
    for factor in kernel.factors:
        factor.read(probe, factor.which(len(columns), columns))
    roles: dict[str, str] = {}
    for j, role in probe.asked:
        if roles.setdefault(columns[j], role) != role:
            raise ParameterError(
                f"The kernel reads the column {columns[j]!r} both as {roles[columns[j]]} and as {role}. "
                "Hint: give each factor its own columns."
            )
    return {name: roles.get(name, "any") for name in columns}


def numbers_from_text(column: pa.Array) -> pa.Array:
    """Text cells as float64; what is no number becomes null, to be treated as the caller chose for bad cells.

    >>> numbers_from_text(pa.array(["1.5", " +2 ", "true", "two", None])).to_pylist()
    [1.5, 2.0, 1.0, None, None]
    """
    text = pc.utf8_lower(pc.utf8_trim_whitespace(column))
    text = pc.replace_substring_regex(text, r"^\+", "")
    text = pc.if_else(pc.equal(text, "true"), "1", pc.if_else(pc.equal(text, "false"), "0", text))
    readable = pc.match_substring_regex(text, _NUMBER)
    return pc.cast(pc.if_else(readable, text, pa.scalar(None, text.type)), pa.float64())


def converted(batch: pa.RecordBatch, roles: Roles) -> pa.RecordBatch:
    """The batch with text turned into numbers where numbers are needed."""
    columns = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        text = pt.is_string(column.type) or pt.is_large_string(column.type)
        columns.append(numbers_from_text(column) if text and roles.get(name) == "number" else column)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
