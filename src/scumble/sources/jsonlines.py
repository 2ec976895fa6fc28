"""JSON lines: one object a line.

pyarrow reads a block of lines at once if every column has the type that the kernel needs. A block that has not (a
number where text was expected, a word where a number was) is read line by line in Python: slower, never wrong.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.json as pajson

from scumble.errors import DataError
from scumble.sources.formats import Format, Read, Stream, empty, is_empty, standard_input
from scumble.sources.paths import File
from scumble.sources.roles import Roles
from scumble.sources.source import cut

BLOCK = 4 << 20
LOOK = 100
"""Lines looked at for the names of the columns: an object may leave out what it has not."""

_TYPES = {"number": pa.float64(), "category": pa.string(), "any": pa.string(), "tokens": pa.list_(pa.string())}


class JsonLines(Format):
    """One JSON object a line; fields that are not there are missing cells."""

    title = "JSON lines"

    def columns(self, file: File) -> tuple[str, ...]:
        if is_empty(file):
            raise empty(file)
        if file.path == "-":
            data = standard_input().head
        else:
            stream = Stream(file)
            try:
                data = stream.bytes.read(BLOCK)
            except OSError:
                raise self.damaged(file) from None
            finally:
                stream.close()
        lines = data.splitlines()
        complete = lines if len(lines) == 1 or data.endswith(b"\n") else lines[:-1]
        names: dict[str, None] = {}
        problem = empty(file)
        for number, line in reversed(list(enumerate(complete[:LOOK]))):
            if line.strip():
                try:
                    names = dict.fromkeys(self._object(line.removeprefix(b"\xef\xbb\xbf"), file, number)) | names
                except DataError as first:  # one bad line is a row's affair; if all are, the first one is told
                    problem = first
        if not names:
            raise problem
        return tuple(names)

    def _object(self, line: bytes, file: File, row: int) -> dict[str, Any]:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise DataError(
                f"{file.name}, line {row + 1:,}, is not a JSON object. "
                'Hint: JSON lines hold one object a line, such as {"age": 41}.'
            )
        return found

    def read(self, file: File, roles: Roles, *, skip: int, invalid: str) -> Iterator[Read]:
        self.ragged = 0
        stream = Stream(file)
        schema = pa.schema([(name, _TYPES[role]) for name, role in roles.items()])
        options = pajson.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
        try:
            for block, line in _blocks(stream, file, self):
                batches = self._parse(block, line, file, roles, options, invalid)
                rows = sum(batch.num_rows for batch in batches)
                for batch in cut(iter(batches), skip):
                    yield Read(batch, stream.share())
                skip = max(0, skip - rows)
        finally:
            stream.close()

    def _parse(
        self, block: bytes, line: int, file: File, roles: Roles, options: Any, invalid: str
    ) -> list[pa.RecordBatch]:
        try:
            block.decode()  # pyarrow takes any bytes for text, and would count what is refused line by line
            reading = pajson.ReadOptions(block_size=len(block) + 1)
            table = pajson.read_json(pa.BufferReader(block), read_options=reading, parse_options=options)
            if table.num_rows == block.count(b"\n"):  # blank lines and several objects a line go the slow way
                return table.select(list(roles)).to_batches()
        except (pa.ArrowInvalid, UnicodeDecodeError):
            pass
        objects = []
        for k, text in enumerate(block.split(b"\n")[:-1]):
            if text.strip():
                try:
                    objects.append(self._object(text, file, line + k))
                except DataError:
                    if invalid != "drop":
                        raise
                    self.ragged += 1
        columns = [_column([one.get(name) for one in objects], role) for name, role in roles.items()]
        return [pa.RecordBatch.from_arrays(columns, names=list(roles))] if columns else []

    def place(self, file: File, row: int) -> str:
        if file.path == "-":
            return f"{file.name}, row {row + 1:,}"
        stream = Stream(file)
        seen = -1
        try:
            for block, line in _blocks(stream, file, self):
                for k, text in enumerate(block.split(b"\n")[:-1]):
                    seen += bool(text.strip())
                    if seen == row:
                        return f"{file.name}, line {line + k + 1:,}"
        finally:
            stream.close()
        return f"{file.name}, row {row + 1:,}"


def _blocks(stream: Stream, file: File, format: Format) -> Iterator[tuple[bytes, int]]:
    """Whole lines, some MB at a time, each block ended by a line end; and how many lines came before."""
    rest, line, first = b"", 0, True
    while True:
        try:
            data = stream.bytes.read(BLOCK)
        except OSError:
            raise format.damaged(file) from None
        if first:
            data, first = data.removeprefix(b"\xef\xbb\xbf"), False
        if not data:
            if rest.strip():
                yield rest + b"\n", line
            return
        end = data.rfind(b"\n") + 1
        if end:
            block = rest + data[:end]
            yield block, line
            line += block.count(b"\n")
            rest = data[end:]
        else:
            rest += data
        if len(rest) > 16 * BLOCK:
            raise DataError(f"{file.name} has a line of more than 64 MiB. Hint: JSON lines hold one object a line.")


def _column(values: list[Any], role: str) -> pa.Array:
    """Cells of any JSON type, read as the role asks; what cannot be is missing."""
    if role == "number":
        return pa.array([_number(value) for value in values], pa.float64())
    if role == "tokens":
        return pa.array([_tokens(value) for value in values], pa.list_(pa.string()))
    return pa.array([_text(value) for value in values], pa.string())


def _number(value: Any) -> float | None:
    if isinstance(value, (bool, int, float)):
        try:
            return float(value)
        except OverflowError:
            return math.inf
    if isinstance(value, str) and _text(value) is not None:
        from scumble.sources.roles import numbers_from_text

        return numbers_from_text(pa.array([value])).to_pylist()[0]
    return None


def _text(value: Any) -> str | None:
    """The canonical text of a category, as the tables module writes it."""
    from scumble.tables.hashing import UnsupportedValue, canonical

    try:
        text = canonical(value)
    except UnsupportedValue:
        return json.dumps(value, sort_keys=True)
    try:
        return None if text is None else text.decode()
    except UnicodeDecodeError:  # half of a pair of escapes: no text
        return None


def _tokens(value: Any) -> list[str | None] | None:
    parts = value.split() if isinstance(value, str) else value
    if not isinstance(parts, list):
        return None
    tokens = [_text(part) for part in parts]
    unreadable = any(token is None and isinstance(part, str) for token, part in zip(tokens, parts, strict=True))
    return None if unreadable else tokens
