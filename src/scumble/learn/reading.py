"""Records, labels and targets for estimators, read by scumble's own tables; and what is taken from scikit-learn.

scikit-learn's readers convert a table or a list of labels as a whole, so one cell decides what the others become,
and their errors quote cells. Here each cell is read by itself, and an error names columns and counts. The words that
scikit-learn's own checks look for are kept.

A label is compared with the classes cell by cell, by the one rule of :mod:`scumble.columns.hashing`: 1, 1.0 and "1" are
the same class.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scumble.columns.cells import Column, categories, is_arrow, numbers
from scumble.columns.column import Strays as OfBatch
from scumble.columns.containers import objects, take_apart
from scumble.columns.curator import NO_CLASS, Declared, Strays, as_written, left_out, misnamed, no_record_of, private
from scumble.columns.hashing import stable_hash
from scumble.columns.table import Table, invalid_message
from scumble.density.bundle import plain
from scumble.errors import UNPUBLISHED, CuratorWarning, DataError, PrivacyError, parameter

try:
    from sklearn.base import BaseEstimator as BaseEstimator
    from sklearn.base import ClassifierMixin, RegressorMixin
    from sklearn.base import DensityMixin as DensityMixin
    from sklearn.base import OutlierMixin as OutlierMixin
    from sklearn.exceptions import DataConversionWarning
    from sklearn.metrics import r2_score
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted as check_is_fitted
    from sklearn.utils.validation import validate_data
except ImportError as problem:
    raise ImportError("scumble's estimators need scikit-learn. Hint: pip install 'scumble[learn]'.") from problem

_TWINS = {stable_hash(flag): stable_hash(int(flag)) for flag in (False, True)}
"""Where classes are numbers, a truth value counts as 0 or 1, and vice versa."""


class BadCells(DataError, TypeError):
    """Cells that are not finite numbers: scikit-learn expects a ValueError for some and a TypeError for others."""

    def __init__(self, bad: np.ndarray, names: Any) -> None:
        hint = (  # "argument must be … string … number": scikit-learn looks for these words
            "The cells of this argument must be no NaN, no infinity and no string: finite numbers. Hint: correct them, "
            "or leave such records out; columns of a `schema` may have missing cells, and words."
        )
        super().__init__(invalid_message(bad, names, hint=hint))


def records(model: Any, X: object, *, reset: bool) -> np.ndarray:
    """The records as finite float64 in C order; with `reset`, the model learns the columns' number and names."""
    parts = take_apart(X)
    if parts.flat:
        raise DataError(
            "Expected 2D array, got 1D array instead. Reshape your data: X.reshape(-1, 1) if it is one column, "
            "X.reshape(1, -1) if it is one record."
        )
    if any(not is_arrow(column) and column.dtype.kind == "c" for column in parts.columns):
        raise DataError("Complex data not supported. Hint: take the real part, or the modulus.")
    if not parts.columns:
        raise DataError("Found a table with 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.")
    if parts.rows < (model.curator.fewest if reset else 1):
        raise DataError("Found a table with 0 sample(s) while a minimum of 1 is required.")
    table = Table(parts)
    values = table.numeric(range(table.width))
    bad = ~np.isfinite(values)
    if bad.any():
        raise BadCells(bad, table.names)
    # Only numbers and names of columns are left to look at.
    validate_data(model, X if hasattr(X, "shape") else values, reset=reset, skip_check_array=True)
    return values


def target(y: object, rows: int) -> Column:
    """The target's cells as they are: an array of one axis, or an Arrow column."""
    if isinstance(y, list | tuple):
        column: Column = objects(y)
    else:
        parts = take_apart(y)
        if len(parts.columns) != 1:
            raise DataError(f"y should be a 1d array, got {len(parts.columns)} columns instead.")
        if not parts.flat:
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
                "(n_samples,), for example using ravel().",
                DataConversionWarning,
                stacklevel=5,
            )
        column = parts.columns[0]
    if len(column) != rows:
        raise DataError("Found input variables with inconsistent numbers of samples: X and y must be equally long.")
    return column


