"""How often `release.compare` finds a difference where there is none, and where there is one.

Pairs of tables from one population, pairs of releases of one and the same table, and pairs whose populations differ by
a shift of 0.1 standard deviations in both numbers; five columns, 20,000 records, ε = 1. For comparison, Welch's test on
the ages of synthetic rows of some of the same releases, as many as records, which knows nothing of the noise::

    python -m benchmarks.comparing --pairs 1000
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable

import numpy as np
from scipy import stats

import scumble

LEVEL, SHIFT = 0.05, 0.1
BUDGETS = {"ε = 1": {"epsilon": 1.0}, "(1, 1e-6)": {"epsilon": 1.0, "delta": 1e-6}}
TOWNS = list("abcdefgh")
SCHEMA = scumble.Schema(
    age=scumble.Number(17, 90, whole=True),
    income=scumble.Number(0, 200_000),
    sex=scumble.Category(["f", "m"], other=False, missing=False),
    town=scumble.Category(TOWNS, other=False, missing=False),
    smoker=scumble.Boolean(),
)
EMPTY = scumble.TableSketch(SCHEMA)
Table = dict[str, np.ndarray]


def people(rng: np.random.Generator, records: int, shift: float = 0.0) -> Table:
    """A town's people: age nearly normal, income log-normal, both moved by so many standard deviations."""
    return {
        "age": np.clip(np.rint(rng.normal(45 + 15 * shift, 15, records)), 17, 90).astype(int),
        "income": np.minimum(np.exp(rng.normal(10 + 0.6 * shift, 0.6, records)), 200_000),
        "sex": rng.choice(["f", "m"], records),
        "town": rng.choice(TOWNS, records, p=np.arange(8, 0, -1) / 36),
        "smoker": rng.random(records) < 0.2,
    }


def released(table: Table, budget: dict[str, float]) -> scumble.TableRelease:
    """Its release."""
    return EMPTY.empty().update(table).release(**budget)


def found(
    pair: Callable[[], tuple[Table, Table]], pairs: int, budget: dict[str, float], of: str, naive: int
) -> dict[str, float]:
    """How often p < .05, by what is compared; how often any corrected p-value is; and for the first `naive` pairs, how
    often that of Welch's test on synthetic rows is."""
    hits: dict[str, list[float]] = defaultdict(list)
    for k in range(pairs):
        tables = pair()
        one, two = (released(table, budget) for table in tables)
        if k < naive:
            ages = (each.sample(len(tables[0]["age"]), seed)["age"] for seed, each in enumerate((one, two), 2 * k))
            hits["mean age, Welch on rows"].append(stats.ttest_ind(*ages, equal_var=False).pvalue < LEVEL)
        rows = one.compare(two, of=of)
        for (column, kind), each in rows.groupby(["column", "statistic"]):
            hits[f"{kind} {column}" if kind in ("mean", "rank") else str(kind)] += [*(each["p_value"] < LEVEL)]
            if kind in ("mean", "rank"):
                hits[f"{kind} {column}, corrected"] += [*(each["p_adjusted"] < LEVEL)]
        hits["all rows"] += [*(rows["p_value"] < LEVEL)]
        hits["any row, corrected"].append(bool((rows["p_adjusted"] < LEVEL).any()))
    return {name: float(np.mean(each)) for name, each in hits.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng, n = np.random.default_rng(args.seed), args.records
    same = people(rng, n)
    cases: dict[str, tuple[Callable[[], tuple[Table, Table]], int, str]] = {
        "one population": (lambda: (people(rng, n), people(rng, n)), args.pairs, "populations"),
        "one table": (lambda: (same, same), args.pairs // 4, "tables"),
        "shift of 0.1 sd": (lambda: (people(rng, n), people(rng, n, SHIFT)), args.pairs // 5, "populations"),
    }
    for budget, money in BUDGETS.items():
        for name, (pair, pairs, of) in cases.items():
            start = time.process_time()
            pairs = pairs if money is BUDGETS["ε = 1"] else pairs // 4
            rates = found(pair, pairs, money, of, max(pairs // 20, 2))
            print(f"\n{budget}, {name}, of {of}: {time.process_time() - start:.0f} s of CPU", flush=True)
            for what, rate in rates.items():
                print(f"  {what:<28} {rate:.4f}", flush=True)


if __name__ == "__main__":
    main()
