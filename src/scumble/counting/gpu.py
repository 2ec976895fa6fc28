"""The GPU engine: CuPy, one program written for each shape of sketch (:mod:`scumble.counting.cuda`).

Records go to the device in chunks, two in flight; each device has a table of its own, added to the host's at the end.
Short records are hashed and counted in one fused kernel. Long ones are projected by matrix products in double
precision, a tile of rows at a time, and counted from the tile. What the device does not cover (token sets, kernels
of one's own, very wide tables) is counted by the processor, with one line in the log.

The logic is apart from the device: it asks a :class:`Device` to upload, count and download, and tests run it on one
that works in plain NumPy.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np

from scumble.counting.cuda import FAMILIES, LARGEST_RECORD, Shape, Tuning, numbers_of, source, start_of
from scumble.counting.device import to_host
from scumble.counting.hasher import Hasher
from scumble.errors import ScumbleError
from scumble.kernels import Records

log = logging.getLogger("scumble")

MOST_ROWS = 8
"""Rows a block counts at once, if their tables fit."""
CHUNK_BYTES = 64 << 20
"""Records sent to a device at a time."""
WIDTH = 1 << 16
"""Records projected at a time, where records are long."""
TILE_BYTES = 1 << 30
"""Projections held on a device at a time, where records are long."""
COPIES_FILL = 1024
"""Tables of fewer buckets are kept in several copies, so that threads rarely meet in one bucket."""
SHARED_BYTES = 48 << 10
"""Shared memory a block may use without asking: several blocks then fit on a processor."""
MOST_SHARED_BYTES = 200 << 10


def available() -> int:
    """How many CUDA devices there are; 0 without CuPy or a driver."""
    try:
        return len(_devices())
    except ScumbleError:
        return 0


def reason_against(hasher: Hasher) -> str | None:
    """None if the device can count for this hasher, else why not."""
    families = {factor.family for factor in hasher.factors}
    if not families <= set(FAMILIES):
        return f"kernels of the family {', '.join(sorted(families - set(FAMILIES)))} are not covered"
    if 4 * hasher.buckets > MOST_SHARED_BYTES:
        return f"{hasher.buckets} buckets do not fit into shared memory"
    if Shape.of(hasher, False).columns > LARGEST_RECORD and (len(hasher.factors) > 1 or families == {"pick"}):
        return f"products over more than {LARGEST_RECORD} columns are not covered"
    return None


@dataclass(frozen=True)
class Division:
    """How the work of one launch is divided: rows a block, copies of each table, stripes over the records."""

    group: int
    copies: int
    threads: int
    stripes: int
    shared: int

    @staticmethod
    def of(shape: Shape, rows: int, n: int, processors: int) -> Division:
        tuning = Tuning.of(shape)
        copies = max(1, min(32, COPIES_FILL // shape.buckets))
        table = 4 * shape.buckets * copies
        if shape.by_matrix:
            # A warp takes eight rows; sets of warps with other rows share the records in the first-level cache.
            group = 8 * max(1, min(2 if shape.columns > 8 else 1, MOST_SHARED_BYTES // (8 * table)))
            shared = group * table
        elif shape.projected:
            group, shared = 1, table
        else:
            fixed = 8 * (shape.numbers + 1 + shape.hashes)
            group = max(1, min(MOST_ROWS, rows, SHARED_BYTES // (table + fixed)))
            shared = group * (table + fixed)
        blocks = -(-rows // group)
        # Enough blocks for several waves, but no stripe so thin that clearing the tables costs more than counting.
        wanted = -(-8 * processors // blocks)
        most = max(1, n // (4 * tuning.threads * tuning.records))
        return Division(group, copies, tuning.threads, max(1, min(wanted, most)), shared)


class Device(Protocol):
    """What the logic needs of a device."""

    processors: int

    def count(self, hasher: Hasher, X: Any, counts: Any) -> None:
        """Count a chunk of records, already on the device, into a table on the device."""

    def upload(self, X: np.ndarray) -> Any:
        """A chunk of records to the device; returns at once."""

    def zeros(self, shape: tuple[int, int]) -> Any:
        """An empty table on the device."""

    def download(self, table: Any) -> np.ndarray:
        """A table back to the host."""


def count(
    hasher: Hasher,
    records: Sequence[Records],
    counts: np.ndarray,
    threads: int | None = None,
    devices: Sequence[Device] | None = None,
) -> None:
    """Add each record to one counter of every row, in place."""
    reason = reason_against(hasher)
    if reason is not None:
        from scumble.counting import cpu

        log.warning("Counting on the processor, not on the GPU: %s.", reason)
        cpu.count(hasher, [Records(to_host(part.values), part.offsets) for part in records], counts, threads)
        return
    X = _matrix(records)
    if len(X) == 0:
        return
    chosen = list(devices or _devices())
    if not isinstance(X, np.ndarray):
        table = chosen[0].zeros(counts.shape)
        chosen[0].count(hasher, X, table)
        counts += chosen[0].download(table)
        return

    def work(device: Device, mine: list[slice]) -> np.ndarray:
        table = device.zeros(counts.shape)
        waiting = None
        for chunk in mine:
            arriving = device.upload(X[chunk])
            if waiting is not None:
                device.count(hasher, waiting, table)
            waiting = arriving
        if waiting is not None:
            device.count(hasher, waiting, table)
        return device.download(table)

    chunks = list(_chunks(len(X), X.shape[1], len(chosen)))
    shares = [chunks[k :: len(chosen)] for k in range(len(chosen))]
    if len(chosen) == 1:
        counts += work(chosen[0], shares[0])
        return
    with ThreadPoolExecutor(len(chosen)) as pool:
        for table in pool.map(work, chosen, shares):
            counts += table


def _chunks(n: int, columns: int, parts: int) -> Iterator[slice]:
    """Slices of the records: bounded in bytes, and at least one for each device."""
    size = max(1, min(CHUNK_BYTES // (8 * columns), -(-n // parts)))
    for first in range(0, n, size):
        yield slice(first, min(first + size, n))


def _matrix(records: Sequence[Records]) -> Any:
    """The factors' columns side by side, as the program reads them."""
    parts = [part.values for part in records]
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.hstack(parts)
    import cupy

    return cupy.hstack([cupy.asarray(part) for part in parts])


