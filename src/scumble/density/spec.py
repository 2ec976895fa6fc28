"""The public parameters of a sketch: everything that decides where a record is counted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from scumble.checks import Json
from scumble.counting.engines import on_device, to_host
from scumble.density.expected_error import hashes
from scumble.density.grid_layout import GridRow
from scumble.density.hashed_layout import HashedRows
from scumble.density.layout import Layout
from scumble.errors import CorruptFileError, MergeError, parameter
from scumble.kernels import Kernel
from scumble.kernels.design import DESIGNS
from scumble.privacy.sensitivity import ONE

LAYOUTS: dict[str, type[Layout]] = {"grid": GridRow, **dict.fromkeys(DESIGNS, HashedRows)}
"""The layout of each design."""

MOST = 2**30
"""The most rows, buckets or numbers of hash functions in a file: 8 GiB."""
MOST_HASHES = 2**12
"""Hashes of a row: the powers of all factors together."""
MOST_DIMENSIONS = 10**6
MOST_IN_A_ROW = 2**20
"""Numbers in the hash functions of a row."""
CHEAP, TIMES = 2**24, 2**12
"""Numbers in the hash functions: at most 128 MiB, or this many per counter, so a file's cost is bounded by its size."""


def require_moderate(kernel: Kernel, dimensions: int) -> None:
    """Refuse an impossible number of hashes or columns before lists of that length are made."""
    if hashes(kernel) > MOST_HASHES:
        raise parameter("power", f"at most {MOST_HASHES:,} for all factors together", hashes(kernel))
    if not 1 <= dimensions <= MOST_DIMENSIONS:
        raise parameter("dimensions", f"from 1 to {MOST_DIMENSIONS:,}", dimensions)


@dataclass(frozen=True)
class Spec:
    """Sketches with equal specs count every record in the same place, so they merge.

    A spec is public. It is fixed before the first record and never derived from the data.
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
    kinds: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What declared columns hold (:mod:`scumble.columns.kinds`)."""

    reach = ONE
    """A record adds one to each row."""
    occupancies: ClassVar[Mapping[int, np.ndarray]] = {}
    touches: ClassVar[Mapping[int, int]] = {}

    @property
    def layout(self) -> Layout:
        """Where records are counted, and how the counters are read."""
        # Not `cached_property`: in Python 3.11 that holds a lock, and a fork at that moment hangs the child for ever.
        made = self.__dict__.get("_layout")
        if made is None:
            made = self.__dict__["_layout"] = LAYOUTS[self.design](self)
        return made

    def declared(self, X: object) -> object:
        """A table of records with its declared columns as numbers, cell by cell."""
        if not self.kinds:
            return X
        from scumble.columns.kinds import records  # most specs declare no kinds, and wait for no calendar

        return records(to_host(X) if on_device(X) else X, self.kinds, self.columns or ())

    def asked(self, Q: object) -> object:
        """A table of points with dates, times and booleans as numbers."""
        dated = {*self.kinds.values()} - {"whole"} and not on_device(Q)
        if not dated:
            return Q
        from scumble.columns.kinds import points

        return points(Q, self.kinds, self.columns or ())

    def prepare(self) -> None:
        """Make the hash functions or the grid now, so bad parameters fail before the first record."""
        self.require_affordable()
        self.layout.prepare()

    def differences(self, other: Spec) -> Iterator[tuple[str, object, object]]:
        """(name, value here, value there) of each field that differs."""
        for one in fields(self):
            here, there = getattr(self, one.name), getattr(other, one.name)
            if here != there:
                yield one.name, here, there

    def require_equal(self, other: Spec, but: Collection[str] = ()) -> None:
        """Refuse to merge unequal specs, naming the fields that differ, except those in `but`."""
        apart = [one for one in self.differences(other) if one[0] not in but]
        apart = [one for one in apart if one[0] == "columns"] or apart  # other columns have another kernel, too
        if apart:
            listed = "; ".join(f"{name} is {here!r} here and {there!r} there" for name, here, there in apart)
            raise MergeError(f"Cannot merge: {listed}. Hint: build both with the same parameters.")

    def to_dict(self) -> Json:
        """The spec as JSON values."""
        out = {one.name: getattr(self, one.name) for one in fields(self)}
        kinds = out.pop("kinds")
        return {**out, "kernel": self.kernel.to_dict(), **({"kinds": dict(kinds)} if kinds else {})}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Spec:
        """The spec that `to_dict` described."""
        try:
            values = {**data, "kernel": Kernel.from_dict(data["kernel"])}
            for name in ("columns", "shape"):
                values[name] = None if values[name] is None else tuple(values[name])
            if "kinds" in values:
                from scumble.columns.kinds import checked

                values["kinds"] = checked(values["kinds"], values["columns"])
            if values["bounds"] is not None:
                low, high = values["bounds"] = tuple(map(tuple, values["bounds"]))
                if {len(low), len(high)} != {values["dimensions"]}:
                    raise ValueError("bounds that are not one for each column")
            spec = Spec(**values)
            spec._check()
            return spec
        except (KeyError, TypeError, ValueError, OverflowError) as problem:
            raise CorruptFileError(f"The parameters of the sketch cannot be read: {problem}.") from problem

    def require_affordable(self) -> None:
        """Refuse hash functions that are far too large for the counters."""
        require_moderate(self.kernel, self.dimensions)
        most, numbers = min(MOST, max(CHEAP, TIMES * self.rows * self.buckets)), self.layout.numbers
        if numbers > most or numbers > MOST_IN_A_ROW * self.rows:
            limits = f"{most:,} numbers, and of {MOST_IN_A_ROW:,} a row (power x columns)"
            must = f"few enough for hash functions of {limits}"
            raise parameter("rows", must, f"{self.rows:,} with {numbers:,} numbers")

    @property
    def counters(self) -> tuple[int, ...]:
        """The shape of the array of counters."""
        return (self.rows, self.buckets)

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many counters each row has."""
        return (self.buckets,) * self.rows

    def _check(self) -> None:
        """Validate types and ranges: a file may come from anyone."""
        whole = {"rows": self.rows, "buckets": self.buckets, "dimensions": self.dimensions}
        for name, value in whole.items():
            if type(value) is not int or not 1 <= value <= MOST:
                raise ValueError(f"{name} is out of its range")
        if type(self.seed) is not int or not 0 <= self.seed < 2**64:
            raise ValueError("seed is out of its range")
        names = self.columns
        if names is not None and (len(names) != self.dimensions or not all(type(name) is str for name in names)):
            raise ValueError("columns must name each dimension")
        if self.design not in LAYOUTS:
            raise ValueError("design is unknown")
        self.require_affordable()
        self.layout.check()
