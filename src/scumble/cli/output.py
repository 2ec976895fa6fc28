"""Where results go: files, standard output, and notes on standard error."""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from scumble import files
from scumble.cli.options import require
from scumble.cli.terminal import tell
from scumble.errors import DataError, FileError, MissingFileError, ParameterError, PrivacyError, places, readable
from scumble.files.interrupts import Unbroken
from scumble.files.places import Place, write_error, write_whole
from scumble.show.usefulness import as_json

if TYPE_CHECKING:
    import pyarrow as pa
    from pandas import DataFrame

    from scumble import Estimate, TableRelease
    from scumble.privacy.budget import Budget
    from scumble.show.cards import AnyRelease

TABLES = {
    ".csv": "csv",
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather"), "arrow"),
}
TABLES |= dict.fromkeys((".json", ".jsonl", ".ndjson"), "json")


def say(args: argparse.Namespace, message: str) -> None:
    """A line for the person at the terminal."""
    if not args.quiet:
        tell(message)


def tell_weak(args: argparse.Namespace, budget: Budget) -> None:
    """Warn, before a budget is spent, how little a large one promises and what nothing enforces."""
    from scumble.privacy.budget import unenforced

    if budget.weakness:
        say(args, f"Note: {budget.weakness}.")
    if hasattr(args, "person_column") and args.person_column is None and budget.records_per_person > 1:
        say(args, f"Note: {unenforced(budget.records_per_person)}.")


def tell_release(args: argparse.Namespace, release: AnyRelease, size: int, then: str = "") -> None:
    """What was written to --out, as JSON or in a line, and what went wrong with it."""
    from scumble.privacy.wording import human_bytes
    from scumble.show.cards import facts

    if getattr(args, "json", False):
        print_json({"out": args.out, "bytes": size, **facts(release)})
    elif args.out != "-":
        say(args, f"Wrote {args.out} ({human_bytes(size)}): {release.privacy}.{then}")
    tell_doubts(args, release)


def tell_doubts(args: argparse.Namespace, release: AnyRelease) -> None:
    """After a release is written: what its own noisy counts say went wrong, which costs nothing."""
    if args.quiet:
        return
    from scumble.show.cards import few
    from scumble.table.release import TableRelease
    from scumble.table.remarks import RARE

    if found := few(release):
        say(args, f"Note: {found}. Hint: next time a larger --epsilon, fewer columns, or more records.")
    if not isinstance(release, TableRelease):
        return
    if len(release.views) > 1 and release.target is None and all(len(view) == 1 for view in release.views):
        say(args, "Note: No pair of columns was counted together.")
    for remark in (remark for each in release._large_shares.values() for remark in each):
        hint = (
            "" if RARE in remark else " Hint: scumble check counts unknown words and unreadable cells, for you alone."
        )
        say(args, f"Note: {remark}{hint}")


@contextlib.contextmanager
def remarked() -> Iterator[list[str]]:
    """What is warned of meanwhile, each once: on standard error, as every warning is, and to be put into JSON."""
    found: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield found
        finally:
            found += dict.fromkeys(str(one.message) for one in caught)
            for text in found:
                tell(f"scumble: warning: {text}")


def remark_on(found: Estimate | DataFrame, releases: Iterable[TableRelease]) -> None:
    """Warn of what must be known of an answer; all columns that were not counted together stand in one remark."""
    from scumble.table.remarks import BEGINS, not_counted_together

    remarks = found.attrs.get("remarks", ()) if hasattr(found, "attrs") else found.remarks
    pairs = not_counted_together(pair for release in releases for pair in release.inferred)
    for remark in (*(one for one in remarks if not one.startswith(BEGINS)), *pairs):
        warnings.warn(remark, UserWarning, stacklevel=2)


def aligned(rows: Iterable[Iterable[str]]) -> str:
    """A table for people: every column as wide as its widest cell."""
    cells = [[*map(readable, row)] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)


def print_json(value: object) -> None:
    """JSON on standard output."""
    print(json.dumps(as_json(value), indent=2, ensure_ascii=False))


def check_out(
    out: str,
    *,
    like: tuple[str, ...] = (),
    text: bool = True,
    ours: bool = False,
    secret: bool = False,
    replace: bool = False,
    piped: bool = True,
) -> None:
    """Refuse, before hours of work, what could not be written in the end, or would replace somebody's work.

    `like` are the endings a name may have; `text` allows a terminal, `piped` standard output. With `ours`, only a file
    of scumble's own is replaced, and one that holds counters only by another that does (`secret`); otherwise any, with
    `replace`.
    """
    if out == "-":
        if not piped:
            raise ParameterError(f"This cannot go to standard output. Hint: name a file that ends in {like[0]}.")
        if not text and sys.stdout.isatty():
            raise ParameterError("A release is not text. Hint: --out people.scumble, or pipe it on.")
        return
    folder = os.path.dirname(out) or "."
    if not os.path.isdir(folder):
        raise MissingFileError(f"Cannot write {out!r}: there is no folder {folder!r}. Hint: make it first.")
    if os.path.isdir(out):
        raise ParameterError(f"Cannot write {out!r}: it is a folder. Hint: name a file in it.")
    if like and os.path.splitext(out.lower())[1] not in like:
        raise ParameterError(f"Cannot tell the format of {out!r}. Hint: let its name end in {', '.join(like)}.")
    # A link is replaced itself, and what it leads to stays; an empty file is a name that somebody reserved.
    there = os.path.isfile(out) and not os.path.islink(out) and os.path.getsize(out) > 0
    if there and not (ours or replace):
        raise ParameterError(f"{out!r} already exists. Hint: name another file, or add --replace.")
    if ours and files.is_foreign(out):
        raise ParameterError(f"{out!r} already exists and is not a .scumble file. Hint: name another file.")
    if ours and there and files.holds_noise(out):
        raise ParameterError(f"{out!r} already exists and holds noise that is paid for. Hint: name another file.")
    kind = files.kind_at(out) if ours and there else None
    if kind in files.SECRET_KINDS and not secret:
        raise ParameterError(f"{out!r} already exists and holds exact counters. Hint: name another file.")
    if kind in files.PUBLIC_KINDS and secret:
        raise ParameterError(f"{out!r} already exists and is published. Hint: name another file.")


