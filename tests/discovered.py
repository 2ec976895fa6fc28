"""What the library has, found by looking: a new one is tested by existing."""

from __future__ import annotations

from scumble.kernels import Kernel, ProductKernel

KERNELS = sorted(
    (kind for kind in Kernel.registry.values() if kind is not ProductKernel and kind.__module__.startswith("scumble.")),
    key=lambda kind: kind.name,
)
"""Every kernel."""
