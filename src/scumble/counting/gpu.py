"""The GPU engine: CuPy, one program written for each shape of sketch (:mod:`scumble.counting.cuda`).

Records go to the device in chunks, two in flight; each device has a table of its own, added to the host's at the end.
Short records are hashed and counted in one launch. Long ones are projected by matrix products, a tile of rows at a
time, and counted from the tile. What the device does not cover (token sets, kernels of one's own, very wide tables) is
counted by the processor, with one line in the log.

What asks a device to upload, count and download is apart from the device, and tests run it on one in plain NumPy.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from types import ModuleType

import numpy as np

from scumble.counting import cuda
from scumble.counting.cuda import LARGEST_RECORD, SHARED_BYTES, Division, Shape, fused, halves, long
from scumble.counting.cuda.shape import FAMILIES
from scumble.counting.engines import OnDevice, on_host
from scumble.counting.hasher import Hasher
from scumble.errors import ScumbleError
from scumble.kernels import Records

log = logging.getLogger("scumble")

CHUNK_BYTES = 64 << 20
"""Records sent to a device at a time."""
DRIVER_BYTES = 3 << 10
"""Shared memory that the driver and a program's small arrays take of a processor."""
CAPABILITY = 80
"""Compute capability of the oldest devices with the instructions that the programs use, times ten."""
WORTH_A_DEVICE = 10**9
"""Hashes that take longer than sending the records to a device does."""
MOST_RECORDS = 1 << 31
"""Records a launch counts: a block's counters have 32 bits."""


def suits(work: int) -> bool:
    """Where there is a device, for work that is worth the way to it."""
    return work >= WORTH_A_DEVICE and driver_present() and available() > 0


def driver_present() -> bool:
    """Whether there may be a CUDA device, by a look at the file system: CuPy takes long to import."""
    return os.path.exists("/dev/nvidiactl") or os.path.exists(r"C:\Windows\System32\nvcuda.dll")


def available() -> int:
    """How many CUDA devices there are; 0 without CuPy or a driver."""
    try:
        return len(_devices())
    except ScumbleError:
        return 0


def reason_against(hasher: Hasher, room: int = SHARED_BYTES) -> str | None:
    """None if a device with so much shared memory can count for this hasher, else why not."""
    others = set(hasher.families) - set(FAMILIES)
    if others:
        return f"kernels of the family {', '.join(sorted(others))} are not covered"
    shape = Shape.of(hasher)
    if shape.columns > LARGEST_RECORD and not shape.projects:
        return f"products over more than {LARGEST_RECORD} columns are not covered"
    if (shape.columns > LARGEST_RECORD and long.shared(shape) <= room) or cuda.program(shape, room):
        return None
    return f"{hasher.buckets} buckets and {shape.hashes} hashes per row do not fit into shared memory"


