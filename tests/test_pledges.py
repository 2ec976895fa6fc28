"""Where a pledge leads: to a whole release, to nothing, or to a folder that is not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import scumble
from scumble import files
from scumble.gate.pledges import became, identity_of, left_release, pledge, require_free

NAME = ".scumble-0123456789ab-0123456789ab.ready"


def release() -> scumble.Release:
    return scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=2, buckets=4).release(epsilon=1.0)


def test_to_the_release_where_it_was_or_beside_the_secret(tmp_path: Path) -> None:
    for folder in ("out", "secrets"):
        (tmp_path / folder).mkdir()
    said = pledge(str(tmp_path / "out" / NAME), {"epsilon": 1.0}, "people.scumble")
    secret = str(tmp_path / "secrets" / "d.secret")
    assert left_release(said) is None and left_release(said, secret) is None, "nothing was given out"
    require_free(said)
    made = release()
    made.save(tmp_path / "secrets" / NAME)
    assert left_release(said) is None
    path, found = left_release(said, secret) or ("", None)
    assert path == str(tmp_path / "secrets" / NAME) and found is not None and identity_of(found) == made.identity
    os.rename(path, tmp_path / "out" / NAME)
    for way in ((said,), (said, secret), ({**said, "released": made.identity},)):
        path, found = left_release(*way) or ("", None)  # type: ignore[arg-type]
        assert path == str(tmp_path / "out" / NAME) and found is not None and identity_of(found) == made.identity
    with pytest.raises(scumble.BudgetError, match=made.identity):
        require_free(said)
    (tmp_path / "out" / NAME).write_bytes(b"half")
    assert left_release(said) is None


def test_a_note_names_the_file_of_its_release_while_it_is_there(tmp_path: Path) -> None:
    made, out = release(), tmp_path / "people.scumble"
    note = {"released": made.identity, **pledge(str(tmp_path / NAME), {}, str(out))}
    assert became(note) == repr(made.identity), "not yet written, or gone"
    made.save(out)
    assert became(note) == f"{str(out)!r} ({made.identity})"
    assert became({"released": "abc", "pledge": note["pledge"]}) == "'abc'", "another release has that name now"
    for odd in ({}, {"pledge": None}, {"pledge": {"out": 5}}, {"pledge": {"out": str(tmp_path)}}):
        assert became({"released": "abc", **odd}) == "'abc'"


def test_a_folder_that_is_not_there_may_hold_the_release(tmp_path: Path) -> None:
    said = pledge(str(tmp_path / "unmounted" / NAME), {}, "people.scumble")
    for ask in (left_release, require_free):
        with pytest.raises(scumble.BudgetError, match=r"'.*unmounted'"):
            ask(said)
    assert left_release({**said, "released": "abc"}) is None, "that it was released is known already"


@pytest.mark.parametrize(
    "metadata", [{}, {"pledge": {}}, {"pledge": None}, {"pledge": {"ready": 5}}, {"pledge": {"ready": "/etc/passwd"}}]
)
def test_what_is_no_pledge(metadata: dict) -> None:
    assert left_release(metadata) is None
    require_free(metadata)


def test_of_a_bundle_the_first() -> None:
    one, two = release(), release()
    bundle = scumble.Bundle({"a": one, "b": two})
    assert identity_of(files.from_bytes(bundle.to_bytes(), expect="bundle")) == one.identity
