"""Classification: one sketch per class."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf, prod
from typing import Any, Self

import numpy as np

from scumble import checks
from scumble.columns.cells import Column
from scumble.density.bundle import Bundle, plain
from scumble.density.sketch import Sketch, release_disjoint
from scumble.density.spec import Spec
from scumble.errors import ParameterError, PrivacyError, parameter
from scumble.gate.selection import claim_of_choice
from scumble.gate.spending import Prepaid
from scumble.kernels import Kernel
from scumble.learn import ferns, score_histograms
from scumble.learn.base import estimator
from scumble.learn.levels import Levels, classes_of, logistic, target_of
from scumble.learn.supervised import Classifier, TakesVectors, choice_epsilon, listed
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.composition import overlapping
from scumble.privacy.exact import as_fraction
from scumble.table.release import TableRelease

RULES = ("ferns", "ml", "map")
TABLE_RULE = "levels"
COUNT_SHARE = Fraction(2, 25)
"""Part of the budget for the classes' counts: the priors and the rows' totals depend on them."""
ROWS, GAUSSIAN_ROWS = 15, 30
"""Rows of all kernels together: at δ = 0 the noise grows with their number, the knowledge only at first."""
BUCKETS, MOST_BUCKETS = 512, 4096
"""Buckets, unless all codes of a row are at most so many and each can have its own."""
WORK = 1 << 22
"""Products of numbers that one query may cost, over all rows and classes: half a millisecond."""
SPREAD = 3.0
"""Bounds of a vector's columns, in their usual deviation, length/√d."""


class _Learnt:
    """What the classifier learns."""

    classes_: np.ndarray
    priors_: np.ndarray
    releases_: list[Any]
    target_: str
    weights_: np.ndarray
    intercepts_: np.ndarray
    calibration_: Bundle | None = None
    counts_: Bundle | None = None
    selection_epsilon_: str | None = None


