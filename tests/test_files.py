"""Files: whole or refused. Every damage is found, nothing secret is read as public, nothing is left behind."""

from __future__ import annotations

import base64
import errno
import hashlib
import json
import os
import shutil
import stat
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import scumble
from scumble import errors, files
from scumble._version import __version__
from scumble.files import disk, format, places

PUBLIC = ("release", "bundle", "model")
DTYPES = ("<i8", "<u8", "<i4", "<u2", "|u1", "<f8", "<f4")


def small() -> bytes:
    return files.to_bytes("release", {"epsilon": 1.0}, {"counts": np.arange(3), "flag": np.uint8([7])})


def sealed(header: bytes | dict, body: bytes = b"", *, length: int | None = None) -> bytes:
    """A file with a right checksum around any header: what an attacker would send."""
    if isinstance(header, dict):
        header = json.dumps(header, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    data = (len(header) if length is None else length).to_bytes(8, "little") + header + body
    at = data.find(b"0" * 64)
    return data.replace(b"0" * 64, hashlib.sha256(data).hexdigest().encode(), 1) if at > 0 else data


def about(**changes: object) -> dict:
    """The header's own fields, in the order of the format."""
    fields: dict[str, object] = {
        "format": "scumble",
        "format_version": "1",
        "sha256": "0" * 64,
        "kind": "release",
        "library": "0.1.0",
        "scumble": "{}",
    }
    return fields | changes


def entry(dtype: object = "I64", shape: object = (1,), offsets: object = (0, 8)) -> dict:
    listed = [list(x) if isinstance(x, tuple) else x for x in (shape, offsets)]
    return {"dtype": dtype, "shape": listed[0], "data_offsets": listed[1]}


# ------------------------------------------------------------ round trips

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
some_arrays = st.dictionaries(
    st.from_regex(r"\A[A-Za-z0-9_.\-]{1,12}\Z"),
    st.sampled_from(DTYPES).flatmap(
        lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    ),
    max_size=4,
)


@settings(max_examples=80, deadline=None)
@given(
    kind=st.sampled_from(sorted(files.KINDS)),
    metadata=st.dictionaries(st.text(), json_values, max_size=4),
    arrays=some_arrays,
)
def test_what_is_written_is_read(kind, metadata, arrays):
    short = any(array.dtype == np.uint16 for array in arrays.values())
    assume(not (short and any(array.dtype == np.int32 for array in arrays.values())))
    data = files.to_bytes(kind, metadata, arrays)
    box = files.from_bytes(data, expect=kind)
    assert (box.kind, box.metadata, box.library) == (kind, metadata, __version__)
    assert box.arrays.keys() == arrays.keys()
    foreign = safetensors.numpy.load(data)
    narrowed = [name for name, array in arrays.items() if foreign[name].dtype != array.dtype]
    assert box.version == (3 if short else 2 if narrowed else 1)
    for name, array in arrays.items():
        found = box.arrays[name]
        assert found.dtype == array.dtype and found.shape == array.shape
        assert found.tobytes() == array.tobytes() == foreign[name].astype(array.dtype).tobytes()
        assert found.flags.aligned and not found.flags.writeable
        assert found.size == 0 or name in narrowed or np.shares_memory(found, np.frombuffer(data, np.uint8))


@pytest.mark.parametrize(
    ("numbers", "kind", "stored"),
    [
        ([-(2**31), 2**31 - 1], "release", "I32"),
        ([0, 2**31], "release", "I64"),
        ([-(2**31) - 1, 0], "bundle", "I64"),
        ([0, 1], "secret", "I64"),  # whose numbers are exact: their size is nobody's business
        ([], "release", "I64"),
    ],
)
def test_published_counters_that_fit_are_stored_in_32_bits(numbers, kind, stored):
    array = np.array([numbers], np.int64)
    data = files.to_bytes(kind, {}, {"counts": array})
    assert f'"dtype":"{stored}"'.encode() in data
    box = files.from_bytes(data, expect=kind)
    assert box.version == (2 if stored == "I32" else 1)
    assert box.arrays["counts"].dtype == np.int64 and box.arrays["counts"].tolist() == array.tolist()


def test_equal_content_gives_equal_bytes():
    """Whatever the order of names, the byte order and the layout in memory."""
    a, b = np.arange(6).reshape(2, 3), np.float32([1, 2])
    one = files.to_bytes("model", {"x": 1, "y": {"p": 2, "q": 3}}, {"a": a, "b": b})
    for other in (a, a.astype(">i8"), np.asfortranarray(a)):
        assert files.to_bytes("model", {"y": {"q": 3, "p": 2}, "x": 1}, {"b": b, "a": other}) == one


GOLDEN = base64.b64decode(
    "SAEAAAAAAAB7Il9fbWV0YWRhdGFfXyI6eyJmb3JtYXQiOiJzY3VtYmxlIiwiZm9ybWF0X3ZlcnNpb24iOiIxIiwic2hhMjU2Ijoi"
    "MDJhMjRiNTE3NTIwNzc0ODEwODAzNTc1MTFmYzBkYWFkODZkZDNjYmM1YjVhNWZhZDg0MTZlMzQ4MTg4NzQ5MSIsImtpbmQiOiJy"
    "ZWxlYXNlIiwibGlicmFyeSI6IjAuMS4wIiwic2N1bWJsZSI6IntcIlxcdTAwZTlcIjpbMSwyLjUsbnVsbF19In0sImNvdW50cyI6"
    "eyJkdHlwZSI6Ikk2NCIsInNoYXBlIjpbMiwyXSwiZGF0YV9vZmZzZXRzIjpbMCwzMl19LCJ6Ijp7ImR0eXBlIjoiRjMyIiwic2hh"
    "cGUiOlsxXSwiZGF0YV9vZmZzZXRzIjpbMzIsMzZdfX0gICAgAAAAAAAAAAABAAAAAAAAAAIAAAAAAAAAAwAAAAAAAAAAAAA/"
)


def test_the_bytes_of_version_1_never_change(monkeypatch):
    monkeypatch.setattr(format, "__version__", "0.1.0")
    monkeypatch.setattr(format, "_narrowed", lambda blocks: blocks)
    metadata = {"é": [1, 2.5, None]}
    arrays = {"counts": np.arange(4).reshape(2, 2), "z": np.float32([0.5])}
    assert files.to_bytes("release", metadata, arrays) == GOLDEN
    box = files.from_bytes(GOLDEN, expect="release")
    assert box.metadata == metadata and box.arrays["counts"].tolist() == [[0, 1], [2, 3]]


LOOP: dict = {}
LOOP["loop"] = LOOP
BENT = [{"a": float("nan")}, {"a": float("inf")}, {1: 2}, {"a": np.int64(1)}, {"a": {2, 3}}, {"a": b"x"}, [1], LOOP]
ARRAYS = [np.array([1j]), np.array([object()]), np.array(["a"]), np.int16([1]), np.array([True]), np.zeros((1,) * 9)]
NAMES = ["", "__metadata__", "a b", 'a"b', "é", "x" * 129, 5]


@pytest.mark.parametrize(
    ("kind", "metadata", "arrays"),
    [
        ("pickle", {}, {}),
        ("table", {}, {"a": np.uint16([1]), "b": np.int32([1])}),
        *(("release", metadata, {}) for metadata in [*BENT, {"a": 1 << 9000}]),
        *(("release", {}, {"a": array}) for array in ARRAYS),
        *(("release", {}, {name: np.arange(2)}) for name in NAMES),
    ],
)
def test_what_the_format_does_not_hold_is_refused(kind, metadata, arrays):
    with pytest.raises(errors.ParameterError):
        files.to_bytes(kind, metadata, arrays)


# ----------------------------------------------------------------- damage


def test_every_truncation_and_extension_is_refused():
    data = small()
    for bad in (*(data[:n] for n in range(1, len(data))), *(data + more for more in (b"\0", b" ", bytes(8), data))):
        with pytest.raises(errors.CorruptFileError):
            files.from_bytes(bad, expect="release")


def test_every_single_bit_flip_is_refused():
    data = small()
    version = data.index(b'"format_version":"2"') + len('"format_version":"')
    for i in range(len(data)):
        for bit in range(8):
            bad = bytearray(data)
            bad[i] ^= 1 << bit
            # A 2 may flip to a 6: then the file speaks for a version that we cannot judge.
            wanted = errors.NewerFileError if i == version and chr(bad[i]) == "6" else errors.CorruptFileError
            with pytest.raises(wanted):
                files.from_bytes(bytes(bad), expect="release")


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300), st.integers(0, 400), st.integers(0, 400))
def test_noise_never_gets_through(noise, start, stop):
    data = small()
    for bad in (noise, data[:start] + noise + data[stop:]):
        if bad != data:
            with pytest.raises(errors.FileError):
                files.from_bytes(bad, expect="release")


