"""What names in a statement stand for: the release after FROM, and its columns.

As in DuckDB, capitals do not matter, quoted or not.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from scumble.errors import ParameterError, did_you_mean
from scumble.relational.syntax import exp, refused, shown
from scumble.schema import Schema
from scumble.schema.column import Column
from scumble.schema.grammar import Atom, Junction, Not, Tree
from scumble.schema.unclear import known
from scumble.tabular.release import TableRelease


@dataclass(frozen=True)
class Scope:
    """The release that a statement asks, and what it is called there."""

    release: TableRelease
    name: str
    source: str = ""
    """The name of the release."""

    @property
    def schema(self) -> Schema:
        """The release's columns."""
        return self.release.schema

    def column(self, node: Any) -> str:
        """The name of the column that is meant, as the schema spells it."""
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            raise refused(f"{shown(node)} where a column must stand")
        if node.args.get("db") or (node.table and node.table.lower() != self.name.lower()):
            raise ParameterError(f"There is no table {node.table[:100]!r} here. Hint: it is called {self.name!r}.")
        return self.named(node.name)

    def named(self, name: str) -> str:
        """The column of that name."""
        found = self.alike(name)
        return found if found is not None else known(name, self.schema.columns)

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


def scope_of(tree: Any, releases: Mapping[str, Any]) -> Scope:
    """The release that a SELECT is from."""
    if not releases:
        raise ParameterError("There is no release to ask. Hint: scumble.sql('select … from people', people=release).")
    for name, release in releases.items():
        if not isinstance(release, TableRelease):
            raise ParameterError(
                f"{name!r} must be the release of a table, got {type(release).__name__}. Hint: scumble.load(…) "
                "reads one from its file, scumble.build(…, schema=…) makes one; its name in the statement is the "
                "keyword."
            )
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


def _release(name: str, releases: Mapping[str, Any]) -> str:
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
    'FROM people or FROM "imo.e1", whose name is no plain word and stands in double quotes'
    """
    names = [*releases][:10]
    odd = [name for name in names if not re.fullmatch(r"[A-Za-z_]\w*", name)]
    told = " or ".join(f'FROM "{name}"' if name in odd else f"FROM {name}" for name in names)
    return f"{told}, whose name is no plain word and stands in double quotes" if odd else told
