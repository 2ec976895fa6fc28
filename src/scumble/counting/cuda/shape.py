"""What a program depends on, and how its work is divided."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from scumble.counting.hasher import Hasher

FAMILIES = ("floor", "sign", "pick")
LARGEST_RECORD = 32
"""Numbers of a record that fit into registers."""
SHARED_BYTES = 224 << 10
"""Shared memory of a processor of an H200, less a little for the driver. Other devices have less, and say so."""
FIXED_COST = 4
"""Clearing and adding up one counter of a block's tables, in increments."""
MOST_STRIPES = 16


@dataclass(frozen=True)
class Factor:
    """What a program must know of one factor of the kernel."""

    family: str
    columns: int
    hashes: int
    size: int
    """Numbers per hash."""

    @property
    def pairs(self) -> int:
        """The same, rounded up to an even number: two are read at a time."""
        return self.size + self.size % 2


@dataclass(frozen=True)
class Shape:
    """All that a program's text depends on."""

    factors: tuple[Factor, ...]
    buckets: int
    direct: bool

    @staticmethod
    def of(hasher: Hasher) -> Shape:
        """Kept with the hasher."""
        if "_shape" not in hasher.__dict__:
            factors = tuple(
                Factor(family, len(which), parameters.shape[1], parameters.shape[2])
                for family, which, parameters in zip(hasher.families, hasher.which, hasher.parameters, strict=True)
            )
            hasher.__dict__["_shape"] = Shape(factors, hasher.buckets, hasher.direct)
        shape: Shape = hasher.__dict__["_shape"]
        return shape

    @property
    def columns(self) -> int:
        """Numbers of a record that are hashed, over all factors."""
        return sum(factor.columns for factor in self.factors)

    @property
    def hashes(self) -> int:
        """Hash functions of a row, over all factors."""
        return sum(factor.hashes for factor in self.factors)

    @property
    def projects(self) -> bool:
        """Whether every hash is a projection of the whole record."""
        return len(self.factors) == 1 and self.factors[0].family in ("floor", "sign")

    @property
    def floor(self) -> int:
        """1 if the projections are cut into steps and have offsets, 0 if only their signs count."""
        return int(self.factors[0].family == "floor")


@dataclass(frozen=True)
class Division:
    """How the work of a launch is divided: rows per block, threads, records, bytes of shared memory."""

    group: int
    threads: int
    records: int
    """Records per thread at a time, or tiles of 16 records per warp."""
    step: int
    """Records per block at a time."""
    resident: int
    """Blocks that share a processor."""
    shared: int
    table: int
    """Counters of a row."""

    def stripes(self, rows: int, n: int, processors: int) -> int:
        """Blocks that share a group's records: as many as fill whole waves best, with what their tables cost."""
        blocks, slots = -(-rows // self.group), processors * self.resident
        fixed = FIXED_COST * self.table / n
        most = max(1, min(MOST_STRIPES, n // self.step))
        return min(range(1, most + 1), key=lambda s: -(-blocks * s // slots) * (1 / s + fixed))


@cache
def text(name: str) -> str:
    """A source file of this folder."""
    return (Path(__file__).parent / name).read_text()


def source(name: str, shape: Shape, **constants: object) -> str:
    """A program: its constants, what all programs share, and its own text."""
    known = {"BUCKETS": f"{shape.buckets}u", "HASHES": shape.hashes, "DIRECT": int(shape.direct), **constants}
    defined = "".join(f"#define {key} {value}\n" for key, value in known.items())
    return defined + text("common.cu") + text(name)