@pytest.mark.parametrize(
    "data",
    [
        b"age,income\n3,4\n" * 20,
        b"PAR1" + b"\0" * 100,
        b"\x80\x04\x95" + b"\0" * 100,
        safetensors.numpy.save({"a": np.arange(3)}, {"format": "pt"}),
        b"\xff" * 8 + b"{}" * 40,
        b"",
    ],
)
def test_files_of_others_are_foreign(data):
    with pytest.raises(errors.ForeignFileError):
        files.from_bytes(data, expect="release")


@pytest.mark.parametrize("version", ["4", "17", "999999999"])
@pytest.mark.parametrize("rest", [b',"blake3":"00"}', b"", b'","sha256":"' + b"0" * 64])
def test_a_newer_format_is_named_whatever_follows(version, rest):
    data = bytes(8) + b'{"__metadata__":{"format":"scumble","format_version":"' + version.encode() + b'"' + rest
    with pytest.raises(errors.NewerFileError, match=rf"format version {version} .* up to 3\. Hint: pip install"):
        files.from_bytes(data, expect="release")


DEEP = b"[" * 200_000
HOSTILE = {
    "a length beyond everything": sealed({"__metadata__": about()}, length=2**64 - 8),
    "a length beyond the file": sealed({"__metadata__": about()}, length=1 << 20),
    "a length that cuts the header": sealed({"__metadata__": about()}, length=64),
    "no JSON": sealed(json.dumps({"__metadata__": about()}).replace(" ", "").encode() + b"}"),
    "a key twice": sealed(json.dumps({"__metadata__": about()}).replace(" ", "").encode()[:-1] + b',"a":1,"a":1}'),
    "deep nesting": sealed(
        json.dumps({"__metadata__": about()}).replace(" ", "").encode()[:-1] + b',"a":' + DEEP + b"}"
    ),
    "a type of a later version": sealed({"__metadata__": about(), "a": entry("U16", (4,))}, bytes(8)),
    "deep metadata": sealed({"__metadata__": about(scumble='{"a":' + "[" * 100 + "]" * 100 + "}")}),
    "very deep metadata": sealed({"__metadata__": about(scumble='{"a":' + "[" * 200_000 + "]" * 200_000 + "}")}),
    "NaN": sealed({"__metadata__": about(scumble='{"a":NaN}')}),
    "infinity by overflow": sealed({"__metadata__": about(scumble='{"a":1e999}')}),
    "endless digits": sealed({"__metadata__": about(scumble='{"a":' + "9" * 100_000 + "}")}),
    "metadata twice": sealed({"__metadata__": about(scumble='{"a":1,"a":2}')}),
    "metadata that is a list": sealed({"__metadata__": about(scumble="[]")}),
    "metadata that is a number": sealed({"__metadata__": about(scumble=5)}),
    "a kind that is a list": sealed({"__metadata__": about(kind="release") | {"library": []}}),
    "a field too many": sealed({"__metadata__": about(more="x")}),
    "not UTF-8": sealed(json.dumps({"__metadata__": about()}).replace(" ", "").encode()[:-1] + b',"\xff\xfe":1}'),
    "dtype unknown": sealed({"__metadata__": about(), "a": entry("BF16", (4,))}, bytes(8)),
    "dtype object": sealed({"__metadata__": about(), "a": entry("O", (1,))}, bytes(8)),
    "dtype a list": sealed({"__metadata__": about(), "a": entry(["I64"])}, bytes(8)),
    "negative shape": sealed({"__metadata__": about(), "a": entry(shape=(-1,))}, bytes(8)),
    "two negatives": sealed({"__metadata__": about(), "a": entry(shape=(-1, -1))}, bytes(8)),
    "a shape of floats": sealed({"__metadata__": about(), "a": entry(shape=(1.0,))}, bytes(8)),
    "a shape of booleans": sealed({"__metadata__": about(), "a": entry(shape=(True,))}, bytes(8)),
    "a shape of text": sealed({"__metadata__": about(), "a": entry(shape="1")}, bytes(8)),
    "a shape that overflows": sealed({"__metadata__": about(), "a": entry(shape=(2**32, 2**32))}, bytes(8)),
    "a shape that wraps to 8": sealed({"__metadata__": about(), "a": entry(shape=(2**61 + 1,))}, bytes(8)),
    "a huge empty shape": sealed({"__metadata__": about(), "a": entry(shape=(0, 2**40, 2**40), offsets=(0, 0))}),
    "too many axes": sealed({"__metadata__": about(), "a": entry(shape=(1,) * 70)}, bytes(8)),
    "offsets out of range": sealed({"__metadata__": about(), "a": entry(shape=(2,), offsets=(0, 16))}, bytes(8)),
    "too few bytes": sealed({"__metadata__": about(), "a": entry(shape=(3,), offsets=(0, 16))}, bytes(24)),
    "too many bytes": sealed({"__metadata__": about(), "a": entry(offsets=(0, 16))}, bytes(16)),
    "bytes of nothing": sealed({"__metadata__": about(), "a": entry(shape=(0,))}, bytes(8)),
    "offsets negative": sealed({"__metadata__": about(), "a": entry(offsets=(-8, 0))}, bytes(8)),
    "offsets swapped": sealed({"__metadata__": about(), "a": entry(offsets=(8, 0))}, bytes(8)),
    "three offsets": sealed({"__metadata__": about(), "a": entry(offsets=(0, 8, 8))}, bytes(8)),
    "an overlap": sealed({"__metadata__": about(), "a": entry(), "b": entry()}, bytes(8)),
    "a gap": sealed({"__metadata__": about(), "a": entry(), "b": entry(offsets=(16, 24))}, bytes(24)),
    "bytes left over": sealed({"__metadata__": about(), "a": entry()}, bytes(16)),
    "no alignment": sealed(
        {"__metadata__": about(), "a": entry("U8", (1,), (0, 1)), "b": entry(offsets=(1, 9))}, bytes(9)
    ),
    "an entry that is a number": sealed({"__metadata__": about(), "a": 5}),
    "an entry with a field too many": sealed({"__metadata__": about(), "a": entry() | {"pickle": "x"}}, bytes(8)),
    "a name with a path": sealed({"__metadata__": about(), "../a": entry()}, bytes(8)),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_headers_are_refused(what):
    with pytest.raises(errors.CorruptFileError) as caught:
        files.from_bytes(HOSTILE[what], expect="release")
    assert caught.value.__cause__ is None and len(str(caught.value)) < 300


def test_the_hostile_files_differ_from_a_sound_one_only_in_their_header():
    """The guard on the tests above: their builder makes files that load."""
    files.from_bytes(sealed({"__metadata__": about(), "a": entry()}, bytes(8)), expect="release")


# -------------------------------------------------------- the wrong kind


@pytest.mark.parametrize("kind", sorted(files.SECRET_KINDS))
@pytest.mark.parametrize("expect", ["release", PUBLIC])
def test_a_secret_is_not_read_as_public(kind, expect):
    with pytest.raises(errors.SecretFileError) as caught:
        files.from_bytes(files.to_bytes(kind, {}, {"counts": np.arange(3)}), expect=expect)
    assert isinstance(caught.value, errors.PrivacyError)


@pytest.mark.parametrize(
    ("data", "expect"),
    [
        *((files.to_bytes(kind, {}, {}), "secret") for kind in (*PUBLIC, "checkpoint")),
        (files.to_bytes("bundle", {}, {}), ("release", "model")),
        (files.to_bytes("model", {}, {}), ("secret", *files.RELEASES)),
        (sealed({"__metadata__": about(kind="hologram")}), "release"),
    ],
)
def test_files_of_another_kind_are_refused(data, expect):
    with pytest.raises(errors.ForeignFileError):
        files.from_bytes(data, expect=expect)


# ---------------------------------------------------------------- on disk


def test_write_and_read(tmp_path, monkeypatch):
    """By a path, a bare name and a link."""
    monkeypatch.chdir(tmp_path)
    for path in (tmp_path / "a.scumble", "a.scumble"):
        files.write(path, "release", {"a": 1}, {"counts": np.arange(3)})
        assert os.listdir(tmp_path) == ["a.scumble"]
        (tmp_path / "link").symlink_to(tmp_path / "a.scumble")
        for read in (str(path), tmp_path / "link"):
            box = files.read(read, expect=PUBLIC)
            assert box.metadata == {"a": 1} and box.arrays["counts"].tolist() == [0, 1, 2]
        os.unlink(path), os.unlink("link")


@pytest.fixture
def umask():
    before = os.umask(0)
    yield os.umask
    os.umask(before)


def test_modes(tmp_path, umask, monkeypatch):
    modes = []
    real = os.fdopen
    monkeypatch.setattr(
        os, "fdopen", lambda fd, *a, **k: modes.append(stat.S_IMODE(os.fstat(fd).st_mode)) or real(fd, *a, **k)
    )
    for kind, flag in (("release", False), ("secret", False), ("checkpoint", False), ("model", True)):
        files.write(tmp_path / kind, kind, {}, {}, secret=flag)
        assert stat.S_IMODE((tmp_path / kind).stat().st_mode) == modes[-1]
    assert modes == [0o666, 0o600, 0o600, 0o600]  # from the first byte, under umask 000
    umask(0o027)
    files.write(tmp_path / "release", "release", {}, {})
    assert stat.S_IMODE((tmp_path / "release").stat().st_mode) == 0o640


def test_a_secret_that_others_may_read_is_read_with_a_warning(tmp_path):
    path = tmp_path / "s.secret"
    files.write(path, "secret", {}, {})
    files.read(path, expect="secret")  # a warning would be an error here
    path.chmod(0o640)
    with pytest.warns(UserWarning, match="chmod 600"):
        files.read(path, expect="secret")
    sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=1, buckets=1)
    sketch.save(path)
    path.chmod(0o640)
    with pytest.warns(UserWarning, match="chmod 600") as found:
        scumble.load_secret(path)
    assert found[0].filename == __file__, "the caller's line"


