"""Coverage-guided fuzzing of whatever reads a file: releases, bundles, models, secrets, shares.

    make fuzz                                  # installs atheris, where it is missing, and runs for ten minutes
    python tests/fuzz/guided.py 600 .fuzz      # with atheris there: so many seconds; the folder keeps what was found

`atheris` (libFuzzer for Python) watches which branches of scumble a file takes, keeps the files that took new ones and
changes these on. Bytes changed blindly would end at the checksum, so every change is signed anew, and half of them
go into the header's JSON. The first files are the sound ones of `hostile.py`, whose judge also decides here: a file is
refused by one of scumble's own errors, or every use of it works. Anything else ends the run with an exit code that is
not 0 and leaves the file in the folder; so do 10 s and 1 GB.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path

import atheris
import numpy as np

COMPILED = [
    "scumble.counting.cpu",
    "scumble.kernels.design",
    "scumble.kernels.random",
    "scumble.kernels.sobol",
    "scumble.density.draws",
    "scumble.sources.people",
]
"""Modules that numba compiles: its compiler does not know what atheris adds."""

with atheris.instrument_imports(include=["scumble"], exclude=COMPILED):
    import hostile

hostile.SECONDS = 5.0  # what atheris adds is slow; `hostile.py` holds the 0.1 s
LARGEST = 1 << 16
FOLDER = Path(sys.argv[2])


def judged(data: bytes) -> None:
    """One file, from the fuzzer."""
    verdict, why, _ = hostile.judge(data)
    if verdict == "hole":
        place = FOLDER / f"hole-{hashlib.sha256(data).hexdigest()[:16]}"
        place.write_bytes(data)
        sys.stderr.write(f"A hole: {why}. The file is {place}.\n")
        os._exit(1)


def changed(data: bytes, most: int, seed: int) -> bytes:
    """A file changed: its bytes by libFuzzer, its JSON by libFuzzer, or in one of `hostile`'s ways. Signed anew."""
    rng = np.random.default_rng(seed)
    way = rng.integers(4)
    try:
        if way == 0:
            found = hostile.signed(atheris.Mutate(data, most))
        elif way == 1:
            found = hostile.mutate(data, rng)
        else:
            found = with_other_text(data, most)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, StopIteration):  # no file to take apart
        found = hostile.signed(atheris.Mutate(data, most))
    return found[:most]


def with_other_text(data: bytes, most: int) -> bytes:
    """The metadata, JSON in a string of the header, changed as text."""
    header, arrays = hostile.apart(data)
    text = json.dumps(header["__metadata__"]["scumble"], separators=(",", ":"))
    header["__metadata__"]["scumble"] = atheris.Mutate(text.encode(), most).decode("ascii", "replace")
    return hostile.together(header, arrays, parsed=False)


def main(seconds: int) -> None:
    kept = FOLDER / "corpus"
    kept.mkdir(parents=True, exist_ok=True)
    for name, data in hostile.seeds().items():
        judged(data)
        (kept / f"sound-{name}").write_bytes(data)
    options = [f"-max_total_time={seconds}", f"-max_len={LARGEST}", "-timeout=10", "-rss_limit_mb=1024"]
    options += [f"-artifact_prefix={FOLDER}/", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], *options, str(kept)], judged, custom_mutator=changed)
    atheris.Fuzz()


if __name__ == "__main__":
    main(int(sys.argv[1]))
