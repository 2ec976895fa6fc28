"""The two loops behind `PersonLimit`, as plain Python and as compiled, against what they are meant to do."""

from __future__ import annotations

import numpy as np
import pytest

from scumble import PersonLimit
from scumble.sources import people

find, passing = people._find.__wrapped__, people._pass.__wrapped__  # not compiled


def table(places: int, *taken: tuple[int, int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """An empty table with some places taken: (place, two words of the hash, count)."""
    hashes, counts = np.zeros((places, 2), np.uint64), np.zeros(places, np.int32)
    for place, one, two, count in taken:
        hashes[place], counts[place] = (one, two), count
    return hashes, counts


def words(*hashes: tuple[int, int]) -> np.ndarray:
    return np.array(hashes, np.uint64).reshape(-1, 2)


def test_each_has_the_first_free_place_from_its_own_on() -> None:
    hashes, counts = table(8)
    places, fresh = find(hashes, counts, words((3, 7), (8 + 3, 7), (6, 1), (3, 8), (7, 3), (15, 0), (3, 7)), True)
    assert places.tolist() == [3, 4, 6, 5, 7, 0, 3] and fresh == 6, "also round the end"
    assert counts.tolist() == [-1, 0, 0, -1, -1, -1, -1, -1], "a place, and no record yet"
    assert hashes.tolist() == [[15, 0], [0, 0], [0, 0], [3, 7], [11, 7], [3, 8], [6, 1], [7, 3]]


def test_two_are_one_only_if_both_words_agree() -> None:
    hashes, counts = table(4, (1, 1, 5, 2), (2, 1, 6, 1))
    before = hashes.copy(), counts.copy()
    places, fresh = find(hashes, counts, words((1, 6), (1, 5), (1, 7), (5, 5), (0, 0)), False)
    assert places.tolist() == [2, 1, -1, -1, -1] and fresh == 0
    assert np.array_equal(hashes, before[0]) and np.array_equal(counts, before[1]), "looking adds nobody"
    places, fresh = find(hashes, counts, words((1, 6), (5, 5), (0, 0)), True)
    assert places.tolist() == [2, 3, 0] and fresh == 2 and counts.tolist() == [-1, 2, 1, -1]


def test_nobody_is_looked_for_in_vain() -> None:
    hashes, counts = table(4, (0, 0, 1, 1))
    places, fresh = find(hashes, counts, words(), True)
    assert places.shape == (0,) and fresh == 0


@pytest.mark.parametrize("most", [1, 2, 3])
def test_the_first_records_of_each_pass(most: int) -> None:
    counts = np.array([-1, 0, 2, 1], np.int32)
    places, which = np.array([2, 0, 3]), np.array([0, 1, 1, 2, 1, 0, 2, 1])
    out = passing(counts, places, which, most)
    seen, wanted = [2, 0, 1], []
    for person in which.tolist():
        wanted.append(seen[person] < most)
        seen[person] += wanted[-1]
    assert out.tolist() == wanted and out.dtype == bool
    assert counts.tolist() == [seen[1], 0, seen[0], seen[2]]


def test_compiled_they_do_the_same() -> None:
    rng = np.random.default_rng(4)
    hashes = rng.integers(0, 2**64, (700, 2), dtype=np.uint64)
    which = rng.integers(0, 700, 3000)
    results = []
    for look, let_pass in ((find, passing), (people._find, people._pass)):
        kept, counts = table(1024)
        places, fresh = look(kept, counts, hashes, True)
        results.append([kept, places, fresh, let_pass(counts, places, which, 3), counts])
    for plain, compiled in zip(*results, strict=True):
        np.testing.assert_array_equal(plain, compiled)


def test_a_quarter_of_a_gibibyte_is_for_six_million() -> None:
    assert people.DEFAULT_MEMORY == 2**28
    assert PersonLimit(1)._most_places == 2**23
