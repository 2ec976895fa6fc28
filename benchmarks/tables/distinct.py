"""Counts of distinct values: scumble's sketch, Sketch-Flip-Merge and a noisy HyperLogLog, all for one ε.

    python -m benchmarks.tables.distinct [--trials 100]

Each sketch is drawn from its law for so many values, made private by the whole of ε (δ = 0), and estimated by maximum
likelihood. Sketch-Flip-Merge (Hehir, Ting & Cormode 2023) flips each bit of a PCSA bitmap of 4,096 buckets and 24
levels. The noisy HyperLogLog has 4,096 registers, each replaced by a random one as randomized response asks. Writes the
table in docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np

from benchmarks import page
from scumble.columns.distinct import BUCKETS, CHANCES, LEVELS
from scumble.privacy.noise import discrete_laplace
from scumble.table.distinct import TRIED, estimated

COMMAND = "python -m benchmarks.tables.distinct"
SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
EPSILONS = (0.1, 1.0)
RIVAL_BUCKETS, RIVAL_LEVELS = 4096, 24
HALVES = np.append(0.5 ** np.arange(1, RIVAL_LEVELS), 0.5 ** (RIVAL_LEVELS - 1))
"""The chance of each level of the rivals."""
GRID = TRIED[(TRIED > 1) & (TRIED < 1e9)]


def occupied(n: int, chances: np.ndarray, buckets: int, generator: np.random.Generator) -> np.ndarray:
    """For each level the number of occupied buckets."""
    cells = np.repeat(chances / buckets, buckets)
    found: np.ndarray = (generator.multinomial(n, cells).reshape(len(chances), -1) > 0).sum(axis=1)
    return found


def scumbled(n: int, epsilon: float, generator: np.random.Generator) -> float:
    """Occupied buckets with discrete Laplace noise."""
    noisy = occupied(n, CHANCES, BUCKETS, generator) + discrete_laplace(1 / epsilon, LEVELS)
    found = estimated(noisy, 2 / epsilon**2, laplace=True, records=(1e9, 0.0), confidence=0.95)
    return found.value


def flipped(n: int, epsilon: float, generator: np.random.Generator) -> float:
    """Sketch-Flip-Merge: of each level, how many bits are 1 is all that its likelihood needs."""
    chance = 1 / (1 + math.exp(epsilon))
    ones = occupied(n, HALVES, RIVAL_BUCKETS, generator)
    shown = generator.binomial(ones, 1 - chance) + generator.binomial(RIVAL_BUCKETS - ones, chance)
    there = -np.expm1(-GRID[:, None] * (HALVES / RIVAL_BUCKETS))
    share = chance + (1 - 2 * chance) * there
    likely = (shown * np.log(share) + (RIVAL_BUCKETS - shown) * np.log1p(-share)).sum(axis=1)
    return float(GRID[likely.argmax()])


def responding(n: int, epsilon: float, generator: np.random.Generator) -> float:
    """HyperLogLog with registers by randomized response: their histogram is all that its likelihood needs."""
    values = RIVAL_LEVELS + 1
    drawn = np.ceil(np.log2(n / RIVAL_BUCKETS / generator.exponential(size=RIVAL_BUCKETS)))
    registers = np.clip(drawn, 0, RIVAL_LEVELS).astype(np.int64)
    random = generator.random(RIVAL_BUCKETS) < values / (values - 1 + math.exp(epsilon))
    registers[random] = generator.integers(0, values, int(random.sum()))
    shown = np.bincount(registers, minlength=values)
    upto = np.exp(-GRID[:, None] / RIVAL_BUCKETS * 0.5 ** np.arange(RIVAL_LEVELS))
    share = np.diff(upto, axis=1, prepend=0.0, append=1.0)
    kept = (math.exp(epsilon) - 1) / (values - 1 + math.exp(epsilon))
    likely = np.log(kept * share + (1 - kept) / values) @ shown
    return float(GRID[likely.argmax()])


Sketch = Callable[[int, float, np.random.Generator], float]
SKETCHES: dict[str, tuple[Sketch, int]] = {
    "**scumble**": (scumbled, 8 * (LEVELS + 1)),
    "Sketch-Flip-Merge": (flipped, RIVAL_BUCKETS * RIVAL_LEVELS // 8),
    "noisy HyperLogLog": (responding, RIVAL_BUCKETS * 5 // 8),
}
"""Each with the bytes that it publishes."""


def measure(trials: int) -> str:
    """Markdown: the root of the mean squared relative error."""
    generator = np.random.default_rng(1)
    lines = [f"| ε | sketch | bytes | {' | '.join(f'{n:,}' for n in SIZES)} |", "|---:|---" + "|---:" * 6 + "|"]
    for epsilon in EPSILONS:
        for name, (sketch, size) in SKETCHES.items():
            errors = [
                math.sqrt(np.mean([(sketch(n, epsilon, generator) / n - 1) ** 2 for _ in range(trials)])) for n in SIZES
            ]
            shown = (f"{error:.1%}" if error < 1 else "over 100%" for error in errors)
            lines.append(f"| {epsilon:g} | {name} | {size:,} | {' | '.join(shown)} |")
    return "\n".join(lines)


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--trials", type=int, default=100)
    found = measure(parser.parse_args().trials)
    print(found)
    page.put("benchmarks.md", COMMAND, found)


if __name__ == "__main__":
    main()
