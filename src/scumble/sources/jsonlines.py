"""JSON lines and Excel workbooks (.xlsx): cells with types of their own, read by the roles of their columns.

JSON lines have no header, and the keys of records are private, so the caller names the columns; an absent field is a
missing cell. pyarrow reads a block of lines if every cell has the type of its role. Other blocks are read line by line
in Python, with the same outcome: pyarrow gets only lines that both understand in the same way (`_plain`).

Of a workbook, one sheet is read, whose first row that is not blank holds the names; formulas have the values saved with
it.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from typing import Any

import numpy as np

from scumble.checks import Json
from scumble.columns.cells import as_text, number_or_none
from scumble.columns.containers import objects
from scumble.columns.hashing import UNTOLD, text_of
from scumble.columns.kinds import Roles, says_nothing
from scumble.columns.tokens import as_list
from scumble.errors import DataError, ParameterError, warn
from scumble.files.lazy_modules import pa, pajson
from scumble.sources.arrow import as_arrow
from scumble.sources.formats import Format, Read, Stream, empty, require_bytes, standard_input
from scumble.sources.paths import File, cannot_open
from scumble.sources.source import BATCH_ROWS, cut, did_you_mean

BLOCK = 4 << 20
DEEP = 200
"""Nested brackets that Python's parser can follow."""

_TYPES = {
    "number": pa.float64(),
    "category": pa.string(),
    "word": pa.string(),
    "any": pa.string(),
    "tokens": pa.list_(pa.string()),
    "list": pa.list_(pa.string()),
}
_ODD_LINE = re.compile(rb"^(?![ \t\r]*\{.*\}[ \t\r]*$)", re.MULTILINE)
"""A line that does not begin with a brace and end with one."""
_ODD_LITERAL = re.compile(rb"[:,\[\s-](?:NaN|Inf)")


class JsonLines(Format):
    """One JSON object per line; absent fields are missing cells."""

    title = "JSON lines"
    declares_columns = False
    _share: float | None = None

    def columns(self, file: File) -> tuple[str, ...]:
        return ()

    def keys(self, file: File) -> tuple[str, ...]:
        """The keys of all objects in order; for standard input, of those in its head."""
        names: dict[str, None] = {}
        bad: list[int] = []
        for block, line in self._looked_at(file):
            names |= _keys(block, line, bad)
        if not names:  # lines that are no objects are refused only if no other has keys
            raise _no_object(file, bad[0]) if bad else empty(file)
        return tuple(names)

    def _looked_at(self, file: File) -> Iterator[tuple[bytes, int]]:
        if file.path != "-":
            yield from self._blocks(file)
            return
        head = standard_input().head.removeprefix(b"\xef\xbb\xbf")
        end = head.rfind(b"\n") + 1
        yield (head[:end] if end else head + b"\n"), 0

    def read(self, file: File, roles: Roles, *, skip: int, invalid: str) -> Iterator[Read]:
        self.ragged = 0
        for block, line in self._blocks(file):
            if invalid == "mark" and file.path == "-":  # public rows: only the head was searched for keys
                self.oddities.late |= {name: None for name in _keys(block, line, []) if name not in roles}
            table = _quickly(block, roles)
            batches = self._slowly(block, line, file, roles, invalid) if table is None else table.to_batches()
            rows = sum(batch.num_rows for batch in batches)
            for batch in cut((batch.select(list(roles)) for batch in batches), skip):
                yield Read(batch, self._share)
            skip = max(0, skip - rows)

    def _slowly(self, block: bytes, line: int, file: File, roles: Roles, invalid: str) -> list[pa.RecordBatch]:
        found = list(_objects(block, line))
        bad = [number for number, one in found if one is None]
        if bad and invalid != "drop":
            raise _no_object(file, bad[0])
        self.ragged += len(bad)
        return [_batch([one for _, one in found if one is not None], roles)] if roles else []

    def place(self, file: File, row: int) -> str:
        if file.path != "-":
            objects = (number for part in self._blocks(file) for number, one in _objects(*part) if one is not None)
            for number in itertools.islice(objects, row, None):
                return f"{file.name}, line {number + 1:,}"
        return f"{file.name}, row {row + 1:,}"

    def _blocks(self, file: File) -> Iterator[tuple[bytes, int]]:
        """Blocks of whole lines, some MB each, with the number of lines before."""
        stream, rest, line = Stream(file), b"", 0
        try:
            data = stream.bytes.read(BLOCK).removeprefix(b"\xef\xbb\xbf")
            while data:
                self._share = stream.share()
                block, end, after = data.rpartition(b"\n")
                if end:
                    yield rest + block + end, line
                    line += rest.count(b"\n") + block.count(b"\n") + 1
                    rest = after
                else:
                    rest += data
                if len(rest) > 16 * BLOCK:
                    hint = "Hint: JSON lines hold one object per line."
                    raise DataError(f"{file.name} has a line of more than 64 MiB. {hint}")
                data = stream.bytes.read(BLOCK)
        except OSError:
            raise self.damaged(file) from None
        finally:
            stream.close()
        if rest.strip():
            yield rest + b"\n", line


