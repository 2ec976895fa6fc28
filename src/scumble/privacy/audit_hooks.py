"""Where exact numbers meet noise: the one place where an auditor may look. Without one, each function is the identity.

Noise is reported when it is *drawn*, when it is *held* for one release (under its identity, with the claim that it is
to justify), and when the sum is *published*. Under the grey-box audit (:mod:`scumble.audit.replay`) a watcher records
the exact numbers of each call, and in a second run on a neighboring table puts the first run's outputs in the place of
the second's. It cannot set noise. While one watches, no other thread of the process can publish.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from scumble.errors import PrivacyError

if TYPE_CHECKING:
    from scumble.privacy.claim import PrivacyClaim

Published = tuple[np.ndarray, int | None]
"""Counters, and the count if there is one."""


class Watcher:
    """An auditor, such as that of :mod:`scumble.audit.replay`; this one looks away."""

    def drawn(self, kind: str, scale: Fraction, parts: int, values: np.ndarray) -> None:
        """Noise was drawn."""

    def held(self, name: str, claim: PrivacyClaim, counters: np.ndarray, count: int | None, row: int | None) -> None:
        """A release holds a portion of noise, under a name."""

    def published(self, names: Sequence[str], counters: np.ndarray, count: int | None) -> Published:
        """Numbers go out with the noise of those names; what comes back goes out in their place."""
        return counters, count

    def pinned(self, name: str, nodes: Sequence[str], counters: np.ndarray, count: int | None) -> Published:
        """The noise of a block less that of its nodes goes out; what comes back goes out in its place."""
        return counters, count

    def chosen(self, winner: int, scores: Sequence[int], scale: Fraction, apart: int, pure: bool) -> int:
        """A noisy choice goes out; what comes back goes out in its place."""
        return winner


_NOBODY = Watcher()


_watching: tuple[Watcher, int] | None = None


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Let a watcher see what this thread publishes: for the auditor only. One at a time."""
    global _watching
    if _watching is not None:
        raise PrivacyError("An audit is running in this process already. Hint: wait until it is done.")
    _watching = watcher, threading.get_ident()
    try:
        yield
    finally:
        _watching = None


def _watcher() -> Watcher:
    if _watching is None:
        return _NOBODY
    watcher, thread = _watching
    if thread != threading.get_ident():
        raise PrivacyError(
            "An audit is running in this process, and nothing else may be published meanwhile. "
            "Hint: run audits in a process of their own."
        )
    return watcher


def drawn(kind: str, scale: Fraction, values: np.ndarray, *, parts: int = 1) -> np.ndarray:
    """Noise that the sampler drew: its law, and (for a share of noise) how many shares make it whole."""
    _watcher().drawn(kind, scale, parts, values)
    return values


def hold(name: str, claim: PrivacyClaim, counters: np.ndarray, count: int | None, *, row: int | None = None) -> None:
    """Noise meant for one published thing, `name`, before anything is added to it; `count` is None if there is none.

    Where rows have scales of their own, each is a thing by itself: `row` says which of the claim's it is.
    """
    _watcher().held(name, claim, counters, count, row)


def publish(counters: np.ndarray, count: int | None, *names: str) -> Published:
    """Exact numbers with the noise that is held under `names` (shares: of all that were added up), to be published."""
    return _watcher().published(names, counters, count)


def pin(name: str, nodes: Sequence[str], counters: np.ndarray, count: int | None) -> Published:
    """The noise of a block of a stream less that of its nodes, all of them held and none used: to be published."""
    return _watcher().pinned(name, nodes, counters, count)


def choose(winner: int, scores: Sequence[int], scale: Fraction, apart: int, *, pure: bool = True) -> int:
    """The place of the best of these scores, by Laplace noise of this scale on each: only the place is published.

    `apart` is what the noise is made for: the most by which neighbors may move two scores apart. `pure`: whether it is
    charged in ε; if not, as for the Gaussian shift that it is a post-processing of.
    """
    return _watcher().chosen(winner, scores, scale, apart, pure)
