"""The public parameters of a sketch: all that decides where a record is counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from scumble.errors import CorruptFileError, MergeError
from scumble.kernels import Kernel
from scumble.layout import GridRow, HashedRows, Layout


@dataclass(frozen=True)
class Spec:
    """Two sketches with equal specs count every record in the same place, so that they can be merged.

    A spec is public. It is fixed before the first record and never read off the data.
    """

    kernel: Kernel
    dimensions: int
    columns: tuple[str, ...] | None
    rows: int
    buckets: int
    seed: int
    design: str
    bounds: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    shape: tuple[int, ...] | None = None

    @cached_property
    def layout(self) -> Layout:
        """The hash functions or the grid that the spec describes, made on first use."""
        return (GridRow if self.design == "grid" else HashedRows)(self)

    def differences(self, other: Spec) -> Iterator[tuple[str, object, object]]:
        """Name, value here, value there, of each field that differs."""
        for field in fields(self):
            here, there = getattr(self, field.name), getattr(other, field.name)
            if here != there:
                yield field.name, here, there

    def require_equal(self, other: Spec) -> None:
        """Refuse to merge unequal specs, naming each field that differs."""
        told = [f"{name} is {here!r} here and {there!r} there" for name, here, there in self.differences(other)]
        if told:
            raise MergeError(f"Cannot merge: {'; '.join(told)}. Hint: build both with the same parameters.")

    def to_dict(self) -> dict[str, Any]:
        """The spec as JSON values."""
        out = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**out, "kernel": self.kernel.to_dict()}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Spec:
        """The spec that `to_dict` described."""
        try:
            values = dict(data)
            values["kernel"] = Kernel.from_dict(values["kernel"])
            for name in ("columns", "shape"):
                values[name] = None if values[name] is None else tuple(values[name])
            if values["bounds"] is not None:
                low, high = values["bounds"]
                values["bounds"] = (tuple(low), tuple(high))
            return Spec(**values)
        except (KeyError, TypeError, ValueError) as problem:
            raise CorruptFileError(f"The parameters of the sketch cannot be read: {problem}.") from problem
