"""A year of days, published every night: how noisy totals, windows and single days are, compared with rivals.

Ours are real streams, sixteen rows of 256 counters on synthetic records, and what is measured is what was published
less the truth. Rivals have the same budgets: daily releases (a stream's own method, added up), plain binary trees, and
with δ the best dense factorization that is known (`benchmarks.optimum`). All in units of the noise of a single release
with the same budget and the same law::

    python -m benchmarks.streams --optimum 365=optimum-365.npy --optimum 52=optimum-52.npy
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np

import scumble
from benchmarks import page
from scumble.privacy.budget import Budget

COMMAND = "python -m benchmarks.streams"
ROWS, BUCKETS = 16, 256
BUDGETS = {"(1, 1e-6)": {"epsilon": 1.0, "delta": 1e-6}, "ε = 1": {"epsilon": 1.0}}
KERNEL = scumble.EuclideanKernel(1.0)
SIZE = {"rows": ROWS, "buckets": BUCKETS, "design": "iid", "count_share": 0}
PICTURE = "docs/pictures/streams.svg"

Errors = np.ndarray
"""The error of the running total: (periods, counters)."""


def day(number: int) -> np.ndarray:
    """A day's records: more in summer, fewer on Sundays."""
    rng = np.random.default_rng(number)
    records = int(200 * (1 + 0.5 * math.sin(2 * math.pi * number / 365)) * (0.5 if number % 7 == 6 else 1.0))
    return rng.normal(0.0, 3.0, (records, 1))


def streamed(method: str, periods: int, money: dict[str, float]) -> tuple[Errors, float]:
    """A real stream: the error of each running total, and the noise of a single release."""
    stream = scumble.Stream(KERNEL, 1, periods=periods, method=method, **money, **SIZE)
    truth = scumble.Sketch(KERNEL, 1, **{name: value for name, value in SIZE.items() if name != "count_share"})
    errors = np.empty((periods, ROWS * BUCKETS))
    for number in range(periods):
        stream.update(day(number))
        truth.update(day(number))
        errors[number] = (stream.close_period().counts - truth.secret.counts).ravel()
    return errors, _single(money)


def _single(money: dict[str, float]) -> float:
    law = "discrete-gaussian" if "delta" in money else "discrete-laplace"
    return math.sqrt(Budget.of(**money, count_share=0).claim(ROWS, mechanism=law).counter_variance)


def tree(periods: int, money: dict[str, float]) -> tuple[Errors, float]:
    """A plain binary tree: every node with noise of its own; a total is the sum of the nodes that make it up."""
    levels = math.floor(math.log2(periods)) + 1  # of nodes that are ever complete
    single, rng = _single(money), np.random.default_rng(1)
    gaussian = "delta" in money
    wide = single * (math.sqrt(levels) if gaussian else levels)
    size = ROWS * BUCKETS
    draw: Callable[[], np.ndarray] = (
        (lambda: rng.normal(0.0, wide, size)) if gaussian else (lambda: rng.laplace(0.0, wide / math.sqrt(2), size))
    )
    nodes: dict[tuple[int, int], np.ndarray] = {}
    errors = np.zeros((periods, size))
    for last in range(1, periods + 1):
        begin = 0
        for level in reversed(range(levels)):
            if (last >> level) & 1:
                errors[last - 1] += nodes.setdefault((level, begin), draw())
                begin += 1 << level
    return errors, single


def factored(path: str, money: dict[str, float]) -> tuple[Errors, float]:
    """A dense triangle with Gaussian noise."""
    triangle, rng = np.load(path), np.random.default_rng(2)
    single = _single(money)
    wide = single * math.sqrt((triangle**2).sum(axis=0).max())
    noise = rng.normal(0.0, wide, (len(triangle), ROWS * BUCKETS))
    return np.cumsum(np.linalg.solve(triangle, noise), axis=0), single


def figures(errors: Errors, single: float) -> dict[str, float]:
    """Root mean squares over time and counters, relative to a single release."""

    def root(of: np.ndarray) -> float:
        return float(np.sqrt((of**2).mean()) / single)

    start = np.vstack([np.zeros((1, errors.shape[1])), errors])
    worst = float(np.sqrt((errors**2).mean(axis=1)).max() / single)
    return {
        "total": root(errors),
        "worst": worst,
        "window of 7": root(start[7:] - start[:-7]),
        "one": root(np.diff(start, axis=0)),
    }


def main() -> None:
    """Measure, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--optimum", action="append", default=[], metavar="T=FILE.npy")
    parser.add_argument("--periods", type=int, nargs="*", default=[365, 52])
    parser.add_argument("--picture", default=PICTURE)
    args = parser.parse_args()
    optimum = dict(one.split("=", 1) for one in args.optimum)
    found, curves = {}, {}
    for periods in args.periods:
        for title, money in BUDGETS.items():
            ours = "toeplitz" if "delta" in money else "bridge"
            ways = {"`scumble.Stream`": streamed(ours, periods, money)}
            ways["daily releases, added up"] = streamed("daily", periods, money)
            ways["binary tree"] = tree(periods, money)
            if "delta" in money and str(periods) in optimum:
                ways["dense optimum (jax-privacy)"] = factored(optimum[str(periods)], money)
            for name, (errors, single) in ways.items():
                found[periods, title, name] = figures(errors, single)
                curves[periods, title, name] = np.sqrt((errors**2).mean(axis=1)) / single
                print(
                    f"{periods} periods, {title:<10} {name:<30}",
                    {k: round(v, 2) for k, v in figures(errors, single).items()},
                )
    page.put("benchmarks.md", COMMAND, table(found))
    _draw(curves, args.periods[0], args.picture)


def table(found: dict[tuple[int, str, str], dict[str, float]]) -> str:
    """Markdown: methods by budgets and questions."""
    asked = {"total": "total", "window of 7": "last 7", "one": "one"}
    heads = [f"{title}: {name}" for title in BUDGETS for name in asked.values()]
    lines = [f"| | {' | '.join(heads)} |", "|---" + "|---:" * len(heads) + "|"]
    for periods, name in dict.fromkeys((periods, name) for periods, _, name in found):
        each = [found.get((periods, title, name), {}).get(key) for title in BUDGETS for key in asked]
        cells = ["–" if value is None else f"{value:.2f}" for value in each]
        lines.append(f"| {periods} periods, {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _draw(curves: dict[tuple[int, str, str], np.ndarray], periods: int, path: str) -> None:
    from scumble.show.plots import INK, LINES, new_figure, plain, save

    figure = new_figure(10.0, 4.2)
    for axes, title in zip(figure.subplots(1, 2, sharey=True), BUDGETS, strict=True):
        lines = {name: curve for (T, budget, name), curve in curves.items() if (T, budget) == (periods, title)}
        for color, (name, curve) in zip(LINES, lines.items(), strict=False):
            axes.plot(np.arange(1, len(curve) + 1), curve, color=color, linewidth=1.6, label=name)
        axes.set(xlabel="day", ylabel="noise of the running total, times a single release's", ylim=(0.0, 26.0))
        axes.set_title(f"{periods} days, {title}", fontsize=10, color=INK)
        axes.legend(frameon=False, fontsize=8)
        axes.label_outer()
        plain(axes)
    save(figure, path)


if __name__ == "__main__":
    main()
