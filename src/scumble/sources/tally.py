"""What a pass over a source fills: one sketch, or one sketch per class; and what the curator must know of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from scumble.checks import Json
from scumble.columns import curator
from scumble.columns.category import Boolean
from scumble.columns.cells import chosen, there
from scumble.columns.column import Strays as OfBatch
from scumble.columns.curator import NO_CELL, Bad, Causes, Declared, Strays, causes_of, without_level, without_value
from scumble.columns.hashing import stable_hash
from scumble.columns.kinds import read_as, roles_of, undeclared
from scumble.columns.table import Table
from scumble.counting import engine
from scumble.counting.guard import Known
from scumble.density.bundle import Label, plain
from scumble.density.loading import sketch_of
from scumble.density.sketch import Sketch
from scumble.density.spec import Spec
from scumble.errors import UNPUBLISHED, DataError, ParameterError, PrivacyError, many, parameter
from scumble.files.compiling import available_threads
from scumble.files.lazy_modules import pa
from scumble.gate.gate import begin_with_noise
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.sources.people import PersonLimit
from scumble.sources.source import BATCH_ROWS, Position, Source
from scumble.table.sketch import TableSketch
from scumble.table.spec import TableSpec

MOST_THREADS = 4
"""Threads that read records while all threads together count a batch."""
MOST_ASIDE, LARGEST_CREW = 1 << 25, 64
"""The most counters (256 MiB) that all threads may own together, and the most threads that each count batches."""
HASHES_AT_ONCE = 1 << 27
"""Hashes of a batch that all threads count together: eight milliseconds of sixteen cores."""
HASHES_ALONE, BYTES_ALONE, FEWEST_ALONE = 1 << 26, 1 << 23, 1 << 10
"""The most hashes and bytes, and the fewest rows, of a batch that one thread counts by itself."""
TABLE_ROWS = 1 << 17
"""Rows of a table's batch that one thread counts: what the interpreter does for each batch takes a thirtieth of it."""

AS_IT_IS = "--allow-empty (allow_empty=True) releases it as it is: it is only noise"


class Labels:
    """The public classes, and which of them a label cell belongs to.

    `classes` may be None for a `boolean` label: then they are False and True. The cells of a boolean are read as such:
    yes, t, on and 1 are true.
    """

    def __init__(self, column: str, classes: Sequence[Label] | None, *, boolean: bool = False) -> None:
        if classes is None and boolean:
            classes = [False, True]
        if classes is None or isinstance(classes, str) or not list(classes):
            raise PrivacyError(
                "`classes` must list all classes: reading them off the data would reveal who is in it. "
                f"Hint: --classes bus,car (classes=['bus', 'car']), or --booleans {column} if it is yes or no."
            )
        self.column, self.boolean = column, boolean
        self.classes: list[Label] = [plain(one) for one in classes]
        self._numbers = np.array([self._number(one) for one in self.classes], np.float64)
        if len(set(self._numbers.tolist())) < len(self._numbers):
            same = "yes, true and 1 are one" if boolean else "1, 1.0 and '1' are one, and so are True and 'true'"
            raise parameter("classes", f"labels that differ ({same})", classes)
        self._order = np.argsort(self._numbers)

    def _number(self, one: Label) -> float:
        if not self.boolean:
            return float(stable_hash(one))
        try:
            return float(Boolean().span(one)[0])
        except ParameterError:
            raise parameter(
                "classes", f"words for yes and no, as {self.column!r} is declared a boolean", one, "leave them out."
            ) from None

    def places(self, batch: pa.RecordBatch) -> np.ndarray:
        """For each record, the index of its class; -1 if it has none."""
        where = batch.schema.names.index(self.column)
        if self.boolean:
            found = Boolean().encode(batch.column(where), f"Column {self.column!r}").codes.astype(np.float64)
        else:
            found = Table.of(batch).categories([where])[:, 0]
        near = np.searchsorted(self._numbers, found, sorter=self._order)
        place = self._order[np.minimum(near, len(self._order) - 1)]
        return np.asarray(np.where(self._numbers[place] == found, place, -1))

    def known(self, batch: pa.RecordBatch, invalid: str) -> np.ndarray:
        """The same; an error at records of no class, unless these are dropped."""
        found = self.places(batch)
        unknown = np.flatnonzero(found < 0)
        if len(unknown) and invalid == "error":
            raise UnknownClass(self.column, len(unknown), int(unknown[0]))
        return found


class Found(NamedTuple):
    """What a sketch finds in a batch, for the sketch and for the curator: as secret as its records."""

    records: Any
    """Levels of a table, or Readings; None once a thread has counted them."""
    dropped: int
    bad: Bad
    """Which rows were dropped, and why."""
    rows: int
    strays: Mapping[str, OfBatch]

    def __repr__(self) -> str:
        return "Found(secret)"


