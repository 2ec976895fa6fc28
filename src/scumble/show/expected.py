"""What analysts will see of a table at several budgets, before any record is read: errors by ε, and one picture.

Errors come from privacy noise alone, as the planner divides a budget. A sum over the levels of a column with noise of
standard deviation s at each has an error of s √Σ(v − v̄)², over the values v of the levels; a mean has that and the
error of where values lie in their cells, divided by the records that it is of.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from scumble.columns.column import Column
from scumble.privacy.budget import Budget
from scumble.privacy.exact import show
from scumble.show.usefulness import Facts
from scumble.table.discovery import divided, usual
from scumble.table.planner import Planner
from scumble.table.spec import TableSpec

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
HALF = 1.96
"""Standard errors in half a 95 % interval."""
BARS = 12
"""Groups of the synthetic column in the picture; the k-th has a share as 1/k."""


@dataclass(frozen=True)
class Expected:
    """Half-widths of 95 % intervals at one budget."""

    epsilon: float
    count: float
    """Of the records at a level of a column, the median of all columns."""
    mean: float | None
    """Of the mean of the column of numbers; None if there is none."""
    group_mean: float | None
    """Of its mean in a group; None if no pair is measured."""
    pairs: int
    """Pairs of columns that are measured."""


@dataclass(frozen=True)
class Outlook:
    """The errors by budget, for as many records of a schema as are expected."""

    records: int
    number: str | None
    """The first column of numbers, whose mean is shown."""
    span: float
    """The width of its bounds."""
    by: str | None
    """The first column of words, by which it is grouped."""
    group: float
    """Records in a group."""
    pairs: int
    """All pairs of columns."""
    each: tuple[Expected, ...]

    def to_dict(self) -> Facts:
        """As JSON values."""
        return asdict(self)

    @property
    def headings(self) -> list[str]:
        """What the columns of the table are called."""
        mean = "mean" if self.number is None else f"mean of {self.number}"
        by = "" if self.by is None else f"{mean} by {self.by}"
        return ["epsilon", "count", *([mean] if self.number else []), *([by] if by else []), "pairs measured"]

    def rows(self) -> list[list[str]]:
        """The table, as text."""
        out = []
        for one in self.each:
            cells = [show(one.epsilon), _written(one.count)]
            cells += [_written(one.mean)] if self.number else []
            cells += [_written(one.group_mean)] if self.by else []
            out.append([*cells, f"{one.pairs:,} of {self.pairs:,}"])
        return out


def _written(error: float | None) -> str:
    return "inferred" if error is None else f"± {error:,.3g}" if error < 1000 else f"± {error:,.0f}"


def outlook(spec: TableSpec, n: int, budgets: dict[float, Budget]) -> Outlook:
    """The errors for so many records under each of these budgets, by ε."""
    budgets = {epsilon: divided(spec, budget)[0] for epsilon, budget in budgets.items()}
    spec = usual(spec)
    columns = {j: [*spec.schema.values()][j] for j in spec.counted}
    names = spec.schema.names
    numbers = [j for j, column in columns.items() if column.kind == "number"]
    number = next(iter(numbers), None)
    grouping = [j for j, column in columns.items() if not column.ordered and column.size > 1]
    by = next(iter(grouping), None) if number is not None else None
    group = n / (1 if by is None else columns[by].size)
    each = []
    for epsilon, budget in budgets.items():
        found = Planner(spec, budget, n).predicted(n)
        levels = dict(zip(spec.counted, found.levels, strict=True))
        mean = in_group = None
        if number is not None:
            values = _values(columns[number])
            cells, within = levels[number] * _spread(values) / n, _within(spec, number, found.singles) / n
            if by is not None and found.pairs:
                seen = values[:: max(1, -(-len(values) // max(1, found.plan.levels)))]
                in_cells = median(found.pairs) * _spread(seen) / group
                in_group = HALF * math.hypot(in_cells, within)
                cells = min(cells, in_cells / math.sqrt(n / group))  # of all groups together
            mean = HALF * math.hypot(cells, within)
        each.append(Expected(epsilon, HALF * median(levels.values()), mean, in_group, len(found.pairs)))
    named = [None if j is None else names[j] for j in (number, by)]
    low, high = (0.0, 0.0) if number is None else columns[number].limits
    return Outlook(n, named[0], high - low, named[1], group, len(spec.pairs), tuple(each))


def _values(column: Column) -> np.ndarray:
    found: np.ndarray = np.asarray(column.representative, float)
    known: np.ndarray = found[np.isfinite(found)]
    return known


def _within(spec: TableSpec, number: int, singles: tuple[float, ...]) -> float:
    """The error of a sum due to where in their cells values lie, which digits tell (`columns.cuts.Positions`)."""
    positions = [*spec.schema.values()][number].positions
    first = len(singles) - len(spec.counted) - len(spec.placed)
    variance = 0.0
    for at, (column, digit) in enumerate(spec.placed, first):
        if column == number and positions is not None:
            of_kinds = (_spread(positions.distances(kind)[digit]) for kind in range(len(positions.widths)))
            variance += spec.classes * sum((singles[at] * each) ** 2 for each in of_kinds)
    return math.sqrt(variance)


def _spread(values: np.ndarray) -> float:
    return math.sqrt(float(((values - values.mean()) ** 2).sum()))


def picture(found: Outlook, seed: int = 0) -> Figure:
    """Groups of a synthetic column with simulated noise, at the least, the middle and the largest ε; below, errors."""
    from scumble.show.plots import INK, LINES, SECOND, literal, new_figure, plain, thousands

    figure = new_figure(9.6, 6.6)
    above, below = figure.subfigures(2, 1, squeeze=False)[:, 0]
    shown = [found.each[0], found.each[len(found.each) // 2], found.each[-1]]
    true = found.records / np.arange(1, BARS + 1) / sum(1 / k for k in range(1, BARS + 1))
    generator = np.random.default_rng(seed)  # synthetic groups: nothing is protected by this noise
    all_axes = above.subplots(1, len(shown), sharey=True)
    for axes, one in zip(all_axes, shown, strict=True):
        noisy = np.maximum(true + generator.normal(0.0, one.count / HALF, BARS), 0.0)
        axes.bar(range(BARS), noisy, color=INK, yerr=one.count, ecolor=SECOND, error_kw={"lw": 1})
        axes.plot(range(BARS), true, "_", color=LINES[1], ms=14, mew=2)
        axes.set_title(f"ε = {show(one.epsilon)}", fontsize=10, color=INK)
        axes.set_xticks([])
        axes.set_ylim(bottom=0.0)
        thousands(axes.yaxis, records=True)
        plain(axes)
    all_axes[0].set_ylabel("records in a group", fontsize=10, color=INK)
    above.supxlabel(
        "A synthetic column: bars with simulated noise and 95 % intervals; the dashes are the truth", fontsize=10
    )
    axes = below.subplots()
    lines: list[tuple[str, str, float]] = [("a count, of all records", "count", found.records)]
    if found.number is not None:
        lines.append((f"the {found.headings[2]}, of the column's range", "mean", found.span))
    if found.by is not None:
        lines.append((f"the {found.headings[3]}, of the column's range", "group_mean", found.span))
    epsilons = [one.epsilon for one in found.each]
    for (name, key, whole), color in zip(lines, LINES, strict=False):
        errors = [math.nan if (error := getattr(one, key)) is None else error / whole for one in found.each]
        axes.plot(epsilons, errors, marker="o", color=color, label=literal(name))
    axes.set(xscale="log", yscale="log", xlabel="ε", ylabel="half of a 95 % interval")
    axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.2g} %")
    axes.set_xticks(epsilons, [show(epsilon) for epsilon in epsilons])
    axes.legend(frameon=False, fontsize=10)
    plain(axes)
    figure.suptitle(f"What {found.records:,} records will show", fontsize=12, color=INK)
    return figure
