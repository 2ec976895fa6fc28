"""The public parameters of a table's sketch: its schema, its views, and where a record is counted in each.

Rows of counters are *views*: every column alone, with all of its levels, pairs of columns, and larger sets. In those an
axis has at most so many levels: neighboring cells of a line are taken together, and the last words of a long
vocabulary. That is decided by the schema alone, before the first record.

Sets that the curator names (`together`) are as fine as `MOST_CELLS` allows. Of other columns all threes are counted
coarsely, so that a release can find those that matter; if these are too many, those that share a column with a named
set; if these are too many as well, none.

Columns of tokens (`columns.tokens`) have rows of their own, behind all views: one of their words, and one of pairs of
words in one record, of as many of the first words as `MOST_CELLS` allows.

With a *target*, every view has that column next to its own: one set of views per class. A record is in one class, so it
still adds one to exactly one counter of every row, and each class gets noise as if it were alone in the table.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scumble.columns.category import HASHED, Category
from scumble.columns.column import Column
from scumble.columns.distinct import PARTS
from scumble.columns.hashing import BUCKETS
from scumble.columns.number import Number
from scumble.columns.schema import Described, Schema
from scumble.errors import CorruptFileError, MergeError, ParameterError, did_you_mean, parameter
from scumble.privacy.sensitivity import ONE
from scumble.table.grouping import pooled
from scumble.table.prior import LEVELS

Integers = npt.NDArray[np.int64]
View = tuple[int, ...]
"""Positions of columns in the schema, rising."""

MOST_COUNTERS = 2**24
"""128 MiB: axes are made as fine as that allows."""
LIMIT = 2**27
"""No sketch has more counters: 1 GiB."""
MOST_ROWS = 2**16
STEPS = (256, 192, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 2)
"""How many levels an axis has at most in a pair: the first of these that memory allows, or the last."""
MOST_CELLS = 2**16
"""Of a set that the curator names: its cells still have 16-bit numbers."""
LARGEST_SET = 5
"""Columns of a named set."""
MOST_TRIPLES = 2**10
"""Triples that nobody named, at most: with `prior.LEVELS` an axis they fill 32 MiB."""
SPREAD = 32
"""Levels that an axis of words that are still to be found has for each level of another axis: of as many words as that
one has levels, one in 64 shares its own with a more frequent one."""
USUAL = 100
"""How many words a plan takes a column to have as long as they are not found."""


class TokenRow(NamedTuple):
    """A row of words, or of pairs of words in one record: a record adds one to a counter for each of its `views`."""

    name: str
    views: tuple[View, ...]
    """The slots that make a counter, behind all other columns."""
    finest: int
    """How many words it tells apart; the other levels of a slot are one, which no other slot of the record has."""
    shape: tuple[int, ...]


SETS = ("pairs", "together", "triples", "important")
FIELDS = {"schema", "levels", "target", "pairs"}
"""Of a spec in a file: what sets of columns it has, and what is always there."""


@dataclass(frozen=True)
class TableSpec:
    """Two sketches with equal specs count every record in the same place, so they can be merged.

    `levels` is the most that an axis has in a pair; `target`, the column whose levels are classes. Sets of columns, by
    their positions: `pairs`; `together`, named sets of three or more; `triples`, counted coarsely; `important` columns
    and pairs, which get more of the budget. `positions`: whether it is counted where in their cells values lie.

    >>> from scumble.columns.category import Boolean
    >>> from scumble.columns.number import Number
    >>> spec = TableSpec.of(Schema(age=Number(0, 99, whole=True), smoker=Boolean()))
    >>> spec.views, spec.lengths
    (((0,), (1,), (0, 1)), (100, 2, 200))
    """

    schema: Schema
    levels: int
    target: str | None
    pairs: tuple[tuple[int, int], ...]
    together: tuple[View, ...] = ()
    triples: tuple[View, ...] = ()
    important: tuple[View, ...] = ()
    positions: bool = True
    apart: Mapping[int, int] = field(default_factory=dict, hash=False)
    """Of columns whose words were found: how many words, the first ones, sets tell apart."""

    reach = ONE
    """What a record adds to a row: one."""

    @staticmethod
    def of(
        schema: Described,
        *,
        target: str | None = None,
        levels: int | None = None,
        together: Iterable[Iterable[str]] = (),
        important: Iterable[str | Iterable[str]] = (),
        pairs: Iterable[Iterable[str]] | None = None,
        positions: bool = True,
    ) -> TableSpec:
        """All pairs, as finely as memory allows, and triples where nothing else is asked for.

        With `pairs`, these alone.
        """
        schema = Schema.of(schema)
        if target is not None and target not in schema:
            refused = parameter("target", f"one of the columns {', '.join(schema)}", target)
            raise ParameterError(
                f"{refused}{did_you_mean(target, schema)} Hint: name the one to be learned from the others."
            )
        counted = [j for j, name in enumerate(schema) if name != target and j not in schema.derived]
        if target is not None and (not counted or schema.names.index(target) in schema.derived):
            raise parameter("target", "one of several columns, and none that another lies within", target)
        sets = _named(schema, "together", together, target)
        if any(not 3 <= len(given) <= LARGEST_SET for _, given in sets):
            raise parameter("together", f"sets of 3 to {LARGEST_SET} columns", [given for _, given in sets])
        named = tuple(dict.fromkeys(own for own, _ in sets if len(own) > 2))
        found = {j for j, column in enumerate(schema.values()) if isinstance(column, Category) and column.hashed}
        if found & {j for own in named for j in own} or (target is not None and schema.names.index(target) in found):
            raise ParameterError(
                "`target` and `together` need columns whose words are declared, not discover=True. "
                "Hint: leave such columns out of them; their pairs are measured."
            )
        weighty = tuple(dict.fromkeys(own for own, _ in _named(schema, "important", important, target) if own))
        if any(len(own) > 2 for own in weighty):
            raise parameter("important", "columns or pairs of columns", list(important), "`together` names more.")
        chosen = tuple(itertools.combinations(counted, 2))
        if pairs is not None:
            listed = _named(schema, "pairs", pairs, target)
            if any(len(given) != 2 for _, given in listed):
                raise parameter("pairs", "pairs of columns", [given for _, given in listed])
            wanted = {own for own, _ in listed}  # with a target, every column is counted next to it
            chosen = tuple(own for own in chosen if own in wanted)
        if len(chosen) + len(counted) >= MOST_ROWS:
            asked = f"{len(schema):,} columns and {len(chosen):,} pairs of them"
            raise ParameterError(f"{asked} are more than {MOST_ROWS:,} views. Hint: leave columns out of the schema.")
        positions = positions and len(chosen) + 3 * len(counted) < MOST_ROWS  # two digits of each
        known = [j for j in counted if j not in found]
        others = _triples(schema, known, target, named) if pairs is None else ()
        tried = [
            TableSpec(schema, m, target, chosen, named, others, weighty, positions)
            for m in (STEPS if levels is None else [levels])
        ]
        spec = next((one for one in tried if one.counters[0] <= MOST_COUNTERS), tried[-1])
        spec.check()
        return spec

    # ---- what is counted ----

    @cached_property
    def counted(self) -> tuple[int, ...]:
        """The columns that have views of their own: all but the target and what follows from others."""
        return tuple(j for j, name in enumerate(self.schema) if name != self.target and j not in self.schema.derived)

    @cached_property
    def place(self) -> int | None:
        """Where the target stands."""
        return None if self.target is None else self.schema.names.index(self.target)

    @property
    def classes(self) -> int:
        """How many sets of views there are: the target's levels, or one."""
        return 1 if self.target is None else self.schema[self.target].size

    @cached_property
    def placed(self) -> tuple[tuple[int, int], ...]:
        """The columns of which views tell where in their cells values lie, each with its digits.

        To views, these digits (`columns.cuts.Positions`) are columns of their own, which stand behind the schema's.
        """
        columns = [*self.schema.values()]
        found = [(j, columns[j].positions) for j in self.counted] if self.positions else []
        return tuple((j, digit) for j, positions in found if positions for digit in range(positions.digits))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many levels each column has, each digit of positions, each column of distinct values, the upper parts of
        words' buckets, and slots of tokens."""
        positions = (list(self.schema.values())[j].positions for j, _ in self.placed)
        sketched = (column.size for column in self.schema.distinct.values())
        digits = (found.size for found in positions if found is not None)
        slots = (column.size for column in self.schema.tokens.values() for _ in range(column.most))
        return (*self.schema.sizes, *digits, *sketched, *[BUCKETS // HASHED] * len(self.hashed), *slots)

    @cached_property
    def sketched(self) -> dict[str, int]:
        """The rows of columns whose distinct values are counted, behind those of positions."""
        first = len(self.placed) + (self.target is not None)
        return {name: row for row, name in enumerate(self.schema.distinct, first)}

    @property
    def occupancies(self) -> dict[int, Integers]:
        """The rows of which a release has only how many counters are above 0, in each of these parts."""
        return dict.fromkeys(self.sketched.values(), PARTS)

    @cached_property
    def hashed(self) -> tuple[int, ...]:
        """The columns whose words are still to be found.

        The column is counted by all of its bucket. A code holds the lower part, which is what sets see, and a column
        of its own, behind all others, the upper part.
        """
        columns = enumerate(self.schema.values())
        return tuple(j for j, column in columns if isinstance(column, Category) and column.hashed)

    def upper(self, own: View) -> int | None:
        """Where the codes have the upper part of buckets, if this is the view of one such column."""
        alone = len(own) == 1 and own[0] in self.hashed
        return self._behind + self.hashed.index(own[0]) if alone else None

    @property
    def _behind(self) -> int:
        """How many columns come before the upper parts of buckets: those of the schema, digits, distinct values."""
        return len(self.schema) + len(self.placed) + len(self.schema.distinct)

    @cached_property
    def token_rows(self) -> dict[int, TokenRow]:
        """The rows of tokens."""
        found, first = list[TokenRow](), self._behind + len(self.hashed)
        for name, column in self.schema.tokens.items():
            slots = range(first, first + column.most)
            first += column.most
            few = min(column.size, math.isqrt(MOST_CELLS)) - column.most
            found.append(TokenRow(name, tuple((j,) for j in slots), column.line[1], (column.size,)))
            if column.most > 1:
                pairs = tuple(itertools.combinations(slots, 2))
                found.append(TokenRow(name, pairs, few, (few + column.most,) * 2))
        return dict(enumerate(found, len(self.views)))

    @cached_property
    def touches(self) -> dict[int, int]:
        """The rows in which a record adds one to several counters, and to how many."""
        return {row: len(own.views) for row, own in self.token_rows.items()}

    def slot_axis(self, row: int, slot: int) -> Integers:
        """The level that each level of a slot has in a row of tokens."""
        own = self.token_rows[row]
        first = min(min(view) for view in own.views)
        return self.schema.tokens[own.name].axis(slot - first, own.finest)

    @cached_property
    def axes(self) -> tuple[Integers, ...]:
        """For each column of the schema: the level that each of its levels has in pairs."""
        return tuple(self.axis_of(j, self.levels) for j in range(len(self.schema)))

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """How many levels each of these axes has."""
        return tuple(int(axis.max()) + 1 for axis in self.axes)

    def above(self, place: int) -> list[Integers]:
        """For each column that a column lies within, directly or not, the level of each of its levels there."""
        found = [one.levels for one in self.schema.derived.values() if one.root == place]
        return sorted(found, key=lambda levels: -len(np.unique(levels)))

    @cached_property
    def sets(self) -> tuple[View, ...]:
        """Sets of columns that are counted together, in the order of their rows: pairs, named sets, triples."""
        return (*self.pairs, *self.together, *self.triples)

    @cached_property
    def finest(self) -> dict[View, int]:
        """The most levels that an axis has in each set."""
        sizes = self.schema.sizes
        found = dict.fromkeys(self.triples, LEVELS) | dict.fromkeys(self.pairs, self.levels)
        for own in self.together:
            fits = (m for m in STEPS if math.prod(min(sizes[j], m) for j in own) <= MOST_CELLS)
            found[own] = next(fits)
        return found

    def axes_of(self, own: View) -> tuple[Integers, ...]:
        """For each column of a set: the level that each of its levels has there."""
        if len(own) == 2:
            return tuple(self.axes[j] for j in own)
        return tuple(self.axis_of(j, self.finest[own]) for j in own)

    def axis_of(self, column: int, most: int) -> Integers:
        """The level that each level of a column has on an axis of at most so many."""
        if (column, most) not in self._known:
            own = list(self.schema.values())[column]
            few = self.apart.get(column, most) + 1 + own.missing
            self._known[column, most] = axis(own, min(most, few), self.above(column))
        return self._known[column, most]

    @cached_property
    def _known(self) -> dict[tuple[int, int], Integers]:
        return {}

    @cached_property
    def _crosstabs(self) -> list[tuple[View, tuple[int, ...]]]:
        """The columns and the axes of each row but those of tokens: positions, distinct values, columns alone, sets.

        A target is in all of them, but where distinct values are counted; its classes are the first axis.
        """
        upper = BUCKETS // HASHED
        found: list[tuple[View, tuple[int, ...]]]
        found = [((j,), (self.sizes[j] * (upper if j in self.hashed else 1),)) for j in self._alone]
        found += [(own, tuple(int(each.max()) + 1 for each in self.axes_of(own))) for own in self.sets]
        if self.place is None:
            return found
        return [
            (view, shape) if row in self.occupancies else (tuple(sorted((self.place, *view))), (self.classes, *shape))
            for row, (view, shape) in enumerate([((), ()), *found])
        ]

    @cached_property
    def views(self) -> tuple[View, ...]:
        """The columns of each row of counters but those of tokens."""
        return tuple(view for view, _ in self._crosstabs)

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The axes of the cross-table of each of the `views`: the class, then the columns."""
        return tuple(shape for _, shape in self._crosstabs)

    @property
    def _alone(self) -> tuple[int, ...]:
        """What has a view by itself."""
        return (*range(len(self.schema), self._behind), *self.counted)

    @property
    def singles(self) -> int:
        """How many rows come before the pairs."""
        return len(self._alone) + (self.target is not None)

    @property
    def shapes_alone(self) -> tuple[tuple[int, ...], ...]:
        """The axes of each row before the sets, as a release has it."""
        found = enumerate(self.shapes[: self.singles])
        return tuple((int(PARTS[-1]) + 1,) if row in self.occupancies else shape for row, shape in found)

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """How many counters each row has."""
        return tuple(math.prod(shape) for shape in (*self.shapes, *(own.shape for own in self.token_rows.values())))

    @property
    def rows(self) -> int:
        """Counters that one record touches."""
        return len(self.views) + sum(self.touches.values())

    @property
    def counters(self) -> tuple[int, ...]:
        """The shape of the array of counters: all rows, one after the other."""
        return (sum(self.lengths),)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns' names."""
        return self.schema.names

    # ---- a value among others ----

    def prepare(self) -> None:
        """Nothing has to be made."""

    def differences(self, other: object) -> list[str]:
        """What differs, in words."""
        if not isinstance(other, TableSpec):
            return ["one is of a table, the other is not"]
        told, mine, its = [], self.schema, other.schema
        if mine != its:
            names = [name for name in dict.fromkeys([*mine, *its]) if mine.get(name) != its.get(name)]
            told = [f"the schemas differ in {', '.join(map(repr, names[:5])) or 'the order of columns or the rules'}"]
        each = ("target", "levels", "positions", "apart", *SETS)
        return told + [f"`{name}` differs" for name in each if getattr(self, name) != getattr(other, name)]

    def require_equal(self, other: object) -> None:
        """Refuse to merge unequal specs, saying what differs."""
        told = self.differences(other)
        if told:
            raise MergeError(f"Cannot merge: {'; '.join(told)}. Hint: build both with the same schema and options.")

    # ---- files ----

    def to_dict(self) -> dict[str, object]:
        """The spec as JSON values."""
        every = tuple(itertools.combinations(self.counted, 2))
        data: dict[str, object] = {
            "schema": self.schema.to_dict(),
            "levels": self.levels,
            "target": self.target,
            "pairs": None if self.pairs == every else [list(pair) for pair in self.pairs],
            **({"positions": True} if self.positions else {}),  # older files have none
            **({"apart": [[*one] for one in self.apart.items()]} if self.apart else {}),
        }
        return data | {name: [list(own) for own in getattr(self, name)] for name in SETS[1:] if getattr(self, name)}

    @staticmethod
    def from_dict(data: object) -> TableSpec:
        """The spec that `to_dict` described. Whatever else is refused."""
        try:
            if not isinstance(data, Mapping) or not FIELDS <= set(data) <= FIELDS | {*SETS, "positions", "apart"}:
                raise TypeError("fields")
            if type(positions := data.get("positions", False)) is not bool:
                raise TypeError("positions")
            schema, target = Schema.from_dict(data["schema"]), data["target"]
            every = itertools.combinations(
                [j for j, name in enumerate(schema) if name != target and j not in schema.derived], 2
            )
            sets = {name: tuple(tuple(own) for own in data.get(name) or ()) for name in SETS}
            sets["pairs"] = tuple(every) if data["pairs"] is None else sets["pairs"]
            if sum(map(len, sets.values())) > MOST_ROWS or (target is not None and target not in schema):
                raise TypeError("sets")
            apart = dict(data.get("apart", []))
            if not all(type(one) is int and 0 <= one < 2**16 for pair in apart.items() for one in pair):
                raise TypeError("apart")
            spec = TableSpec(schema, data["levels"], target, **sets, positions=positions, apart=apart)
            spec.check()
            return spec
        except (KeyError, TypeError, ValueError, OverflowError) as problem:
            raise CorruptFileError(f"The parameters of the table cannot be read: {problem}.") from problem

    def check(self) -> None:
        """A file may come from anyone: no number is used before its range is known."""
        if type(self.levels) is not int or not 2 <= self.levels <= 2**16:
            raise parameter("levels", f"a whole number from 2 to {2**16}", self.levels)
        for name, sizes in zip(SETS, ((2,), range(3, LARGEST_SET + 1), (3,), (1, 2)), strict=True):
            sets = getattr(self, name)
            for own in sets:
                if not all(type(j) is int for j in own) or len(own) not in sizes or not {*own} <= {*self.counted}:
                    raise ParameterError(f"Each of `{name}` must name counted columns by their positions.")
                if [*own] != sorted({*own}):
                    raise ParameterError(f"Each of `{name}` must name columns by rising positions.")
            if len(set(sets)) < len(sets):
                raise ParameterError(f"`{name}` has a set twice.")
        if {*self.together} & {*self.triples}:
            raise ParameterError("`together` and `triples` share a set.")
        larger = {j for own in (*self.together, *self.triples) for j in own}
        if not {*self.apart} <= {*self.counted} or larger & {*self.hashed}:
            raise ParameterError("`apart` and larger sets must be about columns that have words.")
        if self.counters[0] > LIMIT:
            raise ParameterError(
                f"The views have {self.counters[0]:,} counters, and there may be {LIMIT:,}. "
                "Hint: ask for fewer levels, or leave columns out."
            )


def _named(
    schema: Schema, name: str, given: Iterable[str | Iterable[str]], target: str | None
) -> list[tuple[View, tuple[str, ...]]]:
    """Sets of columns by their positions, without the target, and as they were given."""
    if isinstance(given, str):
        raise parameter(name, "a list of sets of columns", given)
    found = []
    for names in given:
        own = (names,) if isinstance(names, str) else tuple(names)
        for one in own:
            if one not in schema:
                raise parameter(
                    name, f"made of the columns {', '.join(schema)}", one, did_you_mean(one, schema).strip()
                )
        if len({*own}) < len(own):
            raise parameter(name, "sets of different columns", own)
        places = (schema.names.index(one) for one in own if one != target)
        roots = {schema.derived[j].root if j in schema.derived else j for j in places}
        found.append((tuple(sorted(roots if target is None else roots - {schema.names.index(target)})), own))
    return found


def _triples(schema: Schema, counted: Sequence[int], target: str | None, named: tuple[View, ...]) -> tuple[View, ...]:
    """The triples that are counted next to named sets: all, or those that share a column with one, or none."""
    touched = {j for own in named for j in own}
    classes = 1 if target is None else schema[target].size
    for some in (counted, touched):
        if math.comb(len(counted), 3) - math.comb(len(counted) - len({*some} & {*counted}), 3) > MOST_TRIPLES:
            continue
        found = tuple(own for own in itertools.combinations(counted, 3) if {*own} & {*some} and own not in named)
        cells = sum(math.prod(min(schema.sizes[j], LEVELS) for j in own) for own in found)
        if cells * classes <= MOST_TRIPLES * LEVELS**3:
            return found
    return ()


def axis(column: Column, most: int, above: Sequence[Integers] = ()) -> Integers:
    """The level that each level of a column has in pairs: at most `most`, a function of the column alone.

    Cells of a line are taken together in runs of equal length. Of words the first keep levels of their own, and the
    last share one with each other, or with those `above` which they have the same level. Missing cells always stand
    alone, and so does zero, where it has a cell.

    >>> from scumble.columns.category import Category

    >>> from scumble.columns.number import Number
    >>> axis(Number(1, 11, cells=5, missing=True), 3), axis(Number(0, 10, cells=5, zeros=True), 3)
    (array([0, 0, 0, 1, 1, 2]), array([0, 1, 1, 1, 2, 2]))
    >>> axis(Category(["a", "b", "c"]), 3)
    array([0, 1, 1, 1, 2])
    """
    size = column.size
    if isinstance(column, Category) and column.hashed:
        found = np.append(np.arange(HASHED) % min(SPREAD * most, HASHED), min(SPREAD * most, HASHED))
        return np.append(found, found[-1] + 1) if column.missing else found
    if size <= most:
        return np.arange(size)
    line = size - column.missing
    room = most - column.missing
    zero = column.zero_level if isinstance(column, Number) else None
    if above:
        found = pooled(-np.arange(line), room, [levels[:line] for levels in above])
    elif not column.ordered:
        found = np.minimum(np.arange(line), room - 1)
    elif zero is None or room < 2 + (zero > 0):
        found = np.arange(line) * room // line
    else:  # runs of what is below zero, zero, and runs of what is above
        below = min(max(round((room - 1) * zero / (line - 1)), zero > 0), zero, room - 1 - (zero < line - 1))
        over = np.arange(line - 1 - zero) * (room - 1 - below) // (line - 1 - zero)
        found = np.concatenate([np.arange(zero) * below // zero, [below], below + 1 + over])
    return np.append(found, found.max() + 1) if column.missing else found
