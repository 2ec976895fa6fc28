"""Checkpoints: exact counters and the place in the source, together in one secret file.

Both are written in one atomic step: all rows before the position are counted once, the others not at all. The same
command continues from there and ends with the identical sketch.

The counters are deleted before their release is given out, so none are released twice (:mod:`scumble.gate.pledges`).
Files that a killed run left half-written are removed by the next run with the same checkpoint.

With noise first, the counters in the file are noisy, and exact numbers (rows, dropped rows) are left out. One look is
harmless, two are not: see `Sketch.start_with_noise`.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import uuid

from scumble import files
from scumble.checks import Json
from scumble.density.loading import sketch_in
from scumble.errors import BudgetError, CorruptFileError, DataError, ParameterError, parameter
from scumble.files import places
from scumble.files.places import Owned
from scumble.gate.pledges import became, require_free
from scumble.sources.source import Position
from scumble.sources.tally import Tally

EVERY = 30.0
"""Seconds between two checkpoints."""


class Checkpoint:
    """A file from which a killed build continues, as secret as the table.

    `source` is the source's fingerprint, and `parameters` decide the result: a difference in either is refused. It is
    written every `every` seconds. Only one build may use it at a time, since two would be two releases of the
    same counters.
    """

    def __init__(self, path: str | os.PathLike[str], source: Json, parameters: Json, every: float) -> None:
        if not every >= 0:
            raise parameter("checkpoint_seconds", "zero or more seconds", every)
        self._source, self._parameters, self._every = source, parameters, every
        self._last = time.monotonic()
        self._position: Position = (0, 0)
        self._file = Owned(os.fsdecode(path))
        self.path = self._file.path
        self._payment: str | None = None

    def _taken_by_another(self) -> BudgetError:
        return BudgetError(f"Another process is resuming from {self.path!r}. Hint: wait, or give each a checkpoint.")

    def resume(self, tally: Tally) -> Position:
        """Fill the tally from the file, if there is one. Returns where to continue."""
        if not self._file.take():
            raise self._taken_by_another()
        places.clear_leftovers(self.path)
        try:
            container = files.read(self.path, expect="checkpoint")
        except FileNotFoundError:
            return 0, 0
        data = container.metadata
        try:
            self._compare(data["source"], data["parameters"])
            require_free(data)
            if "released" in data:
                raise BudgetError(
                    f"The counters of {self.path!r} became {became(data)}. Hint: delete the file to start anew."
                )
            self._payment = container.payment
            if tally.noise_is_due and not any("noise_first" in sketch for sketch in data["sketches"]):
                return 0, 0  # killed before its noise was drawn: nothing was counted
            sketches = []
            for k, secret in enumerate(data["sketches"]):
                part = {name[: -len(f".{k}")]: one for name, one in container.arrays.items() if name.endswith(f".{k}")}
                box = files.Container("secret", secret, part, container.version, container.library)
                sketches.append(sketch_in(box, **tally.options))
            file, row = data["position"]
            skipped = {int(index): int(count) for index, count in data["skipped"].items() if int(index) < file}
            if tally.people is not None:
                tally.people.restore(data["people"], container.arrays)
                tally.over = int(data["over"])
            tally.restore(sketches, rows=data["rows"], dropped=data["dropped"], skipped=skipped)
        except (KeyError, TypeError, ValueError) as problem:
            if isinstance(problem, (ParameterError, DataError, BudgetError)):
                raise
            raise CorruptFileError(f"{self.path!r} lacks a part of a checkpoint. Hint: delete it.") from None
        self._position = int(file), int(row)
        return self._position

    def _compare(self, source: Json, parameters: Json) -> None:
        hint = f"Hint: run the first command again, or delete {self.path!r} to start anew."
        if source != json.loads(json.dumps(self._source)):
            raise DataError(f"The source is not the one that the checkpoint was made from: it has changed. {hint}")
        mine = json.loads(json.dumps(self._parameters))  # as it was read: tuples are lists
        for name in sorted(set(mine) | set(parameters)):
            if mine.get(name) != parameters.get(name):
                was, now = _short(parameters.get(name)), _short(mine.get(name))
                raise ParameterError(f"The checkpoint is of another build: {name} was {was} and is {now}. {hint}")

    def left(self) -> Json | None:
        """The metadata, if the counters were pledged or released by the same build."""
        try:
            data = files.read(self.path, expect="checkpoint").metadata
            if "pledge" not in data:
                return None
            self._compare(data["source"], data["parameters"])
        except (FileNotFoundError, KeyError):
            return None
        return data

    def note(self, identity: str, pledged: Json) -> bytes:
        """What takes the place of counters that have been released."""
        about = {"source": self._source, "parameters": self._parameters, "released": identity, **pledged}
        return files.to_bytes("checkpoint", about, {})

    @property
    def due(self) -> bool:
        """Whether it is time to write the state."""
        return time.monotonic() - self._last >= self._every

    def keep(self, tally: Tally, position: Position, *, now: bool = False, pledged: Json | None = None) -> None:
        """Write the state, if it is time (or `now`); `pledged` if it is about to be released."""
        self._position = position
        if not now and not self.due:
            return
        contents = [sketch.contents() for sketch in tally.sketches]
        metadata = {
            "note": "SECRET: exact counters. Keep this file as safe as the table; it is deleted when the build ends.",
            "source": self._source,
            "parameters": self._parameters,
            "position": list(position),
            "rows": tally.rows,
            "dropped": tally.dropped_rows,
            "skipped": {str(index): count for index, count in tally.skipped.items()},
            "sketches": [metadata for metadata, _ in contents],
            **(pledged or {}),
        }
        arrays = {f"{name}.{k}": one for k, (_, arrays) in enumerate(contents) for name, one in arrays.items()}
        noisy = tally.sketches[0].noisy
        if noisy:
            metadata |= {"rows": min(tally.rows, 1), "dropped": 0, "skipped": {}}
        if tally.people is not None:
            about, people = tally.people.contents()
            metadata |= {"people": about, "over": tally.over}
            arrays |= people
        if not self._file.write(
            files.bytes_of("checkpoint", metadata, arrays, bound=noisy, payment=None if noisy else self._payment)
        ):
            raise self._taken_by_another()
        self._last = time.monotonic()

    def pledge(self, tally: Tally, pledged: Json | None = None) -> None:
        """Before the ledger is charged: write the state, its payment, and which release it becomes."""
        self._payment = self._payment or str(uuid.uuid4())
        self.keep(tally, self._position, now=True, pledged=pledged)
        for sketch in tally.sketches:
            sketch.secret.payment = self._payment

    def discard(self) -> None:
        """Remove the file, before its release is given out."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        self.let_go()

    def let_go(self) -> None:
        """Let others use the file."""
        self._file.let_go()


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
