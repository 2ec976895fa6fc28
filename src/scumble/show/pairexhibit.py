"""Two releases next to each other on one page: the same view, one scale of colors, one file to hand on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property

from scumble.density.release import Release
from scumble.errors import ParameterError
from scumble.show.exhibit import Exhibit
from scumble.show.pages import AnyExhibit, Content
from scumble.show.ranges import Column
from scumble.show.usefulness import Facts

TOLD = ("epsilon", "delta", "count", "count_standard_error", "meaning", "kind")


class PairExhibit(AnyExhibit):
    """What is shown of two releases of densities over the same columns; their kernels and budgets may differ.

    Parameters
    ----------
    found : mapping
        The two releases, by what they are called.
    title : str
        What to call both.
    ranges, values, units : mapping or None
        For columns by name: what to draw of numbers, the known categories, the units.

    Examples
    --------
    >>> import numpy as np, scumble
    >>> def ages(mean):
    ...     sketch = scumble.Sketch(scumble.EuclideanKernel(5.0), columns=["age"], rows=50, buckets=64)
    ...     return sketch.update(np.full((1000, 1), mean)).release(epsilon=1.0)
    >>> pair = PairExhibit({"1990": ages(30.0), "2020": ages(40.0)}, ranges={"age": (0, 100)})
    >>> pair.content()[0]["classes"]
    ['1990', '2020']
    """

    def __init__(
        self,
        found: Mapping[str, Release],
        title: str | None = None,
        *,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        values: Mapping[str, Sequence[str]] | None = None,
        units: Mapping[str, str] | None = None,
    ) -> None:
        if len(found) != 2 or not all(isinstance(release, Release) for release in found.values()):
            kinds = ", ".join(type(release).__name__ for release in found.values())
            raise ParameterError(
                f"Two releases of densities, with names that differ, can stand side by side, got {kinds or 'none'}. "
                "Hint: a bundle's classes stand side by side on its own page."
            )
        self.title = " and ".join(found) if title is None else title
        self.sides = [
            Exhibit(release, name, ranges=ranges, values=values, units=units) for name, release in found.items()
        ]
        one, other = self.sides
        for what, mine, yours in (("columns", one.names, other.names), ("roles", one.roles, other.roles)):
            if mine != yours:
                raise ParameterError(
                    f"Two releases side by side must have the same {what}, got {', '.join(mine)} and "
                    f"{', '.join(yours)}. Hint: explore each of them on its own."
                )
        if not all(side.drawable for side in self.sides):
            raise ParameterError("A release whose kernel is written in Python cannot be drawn by a page.")

    @cached_property
    def columns(self) -> list[Column]:
        """The columns, each with a range that shows both releases."""
        return [_joined(*both) for both in zip(*(side.columns for side in self.sides), strict=True)]

    def facts(self) -> Facts:
        return {"kind": "pair", "releases": self._facts}

    @cached_property
    def _facts(self) -> list[Facts]:
        return [{name: side.info[name] for name in TOLD} for side in self.sides]

    def card(self) -> list[tuple[str, str]]:
        return [(f"{name} ({side.title})", text) for side in self.sides for name, text in side.card()]

    def content(self) -> tuple[Facts, str]:
        content = Content()
        for side in self.sides:
            content.release(side._one)
        modes = [{**mode, "release": k} for k, side in enumerate(self.sides) for mode in side.modes()]
        return {
            "title": self.title,
            "card": self.card(),
            "info": self._facts[0],
            "compared": self._facts,
            "columns": [asdict(column) for column in self.columns],
            "classes": [side.title for side in self.sides],
            "classifier": None,
            "modes": modes,
            "drawable": True,
            "hashers": content.hashers,
            "releases": content.releases,
            "arrays": content.arrays.index,
        }, content.arrays.to_base64()


def _joined(one: Column, other: Column) -> Column:
    if one.range is None or other.range is None or other.lost:
        return one
    if one.lost:
        return other
    return replace(one, range=(min(one.range[0], other.range[0]), max(one.range[1], other.range[1])))
