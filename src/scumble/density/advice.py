"""Advice on a release of points, from its public arguments alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from scumble import checks
from scumble.columns.kinds import in_order
from scumble.density.grid_cells import supports
from scumble.density.plan import Bounds
from scumble.errors import plain_number
from scumble.kernels import Kernel

SKEWED = 10.0
"""Ratio of two columns' bounds, in bandwidths, above which the wider column alone decides what is near."""
NARROW = 200.0
"""With bounds of more bandwidths, hardly two records are near each other."""


def reaches(kernel: Kernel, columns: Sequence[str]) -> dict[str, float]:
    """The bandwidth in each column of numbers, in the column's own unit."""
    found: dict[str, float] = {}
    for factor in kernel.factors:
        if factor.reads == "number" and hasattr(factor, "bandwidth"):
            which = factor.which(len(columns), columns)
            scales = factor._scales(columns, which) * factor.bandwidth
            found |= {columns[j]: float(scale) for j, scale in zip(which, scales, strict=True)}
    return found


def widths(kernel: Kernel, columns: Sequence[str], bounds: Bounds | checks.Ranges) -> dict[str, float]:
    """How many bandwidths wide the bounds of each column of numbers are."""
    if bounds is None:
        return {}
    low, high = checks.sides(in_order(bounds, kernel, columns), len(columns))
    span = dict(zip(columns, (high - low).tolist(), strict=True))
    return {name: span[name] / reach for name, reach in reaches(kernel, columns).items()}


def advice(kernel: Kernel, columns: Sequence[str], bounds: Bounds | checks.Ranges) -> list[str]:
    """Which arguments are probably mistakes, the costliest first."""
    found, wide, bandwidths = [], widths(kernel, columns, bounds), dict[str, float]()
    for factor in kernel.factors:
        mine = reaches(factor, columns) if factor.reads == "number" else {}
        bandwidth = getattr(factor, "bandwidth", 1.0)
        bandwidths |= dict.fromkeys(mine, bandwidth)
        own = {name: wide[name] for name in mine if name in wide}  # each factor has a scale of its own
        if len(mine) < 2 or (own and _ratio(own) < SKEWED / 3.0):
            continue
        if factor.scale is None:
            names = ", ".join([repr(name) for name in mine][:6]) + (", …" if len(mine) > 6 else "")
            scales = ",".join([f"{name}={own[name] * bandwidth:g}" if own else f"{name}=…" for name in mine][:6])
            more = f" --bandwidth {math.sqrt(len(mine)) / 6.0:.2g} (scale=, bandwidth=)" if own else " (scale=)"
            found.append(f"No scale: a step of 1 is as far in each of {names}. Hint: --scale {scales}{more}.")
        elif own and _ratio(own) >= SKEWED:
            most, least = max(own, key=own.__getitem__), min(own, key=own.__getitem__)
            scale = mine[most] / bandwidth * _ratio(own)
            found.append(
                f"{most!r} outweighs {least!r}: {plain_number(own[most], 3)} bandwidths to "
                f"{plain_number(own[least], 3)}. Hint: --scale {most}={scale:g} (scale=), or less for {least!r}."
            )
    if wide and (width := max(wide.values())) > NARROW:
        most = max(wide, key=wide.__getitem__)
        found.append(
            f"The bandwidth is narrow: the bounds of {most!r} are {plain_number(width, 2)} of them. "
            f"Hint: --bandwidth {bandwidths[most] * width / 6.0:.2g} (bandwidth=), a sixth of the bounds."
        )
    if bounds is None and supports(kernel, len(columns), columns) is None:
        example = ",".join(f"{name}=LOW:HIGH" for name in list(reaches(kernel, columns))[:3])
        found.append(
            "No bounds: the file is larger than a grid's, its errors are usually larger too, and plots need a range. "
            f"Hint: --bounds {example} (bounds=), from what is public."
        )
    return found


def _ratio(wide: Mapping[str, float]) -> float:
    return max(wide.values()) / min(wide.values())
