"""What differs between the releases of two tables with the same columns, or between a release and a table at hand.

**A statistic** is a ratio θ = Σ w_l n_l / Σ v_l n_l over the levels l of one column: a share; the mean of a number,
with w the middles of its cells; the mean rank of a value among those of both tables, which no far bound spoils. Its
error is, to first order, that of the contrast Σ u_l n_l with u = w − θv, divided by N = Σ v_l n_l.

**Noise.** A contrast is known from the column alone (variance σ² for each level) and, group by group, from the margins
of its pairs (variance τ² for each group). With b_g the mean of u in group g, a share λ = A/(A + B) of what lies between
groups is taken from the margins, A = σ² Σ_l b², B = τ² Σ_g b², as in `margins`. So each estimate is a linear function
of published counters, and the law of its error is known: nothing is fitted or resampled.

**Sampling.** Records drawn at random from a population add the variance Σ u_l² n_l / N², which is linear as well.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from scumble import checks
from scumble.checks import keywords
from scumble.columns.column import Column
from scumble.columns.schema import Schema
from scumble.density.comparing import SEEN, Error, Laplaces, claim, compared, require_two, row
from scumble.errors import ParameterError, parameter
from scumble.table.answers import Answers, Released
from scumble.table.grouping import runs
from scumble.table.margins import pair_margins
from scumble.table.questions import Part
from scumble.table.remarks import name_of_run

if TYPE_CHECKING:
    from scumble.show.comparison import Comparison

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

RUNS = 10
"""Parts of a line, of nearly equal numbers of records in both tables together."""
SECRET = "SECRET: one side is exact. It is for the curator alone: do not publish or log it."


@dataclass(frozen=True)
class Counted:
    """What is known of how many records each level of a column has.

    `levels` has the noisy number of each; its `variance` is that of a sum of `times` draws of noise. Where the margins
    of pairs are known, `sums` has the noisy number of each `group` of levels, the variance of which is `margin`, with
    noise of at least so many `cells`. `laplace`: whether the noise is Laplace."""

    levels: Floats
    variance: float = 0.0
    times: int = 1
    group: Integers | None = None
    sums: Floats | None = None
    margin: float = 0.0
    cells: int = 1
    laplace: bool = False

    def contrast(self, weights: Floats) -> tuple[float, Floats, Floats]:
        """Σ weights · records, and the coefficients of the errors of levels and of groups in it."""
        value, none = float(weights @ self.levels), np.zeros(1)
        if self.group is None or self.sums is None:
            return value, weights, none
        each = np.bincount(self.group)
        between = np.bincount(self.group, weights) / each
        alone = self.variance * float((each * between**2).sum())
        beside = self.margin * float((between**2).sum())
        if not alone:
            return value, weights, none
        share = alone / (alone + beside)
        value += share * float(between @ (self.sums - np.bincount(self.group, self.levels)))
        return value, weights - share * between[self.group], share * between

    def error(self, levels: Floats, groups: Floats, sampling: float) -> Error:
        """The law of an error with these coefficients."""
        parts = ((levels, self.variance, self.times), (groups, self.margin, self.cells))
        noisy = [(c, variance / times, times) for c, variance, times in parts if variance > 0 and c.any()]
        if self.laplace:
            return Error(sampling, tuple(Laplaces(*one) for one in noisy))
        return Error(sampling + sum(v * m * float((c**2).sum()) for c, v, m in noisy))

    def ratio(self, weights: Floats, among: Floats, sampled: bool) -> tuple[float, Error | None]:
        """Σ weights · records / Σ among · records, and the law of its error; None where there may be no records."""
        records, levels, groups = self.contrast(among)
        if records <= max(SEEN * self.error(levels, groups, 0.0).variance ** 0.5, 0.0):
            return np.nan, None
        first = float(weights @ self.levels) / (float(among @ self.levels) or 1.0)
        off = weights - first * among
        value, levels, groups = self.contrast(off)
        sampling = max(self.contrast(off**2)[0], 0.0) / records**2 if sampled else 0.0
        return first + value / records, self.error(levels / records, groups / records, sampling)


def counted(answers: Answers, column: int) -> Counted:
    """What a release knows of a column."""
    evidence, laplace = answers.evidence, answers.law == "laplace"
    levels, variance = answers.singles(column)
    if column not in answers._number:
        return Counted(levels, variance, laplace=False)  # classes, whose sizes are sums of many counters
    own, group = answers._number[column], answers.group_of(column)
    margins = [pair_margins(one, own) for one in evidence]
    if not all(sure for _, sure in margins):
        return Counted(levels, variance, len(evidence), laplace=laplace)
    sums, margin = sum(found for found, _ in margins), sum(1 / sure for _, sure in margins)
    views = [view.counts.size // evidence[0].sizes[own] for view in evidence[0].views if own in view.columns[:2]]
    cells = max(min(views[1:], default=1), 1) * len(evidence)
    return Counted(levels, variance, len(evidence), group, np.asarray(sums), margin, cells, laplace)


def counted_in(schema: Schema, tables: Iterable[object]) -> list[Counted]:
    """What tables with records say of each column, exactly."""
    found = [np.zeros(size) for size in schema.sizes]
    for table in tables:
        codes, dropped = schema.encode(table)
        for j, size in enumerate(schema.sizes):
            found[j] += np.bincount(codes[~dropped, j], minlength=size)
    return [Counted(levels) for levels in found]


def statistics(column: Column, mass: Floats) -> Iterator[tuple[str, object, Floats, Floats]]:
    """What is compared of a column: the name, what it is of, weights, and among which records."""
    everybody = np.ones(column.size)
    if column.kind == "number":
        known = np.isfinite(column.representative)
        yield "mean", None, np.where(known, column.representative, 0.0), known.astype(float)
    if column.ordered:
        line = (np.arange(column.size) < column.size - column.missing).astype(float)
        upto = np.cumsum(np.maximum(mass, 0.0) * line)
        yield "rank", None, line * (upto - np.maximum(mass, 0.0) / 2) / max(upto[-1], 1.0), line
    shares = [*parts_of(column, mass)]
    for part in shares[len(shares) == 2 :]:  # of two shares, one says all
        yield "share", part.name, part.weights, everybody


def parts_of(column: Column, mass: Floats) -> Iterator[Part]:
    """Its words, or runs of its cells with nearly equal masses; and missing cells."""
    line = column.size - column.missing if column.ordered else 0
    run = runs(np.maximum(mass[:line], 0.0), RUNS) if line else np.zeros(0, np.int64)
    ends = [*np.flatnonzero(np.diff(run, prepend=-1)).tolist(), *range(line, column.size + 1)]
    for first, end in itertools.pairwise(ends):
        weights = np.zeros(column.size)
        weights[first:end] = 1.0
        name = name_of_run(column, first, end) if end <= line else column.levels[first]
        yield Part(name, weights)


class Comparing(Released):
    """Comparisons with another release, or with a table at hand."""

    @keywords
    def compare(self, other: Any, *, of: str = "populations", confidence: float = 0.95) -> Comparison:
        """What differs between this table and another with the same columns: means, shares, numbers of records.

        Parameters
        ----------
        other : TableRelease, table or iterator of tables
            The release of the other table. Or its records, which count exactly: then the answer is secret.
        of : {"populations", "tables"}
            What is claimed: something about the populations that the records are random samples of, so that the error
            is noise and sampling; or about the two tables themselves, so that it is noise alone.
        confidence : float
            Of each interval by itself.

        Returns
        -------
        Comparison
            A pandas frame, which `plot` draws, with a row for each statistic: `column`, `statistic`, `level` (the word,
            or the run of values, that a share is of), `first` and `second`, the `difference` second − first with `low`,
            `high` and `p_value`, and `p_adjusted`, corrected for all rows by Holm's method. Means are of the middles of
            cells; a rank is the mean share of both tables' values that a value exceeds. Columns that the two do not
            describe alike are left out, with a remark in ``attrs``.

        Examples
        --------
        >>> import scumble
        >>> schema = scumble.Schema(age=scumble.Number(0, 99, whole=True), smoker=scumble.Boolean())
        >>> old, new = (
        ...     scumble.TableSketch(schema).update({"age": ages * 5000, "smoker": [True, False] * 5000}).release(1.0)
        ...     for ages in ([20, 40], [30, 50])
        ... )
        >>> found = old.compare(new)
        >>> bool(found["p_adjusted"][0] < 1e-6), bool(abs(found["difference"][0] - 10) < 4)
        (True, True)
        """
        sampled, confidence = claim(of) == "populations", checks.confidence(confidence)
        secret = not isinstance(other, Comparing)
        if secret and hasattr(other, "privacy"):
            raise parameter("other", "the release of a table, or a table", type(other).__name__)
        schema, places = self.schema, {name: place for place, name in enumerate(self.schema)}
        if secret:
            exact = counted_in(schema, other if isinstance(other, Iterator) else [other])
            names = [*schema]
        else:
            require_two(self, other)
            names = [name for name, column in schema.items() if other.schema.get(name) == column]

        def sides(name: str) -> tuple[Counted, Counted]:
            if secret:
                return counted(self._answers, places[name]), exact[places[name]]
            return counted(self._answers, places[name]), counted(other._answers, other.schema.names.index(name))

        rows = [] if sampled else [_records(self, None if secret else other, exact if secret else [], confidence)]
        for name in list(names):
            follows = schema.derived.get(places[name])
            root = name if follows is None else schema.names[follows.root]
            if root not in names:
                names.remove(name)
                continue
            onto = np.arange(schema[name].size) if follows is None else follows.levels
            one, two = sides(root)
            mass = np.bincount(onto, one.levels + two.levels).astype(float)
            for statistic, level, weights, among in statistics(schema[name], mass):
                (first, error), (second, another) = (
                    side.ratio(weights[onto], among[onto], sampled) for side in (one, two)
                )
                both = None if error is None or another is None else error + another
                named = {"column": name, "statistic": statistic, "level": level}
                rows.append(row(named, first, second, both, confidence))
        if not names:
            raise ParameterError("No column is alike in both releases. Hint: build both with the same schema.")
        left = [name for name in self.schema if name not in names]
        remarks = [f"Left out, as the releases describe them differently: {', '.join(map(repr, left))}."] * bool(left)
        return compared(rows, of, confidence, [SECRET] * secret + remarks)


def _records(one: Any, other: Any, exact: list[Counted], confidence: float) -> dict[str, object]:
    """The row on the numbers of records."""
    first = one._answers.total
    second, variance = (float(exact[0].levels.sum()), 0.0) if other is None else other._answers.total
    named = {"column": None, "statistic": "records", "level": None}
    return row(named, first.value, second, Error(first.variance + variance), confidence)
