"""The first page: where scumble is best, where a rival wins and by how much, and what was to be shown."""

from __future__ import annotations

from statistics import median

from benchmarks.paper.experiments import wang as wang_experiment
from benchmarks.paper.report.comparison import Contest, Measure, contest
from benchmarks.paper.report.density import RELATIVE
from benchmarks.paper.report.learning import ACCURACY, MSE
from benchmarks.paper.report.markdown import budget, percent, significant, squared, table, with_spread
from benchmarks.paper.report.methods import OURS, is_ours
from benchmarks.paper.report.rows import Rows
from benchmarks.paper.report.timing import preparation

PAPER_MINUTES = 13.0
"""The paper's own preparation on skin, in its table 3."""
RACE = "Private RACE, Algorithms 1 and 2"


def text(rows: Rows) -> str:
    parts = ["## In short\n", *_winners(rows), "### What was to be shown\n", _claims(rows)]
    return "\n".join(part for part in parts if part)


TASKS = (
    ("Densities, ε alone: scumble's mean relative error over that of the best rival", RELATIVE, True),
    ("Densities, (ε, δ): the same", RELATIVE, False),
    ("Classification, ε alone: scumble's accuracy less that of the best rival, in points", ACCURACY, True),
    ("Regression, (ε, δ): scumble's test error over that of the best rival", MSE, False),
    ("Regression, ε alone: the same", MSE, True),
)


def in_short(rows: Rows) -> str:
    """Two tables for docs/benchmarks.md: who is best how often, and the errors of densities."""
    wins = []
    for title, measure, pure in TASKS:
        found = _contests(rows, measure, pure)
        leads = [_lead(measure, one) for one in found.values() if _rival_wins(measure, one)]
        lost = (
            [significant(one) + (" points" if measure.larger else " times") for one in (median(leads), max(leads))]
            if leads
            else ["", ""]
        )
        wins.append([title.split(":")[0], f"{len(found) - len(leads)} of {len(found)}", *lost])
    errors = []
    for dataset in rows.datasets(RELATIVE.experiment):
        for epsilon in (0.1, 1.0):
            each = [contest(rows, RELATIVE, dataset, epsilon, pure=pure) for pure in (True, False)]
            cells = [
                (percent(one.our.mean), f"{percent(one.their.mean)} ({one.rival})") if one else ("", "") for one in each
            ]
            errors.append([dataset, f"{epsilon:g}", *cells[0], *cells[1]])
    heads = ["task, budget", "scumble best", "best rival ahead by, median", "at most"]
    of_errors = ["data", "ε", "scumble, %", "best rival, %", "scumble with δ, %", "best rival with δ, %"]
    return table(heads, wins) + "\n" + table(of_errors, errors)


def _winners(rows: Rows) -> list[str]:
    out = []
    for title, measure, pure in TASKS:
        found = _contests(rows, measure, pure)
        if found:
            epsilons = rows.epsilons(measure.experiment)
            lines = [
                [dataset, *(_shown(measure, found.get((dataset, epsilon))) for epsilon in epsilons)]
                for dataset in dict.fromkeys(dataset for dataset, _ in found)
            ]
            out += [f"**{title}.** {_sentence(measure, found)}\n", table(["", *map(budget, epsilons)], lines)]
    return [WHAT_IT_MEANS, *out] if out else []


WHAT_IT_MEANS = """\
Below 1 (for accuracy: above 0) scumble is best, in bold; where a rival is better, it is named. scumble takes part with
its defaults, rivals of densities with the best of their parameters in hindsight. Where a δ is allowed, a release that
leaves it unused also takes part. Methods without privacy, and those whose published noise does not keep its promise,
are left out.
"""
Contests = dict[tuple[str, float], Contest]


def _contests(rows: Rows, measure: Measure, pure: bool) -> Contests:
    found = {
        (dataset, epsilon): contest(rows, measure, dataset, epsilon, pure=pure)
        for dataset in rows.datasets(measure.experiment)
        for epsilon in rows.epsilons(measure.experiment)
    }
    return {place: one for place, one in found.items() if one is not None}


def _lead(measure: Measure, one: Contest) -> float:
    """Of the rival: how many points more, or how many times less error; above 0 or 1 it wins."""
    if measure.larger:
        return 100.0 * (one.their.mean - one.our.mean)
    return one.our.mean / one.their.mean


def _rival_wins(measure: Measure, one: Contest) -> bool:
    return _lead(measure, one) > (0.0 if measure.larger else 1.0)


