"""Nothing secret leaves: not by pickle, repr, errors or bytes; and nothing is released twice."""

from __future__ import annotations

import copy
import io
import logging
import os
import pickle
import re
import stat
import traceback
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import scumble
from scumble import files
from scumble.columns.column import Strays
from scumble.columns.containers import take_apart
from scumble.columns.curator import Strays as OfSource
from scumble.counting.guard import FEW, prepare
from scumble.sources.formats import Read
from scumble.sources.source import Piece

KERNEL = scumble.EuclideanKernel(1.0)
SECRET = 7_654_321  # an N and a counter that would be recognized anywhere


@pytest.fixture
def sketch() -> scumble.Sketch:
    filled = scumble.Sketch(KERNEL, 2, rows=4, buckets=8, seed=1, design="iid")
    filled._counts[:, 3] = SECRET  # as if so many equal records had been counted
    return filled


def test_a_second_release_is_refused(sketch: scumble.Sketch) -> None:
    sketch.release(epsilon=1.0)
    with pytest.raises(scumble.BudgetError, match="released only once"):
        sketch.release(epsilon=1.0)
    zeros = np.zeros((1, 2))
    for verb in (lambda: sketch.update(zeros), lambda: sketch.kernel_sum(zeros), lambda: sketch.count):
        with pytest.raises(scumble.BudgetError):
            verb()
    assert sketch._counts.size == 0, "the exact counters are gone"


def test_merged_records_are_released_once() -> None:
    a, b = (scumble.Sketch(KERNEL, 2, rows=4, buckets=8).update(np.zeros((9, 2))) for _ in range(2))
    both, again = scumble.merge([a, b]), scumble.merge([a, b])
    both.release(epsilon=1.0)
    for part in (a, b, again):
        with pytest.raises(scumble.BudgetError, match="released before"):
            part.release(epsilon=1.0)


def test_a_sketch_is_not_pickled_or_copied(sketch: scumble.Sketch) -> None:
    table = scumble.TableSketch(scumble.Schema(age=scumble.Number(0, 9)))
    for attempt, held in product((pickle.dumps, copy.copy, copy.deepcopy), (sketch, sketch.secret, table)):
        with pytest.raises(scumble.PrivacyError):
            attempt(held)


def test_nothing_prints_the_counters(sketch: scumble.Sketch) -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logging.getLogger().addHandler(handler)
    told = [repr(sketch), str(sketch), repr(sketch.spec), repr(sketch.spec.layout), repr(sketch.spec.layout.hasher)]
    bad = [np.zeros((3, 5)), np.full((3, 2), np.nan), [["x", "y"]]]
    for X in bad:
        with pytest.raises(scumble.DataError) as caught:
            sketch.update(X)
        told.append("".join(traceback.format_exception(caught.value)))
    with pytest.raises(scumble.MergeError) as caught_merge:
        sketch.merge(scumble.Sketch(KERNEL, 3, rows=4, buckets=8))
    told.append("".join(traceback.format_exception(caught_merge.value)))
    # So much noise that the noisy count equals the exact one with probability 2e-15.
    release = sketch.release(epsilon=1e-13)
    told += [repr(sketch), repr(release), str(release.privacy), release.privacy.sentence(), stream.getvalue()]
    logging.getLogger().removeHandler(handler)
    for text in told:
        assert str(SECRET) not in re.sub(r"[,_]", "", text)


def test_what_holds_records_on_their_way_does_not_print_them(sketch: scumble.Sketch, tmp_path: Path) -> None:
    """Debuggers and trackers of errors print local variables."""
    schema = scumble.Schema(age=scumble.Number(0, SECRET + 1, whole=True, missing=True))
    table = pa.table({"age": [float(SECRET)] * 100})
    (batch,) = table.to_batches()
    secret = scumble.TableSketch(schema)
    read = sketch.read(np.full((FEW, 2), SECRET / 10**6))  # 7.654321
    found = schema["age"].find(table["age"])
    sketch.save(tmp_path / "part.secret")
    held = [secret.levels(table), read, *read.records, schema.encode(table), schema["age"].encode(table["age"]), found]
    held += [Piece(batch, (0, SECRET), None), Read(batch, None), take_apart(table), found.strays(), Strays(SECRET)]
    held += [prepare(sketch.spec.layout.hasher, read.records), files.read(tmp_path / "part.secret", expect="secret")]
    strays = OfSource()
    strays.add({"age": Strays(SECRET)})
    held.append(strays._columns)
    for one in held:
        assert one is not None
        for part in (str(SECRET), str(SECRET)[:-1], "array("):
            assert part not in f"{one!r} {one}".replace(".", "").replace(",", ""), type(one)


def test_the_released_bytes_hold_no_exact_number(sketch: scumble.Sketch) -> None:
    """At ε = 1e-13 a noisy number equals the exact one with probability 1e-14: none of 37 does, empty ones included."""
    release = sketch.release(epsilon=1e-13)
    assert not np.any(release.counts[:, 3] == SECRET)
    assert not np.any(release.counts == 0), "empty counters get full noise too"
    assert release.noisy_count != SECRET
    assert not np.any(release.counts.sum(axis=1) == SECRET), "row sums are noisy too"
    assert str(SECRET).encode() not in release.to_bytes()
    assert SECRET.to_bytes(8, "little") not in release.to_bytes()


def test_secret_files_are_for_the_owner_only(sketch: scumble.Sketch, tmp_path: Path) -> None:
    path = tmp_path / "part.secret"
    old = os.umask(0)
    try:
        sketch.save(path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(scumble.SecretFileError, match="load_secret"):
        scumble.load(path)
    again = scumble.load_secret(path)
    np.testing.assert_array_equal(again._counts, sketch._counts)
    release = sketch.release(epsilon=1.0)
    release.save(tmp_path / "public.scumble")
    with pytest.raises(scumble.ForeignFileError):
        scumble.load_secret(tmp_path / "public.scumble")


def test_a_release_holds_no_path_and_no_host(tmp_path: Path, sketch: scumble.Sketch) -> None:
    path = tmp_path / "a-telling-name.scumble"
    sketch.release(epsilon=1.0).save(path)
    content = path.read_bytes()
    assert b"a-telling-name" not in content
    assert os.uname().nodename.encode() not in content


def test_released_counters_are_read_only(sketch: scumble.Sketch) -> None:
    release = sketch.release(epsilon=1.0)
    with pytest.raises(ValueError, match="read-only"):
        release.counts[0, 0] = 1


POST_PROCESSING = {
    *("show/expected.py", "show/ranges.py", "table/answers.py"),
    *("table/fitting.py", "table/posterior.py", "table/rows.py"),
}
"""What makes a generator of its own, and never sees a counter."""


def test_no_pickle_and_no_other_randomness_in_the_source() -> None:
    root = Path(scumble.__file__).parent
    for path in root.rglob("*.py"):
        text = path.read_text()
        assert not re.search(r"^\s*(import|from) pickle|allow_pickle=True|joblib", text, re.M), path
        # Post-processing, synthetic tables and the audit's mutants may use a generator; what touches counters may not.
        # Layouts and columns draw synthetic records with the generator that they are given, and make none.
        if path.parent.name in ("density", "columns", "table"):
            text = re.sub(r"\w+: np\.random\.Generator", "", text)
        place = path.relative_to(root)
        if place.parts[0] not in ("learn", "cli", "audit") and place.as_posix() not in POST_PROCESSING:
            assert not re.search(r"np\.random|numpy\.random|^\s*import random$", text, re.M), path
