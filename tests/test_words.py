"""Words that nobody declared: what a record moves, what is published of it, and what that costs."""

from __future__ import annotations

import contextlib
import itertools
import math
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scumble import files
from scumble.columns.category import MOST_FOUND, Boolean, Category
from scumble.errors import CorruptFileError, MergeError, ParameterError, PrivacyError
from scumble.gate.secret import Secret
from scumble.gate.words import Words, _are_votes, _narrow, claim_of_words, divided, publish_words
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.composition import overlapping
from scumble.privacy.laws import GAUSSIAN, LAPLACE
from scumble.privacy.laws.law import Law
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
        again = Words()
        for part in merged.split(2).values():
            again.merge(part)
        for found in (merged, stored, again, counted(records, cuts)):
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


@pytest.mark.parametrize(("records", "kind"), [(127, np.int8), (128, np.int16)])
def test_votes_are_kept_in_numbers_as_few_and_narrow_as_hold_them(records: int, kind: type) -> None:
    votes = np.zeros(33, np.int64)
    votes[[0, 9]] = records, 7  # the first bit of a second letter
    found = _narrow(votes)
    assert found.dtype == kind and found.tolist() == [records, *[0] * 8, 7, *[0] * 7]


@pytest.mark.parametrize(("columns", "part"), [(1, Fraction(1, 10)), (9, Fraction(1, 4))])
def test_words_and_views_with_laplace_noise_share_epsilon(columns: int, part: Fraction) -> None:
    budget = Budget(Fraction(1), Fraction(1, 10**6), count_share=0)
    words, rest = divided(budget, columns, lambda rest: rest.claim(2))
    assert words == claim_of_words(budget.share(part, Fraction(1, 2)), columns)
    assert (rest.epsilon, rest.delta, words.delta) == (1 - part, Fraction(1, 2 * 10**6), 5e-7)


@pytest.mark.parametrize(("columns", "odds"), [(1, 1 / 9), (8, 2 / 9)])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_words_and_views_with_gaussian_noise_share_rho(columns: int, odds: float, neighbors: str) -> None:
    words, rest = divided(Budget(1.0, 1e-6, neighbors, 2), columns, lambda rest: rest.claim(100))
    views = rest.claim(100)
    claim, moved = overlapping([words, views]), columns * (4 if neighbors == "replace" else 2) ** 2
    assert words.mechanism == views.mechanism == "discrete-gaussian"
    assert views.rho is not None
    assert math.isclose(moved / (2 * float(words.scales.counters) ** 2), odds * views.rho, rel_tol=1e-2)
    assert 0.995 < claim.epsilon <= 1.0 and claim.delta <= 1e-6 and claim.added_up == "gaussian"


def law_of(claim: PrivacyClaim) -> tuple[np.ndarray, np.ndarray]:
    """The noise by its definition: numbers and their chances."""
    scale = float(claim.scales.counters)
    numbers = np.arange(-math.ceil(40 * scale), math.ceil(40 * scale) + 1)
    weights = claim.law.weights(np.abs(numbers), scale)
    return numbers, weights / weights.sum()


def tail(margin: int, claim: PrivacyClaim, threshold: int) -> float:
    """The chance that a word of this margin is published."""
    numbers, chances = law_of(claim)
    return float(chances[numbers >= threshold - margin].sum())


def excess(v: tuple[int, ...], w: tuple[int, ...], claim: PrivacyClaim, threshold: int, after: Any = None) -> float:
    """The least δ at the claim's ε for the margins v against w: sums over all that can be published of them.

    `after` is the claim of a counter that one record moves by one, and of both together.
    """
    numbers, chances = law_of(claim)

    def law(margin: int) -> np.ndarray:
        seen = numbers + margin >= threshold
        return np.append(chances[seen][:60] * (margin > 0), 1.0 - chances[seen].sum() * (margin > 0))

    def laws(first: int, second: int) -> tuple[np.ndarray, np.ndarray]:
        one, other = law(first), law(second)
        size = max(len(one), len(other))
        return tuple(np.concatenate([x[:-1], np.zeros(size - len(x)), x[-1:]]) for x in (one, other))  # type: ignore[return-value]

    joint, epsilon = [np.ones(1), np.ones(1)], claim.epsilon
    for first, second in zip(v, w, strict=True):
        joint = [np.outer(before, own).ravel() for before, own in zip(joint, laws(first, second), strict=True)]
    if after is not None:
        further, whole = after
        _, chances = law_of(further)
        epsilon, moved = whole.epsilon, (np.append(chances, 0.0), np.append(0.0, chances))
        joint = [np.outer(before, own).ravel() for before, own in zip(joint, moved, strict=True)]
    return float(np.maximum(joint[0] - math.exp(epsilon) * joint[1], 0).sum())


