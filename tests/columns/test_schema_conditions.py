"""Conditions against the obvious: every value of every cell is asked by itself, by Python's own comparisons."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import scumble
from scumble.columns.category import Boolean, Category
from scumble.columns.conditions import MOST_TERMS, Condition, _contrary, condition
from scumble.columns.conditions import bounds as sure_and_maybe
from scumble.columns.date import Date
from scumble.columns.grammar import Atom, Junction, Not, Tree, parse
from scumble.columns.number import Number
from scumble.columns.schema import Schema

SCHEMA = Schema(
    {
        "age": Number(0, 11, whole=True, cells=4, missing=True),
        "gain": Number(0, 9, whole=True, scale="log", cells=3),
        "x y": Category(["Ulm", "O'Brien", 5], missing=True),
        "seen": Date("2020-01-30", "2020-02-04", cells=3, missing=True),
        "smoker": Boolean(missing=True),
    }
)
DAYS = [dt.date(2020, 1, 30) + dt.timedelta(days=k) for k in range(6)]
VALUES: dict[str, list[list[tuple[Any, float]]]] = {
    # For each level: its values, and how much of it each of them is.
    "age": [*([(k + j, 1 / 3) for j in range(3)] for k in range(0, 12, 3)), [(None, 1.0)]],
    "gain": [
        [(k, np.log1p(1 / k) if k else 1.0) for k in range(first, end)]
        for first, end in itertools.pairwise(SCHEMA["gain"].cuts.edges)  # type: ignore[attr-defined]
    ],
    "x y": [[("Ulm", 1.0)], [("O'Brien", 1.0)], [("5", 1.0)], [("(other)", 1.0)], [(None, 1.0)]],
    "seen": [*([(day, 0.5) for day in DAYS[k : k + 2]] for k in (0, 2, 4)), [(None, 1.0)]],
    "smoker": [[(False, 1.0)], [(True, 1.0)], [(None, 1.0)]],
}
LITERALS = {
    "age": [-1, 0, 2, 3, 5, 5.5, 11, 12, 99],
    "gain": [0, 1, 4, 8.5, 9, -3],
    "x y": ["Ulm", "O'Brien", 5, "5", "(other)"],
    "seen": ["2020-01-30", "2020-02", "2020-02-03", "2019-01-01", "2020-01-31", "2021-01-01"],
    "smoker": [True, False],
}


def bounds(column: str, literal: Any) -> tuple[Any, Any]:
    """The first and the last value that a literal stands for."""
    if column == "seen":
        if len(literal) == 7:
            return dt.date.fromisoformat(literal + "-01"), dt.date(2020, 2, 29)
        return (dt.date.fromisoformat(literal),) * 2
    return (str(literal),) * 2 if column == "x y" else (literal,) * 2


def holds(tree: Tree, record: dict[str, Any]) -> bool | None:
    if isinstance(tree, Not):
        inside = holds(tree.part, record)
        return None if inside is None else not inside
    if isinstance(tree, Junction):
        found = [holds(part, record) for part in tree.parts]
        decisive = not tree.all
        return decisive if decisive in found else None if None in found else not decisive
    value = record[tree.column]
    if tree.operator == "missing":
        return value is None
    if value is None:
        return None
    ends = [bounds(tree.column, literal) for literal in tree.literals]
    low, high = ends[0]
    return {
        "==": lambda: low <= value <= high,
        "in": lambda: any(first <= value <= last for first, last in ends),
        "between": lambda: low <= value <= ends[1][1],
        "<": lambda: value < low,
        "<=": lambda: value <= high,
        ">": lambda: value > high,
        ">=": lambda: value >= low,
    }[tree.operator]()


def share(tree: Tree, codes: tuple[int, ...], asked: list[str]) -> float:
    """The share of a level's values of which the tree is true."""
    cells = {name: VALUES[name][code] for name, code in zip(SCHEMA, codes, strict=True) if name in asked}
    total = true = 0.0
    for values in itertools.product(*cells.values()):
        weight = float(np.prod([weight for _, weight in values]))
        total += weight
        true += weight * (holds(tree, dict(zip(cells, (value for value, _ in values), strict=True))) is True)
    return true / total