class Tally:
    """Sketches with equal specs, and the facts about the pass that only the curator may see.

    With `labels`, each record is counted in the sketch of its class. With `person`, the column of persons, and
    `people`, only a limited number of records per person is counted. `noise` is the budget and account of noise that is
    drawn first.
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
        self.options: Json = options
        self.person, self.people, self._noise = person, people, noise
        self.labels = labels
        self.label = None if labels is None else labels.column
        self.classes = None if labels is None else labels.classes
        self.sketches = [sketch_of(spec, **options) for _ in range(len(self.classes or [0]))]
        for sketch in self.sketches:
            sketch.secret.drops |= people is not None
        self.rows = self.unknown = self.over = 0
        """Rows read, and dropped because they have no known class or person, or their person has reached the limit."""
        self.causes = Causes()
        self.strays = Strays()
        self.skipped: dict[int, int] = {}
        """Lines dropped because they are not rows, by file."""

    @property
    def dropped_rows(self) -> int:
        """Rows dropped so far."""
        return self.unknown + sum(int(sketch.dropped) for sketch in self.sketches)

    @property
    def dropped(self) -> int:
        """Rows and lines dropped so far."""
        return self.dropped_rows + sum(self.skipped.values())

    def told(self, source: Source) -> list[str]:
        """Lines for the curator: how many rows were left out and why, and which cells count as something else.

        As private as the rows: it belongs in nothing that is kept.
        """
        lines = [curator.private(stray) for stray in self.astray(source)]
        since = ", since the build was resumed" if self.strays.resumed else ""
        lines += source.oddities.words(since)
        if self.dropped:
            often = self.causes.columns(1 if self.rows == self.dropped_rows else curator.many_unread(self.rows))
            how = [curator.private(f"Hint: {how_read(self.sketches[0].spec, name, source.decimal)}") for name in often]
            if isinstance(self.sketches[0].spec, TableSpec) and self.causes.rows(NO_CELL):
                how.append(curator.private("Hint: missing = true in the schema counts cells without a value"))
            lines[:0] = [curator.left_out(self.dropped, self.left_out()), *how]
        empty = [
            str(one)
            for one, sketch in zip(self.classes or (), self.sketches, strict=False)
            if not sketch.noisy and not sketch.secret.total
        ]
        if empty and self.causes.rows(curator.NO_CLASS):
            lines.append(curator.no_record_of(empty))
        if self.rows == self.dropped_rows:
            lines.append(curator.NOTHING_COUNTED)
        if self.over:
            were = "was" if self.over == 1 else "were"
            lines.append(curator.private(f"{many(self.over, 'record')} over the limit of their person {were} left out"))
        return lines

    def require_some(self, source: Source) -> None:
        """Refuse a table without a counted row: its release would be noise only."""
        if not self.rows:
            raise DataError(f"There are columns but no rows in {source}. Hint: {AS_IT_IS}.")
        if self.rows == self.dropped_rows:
            why = "correct the values, or what the options or the schema say of these columns"
            if names := self.causes.columns():
                why = how_read(self.sketches[0].spec, names[0], source.decimal)
            reasons = ", ".join(self.left_out())
            raise DataError(f"{source}: all records left out: {reasons} {UNPUBLISHED}. Hint: {why}; {AS_IT_IS}.")

    def left_out(self) -> list[str]:
        """Why rows were left out, and how many, the most frequent cause first."""
        return list(self.causes.words(self.dropped_rows, sum(self.skipped.values())))

    def astray(self, source: Source) -> list[str]:
        """Columns with cells that count as something else, and how many."""
        return list(self.strays.words(declared(self.sketches[0].spec), source.place, source.decimal))

    def restore(
        self, sketches: list[Sketch | TableSketch], *, rows: int, dropped: int, skipped: dict[int, int]
    ) -> None:
        """Continue from a checkpoint."""
        if len(sketches) != len(self.sketches):
            raise ValueError("sketches")
        for mine, found in zip(self.sketches, sketches, strict=True):
            mine.spec.require_equal(found.spec)
        self.sketches, self.rows, self.unknown, self.skipped = sketches, int(rows), int(dropped), dict(skipped)
        self.strays.resumed = True

    @property
    def noise_is_due(self) -> bool:
        """Whether noise is to be drawn first, and has not been."""
        return self._noise is not None and not self.sketches[0].noisy

    def begin(self) -> None:
        """Before the first record: draw the noise, if it comes first."""
        if self._noise is not None and self.noise_is_due:
            begin_with_noise([sketch.secret for sketch in self.sketches], *self._noise)

    @property
    def threads(self) -> int:
        """How many may call `ready`, or count aside, at the same time."""
        if self.aside:
            return self._crew
        return min(self._all_threads, MOST_THREADS) if self._apart else 1

    @property
    def aside(self) -> bool:
        """Whether each thread counts whole batches into counters of its own; never with noise first."""
        sketch = self.sketches[0]
        if not self._apart or sketch.noisy:
            return False
        if isinstance(sketch, TableSketch):
            return self._crew > 1
        chosen_engine = engine(self.options.get("engine", "auto"), HASHES_AT_ONCE)
        return self._crew > MOST_THREADS and chosen_engine is engine("cpu")

    @property
    def _crew(self) -> int:
        counters = int(self.sketches[0].secret.counts.size)
        return min(self._all_threads, LARGEST_CREW, MOST_ASIDE // max(1, counters))

    @property
    def _all_threads(self) -> int:
        return self.options.get("threads") or available_threads()

    @property
    def at_once(self) -> int:
        """How many rows are best counted together, by public facts alone."""
        if self.aside:
            return self.at_most
        return HASHES_AT_ONCE // self._hashes if self._hashes else 0

    @property
    def at_most(self) -> int:
        """The most rows of a batch."""
        if not self.aside:
            return max(BATCH_ROWS, self.at_once)
        if not self._hashes:
            return TABLE_ROWS
        wide: int = 8 * self.sketches[0].spec.dimensions
        return max(FEWEST_ALONE, min(HASHES_ALONE // self._hashes, BYTES_ALONE // wide))

    @property
    def _hashes(self) -> int:
        """Hashes per record; 0 for tables."""
        spec = self.sketches[0].spec
        if isinstance(spec, TableSpec):
            return 0
        hashes: int = spec.rows * sum(factor.power for factor in spec.kernel.factors)
        return hashes

    @property
    def _apart(self) -> bool:
        # Records of a person are counted in order, and a record's class is found before it is read.
        return self.person is None and self.labels is None

    def ready(self, batch: pa.RecordBatch) -> Found | None:
        """What a batch adds to the sketch: a function of its records alone, so any thread may compute it."""
        return self._found(batch) if self._apart else None

    def counted_aside(self, batch: pa.RecordBatch, counts: np.ndarray, known: Known) -> Found:
        """The same, with the records counted into this thread's own counters."""
        found, sketch = self._found(batch), self.sketches[0]
        if isinstance(sketch, TableSketch):
            sketch.count_aside(found.records, counts)
        else:
            sketch.count_aside(found.records, counts, known)
        return found._replace(records=None)

    def _found(self, batch: pa.RecordBatch) -> Found:
        sketch = self.sketches[0]
        if isinstance(sketch, TableSketch):
            levels = sketch.levels(batch)
            dropped = int(np.count_nonzero(levels.dropped))
            why = causes_of(levels.found) if dropped else {}
            strays = levels.strays
            return Found(levels._replace(found={}), dropped, why, batch.num_rows, strays)
        found = sketch.read(batch)
        why = bad_cells(batch, sketch.spec) if found.dropped else {}
        return Found(found, found.dropped, why, batch.num_rows, self._beyond(batch))

    def _beyond(self, batch: pa.RecordBatch) -> dict[str, OfBatch]:
        spec = self.sketches[0].spec
        if isinstance(spec, TableSpec) or spec.bounds is None or self.sketches[0].noisy:
            return {}
        return beyond_grid(batch, spec)

    def update(self, batch: pa.RecordBatch, found: Found | None = None, position: Position | None = None) -> None:
        """Count a batch, in which `ready` has `found` this and which ends at `position` of the source.

        After a refusal the tally is of no further use.
        """
        rows = batch.num_rows
        if self.person is not None and self.people is not None:
            invalid = self.options.get("invalid", "error")
            batch, unnamed, over = limited(batch, self.person, self.people, invalid)
            self.unknown, self.over, position = self.unknown + unnamed, self.over + over, None
            self.causes.add("without a person in", self.person, unnamed)
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
        """Count what was found, unless a thread has, and note why rows were left out."""
        sketch: Any = self.sketches[0]
        if found.records is None:
            sketch.dropped += found.dropped
        else:
            sketch.add(found.records)
        self.causes.take(found.bad, found.rows)

    def _update_classes(self, batch: pa.RecordBatch, labels: Labels) -> pa.RecordBatch:
        """Count each record in the sketch of its class; returns those that have one."""
        found = labels.known(batch, self.options.get("invalid", "error"))
        known = found >= 0
        if len(rows := np.flatnonzero(~known)):
            named = int(np.count_nonzero(there(batch[labels.column], rows)))
            self.unknown += len(rows)
            self.causes.add(curator.NO_CLASS, labels.column, named)
            self.causes.add(NO_CELL, labels.column, len(rows) - named)
        rest = batch.drop_columns([labels.column])
        before = self.dropped_rows
        for place, sketch in enumerate(self.sketches):
            sketch.update(chosen(rest, found == place))
        rest = rest if known.all() else chosen(rest, known)
        if self.dropped_rows > before:
            self.causes.take(bad_cells(rest, self.sketches[0].spec), rest.num_rows)
        return rest


