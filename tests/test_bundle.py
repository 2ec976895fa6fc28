"""Bundles: several releases in one file, one per class."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import scumble
from scumble import files
from scumble.density.bundle import Bundle, plain

KERNEL = scumble.EuclideanKernel(1.0)


def release(center: float = 0.0, *, rows: int = 8, epsilon: float = 1.0) -> scumble.Release:
    sketch = scumble.Sketch(KERNEL, columns=["x"], rows=rows, buckets=32, design="iid")
    return sketch.update(np.full((500, 1), center)).release(epsilon)


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return Bundle({"b": release(0.0), "a": release(9.0), 3: release(5.0)}, label="kind", extra={"made by": "a test"})


def test_a_bundle_is_a_mapping_in_the_order_given(bundle: Bundle) -> None:
    assert list(bundle) == ["b", "a", 3] == list(bundle.classes) and len(bundle) == 3
    assert "a" in bundle and "z" not in bundle
    assert bundle.privacy == bundle["a"].privacy and bundle.spec == bundle[3].spec
    assert "ε = 1" in repr(bundle)


def test_files_give_the_same_bundle_back(bundle: Bundle, tmp_path: Path) -> None:
    bundle.save(tmp_path / "b.scumble")
    for found in (Bundle.load(tmp_path / "b.scumble"), Bundle.from_bytes(bundle.to_bytes())):
        assert found.classes == bundle.classes and found.label == "kind" and found.extra == {"made by": "a test"}
        for name in bundle:
            assert np.array_equal(found[name].counts, bundle[name].counts)
            assert found[name].privacy == bundle[name].privacy and found[name].identity == bundle[name].identity
    assert found.to_bytes() == bundle.to_bytes()
    with pytest.raises(scumble.ForeignFileError):
        Bundle.from_bytes(bundle["a"].to_bytes())


class Scalar:
    """As of some libraries: equal in value, and yet two keys of a dict."""

    def item(self) -> int:
        return 1


def test_what_does_not_belong_together_is_refused() -> None:
    for other in (release(rows=16), release(epsilon=2.0)):
        with pytest.raises(scumble.MergeError):
            Bundle({"a": release(), "b": other})
    for wrong in ({}, {"a": "b"}, {None: release()}, {float("nan"): release()}, {Scalar(): release() for _ in "ab"}):
        with pytest.raises(scumble.ParameterError):
            Bundle(wrong)
    assert Bundle({Scalar(): release()}).classes == (1,)
    public = {name: scumble.Sketch(KERNEL, 1, rows=2, buckets=4).release(1.0, neighbors="replace") for name in "ab"}
    with pytest.raises(scumble.PrivacyError):
        Bundle(public)
    assert Bundle({"a": public["a"]}).classes == ("a",)


def test_labels_are_json_values() -> None:
    found = [plain(one) for one in (np.int64(3), np.float64(0.5), np.bool_(True), np.str_("x"))]
    assert found == [3, 0.5, True, "x"] and [*map(type, found)] == [int, float, bool, str]


def test_files_that_do_not_fit_together_are_refused(bundle: Bundle) -> None:
    metadata, arrays = bundle._contents()
    short = {name: array for name, array in arrays.items() if name != "counts.1"}
    changes = [{"classes": classes} for classes in (["a"], ["a", "a", "b"], None)] + [{"releases": []}]
    for contents in (*((metadata | change, arrays) for change in changes), (metadata, short)):
        with pytest.raises(scumble.CorruptFileError):
            Bundle.from_bytes(files.to_bytes("bundle", *contents))
