"""What a rival is: one name, one reference, one guarantee, one way to run it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

PURE, APPROXIMATE, NONE, FALSE = "pure", "approximate", "none", "not as claimed"


def always(n: int, d: int, epsilon: float) -> str | None:
    """Runs everywhere."""
    return None


class Method(NamedTuple):
    """`private` is the guarantee that the noise really gives; `why_not` says why it cannot run, or None if it can."""

    name: str
    reference: str
    private: str
    fit: Callable[..., Any]
    why_not: Callable[[int, int, float], str | None] = always
