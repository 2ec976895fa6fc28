"""The sketch of an estimator: its kernel, its seed, and how large it is, from public facts alone."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from scumble import checks
from scumble.errors import parameter
from scumble.kernels import EuclideanKernel, Kernel
from scumble.learn.columns import Bounds, KnowsColumns
from scumble.planning import DEFAULT_RECORDS, plan_within
from scumble.planning.start import choose
from scumble.privacy.budget import Budget
from scumble.sketch import Sketch
from scumble.spec import Spec


class MakesSketches(KnowsColumns):
    """What a `PrivateEstimator` knows of the sketch that it will release."""

    _plans_later: ClassVar[bool] = False
    """Whether rows that are left open are chosen at the release (:mod:`scumble.planning.later`)."""

    rows: int | None
    buckets: int | None
    neighbors: str
    random_state: int | None

    def _sketch(
        self,
        kernel: Kernel,
        X: np.ndarray,
        budget: Budget,
        *,
        seed: int | None = None,
        most_rows: int | None = None,
        **options: Any,
    ) -> Sketch:
        """An empty sketch for these columns, as large as the plan finds best for this budget.

        Of hashed rows that the plan chose, at most `most_rows` are taken.
        """
        d = self._width
        names = self._names()
        bounds = None if self.bounds_ is None else tuple(side.tolist() for side in self.bounds_)
        size: dict[str, Any] = {"rows": self.rows, "buckets": self.buckets, "design": "auto", **options}
        if self._plans_later and size["rows"] is None:
            about: dict[str, Any] = {"dimensions": d, "columns": None if names is None else tuple(names)}
            facts: dict[str, Any] = {"bounds": bounds, "n": self._public_count(X), "refined": self._refines()}
            chosen, planned = choose(kernel, **about, **size, **facts, budget=budget)
            spec = Spec(kernel, **about, **chosen, seed=self._seed() if seed is None else seed)
            return Sketch.from_spec(spec, planned=planned)
        if size["rows"] is None or size["buckets"] is None:
            chosen = plan_within(
                budget,
                self._public_count(X),
                d,
                kernel=kernel,
                bounds=bounds,
                columns=names,
                refined=self._refines(),
                **size,
            ).parameters()
            if most_rows is not None and size["rows"] is None and chosen["design"] != "grid":
                chosen["rows"] = min(chosen["rows"], most_rows)
            size = {**size, **chosen}
        if size["design"] == "grid":
            size["bounds"] = bounds
        return Sketch(kernel, d, columns=names, seed=self._seed() if seed is None else seed, **size)

    def _refines(self) -> bool:
        """Whether answers are refined (`scumble.learn.refine`), so fewer rows are enough."""
        return False

    def _public_count(self, X: np.ndarray) -> int:
        """Roughly how many records: their number only where it is public."""
        known = self.neighbors == "replace" or "count" in self._public()
        return max(len(X), 1) if known else DEFAULT_RECORDS

    def _kernel(self) -> Kernel:
        """The kernel given, or one made from the public bounds."""
        if self.kernel is None:
            return self._default_kernel()
        if not isinstance(self.kernel, Kernel):
            raise parameter("kernel", "a scumble kernel, such as scumble.EuclideanKernel(bandwidth=1.0)", self.kernel)
        return self.kernel

    def _default_kernel(self) -> Kernel:
        assert self.bounds_ is not None
        return default_kernel(self.bounds_)

    def _seed(self) -> int:
        if self.random_state is None:
            return 0
        hint = "it is the hash seed, which is published with the release."
        return checks.whole("random_state", self.random_state, 0, must="a whole number or None", hint=hint)


def default_kernel(bounds: Bounds, *, bandwidth: float | None = None, power: int = 2) -> EuclideanKernel:
    """A Euclidean kernel in units of the bounds' widths.

    Points of a unit cube lie about √(d/6) apart. The default bandwidth, √d/6 at power 2, halves the kernel within a
    tenth of that: wide enough to gather far more records than noise at ε = 1 and 10,000 records, narrow enough to tell
    groups apart.
    """
    low, high = bounds
    d = len(low)
    return EuclideanKernel(np.sqrt(d) / 6.0 if bandwidth is None else bandwidth, power, scale=(high - low).tolist())
