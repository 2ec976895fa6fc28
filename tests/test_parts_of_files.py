"""Every part of a release, a share and a sketch in a file: what may stand there, to its edge, and what may not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scumble
from scumble import files
from scumble.density.release import Release, Span
from scumble.density.share import Share
from scumble.density.sketch import Sketch
from scumble.errors import CorruptFileError, MergeError
from scumble.files.format import fits
from scumble.gate.secret import NoiseFirst


def sketch() -> Sketch:
    made = scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=2, buckets=4, seed=3, design="iid")
    return made.update(np.ones((5, 1)))


RELEASE = sketch().release(epsilon=1.0)
SHARE = sketch().release_share(epsilon=1.0, custodians=2)
OTHER_ROWS = scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=3, buckets=4).release(epsilon=1.0).privacy.to_dict()
OTHER_SHARE = (
    scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=3, buckets=4)
    .release_share(epsilon=1.0, custodians=2)
    .privacy.to_dict()
)


def container(kind: str, metadata: dict[str, Any], counts: np.ndarray) -> files.Container:
    return files.Container(kind, metadata, {"counts": counts}, 1, scumble.__version__)


def release(counts: np.ndarray | None = None, **changes: Any) -> scumble.Release:
    metadata = {**RELEASE.metadata(), **changes}
    return scumble.Release.from_container(container("release", metadata, RELEASE.counts if counts is None else counts))


def share(counts: np.ndarray | None = None, **changes: Any) -> Share:
    metadata = {
        "spec": SHARE.spec.to_dict(),
        "count": SHARE._count,
        "privacy": SHARE.privacy.to_dict(),
        "identity": SHARE.identity,
        "sum": None,
    }
    return Share.from_container(container("share", metadata | changes, SHARE._counts if counts is None else counts))


def secret(counts: np.ndarray | None = None, **changes: Any) -> Sketch:
    metadata, arrays = sketch().contents()
    return Sketch.from_container(
        container("secret", {**metadata, **changes}, arrays["counts"] if counts is None else counts)
    )


def noise(**changes: Any) -> NoiseFirst:
    begun = scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=2, buckets=4).start_with_noise(epsilon=1.0)
    assert begun.secret.noise is not None
    return NoiseFirst.from_dict({**begun.secret.noise.to_dict(), **changes}, 2)


@pytest.mark.parametrize("load", [release, share, secret])
def test_counters_have_the_shape_and_type_that_the_header_states(load: Callable[..., Any]) -> None:
    load(np.zeros((2, 4), np.int64))
    for wrong in (np.zeros((2, 5), np.int64), np.zeros((2, 4), np.int32), np.zeros(8, np.int64)):
        with pytest.raises(CorruptFileError):
            load(wrong)


@pytest.mark.parametrize("load", [release, noise])
@pytest.mark.parametrize("name", ["counter_variance", "count_variance"])
def test_a_variance_is_a_number_from_0_on(load: Callable[..., Any], name: str) -> None:
    for sound in (0, 0.0, 0.25, 9e299):
        load(**{name: sound})
    for wrong in (-0.25, -1, 1e300, float("nan"), True, "1", None, [1.0]):
        with pytest.raises(CorruptFileError):
            load(**{name: wrong})


@pytest.mark.parametrize(
    ("load", "name", "most"), [(release, "noisy_count", 2**63), (share, "count", 2**63), (noise, "count", 2**62)]
)
def test_a_count_is_a_whole_number_within_its_bounds(load: Callable[..., Any], name: str, most: int) -> None:
    for sound in (None, 0, -7, most - 1, 1 - most):
        load(**{name: sound})
    for wrong in (most, -most, 1.5, True, "7"):
        with pytest.raises(CorruptFileError):
            load(**{name: wrong})


@pytest.mark.parametrize("name", ["spec", "privacy", "noisy_count", "counter_variance", "identity", "parts"])
def test_a_release_lacks_nothing(name: str) -> None:
    metadata = RELEASE.metadata()
    del metadata[name]
    with pytest.raises(CorruptFileError):
        scumble.Release.from_container(container("release", metadata, RELEASE.counts))


def test_a_claim_is_about_the_rows_that_are_there() -> None:
    with pytest.raises(CorruptFileError):
        release(privacy=OTHER_ROWS)
    with pytest.raises(CorruptFileError):
        noise(claim=OTHER_ROWS)
    for wrong in (OTHER_SHARE, RELEASE.privacy.to_dict()):  # of other rows; of a release that needs no others
        with pytest.raises(CorruptFileError):
            share(privacy=wrong)


@pytest.mark.parametrize("wrong", [{"identity": 5}, {"identity": None}, {"finished": 1}, {"finished": None}, {"x": 1}])
def test_noise_that_came_first_has_a_name_and_a_state(wrong: dict) -> None:
    assert noise(finished=True).finished and not noise(finished=False).finished
    with pytest.raises(CorruptFileError):
        noise(**wrong)


def test_a_share_remembers_its_sum() -> None:
    assert share()._sum is None and share(sum="abc")._sum == "abc"


@pytest.mark.parametrize("lineage", [[], {}, "abc", None])
def test_a_sketch_says_what_it_was_made_of(lineage: object) -> None:
    with pytest.raises(CorruptFileError):
        secret(lineage=lineage)


def test_a_sketch_lacks_nothing() -> None:
    metadata, arrays = sketch().contents()
    for name in ("spec", "lineage"):
        less = {key: value for key, value in metadata.items() if key != name}
        with pytest.raises(CorruptFileError):
            Sketch.from_container(container("secret", less, arrays["counts"]))


def test_a_file_that_does_not_say_whether_it_dropped_records_may_have() -> None:
    metadata, arrays = sketch().contents()
    silent = {key: value for key, value in metadata.items() if key != "drops"}
    assert Sketch.from_container(container("secret", silent, arrays["counts"])).secret.drops
    assert secret(drops=True).secret.drops and secret(drops=0).secret.drops and not secret(drops=False).secret.drops


def test_what_was_loaded_counts_as_begun() -> None:
    """Noise comes before the first record, and a file may hold some."""
    with pytest.raises(scumble.PrivacyError, match="before the first record"):
        secret().start_with_noise(epsilon=1.0)


def test_a_part_that_was_released_says_so() -> None:
    with pytest.raises(scumble.BudgetError, match="released before, as 'abc'"):
        secret(released="abc")


# ---- the periods of a stream that a release says it is of ----


GOOD: dict[str, Any] = {"identity": "6a7ff4a4-0e0f-4a4b-9a51-0d7c3b3f2f10", "first": 1, "last": 3, "method": {"a": 1}}


def test_a_span_is_read_as_it_was_written() -> None:
    assert Span.from_dict(None) is None
    for ends in ({}, {"first": 3}, {"last": 1}, {"last": 2**31 - 1}):
        span = Span.from_dict({**GOOD, **ends})
        assert span is not None and span.to_dict() == {**GOOD, **ends}


@pytest.mark.parametrize(
    "bad",
    [
        [],
        {"identity"},
        {**GOOD, "more": 1},
        {name: GOOD[name] for name in ("identity", "first", "last")},
        *({**GOOD, **ends} for ends in ({"first": 0}, {"first": 4}, {"last": 2**31}, {"first": 1.0}, {"last": 3.0})),
        {**GOOD, "first": True},
        {**GOOD, "method": []},
        {**GOOD, "identity": 7},
        {**GOOD, "identity": "nobody"},
    ],
    ids=repr,
)
def test_anything_else_is_refused(bad: Any) -> None:
    with pytest.raises(TypeError):
        Span.from_dict(bad)


# ---- counters do not wrap at 2⁶³ ----


LARGE = [2**62, 2**63 - 1, -(2**62), -(2**63)]


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
