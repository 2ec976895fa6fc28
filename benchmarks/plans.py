"""Is the plan good? Its choice against the best in hindsight, and its predicted error against the error seen.

    python -m benchmarks.plans --data FOLDER [--unbounded] [--write]

FOLDER holds tables, ``.csv``, ``.parquet`` or ``.arrow``; of each, the columns of numbers are read, standardized, and
rows that lack some left out; of long tables, 20,000 records. 200 more are held out as queries; the error is the mean of
|estimate − truth|/truth over them. Bandwidths are such that the median density at a query is 0.1 (wide), 0.03 and 0.003
(narrow). Up to three columns get bounds, those of the data, or with ``--wider TIMES`` so many times as wide: public
bounds mostly are wider than the data. With ``--unbounded`` none get any, as in ``Sketch(kernel, d)``: then there are no
grids, in hindsight neither.

*Planned* is what ``Sketch(kernel, d)`` counts and its release chooses from noisy facts, with the budget that they
leave. *Hindsight* is the least error of any number of rows from 8 to 8,192, and of any grid that the counted one can be
added up to, with the whole budget and the quietest law, chosen with the truth at hand. Hashing errors are those of real
sketches, and where a grid is published as rows, of rows of its cells; the mean over noise is exact (each answer's noise
is nearly normal).

The least of some eighty errors is a little lucky: it is chosen by the queries that it is judged on. The *fair* ratio
chooses by every other query and judges by the rest, and the other way round; the mean of the two is reported.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from math import pi, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

import scumble
from benchmarks import page
from scumble.counting import engine
from scumble.density.grid_cells import coarser, groups
from scumble.density.planned_release import typical_norm
from scumble.density.release_plan import DESIGN, SIZE, Menu, Rehashed
from scumble.density.spec import Spec
from scumble.privacy.budget import Budget, calibrate
from scumble.privacy.facts import Facts, divided

QUERIES, SEEDS, DRAWS, MOST, MOST_ROWS = 200, 1, 5, 20_000, 8192
COMMAND = "python -m benchmarks.plans"
DENSITIES = {"wide": 0.1, "middle": 0.03, "narrow": 0.003}
BUDGETS = [(epsilon, delta) for epsilon in (0.1, 1.0, 10.0) for delta in (0.0, 1e-6)]


def tables(folder: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Name and standardized numbers of each table."""
    for path in sorted(folder.iterdir()):
        if path.suffix == ".csv":
            with path.open() as file:
                first = file.readline()
            frame = pd.read_csv(path, sep=max(",;\t|", key=first.count))  # of one column, none: the first will do
        elif path.suffix == ".parquet":
            frame = pd.read_parquet(path)
        elif path.suffix == ".arrow":
            frame = pd.read_feather(path)
        else:
            continue
        numbers = frame.select_dtypes("number").dropna().to_numpy(float)
        numbers = numbers[:, numbers.std(axis=0) > 0][:, :25]
        numbers = numbers[np.random.default_rng(1).permutation(len(numbers))][: MOST + QUERIES]
        yield path.stem, (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)


def bandwidth(X: np.ndarray, Q: np.ndarray, density: float, power: int = 2) -> float:
    """The bandwidth that gives queries this median density."""
    low, high, some = 1e-5, 1e4, X[:4000]
    for _ in range(45):
        middle = sqrt(low * high)
        found = np.median(scumble.EuclideanKernel(middle, power)(Q, some).mean(axis=1))
        low, high = (middle, high) if found < density else (low, middle)
    return middle


def bounds_of(X: np.ndarray, wider: float) -> tuple[np.ndarray, np.ndarray]:
    """The bounds of the data, so many times as wide."""
    low, high = X.min(axis=0), X.max(axis=0)
    beyond = (wider - 1.0) * (high - low) / 2.0
    return low - beyond, high + beyond


def mean_errors(value: np.ndarray, truth: np.ndarray, variance: Any) -> np.ndarray:
    """E |value + noise − truth|/truth of each query, for normal noise."""
    off, sd = value - truth, np.sqrt(np.maximum(variance, 1e-12))
    mean = sd * sqrt(2 / pi) * np.exp(-0.5 * (off / sd) ** 2) + off * (1 - 2 * ndtr(-off / sd))
    return np.asarray(mean / truth)


def fair(planned: np.ndarray, hindsight: np.ndarray) -> float:
    """Planned over hindsight, (queries,) and (candidates, queries), where the best is chosen by other queries."""
    halves = slice(0, None, 2), slice(1, None, 2)
    best = [np.argmin(hindsight[:, half].mean(axis=1)) for half in halves]
    ratios = [planned[half].mean() / hindsight[k, half].mean() for k, half in zip(best[::-1], halves, strict=True)]
    return float(np.mean(ratios))


