"""Text of any encoding as UTF-8, with a mark where its bytes mean nothing.

A single bad byte must cost the row that it is in, not the whole file, and not be told apart by what stands around it.
So what cannot be decoded becomes U+FDD0, which Unicode keeps out of all text, and the cell that holds one is missing.
"""

from __future__ import annotations

import codecs
import io
from typing import Any

import numpy as np

from scumble.errors import DataError
from scumble.machine.later import pa, pc, pt

MARK = "\ufdd0"
BLOCK = 1 << 20

# Python calls these text encodings; none of them is what a file of text is written in.
_NOT_OF_FILES = {"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "unicode_escape"}


def encoding_named(name: str) -> str:
    """An encoding of text files in lower case, and UTF-8 by one name, whose mark is no text; all else is refused.

    >>> [encoding_named(name) for name in ("UTF-8-SIG", "utf_8", "U8", "Latin-1")]
    ['utf8', 'utf8', 'utf8', 'latin-1']
    """
    try:
        found: Any = codecs.lookup(name)
        known = found._is_text_encoding and found.name not in _NOT_OF_FILES and found.incrementaldecoder is not None
        known = known and "a,1\n".encode(name).decode(name) == "a,1\n"
    except (LookupError, ValueError, TypeError):
        known = False
    if not known:
        raise DataError(
            f"There is no encoding {str(name)[:40]!r} for files of text. Hint: utf-8, utf-16 and latin-1 are usual."
        )
    return "utf8" if found.name in ("utf-8", "utf-8-sig") else name.lower()


def encoding_of(head: bytes) -> str | None:
    """The encoding of wide characters that a file begins with: by its mark, or by the zeros beside plain letters.

    >>> [encoding_of(text) for text in ("a,b".encode("utf-16"), "a,b".encode("utf-16-be"), b"a,b", b"a\\0bcd")]
    ['utf-16', 'utf-16-be', None, None]
    """
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    start = head[:64]
    for name, zeros, letters in (("utf-16-le", start[1::2], start[::2]), ("utf-16-be", start[::2], start[1::2])):
        if zeros and not any(zeros) and all(letters):
            return name
    return None


def _mark(problem: UnicodeError) -> tuple[str, int]:
    assert isinstance(problem, (UnicodeDecodeError, UnicodeEncodeError))
    return MARK, problem.end


codecs.register_error("scumble.mark", _mark)


class Transcoded(io.RawIOBase):
    """A stream of bytes in some encoding, read as UTF-8."""

    def __init__(self, stream: Any, encoding: str) -> None:
        self._stream = stream
        self._decode = codecs.getincrementaldecoder(encoding)("scumble.mark").decode
        self._ready, self._ended = b"", False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes, as UTF-8."""
        parts = [self._ready]
        have = len(self._ready)
        while have < size and not self._ended:
            data = self._stream.read(BLOCK)
            self._ended = not data
            parts.append(self._decode(data, self._ended).encode("utf-8", "scumble.mark"))
            have += len(parts[-1])
        whole = b"".join(parts)
        self._ready = whole[size:]
        return whole[:size]


class Lined(io.RawIOBase):
    """A stream of bytes of which the line ends are counted."""

    def __init__(self, stream: Any) -> None:
        self._stream, self.lines = stream, 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes, as they are."""
        data: bytes = self._stream.read(size)
        self.lines += int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n")))
        return data


def without_marks(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, dict[str, list[int]]]:
    """The batch with its marked cells missing, and the rows that had one, by column.

    >>> batch, rows = without_marks(pa.RecordBatch.from_pydict({"town": ["Ulm", "K\ufdd0ln", None]}))
    >>> batch.to_pydict(), rows
    ({'town': ['Ulm', None, None]}, {'town': [1]})
    """
    columns, rows = list(batch.columns), {}
    for j, column in enumerate(columns):
        if not pt.is_string(column.type):
            continue
        marked = pc.match_substring(column, MARK)
        if pc.any(marked).as_py():
            rows[batch.schema.names[j]] = pc.indices_nonzero(marked).to_pylist()
            columns[j] = pc.if_else(marked, pa.scalar(None, column.type), column)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names), rows


def with_questions(column: pa.Array) -> pa.Array:
    """The cells with what stands everywhere for bytes that are no text, in the place of each mark.

    >>> with_questions(pa.array(["K\ufdd0ln", None])).to_pylist()
    ['K\ufffdln', None]
    """
    return pc.replace_substring(column, MARK, "\ufffd") if pt.is_string(column.type) else column


def not_text(what: str, given: str, way_out: str, head: bytes = b"") -> DataError:
    """The refusal of bytes that are no text in the encoding that was `given`; `head` is how the file begins."""
    guess = encoding_of(head)
    if guess is not None and guess != given:
        hint = f"it begins as {guess} text does: --encoding {guess} (encoding={guess!r})"
    else:
        hint = f"name its encoding, such as --encoding {' or '.join(usual_beside(given))}"
    return DataError(f"{what} is not {spelt(given)} text. Hint: {hint}, {way_out}.")


def usual_beside(given: str) -> list[str]:
    """Encodings to try when this one is not it."""
    return [one for one in ("utf8", "latin-1", "utf-16") if one != encoding_named(given)][:2]


def spelt(encoding: str) -> str:
    """An encoding as a message calls it.

    >>> spelt("utf8"), spelt("latin-1")
    ('UTF-8', 'LATIN-1')
    """
    return encoding_named(encoding).upper().replace("UTF8", "UTF-8")


def no_wide_characters(head: bytes, encoding: str) -> bool:
    """Whether a file cannot be in this encoding of wide characters: commas and line ends would have zeros beside them.

    >>> no_wide_characters(b"a,b", "utf-16"), no_wide_characters("a,b".encode("utf-16"), "utf-16")
    (True, False)
    """
    return is_wide(encoding) and b"\0" not in head


def is_wide(encoding: str) -> bool:
    """Whether plain letters have several bytes in this encoding.

    >>> is_wide("utf-16"), is_wide("latin-1")
    (True, False)
    """
    return len("a".encode(encoding)) > 1