@st.composite
def atoms(draw: Any) -> Atom:
    column = draw(st.sampled_from(list(SCHEMA)))
    literal = st.sampled_from(LITERALS[column])
    ordered = ["<", "<=", ">", ">=", "between"] * SCHEMA[column].ordered
    operator = draw(st.sampled_from(["==", "in", *ordered, "missing"]))
    few = {"missing": 0, "between": 2, "in": draw(st.integers(1, 3))}.get(operator, 1)
    literals = [draw(literal) for _ in range(few)]
    if operator == "between":  # the other way round it is refused
        literals.sort(key=SCHEMA[column].span)
    return Atom(column, operator, tuple(literals))


TREES = st.recursive(
    atoms(),
    lambda parts: st.one_of(
        st.builds(Not, parts), st.builds(Junction, st.booleans(), st.lists(parts, min_size=2, max_size=3).map(tuple))
    ),
    max_leaves=6,
)


def written(tree: Tree, rng: random.Random) -> str:
    if isinstance(tree, Not):
        if (
            isinstance(tree.part, Atom)
            and tree.part.operator in ("==", "in", "between", "missing")
            and rng.random() < 0.5
        ):
            name, said = said_of(tree.part, rng)
            operator, rest = said.split(" ", 1)
            other = {"==": "!=", "=": "<>", "in": "not in", "between": "NOT between", "is": "is not"}[operator]
            return f"{name} {other} {rest}"
        return f"{rng.choice(['not', 'NOT'])} ({written(tree.part, rng)})"
    if isinstance(tree, Junction):
        word = rng.choice(["and", "AND"] if tree.all else ["or", "Or"])
        return f" {word} ".join(f"({written(part, rng)})" for part in tree.parts)
    if tree.operator in ("<", "<=", ">", ">=") and rng.random() < 0.3:
        turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}[tree.operator]
        return f"{literal(tree.literals[0], rng)} {turned} {column(tree.column, rng)}"
    return " ".join(said_of(tree, rng))


def said_of(atom: Atom, rng: random.Random) -> tuple[str, str]:
    values = [literal(one, rng) for one in atom.literals]
    if atom.operator == "missing":
        return column(atom.column, rng), rng.choice(["is missing", "is NULL", "is None"])
    if atom.operator == "between":
        return column(atom.column, rng), f"between {values[0]} and {values[1]}"
    if atom.operator == "in":
        opened, closed = rng.choice(["[]", "()"])
        return column(atom.column, rng), f"in {opened}{', '.join(values)}{closed}"
    return column(
        atom.column, rng
    ), f"{rng.choice(['==', '=']) if atom.operator == '==' else atom.operator} {values[0]}"


def column(name: str, rng: random.Random) -> str:
    return f"`{name}`" if " " in name or rng.random() < 0.2 else name


def literal(value: Any, rng: random.Random) -> str:
    if isinstance(value, str):
        quote = rng.choice("'\"")
        return quote + value.replace(quote, quote * 2) + quote
    return rng.choice([str(value), str(value).lower(), str(value).upper()]) if isinstance(value, bool) else str(value)


CODES = np.array(list(itertools.product(*(range(size) for size in SCHEMA.sizes))))


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(tree=TREES, seed=st.integers(0, 2**20))
def test_every_condition_means_what_it_says(tree: Tree, seed: int) -> None:
    rng = random.Random(seed)
    text = written(tree, rng)
    found = condition(SCHEMA, text)
    weights = found.weights(CODES)
    assert weights.min() >= 0 and weights.max() <= 1 + 1e-9
    for place in rng.sample(range(len(CODES)), 25):
        codes = tuple(CODES[place].tolist())
        asked = [name for name in SCHEMA if name in found.columns or name in str(tree)]
        assert weights[place] == pytest.approx(share(tree, codes, asked), abs=1e-9), text
    assert len(found.terms) <= MOST_TERMS
    known = [side.weights(CODES) for side in sure_and_maybe(found)]
    many = len(found.parts) > 1 and _contrary(SCHEMA, [dict(part) for part in found.parts]) is None
    if found.beyond is None and not many:
        assert np.array_equal(known[0], weights > 1 - 1e-9) and np.array_equal(known[1], weights > 1e-9), text
    else:  # cells at a bound may hold whatever lies behind it; of a union of many, each stands for itself
        assert np.all(known[0] <= (weights > 1 - 1e-9)) and np.all(known[1] >= (weights > 1e-9)), text
    if found.exact:
        assert set(np.unique(weights)) <= {0.0, 1.0}
    # The terms are disjoint: where all cells are whole, no record is in two of them.
    alone = [Condition(SCHEMA, (term,), ()).weights(CODES) for term in found.terms]
    if found.exact and alone:
        assert np.sum(alone, axis=0).max() <= 1


