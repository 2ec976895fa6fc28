"""scumble with discrete Gaussian noise, δ = 1e-6: `plan` chooses, as for δ = 0."""

from __future__ import annotations

from benchmarks.paper.functions.scumble_pure import Scumble
from benchmarks.paper.protocol import DELTA

METHOD = Scumble(f"scumble, δ = {DELTA:g}", "this project", "approximate", delta=DELTA)
