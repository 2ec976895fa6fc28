"""What names in a statement stand for: the release after FROM, and its columns.

As in DuckDB, capitals do not matter, quoted or not.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from scumble.columns import clock
from scumble.columns.column import Column
from scumble.columns.date import Date, no_date
from scumble.columns.grammar import Atom, Junction, Not, Tree
from scumble.columns.schema import Schema
from scumble.errors import ParameterError, did_you_mean
from scumble.sql.syntax import Node, bare, exp, identifier, refused, shown
from scumble.table.release import TableRelease


@dataclass(frozen=True)
class Scope:
    """The release that a statement asks, and what its name is there."""

    release: TableRelease
    name: str
    source: str = ""
    """The name of the release."""

    @property
    def schema(self) -> Schema:
        """The release's columns."""
        return self.release.schema

    def column(self, node: Node) -> str:
        """The name of the column that is meant, as the schema spells it."""
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            raise refused(f"{shown(node)} where a column must stand")
        if node.args.get("db") or (node.table and node.table.lower() != self.name.lower()):
            raise ParameterError(f"There is no table {node.table[:100]!r} here. Hint: its name is {self.name!r}.")
        return self.named(node.name)

    def named(self, name: str) -> str:
        """The column of that name."""
        found = self.alike(name)
        return found if found is not None else self.schema.known(name)

    def alike(self, name: str) -> str | None:
        """The column that is called so up to capitals, if there is one."""
        if name in self.schema.columns:
            return name
        found = [one for one in self.schema if one.lower() == name.lower()]
        if len(found) > 1:
            raise ParameterError(f"{name!r} may be {' or '.join(map(repr, found))}. Hint: write it as it is declared.")
        return found[0] if found else None

    def present(self, name: str) -> Tree:
        """Where a column is not missing."""
        return Not(Atom(name, "missing")) if self[name].missing else Junction(True, ())

    def __getitem__(self, name: str) -> Column:
        return self.schema[name]


def scope_of(tree: Node, releases: Mapping[str, TableRelease]) -> Scope:
    """The release that a SELECT is from."""
    if not releases:
        raise ParameterError("There is no release to ask. Hint: scumble.sql('select … from people', people=release).")
    for name, release in releases.items():
        if not isinstance(release, TableRelease):
            hint = "Hint: scumble.load(…) reads one, scumble.build(…, schema=…) makes one."
            raise ParameterError(f"{name!r} must be the release of a table, got {type(release).__name__}. {hint}")
    source = tree.args.get("from_")
    table = None if source is None else source.this
    if table is None:
        raise ParameterError(f"The statement has no FROM. Hint: {_listed(releases)}.")
    plain = isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier)
    if not plain or any(part for key, part in table.args.items() if key not in ("this", "alias")):
        raise refused(f"FROM {shown(table)}: it must be the name of a release: {_listed(releases)}")
    alias = table.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        raise refused("new names of columns after FROM")
    found = _release(table.name, releases)
    return Scope(releases[found], table.alias_or_name, table.name)


def _release(name: str, releases: Mapping[str, TableRelease]) -> str:
    if name in releases:
        return name
    found = [one for one in releases if one.lower() == name.lower()]
    if len(found) == 1:
        return found[0]
    guess = did_you_mean(name, releases)
    raise ParameterError(f"There is no release {name[:100]!r}.{guess} Hint: {_listed(releases)}.")


def _listed(releases: Collection[str]) -> str:
    """What may stand after FROM.

    >>> _listed(["people", "imo.e1"])
    'FROM people or FROM "imo.e1"'
    """
    return " or ".join(f"FROM {identifier(name)}" for name in [*releases][:10])


_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2})?\Z")
_TYPES = {"DATE": _DAY, "TIMESTAMP": _TIME, "TIMESTAMP_S": _TIME}


def is_value(node: Node) -> bool:
    """Whether it is a value, and no column and no formula."""
    node = bare(node)
    if isinstance(node, exp.Neg):
        node = bare(node.this)
        return isinstance(node, exp.Literal) and not node.is_string
    if isinstance(node, exp.Cast):
        return isinstance(node.this, exp.Literal)
    return isinstance(node, exp.Literal | exp.Boolean | exp.Null)


def value(node: Node) -> Any:
    """The value: a text, a number, a boolean, a date, or None."""
    node = bare(node)
    if isinstance(node, exp.Neg):
        return -number(node.this)
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Null):
        return None
    if isinstance(node, exp.Cast):
        return _typed(node)
    if isinstance(node, exp.Literal):
        return str(node.this) if node.is_string else number(node)
    raise refused(f"{shown(node)} where a value must stand")


def number(node: Node) -> int | float:
    """A number, exactly as it is written: a comparison with 2.5 and one with 2 differ."""
    node = bare(node)
    if isinstance(node, exp.Neg):
        return -number(node.this)
    if not isinstance(node, exp.Literal) or node.is_string or len(str(node.this)) > 400:
        raise refused(f"{shown(node)} where a number must stand")
    try:
        exact = Decimal(str(node.this).replace("_", ""))
    except ArithmeticError:
        raise refused(f"{shown(node)} where a number must stand") from None
    if exact and exact.adjusted() >= 300:
        raise ParameterError(f"The number {shown(node)} is too large.")
    if exact == exact.to_integral_value():
        return int(exact)
    if float(exact).is_integer():  # it would be taken for another number
        raise ParameterError(f"The number {shown(node)} has more digits than can be distinguished. Hint: write fewer.")
    return float(exact)


def _typed(node: Node) -> str:
    """DATE '2024-02-29' and its kin."""
    kind = node.to.sql("duckdb").upper()
    if not (isinstance(node.this, exp.Literal) and node.this.is_string and kind in _TYPES):
        raise refused(f"{shown(node)}: values are written plainly, dates as DATE '2024-02-29'")
    text = str(node.this.this)
    if not (_TYPES[kind].match(text) or _DAY.match(text)):
        raise ParameterError(f"{shown(node)} is no {kind}. Hint: write it as '2024-02-29' or '2024-02-29 12:30:00'.")
    return text


def fitting(literal: object, column: Column) -> object:
    """The value as this column takes it. A day next to times is its midnight, as in SQL; parts of dates are none."""
    if not isinstance(column, Date):
        return literal
    if isinstance(literal, str) and clock.seconds_of(literal) is None:
        raise no_date(literal)
    if not isinstance(literal, str) or not (_DAY.match(literal) or _TIME.match(literal)):
        raise ParameterError("it holds dates: compare it with one such as '2024-02-29' or '2024-02-29 12:30:00'")
    if column.resolution == "day" and _DAY.match(literal):
        return literal
    try:
        return datetime.datetime.fromisoformat(literal)
    except ValueError:
        raise ParameterError(f"there is no time {literal!r}") from None
