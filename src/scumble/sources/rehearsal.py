"""A rehearsal: what a build will publish, from its public arguments alone. No record is read and nothing is spent.

For densities, errors are those of `plan`; for tables, the planner predicts how the budget is divided. Advice names
arguments that are probably mistakes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from scumble import checks
from scumble.checks import Json, Ranges
from scumble.columns.kinds import in_order
from scumble.density.expected_error import row_spread
from scumble.density.grid_cells import supports
from scumble.density.plan import Bounds, file_bytes
from scumble.density.release_plan import DEFAULT_RECORDS, Menu
from scumble.density.spec import Spec
from scumble.errors import ScumbleError, many, plain_number, readable
from scumble.kernels import Kernel
from scumble.privacy.account import Account
from scumble.privacy.budget import unenforced
from scumble.privacy.wording import AS_USUAL, UNKNOWN_SPREAD, decided_later, human_bytes, sized
from scumble.table.discovery import divided, usual
from scumble.table.planner import Planner
from scumble.table.spec import TableSpec

if TYPE_CHECKING:
    from scumble.sources.building import Build

NO_BUDGET = "no budget is given, so ε is 1 (epsilon=, rho= or mu= gives one)"
PLACES = {"crowded": 3.0, "typical": 1.0, "sparse": 1 / 3}
"""Densities that errors are predicted for, as multiples of the one that plans assume."""


@dataclass(frozen=True)
class Place:
    """A question, and how far its answer will be off."""

    name: str
    near: float | None
    """About how many records it is about; None if unknown."""
    error: float
    """The standard error of the answer, in records."""

    def __str__(self) -> str:
        if self.near is None:
            return f"{self.name}: ± {many(self.error, 'record', digits=3)}"
        near = f"{many(self.near, 'record', ',.0f')} {'is' if round(self.near) == 1 else 'are'} near"
        return f"{self.name}: {near}, ± {plain_number(self.error, 3)} ({self.error / self.near:.2%})"


@dataclass(frozen=True)
class Rehearsal:
    """What a build will publish, and advice. Public: it knows no record."""

    kind: str
    bytes: int
    """About the size of the released file."""
    records: int
    """How many records it assumes."""
    places: tuple[Place, ...]
    """Typical questions, with the standard error of each answer."""
    decides: str
    """Which column decides what is near."""
    advice: tuple[str, ...]
    """What to change, the costliest mistake first."""
    later: str = ""
    """What is decided only after counting, if anything."""
    assumed: bool = False
    """Whether the number of records is a guess."""
    refused: str = ""
    """Why the ledger would refuse the build, if it would."""
    spread: str = ""
    """How records are assumed to be spread, if that matters."""

    @property
    def summary(self) -> str:
        """The rehearsal in one line."""
        return f"{self._made} {self.places[len(self.places) // 2]}."

    @property
    def _made(self) -> str:
        guess = " (a guess: give --n or n=, if it is public)" if self.assumed else ""
        of = f"Of {many(self.records, 'record')}{guess}"
        return f"{self.kind}, about {human_bytes(self.bytes)}. {of}; ± is one standard error:"

    def __str__(self) -> str:
        said = (one for one in (self.spread, self.later, self.decides) if one)
        lines = [self._made, *(f"  {place}" for place in self.places), *said]
        lines += [f"Advice: {one}" for one in self.advice] or ([] if self.refused else ["No advice on these settings."])
        lines += [f"The build would be refused: {self.refused}"] if self.refused else []
        lines.append("A rehearsal: no record was read, nothing was spent, nothing was written.")
        return "\n".join(map(readable, lines))

    def to_dict(self) -> Json:
        """The rehearsal as JSON values."""
        return asdict(self)


def rehearse(job: Build, book: Mapping[str, Any] = MappingProxyType({})) -> Rehearsal:
    """Rehearse a build that is ready to run and would be charged to this ledger; it is then of no further use."""
    found = _predicted(job)
    word = unenforced(job.budget.records_per_person) if job.asked.person_column is None else ""
    unsaid = NO_BUDGET if job.unsaid else ""
    first = tuple(f"{one[0].upper()}{one[1:]}." for one in (unsaid, job.budget.weakness, word) if one)
    return replace(found, advice=(*first, *found.advice), refused=_refusal(job, book))


def _predicted(job: Build) -> Rehearsal:
    spec, n = job.tally.sketches[0].spec, job.asked.n or DEFAULT_RECORDS
    found = _of_table(job, spec, n) if isinstance(spec, TableSpec) else _of_points(job, spec, n)
    return replace(found, assumed=job.asked.n is None)


def _refusal(job: Build, book: Mapping[str, Any]) -> str:
    """Why the ledger would refuse the build, or empty."""
    sketch = job.tally.sketches[0]
    try:
        account = Account.of(book.get("ledger"), book.get("dataset"), book.get("part"))
        if account is not None:
            account.check(job.price_of(sketch.spec, sketch.secret.planned))
    except ScumbleError as problem:
        return str(problem)
    return ""


def beforehand(job: Build) -> list[str]:
    """The two lines shown before a build: what to expect, and the first advice."""
    found = _predicted(job)
    more = f" ({len(found.advice) - 1} more: --rehearse)" if len(found.advice) > 1 else ""
    return [f"Expected: {found.summary}", *(f"Advice: {one}{more}" for one in found.advice[:1])]


def _foreseen(job: Build, spec: Spec, n: int) -> tuple[Spec, float]:
    """What would be published of `n` records of typical density, and its noise."""
    if not (planned := job.tally.sketches[0].planned):
        return spec, job.budget.claim(spec.rows).counter_variance
    menu = Menu(spec, job.budget, planned)
    chosen, _ = menu.expected(n, spec.layout.typical_density)
    return chosen, menu.noise_variance(chosen.rows)


def _of_points(job: Build, spec: Spec, n: int) -> Rehearsal:
    classes = len(job.tally.sketches)
    columns, bounds = list(spec.columns or ()), job.asked.bounds
    each = max(1, n // classes)
    counted, (spec, variance) = spec, _foreseen(job, spec, each)
    density = spec.layout.typical_density
    places = []
    for name, times in PLACES.items():
        near = min(1.0, times * density) * each
        if spec.shape is None:
            error = math.sqrt((row_spread(spec, each, near) + near + variance) / spec.rows)
        else:
            error = near * spec.layout.relative_error(variance, each, near / each)
        places.append(Place(f"a {name} place", None if bounds is None else max(1.0, near), error))
    return Rehearsal(
        kind=_shape(spec, classes),
        bytes=_bytes(spec, classes),
        records=n,
        places=tuple(places),
        decides=deciding(spec.kernel, columns, bounds),
        advice=tuple(advice(spec.kernel, columns, bounds)),
        later=_later(job, counted, spec, each) if job.tally.sketches[0].planned else "",
        spread=UNKNOWN_SPREAD if bounds is None else AS_USUAL,
    )


def _bytes(spec: Spec, classes: int) -> int:
    return classes * file_bytes(math.prod(spec.counters))


def _table_bytes(spec: TableSpec, cells: int) -> int:
    """Counters of columns and of pairs, and the group of each level."""
    groups = sum(int(axis.max()) + 1 for axis in spec.axes)
    header = 125 * len(spec.schema) - 1_000
    return file_bytes(sum(map(math.prod, spec.shapes_alone)) + cells + groups) + header


def _later(job: Build, counted: Spec, spec: Spec, n: int) -> str:
    menu = Menu(counted, job.budget, job.tally.sketches[0].planned)
    denser = menu.denser(n, counted.layout.typical_density)
    typical, crowded = (sized(one.shape or (one.rows,), one.design) for one in (spec, denser))
    return decided_later(typical, crowded, menu.either)


def _shape(spec: Spec, classes: int) -> str:
    made = f"{many(spec.rows, 'row')} of {many(spec.buckets, 'bucket')} ({spec.design})"
    if spec.shape is not None:
        made = f"A grid of {' × '.join(f'{side:,}' for side in spec.shape)} cells"
    return made if classes == 1 else f"{made} for each of {classes} classes"


def _of_table(job: Build, spec: TableSpec, n: int) -> Rehearsal:
    spec, (budget, _) = usual(spec), divided(spec, job.budget)
    planner = Planner(spec, budget, n)
    found = planner.predicted(n)
    places = [Place("a level of one column", None, float(np.median(found.levels)))]
    if found.pairs:
        places.append(Place("a cell of a pair", None, float(np.median(found.pairs))))
    sizes = {name: column.size for j, (name, column) in enumerate(spec.schema.items()) if j not in spec.schema.derived}
    pairs, levels = len(found.pairs), found.plan.levels
    widest = max(sizes, key=sizes.__getitem__)
    decides = f"{widest!r} has the most levels, {sizes[widest]:,}"
    apart = f"distinguish at most {levels:,} levels" if levels < sizes[widest] else "distinguish them all"
    decides += f"; pairs {apart}." if pairs else ", and no pair is published."
    return Rehearsal(
        kind=f"Counts of {many(len(spec.counted), 'column')} and {pairs:,} of {len(spec.pairs):,} pairs of them",
        bytes=_table_bytes(spec, found.cells),
        records=n,
        places=tuple(places),
        decides=decides,
        advice=tuple(planner.advice(n)),
        later=PAIRS_LATER if pairs else "",
    )


SKEWED = 10.0
"""Ratio of two columns' bounds, in bandwidths, above which the wider column alone decides what is near."""
NARROW = 200.0
"""With bounds of more bandwidths, hardly two records are near each other."""
PAIRS_LATER = "Which pairs, and how finely, is an estimate: it is decided after counting, by noisy numbers."