def target_numbers(column: Column) -> np.ndarray:
    """A target to regress, as finite float64."""
    values = numbers(column, "The target y")
    bad = ~np.isfinite(values)
    if bad.any():
        raise BadCells(bad[:, None], ["y"])
    return values


# ---- warnings for the curator, before anything is spent ----


class Curator:
    """The holder of the table that an estimator learns from, warned by :class:`scumble.errors.CuratorWarning`.

    Warnings are about cells that are not counted as they stand: outside the bounds, or of no declared word, date or
    class. `target` is the target's name, `decimal` what stands before the decimals of numbers in the table's file, and
    `fewest` how few records a fit takes.
    """

    target = "y"
    decimal = "."
    fewest = 1

    def tell(self, lines: Sequence[str]) -> None:
        """Lines that are as private as the records."""
        warnings.warn("\n".join(lines), CuratorWarning, stacklevel=6)

    def look_at(self, found: Mapping[str, OfBatch], declared: Declared) -> None:
        """Cells of the columns that were declared so."""
        strays = Strays()
        strays.add(found)
        lines = [private(line) for line in strays.words(declared, decimal=self.decimal)]
        if lines:
            self.tell(lines)

    def look_at_classes(self, rows: int, lost: int, empty: Sequence[str]) -> None:
        """So many rows, of which some were lost, as of no class; and the classes that have none."""
        lines = [left_out(lost, [f"{lost:,} {NO_CLASS} {self.target!r}"])] if lost else []
        lines += self.of_classes(rows, lost, empty)
        if lines:
            self.tell(lines)

    def of_classes(self, rows: int, lost: int, empty: Sequence[str]) -> list[str]:
        """Lines on classes that may be misspelled, or that have no rows: a model says nothing about these."""
        return [*misnamed(self.target, rows, lost, empty), *([no_record_of(empty)] if empty and not lost else [])]


def beyond(values: np.ndarray, bounds: Sequence[object], names: Sequence[str]) -> tuple[dict[str, OfBatch], Declared]:
    """How many finite numbers of each column are outside its bounds, and these bounds as they are written."""
    low, high = (np.broadcast_to(np.asarray(side, float), values.shape[1]) for side in bounds)
    outside = np.count_nonzero((values < low) | (values > high), axis=0).tolist()
    found = {name: OfBatch(len(values), beyond=many) for name, many in zip(names, outside, strict=True)}
    return found, {name: as_written(ends) for name, *ends in zip(names, low.tolist(), high.tolist(), strict=True)}


def require_target(model: Any, y: object) -> None:
    """Refuse to fit without a target, in scikit-learn's words."""
    if y is None:
        raise DataError(f"{type(model).__name__} requires y to be passed, but the target y is None.")


# ---- numbers ----