def concentrated(rho: str, delta: float, neighbors: str, people: int) -> Budget:
    return Budget(1, delta, neighbors, people, count_share=0).in_rho(Fraction(rho))


@pytest.mark.parametrize(
    "budget",
    [
        Budget(1.0, 1e-3),
        Budget(0.5, 1e-2, "replace"),
        Budget(2.0, 1e-3, "add-remove", 2),
        Budget(3.0, 1e-4, "replace", 2),
        concentrated("1/8", 1e-3, "add-remove", 1),
        concentrated("1/4", 1e-2, "replace", 1),
        concentrated("1", 1e-3, "add-remove", 2),
    ],
    ids=lambda one: f"{one.neighbors}-{one.records_per_person}-{'rho' if one.rho else 'epsilon'}",
)
def test_neighbors_are_as_alike_as_the_claim_says(budget: Budget) -> None:
    claim, people = claim_of_words(budget, 1), budget.records_per_person
    threshold, apart = claim.threshold or 0, people * (1 + (budget.neighbors == "replace"))
    margins = [*range(apart + 2), threshold - 1, threshold]
    worst = dict.fromkeys((threshold, threshold - 1), 0.0)
    for v, w in itertools.product(itertools.product(margins, repeat=2), repeat=2):
        if 0 < abs(v[0] - w[0]) + abs(v[1] - w[1]) <= apart:
            for least in worst:
                worst[least] = max(worst[least], excess(v, w, claim, least))
    assert worst[threshold] <= claim.delta == budget.delta
    if apart <= 2 and claim.law.pure:  # two words show the worst of it: one less would be too little
        assert worst[threshold - 1] > claim.delta


@pytest.mark.parametrize("rho", ["1/20", "1/4"])
def test_words_and_a_counter_after_them_are_as_private_as_their_claim_says(rho: str) -> None:
    words, counter = (
        claim_of_words(concentrated(rho, 1e-3, "add-remove", 1), 1),
        concentrated("1/10", 1e-3, "add-remove", 1),
    )
    after = counter.claim(1), overlapping([words, counter.claim(1)])
    threshold = words.threshold or 0
    pairs = [(0, 1), (1, 2), (threshold - 1, threshold), (threshold, threshold + 1)]
    worst = max(excess((v,), (w,), words, threshold, after) for pair in pairs for v, w in (pair, pair[::-1]))
    assert after[1].added_up == "gaussian" and after[1].epsilon < words.epsilon + after[0].epsilon
    assert 0.2 * after[1].delta < worst <= after[1].delta
    both = [(one.moves, one.scales) for one in (words, after[0])]
    least = GAUSSIAN.together(both, after[1].delta - words.exception)
    assert least <= after[1].epsilon <= least * (1 + 1e-6)


@pytest.mark.parametrize(("columns", "people"), [(1, 1), (1, 7), (3, 2)])
@pytest.mark.parametrize(
    "budget", [Budget(1.0, 1e-6), concentrated("1/100", 2e-6, "add-remove", 1)], ids=["pure", "rho"]
)
def test_the_threshold_is_the_least_by_brute_force(columns: int, people: int, budget: Budget) -> None:
    claim = claim_of_words(replace(budget, records_per_person=people), columns)
    least = claim.threshold or 0
    if claim.law.pure:
        assert float(claim.scales.counters) == columns * people
    for threshold in (least, least - 1, least - 2):
        worst = columns * max(j * tail(people - j + 1, claim, threshold) for j in range(1, people + 1))
        bound = claim.law.revealed(claim.moves, claim.scales.counters, threshold)
        assert (bound <= 1e-6) == (threshold == least)
        assert worst <= bound * (1 + 1e-9)
    assert worst > 1e-6  # with two less


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
def test_what_a_threshold_cannot_hide_is_revealed(law: Law) -> None:
    two = Moves(1, "add-remove", 2)
    for threshold, certain in ((2, True), (3, False), (2**62 - 1, False), (2**62, True)):
        found = law.revealed(two, Fraction(1), threshold)
        assert found == 1.0 if certain else found < 0.8
    assert law.revealed(Moves(9, "add-remove", 2), Fraction(9), 3) == 1.0


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
        divided(budget, 1, lambda rest: rest.claim(100))


