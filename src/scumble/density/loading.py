"""Opens files and builds sketches by their kind. Each kind is imported only when it is needed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import reduce
from importlib import import_module
from typing import TYPE_CHECKING, Any, overload

from scumble import checks, files
from scumble.errors import MergeError, ParameterError, PrivacyError, parameter

if TYPE_CHECKING:
    from scumble.density.release import Disjoint, Release
    from scumble.density.sketch import Sketch
    from scumble.density.spec import Spec
    from scumble.privacy.account import Account
    from scumble.privacy.budget import Budget
    from scumble.table.sketch import TableSketch
    from scumble.table.spec import TableSpec

NO_MERGED_TABLES = (
    "Releases of tables do not merge: each has chosen its own cells. "
    "Hint: merge the secret sketches and release once, or ask each release and add up the answers."
)
_KINDS = {
    "release": ("scumble.density.release", "Release"),
    "bundle": ("scumble.density.bundle", "Bundle"),
    "table": ("scumble.table.release", "TableRelease"),
    "moments": ("scumble.learn.moment_release", "MomentRelease"),
}
"""The class of each kind of release."""


def load(path: str | os.PathLike[str]) -> Any:
    """Read a released file: a `Release`, `TableRelease` or `MomentRelease`; for a stream's folder, a `StreamRelease`.

    Files of exact counters are refused: use `load_secret`.
    """
    if os.path.isdir(checks.path(path)):
        from scumble.streams.published import StreamRelease

        return StreamRelease(path)
    return release_in(files.read(path, expect=("release", "table", "moments")))


def load_secret(path: str | os.PathLike[str], **options: Any) -> Any:
    """Read a sketch's exact counters, to merge or release them. Keep the file as safe as the table itself."""
    sketch = sketch_in(files.read(path, expect="secret"), **options)
    if sketch.noisy:
        sketch.secret.home = os.path.realpath(path)
    return sketch


@overload
def merge(parts: Iterable[Sketch]) -> Sketch: ...
@overload
def merge(parts: Iterable[TableSketch]) -> TableSketch: ...
@overload
def merge(parts: Iterable[Release], *, disjoint: Disjoint = None) -> Release: ...
def merge(parts: Any, *, disjoint: Disjoint = None) -> Any:
    """One sketch from many, or one release from many. The parts stay unchanged.

    Sketches add up exactly. For releases, `disjoint` declares what they have in common (see :meth:`Release.merge`);
    without it a person may be in all of them, and their costs add up. Releases of tables do not merge.
    """
    from scumble.density.release import Release, merge_releases
    from scumble.density.sketch import Sketch
    from scumble.learn.moment_release import MomentRelease, MomentSketch
    from scumble.table.release import TableRelease
    from scumble.table.sketch import TableSketch

    parts = list(parts)
    if any(isinstance(part, TableRelease) for part in parts):
        raise MergeError(NO_MERGED_TABLES)
    if not parts:
        raise parameter("parts", "at least one sketch or release", parts)
    if all(isinstance(part, Release) for part in parts):
        return merge_releases(parts, disjoint=disjoint)
    if all(isinstance(part, MomentRelease) for part in parts):
        return reduce(lambda one, other: one.merge(other, disjoint=disjoint), parts)
    if len({type(part) for part in parts}) > 1 or not isinstance(parts[0], Sketch | TableSketch | MomentSketch):
        kinds = sorted({type(part).__name__ for part in parts})
        raise parameter("parts", "all sketches or all releases", ", ".join(kinds))
    total = parts[0].empty()
    total.secret.lineage = set()
    for part in parts:
        total.merge(part)
    return total


def release_in(container: files.Container) -> Any:
    """The release in a file's content."""
    module, name = _KINDS[container.kind]
    return getattr(import_module(module), name).from_container(container)


def sketch_in(container: files.Container, **options: Any) -> Any:
    """The sketch in a secret file's content."""
    from scumble.density.sketch import Sketch
    from scumble.learn.moment_release import MomentSketch
    from scumble.table.sketch import TableSketch

    about = container.metadata.get("spec")
    about = about if isinstance(about, dict) else {}
    kind: Any = TableSketch if "schema" in about else MomentSketch if "moments" in about else Sketch
    return kind.from_container(container, **options)


def sketch_of(spec: Spec | TableSpec, **options: Any) -> Any:
    """An empty sketch with these parameters."""
    from scumble.density.sketch import Sketch
    from scumble.density.spec import Spec
    from scumble.table.sketch import TableSketch

    return Sketch.from_spec(spec, **options) if isinstance(spec, Spec) else TableSketch.from_spec(spec, **options)


def released(sketches: Sequence[Any], budget: Budget, account: Account | None, *, n: int | None = None) -> list[Any]:
    """The releases of a pass: several classes for the price of one, or one table."""
    from scumble.density.sketch import release_disjoint
    from scumble.table.sketch import TableSketch, publish

    if not isinstance(sketches[0], TableSketch):
        return list(release_disjoint(sketches, budget, account))
    if len(sketches) > 1:
        raise ParameterError("The classes of a table are its `target`. Hint: leave out `label`.")
    if sketches[0].noisy:
        raise PrivacyError("A table cannot start with noise: its cells are chosen by its first noisy counts.")
    return [publish(sketches[0].secret, sketches[0].spec, budget, account, n=n)]