def check_release_out(args: argparse.Namespace) -> None:
    """The same for a release, at --out, perhaps with JSON about it on standard output."""
    require(args, out="the released file to write, such as people.scumble")
    check_out(args.out, text=False, ours=True)
    if args.out == "-" and args.json:
        raise ParameterError("--json and --out - both want standard output. Hint: write the release to a file.")


def secret_out(out: str) -> None:
    """Exact counters go to a file of mode 0600 and nowhere else."""
    if out == "-":
        raise PrivacyError("Exact counters are written to a file of mode 0600 only. Hint: --out part.secret.")


def write_release(release: AnyRelease, out: str) -> int:
    """Write a release (or bundle) that was made of releases, to a file or to standard output; gives its size."""
    data = release.to_bytes()
    if out == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        write_whole(out, data)
    return len(data)


def check_table(args: argparse.Namespace) -> None:
    """The same for a table of answers at --out."""
    check_out(args.out, like=tuple(TABLES), replace=args.replace)


class TableWriter:
    """Batches to --out as they come; a file gets its name when it is complete, and a line says what it holds.

    As text, numbers of the `whole` columns that have no fraction are written without a point, each by itself.
    """

    def __init__(self, args: argparse.Namespace, *, whole: Iterable[str] = (), holds: str = "") -> None:
        self._out = out = args.out
        self.kind = "json" if args.json else ("csv" if out == "-" else TABLES[os.path.splitext(out.lower())[1]])
        self._whole, self._args, self._holds = {*whole}, args, holds
        self._lines = out.lower().endswith((".jsonl", ".ndjson"))
        self._writer: Any = None
        self._objects = 0

    def __enter__(self) -> TableWriter:
        if self._out == "-":
            self._sink: Any = sys.stdout.buffer
        else:
            with Unbroken():
                self._place = Place(self._out)
            self._sink = self._place.open()
        return self

    def write(self, batch: pa.RecordBatch) -> None:
        """Write a batch of rows."""
        if self.kind == "json":
            for cells in self._rows(batch):
                row = dict(zip(batch.schema.names, cells, strict=True))
                text = readable(json.dumps(as_json(row), ensure_ascii=False, default=str))
                before = "" if self._lines else ("[\n" if not self._objects else ",\n")
                self._sink.write((before + text + ("\n" if self._lines else "")).encode())
                self._objects += 1
            return
        if self._writer is None:
            self._writer = self._open(batch.schema)
        if self.kind == "csv":
            self._writer.writerows(self._rows(batch))
            self._text.flush()
            return
        try:
            batch = batch.cast(self._schema)
        except (ValueError, TypeError):
            raise DataError(
                f"A column changes its type, which {self._out!r} cannot hold. Hint: --out answers.csv."
            ) from None
        self._writer.write(batch) if self.kind != "parquet" else self._writer.write_batch(batch)

    def _rows(self, batch: pa.RecordBatch) -> Iterator[tuple[object, ...]]:
        """The cells, row by row."""
        columns = zip(batch.schema.names, (column.to_pylist() for column in batch.columns), strict=True)
        return zip(
            *(map(_without_point, cells) if name in self._whole else cells for name, cells in columns), strict=True
        )

    def _open(self, schema: pa.Schema) -> Any:
        self._schema = schema
        if self.kind == "csv":
            self._text = io.TextIOWrapper(self._sink, encoding="utf-8", newline="", write_through=True)
            writer = csv.writer(self._text, lineterminator="\n")
            writer.writerow(schema.names)
            return writer
        if self.kind == "parquet":
            import pyarrow.parquet as pq

            return pq.ParquetWriter(self._sink, schema)
        import pyarrow.ipc as ipc

        return ipc.new_file(self._sink, schema)

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                if self.kind == "csv" and self._writer is not None:
                    self._text.detach()
                elif self._writer is not None:
                    self._writer.close()
                if self.kind == "json" and not self._lines:
                    self._sink.write(b"\n]\n" if self._objects else b"[]\n")
                self._sink.flush()
                if self._out != "-":
                    self._place.sync()
                    self._place.take_name()
                    say(self._args, f"Wrote {self._out}{self._holds}.")
        except OSError as problem:
            if self._out == "-" or isinstance(problem, FileError):
                raise
            raise write_error(problem, self._out, os.path.dirname(self._out) or ".", 0) from None
        finally:
            if self._out != "-":
                with contextlib.suppress(OSError):
                    if kind is not None and self._writer is not None and self.kind != "csv":
                        self._writer.close()  # which would want to write its end later
                    self._sink.close()
                self._place.close()


def _without_point(cell: object) -> object:
    if not isinstance(cell, float):
        return cell
    return None if cell != cell else int(cell) if cell.is_integer() else cell


# ---- digits: those beyond what an interval allows are noise ----


def rounded(columns: Sequence[Iterable[float]], widths: Iterable[float], digits: int = 6) -> list[list[float]]:
    """Columns of numbers for CSV, each row to so many digits of its width.

    >>> rounded([[12609.016306861913], [12492.175968391837]], [233.68])
    [[12609.016], [12492.176]]
    """
    after = [places(float(width), digits) for width in widths]
    return [[round(float(x), n) for x, n in zip(column, after, strict=True)] for column in columns]
