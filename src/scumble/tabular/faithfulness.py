"""How faithful synthetic rows are, by the release's own knowledge: nobody looks at the table again.

Three things are known without the table. How far the rows' law is from the truth in *rehearsals* (`views.rehearsal`),
which are releases of synthetic tables like this one: the total variation to expect. How well the model agrees with each
published table: χ² per cell, and the total variation between the two beyond what noise makes. And what was never
measured, of which nothing can be said: columns that were not paired, and three columns at once.

A column alone is compared in all its levels; in pairs, numbers and dates in the runs of cells that were published, and
words one by one. Rehearsals tell of a table that the model can follow, in the pools that pairs make of rare words. Two
things come on top: where the model does not follow the published counts, by how much it does not, beyond noise; and
what pools hide (`views.pools`). Sums of differences are at least the difference, so this is rather too much than too
little. Where classes have views of their own, their tables are added up; beside the target, each is compared for
itself.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from scumble.errors import readable
from scumble.schema import Schema
from scumble.tabular.answers import Answers
from scumble.tabular.rows import library
from scumble.views import agreement
from scumble.views.agreement import Modelled, Rehearsed, misfits
from scumble.views.evidence import View
from scumble.views.pools import misplaced
from scumble.views.ties import tie

if TYPE_CHECKING:
    from pandas import DataFrame

Floats = npt.NDArray[np.float64]
WORST = 5
"""So many of the worst are told in words."""


@dataclass(frozen=True, eq=False)
class Faithfulness:
    """How far synthetic rows are from the table, as far as its release can tell.

    *Total variation* is the share of rows that would have to be in another cell for the two tables to agree: 0 is the
    same table, 1 another one. A sample of n rows differs by chance as well, whatever it is drawn from (`chance`).

    Attributes
    ----------
    columns : DataFrame
        A row for each column: `variation`, the total variation from the true column that is to be expected; `beyond`,
        that between model and published counts beyond noise; `chi2` per cell, about 1 where only noise is between them,
        and whether it is a `misfit`, beyond what noise can be; `levels`, and the `groups` of these that pairs have.
    pairs : DataFrame
        The same for each pair of columns, and whether it was `measured`; if not, how they hang together is inferred.
        `hidden` is the part of the `variation` that comes of rare words, which pairs count as one: in their pool they
        are taken to lie alike.
    chi2 : float
        χ² per cell of all published tables together.
    triples : int
        How many combinations of three columns were never measured: all there are.
    chance : dict
        For some numbers of rows, the mean total variation of pairs that is mere chance in so many.
    """

    columns: DataFrame
    pairs: DataFrame
    chi2: float
    triples: int
    chance: dict[int, float]

    def __str__(self) -> str:
        return "\n".join(map(readable, _words(self)))


def faithfulness(answers: Answers, schema: Schema) -> Faithfulness:
    """The report of a release."""
    pd = library("pandas")
    found = _Tables(answers, len(schema))
    names = list(schema)
    alone = [
        {"column": name, **found.compared((j,)), "levels": schema[name].size, "groups": found.groups(j)}
        for j, name in enumerate(names)
    ]
    pairs = [
        {"first": names[i], "second": names[j], "measured": found.measured((i, j)), **found.compared((i, j))}
        for i, j in itertools.combinations(range(len(names)), 2)
    ]
    columns = ["first", "second", "measured", "variation", "hidden", "beyond", "chi2", "misfit"]
    d = len(names)
    return Faithfulness(
        pd.DataFrame(alone),
        pd.DataFrame(pairs, columns=columns).astype({"measured": bool, "misfit": bool}),  # there may be no pair
        found.chi2(),
        d * (d - 1) * (d - 2) // 6,
        {n: found.chance(n) for n in (1_000, 10_000, 100_000)},
    )


class _Tables:
    """Published, modelled and rehearsed tables of a release, classes put together."""

    def __init__(self, answers: Answers, width: int) -> None:
        readings = answers.readings
        self._law, self._place = answers.law, answers.place
        counted = [j for j in range(width) if j != self._place]
        self._number = {j: k for k, j in enumerate(counted)}
        self._evidence = [reading.evidence for reading in readings]
        self._views = [{view.columns: view for view in evidence.views if view.columns} for evidence in self._evidence]
        self._models = [Modelled(reading.model, reading.evidence) for reading in readings]
        self._rehearsed = list(zip(*(map(Rehearsed, reading.rehearsals) for reading in readings), strict=True))
        self._sizes: dict[int, Floats] = {}
        self._records = max(sum(evidence.count for evidence in self._evidence), 1.0)

    def _own(self, columns: tuple[int, ...]) -> tuple[int, ...]:
        """The columns as classes number them, the target left out."""
        return tuple(self._number[j] for j in columns if j != self._place)

    def measured(self, columns: tuple[int, ...]) -> bool:
        """Whether there is a table of these: beside a target, of the other one."""
        own = self._own(columns)
        return not own or own in self._views[0]

    def groups(self, column: int) -> int:
        """How many levels pairs tell apart."""
        return len(self._evidence) if column == self._place else self._evidence[0].sizes[self._number[column]]

    def compared(self, columns: tuple[int, ...]) -> dict[str, Any]:
        """The total variation to expect, that beyond noise, χ² per cell, and whether that is beyond noise."""
        own = self._own(columns)
        if not own:  # how many records each class has: all views tell it, and the model takes their word
            return {"variation": self._of_classes(), "beyond": 0.0, "chi2": math.nan, "misfit": False}
        if not self.measured(columns):
            unknown = dict.fromkeys(("variation", "hidden", "beyond", "chi2"), math.nan)
            return {**unknown, "misfit": False}
        views = [views[own] for views in self._views]
        beyond = sum(model.beyond_noise(view, self._law) for model, view in zip(self._models, views, strict=True))
        chi = self._chi([(c, view) for c, view in enumerate(views)])
        cells = sum(view.counts.size for view in views)
        misfit = misfits(chi, cells, self._law)
        off = float(np.mean([self._off(own, columns, each) for each in self._rehearsed])) + beyond * misfit
        found = {"beyond": self._half(beyond), "chi2": chi, "misfit": misfit}
        if len(columns) == 1:
            return {"variation": self._half(off), **found}
        hidden = self._hidden(own) if len(own) == 2 else 0.0
        return {"variation": self._half(off + hidden), "hidden": self._half(hidden), **found}

    def chi2(self) -> float:
        """That of all tables together."""
        return self._chi([(c, view) for c, views in enumerate(self._views) for view in views.values()])

    def chance(self, rows: int) -> float:
        """E|share in n rows − p| is √(2p(1 − p)/πn), and at most 2p: summed over cells, halved, the mean over pairs."""
        most = max(map(len, self._views[0]))
        found = []
        for own in (own for own in self._views[0] if len(own) == most):
            counts = [
                evidence.count * model.shares(own) for evidence, model in zip(self._evidence, self._models, strict=True)
            ]
            share = np.clip(np.sum(counts, axis=0) / self._records, 0.0, 1.0)
            off = np.minimum(np.sqrt(2 * share * (1 - share) / (math.pi * rows)), 2 * share)
            found.append(float(off.sum()) / 2)
        return float(np.mean(found))

    def _of_classes(self) -> float:
        """The counts of classes are known up to noise of a known variance."""
        variances = [
            1.0 / sum(1.0 / (max(view.variance, 1e-12) * view.counts.size) for view in evidence.views)
            for evidence in self._evidence
        ]
        return self._half(agreement.MEAN_DEVIATION["gaussian"] * float(np.sqrt(variances).sum()))

    def _off(self, own: tuple[int, ...], columns: tuple[int, ...], rehearsed: tuple[Rehearsed, ...]) -> float:
        """Summed absolute differences of a rehearsal: class by class if the target is among the columns."""
        each = [one.off(own) for one in rehearsed]
        return float(np.abs(each if self._place in columns else np.sum(each, axis=0)).sum())

    def _hidden(self, own: tuple[int, ...]) -> float:
        """Summed absolute differences within pools, at most.

        A triangle of tables: from pools beside pools to the words of one column beside the pools of the other, and from
        there to words beside words, on the shorter of both ways.
        """
        ways = (own, own[::-1])
        return 2.0 * min(self._pools(one, two, apart=False) + self._pools(two, one, apart=True) for one, two in ways)

    def _pools(self, column: int, beside: int, *, apart: bool) -> float:
        """How many records of pooled words are elsewhere beside another column, whose words are told `apart` or not."""
        evidence = self._evidence[0]
        group = evidence.groups[column]
        if evidence.columns[column].ordered or evidence.sizes[column] == len(group):
            return 0.0
        apart = apart and not evidence.columns[beside].ordered
        words, places = self._expected((column,)), self._expected((column, beside), apart=apart)
        pair = (min(column, beside), max(column, beside))
        views = [views[pair] for views in self._views]
        whole = View(pair, np.sum([view.counts for view in views], axis=0), sum(view.variance for view in views))
        tied = tie(whole, pair.index(column), group)
        total = 0.0
        for pool in np.flatnonzero(np.bincount(group) > 1):
            inside = group == pool
            elsewhere = float(misplaced(words[inside], places[pool], tied).sum()) + self._sized(column)[pool] / 2
            total += min(elsewhere, float(words[inside].sum()))  # no more than all of them
        return total

    def _sized(self, column: int) -> Floats:
        """Summed absolute differences of levels alone that the sums of their groups do not have."""
        if column not in self._sizes:
            group, found = self._evidence[0].groups[column], []
            for each in self._rehearsed:
                off = np.sum([one.off((column,)) for one in each], axis=0)
                found.append(np.bincount(group, np.abs(off)) - np.abs(np.bincount(group, off)))
            self._sizes[column] = np.mean(found, axis=0)
        return self._sizes[column]

    def _expected(self, columns: tuple[int, ...], *, apart: bool = False) -> Floats:
        """The model's records in cells, classes put together."""
        each = zip(self._evidence, self._models, strict=True)
        return np.asarray(sum(evidence.count * model.shares(columns, apart=apart) for evidence, model in each))

    def _chi(self, views: list[tuple[int, View]]) -> float:
        each = [self._models[c].chi(view) for c, view in views]
        return float(np.average(each, weights=[view.counts.size for _, view in views]))

    def _half(self, differences: float) -> float:
        return min(differences / 2 / self._records, 1.0)