def _sentence(measure: Measure, found: Contests) -> str:
    lost = {place: one for place, one in found.items() if _rival_wins(measure, one)}
    out = f"scumble is best in {len(found) - len(lost)} of {len(found)} cases."
    if lost:
        leads = {place: _lead(measure, one) for place, one in lost.items()}
        dataset, epsilon = max(leads, key=leads.__getitem__)
        unit = "points" if measure.larger else "times"
        middle, most = significant(median(leads.values())), significant(leads[dataset, epsilon])
        worst = f"{dataset}, ε = {epsilon:g}, {lost[dataset, epsilon].rival}"
        out += f" Where a rival wins, it does by {middle} {unit} at the median and {most} at most ({worst})."
    return out


def _shown(measure: Measure, one: Contest | None) -> str:
    if one is None:
        return "–"
    lead = _lead(measure, one)
    figure = f"{-lead:+.1f}".replace("-", "−") if measure.larger else significant(lead)
    return f"{figure} {one.rival}" if _rival_wins(measure, one) else f"**{figure}**"


# ---- what was to be shown ----


def _claims(rows: Rows) -> str:
    lines = [
        [claim, *check(rows)]
        for claim, check in (
            ("At ε ≥ 0.1, scumble is best or within 10 % of the best on skin and codrna", _near_the_best),
            ("At ε = 1, its relative error is at most half that of Algorithms 1 and 2, on all four sets", _half),
            ("AdaSSP gives what its author published for airfoil, within the spread", _published),
            (
                "Preparation on skin is 1,000 times faster than the paper's 13 minutes, and faster than every rival",
                _fast,
            ),
            ("The bound of Theorem 3 holds", _theorem),
        )
    ]
    return table(["", "so?", "measured"], lines, text=3)


Verdict = tuple[str, str]
NOT_RUN: Verdict = ("not run yet", "")


def _verdict(good: bool, measured: str) -> Verdict:
    return "yes" if good else "**no**", measured


def _near_the_best(rows: Rows) -> Verdict:
    worst: tuple[float, str] | None = None
    for pure in (True, False):
        for dataset in ("skin", "codrna"):
            for epsilon in rows.epsilons("density", dataset):
                one = contest(rows, RELATIVE, dataset, epsilon, pure=pure) if epsilon >= 0.1 else None
                if one is not None:
                    ratio = one.our.mean / one.their.mean
                    place = f"{dataset}, ε = {epsilon:g}, {'ε' if pure else '(ε, δ)'}: {one.rival}"
                    worst = max(worst or (0.0, ""), (ratio, place))
    if worst is None:
        return NOT_RUN
    return _verdict(worst[0] <= 1.1, f"at worst {significant(worst[0])} times the best rival ({worst[1]})")


def _half(rows: Rows) -> Verdict:
    found = []
    for dataset in rows.datasets("density"):
        cells = [rows.cell("density", dataset, method, 1.0, RELATIVE.name) for method in (OURS[0], RACE)]
        if cells[0] is not None and cells[1] is not None:
            found.append((cells[0].mean / cells[1].mean, dataset, cells))
    if len(found) < 4:
        return NOT_RUN
    shown = ", ".join(f"{name} {percent(our.mean)} % to {percent(their.mean)} %" for _, name, (our, their) in found)
    return _verdict(max(found)[0] <= 0.5, shown)


def _published(rows: Rows) -> Verdict:
    good, shown = True, []
    for (dataset, method, epsilon), figure in wang_experiment.PUBLISHED.items():
        cell = rows.cell("wang", dataset, method, epsilon, "mse")
        if cell is None:
            return NOT_RUN
        good &= abs(cell.mean - figure) <= cell.spread
        name = method if method != "AdaSSP" else f"ε = {epsilon:g}"
        shown.append(f"{name}: {figure} published, {with_spread(cell, squared)} here")
    return _verdict(good, "; ".join(shown))


def _fast(rows: Rows) -> Verdict:
    seconds = {method: cell.mean for method, cell in preparation(rows, "skin").items()}
    ours = {method: seconds.pop(method) for method in list(seconds) if is_ours(method)}
    if not ours or not seconds:
        return NOT_RUN
    rival, default = min(seconds, key=seconds.__getitem__), min(ours, key=ours.__getitem__)
    gain = PAPER_MINUTES * 60.0 / ours[default]
    others = [f"{method}: {significant(taken)} s" for method, taken in ours.items() if method != default]
    fastest = f"the fastest rival, {rival}: {significant(seconds[rival])} s"
    shown = f"{default}: {significant(ours[default])} s, {gain:,.0f} times faster; {'; '.join([*others, fastest])}"
    return _verdict(gain >= 1000.0 and ours[default] < seconds[rival], shown)


def _theorem(rows: Rows) -> Verdict:
    shares = [row["result"]["violations"] for row in rows.rows if "violations" in row["result"]]
    if not shares:
        return NOT_RUN
    return _verdict(max(shares) <= 0.05, f"at most {percent(max(shares))} % of the queries beyond it, 5 % allowed")
