"""JSON lines: one object per line.

**No header.** Which keys the records have is a fact about the records: one stray key would publish its name. So the
columns of a private table are named by whoever asks for them, and a field that a record lacks is a missing cell.

**Two ways, one outcome.** pyarrow reads a block of lines at once if every cell has the type that the role needs. A
block with one of another type (a number where text was expected, a word where a number was) is read line by line in
Python: slower, and each record becomes the same. For that, pyarrow gets no line that the two could understand
differently (`_plain`); what it refuses goes to Python whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np

from scumble.errors import DataError
from scumble.machine.later import pa, pajson, pc
from scumble.sources.formats import Format, Read, Stream, empty, standard_input
from scumble.sources.paths import File
from scumble.sources.source import cut
from scumble.tables.cells import number_or_none
from scumble.tables.hashing import UNTOLD, text_of
from scumble.tables.roles import Roles, numbers_from_text, says_nothing

BLOCK = 4 << 20
DEEP = 200
"""Brackets in a line that Python's parser follows without fail."""

_TYPES = {
    "number": pa.float64(),
    "category": pa.string(),
    "word": pa.string(),
    "any": pa.string(),
    "tokens": pa.list_(pa.string()),
}
_ODD_LINE = re.compile(rb"^(?![ \t\r]*\{.*\}[ \t\r]*$)", re.MULTILINE)
"""A line that does not begin with a brace and end with one."""
_HALF = re.compile("[\ud800-\udfff]")
"""Half of a pair of surrogates: Arrow has no such text."""
_ODD_LITERAL = re.compile(rb"[:,\[\s-](?:NaN|Inf)")


class JsonLines(Format):
    """One JSON object a line; fields that are not there are missing cells."""

    title = "JSON lines"
    declares_columns = False

    def columns(self, file: File) -> tuple[str, ...]:
        return ()

    def keys(self, file: File) -> tuple[str, ...]:
        """The keys of all objects, in the order in which they come; of standard input, those that its head shows."""
        names: dict[str, None] = {}
        problem: DataError | None = None
        for block, line in self._looked_at(file):
            bad: list[int] = []
            names |= _keys(block, bad)
            if bad:  # one bad line is a row's affair; if all are, the first one is told
                problem = problem or _no_object(file, line + bad[0])
        if not names:
            raise problem or empty(file)
        return tuple(names)

    def _looked_at(self, file: File) -> Iterator[tuple[bytes, int]]:
        if file.path == "-":
            head = standard_input().head.removeprefix(b"\xef\xbb\xbf")
            end = head.rfind(b"\n") + 1
            yield (head[:end] if end else head + b"\n"), 0
            return
        stream = Stream(file)
        try:
            yield from _blocks(stream, file, self)
        finally:
            stream.close()

    def read(self, file: File, roles: Roles, *, skip: int, invalid: str) -> Iterator[Read]:
        self.ragged = 0
        stream = Stream(file)
        try:
            for block, line in _blocks(stream, file, self):
                if invalid == "mark" and file.path == "-":  # public rows, of which only the head was looked at for keys
                    self.late |= {name: None for name in _keys(block) if name not in roles}
                batches = _quickly(block, roles)
                if batches is None:
                    batches = self._slowly(block, line, file, roles, invalid)
                rows = sum(batch.num_rows for batch in batches)
                for batch in cut(iter(batches), skip):
                    yield Read(batch, stream.share())
                skip = max(0, skip - rows)
        finally:
            stream.close()

    def _slowly(self, block: bytes, line: int, file: File, roles: Roles, invalid: str) -> list[pa.RecordBatch]:
        objects = []
        for k, text in enumerate(block.split(b"\n")[:-1]):
            if not text.strip():
                continue
            found = _object(text)
            if found is not None:
                objects.append(found)
            elif invalid == "drop":
                self.ragged += 1
            else:
                raise _no_object(file, line + k)
        return [_batch(objects, roles)] if roles else []

    def place(self, file: File, row: int) -> str:
        if file.path == "-":
            return f"{file.name}, row {row + 1:,}"
        stream = Stream(file)
        seen = -1
        try:
            for block, line in _blocks(stream, file, self):
                for k, text in enumerate(block.split(b"\n")[:-1]):
                    seen += bool(text.strip()) and _object(text) is not None
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
            raise DataError(f"{file.name} has a line of more than 64 MiB. Hint: JSON lines hold one object per line.")


def _plain(block: bytes) -> bool:
    """Whether pyarrow and Python cannot but understand each line of a block in the same way, if pyarrow does.

    It is UTF-8. Each line begins with "{" and ends with "}", so no object goes over a line's end: after the last
    "}" of an unfinished object no "{" may follow. There is no NaN and no Inf, which the two spell differently, and
    nothing so deeply nested that Python gives up.
    """
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    if _ODD_LINE.search(block, 0, len(block) - 1) or _ODD_LITERAL.search(block):
        return False
    return all(line.count(b"[") + line.count(b"{") <= DEEP for line in block.split(b"\n"))


