"""What a statement asks for, with all names found and all refusals made, before anything is answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from scumble.errors import ParameterError
from scumble.relational.aggregates import Aggregate, is_aggregate
from scumble.relational.cells import EVERYTHING, groups_of
from scumble.relational.formulas import Formula, formula_of
from scumble.relational.having import Truth, truth_of
from scumble.relational.keys import Key, key_of
from scumble.relational.literals import number
from scumble.relational.scope import Scope
from scumble.relational.syntax import bare, exp, identifier, refused, shown, words
from scumble.relational.where import tree_of
from scumble.schema.grammar import Tree
from scumble.tabular.answers import NONE


class Output(NamedTuple):
    """A column of the answer: one of the keys, by its number, or a formula."""

    name: str
    what: int | Formula


class Order(NamedTuple):
    """What groups are sorted by."""

    what: int | Formula
    falling: bool
    nulls_first: bool


@dataclass(frozen=True)
class Statement:
    """A SELECT, understood."""

    scope: Scope
    where: Tree
    keys: tuple[Key, ...]
    outputs: tuple[Output, ...]
    having: Truth | None
    order: tuple[Order, ...]
    skipped: int
    most: int | None


class _Reader:
    """Finds out what the parts of one SELECT mean."""

    def __init__(self, tree: Any, scope: Scope, where: Tree) -> None:
        self._tree, self._scope = tree, scope
        self._selected = [_without_alias(node) for node in tree.expressions]
        self._aliases = {
            node.alias.lower(): bare(node.this) for node in tree.expressions if isinstance(node, exp.Alias)
        }
        for node in self._selected:
            if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
                raise ParameterError(
                    "SELECT * asks for records, and a release has none. Hint: scumble sample, or "
                    "`release.sample`, draws synthetic ones, and `release.relation` hands them to DuckDB."
                )
        grouped = self._grouped()
        self._places: dict[str, int] = {self._form(node): place for place, node in reversed(list(enumerate(grouped)))}
        self.keys = tuple(key_of(node, scope, where) for node in grouped)

    # ---- names ----

    def _alias(self, node: Any) -> Any:
        """What an alias stands for; None if it is none. What may be an alias or a column is refused."""
        meant = None if node.table else self._aliases.get(node.name.lower())
        if meant is None:
            return None
        column = self._scope.alike(node.name)
        if column is None:
            return meant
        if isinstance(meant, exp.Column) and self._scope.column(meant) == column:
            return None
        raise ParameterError(f"{node.name!r} is a column and something else by AS. Hint: give it another name there.")

    def _form(self, node: Any) -> str:
        """One text for all spellings of a key."""

        def spelled(part: Any) -> Any:
            column = isinstance(part, exp.Column) and not isinstance(part.this, exp.Star)
            return exp.column(self._scope.column(part), quoted=True) if column else part

        return str(bare(node).copy().transform(spelled).sql("duckdb", comments=False))

    # ---- GROUP BY ----

    def _grouped(self) -> list[Any]:
        group = self._tree.args.get("group")
        if group is None or self._tree.args.get("distinct"):
            return self._distinct()
        if any(part for name, part in group.args.items() if name not in ("expressions", "all")):
            raise refused("ROLLUP, CUBE and GROUPING SETS: ask one after the other")
        if group.args.get("all"):
            return [node for node in self._selected if not _aggregates(node)]
        return [self._key(bare(node)) for node in group.expressions]

    def _distinct(self) -> list[Any]:
        """What SELECT DISTINCT groups by."""
        distinct = self._tree.args.get("distinct")
        if distinct and (distinct.args.get("on") or any(map(_aggregates, self._selected))):
            raise refused("DISTINCT ON, or DISTINCT beside aggregates")
        return self._selected if distinct else []

    def _key(self, node: Any) -> Any:
        if isinstance(node, exp.Literal):
            node = self._selected[_position(node, len(self._selected), "GROUP BY")]
        elif isinstance(node, exp.Column):
            meant = self._alias(node)
            node = node if meant is None else meant
        if _aggregates(node):
            raise ParameterError(f"{shown(node)} is an aggregate, and cannot be grouped by.")
        return node

    # ---- SELECT, HAVING, ORDER BY, LIMIT ----

    def what(self, node: Any) -> int | Formula:
        """A key, or a formula."""
        if not _aggregates(node):
            place = self._places.get(self._form(node))
            if place is not None:
                return place
            if not self.keys and isinstance(node, exp.Column):
                name = self._scope.column(node)
                column = self._scope.schema[name]
                mean = f"avg({identifier(name)}), or " if column.kind == "number" else ""
                raise ParameterError(
                    f"Column {name!r} by itself asks for single records, and a release has none. Hint: {mean}count(*) "
                    f"and GROUP BY {groups_of(name, column)}; scumble sample, or `release.sample`, draws synthetic "
                    "records."
                )
            if not isinstance(node, exp.Column):
                raise refused(f"{shown(node)}: what is selected must be grouped by, or be computed of aggregates")
        return formula_of(node, self._scope)

    def outputs(self) -> tuple[Output, ...]:
        """The columns of the answer."""
        found = []
        for written, node in zip(self._tree.expressions, self._selected, strict=True):
            plain = isinstance(node, exp.Column)
            name = (
                written.alias if isinstance(written, exp.Alias) else self._scope.column(node) if plain else words(node)
            )
            found.append(Output(name, self.what(node)))
        listed = [name for output in found for name in columns_of(output)]
        twice = [name for name in listed if listed.count(name) > 1]
        if twice:
            raise ParameterError(f"The answer would have two columns {twice[0]!r}. Hint: name them with AS.")
        return tuple(found)

    def having(self) -> Truth | None:
        """Which groups are shown."""
        node = self._tree.args.get("having")
        if self._tree.args.get("distinct"):
            return lambda value: value(Aggregate("count")) >= NONE  # what no record has is not listed
        return None if node is None else truth_of(node.this, self._scope, self._alias)

    def order(self) -> tuple[Order, ...]:
        """How groups are sorted."""
        node = self._tree.args.get("order")
        found = []
        for part in [] if node is None else node.expressions:
            if part.args.get("with_fill") is not None or isinstance(part.this, exp.Var):
                raise refused(f"ORDER BY {shown(part)}: name what to sort by")
            what, falling = self._sorted(bare(part.this)), bool(part.args.get("desc"))
            found.append(Order(what, falling, bool(part.args.get("nulls_first"))))
        return tuple(found)

    def _sorted(self, node: Any) -> int | Formula:
        if isinstance(node, exp.Literal):
            return self.what(self._selected[_position(node, len(self._selected), "ORDER BY")])
        if isinstance(node, exp.Column) and not node.table and node.name.lower() in self._aliases:
            return self.what(self._aliases[node.name.lower()])  # as in all SQL, an alias comes first here
        return self.what(node) if self._form_is_key(node) else formula_of(node, self._scope, self._alias)

    def _form_is_key(self, node: Any) -> bool:
        aliased = any(self._alias(column) is not None for column in node.find_all(exp.Column))
        return not aliased and not _aggregates(node)

    def whole(self, name: str) -> int | None:
        """The number after LIMIT or OFFSET."""
        node = self._tree.args.get(name)
        if node is None:
            return None
        found = number(node.expression) if isinstance(node, exp.Limit | exp.Offset) and node.expression else None
        if (
            not isinstance(found, int)
            or found < 0
            or any(node.args.get(key) for key in ("limit_options", "expressions"))
        ):
            raise ParameterError(f"{name.upper()} goes with a whole number from 0 on.")
        return found


def understood(tree: Any, scope: Scope) -> Statement:
    """What a SELECT asks for."""
    where = tree.args.get("where")
    if where is not None and where.find(exp.Subquery, exp.Select):
        raise refused("a subquery in WHERE: ask for its number first, then write that in its place")
    if where is not None and _aggregates(where):
        raise ParameterError("Aggregates cannot stand in WHERE, which is for records. Hint: HAVING is for groups.")
    condition = EVERYTHING if where is None else tree_of(where.this, scope)
    reader = _Reader(tree, scope, condition)
    return Statement(
        scope,
        condition,
        reader.keys,
        reader.outputs(),
        reader.having(),
        reader.order(),
        reader.whole("offset") or 0,
        reader.whole("limit"),
    )


def columns_of(output: Output) -> list[str]:
    """The names of an output's columns: a number has its interval beside it."""
    return [output.name] if isinstance(output.what, int) else [output.name, f"{output.name}_low", f"{output.name}_high"]


def _without_alias(node: Any) -> Any:
    return bare(node.this if isinstance(node, exp.Alias) else node)


def _aggregates(node: Any) -> bool:
    return any(is_aggregate(part) for part in node.walk())


def _position(node: Any, most: int, where: str) -> int:
    place = number(node) if not node.is_string else None
    if not isinstance(place, int) or not 1 <= place <= most:
        raise ParameterError(
            f"{where} {shown(node)} must be a column, or the number of one that is selected, 1 to {most}."
        )
    return place - 1
