"""From text to a tree, with limits; and what its names and values stand for. The only file that imports sqlglot.

A statement may come from anybody. It is cut into words first, and refused if there are too many, too deep within each
other, or if it is anything but one SELECT: the parser sees nothing else. As in DuckDB, capitals do not matter.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

from scumble.columns import clock
from scumble.columns.column import Column
from scumble.columns.date import Date, no_date
from scumble.columns.grammar import Atom, Junction, Not, Tree, known
from scumble.columns.schema import Schema
from scumble.errors import ParameterError, did_you_mean, parameter
from scumble.table.release import TableRelease

try:
    import sqlglot
    from sqlglot import TokenType
    from sqlglot import exp as exp
    from sqlglot.errors import ParseError, SqlglotError
except ImportError:
    raise ParameterError("SQL needs sqlglot. Hint: pip install 'scumble[sql]'.") from None

Node: TypeAlias = Any
"""A part of a statement: sqlglot types hardly more of it."""
MOST_LETTERS, MOST_WORDS, MOST_DEPTH = 50_000, 4_000, 40
CAN = "Hint: `release.relation` lets DuckDB run all other SQL, on synthetic rows."
_DEEPER = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_BACK = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
_PREFIXES = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE}
_PARTS = {
    "joins": "a join (a release holds one table)",
    "windows": "a window",
    "qualify": "QUALIFY",
    "laterals": "a lateral join",
    "sample": "a sample (`release.sample` draws synthetic rows)",
    "into": "SELECT INTO (nothing is ever written)",
}
_KNOWN = {"expressions", "from_", "where", "group", "having", "order", "limit", "offset", "distinct"}


_ORDINARY = {"this", "expression", "expressions"}
_MORE: dict[type, set[str]] = {
    exp.Like: {"negate"},
    exp.ILike: {"negate"},
    exp.Between: {"low", "high"},
    exp.Div: {"typed", "safe"},
    exp.Round: {"decimals"},
    exp.Case: {"ifs", "default"},
    exp.If: {"true", "false"},
    exp.Cast: {"to"},
    exp.TryCast: {"to", "safe"},
    exp.Column: {"table", "db"},
    exp.Count: {"big_int"},
    exp.Quantile: {"quantile"},
    exp.ApproxQuantile: {"quantile"},
    exp.Ordered: {"desc", "nulls_first"},
    exp.TimestampTrunc: {"unit"},
    exp.DateTrunc: {"unit"},
    exp.Literal: {"is_string"},
    exp.Identifier: {"quoted"},
    exp.Alias: {"alias"},
    exp.TableAlias: {"columns"},
    exp.Select: _KNOWN,
    exp.Window: {"over"},
    exp.TimeToStr: {"format"},
    exp.Mode: {"deterministic"},
}
"""What else a part of a statement may hold. Whatever nobody reads here, such as BETWEEN's SYMMETRIC, is refused."""


def parse(text: object) -> exp.Select:
    """The tree of one SELECT. Whatever is none is a ParameterError."""
    if not isinstance(text, str) or not text.strip():
        raise parameter("query", "a SELECT, as text", text if isinstance(text, str) else type(text).__name__)
    if len(text) > MOST_LETTERS:
        raise ParameterError(f"A statement must have at most {MOST_LETTERS:,} letters, got {len(text):,}.")
    if "\0" in text:
        raise ParameterError("The statement holds a character of no use (NUL). Hint: it must be plain text.")
    try:
        _require_modest(sqlglot.tokenize(text, read="duckdb"))
        found = [tree for tree in sqlglot.parse(text, read="duckdb") if tree is not None]
    except RecursionError:
        raise too_deep() from None
    except SqlglotError as problem:
        names = "put names that are not plain words in double quotes"
        raise ParameterError(f"The statement cannot be read{_where(problem)}. Hint: {names}.") from None
    if len(found) != 1:
        raise ParameterError(f"There must be one statement, got {len(found)}. Hint: ask one after the other.")
    if not isinstance(found[0], exp.Select):
        raise refused("UNION and its kin" if isinstance(found[0], exp.SetOperation) else "this statement")
    return found[0]


