"""Arrow's own format: IPC files and streams, Feather."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scumble.errors import DataError
from scumble.machine.later import ipc, pa
from scumble.sources.formats import Format, Read, Stream, empty, is_empty, standard_input
from scumble.sources.paths import File, cannot_open
from scumble.sources.source import cut
from scumble.tables.roles import Roles


class Arrow(Format):
    """IPC files (Feather 2 is one), read batch by batch, and IPC streams.

    Files are not mapped into memory: one that is cut short while it is mapped ends the process (SIGBUS), with exact
    counters in its core.
    """

    title = "Arrow IPC"

    def columns(self, file: File) -> tuple[str, ...]:
        if is_empty(file):
            raise empty(file)
        if file.path == "-":
            try:
                return tuple(ipc.open_stream(pa.BufferReader(standard_input().head)).schema.names)
            except (pa.ArrowException, OSError):
                raise self.damaged(file) from None
        reader, close = self._open(file)
        names = tuple(reader.schema.names)
        close()
        return names

    def types(self, file: File) -> dict[str, pa.DataType]:
        if file.path == "-":
            return {}
        reader, close = self._open(file)
        found = dict(zip(reader.schema.names, reader.schema.types, strict=True))
        close()
        return found

    def _open(self, file: File, wanted: list[str] | None = None) -> tuple[Any, Any]:
        """A reader of the whole file (of the columns `wanted`) or of a stream, and what closes it."""
        if file.path != "-" and not file.compression:
            try:
                with open(file.path, "rb") as probe:
                    head = probe.read(6)
            except OSError as error:
                raise cannot_open(file.path, error) from None
            if head == b"ARROW1":
                opened = pa.OSFile(file.path, "rb")
                try:
                    reader = ipc.open_file(opened)
                    if wanted is not None:  # the bytes of other columns stay on the disk
                        fields = [reader.schema.names.index(name) for name in wanted]
                        reader = ipc.open_file(opened, options=ipc.IpcReadOptions(included_fields=fields))
                    return reader, opened.close
                except (pa.ArrowException, OSError, ValueError):
                    opened.close()
                    raise self.damaged(file) from None
            if head[:4] == b"FEA1":
                raise DataError(f"{file.name} is of the old Feather format 1. Hint: write it again as Feather 2.")
        stream = Stream(file)
        try:
            return ipc.open_stream(stream.bytes), stream.close
        except (pa.ArrowException, OSError):
            stream.close()
            raise self.damaged(file) from None

    def read(self, file: File, roles: Roles, *, skip: int, invalid: str) -> Iterator[Read]:
        names = list(roles)
        reader, close = self._open(file, names)
        try:
            if isinstance(reader, ipc.RecordBatchFileReader):
                count = reader.num_record_batches
                for k in range(count):
                    batch = reader.get_batch(k)
                    for part in cut(iter([batch]), skip):
                        yield Read(part.select(names), (k + 1) / count)
                    skip = max(0, skip - batch.num_rows)
            else:
                for part in cut(iter(reader), skip):
                    yield Read(part.select(names), None)
        except (pa.ArrowException, OSError):
            raise self.damaged(file) from None
        finally:
            close()
