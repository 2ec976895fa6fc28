"""How well the audit audits: every mutant 100 times, the correct mechanism 1,000 times, vectorised.

The tests are those of ``scumble audit``, layers 1 and 2; only the releases are drawn all at once, from the same
calibration and the same sampler. Its table is in docs/trust.md.

python -m benchmarks.audit [runs [honest runs]]
"""

from __future__ import annotations

import sys
import time

from scumble.audit.mutants import CHANGES, RELEASES, audit_mutant

SETTINGS = {"δ = 0": {"delta": 0.0}, "δ = 1e-6": {"delta": 1e-6}}


def rates(name: str, runs: int, **setting: float) -> tuple[int, int, int]:
    """In how many runs it was accused: by any layer, by layer 1, by layer 2."""
    total = first = second = 0
    for _ in range(runs):
        layers = {finding.layer for finding in audit_mutant(name, **setting).violations}
        total += bool(layers)
        first += 1 in layers
        second += 2 in layers
    return total, first, second


def main(runs: int = 100, honest: int = 1000) -> None:
    began = time.perf_counter()
    print(f"ε = 2, R = 4, W = 8, 2 × {RELEASES:,} releases; then 3 releases of 64 × 128. False-alarm rate 1e-6.\n")
    print("| mechanism | noise | runs | accused | by layer 1 | by layer 2 |\n|---|---|---|---|---|---|")
    for title, setting in SETTINGS.items():
        for name in CHANGES:
            many = honest if name == "honest" else runs
            total, first, second = rates(name, many, **setting)
            print(f"| {name} | {title} | {many:,} | {total:,} | {first:,} | {second:,} |", flush=True)
    print(f"\n{(time.perf_counter() - began) / 60:.0f} minutes")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
