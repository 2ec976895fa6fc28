"""Counters do not wrap at 2⁶³: not from files, not by merging."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import scumble
from scumble import files
from scumble.density.release import Release
from scumble.density.share import Share
from scumble.density.sketch import Sketch
from scumble.errors import CorruptFileError, MergeError
from scumble.files.format import fits

LARGE = [2**62, 2**63 - 1, -(2**62), -(2**63)]


def sketch() -> Sketch:
    made = scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=2, buckets=4, seed=3, design="iid")
    return made.update(np.ones((5, 1)))


def filled(kind: str, metadata: dict, counts: np.ndarray) -> files.Container:
    return files.from_bytes(files.to_bytes(kind, metadata, {"counts": counts}), expect=kind)


def large_sketch(value: int) -> Sketch:
    metadata, arrays = sketch().contents()
    return Sketch.from_container(filled("secret", metadata, np.full_like(arrays["counts"], value)))


def large_release(value: int) -> Release:
    release = sketch().release(epsilon=1.0)
    return Release.from_container(filled("release", release.metadata(), np.full_like(release.counts, value)))


def share_of(value: int | None = None) -> Share:
    share = sketch().release_share(epsilon=1.0, custodians=2)
    if value is not None:
        share._counts[:] = value
    return share


@pytest.mark.parametrize("value", [*LARGE, 2**61])  # four of them in a row
@pytest.mark.parametrize("load", [large_sketch, large_release])
def test_a_file_with_counters_near_the_end_is_refused(value: int, load: Callable[[int], object]) -> None:
    with pytest.raises(CorruptFileError, match="beyond"):
        load(value)


def test_parts_that_would_wrap_do_not_merge_and_stay_as_they_are() -> None:
    first, second = large_sketch(2**59), large_sketch(2**59)  # a row of 2⁶¹ each
    second.secret.lineage = {"another"}
    with pytest.raises(MergeError, match="2\\*\\*62"):
        first.merge(second)
    assert first.count == 2**61


def test_releases_that_would_wrap_do_not_merge() -> None:
    with pytest.raises(MergeError, match=r"2\*\*62"):
        large_release(2**59).merge(large_release(2**59))


def test_shares_that_would_wrap_do_not_combine() -> None:
    with pytest.raises(MergeError, match="2\\*\\*62"):
        scumble.combine([share_of(2**62), share_of(2**62)])
    share = share_of()
    total = np.full_like(share.payload, np.uint64(2**62))
    with pytest.raises(MergeError, match="2\\*\\*62"):
        share.from_sum(total, arrived=2)


def test_what_has_room_is_as_it_was() -> None:
    first, second = large_sketch(2**57), large_sketch(2**57)
    second.secret.lineage = {"another"}
    assert first.merge(second).count == 2**60
    assert large_release(-(2**57)).count < 0


def test_room_is_that_of_the_largest_the_least_and_the_fullest_row() -> None:
    for sign in (1, -1):
        half = np.array([[sign * 2**61, 0]])
        assert fits(half) and not fits(half, half)
        fullest = np.array([[sign * 2**60] * 5, [0] * 5])
        assert not fits(fullest) and fits(fullest[:, :3])