@estimator
class PrivateKDEClassifier(_Learnt, TakesVectors, Classifier):
    """A classifier from one private sketch per class, the paper's section 4.

    A record affects only its class's release: every class gets the whole budget (parallel composition). Three rules
    turn the same releases into decisions:

    ``"ferns"`` (the default, the most accurate)
        each row is a small naive-Bayes expert, weighted by what it knows: see :mod:`scumble.learn.ferns`.
    ``"ml"``
        the class with the largest density at the query, the paper's maximum likelihood.
    ``"map"``
        the same, times the class's prior: maximum a posteriori.

    From the release of a table (`from_release`, with `target`) the rule is ``"levels"``: a weight for each level of a
    column, see :mod:`scumble.learn.levels`.

    Without a `kernel`, each row looks at four columns together, drawn at random, each cut into steps of its bounds. A
    fiftieth of ε pays for the counts that settle how finely, and `calibration_share` for a histogram of the scores,
    which turns them into probabilities (two classes, rule "ferns"). Where no threshold is sure, the larger class is
    always the answer, and scores still rank.

    For the other parameters, see :class:`~scumble.learn.base.PrivateEstimator` and
    :class:`~scumble.learn.supervised.Classifier`. Only `neighbors="add-remove"`: under "replace" the classes' exact
    counts would be published.

    Parameters
    ----------
    rule : {"ferns", "ml", "map"}
        How to decide between classes.
    priors : sequence of float or None
        The classes' shares, in the order of `classes_`; None takes them from the noisy counts.
    calibration_share : float
        The part of ε for the calibration; 0 for none.
    kernel : Kernel, sequence of Kernel or None
        One kernel, or for ferns a list, of which one is chosen privately.
    selection_share : float or None
        The part of ε that chooses one of the `kernel` list by :mod:`scumble.gate.selection`; without a `kernel`, half
        of the columns, 16 at most. None is 0.15 for a list, and for columns where that pays: with δ = 0, two classes,
        at least 32 columns, and ε of at least 2, or ε times a public number of records of at least 20,000.

    Attributes
    ----------
    releases_ : list of Bundle or list of TableRelease
        The bundle of the classes' releases, or the table.
    calibration_, counts_ : Bundle or None
        The score histograms, and the classes' counts by which the ferns were planned.
    weights_, intercepts_, target_ : numpy.ndarray or str
        From a table: a weight for each class and level, and the column that was learned.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 5000)
    >>> X = rng.normal(3.0 + 3.0 * y[:, None], 1.0, (5000, 3))
    >>> model = PrivateKDEClassifier(epsilon=1.0, bounds=(-2, 12), classes=[0, 1]).fit(X, y)
    >>> accuracy = model.score(X, y)                # 0.98 or so: the noise is fresh each time
    >>> model.predict_proba(X[:3]).sum(axis=1).round(6).tolist(), round(model.privacy_.epsilon, 6)
    ([1.0, 1.0, 1.0], 1.0)
    """

    rule: str = "ferns"
    priors: Sequence[float] | None = None
    calibration_share: float = 0.1
    selection_share: float | None = None

    _learnt = tuple(_Learnt.__annotations__)
    _made_again = ("_ferns", "_curve")
    _learns_from = (Bundle, TableRelease)

    # ---- fitting ----

    def _check(self) -> None:
        if self.rule not in RULES:
            hint = "'levels' is for the release of a table." if self.rule == TABLE_RULE else ""
            raise parameter("rule", f"one of {', '.join(RULES)}", self.rule, hint)
        super()._check()
        for name in ("calibration_share", "selection_share"):
            if name != "selection_share" or self.selection_share is not None:
                checks.number(name, getattr(self, name), "between 0 and 0.5", lambda share: 0.0 <= share <= 0.5)
        planning = ferns.PLANNING_SHARE if self._plans() else 0
        if self.calibration_share + (self.selection_share or 0.0) >= 1.0 - planning:
            raise parameter("selection_share", "small enough to leave budget for the sketches", self.selection_share)
        if self.neighbors != "add-remove":
            raise PrivacyError(
                "Classes are learned with neighbors='add-remove' only: the classes' exact counts would be published. "
                "Hint: ε under add-remove is 2ε under replace."
            )

    def _enter(self, X: object) -> np.ndarray:
        found = super()._enter(X)
        if self.length is not None and self.kernel is None:
            side = np.full(self._width, SPREAD * float(self.length) / np.sqrt(self._width))
            self.bounds_ = -side, side
            found = np.clip(found, *self.bounds_)
        return found

    def _indicators(self) -> bool:
        return self.rule != "ferns"  # they cut columns into steps

    def _take_classes(self, y: Column | None) -> None:
        super()._take_classes(y)
        priors_of(self.priors, np.ones(len(self.classes_)))

    def _publish(self, X: np.ndarray, y: np.ndarray, account: Account | None) -> None:
        """Release the classes' counts, one sketch for each class, then a histogram of scores."""
        kernels, whole = self._kernels(), self.price()
        choosing = self._choosing(kernels, X)
        calibrated = self.rule == "ferns" and len(self.classes_) == 2
        share = as_fraction("calibration_share", self.calibration_share) if calibrated else Fraction(0)
        planning = ferns.PLANNING_SHARE if self._plans() else Fraction(0)
        calibrating, counted = (whole.share(part, 0, count_share=0) for part in (share, planning))
        self.selection_epsilon_ = str(choice_epsilon(whole.share(choosing))) if choosing else None
        left = 1 - share - choosing - planning
        budget = whole.share(left, 1, count_share=COUNT_SHARE if self.rule == "ferns" else None)
        drafts = [self._draft(kernel, X, budget) for kernel in kernels]
        for one in drafts:
            one.spec.layout.read(X, invalid="error")  # what it refuses costs nothing
        draft = drafts[0]
        claims = [budget.claim(draft.rows), *self._selection_claims()]
        claims += [each.claim(1) for each in (calibrating, counted) if each.epsilon]
        # The kernel that will be chosen or planned may want more buckets than the first.
        cells = draft.rows * max(draft.buckets, MOST_BUCKETS if choosing or planning else 0)
        paid = self._pay(claims, account, counters=len(self.classes_) * (cells + score_histograms.CELLS + 1))
        parts = [X[y == place] for place in range(len(self.classes_))]
        self.counts_ = self.calibration_ = None
        if planning:
            spec = self._one_row(ferns.COUNTS, 1)
            self.counts_ = self._bundle(spec, [np.zeros((len(part), 1)) for part in parts], counted, paid)
        if choosing or planning:
            draft = self._draft(self._chosen(kernels, parts, paid), X, budget)
        self.releases_ = [self._bundle(draft.spec, parts, budget, paid)]
        if share:
            scores = [np.diff(self._experts().scores(part, own))[:, 0] for own, part in enumerate(parts)]
            spec = self._one_row(score_histograms.KERNEL, score_histograms.CELLS)
            squashed = [score_histograms.squashed(one) for one in scores]
            self.calibration_ = self._bundle(spec, squashed, calibrating, paid)

    def _draft(self, kernel: Kernel, X: np.ndarray, budget: Budget) -> Sketch:
        """An empty sketch: what those of all classes will be like."""
        return self._sketch(kernel, X, budget, **self._size(kernel))

    def _bundle(self, spec: Spec, parts: Sequence[np.ndarray], budget: Budget, paid: Prepaid) -> Bundle:
        """One release for each class's records, all for one budget."""
        sketches = [Sketch.from_spec(spec).update(part) for part in parts]
        releases = release_disjoint(sketches, budget, paid)
        return Bundle(dict(zip(map(plain, self.classes_), releases, strict=True)))

    def _one_row(self, kernel: Kernel, buckets: int) -> Spec:
        """A sketch of one row, of which each record touches one counter."""
        return Sketch(kernel, 1, rows=1, buckets=buckets, seed=self._seed(), design="iid").spec

    def _size(self, kernel: Kernel) -> dict[str, Any]:
        if self.rule != "ferns":
            return {"rows": self.rows, "buckets": self.buckets}
        rows = (ROWS if self.price().pure else GAUSSIAN_ROWS) if self.rows is None else self.rows
        codes = prod(float(factor.radix or inf) ** factor.power for factor in kernel.factors)
        buckets = int(codes) if codes <= MOST_BUCKETS else BUCKETS
        return {"rows": rows, "buckets": self.buckets or buckets, "design": "sobol"}

    def _most_rows(self, spec: Spec) -> int:
        return max(WORK * spec.rows // (max(spec.layout.numbers, 1) * len(self.classes_)), 1)

    def _epsilon(self) -> float:
        """The whole ε, that of a budget in ρ at its δ."""
        return float(as_fraction("epsilon", self.price().epsilon))

    # ---- kernels: given, planned with the classes' counts, or chosen privately ----

    def _plans(self) -> bool:
        """Whether the kernel is made for the classes' counts."""
        return self.rule == "ferns" and self.kernel is None

    def _kernels(self) -> list[Kernel]:
        """The kernel, or those of which one will be chosen."""
        if isinstance(self.kernel, (list, tuple)):
            if not self.kernel or not all(isinstance(kernel, Kernel) for kernel in self.kernel):
                raise parameter("kernel", "a kernel, or a list of kernels", self.kernel)
            if len(self.kernel) > 1 and (self.rule != "ferns" or self.selection_share == 0):
                must = "one kernel, or with rule='ferns' and selection_share above 0 a list"
                raise parameter("kernel", must, self.kernel)
            return list(self.kernel)
        if not self._plans():
            return [self._kernel()]
        # As for plenty of records; how many there are will be counted.
        return [self._planned(np.full(len(self.classes_), float(ferns.ENOUGH)))]

    def _planned(self, counts: np.ndarray, columns: Sequence[int] | None = None) -> Kernel:
        assert self.bounds_ is not None
        return ferns.ferns_kernel(self.bounds_, self._epsilon(), counts, columns)

    def _choosing(self, kernels: Sequence[Kernel], X: np.ndarray) -> Fraction:
        """The part of ε by which one of the kernels, or some of the columns, are to be chosen."""
        if self.rule != "ferns" or (self._width if self._plans() else len(kernels)) < 2:
            return Fraction(0)
        if self.selection_share is not None:
            return as_fraction("selection_share", self.selection_share)
        records = self._public_count(X) if "count" in self._public() else ferns.ENOUGH
        worth = not self._plans() or (
            self.price().pure and ferns.pays(self._width, len(self.classes_), self._epsilon(), records)
        )
        return ferns.CHOICE_SHARE if worth else Fraction(0)

    def _chosen(self, kernels: Sequence[Kernel], parts: Sequence[np.ndarray], paid: Prepaid) -> Kernel:
        """The best kernel, or ferns of the best columns, for a share of ε if there is one."""
        epsilon, people = Fraction(0), self.records_per_person
        for claim in self._selection_claims():
            paid.charge(claim)
            epsilon = Fraction(claim.epsilon)  # to the last bit: a float may be below the share that was asked for
        if self._plans():
            assert self.counts_ is not None and self.bounds_ is not None
            counts = np.array([max(float(one.counts.sum()), 1.0) for one in self.counts_.values()])
            columns = None
            if epsilon:
                columns = ferns.choose_columns(parts, self.bounds_, counts, epsilon=epsilon, records_per_person=people)
            return self._planned(counts, columns)
        size = self._size(kernels[0])
        return ferns.choose_kernel(
            kernels,
            parts,
            epsilon=epsilon,
            release_epsilon=self.price().epsilon,
            delta=self.price().delta,
            records_per_person=people,
            rows=size["rows"],
            buckets=size["buckets"],
            seed=self._seed(),
        )

    def _selection_claims(self) -> list[PrivacyClaim]:
        """What the choice of a kernel or of columns costs, if there was or will be one."""
        if self.selection_epsilon_ is None:
            return []
        return [claim_of_choice(Fraction(self.selection_epsilon_), self.neighbors, self.records_per_person)]

    # ---- what follows from the releases, and is not saved ----

    def _learn(self) -> None:
        self.priors_ = self._shares()
        if self.rule == "ferns":
            self._experts()  # which refuse a grid

    def _experts(self) -> ferns.Ferns:
        if "_ferns" not in vars(self):
            self._ferns = ferns.Ferns(self.releases_[0], self._counts(), self._shares())
        return self._ferns

    def _curve_of_scores(self) -> score_histograms.Curve:
        """Log-odds of scores; scores as they are without a calibration."""
        if "_curve" not in vars(self):
            self._curve = score_histograms.Curve()
            if self.calibration_ is not None:
                deviation = max(next(iter(self.releases_[0].values())).count_standard_error, 1e-9)
                self._curve = score_histograms.fitted(self.calibration_, self._shares(), self._counts(), deviation)
        return self._curve

    def _shares(self) -> np.ndarray:
        return priors_of(self.priors, self._counts())

    def _counts(self) -> np.ndarray:
        """The classes' estimated counts."""
        return np.array([max(release.count, 1.0) for release in self.releases_[0].values()])

    # ---- answering ----

    def _log_probabilities(self, X: np.ndarray) -> np.ndarray:
        scores = self._scores(X)
        if len(self.classes_) > 2:
            return scores
        z = self._curve_of_scores()(scores[:, 1] - scores[:, 0], bent=self.class_weight is None)
        return np.column_stack([np.zeros_like(z), z])

    def _scores(self, X: np.ndarray) -> np.ndarray:
        if self.rule == TABLE_RULE:  # X has the places of the levels
            return np.asarray(self.weights_.T[X].sum(axis=1) + self.intercepts_)
        if self.rule == "ferns":
            return self._experts().scores(X)
        # Half a record at least: its logarithm must be finite.
        sums = np.stack([np.maximum(release.kernel_sum(X), 0.5) for release in self.releases_[0].values()], axis=1)
        shares = np.log(sums / self._counts())
        return shares + np.log(self.priors_) if self.rule == "map" else shares

    # ---- from a release ----

    @classmethod
    def _from_table(cls, release: TableRelease, target: str | None = None, **parameters: Any) -> Self:
        return super()._from_table(release, target, **{"rule": TABLE_RULE, "calibration_share": 0.0, **parameters})

    @classmethod
    def _implied(cls, release: Bundle) -> dict[str, Any]:
        spec = release.spec
        found = {"classes": list(release.classes), "kernel": spec.kernel, "random_state": spec.seed}
        return {**found, "calibration_share": 0.0}

    def _take(self, release: Bundle) -> None:
        first = next(iter(release.values()))
        super()._take(first)
        self._require_settled(length=None)
        del self.release_
        self.classes_ = np.unique(np.asarray(release.classes))
        if len(self.classes_) < 2:
            raise ParameterError("The bundle has one class only; a classifier needs two. Hint: one release per class.")
        self._require_settled(lambda given: listed(given).tolist(), classes=self.classes_.tolist())
        # A bundle keeps the order it was given; `classes_` is sorted, and the releases follow it, as after a fit.
        self.releases_ = [Bundle({plain(c): release[plain(c)] for c in self.classes_})]

    def _learn_table(self, release: TableRelease, target: str | None) -> None:
        if self.rule != TABLE_RULE:
            raise parameter("rule", f"{TABLE_RULE!r} for the release of a table", self.rule, "leave it out.")
        self.target_ = target_of(release, target, type(self).__name__, ("category", "boolean"))
        self.classes_, codes = classes_of(release, self.target_)
        self._require_settled(lambda given: listed(given).tolist(), classes=self.classes_.tolist())
        self.classes = self.classes_.tolist()
        self.releases_ = [release]
        self.weights_, shifts, shares = logistic(Levels(release, self.target_), codes, self._seed())
        self.priors_ = priors_of(self.priors, shares)
        self.intercepts_ = shifts + np.log(self.priors_ / shares)

    def _claim(self) -> PrivacyClaim:
        claims = [self.releases_[0].privacy, *self._selection_claims()]
        claims += [bundle.privacy for bundle in (self.calibration_, self.counts_) if bundle is not None]
        return overlapping(claims)


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