@settings(deadline=None, max_examples=60)
@given(tree=TREES, seed=st.integers(0, 2**20))
def test_a_condition_agrees_with_synthetic_rows(tree: Tree, seed: int) -> None:
    """Cells that are whole, one for each value: then each synthetic record is meant or not, without a share."""
    fine = Schema(
        {
            name: {
                "age": Number(0, 11, whole=True, missing=True),
                "gain": Number(0, 9, whole=True, scale="log", cells=10),
            }.get(name, SCHEMA[name])
            if name != "seen"
            else Date("2020-01-30", "2020-02-04", missing=True)
            for name in SCHEMA
        }
    )
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, size, 40) for size in fine.sizes])
    found = condition(fine, written(tree, random.Random(seed)))
    assert found.exact
    rows = fine.decode(codes, rng).to_pylist()
    assert found.weights(codes).tolist() == [float(holds(tree, row) is True) for row in rows]


@pytest.mark.parametrize("cells", [1, 4])
@pytest.mark.parametrize("scale", ["linear", "log"])
def test_records_at_the_very_edge_of_a_range_meet_it(cells: int, scale: str) -> None:
    """A range of one value has no width, and all but one value have the whole; who meets either is exact."""
    schema = Schema(a=Number(0, 10, cells=cells, scale=scale), b=Number(-3, 10**12, cells=1))
    a = [0.0, 5e-324, 2.5, 5.0, math.nextafter(10.0, 0.0), 10.0]
    b = [-3.0, 0.0, 1e12, 1.0, -3.0, 1e12]
    codes = schema.encode({"a": a, "b": b}).codes
    rows = pa.table({"a": a, "b": b})
    for text, want in {
        "a <= 0": [x <= 0 for x in a],
        "a > 0": [x > 0 for x in a],
        "a >= 10": [x >= 10 for x in a],
        "a < 10": [x < 10 for x in a],
        "a between 5 and 5": [x == 5 for x in a],
        "b <= -3 or a >= 10": [x >= 10 or y <= -3 for x, y in zip(a, b, strict=True)],
        "not (b > -3)": [y <= -3 for y in b],
    }.items():
        found = condition(schema, text)
        assert found.holds(codes, rows).tolist() == want, text
        sure, maybe = sure_and_maybe(found)
        assert (sure.weights(codes) <= want).all() and (maybe.weights(codes) >= want).all()


def test_of_a_large_union_its_parts_tell_who_is_sure() -> None:
    """Its contrary is a union of 2⁴ products. Two cells for each column, the upper ones cut in their middles."""
    schema = Schema({f"c{k}": Number(0, 1, cells=2, zeros=False) for k in range(8)})
    sure, maybe = sure_and_maybe(
        condition(schema, " or ".join(f"c{k} < 0.75 and c{k + 1} < 0.75" for k in range(0, 8, 2)))
    )
    codes = np.ones((3, 8), int)
    codes[0, :2] = codes[1, 1:3] = 0
    assert sure.weights(codes).tolist() == [1, 0, 0] and (maybe.weights(codes) >= 1).all()


