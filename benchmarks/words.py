"""How many words are found at equal (ε, δ): scumble's threshold, weighted Gaussian selection, and DP-SIPS.

``python -m benchmarks.words seattlepets.csv:animal_name People.csv:birthCity train.csv:text --split 1 10`` prints a
row for each set of words (``csv/openintro`` and ``csv/Lahman`` of Rdatasets, ``banking_data`` of PolyAI's
task-specific-datasets). With a column `text`, each row is a person with so many of its words. The rivals see a person's
distinct words at once; scumble sees records, and takes a person's to be the most that there may be.

- Weighted Gaussian (Gopi et al. 2020; Google's partition selection): a person with s words adds 1/√s to each.
- DP-SIPS (Swanberg et al. 2023): three rounds of that, with 5, 15 and 80 % of the budget; words that are found leave.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
from collections import Counter

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from scumble.gate.words import Words, claim_of_words, publish_words
from scumble.privacy.budget import Budget

People = list[list[str]]


def people_in(source: str, most: int) -> tuple[str, People]:
    """Each person's distinct words, `most` of them drawn at random."""
    path, _, column = source.rpartition(":")
    rng = np.random.default_rng(0)
    with open(path, encoding="utf8", newline="") as file:
        cells = [row[column] for row in csv.DictReader(file) if row[column] not in ("", "NA")]
    whole = [sorted({*cell.lower().split()}) if column == "text" else [cell] for cell in cells]
    return column, [[words[k] for k in rng.permutation(len(words))[:most]] for words in whole]


def ours(people: People, epsilon: float, delta: float, most: int) -> int:
    words = Words().count(word for own in people for word in own)
    claim = claim_of_words(Budget(epsilon, delta, records_per_person=most), 1)
    return len(publish_words([words], claim, "benchmark")[0])


def sigma_of(epsilon: float, delta: float) -> float:
    """The analytic Gaussian mechanism for L2 = 1 (Balle & Wang 2018)."""

    def excess(sigma: float) -> float:
        a, b = 0.5 / sigma, epsilon * sigma
        return float(norm.cdf(a - b) - math.exp(epsilon) * norm.cdf(-a - b)) - delta

    return float(brentq(excess, 0.05, 1e4))


def weighted(people: People, sigma: float, delta: float, most: int, rng: np.random.Generator) -> set[str]:
    """Words whose noisy weight passes the threshold: that of the new words of one person passes with probability δ."""
    weights = Counter[str]()
    for own in people:
        for word in own:
            weights[word] += 1 / math.sqrt(len(own))  # type: ignore[assignment]
    sizes = range(1, most + 1)
    least = max(1 / math.sqrt(j) + sigma * norm.isf(-math.expm1(math.log1p(-delta) / j)) for j in sizes)
    noise = rng.normal(0, sigma, len(weights))
    return {word for (word, weight), z in zip(weights.items(), noise, strict=True) if weight + z >= least}


def sips(people: People, epsilon: float, delta: float, most: int, rng: np.random.Generator) -> int:
    found, sigma = set[str](), sigma_of(epsilon, delta / 2)
    for share in (0.05, 0.15, 0.8):  # of μ², which adds up
        found |= weighted(people, sigma / math.sqrt(share), share * delta / 2, most, rng)
        people = [left for own in people if (left := [word for word in own if word not in found])]
    return len(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", nargs="+")
    parser.add_argument("--split", nargs="+", type=int, default=[1, 10])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=1e-6)
    parser.add_argument("--runs", type=int, default=5)
    asked, rng = parser.parse_args(), np.random.default_rng()
    print(
        "| words | persons | distinct | words of a person | scumble | weighted Gaussian | DP-SIPS |\n"
        "|---|--:|--:|--:|--:|--:|--:|"
    )
    for source in asked.source:
        for most in asked.split if source.endswith(":text") else [1]:
            name, people = people_in(source, most)
            budget = (asked.epsilon, asked.delta)
            sigma = sigma_of(asked.epsilon, asked.delta / 2)
            runs = [
                (
                    ours(people, *budget, most),
                    len(weighted(people, sigma, asked.delta / 2, most, rng)),
                    sips(people, *budget, most, rng),
                )
                for _ in range(asked.runs)
            ]
            means = [f"{statistics.mean(run):,.0f}" for run in zip(*runs, strict=True)]
            distinct = len({word for own in people for word in own})
            print(f"| {name} | {len(people):,} | {distinct:,} | {most} | {' | '.join(means)} |", flush=True)


if __name__ == "__main__":
    main()
