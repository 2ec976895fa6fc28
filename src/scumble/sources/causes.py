"""Why rows were left out: for the curator, who can mend it. As private as the rows themselves.

Each row has one cause, its first: a class or a person that is not known, else the first column, in order, whose cell
cannot be counted. The numbers go to the curator's terminal, and into nothing that is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from scumble.machine.later import pa
from scumble.schema import Schema
from scumble.schema.column import OUTSIDE, UNFORESEEN
from scumble.spec import Spec
from scumble.tables import Table
from scumble.tables.cells import says_nothing, there
from scumble.tables.roles import roles_of
from scumble.tabular.spec import TableSpec

NO_CELL = "with a missing cell in"
BAD_CELL = "with a cell unreadable or not finite in"
NO_WORD = "with a word that the schema does not have in"
BEYOND = "outside the bounds of"
NO_PERSON = "that do not say whose they are in"
RAGGED, ONE_RAGGED = "lines that are not rows", "line that is not a row"
ELSEWHERE = "before the build was resumed, or on another machine"

Found = dict[tuple[str, str], np.ndarray]
"""For each cause and column, which rows it leaves out."""


def bad_cells(batch: pa.RecordBatch, spec: Spec | TableSpec) -> Found:
    """For each cause and column, which rows it leaves out."""
    if isinstance(spec, TableSpec):
        return without_level(batch, spec.schema)
    table = Table.of(spec.declared(batch), columns=spec.columns, dimensions=spec.dimensions)
    assert spec.columns is not None
    found: dict[str, np.ndarray] = {}
    for factor in spec.kernel.factors:
        which = factor.which(table.width, spec.columns)
        _, bad = factor.read(table, which)
        found |= {spec.columns[j]: mask for j, mask in zip(which[: bad.shape[1]], bad.T, strict=True)}
    return {key: mask for name in spec.columns for key, mask in without_value(batch, name, found.get(name)).items()}


def kinds_of(spec: Spec) -> dict[str, str]:
    """What columns hold that are no plain numbers: what was declared, "category" or "tokens"."""
    assert spec.columns is not None
    read = roles_of(spec.kernel, spec.columns)
    return {name: role for name, role in read.items() if role in ("category", "tokens")} | dict(spec.kinds)


def too_large(batch: pa.RecordBatch, spec: Spec, bad: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Of the columns with bad cells, those that have numbers among them, and the most that is counted of each."""
    table = Table.of(spec.declared(batch), columns=spec.columns, dimensions=spec.dimensions)
    found = {}
    for factor in spec.kernel.factors:
        which = factor.which(table.width, spec.columns) if factor.reads == "number" else []
        for j, limit in zip(which, factor._limits(spec.columns, which) if which else (), strict=True):
            name = (spec.columns or ())[j]
            if name in bad and np.isfinite(table.numeric([j])[bad[name], 0]).any():
                found[name] = float(limit)
    return found


def without_value(
    batch: pa.RecordBatch, name: str, bad: np.ndarray | None, nothing: Callable[[bytes], bool] = says_nothing
) -> Found:
    """Of the bad cells of a column, which rows have no cell, and which one that says nothing."""
    if bad is None or not bad.any():
        return {}
    rows = np.flatnonzero(bad)
    unread = np.zeros(len(bad), bool)
    unread[rows[there(batch[name], rows, nothing)]] = True
    return {(cause, name): mask for cause, mask in ((NO_CELL, bad & ~unread), (BAD_CELL, unread)) if mask.any()}


def without_level(batch: pa.RecordBatch, schema: Schema) -> Found:
    """Which rows have cells that the columns of a schema have no level for."""
    table = Table.of(batch, columns=list(schema), dimensions=len(schema))
    found: Found = {}
    for j, (name, column) in enumerate(schema.items()):
        codes = column.encode(table.column(j), f"Column {name!r}").codes
        beyond, no_word = codes == OUTSIDE, codes == UNFORESEEN
        found |= {(cause, name): mask for cause, mask in ((BEYOND, beyond), (NO_WORD, no_word)) if mask.any()}
        found |= without_value(batch, name, (codes < 0) & ~beyond & ~no_word, column.says_nothing)
    return found


def declared_otherwise(found: Iterable[tuple[str, str]]) -> str:
    """What a schema can say of columns, so that cells of these causes count.

    >>> declared_otherwise([(NO_CELL, "age"), (NO_WORD, "town")])
    "declare 'age' with missing = true (missing=True), 'town' with other = true (other=True)"
    """
    settings = ((name, "other" if cause == NO_WORD else "missing") for cause, name in found)
    told = [f"{name!r} with {setting} = true ({setting}=True)" for name, setting in dict.fromkeys(settings)]
    return f"declare {', '.join(told[:10])}"


class Causes:
    """How many rows were left out, and why."""

    def __init__(self) -> None:
        self._rows: Counter[tuple[str, str]] = Counter()

    def add(self, cause: str, column: str, rows: int) -> None:
        """So many more."""
        if rows:
            self._rows[cause, column] += rows

    def look_at(self, batch: pa.RecordBatch, spec: Any) -> None:
        """The rows of a batch some of which were left out for their cells."""
        self.take(bad_cells(batch, spec), batch.num_rows)

    def take(self, found: Found, rows: int) -> np.ndarray:
        """So many rows, of which some were left out: each counts once, for its first cause. Which they are."""
        told = np.zeros(rows, bool)
        for (cause, column), mask in found.items():
            self.add(cause, column, int(np.count_nonzero(mask & ~told)))
            told |= mask
        return told

    @property
    def total(self) -> int:
        """How many rows were left out."""
        return self._rows.total()

    def rows(self, cause: str) -> int:
        """How many a cause has left out, in all columns."""
        return sum(rows for (one, _), rows in self._rows.items() if one == cause)

    def columns(self, least: int = 1) -> list[str]:
        """The columns whose cells could not be read in at `least` so many rows, the most frequent first."""
        return [column for (cause, column), rows in self._rows.most_common() if cause == BAD_CELL and rows >= least]

    def words(self, dropped: int, skipped: int) -> Iterator[str]:
        """Each cause with its number; `dropped` rows in all, and so many lines `skipped`."""
        for (cause, column), rows in self._rows.most_common():
            yield f"{rows:,} {cause} {column!r}"
        if dropped > self.total:
            yield f"{dropped - self.total:,} {ELSEWHERE}"
        if skipped:
            yield f"{skipped:,} {ONE_RAGGED if skipped == 1 else RAGGED}"
