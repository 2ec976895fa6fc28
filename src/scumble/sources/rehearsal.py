"""A rehearsal: what a build will publish, from its public arguments alone. No record is read and nothing is spent.

For densities, records are made up within the bounds, counted as real ones would be, and published as `plan` foretells
it of so many. How far answers will be off at three places among them is then known. For tables, the plan that a release
begins with says how the budget is divided among columns and pairs, and what noise that leaves on each.

No noise is drawn: the same arguments always give the same words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from scumble.errors import ScumbleError, many, plain_number, readable
from scumble.planning import DEFAULT_RECORDS
from scumble.planning.later import Choice, Menu
from scumble.planning.plans import COUNTER_BYTES, file_bytes
from scumble.privacy.account import Account
from scumble.privacy.budget import unenforced
from scumble.show.wording import SPREAD, UNKNOWN_SPREAD, decided_later, human_bytes, sized
from scumble.sources import madeup
from scumble.sources.advice import advice, deciding
from scumble.sources.tableadvice import (
    PAIRS_LATER,
    between_wholes,
    between_years,
    few_cells,
    few_pairs,
    from_zero,
    more_than_groups,
    no_pairs,
    no_pairs_below,
)
from scumble.spec import Spec
from scumble.tabular.planner import Planner
from scumble.tabular.spec import TableSpec

if TYPE_CHECKING:
    from scumble.sources.job import Build

NO_BUDGET = "no budget is given, so ε is 1 (epsilon=, rho= or mu= gives one)"
ROWS = 10_000
"""Records that are made up: each stands for as many as there will be."""
ASKED = 64
"""Of them, where the error is looked at."""
OF_COLUMNS = (between_years, more_than_groups, between_wholes, from_zero)
"""What is advised on each column of a table."""
PLACES = {"crowded": 0.9, "typical": 0.5, "sparse": 0.1}


@dataclass(frozen=True)
class Place:
    """A question, and how far its answer will be off."""

    name: str
    near: float | None
    """About how many records it is about; None if that is not known."""
    error: float
    """The standard error of the answer, in records."""

    def __str__(self) -> str:
        if self.near is None:
            return f"{self.name}: ± {many(self.error, 'record', digits=3)}"
        near = f"{many(self.near, 'record', ',.0f')} {'is' if round(self.near) == 1 else 'are'} near"
        return f"{self.name}: {near}, ± {plain_number(self.error, 3)} ({self.error / self.near:.2%})"


@dataclass(frozen=True)
class Rehearsal:
    """What a build will publish, and what is probably not meant. Public: it knows no record.

    Parameters
    ----------
    kind : str
        What will be published.
    bytes : int
        The size of the released file, about.
    records : int
        How many records it reckons with.
    places : tuple of Place
        Typical questions, with the standard error of each answer.
    decides : str
        Which column decides, in a sentence.
    advice : tuple of str
        What to change, the costliest first.
    later : str
        What is decided after counting only, in a sentence; empty if that is nothing.
    spread : str
        How records are taken to lie, in a sentence; empty where that does not matter.
    assumed : bool
        Whether nobody said how many records there are.
    refused : str
        Why the ledger would refuse the build, in its words; empty if it would not, or there is none.
    """

    kind: str
    bytes: int
    records: int
    places: tuple[Place, ...]
    decides: str
    advice: tuple[str, ...]
    later: str = ""
    assumed: bool = False
    refused: str = ""
    spread: str = ""

    @property
    def summary(self) -> str:
        """The line that matters."""
        return f"{self._made} {self.places[len(self.places) // 2]}."

    @property
    def _made(self) -> str:
        return (
            f"{self.kind}, about {human_bytes(self.bytes)}. {_of(self.records, self.assumed)}; ± is one standard error:"
        )

    def __str__(self) -> str:
        told = [
            self._made,
            *(f"  {place}" for place in self.places),
            *(one for one in (self.spread, self.later) if one),
            self.decides,
        ]
        told += [f"Advice: {one}" for one in self.advice] or ([] if self.refused else ["No advice: go on."])
        told += [f"The build would be refused: {self.refused}"] if self.refused else []
        told.append("A rehearsal: no record was read, nothing was spent, nothing was written.")
        return "\n".join(map(readable, told))

    def to_dict(self) -> dict[str, Any]:
        """The rehearsal as JSON values."""
        return asdict(self)


def rehearse(job: Build, book: Mapping[str, Any] = MappingProxyType({})) -> Rehearsal:
    """Of a build that is ready to run, and would be charged to this ledger; it then has no further use."""
    spec = job.tally.sketches[0].spec
    n = job.size.n or DEFAULT_RECORDS
    found = _of_table(job, spec, n) if isinstance(spec, TableSpec) else _of_points(job, spec, n)
    word = unenforced(job.budget.records_per_person) if job.groups.person_column is None else ""
    unsaid = NO_BUDGET if job.unsaid else ""
    first = tuple(f"{one[0].upper()}{one[1:]}." for one in (unsaid, job.budget.weakness, word) if one)
    return replace(found, assumed=job.size.n is None, advice=(*first, *found.advice), refused=_refusal(job, book))


def _refusal(job: Build, book: Mapping[str, Any]) -> str:
    """What the ledger would say, if it would refuse the build."""
    sketch = job.tally.sketches[0]
    try:
        account = Account.of(book.get("ledger"), book.get("dataset"), book.get("part"))
        if account is not None:
            account.check(job.price_of(sketch.spec, sketch.secret.planned))
    except ScumbleError as problem:
        return str(problem)
    return ""


def _of(records: int, assumed: bool) -> str:
    guess = " (a guess: give --n or n=, if it is public)" if assumed else ""
    return f"Of {many(records, 'record')}{guess}"


def beforehand(job: Build) -> list[str]:
    """The two lines that matter before a build: what to expect, and the first advice. No record is made up for them."""
    spec = job.tally.sketches[0].spec
    n, classes = job.size.n or DEFAULT_RECORDS, len(job.tally.sketches)
    if isinstance(spec, TableSpec):
        found = rehearse(job)
        expected, told = found.summary, list(found.advice)
    else:
        each = max(1, n // classes)
        chosen, variance = _foreseen(job, spec, each)
        density = chosen.layout.typical_density
        off = chosen.layout.relative_error(variance, each, density)
        later = " (decided after counting)" if job.tally.sketches[0].planned else ""
        made = f"{_shape(chosen)}{_by_class(classes)}, about {human_bytes(_bytes(chosen, classes))}{later}"
        of = _of(n, job.size.n is None) + ("" if job.size.bounds is None else ", spread evenly")
        expected = f"{made}. {of}, a density of {density:.3g} is off by {off:.2%}."
        told = _advice(job, chosen)
    more = f" ({len(told) - 1} more: --rehearse)" if len(told) > 1 else ""
    return [f"Expected: {expected}", *(f"Advice: {one}{more}" for one in told[:1])]


def _foreseen(job: Build, spec: Spec, n: int) -> tuple[Spec, float]:
    """What would be published of so many records of typical density, and its noise."""
    if not (planned := job.tally.sketches[0].planned):
        return spec, job.budget.calibrate(spec.rows).counter_variance
    menu = Menu(spec, job.budget, planned)
    chosen, _ = menu.expected(n, spec.layout.typical_density)
    return chosen, menu.noise_variance(chosen.rows)


def _advice(job: Build, spec: Spec) -> list[str]:
    about: dict[str, Any] = {"classes": job.tally.classes, "label": job.groups.label, "pure": job.budget.pure}
    about |= {"kinds": spec.kinds, "shape": spec.shape}
    return advice(spec.kernel, list(spec.columns or ()), job.size.bounds, **about, drops=job.running.invalid == "drop")


def _of_points(job: Build, spec: Spec, n: int) -> Rehearsal:
    classes = len(job.tally.sketches)
    columns, bounds = list(spec.columns or ()), job.size.bounds
    each = max(1, n // classes)
    times = -(-each // ROWS)  # each record that is made up stands for so many
    rows = each // times
    table = madeup.records(spec.kernel, columns, bounds, rows)
    counts = np.zeros(spec.counters, np.int64)
    parts, _ = spec.layout.read(table, invalid="error")  # made-up cells are numbers already
    spec.layout.count(parts, counts, engine_name="cpu", threads=job.running.threads)
    counts *= times
    total = int(counts[0].sum())
    counted, (spec, variance) = spec, _foreseen(job, spec, each)
    if spec != counted:
        counts = _narrowed(counts, Menu(counted, job.budget).choice_of(spec))
    asked = table.slice(0, min(ASKED, rows))
    asking, _ = spec.layout.read(asked, invalid="error")
    found = spec.layout.reader(counts, variance, (float(total), 0.0)).estimate(asking, groups=None)
    ranked = np.argsort(found.value)
    at = {name: ranked[round(share * (len(ranked) - 1))] for name, share in PLACES.items()}
    places = tuple(
        Place(
            f"a {name} place",
            None if bounds is None else max(1.0, float(found.value[k]) * each / total),
            math.sqrt(float(found.variance[k])),
        )
        for name, k in at.items()
    )
    return Rehearsal(
        kind=f"{_shape(spec)}{_by_class(classes)}",
        bytes=_bytes(spec, classes),
        records=n,
        places=places,
        decides=deciding(spec.kernel, columns, bounds),
        advice=tuple(_advice(job, spec)),
        later=_later(job, counted, spec, each) if job.tally.sketches[0].planned else "",
        spread=UNKNOWN_SPREAD if bounds is None else SPREAD,
    )


def _narrowed(counts: np.ndarray, choice: Choice) -> np.ndarray:
    """What would be published of the counters."""
    if choice.rehashed is not None:
        return choice.rehashed(counts[0])
    if choice.groups is None:
        return counts[: choice.rows]
    return np.bincount(choice.groups, counts[0]).astype(np.int64)[None, :]


def _bytes(spec: Spec, classes: int) -> int:
    return classes * file_bytes(math.prod(spec.counters))


def _table_bytes(spec: TableSpec, cells: int) -> int:
    """Counters of columns and so many of pairs, and the group of each level."""
    groups = sum(int(axis.max()) + 1 for axis in spec.axes)
    header = 1_000 + 125 * len(spec.schema)
    return COUNTER_BYTES * (sum(spec.lengths[: spec.singles]) + cells + groups) + header


def _later(job: Build, counted: Spec, spec: Spec, n: int) -> str:
    menu = Menu(counted, job.budget, job.tally.sketches[0].planned)
    denser = menu.denser(n, counted.layout.typical_density)
    told, crowded = (sized(one.shape or (one.rows,), one.design) for one in (spec, denser))
    return decided_later(told, crowded, menu.either)


def _by_class(classes: int) -> str:
    return "" if classes == 1 else f" for each of {classes} classes"


def _shape(spec: Spec) -> str:
    if spec.shape is not None:
        return f"A grid of {' × '.join(f'{side:,}' for side in spec.shape)} cells"
    return f"{many(spec.rows, 'row')} of {many(spec.buckets, 'bucket')} ({spec.design})"


def _of_table(job: Build, spec: TableSpec, n: int) -> Rehearsal:
    planner = Planner(spec, job.budget, n)
    found = planner.foretold(n)
    places = [Place("a level of one column", None, float(np.median(found.levels)))]
    if found.pairs:
        places.append(Place("a cell of a pair", None, float(np.median(found.pairs))))
    sizes = {name: column.size for name, column in spec.schema.items()}
    pairs, levels = len(found.pairs), found.plan.levels
    widest = max(sizes, key=sizes.__getitem__)
    decides = f"{widest!r} has the most levels, {sizes[widest]:,}"
    apart = f"tell at most {levels:,} of a column apart" if levels < sizes[widest] else "tell them all apart"
    decides += f"; pairs {apart}." if pairs else ", and no pair is published."
    told = few_cells(sizes, levels) if pairs else [no_pairs(job.budget.pure)] if spec.pairs else []
    if 0 < pairs < len(spec.pairs) / 2:
        told.insert(0, few_pairs(pairs, len(spec.pairs), planner.columns_of_all_pairs(n), job.budget.pure))
    return Rehearsal(
        kind=f"Counts of {many(len(spec.counted), 'column')} and {pairs:,} of {len(spec.pairs):,} pairs of them",
        bytes=_table_bytes(spec, found.cells),
        records=n,
        places=tuple(places),
        decides=decides,
        advice=(*told, *(one for advise in OF_COLUMNS for one in advise(spec.schema))),
        later=" ".join([PAIRS_LATER, *_below(job, spec, n)]) if pairs else "",
    )


def _below(job: Build, spec: TableSpec, n: int) -> list[str]:
    """Of a guessed number of records at which pairs are measured: below how many none would be."""
    if job.size.n is not None:
        return []
    none, some = 1, n
    while some - none > max(1, none // 10):
        middle = math.isqrt(none * some) if math.isqrt(none * some) > none else none + 1
        if Planner(spec, job.budget, middle).foretold(middle).pairs:
            some = middle
        else:
            none = middle
    return [] if none == 1 else [no_pairs_below(some)]
