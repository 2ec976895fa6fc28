"""Reading and counting at the same time: a thread reads the next batches while this one is counted.

Others may already work on them: what is a function of one batch alone.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")
S = TypeVar("S")

READ_AHEAD = 3
"""Items that lie ready."""
_END = object()
_PATIENCE = 3.0  # seconds that a reader has to end
_WAIT = 0.1  # seconds after which a waiting thread looks whether it should stop


def read_ahead(
    items: Iterator[T],
    *,
    depth: int = READ_AHEAD,
    stopped: Callable[[], bool] = lambda: False,
    wake: Callable[[], None] = lambda: None,
) -> Iterator[T]:
    """The same items in the same order, read by a thread that is at most `depth` ahead.

    An error while reading is raised here, after the items before it. When `stopped` says so, the stream ends early.
    `wake` is called at the end: it may call a reader back that waits for bytes.

    >>> list(read_ahead(iter(range(5))))
    [0, 1, 2, 3, 4]
    """
    waiting: queue.Queue[Any] = queue.Queue(depth)
    done = threading.Event()
    failure: list[BaseException] = []

    def put(item: object) -> bool:
        while not done.is_set():
            try:
                waiting.put(item, timeout=_WAIT)
                return True
            except queue.Full:
                continue
        return False

    def read() -> None:
        try:
            for item in items:
                if not put(item):
                    break
        except BaseException as problem:
            failure.append(problem)
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                close()
            put(_END)

    # A daemon: a read that never returns (an idle pipe) must not keep the process alive.
    thread = threading.Thread(target=read, name="scumble-reader", daemon=True)
    thread.start()
    try:
        while not stopped():
            try:
                item = waiting.get(timeout=_WAIT)
            except queue.Empty:
                continue
            if item is _END:
                if failure:
                    raise failure[0]
                return
            yield item
    finally:
        done.set()
        wake()
        # A thread that comes back while the interpreter ends would abort it; one that never does must not keep it.
        thread.join(_PATIENCE)


def in_order(items: Iterable[T], work: Callable[[T], S], threads: int) -> Iterator[S]:
    """`work(item)` for each item, in their order, so many of them under way at a time.

    >>> list(in_order(range(5), lambda number: number**2, threads=2))
    [0, 1, 4, 9, 16]
    """
    waiting = deque[Callable[[], S]]()
    with begun(iter(items), work, threads) as under_way:
        for _, done in under_way:
            waiting.append(done)
            if len(waiting) == threads:
                yield waiting.popleft()()
        while waiting:
            yield waiting.popleft()()


@contextmanager
def begun(items: Iterator[T], work: Callable[[T], S], threads: int) -> Iterator[Iterator[tuple[T, Callable[[], S]]]]:
    """The same items in the same order, each with a function that returns `work(item)`, which a thread has begun.

    Whoever reads these items ahead has that many of them under way. An error of `work` is raised by the function.
    With one thread, the function itself does the work.

    >>> with begun(iter(range(5)), lambda number: number**2, threads=2) as items:
    ...     [(item, done()) for item, done in items]
    [(0, 0), (1, 1), (2, 4), (3, 9), (4, 16)]
    """
    pool = ThreadPoolExecutor(threads, "scumble-worker")

    def handed() -> Iterator[tuple[T, Callable[[], S]]]:
        try:
            for item in items:
                yield item, partial(work, item) if threads == 1 else pool.submit(work, item).result
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                close()

    try:
        yield handed()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