def unchanged(path) -> bool:
    return os.listdir(path.parent) == [path.name] and files.read(path, expect="release").metadata == {"old": 1}


@pytest.fixture
def old(tmp_path):
    files.write(tmp_path / "a.scumble", "release", {"old": 1}, {})
    return tmp_path / "a.scumble"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EACCES])
@pytest.mark.parametrize("where", ["open", "fdopen", "fsync", "replace"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(old, monkeypatch, number, where):
    def fail(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, where, fail)
        with pytest.raises(errors.FileError) as caught:
            files.write(old, "release", {"new": 1}, {})
    assert caught.value.errno == number
    assert ("disk is full" in str(caught.value)) == (number in (errno.ENOSPC, errno.EDQUOT))
    assert unchanged(old)


def test_a_file_of_somebody_else_is_not_replaced(tmp_path):
    table, reserved = tmp_path / "people.csv", tmp_path / "reserved"
    table.write_bytes(b"age\n41\n")
    reserved.touch()
    release = scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=1, buckets=1).release(1.0)
    with pytest.raises(scumble.ForeignFileError):
        release.save(table)
    assert table.read_bytes() == b"age\n41\n"
    for _ in range(2):
        release.save(reserved)
    assert scumble.load(reserved).identity == release.identity


def test_a_link_is_replaced_and_not_followed(tmp_path):
    aim, link = tmp_path / "aim", tmp_path / "link"
    aim.write_bytes(b"untouched")
    link.symlink_to(aim)
    files.write(link, "secret", {}, {})
    assert aim.read_bytes() == b"untouched" and not link.is_symlink()
    link.unlink()
    link.symlink_to(tmp_path / "nowhere")
    files.write(link, "secret", {}, {})
    assert not (tmp_path / "nowhere").exists() and files.read(link, expect="secret").kind == "secret"


def test_a_payment_belongs_to_one_file(tmp_path):
    content = disk.bytes_of("checkpoint", {}, {}, bound=False, payment="charge 1")
    places.write_whole(str(tmp_path / "one"), content, secret=True)
    shutil.copy(tmp_path / "one", tmp_path / "copy")
    assert files.read(tmp_path / "one", expect="checkpoint").payment == "charge 1"
    copy = files.read(tmp_path / "copy", expect="checkpoint")
    assert copy.payment is None and not copy.metadata


def test_what_is_no_file_is_neither_written_nor_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").touch()
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(errors.FileError):
            files.write(path, "release", {}, {})
    for path, why in ((tmp_path, "a folder"), (tmp_path / "pipe", "regular"), (tmp_path / "empty", "empty")):
        with pytest.raises(errors.ForeignFileError, match=why):
            files.read(path, expect="release")
    with pytest.raises(errors.FileError) as long:
        files.read(tmp_path / ("a" * 300), expect="release")
    assert long.value.errno == errno.ENAMETOOLONG
    for missing in (
        lambda: files.write(tmp_path / "nowhere" / "a", "release", {}, {}),
        lambda: files.read(tmp_path / "no.scumble", expect="release"),
    ):
        with pytest.raises(errors.MissingFileError) as caught:
            missing()
        assert isinstance(caught.value, FileNotFoundError) and caught.value.errno == errno.ENOENT
    for path in ("", "a\0b", 5.0, None):
        with pytest.raises(errors.ParameterError, match="`path` must be"):
            files.read(path, expect="release")


def test_a_large_foreign_file_is_not_read(tmp_path):
    path = tmp_path / "huge"
    with open(path, "wb") as file:
        file.truncate(1 << 40)  # a hole of a terabyte
    with pytest.raises(errors.FileError):
        files.read(path, expect="release")


# ---- every bound at its edge: the last that passes and the first that does not ----


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_metadata_is_32_levels_deep_and_its_integers_have_8192_bits_at_most() -> None:
    for value in ({"a": nested(31)}, {"a": {"a": nested(30)}}, nested(32), 2**8192 - 1, -(2**8192) + 1):
        assert format.not_plain(value) == ""
    for value in (nested(33), 2**8192):
        assert format.not_plain(value)
    files.from_bytes(files.to_bytes("release", {"a": 2**8192 - 1}, {"x" * 128: np.zeros(1)}), expect="release")


def test_eight_axes_at_most() -> None:
    eight = np.zeros((1,) * 8, np.int64)
    assert files.from_bytes(files.to_bytes("release", {}, {"a": eight}), expect="release").arrays["a"].ndim == 8
    with pytest.raises(errors.ParameterError, match="at most 8 axes"):
        files.to_bytes("release", {}, {"a": eight[None]})
    files.from_bytes(sealed({"__metadata__": about(), "a": entry(shape=(1,) * 8)}, bytes(8)), expect="release")
    with pytest.raises(errors.CorruptFileError):
        files.from_bytes(sealed({"__metadata__": about(), "a": entry(shape=(1,) * 9)}, bytes(8)), expect="release")


def test_a_large_header_is_refused_by_writer_and_reader_but_for_checkpoints() -> None:
    metadata = {"names": ["x" * 40] * 30_000}
    with pytest.raises(errors.ParameterError, match="small compared with the arrays"):
        files.to_bytes("release", metadata, {})
    checkpoint = files.to_bytes("checkpoint", metadata, {})
    assert files.from_bytes(checkpoint, expect="checkpoint").metadata == metadata
    with pytest.raises(errors.CorruptFileError, match="too large for what it holds"):
        files.from_bytes(checkpoint, expect="release")
    with pytest.raises(errors.ParameterError, match="at most 16,777,216 bytes"):
        files.to_bytes("checkpoint", {"name": "x" * 2**24}, {})


def test_zeros_in_the_metadata_stay_zeros() -> None:
    """The checksum takes the place of the first 64 zeros only."""
    metadata = {"zeros": "0" * 64, "more": "0" * 200}
    assert files.from_bytes(files.to_bytes("release", metadata, {}), expect="release").metadata == metadata


def test_a_header_may_have_16_mib_and_no_more() -> None:
    """The reader's bound, before anything else is read."""
    head = files.to_bytes("release", {}, {})[8:]
    for length, refused in ((2**24, "truncated"), (2**24 + 8, "header is damaged"), (4, "header is damaged")):
        with pytest.raises(errors.CorruptFileError, match=refused):
            format.preamble(length.to_bytes(8, "little") + head, 1000, "it")


def test_arrays_may_not_outnumber_their_data() -> None:
    """64, and one for every four bytes."""

    def many(count: int, data: int) -> bytes:
        header: dict[str, Any] = {"__metadata__": about(), "a": entry("U8", (data,), (0, data))}
        for k in range(count - 1):
            header[f"b{k}"] = entry("U8", (0,), (data, data))
        return sealed(header, bytes(data))

    for data in (0, 15, 16):
        most = 64 + data // 4
        assert len(files.from_bytes(many(most, data), expect="release").arrays) == most
        with pytest.raises(errors.CorruptFileError):
            files.from_bytes(many(most + 1, data), expect="release")


def test_shapes_end_below_two_to_the_48() -> None:
    sound = sealed({"__metadata__": about(), "a": entry(shape=(0, 2**48 - 1), offsets=(0, 0))})
    assert files.from_bytes(sound, expect="release").arrays["a"].shape == (0, 2**48 - 1)
    for shape in ((0, 2**47, 2**11), (0, 1, 2**47, 2**11)):  # a zero counts as one
        files.from_bytes(sealed({"__metadata__": about(), "a": entry("U8", shape, (0, 0))}), expect="release")
    for shape in ((0, 2**48), (0, 2**47, 2**12)):
        with pytest.raises(errors.CorruptFileError):
            files.from_bytes(
                sealed({"__metadata__": about(), "a": entry(shape=shape, offsets=(0, 0))}), expect="release"
            )


def test_a_damaged_beginning_is_told_from_another_program_s_file() -> None:
    """Up to four wrong bytes of the magic are damage; five are another format."""
    sound = bytearray(files.to_bytes("release", {}, {}))
    for wrong, error in ((1, errors.CorruptFileError), (4, errors.CorruptFileError), (5, errors.ForeignFileError)):
        spoilt = bytes(sound[:8]) + bytes(b ^ 1 for b in sound[8 : 8 + wrong]) + bytes(sound[8 + wrong :])
        with pytest.raises(error):
            files.from_bytes(spoilt, expect="release")


def test_a_stump_of_ours_is_truncated_and_another_s_is_foreign() -> None:
    sound = files.to_bytes("release", {}, {})
    for size in range(8, 8 + len(format.MAGIC)):
        with pytest.raises(errors.CorruptFileError, match=rf"truncated \({size} bytes\)"):
            files.from_bytes(sound[:size], expect="release")
    for high in range(4, 8):  # a header of 4 GiB or more is not ours
        length = bytearray(8)
        length[high] = 1
        with pytest.raises(errors.ForeignFileError):
            files.from_bytes(bytes(length) + format.MAGIC[:10], expect="release")
    with pytest.raises(errors.ForeignFileError, match="it is empty"):
        files.from_bytes(b"", expect="release")


def test_arrays_are_laid_out_widest_first_then_by_name() -> None:
    made = files.to_bytes(
        "release", {}, {"a": np.uint8([1]), "c": np.arange(1), "b": np.float64([2.0]), "d": np.int32([5])}
    )
    assert list(files.from_bytes(made, expect="release").arrays) == ["b", "c", "d", "a"]
    assert int.from_bytes(made[:8], "little") % 8 == 0