def limited(batch: pa.RecordBatch, person: str, people: PersonLimit, invalid: str) -> tuple[pa.RecordBatch, int, int]:
    """The batch without the column of persons; how many records nobody owned, and how many were over the limit."""
    where = batch.schema.names.index(person)
    missing = np.isnan(Table.of(batch).categories([where])[:, 0])
    if (unnamed := int(missing.sum())) and invalid == "error":
        raise nobody(person, unnamed)
    batch = chosen(batch, ~missing) if unnamed else batch
    kept = people.pass_on(batch.column(where))
    return chosen(batch.remove_column(where), kept), unnamed, int((~kept).sum())


def how_read(spec: Spec | TableSpec, name: str, decimal: str) -> str:
    """How cells of a column must be written, or which option reads them."""
    if isinstance(spec, TableSpec):
        return f"a value of {name!r} is left out if it is {spec.schema[name].refused(decimal) or 'missing'}"
    assert spec.columns is not None
    role = roles_of(spec.kernel, spec.columns)[name]
    kind = spec.kinds.get(name, role if role in ("category", "tokens") else None)
    return undeclared(name, decimal) if kind is None else f"in {name!r}, {read_as(kind, decimal)}"


class UnknownClass(DataError):
    """Label cells that are none of the public classes: how many, the first in this `row`, and never which."""

    def __init__(self, label: str, count: int, row: int) -> None:
        values = "1 value is" if count == 1 else f"{count:,} values are"
        super().__init__(
            f"{values} none of the classes: {count:,} in column {label!r} {UNPUBLISHED}. "
            "Hint: name all classes, or leave such records out with --invalid drop (invalid='drop')."
        )
        self.row = row


