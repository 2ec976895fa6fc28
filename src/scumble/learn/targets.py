"""Labels and targets: what about them is public, and what to say if it is missing.

A label is compared with the classes cell by cell, by the one rule of :mod:`scumble.tables.hashing`: 1, 1.0 and "1" are
the same class, and what one record's label is changes nobody else's.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from scumble.bundle import plain
from scumble.errors import UNPUBLISHED, DataError, PrivacyError, parameter
from scumble.learn.reading import target, target_numbers
from scumble.learn.scikit import ClassifierMixin, RegressorMixin, check_classification_targets, r2_score
from scumble.tables.cells import Column, categories, is_arrow, texts
from scumble.tables.hashing import stable_hash, text_of

_TWINS = {stable_hash(flag): stable_hash(int(flag)) for flag in (False, True)}
"""Where classes are numbers, a truth value counts as 0 or 1, and vice versa."""


class Classifies(ClassifierMixin):
    """A classifier, with a score that reads labels as `fit` does. scikit-learn's own would quote those it cannot."""

    classes_: np.ndarray

    def score(self, X: object, y: object, sample_weight: Any = None) -> float:
        """The share of records whose class is predicted; a label that is none of the classes is never."""
        found = self.predict(X)
        labels = (categories(one, "The target y") for one in (found, target(y, len(found))))
        predicted, given = (_places(self.classes_, one) for one in labels)
        return float(np.average(predicted == given, weights=sample_weight))


class Regresses(RegressorMixin):
    """A regressor, with a score that reads targets as `fit` does. scikit-learn's own would quote those it cannot."""

    def score(self, X: object, y: object, sample_weight: Any = None) -> float:
        """R², the share of the target's variance that the predictions explain."""
        found = self.predict(X)
        return float(r2_score(target_numbers(target(y, len(found))), found, sample_weight=sample_weight))


def require_target(model: Any, y: object) -> None:
    """Refuse to fit without a target, in scikit-learn's words."""
    if y is None:
        raise DataError(f"{type(model).__name__} requires y to be passed, but the target y is None.")


def public_classes(model: Any, y: Column | None) -> np.ndarray:
    """The class list that was given, or that of the data if the caller declared it public; sorted."""
    if model.classes is not None:
        return _listed(model.classes)
    if y is not None and "classes" in model._public():
        return _classes_of(y)
    raise PrivacyError(
        f"{type(model).__name__} needs the list of classes, and reading it off the data would leak. "
        "Hint: name them all, --classes a,b (classes=['a', 'b']); in Python, if those of the data are public already, "
        "say public=('classes',)."
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
        f"{type(model).__name__} needs the target's public bounds, and reading them off the data would leak. "
        "Hint: --target-bounds 0:100 (target_bounds=(0, 100)); in Python, if the data's own are public already, say "
        "public=('target_bounds',)."
    )


def of_no_class(classes: Any, y: Column) -> int:
    """How many labels are missing or none of the `classes`: for the curator only."""
    return int((_places(_listed(classes), categories(y, "The target y")) < 0).sum())


def labelled(model: Any, X: np.ndarray, y: Column) -> tuple[np.ndarray, np.ndarray]:
    """Records whose labels are among `classes_`; the others are refused or dropped, as `unknown` says."""
    place = _places(model.classes_, categories(y, "The target y"))
    known = place >= 0
    if not known.all() and model.unknown == "error":
        unknown = int((~known).sum())
        if unknown == len(known) > 1:
            raise DataError(
                f"Not one of {unknown:,} records has a label that is in `classes` {UNPUBLISHED}. Hint: "
                f"{_in_other_capitals(model.classes_, y)}name the classes as the table writes them, by --classes "
                "(classes=) or in the schema; with --unknown drop (unknown='drop') nothing would be left to learn from."
            )
        records = "1 record has a label that is" if unknown == 1 else f"{unknown:,} records have labels that are"
        raise DataError(
            f"{records} missing or not in `classes` {UNPUBLISHED}. "
            f"Hint: {_in_other_capitals(model.classes_, y)}name all classes, or leave such records out with --unknown "
            "drop (unknown='drop')."
        )
    records_of = np.bincount(place[known], minlength=len(model.classes_))
    empty = [str(one) for one in model.classes_[records_of == 0]]
    model.curator.look_at_classes(len(place), int((~known).sum()), empty)
    return X[known], model.classes_[place[known]]


def _in_other_capitals(classes: np.ndarray, y: Column) -> str:
    """What a refusal says first if labels are the classes but for capital letters; else nothing."""
    named, found = ({text for text in all_of if text is not None} for all_of in (map(text_of, classes), texts(y)[0]))
    alike = {_small(text) for text in named} & {_small(text) for text in found - named}
    return "some labels differ from the classes by capital letters alone: write both alike; else " if alike else ""


def _small(text: bytes) -> str:
    return text.decode(errors="replace").casefold()


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
    """`unknown` is one of its two words, and goes with the neighbours."""
    if model.unknown not in ("error", "drop"):
        raise parameter("unknown", "'error' or 'drop'", model.unknown)
    if model.unknown == "drop" and model.neighbors == "replace":
        raise PrivacyError(
            "unknown='drop' does not go with neighbors='replace': how many records are counted then depends on their "
            "labels, and that number would be public. Hint: use neighbors='add-remove', or unknown='error'."
        )
