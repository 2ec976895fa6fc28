"""What refining leaves of the hashing error: measured with hardly any noise, and what the plan expects.

    python -m benchmarks.refining [--rows 256 1024] [--only nyc codrna]

The paper's sets with its kernels (:mod:`benchmarks.paper.densities`), Sobol rows of 1,024 buckets, ε = 10⁶; the
mean relative error of the density at 1,000 held-out queries, without and with :func:`scumble.learn.refine`.
"""

from __future__ import annotations

import argparse

import numpy as np

import scumble
from benchmarks.paper.densities import PAPER, density_set, truth
from scumble.density.expected_error import left_by_refining
from scumble.learn import refine

QUERIES = 1000


def main() -> None:
    """Print a line for each set and number of rows."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[256, 1024])
    parser.add_argument("--only", nargs="+", default=list(PAPER), choices=PAPER)
    args = parser.parse_args()
    print("set       rows   plain  refined    left  expected")
    for name in args.only:
        data = density_set(name)
        exact = truth(name, data.kernel)[:QUERIES]
        for rows in args.rows:
            sketch = scumble.Sketch(data.kernel, data.X.shape[1], rows=rows, buckets=1024, seed=1).update(data.X)
            release = sketch.release(epsilon=1e6)
            plain, refined = (
                float(np.mean(np.abs(one.density(data.Q[:QUERIES]) - exact) / exact))
                for one in (release, refine(release, data.bounds))
            )
            expected = left_by_refining(rows, float(np.median(exact)), data.X.shape[1])
            print(f"{name:8} {rows:5} {plain:7.2%} {refined:8.2%} {refined / plain:7.2f} {expected:9.2f}", flush=True)


if __name__ == "__main__":
    main()