def _require_modest(tokens: list[sqlglot.Token]) -> None:
    """Few words, not deep, and the first one SELECT."""
    if len(tokens) > MOST_WORDS:
        raise ParameterError(f"A statement must have at most {MOST_WORDS:,} words, got {len(tokens):,}.")
    if not tokens or tokens[0].token_type not in (TokenType.SELECT, TokenType.FROM, TokenType.WITH):
        started = tokens[0].text[:20].upper() if tokens else ""
        raise ParameterError(f"The statement must be a SELECT, got {started!r}. Nothing was done. {CAN}")
    depth = prefixes = 0
    for token in tokens:
        depth += (token.token_type in _DEEPER) - (token.token_type in _BACK)
        prefixes = prefixes + 1 if token.token_type in _PREFIXES else 0
        if max(depth, prefixes) > MOST_DEPTH:
            raise too_deep()


def too_deep() -> ParameterError:
    """The refusal of a statement whose parts lie too deep."""
    return ParameterError("The statement has too many parts within each other. Hint: ask for less at once.")


def _where(problem: SqlglotError) -> str:
    if not isinstance(problem, ParseError) or not problem.errors:
        return " (a quote may be left open)"
    first = problem.errors[0]
    return f" at line {first.get('line')}, near {str(first.get('highlight') or '')[:30]!r}"


def plain(tree: exp.Select) -> exp.Select:
    """The SELECT, if all of its parts are known; refuses others."""
    for name, part in tree.args.items():
        if part and name not in _KNOWN:
            raise refused(_PARTS.get(name, name.strip("_").upper()))
    if tree.find(exp.Placeholder, exp.Parameter):
        raise refused("a placeholder: write the value itself, and a number plainly, without a $")
    if tree.find(exp.ByteString):
        raise refused("a text with escapes, e'…': write it as it is, in plain quotes")
    for text in [*tree.find_all(exp.RawString)]:  # $$Köln$$ is 'Köln'
        text.replace(exp.Literal.string(text.this))
    for node in tree.walk():
        odd = [
            name for name, part in node.args.items() if part and name not in _ORDINARY | _MORE.get(type(node), set())
        ]
        if odd and not isinstance(node, exp.DataType | exp.Table | exp.Group | exp.Star):
            raise refused(f"{odd[0].strip('_').upper()} in {shown(node)}")
    return tree