class Regresses(RegressorMixin):
    """A regressor, with a score that reads targets as `fit` does. scikit-learn's own would quote those it cannot."""

    target_bounds_: tuple[float, float]

    def score(self, X: object, y: object, sample_weight: Any = None) -> float:
        """R², the share of the target's variance that the predictions explain."""
        found = self.predict(X)
        return float(r2_score(target_numbers(target(y, len(found))), found, sample_weight=sample_weight))

    def _records(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Records, and targets that may be outside their bounds, of which the curator is warned."""
        require_target(self, y)
        X, y = self._begin(X, y, numeric=True)
        self.target_bounds_ = low, high = public_target_bounds(self, y)
        self.clipped_ += int(((y < low) | (y > high)).sum())
        self.curator.look_at(*beyond(y[:, None], (low, high), [self.curator.target]))
        return X, y

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # on a few hundred records: noise is not meant for those
        return tags


def public_target_bounds(model: Any, y: np.ndarray | None) -> tuple[float, float]:
    """The target's bounds that were given, or those of the data if the caller declared them public."""
    if model.target_bounds is not None:
        try:
            low, high = map(float, model.target_bounds)
        except (TypeError, ValueError):
            raise parameter("target_bounds", "a pair (low, high) of numbers", model.target_bounds) from None
        if not (np.isfinite(high - low) and low < high):
            raise parameter("target_bounds", "finite, with low below high", model.target_bounds)
        return low, high
    if y is not None and "target_bounds" in model._public():
        low, high = float(y.min()), float(y.max())
        return low, high if high > low else low + max(abs(low), 1.0)
    raise PrivacyError(
        f"{type(model).__name__} needs the target's public bounds. Hint: --target-bounds 0:100 (target_bounds=(0, "
        "100)); in Python, if the data's own are public already, public=('target_bounds',)."
    )


# ---- classes ----


class Classifies(ClassifierMixin):
    """A classifier, with a score that reads labels as `fit` does. scikit-learn's own would quote those it cannot."""

    classes_: np.ndarray

    def predict(self, X: object) -> np.ndarray:
        """The most probable class of each record."""
        z = self.decision_function(X)
        return self.classes_[(z > 0.0).astype(int) if z.ndim == 1 else z.argmax(axis=1)]

    def predict_proba(self, X: object) -> np.ndarray:
        """(n, classes): the probability of each class."""
        z = self.decision_function(X)
        if z.ndim == 1:
            z = np.stack([np.zeros_like(z), z], axis=1)
        z = np.exp(z - z.max(axis=1, keepdims=True))
        return z / z.sum(axis=1, keepdims=True)

    def score(self, X: object, y: object, sample_weight: Any = None) -> float:
        """The share of records whose class is predicted; a label that is none of the classes is never."""
        found = self.predict(X)
        labels = (categories(one, "The target y") for one in (found, target(y, len(found))))
        predicted, given = (_places(self.classes_, one) for one in labels)
        return float(np.average(predicted == given, weights=sample_weight))

    def _records(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Records whose labels are among the public classes, and the places of these."""
        require_target(self, y)
        X, y = self._begin(X, y)
        self._take_classes(y)
        return labelled(self, X, y)


def public_classes(model: Any, y: Column | None) -> np.ndarray:
    """The class list that was given, or that of the data if the caller declared it public; sorted."""
    if model.classes is not None:
        return _listed(model.classes)
    if y is not None and "classes" in model._public():
        return _classes_of(y)
    raise PrivacyError(
        f"{type(model).__name__} needs the public list of classes. Hint: --classes a,b (classes=['a', 'b']); in "
        "Python, if those of the data are public already, public=('classes',)."
    )


def _listed(classes: Any) -> np.ndarray:
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


def of_no_class(classes: Any, y: Column) -> int:
    """How many labels are missing or none of the `classes`: for the curator only."""
    return int((_places(_listed(classes), categories(y, "The target y")) < 0).sum())


def labelled(model: Any, X: np.ndarray, y: Column) -> tuple[np.ndarray, np.ndarray]:
    """Records whose labels are among `classes_`, and their places there; others are refused or dropped (`unknown`)."""
    place = _places(model.classes_, categories(y, "The target y"))
    known = place >= 0
    if not known.all() and model.unknown == "error":
        unknown = int((~known).sum())
        found = "1 record has a label that is" if unknown == 1 else f"{unknown:,} records have labels that are"
        raise DataError(
            f"{found} missing or not in `classes` {UNPUBLISHED}. Hint: name all classes as the table writes them, or "
            "leave such records out with --unknown drop (unknown='drop')."
        )
    empty = [str(one) for one in model.classes_[np.bincount(place[known], minlength=len(model.classes_)) == 0]]
    model.curator.look_at_classes(len(place), int((~known).sum()), empty)
    return X[known], place[known]


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


def require_rule_for_unknown(model: Any) -> None:
    """`unknown` is one of its two words, and goes with the neighbors."""
    if model.unknown not in ("error", "drop"):
        raise parameter("unknown", "'error' or 'drop'", model.unknown)
    if model.unknown == "drop" and model.neighbors == "replace":
        raise PrivacyError(
            "unknown='drop' does not go with neighbors='replace': the public number of records would depend on labels. "
            "Hint: use neighbors='add-remove', or unknown='error'."
        )
