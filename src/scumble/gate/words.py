"""Words that nobody declared: candidates of one pass, and those that enough records hold (``words.proof.md``).

**Candidates.** A word has one of 2^20 public buckets. A bucket holds one word and its *margin*: a record with that word
adds one to it, a record with another word of the bucket takes one off, and at zero the next word moves in (Boyer &
Moore 1981; Misra & Gries 1982 with one counter). Memory is bounded, and a word that shares its bucket with none has its
exact count. One record, wherever it comes, moves one bucket by one step: margins are numbers on a star, one ray for
each word, and every further record, and every merge, moves two states that are one step apart in parallel.

**Publication.** Every bucket, empty or not, gets discrete Laplace noise; a word goes out with its noisy margin if that
reaches a threshold (Korolova, Kenthapadi, Mishra & Ntoulas 2009). The claim's δ is the chance that words go out which a
single person holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from scumble.columns.category import is_word
from scumble.columns.hashing import BUCKETS, bucket_of, text_of
from scumble.errors import CorruptFileError, PrivacyError
from scumble.privacy import audit_hooks
from scumble.privacy.budget import Budget, failure
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.laws.discrete_laplace import least_threshold

Integers = npt.NDArray[np.int64]

STORED = ("margins", "ends", "letters")
"""What candidates are stored as: margins, where words end, and the words one after the other."""

MOST_MARGIN = 2**62
"""Only damaged parts have more. To stop there moves no two states farther apart."""

NO_DELTA = (
    "Words cannot be found privately with δ = 0 or a budget in ρ or μ: a word that one person holds would then have to "
    "be as likely as none. Hint: pass epsilon and a delta such as 1e-6, or declare the words."
)


class Words:
    """The candidates of one column: secret.

    >>> words = Words().update([b"Ulm", b"Bonn"], [0, 1, 0, 0])
    >>> words.merge(Words().count(["Ulm", None])).margins() == {b"Ulm": 4, b"Bonn": 1}
    True
    """

    def __init__(self) -> None:
        self._held: dict[int, tuple[bytes, int]] = {}
        """Of each bucket that is not empty, the word and its margin."""

    def __repr__(self) -> str:
        return "Words(secret)"

    def update(self, words: Sequence[bytes | None], places: npt.ArrayLike) -> Words:
        """Count records in their order, each with the place of its word; None is no word, nor is place −1."""
        numbers: dict[bytes, int] = {}
        own = [-1 if word is None or not is_word(word) else numbers.setdefault(word, len(numbers)) for word in words]
        ids = np.array([*own, -1], np.int64)[np.asarray(places, np.int64)]
        ids = ids[ids >= 0]
        times = np.bincount(ids, minlength=len(numbers)).tolist()
        listed, buckets = [*numbers], [bucket_of(word) for word in numbers]
        _, same, sizes = np.unique(buckets, return_inverse=True, return_counts=True)
        shared = sizes[same] > 1
        for word, bucket, many, mixed in zip(listed, buckets, times, shared.tolist(), strict=True):
            if many and not mixed:
                self._add(bucket, word, many)
        for number in ids[shared[ids]].tolist():  # several words of this batch share the bucket: one after the other
            self._add(buckets[number], listed[number], 1)
        return self

    def count(self, cells: Iterable[object]) -> Words:
        """Count records by their cells, in their order."""
        texts = [text_of(cell) for cell in cells]
        return self.update(texts, np.arange(len(texts)))

    def merge(self, other: Words) -> Words:
        """Take in the candidates of other records."""
        for bucket, (word, margin) in other._held.items():
            self._add(bucket, word, margin)
        return self

    def _add(self, bucket: int, word: bytes, many: int) -> None:
        """So many steps towards the end of the word's ray, which is at `MOST_MARGIN`."""
        held, margin = self._held.get(bucket, (word, 0))
        margin += many if held == word else -many
        if margin:
            self._held[bucket] = (held if margin > 0 else word, min(abs(margin), MOST_MARGIN))
        else:
            self._held.pop(bucket, None)

    def margins(self) -> dict[bytes, int]:
        """The exact margins: secret."""
        return dict(self._held.values())

    def clear(self) -> None:
        """Forget everything."""
        self._held.clear()

    # ---- noise, and files ----

    def dense(self) -> tuple[Integers, dict[int, bytes]]:
        """The margin of each bucket, and the words: secret."""
        margins = np.zeros(BUCKETS, np.int64)
        margins[[*self._held]] = [margin for _, margin in self._held.values()]
        return margins, {bucket: word for bucket, (word, _) in self._held.items()}

    def to_arrays(self) -> dict[str, np.ndarray]:
        """What a secret file holds (`STORED`)."""
        words = [word for word, _ in self._held.values()]
        margins = np.array([margin for _, margin in self._held.values()], np.int64)
        ends = np.cumsum([len(word) for word in words], dtype=np.int64)
        return dict(zip(STORED, (margins, ends, np.frombuffer(b"".join(words), np.uint8)), strict=True))

    @staticmethod
    def from_arrays(margins: np.ndarray, ends: np.ndarray, letters: np.ndarray) -> Words:
        """The candidates that `to_arrays` wrote; whatever else is refused."""
        made, starts = Words(), [0, *ends.tolist()]
        whole = margins.dtype == ends.dtype == np.int64 and letters.dtype == np.uint8 and letters.ndim == 1
        if not whole or margins.shape != ends.shape or margins.ndim != 1 or starts[-1] != len(letters):
            raise CorruptFileError("The file is damaged: its words do not fit together.")
        data = letters.tobytes()
        for first, last, margin in zip(starts, starts[1:], margins.tolist(), strict=False):
            word = data[first:last] if first < last else b""
            bucket = bucket_of(word)
            if not is_word(word) or bucket in made._held or not 0 < margin < 2**62:
                raise CorruptFileError("The file is damaged: it has words that were not counted.")
            made._held[bucket] = word, margin
        return made


