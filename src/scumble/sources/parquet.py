"""Parquet: row groups by columns, so only what is needed is read, and any row can be entered."""

from __future__ import annotations

from collections.abc import Iterator

from scumble.machine.later import pa, pq
from scumble.sources.formats import Format, Read, empty, is_empty
from scumble.sources.paths import File, cannot_open
from scumble.sources.source import BATCH_ROWS, changed, cut
from scumble.tables.roles import Roles

AT_ONCE, MOST_BYTES = 4, 1 << 24
"""Batches that are read at a time, and the bytes of all of them: after each time threads wait for each other."""


class Parquet(Format):
    """Parquet files. Whole row groups are skipped when a build resumes."""

    title = "Parquet"

    def columns(self, file: File) -> tuple[str, ...]:
        with self._open(file) as opened:
            return tuple(opened.schema_arrow.names)

    def types(self, file: File) -> dict[str, pa.DataType]:
        with self._open(file) as opened:
            return dict(zip(opened.schema_arrow.names, opened.schema_arrow.types, strict=True))

    def _open(self, file: File) -> pq.ParquetFile:
        try:
            if is_empty(file):
                raise empty(file)
            # Buffered reading keeps a row group of any size from being in memory at once.
            return pq.ParquetFile(file.path, buffer_size=1 << 20, pre_buffer=False)
        except OSError as error:
            if error.errno is not None:
                raise cannot_open(file.path, error) from None
            raise self.damaged(file) from None
        except pa.ArrowException:
            raise self.damaged(file) from None

    def read(self, file: File, roles: Roles, *, skip: int, invalid: str) -> Iterator[Read]:
        with self._open(file) as opened:
            sizes = self._sizes(opened)
            total, first = sum(sizes), 0
            done = skip
            while first < len(sizes) and skip >= sizes[first]:
                skip -= sizes[first]
                first += 1
            if first == len(sizes):
                return
            names = list(roles)
            groups = list(range(first, len(sizes)))
            rows = BATCH_ROWS * _at_once([opened.schema_arrow.field(name).type for name in names])
            try:
                batches = opened.iter_batches(rows, row_groups=groups, columns=names, use_threads=True)
                for batch in cut(batches, skip):
                    done += batch.num_rows
                    yield Read(batch.select(names), done / total)
                if done != total:
                    raise self.damaged(file)
            except (pa.ArrowException, OSError):
                raise self.damaged(file) from None

    def place(self, file: File, row: int) -> str:
        first = 0
        with self._open(file) as opened:
            for group, size in enumerate(self._sizes(opened)):
                if row < first + size:
                    return f"{file.name}, row group {group} (counted from 0), row {row + 1:,} of the file"
                first += size
        raise changed(file.name)

    @staticmethod
    def _sizes(opened: pq.ParquetFile) -> list[int]:
        return [opened.metadata.row_group(k).num_rows for k in range(opened.num_row_groups)]


def _at_once(kinds: list[pa.DataType]) -> int:
    """How many batches of columns of these types to read at a time: more than one if it is known what they take."""
    if not all(map(pa.types.is_primitive, kinds)):
        return 1
    bits = sum(int(kind.bit_width) for kind in kinds)
    return max(1, min(AT_ONCE, 8 * MOST_BYTES // (BATCH_ROWS * bits)))
