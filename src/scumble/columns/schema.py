"""The public description of a table: what its columns are called and what they can hold."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from keyword import iskeyword
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from scumble import checks
from scumble.columns import category, date, number  # noqa: F401  a file may hold any kind of column
from scumble.columns.cells import Texts
from scumble.columns.column import BLANK, OUTSIDE, Column, Found
from scumble.columns.distinct import Distinct
from scumble.columns.grammar import known
from scumble.columns.rules import Rules, compiled
from scumble.columns.table import Table, invalid_message
from scumble.columns.tokens import Slots, Tokens
from scumble.errors import DataError, FileError, MissingFileError, ParameterError, many, parameter
from scumble.files.disk import near_file
from scumble.files.lazy_modules import pa
from scumble.files.places import write_whole

MOST_COLUMNS = 10_000
MOST_NAME = 1_000
_HINT = "Hint: declare the column with missing=True (a category with other=True), or pass invalid='drop'."


class Encoded(NamedTuple):
    """The levels of a batch of records."""

    codes: np.ndarray
    """int32, records × columns, each column contiguous; negative where a cell has no level."""
    dropped: np.ndarray
    """Which records have one, and are not counted."""

    def __repr__(self) -> str:
        return "Encoded(secret)"


class Derived(NamedTuple):
    """A column whose level in each record follows from another column's."""

    root: int
    """Where the column stands that is counted instead."""
    levels: npt.NDArray[np.int64]
    """The level of this column for each level of that one."""
    size: int
    """How many levels this column has."""

    @property
    def onto(self) -> npt.NDArray[np.float64]:
        """(levels of that one, levels of this one): 1 where they go together."""
        return np.eye(self.size)[self.levels]


Described: TypeAlias = "Mapping[str, Column] | str | os.PathLike[str]"
"""A schema, its columns by name, or the path of its file."""

EXAMPLE = "scumble.Schema(age=scumble.Number(0, 120, whole=True), sex=scumble.Category(['f', 'm']))."


