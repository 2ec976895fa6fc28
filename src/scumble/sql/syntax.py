"""From text to a tree, with limits. The only file that imports sqlglot: ``pip install 'scumble[sql]'``.

A statement may come from anybody. It is cut into words first, and refused if there are too many, too deep within each
other, or if it is anything but one SELECT: the parser sees nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from scumble.columns.grammar import known
from scumble.errors import ParameterError, parameter

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
    exp.Group: {"all"},
    exp.Select: _KNOWN,
    exp.Window: {"over", "spec", "partition_by", "order", "alias"},
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
        if odd and not isinstance(
            node, exp.DataType | exp.Table | exp.Limit | exp.Fetch | exp.Group | exp.LimitOptions | exp.Star
        ):
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
