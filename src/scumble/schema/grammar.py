"""Conditions as people write them, read into a tree.

Words, texts and numbers are cut out of the text first and take no part in the grammar: Python's own parser (`ast`,
never `eval`) sees only ``and``, ``or``, ``not``, comparisons, lists, and a placeholder for each word. So no escape, no
long number and no odd letter reaches it, SQL's spellings (``=``, ``<>``, ``AND``, ``between``, ``is null``) are as good
as Python's, and what may stand where is a short list of nodes.

    age >= 65 and sex == 'Female'         18 <= age < 65         town in ['Ulm', 'Bonn']       not smoker
    `hours-per-week` between 30 and 40    seen > '2024-02-29'    town is missing or age is not null

Texts stand in single or double quotes, doubled within ('O''Brien'); names that are no plain word in backticks.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from scumble.errors import ParameterError, parameter
from scumble.schema.unclear import CONSTANTS, GAPS, KEYWORDS, bare_name, known, unclear, written

MOST_LETTERS, MOST_TOKENS, MOST_DEPTH, MOST_VALUES = 10_000, 2_000, 60, 2**16

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
_PLAINLY = {"zero": 0, "empty": None, "blank": None, "nothing": None, "unknown": None}
"""What people mean by some words after `is`."""
_TURNED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Atom:
    """A question about one column: ``==``, ``<``, ``<=``, ``>``, ``>=``, ``in``, ``between`` or ``missing``."""

    column: str
    operator: str
    literals: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Not:
    """The contrary."""

    part: Tree


@dataclass(frozen=True)
class Untrue:
    """Where the part is not true: false, or unknown because a cell is missing. SQL's ``is not true``."""

    part: Tree


@dataclass(frozen=True)
class Junction:
    """All of the parts, or any of them. All of none is true of every record, any of none of no record."""

    all: bool
    parts: tuple[Tree, ...]
    chain: bool = field(default=False, compare=False)
    """Whether it was written as one comparison: a range, ``3 < x < 10``."""


Tree: TypeAlias = Atom | Not | Untrue | Junction


@dataclass(frozen=True)
class _Word:
    """What a placeholder stands for."""

    kind: str
    """"name", "text" or "value"."""
    value: Any


