"""Neighbours at ε = 1: the nearest of 50 groups, and both error rates of `is_near`.

*Groups.* 50 releases of 2,000 records each around centres in the unit cube, with all defaults. The truth is the group
with the least mean distance from the query; a case is clear if the second one is at least a fifth farther away.

*is_near.* For each query the crowd is set to its true soft count (then the answer must be True) and to twice that
(then it must be False). How often is it not so, over queries that the release can just decide? At ε = 0.1, where
noise matters.
"""

from __future__ import annotations

import sys

import numpy as np

from scumble.learn import PrivateNeighbors

GROUPS, MEMBERS, QUERIES = 50, 2_000, 400
RATES = (0.05, 0.2)
EPSILON = {2: 0.004, 8: 0.15}  # so little that noise matters


def groups(d: int, seed: int, delta: float) -> tuple[int, int]:
    """Right answers and clear cases."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(0.1, 0.9, (GROUPS, d))
    tables = [centre + rng.normal(0.0, 0.05, (MEMBERS, d)) for centre in centres]
    models = [PrivateNeighbors(delta=delta, bounds=(0, 1), random_state=seed).fit(X) for X in tables]
    Q = rng.uniform(size=(QUERIES, d))
    distance = np.column_stack([np.linalg.norm(Q[:, None] - X[None, :200], axis=2).mean(axis=1) for X in tables])
    order = np.sort(distance, axis=1)
    clear = order[:, 1] >= 1.2 * order[:, 0]
    found, _ = models[0].nearest(Q, groups=[model.release_ for model in models])
    return int(np.sum(found[clear, 0] == distance[clear].argmin(axis=1))), int(clear.sum())


def both_sides(d: int, runs: int, rate: float) -> tuple[float, float, int]:
    """How often `is_near` is wrong where the crowd is there, where it is not, and over how many decisions."""
    wrong, total = np.zeros(2), 0
    for run in range(runs):
        rng = np.random.default_rng(run)
        X = rng.uniform(0.2, 0.8, (5, d))[rng.integers(0, 5, 20_000)] + rng.normal(0.0, 0.06, (20_000, d))
        Q = np.clip(X[:300] + rng.normal(0.0, 0.05, (300, d)), 0.0, 1.0)
        model = PrivateNeighbors(epsilon=EPSILON[d], bounds=(0, 1), random_state=run).fit(X)
        truth = model.release_.kernel(Q, np.clip(X, 0.0, 1.0)).sum(axis=1)
        least = model.smallest_crowd(Q, error_rate=rate)
        can = (truth >= least) & (truth < 2.0 * least)
        for q, f in zip(Q[can], truth[can], strict=True):
            wrong[0] += not model.is_near(q[None, :], crowd=f, error_rate=rate)[0]
            wrong[1] += model.is_near(q[None, :], crowd=2.0 * f, error_rate=rate)[0]
        total += int(can.sum())
    return wrong[0] / max(total, 1), wrong[1] / max(total, 1), total


def main(runs: int = 5) -> None:
    print(f"{'d':>2} {'δ':>6} {'clear cases':>12} {'nearest first':>14}")
    for d in (2, 3, 8):
        for delta in (0.0, 1e-6):
            right, clear = np.sum([groups(d, seed, delta) for seed in range(runs)], axis=0)
            print(f"{d:>2} {delta:>6g} {clear:>12} {right / clear:>14.4f}", flush=True)
    print(f"\n{'d':>2} {'stated':>7} {'missed':>7} {'imagined':>9} {'decisions':>10}")
    for d in (2, 8):
        for rate in RATES:
            missed, imagined, total = both_sides(d, runs, rate)
            print(f"{d:>2} {rate:>7} {missed:>7.4f} {imagined:>9.4f} {total:>10}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