class Schema(Mapping[str, Column]):
    """The columns of a table by name: public knowledge, fixed before the first record is read.

    Parameters
    ----------
    columns : mapping, optional
        The columns by name, for names that are no Python words (``{"hours-per-week": Number(1, 99)}``).
    **named : Number, Date, Category, Boolean, Distinct or Tokens
        The columns by name. Those of kind `Distinct` and `Tokens` are apart from all others, in `distinct` and
        `tokens`.
    rules : list of str
        What is true of every record, such as "discharged >= admitted": comparisons of two numbers or two dates, and
        conditions on at most two columns. Answers and synthetic rows obey them, and records that do not are counted all
        the same.

    Examples
    --------
    >>> from scumble.columns.category import Boolean
    >>> from scumble.columns.category import Category
    >>> from scumble.columns.number import Number
    >>> schema = Schema(age=Number(17, 90, whole=True), sex=Category(["Female", "Male"]))
    >>> print(schema.card())
    age  number    74 levels  17 to 90
    sex  category   4 levels  'Female', 'Male'; others; missing
    >>> schema.encode({"age": [41, 30], "sex": ["Male", "?"]}).codes.tolist()
    [[24, 1], [13, 2]]
    """

    columns: Mapping[str, Column]
    """The columns by name, in order, without those of kind `Distinct` and `Tokens`."""
    distinct: Mapping[str, Distinct]
    """The columns whose distinct values are counted: those of that kind, and those whose words are found."""
    tokens: Mapping[str, Tokens]
    """The columns of sets of words."""
    declared: Mapping[str, Column]
    """All columns, as they were declared."""
    derived: Mapping[int, Derived]
    """The columns that others lie ``within``, by their places: they are not counted."""

    rules: tuple[str, ...]
    """What every record obeys, as conditions."""
    constraints: Rules
    """The rules, ready for use."""

    def __init__(
        self, columns: Mapping[str, Column] | None = None, /, *, rules: Sequence[str] | Column = (), **named: Column
    ) -> None:
        if isinstance(rules, Column):  # a column of that name
            named, rules = {**named, "rules": rules}, ()
        if columns is not None and not isinstance(columns, Mapping):
            raise parameter("columns", "a mapping from names to columns", columns, "scumble.Schema.load reads a file.")
        found = dict(columns.declared if isinstance(columns, Schema) else columns or {})
        for name in named:
            if name in found:
                raise _twice(name)
        found |= named
        if not 1 <= len(found) <= MOST_COLUMNS:
            what = f"A schema must have 1 to {MOST_COLUMNS:,} columns, got {len(found):,}"
            raise ParameterError(f"{what}. Hint: {EXAMPLE}")
        for name, column in found.items():
            check_name(name)
            if not isinstance(column, Column):
                raise parameter(
                    name, "a Number, Date, Category, Boolean, Distinct or Tokens", type(column).__name__, EXAMPLE
                )
        columns = {name: column for name, column in found.items() if not isinstance(column, Distinct | Tokens)}
        if not columns:
            what = "A schema needs a column besides those of kind 'distinct' and 'tokens'"
            raise ParameterError(f"{what}. Hint: declare one.")
        derived = _derived(columns)
        unread = {[*columns][j] for j in derived}
        distinct = {
            name: Distinct()
            for name, column in found.items()
            if isinstance(column, Distinct)
            or (isinstance(column, category.Category) and column.discover and name not in unread)
        }
        tokens = {name: column for name, column in found.items() if isinstance(column, Tokens)}
        self.__dict__.update(columns=MappingProxyType(columns), derived=MappingProxyType(derived))
        self.__dict__.update(distinct=MappingProxyType(distinct), declared=MappingProxyType(found))
        self.__dict__.update(tokens=MappingProxyType(tokens))
        constraints = compiled(self, rules)
        self.__dict__.update(rules=tuple(rules), constraints=constraints)
        hashed = {name: one for name, one in found.items() if isinstance(one, category.Category) and one.hashed}
        if rules and hashed:  # they must leave records even if no word is found: nothing is refused after the charge
            Schema(found | {name: replace(one, values=()) for name, one in hashed.items()}, rules=rules)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("A schema is fixed. Hint: make a new one.")

    # ---- a mapping, and a value ----

    def __getitem__(self, name: str) -> Column:
        return self.columns[self.known(name)]

    def known(self, name: object) -> str:
        """The name, if it is a column's; else an error."""
        return known(name, self)

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        mine, its = (tuple(one.declared.items()) for one in (self, other))  # their order is part of it
        return mine == its and self.rules == other.rules

    def __hash__(self) -> int:
        return hash((tuple(self.declared.items()), self.rules))

    def __reduce__(self) -> tuple[object, ...]:
        return Schema.from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        if all(name.isidentifier() and name.isascii() and not iskeyword(name) for name in self.declared):
            named = [f"{name}={column!r}" for name, column in self.declared.items()]
        else:
            named = [repr(dict(self.declared))]
        return f"Schema({', '.join(named + [f'rules={[*self.rules]}'] * bool(self.rules))})"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.columns)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many levels each column has."""
        return tuple(column.size for column in self.values())

    @property
    def roles(self) -> dict[str, str]:
        """What a source should read each column as."""
        return {name: column.read_as for name, column in self.declared.items()}

    def card(self) -> str:
        """A line of text for each column."""
        lines = [
            (name, column.kind, f"{column.size:,} levels" if name in self else "", column.words())
            for name, column in self.declared.items()
        ]
        widths = [max(len(line[k]) for line in lines) for k in range(3)]
        return "\n".join(
            f"{name:<{widths[0]}}  {kind:<{widths[1]}}  {size:>{widths[2]}}  {words}"
            for name, kind, size, words in lines
        )

    # ---- records ----

    def encode(self, X: object, *, invalid: str = "error") -> Encoded:
        """The levels of each record, from any table: pandas, polars, Arrow, NumPy, a dict of columns, a list of rows.

        Columns are taken by name; a table without names must have exactly these, in order. Each record's codes depend
        on its own cells and on the schema alone. A column that another lies ``within`` is what that one says.

        Parameters
        ----------
        X : table
            The records.
        invalid : {"error", "drop"}
            What to do with records that have a cell without a level: a missing one in a column with missing=False,
            text instead of a number, an unknown word in a category with other=False.

        Returns
        -------
        Encoded
            The codes, and which records are dropped: those with such cells, and those outside the bounds of a column
            with ``outside="drop"``.
        """
        return self.find(X, invalid=invalid)[0]

    def find(
        self, X: object, *, invalid: str = "error", positions: Sequence[tuple[int, int]] = (), distinct: bool = False
    ) -> tuple[Encoded, dict[str, Found | Slots], list[Texts]]:
        """What `encode` gives, what was found in each column, and the words of the counted records in each column whose
        words are still to be found.

        The codes have further columns: `positions` in cells, each given by the place of a column and of a digit; and
        with `distinct`, columns of distinct values, the upper parts of words' buckets, and slots of tokens.
        """
        if invalid not in ("error", "drop"):
            raise parameter("invalid", "'error' or 'drop'", invalid)
        names = list(self.declared if distinct else self.columns)
        table = Table.of(X, columns=names, dimensions=len(names))
        cells = dict(zip(names, map(table.column, range(len(names))), strict=True))
        width, sketched = len(self.columns), self.distinct if distinct else {}
        hashed = [name for name, one in self.items() if isinstance(one, category.Category) and one.hashed and distinct]
        last = width + len(positions) + len(sketched)
        sets = {name: one.slots(cells[name], f"Column {name!r}") for name, one in self.tokens.items() if distinct}
        slots = [own.codes for own in sets.values()]
        end = last + len(hashed)
        codes = np.empty((table.rows, end + sum(own.shape[1] for own in slots)), np.int32, order="F")
        if slots:
            codes[:, end:] = np.concatenate(slots, axis=1)
        found: dict[str, Found] = {}
        for j, (name, column) in enumerate(self.columns.items()):
            if j not in self.derived:
                found[name] = column.find(cells[name], f"Column {name!r}")
                codes[:, j] = found[name].codes
        for j, (name, one) in enumerate(sketched.items(), width + len(positions)):
            own = self.columns.get(name)
            if isinstance(own, category.Category):  # as its words are compared
                texts, places = found[name].words or own.words_in(cells[name], f"Column {name!r}")
                codes[:, j] = one.cells_of(texts)[places]
            else:
                codes[:, j] = one.find(cells[name], f"Column {name!r}").codes
        self.derive(codes)
        for place, (j, digit) in enumerate(positions, width):
            codes[:, place] = found[self.names[j]].positions[digit]
        for place, name in enumerate(hashed, last):
            codes[:, place] = found[name].positions[0]
        dropped = np.asarray((codes < 0).any(axis=1))
        if (
            invalid == "error"
            and dropped.any()
            and (bad := (codes[:, :width] < 0) & (codes[:, :width] != OUTSIDE)).any()
        ):
            raise DataError(invalid_message(bad, self.names, hint=_HINT))
        words = [(one.words[0], one.words[1][~dropped]) for one in found.values() if one.words is not None]
        return Encoded(codes, dropped), {**found, **sets}, words

    def derive(self, codes: np.ndarray) -> None:
        """Set the levels of derived columns, in place, by those they follow from; without a level, they have none."""
        for place, (root, levels, _) in self.derived.items():
            known = codes[:, root]
            codes[:, place] = np.where(known < 0, known, levels[np.maximum(known, 0)])

    def decode(
        self, codes: object, generator: np.random.Generator, powers: Sequence[np.ndarray] | None = None
    ) -> pa.Table:
        """Records drawn within their levels: an Arrow table with the schema's names and types; see `Column.decode`."""
        codes = np.asarray(codes)
        if codes.ndim != 2 or codes.shape[1] != len(self.columns):
            raise parameter("codes", f"records × {len(self.columns)} columns", codes)
        drawn = [
            column.decode(codes[:, j], generator, None if powers is None else powers[j])
            for j, column in enumerate(self.values())
        ]
        return pa.table(drawn, names=list(self.columns))

    # ---- files ----

    def to_dict(self) -> dict[str, object]:
        """The schema as plain JSON values."""
        rules = {"rules": [*self.rules]} if self.rules else {}
        return {"columns": [{"name": name, **column.to_dict()} for name, column in self.declared.items()], **rules}

    @staticmethod
    def from_dict(data: object) -> Schema:
        """The schema that `to_dict` described; a ParameterError if it is none."""
        data = data if isinstance(data, Mapping) else {}
        listed = data.get("columns")
        if not isinstance(listed, list) or not {*data} <= {"columns", "rules"} or not 1 <= len(listed) <= MOST_COLUMNS:
            raise ParameterError("A schema must be {'columns': [...]}, with the settings of each column.")
        found: dict[str, Column] = {}
        for one in listed:
            settings = dict(one) if isinstance(one, Mapping) else {}
            name = check_name(settings.pop("name", None))
            if name in found:
                raise _twice(name)
            defaults = dict(OLD_DEFAULTS.get(settings.get("kind"), {}))
            if defaults and settings.get("edges") is not None:
                defaults["cells"] = None
            found[name] = Column.from_dict({**defaults, **settings}, name)
        return Schema(found, rules=data.get("rules", ()))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the schema as TOML. The file appears whole or not at all."""
        text = as_toml({name: column.to_dict() for name, column in self.declared.items()}, self.rules)
        write_whole(os.fsdecode(path), text.encode())

    @staticmethod
    def of(given: Described) -> Schema:
        """The schema itself, or made from its columns by name or the path of its file."""
        if isinstance(given, str | os.PathLike):
            return Schema.load(given)
        if not isinstance(given, Mapping):
            must = "a scumble.Schema, a mapping from names to columns, or the path of a schema's file"
            raise parameter("schema", must, type(given).__name__, EXAMPLE)
        return given if isinstance(given, Schema) else Schema(given)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Schema:
        """The schema in a TOML file. `scumble schema` drafts one."""
        name = checks.path(path)
        try:
            with open(path, "rb") as file:
                data = file.read(MOST_BYTES + 1)
        except FileNotFoundError:
            guess = near_file(name, lambda one: one.endswith(".toml"))
            raise MissingFileError(f"There is no schema {name!r}.{guess} Hint: `scumble schema` drafts one.") from None
        except OSError as error:
            raise FileError(f"Cannot read {name!r}: {(error.strerror or 'it failed').lower()}.") from None
        if len(data) > MOST_BYTES:
            raise ParameterError(f"{name!r} is larger than {MOST_BYTES >> 20} MiB, too large for a schema.")
        described, rules = parse_toml(data, os.path.basename(name))
        try:
            columns = {check_name(name): Column.from_dict(one, name) for name, one in described.items()}
            return Schema(columns, rules=rules)
        except ParameterError as problem:
            raise ParameterError(f"{os.path.basename(os.fsdecode(path))}: {problem}") from None


def _derived(columns: Mapping[str, Column]) -> dict[int, Derived]:
    """What follows from which column; a ParameterError if the columns contradict each other."""
    places = {name: place for place, name in enumerate(columns)}
    below: dict[str, str] = {}
    for name, column in columns.items():
        if not isinstance(column, category.Category) or column.within is None:
            continue
        parent = columns.get(column.within)
        if not isinstance(parent, category.Category) or column.within == name:
            raise ParameterError(f"{name!r} is within {column.within[:60]!r}, no other category. Hint: declare it.")
        if column.within in below:
            both = f"{below[column.within]!r} and {name!r} are both within {column.within!r}"
            raise ParameterError(f"{both}, which can follow from one of them alone. Hint: leave out one `within`.")
        below[column.within] = name
        for has in ("other", "missing"):
            if getattr(column, has) and not getattr(parent, has):
                what = f"{name!r} has a level ({has}), and {column.within!r}, which it is within, has none"
                raise ParameterError(f"{what}. Hint: set {has} alike in both.")
    found = {}
    for name in below:
        root, levels = name, np.arange(columns[name].size)
        for _ in range(len(below)):
            if root in below:
                parent, root = columns[root], below[root]
                levels = levels[_parents_of(columns[root], parent)]
        if root in below:
            raise ParameterError(f"{name!r} lies within itself. Hint: of two columns, the finer is within the coarser.")
        found[places[name]] = Derived(places[root], levels, columns[name].size)
    return found


def _parents_of(child: Any, parent: Any) -> npt.NDArray[np.int64]:
    """The parent's level for each level of the child."""
    found = []
    for word, text in zip(child.levels, child.above, strict=False):
        try:
            found.append(parent.span(text.decode())[0])
        except ParameterError as problem:
            raise ParameterError(f"The parent of {word[:60]!r} is none of {child.within!r}: {problem}.") from None
    found += [len(parent.values)] * child.other + [parent.size - 1] * child.missing
    return np.array(found, np.int64)


