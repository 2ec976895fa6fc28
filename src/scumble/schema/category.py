"""A column of words out of a public vocabulary."""

from __future__ import annotations

import contextlib
import datetime
import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from scumble.errors import ParameterError, nearest, parameter
from scumble.machine.later import pa, pc
from scumble.schema.column import (
    BLANK,
    MISSING,
    MOST_LEVELS,
    OTHER,
    UNFORESEEN,
    UNREADABLE,
    Column,
    Found,
    by_text,
    flag,
)
from scumble.schema.line import Span, Spans
from scumble.tables import cells
from scumble.tables.containers import one_column
from scumble.tables.hashing import UNTOLD, text_of

MOST_TEXT = 10_000
"""Characters of a word."""
_LISTED = 12
_WANTED = (
    'put there the words that the column can hold, known in advance, such as ["Female", "Male"]: never a list made '
    "from the table. Unforeseen ones are counted together."
)
"""What `values` are."""


@dataclass(frozen=True, repr=False)
class Category(Column):
    """One of several words: a public vocabulary, never the words that the table happens to hold.

    Cells are compared by their canonical text: 5, 5.0 and "5" are one word, and so are a date and its ISO text.
    Text is compared without the blanks at its ends, and with its capitals. One of the words that numbers take for a
    missing cell (an empty text, NA, N/A, #N/A, NaN, nan, null, NULL) is a missing cell here too, unless the vocabulary
    has it, as that of countries has Namibia's "NA".

    Parameters
    ----------
    values : list of str, int, float or bool
        The vocabulary.
    other : bool
        Whether all words that are not in it share a level, "(other)". If not, records with such words are refused or
        dropped.
    missing : bool
        Whether missing cells get a level of their own.
    strip : bool
        Whether blanks at either end of a cell are ignored: "Ulm " is "Ulm".
    ignore_case : bool
        Whether capitals are ignored: "ULM" is "Ulm".
    missing_words : list of str
        Further words that stand for a missing cell, such as "-".

    Notes
    -----
    Synthetic rows have the words as they were declared, as text if one of them is text or there is an "(other)".

    Examples
    --------
    >>> sex = Category(["Female", "Male"])
    >>> sex.levels
    ('Female', 'Male', '(other)', '(missing)')
    >>> sex.encode(["Male ", None, "male", "NA"]).codes.tolist()
    [1, 3, 2, 3]
    """

    kind: ClassVar[str] = "category"
    role: ClassVar[str] = "word"
    refuses: ClassVar[str] = "no word (text, numbers, booleans, dates and times are; a list or a dictionary is not)"
    ordered: ClassVar[bool] = False

    values: tuple[str | int | float | bool, ...] = field(default=BLANK, compare=False)  # type: ignore[arg-type]
    # Not compared: 1 == True, and they are two words.
    _: KW_ONLY
    other: bool = True
    missing: bool = True
    strip: bool = True
    ignore_case: bool = False
    missing_words: tuple[str, ...] = ()
    known: dict[bytes, int] = field(init=False, repr=False, compare=False)
    """The words as they were declared."""
    _read: dict[bytes, int] = field(init=False, repr=False, compare=False)
    """The codes of all texts that mean something: words for a missing cell, what stands for a list, the vocabulary."""
    _told: tuple[tuple[str, bytes], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        put = self.__dict__.__setitem__  # frozen for everybody else
        for name in ("other", "missing", "strip", "ignore_case"):
            put(name, flag(name, getattr(self, name)))
        put("values", _vocabulary(self.values))
        put("missing_words", _missing_words(self.missing_words))
        gaps = (*cells.NO_VALUE_TEXTS, UNTOLD, *(word.encode() for word in self.missing_words))
        known, read = {}, dict.fromkeys(map(self._compared, gaps), UNREADABLE)
        for code, word in enumerate(self.values):
            text = text_of(word)
            assert text is not None
            alike = read.get(self._compared(text), UNREADABLE)
            if alike != UNREADABLE:
                first = self.values[alike]
                same = "" if repr(first) == repr(word) else f"{first!r} and {word!r} are one word: "
                raise ParameterError(f"`values` has {word!r} twice. Hint: {same}name each once.")
            known[text] = read[self._compared(text)] = code
        put("_read", read)
        put("known", known)
        put("_told", tuple((type(value).__name__, text) for value, text in zip(self.values, known, strict=True)))

    # ---- levels ----

    @property
    def line(self) -> Span:
        return 0, len(self.values) + self.other

    @property
    def size(self) -> int:
        return len(self.values) + self.other + self.missing

    @property
    def levels(self) -> tuple[str, ...]:
        names = [text.decode() for text in self.known]
        return (*names, *([OTHER] if self.other else []), *([MISSING] if self.missing else []))

    @property
    def representative(self) -> np.ndarray:
        """NaN: words have no mean."""
        return np.full(self.size, np.nan)

    def words(self) -> str:
        listed = ", ".join(map(repr, self.values[:_LISTED])) + ", …" * (len(self.values) > _LISTED)
        return "; ".join([listed, *self.besides])

    @property
    def besides(self) -> list[str]:
        """What becomes of cells that hold none of the words, for people."""
        return ["others" if self.other else "others not counted", *(["missing"] if self.missing else [])]

    # ---- cells to levels and back ----

    @property
    def unforeseen(self) -> int | None:
        return len(self.values) if self.other else None

    def _compared(self, text: bytes) -> bytes:
        """What of a cell's canonical text is compared: a function of that text alone."""
        word = text.decode("utf-8", "surrogateescape")
        word = word.strip(cells.BLANKS) if self.strip else word
        return (word.casefold() if self.ignore_case else word).encode("utf-8", "surrogateescape")

    def says_nothing(self, text: bytes) -> bool:
        return self._compared(text) in self._read

    def _codes(self, column: cells.Column, label: str) -> tuple[np.ndarray, None]:
        unforeseen = len(self.values) if self.other else UNFORESEEN
        if cells.is_arrow(column) and cells.is_text(column.type) and not self.ignore_case:
            with contextlib.suppress(pa.ArrowInvalid):  # it strips no text that is not UTF-8
                # Free text may have as many words as records.
                pieces = [self._text_codes(piece, unforeseen) for piece in cells.chunks(column)]
                return np.concatenate([np.empty(0, np.int32), *pieces]), None
        read = self._read
        return by_text(column, label, lambda text: read.get(self._compared(text), unforeseen), "categories"), None

    def find(self, values: object, label: str = "The column") -> Found:
        found = super().find(values, label)
        strange = found.codes == (UNFORESEEN if self.unforeseen is None else self.unforeseen)
        if not strange.any():
            return found
        return found._replace(near=int(np.count_nonzero(self._near(one_column(values, "values"), label)[strange])))

    def _near(self, column: cells.Column, label: str) -> np.ndarray:
        """Which cells have one of the words but for blanks or case."""
        words = {_loosely(text) for text in self.known}
        if cells.is_arrow(column) and cells.is_text(column.type):
            with contextlib.suppress(pa.ArrowInvalid):
                wanted = pa.array([word.decode() for word in words], pa.large_string())
                text = (pc.cast(piece, pa.large_string()) for piece in cells.chunks(column))
                found = (pc.is_in(pc.utf8_lower(pc.utf8_trim(one, cells.BLANKS)), wanted) for one in text)
                masks = [cells.buffer_of(pc.cast(one, pa.uint8()), np.uint8) for one in found]
                return np.asarray(np.concatenate([np.empty(0, np.uint8), *masks]) == 1)
        return np.asarray(by_text(column, label, lambda text: int(_loosely(text) in words), "categories") == 1)

    def _text_codes(self, piece: pa.Array, unforeseen: int) -> np.ndarray:
        """Text is its own canonical text: Arrow looks it up without making words of it."""
        read = self._read
        text = pc.utf8_trim(pc.cast(piece, pa.large_string()), cells.BLANKS) if self.strip else piece
        found = pc.index_in(pc.cast(text, pa.large_binary()), pa.array(list(read), pa.large_binary()))
        places = np.where(cells.nulls_of(found), len(read), cells.buffer_of(found, np.int32))
        codes = np.array([*read.values(), unforeseen], np.int32)[places]
        return np.where(cells.nulls_of(piece), UNREADABLE, codes).astype(np.int32)

    def _draw(self, codes: np.ndarray, gone: np.ndarray, generator: np.random.Generator) -> pa.Array:
        return self._held(codes, gone)

    def _held(self, values: np.ndarray, gone: np.ndarray) -> pa.Array:
        kinds = {type(word) for word in self.values}
        if self.other or str in kinds or (bool in kinds and len(kinds) > 1):
            texts = pa.array([*(text.decode() for text in self.known), *([OTHER] if self.other else [])], pa.string())
            return pa.DictionaryArray.from_arrays(pa.array(values, pa.int32(), mask=gone), texts)
        kind = pa.bool_() if bool in kinds else pa.float64() if float in kinds else pa.int64()
        return pa.array(list(self.values), kind).take(pa.array(values, mask=gone))

    # ---- what conditions ask for ----

    def span(self, literal: object) -> Span:
        if isinstance(literal, str) and literal == OTHER and self.other:
            return len(self.values), len(self.values) + 1
        text = text_of(literal)
        code = UNREADABLE if text is None else self._read.get(self._compared(text), UNREADABLE)
        if code == UNREADABLE:
            raise ParameterError(f"{self._not_a_word(literal)}. {self._listed()}")
        return code, code + 1

    def _not_a_word(self, literal: object) -> str:
        text = text_of(literal)
        if text is not None and self._compared(text) in self._read:
            return f"{literal!r} is not in its vocabulary: cells that say so are missing (is missing, in SQL is null)"
        words = [text.decode() for text in self.known]
        if isinstance(literal, bool | np.bool_):
            found = next((word for word in words if word.lower() == str(literal).lower()), None)
            here = f"here {found!r}" if found is not None else f"such as {words[0]!r}"
            return f"it holds words, no booleans: compare it with one of them, in quotes, {here}"
        if str(literal).strip("()<> ").lower() == "missing":
            return f"{literal!r} is not in its vocabulary: for cells without a word write is missing, in SQL is null"
        close = nearest(literal, words)
        guess = f" (did you mean {close!r}?)" if close is not None else ""
        if not self.other:
            return f"{str(literal)[:100]!r} is not in its vocabulary{guess}"
        return (
            f"{str(literal)[:100]!r} is not in its vocabulary{guess}, and such cells are counted together with "
            f"all unforeseen ones, as '{OTHER}'"
        )

    def _listed(self) -> str:
        names = ", ".join(repr(name) for name in self.levels[:_LISTED] if name != MISSING)
        return f"It knows {names}" + (f" and {self.size - _LISTED} more" if self.size > _LISTED else "")

    def _shares(self, spans: Spans) -> tuple[np.ndarray, np.ndarray]:
        share = np.zeros(self.line[1])
        for first, end in spans:
            share[first:end] = 1.0
        return share, np.zeros(len(share), bool)

    def _arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        usual = {"other": True, "missing": True, "strip": True, "ignore_case": False, "missing_words": ()}
        rest = {name: getattr(self, name) for name in usual if getattr(self, name) != usual[name]}
        return (list(self.values),), rest | ({"missing_words": list(self.missing_words)} if self.missing_words else {})

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"strip": self.strip}  # older files say nothing, and mean False


