"""What a build's public arguments will make of it: which column decides, and what is probably not meant.

Everything here is said of arguments, never of records, so it may be said to anybody, before anything is spent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from scumble import checks, grid
from scumble.errors import plain_number
from scumble.kernels import Kernel
from scumble.tables.roles import in_order

SKEWED = 10.0
"""A column whose bounds are so many times as many bandwidths wide as another's decides alone what is near."""
NARROW = 200.0
"""Bounds of so many bandwidths: hardly two records are near each other."""
WIDER = 3
"""Columns up to which hashed rows have wider intervals than a grid, with ε alone; of so many, if records are many."""
BLURRED = 1.0
"""Bounds of a bandwidth: all records are near each other."""


def reaches(kernel: Kernel, columns: Sequence[str]) -> dict[str, float]:
    """How far *near* reaches in each column of numbers: its bandwidth, in the column's own unit."""
    found: dict[str, float] = {}
    for factor in kernel.factors:
        if factor.reads == "number" and hasattr(factor, "bandwidth"):
            which = factor.which(len(columns), columns)
            scales = factor._scales(columns, which) * factor.bandwidth
            found |= {columns[j]: float(scale) for j, scale in zip(which, scales, strict=True)}
    return found


def widths(kernel: Kernel, columns: Sequence[str], bounds: Any) -> dict[str, float]:
    """How many bandwidths wide the bounds of each column of numbers are."""
    if bounds is None:
        return {}
    low, high = checks.sides(in_order(bounds, kernel, columns), len(columns))
    span = dict(zip(columns, (high - low).tolist(), strict=True))
    return {name: span[name] / reach for name, reach in reaches(kernel, columns).items()}


def deciding(kernel: Kernel, columns: Sequence[str], bounds: Any) -> str:
    """Which column decides what is near, in a sentence."""
    wide = widths(kernel, columns, bounds)
    if not wide:
        unit = {name: f"{plain_number(reach, 4)} of {name!r}" for name, reach in reaches(kernel, columns).items()}
        near = f"Near is about {' or '.join(unit.values())}" if unit else "Near is what the kernel's columns share"
        return f"{near}; without bounds nobody can tell which column decides."
    ranked = sorted(wide, key=wide.__getitem__, reverse=True)
    told = ", ".join(f"{name!r} {plain_number(wide[name], 3)}" for name in ranked)
    if len(ranked) == 1 or wide[ranked[0]] < SKEWED / 3.0 * wide[ranked[-1]]:
        return f"In bandwidths, the bounds are wide: {told}."
    return f"{ranked[0]!r} decides what is near. In bandwidths, the bounds are wide: {told}."


def advice(
    kernel: Kernel,
    columns: Sequence[str],
    bounds: Any,
    *,
    classes: Sequence[Any] | None = None,
    label: str | None = None,
    drops: bool = False,
    kinds: Mapping[str, str] = MappingProxyType({}),
    shape: Sequence[int] | None = None,
    pure: bool = True,
) -> list[str]:
    """What is probably not meant, the costliest first; each with what to do.

    `shape` are the cells of a grid, and the budget is `pure` without a δ.
    """
    wide = widths(kernel, columns, bounds)
    return [
        *_scales(kernel, columns, wide),
        *_bandwidths(wide),
        *_bounds(kernel, columns, bounds, pure),
        *_steps(kernel, columns, bounds, kinds, shape or ()),
        *_powers(kernel),
        *_classes(label, classes, drops),
    ]


def _scales(kernel: Kernel, columns: Sequence[str], wide: Mapping[str, float]) -> list[str]:
    told = []
    for factor in kernel.factors:
        mine = list(reaches(factor, columns)) if factor.reads == "number" else []
        if len(mine) < 2:
            continue
        own = {name: wide[name] for name in mine if name in wide}  # factors have scales of their own
        example = ",".join(f"{name}=…" for name in mine)
        if factor.scale is None and not (own and _ratio(own) < SKEWED / 3.0):
            told.append(
                f"No scale: a step of 1 counts alike in {listed(mine)}. Hint: --scale {example} (scale=), what is "
                "about equally far in each."
            )
        elif isinstance(factor.scale, dict) and (left := [name for name in mine if name not in factor.scale]):
            told.append(f"The scale leaves out {listed(left)}, divided by 1 then. Hint: --scale {example} (scale=).")
        elif own and _ratio(own) >= SKEWED:
            most, least = max(own, key=own.__getitem__), min(own, key=own.__getitem__)
            told.append(
                f"{most!r} outweighs {least!r}: {plain_number(own[most], 3)} bandwidths to "
                f"{plain_number(own[least], 3)}. Hint: a larger scale for {most!r}, or a smaller one for {least!r}."
            )
    return told