def _plain(block: bytes) -> bool:
    """Whether pyarrow, if it accepts a block, reads each line as Python does.

    It is UTF-8, each line begins with "{" and ends with "}" (so no object spans lines), there is no NaN and no Inf,
    which the two spell differently, and nothing is nested too deeply for Python.
    """
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    if _ODD_LINE.search(block, 0, len(block) - 1) or _ODD_LITERAL.search(block):
        return False
    return all(line.count(b"[") + line.count(b"{") <= DEEP for line in block.split(b"\n"))


def _quickly(block: bytes, roles: Roles) -> pa.Table | None:
    """The block by pyarrow, with the columns of `roles`; None if Python must read it."""
    if not _plain(block):
        return None
    schema = pa.schema([(name, _TYPES[role]) for name, role in roles.items()])
    parsing = pajson.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        table = pajson.read_json(pa.BufferReader(block), pajson.ReadOptions(block_size=len(block) + 1), parsing)
    except pa.ArrowException:
        return None
    return table if table.num_rows == block.count(b"\n") else None  # else several objects are in a line


def _keys(block: bytes, line: int, bad: list[int]) -> dict[str, None]:
    """The keys of a block's objects, in order; `bad` gets the lines that are no objects."""
    found = list(_objects(block, line))
    bad += [number for number, one in found if one is None]
    return dict.fromkeys(key for _, one in found for key in one or ())


def _objects(block: bytes, line: int) -> Iterator[tuple[int, Json | None]]:
    """The objects of a block, by the numbers of their lines: None for what is none. Blank lines are left out."""
    for number, text in enumerate(block.split(b"\n")[:-1], line):
        if text.strip():
            yield number, _object(text)


def _object(line: bytes) -> Json | None:
    """The object of a line, or None."""
    try:
        found = json.loads(line.decode(), parse_int=_whole, parse_float=_fraction)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _no_object(file: File, row: int) -> DataError:
    return DataError(f'{file.name}, line {row + 1:,}, is not a JSON object. Hint: jq -c ".[]" writes one per line.')


def _whole(digits: str) -> int | float:
    # Python refuses integers of more than 4,300 digits.
    return int(digits) if len(digits) <= 4000 else float(digits)


def _fraction(digits: str) -> Decimal | str:
    """A number with all its digits: two persons may differ in the last one."""
    try:
        return Decimal(digits)
    except ArithmeticError:  # an exponent of twenty digits
        return digits


def parsed(lines: Iterable[bytes], roles: Roles) -> pa.RecordBatch:
    """Lines read in the same way; one that is no object becomes a row of missing cells."""
    return _batch([_object(line) or {} for line in lines if line.strip()], roles)


def _batch(objects: list[Json], roles: Roles) -> pa.RecordBatch:
    columns = [_column([one.get(name) for one in objects], role) for name, role in roles.items()]
    return pa.RecordBatch.from_arrays(columns, names=list(roles))


def _column(values: list[object], role: str) -> pa.Array:
    """Cells of any JSON type, read by role; unreadable ones are missing."""
    if role == "number":
        return pa.array(map(number_or_none, values), pa.float64())
    if role in ("tokens", "list"):
        sets = [_tokens(value, role) for value in values]
        lengths = np.array([len(one or ()) for one in sets], np.int64)
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
        flat = as_text(pa.array([token for one in sets for token in one or ()], pa.binary()), pa.string())
        return pa.ListArray.from_arrays(offsets, flat, mask=pa.array([one is None for one in sets], pa.bool_()))
    untold = UNTOLD if role in ("category", "word") else None
    return as_text(pa.array([_text(value, untold) for value in values], pa.binary()), pa.string())


