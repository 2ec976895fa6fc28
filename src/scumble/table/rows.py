"""Synthetic rows as pandas, polars or Arrow tables.

Types follow from the schema alone, never from what happened to be drawn: two samples of a release can be put together,
so one of them shows the types of all.

**Any statistic** of n synthetic rows scatters for two reasons: draws from the posterior differ, and rows are drawn. The
second has nothing to do with the table. So each draw gives two sets of rows. With s₁, s₂ the statistic on both, the
variance v of their mean is that between draws plus that of drawing rows, and the latter is the mean of (s₁ − s₂)²/4.
What is left is the variance of the answer; but v is itself known up to a standard error of v √(2/(M − 1)) from M draws,
and the answer's variance is not taken for less than that. Where in their cells values lie is not known either, so each
draw puts them elsewhere: in half of the cells all lean to the same side, in the others each by itself.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from scumble import checks
from scumble.columns.conditions import Condition, condition
from scumble.columns.schema import Schema
from scumble.errors import DataError, ParameterError, parameter
from scumble.files.lazy_modules import pa
from scumble.table.answers import Answers, Released
from scumble.table.estimate import Estimate
from scumble.table.mixture import Mixture, folded, weight
from scumble.table.questions import Where, question

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation
    from pandas import DataFrame


Floats = npt.NDArray[np.float64]
Statistic = Callable[["DataFrame"], object]
RandomState = int | np.random.Generator | None
Format = Literal["pandas", "polars", "arrow"]


def require(format: str) -> None:
    """Refuse a container that is not known, or not installed, before rows are drawn."""
    if format not in get_args(Format):
        raise parameter("format", " or ".join(map(repr, get_args(Format))), format)
    if format != "arrow":
        library(format)


def together(batches: Iterable[pa.Table]) -> pa.Table:
    """One table out of many."""
    return pa.concat_tables(batches).unify_dictionaries().combine_chunks()


def held(rows: pa.Table, schema: Schema, format: Format) -> Any:
    """The rows in the container that was asked for."""
    if format == "arrow":
        return rows
    if format == "polars":
        return library("polars").from_arrow(rows)
    return _pandas(rows, schema)


def library(name: str) -> Any:
    """pandas or polars, in whose frames rows and answers by group are held: needed by those who ask for them."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise ParameterError(f"A {name} frame needs {name}. Hint: pip install {name}.") from None


def _pandas(rows: pa.Table, schema: Schema) -> DataFrame:
    pd = library("pandas")
    gaps = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
    frame = {}
    for name, column in schema.items():
        cells = rows[name]
        if pa.types.is_date(cells.type):
            cells = cells.cast(pa.timestamp("s"))
        frame[name] = cells.to_pandas(types_mapper=gaps.get if column.missing else None)
    return pd.DataFrame(frame, columns=list(schema))


TRIES = 25
"""After so many rounds without a row, each of twice as many as the one before or of `BATCH`, no more are tried."""
BATCH = 2**16
"""Rows drawn at a time, which bounds the memory."""


def batches(
    model: Mixture, where: Condition, size: int, random_state: RandomState, powers: Sequence[np.ndarray] | None = None
) -> Iterator[pa.Table]:
    """So many records of the condition's schema, as Arrow tables of `BATCH` rows and a last one; at least one table.

    `powers` say where in their cells values lie (`Schema.decode`).
    """
    generator = generator_of(random_state)
    yield _drawn(model, where, min(size, BATCH), generator, powers)
    for first in range(BATCH, size, BATCH):
        yield _drawn(model, where, min(size - first, BATCH), generator, powers)


