"""All benchmarks of the core, one after the other: ``make bench``, or ``python -m benchmarks NAME``."""

from __future__ import annotations

import sys
from importlib import import_module

NAMES = ("counting", "density", "noise")

if __name__ == "__main__":
    for name in sys.argv[1:] or NAMES:
        print(f"\n== {name} ==\n")
        import_module(f"benchmarks.{name}").main()