OLD_DEFAULTS: Mapping[object, Mapping[str, object]] = {
    "number": {"zeros": False, "cells": "equal"},
    "date": {"cells": "equal"},
    "category": {"strip": False},
}
"""What a description by `to_dict` means where it does not say it: the defaults of the oldest files."""


def _twice(name: str) -> ParameterError:
    return ParameterError(f"The column {name!r} is given twice. Hint: name each once.")


def check_name(name: object) -> str:
    """The name of a column; a ParameterError if it cannot be one."""
    if not isinstance(name, str) or not 1 <= len(name) <= MOST_NAME:
        raise ParameterError(f"The name of a column must be text of 1 to {MOST_NAME:,} letters. Hint: {EXAMPLE}")
    if any("\ud800" <= letter <= "\udfff" for letter in name):
        raise ParameterError("The name of a column must be Unicode text without surrogates. Hint: rename it.")
    return name


# ---- files: TOML, which people can read and write ----

MOST_BYTES = 2**22
"""The largest schema file: vocabularies of tens of thousands of words fit."""

_SPELLING = 'write whole = true, high = 1000, kind = "number" and values = ["Female", "Male"], each once.'
HEADER = (
    "# A scumble schema: public knowledge about a table, never read off its records.\n"
    "# Bounds and vocabularies are what is known in advance. Everybody who gets a release can read them.\n"
)


