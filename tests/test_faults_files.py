"""Hostile files are refused, quickly and cheaply.

The long versions: `python tests/fuzz/hostile.py 10000`, and `make fuzz`, which is guided by coverage.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scumble
from fuzz import hostile
from scumble.errors import ScumbleError

# A shared machine can stall any one file. Only what explodes is caught here; the long version holds the 0.1 s.
hostile.SECONDS = 20.0


@pytest.fixture(scope="module")
def seeds() -> dict[str, bytes]:
    return hostile.seeds()


def test_hostile_files_are_refused_in_little_memory() -> None:
    """Another exception or 50 MB would be a hole; the seed moves on with the version of this test only."""
    holes: list[str] = []
    tally, _ = hostile.campaign(200, 20_250, lambda _, why: holes.append(why))
    assert not holes, holes[:5]
    assert tally["refused"] > 170


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@given(data=st.data(), value=JSON)
@settings(max_examples=120, deadline=None)
def test_any_value_in_any_place_is_refused_or_harmless(
    seeds: dict[str, bytes], data: st.DataObject, value: object
) -> None:
    header, arrays = hostile.apart(seeds[data.draw(st.sampled_from(sorted(seeds)))])
    metadata = header["__metadata__"]["scumble"]
    *path, last = data.draw(st.sampled_from(list(hostile.places(metadata))))
    inner = metadata
    for step in path:
        inner = inner[step]
    inner[last] = value
    verdict, why, _ = hostile.judge(hostile.together(header, arrays))
    assert verdict in ("refused", "sound"), why


@given(
    edits=st.lists(st.tuples(st.integers(0, 4000), st.binary(min_size=1, max_size=6)), max_size=4), sign=st.booleans()
)
@settings(max_examples=100, deadline=None)
def test_any_bytes_in_any_place_are_refused_or_harmless(seeds: dict[str, bytes], edits: list, sign: bool) -> None:
    data = bytearray(seeds["release"])
    for place, piece in edits:
        data[place : place + len(piece)] = piece
    verdict, why, _ = hostile.judge(hostile.signed(bytes(data)) if sign else bytes(data))
    assert verdict in ("refused", "sound"), why


@pytest.mark.parametrize(
    "bomb",
    [
        {"rows": 2**40, "buckets": 0},
        {"rows": 0, "buckets": 0},
        {"dimensions": 2**40, "columns": None},
        {"seed": -1},
        {"design": "grid"},
        {"design": "nothing"},
        {"shape": [1]},
        {"columns": ["x"]},
        {"rows": 6.0},
        {"buckets": True},
        {"kernel": {"kernel": "euclidean", "bandwidth": 1.0, "power": 2**60}},
    ],
)
def test_specs_that_would_explode_later_are_refused_now(seeds: dict[str, bytes], bomb: dict) -> None:
    header, arrays = hostile.apart(seeds["release"])
    spec = header["__metadata__"]["scumble"]["spec"]
    spec |= bomb
    if bomb.get("buckets") == 0:
        header["counts"] = {"dtype": "I64", "shape": [spec["rows"], spec["buckets"]], "data_offsets": [0, 0]}
        arrays = b""
    with pytest.raises(ScumbleError):
        scumble.Release.from_bytes(hostile.together(header, arrays))


@pytest.mark.parametrize("filling", [[], {}, {"a": 1}, "x" * 100, 10**18])
@pytest.mark.parametrize("count", [3000, 100_000])
def test_a_header_full_of_rubbish_costs_little(seeds: dict[str, bytes], filling: object, count: int) -> None:
    header, arrays = hostile.apart(seeds["release"])
    header["__metadata__"]["scumble"]["more"] = [filling] * count
    data = hostile.together(header, arrays)
    for memory in (False, True):
        verdict, why, _ = hostile.judge(data, memory=memory)
        assert verdict in ("refused", "sound"), why
        assert verdict == "refused" or count == 3000


def test_a_claim_about_other_rows_is_refused(seeds: dict[str, bytes]) -> None:
    """A claim is sound for its own number of rows only: fewer rows in the claim would be a smaller ε."""
    header, arrays = hostile.apart(seeds["release"])
    claim = header["__metadata__"]["scumble"]["privacy"]
    assert claim["rows"] == 6
    claim |= {"rows": 3, "epsilon": 1.0}
    with pytest.raises(ScumbleError):
        scumble.Release.from_bytes(hostile.together(header, arrays))


@pytest.mark.parametrize(
    ("estimator", "name", "value"),
    [
        ("PrivateKDE", "release_", "text"),
        ("PrivateKDE", "n_features_in_", 2**40),
        ("PrivateKDE", "bounds_", {"@tuple": ["a", "b"]}),
        ("PrivateOutlierDetector", "offset_", [1, 2, 3]),
        ("PrivateLinearRegression", "coef_", 7),
        ("PrivateKDEClassifier", "calibration_", True),
    ],
)
def test_a_model_that_cannot_answer_is_refused(
    seeds: dict[str, bytes], estimator: str, name: str, value: object
) -> None:
    header, arrays = hostile.apart(seeds[estimator])
    learnt = header["__metadata__"]["scumble"]["learnt"]
    assert name in learnt
    learnt[name] = value
    assert hostile.judge(hostile.together(header, arrays))[:2] == ("refused", "CorruptFileError")


def test_the_seeds_are_sound_and_cover_every_kind(seeds: dict[str, bytes]) -> None:
    kinds = {
        json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["kind"] for data in seeds.values()
    }
    assert kinds == {"release", "bundle", "model", "secret", "share"}
    for data in seeds.values():
        assert hostile.judge(data)[:2] == ("sound", "")