# ---- in words ----


def _words(report: Faithfulness) -> list[str]:
    columns, pairs = report.columns, report.pairs[report.pairs.measured]
    one = columns.loc[columns.variation.idxmax()]
    told = [
        "How faithful synthetic rows are, by the release's own knowledge (total variation: the share of rows that "
        "would have to be in another cell):",
        f"- Columns alone: {columns.variation.mean():.3f} on average is to be expected, most for {one.column!r} "
        f"({one.variation:.3f})."
        if len(columns) > 1
        else f"- The column alone: {one.variation:.3f} is to be expected.",
    ]
    if len(pairs):
        worst = pairs.sort_values("variation", ascending=False).head(WORST)
        listed = "; ".join(f"{row.first} × {row.second} ({row.variation:.3f})" for row in worst.itertuples())
        most = "; most for" if len(pairs) > WORST else ":"
        told.append(f"- Pairs of columns that were measured: {pairs.variation.mean():.3f} on average{most} {listed}.")
        told += _hidden(pairs)
    chance = ", ".join(f"{share:.3f} in {rows:,} rows" for rows, share in report.chance.items())
    told.append(f"- By chance a sample differs from its own law as well: by {chance}.")
    told.append(
        f"- The model's tables and the published ones differ by χ² = {report.chi2:.2f} per cell (about 1 is noise "
        f"alone){', and no pair shows more than that' if len(pairs) and not report.pairs.misfit.any() else ''}."
    )
    return [*told, *_misfits(report), *_unknown(report)]


