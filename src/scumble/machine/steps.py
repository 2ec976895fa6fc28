"""Steps of long work that somebody may watch, however deep below them it is done.

>>> def tell(done: int, of: int) -> None:
...     print(f"{done} of {of}")
>>> with watched(tell):
...     total = sum(steps([5, 6, 7]))
0 of 3
1 of 3
2 of 3
3 of 3
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Step = TypeVar("Step")
Tell = Callable[[int, int], None]
"""Is called before each step and after the last, with how many are done, and of how many."""
_watcher: ContextVar[Tell | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(tell: Tell) -> Iterator[None]:
    """Whoever watches the steps that are taken here."""
    before = _watcher.set(tell)
    try:
        yield
    finally:
        _watcher.reset(before)


def steps(each: Sequence[Step]) -> Iterator[Step]:
    """Each of them, told to whoever watches."""
    tell = _watcher.get()
    for done, step in enumerate(each):
        if tell is not None:
            tell(done, len(each))
        yield step
    if tell is not None:
        tell(len(each), len(each))
