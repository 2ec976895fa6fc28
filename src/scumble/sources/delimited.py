"""CSV and its kin: text, plain or packed.

pyarrow reads the columns straight as numbers, which is quick. A cell that is no number stops it; then the file is read
on as text from that row, and each cell that is no number becomes a missing one, to be counted and treated as the caller
chose. So a clean file costs nothing, and a late word in a column of numbers is a clear outcome.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from scumble.errors import DataError
from scumble.sources.formats import Format, Read, Stream, empty, is_empty
from scumble.sources.paths import File
from scumble.sources.roles import Roles, converted
from scumble.sources.source import cut

BLOCK = 1 << 20
"""Bytes of text a block; a line must fit into one."""

_MISSING = ["", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL"]


class Delimited(Format):
    """CSV: a header line, then one line a row. UTF-8 with or without a mark, any line ends, quoted cells."""

    title = "CSV"

    def columns(self, file: File) -> tuple[str, ...]:
        if is_empty(file):
            raise empty(file)
        return tuple(self._header(file))

    def _header(self, file: File) -> list[str]:
        if file.path == "-":
            from scumble.sources.formats import standard_input

            head = pa.py_buffer(standard_input().head)
            stream: Any = pa.BufferReader(head)
            data = (pa.CompressedInputStream(stream, file.compression) if file.compression else stream).read(32_768)
        else:
            opened = Stream(file)
            try:
                data = opened.bytes.read(BLOCK)
            except OSError:
                raise self.damaged(file) from None
            finally:
                opened.close()
        encoding = "utf-8-sig" if self.options.encoding == "utf8" else self.options.encoding
        try:
            text = data.decode(encoding, "replace")  # only the header must be readable here
        except LookupError:
            raise DataError(f"There is no encoding {self.options.encoding!r}. Hint: latin-1 and utf-16 are.") from None
        lines = (line for line in io.StringIO(text, newline="") if line.strip())
        names = next(csv.reader(lines, delimiter=self._delimiter(file)), [])
        if not names:
            raise empty(file)
        if any("\0" in name or "\ufffd" in name for name in names):
            raise self._not_text(file)
        if len(names) == 1 and self.options.delimiter is None:
            for other, word in ((";", "';'"), ("\t", "a tab"), ("|", "'|'")):
                if other in names[0]:
                    raise DataError(
                        f"{file.name} seems to be separated by {word}, not by a comma. "
                        f"Hint: pass --delimiter {'tab' if other == chr(9) else repr(other)}."
                    )
        return names

    def _not_text(self, file: File) -> DataError:
        return DataError(
            f"{file.name} is not {self.options.encoding.upper()} text. "
            "Hint: name its encoding, such as --encoding latin-1, or its format with --format."
        )

    def _delimiter(self, file: File) -> str:
        if self.options.delimiter:
            return self.options.delimiter
        return "\t" if any(end in file.path.lower() for end in (".tsv", ".tab")) else ","

    # ---- rows ----

    def read(self, file: File, roles: Roles, *, skip: int, invalid: str) -> Iterator[Read]:
        self.ragged = 0
        done = 0
        if file.path != "-":  # standard input cannot be read twice: there, text from the beginning
            try:
                for read in self._batches(file, roles, skip, invalid, as_text=False):
                    done += read.batch.num_rows
                    yield read
                return
            except _Unreadable:
                self.ragged = 0
        for read in self._batches(file, roles, skip + done, invalid, as_text=True):
            yield Read(converted(read.batch, roles), read.share)

    def _batches(self, file: File, roles: Roles, skip: int, invalid: str, *, as_text: bool) -> Iterator[Read]:
        stream = Stream(file)
        broken: list[int] = []

        def ragged(row: Any) -> str:
            if invalid == "drop":
                self.ragged += 1
                return "skip"
            broken.append(row.actual_columns)
            return "error"

        numeric = [name for name, role in roles.items() if role == "number"]
        types = {name: pa.string() if as_text or name not in numeric else pa.float64() for name in roles}
        pure = len(numeric) == len(roles) and not as_text
        try:
            reader = pacsv.open_csv(
                stream.bytes,
                read_options=pacsv.ReadOptions(block_size=BLOCK, encoding=self.options.encoding),
                parse_options=pacsv.ParseOptions(
                    delimiter=self._delimiter(file), newlines_in_values=True, invalid_row_handler=ragged
                ),
                convert_options=pacsv.ConvertOptions(
                    column_types=types,
                    include_columns=list(roles),
                    null_values=_MISSING if pure else [""],  # beside text columns "NA" may be a name
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
            for batch in cut(reader, skip):
                yield Read(batch, stream.share())
        except (pa.ArrowInvalid, OSError) as problem:
            words = str(problem)
            if broken:
                raise self._ragged(file, broken[0]) from None
            if "Empty CSV file" in words:  # a header without a line end
                return
            if "conversion error to double" in words and not as_text:
                raise _Unreadable from None
            if "UTF8" in words or "UTF-8" in words or "decod" in words:
                raise self._not_text(file) from None
            if "straddling" in words:
                raise DataError(f"{file.name} has a line of more than 1 MiB. Hint: is a quote left open?") from None
            raise self.damaged(file) from None
        finally:
            stream.close()

    # ---- where ----

    def place(self, file: File, row: int) -> str:
        if file.path == "-":
            return f"{file.name}, row {row + 1:,}"
        line = self._line(file, lambda index, cells, width: index == row)
        return f"{file.name}, line {line:,}" if line else f"{file.name}, row {row + 1:,}"

    def _ragged(self, file: File, cells: int) -> DataError:
        line = None if file.path == "-" else self._line(file, lambda index, found, width: found != width)
        where = f", line {line:,}," if line else ""
        return DataError(
            f"{file.name}{where} has {cells} cells where the header has {len(self._header(file))}. "
            "Hint: mend the line, or leave such lines out with --invalid drop (invalid='drop')."
        )

    def _line(self, file: File, found: Any) -> int | None:
        """The number of the first line that is sought: slow, and only asked for after an error."""
        stream = Stream(file)
        encoding = "utf-8-sig" if self.options.encoding == "utf8" else self.options.encoding
        try:
            text = io.TextIOWrapper(stream.bytes, encoding=encoding, errors="replace", newline="")
            rows = csv.reader(text, delimiter=self._delimiter(file))
            width = len(next(rows))
            index = 0
            for cells in rows:
                if not cells:
                    continue
                if found(index, len(cells), width):
                    return rows.line_num
                index += 1 if len(cells) == width else 0
        except (csv.Error, OSError, StopIteration, ValueError):
            pass  # then the row's number must do
        finally:
            stream.close()
        return None


class _Unreadable(Exception):
    """A cell in a column of numbers is no number."""