# ---- the real device ----


@cache
def _devices() -> tuple[CudaDevice, ...]:
    try:
        import cupy
    except ImportError:
        raise ScumbleError(
            "engine='gpu' needs CuPy. Hint: pip install 'scumble[gpu]', or the CuPy wheel for your CUDA version."
        ) from None
    try:
        found = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError:
        found = 0
    if not found:
        raise ScumbleError("engine='gpu' found no CUDA device. Hint: use engine='cpu'; the counters are the same.")
    return tuple(CudaDevice(number) for number in range(found))


class CudaDevice:
    """One CUDA device, through CuPy."""

    def __init__(self, number: int) -> None:
        import cupy

        self._cupy = cupy
        self._device = cupy.cuda.Device(number)
        self.processors = int(self._device.attributes["MultiProcessorCount"])
        with self._device:
            self._copying = cupy.cuda.Stream(non_blocking=True)

    def upload(self, X: np.ndarray) -> Any:
        """Copy on a stream of its own, so that counting the chunk before goes on meanwhile."""
        with self._device, self._copying:
            out = self._cupy.empty(X.shape, np.float64)
            out.set(np.ascontiguousarray(X, np.float64), self._copying)
            return out, self._copying.record()

    def zeros(self, shape: tuple[int, int]) -> Any:
        with self._device:
            return self._cupy.zeros(shape, np.uint64)

    def download(self, table: Any) -> np.ndarray:
        with self._device:
            # Half the bytes where the numbers are small, as they mostly are.
            small = int(table.max()) < 2**31
            return self._cupy.asnumpy(table.astype(np.int32) if small else table.astype(np.int64))

    def count(self, hasher: Hasher, X: Any, counts: Any) -> None:
        with self._device:
            if isinstance(X, tuple):
                X, arrived = X
                self._cupy.cuda.get_current_stream().wait_event(arrived)
            X = self._cupy.ascontiguousarray(X, dtype=np.float64)
            if X.shape[1] <= LARGEST_RECORD:
                self._count_fused(hasher, X, counts)
            else:
                self._count_projected(hasher, X, counts)

    def _count_fused(self, hasher: Hasher, X: Any, counts: Any) -> None:
        shape = Shape.of(hasher, False)
        division = Division.of(shape, hasher.rows, len(X), self.processors)
        numbers, start, multipliers = self._resident(hasher)
        kernel = self._program(shape, division, "count")
        blocks = -(-hasher.rows // division.group)
        arguments = (X, np.int64(len(X)), numbers, start, multipliers, counts, np.int32(hasher.rows), np.int32(0))
        kernel((blocks, division.stripes), (division.threads,), arguments, shared_mem=division.shared)

    def _count_projected(self, hasher: Hasher, X: Any, counts: Any) -> None:
        cupy = self._cupy
        shape = Shape.of(hasher, True)
        (factor,), hashes = shape.factors, shape.hashes
        _, start, multipliers = self._resident(hasher)
        skip = 1 if factor.family == "floor" else 0
        directions = hasher.parameters[0][:, :, skip:].reshape(hasher.rows * hashes, -1)
        offsets = cupy.asarray(hasher.parameters[0][:, :, 0])
        # Every product has the same shape, whatever the number of records: rounding must not depend on how many others
        # there are, or one record more could move another across an edge.
        height = max(1, min(hasher.rows, TILE_BYTES // (8 * hashes * WIDTH)))
        space = cupy.empty((height * hashes, WIDTH), np.float64)
        padded = cupy.zeros((WIDTH, X.shape[1]), np.float64)
        for top in range(0, hasher.rows, height):
            rows = slice(top, min(top + height, hasher.rows))
            A = cupy.zeros((height * hashes, X.shape[1]), np.float64)
            A[: (rows.stop - top) * hashes] = cupy.asarray(directions[top * hashes : rows.stop * hashes])
            for first in range(0, len(X), WIDTH):
                part = X[first : first + WIDTH]
                padded[: len(part)] = part
                T = cupy.matmul(A, padded.T, out=space)
                n = rows.stop - rows.start
                division = Division.of(shape, n, len(part), self.processors)
                kernel = self._program(shape, division, "count")
                arguments = (
                    T,
                    np.int64(len(part)),
                    np.int64(WIDTH),
                    offsets[rows],
                    start[rows],
                    multipliers[rows],
                    counts,
                )
                kernel(
                    (n, division.stripes),
                    (division.threads,),
                    (*arguments, np.int32(n), np.int32(top)),
                    shared_mem=division.shared,
                )

    def _resident(self, hasher: Hasher) -> tuple[Any, Any, Any]:
        """The hash functions on the device, kept with the hasher."""
        kept = getattr(hasher, "_on_device", None)
        if kept is None or kept[0] is not self:
            cupy = self._cupy
            small = Shape.of(hasher, False).columns <= LARGEST_RECORD
            numbers = cupy.asarray(numbers_of(hasher)) if small else None
            kept = (self, numbers, cupy.asarray(start_of(hasher)), cupy.asarray(hasher.multipliers))
            hasher._on_device = kept  # type: ignore[attr-defined]
        return kept[1:]

    def _program(self, shape: Shape, division: Division, name: str) -> Any:
        kernel = _program(self._device.id, name, shape, division.group, division.copies)
        if division.shared > 48 << 10:
            kernel.max_dynamic_shared_size_bytes = division.shared
        return kernel

    def moments(self, hasher: Hasher, X: Any, values: np.ndarray, blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean over rows and spread of the blocks' means of `values` (rows, buckets), one of each a query."""
        cupy = self._cupy
        with self._device:
            shape = Shape.of(hasher, False)
            numbers, start, multipliers = self._resident(hasher)
            edges = cupy.asarray(np.r_[np.flatnonzero(np.diff(blocks, prepend=-1)), len(blocks)].astype(np.int32))
            table = cupy.asarray(values, dtype=np.float64)
            X = cupy.ascontiguousarray(cupy.asarray(X), dtype=np.float64)
            mean, spread = cupy.empty(len(X)), cupy.empty(len(X))
            kernel = _program(self._device.id, "lookup", shape, 1, 1)
            arguments = (X, np.int64(len(X)), numbers, start, multipliers, table, edges, np.int32(len(edges) - 1))
            kernel((-(-len(X) // 128),), (128,), (*arguments, np.int32(hasher.rows), mean, spread))
            return cupy.asnumpy(mean), cupy.asnumpy(spread)


@cache
def _program(device: int, name: str, shape: Shape, group: int, copies: int) -> Any:
    """Compiled once a process and shape; CuPy also keeps it on disk."""
    import cupy

    return cupy.RawKernel(source(shape, group=group, copies=copies), name, options=("--std=c++17",))


def moments(
    hasher: Hasher, records: Sequence[Records], values: np.ndarray, blocks: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Mean over rows and spread of the blocks' means, all on the device; None if it cannot serve."""
    if reason_against(hasher) is not None or Shape.of(hasher, False).columns > LARGEST_RECORD:
        return None
    return _devices()[0].moments(hasher, _matrix(records), values, blocks)


def lookup(hasher: Hasher, records: Sequence[Records], counts: np.ndarray, threads: int | None = None) -> np.ndarray:
    """(rows, n): the counter that each record falls into. Few queries are the processor's business."""
    from scumble.counting import cpu

    return cpu.lookup(hasher, [Records(to_host(part.values), part.offsets) for part in records], counts, threads)


__all__ = ["CudaDevice", "Device", "Division", "available", "count", "lookup", "reason_against"]