@pytest.mark.parametrize(
    "budget", [Budget(0.1, 5e-7), concentrated("1/100", 5e-7, "add-remove", 1)], ids=["pure", "rho"]
)
def test_the_claim_is_checked(budget: Budget) -> None:
    claim = claim_of_words(budget, 1)
    assert PrivacyClaim.from_dict(claim.to_dict()) == claim
    data = claim.to_dict()
    threshold = claim.threshold or 0
    for bad in (
        {"threshold": threshold - 1},
        {"threshold": 0},
        {"threshold": 2**62},
        {"threshold": True},
        {"delta": 1e-7},
        {"epsilon": 0.9 * claim.epsilon},
        {"rho": 1.0},
        {"records_per_person": 10**400, "unit": "person"},
        {"mechanism": "discrete-gaussian" if claim.law.pure else "discrete-laplace"},
        {"custodians": 2, "dropouts": 0},
    ):
        with pytest.raises(ParameterError):
            PrivacyClaim.from_dict(data | bad)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_the_claim_adds_up(neighbors: str) -> None:
    claim = claim_of_words(Budget(0.1, 5e-7, neighbors), 1)
    threshold = claim.threshold or 0
    assert 0.9 * 5e-7 < claim.exception <= 5e-7 and math.isclose(claim.equivalent(5e-7), claim.epsilon, rel_tol=1e-6)
    # A replaced record may move one word's margin by two: as one coin that shows all, not as two that show half of it.
    noise_alone = Budget(0.1, count_share=0).claim(1)
    assert claim.equivalent(0.5) == noise_alone.equivalent(0.5 - claim.exception) < 0.1
    rest = Budget(0.9, 5e-7, neighbors).claim(100)
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
    two = [TableSketch({name: Category(discover=True) for name in "ab"}).secret for _ in range(2)]
    for secret, column in itertools.product(two, (0, 1)):
        records = np.array([2**61 + 1 if column else 1])
        secret.words[column].merge(Words.from_arrays(records, np.array([1]), np.frombuffer(b"a", np.uint8)))
    with pytest.raises(MergeError, match="damaged"):
        two[0].merge(two[1])
    half = part_of(2**61)
    half.merge(part_of(2**61))
    with few_words:
        half.words[0].count(["b", "c", "d"])
    for secret in (whole, half):
        (found,) = publish_words(secret.words, claim, "words")
        assert abs(found[b"a"] - 2**62) < 100
    with pytest.raises(CorruptFileError):
        part_of(2**62 + 1)


def test_beyond_the_most_words_half_of_them_are_kept() -> None:
    with mock.patch.multiple("scumble.gate.words", MOST_WORDS=4, AT_ONCE=1):
        found = Words().update(LETTERS[:4], range(4))
        assert [len(found.to_arrays()[name]) for name in ("margins", "buckets")] == [4, 0]
        found.update(LETTERS[4:5], [0])
        assert [len(found.to_arrays()[name]) for name in ("margins", "buckets")] == [2, 3]


def test_votes_are_of_whole_letters_and_of_words_that_may_be() -> None:
    lengths = {1: False, 9: True, 10: False, 8 * MOST_FOUND + 1: True, 8 * MOST_FOUND + 9: False}
    for length, good in lengths.items():
        assert _are_votes(np.full(length, 3)) == good
    assert _are_votes(np.array([3, 1, *[0] * 7])) and not _are_votes(np.array([3, *[0] * 8]))