def bare(node: Node) -> Node:
    """Without the brackets around it."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def parts_of(node: Node) -> list[Node]:
    """The parts of a chain of ANDs, or of ORs, however long."""
    kind, found, left = type(node), [], [node]
    while left:
        one = bare(left.pop())
        if type(one) is kind:
            left += [one.expression, one.this]
        else:
            found.append(one)
    return found


def words(node: Node) -> str:
    """A part of a statement as text."""
    return str(node.sql("duckdb", normalize_functions="lower", comments=False))


def identifier(name: str) -> str:
    """The name of a column as a statement must write it: in quotes, unless it is a plain word of no other meaning."""
    plain = exp.SAFE_IDENTIFIER_RE.match(name) and sqlglot.tokenize(name, read="duckdb")[0].token_type is TokenType.VAR
    return name if plain else str(exp.to_identifier(name, quoted=True).sql("duckdb"))


def shown(node: Node) -> str:
    """The same for a message: not all of a long one."""
    text = words(node)
    return text if len(text) <= 60 else text[:60] + "…"


def refused(what: str) -> ParameterError:
    """The refusal of what a release cannot answer; after a colon, `what` says what to write instead."""
    return ParameterError(f"SQL on a release does not know {what}.{'' if ': ' in what else ' ' + CAN}")


_INNER = (exp.AggFunc, exp.Window, exp.Subquery)


def flat(tree: Node, given: Mapping[str, Node] | None = None) -> Node:
    """The same SELECT, straight from a release; `given` has what common table expressions stand for."""
    names = dict(given or {})
    written = tree.args.get("with_")
    if written is not None:
        tree.set("with_", None)
        for one in written.expressions:
            if written.args.get("recursive") or one.args["alias"].args.get("columns"):
                raise refused("WITH RECURSIVE, or new names of columns in WITH")
            names[one.alias.lower()] = _select(one.this, names)
    for part in [*tree.find_all(exp.Subquery)]:
        if not isinstance(part.parent, exp.From | exp.Join) and isinstance(part.this, exp.Select):
            part.set("this", flat(part.this, names))
    source = tree.args.get("from_")
    table = None if source is None else source.this
    if isinstance(table, exp.Subquery):
        return _joined(tree, _select(table.this, names), table.alias)
    if isinstance(table, exp.Table) and not table.args.get("db") and table.name.lower() in names:
        return _joined(tree, names[table.name.lower()].copy(), table.alias_or_name)
    return tree


def _select(tree: Node, names: Mapping[str, Node]) -> Node:
    tree = bare(tree)
    if not isinstance(tree, exp.Select):
        raise refused(f"{shown(tree)} to select from")
    return flat(tree, names)


def _joined(outer: Node, inner: Node, name: str) -> Node:
    """A SELECT from another one, as one."""
    computes, grouped = (any(one.find(*_INNER) for one in part.expressions) for part in (outer, inner))
    grouped = grouped or bool(inner.args.get("group"))
    allowed = {"expressions", "from_", "where", *(("group", "having") if grouped else ())}
    beyond = [key for key, part in inner.args.items() if part and key not in allowed]
    if beyond or (grouped and (outer.args.get("group") or outer.args.get("having") or computes)):
        raise ParameterError(
            "WITH and FROM may filter records; groups may be picked and sorted. Hint: ask for the groups first."
        )
    computed = {
        one.alias_or_name.lower(): bare(one.unalias()) for one in inner.expressions if not isinstance(one, exp.Star)
    }
    everything = any(isinstance(one, exp.Star) for one in inner.expressions)
    if grouped:
        _name_keys(inner, computed)
    outer.set("from_", inner.args.get("from_"))
    _put(outer, computed, name, everything)
    if grouped and any(isinstance(one, exp.Star) for one in outer.expressions):
        outer.set("expressions", inner.expressions)
    kept = "having" if grouped else "where"
    conditions = [part.this for part in (inner.args.get(kept), outer.args.get("where")) if part]
    outer.set("where", inner.args.get("where"))
    if conditions:
        outer.set(kept, (exp.Having if grouped else exp.Where)(this=exp.and_(*conditions, copy=False)))
    if grouped:
        outer.set("group", inner.args.get("group"))
    return outer


def _name_keys(inner: Node, computed: Mapping[str, Node]) -> None:
    """Keys by what they are: aliases and places mean something in the inner SELECT alone."""
    group = inner.args.get("group")
    if group is None:
        return
    chosen = [bare(one.unalias()) for one in inner.expressions]
    keys = [one for one in chosen if not one.find(*_INNER)] if group.args.get("all") else group.expressions
    for place, key in enumerate(keys):
        if isinstance(key, exp.Literal) and key.is_int and 0 < int(key.this) <= len(chosen):
            keys[place] = chosen[int(key.this) - 1]
        elif isinstance(key, exp.Column):
            keys[place] = computed.get(key.name.lower(), key)
    inner.set("group", exp.Group(expressions=[one.copy() for one in keys]))


def _put(outer: Node, computed: Mapping[str, Node], name: str, everything: bool) -> None:
    """What names stand for, in place of the names."""
    aliases = {one.alias.lower(): one.this for one in outer.expressions if isinstance(one, exp.Alias)}
    outer.set(
        "expressions",
        [exp.alias_(one, one.name, quoted=True) if isinstance(one, exp.Column) else one for one in outer.expressions],
    )
    size = {key: sum(1 for _ in part.walk()) for key, part in computed.items()}
    columns = [one for one in outer.find_all(exp.Column) if one.table.lower() in ("", name.lower())]
    if sum(size.get(one.name.lower(), 1) for one in columns) > MOST_WORDS:
        raise ParameterError(f"The statement has more than {MOST_WORDS:,} words. Hint: ask for less at once.")
    for one in columns:
        key = one.name.lower()
        alias = None if one.table else aliases.get(key)
        if isinstance(one.this, exp.Star) or (alias is not None and one.find_ancestor(exp.Order)):
            continue
        if key in computed:
            apart = alias is not None and bare(alias) != one and bare(alias) != exp.paren(computed[key])
            if apart and one.find_ancestor(exp.Group, exp.Having):
                raise ParameterError(f"{one.name!r} is a column and something else by AS. Hint: use another name.")
            one.replace(exp.paren(computed[key].copy(), copy=False))
        elif everything or alias is not None:
            one.set("table", None)
        else:
            known(one.name, [*computed])


# ---- names and values ----


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
