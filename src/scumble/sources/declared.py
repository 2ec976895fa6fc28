"""A source some of whose columns its reader has declared: whole numbers, dates, times, booleans, all as numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from scumble.schema import kinds as kinds_of_columns
from scumble.schema.kinds import Kinds
from scumble.sources.source import Piece, Position, Source
from scumble.tables.roles import Roles


class Declared(Source):
    """Another source, with some columns read by their kind (:mod:`scumble.schema.kinds`), each cell for itself.

    Parameters
    ----------
    source : Source
        What is read.
    kinds : Kinds
        The kinds of those columns.
    """

    def __init__(self, source: Source, kinds: Kinds) -> None:
        self._source, self._kinds = source, kinds
        self.names, self.declared, self.live = source.names, source.declared, source.live

    @property
    def skipped(self) -> dict[int, int]:  # type: ignore[override]
        """Lines that are no rows at all, by file."""
        return self._source.skipped

    def __str__(self) -> str:
        return str(self._source)

    def pieces(self, roles: Roles, *, start: Position = (0, 0), invalid: str = "error") -> Iterator[Piece]:
        mine = {name: kind for name, kind in self._kinds.items() if name in roles}
        asked = {**roles, **{name: kinds_of_columns.ROLES[kind] for name, kind in mine.items()}}
        for piece in self._source.pieces(asked, start=start, invalid=invalid):
            yield piece._replace(batch=self._read(piece.batch, mine))

    def _read(self, batch: pa.RecordBatch, kinds: Kinds) -> pa.RecordBatch:
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        for name, kind in kinds.items():
            columns[name] = pa.array(kinds_of_columns.read(columns[name], kind, f"Column {name!r}"))
        return pa.RecordBatch.from_arrays(list(columns.values()), names=batch.schema.names)

    def require(self, wanted: Sequence[str]) -> None:
        self._source.require(wanted)

    def place(self, position: Position, rows: int, row: int) -> str:
        return self._source.place(position, rows, row)

    def fingerprint(self) -> dict[str, Any]:
        return self._source.fingerprint()

    def types(self, columns: Sequence[str]) -> dict[str, pa.DataType | None]:
        return {
            name: pa.float64() if name in self._kinds else kind for name, kind in self._source.types(columns).items()
        }

    def keys(self) -> tuple[str, ...]:
        return self._source.keys()

    def require_unchanged(self) -> None:
        self._source.require_unchanged()

    def wake(self) -> None:
        self._source.wake()

    def close(self) -> None:
        self._source.close()
