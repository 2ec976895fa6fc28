"""What a stream's file says: all of a stream as JSON values and arrays, and back again.

What does not fit together is refused: the file may be damaged, or of somebody who means ill.
"""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING, Any

import numpy as np

from scumble.continual.choosing import method_of
from scumble.continual.published import require_folder
from scumble.errors import CorruptFileError, DataError, FileError
from scumble.files.headroom import fits
from scumble.privacy.calibration import Calibration
from scumble.privacy.claim import PrivacyClaim
from scumble.releasing.spending import may_lack_records
from scumble.sketch import Sketch
from scumble.sources.people import PersonLimit
from scumble.spec import Spec

if TYPE_CHECKING:
    from scumble.streams.stream import Stream

MOST_RECORDS = 1 << 38
"""In one counter, over all periods: what is published is up to 2²⁴ times as large, and must fit into 64 bits."""


def contents(stream: Stream) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """All that a stream goes on from: SECRET."""
    metadata = {
        "spec": stream.spec.to_dict(),
        "claim": stream.privacy.to_dict(),
        "method": stream._method.to_dict(),
        "identity": stream._identity,
        "closed": stream._closed,
        "most": stream._most,
        "folder": stream._folder,
        "backend": stream._backend,
        "invalid": stream._sketch._invalid,
        "drops": stream._sketch.secret.drops or may_lack_records(),
        "person_column": stream._person,
        "merged": sorted(stream._merged),
    }
    arrays = {f"machine.{name}": array for name, array in stream._machine.arrays.items()}
    arrays["counts"] = stream._sketch.secret.counts
    arrays["batches"] = np.frombuffer(b"".join(sorted(stream._batches)), np.uint8).reshape(-1, 16)
    if stream._people is not None:
        about, people = stream._people.contents()
        metadata["people"] = about
        arrays |= people
    return metadata, arrays


def restore(
    stream: Stream,
    data: dict[str, Any],
    arrays: dict[str, np.ndarray],
    folder: str | os.PathLike[str] | None,
    memory: int,
    **options: Any,
) -> None:
    """Make a stream of what `contents` gave."""
    try:
        spec, claim = Spec.from_dict(data["spec"]), PrivacyClaim.from_dict(data["claim"])
        method, closed = method_of(data["method"]), data["closed"]
        person, counts, batches = data["person_column"], arrays["counts"], arrays["batches"]
        where = data["folder"] if folder is None else require_folder(folder)
        if claim.moves.column != method.column or claim.rows != spec.rows or claim.exact_scale is None:
            raise TypeError
        if where is not None and (type(where) is not str or "\0" in where):
            raise TypeError
        if type(closed) is not int or not 0 <= closed <= method.periods:
            raise TypeError
        if type(data["most"]) is not int or not 0 <= data["most"] <= MOST_RECORDS:
            raise TypeError
        if counts.shape != spec.counters or counts.dtype != np.int64 or not fits(counts):
            raise TypeError
        if batches.ndim != 2 or batches.shape[1] != 16 or batches.dtype != np.uint8:
            raise TypeError
        sketch = Sketch.from_spec(spec, invalid=data["invalid"], **options)
        people = None
        if person is not None:
            people = PersonLimit(claim.records_per_person, memory=memory)
            people.restore(data["people"], arrays)
        calibration = Calibration(claim.mechanism, claim.scales.counters, claim.scales.count, claim)
        stream._begin(sketch, method, calibration, person, people, where, str(data["backend"]))
        stream._go_on(str(uuid.UUID(str(data["identity"]))), closed)
        machine = {name[8:]: array for name, array in arrays.items() if name.startswith("machine.")}
        stream._machine.restore(machine)
        stream._most = data["most"]
        stream._batches = {bytes(row) for row in batches}
        if not isinstance(data["merged"], list):
            raise TypeError
        stream._merged = {str(one) for one in data["merged"]}
        sketch.secret.counts[:] = counts
        sketch.secret.touched = True
        sketch.secret.drops |= data["drops"] is not False
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        if isinstance(problem, FileError | DataError):
            raise
        raise CorruptFileError("The file lacks a part of a stream, or its parts do not fit together.") from None
