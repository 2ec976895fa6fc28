"""How faithful synthetic rows are, by the release's own knowledge: nobody looks at the table again.

Rows follow the mean of all draws from the posterior. The true table is, as far as the release tells, one more draw. So
the total variation between a draw and the mean, averaged over draws, is what to expect between rows and table.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from scumble.columns.schema import Schema
from scumble.errors import readable
from scumble.table.answers import Answers
from scumble.table.rows import library

if TYPE_CHECKING:
    from pandas import DataFrame

Floats = npt.NDArray[np.float64]
WORST = 5
"""So many of the worst are named."""


@dataclass(frozen=True, eq=False)
class Faithfulness:
    """How far synthetic rows are from the table, as far as its release can tell.

    *Total variation* is the share of rows that would have to be in another cell for the two tables to agree: 0 is the
    same table, 1 another one. `columns` and `pairs` are frames with the `variation` to expect, and, of pairs, whether
    they were `measured`; if not, how the two are related is inferred. So many combinations of three columns, `triples`,
    were not measured together. `chance`: the mean total variation of pairs that is mere chance in some numbers of rows.
    """

    columns: DataFrame
    pairs: DataFrame
    triples: int
    chance: dict[int, float]

    def __str__(self) -> str:
        return "\n".join(map(readable, _words(self)))


def faithfulness(answers: Answers, schema: Schema) -> Faithfulness:
    """The report of a release."""
    pd, names, d = library("pandas"), list(schema), len(schema)
    groups = [*map(answers.group_of, range(d))]
    alone = [
        {
            "column": name,
            "variation": _variation(answers.posterior.cells([j])),
            "levels": schema[name].size,
            "groups": int(groups[j].max()) + 1,
        }
        for j, name in enumerate(names)
    ]
    pairs, shares = [], []
    for i, j in itertools.combinations(range(d), 2):
        each = _grouped(answers.posterior.cells([i, j]), groups[i], groups[j])
        shares.append(_share(each.mean(axis=0)))
        found = {"first": names[i], "second": names[j], "measured": answers.measured((i, j))}
        pairs.append(found | {"variation": _variation(each)})
    widest = shares or [_share(answers.posterior.cells([0]).mean(axis=0))]
    return Faithfulness(
        pd.DataFrame(alone),
        pd.DataFrame(pairs, columns=["first", "second", "measured", "variation"]).astype({"measured": bool}),
        sum(not answers.together(own) for own in itertools.combinations(range(d), 3)),
        {n: float(np.mean([_chance(share, n) for share in widest])) for n in (1_000, 10_000, 100_000)},
    )


def _grouped(cells: Floats, one: npt.NDArray[np.int64], two: npt.NDArray[np.int64]) -> Floats:
    """A pair's cells, added up in the groups of both columns."""
    for axis, group in ((1, one), (2, two)):
        order = np.argsort(group, kind="stable")
        starts = np.searchsorted(group[order], np.arange(int(group.max()) + 1))
        cells = np.add.reduceat(np.take(cells, order, axis=axis), starts, axis=axis)
    return cells


def _share(cells: Floats) -> Floats:
    total = cells.sum()
    return cells / total if total > 0 else np.full(cells.shape, 1.0 / cells.size)


def _variation(each: Floats) -> float:
    """The mean total variation between the draws and their mean."""
    shares = np.array([_share(one) for one in each])
    return float(np.abs(shares - shares.mean(axis=0)).reshape(len(shares), -1).sum(axis=1).mean() / 2)


def _chance(share: Floats, rows: int) -> float:
    """E|share in n rows − p| is √(2p(1 − p)/πn), and at most 2p: summed over cells, halved."""
    return float(np.minimum(np.sqrt(2 * share * (1 - share) / (math.pi * rows)), 2 * share).sum()) / 2


# ---- in words ----


def _words(report: Faithfulness) -> Iterator[str]:
    columns, pairs = report.columns, report.pairs[report.pairs.measured]
    yield (
        "How faithful synthetic rows are, as the release estimates it (total variation: the share of rows that "
        "would have to be in another cell):"
    )
    one = columns.loc[columns.variation.idxmax()]
    most = f"most for {one.column!r} ({one.variation:.3f})"
    yield f"- Single columns: expect {columns.variation.mean():.3f} on average, {most}."
    if len(pairs):
        worst = pairs.sort_values("variation", ascending=False).head(WORST)
        listed = "; ".join(f"{row.first} × {row.second} ({row.variation:.3f})" for row in worst.itertuples())
        yield f"- Measured pairs of columns: {pairs.variation.mean():.3f} on average, most for {listed}."
    chance = ", ".join(f"{share:.3f} in {rows:,} rows" for rows, share in report.chance.items())
    yield f"- A sample also differs by chance: by {chance}."
    inferred = report.pairs[~report.pairs.measured]
    if len(inferred):
        listed = ", ".join(f"{row.first} × {row.second}" for row in inferred.head(WORST).itertuples())
        more = f" and {len(inferred) - WORST:,} more" if len(inferred) > WORST else ""
        yield f"- Not counted together, so their relationship is inferred: {listed}{more}."
    if report.triples:
        yield f"- Sets of three columns that were not measured: {report.triples:,}. How they interact is inferred."