def test_numbers_of_any_fraction() -> None:
    schema = Schema(x=Number(0, 100, scale="log", cells=3), y=Number(-1, 1, cells=2))
    assert condition(schema, "x == 0").terms[0]["x"].tolist() == [1, 0, 0]
    assert condition(schema, "x > 0").terms[0]["x"].tolist() == [0, 1, 1] and condition(schema, "x > 0").exact
    assert condition(schema, "x != 0").terms[0]["x"].tolist() == [0, 1, 1]
    assert condition(schema, "y < 0").exact and condition(schema, "y < -0.0").terms[0]["y"].tolist() == [1, 0]
    assert condition(schema, "y <= 0").partly == ("y",)  # zero itself is in the upper cell
    huge = Schema(z=Number(-1e300, 1e300, cells=2))
    for where in ("z < 1e999", {"z": (-math.inf, math.inf)}, {"z": (None, np.float64(1e300))}):
        assert condition(huge, where).exact and condition(huge, where).terms[0]["z"].tolist() == [1, 1]
    for where in ("y == 0.5", "y != 0.5", {"y": 0.5}, "y in [0.5]"):
        with pytest.raises(scumble.ParameterError, match=r"0 <= x < 1"):
            condition(schema, where)


def test_parts_of_an_or_are_disjoint_and_few() -> None:
    found = condition(SCHEMA, "age < 3 or smoker or `x y` == 'Ulm'")
    assert len(found.terms) == 3 and found.columns == ("age", "x y", "smoker")
    assert found.weights(CODES).max() == 1
    assert len(condition(SCHEMA, " or ".join(f"age == {k}" for k in range(12))).terms) == 1
    wide = Schema({f"c{k}": Boolean() for k in range(40)})
    pairs = " or ".join(f"(c{k} and c{k + 1})" for k in range(0, 40, 2))
    with pytest.raises(scumble.ParameterError):
        condition(wide, pairs)
    assert len(condition(wide, " and ".join(f"(c{k} or c{k + 1})" for k in range(0, 14, 2))).terms) == 128


REFUSED: list[Any] = [
    *("", "   ", "aeg > 5", "`x y` == Ulm", "age == gain", "5 == 5", "age == nothing", "Ulm == `x y`", "'x y' == Ulm"),
    *("age >= '5'", "age >= '$1,234.50'", "age == true", "age > $1,000,000", "age < 12.5 %", "age > 20,5", "age"),
    *("age in [5, 100,200] and", "age + 5 > 3", "age * 2 > 5", "age ? 2", "year(seen) = 1990", "seen.dt.year == 1990"),
    *("`x y` == 'Paris'", "`x y` == 'ulm'", "`x y` in ['Ulm', 'Paris']", "`x y` == true", "`x y`", "`x y` > 'Ulm'"),
    *("`x y` == '(missing)'", "age in [5, '(missing)']", "x y == 'Ulm' and age > 5", "'x y' > 5 and and"),
    *("smoker < true", "smoker == 'perhaps'", "seen > 2020", "seen > 'soon'", "seen > '2020-02-01T12:00'"),
    *("seen >= 2020-03-01", "seen >= 2020-03 or age > 3", "seen >= '6/12/2020'", "seen > '2020-02-30'"),
    "seen > '2020-2-3'",
    *("age == null", "age == NA", "NaN != `x y`", "age in [1, null]", "age in []", "age in [1, gain]", "5 in [5]"),
    *("age is 5", "age is gain", "age is zero", "`x y` is 'Ulm'", "age > 5 > gain > 2 in [1]", "town like 'U%'"),
    *("age > 5 &", "age > 5 & gain < 3", "age > 5 || gain < 3", "age => 5", "age =< 5", "lower(`x y`) == 'ulm'"),
    *("age > 'x", "age > `x", "age > 5 and", "age(5) > 3", "age between 5", "age between 5 or 6", "age[5] > 3"),
    *("__import__('os')", "(lambda: 5)()", "age > 5 if smoker else 3", "_between(1, 2)", "age in _between(1, 2)"),
    *("age.real > 5", "(" * 100 + "age > 5" + ")" * 100, "not " * 1000 + "smoker", "- " * 1000 + "5 < age"),
    *("age > 5 or " * 1000 + "age > 5", "a" * 10_001, 5, ["age > 5"], {"AGE": 5}, {5: 5}, {"age": "5"}),
    *({"age": "(missing)"}, {"age": []}, {"age": (1, 2, 3)}, {"age": {"low": 3}}, {"x y": ("a", "b")}),
]


@pytest.mark.parametrize("where", REFUSED, ids=range(len(REFUSED)))
def test_what_is_no_condition_is_refused(where: Any) -> None:
    with pytest.raises(scumble.ParameterError) as refused:
        condition(SCHEMA, where)
    assert len(str(refused.value)) < 240 and refused.value.__context__ is None


