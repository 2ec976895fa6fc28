"""A DataFrame into a tally: the driver's side of a pass over a cluster."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from scumble.cluster.spark import engine, wire
from scumble.cluster.spark.progress import Report, watched
from scumble.cluster.spark.task import Order
from scumble.cluster.spark.tree import Tree
from scumble.errors import DataError, ParameterError
from scumble.sources.tally import Tally
from scumble.tables import stable_hash

ROOM = 256 * 2**20
"""Bytes of counters that a task keeps open; where all classes need more, the rows are sorted by class."""


def count(
    df: Any,
    tally: Tally,
    *,
    person: str | None = None,
    records_per_person: int = 1,
    roles: Mapping[str, str] | None = None,
    progress: Report | None = None,
) -> None:
    """Count every row of the DataFrame once, into the sketches of the tally.

    `person` names the column that says whose a row is: of each person, `records_per_person` rows are counted. `roles`
    says what columns of text are to be read as.
    """
    if tally.labels is not None and tally.labels.boolean:
        raise ParameterError("On a cluster a label is compared as it is. Hint: make booleans of it in Spark.")
    spec = tally.sketches[0].spec
    classes = len(tally.sketches)
    columns = [name for name in (*spec.columns, tally.label, person) if name is not None]
    df = df.select(*map(engine.quoted, columns))
    engine.require_same_again(df)
    if person is not None:
        df = engine.first_of_each(df, person, columns, records_per_person)
    if 8 * classes * math.prod(spec.counters) > ROOM:
        df = _by_class(df, tally.label)
    tree = Tree.planned(classes, math.prod(spec.counters), engine.parallelism(df))
    order = Order(
        replace(spec),  # without the hash functions that are made already
        shares=tree.shares,
        room=ROOM,
        label=tally.label,
        classes=tuple(stable_hash(one) for one in tally.classes or ()),
        person=person,
        roles=roles,
        **tally.options,
    )
    with engine.tidy(df.sparkSession):
        pieces = tree.gather(engine.map_batches(df, lambda batches: order(batches), wire.SCHEMA))
    sums = wire.Sums()
    with watched(engine.context_of(df), progress):
        for batch in pieces.toArrow().to_batches():
            sums.add(batch)
    _take(sums, tally)


def _by_class(df: Any, label: str | None) -> Any:
    """Rows of one class together and one class after the other, where a task has no room for the sketches of all."""
    return df if label is None else df.repartition(engine.quoted(label)).sortWithinPartitions(engine.quoted(label))


def _take(sums: wire.Sums, tally: Tally) -> None:
    if sums.refusal is not None:
        said = sums.refusal.decode()
        raise DataError(f"Partition {int(said[:9])}: {said[9:]}")
    columns = tally.sketches[0].spec.columns
    about = sums.counters.get((wire.ABOUT, 0))
    rows, dropped = (0, 0) if about is None else about[:2]
    if about is not None:
        tally.strays.add_numbers(columns, about[2:])
    for part, mine in enumerate(tally.sketches):
        counted = mine.empty()
        sums.into(part, counted.contents()[1]["counts"])
        mine.merge(counted)
    tally.rows += int(rows)
    if tally.classes is None:
        tally.sketches[0].dropped += int(dropped)
    else:
        tally.unknown += int(dropped)
