"""Estimators that learn a target: what classifiers have in common, what regressors have, and what moments add.

**Decisions.** A classifier gives each class a log-probability, by a model of how its scores are distributed in each
class and by the noisy shares of the classes. `class_weight` adds the logarithm of a weight to each, and the largest
wins. With ``class_weight="balanced"`` the weights are one over the shares, as if all classes were equally common.

A label is compared with the classes cell by cell, by the one rule of :mod:`scumble.columns.hashing`: 1, 1.0 and "1" are
the same class.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.metrics import r2_score
from sklearn.utils.multiclass import check_classification_targets

from scumble import checks
from scumble.columns.cells import Column, categories, is_arrow
from scumble.columns.hashing import stable_hash
from scumble.density.bundle import plain
from scumble.errors import UNPUBLISHED, DataError, ParameterError, PrivacyError, parameter
from scumble.learn.base import PrivateEstimator, estimator
from scumble.learn.columns import Bounds, ClassifierMixin, RegressorMixin, beyond, target, target_numbers
from scumble.learn.moment_release import MomentRelease, MomentSketch, publish
from scumble.learn.moments import MomentSpec, Spans, longer
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.privacy.exact import as_fraction

_TWINS = {stable_hash(flag): stable_hash(int(flag)) for flag in (False, True)}
"""Where classes are numbers, a truth value counts as 0 or 1, and vice versa."""


# ---- numbers ----


@estimator
class Regressor(RegressorMixin, PrivateEstimator, ABC):
    """What regressors share: a target within public bounds, and a score that reads targets as `fit` does.

    Parameters
    ----------
    target_bounds : tuple of float or None
        (low, high) of the target, public; targets outside are clipped. `public=("target_bounds",)`: those of the data.
    """

    target_bounds: tuple[float, float] | None = None

    @abstractmethod
    def predict(self, X: object) -> np.ndarray:
        """The model's values, within the public bounds of the target."""

    def score(self, X: object, y: object, sample_weight: np.ndarray | None = None) -> float:
        """R², the share of the target's variance that the predictions explain."""
        found = self.predict(X)
        return float(r2_score(target_numbers(target(y, len(found))), found, sample_weight=sample_weight))

    def _records(self, X: object, y: object) -> tuple[np.ndarray, np.ndarray]:
        """Records, and targets that may be outside their bounds, of which the curator is warned."""
        found = self._enter(X)
        values = target_numbers(required(self, y, len(found)))
        self.target_bounds_ = low, high = self._public_target_bounds(values)
        self.clipped_ += int(((values < low) | (values > high)).sum())
        self.curator.look_at(*beyond(values[:, None], (low, high), [self.curator.target]))
        return found, values

    def _take_target(self, spec: Any) -> None:
        self._require_settled(lambda given: self._public_target_bounds(None), target_bounds=spec.target_bounds)
        self.target_bounds_ = spec.target_bounds

    def _public_target_bounds(self, y: np.ndarray | None) -> tuple[float, float]:
        """The target's bounds that were given, or those of the data if the caller declared them public."""
        if self.target_bounds is not None:
            try:
                low, high = map(float, self.target_bounds)
            except (TypeError, ValueError):
                raise parameter("target_bounds", "a pair (low, high) of numbers", self.target_bounds) from None
            if not (np.isfinite(high - low) and low < high):
                raise parameter("target_bounds", "finite, with low below high", self.target_bounds)
            return low, high
        if y is not None and "target_bounds" in self._public():
            low, high = float(y.min()), float(y.max())
            return low, high if high > low else low + max(abs(low), 1.0)
        raise PrivacyError(
            f"{type(self).__name__} needs the target's public bounds. Hint: --target-bounds 0:100 (target_bounds=(0, "
            "100)); in Python, if the data's own are public already, public=('target_bounds',)."
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # on a few hundred records: noise is not meant for those
        return tags


# ---- classes ----


@estimator
class Classifier(ClassifierMixin, PrivateEstimator, ABC):
    """What classifiers share: public classes, decisions by log-probabilities, a score that reads labels as `fit` does.

    Parameters
    ----------
    classes : sequence or None
        All class labels, public; of two, the second one is the positive class. `public=("classes",)` declares that
        those in `y` are public.
    unknown : {"error", "drop"}
        What to do with records of labels that are not in `classes`.
    class_weight : str, mapping or None
        Weights of the classes in all answers, by label (1 where there is none), or "balanced"; it can be changed after
        `fit`.
    """

    classes: Sequence[object] | None = None
    unknown: str = "error"
    class_weight: str | Mapping[Any, float] | None = None

    @abstractmethod
    def _log_probabilities(self, X: np.ndarray) -> np.ndarray:
        """(n, classes): of each class, without weights, up to a number that all classes of a record have in common."""

    def _shares(self) -> np.ndarray:
        """The noisy shares of the classes, all positive."""
        return self.shares_

    def _check(self) -> None:
        super()._check()
        if self.unknown not in ("error", "drop"):
            raise parameter("unknown", "'error' or 'drop'", self.unknown)
        if self.unknown == "drop" and self.neighbors == "replace":
            raise PrivacyError(
                "unknown='drop' does not go with neighbors='replace': the public number of records would depend on "
                "labels. Hint: use neighbors='add-remove', or unknown='error'."
            )
        if self.class_weight != "balanced":
            self._given_weights()

    def _given_weights(self) -> dict[object, float]:
        """Positive weights by label."""
        given = {} if self.class_weight is None else self.class_weight
        try:
            assert isinstance(given, Mapping)
            found: dict[object, float] = {plain(label): float(weight) for label, weight in given.items()}
            assert all(0.0 < weight < np.inf for weight in found.values())
        except (AssertionError, TypeError, ValueError):
            raise parameter("class_weight", "'balanced', or positive weights by label", self.class_weight) from None
        return found

    def _log_weights(self) -> np.ndarray:
        """The logarithms of the classes' weights."""
        if self.class_weight == "balanced":
            return np.asarray(-np.log(self._shares()))
        weights = self._given_weights()
        return np.log([weights.get(plain(label), 1.0) for label in self.classes_])

    def decision_function(self, X: object) -> np.ndarray:
        """Two classes: (n,) log-odds of the second one. More: (n, classes) log-probabilities, up to a constant each."""
        found = self._log_probabilities(self._read(X, clip=True))
        if self.class_weight is not None:
            found = found + self._log_weights()
        return found[:, 1] - found[:, 0] if len(self.classes_) == 2 else found

    def predict(self, X: object) -> np.ndarray:
        """The most probable class of each record, weighted by `class_weight`."""
        z = self.decision_function(X)
        return self.classes_[(z > 0.0).astype(int) if z.ndim == 1 else z.argmax(axis=1)]

    def predict_proba(self, X: object) -> np.ndarray:
        """(n, classes): the probability of each class, where classes are as common as `class_weight` makes them."""
        z = self.decision_function(X)
        if z.ndim == 1:
            z = np.stack([np.zeros_like(z), z], axis=1)
        return np.asarray(softmax(z, axis=1))

    def score(self, X: object, y: object, sample_weight: np.ndarray | None = None) -> float:
        """The share of records whose class is predicted; a label that is none of the classes is never."""
        found = self.predict(X)
        labels = (categories(one, "The target y") for one in (found, target(y, len(found))))
        predicted, given = (_places(self.classes_, one) for one in labels)
        return float(np.average(predicted == given, weights=sample_weight))

    def _records(self, X: object, y: object) -> tuple[np.ndarray, np.ndarray]:
        """Records whose labels are among the public classes, and the places of these."""
        found = self._enter(X)
        labels = required(self, y, len(found))
        self._take_classes(labels)
        return self._labeled(found, labels)

    def _take_classes(self, y: Column | None) -> None:
        """The class list that was given, or that of the data if the caller declared it public; sorted."""
        if self.classes is not None:
            self.classes_ = listed(self.classes)
        elif y is not None and "classes" in self._public():
            self.classes_ = _classes_of(y)
        else:
            raise PrivacyError(
                f"{type(self).__name__} needs the public list of classes. Hint: --classes a,b (classes=['a', 'b']); "
                "in Python, if those of the data are public already, public=('classes',)."
            )
        if len(self.classes_) < 2:
            raise ParameterError(
                f"`classes` must be at least two classes, got {len(self.classes_)} class. "
                "Hint: name all classes that could occur, including those absent from this table."
            )

    def _take_target(self, spec: Any) -> None:
        if self.classes is None:
            raise PrivacyError("Pass the `classes` that the release was made with; it holds none.")
        self._take_classes(None)
        if len(self.classes_) != (there := getattr(spec, "classes", 2)):  # curves tell two apart
            raise parameter("classes", f"the {there} that the release has", len(self.classes_))

    def _labeled(self, X: np.ndarray, y: Column) -> tuple[np.ndarray, np.ndarray]:
        """Records whose labels are among `classes_`, and their places; others are refused or dropped (`unknown`)."""
        place = _places(self.classes_, categories(y, "The target y"))
        known = place >= 0
        if not known.all() and self.unknown == "error":
            unknown = int((~known).sum())
            found = "1 record has a label that is" if unknown == 1 else f"{unknown:,} records have labels that are"
            raise DataError(
                f"{found} missing or not in `classes` {UNPUBLISHED}. Hint: name all classes as the table writes them, "
                "or leave such records out with --unknown drop (unknown='drop')."
            )
        empty = [str(one) for one in self.classes_[np.bincount(place[known], minlength=len(self.classes_)) == 0]]
        self.curator.look_at_classes(len(place), int((~known).sum()), empty)
        return X[known], place[known]


def required(model: PrivateEstimator, y: object, rows: int) -> Column:
    """The target's cells as they are; none is refused, in scikit-learn's words."""
    if y is None:
        raise DataError(f"{type(model).__name__} requires y to be passed, but the target y is None.")
    return target(y, rows)


def listed(classes: Sequence[object]) -> np.ndarray:
    """The labels of all classes, sorted."""
    try:
        found = np.asarray(classes)
        if found.ndim == 1:
            for one in found:
                plain(one)
            return np.unique(found)
    except (TypeError, ValueError):  # NumPy's words would quote them
        pass
    raise parameter("classes", "a list of labels, all texts or all finite numbers or bools", classes)


def _classes_of(y: Column) -> np.ndarray:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what scikit-learn warns of is a fact about the records
            values = np.asarray(y.to_pylist() if is_arrow(y) else y.tolist())
            check_classification_targets(values)
            return np.unique(values)
    except Exception:
        raise DataError(
            "Unknown label type: y must hold classes, not continuous numbers, missing cells or cells of several kinds. "
            "Hint: name the classes, --classes a,b (classes=['a', 'b'])."
        ) from None


def of_no_class(classes: Sequence[object], y: Column) -> int:
    """How many labels are missing or none of the `classes`: for the curator only."""
    return int((_places(listed(classes), categories(y, "The target y")) < 0).sum())


def _places(classes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """For each label the place of its class, -1 if it has none."""
    names = {stable_hash(one): place for place, one in enumerate(classes)}
    if classes.dtype.kind in "biuf":
        for flag, number in _TWINS.items():
            for one, other in ((flag, number), (number, flag)):
                if one in names:
                    names.setdefault(other, names[one])
    hashes = np.array(sorted(names))
    nearest = np.minimum(np.searchsorted(hashes, labels), len(hashes) - 1)
    return np.where(hashes[nearest] == labels, np.array([names[one] for one in hashes])[nearest], -1)


# ---- vectors ----

MOST_LENGTH = 1e300


@estimator
class TakesVectors(PrivateEstimator, ABC):
    """What estimators share whose records may be vectors of bounded length, such as embeddings.

    Parameters
    ----------
    length : float or None
        The greatest length (Euclidean) of a record, public; 1 for vectors of unit length. Longer ones are made that
        long; of ferns, columns end at three times length/√d. Instead of `bounds` and `schema`.
    """

    length: float | None = None

    def _check(self) -> None:
        super()._check()
        if self.length is None:
            return
        must = f"a number between {1 / MOST_LENGTH:g} and {MOST_LENGTH:g}"
        checks.number("length", self.length, must, lambda long: 1 / MOST_LENGTH <= long <= MOST_LENGTH)
        if self.bounds is not None or self.schema is not None:
            raise ParameterError("`length` replaces `bounds` and `schema`. Hint: leave them out.")

    @abstractmethod
    def _publish(self, X: np.ndarray, y: Any, account: Account | None) -> None:
        """Make the release."""

    def _public_bounds(self, X: np.ndarray) -> Bounds | None:
        return super()._public_bounds(X) if self.length is None else None

    def _enter(self, X: object) -> np.ndarray:
        found = super()._enter(X)
        if self.length is not None:
            self.clipped_ = longer(found, float(self.length))
        return found


# ---- moments ----


class LearnsFromMoments(PrivateEstimator, ABC):
    """What an estimator whose `fit` releases moments, of the kind `_moments`, has in addition."""

    _moments: type[MomentSpec]
    length: float | None

    _learns_from: tuple[type, ...] = (MomentRelease,)

    @classmethod
    def _learns(cls, release: object) -> bool:
        if isinstance(release, MomentRelease):
            return isinstance(release.spec, cls._moments)
        return super()._learns(release)

    @classmethod
    def _implied(cls, release: MomentRelease) -> dict[str, Any]:
        return {}

    def _take(self, release: MomentRelease) -> None:
        self.release_, self.identity_, spec = release, release.identity, release.spec
        self._take_columns(spec.dimensions, spec.columns, spec.bounds)
        if getattr(spec, "ball", False):  # vectors of bounded length
            self._require_settled(length=spec.bounds[1][0], bounds=None)
            self.length, self.bounds_ = spec.bounds[1][0], None
        else:
            self._require_settled(length=None)
            self._require_settled(lambda given: _as_spans(self._sides(given, self._width)), bounds=spec.bounds)
        self._take_target(spec)

    def _publish(self, X: np.ndarray, y: Any, account: Account | None) -> None:
        """One release of the records' moments, for the whole budget."""
        budget, spec = self.price(), self._spec()
        self._require_ready(spec)
        sketch = MomentSketch(spec).update(X, y)  # what it refuses costs nothing
        paid = self._pay([budget.claim(spec.rows, spec.shares, spec.reach)], account, counters=spec.counters[0])
        self.release_ = publish(sketch, budget, paid)

    @abstractmethod
    def _spec(self) -> MomentSpec:
        """What is summed up: decided by public facts alone."""

    def _require_ready(self, spec: MomentSpec) -> None:
        """Refuse nonsense before anything is charged, also of what moments do not use."""
        spec.check()
        if self.kernel is not None:
            self._kernel()

    def _spans(self) -> Spans:
        """The bounds as a spec holds them."""
        length = getattr(self, "length", None)
        if length is not None:
            return (-float(length),) * self._width, (float(length),) * self._width
        assert self.bounds_ is not None
        return _as_spans(self.bounds_)


def _as_spans(bounds: Bounds) -> Spans:
    low, high = bounds
    return tuple(low.tolist()), tuple(high.tolist())


def laplace_is_quieter(budget: Budget, size: float) -> bool:
    """Whether pure noise is less where it must hide `size` times as much as Gaussian noise."""
    if budget.pure:
        return True
    if budget.rho is not None:
        return False
    one = budget.claim(10_000)  # so many rows get Gaussian noise, a hundred times that of one
    deviation = np.sqrt(one.counter_variance) / 100.0
    return bool(np.sqrt(2.0) * size / float(budget.epsilon) < deviation)


def choice_epsilon(budget: Budget) -> Fraction:
    """What a choice may cost: a pure ε, of a budget in ρ the largest with ε²/2 ≤ ρ (Bun & Steinke 2016)."""
    if budget.rho is None:
        return as_fraction("epsilon", budget.epsilon)
    return Fraction(math.isqrt(math.floor(2 * as_fraction("rho", budget.rho) * 2**80)), 2**40)
