"""The public parameters of a sketch: all that decides where a record is counted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from scumble.counting.device import on_device, to_host
from scumble.design import DESIGNS
from scumble.errors import CorruptFileError, MergeError, parameter
from scumble.kernels import Kernel
from scumble.privacy.sensitivity import ONE
from scumble.reading.grid import GridRow
from scumble.reading.hashed import HashedRows
from scumble.reading.layout import Layout

LAYOUTS: dict[str, type[Layout]] = {"grid": GridRow, **dict.fromkeys(DESIGNS, HashedRows)}
"""The layout of each design."""

MOST = 2**30
"""No file may ask for more rows, buckets or numbers in its hash functions: 8 GiB."""
MOST_HASHES = 2**12
"""Hashes of a row: the powers of all factors together. Kernels of such a power no longer tell anything apart."""
MOST_DIMENSIONS = 10**6
MOST_IN_A_ROW = 2**20
"""Numbers in the hash functions of a row. They are drawn for all rows at once, one after the other."""
CHEAP, TIMES = 2**24, 2**12
"""Numbers in the hash functions: as many as 128 MiB hold, or so many times as many as there are counters. So what a
file costs, in memory and in work for each query, is bounded by what it weighs."""


@dataclass(frozen=True)
class Spec:
    """Two sketches with equal specs count every record in the same place, so they can be merged.

    A spec is public. It is fixed before the first record and never taken from the data.
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
    """What declared columns hold (:mod:`scumble.schema.kinds`): it decides how their cells are read."""

    reach = ONE
    """What a record adds to a row: one."""

    @property
    def layout(self) -> Layout:
        """Where records with these parameters are counted, and how the counters are read."""
        # Not `cached_property`: in Python 3.11 that holds a lock, and a fork at that moment hangs the child for ever.
        made = self.__dict__.get("_layout")
        if made is None:
            made = self.__dict__["_layout"] = LAYOUTS[self.design](self)
        return made

    def declared(self, X: object) -> object:
        """A table of records with its declared columns as numbers, each cell for itself; others are as they were."""
        if not self.kinds:
            return X
        from scumble.schema.kinds import records  # most specs declare no kinds, and wait for no calendar

        return records(to_host(X) if on_device(X) else X, self.kinds, self.columns or ())

    def asked(self, Q: object) -> object:
        """A table of points with dates, times and booleans as numbers, where they are not."""
        dated = {*self.kinds.values()} - {"whole"} and not on_device(Q)
        if not dated:
            return Q
        from scumble.schema.kinds import points

        return points(Q, self.kinds, self.columns or ())

    def prepare(self) -> None:
        """Make the hash functions or the grid now, so bad parameters fail before the first record."""
        self.require_affordable()
        self.layout.prepare()

    def differences(self, other: Spec) -> Iterator[tuple[str, object, object]]:
        """Name, value here, value there, of each field that differs."""
        for one in fields(self):
            here, there = getattr(self, one.name), getattr(other, one.name)
            if here != there:
                yield one.name, here, there

    def require_equal(self, other: Spec, but: Collection[str] = ()) -> None:
        """Refuse to merge unequal specs, naming each field that differs, but for some."""
        apart = [one for one in self.differences(other) if one[0] not in but]
        apart = [one for one in apart if one[0] == "columns"] or apart  # other columns have another kernel, too
        told = [f"{name} is {here!r} here and {there!r} there" for name, here, there in apart]
        if told:
            raise MergeError(f"Cannot merge: {'; '.join(told)}. Hint: build both with the same parameters.")

    def to_dict(self) -> dict[str, Any]:
        """The spec as JSON values."""
        out = {one.name: getattr(self, one.name) for one in fields(self)}
        kinds = out.pop("kinds")
        return {**out, "kernel": self.kernel.to_dict(), **({"kinds": dict(kinds)} if kinds else {})}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Spec:
        """The spec that `to_dict` described."""
        try:
            values = dict(data)
            values["kernel"] = Kernel.from_dict(values["kernel"])
            for name in ("columns", "shape"):
                values[name] = None if values[name] is None else tuple(values[name])
            if "kinds" in values:
                from scumble.schema.kinds import checked

                values["kinds"] = checked(values["kinds"], values["columns"])
            if values["bounds"] is not None:
                low, high = values["bounds"]
                values["bounds"] = (tuple(low), tuple(high))
                if {len(low), len(high)} != {values["dimensions"]}:
                    raise ValueError("bounds that are not one for each column")
            spec = Spec(**values)
            spec._check()
            return spec
        except (KeyError, TypeError, ValueError, OverflowError) as problem:
            raise CorruptFileError(f"The parameters of the sketch cannot be read: {problem}.") from problem

    def require_affordable(self) -> None:
        """Refuse hash functions out of all proportion to the counters; the same when made and when loaded."""
        hashes = sum(factor.power for factor in self.kernel.factors)
        if hashes > MOST_HASHES:
            raise parameter("power", f"at most {MOST_HASHES:,} for all factors together", hashes)
        if self.dimensions > MOST_DIMENSIONS:
            raise parameter("dimensions", f"at most {MOST_DIMENSIONS:,}", self.dimensions)
        most = min(MOST, max(CHEAP, TIMES * self.rows * self.buckets))
        if self.numbers > most or self.numbers > MOST_IN_A_ROW * self.rows:
            must = (
                f"few enough for hash functions of {most:,} numbers, and of {MOST_IN_A_ROW:,} a row (power x columns)"
            )
            raise parameter("rows", must, f"{self.rows:,} with {self.numbers:,} numbers")

    @property
    def counters(self) -> tuple[int, ...]:
        """The shape of the array of counters."""
        return self.layout.counters

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many counters each row has."""
        rows, buckets = self.counters
        return (buckets,) * rows

    @property
    def numbers(self) -> int:
        """Roughly how many the hash functions have: what they cost, and what a query costs."""
        return self.layout.numbers

    def _check(self) -> None:
        """A file may come from anyone: no value is used before its type and range are known."""
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