def nobody(person: str, count: int) -> DataError:
    """So many cells of the column of persons are missing."""
    return DataError(
        f"{many(count, 'person')} missing in {person!r}. Hint: --invalid drop (invalid='drop') leaves such records out."
    )


def bad_cells(batch: pa.RecordBatch, spec: Spec | TableSpec) -> Bad:
    """Which rows of a batch are left out, by cause and column."""
    if isinstance(spec, TableSpec):
        return without_level(batch, spec.schema)
    table = Table.of(spec.declared(batch), columns=spec.columns, dimensions=spec.dimensions)
    assert spec.columns is not None
    found: dict[str, np.ndarray] = {}
    for factor in spec.kernel.factors:
        which = factor.which(table.width, spec.columns)
        _, bad = factor.read(table, which)
        found |= {spec.columns[j]: mask for j, mask in zip(which[: bad.shape[1]], bad.T, strict=True)}
    return {key: mask for name in spec.columns for key, mask in without_value(batch, name, found.get(name)).items()}


def beyond_grid(batch: pa.RecordBatch, spec: Spec) -> dict[str, OfBatch]:
    """For each axis of a grid, how many cells of counted records are outside its bounds."""
    if spec.bounds is None or spec.columns is None:
        return {}
    table = Table.of(spec.declared(batch), columns=spec.columns, dimensions=spec.dimensions)
    axes = spec.kernel.which(spec.dimensions, spec.columns)
    values = table.numeric(axes)
    values = values[np.isfinite(values).all(axis=1)]
    low, high = (np.array(side)[list(axes)] for side in spec.bounds)
    outside = np.count_nonzero((values < low) | (values > high), axis=0).tolist()
    return {spec.columns[j]: OfBatch(len(values), beyond=beyond) for j, beyond in zip(axes, outside, strict=True)}


def declared(spec: Spec | TableSpec) -> Declared:
    """A table's schema, or the bounds of a grid's columns."""
    if isinstance(spec, TableSpec):
        return spec.schema.declared
    if spec.bounds is None or spec.columns is None:
        return {}
    ends = zip(*spec.bounds, strict=True)
    return {name: curator.as_written(pair, spec.kinds.get(name)) for name, pair in zip(spec.columns, ends, strict=True)}
