"""Columns of words from a public vocabulary, and of booleans."""

from __future__ import annotations

import contextlib
import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

import numpy as np

from scumble.columns import cells
from scumble.columns.cells import number_in
from scumble.columns.column import (
    BLANK,
    MISSING,
    MOST_LEVELS,
    NEAR,
    OTHER,
    OTHERS,
    UNFORESEEN,
    UNREADABLE,
    Arguments,
    Coded,
    Column,
    Found,
    by_text,
    wrong_type,
)
from scumble.columns.containers import one_column
from scumble.columns.hashing import BUCKETS, UNTOLD, UnsupportedValue, bucket_of, text_of
from scumble.columns.line import Span
from scumble.errors import ParameterError, nearest, parameter
from scumble.files.lazy_modules import pa, pc

MOST_TEXT = 10_000
"""The most characters of a word."""
_LISTED = 12
MOST_FOUND = 256
"""The most bytes of a word that is found: longer ones are among the others."""
HASHED = 1 << 13
"""How finely words that are still to be found are counted next to other columns: by this part of their bucket."""
_WANTED = 'list words that are known in advance, such as ["Female", "Male"], not those of the table.'


@dataclass(frozen=True, repr=False)
class Category(Column):
    """Words from a public vocabulary, never the words that the table happens to hold.

    Cells are compared by their canonical text: 5, 5.0 and "5" are one word, and so are a date and its ISO text. An
    empty text, NA, N/A, #N/A, NaN, nan, null or NULL is a missing cell, unless the vocabulary has it, such as Namibia's
    "NA".

    Parameters
    ----------
    values : list of str, int, float or bool
        The vocabulary.
    other : bool
        Whether all other words share a level, "(other)". If not, records with such words are refused or dropped.
    missing : bool
        Whether missing cells have a level of their own.
    strip : bool
        Whether blanks at either end of a cell are ignored: "Ulm " is "Ulm".
    ignore_case : bool
        Whether case is ignored: "ULM" is "Ulm".
    missing_words : list of str
        Further words for a missing cell, such as "-".
    discover : bool
        Instead of `values`: the words that enough records hold are found privately, which needs δ above 0 and a tenth
        of ε. A release's schema has them as its `values`; all others are "(other)".
    within, parents : str, mapping
        The column that this one lies in, and its word for each of `values`: ``within="region", parents={"Ulm": "BW",
        "Bonn": "NRW"}``. That column is then not counted: in every record it is what this one says, "(other)" where
        this is, and missing where this is. Its own cells are not read.

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
    refuses: ClassVar[str] = "not a word (text, numbers, booleans, dates and times are read)"
    ordered: ClassVar[bool] = False

    values: Sequence[str | int | float | bool] = field(default=BLANK, compare=False)
    # Not compared: 1 == True, and they are two words.
    _: KW_ONLY
    other: bool = True
    missing: bool = True
    strip: bool = True
    ignore_case: bool = False
    missing_words: Sequence[str] = ()
    discover: bool = False
    within: str | None = None
    parents: Mapping[str, str] | None = field(default=None, compare=False)
    known: dict[bytes, int] = field(init=False, repr=False, compare=False)
    """The codes of the words as declared."""
    _read: dict[bytes, int] = field(init=False, repr=False, compare=False)
    """The codes of the words as compared, and of words for a missing cell."""
    _typed: tuple[tuple[str, bytes], ...] = field(init=False, repr=False)
    hashed: bool = field(init=False, repr=False)
    """Whether its words are still to be found."""
    above: tuple[bytes, ...] = field(init=False, repr=False)
    """The canonical text of each word's parent."""

    def __post_init__(self) -> None:
        put = self.__dict__.__setitem__  # frozen for everybody else
        self._settle()
        put("hashed", self.discover and isinstance(self.values, str) and self.values == BLANK)
        if self.discover and not self.other:
            raise ParameterError("`discover` needs other=True: words that few records hold are counted together.")
        put("values", _vocabulary(() if self.hashed else self.values, self.discover))
        gaps = (*cells.NO_VALUE_TEXTS, UNTOLD, *(word.encode() for word in self.missing_words))
        known, read = {}, dict.fromkeys(map(self._compared, gaps), UNREADABLE)
        for code, word in enumerate(self.values):
            text = text_of(word)
            assert text is not None
            alike = read.get(self._compared(text), UNREADABLE)
            if alike != UNREADABLE:
                same = f"{self.values[alike]!r} and {word!r} are the same word"
                raise ParameterError(f"`values` has {word!r} twice. Hint: {same}; list it once.")
            known[text] = read[self._compared(text)] = code
        put("_read", read)
        put("known", known)
        put("_typed", tuple((type(value).__name__, text) for value, text in zip(self.values, known, strict=True)))
        put("above", self._parents())
        put("parents", dict(zip(self.levels, (text.decode() for text in self.above), strict=False)) or None)

    def _parents(self) -> tuple[bytes, ...]:
        if self.within is None and self.parents is None:
            return ()
        if not isinstance(self.within, str) or not isinstance(self.parents, Mapping):
            hint = 'within="region", parents={"Ulm": "BW", "Bonn": "NRW"}.'
            raise parameter("parents", "a mapping from words to words, with `within`, a column", self.parents, hint)
        found = {self._read.get(self._compared(text_of(word) or b"")): text_of(up) for word, up in self.parents.items()}
        codes = range(len(self.values))
        if unknown := [
            word for word in self.parents if self._read.get(self._compared(text_of(word) or b"")) not in codes
        ]:
            raise ParameterError(
                f"`parents` has {str(unknown[0])[:60]!r}, and `values` has not. Hint: list it there, too."
            )
        above = tuple(found.get(code) or b"" for code in codes)
        if b"" in above:
            lost = self.levels[above.index(b"")]
            raise ParameterError(
                f"`parents` has no word of {self.within!r} for {lost[:60]!r}. Hint: give each word one."
            )
        return above

    # ---- levels ----

    @property
    def line(self) -> Span:
        return 0, self._words + self.other

    @property
    def _words(self) -> int:
        return HASHED if self.hashed else len(self.values)

    def _named(self) -> tuple[str, ...]:
        names = [f"word {k}" for k in range(HASHED)] if self.hashed else [text.decode() for text in self.known]
        return (*names, OTHER) if self.other else tuple(names)

    def words(self) -> str:
        listed = ", ".join(map(repr, self.values[:_LISTED])) + ", …" * (len(self.values) > _LISTED)
        if self.discover:
            listed = "words to be found" if self.hashed else f"found: {listed or 'none'}"
        return "; ".join([listed, *self.besides])

    @property
    def besides(self) -> list[str]:
        """What happens to cells that hold none of the words."""
        return ["others" if self.other else "others not counted", *(["missing"] if self.missing else [])]

    # ---- cells to levels and back ----

    @property
    def unforeseen(self) -> int | None:
        return self._words if self.other else None

    def _compared(self, text: bytes) -> bytes:
        """A cell's canonical text as it is compared."""
        word = text.decode("utf-8", "surrogateescape")
        word = word.strip(cells.BLANKS) if self.strip else word
        return (word.casefold() if self.ignore_case else word).encode("utf-8", "surrogateescape")

    def says_nothing(self, text: bytes) -> bool:
        return self._compared(text) in self._read

    def code_of(self, text: bytes) -> int:
        """The level of a cell by its canonical text; negative if it has none."""
        return self._read.get(self._compared(text), UNFORESEEN if self.unforeseen is None else self.unforeseen)

    def _codes(self, column: cells.Column, label: str) -> Coded:
        if self.hashed:  # the two parts of a word's bucket: as codes, and as positions
            words, places = self.words_in(column, label)
            buckets = np.array([self._bucket(word) for word in words], np.int32)
            low, high = np.where(buckets < 0, buckets, buckets % HASHED), np.maximum(buckets, 0) // HASHED
            low[buckets == BUCKETS], high[buckets == BUCKETS] = HASHED, 0
            return low[places], None, [high[places]]
        unforeseen = len(self.values) if self.other else UNFORESEEN
        if cells.is_arrow(column) and cells.is_text(cells.plain_type(column)) and not self.ignore_case:
            with contextlib.suppress(pa.ArrowInvalid):  # text that is not UTF-8
                pieces = [self._text_codes(piece, unforeseen) for piece in cells.chunks(column)]
                return np.concatenate([np.empty(0, np.int32), *pieces]), None, ()
        return by_text(column, label, self.code_of, "categories"), None, ()

    def words_in(self, column: cells.Column, label: str) -> cells.Texts:
        """The distinct words as they are compared, None for a missing cell, and where each cell's is among them."""
        try:
            texts, places = cells.texts(column)
        except UnsupportedValue:
            raise wrong_type(column, label, "categories") from None
        words = [None if text is None else self._compared(text) for text in texts]
        return [None if word is None or self._read.get(word) == UNREADABLE else word for word in words], places

    def finds(self, word: bytes) -> bool:
        """Whether a cell can hold a text that votes have spelled, as this column compares cells."""
        return self._compared(word) == word and word not in self._read

    def _bucket(self, word: bytes | None) -> int:
        if word is None:
            return UNREADABLE
        return bucket_of(word) if is_word(word) else BUCKETS

    def find(self, values: object, label: str = "The column") -> Found:
        found = super().find(values, label)
        strange = np.flatnonzero(found.codes == (UNFORESEEN if self.unforeseen is None else self.unforeseen))
        found.fates[strange] = OTHERS
        if self.hashed:
            return found._replace(words=self.words_in(one_column(values, "values"), label))
        if len(strange):
            words = {_loosely(text) for text in self.known}
            near = by_text(one_column(values, "values"), label, lambda text: int(_loosely(text) in words), "categories")
            found.fates[strange[near[strange] == 1]] = NEAR
        return found

    def _text_codes(self, piece: pa.Array, unforeseen: int) -> np.ndarray:
        """Text is its own canonical text, so Arrow can look it up, once for each word."""
        piece = piece if isinstance(piece, pa.DictionaryArray) else piece.dictionary_encode()
        words, read = piece.dictionary, self._read
        text = pc.utf8_trim(pc.cast(words, pa.large_string()), cells.BLANKS) if self.strip else words
        found = pc.index_in(pc.cast(text, pa.large_binary()), pa.array(list(read), pa.large_binary()))
        places = np.where(cells.nulls_of(found), len(read), cells.buffer_of(found, np.int32))
        codes = np.array([*read.values(), unforeseen], np.int32)[places]
        codes = np.append(np.where(cells.nulls_of(words), UNREADABLE, codes), UNREADABLE).astype(np.int32)
        indices = pc.fill_null(pc.cast(piece.indices, pa.int32()), len(words))
        return np.take(codes, cells.buffer_of(indices, np.int32))

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
            raise ParameterError(self._not_a_word(literal))
        return code, code + 1

    def _not_a_word(self, literal: object) -> str:
        words = [text.decode() for text in self.known]
        close = nearest(literal, words)
        guess = f"did you mean {close!r}?" if close is not None else f"it has {', '.join(map(repr, words[:4]))}"
        other = f"; other words are counted as '{OTHER}', missing ones are asked for by `is missing`" * self.other
        return f"{str(literal)[:60]!r} is not in its vocabulary ({guess}){other}"

    def _arguments(self) -> Arguments:
        first, rest = super()._arguments()
        if not self.parents:
            rest.pop("within", None)
        return [] if self.hashed else first, rest

    def to_dict(self) -> dict[str, object]:
        return super().to_dict() | {"strip": self.strip}  # the oldest files lack it, and mean False


