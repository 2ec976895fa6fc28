"""Does the audit catch wrong streams? A node's noise used twice, a missed scale, noise drawn again, and more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scumble
from scumble.audit.canaries import p_value
from scumble.audit.greybox import audit_path
from scumble.audit.greybox.paths import PATHS
from scumble.continual import bridge, choosing, toeplitz
from scumble.continual.method import Machine
from scumble.privacy.sensitivity import Column
from scumble.releasing.periods import Nodes
from scumble.streams.stream import Stream

Patch = pytest.MonkeyPatch


def findings(name: str) -> str:
    from scumble.audit.greybox import all_paths

    all_paths()
    path = PATHS[name]
    return " ".join(audit_path(path, path.pairs()[:2]).findings)


def a_node_is_used_twice(patch: Patch) -> None:
    """Every period has the first one's noise."""
    first: dict[str, np.ndarray] = {}
    draw = Nodes.draw
    patch.setattr(Nodes, "draw", lambda nodes, node: first.setdefault(nodes._identity, draw(nodes, node)).copy())


def a_node_has_another_ones_noise(patch: Patch) -> None:
    """Drawn as it must be, but each period publishes with the noise of the one before."""
    last: dict[str, np.ndarray] = {}
    publish = Nodes.publish

    def swapped(nodes: Nodes, node: str, noise: np.ndarray, exact: np.ndarray) -> np.ndarray:
        mine, last[nodes._identity] = last.get(nodes._identity, noise), noise
        return publish(nodes, node, mine, exact)

    patch.setattr(Nodes, "publish", swapped)


def the_column_is_missed(patch: Patch) -> None:
    """The noise of a single release on numbers that are a million times as large."""
    patch.setattr(toeplitz.Toeplitz, "column", Column(1, 1, 1))
    patch.setattr(bridge.Bridge, "column", Column(1, 1, 1))


def a_weight_grows_after_the_column_was_taken(patch: Patch) -> None:
    """The noise hides a smaller triangle than the one that is published."""
    honest, weights = toeplitz.Toeplitz(5).column, toeplitz.Toeplitz.own.func  # type: ignore[attr-defined]
    patch.setattr(toeplitz.Toeplitz, "own", property(lambda method: 2 * weights(method)))
    patch.setattr(toeplitz.Toeplitz, "column", honest)


def noise_is_drawn_again_after_a_resume(patch: Patch) -> None:
    load = Stream.load

    def again(*args: Any, **options: Any) -> Stream:
        stream = load(*args, **options)
        stream._machine.open(stream._closed, stream._nodes.draw, stream._nodes.pin)
        return stream

    patch.setattr(Stream, "load", staticmethod(again))


def a_block_tells_a_record(patch: Patch) -> None:
    """Of the block's noise less its nodes', something else is made public."""
    pin = Nodes.pin
    patch.setattr(Nodes, "pin", lambda nodes, block, names, left: pin(nodes, block, names, left + 1))


def a_block_is_not_told_to_anybody(patch: Patch) -> None:
    """The bridge without its pin: noise that nobody accounts for decides what is published."""
    patch.setattr(Nodes, "pin", lambda nodes, block, names, left: left)


def the_exact_total_goes_out(patch: Patch) -> None:
    close = toeplitz._Machine.close

    def leaks(machine: Machine, period: int, exact: np.ndarray, publish: Any) -> None:
        close(machine, period, exact, publish)  # type: ignore[arg-type]
        machine.arrays["total"] = machine.arrays["total"] + 0.0 * machine.arrays["total"] + (exact.sum() % 2)

    patch.setattr(toeplitz._Machine, "close", leaks)


MUTANTS: list[tuple[Callable[[Patch], None], str]] = [
    (a_node_is_used_twice, "Stream, gaussian, toeplitz"),
    (a_node_is_used_twice, "Stream, pure, daily"),
    (a_node_has_another_ones_noise, "Stream, gaussian, toeplitz"),
    (the_column_is_missed, "Stream, gaussian, toeplitz"),
    (the_column_is_missed, "Stream, pure, bridge"),
    (a_weight_grows_after_the_column_was_taken, "Stream, gaussian, toeplitz"),
    (noise_is_drawn_again_after_a_resume, "Stream, resumed from its file"),
    (noise_is_drawn_again_after_a_resume, "Stream, bridge resumed from its file"),
    (a_block_tells_a_record, "Stream, pure, bridge"),
    (a_block_is_not_told_to_anybody, "Stream, pure, bridge"),
    (the_exact_total_goes_out, "Stream, gaussian, toeplitz"),
]


@pytest.mark.parametrize(("mutant", "path"), MUTANTS, ids=lambda one: getattr(one, "__name__", one))
def test_a_wrong_stream_is_caught(mutant: Callable[[Patch], None], path: str, monkeypatch: Patch) -> None:
    mutant(monkeypatch)
    monkeypatch.setattr(choosing, "_made", choosing._made.__wrapped__)  # no method that was made before
    assert findings(path)


# ---- canaries ----

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


def test_the_audit_watches_whole_streams(tmp_path: Path) -> None:
    assert not findings("Stream, resumed from its file")
