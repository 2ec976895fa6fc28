"""How reliable the audit is: every wrong mechanism several times, the correct one more often.

    python -m benchmarks.audit [runs [correct runs]]

The tests are those of ``scumble audit``, layers 1 and 2; only the releases are drawn all at once, from the same
calibration and the same sampler. Writes the table in docs/trust.md.
"""

from __future__ import annotations

import re
import sys

from benchmarks import page
from scumble.audit.mutants import CHANGES, RELEASES, audit_mutant

COMMAND = "python -m benchmarks.audit"
DELTAS = (0.0, 1e-6)


def rates(name: str, runs: int, delta: float) -> str:
    """In how many runs it was accused, and in how many of these by layer 1."""
    found = [{finding.layer for finding in audit_mutant(name, delta=delta).violations} for _ in range(runs)]
    return f"{sum(map(bool, found)):,}/{runs:,} ({sum(1 in one for one in found):,})"


def main(runs: int = 100, correct: int = 1000) -> None:
    lines = ["| mechanism | mistake | δ = 0 | δ = 10⁻⁶ |", "|---|---|---|---|"]
    for name, change in CHANGES.items():
        mistake = re.split(r"[:.;,] |\.$", " ".join((change.__doc__ or "").split()))[0]
        cells = [rates(name, correct if name == "honest" else runs, delta) for delta in DELTAS]
        lines.append(f"| `{name}` | {mistake} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    setting = f"ε = 2, R = 4, W = 8, 2 × {RELEASES:,} releases, then 3 releases of 64 × 128."
    page.put("trust.md", COMMAND, "\n".join([*lines, "", setting]))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