def reaches(kernel: Kernel, columns: Sequence[str]) -> dict[str, float]:
    """The bandwidth in each column of numbers, in the column's own unit."""
    found: dict[str, float] = {}
    for factor in kernel.factors:
        if factor.reads == "number" and hasattr(factor, "bandwidth"):
            which = factor.which(len(columns), columns)
            scales = factor._scales(columns, which) * factor.bandwidth
            found |= {columns[j]: float(scale) for j, scale in zip(which, scales, strict=True)}
    return found


def widths(kernel: Kernel, columns: Sequence[str], bounds: Bounds | Ranges) -> dict[str, float]:
    """How many bandwidths wide the bounds of each column of numbers are."""
    if bounds is None:
        return {}
    low, high = checks.sides(in_order(bounds, kernel, columns), len(columns))
    span = dict(zip(columns, (high - low).tolist(), strict=True))
    return {name: span[name] / reach for name, reach in reaches(kernel, columns).items()}


def deciding(kernel: Kernel, columns: Sequence[str], bounds: Bounds | Ranges) -> str:
    """Which column decides what is near, in a sentence."""
    wide = widths(kernel, columns, bounds)
    if not wide:
        return "Without bounds, it is unknown which column decides what is near."
    ranked = sorted(wide, key=wide.__getitem__, reverse=True)
    listing = ", ".join(f"{name!r} {plain_number(wide[name], 3)}" for name in ranked)
    decides = f"{ranked[0]!r} decides what is near. " if _ratio(wide) >= SKEWED / 3.0 else ""
    return f"{decides}Width of the bounds, in bandwidths: {listing}."


