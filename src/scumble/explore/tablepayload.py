"""What a page needs to answer questions about a table: its columns, and the draws that answers come from.

Everything here is public. The draws are those that files store (`tabular.storage`), and the page answers from them in
JavaScript (``web/src/engine/tabular``) as Python does: the numbers are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from scumble.explore.payload import Arrays
from scumble.reading.student import reach
from scumble.schema.column import Column
from scumble.schema.date import Date
from scumble.schema.number import Number
from scumble.tabular.heaps import shares_at_bounds
from scumble.tabular.questions import extremes_of
from scumble.tabular.release import TableRelease

CONFIDENCE = 0.95


def content(release: TableRelease, units: Mapping[str, str]) -> tuple[dict[str, Any], Arrays]:
    """The columns and the draws, as JSON values and arrays."""
    arrays = Arrays()
    answers, spec = release._answers, release.spec
    draws = {name.removeprefix("draws."): arrays.add(array) for name, array in release.packed_draws().items()}
    size = answers.posterior.size
    columns = [_column(name, column, units.get(name, ""), arrays) for name, column in release.schema.items()]
    for place, column in enumerate(release.schema.values()):
        if column.ordered:
            columns[place]["heaps"] = list(shares_at_bounds(answers, place, column))
    described = {
        "columns": columns,
        "place": spec.place,
        "counted": list(spec.counted),
        "pairs": [list(pair) for pair in release._grouped.pairs],
        "groups": [arrays.add(np.asarray(group, np.int64)) for group in answers.evidence[0].groups],
        "draws": draws,
        "lean": answers.lean.tolist(),
        "reach": reach(np.arange(1.0, size), CONFIDENCE).tolist(),
    }
    return described, arrays


def _column(name: str, column: Column, unit: str, arrays: Arrays) -> dict[str, Any]:
    out: dict[str, Any] = {
        "name": name,
        "kind": column.kind,
        "unit": unit,
        "words": column.words(),
        "size": column.size,
        "missing": column.missing,
        "values": None,
    }
    if column.kind in ("number", "boolean"):
        out["values"] = arrays.add(np.asarray(column.representative, float))
        out["extremes"] = [arrays.add(np.asarray(side, float)) for side in extremes_of(column)]
    if not isinstance(column, Number | Date):
        return out | {"levels": list(column.levels)}
    cuts = column.cuts
    out |= {"edges": arrays.add(cuts.values(np.array(cuts.edges))), "log": cuts.log, "whole": not cuts.real}
    if isinstance(column, Number) and column.zero_apart:
        out |= {"zero": column.zero_level, "alike": list(column.alike)}
    return out | ({"step": column.step} if isinstance(column, Date) else {})
