"""Every piece of work is taken once: by threads in compiled loops, and outside them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scumble.counting import turns
from scumble.counting.turns import SMALL, take
from scumble.files.compiling import njit

PIECES, THREADS = 3_000_000, 4


@njit(nogil=True)
def compiled(turn: np.ndarray, taken: np.ndarray) -> int:
    """Note every piece that this thread takes; returns how many."""
    many = 0
    piece = take(turn)
    while piece < taken.size:
        taken[piece] += 1
        many += 1
        piece = take(turn)
    return many


def plain(turn: np.ndarray, taken: np.ndarray) -> int:
    mine = list(turns.taken(np.arange(taken.size + 1), turn))
    for piece in mine:
        taken[piece] += 1
    return len(mine)


@pytest.mark.parametrize("take_all, pieces", [(compiled, PIECES), (plain, PIECES // 300)], ids=["compiled", "plain"])
def test_every_piece_is_taken_by_one_thread(take_all: Callable[..., int], pieces: int) -> None:
    """A turn that is read and written in two steps gives some pieces to two threads."""
    compiled(turns.new(), np.zeros(1, np.int64))  # so that all begin at once
    turn, taken = turns.new(), np.zeros(pieces, np.int64)
    with ThreadPoolExecutor(THREADS) as pool:
        each = list(pool.map(lambda _: take_all(turn, taken), range(THREADS)))
    assert np.all(taken == 1) and sum(each) == pieces
    assert turn[0] == pieces + THREADS  # each thread asked once in vain


def test_a_turn_is_taken_in_one_step() -> None:
    """If threads happen not to meet, the test shows nothing."""
    compiled(turns.new(), np.zeros(1, np.int64))
    (code,) = compiled.inspect_llvm().values()
    assert "atomicrmw add" in code


@given(n=st.integers(1, 5_000_000), most=st.integers(2, 64).map(lambda k: k * SMALL), threads=st.integers(1, 40))
def test_pieces_are_all_records_and_grow_smaller(n: int, most: int, threads: int) -> None:
    edges = turns.pieces(n, most, threads)
    sizes = np.diff(edges)
    assert edges[0] == 0 and edges[-1] == n and edges.dtype == np.int64 and np.all(sizes > 0)
    if threads == 1 or threads > turns.worth(n):
        assert len(sizes) == min(n, threads) and np.ptp(sizes) <= 1
    else:
        assert sizes.max() <= most and np.all(np.diff(sizes[:-1]) <= 0)
        assert sizes.min() >= SMALL and sizes[-1] < 2 * SMALL
        left = n - edges[:-2]
        assert np.all(sizes[:-1] <= np.maximum(SMALL, left / (turns.EACH * threads)))
