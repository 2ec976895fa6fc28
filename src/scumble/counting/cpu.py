"""The compiled engine: numba, all cores, no interpreter lock.

The rows are dealt out to the threads, so each thread owns its rows' counters and nothing has to be merged. Large
batches of kernels that project go the quick way, in single precision with a guard (`quick`); everything else in double
precision (`exact`). Both ways give the same counters, to the integer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from scumble.counting import exact, quick
from scumble.counting.device import on_host
from scumble.counting.guard import Batch, prepare
from scumble.counting.hasher import Hasher
from scumble.counting.repeats import distinct, worth_a_search
from scumble.kernels import Records

Share = TypeVar("Share")
Result = TypeVar("Result")

WORTH_A_THREAD = 1 << 18
"""Hashes that take longer than starting a thread does."""
PART, FEWEST = 1 << 21, 1 << 13
"""Values, and the fewest records, that are prepared at a time: 16 MiB."""


def available_threads() -> int:
    """The cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1


def suits(work: int) -> bool:
    """Always: every machine has a processor."""
    return True


def count(hasher: Hasher, records: Sequence[Records], counts: np.ndarray, threads: int | None = None) -> None:
    """Add each record to one counter of every row, in place."""
    for part in _parts(hasher, on_host(records)):
        shares = _shares(hasher.rows, quick.TOGETHER, _busy(hasher, len(part[0]), threads))
        batch = prepare(hasher, part)
        if batch is None:
            _in_threads(partial(exact.count, hasher, part, counts), shares)
            continue
        batch, times = _without_repeats(batch, len(shares))
        columns = _in_single(batch, len(shares))
        with _one_thread_a_product():
            _in_threads(partial(quick.count, batch, columns, times, counts), shares)


def lookup(hasher: Hasher, records: Sequence[Records], counts: np.ndarray, threads: int | None = None) -> np.ndarray:
    """(rows, n): the counter that each record falls into, row by row."""
    return sums(hasher, records, counts, np.arange(hasher.rows), threads)


def sums(
    hasher: Hasher, records: Sequence[Records], counts: np.ndarray, lines: np.ndarray, threads: int | None = None
) -> np.ndarray:
    """(lines, n): the counters that each record falls into, added up over the rows of each line, lines ascending."""
    records = on_host(records)
    n = len(records[0])
    out = np.zeros((int(lines[-1]) + 1, n), counts.dtype)
    if n == 0:
        return out
    batch = prepare(hasher, records) if counts.dtype == np.int64 and counts.flags.writeable else None
    shares = _shares(n, 1, _busy(hasher, n, threads))
    if batch is None and len(shares) == 1:
        exact.read(hasher, records, counts, lines, out, shares[0])
    elif batch is None:
        _in_threads(lambda mine: exact.read(hasher, [part[mine] for part in records], counts, lines, out, mine), shares)
    else:
        with _one_thread_a_product():
            _in_threads(
                lambda mine: quick.read(batch._replace(values=batch.values[mine]), counts, lines, out, mine.start),
                shares,
            )
    return out


def moments(
    hasher: Hasher, records: Sequence[Records], counts: np.ndarray, shift: np.ndarray, gain: float, blocks: np.ndarray
) -> None:
    """By `sums`: there is no shorter way."""


def _without_repeats(batch: Batch, threads: int) -> tuple[Batch, np.ndarray]:
    """The batch with each record once, and how often it occurs; or as it is, if that is not worth it."""
    if not worth_a_search(batch.values, batch.multipliers.size):
        return batch, quick.EMPTY
    found = _in_threads(lambda share: distinct(batch.values, share, threads), range(threads))
    values, times = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return batch._replace(values=values), times


def _in_single(batch: Batch, threads: int) -> np.ndarray | None:
    """All columns in single precision, for all threads to use; None where each had better make its own."""
    if threads == 1 or batch.values.size < WORTH_A_THREAD:
        return None
    columns = quick.columns_for(batch, len(batch.values))
    _in_threads(partial(quick.fill, batch, columns), _shares(len(batch.values), quick.TILE, threads))
    return columns


def _parts(hasher: Hasher, records: Sequence[Records]) -> Iterator[Sequence[Records]]:
    """The records in parts that are prepared and freed one at a time."""
    size = max(FEWEST, PART // sum(len(which) for which in hasher.which))
    for first in range(0, len(records[0]), size):
        yield [part[first : first + size] for part in records]


def _busy(hasher: Hasher, n: int, threads: int | None) -> int:
    """Threads that n records keep busy."""
    worth = 1 + n * hasher.rows // WORTH_A_THREAD
    return 1 if worth == 1 else min(threads or available_threads(), worth)


def _shares(size: int, group: int, threads: int) -> list[slice]:
    """Rows or records in equal parts, one for each thread, whole groups in each."""
    if threads == 1:
        return [slice(0, size)]
    groups = -(-size // group)
    parts = max(1, min(threads, groups // 2))
    edges = [min(groups * k // parts * group, size) for k in range(parts + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]


def _in_threads(work: Callable[[Share], Result], shares: Sequence[Share]) -> list[Result]:
    """Each share's work in a thread of its own, the first in this one."""
    work = np.errstate(all="ignore")(work)  # a warning could tell of a record; threads do not inherit this
    if len(shares) == 1:
        return [work(shares[0])]
    with ThreadPoolExecutor(len(shares) - 1) as pool:
        others = pool.map(work, shares[1:])
        return [work(shares[0]), *others]


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def _one_thread_a_product() -> AbstractContextManager[object]:
    """Each of our threads multiplies on its own: the libraries of matrix products shall not start more."""
    limit: AbstractContextManager[object] = _libraries().limit(limits=1, user_api="blas")
    return limit


if TYPE_CHECKING:  # mypy holds this module to what engines promise
    from scumble.counting import cpu
    from scumble.counting.engines import Engine

    _: Engine = cpu
