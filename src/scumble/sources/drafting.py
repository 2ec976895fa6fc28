"""Schemas for tables about which nothing is public: kinds, bounds, missing cells and identifiers from one charged pass.

Of each column five rows are counted. A record adds one to one counter of each, by its own cell alone:

- as what the cell can be read (`KINDS`);
- the sign and the exponent of its number, which is its octave;
- where its number lies on a fixed grid of floats: the octave, and the first three bits of the mantissa;
- the month of its date;
- which value it is; only the number of distinct values is published (`columns.distinct`).

They are published as a plan for one budget (`gate.rows`): kinds and distinct values first; then the octaves or months
of columns that hold numbers or dates; then the grid, in the octaves of either end. A bound is the outermost octave,
cell, year or so, whose noisy count noise alone would reach nowhere in the draft with a probability of 99 %. Cells of a
release are as usual up to there, and those of the grid beyond, as far as a long tail that noise may hide would lie
(`OUTSIDE`). What lies outside of them counts at the bound.

The words of columns of text are found by the build itself (``discover = true``).
"""

from __future__ import annotations

import datetime
import math
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from scumble.checks import Json
from scumble.columns import cells, clock
from scumble.columns.category import Boolean
from scumble.columns.column import Column
from scumble.columns.curator import left_out
from scumble.columns.distinct import PARTS, cell_of
from scumble.columns.draft import MOST_OF
from scumble.columns.hashing import UnsupportedValue
from scumble.columns.number import Number as Bounded
from scumble.columns.schema import Schema, in_toml, key_of
from scumble.errors import CuratorWarning, DataError, MergeError, many
from scumble.gate.rows import PublishedRow, PublishedRows, Wanted, publish_as_planned
from scumble.gate.secret import Secret
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.exact import Number
from scumble.privacy.laws.law import Law
from scumble.privacy.ledger import Ledger
from scumble.privacy.sensitivity import ONE
from scumble.sources.opening import open_source
from scumble.sources.people import PersonLimit
from scumble.sources.source import Source
from scumble.sources.tally import limited
from scumble.table.distinct import estimated

Integers = npt.NDArray[np.int64]
Drafted = tuple[dict[str, object], list[str]]
"""The settings of a column, and remarks."""

_YEAR_FIRST, _DAY, _MONTH_FIRST = "%Y/%m/%d", ("%d.%m.%Y", "%d/%m/%Y"), "%m/%d/%Y"
KINDS = ("missing", "boolean", "whole", "number", "iso", _YEAR_FIRST, *_DAY, _MONTH_FIRST, "either", "text")
"""What a cell can be read as, the first that fits; "either" is 01/02/2020."""
LEAST, MOST, STEPS = -30, 42, 8
"""Exponents of two of the grid, and its cells in each octave. Smaller numbers are zero, larger ones have the last."""
OCTAVES = MOST - LEAST
HALF = OCTAVES * STEPS
FIRST_YEAR, YEARS = 1800, 300
LENGTHS = (len(KINDS), 2 * OCTAVES + 2, 2 * HALF + 2, 12 * YEARS + 1, len(PARTS))
"""Of the rows of a column; the last cell of octaves, grids and months is of what is no number, or no date."""
KIND, OCTAVE, GRID, MONTH, VALUE = range(5)
SHARES = (Fraction(1, 8), Fraction(1, 8), Fraction(3, 4))
"""Of the budget, for all kinds, all distinct values and all bounds: a prior."""
SURE = 0.01
"""The probability that noise alone makes any bound of a draft."""
OUTSIDE = 0.002
"""The share of records that may lie beyond a bound. Where noise may hide more, enough octaves follow that no more lie
beyond them, if each holds a quarter of the records of the one before (Pareto's tail of index 2: the longest with a
finite variance), in cells of the grid."""
FEW = 4
"""Deviations of noise that the records with a value must exceed, or what is drafted of them is mostly noise."""
FINE = 50
"""The scale of noise from which the law of integers is as good as continuous."""
UNIQUE = 0.5
"""The share of records with a word of their own from which words are identifiers."""


