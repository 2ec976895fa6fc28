"""What is shown: a release, or several by class, as far as cards and plots need to know them.

Releases draw themselves with the help of this room, so it imports none of them.
"""

from __future__ import annotations

from collections.abc import ItemsView, ValuesView
from typing import Any, Protocol, runtime_checkable

import numpy as np

from scumble.kernels import Kernel
from scumble.privacy.claim import PrivacyClaim
from scumble.spec import Spec


class Shown(Protocol):
    """A release."""

    @property
    def privacy(self) -> PrivacyClaim:
        """What it promises."""

    @property
    def spec(self) -> Spec:
        """All its public parameters."""

    @property
    def kernel(self) -> Kernel:
        """What near means."""

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The columns' names, or None."""

    @property
    def dimensions(self) -> int:
        """How many columns there are."""

    @property
    def bounds(self) -> Any:
        """The public bounds, or None."""

    @property
    def identity(self) -> str:
        """Its UUID."""

    @property
    def counts(self) -> np.ndarray:
        """The noisy counters."""

    @property
    def counter_variance(self) -> float:
        """The variance of the noise on each counter."""

    @property
    def count(self) -> float:
        """About how many records there are."""

    @property
    def count_standard_error(self) -> float:
        """How far that may be off."""

    def density(self, Q: Any) -> np.ndarray:
        """The mean kernel value over all records."""

    def standard_error(self, Q: Any) -> np.ndarray:
        """The standard error of the kernel sum."""

    def interval(self, Q: Any, confidence: float) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends for the kernel sum."""


@runtime_checkable
class ShownByClass(Protocol):
    """Releases, one per class."""

    @property
    def label(self) -> str | None:
        """The column that holds the classes."""

    @property
    def classes(self) -> tuple[Any, ...]:
        """Their names."""

    def __len__(self) -> int: ...

    def values(self) -> ValuesView[Any]:
        """The releases."""

    def items(self) -> ItemsView[Any, Any]:
        """Classes and releases."""
