"""Synthetic rows out of a model, exactly those that meet a condition.

Cells that a range cuts are drawn whole, values are drawn within them, and rows whose values do not meet the condition
are rejected. Where the cells of several products of the condition overlap, a row is kept with one chance in so many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from scumble.columns.conditions import Condition
from scumble.errors import ParameterError, parameter
from scumble.files.lazy_modules import pa
from scumble.table.estimate import Estimate
from scumble.table.mixture import Mixture, folded

TRIES = 1000
"""Rounds without a single row, after which there is none to be found."""
BATCH = 2**16
"""Rows at a time: any number of them is drawn in the memory of so many."""


def batches(
    model: Mixture, where: Condition, size: int, random_state: Any, powers: Sequence[np.ndarray] | None = None
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
    while missing > 0:
        codes = model.draw(missing if surely else 2 * missing + 64, generator, whole)
        if not len(codes):
            raise ParameterError(
                "By this release nobody meets the condition: there is nothing to draw from. Hint: ask for more, such "
                "as a wider range; `count`, or scumble count, tells how many records a condition has."
            )
        if not where.exact:
            codes = codes[generator.random(len(codes)) * _overlap(whole, codes) < 1]
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
    return pa.concat_tables(found).unify_dictionaries().combine_chunks()


def perhaps_nobody(found: Estimate, confidence: float) -> str | None:
    """What to say to whoever draws records of a group that has so many, if it is not sure that there are any.

    >>> perhaps_nobody(Estimate(3.2, 0.0, 41.0, 12.0), 0.95)
    'Perhaps nobody meets the condition: about 3 records do (0 to 41, 95 %), and rows drawn of them may be noise alone.'
    """
    if round(found.low) > 0:
        return None
    sure = f"{found.low:,.0f} to {found.high:,.0f}, {100 * confidence:.0f} %"
    return (
        f"Perhaps nobody meets the condition: about {found.value:,.0f} records do ({sure}), and rows drawn of them may "
        "be noise alone."
    )


def _hardly_one(where: Condition) -> ParameterError:
    those = ", ".join(map(repr, where.partly)) or "all columns"
    return ParameterError(
        f"Values are drawn evenly within the cells of {those}, and hardly one of those would meet the condition"
        f"{' and the rules' * bool(where.schema.rules)}. Hint: ask for whole cells, whose edges are in the schema."
    )


def _overlap(whole: list[Any], codes: np.ndarray) -> np.ndarray:
    """How many products of the condition hold each record's cell."""
    total = np.zeros(len(codes))
    for _, product in whole:
        mine = np.ones(len(codes))
        for j, weights in product.items():
            mine *= weights[codes[:, j]]
        total += mine
    return total


def generator_of(random_state: int | np.random.Generator | None) -> np.random.Generator:
    """A generator: the given one, one from a seed, or a fresh one. Synthetic rows come from a public model."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None or (isinstance(random_state, int | np.integer) and random_state >= 0):
        return np.random.default_rng(random_state)
    raise parameter("random_state", "a whole number that is not negative, a Generator or None", random_state)
