"""The compiled engine: numba, all cores, no interpreter lock.

Threads take pieces of the records in turn (`turns`), and each counts in a place of its own. Where records are few, or
counters too many to have them so often, they take shares of the rows instead. Either way no counter has two writers.
Large batches of kernels that project are counted in single precision with a guard (`quick`), everything else in double
precision (`exact`). Both give the same counters, to the integer.

Loading numba takes a second, and compiling all loops twenty. So a process begins with NumPy (`reference`) and goes on
with compiled loops when it has spent on NumPy about what they cost. Work is counted, not timed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import pairwise
from typing import TypeVar

import numpy as np

from scumble.columns.table import Ends, ends
from scumble.counting import exact, quick, reference, turns
from scumble.counting.engines import on_host
from scumble.counting.guard import Batch, Known, prepare
from scumble.counting.hasher import FAMILIES, PYTHON, Hasher
from scumble.counting.repeats import distinct, worth_a_search
from scumble.files.compiling import Patience, available_threads, can_compile, read_only
from scumble.kernels import Records

Share = TypeVar("Share")
Result = TypeVar("Result")
Pool = ThreadPoolExecutor | None

WORTH_A_THREAD = 1 << 20
"""Hashes that take longer, about a millisecond, than it takes to start a thread and to hand it its share."""
MANY, WORTH_MANY = 8, 1 << 23
"""Threads beyond which each more of them makes all wait longer, and hashes that are worth that."""
WORTH_SPREADING = 1 << 18
"""Values that take longer to prepare than it takes to hand them out."""
SHARES, WORTH_A_SHARE = 4, 4
"""Most shares of the rows for each thread, as who is quick takes more of them; and what a further one must be worth."""
WORTH_A_COUNTER = 8
"""Hashes that take longer than clearing a counter of one's own and adding it up in the end."""
AS_ONE = 32
"""Columns up to which a hash takes as long as one of a single column; of more it takes as many times as long."""
MOST_OWN = 1 << 21
"""Counters, 16 MiB of them, that each thread may have for itself."""
CALL, HASH = 1 << 16, 8
"""The work of a call and of a hash, in products of a value and a parameter, some 5 ns each by NumPy."""
LOADING, COMPILING = 1 << 26, 1 << 28
"""Work of NumPy, a third of a second and a second or two, that takes no longer than loading the loops of `exact`, or
compiling them."""
QUICK, WORTH = 1 << 35, 2
"""Work of a thread in the loops of `exact`, some ten seconds, that takes no longer than compiling those of `quick`, and
how many threads that share it are reckoned with."""
CODES = [vars(kind).get("codes") for kind in FAMILIES]
"""By NumPy, as those kernels say them that have compiled loops."""

numpy_first = Patience(LOADING, COMPILING)
exact_first = Patience(0, QUICK)
PART, FEWEST = 1 << 21, 1 << 13
"""Values for each thread, and the fewest records, that are prepared at a time: then threads wait for each other."""


def suits(work: int) -> bool:
    """Always: every machine has a processor."""
    return True


def count(
    hasher: Hasher, records: Sequence[Records], counts: np.ndarray, threads: int | None = None,
    known: Known | None = None,
) -> None:  # fmt: skip
    """Add each record to one counter of every row, in place. `known` is what other batches of a pass have found."""
    if counts.flags.c_contiguous and _early(hasher, len(records[0])):
        reference.count(hasher, records, counts)
        return
    busy = _busy(hasher, len(records[0]), threads)
    parts = _parts(hasher, on_host(records), busy)
    if busy == 1:
        for part in parts:
            _count_alone(hasher, part, counts, known)
        return
    with _crew(busy) as pool:
        for part in parts:
            _count(hasher, part, counts, busy, pool)


@np.errstate(all="ignore")  # a warning could tell of a record
def _count_alone(hasher: Hasher, records: Sequence[Records], counts: np.ndarray, known: Known | None) -> None:
    """One part of the records, by this thread, which asks for the interpreter's lock once if the quick loops serve."""
    batch = _prepared(hasher, records, 1, None, known)
    if batch is None:
        exact.count(hasher, records, counts, slice(0, hasher.rows))
        return
    batch, times = _without_repeats(batch, 1, None)
    rooms = [] if known is None else known.rooms
    try:
        room = rooms.pop()
    except IndexError:
        room = None
    rooms.append(quick.count_alone(batch, times, counts, slice(0, hasher.rows), room))


