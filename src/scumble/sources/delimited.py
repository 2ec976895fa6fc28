"""CSV and its kin: text, plain or packed.

pyarrow reads the columns straight as numbers, which is quick. A cell that is no number stops it, and so does a bad byte
or a line with too many cells; then the file is read on with care from that row: as text, and each cell that is no
number, or no text, becomes a missing one, to be counted and treated as the caller chose. So a clean file costs nothing,
and a late word in a column of numbers is a clear outcome.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator

from scumble.columns.cells import NO_VALUE
from scumble.columns.kinds import Roles, converted
from scumble.errors import DataError, ParameterError
from scumble.files.lazy_modules import pa, pacsv, pc
from scumble.sources import formats
from scumble.sources.formats import Format, Read, Readable, Stream
from scumble.sources.paths import File
from scumble.sources.source import Oddities, changed, cut

BLOCK = formats.HEAD
"""Bytes per block; pyarrow may read a row that lies in two of them."""
LONGEST = 2 * BLOCK
"""The most bytes of a row."""


class Delimited(Format):
    """CSV: a header line, then one line per row. UTF-8 with or without a mark, any line ends, quoted cells."""

    title = "CSV"
    names_stand_first = True

    def __init__(self, options: formats.Options) -> None:
        super().__init__(options)
        self._delimiters: dict[str, str] = {}

    def columns(self, file: File) -> tuple[str, ...]:
        formats.require_bytes(file)
        if self.options.decimal == self._delimiter(file):
            raise ParameterError(
                f"In {file.name}, a comma separates both cells and decimals. Hint: --delimiter ';' (delimiter=';')."
            )
        return tuple(self._header(file))

    def _header(self, file: File) -> list[str]:
        text, cut_off = self._head(file)
        lines = (line for line in io.StringIO(text, newline="") if line.strip())
        try:
            names = next(csv.reader(lines, delimiter=self._delimiter(file)), [])
            endless = cut_off and next(lines, None) is None
        except csv.Error:  # a name of more than 131,072 characters
            endless = True
        if endless:
            raise DataError(f"{file.name} has a header that seems not to end. Hint: is a quote left open?")
        if not names:
            raise formats.empty(file)
        if any("\0" in name or "\ufffd" in name for name in names):
            raise self._not_text(file)
        return names

    def _head(self, file: File) -> tuple[str, bool]:
        """The beginning of a file, of which only the header must be readable; and whether the file may go on."""
        if file.path == "-":
            data = formats.standard_input().head
        else:
            opened = Stream(file)
            try:
                data = opened.bytes.read(formats.HEAD)
            except OSError:
                raise self.damaged(file) from None
            finally:
                opened.close()
        if formats.is_wide(self.options.encoding) and b"\0" not in data:
            given = self.options.encoding
            raise DataError(f"{file.name} is not {given.upper()} text. Hint: another --encoding (encoding=), or none.")
        return data.decode(self._encoding, "replace"), len(data) == formats.HEAD

    def _not_text(self, file: File, place: str = "") -> DataError:
        way_out = (
            "or leave such records out with --invalid drop (invalid='drop')" if place else "or its format with --format"
        )
        return formats.not_text(place or file.name, self.options.encoding, way_out)

    @property
    def _encoding(self) -> str:
        """Python's name of the encoding; a byte order mark is no part of the first name."""
        return "utf-8-sig" if self.options.encoding == "utf8" else self.options.encoding

    def _delimiter(self, file: File) -> str:
        """What is given, or what the file's name or its first line shows: the first of , ; tab | that is there."""
        if self.options.delimiter:
            return self.options.delimiter
        if any(end in file.path.lower() for end in (".tsv", ".tab")):
            return "\t"
        if file.path not in self._delimiters:
            line = next((line for line in self._head(file)[0].splitlines() if line.strip()), "")
            bare = re.sub('"[^"]*"?', "", line)
            marks = ",;\t|".replace(self.options.decimal, "")
            self._delimiters[file.path] = next((mark for mark in marks if mark in bare), marks[0])
        return self._delimiters[file.path]

    # ---- rows ----

    def read(self, file: File, roles: Roles, *, skip: int, invalid: str) -> Iterator[Read]:
        self.ragged, self.oddities = 0, Oddities()
        if file.path != "-":  # standard input cannot be read twice
            types = {name: pa.float64() if role == "number" else pa.string() for name, role in roles.items()}
            try:
                for batch, share in self._batches(file, roles, skip, types):
                    yield Read(self._unmarked(batch, file, skip, invalid), share)
                    skip += batch.num_rows
                return
            except _Unreadable:
                pass
        bounded = file.path == "-" and invalid == "drop"
        try:
            for batch, share in self._carefully(file, roles, skip, invalid, bounded):
                yield Read(batch, share)
                skip += batch.num_rows
        except _Unreadable:  # a row is too long
            self.ragged = 0
            for batch, share in self._carefully(file, roles, skip, invalid, True):
                yield Read(batch, share)

    def _carefully(self, file: File, roles: Roles, skip: int, invalid: str, bounded: bool) -> Iterator[Read]:
        words = dict.fromkeys(roles, pa.string())
        for batch, share in self._batches(file, roles, skip, words, careful=invalid, bounded=bounded):
            text = self._with_points(self._unmarked(batch, file, skip, invalid), roles)
            yield Read(converted(text, roles), share)
            skip += batch.num_rows

    def _with_points(self, batch: pa.RecordBatch, roles: Roles) -> pa.RecordBatch:
        """The batch with numbers as they are read everywhere else: 1.234,50 as 1,234.50."""
        if self.options.decimal == ".":
            return batch
        columns = []
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            for old, new in ((",", "\0"), (".", ","), ("\0", ".")) if roles[name] == "number" else ():
                column = pc.replace_substring(column, old, new)
            columns.append(column)
        return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

    def _unmarked(self, batch: pa.RecordBatch, file: File, row: int, invalid: str) -> pa.RecordBatch:
        """The batch with marked cells missing. Even clean UTF-8 can hold the mark itself."""
        if invalid == "mark":
            return batch
        clean, bad = formats.without_marks(batch)
        if bad and invalid == "error":
            first = min(rows[0] for rows in bad.values())
            raise self._not_text(file, f"{self.place(file, row + first)},")
        self.oddities.undecoded.update({name: len(rows) for name, rows in bad.items()})
        return clean

    def _batches(
        self,
        file: File,
        roles: Roles,
        skip: int,
        types: dict[str, pa.DataType],
        careful: str = "",
        bounded: bool = False,
    ) -> Iterator[Read]:
        """The file by pyarrow. `careful` is `invalid`; without it, anything unclean is `_Unreadable`.

        If rows are to be dropped, one that is too long is `_Unreadable` as well, unless the file is read `bounded`.
        """
        stream = Stream(file)
        data: Readable = formats.Transcoded(stream.bytes, self._encoding) if careful else stream.bytes
        if bounded:
            ragged_row = (self._delimiter(file) * len(self._header(file))).encode()
            data = formats.Bounded(data, self._delimiter(file), ragged_row, LONGEST)
        text = formats.Lined(data)
        broken, rows = list[int](), skip

        def ragged(row: pacsv.InvalidRow) -> str:
            if careful == "drop":
                self.ragged += 1
                return "skip"
            broken.append(row.actual_columns)
            return "error"

        encoding = "utf8" if careful else self.options.encoding
        try:
            reader = pacsv.open_csv(
                pa.PythonFile(text, mode="r"),
                read_options=pacsv.ReadOptions(block_size=LONGEST if bounded else BLOCK, encoding=encoding),
                parse_options=pacsv.ParseOptions(
                    delimiter=self._delimiter(file),
                    newlines_in_values=True,
                    invalid_row_handler=ragged if careful else None,
                ),
                convert_options=pacsv.ConvertOptions(
                    column_types=types,
                    include_columns=list(roles),
                    decimal_point=self.options.decimal,
                    # In a text column "NA" may be a name.
                    null_values=[""] if pa.string() in types.values() else list(NO_VALUE),
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
            for batch in cut(reader, skip):
                rows += batch.num_rows
                yield Read(batch, stream.share())
            if careful or not formats.is_wide(encoding):  # there the byte of a line end is part of others
                self.oddities.more_lines = text.lines - 1 - rows - self.ragged
            stream.close()
        except pa.ArrowKeyError:
            raise changed(file.name) from None
        except (pa.ArrowInvalid, OSError, UnicodeError) as problem:
            words = str(problem)
            if "Empty CSV file" in words:  # a header without a line end
                return
            if "straddling" in words:
                if careful in ("", "drop") and not bounded:
                    raise _Unreadable from None
                raise DataError(f"{file.name} has a line of more than 1 MiB. Hint: is a quote left open?") from None
            if not careful and not isinstance(problem, OSError):
                raise _Unreadable from None
            if broken:
                raise self._ragged(file, broken[0], careful) from None
            raise self.damaged(file) from None
        finally:
            stream.leave()

    # ---- where ----

    def place(self, file: File, row: int) -> str:
        if file.path == "-":
            return f"{file.name}, row {row + 1:,}"
        line, more = self._lines(file, lambda index, cells, width: index == row)
        if not line:
            return f"{file.name}, row {row + 1:,}"
        return f"{file.name}, line {line:,}" if not more else f"{file.name}, lines {line:,} to {line + more:,}"

    def _ragged(self, file: File, cells: int, invalid: str) -> DataError:
        line, more = (0, 0) if file.path == "-" else self._lines(file, lambda index, found, width: found != width)
        where = f", line {line:,}," if line else ""
        what = (
            f"{file.name}{where} has {cells} cell{'s' * (cells != 1)} where the header has {len(self._header(file))}."
        )
        drop = ", or leave such lines out with --invalid drop (invalid='drop')" if invalid == "error" else ""
        ends = (
            f"is a quote left open there? The row goes on to line {line + more:,}. Else correct" if more else "correct"
        )
        return DataError(f"{what} Hint: {ends} the line{drop}.")

    def _lines(self, file: File, found: Callable[[int, int, int], bool]) -> tuple[int, int]:
        """The first line (from 1, or 0 if unknown) of the first row `found`, and how many more lines it has.

        Slow: for errors only.
        """
        stream, limit = Stream(file), csv.field_size_limit(BLOCK)
        try:
            data: pa.NativeFile = stream.bytes
            text = io.TextIOWrapper(data, encoding=self._encoding, errors="replace", newline="")
            rows = csv.reader(text, delimiter=self._delimiter(file))
            width = len(next(rows))
            index = 0
            before = rows.line_num
            for cells in rows:
                begins, before = before + 1, rows.line_num  # a quoted cell may go on for several lines
                if not cells:
                    continue
                if found(index, len(cells), width):
                    return begins, before - begins
                index += 1 if len(cells) == width else 0
        except (csv.Error, OSError, StopIteration, ValueError):
            pass
        finally:
            csv.field_size_limit(limit)
            stream.close()
        return 0, 0


class _Unreadable(Exception):
    """A cell is not a number, a line is not a row or too long, or a byte is not text: read the file with more care."""
