"""The public parameters of a table's sketch: its schema, its views, and where a record is counted in each.

Rows of counters are *views*: every column alone, with all of its levels, and pairs of columns. In pairs an axis has at
most so many levels: neighbouring cells of a line are taken together, and the last words of a long vocabulary. That is
decided by the schema alone, before the first record.

With a *target*, every view has that column beside its own: one set of views per class. A record is in one class, so it
still adds one to exactly one counter of every row, and each class gets noise as if it were alone in the table.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from scumble.errors import CorruptFileError, MergeError, ParameterError, did_you_mean, parameter
from scumble.privacy.sensitivity import ONE
from scumble.schema import Described, Number, Schema
from scumble.schema.column import Column

Integers = npt.NDArray[np.int64]
View = tuple[int, ...]
"""Positions of columns in the schema, rising."""

MOST_COUNTERS = 2**24
"""128 MiB: axes are made as fine as that allows."""
LIMIT = 2**27
"""No sketch has more counters: 1 GiB."""
MOST_ROWS = 2**16
FINEST = 256
"""Levels of an axis that no pair needs more of."""
LEAST = 2


@dataclass(frozen=True)
class TableSpec:
    """Two sketches with equal specs count every record in the same place, so they can be merged.

    Parameters
    ----------
    schema : Schema
        The columns.
    levels : int
        The most levels that an axis has in a pair.
    target : str or None
        The column whose levels are classes.
    pairs : tuple of pair of int
        Which columns are counted together, by their positions.

    Examples
    --------
    >>> from scumble.schema import Boolean, Number
    >>> spec = TableSpec.of(Schema(age=Number(0, 99, whole=True), smoker=Boolean()))
    >>> spec.views, spec.lengths
    (((0,), (1,), (0, 1)), (100, 2, 200))
    """

    schema: Schema
    levels: int
    target: str | None
    pairs: tuple[tuple[int, int], ...]

    reach = ONE
    """What a record adds to a row: one."""

    @staticmethod
    def of(
        schema: Described,
        *,
        target: str | None = None,
        levels: int | None = None,
        pairs: tuple[tuple[int, int], ...] | None = None,
    ) -> TableSpec:
        """All pairs, as finely as memory allows, where nothing else is asked for."""
        schema = Schema.of(schema)
        if target is not None and target not in schema:
            refused = parameter("target", f"one of the columns {', '.join(schema)}", target)
            raise ParameterError(
                f"{refused}{did_you_mean(target, schema)} Hint: name the one to be learnt from the others."
            )
        if target is not None and len(schema) == 1:
            raise parameter("target", "one of several columns", target)
        counted = [j for j, name in enumerate(schema) if name != target]
        every = len(counted) * (len(counted) - 1) // 2 if pairs is None else len(pairs)
        if every + len(counted) >= MOST_ROWS:
            raise ParameterError(
                f"{len(schema):,} columns and {every:,} pairs of them are asked for, and a table has at most "
                f"{MOST_ROWS:,} views. "
                "Hint: leave columns out of the schema."
            )
        chosen = tuple(itertools.combinations(counted, 2)) if pairs is None else pairs
        if levels is None:
            spec = next(
                found
                for finest in (*(m for m in _STEPS if m <= FINEST), LEAST)
                if (found := TableSpec(schema, finest, target, chosen)).counters[0] <= MOST_COUNTERS or finest == LEAST
            )
        else:
            spec = TableSpec(schema, levels, target, chosen)
        spec.check()
        return spec

    # ---- what is counted ----

    @cached_property
    def counted(self) -> tuple[int, ...]:
        """The columns that have views of their own: all but the target."""
        return tuple(j for j, name in enumerate(self.schema) if name != self.target)

    @cached_property
    def place(self) -> int | None:
        """Where the target stands."""
        return None if self.target is None else self.schema.names.index(self.target)

    @property
    def classes(self) -> int:
        """How many sets of views there are: the target's levels, or one."""
        return 1 if self.target is None else self.schema[self.target].size

    @cached_property
    def axes(self) -> tuple[Integers, ...]:
        """For each column of the schema: the level that each of its levels has in pairs."""
        return tuple(axis(column, self.levels) for column in self.schema.values())

    @cached_property
    def views(self) -> tuple[View, ...]:
        """The columns of each row of counters: those alone first, then pairs. A target is in all of them."""
        alone: list[View] = [(j,) for j in self.counted]
        found = [*alone, *self.pairs]
        if self.place is None:
            return tuple(found)
        return tuple(tuple(sorted((self.place, *view))) for view in [(), *found])

    @property
    def singles(self) -> int:
        """How many rows come before the pairs."""
        return len(self.counted) + (self.target is not None)

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The axes of each row's cross-table: the class, then the columns."""
        sizes = self.schema.sizes
        fine = [len({*found.tolist()}) for found in self.axes]
        own = [(sizes[j],) for j in self.counted]
        both = [(fine[i], fine[j]) for i, j in self.pairs]
        if self.place is None:
            return (*own, *both)
        return tuple((self.classes, *shape) for shape in ((), *own, *both))

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """How many counters each row has."""
        return tuple(math.prod(shape) for shape in self.shapes)

    @property
    def rows(self) -> int:
        """Counters that one record touches."""
        return len(self.pairs) + self.singles

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

    def differences(self, other: Any) -> list[str]:
        """What differs, in words."""
        if not isinstance(other, TableSpec):
            return ["one is of a table, the other is not"]
        told = []
        if self.schema != other.schema:
            mine, its = self.schema, other.schema
            names = [name for name in dict.fromkeys([*mine, *its]) if mine.get(name) != its.get(name)]
            told.append(f"the schemas differ in {', '.join(map(repr, names[:5])) or 'the order of columns'}")
        for name in ("target", "levels", "pairs"):
            if getattr(self, name) != getattr(other, name):
                told.append(
                    f"{name} differ" if name == "pairs" else f"{name} is {getattr(self, name)!r} here and not there"
                )
        return told

    def require_equal(self, other: Any) -> None:
        """Refuse to merge unequal specs, saying what differs."""
        told = self.differences(other)
        if told:
            raise MergeError(f"Cannot merge: {'; '.join(told)}. Hint: build both with the same schema and options.")

    # ---- files ----

    def to_dict(self) -> dict[str, Any]:
        """The spec as JSON values."""
        every = tuple(itertools.combinations(self.counted, 2))
        return {
            "schema": self.schema.to_dict(),
            "levels": self.levels,
            "target": self.target,
            "pairs": None if self.pairs == every else [list(pair) for pair in self.pairs],
        }

    @staticmethod
    def from_dict(data: Any) -> TableSpec:
        """The spec that `to_dict` described. Whatever else is refused."""
        try:
            if not isinstance(data, Mapping) or set(data) != {"schema", "levels", "target", "pairs"}:
                raise TypeError("fields")
            listed = data["pairs"]
            pairs = None if listed is None else tuple((first, second) for first, second in listed)
            if type(data["levels"]) is not int or not (data["target"] is None or type(data["target"]) is str):
                raise TypeError("a level or target that is none")
            return TableSpec.of(
                Schema.from_dict(data["schema"]), target=data["target"], levels=data["levels"], pairs=pairs
            )
        except (KeyError, TypeError, ValueError, OverflowError) as problem:
            raise CorruptFileError(f"The parameters of the table cannot be read: {problem}.") from problem

    def check(self) -> None:
        """A file may come from anyone: no number is used before its range is known."""
        if type(self.levels) is not int or not LEAST <= self.levels <= 2**16:
            raise parameter("levels", f"a whole number from {LEAST} to {2**16}", self.levels)
        if len(self.pairs) >= MOST_ROWS:
            raise parameter("pairs", f"fewer than {MOST_ROWS:,}", len(self.pairs))
        for pair in self.pairs:
            if not all(type(j) is int for j in pair) or not pair[0] < pair[1] or not {*pair} <= {*self.counted}:
                raise ParameterError("Each of `pairs` must name two counted columns by their positions, rising.")
        if len(set(self.pairs)) < len(self.pairs):
            raise ParameterError("`pairs` has a pair twice.")
        if self.counters[0] > LIMIT:
            raise ParameterError(
                f"The views have {self.counters[0]:,} counters, and there may be {LIMIT:,}. "
                "Hint: ask for fewer levels, or leave columns out."
            )


