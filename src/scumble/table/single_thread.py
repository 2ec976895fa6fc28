"""Linear algebra in one thread: for small products a second one costs more than it brings.

On two busy cores the answers of a large cross-table took 27 seconds of processor time where BLAS had both, and 6 where
it had one: its threads wait for each other in a loop.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any

_limited = threading.Lock()


@contextmanager
def one_thread() -> Iterator[None]:
    """Within, BLAS uses one thread. Who comes while another is within leaves the limit to that one: it is the whole
    process's, and must be lifted by who set it."""
    if not _limited.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas") if _controller() is not None else nullcontext():
            yield
    finally:
        _limited.release()


@cache
def _controller() -> Any:
    """What knows the libraries. To find them takes as long as an answer, so it is done once."""
    try:
        from threadpoolctl import ThreadpoolController
    except ModuleNotFoundError:  # who has NumPy alone waits a little longer
        return None
    return ThreadpoolController()
