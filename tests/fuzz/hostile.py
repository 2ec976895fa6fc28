"""Hostile files: made from sound ones by damage and by malice, and what became of the reader.

    python tests/fuzz/hostile.py 10000    # so many files; prints a table

Coverage-guided fuzzing with the same judge is in `guided.py`.

A file counts as *refused* if reading it raises one of scumble's own errors. Some changes are harmless (another seed,
another noisy counter, signed anew): these files are *sound*, and then every use of them must also work or be refused.
Anything else, another exception, more than 0.1 s or more than 50 MB, is a hole.
"""

from __future__ import annotations

import copy
import hashlib
import inspect
import json
import sys
import time
import tracemalloc
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

import scumble
from scumble import files, learn
from scumble.density.bundle import Bundle
from scumble.density.release import Release
from scumble.density.share import Share
from scumble.density.sketch import Sketch
from scumble.errors import ScumbleError
from scumble.learn import models
from scumble.learn.base import PrivateEstimator

SECONDS, BYTES = 0.1, 50 * 10**6
ANSWERS = ("predict", "predict_proba", "decision_function", "score_samples", "count_within", "keep_probability")


@cache
def seeds() -> dict[str, bytes]:
    """Sound files of every kind."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))

    def sketch(**options: Any) -> Sketch:
        settings = {"columns": ["x", "y"], "rows": 6, "buckets": 8, "seed": 1, **options}
        return Sketch(options.pop("kernel", scumble.EuclideanKernel(1.0, power=2)), **settings).update(X)

    found = {
        "release": sketch().release(1.0).to_bytes(),
        "gaussian": sketch(design="iid").release(1.0, 1e-6).to_bytes(),
        "grid": sketch(rows=1, buckets=None, design="grid", bounds=(-3.0, 3.0)).release(1.0).to_bytes(),
        "merged": scumble.merge([sketch().release(1.0), sketch().release(2.0)]).to_bytes(),
        "bundle": Bundle({"a": sketch().release(1.0), "b": sketch().release(1.0)}, label="c").to_bytes(),
        "secret": files.to_bytes("secret", *sketch().contents()),
        "noisy": files.to_bytes("secret", *sketch_first(X).contents()),
    }
    share = sketch().release_share(1.0, custodians=2)
    metadata = {"spec": share.spec.to_dict(), "count": 3, "privacy": share.privacy.to_dict(), "identity": "x"}
    found["share"] = files.to_bytes("share", metadata, {"counts": share._counts})
    return found | {type(model).__name__: models.to_bytes(model) for model in fitted(X)}


def fitted(X: np.ndarray) -> Iterator[PrivateEstimator]:
    """An estimator of each kind, on tiny sketches."""
    for kind in (getattr(learn, name) for name in learn.HOMES):
        options = inspect.signature(kind).parameters
        wanted: dict[str, Any] = {
            "bounds": (-3, 3),
            "rows": 6,
            "buckets": 8,
            "classes": [0, 1],
            "target_bounds": (-3, 3),
        }
        if "coef_" in kind._learnt:
            wanted |= {"buckets": None, "classes": ["no", "yes"]}
        model = kind(**{name: value for name, value in wanted.items() if name in options})
        y: Any = X[:, 1]
        if "classes" in options:
            y = np.take(wanted["classes"], (X[:, 0] > 0.0).astype(int))
        yield model.fit(X, y)


def sketch_first(X: np.ndarray) -> Sketch:
    empty = Sketch(scumble.EuclideanKernel(1.0), 2, rows=6, buckets=8)
    return empty.start_with_noise(1.0).update(X)


# ---- mutations ----

NASTY: list[Any] = [
    None,
    True,
    -1,
    0,
    1,
    2**31,
    2**40,
    2**53 + 1,
    2**63,
    2**64,
    10**300,
    1e308,
    -0.5,
    1e-320,
    "",
    "x" * 5000,
    "\0",
    "1/0",
    "9" * 4000,
    "1e999999999",
    "__import__('os').system('true')",
    "../../../etc/passwd",
    [],
    [[]] * 50,
    [1] * 1000,
    {},
    {"kernel": "product", "factors": []},
]


def apart(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Header (with the metadata parsed) and arrays."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    header["__metadata__"]["scumble"] = json.loads(header["__metadata__"]["scumble"])
    return header, data[8 + length :]


def together(header: dict[str, Any], arrays: bytes, *, parsed: bool = True) -> bytes:
    """A file with a valid checksum, whatever is in it; the metadata as `apart` gives them, or as text already."""
    about = header["__metadata__"]
    if parsed:
        about = about | {"scumble": json.dumps(about["scumble"], separators=(",", ":"))}
    header = header | {"__metadata__": about}
    text = json.dumps(header, separators=(",", ":")).encode("ascii", "replace")
    return signed(len(text + b" " * (-len(text) % 8)).to_bytes(8, "little") + text + b" " * (-len(text) % 8) + arrays)


def signed(data: bytes) -> bytes:
    """The same bytes with the right checksum, if they have a place for one."""
    at = data.find(b'"sha256":"')
    if at < 0 or len(data) < at + 74:
        return data
    place = slice(at + 10, at + 74)
    digest = hashlib.sha256(data[: place.start] + b"0" * 64 + data[place.stop :]).hexdigest().encode()
    return data[: place.start] + digest + data[place.stop :]


def places(value: Any, path: tuple = ()) -> Iterator[tuple]:
    """Every place in a JSON value."""
    if isinstance(value, dict):
        for key in value:
            yield (*path, key)
            yield from places(value[key], (*path, key))
    elif isinstance(value, list):
        for k in range(len(value)):
            yield (*path, k)
            yield from places(value[k], (*path, k))


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def mutate(data: bytes, rng: np.random.Generator) -> bytes:
    """One hostile file."""
    way = rng.integers(9)
    if way == 0:  # cut off
        return data[: rng.integers(len(data))]
    if way == 1:  # bytes changed, checksum old
        out = bytearray(data)
        for place in rng.integers(0, len(out), rng.integers(1, 9)):
            out[place] = rng.integers(256)
        return bytes(out)
    if way == 2:  # the length of the header
        lengths = [0, 1, 8, 2**24, 2**31, 2**40, 2**63, 2**64 - 1, len(data), int(rng.integers(2**20))]
        return signed(lengths[rng.integers(len(lengths))].to_bytes(8, "little") + data[8:])
    if way == 3:  # bytes of the header changed, checksum new
        out = bytearray(data)
        length = int.from_bytes(data[:8], "little")
        for place in rng.integers(8, 8 + length, rng.integers(1, 4)):
            out[place] = rng.choice(np.frombuffer(b'0123456789",:{}[]-eE.\\utrfn', np.uint8))
        return signed(bytes(out))
    if way == 4:  # more or less data than stated
        extra = bytes(int(rng.integers(1, 200)))
        return signed(data + extra if rng.integers(2) else data[: -len(extra)])
    header, arrays = apart(data)
    if way == 5:  # shapes and offsets
        name = next(key for key in header if key != "__metadata__")
        shapes = [
            [2**40, 0],
            [0, 2**47],
            [2**47],
            [1] * 9,
            [2**30, 2**30],
            [-6, -8],
            [6, 8, 1],
            [6.0, 8],
            [True] * 2,
            [],
        ]
        header[name]["shape"] = shapes[rng.integers(len(shapes))]
        if rng.integers(2):
            ends = [[0, 0], [0, 2**47], [2**47, 2**47], [8, 0], [-8, 376], [0, len(arrays)]]
            header[name]["data_offsets"] = ends[rng.integers(len(ends))]
        if rng.integers(2):
            header[name]["dtype"] = ["F64", "U64", "U8", "BOOL", "F16", "", "O"][rng.integers(7)]
        return together(header, arrays if rng.integers(2) else b"")
    if way == 6:  # a bomb: huge rows or buckets that cost no bytes
        spec = header["__metadata__"]["scumble"].get("spec", {})
        rows, buckets = [(2**40, 0), (0, 2**40), (0, 0), (0, 8), (6, 0)][rng.integers(5)]
        spec |= {"rows": rows, "buckets": buckets}
        header["counts"] = {"dtype": "I64", "shape": [rows, buckets], "data_offsets": [0, 0]}
        return together(header, b"")
    if way == 7:  # deep nesting, many names
        trick = rng.integers(4)
        if trick == 0:
            header["__metadata__"]["scumble"]["deep"] = nested(int(rng.integers(30, 900)))
        elif trick == 1:
            header |= {f"a{k}": {"dtype": "I64", "shape": [0], "data_offsets": [0, 0]} for k in range(3000)}
        elif trick == 2:
            filling = [[], {}, {"a": 1}, "x" * 50][rng.integers(4)]
            header["__metadata__"]["scumble"]["more"] = [filling] * int(rng.integers(100, 200_000))
        else:
            header["__metadata__"]["kind"] = ["model", "checkpoint", "pickle", "", "share"][rng.integers(5)]
        return together(header, arrays)
    # way 8: any value of the metadata, replaced or removed, once or twice
    metadata = header["__metadata__"]["scumble"]
    for _ in range(rng.integers(1, 3)):
        every = list(places(metadata))
        if not every:
            break
        *path, last = every[rng.integers(len(every))]
        inner = metadata
        for step in path:
            inner = inner[step]
        if rng.integers(6) == 0 and isinstance(inner, dict):
            del inner[last]
        else:
            inner[last] = copy.deepcopy(NASTY[rng.integers(len(NASTY))])
    return together(header, arrays)


# ---- reading ----


def read(data: bytes) -> Any:
    """Read whatever it is, as a user would who trusts the name of the file."""
    box = files.from_bytes(data, expect=("release", "bundle", "model", "secret", "share"))
    makers: dict[str, Callable[[Any], Any]] = {
        "release": Release.from_container,
        "bundle": Bundle.from_container,
        "model": models.from_container,
        "secret": Sketch.from_container,
        "share": Share.from_container,
    }
    return makers[box.kind](box)


def use(found: Any) -> None:
    """What anyone would do with it next."""
    repr(found)
    if isinstance(found, Bundle):
        for part in found.values():
            use(part)
        return
    if isinstance(found, Share):
        found.payload.sum()
        return
    if isinstance(found, PrivateEstimator):
        found.privacy_.sentence()
        models.to_bytes(found)
        query = np.zeros((2, found.n_features_in_))
        for name in ANSWERS:
            if hasattr(found, name):
                getattr(found, name)(query)
        return
    if isinstance(found, Sketch) and found.noisy:
        found = found.release()
    _ = found.count
    spec = found.spec
    if spec.rows * spec.dimensions * sum(getattr(factor, "power", 1) for factor in spec.kernel.factors) < 10**5:
        found.interval(np.zeros((1, spec.dimensions)))  # a large one is allowed to need its memory
    if isinstance(found, Release):
        str(found.privacy), found.privacy.sentence()
        found.to_bytes()


def judge(data: bytes, *, memory: bool = False) -> tuple[str, str, float]:
    """("refused" | "sound" | "hole", why, seconds) of one file."""
    why, verdict = "", "sound"
    if memory:
        tracemalloc.start()
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = read(data)
            spent = time.process_time() - began
            try:
                use(found)
            except ScumbleError as problem:
                why = f"on use: {type(problem).__name__}"
    except ScumbleError as problem:
        spent = time.process_time() - began
        verdict, why = "refused", type(problem).__name__
    except Exception as problem:
        spent = time.process_time() - began
        verdict, why = "hole", f"{type(problem).__name__}: {problem}"[:200]
    if memory:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        if peak > BYTES:
            verdict, why = "hole", f"{peak:,} bytes"
    elif spent > SECONDS:
        verdict, why = "hole", f"{spent:.2f} s"
    return verdict, why, spent


def campaign(count: int, seed: int, report: Callable[[bytes, str], None]) -> tuple[Counter[str], float]:
    """So many hostile files: what became of them, and the longest time."""
    rng = np.random.default_rng(seed)
    sound = list(seeds().values())
    for data in sound:
        assert judge(data)[0] == "sound", judge(data)
    tally: Counter[str] = Counter()
    slowest = 0.0
    for k in range(count):
        data = mutate(sound[k % len(sound)], rng)
        verdict, why, spent = judge(data)
        if spent > SECONDS / 2:  # a busy machine has slow moments: the better of two counts
            verdict, why, spent = min((verdict, why, spent), judge(data), key=lambda found: found[2])
        if verdict != "hole":
            again, reason, _ = judge(data, memory=True)
            verdict, why = (again, reason) if again == "hole" else (verdict, why)
        tally[verdict] += 1
        slowest = max(slowest, spent)
        if verdict == "hole":
            report(data, why)
    return tally, slowest


if __name__ == "__main__":
    holes: list[str] = []
    began = time.monotonic()
    total, longest = campaign(
        int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1, lambda _, why: holes.append(why)
    )
    sys.stdout.write(f"{dict(total)}; slowest {longest * 1000:.1f} ms; {time.monotonic() - began:.0f} s\n")
    for text, times in Counter(holes).most_common(40):
        sys.stdout.write(f"{times:5d}  {text}\n")
