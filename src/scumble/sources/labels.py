"""Which class a record is of, by the cell of its label alone: one of the public classes, or none of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scumble.bundle import Label, plain
from scumble.errors import ParameterError, PrivacyError, parameter
from scumble.machine.later import pa
from scumble.schema import Boolean
from scumble.tables import Table, stable_hash


class Labels:
    """The public classes, and how cells are told apart by them.

    Parameters
    ----------
    column : str
        The column that holds the label.
    classes : sequence or None
        All classes. None where the label is a boolean: false and true.
    boolean : bool
        Whether the column was declared as a boolean. Then yes, t, on and 1 are true, whatever the classes are called.
    """

    def __init__(self, column: str, classes: Sequence[Any] | None, *, boolean: bool = False) -> None:
        if classes is None and boolean:
            classes = [False, True]
        if classes is None or isinstance(classes, str) or not list(classes):
            raise PrivacyError(
                "`classes` must list all classes: reading them off the data would tell who is in it. Hint: pass "
                "classes=['bus', 'car'] (--classes bus,car); of a label that is yes or no, "
                f"booleans=[{column!r}] (--booleans {column})."
            )
        self.column, self.boolean = column, boolean
        self.classes: list[Label] = [plain(one) for one in classes]
        self._numbers = np.array([self._number(one) for one in self.classes], np.float64)
        if len(set(self._numbers.tolist())) < len(self._numbers):
            same = "yes, true and 1 are one" if boolean else "1, 1.0 and '1' are one, and so are True and 'true'"
            raise parameter("classes", f"labels that differ ({same})", classes)
        self._order = np.argsort(self._numbers)

    def _number(self, one: Label) -> float:
        if not self.boolean:
            return float(stable_hash(one))
        try:
            return float(Boolean().span(one)[0])
        except ParameterError:
            raise parameter(
                "classes", f"words for yes and no, as {self.column!r} is declared a boolean", one, "leave them out."
            ) from None

    def places(self, batch: pa.RecordBatch) -> np.ndarray:
        """For each record, where its class stands among the classes; -1 if it is of none."""
        where = batch.schema.names.index(self.column)
        if self.boolean:
            found = Boolean().encode(batch.column(where), f"Column {self.column!r}").codes.astype(np.float64)
        else:
            found = Table.of(batch).categories([where])[:, 0]
        near = np.searchsorted(self._numbers, found, sorter=self._order)
        place = self._order[np.minimum(near, len(self._order) - 1)]
        return np.asarray(np.where(self._numbers[place] == found, place, -1))
