"""Several releases made one: what they must have in common, and what they promise together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from scumble.errors import MergeError, parameter
from scumble.files.headroom import fits
from scumble.privacy.composition import disjoint as of_disjoint_persons
from scumble.privacy.composition import of_disjoint_records, overlapping

if TYPE_CHECKING:
    from scumble.release.release import Release

Disjoint = bool | Literal["persons"] | None
COMBINE = {None: overlapping, False: overlapping, True: of_disjoint_records, "persons": of_disjoint_persons}
"""What a declaration makes of several claims."""
CHOSEN = ("rows", "buckets", "design", "shape")
"""What a release may have chosen by its noisy facts: that keeps two apart only where all else is equal."""


def merge_releases(releases: Iterable[Release], *, disjoint: Disjoint = None) -> Release:
    """One release out of several; see :meth:`Release.merge`."""
    if disjoint not in COMBINE:
        raise parameter("disjoint", "True (no record is in two), 'persons' (no person is), or False", disjoint)
    all_of = _with_common_kinds(_with_common_rows(list(releases)))
    first = all_of[0]
    for release in all_of:
        first.spec.require_equal(release.spec, but=CHOSEN)
    _require_common_cells(all_of)
    parts: list[str] = []
    for release in all_of:
        first.spec.require_equal(release.spec)
        if set(parts) & set(release._parts):
            raise MergeError("Cannot merge: one release is already part of another. Hint: merge each release once.")
        parts.extend(release._parts)
    if not fits(*(release.counts for release in all_of)):
        raise MergeError("Cannot merge: a counter could pass 2**62. Hint: is one of the releases damaged?")
    counts = [release.noisy_count for release in all_of]
    known = [count for count in counts if count is not None]
    return first._with(
        counts=np.add.reduce([release.counts for release in all_of]),
        privacy=COMBINE[disjoint]([release.privacy for release in all_of]),
        noisy_count=sum(known) if len(known) == len(counts) else None,
        counter_variance=sum(release.counter_variance for release in all_of),
        count_variance=sum(release.count_variance for release in all_of),
        identity=None,  # a new one
        parts=tuple(parts),
        stream=None,
    )


def _with_common_rows(releases: list[Release]) -> list[Release]:
    """Rows that were chosen by noisy facts may be more here and fewer there: the first ones are common to all."""
    if not all(release.privacy.by_facts and release.spec.layout.hashed for release in releases):
        return releases
    least = min(release.rows for release in releases)
    return [release if release.rows == least else _first_rows(release, least) for release in releases]


def _with_common_kinds(releases: list[Release]) -> list[Release]:
    """What only some of them say of their columns is not said of all; what they say must not differ."""
    if all(release.kinds == releases[0].kinds for release in releases):
        return releases
    for name, kind in (said for release in releases for said in release.kinds.items()):
        other = next((one.kinds[name] for one in releases if one.kinds.get(name, kind) != kind), None)
        if other is not None:
            raise MergeError(
                f"Cannot merge: the column {name!r} is declared as {kind!r} here and as {other!r} there. "
                "Hint: build both with the same declarations."
            )
    return [release._declared_as({}) for release in releases]


def _require_common_cells(releases: list[Release]) -> None:
    """Cells that were chosen by noisy facts may be finer here and coarser there, and do not add up."""
    shapes = list(dict.fromkeys(release.spec.shape for release in releases if release.spec.shape is not None))
    if not all(release.privacy.by_facts for release in releases):
        return
    if shapes and any(release.spec.shape is None for release in releases):
        raise MergeError(
            "Cannot merge: each release has chosen by itself whether it is a grid, and they differ. "
            "Hint: merge the sketches and release them once, or build each with the same cells, "
            f"{_cells(shapes[0])}."
        )
    if len(shapes) > 1:
        raise MergeError(
            f"Cannot merge: each release has chosen the cells of its grid by itself, {shapes[0]} here and {shapes[1]} "
            "there. Hint: merge the sketches and release them once, or build each with the same cells, "
            f"{_cells(min(shapes))}."
        )


def _cells(shape: tuple[int, ...]) -> str:
    """How a grid's cells are asked for."""
    return f"--buckets {','.join(map(str, shape))} (buckets={shape})"


def _first_rows(release: Release, rows: int) -> Release:
    """The same release without its further rows."""
    return release._with(spec=replace(release.spec, rows=rows), counts=release.counts[:rows])