def test_a_condition_of_another_schema_is_refused() -> None:
    with pytest.raises(scumble.ParameterError):
        condition(Schema(age=Boolean()), condition(SCHEMA, "age > 5"))


PIECES = [
    *("age", "gain", "`x y`", "seen", "smoker", "'Ulm'", '"x y"', "'2020-02'", "5", "-3", "1e999", "0x1", "1__0", "."),
    *("and", "or", "not", "in", "is", "between", "null", "missing", "true", "(", ")", "[", "]", ",", "==", "<", ">="),
    *("!=", "<>", "=", "+", "-", "*", "lambda", ":=", "é", "ﬁ", "\\", "\n", "\0", "#", "'", "`", "{", "@", "1.5.2"),
]


@settings(deadline=None, max_examples=400)
@given(
    text=st.one_of(
        st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join),
        st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
        st.text(max_size=30),
    )
)
def test_nothing_but_an_answer_or_a_refusal(text: str) -> None:
    try:
        found = condition(SCHEMA, text)
    except scumble.ParameterError:
        return
    weights = found.weights(CODES[:50])
    assert ((weights >= 0) & (weights <= 1 + 1e-9)).all()


def test_names_are_taken_as_they_stand() -> None:
    """Python's own names are folded (ﬁ is fi there): two columns would be one."""
    assert parse("ﬁ > 5 and fi > 5", ["fi", "ﬁ"]) == Junction(True, (Atom("ﬁ", ">", (5,)), Atom("fi", ">", (5,))))
    assert parse("a = '\\n'", ["a"]) == Atom("a", "==", ("\\n",))


def test_a_number_that_is_an_edge_but_for_rounding_is_the_edge() -> None:
    """49.9 to 51 in 22 cells has an edge at 50.199999999999996. Bounds, zero and given edges stay."""
    schema = Schema(lat=Number(49.9, 51, cells=22), x=Number(-0.3, 0.3, cells=6))
    assert 50.2 not in schema["lat"].cuts.values(np.array(schema["lat"].cuts.edges)).tolist()
    below, above = (condition(schema, text).terms[0]["lat"] for text in ("lat < 50.2", "lat >= 50.2"))
    assert below.tolist() == [1.0] * 6 + [0.0] * 16 and (below + above).tolist() == [1.0] * 22
    assert condition(schema, "lat <= 51").terms[0]["lat"].tolist() == [1.0] * 22
    assert condition(schema, "lat >= 51").terms[0]["lat"][-1] < 1e-9, "no more than a point of the last cell"
    assert condition(schema, "x < 0").terms[0]["x"].tolist() == [1.0] * 3 + [0.0] * 3
    assert condition(schema, {"x": (0.1, 0.1 + 0.2)}).terms[0]["x"].tolist() == [0.0] * 4 + [1.0] * 2
    assert not condition(schema, {"x": (0.1, 0.1 + 0.2)}).remarks and condition(schema, {"x": (0.1, 0.31)}).remarks
    tens = Schema(x=Number(0, 100, cells=10))
    assert condition(tens, "x <= 9.999999999999998").exact, "the number before an edge is not the edge"
    odd = Schema(x=Number(edges=[0.0, 0.1 + 0.2, 1.0]))
    assert 0.0 < condition(odd, "x < 0.3").terms[0]["x"][0] < 1.0


def test_words_that_spell_booleans_are_words() -> None:
    spelt = Schema(smoker=Category(["True", "False"]))
    with pytest.raises(scumble.ParameterError):
        condition(spelt, "smoker == true")
    assert condition(spelt, "smoker == 'True'").terms


@pytest.mark.parametrize("where", ["10 < age < 3", "3 >= age > 10", "town == 'Ulm' or not 10 <= age <= 3"])
def test_ranges_that_are_written_the_wrong_way_round_are_refused(where: str) -> None:
    schema = Schema(age=Number(0, 100, whole=True), town=Category(["Ulm"]))
    with pytest.raises(scumble.ParameterError):
        condition(schema, where)
    assert not condition(schema, "5 < age < 5").terms, "empty, and not the wrong way round"
    assert not condition(schema, "age > 10 and age < 3").terms, "no range"
