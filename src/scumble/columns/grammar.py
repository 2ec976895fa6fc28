"""Conditions as people write them, read into a tree.

Words, texts and numbers are replaced by placeholders, so that Python's own parser (`ast`, never `eval`) sees only
``and``, ``or``, ``not``, comparisons and lists. SQL's spellings (``=``, ``<>``, ``AND``, ``between``, ``is null``) work
as well as Python's.

    age >= 65 and sex == 'Female'         18 <= age < 65         town in ['Ulm', 'Bonn']       not smoker
    `hours-per-week` between 30 and 40    seen > '2024-02-29'    town is missing or age is not null

Text is in single or double quotes, doubled within ('O''Brien'); names that are no plain word are in backticks.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from scumble.columns.cells import NO_VALUE
from scumble.errors import ColumnError, ParameterError, did_you_mean, parameter

MOST_LETTERS, MOST_TOKENS, MOST_DEPTH, MOST_VALUES = 10_000, 2_000, 60, 2**16
LISTED = 10
"""The most columns that an error lists."""

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")
    | (?P<name>`[^`]+`)
    | (?P<number>(?:[0-9][0-9_]*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?![\w.])
    | (?P<word>[^\W0-9]\w*)
    | (?P<sign><=|>=|==|!=|<>|[<>=()\[\],+-])
    )""",
    re.VERBOSE,
)
_QUOTED = re.compile(r"""'[^']*'|"[^"]*"|`[^`]*`""")
_DATE = re.compile(r"\b[0-9]{4}-[0-9]{2}(-[0-9]{2}([T ][0-9]{2}(:[0-9]{2}){1,2})?)?(?![\w:-])")
_KEYWORDS = {"and", "or", "not", "in", "is"}
_CONSTANTS = {"true": True, "false": False, "null": None, "none": None, "missing": None}
_GAPS = {word.lower() for word in NO_VALUE}
_BETWEEN = "_between"
_SIGNS = {"=": "==", "<>": "!="}
_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Atom:
    """A question about one column: ``==``, ``<``, ``<=``, ``>``, ``>=``, ``in``, ``between`` or ``missing``."""

    column: str
    operator: str
    literals: tuple[object, ...] = ()


@dataclass(frozen=True)
class Not:
    """The negation."""

    part: Tree


@dataclass(frozen=True)
class Untrue:
    """Where the part is false, or unknown because a cell is missing. SQL's ``is not true``."""

    part: Tree


@dataclass(frozen=True)
class Junction:
    """All of the parts, or any of them. All of none is true of every record, any of none of no record."""

    all: bool
    parts: tuple[Tree, ...]
    chain: bool = field(default=False, compare=False)
    """Whether it was written as one comparison, ``3 < x < 10``."""


@dataclass(frozen=True)
class Pair(Atom):
    """A comparison of two columns, in rules alone."""

    right: str = ""


Tree: TypeAlias = Atom | Not | Untrue | Junction


@dataclass(frozen=True)
class _Word:
    """A "name", a "text" or a "value" behind a placeholder."""

    kind: str
    value: str | float | bool | None


