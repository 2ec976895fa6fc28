"""Aggregate functions for those who live in SQL.

::

    spark.register(session, kernel, columns=["age", "income"], rows=1000, buckets=1024, seed=7)

    SELECT scumble_merge(part) AS sketch
    FROM (SELECT scumble_sketch(age, income) AS part FROM people GROUP BY pmod(xxhash64(age, income), 64))

Both give the bytes of a secret file, `sketch_from` makes a sketch of them. Such a column is as secret as the table.

PySpark's aggregates in Python have no partial step: all rows of a group go through a shuffle to one task, which streams
through them. So one group is one core's work, and a large table wants groups, as above. `sketch` and `build` need no
shuffle of the rows, and are the better way wherever Python is at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from scumble import files
from scumble.cluster.spark import engine
from scumble.cluster.spark.task import gathered, known
from scumble.errors import DataError, ScumbleError, many
from scumble.kernels import Kernel
from scumble.sketch import Sketch
from scumble.spec import Spec


def register(
    session: Any,
    kernel: Kernel,
    columns: Sequence[str],
    *,
    invalid: str = "error",
    prefix: str = "scumble",
    **size: Any,
) -> None:
    """Give a Spark session the aggregate functions ``scumble_sketch(columns...)`` and ``scumble_merge(sketch)``.

    The parameters of the sketch are fixed here: they are public, and equal for all parts that are to be merged. `size`
    are `rows`, `buckets`, `seed`, `design`, `bounds` of :class:`scumble.Sketch`; `columns` name the arguments in their
    order. A second kernel goes beside the first under another `prefix`.
    """
    made = Sketch(kernel, columns=list(columns), **size, invalid=invalid)
    engine.aggregate(session, f"{prefix}_sketch", _sketching(replace(made.spec), invalid, made.planned))
    engine.aggregate(session, f"{prefix}_merge", _merging())


def sketch_from(data: bytes | bytearray, **options: Any) -> Sketch:
    """The sketch in the bytes that ``scumble_sketch`` or ``scumble_merge`` gave."""
    return Sketch.from_container(files.from_bytes(bytes(data), expect="secret"), **options)


def _sketching(spec: Spec, invalid: str, planned: int) -> Callable[..., bytes]:
    names = list(spec.columns or ())

    def scumble_sketch(batches: Iterator[tuple[pa.Array, ...]]) -> bytes:
        sketch = Sketch.from_spec(known(spec), invalid=invalid, threads=engine.task()[1], planned=planned)
        for table in gathered(_named(columns, names) for columns in batches):
            _count(sketch, table)
        return _bytes(sketch)

    scumble_sketch.__annotations__ = {"batches": Iterator[tuple[pa.Array, ...]], "return": bytes}
    return scumble_sketch


def _named(columns: pa.Array | tuple[pa.Array, ...], names: list[str]) -> pa.RecordBatch:
    if isinstance(columns, pa.Array):  # Spark hands a single column over as it is
        columns = (columns,)
    if len(columns) != len(names):
        raise DataError(f"scumble_sketch takes {many(len(names), 'column')} ({', '.join(names)}), got {len(columns)}.")
    return pa.RecordBatch.from_arrays(list(columns), names)


def _merging() -> Callable[..., bytes]:
    def scumble_merge(batches: Iterator[pa.Array]) -> bytes:
        total: Sketch | None = None
        for column in batches:
            for data in column.drop_null():
                part = sketch_from(data.as_py())
                total = part if total is None else total.merge(part)
        if total is None:
            raise DataError("scumble_merge found nothing to merge.")
        return _bytes(total)

    scumble_merge.__annotations__ = {"batches": Iterator[pa.Array], "return": bytes}
    return scumble_merge


def _bytes(sketch: Sketch) -> bytes:
    return files.to_bytes("secret", *sketch.contents())


def _count(sketch: Sketch, table: pa.Table) -> None:
    try:
        sketch.update(table)
    except ScumbleError:
        raise
    except Exception as problem:
        # Another library's words may quote cells of the table, and Spark writes them into its logs.
        raise RuntimeError(f"Counting failed with {type(problem).__name__}.") from None
