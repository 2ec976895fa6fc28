"""What a classifier releases: a sketch of each class, for kernels that were given, or planned with the classes' counts.

:class:`scumble.learn.PrivateKDEClassifier` says what for; the shares of its budget are there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction
from math import inf, prod
from typing import Any

import numpy as np

from scumble import files
from scumble.bundle import Bundle, plain
from scumble.errors import parameter
from scumble.kernels import Kernel
from scumble.learn import fern_plan
from scumble.learn.base import PrivateEstimator
from scumble.learn.kernel_choice import choose_kernel
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.exact import as_fraction
from scumble.release import Release
from scumble.releasing.selection import claim_of_choice
from scumble.releasing.spending import Prepaid
from scumble.sketch import Sketch, release_disjoint
from scumble.spec import Spec

ROWS, GAUSSIAN_ROWS = 15, 30
"""Rows of all kernels together: at δ = 0 the noise grows with their number, the knowledge only at first."""
BUCKETS, MOST_BUCKETS = 512, 4096
"""Buckets, unless all codes of a row are at most so many and each can have its own."""


class ReleasesClasses(PrivateEstimator):
    """A `PrivateEstimator` that releases one sketch per class."""

    rule: str
    selection_share: float | None
    classes_: np.ndarray
    releases_: list[Any]
    counts_: Bundle | None = None
    selection_epsilon_: str | None

    def _draft(self, kernel: Kernel, kernels: int, X: np.ndarray, budget: Budget, place: int) -> Sketch:
        """An empty sketch: what those of all classes will be like, for the kernel at that place in the list."""
        return self._sketch(kernel, X, budget, **self._size(kernel, kernels), seed=self._seed() + place)

    def _bundle(self, spec: Spec, parts: Sequence[np.ndarray], budget: Budget, paid: Prepaid) -> Bundle:
        """One release for each class's records, all for one budget."""
        sketches = [Sketch.from_spec(spec).update(part) for part in parts]
        releases = release_disjoint(sketches, budget, paid)
        return Bundle(dict(zip(map(plain, self.classes_), releases, strict=True)))

    def _plans(self) -> bool:
        """Whether the kernel is made for the classes' counts."""
        return self.rule == "ferns" and self.kernel is None

    def _choosing(self, kernels: Sequence[Kernel], X: np.ndarray) -> Fraction:
        """The part of ε by which one of the kernels, or some of the columns, are to be chosen."""
        if self.rule != "ferns" or (self._width if self._plans() else len(kernels)) < 2:
            return Fraction(0)
        if self.selection_share is not None:
            return as_fraction("selection_share", self.selection_share)
        records = self._public_count(X) if "count" in self._public() else fern_plan.ENOUGH
        epsilon = as_fraction("epsilon", self.epsilon)
        pure = self._plans() and self.delta == 0.0
        worth = pure and fern_plan.pays(self._width, len(self.classes_), epsilon, records)
        return fern_plan.CHOICE_SHARE if worth else Fraction(0)

    def _chosen(self, kernels: Sequence[Kernel], parts: Sequence[np.ndarray], paid: Prepaid) -> Kernel:
        """The kernel, or ferns of the columns, that tell the classes apart best, for a share of ε if there is one."""
        epsilon = Fraction(0)
        for claim in self._selection_claims():
            paid.charge(claim)
            epsilon = Fraction(claim.epsilon)  # to the last bit: a float may be below the share that was asked for
        people = self.records_per_person
        if self._plans():
            assert self.bounds_ is not None
            counts, columns = self._planned_counts(), None
            if epsilon:
                about: dict[str, Any] = {"epsilon": epsilon, "records_per_person": people}
                columns = fern_plan.choose_columns(parts, self.bounds_, counts, **about)
            return fern_plan.ferns_kernel(self.bounds_, float(as_fraction("epsilon", self.epsilon)), counts, columns)
        size = self._size(kernels[0], 1)
        return choose_kernel(
            kernels,
            parts,
            epsilon=epsilon,
            release_epsilon=self.epsilon,
            delta=self.delta,
            records_per_person=people,
            rows=size["rows"],
            buckets=size["buckets"],
            seed=self._seed(),
        )

    def _one_row(self, kernel: Kernel, buckets: int) -> Spec:
        """A sketch of one row, of which each record touches one counter."""
        return Sketch(kernel, 1, rows=1, buckets=buckets, seed=self._seed(), design="iid").spec

    def _counted(self, parts: Sequence[np.ndarray], budget: Budget, paid: Prepaid) -> Bundle:
        """How many records each class has: one counter each."""
        return self._bundle(
            self._one_row(fern_plan.COUNTS, 1), [np.zeros((len(part), 1)) for part in parts], budget, paid
        )

    def _planned_counts(self) -> np.ndarray:
        """The classes' counts by which ferns are planned."""
        assert self.counts_ is not None
        return np.array([max(float(self.counts_[plain(c)].counts.sum()), 1.0) for c in self.classes_])

    def _kernels(self) -> list[Kernel]:
        if isinstance(self.kernel, (list, tuple)):
            if not self.kernel or not all(isinstance(kernel, Kernel) for kernel in self.kernel):
                raise parameter("kernel", "a kernel, or a list of kernels", self.kernel)
            return list(self.kernel)
        if self.kernel is not None or self.rule != "ferns":
            return [self._kernel()]
        assert self.bounds_ is not None
        plenty = np.full(len(self.classes_), float(fern_plan.ENOUGH))  # what there is will be seen once it is counted
        return [fern_plan.ferns_kernel(self.bounds_, float(as_fraction("epsilon", self.epsilon)), plenty)]

    def _size(self, kernel: Kernel, kernels: int) -> dict[str, Any]:
        if self.rule != "ferns":
            return {"rows": self.rows, "buckets": self.buckets}
        rows = (GAUSSIAN_ROWS if self.delta > 0.0 else ROWS) // kernels if self.rows is None else self.rows
        codes = prod(float(factor.radix or inf) ** factor.power for factor in kernel.factors)
        buckets = int(codes) if codes <= MOST_BUCKETS else BUCKETS
        return {"rows": max(rows, 1), "buckets": self.buckets or buckets, "design": "sobol"}

    def _counts(self) -> np.ndarray:
        """The classes' estimated counts, from all bundles by inverse variance."""
        weights = self._precisions()
        counts = np.array([[bundle[plain(c)].count for c in self.classes_] for bundle in self.releases_])
        return np.maximum(weights @ counts / weights.sum(), 1.0)

    def _count_deviation(self) -> float:
        """The standard error of each of them."""
        return float(self._precisions().sum() ** -0.5)

    def _precisions(self) -> np.ndarray:
        return np.array([1.0 / max(next(iter(b.values())).count_standard_error, 1e-9) ** 2 for b in self.releases_])

    def _selection_claims(self) -> list[PrivacyClaim]:
        """What the choice of a kernel or of columns costs, if there was or will be one."""
        if self.selection_epsilon_ is None:
            return []
        return [claim_of_choice(Fraction(self.selection_epsilon_), self.neighbors, self.records_per_person)]


def bundle_of(release: Any) -> Bundle:
    """A bundle, or the one in a file."""
    if isinstance(release, (str, os.PathLike)):
        return Bundle.from_container(files.read(release, expect="bundle"))
    if isinstance(release, Bundle):
        return release
    if isinstance(release, dict):
        return Bundle(release)
    hint = "one release alone tells no classes apart: Bundle({label: release, ...})."
    raise parameter("release", "a Bundle", type(release).__name__, hint if isinstance(release, Release) else "")


def priors_of(given: object, counts: np.ndarray) -> np.ndarray:
    """The classes' shares that were given, or those of their counts."""
    if given is None:
        return counts / counts.sum()
    try:
        priors = np.asarray(given, float)
    except (TypeError, ValueError):  # NumPy's words would quote it
        priors = np.empty(0)
    if priors.shape != counts.shape or not np.all(priors > 0.0) or not np.isclose(priors.sum(), 1.0):
        raise parameter("priors", f"{len(counts)} positive numbers that sum to 1", given)
    return priors / priors.sum()