def _drawn(
    model: Mixture, where: Condition, size: int, generator: np.random.Generator, powers: Sequence[np.ndarray] | None
) -> pa.Table:
    schema = where.schema
    places = {name: j for j, name in enumerate(schema)}
    asked = [
        (1.0, {places[name]: schema[name].touches(part).astype(float) for name, part in product.items()})
        for product in where.parts
    ]
    whole = [*folded(asked, schema.derived)]
    found: list[pa.Table] = [schema.decode(np.empty((0, len(schema)), np.int64), generator)]
    missing, fruitless = size, 0
    surely = where.exact and not schema.rules
    many = missing if surely else 2 * missing + 64
    while missing > 0:
        codes = model.draw(many, generator, whole)
        if not len(codes):
            raise ParameterError(
                "By this release, nobody meets the condition. Hint: widen it; `count` tells how many do."
            )
        if not where.exact:
            codes = codes[generator.random(len(codes)) * sum(weight(codes, product) for _, product in whole) < 1]
        schema.derive(codes)
        rows = schema.decode(codes, generator, powers)
        if schema.rules:
            codes, rows = schema.constraints.kept(codes, rows)
        if not where.exact:
            rows = rows.filter(pa.array(where.holds(codes, rows)))
        fruitless = 0 if len(rows) else fruitless + 1
        if fruitless > TRIES:
            raise _hardly_one(where)
        found.append(rows.slice(0, missing))
        missing -= len(found[-1])
        many = max(many, min(2 * many, BATCH)) if 4 * len(rows) < many else 2 * missing + 64
    return pa.concat_tables(found).unify_dictionaries().combine_chunks()


def perhaps_nobody(found: Estimate, confidence: float) -> str | None:
    """What to say when records of a small group are drawn, if it is not sure that there are any."""
    if round(found.low) > 0:
        return None
    sure = f"{found.low:,.0f} to {found.high:,.0f}, {100 * confidence:.0f} %"
    return (
        f"Few records or none meet the condition: about {found.value:,.0f} ({sure}). Rows drawn from them may be "
        "noise alone."
    )


def _hardly_one(where: Condition) -> ParameterError:
    those = ", ".join(map(repr, where.partly)) or "all columns"
    return ParameterError(
        f"Values are drawn evenly within the cells of {those}, and almost none of them would meet the condition"
        f"{' and the rules' * bool(where.schema.rules)}. Hint: ask for whole cells, whose edges are in the schema."
    )


