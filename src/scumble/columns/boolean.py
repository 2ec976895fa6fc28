"""A column of booleans."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from scumble.columns import cells
from scumble.columns.cells import number_in
from scumble.columns.column import MISSING, UNREADABLE, Arguments, Column, by_text, flag
from scumble.columns.hashing import text_of
from scumble.columns.line import Span, Spans
from scumble.errors import ParameterError
from scumble.files.lazy_modules import pa

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

    def __post_init__(self) -> None:
        self.__dict__["missing"] = flag("missing", self.missing)

    @property
    def line(self) -> Span:
        return 0, 2

    @property
    def size(self) -> int:
        return 2 + self.missing

    @property
    def levels(self) -> tuple[str, ...]:
        return ("false", "true", MISSING) if self.missing else ("false", "true")

    @property
    def representative(self) -> np.ndarray:
        """0 and 1; NaN for missing cells."""
        return np.array([0.0, 1.0, np.nan][: self.size])

    def words(self) -> str:
        return "true or false" + "; missing" * self.missing

    def _codes(self, column: cells.Column, label: str) -> tuple[np.ndarray, None]:
        return by_text(column, label, _code, "booleans"), None

    def _draw(self, codes: np.ndarray, gone: np.ndarray, share: np.ndarray) -> pa.Array:
        return self._held(codes, gone)

    def _held(self, values: np.ndarray, gone: np.ndarray) -> pa.Array:
        return pa.array(values == 1, pa.bool_(), mask=gone)

    def span(self, literal: object) -> Span:
        text = text_of(literal)
        code = UNREADABLE if text is None else _code(text)
        if code < 0:
            raise ParameterError("it holds booleans: compare it with true or false, without quotes")
        return code, code + 1

    def _shares(self, spans: Spans) -> tuple[np.ndarray, np.ndarray]:
        share = np.zeros(2)
        for first, end in spans:
            share[first:end] = 1.0
        return share, np.zeros(2, bool)

    def _arguments(self) -> Arguments:
        return (), {"missing": True} if self.missing else {}


def _code(text: bytes) -> int:
    number = number_in(text)
    if number in (0.0, 1.0):
        return int(number)
    return _WORDS.get(text.strip().lower(), UNREADABLE)
