"""Questions and answers in JSON: what an assistant asks of released tables, and what `scumble verify` recomputes.

An answer is a *claim*: the question with all of its defaults, the question in words, the identities of the releases,
and rows in which each number has its interval. An error comes with a right question of the same kind, which has been
asked and answered before it is suggested.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scumble._version import __version__
from scumble.checks import confidence as checked_confidence
from scumble.columns.conditions import condition
from scumble.columns.grammar import Atom, Junction, Tree, Untrue, known, parse, written
from scumble.columns.hashing import missing
from scumble.columns.schema import Schema
from scumble.errors import DataError, ParameterError, ScumbleError, did_you_mean, nearest
from scumble.show.usefulness import Facts, as_json
from scumble.table.estimate import Estimate
from scumble.table.release import TableRelease

if TYPE_CHECKING:
    from pandas import DataFrame

FORMAT = "scumble-claim-1"
SAME = 0.01
"""Two answers agree if they differ by at most this share of their interval: draws in a file are rounded to 16 bits."""
ROWS, MOST_ROWS = 20_000, 500
"""Rows of synthetic tables for a statistic; and the most synthetic rows in an answer."""

DIRECT = ("mean", "sum", "share", "median", "quantile")
"""Statistics of any records, in groups or not. All others are of the whole table."""
STATISTICS: dict[str, Callable[[Any, str, str], Any]] = {
    "std": lambda t, x, y: t[x].astype(float).std(),
    "variance": lambda t, x, y: t[x].astype(float).var(),
    "skewness": lambda t, x, y: t[x].astype(float).skew(),
    "correlation": lambda t, x, y: t[x].astype(float).corr(t[y].astype(float)),
    "rank_correlation": lambda t, x, y: t[x].astype(float).rank().corr(t[y].astype(float).rank()),
    "slope": lambda t, x, y: t[x].astype(float).cov(t[y].astype(float)) / t[y].dropna().astype(float).var(),
}
OF_TWO = ("correlation", "rank_correlation", "slope")

FIELDS: dict[str, Facts] = {
    "release": {"type": "string", "description": "which release; only needed if there are several"},
    "where": {"type": "string", "description": "which records, such as: age >= 65 and sex == 'Female'; default: all"},
    "by": {"type": "array", "items": {"type": "string"}, "description": "one number for each level of these columns"},
    "confidence": {"type": "number", "description": "of the intervals, between 0 and 1; default: 0.95"},
    "query": {"type": "string", "description": "one SELECT with aggregates, FROM the release's name"},
    "statistic": {"type": "string", "enum": [*DIRECT, *STATISTICS]},
    "column": {"type": "string", "description": "the column; for slope, the one to explain"},
    "other": {"type": "string", "description": f"a second column, for {', '.join(OF_TWO)}"},
    "q": {"type": "number", "description": "for a quantile: the share of records below it"},
    "n": {"type": "integer", "description": f"how many rows, at most {MOST_ROWS}; default: 10"},
    "seed": {"type": "integer", "description": "for other rows; default: 0"},
    "first": {"type": "string", "description": "the release to compare with"},
    "second": {"type": "string", "description": "the other release"},
    "of": {"type": "string", "enum": ["populations", "tables"], "description": "what is compared; see the remark"},
}
"""What a question may hold, as JSON Schema."""
_TYPES: dict[str, type | tuple[type, ...]] = {"string": str, "number": (int, float), "integer": int, "array": list}


@dataclass(frozen=True)
class Tool:
    """A kind of question."""

    description: str
    fields: tuple[str, ...]
    required: tuple[str, ...] = ()

    @property
    def schema(self) -> Facts:
        """JSON Schema of its questions."""
        fields = {name: FIELDS[name] for name in self.fields}
        return {"type": "object", "properties": fields, "required": [*self.required], "additionalProperties": False}


TOOLS = {
    "describe": Tool(
        "What the releases hold: columns with their levels and bounds, privacy, and example questions. Ask this first.",
        ("release",),
    ),
    "count": Tool("How many records meet a condition, with an interval.", ("release", "where", "by", "confidence")),
    "sql": Tool(
        "A SELECT with aggregates (count, sum, avg, median, stddev, corr, ...), WHERE, GROUP BY, HAVING and ORDER BY, "
        "answered with intervals. Single records cannot be selected.",
        ("query", "confidence"),
        ("query",),
    ),
    "estimate": Tool(
        f"A named statistic of a column, with an interval. {', '.join(DIRECT)} take `where` and `by`; the others are "
        "of all records.",
        ("release", "statistic", "column", "other", "q", "where", "by", "confidence"),
        ("statistic",),
    ),
    "sample": Tool("Synthetic rows: examples of the format. No row is a person's.", ("release", "n", "where", "seed")),
    "compare": Tool(
        "What differs between two releases, with intervals and p-values corrected for many comparisons.",
        ("first", "second", "of", "confidence"),
    ),
}


class Desk:
    """Releases of tables by name, and answers to questions about them.

    Examples
    --------
    >>> import scumble
    >>> schema = scumble.Schema(age=scumble.Number(0, 99, whole=True), smoker=scumble.Boolean())
    >>> sketch = scumble.TableSketch(schema).update({"age": [41, 30] * 5000, "smoker": [True, False] * 5000})
    >>> desk = Desk({"people": sketch.release(epsilon=1.0)})
    >>> claim = desk.answer("count", {"where": "age>=35"})
    >>> claim["understood"], sorted(claim["answer"][0])
    ('How many records of people with age >= 35', ['high', 'low', 'value'])
    >>> verify(claim, desk.releases.values())
    []
    >>> desk.ask("count", {"where": "agee >= 35"})["try"]
    {'tool': 'count', 'arguments': {'where': 'age >= 49.5'}}
    """

    def __init__(self, releases: Mapping[str, TableRelease]) -> None:
        self.releases = dict(releases)

    def ask(self, tool: str, asked: Facts) -> Facts:
        """The claim; or what is wrong with the question, and a right one to try instead."""
        try:
            return self.answer(tool, asked)
        except ScumbleError as problem:
            return {"error": str(problem), "try": self._right(tool, asked)}

    def answer(self, tool: str, asked: Facts) -> Facts:
        """The claim that answers a question."""
        question = self.checked(tool, asked)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            understood, names, rows, remarks = getattr(self, f"_{tool}")(question)
        remarks = [*dict.fromkeys([*remarks, *(str(one.message) for one in caught)])]
        return {
            "format": FORMAT,
            "question": {"tool": tool, "arguments": question},
            "understood": understood,
            "releases": {name: self.releases[name].identity for name in names},
            "answer": as_json(rows),
            "remarks": remarks,
            "scumble": __version__,
        }

    # ---- the questions ----

    def _describe(self, asked: Facts) -> tuple[str, list[str], list[Facts], list[str]]:
        names = [asked["release"]] if "release" in asked else [*self.releases]
        rows = [self._described(name) for name in names]
        return "What the releases hold", names, rows, ["Each answer can be checked: `scumble verify` recomputes it."]

    def _described(self, name: str) -> Facts:
        release = self.releases[name]
        columns = [
            {"name": column, "kind": one.kind, "holds": one.words()} for column, one in release.schema.declared.items()
        ]
        value, low, high = release.count()
        return {
            "release": name,
            "columns": columns,
            "records": {"value": value, "low": low, "high": high},
            "privacy": str(release.privacy),
            "meaning": release.privacy.sentence(),
            "examples": [
                {"tool": tool, "arguments": self._example(tool, name)} for tool in TOOLS if tool != "describe"
            ],
        }

    def _count(self, asked: Facts) -> tuple[str, list[str], list[Facts], list[str]]:
        release = self.releases[asked["release"]]
        found = release.count(self._where(asked), by=asked.get("by"), confidence=asked["confidence"])
        return f"How many {self._records(asked)}", [asked["release"]], *rows_of(found, len(asked.get("by", ())))

    def _estimate(self, asked: Facts) -> tuple[str, list[str], list[Facts], list[str]]:
        name, release = asked["statistic"], self.releases[asked["release"]]
        where, by, confidence = self._where(asked), asked.get("by"), asked["confidence"]
        if name == "share":
            if where is None:
                raise ParameterError("A share needs `where`: the condition that it is of.")
            found = release.share(where, by=by, confidence=confidence)
            return f"The share of {self._records(asked)}", [asked["release"]], *rows_of(found, len(by or ()))
        column = self._column(asked, "column")
        understood = f"The {name.replace('_', ' ')} of {column!r}"
        if name in DIRECT:
            if name in ("median", "quantile"):
                q = asked.get("q", 0.5)
                found = release.quantile(column, q, where, by=by, confidence=confidence)
                understood = f"The value of {column!r} below which a share of {q} lies"
            else:
                found = getattr(release, name)(column, where, by=by, confidence=confidence)
        else:
            other = self._column(asked, "other") if name in OF_TWO else column
            if where is not None or by is not None:
                raise ParameterError(f"{name!r} is of all records. Hint: the tool sql has stddev, variance and corr.")
            understood += f" and {other!r}" * (other != column)
            statistic = STATISTICS[name]
            found = release.estimate(lambda t: statistic(t, column, other), rows=ROWS, confidence=confidence)
        return f"{understood}, over {self._records(asked)}", [asked["release"]], *rows_of(found, len(by or ()))

    def _sql(self, asked: Facts) -> tuple[str, list[str], list[Facts], list[str]]:
        from scumble.sql import asking, syntax

        statement = asking.understood(asked["query"], self.releases)
        release = statement.scope.release
        names = [name for name, one in self.releases.items() if one is release]
        _require_possible(release.schema, statement.where)
        found = asking.answered(statement, asked["confidence"])
        return syntax.words(statement.tree), names, *rows_of(found)

    def _sample(self, asked: Facts) -> tuple[str, list[str], list[Facts], list[str]]:
        release, n, where = self.releases[asked["release"]], asked["n"], self._where(asked)
        if not 1 <= n <= MOST_ROWS:
            raise ParameterError(f"`n` must be 1 to {MOST_ROWS}. Hint: ask for statistics instead of counting rows.")
        found = release.sample(n, asked["seed"], where=where)
        remark = "Synthetic rows: none is a person's. Numbers counted in them have no intervals; ask count or sql."
        rows, remarks = rows_of(found)
        return f"{n} synthetic {self._records(asked)}", [asked["release"]], rows, [remark, *remarks]

    def _compare(self, asked: Facts) -> tuple[str, list[str], list[Facts], list[str]]:
        names = [*self.releases]
        if len(names) < 2:
            raise ParameterError("There is one release, and a comparison needs two. Hint: start scumble mcp with both.")
        names = [asked.get("first", names[0]), asked.get("second", names[1])]
        one, two = (self.releases[name] for name in names)
        found = one.compare(two, of=asked["of"], confidence=asked["confidence"])
        rows, remarks = rows_of(found)
        return f"What differs from {names[0]} to {names[1]}", names, rows, [f"Claim: {found.attrs['claim']}.", *remarks]

    # ---- their parts ----

    def checked(self, tool: str, asked: object, required: Iterable[str] = ()) -> Facts:
        """The question with its defaults, if its fields are known and of the right types."""
        if tool not in TOOLS:
            raise ParameterError(f"There is no tool {tool!r}.{did_you_mean(tool, TOOLS)} Known: {', '.join(TOOLS)}.")
        known_fields = TOOLS[tool].fields
        if not isinstance(asked, dict):
            raise ParameterError(f"{tool} takes its arguments by name: {', '.join(known_fields)}.")
        found: Facts = {}
        for name, value in asked.items():
            if name not in known_fields:
                hint = did_you_mean(name, known_fields) or f" Known: {', '.join(known_fields)}."
                raise ParameterError(f"{tool} has no argument {str(name)[:40]!r}.{hint}")
            if value is None:
                continue
            value = [value] if name == "by" and isinstance(value, str) else value
            if isinstance(value, bool) or not isinstance(value, _TYPES[FIELDS[name]["type"]]):
                raise ParameterError(f"`{name}` of {tool} must be of type {FIELDS[name]['type']}.")
            if (choices := FIELDS[name].get("enum")) and value not in choices:
                raise ParameterError(
                    f"{str(value)[:40]!r} is no {name}.{did_you_mean(value, choices)} Known: {', '.join(choices)}."
                )
            found[name] = value
        for name in (*TOOLS[tool].required, *required):
            if name not in found:
                needed = FIELDS[name].get("description") or FIELDS[name]["enum"]
                raise ParameterError(f"{tool} needs `{name}`: {needed}.")
        for name in (found[field] for field in ("release", "first", "second") if field in found):
            if name not in self.releases:
                guess = did_you_mean(name, self.releases)
                raise ParameterError(f"There is no release {name[:40]!r}.{guess} Known: {', '.join(self.releases)}.")
        if "release" in known_fields and tool != "describe":
            if "release" not in found and len(self.releases) > 1:
                raise ParameterError(f"Say which `release` is meant: {', '.join(self.releases)}.")
            found.setdefault("release", next(iter(self.releases)))
        defaults: Facts = {"confidence": 0.95, "n": 10, "seed": 0, "of": "populations"}
        found |= {name: value for name, value in defaults.items() if name in known_fields and name not in found}
        if "confidence" in found:
            found["confidence"] = checked_confidence(found["confidence"])
        if not found.get("by", True):
            del found["by"]
        return found

    def _column(self, asked: Facts, field: str) -> str:
        """A column that a statistic needs; of numbers, unless its order is enough."""
        schema = self.releases[asked["release"]].schema
        if field not in asked:
            raise ParameterError(f"{asked['statistic']!r} needs `{field}`. Hint: {', '.join(_numbers(schema))}.")
        name = known(asked[field], schema)
        if asked["statistic"] not in ("median", "quantile") and name not in _numbers(schema):
            raise ParameterError(f"{name!r} holds no numbers. Hint: count by it, or ask {', '.join(_numbers(schema))}.")
        return name

    def _where(self, asked: Facts) -> str | None:
        where: str | None = asked.get("where")
        schema = self.releases[asked["release"]].schema
        if where is not None:
            _require_possible(schema, parse(where, schema))
        return where

    def _records(self, asked: Facts) -> str:
        """Which records a question is about, in words."""
        schema = self.releases[asked["release"]].schema
        where = f" with {spelled(parse(asked['where'], schema))}" if "where" in asked else ""
        return f"records of {asked['release']}{where}" + f", by {', '.join(asked.get('by', []))}" * ("by" in asked)

    # ---- right questions ----

    def _right(self, tool: object, asked: object) -> Facts:
        """A question of the kind of a wrong one that is answered."""
        near = tool if isinstance(tool, str) and tool in TOOLS else nearest(tool, TOOLS) or "describe"
        given = asked if isinstance(asked, dict) else {}
        name = given.get("release", given.get("first"))
        name = name if name in self.releases else nearest(name, self.releases) or next(iter(self.releases))
        for other, guess in ((near, self._example(near, name)), ("describe", {})):
            with suppress(ScumbleError):
                self.answer(other, guess)
                return {"tool": other, "arguments": guess}
        raise AssertionError("a description needs nothing")

    def _example(self, tool: str, name: str) -> Facts:
        """A right question of this kind about a release."""
        schema, several = self.releases[name].schema, len(self.releases) > 1
        words = next((column for column, one in schema.items() if one.kind in ("category", "boolean")), None)
        which: Facts = {"release": name} if several else {}
        if tool == "sql":
            from scumble.sql.syntax import identifier

            table, key = identifier(name), None if words is None else identifier(words)
            grouped = f"select count(*) as n from {table}"
            return {"query": grouped if key is None else f"select {key}, count(*) as n from {table} group by {key}"}
        if tool == "estimate":
            numbers = _numbers(schema)
            asked: Facts = {"statistic": "mean", "column": numbers[0]} if numbers else {"statistic": "share"}
            return which | asked | ({} if numbers else {"where": _condition(schema)})
        if tool == "compare":
            others = [other for other in self.releases if other != name]
            return {"first": name, "second": others[0]} if others else {}
        if tool == "count":
            return which | {"where": _condition(schema)}
        return which | {"n": 5} if tool == "sample" else which


def verify(claim: object, releases: Iterable[TableRelease]) -> list[str]:
    """What differs between a claim, as `Desk.answer` gave it, and the same question asked again of its releases."""
    if not isinstance(claim, dict) or claim.get("format") != FORMAT:
        raise DataError(f"This is no claim of {FORMAT!r}. Hint: save the whole answer of `scumble mcp`, as JSON.")
    by_identity = {release.identity: release for release in releases}
    try:
        named = {str(name): by_identity[identity] for name, identity in claim["releases"].items()}
        tool, asked, answer = str(claim["question"]["tool"]), claim["question"]["arguments"], claim["answer"]
    except (KeyError, TypeError, AttributeError):
        wanted = claim.get("releases")
        raise DataError(f"The answer is about other releases than these. Hint: it names {wanted}.") from None
    found = Desk(named).answer(tool, asked)
    again, told = found["answer"], str(claim.get("understood"))[:200]
    if told != found["understood"][:200]:
        return [f"It says {told!r}; the question is {found['understood']!r}."]
    if not isinstance(answer, list) or len(answer) != len(again):
        return [f"The claim has {len(answer) if isinstance(answer, list) else 'no'} rows, and there are {len(again)}."]
    pairs = enumerate(zip(answer, again, strict=True), 1)
    return [f"Row {number}, {difference}" for number, (one, two) in pairs for difference in _differences(one, two)]


def _differences(claimed: object, found: Facts) -> Iterator[str]:
    """The cells of a row that differ by more than a small part of their interval."""
    if not isinstance(claimed, dict) or claimed.keys() != found.keys():
        yield "its columns are others."
        return
    for name, value in found.items():
        given = claimed[name]
        low, high = _interval(found, name)
        numbers = all(isinstance(one, (int, float)) and type(one) is not bool for one in (value, given))
        numbers = numbers and not abs(given) > sys.float_info.max  # an integer that no float holds
        room = SAME * (high - low) if isinstance(low, float) and isinstance(high, float) else 0.0
        same = numbers and math.isclose(value, given, rel_tol=1e-9, abs_tol=max(room, 1e-12))
        if not same and value != given:
            yield f"{name}: claimed {given!r}, recomputed {value!r}."


def _interval(row: Facts, name: str) -> tuple[object, object]:
    """The ends of the interval that a number belongs to; None of others."""
    stem = name.removesuffix("_low").removesuffix("_high")
    if f"{stem}_low" in row and f"{stem}_high" in row:
        return row[f"{stem}_low"], row[f"{stem}_high"]
    return (row.get("low"), row.get("high")) if name in ("value", "difference", "low", "high") else (None, None)


def spelled(tree: Tree) -> str:
    """A condition as it was understood.

    >>> spelled(parse("AGE>=65 AND not mode in ('bus')", ["AGE", "mode"]))
    "AGE >= 65 and not mode in ['bus']"
    """
    if isinstance(tree, Junction):
        word = " and " if tree.all else " or "
        return word.join(f"({spelled(part)})" if isinstance(part, Junction) else spelled(part) for part in tree.parts)
    if isinstance(tree, Atom):
        name, values = written(tree.column), [*map(repr, tree.literals)]
        if tree.operator == "missing":
            return f"{name} is missing"
        among = {"in": f"[{', '.join(values)}]", "between": " and ".join(values)}
        return f"{name} {tree.operator} {among.get(tree.operator, ''.join(values))}"
    inner = spelled(tree.part)
    return (
        f"({inner}) is not true" if isinstance(tree, Untrue) else f"not {f'({inner})' if ' and ' in inner else inner}"
    )


def _require_possible(schema: Schema, where: Tree) -> None:
    """Refuse a condition that no record can meet, and say what its columns hold."""
    from scumble.columns.grammar import parts_of

    if not condition(schema, where).terms:
        asked = dict.fromkeys(part.column for part in parts_of(where) if isinstance(part, Atom))
        holds = "; ".join(f"{name} holds {schema[name].words()}" for name in asked)
        raise ParameterError(f"No record can meet this condition. Hint: {holds[:180]}.")


def rows_of(found: Estimate | DataFrame, keys: int | None = None) -> tuple[list[Facts], list[str]]:
    """An answer as rows, and what must be known of it. Groups keep their keys and the number with its interval."""
    if isinstance(found, Estimate):
        return [{"value": _cell(found.value), "low": _cell(found.low), "high": _cell(found.high)}], [*found.remarks]
    names = [*found.columns][: None if not keys else keys + 3]
    rows = [dict(zip(names, map(_cell, row), strict=True)) for row in found[names].itertuples(index=False, name=None)]
    return rows, [*found.attrs.get("remarks", ())]


def _cell(cell: object) -> object:
    """A value as JSON has it."""
    if missing(cell):
        return None
    cell = cell.item() if hasattr(cell, "item") else cell
    return cell if isinstance(cell, (bool, int, float, str)) else str(cell)


def _numbers(schema: Schema) -> list[str]:
    """The columns that have a mean, those of numbers first."""
    return [name for kind in ("number", "boolean") for name, column in schema.items() if column.kind == kind]


def _condition(schema: Schema) -> str:
    """A condition that some records may meet."""
    for name, column in schema.items():
        if column.kind == "boolean":
            return written(name)
        if column.kind == "category":
            return f"{written(name)} == {column.levels[0]!r}"
        if column.kind == "number":
            low, high = column.limits
            return f"{written(name)} >= {(low + high) / 2:.6g}"
    return " and ".join(f"{written(name)} is not missing" for name in [*schema][:1])
