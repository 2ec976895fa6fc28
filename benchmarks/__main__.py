"""Benchmarks of the core: ``python -m benchmarks NAME``; speed has a suite of its own, ``make bench``."""

from __future__ import annotations

import sys
from importlib import import_module

NAMES = ("density", "noise")

if __name__ == "__main__":
    for name in sys.argv[1:] or NAMES:
        print(f"\n== {name} ==\n")
        import_module(f"benchmarks.{name}").main()