def _count(hasher: Hasher, records: Sequence[Records], counts: np.ndarray, threads: int, pool: Pool) -> None:
    """One part of the records, by all threads."""
    batch, times = _prepared(hasher, records, threads, pool), quick.EMPTY
    if batch is not None:
        batch, times = _without_repeats(batch, threads, pool)
    n = len(records[0] if batch is None else batch.values)
    size = counts.size if batch is None else quick.own_size(batch, counts.shape[1])
    most = min(turns.worth(n), _hashes(hasher, n) // (WORTH_A_COUNTER * size)) if size <= MOST_OWN else 1
    crew = max(1, min(threads, most))  # threads that may take pieces of the records, with counters of their own
    if crew >= min(threads, -(-hasher.rows // quick.TOGETHER)):
        _by_records(hasher, records, batch, times, counts, crew, pool)
    else:
        _by_rows(hasher, records, batch, times, counts, threads, pool)


def _by_records(
    hasher: Hasher, records: Sequence[Records], batch: Batch | None, times: np.ndarray, counts: np.ndarray,
    threads: int, pool: Pool,
) -> None:  # fmt: skip
    """Threads take pieces of the records through all rows; what each has counted is added up in the end."""
    every, turn = slice(0, hasher.rows), turns.new()
    if batch is None:
        edges = turns.pieces(len(records[0]), exact.TILE, threads)
        others = np.zeros((threads - 1, *counts.shape), counts.dtype)

        def work(k: int) -> None:
            counters = counts if k == 0 else others[k - 1]
            for piece in turns.taken(edges, turn):
                exact.count(hasher, [part[piece] for part in records], counters, every)

        def gather(mine: slice) -> None:
            for other in others:
                counts[mine] += other[mine]
    else:
        edges = turns.pieces(len(batch.values), quick.together(batch.values.shape[1]), threads)
        own = quick.fresh(batch, every, counts, threads)

        def work(k: int) -> None:
            quick.count(batch, times, own, k, counts, edges, turn)

        def gather(mine: slice) -> None:
            quick.gather(batch, own, counts, mine)

    _in_threads(work, range(threads), pool)
    _in_threads(gather, _shares(hasher.rows, 1, threads), pool)


def _by_rows(
    hasher: Hasher, records: Sequence[Records], batch: Batch | None, times: np.ndarray, counts: np.ndarray,
    threads: int, pool: Pool,
) -> None:  # fmt: skip
    """Threads take shares of the rows, and all records through them."""
    each = min(SHARES, _hashes(hasher, len(records[0])) // (WORTH_A_THREAD * WORTH_A_SHARE * threads))
    many = max(1, each) * threads  # as many for each, or all would wait for the one that has more
    columns = None  # of all records in single precision, for all threads to use; few had better make their own
    if batch is not None and batch.values.size >= WORTH_SPREADING:
        columns = quick.columns_for(batch, len(batch.values))
        _in_threads(partial(quick.fill, batch, columns), _shares(len(batch.values), quick.TILE, threads), pool)

    def work(mine: slice) -> None:
        if batch is None:
            exact.count(hasher, records, counts, mine)
        else:
            quick.count_alone(batch, times, counts, mine, columns=columns)

    _in_threads(work, _shares(hasher.rows, quick.TOGETHER, many), pool)


def sums(
    hasher: Hasher,
    records: Sequence[Records],
    counts: np.ndarray,
    lines: np.ndarray | None = None,
    threads: int | None = None,
) -> np.ndarray:
    """(lines, n): the counters that each record falls into, added up over the rows of each line."""
    records, lines = on_host(records), np.arange(hasher.rows) if lines is None else lines
    n = len(records[0])
    out = np.zeros((int(lines[-1]) + 1, n), counts.dtype)
    if n == 0:
        return out
    if _early(hasher, n):
        return reference.sums(hasher, records, counts, lines)
    busy = _busy(hasher, n, threads)
    with _crew(busy) as pool:
        quickly = counts.dtype == np.int64 and counts.flags.writeable
        batch = _prepared(hasher, records, busy, pool) if quickly else None
        if batch is None and busy == 1:  # few queries wait for nothing else
            exact.read(hasher, records, counts, lines, out, slice(0, n))
            return out
        most = exact.TILE if batch is None else quick.together(batch.values.shape[1])
        edges, turn = turns.pieces(n, most, busy), turns.new()

        def work(_: int) -> None:
            if batch is None:
                for piece in turns.taken(edges, turn):
                    exact.read(hasher, [part[piece] for part in records], counts, lines, out, piece)
            else:
                quick.read(batch, counts, lines, out, edges, turn)

        _in_threads(work, range(busy), pool)
    return out


def _early(hasher: Hasher, n: int) -> bool:
    """Whether NumPy does it, as long as nothing is compiled or loaded, or can be."""
    if has_codes(hasher):
        return numpy_first.lasts(_work_of(hasher, n), exact.ready)
    if not can_compile():
        raise ImportError("numba compiles the `code` of a kernel of one's own. Hint: pip install 'scumble[fast]'.")
    return False


def has_codes(hasher: Hasher) -> bool:
    """Whether NumPy's codes are known to be those of the compiled loops: not where a kernel has some of its own."""
    return PYTHON not in hasher.families and all(type(factor).codes in CODES for factor in hasher.factors)


def _work_of(hasher: Hasher, n: int) -> int:
    """Of a call with so many records."""
    return CALL + n * (HASH * hasher.multipliers.size + sum(drawn.size for drawn in hasher.parameters))


def _prepared(
    hasher: Hasher, records: Sequence[Records], threads: int, pool: Pool, known: Known | None = None
) -> Batch | None:
    """The batch for the quick loops; None if they do not serve it, or are not worth being compiled for it."""
    shared = min(threads, WORTH)  # the threads would all wait for the compiler
    if exact_first.lasts(_work_of(hasher, len(records[0])) // shared, quick.ready):
        return None

    def ends_of(values: np.ndarray) -> Ends:
        parts = _shares(len(values), quick.TILE, threads if values.size >= WORTH_SPREADING else 1)
        low, high = zip(*_in_threads(lambda mine: ends(values[mine]), parts, pool), strict=True)
        return np.min(low, axis=0), np.max(high, axis=0)

    return prepare(hasher, records, known, ends_of)


def _without_repeats(batch: Batch, threads: int, pool: Pool) -> tuple[Batch, np.ndarray]:
    """The batch with each record once, and how often it occurs; or as it is, if that is not worth it."""
    if not worth_a_search(batch.values, batch.multipliers.size):
        return batch, quick.EMPTY
    found = _in_threads(lambda share: distinct(batch.values, share, threads), range(threads), pool)
    values, times = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return batch._replace(values=read_only(values)), times


def _parts(hasher: Hasher, records: Sequence[Records], threads: int) -> Iterator[Sequence[Records]]:
    """The records in equal parts that are prepared and freed one at a time, 16 MiB for each thread at the most."""
    n, most = len(records[0]), max(FEWEST, PART * threads // _columns(hasher))
    size = -(-n // max(1, -(-n // most))) or 1
    for first in range(0, n, size):
        yield [part[first : first + size] for part in records]


def _busy(hasher: Hasher, n: int, threads: int | None) -> int:
    """Threads that n records keep busy."""
    hashes = _hashes(hasher, n)
    worth = min(1 + hashes // WORTH_A_THREAD, max(MANY, hashes // WORTH_MANY))
    return 1 if worth == 1 else min(threads or available_threads(), worth)


def _hashes(hasher: Hasher, n: int) -> int:
    """Hashes of n records of few columns that take as long as those of n of the hasher's."""
    return n * hasher.multipliers.size * max(1, _columns(hasher) // AS_ONE)


def _columns(hasher: Hasher) -> int:
    return sum(len(which) for which in hasher.which)


def _shares(size: int, group: int, threads: int) -> list[slice]:
    """Rows or records in equal parts, one for each thread, whole groups in each."""
    if threads == 1:
        return [slice(0, size)]
    groups = -(-size // group)
    parts = max(1, min(threads, groups))
    edges = [min(groups * k // parts * group, size) for k in range(parts + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]


def _crew(threads: int) -> AbstractContextManager[Pool]:
    """The threads that work, none where this one does."""
    return nullcontext() if threads == 1 else ThreadPoolExecutor(threads)


def _in_threads(work: Callable[[Share], Result], shares: Sequence[Share], pool: Pool) -> list[Result]:
    """Each share's work by the next thread that is free."""
    work = np.errstate(all="ignore")(work)  # a warning could tell of a record; threads do not inherit this
    if pool is None or len(shares) == 1:
        return [work(share) for share in shares]
    return list(pool.map(work, shares))
