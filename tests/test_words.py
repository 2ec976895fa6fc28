"""Words that nobody declared: what a record moves, what is published of it, and what that costs."""

from __future__ import annotations

import contextlib
import itertools
import math
import random
import tracemalloc
from dataclasses import replace
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scumble import files
from scumble.columns.category import MOST_FOUND, Boolean, Category
from scumble.errors import CorruptFileError, MergeError, ParameterError, PrivacyError
from scumble.gate.secret import Secret
from scumble.gate.words import Words, _are_votes, _narrow, claim_of_words, publish_words, share_of_words
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.composition import overlapping
from scumble.privacy.laws.discrete_laplace import revealed
from scumble.privacy.sensitivity import Moves
from scumble.table.sketch import TableSketch

LETTERS = [b"a", b"b", b"c", b"d", b"e", b"f"]
RECORDS = st.lists(st.integers(-1, len(LETTERS) - 1), max_size=30)


few_buckets = mock.patch("scumble.gate.words.bucket_of", lambda word: word[0] % 2)
"""Where words must meet: "a" with "c" and "e", the others with each other."""
few_words = mock.patch("scumble.gate.words.MOST_WORDS", 2)
"""Where words must be forgotten, and their votes kept."""


def counted(records: list[int], cuts: list[int] = []) -> Words:  # noqa: B006
    """The records in batches that end at these places."""
    found, edges = Words(), sorted({0, len(records), *(cut % (len(records) + 1) for cut in cuts)})
    for first, last in itertools.pairwise(edges):
        found.update(LETTERS, records[first:last])
    return found


def by_definition(records: list[int]) -> dict[bytes, int]:
    """The slow twin: bit by bit, record by record."""
    found = {}
    for bucket in range(2):
        words = [LETTERS[number][0] for number in records if number >= 0 and LETTERS[number][0] % 2 == bucket]
        votes = [sum(1 if word >> bit & 1 else -1 for word in words) for bit in range(8)]
        leader = sum(2**bit for bit, vote in enumerate(votes) if vote > 0)
        if min(map(abs, votes)) and leader % 2 == bucket:
            found[bytes([leader])] = min(map(abs, votes))
    return found


def distance(one: Words, other: Words) -> int:
    mine, its = one.margins(), other.margins()
    return sum(abs(mine.get(word, 0) - its.get(word, 0)) for word in {*mine, *its})


@given(st.lists(RECORDS, min_size=1, max_size=4), st.lists(st.integers(0, 99)), st.booleans(), st.randoms())
@example([[0, 0, 2, 4, 4, 2]], [2], False, random.Random(1))  # a third word
@example([[0, 2, 4, 4], [1, 3, 5, 5]], [2], True, random.Random(1))
def test_no_order_batch_or_merge_matters(
    parts: list[list[int]], cuts: list[int], forgetful: bool, chance: random.Random
) -> None:
    records = [number for part in parts for number in part]
    chance.shuffle(records)
    with few_buckets, few_words if forgetful else contextlib.nullcontext():
        merged, *rest = (counted(part, cuts) for part in parts)
        for part in rest:
            merged.merge(part)
        stored = Words.from_arrays(*merged.to_arrays().values())
        for found in (merged, stored, counted(records, cuts)):
            assert found.margins() == by_definition(records)
            assert found.records == sum(number >= 0 for number in records)


@given(RECORDS, st.lists(st.integers(0, len(LETTERS) - 1), max_size=4), st.randoms())
def test_a_persons_records_move_margins_by_their_number_whatever_the_orders(
    others: list[int], own: list[int], chance: random.Random
) -> None:
    everybody = [*others, *own]
    chance.shuffle(everybody)
    with few_buckets:
        assert distance(counted(others), counted(everybody)) <= len(own)


def test_a_leader_is_any_word_of_its_bucket_whoever_has_it() -> None:
    """If only words that somebody has went out, one record with "aaa" more would let it out with a margin of 101."""
    with mock.patch("scumble.gate.words.bucket_of", lambda word: 0):
        found = Words().update([b"baa", b"aba", b"aab"], np.repeat([0, 1, 2], 100))
        assert found.margins() == {b"aaa": 100} and found.count(["aaa"]).margins() == {b"aaa": 101}