def _vocabulary(given: object) -> tuple[str | int | float | bool, ...]:
    if isinstance(given, str | bytes) or not isinstance(given, Sequence | np.ndarray) or len(given) == 0:
        if isinstance(given, str) and given == BLANK:
            raise _blank()
        raise parameter("values", "a list of words, at least one", given, _WANTED)
    if len(given) > MOST_LEVELS - 2:
        hint = "name the most frequent, as far as they are public: all others are counted together."
        raise parameter("values", f"a list of at most {MOST_LEVELS - 2} words", len(given), hint)
    return tuple(_word(one) for one in given)


def _loosely(text: bytes) -> bytes:
    """A text without blanks at its ends and without capitals."""
    word = text.decode("utf-8", "surrogateescape").strip(cells.BLANKS).lower()
    return word.encode("utf-8", "surrogateescape")


def _missing_words(given: object) -> tuple[str, ...]:
    listed = isinstance(given, Sequence) and not isinstance(given, str | bytes)
    if not listed or not all(isinstance(word, str) and word.isprintable() for word in given):  # type: ignore[attr-defined]
        raise parameter("missing_words", 'a list of words in quotes, such as ["-", "n/a"]', given)
    return tuple(given)  # type: ignore[arg-type]


def _blank() -> ParameterError:
    return ParameterError(f"`values` is still blank. Hint: {_WANTED}")


def _word(given: object) -> str | int | float | bool:
    """A word in a form that every file can hold."""
    if isinstance(given, np.generic) and not isinstance(given, np.datetime64):
        given = given.item()
    if isinstance(given, datetime.date | np.datetime64):
        text = text_of(given)
        given = None if text is None else text.decode()
    if isinstance(given, bool) or (isinstance(given, int) and abs(given) < 2**63):
        return given
    if isinstance(given, float) and math.isfinite(given):
        return given
    if isinstance(given, str) and len(given) <= MOST_TEXT and given not in (OTHER, MISSING):
        if given == BLANK:
            raise _blank()
        if not any("\ud800" <= letter <= "\udfff" for letter in given):
            return str(given)
    if isinstance(given, str) and given in (OTHER, MISSING):
        hint = f"leave it out: {given!r} is a level of its own already (other=True, missing=True)."
        raise parameter("values", "words of the table", given, hint)
    must = f"text, finite numbers, booleans or dates, texts of at most {MOST_TEXT:,} letters"
    raise parameter(
        "values", must, given, "leave it out, or write it as text; missing=True counts cells without a word."
    )
