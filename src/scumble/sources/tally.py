"""What a pass over a source fills: one sketch, or one sketch per class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from scumble.counting import engine
from scumble.counting.guard import Known
from scumble.errors import UNPUBLISHED, DataError
from scumble.loading import sketch_of
from scumble.machine.cores import available_threads
from scumble.machine.later import pa
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.releasing.gate import begin_with_noise
from scumble.schema.column import Strays as OfBatch
from scumble.schema.kinds import read_as, undeclared
from scumble.schema.spelling import others
from scumble.schema.strays import Strays
from scumble.schema.told import (
    NO_CLASS,
    currencies,
    left_out,
    many_unread,
    misnamed,
    more_lines,
    private,
    repeated,
    undecoded,
)  # fmt: skip
from scumble.sketch import Readings, Sketch
from scumble.sources.causes import NO_CELL, NO_PERSON, Causes, bad_cells, kinds_of
from scumble.sources.causes import Found as Bad
from scumble.sources.labels import Labels
from scumble.sources.people import PersonLimit
from scumble.sources.source import BATCH_ROWS, Position, Source
from scumble.sources.strays import beyond_grid, declared
from scumble.spec import Spec
from scumble.tables import Table
from scumble.tables.cells import chosen, there
from scumble.tabular.sketch import Levels, TableSketch
from scumble.tabular.spec import TableSpec

MOST_THREADS = 4
"""That read records beside those that count all of a batch together: more of them wait for each other."""
MOST_ASIDE, LARGEST_CREW = 1 << 25, 64
"""Counters, 256 MiB of them, that threads may have for themselves, and how many threads that each count batches."""
HASHES_AT_ONCE = 1 << 27
"""Of a sketch: eight milliseconds of each of sixteen cores."""
HASHES_ALONE, BYTES_ALONE, FEWEST_ALONE = 1 << 26, 1 << 23, 1 << 10
"""Of a batch that one thread counts aside, and its fewest rows: in the end others wait for whoever has the last one,
and several lie ready for each thread, however wide the table is."""


AS_IT_IS = "--allow-empty (allow_empty=True) releases it as it is: it is only noise"


class Found(NamedTuple):
    """What a sketch finds in a batch, and what the curator is told of it: a function of its records, and as secret."""

    records: Levels | Readings
    dropped: int
    """How many rows were."""
    bad: Bad
    """Of the rows that were looked at for that, which were dropped, and why."""
    looked_at: int
    strays: Mapping[str, OfBatch]
    counted: bool = False
    """Whether the records were counted aside, and are gone."""

    def __repr__(self) -> str:
        return "Found(secret)"


class Tally:
    """Sketches with equal specs, and what the curator is told about the pass.

    With `labels`, each record is counted in the sketch of its class. The classes are public; a record of
    another class is a bad one, treated as the caller chose for bad cells. With `person`, the column of persons, and
    `people`, only so many records of each person are counted. `noise` is the budget of noise
    that is drawn first, and who pays for it.
    """

    def __init__(
        self,
        spec: Spec | TableSpec,
        *,
        labels: Labels | None = None,
        person: str | None = None,
        people: PersonLimit | None = None,
        noise: tuple[Budget, Account | None] | None = None,
        **options: Any,
    ) -> None:
        self.options = options
        self.person, self.people, self._noise = person, people, noise
        self.labels = labels
        self.label = None if labels is None else labels.column
        self.classes = None if labels is None else labels.classes
        self.sketches = [sketch_of(spec, **options) for _ in range(len(self.classes or [0]))]
        for sketch in self.sketches:
            sketch.secret.drops |= people is not None
        self.rows = 0
        """Rows read: for the curator only."""
        self.unknown = 0
        """Rows dropped because their class is none of `classes`, or their person is not named."""
        self.over = 0
        """Records dropped because their person has had enough."""
        self.causes = Causes()
        """Why rows were dropped: for the curator only."""
        self.strays = Strays()
        """Which cells of a table were counted where they do not stand: for the curator only."""
        self.skipped: dict[int, int] = {}
        """Lines dropped because they are not rows, by file."""

    @property
    def dropped_rows(self) -> int:
        """Rows dropped so far: for the curator only."""
        return self.unknown + sum(int(sketch.dropped) for sketch in self.sketches)

    @property
    def dropped(self) -> int:
        """Rows and lines dropped so far: for the curator only."""
        return self.dropped_rows + sum(self.skipped.values())

    def told(self, source: Source) -> list[str]:
        """What the curator must know of the pass, in lines: how many rows were left out and why, and which cells were
        counted where they do not stand. As private as the rows: it belongs in nothing that is kept.
        """
        lines = [private(stray) for stray in self.astray(source)]
        since = ", since the build was resumed" if self.strays.resumed else ""
        lines += undecoded(source.undecoded, since)
        lines += currencies(source.money, since)
        lines += repeated(source.repeated)
        lines += more_lines(source.more_lines)
        if self.dropped:
            lines[:0] = [left_out(self.dropped, self.left_out()), *self._unread(source.decimal)]
        lines += self._misnamed()
        if self.rows == self.dropped_rows:
            lines.append(f"WARNING: no row was counted, and a release of none is nothing but noise {UNPUBLISHED}.")
        if self.over:
            records = "1 record" if self.over == 1 else f"{self.over:,} records"
            were = "was" if self.over == 1 else "were"
            lines.append(private(f"{records} over the limit of their person {were} left out"))
        return lines

    def _misnamed(self) -> Iterator[str]:
        """A line on rows of no class, if they are many, and one on classes without a record: one may be misspelt."""
        empty = [
            str(one)
            for one, sketch in zip(self.classes or (), self.sketches, strict=False)
            if not sketch.noisy and not sketch.secret.total
        ]
        return misnamed(self.label, self.rows, self.causes.rows(NO_CLASS), empty)

    def _unread(self, decimal: str) -> Iterator[str]:
        """For each column that leaves out many rows, how its cells are written."""
        spec, nothing = self.sketches[0].spec, self.dropped_rows == self.rows
        for name in self.causes.columns(least=1 if nothing else many_unread(self.rows)):
            if nothing:
                yield private(mistaken(spec, name, decimal)[:-1])
            elif why := written(spec, name, decimal):
                yield private(f"In {name!r}, {why}")

    def require_some(self, source: Source) -> None:
        """Refuse a table of which no row was counted, as one without rows: all that it could release is noise."""
        if self.rows == self.dropped_rows:
            raise DataError(self._nothing_left(source) if self.rows else self._no_rows(source))

    def _no_rows(self, source: Source) -> str:
        return f"There are columns but no rows in {source}. Hint: was it written to the end? {AS_IT_IS}."

    def _nothing_left(self, source: Source) -> str:
        names = self.causes.columns()
        why = (
            mistaken(self.sketches[0].spec, names[0], source.decimal)
            if names
            else "correct what the options or the schema say of these columns, or the cells."
        )
        return (
            f"{source}: every row would be left out: {', '.join(self.left_out())} {UNPUBLISHED}, and the release would "
            f"be nothing but noise. Hint: {why} {AS_IT_IS}."
        )

    def left_out(self) -> list[str]:
        """Why rows were left out so far, and how many, the most frequent cause first."""
        return list(self.causes.words(self.dropped_rows, sum(self.skipped.values())))

    def astray(self, source: Source) -> list[str]:
        """Which columns have cells that were counted where they do not stand, and how many."""
        return list(self.strays.words(declared(self.sketches[0].spec), source.place, source.decimal))

    def restore(
        self, sketches: list[Sketch | TableSketch], *, rows: int, dropped: int, skipped: dict[int, int]
    ) -> None:
        """Go on from these."""
        if len(sketches) != len(self.sketches):
            raise ValueError("sketches")
        for mine, found in zip(self.sketches, sketches, strict=True):
            mine.spec.require_equal(found.spec)
        self.sketches, self.rows, self.unknown, self.skipped = sketches, int(rows), int(dropped), dict(skipped)
        self.strays.resumed = True

    @property
    def noise_is_due(self) -> bool:
        """Whether noise comes first, and is not in already."""
        return self._noise is not None and not self.sketches[0].noisy

    def begin(self) -> None:
        """Before the first record: draw the noise, if that is due."""
        if self._noise is not None and self.noise_is_due:
            begin_with_noise([sketch.secret for sketch in self.sketches], *self._noise)

    @property
    def threads(self) -> int:
        """How many may call `ready` at the same time."""
        if self.aside:
            return self._crew
        return min(self._all_threads, MOST_THREADS) if self._apart else 1

    @property
    def aside(self) -> bool:
        """Whether each thread counts batches of its own, in counters aside (:mod:`scumble.sources.crew`).

        Not where noise comes first: there exact counters never exist.
        """
        return (
            self._apart
            and self._crew > MOST_THREADS
            and isinstance(self.sketches[0], Sketch)
            and not self.sketches[0].noisy
            and engine(self.options.get("engine", "auto"), HASHES_AT_ONCE) is engine("cpu")
        )

    @property
    def _crew(self) -> int:
        counters = int(self.sketches[0].secret.counts.size)
        return min(self._all_threads, LARGEST_CREW, MOST_ASIDE // max(1, counters))

    @property
    def _all_threads(self) -> int:
        wanted: int | None = self.options.get("threads")
        return wanted or available_threads()

    @property
    def at_once(self) -> int:
        """How many rows are best counted together, by public facts alone: few counters keep few cores busy."""
        if self.aside:
            return self.at_most
        return HASHES_AT_ONCE // self._hashes if self._hashes else 0

    @property
    def at_most(self) -> int:
        """How many rows of those that were read together are counted together: what one thread counts aside, or all."""
        if not self.aside:
            return max(BATCH_ROWS, self.at_once)
        wide: int = 8 * self.sketches[0].spec.dimensions
        return max(FEWEST_ALONE, min(HASHES_ALONE // self._hashes, BYTES_ALONE // wide))

    @property
    def _hashes(self) -> int:
        """Of a record; 0 where there are none."""
        spec = self.sketches[0].spec
        if isinstance(spec, TableSpec):
            return 0
        hashes: int = spec.rows * sum(factor.power for factor in spec.kernel.factors)
        return hashes

    @property
    def _apart(self) -> bool:
        # How many records a person has had depends on the order of batches, so those are taken one after the other;
        # and whose sketch a record is for comes before what the sketch reads.
        return self.person is None and self.labels is None

    def ready(self, batch: pa.RecordBatch) -> Found | None:
        """What a batch adds to the sketch: a function of its records alone, so any thread may find it at any time."""
        return self._found(batch) if self._apart else None

    def counted_aside(self, batch: pa.RecordBatch, counts: np.ndarray, known: Known) -> Found:
        """The same, and its records are counted already, by this thread, in counters of its own."""
        found, sketch = self._found(batch), self.sketches[0]
        assert isinstance(sketch, Sketch) and isinstance(found.records, Readings)
        sketch.count_aside(found.records, counts, known)
        return found._replace(records=found.records._replace(records=[]), counted=True)

    def _found(self, batch: pa.RecordBatch) -> Found:
        sketch = self.sketches[0]
        if isinstance(sketch, TableSketch):
            levels = sketch.levels(batch)
            dropped = int(np.count_nonzero(levels.dropped))
            bad = chosen(batch, levels.dropped) if dropped else batch
            return Found(levels, dropped, self._why(bad, dropped), bad.num_rows, levels.strays)
        found = sketch.read(batch)
        return Found(found, found.dropped, self._why(batch, found.dropped), batch.num_rows, self._beyond(batch))

    def _why(self, batch: pa.RecordBatch, dropped: int) -> Bad:
        return bad_cells(batch, self.sketches[0].spec) if dropped else {}

    def _beyond(self, batch: pa.RecordBatch) -> dict[str, OfBatch]:
        spec = self.sketches[0].spec
        if isinstance(spec, TableSpec) or spec.bounds is None or self.sketches[0].noisy:
            return {}  # beside noise nothing exact is kept
        return beyond_grid(batch, spec)

    def update(self, batch: pa.RecordBatch, found: Found | None = None, position: Position | None = None) -> None:
        """Count a batch, of which `ready` has found this. If it is refused, the tally is of no further use.

        `position` is the source's after the batch.
        """
        rows = batch.num_rows
        if self.person is not None and self.people is not None:
            batch, position = self._limited(batch, self.person, self.people), None
        if self.labels is None:
            if found is None:
                found = self._found(batch)
            self._take(found)
            strays = found.strays
        else:
            batch = self._update_classes(batch, self.labels)
            strays = self._beyond(batch)
        self.strays.add(strays, batch.num_rows, position)
        self.rows += rows

    def _take(self, found: Found) -> None:
        """Count what was found, unless it is, and say why rows were left out."""
        sketch: Any = self.sketches[0]
        if found.counted:
            sketch.dropped += found.dropped
        else:
            sketch.add(found.records)
        self.causes.take(found.bad, found.looked_at)

    def _limited(self, batch: pa.RecordBatch, person: str, people: PersonLimit) -> pa.RecordBatch:
        """The batch without the column of persons and without what is too much."""
        where = batch.schema.names.index(person)
        missing = np.isnan(Table.of(batch).categories([where])[:, 0])
        if missing.any():
            count = int(missing.sum())
            if self.options.get("invalid", "error") == "error":
                cells = "1 cell" if count == 1 else f"{count:,} cells"
                raise DataError(
                    f"Whose records these are is unknown: {cells} of column {person!r} missing. "
                    "Hint: correct them, or leave such rows out with --invalid drop (invalid='drop')."
                )
            self.unknown += count
            self.causes.add(NO_PERSON, person, count)
            batch = chosen(batch, ~missing)
        kept = people.pass_on(batch.column(where))
        self.over += int((~kept).sum())
        return chosen(batch.remove_column(where), kept)

    def _update_classes(self, batch: pa.RecordBatch, labels: Labels) -> pa.RecordBatch:
        """Count each record in the sketch of its class; gives those that have one."""
        found = labels.places(batch)
        known = found >= 0
        if not known.all():
            if self.options.get("invalid", "error") == "error":
                raise UnknownClass(labels.column, int((~known).sum()), int(np.argmin(known)))
            rows = np.flatnonzero(~known)
            named = int(np.count_nonzero(there(batch[labels.column], rows)))
            self.unknown += len(rows)
            self.causes.add(NO_CLASS, labels.column, named)
            self.causes.add(NO_CELL, labels.column, len(rows) - named)
        rest = batch.drop_columns([labels.column])
        before = self.dropped_rows
        for place, sketch in enumerate(self.sketches):
            sketch.update(chosen(rest, found == place))
        rest = rest if known.all() else chosen(rest, known)
        if self.dropped_rows > before:
            self.causes.look_at(rest, self.sketches[0].spec)
        return rest


def mistaken(spec: Spec | TableSpec, name: str, decimal: str) -> str:
    """What to say of a column none of whose cells can be read: how they are written, or which option reads them."""
    if isinstance(spec, Spec) and name not in kinds_of(spec):
        return undeclared(name, decimal)
    reads = others(spec.schema[name].kind, decimal) if isinstance(spec, TableSpec) else ""
    return f"in {name!r}, {written(spec, name, decimal)}{reads}."


def written(spec: Spec | TableSpec, name: str, decimal: str) -> str:
    """How the cells of a column are written, if that is said of its kind."""
    if isinstance(spec, TableSpec):
        refuses = spec.schema[name].refused(decimal)
        return f"a cell is left out that is {refuses}" if refuses else ""
    return read_as(kinds_of(spec).get(name), decimal)


class UnknownClass(DataError):
    """Cells of the label column that are none of the public classes: how many, never which."""

    def __init__(self, label: str, count: int, row: int) -> None:
        super().__init__(label)
        self.label, self.count, self.row = label, count, row
