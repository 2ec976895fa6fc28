"""The public description of a table: what its columns are called and what they can hold."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from keyword import iskeyword
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from scumble.errors import DataError, ParameterError, parameter
from scumble.machine.later import pa
from scumble.schema import toml
from scumble.schema.column import OUTSIDE, Column, Found, Strays
from scumble.schema.unclear import known
from scumble.tables import Table, invalid_message

MOST_COLUMNS = 10_000
MOST_NAME = 1_000
_HINT = (
    "Hint: correct them, declare the column with missing=True (a category also with other=True), or leave such records "
    "out with invalid='drop'."
)


class Encoded(NamedTuple):
    """The levels of a batch of records."""

    codes: np.ndarray
    """int32, records × columns, each column contiguous; negative where a cell has no level."""
    dropped: np.ndarray
    """Which records have such a cell, and are not counted."""

    def __repr__(self) -> str:
        return "Encoded(secret)"


Described: TypeAlias = "Mapping[str, Column] | str | os.PathLike[str]"
"""How a caller may give a schema: as one, as its columns by name, or as the path of its file."""

EXAMPLE = "scumble.Schema(age=scumble.Number(0, 120, whole=True), sex=scumble.Category(['f', 'm']))."
"""What a schema looks like."""


class Schema(Mapping[str, Column]):
    """The columns of a table by their names: public knowledge, fixed before the first record is read.

    Parameters
    ----------
    columns : mapping, optional
        The columns by name, where a name is no Python word (``{"hours-per-week": Number(1, 99)}``).
    **named : Number, Date, Category or Boolean
        The columns by name.

    Examples
    --------
    >>> from scumble.schema import Boolean, Category, Number
    >>> schema = Schema(age=Number(17, 90, whole=True), sex=Category(["Female", "Male"]))
    >>> print(schema.card())
    age  number    74 levels  17 to 90
    sex  category   4 levels  'Female', 'Male'; others; missing
    >>> schema.encode({"age": [41, 30], "sex": ["Male", "?"]}).codes.tolist()
    [[24, 1], [13, 2]]
    """

    columns: Mapping[str, Column]
    """The columns by name, in order."""

    def __init__(self, columns: Mapping[str, Column] | None = None, /, **named: Column) -> None:
        if columns is not None and not isinstance(columns, Mapping):
            path = isinstance(columns, str | os.PathLike)
            hint = f"scumble.Schema.load({os.fspath(columns)!r}) reads a file." if path else EXAMPLE
            raise parameter("columns", "a mapping from names to columns", columns, hint)
        found = dict(columns or {})
        for name in named:
            if name in found:
                raise _twice(name)
        found |= named
        if not 1 <= len(found) <= MOST_COLUMNS:
            raise ParameterError(
                f"A schema must have 1 to {MOST_COLUMNS:,} columns, got {len(found):,}. Hint: {EXAMPLE}"
            )
        for name, column in found.items():
            check_name(name)
            if not isinstance(column, Column):
                raise parameter(name, "a Number, Date, Category or Boolean", type(column).__name__, EXAMPLE)
        self.columns = MappingProxyType(found)

    def __setattr__(self, name: str, value: object) -> None:
        if "columns" in self.__dict__:
            raise AttributeError("A schema is fixed. Hint: make a new one.")
        super().__setattr__(name, value)

    # ---- a mapping, and a value ----

    def __getitem__(self, name: str) -> Column:
        return self.columns[known(name, self.columns)]

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        return tuple(self.columns.items()) == tuple(other.columns.items())  # their order is part of it

    def __hash__(self) -> int:
        return hash(tuple(self.columns.items()))

    def __reduce__(self) -> Any:
        return Schema.from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        if all(name.isidentifier() and name.isascii() and not iskeyword(name) for name in self):
            return f"Schema({', '.join(f'{name}={column!r}' for name, column in self.items())})"
        return f"Schema({dict(self.columns)!r})"

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
        """What a source should read each column as, so a text file gives numbers as numbers."""
        return {name: column.role for name, column in self.items()}

    def card(self) -> str:
        """The schema for people: a line for each column."""
        lines = [(name, column.kind, f"{column.size:,}", column.words()) for name, column in self.items()]
        widths = [max(len(line[k]) for line in lines) for k in range(3)]
        return "\n".join(
            f"{name:<{widths[0]}}  {kind:<{widths[1]}}  {size:>{widths[2]}} levels  {words}"
            for name, kind, size, words in lines
        )

    # ---- records ----

    def encode(self, X: object, *, invalid: str = "error") -> Encoded:
        """The levels of each record, from any table: pandas, polars, Arrow, NumPy, a dict of columns, a list of rows.

        Columns are taken by name; a table without names must have exactly these, in order. Each record's codes depend
        on its own cells and on the schema alone.

        Parameters
        ----------
        X : table
            The records.
        invalid : {"error", "drop"}
            What to do with records whose cells have no level: missing ones in a column without a level for these,
            text where numbers are due, words outside a vocabulary without "(other)".

        Returns
        -------
        Encoded
            The codes, and which records are dropped: those with invalid cells, and those outside the bounds of a
            column with ``outside="drop"``.
        """
        return self.find(X, invalid=invalid)[0]

    def find(self, X: object, *, invalid: str = "error") -> tuple[Encoded, dict[str, Strays]]:
        """What `encode` gives, and of each column how many cells were counted where they do not stand.

        Of records that are dropped, none was.
        """
        if invalid not in ("error", "drop"):
            raise parameter("invalid", "'error' or 'drop'", invalid)
        table = Table.of(X, columns=list(self.columns), dimensions=len(self.columns))
        codes = np.empty((table.rows, len(self.columns)), np.int32, order="F")
        found: dict[str, Found] = {}
        for j, (name, column) in enumerate(self.columns.items()):
            found[name] = column.find(table.column(j), f"Column {name!r}")
            codes[:, j] = found[name].codes
        dropped = np.asarray((codes < 0).any(axis=1))
        bad = (codes < 0) & (codes != OUTSIDE)
        if invalid == "error" and bad.any():
            raise DataError(invalid_message(bad, self.names, hint=_HINT))
        return Encoded(codes, dropped), {name: one.strays(dropped) for name, one in found.items()}

    def decode(self, codes: object, generator: np.random.Generator) -> pa.Table:
        """Records drawn within their levels: an Arrow table with the schema's names and types."""
        codes = np.asarray(codes)
        if codes.ndim != 2 or codes.shape[1] != len(self.columns):
            raise parameter("codes", f"records × {len(self.columns)} columns", codes)
        drawn = [column.decode(codes[:, j], generator) for j, column in enumerate(self.values())]
        return pa.table(drawn, names=list(self.columns))

    # ---- files ----

    def to_dict(self) -> dict[str, Any]:
        """The schema as plain JSON values."""
        return {"columns": [{"name": name, **column.to_dict()} for name, column in self.items()]}

    @staticmethod
    def from_dict(data: Any) -> Schema:
        """The schema that `to_dict` described. Whatever else is a ParameterError."""
        listed = data.get("columns") if isinstance(data, Mapping) else None
        if not isinstance(listed, list) or len(data) != 1 or not 1 <= len(listed) <= MOST_COLUMNS:
            raise ParameterError("A schema must be {'columns': [...]}, with a table of settings for each column.")
        found: dict[str, Column] = {}
        for one in listed:
            settings = dict(one) if isinstance(one, Mapping) else {}
            name = check_name(settings.pop("name", None))
            if name in found:
                raise _twice(name)
            unsaid = UNSAID.get(settings.get("kind"), {})
            cut = settings.get("edges") is not None  # and there is no word on cells to miss
            found[name] = Column.from_dict({**unsaid, **({"cells": None} if cut and unsaid else {}), **settings}, name)
        return Schema(found)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the schema as TOML, for people to read and change. The file appears whole or not at all."""
        toml.write(path, {name: column.to_dict() for name, column in self.items()})

    @staticmethod
    def of(given: Described) -> Schema:
        """The schema that somebody means: one, its columns by name, or the path of its file."""
        if isinstance(given, str | os.PathLike):
            return Schema.load(given)
        if not isinstance(given, Mapping):
            must = "a scumble.Schema, a mapping from names to columns, or the path of a schema's file"
            raise parameter("schema", must, type(given).__name__, EXAMPLE)
        return given if isinstance(given, Schema) else Schema(given)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Schema:
        """The schema in a TOML file; see `scumble schema` for a draft of one."""
        described = toml.read(path)
        try:
            return Schema({check_name(name): Column.from_dict(one, name) for name, one in described.items()})
        except ParameterError as problem:
            raise ParameterError(f"{os.path.basename(os.fsdecode(path))}: {problem}") from None


UNSAID: Mapping[object, Mapping[str, Any]] = {
    "number": {"zeros": False, "cells": "equal"},
    "date": {"cells": "equal"},
    "category": {"strip": False},
}
"""What a description by `to_dict` means where it does not say it: as what it was made by knew no other way."""


def _twice(name: str) -> ParameterError:
    return ParameterError(f"The column {name!r} is given twice. Hint: name each once.")


def check_name(name: object) -> str:
    """The name of a column, if it can be one."""
    if not isinstance(name, str) or not 1 <= len(name) <= MOST_NAME:
        raise ParameterError(f"The name of a column must be text of 1 to {MOST_NAME:,} letters. Hint: {EXAMPLE}")
    if any("\ud800" <= letter <= "\udfff" for letter in name):
        raise ParameterError("The name of a column must be Unicode text, without surrogates. Hint: rename it.")
    return name