def _quickly(block: bytes, roles: Roles) -> list[pa.RecordBatch] | None:
    """The block by pyarrow; None if it has a line for Python."""
    if not _plain(block):
        return None
    schema = pa.schema([(name, _TYPES[role]) for name, role in roles.items()])
    options = pajson.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    reading = pajson.ReadOptions(block_size=len(block) + 1)
    try:
        table = pajson.read_json(pa.BufferReader(block), read_options=reading, parse_options=options)
    except pa.ArrowException:
        return None
    if table.num_rows != block.count(b"\n"):  # several objects in a line
        return None
    batches: list[Any] = table.select(list(roles)).to_batches()
    return batches


def _keys(block: bytes, bad: list[int] | None = None) -> dict[str, None]:
    """The keys of a block's objects, in the order in which they come; `bad` gets the lines that are none."""
    found = _quick_keys(block)
    if found is None:
        found = {}
        for number, text in enumerate(block.split(b"\n")[:-1]):
            one = _object(text) if text.strip() else {}
            if one is not None:
                found |= dict.fromkeys(one)
            elif bad is not None:
                bad.append(number)
    return found


def _quick_keys(block: bytes) -> dict[str, None] | None:
    """The keys of a block's objects by pyarrow; None if it has a line for Python."""
    if not _plain(block):
        return None
    try:
        reading = pajson.ReadOptions(block_size=len(block) + 1)
        return dict.fromkeys(pajson.read_json(pa.BufferReader(block), read_options=reading).column_names)
    except pa.ArrowException:
        return None


def _object(line: bytes) -> dict[str, Any] | None:
    """The object of a line; None if there is none."""
    try:
        found = json.loads(line.decode(), parse_int=_whole, parse_float=_fraction)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _no_object(file: File, row: int) -> DataError:
    return DataError(
        f"{file.name}, line {row + 1:,}, is not a JSON object. "
        'Hint: JSON lines hold one object per line, such as {"age": 41}; jq -c ".[]" writes an array so.'
    )


def _whole(digits: str) -> int | float:
    # Python reads no more than 4,300 digits as an integer; no float is that large either.
    return int(digits) if len(digits) <= 4000 else float(digits)


def _fraction(digits: str) -> Decimal | float:
    """All of its digits: two persons may differ in the last one."""
    try:
        return Decimal(digits)
    except ArithmeticError:  # an exponent of twenty digits
        return float(digits)


def parsed(lines: Iterable[bytes], roles: Roles) -> pa.RecordBatch:
    """Lines from elsewhere, read in the same way; one that is no object becomes a row without cells."""
    return _batch([_object(line) or {} for line in lines if line.strip()], roles)


def _batch(objects: list[dict[str, Any]], roles: Roles) -> pa.RecordBatch:
    columns = [_column([one.get(name) for one in objects], role) for name, role in roles.items()]
    return pa.RecordBatch.from_arrays(columns, names=list(roles))


def _column(values: list[Any], role: str) -> pa.Array:
    """Cells of any JSON type, each read as the role asks; what cannot be is missing."""
    if role == "number":
        return _numbers(values)
    if role == "tokens":
        sets = [_tokens(value) for value in values]
        lengths = np.array([0 if one is None else len(one) for one in sets], np.int64)
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
        flat = _text_array([token for one in sets if one is not None for token in one])
        return pa.ListArray.from_arrays(offsets, flat, mask=pa.array([one is None for one in sets], pa.bool_()))
    untold = UNTOLD if role in ("category", "word") else None
    return _text_array([_text(value, untold) for value in values])


def _text_array(texts: list[bytes | None]) -> pa.Array:
    """Text as its bytes: JSON can spell half of a pair of surrogates, which is no UTF-8."""
    options = pc.CastOptions(target_type=pa.string(), allow_invalid_utf8=True)
    return pc.cast(pa.array(texts, pa.binary()), options=options)


def _numbers(values: list[Any]) -> pa.Array:
    """Numbers and truth values; and text that spells them, as in a file of text."""
    spelt = [value if isinstance(value, str) and not _HALF.search(value) else None for value in values]
    from_text = numbers_from_text(pa.array(spelt, pa.string())).to_pylist()
    return pa.array(
        [number_or_none(value) if text is None else text for value, text in zip(values, from_text, strict=True)],
        pa.float64(),
    )


def _text(value: object, untold: bytes | None = None) -> bytes | None:
    """The canonical text of a cell, as the tables module writes it; of a list or an object, which have none, `untold`,
    or else its JSON."""
    if isinstance(value, (dict, list)):
        return untold or json.dumps(value, sort_keys=True, default=float).encode()
    return text_of(value)


def _tokens(value: object) -> list[bytes | None] | None:
    if isinstance(value, str):
        return None if says_nothing(value, "tokens") else [text_of(token) for token in value.split()]
    if isinstance(value, list):
        return [_text(token) for token in value]
    return None