def test_a_bucket_of_many_words_keeps_their_votes_alone() -> None:
    words = [b"%06d" % number for number in range(3000)]
    with mock.patch("scumble.gate.words.MOST_WORDS", 100), mock.patch("scumble.gate.words.bucket_of", lambda word: 7):
        found = Words()
        for first in range(0, len(words), 100):
            found.update(words[first : first + 100], np.arange(100))
        found.update([b"many"], np.zeros(4000, np.int64))
        arrays = found.to_arrays()
        assert len(arrays["margins"]) <= 100 and len(arrays["votes"]) == 1 + 8 * 6 and found.records == 7000
        (only,) = found.margins().items()
        assert only[0] == b"many" and 1000 <= only[1] <= 4000
    assert found._votes[7].dtype == np.int16


def test_beyond_the_most_words_half_of_them_are_kept() -> None:
    with mock.patch.multiple("scumble.gate.words", MOST_WORDS=4, AT_ONCE=1):
        found = Words().update(LETTERS[:4], range(4))
        assert [len(found.to_arrays()[name]) for name in ("margins", "buckets")] == [4, 0]
        found.update(LETTERS[4:5], [0])
        assert [len(found.to_arrays()[name]) for name in ("margins", "buckets")] == [2, 3]


@pytest.mark.parametrize(("records", "kind"), [(127, np.int8), (128, np.int16)])
def test_votes_are_kept_in_numbers_as_few_and_narrow_as_hold_them(records: int, kind: type) -> None:
    votes = np.zeros(33, np.int64)
    votes[[0, 9]] = records, 7  # the first bit of a second letter
    found = _narrow(votes)
    assert found.dtype == kind and found.tolist() == [records, *[0] * 8, 7, *[0] * 7]


def test_votes_are_of_whole_letters_and_of_words_that_may_be() -> None:
    lengths = {1: False, 9: True, 10: False, 8 * MOST_FOUND + 1: True, 8 * MOST_FOUND + 9: False}
    for length, good in lengths.items():
        assert _are_votes(np.full(length, 3)) == good
    assert _are_votes(np.array([3, 1, *[0] * 7])) and not _are_votes(np.array([3, *[0] * 8]))


def test_words_get_a_tenth_for_one_column_a_quarter_for_nine_and_half_of_delta() -> None:
    for columns, part in ((1, Fraction(1, 10)), (9, Fraction(1, 4))):
        own, rest = share_of_words(Budget(Fraction(1), Fraction(1, 10**6)), columns)
        assert (own.epsilon, rest.epsilon, own.delta, rest.delta) == (part, 1 - part, *[Fraction(1, 2 * 10**6)] * 2)


def test_words_of_one_bucket_need_no_more_memory_than_others() -> None:
    words = [b"%0250d" % number for number in range(20_000)]
    with mock.patch("scumble.gate.words.bucket_of", lambda word: 7):
        found = Words().update(words, np.arange(len(words)))
        tracemalloc.start()
        assert not found.margins()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 100e6  # at once, their votes were 320 MB


def tail(margin: int, claim: PrivacyClaim, threshold: int) -> float:
    """The chance that a word of this margin is published, from the law of the noise."""
    ratio, far = math.exp(-1 / float(claim.scales.counters)), threshold - margin
    return ratio**far / (1 + ratio) if far > 0 else 1 - ratio ** (1 - far) / (1 + ratio)


def excess(v: tuple[int, ...], w: tuple[int, ...], claim: PrivacyClaim, threshold: int) -> float:
    """The least δ at the claim's ε for the margins v against w: sums over all that can be published of them."""
    reach, scale = 60, float(claim.scales.counters)
    numbers = np.arange(threshold, threshold + reach)

    def law(margin: int) -> np.ndarray:
        weights = np.exp(-np.abs(numbers - margin) / scale) * math.tanh(0.5 / scale) * (margin > 0)
        return np.append(weights, 1.0 - (tail(margin, claim, threshold) if margin else 0.0))

    joint = [np.ones(1), np.ones(1)]
    for margins in zip(v, w, strict=True):
        joint = [np.outer(before, law(margin)).ravel() for before, margin in zip(joint, margins, strict=True)]
    return float(np.maximum(joint[0] - math.exp(claim.epsilon) * joint[1], 0).sum())


@pytest.mark.parametrize(
    ("epsilon", "delta", "neighbors", "people"),
    [(1.0, 1e-3, "add-remove", 1), (0.5, 1e-2, "replace", 1), (2.0, 1e-3, "add-remove", 2), (3.0, 1e-4, "replace", 2)],
)
def test_neighbors_are_as_alike_as_the_claim_says(epsilon: float, delta: float, neighbors: str, people: int) -> None:
    claim = claim_of_words(Budget(epsilon, delta, neighbors, people), 1)
    threshold, apart = claim.threshold or 0, people * (1 + (neighbors == "replace"))
    margins = [*range(apart + 2), threshold - 1, threshold]
    worst = dict.fromkeys((threshold, threshold - 1), 0.0)
    for v, w in itertools.product(itertools.product(margins, repeat=2), repeat=2):
        if 0 < abs(v[0] - w[0]) + abs(v[1] - w[1]) <= apart:
            for least in worst:
                worst[least] = max(worst[least], excess(v, w, claim, least))
    assert worst[threshold] <= delta
    if apart <= 2:  # two words show the worst of it: one less would be too little
        assert worst[threshold - 1] > delta