@lru_cache(maxsize=4096)
def whole(rows: int, epsilon: float, delta: float) -> float:
    """The variance of a counter's noise, with the whole budget."""
    return calibrate(rows, epsilon=epsilon, delta=delta).counter_variance


def answers(spec: Spec, counts: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """(rows, queries): for every R, R times what the first R rows answer."""
    parts, _ = spec.layout.read(Q, invalid="error")
    values = engine("cpu").sums(spec.layout.hasher, parts, counts) - counts[0].sum() / counts.shape[1]
    found: np.ndarray = np.cumsum(values / (1 - 1 / counts.shape[1]), axis=0)
    return found


class Rows:
    """Answers of the first R rows, without noise, for every R."""

    def __init__(self, kernel: Any, X: np.ndarray, Q: np.ndarray, seed: int) -> None:
        self.open = scumble.Sketch(kernel, X.shape[1], seed=seed, design="auto")
        self.spec = self.open.spec
        many = scumble.Sketch.from_spec(replace(self.spec, rows=MOST_ROWS)).update(X)
        self.sums, self.clumping, self.left = answers(many.spec, many.secret.counts, Q), None, SIZE
        self.norm = typical_norm(many.secret.counts[: self.spec.rows])
        self.sizes: list[Any] = [2**k for k in range(3, 14)]

    def error(self, size: int, truth: np.ndarray, variance: float) -> np.ndarray:
        return mean_errors(self.sums[size - 1] / size, truth, variance / size)

    def size_of(self, spec: Spec) -> int:
        return spec.rows

    def rows_of(self, size: int) -> int:
        return size


class Grids:
    """Answers of grids that a fine one is added up to, and of rows of its cells, without noise."""

    def __init__(self, kernel: Any, X: np.ndarray, Q: np.ndarray, seed: int, wider: float = 1.0) -> None:
        low, high = bounds_of(X, wider)
        self.open = scumble.Sketch(kernel, X.shape[1], seed=seed, bounds=(low.tolist(), high.tolist()), design="grid")
        self.spec, self.Q, self.n, self.low, self.high = self.open.spec, Q, len(X), low, high
        self.open.update(X)
        counts = self.open.secret.counts
        self.left = DESIGN
        menu = Menu(self.spec, Budget(1.0, 1e-6), self.left)
        fold, self.rows = menu.fold(), replace(self.spec, design="sobol", shape=None, rows=MOST_ROWS, buckets=1024)
        assert fold is not None
        self.norm = typical_norm(fold(counts[0]))
        self.clumping = typical_norm(counts) if menu.clumped else None
        self.sums: np.ndarray | None = None
        self.counts, self.known = counts, dict[Any, Any]()
        self.sizes: list[Any] = list(coarser(low, high, self.spec.shape or ()))

    def error(self, size: int | tuple[int, ...], truth: np.ndarray, variance: float) -> np.ndarray:
        if isinstance(size, int):
            if self.sums is None:
                self.sums = answers(self.rows, Rehashed(self.spec, self.rows)(self.counts[0]), self.Q)
            return mean_errors(self.sums[size - 1] / size, truth, variance / size)
        if size not in self.known:
            spec = replace(self.spec, shape=size, buckets=int(np.prod(size)))
            coarse = np.zeros((1, spec.buckets), np.int64)
            np.add.at(coarse[0], groups(self.low, self.high, self.spec.shape or (), size), self.counts[0])
            reader = spec.layout.reader(coarse, 1.0, (float(self.n), 0.0))
            found = reader.estimate(spec.layout.read(self.Q, invalid="error")[0])
            self.known[size] = found.value, found.noise_variance
        value, noise = self.known[size]
        return mean_errors(value, truth, noise * variance)

    def size_of(self, spec: Spec) -> int | tuple[int, ...]:
        return spec.rows if spec.shape is None else spec.shape

    def rows_of(self, size: tuple[int, ...]) -> int:
        return 1


def noisy(menu: Menu, n: int, norm: int, clumping: int | None, rng: np.random.Generator) -> Facts:
    """Facts as a release publishes them."""
    asking = divided(menu.budget, 1 + menu.clumped).facts.claim(1 + menu.clumped)
    of_count, of_norm = asking.count_variance or 0.0, asking.counter_variance
    draw = rng.laplace(0.0, np.sqrt(np.array([of_count, of_norm, of_norm]) / 2))
    told = None if clumping is None else round(clumping + draw[2])
    return Facts(round(n + draw[0]), of_count, round(norm + draw[1]), of_norm, told)


def judge(name: str, numbers: np.ndarray, wider: float | None = 1.0) -> Iterator[dict[str, Any]]:
    """One line for each kernel and budget; without bounds if `wider` is None."""
    Q, X = numbers[:QUERIES], numbers[QUERIES:]
    n, d = X.shape
    rng = np.random.default_rng(5)
    for width, density in DENSITIES.items():
        kernel = scumble.EuclideanKernel(bandwidth(X, Q, density), 2)
        truth = sum(kernel(Q, X[k : k + 20_000]).sum(axis=1) for k in range(0, n, 20_000))
        bounds = tuple(side.tolist() for side in bounds_of(X, wider)) if wider is not None and d <= 3 else None
        gridded = scumble.Sketch(kernel, d, bounds=bounds).spec.shape is not None
        worlds = [[Rows(kernel, X, Q, seed) for seed in range(SEEDS)]]
        if wider is not None and bounds is not None:
            worlds.append([Grids(kernel, X, Q, 0, wider)])  # type: ignore[list-item]
        mine = worlds[-1] if gridded else worlds[0]
        for epsilon, delta in BUDGETS:
            sizes = [(world, size) for world in worlds for size in world[0].sizes]
            hindsight = np.array(
                [
                    np.mean([one.error(size, truth, whole(one.rows_of(size), epsilon, delta)) for one in world], axis=0)
                    for world, size in sizes
                ]
            )
            best = int(np.argmin(hindsight.mean(axis=1)))
            budget = Budget(epsilon, delta)
            seen, told, taken = [], [], []
            for one in mine:
                menu = Menu(one.spec, budget, one.left)
                for _ in range(DRAWS):
                    spec, expected = menu.best([menu.seen(noisy(menu, n, one.norm, one.clumping, rng))])
                    seen.append(one.error(one.size_of(spec), truth, menu.noise_variance(spec.rows)))
                    told.append(expected)
                    taken.append(one.size_of(spec))
            chosen = sorted(taken, key=str)[len(taken) // 2]
            line = {"table": name, "n": n, "d": d, "kernel": width, "epsilon": epsilon, "delta": delta}
            line |= {"planned": float(np.mean(seen)), "chosen": str(chosen)}
            line |= {"hindsight": float(hindsight[best].mean()), "best": str(sizes[best][1])}
            line |= {"ratio": line["planned"] / line["hindsight"], "fair": fair(np.mean(seen, axis=0), hindsight)}
            yield {**line, "predicted": float(np.exp(np.mean(np.log(told))))}


def main() -> None:
    """Print a line for each case, and what they have in common."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    asked = parser.add_mutually_exclusive_group()
    asked.add_argument("--wider", type=float, default=1.0, metavar="TIMES", help="of the data's bounds (default: 1)")
    asked.add_argument("--unbounded", dest="wider", action="store_const", const=None, help="no bounds, and no grids")
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks.md")
    args = parser.parse_args()
    found = []
    print("table                     n   d kernel       ε δ     planned           hindsight          ratio predicted")
    for name, numbers in tables(args.data):
        for line in judge(name, numbers, args.wider):
            found.append(line)
            print(
                f"{name[:20]:20} {line['n']:7,} {line['d']:3} {line['kernel']:7} {line['epsilon']:5g} "
                f"{'1e-6' if line['delta'] else '0   '} {line['planned']:8.2%} {line['chosen']:>12} "
                f"{line['hindsight']:8.2%} {line['best']:>12} {line['ratio']:6.2f} {line['predicted']:8.2%}",
                flush=True,
            )
    told = summary(pd.DataFrame(found))
    print(f"\n{told}")
    if args.write:
        page.put("benchmarks.md", COMMAND, told)


def summary(frame: pd.DataFrame) -> str:
    """Markdown: the cases that some choice answers with an error below 100 %, by how wide the kernel is."""
    useful = frame[frame["hindsight"] < 1.0]
    lines = ["| kernel | cases | planned / best, median | at most | within 1.3 | predicted error off by, median |"]
    lines.append("|---" + "|---:" * 5 + "|")
    for width in [width for width in DENSITIES if width in {*useful["kernel"]}]:
        some = useful[useful["kernel"] == width]
        ratio, off = some["ratio"], np.exp(np.abs(np.log(some["predicted"] / some["planned"])))
        figures = f"{ratio.median():.2f} | {ratio.max():,.2f} | {np.mean(ratio <= 1.3):.0%} | {off.median():,.2f} times"
        lines.append(f"| {width} | {len(some)} | {figures} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
