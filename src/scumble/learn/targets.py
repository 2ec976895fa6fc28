"""Labels and targets: what is public of them, and what to say if it is missing."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from scumble.errors import DataError, PrivacyError, parameter


def require_target(model: Any, y: Any) -> None:
    """Refuse to fit without a target, in scikit-learn's words."""
    if y is None:
        raise DataError(f"{type(model).__name__} requires y to be passed, but the target y is None.")


def public_classes(model: Any, y: np.ndarray | None) -> np.ndarray:
    """The class list that was given, or that of the data if the caller declared it public; sorted."""
    if y is not None:
        check_classification_targets(y)
    if model.classes is not None:
        return np.unique(np.asarray(model.classes))
    if y is not None and "classes" in model._public():
        return np.unique(y)
    raise PrivacyError(
        f"{type(model).__name__} needs the list of classes, and reading it off the data would leak. "
        "Hint: pass classes=[...]; if the classes are public already, say public=('classes',)."
    )


def labelled(model: Any, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Records whose labels are among `classes_`; the others are refused or dropped, as `unknown` says."""
    known = np.isin(y, model.classes_)
    if not known.all() and model.unknown == "error":
        raise DataError(
            f"{int((~known).sum())} records have labels that are not in `classes`. "
            "Hint: name all classes, or pass unknown='drop'."
        )
    return X[known], y[known]


def require_rule_for_unknown(model: Any) -> None:
    """`unknown` is one of its two words, and goes with the neighbours."""
    if model.unknown not in ("error", "drop"):
        raise parameter("unknown", "'error' or 'drop'", model.unknown)
    if model.unknown == "drop" and model.neighbors == "replace":
        raise PrivacyError(
            "unknown='drop' does not go with neighbors='replace': how many records are counted then depends on their "
            "labels, and that number would be public. Hint: use neighbors='add-remove', or unknown='error'."
        )