def _text(value: object, untold: bytes | None = None) -> bytes | None:
    """The canonical text of a cell; for a list or an object, `untold` or its JSON."""
    if isinstance(value, (dict, list)):
        return untold or json.dumps(value, sort_keys=True, default=float).encode()
    return text_of(value)


def _tokens(value: object, role: str) -> list[bytes | None] | None:
    if role == "list" and not isinstance(value, list):
        return as_list(value)
    if isinstance(value, str):
        return None if says_nothing(value, "tokens") else [text_of(token) for token in value.split()]
    if isinstance(value, list):
        return [_text(token) for token in value]
    return None


class Excel(Format):
    """Workbooks, row by row: never whole in memory."""

    title = "an Excel workbook"
    names_stand_first = True
    _warned = False

    def columns(self, file: File) -> tuple[str, ...]:
        require_bytes(file)
        with _sheet(self, file) as (titles, rows):
            names = next(rows, ())
        if self.options.sheet is None and len(titles) > 1 and not self._warned:
            self._warned = True
            first, *others = titles
            hint = f"Hint: --table SHEET (table=) chooses another: {', '.join(others[:5])}."
            warn(f"{file.name} has {len(titles)} sheets, and the first is read: {first!r}. {hint}")
        if not names:
            raise empty(file)
        while names[-1] is None:
            names = names[:-1]
        if any(name is None for name in names):
            raise DataError(f"{file.name}: a column has no name. Hint: the first row of a sheet holds names.")
        return tuple(str(name) for name in names)

    def read(self, file: File, roles: Roles, *, skip: int, invalid: str) -> Iterator[Read]:
        header = self.columns(file)
        places = [header.index(name) for name in roles]
        with _sheet(self, file) as (_, rows):
            left = itertools.islice(rows, skip + 1, None)
            while some := list(itertools.islice(left, BATCH_ROWS)):
                columns = []
                for place, (name, role) in zip(places, roles.items(), strict=True):
                    cells = [row[place] if place < len(row) else None for row in some]
                    cells = [None if says_nothing(cell, role) else cell for cell in cells]
                    columns.append(as_arrow(objects(cells), role, name))
                yield Read(pa.RecordBatch.from_arrays(columns, names=list(roles)), None)

    def place(self, file: File, row: int) -> str:
        sheet = "the first sheet" if self.options.sheet is None else f"the sheet {self.options.sheet!r}"
        return f"{file.name}, record {row + 1:,} of {sheet}"


@contextmanager
def _sheet(format: Excel, file: File) -> Iterator[tuple[list[str], Iterator[tuple[object, ...]]]]:
    """The titles of a workbook's sheets, and the rows of the chosen one. Errors of openpyxl may quote cells."""
    if file.compression:
        raise DataError(f"{file.name} is packed twice. Hint: unpack it; a workbook is packed already.")
    try:
        import openpyxl
    except ImportError:
        raise ParameterError("Workbooks need openpyxl. Hint: pip install 'scumble[excel]'.") from None
    with ExitStack() as until_closed:
        try:
            data = until_closed.enter_context(open(file.path, "rb"))
        except OSError as error:
            raise cannot_open(file.path, error) from None
        try:
            book = openpyxl.load_workbook(data, read_only=True, data_only=True)
            until_closed.callback(book.close)
            sheets = {sheet.title: sheet for sheet in book.worksheets}
            first, asked = next(iter(sheets)), format.options.sheet
        except Exception:
            raise format.damaged(file) from None
        if asked is not None and asked not in sheets:
            raise DataError(f"There is no sheet {asked!r} in {file.name}.{did_you_mean(asked, list(sheets))}")
        yield list(sheets), _rows(format, file, sheets[asked or first])


def _rows(format: Excel, file: File, sheet: Any) -> Iterator[tuple[object, ...]]:
    """A sheet without its blank rows."""
    try:
        yield from (cells for cells in sheet.iter_rows(values_only=True) if any(cell is not None for cell in cells))
    except Exception:
        raise format.damaged(file) from None
