"""What a page needs to answer questions about a table: the model, the views' own cells, and how far both are off.

Everything here is public. The page answers in JavaScript (``web/src/engine/views`` and ``tabular``, each file the twin
of one of Python's). The model is a mixture of products. All components divide a group of levels alike, so its columns
are stored by groups, and once how groups are divided. Shares have 16 bits of their square root: small ones keep their
digits, and answers stay within a millionth of the table.

Of each measured pair it has what rehearsals tell (`views.misfit`): how far the model was off in every cell, in steps of
1/32 of the noise's deviation. So its intervals of two columns are Python's; of three and more, and of columns that were
not measured together, it has a law in the place of rehearsals (`tablelaw`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from scumble.explore.payload import Arrays
from scumble.explore.tablelaw import law_of
from scumble.schema.column import Column
from scumble.schema.date import Date
from scumble.schema.number import Number
from scumble.tabular.release import TableRelease
from scumble.views.evidence import Evidence, View
from scumble.views.intervals import Reading
from scumble.views.misfit import LEAST, Misfit
from scumble.views.mixture import Mixture, at_level

Floats = npt.NDArray[np.float64]
FINEST = 2**16 - 1
STEPS = 32
"""Of a model's errors in the deviation of the noise beside them."""
MOST = 2**15 - 1


def content(release: TableRelease, units: Mapping[str, str]) -> tuple[dict[str, Any], Arrays]:
    """The columns and the model of each class, as JSON values and arrays."""
    arrays = Arrays()
    answers, spec = release._answers, release.spec
    total = answers.total
    parts = []
    for number, reading in enumerate(answers.readings):
        mine: dict[int, npt.ArrayLike] = {} if spec.place is None else {spec.place: at_level(number, spec.classes)}
        whole = answers.count([(1.0, mine)])
        parts.append(
            {"count": [reading.evidence.count, whole.variance], **_reading(reading, whole.variance, number, arrays)}
        )
    described = {
        "columns": [_column(name, column, units.get(name, ""), arrays) for name, column in release.schema.items()],
        "place": spec.place,
        "counted": list(spec.counted),
        "total": [total.value, total.variance],
        "noise": answers.law,
        "groups": [arrays.add(np.asarray(group, np.int64)) for group in answers.readings[0].evidence.groups],
        "parts": parts,
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
    if not isinstance(column, Number | Date):
        return out | {"levels": list(column.levels)}
    cuts = column.cuts
    out |= {"edges": arrays.add(cuts.values(np.array(cuts.edges))), "log": cuts.log, "whole": not cuts.real}
    if isinstance(column, Number) and column.zero_apart:
        out |= {"zero": column.zero_level, "alike": list(column.alike)}
    return out | ({"step": column.step} if isinstance(column, Date) else {})


def _reading(reading: Reading, of_count: float, seed: int, arrays: Arrays) -> dict[str, Any]:
    return {
        "weights": arrays.add(reading.model.weights),
        "told": [arrays.add(np.asarray(group, np.int64)) for group in reading.seen.groups],
        "stacks": [arrays.add(rounded(stack)) for stack in stacks(reading.model, reading.seen)],
        "shapes": [arrays.add(shape) for shape in shapes(reading)],
        "law": law_of(reading, of_count, seed).tolist(),
        "usual": reading.usual_law.tolist(),
        "fits": reading.fits.tolist(),
        "drawn": reading.drawn,
        "unseen": reading.unseen.correlation,
        "runs": reading.seen.runs,
        "views": [_view(view, reading, arrays) for view in reading.evidence.views],
    }


def _view(view: View, reading: Reading, arrays: Arrays) -> dict[str, Any]:
    known = {
        "columns": list(view.columns),
        "counts": arrays.add(np.rint(view.counts).astype(np.int64).ravel()),
        "variance": view.variance,
    }
    if len(view.columns) < 2:
        return known
    one, two = view.columns
    misfit = reading.misfit((one, two))
    steps, step = stepped(misfit)
    ties = [reading.tie(one, two), reading.tie(two, one)]
    told = {"step": step, "law": misfit.law.tolist(), "shared": misfit.shared, "ties": ties}
    return known | told | {"errors": arrays.add(steps.ravel())}


def stepped(misfit: Misfit) -> tuple[npt.NDArray[np.int64], float]:
    """The errors in whole steps, and how many records a step has."""
    step = max(math.sqrt(misfit.noise) / STEPS, float(np.abs(misfit.errors).max()) / MOST, LEAST)
    return np.rint(misfit.errors / step).astype(np.int64), step


def shapes(reading: Reading) -> list[Floats]:
    """For each column how its groups are divided into levels: in all components as in the whole model."""
    found = []
    for j, (group, usual) in enumerate(zip(reading.seen.groups, reading.seen.shapes, strict=True)):
        share = reading.model.table([j])
        whole = np.bincount(group, share)[group]
        found.append(np.where(whole > 0, share / np.where(whole > 0, whole, 1.0), usual))
    return found


def stacks(model: Mixture, evidence: Evidence) -> list[Floats]:
    """For each column the shares of its groups, (groups, components)."""
    found = []
    for table, group in zip(model.columns, evidence.groups, strict=True):
        stack = np.zeros((int(group.max()) + 1, len(table)))
        np.add.at(stack, group, table.T)
        found.append(stack)
    return found


def rounded(shares: Floats) -> npt.NDArray[np.uint16]:
    """The square roots of shares in 16 bits; whoever reads them makes their sums one again."""
    return np.asarray(np.rint(np.sqrt(np.clip(shares, 0.0, 1.0)) * FINEST), np.uint16)