@dataclass(frozen=True)
class DraftSpec:
    """The public parameters: the names of the columns."""

    columns: tuple[str, ...]
    decimal: str = "."

    reach = ONE

    @property
    def rows(self) -> int:
        """Five for each column."""
        return len(LENGTHS) * len(self.columns)

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many counters each row has."""
        return LENGTHS * len(self.columns)

    @property
    def counters(self) -> tuple[int, ...]:
        """The shape of the counters."""
        return (sum(self.lengths),)

    @cached_property
    def occupancies(self) -> Mapping[int, np.ndarray]:
        """The rows of distinct values."""
        return dict.fromkeys(range(VALUE, self.rows, len(LENGTHS)), PARTS)

    touches: ClassVar[Mapping[int, int]] = {}

    def require_equal(self, other: Any) -> None:
        """Drafts are not merged."""
        raise MergeError("Drafts of schemas cannot be merged. Hint: draft from all files at once.")

    def to_dict(self) -> Json:
        """As JSON values."""
        return {"columns": list(self.columns), "decimal": self.decimal}


class Draft(NamedTuple):
    """A schema that was found privately."""

    settings: Mapping[str, Mapping[str, object]]
    """Of each column."""
    remarks: Mapping[str, Sequence[str]]
    """Of each column, what is known of it and what remains to decide."""
    privacy: PrivacyClaim
    told: Sequence[str]
    """For the curator alone: how many records were left out, and why."""

    @property
    def schema(self) -> Schema:
        """The schema itself."""
        return Schema({name: Column.from_dict(own, name) for name, own in self.settings.items()})

    def toml(self) -> str:
        """The file, with remarks."""
        blocks = [
            "# A scumble schema. Everybody who gets a release can read it.\n"
            f"# It was found privately and cost {self.privacy}.\n"
            "# What is built with it has a budget of its own: the two add up.\n"
        ]
        for name, own in self.settings.items():
            lines = [
                *(f"# {remark}" for remark in self.remarks[name]),
                *(f"{key} = {in_toml(own[key])}" for key in own),
            ]
            blocks.append("\n".join([f"[columns.{key_of(name)}]", *lines, ""]))
        return "\n".join(blocks)


def draft(
    source: object,
    *,
    epsilon: Number,
    delta: Number = 0.0,
    columns: Sequence[str] | None = None,
    records_per_person: int = 1,
    person_column: str | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    **reading: Any,
) -> Schema:
    """A schema for a table about which nothing is public, found in one pass for a budget of its own.

    Parameters
    ----------
    source : str, path-like, list or table
        Whatever :func:`scumble.build` reads; `reading` are its `format`, `delimiter`, `decimal`, `encoding`, `table`
        and `query`.
    epsilon, delta : Number
        What the draft costs. A release that is built with it has a budget of its own: the two add up.
    columns : list of str, optional
        The columns to draft; by default all. JSON lines declare none.
    records_per_person : int
        The most records that one person may own.
    person_column : str, optional
        The person that each record belongs to: no more of theirs are counted, and the draft leaves the column out.
    ledger, dataset : Ledger, path-like, str or None
        Charge the draft before noise is drawn.

    Examples
    --------
    >>> import pyarrow as pa
    >>> people = pa.table({"age": [31 + k % 40 for k in range(4000)], "town": ["Ulm", "Bonn"] * 2000})
    >>> draft(people, epsilon=1.0).names, draft(people, epsilon=1.0)["age"].levels[:2]
    (('age', 'town'), ('0', '1'))
    """
    budget = Budget.of(epsilon, delta, "add-remove", records_per_person, 0)
    opened = open_source(source, **reading)
    try:
        names = [name for name in opened.columns(columns) if name != person_column]
        opened.require([*names, *([] if person_column is None else [person_column])])
        found = drafted(opened, names, budget, Account.of(ledger, dataset, None), person_column)
    finally:
        opened.close()
    for line in found.told:
        warnings.warn(line, CuratorWarning, stacklevel=2)
    return found.schema


def drafted(
    source: Source, columns: Sequence[str], budget: Budget, payer: Account | None = None, person: str | None = None
) -> Draft:
    """Count a source once, publish what a schema needs, and draft it."""
    Schema(dict.fromkeys(columns, Boolean()))  # what no schema can have is refused before the charge
    spec = DraftSpec(tuple(columns), source.decimal)
    secret = Secret(spec, drops=True)
    roles, people, nobodys, many_more = dict.fromkeys(columns, "any"), PersonLimit(budget.records_per_person), 0, 0
    with secret.changing("update"):
        for piece in source.pieces(roles if person is None else {**roles, person: "category"}, invalid="drop"):
            batch = piece.batch
            if person is not None:
                batch, unnamed, over = limited(batch, person, people, "drop")
                nobodys, many_more = nobodys + unnamed, many_more + over
            for place, name in enumerate(columns):
                count(batch.column(batch.schema.names.index(name)), name, spec, secret, len(LENGTHS) * place)
    why = f"{nobodys:,} without a person in {person!r}", f"{many_more:,} over the limit of their person"
    without = [left_out(nobodys + many_more, why)] if nobodys + many_more else []
    plan = _Plan(spec)
    published = publish_as_planned(secret, budget, payer, most=1, plan=plan)
    rows = {row.row: row for row in published.rows}
    found = {name: _column(rows, len(LENGTHS) * place, published) for place, name in enumerate(columns)}
    if all(own["kind"] == "distinct" for own, _ in found.values()):  # a schema needs another column
        (_, told), only = found[columns[0]], "decide: most records have a value of their own; declare other columns"
        found[columns[0]] = {"kind": "category", "discover": True}, [*told[:-1], only]
    settings, remarks = ({name: one[part] for name, one in found.items()} for part in (0, 1))
    return Draft(settings, remarks, published.privacy, without)  # type: ignore[arg-type]


# ---- counting ----


def count(column: cells.Column, name: str, spec: DraftSpec, secret: Secret, first: int) -> None:
    """Add a batch of one column to its rows."""
    try:
        texts, places = cells.texts(column)
    except UnsupportedValue:
        raise DataError(f"Column {name!r} holds {cells.describe(column)}. Hint: leave it out.") from None
    found = np.array([placed(text, spec.decimal) for text in texts], np.int64).reshape(len(texts), len(LENGTHS))
    for row, length in enumerate(LENGTHS):
        counters = secret.row(first + row)
        counters += np.bincount(found[places, row], minlength=length)


def placed(text: bytes | None, decimal: str = ".") -> tuple[int, int, int, int, int]:
    """The cell of each row for a canonical text.

    >>> placed(b"12.5"), placed(None)[:4], placed(b"31.12.2020")[:4] == (6, 145, 1153, 12 * 220 + 11)
    ((3, 106, 845, 3600, 863), (0, 145, 1153, 3600), True)
    """
    no_number, no_date = (LENGTHS[OCTAVE] - 1, LENGTHS[GRID] - 1), LENGTHS[MONTH] - 1
    value = -1 if text is None else cell_of(text)
    if text is None or value < 0:
        return 0, *no_number, no_date, len(PARTS) - 1
    marks = bytes.maketrans(b",.", b".,") if decimal == "," else None
    number = cells.number_in(text.translate(marks) if marks else text)
    if text.strip().lower() in (b"true", b"false"):
        number = math.nan
    if cells.is_code(text):
        return KINDS.index("text"), *no_number, no_date, value
    if math.isfinite(number):
        return (2 if number.is_integer() else 3), octave_of(cell := on_grid(number)), cell, no_date, value
    kind, month = _dated(text)
    if month is None and Boolean().encode([text.decode(errors="replace")]).codes[0] >= 0:
        kind = KINDS.index("boolean")
    return kind, *no_number, no_date if month is None else month, value


def _dated(text: bytes) -> tuple[int, int | None]:
    """The kind of a text that is no number, and its month, if it is a date."""
    iso = clock.seconds_in(text) if len(text) >= len("2020-01") else None
    if iso is not None:
        return KINDS.index("iso"), _month(iso[0])
    read = {one: clock.seconds_in(text, clock.pattern_of(one), only=True) for one in (_YEAR_FIRST, *_DAY, _MONTH_FIRST)}
    fits = [one for one, found in read.items() if found is not None]
    if not fits:
        return KINDS.index("text"), None
    found = read[fits[0]]
    assert found is not None
    return KINDS.index(fits[0] if len(fits) == 1 else "either"), _month(found[0])


def _month(seconds: int) -> int:
    day = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    return min(max(12 * (day.year - FIRST_YEAR) + day.month - 1, 0), 12 * YEARS - 1)


def on_grid(number: float) -> int:
    """The cell of a number: negative ones, zero, positive ones."""
    mantissa, exponent = math.frexp(abs(number))
    if not number or exponent <= LEAST:
        return HALF
    up = HALF - 1 if exponent > MOST else (exponent - 1 - LEAST) * STEPS + int((mantissa - 0.5) * 2 * STEPS)
    return HALF + 1 + up if number > 0 else HALF - 1 - up


def octave_of(cell: int) -> int:
    """The octave of a cell of the grid."""
    return OCTAVES + int(math.copysign(-(-abs(cell - HALF) // STEPS), cell - HALF))


def _cells(octave: int) -> range:
    """The cells of the grid in an octave."""
    away = octave - OCTAVES
    first = HALF + STEPS * away + (1 - STEPS if away > 0 else 0)
    return range(first, first + (STEPS if away else 1))


def end_of(cell: int, *, upper: bool) -> float:
    """An end of a cell of the grid.

    >>> [end_of(on_grid(number), upper=upper) for number in (12.5, -12.5, 0.0) for upper in (False, True)]
    [12.0, 13.0, -13.0, -12.0, 0.0, 0.0]
    """
    up = abs(cell - HALF) - 1
    if up < 0:
        return 0.0
    far = upper == (cell > HALF)
    octave, step = divmod(up + far, STEPS)
    return math.copysign(2.0 ** (octave + LEAST) * (1 + step / STEPS), cell - HALF)


# ---- publishing ----


class _Plan:
    """Kinds and distinct values of all columns, and then the bounds of those that have some."""

    def __init__(self, spec: DraftSpec) -> None:
        self._columns, self._ranged = len(spec.columns), dict[int, str]()

    def __call__(self, found: PublishedRows, winners: tuple[int, ...]) -> dict[int, Wanted]:
        several = len(LENGTHS)
        if not found.rows:
            parts = {KIND: SHARES[0] / self._columns, VALUE: SHARES[1] / self._columns}
            return {several * k + row: Wanted(part) for k in range(self._columns) for row, part in parts.items()}
        done = {row.row for row in found.rows}
        if len(done) == 2 * self._columns:
            kinds = {row.row: kind_of(row) for row in found.rows if row.row % several == KIND}
            self._ranged = {row: kind for row, kind in kinds.items() if kind in ("number", "date")}
        share = SHARES[2] / max(len(self._ranged), 1)
        numbers = [row for row, kind in self._ranged.items() if kind == "number"]
        if len(done) == 2 * self._columns:
            dates = {row + MONTH: Wanted(share) for row in self._ranged if row not in numbers}
            return {**dates, **{row + OCTAVE: Wanted(share / 2) for row in numbers}}
        return {row + GRID: Wanted(share / 2) for row in numbers if row + GRID not in done}


def kind_of(row: PublishedRow) -> str:
    """What a column is, by the noisy numbers of its cells: text only if that is sure."""
    counts = row.counts.astype(float)
    of = dict(zip(("boolean", "number", "date"), (counts[1], counts[2:4].sum(), counts[4:-1].sum()), strict=True))
    best, held = max(of, key=lambda kind: of[kind]), counts[1:].sum()
    doubt = 2 * math.sqrt(row.variance * len(KINDS))
    return best if of[best] >= max(MOST_OF * held - doubt, held / 2, 1) else "text"


def limits(row: PublishedRow, sizes: Sequence[int], law: Law, threshold: float, chance: float) -> dict[int, float]:
    """What noise alone exceeds with this probability, at most, in blocks of these sizes.

    Small noise is far from a continuous law: one cell has its own tail, and a sum Chernoff's bound.
    """
    found, scale = {size: threshold * math.sqrt(row.variance * size) for size in {1, *sizes}}, float(row.scale)
    if scale > FINE:
        return found
    values = np.arange(-math.ceil(law.reach * scale) - 1, math.ceil(law.reach * scale) + 2)
    chances = law.weights(np.abs(values), scale)
    chances /= chances.sum()
    beyond = np.append(np.cumsum(chances[::-1])[::-1][1:], 0.0)
    rates = np.linspace(0.05, 0.95 if law.pure else 8.0, 100) / scale
    rates = rates[rates * values[-1] < 600]
    rise = np.log(np.exp(np.outer(rates, values)) @ chances)
    for size, least in found.items():
        own = values[np.argmax(beyond <= chance)] if size == 1 else ((size * rise - math.log(chance)) / rates).min()
        found[size] = max(least, float(own))
    return found


def ends(
    row: PublishedRow, sizes: Sequence[int], most: Mapping[int, float], apart: int | None = None
) -> tuple[int, int] | None:
    """The outermost cells with more than noise.

    Blocks of cells are looked at, too, on either side of a cell `apart`: the outermost block with more than noise, and
    in it the outermost part that has more than noise by itself.
    """
    counts = row.counts[:-1].astype(float)
    sides = [(0, len(counts))] if apart is None else [(0, apart), (apart + 1, len(counts))]
    blocks = [first for start, end in sides for first in range(start, end, sizes[0])]

    def seen(first: int, size: int) -> bool:
        return bool(counts[first : first + size].sum() > most[size])

    def outermost(upper: bool) -> list[int]:
        order = -1 if upper else 1
        first = next((one for one in blocks[::order] if seen(one, sizes[0])), None)
        if first is None:
            return []
        size = sizes[0]
        for part in sizes[1:]:
            inner = [one for one in range(first, first + size, part)[::order] if seen(one, part)]
            if not inner:
                break
            first, size = inner[0], part
        return [first + (size - 1) * upper]

    alone = np.flatnonzero(counts > most[1]).tolist()
    low, high = (outermost(upper) + alone for upper in (False, True))
    return (min(low), max(high)) if low and high else None


def _threshold(published: PublishedRows) -> tuple[float, float]:
    """In standard deviations: what noise exceeds nowhere, by a union bound over cells; and the chance of each cell."""
    looked = sum(
        1.3 * (4 * STEPS if place == GRID else len(row.counts))
        for row in published.rows
        if (place := row.row % len(LENGTHS)) in (OCTAVE, GRID, MONTH)
    )
    chance = SURE / max(looked, 1.0)
    if published.privacy.law.pure:
        return math.log(1 / (2 * chance)) / math.sqrt(2), chance
    return -NormalDist().inv_cdf(chance), chance


def _column(rows: Mapping[int, PublishedRow], first: int, published: PublishedRows) -> Drafted:
    """The settings of a column, and remarks."""
    own, (threshold, chance), law = rows[first], _threshold(published), published.privacy.law

    def found_in(row: PublishedRow, sizes: Sequence[int], apart: int | None = None) -> tuple[int, int] | None:
        return ends(row, sizes, limits(row, sizes, law, threshold, chance), apart)

    deviation, kinds = math.sqrt(own.variance), dict(zip(KINDS, own.counts.tolist(), strict=True))
    total = max(float(own.counts.sum()), 1.0)
    there = max(total - kinds["missing"], 1.0)
    sketch = rows[first + VALUE]
    values = estimated(
        sketch.counts[:-1].astype(float),
        sketch.variance,
        laplace=published.privacy.law.pure,
        records=(there, deviation * math.sqrt(len(KINDS))),
        confidence=0.95,
    )
    empty = min(max(kinds["missing"] / total, 0.0), 1.0)
    remarks = [
        f"about {many(there, 'record', ',.0f')} with a value, {empty:.0%} of all missing, "
        f"and {values} different values (95 %)"
    ]
    noise = deviation * math.sqrt(len(KINDS) - 1)
    if there < FEW * noise:
        why = "the column is all but empty" if total > 4 * FEW * noise else "noise hides what it holds"
        remarks.append(f"decide: {why}; delete it, declare it, or spend more")
    kind = kind_of(own)
    if kind == "boolean":
        return {"kind": "boolean", "missing": True}, remarks
    if kind == "number" and (octaves := found_in(rows[first + OCTAVE], (4, 2, 1), OCTAVES)):
        grid, inner = rows[first + GRID], list[tuple[int, int]]()
        for octave in octaves:
            cells_there = _cells(octave)
            part = grid._replace(counts=np.append(grid.counts[cells_there.start : cells_there.stop], 0))
            seen = found_in(part, (4, 2, 1)) or (0, len(cells_there) - 1)
            inner.append((cells_there.start + seen[0], cells_there.start + seen[1]))
        beyond = threshold * math.sqrt(rows[first + OCTAVE].variance) / (OUTSIDE * there)
        tail = math.ceil(math.log(max(beyond, 1.0), 4))
        ends_found = inner[0][0], inner[1][1]
        return _number(ends_found, kinds["number"] > 4 * deviation, tail, remarks, values.low > UNIQUE * there)
    if kind == "date" and (found := found_in(rows[first + MONTH], (60, 12, 6, 3, 1))):
        return _date(found, kinds, remarks)
    if kind != "text":
        remarks.append("decide: noise hides its bounds; declare them, or spend more")
    if values.low > UNIQUE * there:
        remarks.append("decide: most records have a value of their own, so only distinct values are counted")
        return {"kind": "distinct"}, remarks
    remarks.append("decide: list its words in `values` if they are public; else finding them takes a part of ε")
    return {"kind": "category", "discover": True}, remarks


def _number(found: tuple[int, int], real: bool, tail: int, remarks: list[str], unique: bool) -> Drafted:
    first, last = found
    low, high = end_of(first, upper=False), end_of(last, upper=True)
    if not real:  # ends of cells that are farther from zero are not in them
        low = math.ceil(low) if low >= 0 else math.floor(low) + 1
        high = math.ceil(high) - 1 if high > 0 else math.floor(high)
    if 0 <= low < high / 2 or low == high:
        low = min(low, 0)
    if not real and (low, high) in ((0, 1), (0, 0)):
        if tail:
            remarks.append("decide: noise may hide numbers above 1, which would count as missing; declare them if any")
        return {"kind": "boolean", "missing": True}, remarks
    remarks.append("decide: numbers outside the bounds count at the nearest; wider ones cost little")
    if unique:
        remarks.append('decide: most records have a number of their own; an identifier is kind = "distinct"')
    high = high if high > low else low + 1
    settings = {"kind": "number", **({} if real else {"whole": True}), "missing": True}
    if not tail:
        return {**settings, "low": low, "high": high}, remarks
    farther = range(1, STEPS * tail + 1)
    above = {end_of(min(last + k, 2 * HALF), upper=True) for k in farther if high > 0}
    below = {end_of(max(first - k, 0), upper=False) for k in farther if low < 0} | ({0.0} if low > 0 else set())
    cuts = Bounded(low, high, whole=not real).cuts
    inner = cuts.values(np.array(cuts.edges)).tolist()
    inner[-1] = high + (not real and high > 0)  # which the last cell holds, and no other
    edges = {*(edge for edge in below if edge < low), *inner, *(edge for edge in above if edge > inner[-1])}
    return {**settings, "edges": sorted(edges if real else {math.ceil(edge) for edge in edges})}, remarks


def _date(found: tuple[int, int], kinds: Mapping[str, int], remarks: list[str]) -> Drafted:
    slashed = {one: kinds[one] for one in (_DAY[1], _MONTH_FIRST)}
    of = {
        "iso": kinds["iso"],
        _YEAR_FIRST: kinds[_YEAR_FIRST],
        _DAY[0]: kinds[_DAY[0]],
        max(slashed, key=slashed.__getitem__): kinds["either"] + max(slashed.values()),
    }
    format = max(of, key=of.__getitem__)
    first, last = found
    if format in slashed:  # 01/02/2020 was counted in one of two months
        first, last = first // 12 * 12, last // 12 * 12 + 11
        remarks.append(f"decide: dates are read as {format}")
    low = datetime.date(FIRST_YEAR + first // 12, first % 12 + 1, 1)
    after = datetime.date(FIRST_YEAR + (last + 1) // 12, (last + 1) % 12 + 1, 1)
    high = after - datetime.timedelta(days=1)
    settings = {"kind": "date", "low": low.isoformat(), "high": high.isoformat()}
    return {**settings, **({} if format == "iso" else {"format": format}), "missing": True}, remarks
