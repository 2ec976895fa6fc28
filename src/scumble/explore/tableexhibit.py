"""A table's release, as the page and the API show it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from scumble import checks
from scumble.errors import DataError
from scumble.explore.exhibit import Questions, confidence_in, finite
from scumble.explore.tablepayload import content
from scumble.schema import condition
from scumble.show import cards
from scumble.tabular.estimate import Estimate
from scumble.tabular.release import TableRelease


class TableExhibit:
    """What is shown of a table, and what it answers.

    Parameters
    ----------
    release : TableRelease
        What to show.
    title : str
        What to call it.
    units : mapping or None
        For columns by name: the units.

    Examples
    --------
    >>> import scumble
    >>> schema = scumble.Schema(age=scumble.Number(0, 99, whole=True), smoker=scumble.Boolean())
    >>> sketch = scumble.TableSketch(schema).update({"age": [41, 30] * 5000, "smoker": [True, False] * 5000})
    >>> exhibit = TableExhibit(sketch.release(epsilon=1.0), "People")
    >>> sorted(exhibit.count("age >= 35"))
    ['high', 'low', 'remarks', 'standard_error', 'value']
    """

    parts = ("page.html", "table.css", "tableengine.js", "table.js")
    """The built files that make its page."""

    def __init__(
        self, release: TableRelease, title: str = "A private table", *, units: Mapping[str, str] | None = None
    ) -> None:
        self.title, self.release, self.units = title, release, dict(units or {})
        checks.columns_named("`units`", self.units, release.columns)

    @cached_property
    def info(self) -> dict[str, Any]:
        """The facts on the privacy card."""
        told: dict[str, Any] = finite({"title": self.title, **cards.facts(self.release)})
        return told

    def card(self) -> list[tuple[str, str]]:
        """The privacy card, line by line."""
        return cards.lines(self.release)

    def content(self) -> tuple[dict[str, Any], str]:
        """All that the page needs: JSON, and the arrays, compressed, as base64."""
        described, arrays = content(self.release, self.units)
        told = ("epsilon", "delta", "count", "count_standard_error", "meaning", "identity")
        info = {name: self.info[name] for name in told}
        return {
            "title": self.title,
            "card": self.card(),
            "info": info,
            **described,
            "arrays": arrays.index,
        }, arrays.to_base64()

    # ---- what the API answers ----

    @property
    def questions(self) -> Questions:
        """What the API answers: for each path the fields of a question, and the answer."""
        shared = {"where", "confidence"}
        return {
            "/api/count": (shared, lambda asked: self.count(asked.get("where"), confidence_in(asked))),
            "/api/mean": (
                {"column", *shared},
                lambda asked: self.mean(asked.get("column"), asked.get("where"), confidence_in(asked)),
            ),
        }

    def count(self, where: object = None, confidence: float = 0.95) -> dict[str, Any]:
        """How many records meet a condition, as `scumble count` gives it."""
        return self._told(self.release.count(_condition(where), confidence=confidence), where)

    def mean(self, column: object, where: object = None, confidence: float = 0.95) -> dict[str, Any]:
        """The mean of a column among them."""
        if not isinstance(column, str):
            raise DataError("`column` must name a column of numbers.")
        return self._told(self.release.mean(column, _condition(where), confidence=confidence), where)

    def _told(self, found: Estimate, where: object) -> dict[str, Any]:
        beyond = condition(self.release.schema, _condition(where)).remarks
        told: dict[str, Any] = finite(found.numbers())
        return told | {"remarks": [*(one.text for one in beyond), *found.remarks]}


def _condition(where: object) -> str | None:
    """A condition as JSON brings it."""
    if where is None or isinstance(where, str):
        return where
    raise DataError('`where` must be text, such as "age >= 65".')
