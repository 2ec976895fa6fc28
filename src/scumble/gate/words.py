"""Words that nobody declared: candidates of one pass, and those that enough records hold (``words.proof.md``).

**Candidates.** A word has one of 2^20 public buckets. For each bit of its text, the records of a bucket vote: one with
that bit set adds one, any other takes one off. The votes' signs spell the bucket's *leader*, and the narrowest vote is
its *margin*: of one word its number of records, of two words the difference. Votes are sums over records, so no order,
thread or merge matters, and one record moves each of them by one.

**Publication.** Every bucket, empty or not, gets noise of the law that the rest of the release has; a leader goes out
with its noisy margin if that reaches a threshold (Korolova, Kenthapadi, Mishra & Ntoulas 2009). A part of the claim's δ
is the chance that words go out which a single person holds.

**Memory.** Words are kept with their numbers, which say all votes. Beyond `MOST_WORDS`, those of the fullest buckets
are forgotten and their votes kept: at most 2^20 buckets, with as many numbers as their longest word has bits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt

from scumble.columns.category import MOST_FOUND, is_word
from scumble.columns.hashing import BUCKETS, bucket_of, text_of
from scumble.errors import CorruptFileError, PrivacyError
from scumble.privacy import audit_hooks
from scumble.privacy.budget import Budget, failure
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.sensitivity import Reach

Integers = npt.NDArray[np.int64]

STORED = ("margins", "ends", "letters", "buckets", "spans", "votes")
"""What candidates are stored as: words' numbers, where words end, and the words one after the other; buckets of which
only votes are kept, where these end, and the votes."""

MOST_WORDS = 2 * BUCKETS
"""Words that are kept as they are: about half a gigabyte, and two for each bucket."""
AT_ONCE = 1024
"""Buckets, and words, whose votes are counted together: some megabytes."""
MOST_RECORDS = 2**62
"""Only damaged parts have more: numbers with noise fit into 64 bits."""

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
        self._numbers: dict[bytes, int] = {}
        self._votes: dict[int, Integers] = {}
        """Of a bucket, the records whose words are forgotten: how many, and how many of them have each bit set."""

    def __repr__(self) -> str:
        return "Words(secret)"

    def update(self, words: Sequence[bytes | None], places: npt.ArrayLike) -> Words:
        """Count records, each with the place of its word; None is no word, nor is place −1."""
        known = np.asarray(places, np.int64)
        times = np.bincount(known[known >= 0], minlength=len(words)).tolist()
        return self._add((word, many) for word, many in zip(words, times, strict=True) if word and is_word(word))

    def count(self, cells: Iterable[object]) -> Words:
        """Count records by their cells."""
        texts = [text_of(cell) for cell in cells]
        return self.update(texts, np.arange(len(texts)))

    def merge(self, other: Words) -> Words:
        """Take in the candidates of other records."""
        for bucket, votes in other._votes.items():
            mine, its = sorted((self._votes.get(bucket, NOBODY), votes), key=len)
            its = its.astype(np.int64)
            its[: len(mine)] += mine
            self._votes[bucket] = _narrow(its)
        return self._add(other._numbers.items())

    def _add(self, words: Iterable[tuple[bytes, int]]) -> Words:
        for word, many in words:
            if many:
                self._numbers[word] = self._numbers.get(word, 0) + many
        if len(self._numbers) > MOST_WORDS:
            fullest = sorted(self._buckets().items(), key=lambda one: -len(one[1]))
            while len(self._numbers) > MOST_WORDS // 2:
                some, fullest = dict(fullest[:AT_ONCE]), fullest[AT_ONCE:]
                self._votes |= {bucket: _narrow(votes) for bucket, votes in zip(some, self._tallied(some), strict=True)}
                for word in chain.from_iterable(some.values()):
                    del self._numbers[word]
        return self

    def _buckets(self) -> dict[int, list[bytes]]:
        found = defaultdict[int, list[bytes]](list)
        for word in self._numbers:
            found[bucket_of(word)].append(word)
        return found

    @property
    def records(self) -> int:
        """How many have words: secret."""
        return sum(self._numbers.values()) + sum(int(votes[0]) for votes in self._votes.values())

    def leaders(self) -> Iterator[tuple[int, bytes, int]]:
        """The buckets with a leader that is a word, the leaders and their margins: secret.

        Whether a text is a word of its bucket is public; whether any record has it must not matter here.
        """
        buckets: dict[int, list[bytes]] = {bucket: [] for bucket in self._votes}
        for bucket, own in self._buckets().items():
            if len(own) > 1 or bucket in buckets:
                buckets[bucket] = own
            else:
                yield bucket, own[0], self._numbers[own[0]]
        listed = [*buckets.items()]
        for first in range(0, len(listed), AT_ONCE):
            some = dict(listed[first : first + AT_ONCE])
            votes = self._tallied(some)
            ahead = votes[:, 1:] - (votes[:, :1] - votes[:, 1:])
            margins, spelled = np.abs(ahead).min(axis=1).tolist(), np.packbits(ahead > 0, axis=1)
            for bucket, margin, letters in zip(some, margins, spelled, strict=True):
                leader = letters.tobytes().rstrip(b"\0")
                if margin and is_word(leader) and bucket_of(leader) == bucket:
                    yield bucket, leader, margin

    def _tallied(self, buckets: Mapping[int, list[bytes]]) -> Integers:
        """The votes in these buckets, a row each, of the words that are kept in them and of those forgotten."""
        words, held = [*chain.from_iterable(buckets.values())], [self._votes.get(bucket, NOBODY) for bucket in buckets]
        votes = np.zeros(
            (len(buckets), max([8 * len(word) + 1 for word in words] + [len(one) for one in held])), np.int64
        )
        for row, one in zip(votes, held, strict=True):
            row[: len(one)] += one
        rows = np.repeat(np.arange(len(buckets)), [len(own) for own in buckets.values()])
        for first in range(0, len(words), AT_ONCE):  # a single bucket may have all words
            some, theirs = words[first : first + AT_ONCE], rows[first : first + AT_ONCE]
            texts = np.array(some, bytes)  # shorter ones end in zeros, which are votes against
            bits = np.unpackbits(texts.view(np.uint8).reshape(len(some), -1), axis=1).astype(np.int64)
            cast = np.column_stack([np.ones(len(some), np.int64), bits])
            cast *= np.array([self._numbers[word] for word in some], np.int64)[:, None]
            starts = np.flatnonzero(np.diff(theirs, prepend=-1))
            votes[theirs[starts], : cast.shape[1]] += np.add.reduceat(cast, starts)
        return votes

    def split(self, parts: int) -> dict[int, Words]:
        """The same candidates in parts of so many, by their buckets."""
        found = defaultdict[int, Words](Words)
        for bucket, words in self._buckets().items():
            found[bucket % parts]._numbers.update((word, self._numbers[word]) for word in words)
        for bucket, votes in self._votes.items():
            found[bucket % parts]._votes[bucket] = votes
        return found

    def margins(self) -> dict[bytes, int]:
        """The exact margins: secret."""
        return {leader: margin for _, leader, margin in self.leaders()}

    def clear(self) -> None:
        """Forget everything."""
        self._numbers.clear()
        self._votes.clear()

    # ---- files ----

    def to_arrays(self) -> dict[str, np.ndarray]:
        """What a secret file holds (`STORED`)."""
        votes = np.concatenate([NOBODY, *self._votes.values()], dtype=np.int64)
        found = (
            np.array([*self._numbers.values()], np.int64),
            np.cumsum([len(word) for word in self._numbers], dtype=np.int64),
            np.frombuffer(b"".join(self._numbers), np.uint8),
            np.array([*self._votes], np.int64),
            np.cumsum([len(one) for one in self._votes.values()], dtype=np.int64),
            votes,
        )
        return dict(zip(STORED, found, strict=True))

    @staticmethod
    def from_arrays(*arrays: np.ndarray) -> Words:
        """The candidates that `to_arrays` wrote; whatever else is refused. Files without the last three are older."""
        given = [*arrays, *[NOBODY] * (len(STORED) - len(arrays))]
        margins, ends, letters, buckets, spans, votes = given
        flat = all(one.ndim == 1 for one in arrays)
        typed = (
            all(one.dtype == np.int64 for one in (margins, ends, buckets, spans, votes)) and letters.dtype == np.uint8
        )
        if not flat or not typed or margins.shape != ends.shape or buckets.shape != spans.shape:
            raise _damaged()
        words = _parts(letters, ends)
        made = Words()
        made._numbers = {word.tobytes(): many for word, many in zip(words, margins.tolist(), strict=True)}
        made._votes = dict(zip(buckets.tolist(), _parts(votes, spans), strict=True))
        whole = len(made._numbers) == len(margins) and len(made._votes) == len(buckets)
        known = all(map(is_word, made._numbers)) and all(0 <= bucket < BUCKETS for bucket in made._votes)
        counted = (margins > 0).all() and all(map(_are_votes, made._votes.values()))
        if not (whole and known and counted and made.records <= MOST_RECORDS):
            raise _damaged()
        made._votes = {bucket: _narrow(own) for bucket, own in made._votes.items()}
        return made


NOBODY = np.zeros(0, np.int64)


def _damaged() -> CorruptFileError:
    return CorruptFileError("The file is damaged: it has words that were not counted.")


def _narrow(votes: Integers) -> Integers:
    """Votes in numbers as narrow as hold them, without the bits of longer words."""
    used = 8 * -(-int(np.flatnonzero(votes)[-1]) // 8) + 1
    return votes[:used].astype(np.min_scalar_type(-1 - int(votes[0])))


def _are_votes(votes: Integers) -> bool:
    whole = len(votes) % 8 == 1 and 8 < len(votes) <= 8 * MOST_FOUND + 1
    return bool(whole and votes[1:].any() and (votes >= 0).all() and (votes <= votes[0]).all())


def _parts(data: np.ndarray, ends: Integers) -> list[np.ndarray]:
    """The parts that end at these places, none of them empty."""
    edges = [0, *ends.tolist()]
    if edges[-1] != len(data) or any(first >= last for first, last in pairwise(edges)):
        raise _damaged()
    return [data[first:last] for first, last in pairwise(edges)]


def claim_of_words(budget: Budget, columns: int) -> PrivacyClaim:
    """What publishing the words of so many columns costs.

    Laplace noise has all of ε and the threshold all of δ. Gaussian noise, for a budget in ρ, has half of δ.
    """
    allowed = failure(budget.delta)
    if budget.rho is not None:
        allowed /= 2
    noise = replace(budget, delta=0 if budget.rho is None else allowed, count_share=0).claim(columns, reach=EITHER_WAY)
    least = noise.law.least_threshold(noise.moves, noise.scales.counters, allowed)
    return replace(noise, delta=failure(budget.delta), rho=None, signed=False, threshold=least)


def publish_words(columns: Sequence[Words], claim: PrivacyClaim, name: str) -> list[dict[bytes, int]]:
    """The words of each column with their noisy margins, the most frequent first: public.

    The claim must have been charged. As many numbers are drawn whatever is held, so neither their number nor the time
    that they take says anything.
    """
    noise = claim.draw_counters((len(columns), BUCKETS))
    audit_hooks.hold(name, claim, noise, None)
    words: list[dict[int, bytes]] = []
    for row, one in enumerate(columns):
        words.append({})
        for bucket, word, margin in one.leaders():
            noise[row, bucket] += margin
            words[-1][bucket] = word
    noisy, _ = audit_hooks.publish(noise, None, name)
    assert claim.threshold is not None
    public = []
    for row, mine in zip(noisy, words, strict=True):
        far = np.flatnonzero(row >= claim.threshold).tolist()
        passed = {mine[bucket]: int(row[bucket]) for bucket in far if bucket in mine}
        public.append(dict(sorted(passed.items(), key=lambda one: (-one[1], one[0]))))
    return public


def divided(budget: Budget, columns: int, rest: Callable[[Budget], PrivacyClaim]) -> tuple[PrivacyClaim, Budget]:
    """What finding the words of so many columns will claim, and the budget that is left; `rest` is what that claims.

    Words have the law of the rest: Laplace noises cost the sum of their ε, Gaussian ones the sum of their ρ.
    """
    if budget.pure or budget.rho is not None:
        raise PrivacyError(NO_DELTA)
    pure = rest(budget).law.pure
    odds = ODDS * Fraction(columns ** (1 / 2 if pure else 1 / 3)).limit_denominator(1000)
    shares, halves = (odds / (1 + odds), 1 / (1 + odds)), (Fraction(1, 2),) * 2
    if pure:
        own, left = (budget.share(share, half) for share, half in zip(shares, halves, strict=True))
    else:
        own, left = budget.divide(shares, lambda two: [claim_of_words(two[0], columns), rest(two[1])], halves)
    return claim_of_words(own, columns), left


EITHER_WAY = Reach(signed=True)
"""How a record moves the margins of a column: one of them up or down, by one."""
ODDS = Fraction(1, 9)
"""The part of the budget that finds the words of one column, relative to the rest: a prior. Words have half of δ.

With R columns and a part p of ε, thresholds are proportional to R/p and errors of views to 1/(1 − p): their weighted
sum is least where the odds grow with R^(1/2). Of ρ they are proportional to √(R/p) and 1/√(1 − p), and the odds grow
with R^(1/3)."""