def parse(text: str, columns: Collection[str]) -> Tree:
    """The tree of a condition over these columns. Whatever is none is a ParameterError."""
    if len(text) > MOST_LETTERS:
        raise ParameterError(f"A condition must have at most {MOST_LETTERS:,} letters, got {len(text):,}.")
    source, words = _without_words(text)
    try:
        found = ast.parse(source, mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise unclear(text, bare_name(text, columns)) from None
    return _Reader(text, words, columns).tree(found.body, 0)


def tree_of(where: Mapping[Any, Any], columns: Collection[str]) -> Tree:
    """The tree of a mapping from columns to what they must be: all of it."""
    named = ((known(key, columns), wanted) for key, wanted in where.items())
    return Junction(True, tuple(_wanted(name, wanted) for name, wanted in named))


def _wanted(name: str, wanted: object) -> Tree:
    if wanted is None:
        return Atom(name, "missing")
    if isinstance(wanted, tuple):
        if len(wanted) != 2:
            raise parameter(name, "a pair (low, high)", wanted, "a list is for several values.")
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
            what = " (a quote is left open)" if left[0] in "'\"`" else f" at {left[:10]!r}"
            what = ": arithmetic is not known here" if left[0] in "*/%" else what
            raise unclear(text, what)
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
        elif low in KEYWORDS:
            out.append(low)
        elif kind == "sign":
            depth += (found in "([") - (found in ")]")
            if depth > MOST_DEPTH:
                raise unclear(text, ": too many brackets within each other")
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
        # More digits than a float64 can be large are no number of any table; Python is slow at longer ones.
        return _Word("value", int(plain) if plain.isdigit() and len(plain) < 400 else float(plain))
    low = found.lower()
    return _Word("value", CONSTANTS[low]) if low in CONSTANTS else _Word("name", found)


class _Reader:
    """Walks over the nodes that a condition may have."""

    def __init__(self, text: str, words: list[_Word], columns: Collection[str]) -> None:
        self._text = text
        self._words = words
        self._columns = columns

    def tree(self, node: ast.expr, depth: int) -> Tree:
        if depth > MOST_DEPTH:
            raise unclear(self._text, ": too many parts within each other")
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
        raise self._refused(node)

    def _refused(self, node: ast.AST) -> ParameterError:
        if isinstance(node, ast.BinOp | ast.UnaryOp):
            return unclear(self._text, bare_name(self._text, self._columns) or ": arithmetic is not known here")
        if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id == _BETWEEN):
            return unclear(self._text, ": functions are not known here")
        return unclear(self._text, ": it must compare columns with values")

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
                raise unclear(self._text, ": `in` and `is` cannot be chained")
            pairs.append(self._pair(self._operand(left), _OPERATORS[type(operator)], self._operand(right)))
        return pairs[0] if len(pairs) == 1 else Junction(True, tuple(pairs), chain=True)

    def _pair(self, left: _Word, operator: str, right: _Word) -> Tree:
        names = [self._is_name(left, right), self._is_name(right, left)]
        if all(names):
            there = [word.value in self._columns for word in (left, right)]
            if not all(there):
                column, other = (left, right) if there[0] else (right, left)
                if any(there) and str(other.value).lower() in GAPS:
                    raise self._equals_gap(column)
                self._column(other, text="in quotes" if any(there) else "")
            raise unclear(self._text, ": it compares two columns, and each must be compared with a value")
        if not any(names):
            raise unclear(self._text, ": it compares two values, and none of them is the name of a column")
        if names[1]:
            left, operator, right = right, _TURNED[operator], left
        if right.kind == "text" and right.value in self._columns and left.value not in self._columns:
            raise unclear(
                self._text,
                f": {right.value!r} is a column's name, which stands without quotes, and text stands in them",
            )
        if right.value is None:
            raise self._equals_gap(left)
        atom = Atom(self._column(left), "==" if operator == "!=" else operator, (right.value,))
        return Not(atom) if operator == "!=" else atom

    def _equals_gap(self, column: _Word) -> ParameterError:
        return unclear(self._text, f": nothing equals a missing cell; write {written(column.value)} is missing")

    def _is_name(self, word: _Word, beside: _Word) -> bool:
        """Whether it is a column; also a quoted one, if nothing else can be."""
        return word.kind == "name" or (word.kind == "text" and beside.kind != "name" and word.value in self._columns)

    def _among(self, column: str, node: ast.expr) -> Atom:
        if isinstance(node, ast.Call):
            if not (isinstance(node.func, ast.Name) and node.func.id == _BETWEEN and len(node.args) == 2):
                raise self._refused(node)
            return Atom(column, "between", self._literals(node.args))
        listed = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
        if not listed:
            raise unclear(self._text, ": the list is empty")
        return Atom(column, "in", self._literals(listed))

    def _is(self, column: str, node: ast.expr) -> Atom:
        word = self._operand(node)
        if word.kind != "value" or not (word.value is None or isinstance(word.value, bool)):
            plain = word.value if word.kind == "value" else _PLAINLY.get(str(word.value).lower(), str(word.value))
            meant = "is missing" if plain is None else f"== {plain!r}"
            raise unclear(self._text, f": `is` goes with missing, true or false; write {written(column)} {meant}")
        return Atom(column, "missing") if word.value is None else Atom(column, "==", (word.value,))

    # ---- words ----

    def _word(self, node: ast.Name) -> _Word:
        if node.id == _BETWEEN:
            raise self._refused(node)
        return self._words[int(node.id[1:])]

    def _operand(self, node: ast.expr) -> _Word:
        if isinstance(node, ast.Name):
            return self._word(node)
        if (
            isinstance(node, ast.UnaryOp)
            and isinstance(node.op, ast.USub | ast.UAdd)
            and isinstance(node.operand, ast.Name)
        ):
            word = self._word(node.operand)
            if word.kind == "value" and isinstance(word.value, int | float) and not isinstance(word.value, bool):
                return _Word("value", -word.value if isinstance(node.op, ast.USub) else word.value)
        raise self._refused(node)

    def _literals(self, nodes: list[ast.expr]) -> tuple[Any, ...]:
        words = [self._operand(node) for node in nodes]
        for word in words:
            if word.kind == "name":
                raise unclear(self._text, f": {word.value!r} must be a value, and text stands in quotes")
            if word.value is None:
                raise unclear(self._text, ": missing cells are asked for with `is missing`")
        return tuple(word.value for word in words)

    def _subject(self, node: ast.expr) -> str:
        word = self._operand(node)
        if word.kind == "value":
            raise unclear(self._text, ": the name of a column must stand on the left")
        return self._column(word)

    def _column(self, word: _Word, *, text: str = "") -> str:
        return known(word.value, self._columns, text=text)
