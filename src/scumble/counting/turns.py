"""Pieces of work that threads take in turn, inside compiled loops: each the next one, whenever it is done with one.

Threads with equal shares are done when the slowest core is, and cores differ. Small pieces that Python deals out make
them wait for the interpreter instead. So the number of the next piece is a counter, and taking it one atomic addition:
no piece is taken twice, and none is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock

import numpy as np

from scumble.files.compiling import LLVM, Spelled

SMALL = 512
"""Records of the smallest piece: smaller ones fetch a row's counters for too few of them."""
FEW = 8
"""Smallest pieces for each thread, fewer than which would not be dealt out evenly."""
EACH = 2
"""Pieces for each thread, were what is left cut into equal ones."""

_lock = Lock()


def new() -> np.ndarray:
    """A counter for `take`: no piece has been taken yet."""
    return np.zeros(1, np.int64)


class Take(Spelled):
    """``take(turn)``: the number of the next piece, from 0 on, which nobody else gets."""

    def __call__(self, turn: np.ndarray) -> int:
        with _lock:
            number = int(turn[0])
            turn[0] += 1
        return number

    @staticmethod
    def typed(context: LLVM, turn: LLVM) -> LLVM:
        """Its type, and LLVM's code for it."""
        from numba.core import types

        return types.int64(turn), _code


take = Take()


def _code(context: LLVM, builder: LLVM, signature: LLVM, arguments: LLVM) -> LLVM:
    """LLVM's atomic addition; in which order threads take pieces does not matter."""
    from llvmlite import ir

    turn = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.atomic_rmw("add", turn.data, ir.Constant(ir.IntType(64), 1), "monotonic")


def taken(edges: np.ndarray, turn: np.ndarray) -> Iterator[slice]:
    """The pieces that a thread takes outside compiled loops."""
    while (piece := take(turn)) < len(edges) - 1:
        yield slice(int(edges[piece]), int(edges[piece + 1]))


def worth(n: int) -> int:
    """How many threads n records can be dealt out to evenly."""
    return n // (FEW * SMALL)


def pieces(n: int, most: int, threads: int) -> np.ndarray:
    """Where n records are cut for so many threads: pieces of `most` at most, and ever smaller toward the end.

    So a slow thread keeps the others waiting for no longer than its last piece takes. Few records are cut into one
    piece for each thread.
    """
    if threads == 1:
        return np.array([0, n] if n else [0], np.int64)
    if threads > worth(n):
        return np.unique(n * np.arange(threads + 1, dtype=np.int64) // threads)
    edges = [0]
    while (left := n - edges[-1]) > 0:
        piece = max(SMALL, min(most, left // (EACH * threads)) // SMALL * SMALL)
        edges.append(edges[-1] + (left if left < 2 * SMALL else piece))
    return np.array(edges, np.int64)
