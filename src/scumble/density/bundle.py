"""Several releases in one file: one per class."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from scumble import files
from scumble.checks import Json
from scumble.density.answers import OF_TABLES
from scumble.density.release import Release
from scumble.density.spec import Spec
from scumble.errors import (
    CorruptFileError,
    MergeError,
    ParameterError,
    PrivacyError,
    many,
    parameter,
    suggest_attribute,
)
from scumble.privacy.claim import PrivacyClaim

Label: TypeAlias = str | int | float | bool
"""A class label: text, number or bool."""


OF_ONE = ("density", "kernel_sum", "interval", "count", *OF_TABLES)
ONE_OF_THEM = "a bundle holds one release for each of its `classes`: ask one, such as bundle[bundle.classes[0]]"


class Bundle(Mapping[Label, Release]):
    """Class label → release, in the order of the classes: what classifiers learn from.

    Every record is in one class only, so the bundle costs as much as one of its releases (parallel composition,
    McSherry 2009). All share one spec and one privacy claim. `label` is the name of the class column, or None; `extra`
    a dict of your own JSON values, stored in the file.

    >>> import numpy as np, scumble
    >>> def release(center):
    ...     sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), dimensions=1, rows=50, buckets=64)
    ...     return sketch.update(np.full((1000, 1), center)).release(epsilon=1.0)
    >>> bundle = Bundle({"low": release(0.0), "high": release(9.0)}, label="income")
    >>> bundle.classes, bundle.privacy.epsilon
    (('low', 'high'), 1.0)
    """

    def __init__(
        self, releases: Mapping[Any, Release], *, label: str | None = None, extra: Mapping[str, Any] | None = None
    ) -> None:
        if not isinstance(releases, Mapping):
            raise parameter("releases", "a mapping from classes to their releases", releases)
        found = {plain(name): release for name, release in releases.items()}
        if not found:
            raise parameter("releases", "at least one class with its release", {})
        if len({(isinstance(name, bool), name) for name in found}) < len(releases):
            raise parameter("releases", "labels that differ", list(releases))
        for name, release in found.items():
            if not isinstance(release, Release):
                raise parameter(f"releases[{name!r}]", "a Release", type(release).__name__)
        (first, one), *others = found.items()
        if others and one.privacy.neighbors == "replace":
            # A record that changes its label moves two releases, and both exact counts: the claim would be false.
            raise PrivacyError(
                "Classes do not go with neighbors='replace': a replaced record may change its class, and the number of "
                "records of each class would be public. Hint: use neighbors='add-remove'."
            )
        for name, release in others:
            one.spec.require_equal(release.spec)
            if release.privacy != one.privacy:
                raise MergeError(
                    f"The releases of {first!r} and {name!r} have different privacy claims. "
                    "Hint: release every class with the same budget."
                )
            release._spec = one._spec  # the same hash functions, in memory once
        self._releases = found
        self.label = label
        self.extra = dict(extra or {})

    if not TYPE_CHECKING:  # to whom it would say that there is any name

        def __getattr__(self, name: str) -> Any:
            return suggest_attribute(self, name, dict.fromkeys(OF_ONE, ONE_OF_THEM))

    def __getitem__(self, name: Label) -> Release:
        return self._releases[name]

    def __iter__(self) -> Iterator[Label]:
        return iter(self._releases)

    def __len__(self) -> int:
        return len(self._releases)

    @property
    def classes(self) -> tuple[Label, ...]:
        """The labels, in order."""
        return tuple(self._releases)

    @property
    def spec(self) -> Spec:
        """The public parameters of all releases."""
        return self[self.classes[0]].spec

    @property
    def privacy(self) -> PrivacyClaim:
        """The privacy claim of the whole bundle."""
        return self[self.classes[0]].privacy

    def __repr__(self) -> str:
        classes = ", ".join(map(repr, self.classes[:10]))
        return f"<Bundle of {many(len(self), 'release')}: {classes}; {self.privacy}>"

    def _repr_html_(self) -> str:
        from scumble.show import cards

        return cards.release_html(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all releases to one file, atomically."""
        files.write(path, "bundle", *self._contents())

    def to_bytes(self) -> bytes:
        """The bytes that `save` would write."""
        return files.to_bytes("bundle", *self._contents())

    def _contents(self) -> tuple[Json, Json]:
        releases = list(self._releases.values())
        metadata = {
            "classes": list(self.classes),
            "label": self.label,
            "extra": self.extra,
            "releases": [release.metadata() for release in releases],
        }
        return metadata, {f"counts.{k}": release.counts for k, release in enumerate(releases)}

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Bundle:
        """Read a bundle from its file."""
        return Bundle.from_container(files.read(path, expect="bundle"))

    @staticmethod
    def from_bytes(data: bytes) -> Bundle:
        """The bundle in these bytes."""
        return Bundle.from_container(files.from_bytes(data, expect="bundle"))

    @staticmethod
    def from_container(container: files.Container) -> Bundle:
        """A bundle from a file's content, validated."""
        data = container.metadata
        try:
            names, parts = data["classes"], data["releases"]
            releases = {}
            for k, (name, metadata) in enumerate(zip(names, parts, strict=True)):
                counts = container.arrays[f"counts.{k}"]
                part = files.Container("release", metadata, {"counts": counts}, container.version, container.library)
                releases[name] = Release.from_container(part)
            if len(releases) != len(names) or len(container.arrays) != len(names):
                raise CorruptFileError("The bundle's classes do not fit its releases.")
            return Bundle(releases, label=data["label"], extra=data["extra"])
        except (KeyError, TypeError, ValueError) as problem:
            raise CorruptFileError(f"The file lacks a part of a bundle: {problem}.") from problem


def plain(name: object) -> Label:
    """A label as a JSON value: NumPy scalars become Python's."""
    value = name.item() if hasattr(name, "item") else name
    if isinstance(value, str) or (isinstance(value, (bool, int, float)) and abs(value) < float("inf")):
        return value
    raise ParameterError(f"A class label must be text, a finite number or a bool, got {type(name).__name__}.")
