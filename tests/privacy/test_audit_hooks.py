"""Where an auditor may look: nobody does in production, and a watcher stops everybody else."""

from __future__ import annotations

import threading
from fractions import Fraction

import numpy as np
import pytest

from scumble.errors import PrivacyError
from scumble.privacy import audit_hooks, discrete_laplace


class Taker:
    """Takes note of what is drawn, and publishes sevens."""

    def __init__(self) -> None:
        self.draws: list[tuple] = []

    def drawn(self, kind, scale, parts, values):
        self.draws.append((kind, scale, parts, values.shape))

    def published(self, names, counters, count):
        return np.full_like(counters, 7), count


def test_nobody_watches_unless_asked_to():
    assert audit_hooks._watching is None
    counters = np.arange(3)
    assert audit_hooks.publish(counters, 5, "a name") == (counters, 5)
    assert audit_hooks.choose(2, [1, 2, 3], Fraction(1), 2) == 2


def test_a_watcher_is_told_of_noise_and_of_what_is_published():
    taker = Taker()
    with audit_hooks.watching(taker):
        discrete_laplace(Fraction(3, 2), (2, 5))
        assert audit_hooks.publish(np.arange(3), None)[0].tolist() == [7, 7, 7]
    assert taker.draws == [("discrete-laplace", Fraction(3, 2), 1, (2, 5))]
    assert audit_hooks._watching is None


def test_no_other_thread_publishes_meanwhile():
    refused = []

    def elsewhere():
        with pytest.raises(PrivacyError, match="An audit is running"):
            audit_hooks.publish(np.arange(3), None)
        refused.append(True)

    with audit_hooks.watching(Taker()):
        with pytest.raises(PrivacyError, match="running in this process already"), audit_hooks.watching(Taker()):
            pass
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert refused
