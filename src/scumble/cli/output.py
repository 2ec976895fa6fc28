"""Where results go: files, standard output, standard error."""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from scumble import files
from scumble.cli.streams import tell
from scumble.errors import (
    CorruptFileError,
    DataError,
    FileError,
    ForeignFileError,
    MissingFileError,
    ParameterError,
    PrivacyError,
    readable,
)
from scumble.machine.interrupts import Unbroken
from scumble.machine.places import Place, write_error, write_whole

if TYPE_CHECKING:
    from scumble import TableRelease
    from scumble.privacy.budget import Budget

TABLES = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}


def say(args: argparse.Namespace, message: str) -> None:
    """A line for the person at the terminal."""
    if not args.quiet:
        tell(message)


def tell_weak(args: argparse.Namespace, budget: Budget) -> None:
    """Before it is spent: how little a large budget promises, and what is promised by somebody's word alone."""
    from scumble.privacy.budget import unenforced

    if budget.weakness:
        say(args, f"Note: {budget.weakness}.")
    if hasattr(args, "person_column") and args.person_column is None and budget.records_per_person > 1:
        say(args, f"Note: {unenforced(budget.records_per_person)}.")


def tell_few(args: argparse.Namespace, release: Any) -> None:
    """After it is written: that there are too few records for the budget, if there are."""
    from scumble.show.cards import few

    if not args.quiet and (found := few(release)):
        say(args, f"Note: {found}. Hint: next time a larger --epsilon, fewer columns, or more records.")


def tell_strange(args: argparse.Namespace, release: Any) -> None:
    """After it is written: what its own noisy counts say went wrong, which costs nothing."""
    from scumble.show.tablecards import strange
    from scumble.tabular.release import TableRelease

    for line in strange(release) if not args.quiet and isinstance(release, TableRelease) else ():
        say(args, f"Note: {line}. Hint: scumble check says why, to you alone.")


@contextlib.contextmanager
def remarked() -> Iterator[list[str]]:
    """What is warned of meanwhile, each once: on standard error, as every warning is, and to be put into JSON."""
    found: list[str] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                yield found
            finally:
                found += dict.fromkeys(str(one.message) for one in caught)
    finally:
        for text in found:
            tell(f"scumble: warning: {text}")


def remark_on(found: Any, releases: Iterable[TableRelease]) -> None:
    """Warn of what must be known of an answer; all columns that were not counted together stand in one remark."""
    from scumble.tabular.apart import BEGINS, not_counted_together

    told = found.attrs.get("remarks", ()) if hasattr(found, "attrs") else found.remarks
    pairs = not_counted_together(pair for release in releases for pair in release.inferred)
    for remark in (*(one for one in told if not one.startswith(BEGINS)), *pairs):
        warnings.warn(remark, UserWarning, stacklevel=2)


def print_json(value: object) -> None:
    """JSON on standard output."""
    print(json.dumps(plain(value), indent=2, ensure_ascii=False))


def plain(value: object) -> Any:
    """NumPy's numbers as Python's, tuples as lists, infinities as None."""
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(inner) for inner in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


def check_out(
    out: str,
    *,
    like: tuple[str, ...] = (),
    text: bool = True,
    ours: bool = False,
    secret: bool = False,
    replace: bool = False,
) -> None:
    """Refuse, before hours of work, what could not be written in the end, or would replace what is somebody's work.

    `like` are the endings a name may have, and `text` says that it may be a terminal. `ours`: a file of scumble's own
    is replaced, one that holds counters by another that does (`secret`), and no other; else any, if there is leave to
    `replace`.
    """
    if out == "-":
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
        raise ParameterError(f"{out!r} is there already. Hint: name another file, or add --replace.")
    if ours and files.is_foreign(out):
        raise ParameterError(
            f"{out!r} is there already, and is no .scumble file but something else: it would be lost. Hint: name "
            "another file, such as people.scumble, or remove that one first."
        )
    kind = files.kind_at(out) if ours and there else None
    if kind in files.SECRET_KINDS and not secret:
        raise ParameterError(f"{out!r} is there already and holds exact counters. Hint: name another file.")
    if kind in files.PUBLIC_KINDS and secret:
        raise ParameterError(f"{out!r} is there already and is published. Hint: name another file.")


def misnamed(out: str) -> str:
    """A remark on a release under the name of a table; empty if its name says nothing wrong."""
    end = os.path.splitext(out.lower())[1]
    return f" It is a release, not a table, whatever {end} says: .scumble is usual." if end in TABLES else ""


def like_a_release(out: str) -> str:
    """A remark on exact counters under the name of a release; empty if its name says nothing wrong."""
    alike = out.lower().endswith(".scumble")
    return " Its name is like a release's, which people share: call it .secret." if alike else ""


def secret_out(out: str) -> None:
    """Exact counters go to a file of mode 0600 and nowhere else."""
    if out == "-":
        raise PrivacyError("Exact counters are written to a file of mode 0600 only. Hint: --out part.secret.")


def write_release(release: Any, out: str) -> int:
    """Write a release (or bundle) that was made of releases, to a file or to standard output; gives its size."""
    data = release.to_bytes()
    if out == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        write_whole(out, data)
    return len(data)