_STEPS = (256, 192, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4)


def axis(column: Column, most: int) -> Integers:
    """The level that each level of a column has in pairs: at most `most`, a function of the column alone.

    Cells of a line are taken together in runs of equal length. Of words the first keep levels of their own, and the
    last share one with each other. Missing cells always stand alone, and so does zero, where it has a cell.

    >>> from scumble.schema import Category, Number
    >>> axis(Number(1, 11, cells=5, missing=True), 3), axis(Number(0, 10, cells=5, zeros=True), 3)
    (array([0, 0, 0, 1, 1, 2]), array([0, 1, 1, 1, 2, 2]))
    >>> axis(Category(["a", "b", "c"]), 3)
    array([0, 1, 1, 1, 2])
    """
    size = column.size
    if size <= most:
        return np.arange(size)
    line = size - column.missing
    room = most - column.missing
    zero = column.zero_level if isinstance(column, Number) else None
    if not column.ordered:
        found = np.minimum(np.arange(line), room - 1)
    elif zero is None or room < 2 + (zero > 0):
        found = np.arange(line) * room // line
    else:  # runs of what is below zero, zero, and runs of what is above
        below = min(max(round((room - 1) * zero / (line - 1)), zero > 0), zero, room - 1 - (zero < line - 1))
        above = np.arange(line - 1 - zero) * (room - 1 - below) // max(line - 1 - zero, 1)
        found = np.concatenate([np.arange(zero) * below // max(zero, 1), [below], below + 1 + above])
    return np.append(found, room) if column.missing else found
