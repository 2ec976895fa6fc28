"""Noise that repeats, for tests alone.

The library's noise has no seed and must have none. So a check of what was released can fail by chance, and a check that
fails by chance is soon not believed. Hence every test runs on noise that is a function of the test's name: the bytes of
the operating system, which `privacy/noise.py` asks for, are replaced by those of a counter-based generator, and so are
the identities of releases, from which the draws of answers are derived: the outcome is the same on every machine.
Thresholds still state how far away chance is, so code which merely draws in another order does not turn a test red.

What is about entropy itself, or about the law of the noise, asks for the real thing and says how often it may fail:

    @pytest.mark.statistical(rate=1e-9)

The rate is derived at the line, and one above 1e-6 is refused before any test runs. ``pytest --real-noise`` gives real
noise to all tests: to see for oneself how far away chance is. Processes of their own have real noise always.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from scumble.audit import mutants
from scumble.privacy import noise

HIGHEST_RATE = 1e-6
"""No check may raise a false alarm more often than this."""


class Stream:
    """Bytes that depend on a name and on how many were asked for before. Philox is the same everywhere, for ever."""

    def __init__(self, name: str) -> None:
        key = np.frombuffer(hashlib.sha256(name.encode()).digest()[:16], "<u8")
        self._words = np.random.Philox(key=key)
        self._lock = threading.Lock()

    def __call__(self, count: int) -> bytes:
        with self._lock:
            words = self._words.random_raw(-(-count // 8))
        return words.astype("<u8").tobytes()[:count]


class OneByOne:
    """In place of a pool of threads, whose order of asking is nobody's: the parts are filled in their own order."""

    def __init__(self, _threads: int) -> None:
        pass

    def __enter__(self) -> OneByOne:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def map(self, fill: Callable[[Any], None], parts: Iterable[Any]) -> Iterator[None]:
        return map(fill, parts)


@contextlib.contextmanager
def noise_named(name: str) -> Iterator[None]:
    """Within, all noise of this process comes from the stream of that name."""
    with pytest.MonkeyPatch.context() as patch:
        source = SimpleNamespace(urandom=Stream(name))
        patch.setattr(noise, "os", source)
        patch.setattr(mutants, "os", source)
        patch.setattr(noise, "ThreadPoolExecutor", OneByOne)
        patch.setattr(uuid, "uuid4", names(name))
        yield


def names(name: str) -> Callable[[], uuid.UUID]:
    """Identities from the stream of that name; a process that was forked has others than its parent."""
    stream, here, real = Stream(f"{name}, identities"), os.getpid(), uuid.uuid4
    return lambda: uuid.UUID(bytes=stream(16), version=4) if os.getpid() == here else real()


def rate_of(marker: pytest.Mark) -> float:
    """The false-alarm rate that a mark states; a usage error if it states none, or one that is too high."""
    rate = marker.kwargs.get("rate")
    if marker.args or set(marker.kwargs) != {"rate"} or not isinstance(rate, float) or not 0 < rate <= HIGHEST_RATE:
        raise pytest.UsageError(f"statistical needs rate=, derived, and at most {HIGHEST_RATE}; got {marker}")
    return rate