def claim_of_words(budget: Budget, columns: int) -> PrivacyClaim:
    """What publishing the words of so many columns costs: noise for all of ε, and a threshold for all of δ."""
    if budget.pure or budget.rho is not None:
        raise PrivacyError(NO_DELTA)
    pure = replace(budget, delta=0, count_share=0).claim(columns)
    allowed = failure(budget.delta)
    least = least_threshold(pure.moves, pure.scales.counters, allowed)
    return replace(pure, delta=allowed, rho=None, threshold=least)


def publish_words(columns: Sequence[Words], claim: PrivacyClaim, name: str) -> list[dict[bytes, int]]:
    """The words of each column with their noisy margins, the most frequent first: public.

    The claim must have been charged. As many numbers are drawn whatever is held, so neither their number nor the time
    that they take says anything.
    """
    noise = claim.draw_counters((len(columns), BUCKETS))
    audit_hooks.hold(name, claim, noise, None)
    words = []
    for row, one in enumerate(columns):
        margins, mine = one.dense()
        noise[row] += margins
        words.append(mine)
        margins.fill(0)
    noisy, _ = audit_hooks.publish(noise, None, name)
    assert claim.threshold is not None
    public = []
    for row, mine in zip(noisy, words, strict=True):
        far = np.flatnonzero(row >= claim.threshold).tolist()
        passed = {mine[bucket]: int(row[bucket]) for bucket in far if bucket in mine}
        public.append(dict(sorted(passed.items(), key=lambda one: (-one[1], one[0]))))
    return public


def share_of_words(budget: Budget, columns: int) -> tuple[Budget, Budget]:
    """A budget divided: for the words of so many columns, and for the rest."""
    part = min(columns * SHARE, MOST)
    return budget.share(part, Fraction(1, 2)), budget.share(1 - part, Fraction(1, 2))


SHARE, MOST = Fraction(1, 10), Fraction(1, 2)
"""The share of ε that finds the words of one column, and of all columns at most: a prior. They have half of δ."""
