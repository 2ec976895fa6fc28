"""Synthetic rows with weights, and DuckDB's hands on them.

Rows that are drawn are the model up to the chance of drawing: of 10,000 rows a tenth may be 1,030. Weights take that
chance away where they can. They are those nearest to equal ones (in Kullback and Leibler's sense) with which every
column by itself has exactly the model's counts; iterative proportional fitting finds them. They sum to the number of
records that the release estimates, so that sums of weights are counts. The rows still show, up to
chance, how columns depend on each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from scumble import checks
from scumble.columns.schema import Schema
from scumble.errors import DataError, ParameterError, parameter
from scumble.table.answers import Answers
from scumble.table.questions import Where, question

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

    from scumble.table.rows import Format

Floats = npt.NDArray[np.float64]
SWEEPS = 50
CLOSE = 1e-9
"""A sweep that changes no weight by more than this share is the last."""


class Weighing:
    """Weights of synthetic rows, and both as a relation of DuckDB's."""

    if TYPE_CHECKING:

        @property
        def schema(self) -> Schema: ...

        @property
        def _answers(self) -> Answers: ...

        def sample(
            self, n: int, random_state: Any = None, *, where: Where = None, format: Format = "pandas"
        ) -> Any: ...

    def weights(self, rows: Any, *, where: Where = None) -> Floats:
        """How many records each of some synthetic rows stands for.

        With these weights every column by itself has exactly the counts of the release's model, and all weights sum to
        the estimated number of records: weighted sums are counts and totals of the table, without the chance that is in
        drawing rows.

        Parameters
        ----------
        rows : DataFrame, Table or dict
            Rows that `sample` has drawn.
        where : str, mapping or None
            The condition that they were drawn with.

        Returns
        -------
        ndarray of float
            A weight for each row.

        Examples
        --------
        >>> import scumble
        >>> schema = scumble.Schema(age=scumble.Number(0, 99, whole=True), smoker=scumble.Boolean())
        >>> sketch = scumble.TableSketch(schema).update({"age": [41, 30] * 5000, "smoker": [True, False] * 5000})
        >>> release = sketch.release(epsilon=1.0)
        >>> rows = release.sample(1000, random_state=0)
        >>> weights = release.weights(rows)
        >>> bool(abs(weights[rows.smoker].sum() - release.count("smoker").value) < 50)
        True
        """
        found = self.schema.encode(rows, invalid="drop")
        if found.dropped.any():
            raise DataError("Rows that `sample` has drawn can be weighed, and some do not fit the schema.")
        asked = question(self.schema, where).even
        total = max(float(self._answers.posterior.counts(asked).mean()), 0.0)
        if not len(found.codes):
            return np.zeros(0)
        posterior = self._answers.posterior
        wanted = [np.maximum(posterior.cells([j], asked).mean(axis=0), 0.0) for j in range(len(self.schema))]
        return raked(np.asarray(found.codes), wanted, total)

    def relation(
        self,
        connection: DuckDBPyConnection | None = None,
        *,
        rows: int = 100_000,
        random_state: Any = 0,
        where: Where = None,
        weight: str = "weight",
    ) -> DuckDBPyRelation:
        """Synthetic rows with their weights as a relation of DuckDB's, for all the SQL that `scumble.sql` refuses.

        ``sum(weight)`` is the number of records, ``sum(weight * x) / sum(weight)`` a mean. There are no intervals, and
        dependence beyond the measured sets of columns is the model's guess. Needs ``pip install 'scumble[duckdb]'``.

        Parameters
        ----------
        connection : DuckDBPyConnection, optional
            Where; DuckDB's own connection if it is left out.
        rows : int
            How many rows to draw.
        random_state : int or Generator, optional
            For the same rows again.
        where : str, mapping or None
            Only records that meet a condition.
        weight : str
            The name of the column of weights.

        Returns
        -------
        DuckDBPyRelation
            The relation; its ``create_view`` gives it a name.
        """
        try:
            import duckdb
        except ImportError:
            raise ParameterError("A relation needs DuckDB. Hint: pip install 'scumble[duckdb]'.") from None
        if not isinstance(weight, str) or not weight or weight.lower() in {name.lower() for name in self.schema}:
            raise parameter("weight", "a name that no column has", weight)
        if connection is not None and not hasattr(connection, "from_arrow"):
            raise parameter("connection", "one of DuckDB's, or left out", connection, "duckdb.connect() makes one.")
        drawn = self.sample(checks.whole("rows", rows), random_state, where=where, format="arrow")
        drawn = drawn.append_column(weight, [self.weights(drawn, where=where)])
        return (duckdb if connection is None else connection).from_arrow(drawn)


def raked(codes: npt.NDArray[np.int64], wanted: list[Floats], total: float) -> Floats:
    """Weights of rows with which each column's levels have the wanted shares of a total.

    Each column in turn scales the rows of its levels (iterative proportional fitting). Levels without rows leave their
    share to the others of their column; a column that wants none of the rows is left out.

    >>> codes = np.array([[0, 0], [0, 1], [1, 1]])
    >>> raked(codes, [np.array([0.5, 0.5]), np.array([0.25, 0.75])], 8.0).round(6).tolist()
    [2.0, 2.0, 4.0]
    """
    weights = np.full(len(codes), total / len(codes))
    for _ in range(SWEEPS):
        before = weights
        for code, goal in zip(codes.T, wanted, strict=True):
            now = np.bincount(code, weights, minlength=len(goal))
            scaled = weights * np.divide(goal, now, out=np.zeros(len(goal)), where=now > 0)[code]
            if scaled.any():
                weights = scaled * (total / scaled.sum())
        if np.allclose(weights, before, rtol=CLOSE, atol=0.0):
            break
    return weights
