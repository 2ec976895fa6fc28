"""Chance for synthetic rows. It protects nobody: the model that they are drawn from is public."""

from __future__ import annotations

import numpy as np

from scumble.errors import parameter


def generator_of(random_state: int | np.random.Generator | None) -> np.random.Generator:
    """A generator: the given one, one from a seed, or a fresh one."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None or (isinstance(random_state, int | np.integer) and random_state >= 0):
        return np.random.default_rng(random_state)
    raise parameter("random_state", "a whole number that is not negative, a Generator or None", random_state)
