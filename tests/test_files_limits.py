"""Every bound of the file format, at its edge: the last that passes and the first that does not."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scumble import errors, files
from scumble.files import places, reading, rules
from test_files import about, entry, sealed


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_metadata_is_32_levels_deep_and_its_integers_have_8192_bits_at_most() -> None:
    for value in ({"a": nested(31)}, {"a": {"a": nested(30)}}, nested(32), 2**8192 - 1, -(2**8192) + 1):
        assert rules.not_plain(value) == ""
    for value in (nested(33), 2**8192):
        assert rules.not_plain(value)
    files.from_bytes(files.to_bytes("release", {"a": 2**8192 - 1}, {"x" * 128: np.zeros(1)}), expect="release")


@pytest.mark.parametrize("value", [{1: 2}, [{"a": {None: 1}}], np.float64("nan"), [float("inf")], object(), [b"x"]])
def test_what_json_holds(value: object) -> None:
    assert rules.not_plain(value)
    assert rules.not_plain([None, True, "x", 1, 0.5, (1, 2), {"a": []}]) == ""


def test_eight_axes_at_most() -> None:
    eight = np.zeros((1,) * 8, np.int64)
    assert files.from_bytes(files.to_bytes("release", {}, {"a": eight}), expect="release").arrays["a"].ndim == 8
    with pytest.raises(errors.ParameterError, match="at most 8 axes"):
        files.to_bytes("release", {}, {"a": eight[None]})
    files.from_bytes(sealed({"__metadata__": about(), "a": entry(shape=(1,) * 8)}, bytes(8)), expect="release")
    with pytest.raises(errors.CorruptFileError):
        files.from_bytes(sealed({"__metadata__": about(), "a": entry(shape=(1,) * 9)}, bytes(8)), expect="release")


def test_how_large_a_header_may_be_beside_its_data() -> None:
    """1 MiB and twice the data's size; 32,768 values and one for every four bytes of data."""
    for data in (0, 7, 8, 10**6):
        assert not rules.too_large(b" " * (2**20 + 2 * data), data)
        assert rules.too_large(b" " * (2**20 + 2 * data + 1), data)
        for mark in (b",", b"[", b"{"):
            assert not rules.too_large(mark * (2**15 + data // 4), data)
            assert rules.too_large(mark * (2**15 + data // 4 + 1), data)
    assert rules.too_large(b",[{" * 11_000, 0)


def test_a_large_header_is_refused_by_writer_and_reader_but_for_checkpoints() -> None:
    metadata = {"names": ["x" * 40] * 30_000}
    with pytest.raises(errors.ParameterError, match="small beside the arrays"):
        files.to_bytes("release", metadata, {})
    checkpoint = files.to_bytes("checkpoint", metadata, {})
    assert files.from_bytes(checkpoint, expect="checkpoint").metadata == metadata
    with pytest.raises(errors.CorruptFileError, match="too large for what it holds"):
        files.from_bytes(checkpoint, expect="release")
    with pytest.raises(errors.ParameterError, match="at most 16,777,216 bytes"):
        files.to_bytes("checkpoint", {"name": "x" * 2**24}, {})


def test_the_reader_counts_the_whole_header(monkeypatch: pytest.MonkeyPatch) -> None:
    """From its first brace on, and by the data that follow it."""
    data = files.to_bytes("release", {"a": [1, 2]}, {"a": np.zeros(10)})
    header = data[8:-80]
    assert header.startswith(b"{") and header.rstrip().endswith(b"}")
    values = sum(header.count(mark) for mark in (b",", b"[", b"{"))
    monkeypatch.setattr(rules, "_PLAIN_VALUES", values - 20)
    files.from_bytes(data, expect="release")
    monkeypatch.setattr(rules, "_PLAIN_VALUES", values - 21)
    with pytest.raises(errors.CorruptFileError, match="too large for what it holds"):
        files.from_bytes(data, expect="release")


def test_zeros_in_the_metadata_stay_zeros() -> None:
    """The checksum takes the place of the first 64 zeros only."""
    metadata = {"zeros": "0" * 64, "more": "0" * 200}
    assert files.from_bytes(files.to_bytes("release", metadata, {}), expect="release").metadata == metadata


def test_an_array_has_as_many_bytes_as_its_shape_says() -> None:
    for shape, end, there in (((1,), 16, 16), ((3,), 16, 24), ((0,), 8, 8)):
        header = {"__metadata__": about(), "a": entry(shape=shape, offsets=(0, end))}
        with pytest.raises(errors.CorruptFileError):
            files.from_bytes(sealed(header, bytes(there)), expect="release")


def test_a_header_may_have_16_mib_and_no_more() -> None:
    """The reader's bound, before anything else is read."""
    head = files.to_bytes("release", {}, {})[8:]
    for length, refused in ((2**24, "truncated"), (2**24 + 8, "header is damaged"), (4, "header is damaged")):
        with pytest.raises(errors.CorruptFileError, match=refused):
            reading.preamble(length.to_bytes(8, "little") + head, 1000, "it")


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
    for size in range(8, 8 + len(rules.MAGIC)):
        with pytest.raises(errors.CorruptFileError, match=rf"truncated \({size} bytes\)"):
            files.from_bytes(sound[:size], expect="release")
    for high in range(4, 8):  # a header of 4 GiB or more is not ours
        length = bytearray(8)
        length[high] = 1
        with pytest.raises(errors.ForeignFileError):
            files.from_bytes(bytes(length) + rules.MAGIC[:10], expect="release")
    with pytest.raises(errors.ForeignFileError, match="it is empty"):
        files.from_bytes(b"", expect="release")


def test_the_folder_s_sync_may_be_unsupported_and_may_not_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, fails in ((errno.EINVAL, False), (errno.ENOTSUP, False), (errno.EIO, True), (errno.ENOSPC, True)):

        def refuse(descriptor: int, number: int = number) -> None:
            raise OSError(number, os.strerror(number))

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", refuse)
            if fails:
                with pytest.raises(OSError, match=os.strerror(number)):
                    places.sync_folder(str(tmp_path))
            else:
                places.sync_folder(str(tmp_path))


def test_arrays_are_laid_out_widest_first_then_by_name() -> None:
    made = files.to_bytes(
        "release", {}, {"a": np.uint8([1]), "c": np.arange(1), "b": np.float64([2.0]), "d": np.int32([5])}
    )
    assert list(files.from_bytes(made, expect="release").arrays) == ["b", "c", "d", "a"]
    assert int.from_bytes(made[:8], "little") % 8 == 0
