"""From the exact views of a table to a release: how the budget is divided, and which levels pairs tell apart.

What is decided before the noise is public: the schema, the budget, and roughly how many records there are, if the
curator says so. Then single columns are published. From their noisy numbers, as anybody could, it is read how many
levels an axis bears and which they are; pairs are added up into these groups, and published.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.privacy.laws import LAWS
from scumble.releasing.secret import Secret
from scumble.releasing.spending import Prepaid
from scumble.releasing.steps import Groups, PublishedRows, publish_in_steps
from scumble.tabular.evidence import Grouped
from scumble.tabular.release import TableRelease
from scumble.tabular.spec import TableSpec
from scumble.views import budgeting
from scumble.views.grouping import Column, groups

Floats = npt.NDArray[np.float64]

DEFAULT_RECORDS = 100_000
"""What a plan reckons with, if nobody says how many there are."""
COUNT_SHARE = Fraction(1, 100)
RARE = 0.01
"""Classes that hold less than this of the records do not decide how fine the views are."""


def publish(
    secret: Secret,
    spec: TableSpec,
    budget: Budget,
    payer: Account | Prepaid | None = None,
    *,
    n: int | None = None,
    keep: bool = False,
) -> TableRelease:
    """Publish the views of a table, singles first, and give up the exact counters."""
    shares = shares_of(spec, budget, n)
    found: list[Grouped] = []

    def choose(public: PublishedRows) -> Groups:
        grouped = grouped_by(spec, public, budget, shares)
        found.append(grouped)
        places = {pair: spec.singles + number for number, pair in enumerate(spec.pairs)}
        return {places[pair]: grouped.cells(pair) for pair in grouped.pairs}

    singles = range(spec.singles)
    second = any(shares[spec.singles :])
    (published,) = publish_in_steps(
        [secret],
        budget,
        payer,
        shares=shares,
        first=list(singles),
        choose=choose if second else None,
        keep=keep,
    )
    grouped = found[0] if found else Grouped(spec, tuple(np.arange(int(axis.max()) + 1) for axis in spec.axes), ())
    return TableRelease(
        grouped,
        np.concatenate([row.counts for row in published.rows]),
        published.privacy,
        noisy_count=published.noisy_count,
        count_variance=published.count_variance,
        identity=published.identity,
    )


def claim_shares(spec: TableSpec, budget: Budget, n: int | None = None) -> tuple[int, list[Fraction]]:
    """How many rows are paid for, and their shares: what the price of a release hangs on."""
    paid = [share for share in shares_of(spec, budget, n) if share]
    return len(paid), paid


def shares_of(spec: TableSpec, budget: Budget, n: int | None = None) -> list[Fraction]:
    """What each row gets of the budget: decided by the schema, the budget and a public guess of the size alone."""
    law = alone(budget, spec.rows)
    planned = budgeting.plan((n or DEFAULT_RECORDS) / spec.classes, len(spec.counted), law)
    lengths = [length // spec.classes for length in spec.lengths]
    own = law.shares(lengths[: spec.singles], planned.singles)
    if not planned.pairs or not spec.pairs:
        return [*map(_simple, own), *[Fraction(0)] * len(spec.pairs)]
    most = max(planned.levels, 2)
    cells = [math.prod(min(size, most) for size in shape[len(shape) - 2 :]) for shape in spec.shapes[spec.singles :]]
    return [*map(_simple, own), *map(_simple, law.shares(cells, planned.pairs))]


def alone(budget: Budget, rows: int) -> budgeting.Noise:
    """The budget as one view alone would have it, with noise of the law that so many rows get."""
    calibration = replace(budget, count_share=0).calibrate(rows)
    scale = float(calibration.counter_scale)
    if calibration.law.pure:
        return budgeting.Noise("laplace", scale / rows)
    return budgeting.Noise("gaussian", scale / math.sqrt(rows))


def grouped_by(spec: TableSpec, public: PublishedRows, budget: Budget, shares: Sequence[Fraction]) -> Grouped:
    """The groups of levels that pairs bear, by the noisy single columns."""
    counts = {row.row: row.counts.astype(float) for row in public.rows}
    scales = public.privacy.row_scales[spec.singles :]
    deviation = math.sqrt(LAWS[public.privacy.mechanism].variance(sorted(scales)[len(scales) // 2]))
    bearable = math.sqrt(max(_records(spec, counts, public), 0.0) / max(deviation, 1e-3))
    most = max(int(bearable), 2)
    first = spec.singles - len(spec.counted)
    found = [np.zeros(int(axis.max()) + 1, np.int64) for axis in spec.axes]
    for number, j in enumerate(spec.counted):
        column, axis = list(spec.schema.values())[j], spec.axes[j]
        size = int(axis.max()) + 1
        alone = counts[first + number].reshape(spec.classes, -1).sum(axis=0)
        line = size - column.missing if column.ordered else 0
        found[j] = groups(Column(size, ordered=line), np.bincount(axis, alone).astype(float), most)
    return Grouped(spec, tuple(found), spec.pairs)


def _records(spec: TableSpec, counts: dict[int, Floats], public: PublishedRows) -> float:
    """About how many records a set of views has."""
    if spec.place is not None:
        each = counts[0]
        often = each[each > RARE * each.sum()]
        return float(often.mean()) if len(often) else 0.0
    if public.noisy_count is not None:
        return float(public.noisy_count)
    return float(np.median([counts[row].sum() for row in range(spec.singles)]))


def _simple(share: float) -> Fraction:
    """A power of √2 or so: views that are nearly alike get the same noise, so that a claim stays short."""
    return Fraction(round(2**20 * 2 ** (round(2 * math.log2(share)) / 2)), 2**20)
