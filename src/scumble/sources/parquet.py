"""Parquet: row groups by columns, so only what is needed is read, and any row can be entered.

Arrow's threads unpack the columns of a row group side by side, and wait for each other at its end. Where there are
many cores, several row groups are read at the same time, so that few wait; they are handed over in their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from scumble.machine.cores import FEW_CORES, available_threads
from scumble.machine.later import pa, pq
from scumble.sources.formats import Format, Read, empty, is_empty
from scumble.sources.paths import File, cannot_open
from scumble.sources.readahead import in_order
from scumble.sources.source import BATCH_ROWS, changed, cut, row_bits
from scumble.tables.roles import Roles

AT_ONCE, MOST_BYTES = 4, 1 << 24
"""Batches that are read at a time, and the bytes of all of them: after each time threads wait for each other."""
GROUPS, MOST_AHEAD = 4, 1 << 27
"""More than a few cores have so many row groups under way, if all of them are not too many bytes."""


class Parquet(Format):
    """Parquet files. Whole row groups are skipped when a build resumes."""

    title = "Parquet"

    def columns(self, file: File) -> tuple[str, ...]:
        with self._open(file) as opened:
            return tuple(opened.schema_arrow.names)

    def types(self, file: File) -> dict[str, pa.DataType]:
        with self._open(file) as opened:
            return dict(zip(opened.schema_arrow.names, opened.schema_arrow.types, strict=True))

    def _open(self, file: File, known: pq.FileMetaData | None = None) -> pq.ParquetFile:
        try:
            if is_empty(file):
                raise empty(file)
            # Buffered reading keeps a row group of any size from being in memory at once.
            return pq.ParquetFile(file.path, metadata=known, buffer_size=1 << 20, pre_buffer=False)
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
            kinds = [opened.schema_arrow.field(name).type for name in names]
            try:
                batches = self._batches(file, opened, names, kinds, range(first, len(sizes)), max(sizes[first:]))
                for batch in cut(batches, skip, _at_once(kinds)):
                    done += batch.num_rows
                    yield Read(batch.select(names), done / total)
                if done != total:
                    raise self.damaged(file)
            except (pa.ArrowException, OSError):
                raise self.damaged(file) from None

    def _batches(
        self,
        file: File,
        opened: pq.ParquetFile,
        names: list[str],
        kinds: list[pa.DataType],
        groups: range,
        largest: int,
    ) -> Iterator[pa.RecordBatch]:
        """The rows of row groups, of which the largest has so many."""
        under_way = _under_way(kinds, largest, len(groups)) if available_threads() > FEW_CORES else 1
        if under_way < 2:
            rows = _at_once(kinds) * BATCH_ROWS
            yield from opened.iter_batches(rows, row_groups=groups, columns=names, use_threads=True)
            return
        with ExitStack() as until_done:
            free = [until_done.enter_context(self._open(file, opened.metadata)) for _ in range(under_way)]

            def read(group: int) -> pa.Table:
                mine = free.pop()  # there is one for each thread, and no two threads may share one
                table = mine.read_row_group(group, columns=names, use_threads=True)
                free.append(mine)
                return table

            for table in in_order(groups, read, under_way):
                yield from table.to_batches(_at_once(kinds) * BATCH_ROWS)

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
    bits = row_bits(kinds)
    return max(1, min(AT_ONCE, 8 * MOST_BYTES // (BATCH_ROWS * bits))) if bits else 1


def _under_way(kinds: list[pa.DataType], largest: int, groups: int) -> int:
    """How many row groups to read at the same time, the largest of which has so many rows."""
    bits = row_bits(kinds)
    return max(1, min(GROUPS, groups, 8 * MOST_AHEAD // max(1, bits * largest))) if bits else 1
