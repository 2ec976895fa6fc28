"""The table behind `PersonLimit`: its size, its growth, and what a checkpoint must hold."""

from __future__ import annotations

import numpy as np
import pytest

import scumble
from scumble.sources import people


@pytest.mark.parametrize("memory", [1024, 1920, 30 * 2**10 - 1, 30 * 2**10, 100_000, people.DEFAULT_MEMORY])
def test_as_many_places_as_the_memory_holds(memory: int) -> None:
    """The largest power of two at 30 bytes a place; three quarters of them are for people."""
    limit = scumble.PersonLimit(1, memory=memory)
    places = max(2**k for k in range(40) if 30 * 2**k <= memory)
    assert limit._most_places == places and len(limit._counts) == min(1024, places)
    if places <= 4096:
        assert limit.keep(np.arange(3 * places // 4)).all() and len(limit._counts) == places
        with pytest.raises(scumble.DataError, match=rf"room for \({3 * places // 4:,}\)"):
            limit.keep([-1])
        assert not limit.keep([0, 1]).any()


@pytest.mark.parametrize("column", [np.array([1 + 1j]), np.array([1], "m8[s]")])
def test_a_column_of_no_names_is_refused_by_its_type(column: np.ndarray) -> None:
    with pytest.raises(scumble.DataError, match=r"must be named by text, numbers or dates, got (complex|durations)"):
        scumble.PersonLimit(1).keep(column)


@pytest.mark.parametrize("bad", [1023, 0, -1, True, 1e6, "1024", None])
def test_a_memory_that_is_none(bad: object) -> None:
    with pytest.raises(scumble.ParameterError, match="`memory` must be at least 1024 bytes"):
        scumble.PersonLimit(1, memory=bad)  # type: ignore[arg-type]


def test_the_table_grows_only_when_three_quarters_are_taken() -> None:
    limit = scumble.PersonLimit(1)
    limit.keep(np.arange(768))
    assert len(limit._counts) == 1024 and limit._persons == 768
    limit.keep([768])
    assert len(limit._counts) == 2048 and limit._persons == 769
    assert not limit.keep(np.arange(769)).any()


@pytest.mark.parametrize("persons", [0, 1, 768, 769, 3000])
def test_what_a_checkpoint_remembers(persons: int) -> None:
    limit, again = scumble.PersonLimit(2), scumble.PersonLimit(2)
    limit.keep(np.arange(persons))
    about, arrays = limit.contents()
    again.restore(about, arrays)
    assert again._persons == persons and 4 * persons <= 3 * len(again._counts) and len(again._counts) <= 4096
    assert again.keep(np.arange(persons)).all() and not again.keep(np.arange(persons)).any()
    assert len(arrays["people.hashes"]) == persons and bytes.fromhex(about["key"]) == limit._key
    assert len(limit._key) == 32 and limit._hash(b"ann") == again._hash(b"ann") and len(limit._hash(b"ann")) == 16


@pytest.mark.parametrize(
    "spoil",
    [
        lambda about, arrays: about.update(records_per_person=3),
        lambda about, arrays: about.update(key="no hexadecimal"),
        lambda about, arrays: about.pop("key"),
        lambda about, arrays: arrays.pop("people.hashes"),
        lambda about, arrays: arrays.pop("people.counts"),
        lambda about, arrays: arrays.update({"people.hashes": arrays["people.hashes"][:-1]}),
        lambda about, arrays: arrays.update({"people.hashes": arrays["people.hashes"][:, :1]}),
        lambda about, arrays: arrays.update({"people.hashes": arrays["people.hashes"].astype(np.int64)}),
        lambda about, arrays: arrays.update({"people.counts": arrays["people.counts"].astype(np.int64)}),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused(spoil) -> None:
    limit = scumble.PersonLimit(2)
    limit.keep(["ann", "bob"])
    about, arrays = limit.contents()
    spoil(about, arrays)
    with pytest.raises(scumble.CorruptFileError, match="lacks the table of persons"):
        scumble.PersonLimit(2).restore(about, arrays)


def test_a_table_of_two_axes_is_refused_and_a_column_of_none_is_empty() -> None:
    with pytest.raises(scumble.ParameterError, match="`persons` must be one column, got '2 axes'"):
        scumble.PersonLimit(1).keep(np.zeros((2, 2)))
    assert scumble.PersonLimit(1).keep([]).shape == (0,)
    assert scumble.PersonLimit(2**31 - 1).keep(["ann"]).all()


def test_a_full_table_lets_all_pass_whom_it_knows_wherever_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first place of the table is a place like any other."""
    limit = scumble.PersonLimit(2, memory=30 * 64)

    def by_number(self: scumble.PersonLimit, name: bytes) -> bytes:
        return int(name).to_bytes(8, "little") + bytes(8)

    monkeypatch.setattr(scumble.PersonLimit, "_hash", by_number)
    assert limit.keep(range(48)).all() and limit._counts[0] == 1 and len(limit._counts) == 64
    assert limit.keep(range(48)).all() and not limit.keep(range(48)).any()
    with pytest.raises(scumble.DataError, match="more persons than"):
        limit.keep([0, 48])


def test_counts_of_31_bits_at_most() -> None:
    for wrong in (2**31, 2**32, 3**31, 2.0, True):
        with pytest.raises(scumble.ParameterError, match="`records_per_person` must be"):
            scumble.PersonLimit(wrong)  # type: ignore[arg-type]
