"""Records and targets for estimators, read by scumble's own tables.

scikit-learn's readers convert a table or a list of labels as a whole, so one cell decides what the others become,
and their errors quote cells. Here each cell is read by itself, and an error names columns and counts. The words that
scikit-learn's own checks look for are kept.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from scumble.errors import DataError
from scumble.learn.scikit import DataConversionWarning, validate_data
from scumble.tables import Table, invalid_message
from scumble.tables.cells import Column, is_arrow, numbers
from scumble.tables.containers import objects, take_apart


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
    if not parts.rows:
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
                stacklevel=4,
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
