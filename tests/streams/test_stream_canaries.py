"""ε of streams from below: a thousand canaries in one stream."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scumble
from scumble.audit.epsilon import p_value

PERIODS, CANARIES = 6, 1000


def guesses_right(method: str, epsilon: float, weaker: int = 1) -> tuple[int, int]:
    """Canaries with a cell of their own, in a period that the guesser knows; in, or out, by the toss of a coin.

    The guess is by all that was published: what the nodes say of the canary's column, by the method's own matrix.
    """
    from test_methods import triangle

    rng = np.random.default_rng(11)
    money = {"epsilon": epsilon * weaker, "delta": 1e-9 if method == "toeplitz" else 0.0, "count_share": 0}
    size: dict[str, Any] = {"rows": 1, "buckets": CANARIES, "design": "iid"}
    stream = scumble.Stream(scumble.EuclideanKernel(1.0), 1, periods=PERIODS, method=method, **size, **money)
    inside, arrives = rng.random(CANARIES) < 0.5, rng.integers(0, PERIODS, CANARIES)
    for period in range(PERIODS):
        stream._sketch.secret.counts[0] += inside & (arrives == period)
        stream.close_period()
    totals = np.array([stream.total(t).counts[0] for t in range(1, PERIODS + 1)])
    periods = np.diff(totals, axis=0, prepend=0)
    nodes = triangle(stream._method).astype(float)[: PERIODS if method != "bridge" else None]
    middle = 0.5 * nodes  # half of the way from out to in
    said = np.einsum("nt,tc->nc", nodes, periods.astype(float))
    score = np.array([nodes[:, j] @ (said[:, c] - middle[:, j]) for c, j in enumerate(arrives)])
    sure = np.argsort(-np.abs(score))[: CANARIES // 3]
    return len(sure), int(((score > 0) == inside)[sure].sum())


@pytest.mark.parametrize("method", ["toeplitz", "bridge", "daily"])
def test_canaries_in_a_stream(method: str) -> None:
    """One stream, a thousand canaries. An honest one is accused with probability 1e-6 at most, a quieter one is."""
    delta = 1e-9 if method == "toeplitz" else 0.0
    guesses, right = guesses_right(method, 1.0)
    assert p_value(CANARIES, guesses, right, 1.0, delta) > 1e-6
    guesses, right = guesses_right(method, 1.0, weaker=12)
    assert p_value(CANARIES, guesses, right, 1.0, delta) < 1e-6