def _bandwidths(wide: Mapping[str, float]) -> list[str]:
    if not wide:
        return []
    most = max(wide, key=wide.__getitem__)
    if wide[most] > NARROW:
        return [
            f"The bandwidth is narrow: the bounds of {most!r} are {plain_number(wide[most], 3)} of them, and hardly "
            "two records are near each other. Hint: a wider --bandwidth (bandwidth=); a sixth of the bounds is a good "
            "start."
        ]
    if wide[most] < BLURRED:
        return [
            f"The bandwidth is wide: no bounds are wider than {plain_number(wide[most], 2)} of it, and all records are "
            "near each other. Hint: a narrower --bandwidth (bandwidth=)."
        ]
    return []


def _bounds(kernel: Kernel, columns: Sequence[str], bounds: Any, pure: bool) -> list[str]:
    """With a δ, or of many columns, rows may well have the narrower intervals."""
    if bounds is not None or grid.supports(kernel, len(columns), columns) is not None:
        return []
    example = ",".join(f"{name}=LOW:HIGH" for name in reaches(kernel, columns))
    axes = len(kernel.which(len(columns), columns))
    costs = "mostly larger than a grid's, and pictures and samples must be told where to look"
    if pure and axes <= WIDER:
        costs = "larger, and intervals are several times wider than a grid's"
        costs += ", if records are many" if axes == WIDER else ""
    return [
        f"No bounds: rows are hashed, the file is {costs}. "
        f"Hint: --bounds {example} (bounds=), from what is known without the data."
    ]


def _steps(
    kernel: Kernel, columns: Sequence[str], bounds: Any, kinds: Mapping[str, str], shape: Sequence[int]
) -> list[str]:
    """Columns that may hold whole numbers, by their bounds, and whose cells would cut through them."""
    if bounds is None or not shape:
        return []
    low, high = checks.sides(in_order(bounds, kernel, columns), len(columns))
    found = [
        columns[j]
        for j, cells in zip(kernel.which(len(columns), columns), shape, strict=True)
        if columns[j] not in kinds and low[j] % 1 == high[j] % 1 == 0 and high[j] - low[j] < cells
    ]
    if not found:
        return []
    hold = "holds" if len(found) == 1 else "hold"
    return [
        f"Cells are narrower than 1 in {listed(found)}. If {'it' if len(found) == 1 else 'they'} {hold} whole numbers, "
        f"errors will be several times what is told here. Hint: then --whole {','.join(found)} (whole=), which makes "
        "them smaller than that."
    ]


def _powers(kernel: Kernel) -> list[str]:
    plain = [factor.name for factor in kernel.factors if hasattr(factor, "bandwidth") and factor.power == 1]
    if not plain:
        return []
    return [
        "Power 1: near has a long tail, a tenth at four bandwidths. Hint: --power 2 (power=2) is a good default; "
        "it halves the kernel's width."
    ]


def _classes(label: str | None, classes: Sequence[Any] | None, drops: bool) -> list[str]:
    if label is None or not classes:
        return []
    words = [str(one) for one in classes]
    told = []
    for one, others in ((word, words[:k]) for k, word in enumerate(words)):
        close = get_close_matches(one.strip().lower(), [other.strip().lower() for other in others], n=1, cutoff=0.85)
        if close:
            other = next(word for word in others if word.strip().lower() == close[0])
            told.append(f"The classes {other!r} and {one!r} look alike. Hint: is one of them misspelt?")
    if drops:
        told.append(
            f"Records whose {label!r} is none of {listed(words)} are left out, a misspelt class with them. "
            "Hint: name all classes, and leave --invalid at error (invalid='error') to be told of others."
        )
    return told


def _ratio(wide: Mapping[str, float]) -> float:
    ranked = sorted(wide.values())
    return ranked[-1] / ranked[0]


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: six of them at most."""
    shown = [repr(name) for name in names[:6]] + ([f"{len(names) - 6} more"] if len(names) > 6 else [])
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
