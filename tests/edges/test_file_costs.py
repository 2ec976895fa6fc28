"""What a file may cost is bounded by what it weighs; what a plan may cost, by sense."""

from __future__ import annotations

import numpy as np
import pytest

import scumble
from scumble import files
from scumble.density.bundle import Bundle
from scumble.density.release import Release
from scumble.density.spec import Spec
from scumble.errors import CorruptFileError, ParameterError


@pytest.fixture(scope="module")
def release() -> Release:
    sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=2, buckets=1024, seed=1, design="iid")
    return sketch.update(np.ones((5, 1))).release(epsilon=1.0)


def signed_again(release: Release, **changes: object) -> bytes:
    """The release with another spec and a right checksum: what an attacker would send."""
    metadata = release.metadata()
    kernel = metadata["spec"]["kernel"] | changes.pop("kernel", {})  # type: ignore[operator]
    metadata["spec"] = metadata["spec"] | {"kernel": kernel} | changes
    return files.to_bytes("release", metadata, {"counts": release.counts})


def test_a_small_file_of_large_cost_is_refused(release: Release) -> None:
    for changes in (
        *({"kernel": {"power": power}} for power in (2**19, 2**12 + 1, 2**200, 1.5)),
        {"kernel": {"columns": [0] * 10_000, "power": 4000}},
        *({"dimensions": 10**6, "kernel": {"power": 2}}, {"dimensions": 10**4, "kernel": {"power": 4000}}),
        {"dimensions": 2**29},
    ):
        with pytest.raises(CorruptFileError):
            Release.from_bytes(signed_again(release, **changes))
    metadata = release.metadata()  # a product of many factors costs as much as they do together
    factor = metadata["spec"]["kernel"] | {"power": 1000}
    metadata["spec"]["kernel"] = {"kernel": "product", "factors": [factor] * 5}
    with pytest.raises(CorruptFileError, match="power"):
        Release.from_bytes(files.to_bytes("release", metadata, {"counts": release.counts}))


@pytest.mark.parametrize(
    ("rows", "dimensions", "power", "buckets"),
    [
        (20_000, 45, 4, 8),  # regression
        (200_000, 20, 2, 2),
        (20_000, 2_000, 2, 2),
        (8_192, 384, 16, 1024),  # a million sentences
        (2_048, 100_000, 1, 1024),
        (1, 10**6, 1, 16),
        (64, 2, 4_096, 64),
    ],
)
def test_what_people_build_is_loaded(rows: int, dimensions: int, power: int, buckets: int) -> None:
    kernel = scumble.AngularKernel(power=power)
    spec = Spec(kernel, dimensions, None, rows, buckets, 0, "iid")
    assert Spec.from_dict(spec.to_dict()) == spec


@pytest.mark.parametrize(("dimensions", "power", "rows"), [(2, 4097, 8), (10**6 + 1, 1, 1), (10**6, 2, 2)])
def test_what_could_not_be_loaded_is_not_built(dimensions: int, power: int, rows: int) -> None:
    with pytest.raises(ParameterError):
        scumble.Sketch(scumble.EuclideanKernel(1.0, power=power), dimensions, rows=rows, buckets=8, design="iid")


def test_the_classes_of_a_bundle_share_their_hash_functions(release: Release) -> None:
    twin = scumble.Sketch.from_spec(Spec.from_dict(release.spec.to_dict())).release(epsilon=1.0)
    found = Bundle.from_bytes(Bundle({"a": release, "b": twin}).to_bytes())
    assert found["a"].spec.layout is found["b"].spec.layout