def is_word(text: bytes) -> bool:
    """Whether a text can be a word that is found: a few letters that can be read."""
    if not 0 < len(text) <= MOST_FOUND or text in (OTHER.encode(), MISSING.encode(), BLANK.encode()):
        return False
    try:
        return text.decode().isprintable()
    except UnicodeDecodeError:
        return False


def _vocabulary(given: object, empty: bool = False) -> tuple[str | int | float | bool, ...]:
    if isinstance(given, str | bytes) or not isinstance(given, Sequence | np.ndarray) or len(given) < 1 - empty:
        if isinstance(given, str) and given == BLANK:
            raise _blank()
        raise parameter("values", "a list of words, at least one", given, _WANTED)
    if len(given) > MOST_LEVELS - 2:
        raise parameter("values", f"a list of at most {MOST_LEVELS - 2} words", len(given), "list the most frequent.")
    return tuple(_word(one) for one in given)


def _loosely(text: bytes) -> bytes:
    """A text in lower case and without blanks at its ends."""
    word = text.decode("utf-8", "surrogateescape").strip(cells.BLANKS).lower()
    return word.encode("utf-8", "surrogateescape")


def _blank() -> ParameterError:
    return ParameterError(f"`values` is still blank. Hint: {_WANTED}")


def _word(given: object) -> str | int | float | bool:
    """A word of a type that every file can hold."""
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
    must = f"text, finite numbers, booleans or dates, of at most {MOST_TEXT:,} letters"
    got = f"a text of {len(given):,}" if isinstance(given, str) and len(given) > MOST_TEXT else given
    raise parameter("values", must, got, "other=True and missing=True make levels of their own.")


