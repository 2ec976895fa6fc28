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

    @property
    def divisor(self) -> float:
        """The number of records that densities are shares of."""

    def density(self, Q: Any, *, shrink: bool) -> np.ndarray:
        """The mean kernel value over all records, at each place by itself unless `shrink`."""

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


class ShownTable(Protocol):
    """The release of a table."""

    @property
    def _answers(self) -> Any: ...

    @property
    def _grouped(self) -> Any: ...

    @property
    def privacy(self) -> PrivacyClaim:
        """What it promises."""

    @property
    def schema(self) -> Any:
        """The columns."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns' names."""

    @property
    def target(self) -> str | None:
        """The column whose classes have views of their own, or None."""

    @property
    def views(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each cross-table that was measured."""

    @property
    def counts(self) -> np.ndarray:
        """The noisy counters."""

    @property
    def variances(self) -> tuple[float, ...]:
        """The variance of the noise on each counter, for each view."""

    @property
    def noisy_count(self) -> int | None:
        """The number of records with noise of its own, or None."""

    @property
    def count_variance(self) -> float:
        """The variance of that noise."""

    @property
    def identity(self) -> str:
        """Its UUID."""

    def histogram(self, column: str, bins: Any = None) -> Any:
        """A column's bins, with errors."""


@runtime_checkable
class ShownMoments(Protocol):
    """Released moments."""

    spec: Any
    privacy: PrivacyClaim
    counts: np.ndarray
    identity: str

    @property
    def errors(self) -> list[float]:
        """The standard deviation of the noise in each row, in units of one record."""

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The columns' names, or None."""

    @property
    def count(self) -> float:
        """About how many records there are."""
