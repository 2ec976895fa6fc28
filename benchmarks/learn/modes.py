"""Five planted modes in two and in eight dimensions, N = 100,000, ε = 1: found, and none invented?

A mode is found if the answer lies within half a bandwidth of it, and an answer is invented if it lies that near to
none. A tenth of the records is a uniform background; the modes differ in size and lie at least three bandwidths apart.
"""

from __future__ import annotations

import sys
from time import perf_counter

import numpy as np

from scumble.learn import PrivateModes

RUNS, RECORDS, MODES = 20, 100_000, 5


def planted(rng: np.random.Generator, d: int, n: int = RECORDS) -> tuple[np.ndarray, np.ndarray]:
    """Records in the unit cube, and the centres of their modes."""
    gap = 3.0 * bandwidth(d)
    while True:
        centres = rng.uniform(0.1, 0.9, (MODES, d))
        apart = np.linalg.norm(centres[:, None] - centres[None], axis=-1) + 9.0 * np.eye(MODES)
        if apart.min() > gap:
            break
    sizes = rng.dirichlet(np.full(MODES, 20.0))
    X = centres[rng.choice(MODES, n, p=sizes)] + rng.normal(0.0, 0.03, (n, d))
    X[: n // 10] = rng.uniform(size=(n // 10, d))
    return np.clip(X, 0.0, 1.0), centres


def bandwidth(d: int) -> float:
    """Of the default kernel, in units of the bounds."""
    return 0.09 * np.sqrt(d)


def judged(modes: np.ndarray, centres: np.ndarray, width: float) -> tuple[int, int, float]:
    """How many were found, how many invented, and the largest distance of a mode from its answer, in bandwidths."""
    if not len(modes):
        return 0, 0, np.inf
    apart = np.linalg.norm(modes[:, None] - centres[None], axis=-1) / width
    return int(np.sum(apart.min(axis=0) < 0.5)), int(np.sum(apart.min(axis=1) >= 0.5)), float(apart.min(axis=0).max())


def main(runs: int = RUNS) -> None:
    print(f"{'method':>8} {'d':>2} {'perfect':>8} {'found':>8} {'invented':>8} {'farthest':>9} {'seconds':>8}")
    for method in ("climb", "lp"):
        for d in (2, 8):
            found, invented, perfect, farthest, seconds = 0, 0, 0, 0.0, 0.0
            for run in range(runs):
                X, centres = planted(np.random.default_rng(run), d)
                start = perf_counter()
                model = PrivateModes(bounds=(0, 1), method=method, random_state=run).fit(X)
                seconds += perf_counter() - start
                f, i, far = judged(model.modes_, centres, model.release_.kernel.bandwidth)
                found, invented, farthest = found + f, invented + i, max(farthest, far)
                perfect += f == MODES and i == 0
            print(
                f"{method:>8} {d:>2} {perfect:>4}/{runs:<3} {found:>4}/{MODES * runs:<3} {invented:>8} "
                f"{farthest:>9.3f} {seconds / runs:>8.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