def parse(text: str, columns: Collection[str], *, pairs: bool = False) -> Tree:
    """The tree of a condition over these columns; a ParameterError if it cannot be read.

    `pairs`: whether columns may be compared with each other.
    """
    if len(text) > MOST_LETTERS:
        raise ParameterError(f"A condition must have at most {MOST_LETTERS:,} letters, got {len(text):,}.")
    source, words = _without_words(text)
    try:
        found = ast.parse(source, mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise _unclear(text) from None
    return _Reader(text, words, columns, pairs).tree(found.body, 0)


def parts_of(tree: Tree) -> Iterator[Tree]:
    """The tree and all its parts."""
    yield tree
    for part in tree.parts if isinstance(tree, Junction) else (tree.part,) if isinstance(tree, Not | Untrue) else ():
        yield from parts_of(part)


def tree_of(where: Mapping[str, object], columns: Collection[str]) -> Tree:
    """The tree of a mapping from columns to what they must be."""
    named = ((known(key, columns), wanted) for key, wanted in where.items())
    return Junction(True, tuple(_wanted(name, wanted) for name, wanted in named))


def written(name: str) -> str:
    """The name of a column as a condition must write it.

    >>> written("town"), written("post code"), written("missing")
    ('town', '`post code`', '`missing`')
    """
    plain = name.isidentifier() and name.lower() not in {*_KEYWORDS, *_CONSTANTS, "between"}
    return name if plain else f"`{name}`"


def known(name: object, columns: Collection[str], *, text: str = "") -> str:
    """The name, if it is a column's; else an error with the nearest one.

    `columns` may be a schema; `text` says how to write the name as text.
    """
    if isinstance(name, str) and name in columns:
        return name
    if isinstance(name, str) and name in getattr(columns, "distinct", ()):
        raise ParameterError(f"Of column {name!r}, only distinct values were counted. Hint: ask distinct({name!r}).")
    if isinstance(name, str) and name in getattr(columns, "tokens", ()):
        raise ParameterError(f"Column {name!r} holds tokens. Hint: ask top({name!r}), count(by={name!r}) or crosstab.")
    guess = did_you_mean(name, columns)
    quotes = f" If it is text, put it {text}." if text else ""
    more = f" and {len(columns) - LISTED} more" if len(columns) > LISTED else ""
    listed = ", ".join(map(repr, [*columns][:LISTED])) + more
    raise ColumnError(f"There is no column {str(name)[:100]!r}.{guess}{quotes} Hint: the columns are {listed}.")


def _unclear(text: str, what: str = "") -> ParameterError:
    plain = _QUOTED.sub("", text)
    if date := _DATE.search(plain):
        what = f": write dates in quotes, '{date[0]}'"
    elif "&" in plain or "|" in plain:
        what = ": conditions are joined by `and` and `or`"
    shown = repr(text if len(text) <= 80 else text[:80] + "…")
    return ParameterError(f"The condition {shown} cannot be read{what}. Hint: write age >= 65 and sex == 'Female'.")


def _wanted(name: str, wanted: object) -> Tree:
    if wanted is None:
        return Atom(name, "missing")
    if isinstance(wanted, tuple):
        if len(wanted) != 2:
            raise parameter(name, "a pair (low, high)", wanted, "pass several values as a list.")
        return Atom(name, "between", wanted)
    if isinstance(wanted, np.ndarray) and wanted.ndim == 1:
        wanted = wanted.tolist()
    if isinstance(wanted, AbstractSet | Sequence) and not isinstance(wanted, str | bytes):
        if not 1 <= len(wanted) <= MOST_VALUES:
            raise parameter(name, f"a list of 1 to {MOST_VALUES:,} values", f"{len(wanted)} values")
        values = Atom(name, "in", tuple(value for value in wanted if value is not None))
        return values if len(values.literals) == len(wanted) else Junction(False, (values, Atom(name, "missing")))
    return Atom(name, "==", (wanted,))


def _without_words(text: str) -> tuple[str, list[_Word]]:
    """Python with a placeholder for each word, and the words."""
    out: list[str] = []
    words: list[_Word] = []
    at = tokens = depth = 0
    between = 0  # 1: before its lower bound, 2: before `and`, 3: before its upper bound
    end = len(text.rstrip())
    while at < end:
        token = _TOKEN.match(text, at)
        tokens += 1
        if token is None:
            left = text[at:].lstrip()
            raise _unclear(text, " (a quote is left open)" if left[0] in "'\"`" else f" at {left[:10]!r}")
        if tokens > MOST_TOKENS:
            raise ParameterError(f"A condition must have at most {MOST_TOKENS:,} words. Hint: use `in [...]`.")
        at = token.end()
        kind, found = str(token.lastgroup), token[str(token.lastgroup)]
        low = found.lower() if kind == "word" else ""
        if low == "between" and not between:
            out.append(f"in {_BETWEEN}(")
            between = 1
        elif low == "and" and between == 2:
            out.append(",")
            between = 3
        elif low in _KEYWORDS:
            out.append(low)
        elif kind == "sign":
            depth += (found in "([") - (found in ")]")
            if depth > MOST_DEPTH:
                raise _unclear(text, ": too many nested brackets")
            out.append(_SIGNS.get(found, found))
        else:
            out.append(f"_{len(words)}")
            words.append(_word(kind, found))
            if between in (1, 3):
                out.append(")" if between == 3 else "")
                between = 2 if between == 1 else 0
    if not out:
        raise ParameterError("The condition is empty. Hint: leave out --where (where=) to ask about all records.")
    return " ".join(out), words


def _word(kind: str, found: str) -> _Word:
    if kind == "text":
        return _Word("text", found[1:-1].replace(found[0] * 2, found[0]))
    if kind == "name":
        return _Word("name", found[1:-1])
    if kind == "number":
        plain = found.replace("_", "")
        # Python is slow at very long integers, and a float64 cannot be that large.
        return _Word("value", int(plain) if plain.isdigit() and len(plain) < 400 else float(plain))
    low = found.lower()
    return _Word("value", _CONSTANTS[low]) if low in _CONSTANTS else _Word("name", found)


class _Reader:
    """Turns Python's nodes into a tree."""

    def __init__(self, text: str, words: list[_Word], columns: Collection[str], pairs: bool) -> None:
        self._text, self._pairs = text, pairs
        self._words = words
        self._columns = columns

    def _unclear(self, what: str = "it must compare columns with values") -> ParameterError:
        return _unclear(self._text, f": {what}")

    def tree(self, node: ast.expr, depth: int) -> Tree:
        if depth > MOST_DEPTH:
            raise self._unclear("too many nested parts")
        if isinstance(node, ast.BoolOp):
            parts = tuple(self.tree(part, depth + 1) for part in node.values)
            return Junction(isinstance(node.op, ast.And), parts)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return Not(self.tree(node.operand, depth + 1))
        if isinstance(node, ast.Compare):
            return self._comparison(node)
        if isinstance(node, ast.Name):  # a column of booleans by itself
            word = self._word(node)
            if word.kind == "name" or (word.kind == "text" and word.value in self._columns):
                return Atom(self._column(word), "==", (True,))
        raise self._unclear()

    # ---- comparisons ----

    def _comparison(self, node: ast.Compare) -> Tree:
        operands = [node.left, *node.comparators]
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn | ast.Is | ast.IsNot):
            among = self._among if isinstance(node.ops[0], ast.In | ast.NotIn) else self._is
            atom = among(self._subject(node.left), node.comparators[0])
            return Not(atom) if isinstance(node.ops[0], ast.NotIn | ast.IsNot) else atom
        pairs = []
        for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
            if type(operator) not in _OPERATORS:
                raise self._unclear("`in` and `is` cannot be chained")
            pairs.append(self._pair(self._operand(left), _OPERATORS[type(operator)], self._operand(right)))
        return pairs[0] if len(pairs) == 1 else Junction(True, tuple(pairs), chain=True)

    def _pair(self, left: _Word, operator: str, right: _Word) -> Tree:
        names = [self._is_name(left, right), self._is_name(right, left)]
        if all(names):
            there = [word.value in self._columns for word in (left, right)]
            if not all(there):
                column, other = (left, right) if there[0] else (right, left)
                if any(there) and str(other.value).lower() in _GAPS:
                    raise self._equals_gap(column)
                self._column(other, text="in quotes" if any(there) else "")
            if self._pairs:
                return Pair(str(left.value), operator, right=str(right.value))
            raise self._unclear("it compares two columns")
        if not any(names):
            raise self._unclear("it compares two values, neither of them a column")
        if names[1]:
            left, operator, right = right, _MIRRORED[operator], left
        if right.value is None:
            raise self._equals_gap(left)
        atom = Atom(self._column(left), "==" if operator == "!=" else operator, (right.value,))
        return Not(atom) if operator == "!=" else atom

    def _equals_gap(self, column: _Word) -> ParameterError:
        return self._unclear(f"write {written(str(column.value))} is missing")

    def _is_name(self, word: _Word, other: _Word) -> bool:
        """Whether it is a column; also a quoted one, if the other operand is not."""
        return word.kind == "name" or (word.kind == "text" and other.kind != "name" and word.value in self._columns)

    def _among(self, column: str, node: ast.expr) -> Atom:
        if isinstance(node, ast.Call):
            if not (isinstance(node.func, ast.Name) and node.func.id == _BETWEEN and len(node.args) == 2):
                raise self._unclear()
            return Atom(column, "between", self._literals(node.args))
        listed = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
        if not listed:
            raise self._unclear("the list is empty")
        return Atom(column, "in", self._literals(listed))

    def _is(self, column: str, node: ast.expr) -> Atom:
        word = self._operand(node)
        if word.kind != "value" or not (word.value is None or isinstance(word.value, bool)):
            raise self._unclear("after `is` write missing, true or false; == compares with a value")
        return Atom(column, "missing") if word.value is None else Atom(column, "==", (word.value,))

    # ---- words ----

    def _word(self, node: ast.Name) -> _Word:
        if node.id == _BETWEEN:
            raise self._unclear()
        return self._words[int(node.id[1:])]

    def _operand(self, node: ast.expr) -> _Word:
        if isinstance(node, ast.Name):
            return self._word(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Name):
            value = self._word(node.operand).value
            if (
                isinstance(value, int | float)
                and not isinstance(value, bool)
                and isinstance(node.op, ast.USub | ast.UAdd)
            ):
                return _Word("value", -value if isinstance(node.op, ast.USub) else value)
        raise self._unclear("it must compare columns with values, without arithmetic or functions")

    def _literals(self, nodes: list[ast.expr]) -> tuple[object, ...]:
        words = [self._operand(node) for node in nodes]
        for word in words:
            if word.kind == "name":
                raise self._unclear(f"{str(word.value)[:40]!r} must be a value; put text in quotes")
            if word.value is None:
                raise self._unclear("ask for missing cells with `is missing`")
        return tuple(word.value for word in words)

    def _subject(self, node: ast.expr) -> str:
        word = self._operand(node)
        if word.kind == "value":
            raise self._unclear("the column must be on the left")
        return self._column(word)

    def _column(self, word: _Word, *, text: str = "") -> str:
        return known(word.value, self._columns, text=text)