@pytest.mark.parametrize(("columns", "people"), [(1, 1), (1, 7), (3, 2)])
def test_the_threshold_is_the_least_by_brute_force(columns: int, people: int) -> None:
    claim = claim_of_words(Budget(1.0, 1e-6, "add-remove", people), columns)
    least = claim.threshold or 0
    assert float(claim.scales.counters) == columns * people
    for threshold, enough in ((least, True), (least - 1, False)):
        worst = columns * max(j * tail(people - j + 1, claim, threshold) for j in range(1, people + 1))
        assert (worst <= 1e-6) == enough == (revealed(claim.moves, claim.scales.counters, threshold) <= 1e-6)


@pytest.mark.parametrize("scale", [Fraction(7, 10), Fraction(19, 10), Fraction(31, 10)])
def test_the_bound_is_that_of_the_worst_number_of_words(scale: Fraction) -> None:
    moves, threshold, q = Moves(2, "add-remove", 6), 40, np.exp(-1 / float(scale))
    exact = 2 * max(j * q ** (threshold - (6 - j + 1)) / (1 + q) for j in range(1, 7))
    assert exact <= revealed(moves, scale, threshold) <= exact * (1 + 1e-5)


def test_what_a_threshold_cannot_hide_is_revealed() -> None:
    two = Moves(1, "add-remove", 2)
    for threshold, certain in ((2, True), (3, False), (2**62 - 1, False), (2**62, True)):
        found = revealed(two, Fraction(1), threshold)
        assert found == 1.0 if certain else found < 0.8
    assert revealed(Moves(9, "add-remove", 2), Fraction(9), 3) == 1.0


def test_frequent_words_go_out_and_no_others() -> None:
    claim = claim_of_words(Budget(1.0, 1e-9), 2)  # scale 2
    first = Words().update([b"Ulm", b"Bonn", b"rare"], np.repeat([0, 1, 2], [400, 300, 1]))
    second = Words().count(["7", 7.0, None, "(other)", "x" * (MOST_FOUND + 1), "two\nlines", b"\xff"] * 500)
    found = publish_words([first, second], claim, "words")
    # False alarms: e^(−100) each, and 1e-9 for the rare word.
    assert [*found[0]] == [b"Ulm", b"Bonn"] and [*found[1]] == [b"7"]
    assert abs(found[0][b"Ulm"] - 400) < 100 and abs(found[1][b"7"] - 1000) < 100
    assert str(first) == "Words(secret)"


def test_words_of_one_number_go_out_by_their_letters() -> None:
    claim, words = claim_of_words(Budget(1.0, 1e-9), 1), [b"%d" % number for number in range(10, 30)]
    with mock.patch.object(PrivacyClaim, "draw_counters", lambda self, size: np.zeros(size, np.int64)):
        (found,) = publish_words([Words().update(words[::-1], np.repeat(np.arange(20), 100))], claim, "words")
    assert [*found] == words


def test_what_a_file_holds() -> None:
    words = Words().update([b"Ulm", "Köln".encode()], [0, 1, 1])
    arrays = words.to_arrays()
    older = [arrays[name] for name in ("margins", "ends", "letters")]
    for kept in ([*arrays.values()], older):
        assert Words.from_arrays(*kept).margins() == words.margins() == {b"Ulm": 1, "Köln".encode(): 2}
    assert Words.from_arrays(*Words().to_arrays().values()).margins() == {}
    votes = np.array([3, *[2, 0, 1, 3, 0, 0, 0, 1]])
    arrays |= {"buckets": np.array([5]), "spans": np.array([9]), "votes": votes}
    assert Words.from_arrays(*arrays.values()).records == 6
    for name, bad in [
        ("margins", np.array([0, 2])),
        ("margins", np.array([2**62, 2])),
        ("margins", np.array([1.0, 2.0])),
        ("margins", np.array([1])),
        ("ends", np.array([3, 7])),
        ("ends", np.array([9, 8])),
        ("ends", np.array([-1, 8])),
        ("ends", np.array([0, 8])),
        ("letters", np.frombuffer(b"UlmK\xf6ln!", np.uint8)),
        ("letters", arrays["letters"].astype(np.int64)),
        ("letters", arrays["letters"].reshape(1, -1)),
        ("buckets", np.array([-1])),
        ("buckets", np.array([2**20])),
        ("buckets", np.array([5, 6])),
        ("spans", np.array([8])),
        ("votes", votes + 3 * (np.arange(9) == 1)),
        ("votes", votes - 3 * (np.arange(9) == 1)),
        ("votes", votes * 0),
        ("votes", votes * 2.0),
    ]:
        with pytest.raises(CorruptFileError):
            Words.from_arrays(*{**arrays, name: bad}.values())
    twice = {"margins": np.array([1, 1]), "ends": np.array([1, 2]), "letters": np.frombuffer(b"aa", np.uint8)}
    again = {"buckets": np.array([5, 5]), "spans": np.array([9, 18]), "votes": np.tile(votes, 2)}
    for bad in (twice, again):
        with pytest.raises(CorruptFileError):
            Words.from_arrays(*(arrays | bad).values())