_WORDS = {b"no": 0, b"n": 0, b"f": 0, b"off": 0, b"yes": 1, b"y": 1, b"t": 1, b"on": 1}


@dataclass(frozen=True, repr=False)
class Boolean(Column):
    """True or false.

    Booleans, the numbers 0 and 1, and the texts true, yes, y, t, on, 1 and their opposites in any case are read. Any
    other cell is counted as missing, or its record is refused or dropped.

    Parameters
    ----------
    missing : bool
        Whether missing cells have a level of their own.
    missing_words : list of str
        Words for a missing cell, such as "-".

    Examples
    --------
    >>> smoker = Boolean(missing=True)
    >>> smoker.levels, smoker.encode([True, "No", 1.0, None]).codes.tolist()
    (('false', 'true', '(missing)'), [1, 0, 1, 2])
    """

    kind: ClassVar[str] = "boolean"
    role: ClassVar[str] = "word"
    refuses: ClassVar[str] = "not a boolean (true, yes, y, t, on, 1 and their opposites are read)"
    ordered: ClassVar[bool] = False

    _: KW_ONLY
    missing: bool = False
    missing_words: Sequence[str] = ()

    def __post_init__(self) -> None:
        self._settle()

    @property
    def line(self) -> Span:
        return 0, 2

    def _named(self) -> tuple[str, ...]:
        return "false", "true"

    def _means(self) -> np.ndarray:
        return np.array([0.0, 1.0])

    def words(self) -> str:
        return "true or false" + "; missing" * self.missing

    def _codes(self, column: cells.Column, label: str) -> Coded:
        return by_text(column, label, self._code, "booleans"), None, ()

    def _unread(self, column: cells.Column, gone: np.ndarray) -> np.ndarray:
        unread = super()._unread(column, gone)
        return np.asarray(unread[by_text(column, "", self.says_nothing, "booleans")[unread] != 1])

    def _code(self, text: bytes) -> int:
        return UNREADABLE if self.says_nothing(text) else _code(text)

    def _held(self, values: np.ndarray, gone: np.ndarray) -> pa.Array:
        return pa.array(values == 1, pa.bool_(), mask=gone)

    def span(self, literal: object) -> Span:
        text = text_of(literal)
        code = UNREADABLE if text is None else _code(text)
        if code < 0:
            raise ParameterError("it holds booleans: compare it with true or false, without quotes")
        return code, code + 1


def _code(text: bytes) -> int:
    number = number_in(text)
    if number in (0.0, 1.0):
        return int(number)
    return _WORDS.get(text.strip().lower(), UNREADABLE)