def generator_of(random_state: RandomState) -> np.random.Generator:
    """A generator: the given one, one from a seed, or a fresh one. Synthetic rows come from a public model."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None or (isinstance(random_state, int | np.integer) and random_state >= 0):
        return np.random.default_rng(random_state)
    raise parameter("random_state", "a whole number that is not negative, a Generator or None", random_state)


SWEEPS = 50
CLOSE = 1e-9
"""A sweep that changes no weight by more than this share is the last."""

MOST_HELD = 10**9
"""Rows that one table may hold; more would only fill the memory."""


class Weighing(Released):
    """Weights of synthetic rows, and both as a relation of DuckDB's."""

    if TYPE_CHECKING:

        def sample_batches(
            self, n: int, random_state: RandomState = None, *, where: Where = None
        ) -> Iterator[pa.Table]: ...

    def weights(self, rows: object, *, where: Where = None) -> Floats:
        """How many records each of some rows stands for, which `sample` has drawn with the same `where`.

        With these weights every column by itself has exactly the counts of the release's model, and all weights sum to
        the estimated number of records: weighted sums have no chance of drawing rows in them.

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
        random_state: RandomState = 0,
        where: Where = None,
        weight: str = "weight",
    ) -> DuckDBPyRelation:
        """Synthetic rows with their weights as a relation of DuckDB's, for all the SQL that `scumble.sql` refuses.

        ``sum(weight)`` is the number of records, ``sum(weight * x) / sum(weight)`` a mean. There are no intervals, and
        dependence beyond the measured sets of columns is the model's guess. Needs ``pip install 'scumble[duckdb]'``.
        `connection` is DuckDB's own by default, and `weight` the name of the column of weights; the other parameters
        are those of `sample`. The relation's ``create_view`` gives it a name.
        """
        try:
            import duckdb
        except ImportError:
            raise ParameterError("A relation needs DuckDB. Hint: pip install 'scumble[duckdb]'.") from None
        if not isinstance(weight, str) or not weight or weight.lower() in {name.lower() for name in self.schema}:
            raise parameter("weight", "a name that no column has", weight)
        if connection is not None and not hasattr(connection, "from_arrow"):
            raise parameter("connection", "one of DuckDB's, or left out", connection, "duckdb.connect() makes one.")
        drawn = together(self.sample_batches(checks.whole("rows", rows), random_state, where=where))
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


# ---- any statistic ----


def sampled(
    answers: Answers, schema: Schema, number: int, random_state: RandomState, size: int | None
) -> Iterator[DataFrame]:
    """Frames of synthetic rows, each of one draw."""
    generator, posterior, everybody = generator_of(random_state), answers.posterior, condition(schema, None)
    for table in range(number):
        draw = table % posterior.size
        many = round(float(posterior.totals[draw])) if size is None else size
        found = batches(posterior.mixture(draw), everybody, many, generator, _powers(answers, draw, schema))
        yield held(together(found), schema, "pandas")


def estimated(
    answers: Answers, schema: Schema, statistic: Statistic, most: int, confidence: float
) -> Estimate | DataFrame:
    """The statistic with its interval: an Estimate, or a frame of several."""
    if not callable(statistic):
        raise ParameterError("`statistic` must be a function of a frame. Hint: estimate(lambda t: t['age'].std()).")
    posterior = answers.posterior
    size = max(1, min(round(answers.total.value), most))
    halves = [
        [_numbers(statistic(frame)) for frame in sampled(answers, schema, posterior.size, half, size)]
        for half in range(2)
    ]
    names = [*dict.fromkeys(name for half in halves for each in half for name in each)]  # groups that any draw has
    found = []
    for name in names:
        one, two = (np.array([each.get(name, math.nan) for each in half]) for half in halves)
        found.append(_told(answers, one, two, confidence))
    if names == [None]:
        return found[0]
    pd = library("pandas")
    return pd.DataFrame([estimate.to_dict() for estimate in found], index=pd.Index(names))


def _told(answers: Answers, one: Floats, two: Floats, confidence: float) -> Estimate:
    """The answer out of two values for each draw: their spread is reduced by the chance of drawing rows."""
    each = (one + two) / 2
    known = np.isfinite(each)
    if known.sum() < 2:
        return Estimate(math.nan, -math.inf, math.inf, math.inf, confidence=confidence)
    mean, spread = each[known].mean(), each[known].var(ddof=1)
    chance = float(((one - two)[known] ** 2).mean()) / 4
    unsure = spread * math.sqrt(2.0 / (known.sum() - 1))
    kept = math.sqrt(min(max(spread - chance, unsure) / spread, 1.0)) if spread > 0 else 0.0
    return answers.told(mean + kept * (each - mean), confidence)


def _powers(answers: Answers, draw: int, schema: Schema) -> list[Floats]:
    """For each level of each column the power p that puts values at u**p of it: their mean is 1/(1 + p) of it."""
    generator, found = np.random.default_rng([draw, 4]), []
    for place, column in enumerate(schema.values()):
        within = answers.within(place)
        if within is None:
            own = generator.uniform(0.0, 1.0, column.size)
            share = np.where(generator.random(column.size) < 0.5, (1 + answers.lean[draw]) / 2, own)
        else:
            share = within[draw]
        found.append(power(share))
    return found


def expected_powers(answers: Answers, schema: Schema) -> list[Floats]:
    """The same of the mean of all draws; even, where it is not known where in their cells values lie."""
    each = (answers.within(place) for place in range(len(schema)))
    return [
        np.ones(column.size) if one is None else power(one.mean(axis=0))
        for one, column in zip(each, schema.values(), strict=True)
    ]


def power(share: Floats) -> Floats:
    """The power p with which u**p, u being even, has this mean."""
    share = np.clip(share, 0.01, 0.99)
    return (1 - share) / share


def _numbers(found: Any) -> dict[object, float]:
    """What a statistic returned, by labels; a single number has none."""
    if hasattr(found, "to_dict"):
        found = found.to_dict()
    try:
        return {
            name: float(number) for name, number in (found if isinstance(found, Mapping) else {None: found}).items()
        }
    except (TypeError, ValueError):
        must = "A statistic must return a number, a Series or a dict of numbers"
        raise ParameterError(f"{must}. Hint: for example t['age'].std().") from None
