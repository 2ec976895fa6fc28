"""One table of results, and who wins where: the same for densities, classification and regression."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.paper.report.markdown import Format, budget, table, with_spread
from benchmarks.paper.report.methods import competes, guarantee, is_ours
from benchmarks.paper.report.rows import Cell, Rows


class Measure(NamedTuple):
    """What is compared. `larger` says that more is better."""

    experiment: str
    name: str
    form: Format
    larger: bool = False


class Contest(NamedTuple):
    """scumble and the best rival, at one ε."""

    our: Cell
    rival: str
    their: Cell


def results(rows: Rows, measure: Measure, dataset: str) -> str:
    """All methods by all ε; then why some of them cannot run."""
    epsilons = rows.epsilons(measure.experiment, dataset)
    lines, reasons = [], []
    for method in rows.methods(measure.experiment, dataset):
        reason = rows.reasons.get((measure.experiment, dataset, method))
        if reason is not None and not rows.epsilons(measure.experiment, dataset, method)[1:]:
            reasons.append(f"- {method} cannot run here: {reason}")
            continue
        lines.append([method, guarantee(method), *_cells(rows, measure, dataset, method, epsilons)])
    out = table(["method", "guarantee", *map(budget, epsilons)], lines, text=2)
    return out + ("\n" + "\n".join(reasons) + "\n" if reasons else "")


def _cells(rows: Rows, measure: Measure, dataset: str, method: str, epsilons: list[float]) -> list[str]:
    constant = rows.unlimited(measure.experiment, dataset, method, measure.name) if len(epsilons) > 1 else None
    if constant is not None:
        return [with_spread(constant, measure.form)] + ["″"] * (len(epsilons) - 1)
    cells = [rows.cell(measure.experiment, dataset, method, epsilon, measure.name) for epsilon in epsilons]
    return [with_spread(cell, measure.form) for cell in cells]


def contest(rows: Rows, measure: Measure, dataset: str, epsilon: float, *, pure: bool) -> Contest | None:
    """scumble against the best rival, among methods that keep their promise; None if either is missing."""
    cells = {
        method: rows.cell(measure.experiment, dataset, method, epsilon, measure.name)
        for method in rows.methods(measure.experiment, dataset)
        if competes(method, pure=pure)
    }
    found = {method: cell for method, cell in cells.items() if cell is not None}
    ours = [cell for method, cell in found.items() if is_ours(method)]
    rivals = {method: cell for method, cell in found.items() if not method.startswith("scumble")}
    if not ours or not rivals:
        return None
    best = max if measure.larger else min
    rival = best(rivals, key=lambda method: rivals[method].mean)
    return Contest(best(ours, key=lambda cell: cell.mean), rival, rivals[rival])