class TableWriter:
    """Batches to a file or to standard output, as they come. A file gets its name when it is complete.

    As text, numbers of the `whole` columns that have no fraction are written without a point, each by itself.
    """

    def __init__(self, out: str, as_json: bool, *, whole: Iterable[str] = ()) -> None:
        self.kind = "json" if as_json else ("csv" if out == "-" else TABLES[os.path.splitext(out.lower())[1]])
        self._whole = {*whole}
        self._lines = out.lower().endswith((".jsonl", ".ndjson"))
        self._out = out
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

    def write(self, batch: Any) -> None:
        """Write a batch of rows."""
        if self.kind == "json":
            for cells in self._rows(batch):
                row = dict(zip(batch.schema.names, cells, strict=True))
                text = readable(json.dumps(plain(row), ensure_ascii=False, default=str))
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
        batch = self._alike(batch)
        self._writer.write(batch) if self.kind != "parquet" else self._writer.write_batch(batch)

    def _rows(self, batch: Any) -> Iterator[tuple[Any, ...]]:
        """The cells, row by row."""
        columns = zip(batch.schema.names, batch.columns, strict=True)
        return zip(
            *(
                [*map(_without_point, cells.to_pylist())] if name in self._whole else cells.to_pylist()
                for name, cells in columns
            ),
            strict=True,
        )

    def _alike(self, batch: Any) -> Any:
        """The batch in the types of the first: in such a file a column has one type throughout."""
        try:
            return batch.cast(self._schema)
        except (ValueError, TypeError):
            raise DataError(
                f"A column changes its type on the way, so {self._out!r} cannot hold it. "
                "Hint: write text, --out answers.csv, or give the table one type per column."
            ) from None

    def _open(self, schema: Any) -> Any:
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


def _without_point(cell: Any) -> Any:
    if not isinstance(cell, float):
        return cell
    return None if cell != cell else int(cell) if cell.is_integer() else cell


def load_release(
    path: str, *, tables: bool = False, moments: bool = False, models: bool = False, sought: str = "a release"
) -> Any:
    """A release or a bundle (or a table, moments, a model, if the verb knows them); "-" reads standard input."""
    from scumble import files
    from scumble.loading import release_in

    kinds = (*files.RELEASES, "model")
    if path == "-":
        container = files.from_bytes(sys.stdin.buffer.read(), expect=kinds, source="standard input")
    else:
        try:
            container = files.read(path, expect=kinds)
        except ForeignFileError as problem:
            raise for_another_verb(path) or problem from None
    if container.kind == "model" and not models:
        raise ForeignFileError(
            f"Cannot read {'standard input' if path == '-' else repr(path)}: it holds a fitted model, not {sought}. "
            "Hint: scumble predict asks it, scumble info shows it, and in Python its plot() draws it."
        )
    if container.kind == "model":
        from scumble.learn.models import from_container

        return from_container(container)
    if container.kind == "table" and not tables:
        raise ParameterError(f"{path} is the release of a table, which has no densities. Hint: try scumble count.")
    if container.kind == "moments" and not moments:
        raise ParameterError(f"{path} is a release of moments, which has no densities. Hint: try scumble info.")
    try:
        return release_in(container)
    except ParameterError as problem:  # sound bytes that do not make a release: somebody else wrote them
        raise CorruptFileError(f"Cannot read {path!r}: {problem}") from problem


def for_another_verb(path: str) -> ForeignFileError | None:
    """The error that names the verb for what is no release: a stream's folder, a ledger, a page, a picture, a table."""
    from scumble.sources.paths import kind_of

    if os.path.isdir(path):
        totals = sorted(name for name in os.listdir(path) if name.startswith("total-") and name.endswith(".scumble"))
        if not totals:
            return ForeignFileError(f"{path!r} is a folder, not a release. Hint: name a file in it.")
        return ForeignFileError(
            f"{path!r} is the folder of a stream, not a release. Hint: its last release is "
            f"{os.path.join(path, totals[-1])}; scumble explore {path} shows all of them, and scumble stream window "
            f"{path} --width 1 --out last.scumble takes one period of it, or more."
        )
    try:
        with open(path, "rb") as file:
            head = file.read(16)
    except OSError:
        return None
    if files.kind_at(path) is not None:  # scumble's own, and of a kind that the verb does not read
        return None
    if head == b"SQLite format 3\0":
        return ForeignFileError(
            f"{path!r} is an SQLite database, as ledgers are, not a release. Hint: try scumble ledger {path}."
        )
    if head.lstrip().lower().startswith((b"<!doctype html", b"<html")):
        return ForeignFileError(
            f"{path!r} is a web page, not a release. Hint: open it in a browser. What scumble explore --export wrote "
            "was made of a .scumble file: name that one."
        )
    end = os.path.splitext(path.lower())[1]
    if end in (".png", ".svg", ".pdf"):
        return ForeignFileError(f"{path!r} is a picture, not a release. Hint: name the .scumble file it was made of.")
    if end == ".toml":
        return ForeignFileError(
            f"{path!r} is a schema, by its name, not a release. Hint: scumble build TABLE --schema {path} makes one."
        )
    if head and kind_of(path)[0]:
        return ForeignFileError(
            f"{path!r} is a table, not a release. Hint: scumble build makes a release of it; scumble schema {path} "
            "drafts what that needs to know."
        )
    return None


def table_release(path: str) -> Any:
    """The release of a table."""
    from scumble.tabular.release import TableRelease

    found = load_release(path, tables=True, sought="the release of a table")
    if not isinstance(found, TableRelease):
        raise ParameterError(
            f"{path} is not the release of a table. Hint: scumble info tells what it is, scumble query asks for "
            "densities; scumble build --schema makes releases of tables."
        )
    return found


def one_release(found: Any, path: str, label: str | None) -> Any:
    """A release; of a bundle, the class that was asked for."""
    from scumble.bundle import Bundle

    if not isinstance(found, Bundle):
        if label is not None:
            raise ParameterError(f"{path} has no classes. Hint: leave out --class.")
        return found
    by_text = {str(name): release for name, release in found.items()}
    if label is None or label not in by_text:
        raise ParameterError(f"{path} holds several classes. Hint: choose one with --class: {', '.join(by_text)}.")
    return by_text[label]
