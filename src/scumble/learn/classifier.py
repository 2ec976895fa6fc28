"""Classification: one sketch per class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Self

import numpy as np

from scumble import checks
from scumble.bundle import Bundle, plain
from scumble.errors import ParameterError, PrivacyError, parameter
from scumble.kernels import Kernel
from scumble.learn import calibration, fern_plan
from scumble.learn.base import PrivateEstimator
from scumble.learn.class_releases import MOST_BUCKETS, ReleasesClasses, bundle_of, priors_of
from scumble.learn.ferns import Ferns
from scumble.learn.levels import Levels, classes_of, logistic, table_of, target_of
from scumble.learn.targets import Classifies, labelled, public_classes, require_rule_for_unknown, require_target
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.composition import overlapping
from scumble.privacy.exact import as_fraction
from scumble.releasing.spending import Prepaid
from scumble.schema import Described
from scumble.tabular.release import TableRelease

RULES = ("ferns", "ml", "map")
TABLE_RULE = "levels"
COUNT_SHARE = Fraction(2, 25)
"""Part of the budget for the classes' counts: the priors and the rows' totals depend on them."""


class PrivateKDEClassifier(Classifies, ReleasesClasses, PrivateEstimator):
    """Classes told apart by one private sketch per class, the paper's section 4.

    A record is in one class, so it affects only that class's release: every class gets the whole budget
    (parallel composition). Three rules turn the same releases into decisions:

    ``"ferns"`` (the default, the most accurate)
        each row is a small naive-Bayes expert, weighted by what it knows: see :mod:`scumble.learn.ferns`.
    ``"ml"``
        the class with the largest density at the query, the paper's maximum likelihood.
    ``"map"``
        the same, times the class's prior: maximum a posteriori.

    From the release of a table (`from_release`, with `target`) the rule is ``"levels"``: a weight for each level of a
    column, see :mod:`scumble.learn.levels`. Records are then tables with these columns, categories and dates included.

    Without a `kernel`, each row looks at four columns together, drawn at random, each cut into fifths of its bounds
    (with 5,000 records of each class at ε = 1; into thirds with a tenth of it, where finer cells would drown). Plain
    columns suit ferns far better than random directions. A fiftieth of ε pays for the counts that settle this. Of a
    wide table, the 16 columns that tell classes apart best can be chosen privately first, `selection_share`: see
    :mod:`scumble.learn.fern_plan`.

    A share of the budget, `calibration_share`, pays for a histogram of the scores, which turns them into
    probabilities and moves the threshold to where it is right (two classes, rule "ferns"). Where it cannot be sure of
    any threshold, the larger class is always the answer, and scores and probabilities still rank: see
    :mod:`scumble.learn.calibration`.

    The parameters that are not listed are those of :class:`~scumble.learn.base.PrivateEstimator`. Only
    `neighbors="add-remove"`: under "replace" a record may change its class, and the classes' exact counts would be
    published.

    Parameters
    ----------
    rule : {"ferns", "ml", "map"}
        How to decide between classes.
    classes : sequence or None
        All class labels, public. `public=("classes",)` declares that those in `y` are public.
    priors : sequence of float or None
        The classes' shares, in the order of `classes_`; None takes them from the noisy counts.
    unknown : {"error", "drop"}
        What to do with records of labels that are not in `classes`: "error" or "drop".
    calibration_share : float
        The part of ε for the calibration; 0 for none.
    selection_share : float or None
        The part of ε that chooses one of the `kernel` list by :mod:`scumble.releasing.selection`; with 0, all of them
        are used and share the budget equally. Without a `kernel`, the part that chooses half of the columns, 16 at
        most. None is 0 for a list, and for columns 0.15 where that pays: with δ = 0, two classes, at least 32
        columns, and ε of at least 2, or ε times a public number of records of at least 20,000.
    kernel : Kernel, sequence of Kernel or None
        One kernel, or a list of them.
    rows, buckets : int or None
        The size of each kernel's sketch.

    Attributes
    ----------
    classes_ : numpy.ndarray
        The labels.
    priors_ : numpy.ndarray
        Their shares.
    releases_ : list of Bundle or list of TableRelease
        Releases by class, one bundle for each kernel; or the one table.
    weights_, intercepts_ : numpy.ndarray
        From a table: a weight for each class and level.
    target_ : str
        From a table: the column that was learnt.
    calibration_ : Bundle or None
        The bundle of score histograms, or None.
    counts_ : Bundle or None
        The bundle of the classes' counts by which the ferns were planned, or None.
    privacy_ : PrivacyClaim
        The claim of all of it together.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 5000)
    >>> X = rng.normal(3.0 + 3.0 * y[:, None], 1.0, (5000, 3))
    >>> model = PrivateKDEClassifier(epsilon=1.0, bounds=(-2, 12), classes=[0, 1]).fit(X, y)
    >>> accuracy = model.score(X, y)                # 0.98 or so: the noise is fresh each time
    >>> model.predict_proba(X[:3]).sum(axis=1).round(6).tolist(), round(model.privacy_.epsilon, 6)
    ([1.0, 1.0, 1.0], 1.0)
    """

    _learnt = (
        "classes_",
        "priors_",
        "calibration_",
        "counts_",
        "selection_epsilon_",
        "target_",
        "weights_",
        "intercepts_",
    )
    classes_: np.ndarray
    releases_: list[Any]
    target_: str
    weights_: np.ndarray
    intercepts_: np.ndarray
    calibration_: Bundle | None
    counts_: Bundle | None = None
    selection_epsilon_: str | None

    def __init__(
        self,
        *,
        rule: str = "ferns",
        classes: Sequence[Any] | None = None,
        priors: Sequence[float] | None = None,
        unknown: str = "error",
        calibration_share: float = 0.1,
        selection_share: float | None = None,
        epsilon: float = 1.0,
        delta: float = 0.0,
        neighbors: str = "add-remove",
        kernel: Kernel | Sequence[Kernel] | None = None,
        rows: int | None = None,
        buckets: int | None = None,
        bounds: Any = None,
        schema: Described | None = None,
        categories: Mapping[str, Sequence[Any]] | None = None,
        public: Sequence[str] = (),
        records_per_person: int = 1,
        random_state: int | None = None,
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            delta=delta,
            neighbors=neighbors,
            kernel=kernel,  # type: ignore[arg-type]
            rows=rows,
            buckets=buckets,
            bounds=bounds,
            schema=schema,
            categories=categories,
            public=public,
            records_per_person=records_per_person,
            random_state=random_state,
        )
        self.rule = rule
        self.classes = classes
        self.priors = priors
        self.unknown = unknown
        self.calibration_share = calibration_share
        self.selection_share = selection_share

    # ---- fitting ----

    def fit(
        self, X: Any, y: Any, *, ledger: Any = None, dataset: str | None = None, part: str | None = None
    ) -> PrivateKDEClassifier:
        """Release the classes' counts, one sketch for each class and kernel, then a histogram of scores.

        `ledger`, `dataset`, `part`: where to charge all of it.
        """
        self._check_parameters()
        require_target(self, y)
        account = Account.of(ledger, dataset, part)
        X, y = self._begin(X, y)
        X, y = self._labelled(X, y)
        kernels, whole = self._kernels(), self.price()
        choosing = self._choosing(kernels, X)
        share = as_fraction("calibration_share", self.calibration_share) if self._calibrated() else Fraction(0)
        planning = fern_plan.PLANNING_SHARE if self._plans() else Fraction(0)
        used = 1 if choosing else len(kernels)
        calibrating, counted = (whole.share(part, 0, count_share=0) for part in (share, planning))
        self.selection_epsilon_ = str(whole.share(choosing).epsilon) if choosing else None
        # One kernel's sketches pay for the counts of all; under the other rules each answers with its own.
        counting = [COUNT_SHARE * used * (k == 0) if self.rule == "ferns" else None for k in range(used)]
        left = (1 - share - choosing - planning) / used
        budgets = [whole.share(left, Fraction(1, used), count_share=c) for c in counting]
        drafts = [self._draft(kernel, used, X, budgets[k], k) for k, kernel in enumerate(kernels[:used])]
        for draft in drafts:
            draft.spec.layout.read(X, invalid="error")  # what it refuses costs nothing
        claims = [budget.claim(draft.rows) for draft, budget in zip(drafts, budgets, strict=True)]
        claims += self._selection_claims() + [one.claim(1) for one in (calibrating, counted) if one.epsilon]
        # The kernel that will be chosen or planned may want more buckets than the first.
        cells = [draft.rows * max(draft.buckets, MOST_BUCKETS if choosing or planning else 0) for draft in drafts]
        counters = len(self.classes_) * (sum(cells) + calibration.CELLS + 1)
        paid = self._pay(claims, account, counters=counters)
        parts = [X[y == c] for c in self.classes_]
        self.counts_ = self._counted(parts, counted, paid) if planning else None
        if choosing or planning:
            drafts = [self._draft(self._chosen(kernels, parts, paid), used, X, budgets[0], 0)]
        self.releases_ = [
            self._bundle(draft.spec, parts, budget, paid) for draft, budget in zip(drafts, budgets, strict=True)
        ]
        self.calibration_ = None
        self._learn()
        if share:
            self._calibrate(parts, calibrating, paid)
        return self

    def _check_parameters(self) -> None:
        if self.rule == TABLE_RULE:
            raise parameter("rule", f"one of {', '.join(RULES)}", self.rule, "'levels' is for the release of a table.")
        if self.rule not in RULES:
            raise parameter("rule", f"one of {', '.join(RULES)}", self.rule)
        require_rule_for_unknown(self)
        if as_fraction("epsilon", self.epsilon) <= 0:
            raise parameter("epsilon", "positive", self.epsilon)
        for name in ("calibration_share", "selection_share"):
            if name != "selection_share" or self.selection_share is not None:
                checks.number(name, getattr(self, name), "between 0 and 0.5", lambda share: 0.0 <= share <= 0.5)
        planning = fern_plan.PLANNING_SHARE if self._plans() else 0
        if self.calibration_share + (self.selection_share or 0.0) >= 1.0 - planning:
            raise parameter("selection_share", "small enough to leave budget for the sketches", self.selection_share)
        if self.neighbors != "add-remove":
            raise PrivacyError(
                "Classes are learnt with neighbors='add-remove' only: a replaced record may change its "
                "class, and the classes' exact counts would be published. Hint: ε under add-remove is 2ε under replace."
            )

    def _indicators(self) -> bool:
        return self.rule != "ferns"  # they cut columns into steps

    def _labelled(self, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Records whose labels are in the public list; sets `classes_`."""
        self.classes_ = public_classes(self, y)
        if len(self.classes_) < 2:
            raise ParameterError(
                f"`classes` must be at least two classes, got {len(self.classes_)} class. "
                "Hint: name all classes that could occur, including those absent from this table."
            )
        priors_of(self.priors, np.ones(len(self.classes_)))
        return labelled(self, X, y)

    def _calibrated(self) -> bool:
        return self.rule == "ferns" and len(self.classes_) == 2 and self.calibration_share > 0.0

    def _calibrate(self, parts: Sequence[np.ndarray], budget: Budget, paid: Prepaid) -> None:
        assert self._ferns is not None
        scores = [np.diff(self._ferns.scores(part, own))[:, 0] for own, part in enumerate(parts)]
        spec = self._one_row(calibration.KERNEL, calibration.CELLS)
        self.calibration_ = self._bundle(spec, [calibration.squashed(one) for one in scores], budget, paid)
        self._curve = self._fitted_curve()

    def _learn(self) -> None:
        self._ready()
        self.priors_ = self._shares()

    def _ready(self) -> None:
        """What can be recomputed from the releases at any time, and is not saved."""
        self._ferns = Ferns(self.releases_, self._counts(), self._shares()) if self.rule == "ferns" else None
        self._curve = self._fitted_curve()

    def _fitted_curve(self) -> calibration.Curve:
        """Log-odds of scores; scores as they are without a calibration."""
        histograms = getattr(self, "calibration_", None)
        if histograms is None:
            return calibration.Curve()
        return calibration.fitted(histograms, self._shares(), self._counts(), self._count_deviation())

    def _shares(self) -> np.ndarray:
        return priors_of(self.priors, self._counts())

    # ---- answering ----

    def decision_function(self, X: object) -> np.ndarray:
        """Two classes: (n,) log-odds of the second one. More: (n, classes) scores, comparable within a row."""
        X = self._read(X, clip=True)
        if len(self.classes_) == 2:
            scores = self._scores(X)
            return self._curve_of_scores()(scores[:, 1] - scores[:, 0])
        return self._scores(X)

    def predict_proba(self, X: object) -> np.ndarray:
        """(n, classes): calibrated for two classes and the rule "ferns", plausible otherwise."""
        z = self.decision_function(X)
        if z.ndim == 1:
            z = np.stack([np.zeros_like(z), z], axis=1)
        z = np.exp(z - z.max(axis=1, keepdims=True))
        return z / z.sum(axis=1, keepdims=True)

    def predict(self, X: object) -> np.ndarray:
        """The most probable class of each record."""
        z = self.decision_function(X)
        return self.classes_[(z > 0.0).astype(int) if z.ndim == 1 else z.argmax(axis=1)]

    def _curve_of_scores(self) -> calibration.Curve:
        if self.rule == TABLE_RULE:
            return calibration.Curve()
        if "_curve" not in vars(self):  # read from a file
            self._ready()
        return self._curve

    def _scores(self, X: np.ndarray) -> np.ndarray:
        if self.rule == TABLE_RULE:  # X has the places of the levels
            return np.asarray(self.weights_.T[X].sum(axis=1) + self.intercepts_)
        if "_curve" not in vars(self):  # read from a file
            self._ready()
        if self._ferns is not None:
            return self._ferns.scores(X)
        shares = np.zeros((len(X), len(self.classes_)))
        for bundle in self.releases_:
            # Half a record at least: its logarithm must be finite.
            sums = np.stack([np.maximum(bundle[plain(c)].kernel_sum(X), 0.5) for c in self.classes_], axis=1)
            counts = np.array([max(bundle[plain(c)].count, 1.0) for c in self.classes_])
            shares += np.log(sums / counts)
        shares /= len(self.releases_)
        return shares + np.log(self.priors_) if self.rule == "map" else shares

    # ---- from a release ----

    @classmethod
    def from_release(cls, release: Any, **parameters: Any) -> Self:
        """A classifier from a bundle of releases (or the path of its file, or a list of them) alone, or from a table.

        The priors are those of the bundle's noisy counts unless given; scores are not calibrated. From a
        :class:`~scumble.TableRelease`, `target` names the column to learn (unless the release has one): best a release
        that was built with it. Missing and unforeseen words of it are no classes.
        """
        table = None if isinstance(release, (list, tuple)) else table_of(release)
        if table is not None:
            return cls._from_table(table, **{"rule": TABLE_RULE, "calibration_share": 0.0, **parameters})
        bundles = [bundle_of(one) for one in (release if isinstance(release, (list, tuple)) else [release])]
        if not bundles or any(bundle.classes != bundles[0].classes for bundle in bundles):
            raise parameter("release", "one or more bundles of the same classes", release)
        first = bundles[0]
        claim = overlapping(bundle.privacy for bundle in bundles)
        model = cls(
            **{
                "epsilon": claim.epsilon,
                "delta": claim.delta,
                "classes": list(first.classes),
                "kernel": [bundle.spec.kernel for bundle in bundles],
                "calibration_share": 0.0,
                "records_per_person": claim.records_per_person,
                "random_state": first.spec.seed,
                **parameters,
            }
        )
        model._check_parameters()
        model._take(next(iter(first.values())))
        model.classes_ = np.unique(np.asarray(first.classes))
        if len(model.classes_) < 2:
            raise ParameterError("The bundle has one class only; a classifier needs two. Hint: one release per class.")
        # A bundle keeps the order it was given; `classes_` is sorted, and the releases follow it, as after a fit.
        model.releases_ = [Bundle({plain(c): bundle[plain(c)] for c in model.classes_}) for bundle in bundles]
        model.identity_ = next(iter(first.values())).identity
        model.calibration_ = model.counts_ = model.selection_epsilon_ = None
        model._learn()
        return model

    def _learn_table(self, release: TableRelease, target: str | None) -> None:
        if self.rule != TABLE_RULE:
            raise parameter("rule", f"{TABLE_RULE!r} for the release of a table", self.rule, "leave it out.")
        self.target_ = target_of(release, target, type(self).__name__, ("category", "boolean"))
        self.classes_, codes = classes_of(release, self.target_)
        self.classes = self.classes_.tolist() if self.classes is None else self.classes
        self.releases_ = [release]
        self.calibration_ = self.counts_ = self.selection_epsilon_ = None
        levels = Levels(release, self.target_)
        self.weights_, shifts, shares = logistic(levels, codes, self._seed())
        self.priors_ = priors_of(self.priors, shares)
        self.intercepts_ = shifts + np.log(self.priors_ / shares)

    def _claim(self) -> PrivacyClaim:
        claims = [bundle.privacy for bundle in self.releases_] + self._selection_claims()
        claims += [bundle.privacy for bundle in (self.calibration_, self.counts_) if bundle is not None]
        return overlapping(claims)
