"""From text to a tree, with limits. The only file that imports sqlglot: ``pip install 'scumble[sql]'``.

A statement may come from anybody. It is cut into words first, and refused if there are too many, too deep within each
other, or if it is anything but one SELECT: the parser sees nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from scumble.errors import ParameterError, parameter
from scumble.schema.unclear import undressed

try:
    import sqlglot
    from sqlglot import TokenType
    from sqlglot import exp as exp
    from sqlglot.errors import ParseError, SqlglotError
except ImportError:
    raise ParameterError("SQL needs sqlglot. Hint: pip install 'scumble[sql]'.") from None

MOST_LETTERS, MOST_WORDS, MOST_DEPTH = 50_000, 4_000, 40
CAN = (
    "Hint: aggregates of one release, WHERE, GROUP BY, HAVING and ORDER BY can be asked; `release.relation` lets "
    "DuckDB run all other SQL on synthetic rows."
)
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


_OF_SELECT = {
    "select",
    "from",
    "where",
    "group",
    "by",
    "having",
    "order",
    "limit",
    "and",
    "or",
    "not",
    "as",
    "in",
    "is",
}


def parse(text: object, releases: Collection[str] = ()) -> exp.Select:
    """The tree of one SELECT from one of these releases. Whatever is none is a ParameterError."""
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
        why = undressed(text) or _unquoted(text, releases) or _where(problem)
        raise ParameterError(f"The statement cannot be read{why}. {CAN}") from None
    if len(found) != 1:
        raise ParameterError(f"There must be one statement, got {len(found)}. Hint: ask one after the other.")
    if not isinstance(found[0], exp.Select):
        raise refused("UNION and its kin" if isinstance(found[0], exp.SetOperation) else "this statement")
    return found[0]


def _require_modest(tokens: list[Any]) -> None:
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


def _unquoted(text: str, releases: Collection[str]) -> str:
    """How the name of a release is written that stands there without its quotes; empty if there is none."""
    found = (name for name in releases if re.search(rf"\bfrom\s+{re.escape(name)}(?!\w)", text, re.IGNORECASE))
    name = next((name for name in found if identifier(name) != name), None)
    return "" if name is None else f": such a name stands in double quotes, from {identifier(name)}"


def _where(problem: SqlglotError) -> str:
    if not isinstance(problem, ParseError) or not problem.errors:
        return " (a quote may be left open)"
    first = problem.errors[0]
    near = str(first.get("highlight") or "")[:30]
    may_be_name = near.isidentifier() and near.lower() not in _OF_SELECT
    quoted = f'; a column of that name stands in double quotes, "{near}"' if may_be_name else ""
    return f" at line {first.get('line')}, near {near!r}{quoted}"


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


def bare(node: Any) -> Any:
    """Without the brackets around it."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def parts_of(node: Any) -> list[Any]:
    """The parts of a chain of ANDs, or of ORs, however long."""
    kind, found, left = type(node), [], [node]
    while left:
        one = bare(left.pop())
        if type(one) is kind:
            left += [one.expression, one.this]
        else:
            found.append(one)
    return found


def words(node: Any) -> str:
    """A part of a statement as text."""
    return str(node.sql("duckdb", normalize_functions="lower", comments=False))


def identifier(name: str) -> str:
    """The name of a column as a statement must write it: in quotes, unless it is a plain word of no other meaning."""
    plain = exp.SAFE_IDENTIFIER_RE.match(name) and sqlglot.tokenize(name, read="duckdb")[0].token_type is TokenType.VAR
    return name if plain else str(exp.to_identifier(name, quoted=True).sql("duckdb"))


def shown(node: Any) -> str:
    """The same for a message: not all of a long one."""
    text = words(node)
    return text if len(text) <= 80 else text[:80] + "…"


def refused(what: str) -> ParameterError:
    """The refusal of what a release cannot answer; after a colon, `what` says what to write instead."""
    return ParameterError(f"SQL on a release does not know {what}.{'' if ': ' in what else ' ' + CAN}")