@pytest.mark.parametrize("budget", [Budget(1.0), Budget.of(rho=0.1, delta=1e-6), Budget.of(mu=0.1)])
def test_no_words_without_delta(budget: Budget) -> None:
    with pytest.raises(PrivacyError, match="declare the words"):
        claim_of_words(budget, 1)


def test_the_claim_is_checked_and_adds_up() -> None:
    claim = claim_of_words(Budget(0.1, 5e-7), 1)
    assert PrivacyClaim.from_dict(claim.to_dict()) == claim
    data = claim.to_dict()
    threshold = claim.threshold or 0
    for bad in (
        {"threshold": threshold - 1},
        {"threshold": 0},
        {"threshold": 2**62},
        {"threshold": True},
        {"delta": 1e-7},
        {"epsilon": 0.09},
        {"rho": 1.0},
        {"records_per_person": 10**400, "unit": "person"},
        {"mechanism": "discrete-gaussian"},
        {"custodians": 2, "dropouts": 0},
    ):
        with pytest.raises(ParameterError):
            PrivacyClaim.from_dict(data | bad)
    noise_alone = Budget(0.1, count_share=0).claim(1)
    assert claim.equivalent(1e-6) == noise_alone.equivalent(5e-7) < 0.1 and claim.equivalent(5e-7) == claim.epsilon
    rest = Budget(0.9, 5e-7).claim(100)
    both = overlapping([claim, rest])
    assert math.isclose(both.epsilon, 1.0, rel_tol=1e-9) and both.delta == 1e-6 and both.rho is None
    assert not both.by_facts and PrivacyClaim.from_dict(both.to_dict()) == both
    several = overlapping([claim, replace(claim, threshold=threshold + 1)])
    assert math.isclose(several.epsilon, 0.2) and several.delta == 1e-6


def part_of(records: int) -> Secret:
    """A part whose counters and words hold so many records of one word."""
    secret = TableSketch({"thing": Category(discover=True), "x": Boolean()}).secret
    secret.words[0].merge(Words.from_arrays(np.array([records]), np.array([1]), np.frombuffer(b"a", np.uint8)))
    return secret


def test_a_secret_has_the_words_of_its_file_and_of_an_older_one() -> None:
    metadata, arrays = part_of(3).contents()
    older = {name: one for name, one in arrays.items() if name.partition(".")[0] not in ("buckets", "spans", "votes")}
    assert len(older) == len(arrays) - 3
    for kept in (arrays, older):
        secret = TableSketch({"thing": Category(discover=True), "x": Boolean()}).secret
        secret.fill(files.from_bytes(files.to_bytes("secret", metadata, kept), expect="secret"))
        assert secret.words[0].margins() == {b"a": 3} and secret.planned == 0


def test_numbers_stay_within_64_bits() -> None:
    """A release that overflows would fail after its charge."""
    whole, claim = part_of(2**62), claim_of_words(Budget(1.0, 1e-9), 1)
    assert whole.words[0].margins() == {b"a": 2**62} and part_of(2**62 - 1).words[0].records == 2**62 - 1
    with pytest.raises(MergeError, match="damaged"):
        whole.merge(part_of(1))
    half = part_of(2**61)
    half.merge(part_of(2**61))
    with few_words:
        half.words[0].count(["b", "c", "d"])
    for secret in (whole, half):
        (found,) = publish_words(secret.words, claim, "words")
        assert abs(found[b"a"] - 2**62) < 100
    with pytest.raises(CorruptFileError):
        part_of(2**62 + 1)