@np.errstate(all="ignore")
def count(
    hasher: Hasher,
    records: Sequence[Records],
    counts: np.ndarray,
    threads: int | None = None,
    devices: Sequence[CudaDevice] | None = None,
) -> None:
    """Add each record to one counter of every row, in place."""
    reason = reason_against(hasher)
    if reason is None:
        chosen = list(devices or _devices())
        reason = reason_against(hasher, min(device.room for device in chosen))
    if reason is not None:
        from scumble.counting import cpu

        log.warning("Counting on the processor, not on the GPU: %s.", reason)
        cpu.count(hasher, on_host(records), counts, threads)
        return
    X = _matrix(records)
    if len(X) == 0:
        return
    if not isinstance(X, np.ndarray):
        table = chosen[0].zeros(counts.shape)
        chosen[0].count(hasher, X, table)
        counts += chosen[0].download(table)
        return

    @np.errstate(all="ignore")
    def work(device: CudaDevice, mine: list[slice]) -> np.ndarray:
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

    size = max(1, min(CHUNK_BYTES // (8 * X.shape[1]), -(-len(X) // len(chosen))))  # at least one for each device
    chunks = [slice(first, min(first + size, len(X))) for first in range(0, len(X), size)]
    shares = [chunks[k :: len(chosen)] for k in range(len(chosen))]
    if len(chosen) == 1:
        counts += work(chosen[0], shares[0])
        return
    with ThreadPoolExecutor(len(chosen)) as pool:
        for table in pool.map(work, chosen, shares):
            counts += table


def _matrix(records: Sequence[Records]) -> OnDevice:
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
        raise ScumbleError("engine='gpu' needs CuPy. Hint: pip install 'scumble[gpu]'.") from None
    try:
        found = [cupy.cuda.Device(number) for number in range(cupy.cuda.runtime.getDeviceCount())]
    except cupy.cuda.runtime.CUDARuntimeError:
        found = []
    able = [device.id for device in found if int(device.compute_capability) >= CAPABILITY]
    if not able:
        raise ScumbleError(
            f"engine='gpu' needs a CUDA device of compute capability {CAPABILITY / 10} or later. Hint: engine='cpu'."
        )
    return tuple(CudaDevice(number) for number in able)


def first_device() -> OnDevice:
    """The first CUDA device, as CuPy has it; refused in words where there is none."""
    return _devices()[0]._device


class CudaDevice:
    """One CUDA device, through CuPy."""

    def __init__(self, number: int) -> None:
        import cupy

        self._cupy = cupy
        self._device = cupy.cuda.Device(number)
        self.processors = int(self._device.attributes["MultiProcessorCount"])
        self.room = int(self._device.attributes["MaxSharedMemoryPerBlockOptin"]) - DRIVER_BYTES
        with self._device:
            self._copying = cupy.cuda.Stream(non_blocking=True)
        self._kernels: dict[tuple[str, Shape, Division | None], OnDevice] = {}

    def upload(self, X: np.ndarray) -> OnDevice:
        """Copy on a stream of its own, so counting the chunk before goes on meanwhile."""
        with self._device, self._copying:
            out = self._cupy.empty(X.shape, np.float64)
            out.set(np.ascontiguousarray(X, np.float64), self._copying)
            return out, self._copying.record()

    def zeros(self, shape: tuple[int, int]) -> OnDevice:
        """A table of counters on the device, all 0."""
        with self._device:
            return self._cupy.zeros(shape, np.uint64)

    def download(self, table: OnDevice) -> np.ndarray:
        """A table of counters, in host memory."""
        with self._device:
            # Memory that the device can write to directly; CuPy keeps it for the next time.
            pinned = self._cupy.cuda.alloc_pinned_memory(table.nbytes)
            out = np.frombuffer(pinned, np.int64, table.size).reshape(table.shape)
            found: np.ndarray = table.view(np.int64).get(out=out)
            return found

    def count(self, hasher: Hasher, X: OnDevice, counts: OnDevice) -> None:
        """Add the records to a table of counters on the device."""
        with self._device:
            if isinstance(X, tuple):
                X, arrived = X
                self._cupy.cuda.get_current_stream().wait_event(arrived)
                self._count(hasher, X, counts)
                # The next chunk but one may get this one's memory: not before it has been counted.
                self._copying.wait_event(self._cupy.cuda.get_current_stream().record())
            else:
                self._count(hasher, self._cupy.ascontiguousarray(X, dtype=np.float64), counts)

    def _count(self, hasher: Hasher, X: OnDevice, counts: OnDevice) -> None:
        shape = Shape.of(hasher)
        if shape.columns > LARGEST_RECORD:
            self._count_long(hasher, shape, X, counts)
            return
        size = halves.slab(shape) if cuda.program(shape, self.room) is halves else MOST_RECORDS
        for first in range(0, len(X), size):
            self._count_short(hasher, shape, X[first : first + size], counts)

    def _count_short(self, hasher: Hasher, shape: Shape, X: OnDevice, counts: OnDevice) -> None:
        program, division, stripes = _plan(shape, hasher.rows, len(X), self.processors, self.room)
        arrays = self._resident(hasher, lambda: program.pack(hasher, division))
        records: tuple[OnDevice, ...] = ()
        if program is halves:
            scales, *arrays = arrays
            records = self._in_halves(shape, division, X, scales)
        kernel = self._kernel("count", shape, division, lambda: program.source(shape, division))
        arguments = (*records, X, np.int64(len(X)), counts, np.int32(hasher.rows), *arrays)
        grid = (-(-hasher.rows // division.group), stripes)
        kernel(grid, (division.threads,), arguments, shared_mem=division.shared)

    def _in_halves(self, shape: Shape, division: Division, X: OnDevice, scales: OnDevice) -> tuple[OnDevice, ...]:
        tiles, words = halves.room(shape, len(X))
        halved, lengths = self._cupy.empty((tiles, words), np.uint32), self._cupy.empty((tiles, 16), np.float32)
        split = self._kernel("split", shape, division, lambda: halves.source(shape, division))
        split((-(-tiles // 8),), (256,), (X, np.int64(len(X)), np.int64(tiles), scales, halved, lengths))
        return halved, lengths, np.int64(-(-len(X) // 16))

    def _count_long(self, hasher: Hasher, shape: Shape, X: OnDevice, counts: OnDevice) -> None:
        """Records in halves, projections of a tile of rows, increments; tile by tile."""
        cupy = self._cupy
        directions, scales, *arrays = self._resident(hasher, lambda: long.pack(hasher))
        split, count = (self._kernel(name, shape, None, lambda: long.source(shape)) for name in ("split", "count"))
        height, width = long.tile(shape, hasher.rows, len(X))
        halved = cupy.zeros((width, directions.shape[1]), np.float16)
        lengths = cupy.zeros(width, np.float32)
        tile = cupy.zeros((height * shape.hashes, width), np.float32)
        for first in range(0, len(X), width):
            part = X[first : first + width]
            split((-(-len(part) // 8),), (256,), (part, np.int64(len(part)), scales, halved, lengths))
            for top in range(0, hasher.rows, height):
                rows = slice(top, min(top + height, hasher.rows))
                self._project(directions[top * shape.hashes : rows.stop * shape.hashes], halved, tile)
                records = (tile, np.int64(width), part, lengths, np.int64(len(part)))
                functions = (array[rows] for array in (counts, *arrays))
                grid = (rows.stop - top, long.stripes(rows.stop - top, len(part), self.processors))
                count(grid, (long.THREADS,), (*records, *functions), shared_mem=long.shared(shape))

    def _project(self, directions: OnDevice, halved: OnDevice, tile: OnDevice) -> None:
        """tile = directions halvedᵀ, added up in single precision."""
        from cupy.cuda import cublas, device, runtime

        one, zero = np.array(1.0, np.float32), np.array(0.0, np.float32)
        (m, depth), n = directions.shape, len(halved)
        half, single = runtime.CUDA_R_16F, runtime.CUDA_R_32F
        records, rows = (halved.data.ptr, half, depth), (directions.data.ptr, half, depth)
        cublas.gemmEx(
            device.get_cublas_handle(), cublas.CUBLAS_OP_T, cublas.CUBLAS_OP_N, n, m, depth, one.ctypes.data, *records,
            *rows, zero.ctypes.data, tile.data.ptr, single, n, cublas.CUBLAS_COMPUTE_32F, cublas.CUBLAS_GEMM_DEFAULT
        )  # fmt: skip

    def _resident(
        self, hasher: Hasher, pack: Callable[[], Sequence[np.ndarray]], name: str = "count"
    ) -> list[OnDevice]:
        """The hash functions on the device, kept with the hasher."""
        kept: dict[tuple[int, str], list[OnDevice]] = hasher.__dict__.setdefault("_on_device", {})
        if (self._device.id, name) not in kept:
            kept[self._device.id, name] = [self._cupy.asarray(np.ascontiguousarray(array)) for array in pack()]
        return kept[self._device.id, name]

    def _kernel(self, name: str, shape: Shape, division: Division | None, text: Callable[[], str]) -> OnDevice:
        """Compiled once per process and shape; CuPy also keeps it on disk."""
        key = (name, shape, division)
        if key not in self._kernels:
            kernel = self._kernels[key] = self._cupy.RawKernel(text(), name, options=("--std=c++17",))
            if name == "count":
                kernel.max_dynamic_shared_size_bytes = division.shared if division else long.shared(shape)
        return self._kernels[key]

    def moments(
        self, hasher: Hasher, X: OnDevice, values: np.ndarray, blocks: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean over rows and spread of the blocks' means of `values` (rows, buckets), one of each a query."""
        cupy = self._cupy
        with self._device:
            shape = Shape.of(hasher)
            numbers, start, multipliers = self._resident(hasher, lambda: fused.pack(hasher), "lookup")
            edges = cupy.asarray(np.r_[np.flatnonzero(np.diff(blocks, prepend=-1)), len(blocks)].astype(np.int32))
            table = cupy.asarray(values, dtype=np.float64)
            X = cupy.ascontiguousarray(cupy.asarray(X), dtype=np.float64)
            mean, spread = cupy.empty(len(X)), cupy.empty(len(X))
            kernel = self._kernel("lookup", shape, None, lambda: fused.lookup(shape))
            arguments = (X, np.int64(len(X)), numbers, start, multipliers, table, edges, np.int32(len(edges) - 1))
            kernel((-(-len(X) // 128),), (128,), (*arguments, np.int32(hasher.rows), mean, spread))
            return cupy.asnumpy(mean), cupy.asnumpy(spread)


@lru_cache(maxsize=1024)
def _plan(shape: Shape, rows: int, n: int, processors: int, room: int) -> tuple[ModuleType, Division, int]:
    """The program, how it divides the work, and in how many stripes."""
    program = cuda.program(shape, room)
    assert program is not None, "asked before"
    division = program.divide(shape, rows, room)
    return program, division, division.stripes(rows, n, processors)


@np.errstate(all="ignore")
def moments(
    hasher: Hasher, records: Sequence[Records], counts: np.ndarray, shift: np.ndarray, gain: float, blocks: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Mean over rows and spread of the blocks' means, all on the device; None if it does not serve this kernel."""
    if reason_against(hasher) is not None or Shape.of(hasher).columns > LARGEST_RECORD:
        return None
    values = (counts - shift[:, None]) * gain  # what each counter adds to the mean
    return _devices()[0].moments(hasher, _matrix(records), values, blocks)


def sums(
    hasher: Hasher,
    records: Sequence[Records],
    counts: np.ndarray,
    lines: np.ndarray | None = None,
    threads: int | None = None,
) -> np.ndarray:
    """By the CPU: as many numbers go back as were read."""
    from scumble.counting import cpu

    return cpu.sums(hasher, on_host(records), counts, lines, threads)
