"""What the estimators take from scikit-learn, which is an extra: who lacks it is told what to install."""

from __future__ import annotations

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, DensityMixin, OutlierMixin, RegressorMixin
    from sklearn.exceptions import DataConversionWarning
    from sklearn.metrics import r2_score
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as problem:
    raise ImportError("scumble's estimators need scikit-learn. Hint: pip install 'scumble[learn]'.") from problem

__all__ = [
    "BaseEstimator",
    "ClassifierMixin",
    "DataConversionWarning",
    "DensityMixin",
    "OutlierMixin",
    "RegressorMixin",
    "check_classification_targets",
    "check_is_fitted",
    "r2_score",
    "validate_data",
]
