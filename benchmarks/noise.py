"""Draws per second: scumble's exact samplers beside OpenDP's, in one run; scumble uses all cores, OpenDP one.

python benchmarks/noise.py
"""

from __future__ import annotations

import time

from scumble.privacy.noise import discrete_gaussian, discrete_laplace

SCALES = (1, 30, 1500, 10**6)
OURS, THEIRS = 2_000_000, 20_000


def rate(law, scale: int, count: int, backend: str) -> float:
    """Draws per second, best of three, after a first call that compiles or loads."""
    law(scale, 100, backend=backend)
    best = 0.0
    for _ in range(3):
        start = time.perf_counter()
        law(scale, count, backend=backend)
        best = max(best, count / (time.perf_counter() - start))
    return best


def main() -> None:
    print(f"{'law':<10} {'scale':>8} {'scumble, draws/s':>18} {'OpenDP, draws/s':>17} {'ratio':>7}")
    for name, law in (("Laplace", discrete_laplace), ("Gaussian", discrete_gaussian)):
        for scale in SCALES:
            ours = rate(law, scale, OURS, "exact")
            theirs = rate(law, scale, THEIRS, "opendp")
            print(f"{name:<10} {scale:>8} {ours:>18,.0f} {theirs:>17,.0f} {ours / theirs:>6.0f}x")


if __name__ == "__main__":
    main()
