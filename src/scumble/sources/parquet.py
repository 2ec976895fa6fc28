"""Parquet: only the needed columns are read, from any row on.

Arrow's threads decode the columns of a row group in parallel and wait for each other at its end. With many cores,
several row groups are read at the same time, and handed over in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from types import MappingProxyType

from scumble.columns.roles import Roles
from scumble.files.compiling import FEW_CORES, available_threads
from scumble.files.lazy_modules import pa, pq
from scumble.sources.formats import Format, Read, empty, is_empty
from scumble.sources.onepass import in_order
from scumble.sources.paths import File, cannot_open
from scumble.sources.source import BATCH_ROWS, changed, cut, row_bits

AT_ONCE, MOST_BYTES = 4, 1 << 24
"""The most batches read at a time, and their most bytes."""
GROUPS, MOST_AHEAD = 4, 1 << 29
"""The most row groups read at the same time on many cores, and their most bytes."""


class Parquet(Format):
    """Parquet files. Whole row groups are skipped when a build resumes."""

    title = "Parquet"

    def columns(self, file: File) -> tuple[str, ...]:
        with self._open(file) as opened:
            return tuple(opened.schema_arrow.names)

    def types(self, file: File) -> dict[str, pa.DataType]:
        with self._open(file) as opened:
            return dict(zip(opened.schema_arrow.names, opened.schema_arrow.types, strict=True))

    def _open(
        self, file: File, known: pq.FileMetaData | None = None, words: Roles = MappingProxyType({})
    ) -> pq.ParquetFile:
        """Columns of `words` are read as dictionaries, so that each word is looked up once."""
        coded = [name for name, role in words.items() if role == "word"]
        try:
            if is_empty(file):
                raise empty(file)
            # Buffered, so that a row group need not fit into memory.
            return pq.ParquetFile(
                file.path, metadata=known, buffer_size=1 << 20, pre_buffer=False, read_dictionary=coded
            )
        except OSError as error:
            if error.errno is not None:
                raise cannot_open(file.path, error) from None
            raise self.damaged(file) from None
        except pa.ArrowException:
            raise self.damaged(file) from None

    def read(self, file: File, roles: Roles, *, skip: int, invalid: str) -> Iterator[Read]:
        with self._open(file, words=roles) as opened:
            sizes = self._sizes(opened)
            total, first = sum(sizes), 0
            done = skip
            while first < len(sizes) and skip >= sizes[first]:
                skip -= sizes[first]
                first += 1
            if first == len(sizes):
                return
            bits = _row_bits(opened, list(roles))
            try:
                batches = self._batches(file, opened, roles, bits, range(first, len(sizes)), max(sizes[first:]))
                for batch in cut(batches, skip, _at_once(bits)):
                    done += batch.num_rows
                    yield Read(batch.select(list(roles)), done / total)
                if done != total:
                    raise self.damaged(file)
            except (pa.ArrowException, OSError):
                raise self.damaged(file) from None

    def _batches(
        self,
        file: File,
        opened: pq.ParquetFile,
        roles: Roles,
        bits: int,
        groups: range,
        largest: int,
    ) -> Iterator[pa.RecordBatch]:
        """The rows of these row groups, of so many `bits` each; `largest` is the most rows of one."""
        under_way = _under_way(bits, largest, len(groups)) if available_threads() > FEW_CORES else 1
        rows = _at_once(bits) * BATCH_ROWS
        if under_way < 2:
            yield from opened.iter_batches(rows, row_groups=groups, columns=list(roles), use_threads=True)
            return
        with ExitStack() as until_done:
            free = [until_done.enter_context(self._open(file, opened.metadata, roles)) for _ in range(under_way)]

            def read(group: int) -> pa.Table:
                mine = free.pop()  # one per thread
                table = mine.read_row_group(group, columns=list(roles), use_threads=True)
                free.append(mine)
                return table

            for table in in_order(groups, read, under_way):
                yield from table.to_batches(rows)

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


def _row_bits(opened: pq.ParquetFile, names: list[str]) -> int:
    """About how many bits a row takes in memory, or 0 if unknown. Of dictionaries, the file's own size is known."""
    types = [opened.schema_arrow.field(name).type for name in names]
    coded = [name for name, kind in zip(names, types, strict=True) if pa.types.is_dictionary(kind)]
    bits = row_bits([kind for kind in types if not pa.types.is_dictionary(kind)])
    if not coded or (not bits and len(coded) < len(names)):
        return bits
    group = opened.metadata.row_group(0)
    stored = [group.column(k) for k in range(group.num_columns)]
    words: int = sum(one.total_uncompressed_size for one in stored if one.path_in_schema in coded)
    each: int = 8 * words // max(1, group.num_rows)
    return bits + 32 * len(coded) + each


def _at_once(bits: int) -> int:
    """How many batches to read at a time: more than one if the size of a row is known."""
    return max(1, min(AT_ONCE, 8 * MOST_BYTES // (BATCH_ROWS * bits))) if bits else 1


def _under_way(bits: int, largest: int, groups: int) -> int:
    """How many row groups to read at the same time, if the largest has `largest` rows."""
    return max(1, min(GROUPS, groups, 8 * MOST_AHEAD // max(1, bits * largest))) if bits else 1