def _hidden(pairs: DataFrame) -> list[str]:
    pooled = pairs[pairs.hidden > 0]
    if not len(pooled):
        return []
    return [
        "- Of this, so much is what rare words may hide: pairs count these as one, so rows mix up which of them goes "
        f"with what, and by how much is reckoned from the other words: {_listed(pooled, 'hidden')}."
    ]


def _misfits(report: Faithfulness) -> list[str]:
    astray = report.pairs[report.pairs.misfit]
    if not len(astray):
        return []
    return [
        "- Rows connect these columns otherwise than the published counts do, by more than noise explains (the "
        f"share of rows in other cells): {_listed(astray, 'beyond')}. For questions about two such columns together, "
        "ask the release (`scumble count`, `release.count`) and not the rows: its answers weigh the pair's own counts, "
        "and their intervals allow for the difference."
    ]


def _listed(pairs: DataFrame, by: str) -> str:
    """The worst pairs by a column of theirs, and how many there are besides."""
    worst = pairs.sort_values(by, ascending=False).head(WORST)
    told = "; ".join(f"{row['first']} × {row['second']} ({row[by]:.3f})" for row in worst.to_dict("records"))
    return told + (f"; and {len(pairs) - WORST:,} more" if len(pairs) > WORST else "")


def _unknown(report: Faithfulness) -> list[str]:
    told = []
    left_out = report.pairs[~report.pairs.measured]
    if len(left_out):
        listed = ", ".join(f"{row.first} × {row.second}" for row in left_out.head(WORST).itertuples())
        more = f" and {len(left_out) - WORST:,} more" if len(left_out) > WORST else ""
        told.append(f"- Not counted together, so how they hang together is inferred: {listed}{more}.")
    if report.triples:
        told.append(
            f"- Three columns at once were never measured ({report.triples:,} "
            f"{'combination' if report.triples == 1 else 'combinations'}): rows have of these only what pairs imply."
        )
    coarse = report.columns[report.columns.groups < report.columns.levels]
    if len(coarse) and report.pairs.measured.any():
        listed = ", ".join(f"{row.column} ({row.groups} of {row.levels:,})" for row in coarse.itertuples())
        told.append(f"- In pairs, levels are told apart in groups only: {listed}.")
    return told