def as_toml(columns: Mapping[str, Mapping[str, object]], rules: Sequence[str] = ()) -> str:
    """The columns' settings as TOML.

    >>> print(as_toml({"a b": {"kind": "number", "low": 0.5}}).split("them.")[1].strip())
    [columns."a b"]
    kind = "number"
    low = 0.5
    """
    out = [HEADER, *[f"rules = {in_toml([*rules])}\n"] * bool(rules)]
    for name, settings in columns.items():
        lines = [f"{key} = {in_toml(value)}" for key, value in settings.items()]
        out.append("\n".join([f"[columns.{key_of(name)}]", *lines, ""]))
    return "\n".join(out)


def key_of(name: str) -> str:
    """A name as a TOML key."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else in_toml(name)


def in_toml(value: object) -> str:
    """A value as TOML writes it."""
    if isinstance(value, list):
        return f"[{', '.join(map(in_toml, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key_of(key)} = {in_toml(one)}' for key, one in value.items())} }}"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)  # numbers and booleans: finite, and written alike


def parse_toml(data: bytes, name: str) -> tuple[dict[str, object], Any]:
    """The settings and rules in the bytes of a file that is called `name` in errors."""
    import tomllib  # slow to import, and not needed to read a release

    try:
        found = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as problem:
        # tomllib's own message may quote the file, which may be a table by mistake.
        where = re.search(r"\(at (line \d+, column \d+)\)", str(problem))
        place = f" at {where[1]}" if where else ""
        raise ParameterError(f"{name} is not TOML{place}. Hint: {_SPELLING}") from None
    for key in found:
        if key not in ("columns", "rules"):
            hint = f"write [columns.{key_of(key[:60])}]."
            raise ParameterError(f"{name} has {key[:60]!r} where only rules and columns are allowed. Hint: {hint}")
    columns = found.get("columns")
    if not isinstance(columns, dict) or not columns:
        raise ParameterError(f"{name} has no columns. Hint: a column begins with a line such as [columns.age].")
    blanks = [
        (column, key)
        for column, settings in columns.items()
        if isinstance(settings, dict)
        for key, value in settings.items()
        if value == BLANK or (isinstance(value, list) and BLANK in value)
    ]
    if blanks:
        listed = ", ".join(f"{key} of {column!r}" for column, key in blanks[:2]) + ", …" * (len(blanks) > 2)
        left = many(len(blanks), "blank")
        raise ParameterError(f"{name} has {left} left: {listed}. Hint: replace {BLANK!r} by what is known in advance.")
    return columns, found.get("rules", [])
