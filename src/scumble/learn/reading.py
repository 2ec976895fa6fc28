"""Records, labels and targets for estimators, read by scumble's own tables; and what is taken from scikit-learn.

scikit-learn's readers convert a table or a list of labels as a whole, so one cell decides what the others become,
and their errors quote cells. Here each cell is read by itself, and an error names columns and counts. The words that
scikit-learn's own checks look for are kept.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scumble.columns.cells import Column, is_arrow, numbers
from scumble.columns.column import Strays as OfBatch
from scumble.columns.containers import objects, take_apart
from scumble.columns.curator import NO_CLASS, Declared, Strays, as_written, left_out, no_record_of, private
from scumble.columns.table import Table, invalid_message
from scumble.errors import CuratorWarning, DataError

try:
    from sklearn.base import BaseEstimator as BaseEstimator
    from sklearn.base import DensityMixin as DensityMixin
    from sklearn.base import OutlierMixin as OutlierMixin
    from sklearn.exceptions import DataConversionWarning
    from sklearn.utils.validation import check_is_fitted as check_is_fitted
    from sklearn.utils.validation import validate_data
except ImportError as problem:
    raise ImportError("scumble's estimators need scikit-learn. Hint: pip install 'scumble[learn]'.") from problem


class BadCells(DataError, TypeError):
    """Cells that are not finite numbers: scikit-learn expects a ValueError for some and a TypeError for others."""

    def __init__(self, bad: np.ndarray, names: Sequence[str] | None) -> None:
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
        lines += [no_record_of(empty)] if empty else []
        if lines:
            self.tell(lines)


def beyond(values: np.ndarray, bounds: Sequence[object], names: Sequence[str]) -> tuple[dict[str, OfBatch], Declared]:
    """How many finite numbers of each column are outside its bounds, and these bounds as they are written."""
    low, high = (np.broadcast_to(np.asarray(side, float), values.shape[1]) for side in bounds)
    outside = np.count_nonzero((values < low) | (values > high), axis=0).tolist()
    found = {name: OfBatch(len(values), beyond=many) for name, many in zip(names, outside, strict=True)}
    return found, {name: as_written(ends) for name, *ends in zip(names, low.tolist(), high.tolist(), strict=True)}