def advice(kernel: Kernel, columns: Sequence[str], bounds: Bounds | Ranges) -> list[str]:
    """Advice on a release of points, the costliest mistake first."""
    found, wide = [], widths(kernel, columns, bounds)
    for factor in kernel.factors:
        mine = list(reaches(factor, columns)) if factor.reads == "number" else []
        own = {name: wide[name] for name in mine if name in wide}  # each factor has a scale of its own
        if len(mine) < 2 or (own and _ratio(own) < SKEWED / 3.0):
            continue
        if factor.scale is None:
            names = ", ".join(map(repr, mine[:6])) + (", …" if len(mine) > 6 else "")
            example = ",".join(f"{name}=…" for name in mine[:6])
            found.append(f"No scale: a step of 1 is as far in each of {names}. Hint: --scale {example} (scale=).")
        elif own and _ratio(own) >= SKEWED:
            most, least = max(own, key=own.__getitem__), min(own, key=own.__getitem__)
            found.append(
                f"{most!r} outweighs {least!r}: {plain_number(own[most], 3)} bandwidths to "
                f"{plain_number(own[least], 3)}. Hint: a larger scale for {most!r}, or a smaller one for {least!r}."
            )
    if wide and (width := max(wide.values())) > NARROW:
        most = max(wide, key=wide.__getitem__)
        found.append(
            f"The bandwidth is narrow: the bounds of {most!r} are {plain_number(width, 2)} of them. "
            "Hint: --bandwidth (bandwidth=), a wider one; a sixth of the bounds."
        )
    if bounds is None and supports(kernel, len(columns), columns) is None:
        example = ",".join(f"{name}=LOW:HIGH" for name in list(reaches(kernel, columns))[:3])
        found.append(
            "No bounds: the file is larger than a grid's, its errors are usually larger too, and plots need a range. "
            f"Hint: --bounds {example} (bounds=), from what is public."
        )
    return found


def _ratio(wide: Mapping[str, float]) -> float:
    return max(wide.values()) / min(wide.values())
