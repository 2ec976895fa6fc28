"""A table's release, as the page and the API show it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from scumble import checks
from scumble.columns.column import Column
from scumble.columns.date import Date
from scumble.columns.number import Number
from scumble.columns.rules import Rule
from scumble.columns.schema import Schema
from scumble.density.comparing import CLAIMS
from scumble.density.student import reach
from scumble.errors import ParameterError
from scumble.show import cards
from scumble.show.claims import Desk, rows_of
from scumble.show.pages import AnyExhibit, Arrays, Questions
from scumble.show.usefulness import Facts, as_json
from scumble.table.answers import shares_at_bounds
from scumble.table.estimate import Estimate
from scumble.table.mixture import Obeyed
from scumble.table.questions import spread
from scumble.table.release import TableRelease
from scumble.table.remarks import BEGINS, INFERRED, MOST_PAIRS, PERHAPS_NONE, SLOT, on_page

if TYPE_CHECKING:
    from pandas import DataFrame

CONFIDENCE = 0.95


class TableExhibit(AnyExhibit):
    """What is shown of a table, with `units` of columns by name, and what it answers.

    Of two tables by what they are called, the page also says what differs; the first of them answers.

    Examples
    --------
    >>> import scumble
    >>> schema = scumble.Schema(age=scumble.Number(0, 99, whole=True), smoker=scumble.Boolean())
    >>> sketch = scumble.TableSketch(schema).update({"age": [41, 30] * 5000, "smoker": [True, False] * 5000})
    >>> exhibit = TableExhibit(sketch.release(epsilon=1.0), "People")
    >>> sorted(exhibit.count({"where": "age >= 35"}))
    ['high', 'low', 'remarks', 'standard_error', 'value']
    >>> exhibit.sql({"query": "select smoker, count(*) as n from data group by smoker"})["rows"][0]["smoker"]
    False
    """

    parts = ("page.html", "table.css", "tableengine.js", "table.js")

    def __init__(
        self,
        found: TableRelease | Mapping[str, TableRelease],
        title: str | None = None,
        *,
        units: Mapping[str, str] | None = None,
    ) -> None:
        named = {"A private table": found} if isinstance(found, TableRelease) else dict(found)
        if len(named) > 2 or not all(isinstance(one, TableRelease) for one in named.values()):
            raise ParameterError(
                "A table's release can be shown, or two of the same columns. Hint: explore each alone."
            )
        self.title, self._named, self.units = title or " and ".join(named), named, dict(units or {})
        self.release = next(iter(named.values()))
        checks.columns_named("`units`", self.units, self.release.columns)
        self._compared = self._comparison() if len(named) == 2 else None

    def facts(self) -> Facts:
        return cards.facts(self.release)

    def card(self) -> list[tuple[str, str]]:
        if self._compared is None:
            return cards.lines(self.release)
        return [(f"{line} ({name})", text) for name, one in self._named.items() for line, text in cards.lines(one)]

    def _comparison(self) -> Facts:
        """What differs between two releases, for each kind of claim, the best known first."""
        one, other = self._named.values()
        claims: Facts = {}
        for of in CLAIMS:
            found = one.compare(other, of=of, confidence=CONFIDENCE)
            rows, remarks = rows_of(found.sort_values(["p_adjusted", "p_value"], kind="stable"))
            claims[of] = {"claim": found.attrs["claim"], "rows": as_json(rows), "remarks": remarks}
        return {"names": [*self._named], "level": 1 - CONFIDENCE, "claims": claims}

    def content(self) -> tuple[Facts, str]:
        described, arrays = _described(self.release, self.units)
        told = ("epsilon", "delta", "count", "count_standard_error", "meaning", "identity")
        info = {name: self.info[name] for name in told}
        return {
            "title": self.title,
            "card": self.card(),
            "info": info,
            "compared": self._compared,
            **described,
            "arrays": arrays.index,
        }, arrays.to_base64()

    # ---- what the API answers ----

    @property
    def questions(self) -> Questions:
        shared = {"where", "by", "confidence"}
        return {
            "/api/count": (shared, self.count),
            "/api/mean": ({"column", *shared}, self.mean),
            "/api/quantile": ({"column", "q", *shared}, self.quantile),
            "/api/sql": ({"query", "confidence"}, self.sql),
        }

    def count(self, asked: Facts) -> Facts:
        """How many records meet a condition, as `scumble count` gives it."""
        _, shared = self._checked("count", asked)
        return self._told(self.release.count(**shared))

    def mean(self, asked: Facts) -> Facts:
        """The mean of a column among them."""
        found, shared = self._checked("estimate", asked | {"statistic": "mean"}, "column")
        return self._told(self.release.mean(found["column"], **shared))

    def quantile(self, asked: Facts) -> Facts:
        """The value below which a share `q` of them lies."""
        found, shared = self._checked("estimate", asked | {"statistic": "quantile"}, "column")
        return self._told(self.release.quantile(found["column"], found.get("q", 0.5), **shared))

    def sql(self, asked: Facts) -> Facts:
        """The answer to a SELECT from ``data``."""
        from scumble.sql.asking import sql

        found, _ = self._checked("sql", asked)
        return self._told(sql(found["query"], {"data": self.release}, confidence=found["confidence"]))

    def _checked(self, tool: str, asked: Facts, *required: str) -> tuple[Facts, Facts]:
        """The question with its defaults, and the part of it that all questions about records share."""
        found = Desk({"data": self.release}).checked(tool, asked, required)
        return found, {name: found.get(name) for name in ("where", "by", "confidence")}

    def _told(self, found: Estimate | DataFrame) -> Facts:
        """A number with its interval, or a row for each group."""
        if isinstance(found, Estimate):
            told: Facts = as_json(found.to_dict())
            return told | {"remarks": [*found.remarks]}
        rows, remarks = rows_of(found)
        return {"rows": rows, "remarks": remarks}


def _described(release: TableRelease, units: Mapping[str, str]) -> tuple[Facts, Arrays]:
    """The columns and the draws, as JSON values and arrays."""
    arrays = Arrays()
    answers, spec = release._answers, release.spec
    draws = {name.removeprefix("draws."): arrays.add(array) for name, array in release.packed_draws().items()}
    size, groups = answers.posterior.size, dict(zip(spec.counted, answers.evidence[0].groups, strict=True))
    columns = [_column(name, column, units.get(name, ""), arrays) for name, column in release.schema.items()]
    for place, (name, column) in enumerate(release.schema.items()):
        columns[place]["remarks"] = {
            **on_page(name, column, groups.get(place)),
            "large": release._large_shares.get(name, []),
        }
        if isinstance(column, Number) and column.positions is not None:
            each, expected = answers.values(place, column)
            even = columns[place]["values"]
            columns[place] |= {"values": arrays.add(expected), "drawn": arrays.add(each), "even": even}
        if column.ordered:
            columns[place]["heaps"] = list(shares_at_bounds(answers, place, column))
    described = {
        "columns": columns,
        "place": spec.place,
        "counted": list(spec.counted),
        "derived": [
            {"place": place, "root": one.root, "levels": arrays.add(one.levels), "size": one.size}
            for place, one in spec.schema.derived.items()
        ],
        "pairs": [list(pair) for pair in release._grouped.pairs],
        "rules": [_rules(one.rules, arrays) for one in answers.posterior.classes],
        "kept": [_kept(spec.schema, rule, arrays) for rule in spec.schema.constraints.each],
        "groups": [arrays.add(np.asarray(group, np.int64)) for group in answers.posterior.classes[0].groups],
        "known": [arrays.add(np.asarray(group, np.int64)) for group in answers.evidence[0].groups],
        "remarks": {
            "begins": BEGINS,
            "inferred": INFERRED,
            "most": MOST_PAIRS,
            "slot": SLOT,
            "perhaps_none": PERHAPS_NONE,
        },
        "draws": draws,
        "lean": answers.lean.tolist(),
        "reach": reach(np.arange(1.0, size), CONFIDENCE).tolist(),
    }
    return described, arrays


def _rules(rules: Obeyed, arrays: Arrays) -> Facts:
    """What the records of a class obey, by the numbers of counted columns."""
    pairs = [
        [one, other, arrays.add(allowed.astype(float).ravel())]
        for one, beside in rules.beside.items()
        for other, allowed in beside.items()
    ]
    return {"alone": [[j, arrays.add(weights)] for j, weights in rules.alone.items()], "pairs": pairs}


def _kept(schema: Schema, rule: Rule, arrays: Arrays) -> Facts:
    """What synthetic rows must obey, by the places of columns."""
    columns = [schema[name] for name in rule.columns]
    steps = [column.step if isinstance(column, Date) else 1 for column in columns]
    places = [schema.names.index(name) for name in rule.columns]
    allowed = arrays.add(np.ascontiguousarray(rule.allowed).ravel())
    return {"places": places, "allowed": allowed, "comparison": rule.comparison, "steps": steps}


def _column(name: str, column: Column, unit: str, arrays: Arrays) -> Facts:
    out: Facts = {
        "name": name,
        "kind": column.kind,
        "unit": unit,
        "words": column.words(),
        "size": column.size,
        "missing": column.missing,
        "values": None,
    }
    if column.kind in ("number", "boolean"):
        out["values"], *out["extremes"] = (arrays.add(np.asarray(side, float)) for side in spread(column))
    if not isinstance(column, Number | Date):
        return out | {"levels": list(column.levels)}
    cuts = column.cuts
    out |= {"edges": arrays.add(cuts.values(np.array(cuts.edges))), "log": cuts.log, "whole": not cuts.real}
    if isinstance(column, Number) and column.zeros:
        out |= {"zero": column.zero_level, "alike": list(column.alike)}
    return out | ({"step": column.step} if isinstance(column, Date) else {})
